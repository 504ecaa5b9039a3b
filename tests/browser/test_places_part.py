"""The overview of all parts, the search over them, and the doors of the Translate tab,
in Chromium."""

from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.acts import PICTURES, idle
from xformer.strings import ENGLISH

say = ENGLISH.say


def find(page, words):
    """Open the first part in which the overview finds these words."""
    page.keyboard.press("/")
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    idle(page)


def test_parts_are_found_by_a_key_by_an_address_and_through_doors(visit, learned_pairs):
    page = visit("/")
    doors = page.locator(".doors li button")
    assert page.locator(".doors svg").count() >= 4
    page.get_by_role("tab", name=say("tab_translate")).focus()
    find(page, "warm-up")
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

    page.locator("[role=tab][data-tab-id=translate]").click()
    doors.nth(5).click()
    expect(page.get_by_role("radio", name=say("part_live"))).to_be_checked()
    page.go_back()
    expect(page.get_by_role("tab", name=say("tab_translate"))).to_have_attribute(
        "aria-selected", "true"
    )
    page.reload()
    idle(page)
    expect(doors.first).to_be_hidden()
    page.get_by_text(say("doors_title")).click()
    expect(doors.first).to_be_visible()
    expect(page.locator(PICTURES["translate"]).first).to_be_visible()

    page = visit(
        f"/?tab=training&part=generations&text={quote(learned_pairs[0][0])}#trained"
    )
    expect(
        page.locator(".at-trained .asks").filter(visible=True).first
    ).to_be_in_viewport()
    page.get_by_role("tab", name=say("tab_model"), exact=True).click()
    idle(page)
    assert "tab=model" in page.url and "#" not in page.url
