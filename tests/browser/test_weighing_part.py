"""Hard, soft and wrong attention in Chromium: opened by a click or an address, drawn again by every control, saved."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, expect_spanish, idle, saved
from xformer.hub.checkpoint import examine

DOG = "/?tab=attention&text=The+dog+eats+the+bread."


def named(page):
    """What is weighed otherwise in what is drawn."""
    return page.locator(".weigh-result .what")


@pytest.mark.parametrize("width", [1280, 375])
def test_a_click_translates_with_hard_attention_and_draws_the_course_over_beta(visit, width, learned_pairs):
    page = visit(DOG, width=width)
    expect_spanish(page, learned_pairs[1][1])
    page.get_by_role("tab", name="Hard, soft, wrong").click()
    expect(named(page)).to_have_text("β → ∞ · Cross, all layers")
    expect(page.locator(".weigh-result .large").first).to_have_text(learned_pairs[1][1])
    expect(page.locator(".weigh-after .title")).to_contain_text("β → ∞ · Cross, all layers")
    expect(page.locator(".weigh-curve .scatterlayer .js-line")).to_have_count(3)
    idle(page)
    expect_fits(page, width)


def test_every_control_is_followed_and_stands_in_the_address(visit, learned_pairs):
    page = visit(f"{DOG}&weigh_scope=head&weigh_power=0")
    expect(named(page)).to_have_text("β = 1 · Cross, layer 2, head 1")  # opened by what the address asks for
    expect(page.locator(".block.weigh-result")).to_contain_text("The translation stays the same")
    part = page.get_by_role("tabpanel").filter(has=page.locator(".block.weigh-result")).last
    part.get_by_role("slider").focus()
    page.keyboard.press("Home")
    expect(named(page)).to_have_text("β = 0 · Cross, layer 2, head 1")
    part.get_by_text("softmax over the queries", exact=True).click()
    expect(named(page)).to_have_text("softmax over the queries · Cross, layer 2, head 1")
    idle(page)
    expect(part.get_by_role("slider")).to_be_hidden()
    page.locator(".stacks").get_by_text("Decoder self", exact=True).click()
    part.get_by_role("button", name="Take the head shown above").click()
    expect(named(page)).to_contain_text("softmax over the queries · Decoder self")
    part.get_by_text("masked: 0 in place of −∞", exact=True).click()
    expect(named(page)).to_contain_text("masked: 0 in place of −∞ · Decoder self")
    page.wait_for_url(re.compile(r"weigh_head=decoder_self\.\d\.\d&weigh_scope=head&weigh_kind=zeroed"))
    again = visit("/" + page.url.split("/", 3)[3])
    expect(named(again)).to_contain_text("masked: 0 in place of −∞ · Decoder self")


def test_the_words_and_the_curve_are_saved_as_numbers(visit, learned_pairs):
    page = visit(f"{DOG}&weigh_scope=layer")
    expect(named(page)).to_have_text("β → ∞ · Cross, layer 2")
    table = json.loads(saved(page, page.locator(".weigh-words").get_by_role("button", name="Save as JSON").click)[0])
    assert [row[0] for row in table["rows"]] == [*learned_pairs[1][1].rstrip(".").split(), ".", "</s>"]
    found = json.loads(saved(page, page.locator(".weigh-curve").get_by_role("button", name="Save as JSON").click)[0])
    assert len(found["rows"]) == 3 * 13
    content, _ = saved(page, page.locator(".weigh-words").get_by_role("button", name="Save as SVG").click)
    assert b".reweighed td" in content


def test_both_translations_are_saved_with_what_the_change_costs_and_whose_they_are(visit, learned_pairs,
                                                                                   tiny_checkpoint):
    page = visit(f"{DOG}&weigh_power=-6")
    expect(named(page)).to_have_text("β = 0 · Cross, all layers")
    part = page.locator(".weigh-result")
    found = json.loads(saved(page, part.get_by_role("button", name="Save as JSON").first.click)[0])
    first, second = found["rows"]
    assert first[:2] == ["equation 1", learned_pairs[1][1]] and second[0] == "β = 0 · Cross, all layers"
    said = part.locator(".weighed p").last.text_content()
    assert f"{first[2]:.2f}" in said and f"{second[2]:.2f}" in said
    assert found["title"] == "β = 0 · Cross, all layers: The dog eats the bread."
    assert found["checkpoint"] == {"name": "tiny-en-es", "identity": examine(tiny_checkpoint).identity}
    content, _ = saved(page, part.get_by_role("button", name="Save as SVG").first.click)
    assert b"The dog eats the bread." in content and b".weigh-result" not in content, "the sentence stands in it"
