"""The overview of all parts, the search over them, and the questions of the
sentence, in Chromium."""

import json
from urllib.parse import parse_qs, quote, urlsplit

from playwright.sync_api import expect

from tests.browser.acts import PICTURES, idle, open_tab
from xformer.strings import ENGLISH

say = ENGLISH.say


def find(page, words):
    """Open the first part in which the overview finds these words."""
    page.keyboard.press("/")
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    idle(page)


def test_parts_are_found_by_a_key_by_an_address_and_through_questions(
    visit, learned_pairs
):
    page = visit("/")
    asked = page.locator(".questions li button")
    expect(asked).to_have_count(3)
    page.get_by_role("tab", name=say("tab_translate")).focus()
    find(page, say("part_recorded"))
    expect(page.get_by_role("dialog", name=say("places_title"))).to_be_hidden()
    expect(page.get_by_role("radio", name=say("part_recorded"))).to_be_checked()
    expect(page.get_by_role("tab", name=say("tab_training"))).to_have_attribute(
        "aria-selected", "true"
    )
    find(page, say("drawer_ablation"))
    expect(
        page.locator(".drawer [role=tabpanel] .asks").filter(visible=True).first
    ).to_be_in_viewport()
    assert page.url.endswith("#ablation")

    for i, address in enumerate(
        json.loads(one)
        for one in asked.evaluate_all("each => each.map(one => one.dataset.address)")
    ):
        open_tab(page, "translate")
        asked.nth(i).click()
        idle(page)
        query = parse_qs(urlsplit(page.url).query)
        assert query["lock"] == [address["lock"]]
        assert query["tab"] == [address["tab"]]
    page.go_back()
    expect(page.get_by_role("tab", name=say("tab_translate"))).to_have_attribute(
        "aria-selected", "true"
    )
    expect(page.locator(PICTURES["translate"]).first).to_be_visible()

    page = visit(
        f"/?tab=training&part=generations&text={quote(learned_pairs[0][0])}#trained",
        width=375,
    )
    tab = page.get_by_role("tab", name=say("tab_training"), exact=True).bounding_box()
    assert tab["x"] >= 0 and tab["x"] + tab["width"] <= 375, "the tab is in sight"
    expect(
        page.locator(".at-trained .asks").filter(visible=True).first
    ).to_be_in_viewport()
    page.get_by_role("tab", name=say("tab_model"), exact=True).click()
    idle(page)
    assert "tab=model" in page.url and "#" not in page.url
