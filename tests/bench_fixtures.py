"""A bench for scripts, with the components of a page on the tests' small models."""

from contextlib import closing
from functools import cache

import pytest

from tests import bench as benches
from tests.chromium import counting, patience
from tests.pages import laid_out, shown
from xformer.serve.pool import Models
from xformer.serve.reviews import SentimentService
from xformer.serve.translation import Service
from xformer.serve.writer import Writer
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.components import SCRIPTS


@pytest.fixture(scope="session")
def models(tiny_checkpoint, other_checkpoint, generation_checkpoints):
    """The models of `served`."""
    others = {"other-shape": other_checkpoint, **generation_checkpoints}
    with closing(
        Models(Service.open(tiny_checkpoint, "cpu"), others, "cpu")
    ) as running:
        yield running


@pytest.fixture(scope="session")
def pages(models, measured_classifier, tiny_writer):
    """The pages of `served` in both languages, laid out."""
    reviews = SentimentService.open(measured_classifier, "cpu")
    writer = Writer.open(tiny_writer, "cpu")
    return {
        language.code: laid_out(models, reviews, language, writer=writer)
        for language in (ENGLISH, SPANISH)
    }


@pytest.fixture(scope="session")
def made(pages):
    """The page in English."""
    return pages["en"]


@pytest.fixture
def bare(chromium):
    """`bare(html)` opens a page of its own, beside whose HTML lie the scripts of
    assets/."""
    pages = []

    def show(html):
        def answer(route):
            name = route.request.url.rpartition("/")[2]
            if not name:
                return route.fulfill(body=html, content_type="text/html; charset=utf-8")
            return route.fulfill(
                path=SCRIPTS[name], content_type="text/javascript; charset=utf-8"
            )

        pages.append(chromium.new_page())
        pages[-1].route("http://scripts.test/**", answer)
        pages[-1].goto("http://scripts.test/")
        return pages[-1]

    yield show
    for page in pages:
        page.close()


@pytest.fixture(scope="session")
def files():
    server, address = benches.serve()
    yield address
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def components(pages):
    """The components of both pages by their classes."""
    return {code: benches.named(page.demo) for code, page in pages.items()}


@pytest.fixture(scope="session")
def bench_page(chromium):
    context = counting(
        chromium.new_context(reduced_motion="reduce", accept_downloads=True)
    )
    page = context.new_page()
    page.set_default_timeout(patience())
    yield page
    context.close()


@pytest.fixture
def bench(bench_page, files, components):
    """`bench.mount(name, value)` puts a component on an empty page; at the end nothing
    may have gone wrong there."""
    wrong = []
    note = {
        "pageerror": lambda error: wrong.append(error.stack or str(error)),
        "console": lambda message: (
            message.type == "error" and wrong.append(message.text)
        ),
    }
    for event, call in note.items():
        bench_page.on(event, call)
    yield benches.Bench(bench_page, files, components)
    for event, call in note.items():
        bench_page.remove_listener(event, call)
    if bench_page.url != "about:blank":
        # which another page of this test finds
        bench_page.evaluate("localStorage.clear()")
    assert not wrong


@pytest.fixture(scope="session")
def traced(models):
    """`traced(text)`: the pass over a text and its translation, computed once."""
    return cache(models.default.explain)


@pytest.fixture(scope="session")
def attention(models, pages, traced):
    """`attention(text, language, **values)`: what the Attention tab draws where its
    controls hold these values."""

    def draw(text="The cat sleeps.", language=ENGLISH, **values):
        pictures = pages[language.code].pictures["attention"]
        return shown(pictures, models.default, language, trace=traced(text), **values)

    return draw
