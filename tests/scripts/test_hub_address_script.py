"""What assets/page.js tells the Hub of the page's address, and nobody else."""

from urllib.parse import parse_qsl

import pytest

from tests.browser.test_hub_address import HUB, SPACE
from tests.chromium import patience
from xformer.ui.components import VERSION

CHANGE = (
    "query => { history.replaceState(null, '', '?' + query); tell('addresschange'); }"
)


@pytest.fixture
def framed(bench_page, files):
    """`framed(outer)`: a bare page with the scripts in a frame of a page at the address
    `outer`, and that page."""
    bench_page.context.grant_permissions(
        ["local-network-access"], origin="https://huggingface.co"
    )
    outside = bench_page.context.new_page()
    outside.set_default_timeout(patience())

    def open_frame(outer):
        outside.route(
            lambda url: url.partition("?")[0] == outer.partition("?")[0],
            lambda route: route.fulfill(
                content_type="text/html", body=HUB.replace("ADDRESS", files)
            ),
        )
        outside.goto(outer)
        page = outside.frame("space")
        page.locator("body[data-ready]").wait_for(state="attached")
        return outside, page

    yield open_frame
    outside.close()


def told(outside):
    """What the framing page was told, in order, once what was posted before now is
    there."""
    outside.evaluate("new Promise(done => { setTimeout(done); })")
    return [
        dict(parse_qsl(one["queryString"], strict_parsing=True))
        if one["queryString"]
        else {}
        for one in outside.evaluate("told")
    ]


def test_each_address_is_told_once_without_what_the_hub_adds(framed):
    outside, page = framed(f"{SPACE}?text=Hi.")
    page.evaluate("pageState.settled = false; ofPage.tellHub()")
    page.evaluate(CHANGE, "text=Hi.&tab=model&__theme=light&__sign=secret")
    page.evaluate(CHANGE, "text=Hi.&tab=pairs&__theme=light&__sign=secret")
    page.evaluate("pageState.settled = true; tell('settled')")
    outside.wait_for_function("told.length > 0")
    # the Hub's own
    page.evaluate(CHANGE, "text=Hi.&tab=pairs&__theme=dark&__sign=secret")
    page.evaluate(CHANGE, "text=A+%26+b&tab=pairs&__sign=secret")
    outside.wait_for_url("**text=A+%26+b**")
    assert told(outside) == [
        {"text": "Hi.", "tab": "pairs"},
        {"text": "A & b", "tab": "pairs"},
    ]
    assert "secret" not in outside.url


def test_an_address_that_is_opened_is_told_before_the_page_shows_it(framed):
    outside, page = framed(SPACE)
    page.evaluate("""ofPage.tellHub();
        document.body.append(Object.assign(document.createElement('button'), {className: 'go-back'}))""")
    page.evaluate(
        """async version => {
        const {openState} = await import(new URL(`./scripts/${version}/assets/bar.js`, document.baseURI));
        openState({tab: 'model', nonsense: '1'});
    }""",
        VERSION,
    )
    outside.wait_for_function("told.length > 0")
    assert page.evaluate("pageState.settled") is False
    assert told(outside) == [{"tab": "model", "nonsense": "1"}]


def test_no_other_page_that_frames_this_one_is_told(framed, files):
    outside, page = framed(f"{files}/framing.html")
    page.evaluate("ofPage.tellHub()")
    page.evaluate(CHANGE, "text=Hi.")
    assert told(outside) == []


def test_a_page_of_its_own_tells_nobody(bench):
    bench.open()
    bench.page.evaluate(
        "window.posted = []; window.postMessage = (...sent) => posted.push(sent)"
    )
    bench.call("tellHub")
    bench.page.evaluate(CHANGE, "text=Hi.")
    bench.page.evaluate("tell('settled')")
    assert (
        bench.page.evaluate(
            "posted.filter(([message]) => message?.queryString !== undefined)"
        )
        == []
    )
