"""The address of a page on a Space: the Hub's own page frames it, and is told what the
address says."""

from urllib.parse import parse_qsl, urlencode, urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_spanish, idle, open_tab, translate, watch
from tests.chromium import patience
from xformer.strings import ENGLISH

say = ENGLISH.say
SPACE = "https://huggingface.co/spaces/me/page"
# What the Hub does: it hands its query on when it opens the frame, and shows what the
# frame says of it.
HUB = """<!doctype html><iframe name="space" width="1200" height="850"></iframe><script>
  window.told = [];
  addEventListener('message', ({data, origin}) => {
    if (data.queryString === undefined) return;
    told.push({...data, origin});
    const address = new URL(location.href);
    address.search = data.queryString;
    address.hash = data.hash;
    history.replaceState(null, '', address);
  });
  const query = new URLSearchParams(location.search);
  query.set('__theme', 'light');
  query.set('__sign', 'secret');
  document.querySelector('iframe').src = `ADDRESS/?${query}${location.hash}`;
</script>"""


@pytest.fixture
def framed(person, address):
    """`framed(outer)`: the page in a frame of a page that is served at the address
    `outer` as the Hub serves a Space; returns both."""
    # A page of the internet may frame one of this machine only where a person allows
    # that.
    person.grant_permissions(["local-network-access"], origin="https://huggingface.co")
    outside = person.new_page()
    outside.set_default_timeout(patience())
    outside.set_viewport_size({"width": 1280, "height": 900})
    watch(outside)

    def open_frame(outer):
        host = outer.partition("?")[0]
        outside.route(
            lambda url: url.partition("?")[0] == host,
            lambda route: route.fulfill(
                content_type="text/html", body=HUB.replace("ADDRESS", address)
            ),
        )
        outside.goto(outer)
        return outside, arrived(outside)

    yield open_frame
    outside.close()


def arrived(outside):
    """The page in the frame, once it is idle."""
    page = outside.frame("space")
    page.fetching = outside.fetching
    idle(page)
    return page


def shown(page):
    """What the address of the page in the frame says, but for what the Hub adds."""
    return {
        key: value
        for key, value in parse_qsl(urlparse(page.url).query)
        if not key.startswith("__")
    }


def told(outside):
    """What the framing page was told, each as a dictionary of what the address says."""
    said = outside.evaluate("told")
    assert {(one["origin"].partition(":")[0], one["hash"]) for one in said} <= {
        ("http", "")
    }
    assert not [
        one["queryString"] for one in said if one["queryString"].startswith("?")
    ]
    return [dict(parse_qsl(one["queryString"], strict_parsing=True)) for one in said]


def test_the_hub_is_told_each_address_and_opens_it_again(framed, learned_pairs):
    (first, first_spanish), (second, second_spanish) = learned_pairs[:2]
    asked = {"text": first, "tab": "attention", "stack": "encoder_self", "layer": "1"}
    outside, page = framed(f"{SPACE}?{urlencode(asked)}")
    # The query of the Hub's address reached the page, and what is told is that again,
    # and no step on the way.
    expect(page.locator(".view .title")).to_contain_text("layer 1 of 2")
    expect(page.get_by_label(say("sentence"))).to_have_value(first)
    outside.wait_for_function("told.length > 0")
    assert told(outside) == [shown(page)] and asked.items() <= shown(page).items()

    # Each change is told: a tab, a sentence.
    open_tab(page, "translate")
    outside.wait_for_url("**tab=translate**")
    translate(page, second)
    outside.wait_for_url("**text=The+dog**")
    expect_spanish(page, second_spanish)
    idle(page)
    assert told(outside)[-1] == shown(page)

    # What names an address is a step of its own, and so is Back.
    page.get_by_role("button", name="Open: decoder, layer 2").click()
    page.get_by_role("button", name=say("whole_open_attention")).last.click()
    outside.wait_for_url("**tab=attention**")
    idle(page)
    outside.go_back()
    outside.wait_for_url("**tab=translate**")
    idle(page)
    said = told(outside)
    assert all(
        before != after for before, after in zip(said, said[1:], strict=False)
    ), "told twice"
    assert not {key for one in said for key in one if key.startswith("__")}, (
        "what the Hub adds is not for the visitor"
    )
    assert "secret" in page.url and "secret" not in outside.url

    # Whoever is given the Hub's address sees the same.
    outside.reload()
    page = arrived(outside)
    expect(page.get_by_label(say("sentence"))).to_have_value(second)
    expect(page.locator("[role=tab][aria-selected=true]").first).to_have_text(
        say("tab_translate")
    )
    outside.wait_for_function("told.length > 0")
    assert told(outside) == said[-1:]
