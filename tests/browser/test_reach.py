"""All tabs and their parts for the keyboard and for screen readers, in Chromium, at a wide and at a narrow window."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.acts import each_part, expect_spanish, idle, translate

FINDINGS = Path(__file__).with_name("reach.js").read_text(encoding="utf-8").split("export default ")[1]
TALLEST = {1280: 1400, 375: 2400}  # pixels of a part, by the width of the window: what a person scrolls through


@pytest.mark.parametrize("width", [1280, 375])
def test_every_part_of_every_tab_can_be_reached_and_is_named(visit, learned_pairs, width):
    page, found, heights = visit(width=width), {}, {}
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    for place in each_part(page):
        found[place] = page.evaluate(f"({FINDINGS})()")
        heights[place] = page.evaluate("document.body.scrollHeight")
    assert not {place: one for place, one in found.items() if one}
    assert not {place: height for place, height in heights.items() if height > TALLEST[width]}


def test_the_pieces_of_a_translation_are_one_stop_of_the_tab_key(visit, learned_pairs):
    page = visit()
    translate(page, learned_pairs[4][0])
    expect_spanish(page, learned_pairs[4][1])
    idle(page)
    pieces = page.locator(".translation .piece")
    expect(page.locator(".translation .piece[tabindex='0']")).to_have_count(1)
    pieces.first.press("ArrowRight")
    expect(pieces.nth(1)).to_be_focused()
    expect(pieces.nth(1)).to_have_attribute("tabindex", "0")
    expect(pieces.first).to_have_attribute("tabindex", "-1")
