"""Visits of the app in Chromium."""

from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

import pytest

from tests.browser.acts import idle, watch
from tests.browser.evidence import trace
from tests.chromium import counting, patience

MOST = 45  # journeys that every change waits for; a new one replaces one


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    if len(here) > MOST and not config.option.markexpr:
        raise pytest.UsageError(
            f"There are {len(here)} journeys; {MOST} at most are asked of every change. Replace "
            "one, or ask it on the bench: CONTRIBUTING.md says where a test goes."
        )


@pytest.fixture(scope="session")
def person(chromium):
    """A person's browser, whose pages share what was fetched and compiled once, as
    anybody's do. Without motion, so that nothing is looked for where it only passes by.
    """
    context = trace(counting(chromium.new_context(reduced_motion="reduce")))
    yield context
    context.close()


@contextmanager
def visits(chromium, person, address):
    """`open_page(path, width)` opens one more page, in another browser where
    `somebody_else` comes, and waits until it is idle; `early`: only until a translation
    is there. `before`: is called with the page before it opens. At the end nothing may
    have gone wrong in any."""
    opened = []
    errors = []
    hosts = set()
    left = []

    def note(page, request):
        hosts.add(urlparse(request.url).hostname)
        if request.is_navigation_request() and page.url != "about:blank":
            left.append(page)

    def open_page(path="/", width=1280, somebody_else=False, early=False, before=None):
        context = trace(counting(chromium.new_context())) if somebody_else else person
        page = context.new_page()
        opened.append(context if somebody_else else page)
        page.set_viewport_size({"width": width, "height": 900})
        page.set_default_timeout(patience())
        page.on(
            "console",
            lambda message: message.type == "error" and errors.append(message.text),
        )
        page.on("pageerror", lambda error: errors.append(error.stack or str(error)))
        page.on(
            "dialog",
            lambda dialog: (
                errors.append(f"dialog: {dialog.message}"),
                dialog.dismiss(),
            ),
        )
        page.on("request", lambda request: note(page, request))
        watch(page)
        if before is not None:
            before(page)
        page.goto(address + path)
        if "tab=" not in path:  # another tab is laid out alone
            # of the translation, or of another sheet of its tab, which then stands alone
            begun = page.locator(".piece, .sheet[class*=later-] .framed")
            begun.first.wait_for(state="attached")
        if not early:
            idle(page)
        return page

    try:
        yield open_page
    finally:
        for one in opened:
            one.close()
    # Gradio's own client complains of the requests that are broken off when somebody
    # leaves a page. It closes its stream of answers first; of another that is opened
    # before the page is gone, the server knows nothing any more.
    broken_off = ["AbortError", "Connection errored out"]
    broken_off += (
        [
            "404: Not Found",
            "ERR_INCOMPLETE_CHUNKED_ENCODING",
            "TypeError: network error",
        ]
        if left
        else []
    )
    assert not [
        error for error in errors if not any(kind in error for kind in broken_off)
    ]
    assert hosts <= {"127.0.0.1", None}, (
        "the page asked for something outside this machine"
    )


@pytest.fixture
def visit(chromium, person, address):
    """`visit(path, width)` opens a page for the length of a test."""
    with visits(chromium, person, address) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def same_page(chromium, person, address):
    """A page for several tests in a row, each of which begins with what it needs to
    see."""
    with visits(chromium, person, address) as open_page:
        yield open_page()
