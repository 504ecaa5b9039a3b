"""What stands still while answers come and parts open: nothing that one looks at moves by more than 10 pixels."""

import pytest
from playwright.sync_api import expect

from tests.browser.acts import STANDS, choose_map, expect_spanish, open_attention, open_tab, translate

MOST = 10  # pixels
FOLDED = ".folds > .block > button.label-wrap:visible"


def top(locator):
    return locator.first.bounding_box()["y"]


def test_nothing_below_a_translation_moves_with_its_length(visit, learned_pairs):
    short, long = sorted(learned_pairs, key=lambda pair: len(pair[1]))[::len(learned_pairs) - 1]
    page, tops = visit(width=760), []
    for english, spanish in (short, long):
        translate(page, english)
        expect_spanish(page, spanish)
        tops.append([top(page.locator(one)) for one in (".legend", ".block.strip")])
    assert page.locator(".translation").bounding_box()["height"] > 90
    assert tops[0] == pytest.approx(tops[1], abs=MOST)


def test_what_stands_below_the_steps_keeps_its_place(visit):
    page = visit("/?tab=decoding")
    open_tab(page, "decoding")
    tree = page.locator(".row.tree-head")
    page.wait_for_function(STANDS, polling=500)
    before = top(tree)
    for _ in range(2):
        page.locator(".step-player input[type=range]").press("ArrowRight")
    expect(page.locator(".step-player output")).to_contain_text("3")
    assert top(tree) == pytest.approx(before, abs=MOST)


def test_a_part_opens_where_it_was_clicked(visit):
    page = visit("/?tab=principles", width=1280)
    open_tab(page, "principles")
    page.wait_for_function(STANDS, polling=500)
    for number in (1, 2):  # at the right, and at the left with another beside it
        label = page.locator(FOLDED).nth(number)
        label.scroll_into_view_if_needed()
        left, above = (label.bounding_box()[axis] for axis in "xy")
        label.click()
        page.wait_for_function(STANDS, polling=1000)
        box = label.bounding_box()
        assert (box["x"], box["y"]) == pytest.approx((left, above), abs=MOST)


def test_the_cells_of_a_head_go_over_into_those_of_another(visit, learned_pairs):
    """Unless somebody wants no motion."""
    page = visit()
    open_attention(page, learned_pairs)
    page.evaluate("""() => {
        window.animated = [];
        const animate = Element.prototype.animate;
        Element.prototype.animate = function (frames, time) {
            window.animated.push([this.getAttribute('class'), time]);
            return animate.call(this, frames, time);
        };
    }""")
    title = page.locator(".view .title")
    for motion, head, times in (("reduce", 2, 0), ("no-preference", 3, 2)):
        page.emulate_media(reduced_motion=motion)
        choose_map(page, 2, head)
        expect(title).to_contain_text(f"head {head} of 4")
        assert [kind for kind, _ in page.evaluate("animated")] == ["levels"] * times
    assert max(time for _, time in page.evaluate("animated")) <= 250
    expect(page.locator(".view svg.cells .levels")).to_have_count(1)
