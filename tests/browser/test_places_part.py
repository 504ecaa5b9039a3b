"""The overview of all parts, the search over them, and the doors of the Translate tab, in Chromium."""

import json
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.acts import PICTURES, idle


def overview(page):
    return page.get_by_role("dialog", name="Everything on this page")


def test_a_key_opens_the_overview_which_finds_a_part_and_opens_it(visit):
    page = visit("/")
    page.get_by_role("tab", name="Translate").focus()
    page.keyboard.press("/")
    field = overview(page).get_by_role("searchbox")
    expect(field).to_be_focused()
    page.keyboard.type("warm-up")
    expect(overview(page).locator("section:not(.terms) li").filter(visible=True)).to_have_count(1)
    page.keyboard.press("Enter")
    idle(page)
    expect(overview(page)).to_be_hidden()
    expect(page.get_by_role("radio", name="On real sentences")).to_be_checked()
    expect(page.get_by_role("tab", name="Training")).to_have_attribute("aria-selected", "true")


def test_the_overview_is_walked_by_arrows_and_left_by_escape(visit):
    page = visit("/", width=375)
    page.get_by_role("button", name="Find a part of the page").click()
    page.keyboard.type("nothing has this")
    expect(overview(page).get_by_text("No part has all of these words")).to_be_visible()
    overview(page).get_by_role("searchbox").fill("LAYER")
    page.keyboard.press("ArrowDown")
    expect(overview(page).get_by_role("button", name="Layer by layer Which layer")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(overview(page).get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    idle(page)
    expect(overview(page)).to_be_hidden()
    expect(page.get_by_role("tab", name="Translate")).to_have_attribute("aria-selected", "true")


def test_a_slash_that_is_typed_into_a_field_is_a_slash(visit):
    page = visit("/")
    box = page.get_by_role("textbox", name="English sentence")
    box.click()
    box.press("End")
    page.keyboard.type("/")
    idle(page)
    expect(overview(page)).to_be_hidden()
    assert box.input_value().endswith("/")


@pytest.mark.parametrize(("tab", "part", "inside"), [
    ("principles", "store", ".at-store .asks"), ("training&part=generations", "trained", ".at-trained .asks"),
    ("positions", "pos-table", ".at-pos-table .asks"),
    ("attention", "ablation", ".drawer [role=tabpanel] .asks")])
def test_an_address_may_name_a_part_that_is_folded(visit, learned_pairs, tab, part, inside):
    page = visit(f"/?tab={tab}&text={quote(learned_pairs[0][0])}#{part}")
    expect(page.locator(inside).filter(visible=True).first).to_be_in_viewport()
    page.get_by_role("tab", name="Model").click()
    idle(page)
    assert "tab=model" in page.url and "#" not in page.url


def test_each_door_opens_what_it_asks_and_has_a_picture(visit):
    page = visit("/")
    assert page.locator(".doors svg").count() >= 4
    doors = page.locator(".doors li button")
    addresses = [json.loads(one) for one in doors.evaluate_all("each => each.map(one => one.dataset.address)")]
    assert [one["tab"] for one in addresses] == [
        "attention", "attention", "decoding", "positions", "sentiment", "training"]
    doors.nth(5).click()
    expect(page.get_by_role("radio", name="Train one now")).to_be_checked()
    page.go_back()
    expect(page.get_by_role("tab", name="Translate")).to_have_attribute("aria-selected", "true")
    page.reload()
    idle(page)
    expect(doors.first).to_be_hidden()
    page.get_by_text("Six questions to begin with").click()
    expect(doors.first).to_be_visible()
    expect(page.locator(PICTURES["translate"]).first).to_be_visible()
