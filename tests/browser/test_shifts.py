"""What stands still while answers come and parts open: nothing that one looks at moves by more than 10 pixels."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import choose_map, expect_spanish, idle, open_attention, open_tab, translate

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
        idle(page)
        tops.append([top(page.locator(one)) for one in (".legend", ".block.strip")])
    assert page.locator(".translation").bounding_box()["height"] > 90
    assert tops[0] == pytest.approx(tops[1], abs=MOST)


def test_what_stands_below_the_steps_keeps_its_place(visit):
    page = visit("/?tab=decoding")
    open_tab(page, "decoding")
    tree = page.locator(".row.tree-head")
    idle(page)
    before = top(tree)
    for _ in range(2):
        page.locator(".step-player input[type=range]").press("ArrowRight")
    expect(page.locator(".step-player output")).to_contain_text("3")
    idle(page)
    assert top(tree) == pytest.approx(before, abs=MOST)


# Where something stands as soon as another part is chosen, before any answer is there, and when it has come.
CHOOSE = """([label, selectors]) => {
    const seen = () => selectors.map(one => [...document.querySelectorAll(one)].find(found => found.checkVisibility()));
    if (window.tops) return seen().every(Boolean) && tops();
    window.tops = () => seen().map(one => one.getBoundingClientRect().top + scrollY);
    document.querySelector(label).click();
}"""


def choose(page, label, selectors):
    return page.wait_for_function(CHOOSE, arg=[label, selectors]).json_value()


@pytest.mark.parametrize(("part", "written", "below"), [
    (2, ".forced tr.wanted button", (".of-yours > .free", ".of-yours > .form", ".distribution")),
    (3, ".of-lens td.reading", (".of-layers > :nth-child(5)", ".of-lens"))])
def test_nothing_below_the_tables_of_steps_moves_when_they_come(visit, part, written, below):
    page = visit("/?tab=decoding")
    open_tab(page, "decoding")
    idle(page)
    before = choose(page, f".decoding > .parts label:nth-of-type({part})", below)
    expect(page.locator(written).first).to_be_visible()
    idle(page)
    assert page.evaluate("tops()") == pytest.approx(before, abs=MOST)


def test_nothing_below_the_three_maps_moves_when_they_are_drawn(visit):
    page = visit()
    before = choose(page, "[role=tab][data-tab-id=pairs]", (".three-maps", ".block.about"))
    expect(page.locator(".three-maps .pair-difference[data-drawn] svg").first).to_be_visible()
    idle(page)
    assert page.evaluate("tops()") == pytest.approx(before, abs=MOST)


@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize(("tab", "label", "there", "below"), [
    ("training", ".tabitem .parts label:nth-of-type(3)", ".live-pace[data-drawn] svg",
     (".block.live-pace", ".block.about")),
    ("training", ".tabitem .parts label:nth-of-type(4)", ".recorded-runs[data-drawn] svg",
     (".block.recorded-runs", ".block.recorded-depths", ".row:has(.block.recorded-runs) ~ .tables")),
    ("translate", "[role=tab][data-tab-id=positions]", ".pos-after .title",
     (".experiment .controls", ".block.pos-before", ".block.pos-after"))])  # the test's model writes on and on
def test_nothing_moves_below_what_comes_when_a_part_opens(visit, width, tab, label, there, below):
    page = visit(width=width)
    open_tab(page, tab)
    idle(page)
    before = choose(page, label, below)
    expect(page.locator(there).first).to_be_visible()
    idle(page)
    assert page.evaluate("tops()") == pytest.approx(before, abs=MOST)


def test_the_whole_pass_is_uncovered_to_its_end(visit):
    """What lays the picture down a second time would break off the motion by which it comes."""
    page = visit()
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate("""() => {
        const animate = Element.prototype.animate;
        window.wereSeen = [];
        Element.prototype.animate = function (...how) {
            const motion = animate.apply(this, how);
            const note = () => wereSeen.push(this.parentElement.isConnected);
            if (this.matches('.cover')) motion.finished.then(note);
            return motion;
        };
    }""")
    open_tab(page, "model")
    idle(page)
    assert page.evaluate("wereSeen") == [True]
    expect(page.locator(".whole-pass .cover")).to_have_count(0)


def test_the_picture_in_words_stands_where_it_stood_below_a_larger_picture(visit, learned_pairs):
    page, tops = visit(), []
    title = open_attention(page, learned_pairs)
    for english, _ in sorted(learned_pairs, key=lambda pair: len(pair[0]))[::len(learned_pairs) - 1]:
        translate(page, english)
        idle(page)
        tokens = "".join(page.locator(".view .line.column .token").all_text_contents())
        assert re.sub("[…␣ ]", "", tokens) == english.replace(" ", "") + "</s>"
        expect(title).to_be_visible()
        tops.append(top(page.locator(".words-of-picture")))
    assert tops[0] == pytest.approx(tops[1], abs=MOST)


def test_a_part_opens_where_it_was_clicked(visit):
    page = visit("/?tab=principles", width=1280)
    open_tab(page, "principles")
    idle(page)
    for number in (1, 2):  # at the right, and at the left with another beside it
        label = page.locator(FOLDED).nth(number)
        label.scroll_into_view_if_needed()
        left, above = (label.bounding_box()[axis] for axis in "xy")
        label.click()
        idle(page)
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
        idle(page)
        assert [kind for kind, _ in page.evaluate("animated")] == ["levels"] * times
    assert max(time for _, time in page.evaluate("animated")) <= 250
    expect(page.locator(".view svg.cells .levels")).to_have_count(1)
