"""A Chromium to visit the app with."""

import shutil
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

import pytest
from playwright.sync_api import expect, sync_playwright

from tests import harness
from tests.browser import evidence
from tests.browser.acts import idle, watch
from tests.gate import folder_of

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))),
                None)
BROWSER = pytest.StashKey()  # where the running tests find their Chromium
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def patience():
    """Milliseconds to wait for what a page is to show: a minute, and more where the machine is busy."""
    return 1000 * harness.patience(60, 4)


def pytest_runtest_setup(item):
    if BROWSER in item.config.stash:
        evidence.begin(item.config.stash[BROWSER])


def pytest_runtest_call():
    expect.set_options(timeout=patience())  # the app of the test has started by now, which tells how busy it is


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed and BROWSER in item.config.stash:
        evidence.leave(item.config.stash[BROWSER], folder_of(item.nodeid, item.config.rootpath))
    return report


@pytest.fixture(scope="session")
def chromium(request):
    if CHROMIUM is None:
        pytest.fail("the browser tests need Chromium: apt-get install chromium")
    expect.set_options(timeout=patience())
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        browser.on("context", evidence.trace)
        request.config.stash[BROWSER] = browser
        yield browser
        del request.config.stash[BROWSER]
        browser.close()


def counting(context):
    """A browser whose pages count what they have begun and not ended, for `idle`."""
    context.add_init_script(path=Path(__file__).with_name("idle.js"))
    return context


@pytest.fixture(scope="session")
def person(chromium):
    """A person's browser, whose pages share what was fetched and compiled once, as anybody's do. Without motion, so
    that nothing is looked for where it only passes by."""
    context = counting(chromium.new_context(reduced_motion="reduce"))
    yield context
    context.close()


@contextmanager
def visits(chromium, person, address):
    """`open_page(path, width)` opens one more page, in another browser where `somebody_else` comes, and waits until it
    is idle; `early`: only until a translation is there. `before`: is called with the page before it opens. At the end
    nothing may have gone wrong in any."""
    opened, errors, hosts, left = [], [], set(), []

    def note(page, request):
        hosts.add(urlparse(request.url).hostname)
        if request.is_navigation_request() and page.url != "about:blank":
            left.append(page)

    def open_page(path="/", width=1280, somebody_else=False, early=False, before=None):
        context = counting(chromium.new_context()) if somebody_else else person
        page = context.new_page()
        opened.append(context if somebody_else else page)
        page.set_viewport_size({"width": width, "height": 900})
        page.set_default_timeout(patience())
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(error.stack or str(error)))
        page.on("dialog", lambda dialog: (errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: note(page, request))
        watch(page)
        if before is not None:
            before(page)
        page.goto(address + path)
        page.locator(".piece").first.wait_for(state="attached")
        if not early:
            idle(page)
        return page

    try:
        yield open_page
    finally:
        for one in opened:
            one.close()
    # Gradio's own client complains of the requests that are broken off when somebody leaves a page. It closes its
    # stream of answers first; of another that is opened before the page is gone, the server knows nothing any more.
    broken_off = ["AbortError", "Connection errored out"]
    broken_off += ["404: Not Found", "ERR_INCOMPLETE_CHUNKED_ENCODING", "TypeError: network error"] if left else []
    assert not [error for error in errors if not any(kind in error for kind in broken_off)]
    assert hosts <= {"127.0.0.1", None}, "the page asked for something outside this machine"


@pytest.fixture
def visit(chromium, person, address):
    """`visit(path, width)` opens a page for the length of a test."""
    with visits(chromium, person, address) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def same_page(chromium, person, address):
    """A page for several tests in a row, each of which begins with what it needs to see."""
    with visits(chromium, person, address) as open_page:
        yield open_page()
