"""What a failed journey leaves in test-results: of each open page a picture and what it
waits for, and its trace."""

import contextlib

import pytest

from tests.browser.acts import STATE

MOMENT = 3000  # milliseconds for each piece; a page that hangs gives none

# What the page waits for as JSON, once its state has been read: a call that is made
# again until it returns something.
WAITS = f"""() => {{
    const {{readWaits: told}} = window;
    delete window.readWaits;
    if (!told && !window.readsWaits) {{
        window.readsWaits = true;
        {STATE}.then(({{settled, waiting}}) => {{
            window.readsWaits = false;
            window.readWaits = JSON.stringify({{settled, ...waiting, ...window.waitsFor?.()}},
                (name, one) => one instanceof Map ? [...one.values()] : one);
        }});
    }}
    return told;
}}"""


def trace(context):
    """Note what is done in the pages of a context from now on; -> the context."""
    context.tracing.start(screenshots=False, snapshots=False, sources=False)
    context.is_traced = True
    return context


def traced(browser):
    """The contexts whose pages are traced; on the bench, whose tests are short, none
    is."""
    return [
        context for context in browser.contexts if getattr(context, "is_traced", False)
    ]


def begin(browser):
    """Forget what was noted for the tests before."""
    for context in traced(browser):
        with attempt():
            context.tracing.start_chunk()


def attempt():
    """A `with` in which nothing hides why a test failed, be it a page that is gone or
    the test's own time-out."""
    return contextlib.suppress(Exception, pytest.fail.Exception)


def leave(browser, folder):
    """Write all that there is of each open page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = [page for context in browser.contexts for page in context.pages]
    for number, page in enumerate(pages, 1):
        with attempt():
            waits = page.wait_for_function(WAITS, timeout=MOMENT).json_value()
            (folder / f"page-{number}.json").write_text(waits, encoding="utf-8")
        with attempt():
            page.screenshot(path=folder / f"page-{number}.png", timeout=MOMENT)
    for number, context in enumerate(traced(browser), 1):
        with attempt():
            context.tracing.stop_chunk(path=folder / f"trace-{number}.zip")
