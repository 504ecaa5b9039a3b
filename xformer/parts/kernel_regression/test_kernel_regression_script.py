"""The points of kernel regression and the curve through them: kernel_regression.js on
answers of its part."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved, steady, unreadable
from xformer.parts.kernel_regression import part
from xformer.strings import ENGLISH

# Whether a click on a button waits while a move is being drawn, and whether it goes on
# when the answer has come.
WAITS = """async ([number, answer]) => {
    let isOver = false;
    const wait = ofPage.whenMoved().then(() => { isOver = true; });
    for (let frame = 0; frame < 8; frame++) await new Promise(requestAnimationFrame);
    const waited = !isOver;
    mounted[number].show(answer);
    await wait;
    return waited;
}"""


@pytest.fixture
def answer(models):
    """`answer(points="", power=-1)`: the curve through points, for a bandwidth that is
    a power of two."""
    return lambda points="", power=-1.0: part.draw(
        models, ENGLISH, kernel_points=points, kernel_power=power
    )["curve"]


def told(mounted):
    """The points of the last move, as text."""
    name, data = mounted.told[-1]
    assert name == "move"
    return data["points"]


def place(point):
    """Where a point says that it is."""
    return [
        float(one.replace("−", "-"))
        for one in re.findall(r"−?\d+\.\d+", point.get_attribute("aria-label"))
    ]


def drag(page, point, down):
    """Take a point and move it, without letting it go."""
    box = point.bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 8, box["y"] + 8 + down, steps=4)
    steady(page)


def test_a_point_is_moved_by_a_key_and_keeps_the_focus(bench, answer):
    curve = bench.mount("kernel-curve", answer())
    expect(curve.locator(".caption")).to_have_text(
        ENGLISH.say("kernel_curve", bandwidth="h = 0.5")
    )
    expect(curve.locator(".point")).to_have_count(14)
    drawn = curve.locator(".curve").get_attribute("d")
    point = curve.locator(".point").nth(3)
    x, y = place(point)
    point.focus()
    bench.page.keyboard.press("ArrowUp")
    assert place(point) == pytest.approx([x, y + 0.1])
    curve.show(answer(told(curve)))
    expect(curve.locator(".curve")).not_to_have_attribute("d", drawn)
    expect(point).to_be_focused()
    assert place(point) == pytest.approx([x, y + 0.1])


def test_a_point_is_dragged_and_stays_where_it_is_put(bench, answer):
    curve = bench.mount("kernel-curve", answer())
    point = curve.locator(".point").nth(5)
    x, y = place(point)
    drag(bench.page, point, 52)
    bench.page.mouse.up()
    assert place(point)[1] < y - 0.2
    assert [float(one) for one in told(curve).split()[5].split(",")] == place(point)
    bench.page.mouse.move(0, 0)
    curve.show(answer(told(curve)))
    assert place(point)[1] < y - 0.2


def test_a_move_that_waits_for_the_answer_to_another_is_sent_as_it_is(bench, answer):
    curve = bench.mount("kernel-curve", answer())
    for _ in range(2):
        curve.locator(".point").first.press("ArrowUp")
    assert curve.sent_late("move") == {"points": told(curve)}


def test_a_point_in_the_hand_is_not_taken_back_by_a_late_answer(bench, answer):
    curve = bench.mount("kernel-curve", answer())
    point = curve.locator(".point").nth(5)
    drag(bench.page, point, 30)
    late = told(curve).replace(told(curve).split()[5], "2,2")
    there = place(point)
    curve.show(answer(late))
    bench.resize(1000)  # which draws all points again
    assert place(point) == there
    bench.page.mouse.up()
    curve.show(answer(told(curve)))
    assert place(point) == there


def test_the_answer_to_a_move_leaves_the_point_where_it_was_moved_since(bench, answer):
    curve = bench.mount("kernel-curve", answer())
    point = curve.locator(".point").first
    point.press("ArrowUp")
    first = told(curve)
    point.press("ArrowUp")
    there = place(point)
    second = told(curve)
    curve.show(answer(first))
    assert place(point) == there
    curve.show(answer(second))
    assert place(point) == there
    curve.show(answer())  # the first points again
    assert place(point) != there


def test_no_point_leaves_the_axes(bench, answer):
    curve = bench.mount("kernel-curve", answer())
    point = curve.locator(".point").first
    drag(bench.page, point, 2000)
    bench.page.mouse.up()
    (_, (lowest, _)) = answer()["range"]
    assert place(point)[1] == lowest
    assert answer(told(curve))["points"][0][1] == lowest, "the server can read it"


def test_a_button_waits_until_the_last_move_is_drawn(bench, answer):
    """The late answer of a move would take back what the button does."""
    curve = bench.mount("kernel-curve", answer())
    assert bench.call("whenMoved") == []
    first = answer()
    curve.locator(".point").nth(3).press("ArrowUp")
    curve.show(first)  # an answer to an earlier move
    assert bench.page.evaluate(WAITS, [curve.number, answer(told(curve))])


def test_a_button_does_not_wait_for_a_curve_that_cannot_be_drawn(bench, answer):
    curve = bench.mount("kernel-curve", answer())
    curve.locator(".point").nth(3).press("ArrowUp")
    assert bench.page.evaluate(WAITS, [curve.number, None])


def test_points_and_curve_are_saved(bench, answer):
    curve = bench.mount("kernel-curve", answer())
    found = json.loads(saved(bench.page, curve.save("JSON"))[0])
    assert len(found["rows"]) == 14 + 201
    content, _ = saved(bench.page, curve.save("SVG"))
    assert b".kernel-curve .point" in content and content.count(b"<circle") == 14


def test_the_points_follow_the_width_of_the_page(bench, answer):
    curve = bench.mount("kernel-curve", answer())
    before = (
        curve.locator("svg").first.get_attribute("width"),
        curve.locator(".curve").get_attribute("d"),
    )
    bench.resize(375)
    expect(curve.locator("svg").first).not_to_have_attribute("width", before[0])
    expect(curve.locator(".curve")).not_to_have_attribute("d", before[1])
    expect_fits(bench.page, 375)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_can_be_read(bench, answer, theme):
    bench.mount("kernel-curve", answer(), theme=theme)
    assert not unreadable(bench.page)
