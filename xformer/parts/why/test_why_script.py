"""Why a piece stands in a translation, as xformer/parts/why/why.js draws an answer of
the Step by step tab."""

import csv
import io
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved
from tests.pages import shown
from xformer.results import Options
from xformer.strings import ENGLISH

say = ENGLISH.say
NUMBERS = "all => all.map(one => parseFloat(one.textContent.replace('\u2212', '-')))"


@pytest.fixture
def draw(models, made, learned_pairs):
    """`draw(step=2)`: what the panel is set to."""
    translation, trace = models.default.translate_and_trace(
        learned_pairs[1][0], Options(beam=5)
    )
    return lambda **values: shown(
        made.pictures["decoding"],
        models.default,
        translation=translation,
        trace=trace,
        decode="why",
        **values,
    )["why_panel"]


@pytest.fixture
def panel(bench, draw):
    return bench.mount("why-panel", draw(step=2))


def test_the_parts_of_why_sum_up_against_each_rival(panel, draw):
    rivals = panel.locator(".instead button")
    said = panel.locator(".instead .found")
    parts = ".parts .number"
    expect(panel.locator(".bars .now")).to_have_attribute(
        "aria-label", re.compile(r"Step 2, “.+”: .+ from the Engl")
    )
    expect(rivals.first).to_have_attribute("aria-pressed", "true")
    rivals.nth(2).click()
    expect(panel.element).to_have_attribute("data-stale", "true")
    ((told, data),) = panel.told
    assert told == "rival"
    for rival in ("", data["rival"]):  # the likeliest, and another one
        panel.show(draw(step=2, rival=rival))
        name = panel.locator(".instead [aria-pressed=true] span").inner_text()
        expect(said).to_contain_text(f"less that of “{name}” is")
        *added, total = panel.locator(parts).evaluate_all(NUMBERS)
        assert sum(added) == pytest.approx(total, abs=0.005 * (len(added) + 1))
        expect(said).to_contain_text(f"{total:+.2f}".replace("-", "−"))
        cells = panel.locator(".heads td[title]").evaluate_all(
            "all => all.map(one => parseFloat(one.title.split(': ')[1].replace('\u2212', '-')))"
        )
        # self-attention and cross-attention of both layers
        of_heads = [added[i] for i in (2, 3, 5, 6)]
        assert len(cells) == 2 * 2 * 4 and sum(cells) == pytest.approx(
            sum(of_heads), abs=0.03
        )
    expect(panel.element).not_to_have_attribute("data-stale", "true")
    expect(rivals.nth(2)).to_be_focused()


def test_an_arrow_asks_why_of_the_next_step_and_keeps_the_focus(panel, draw):
    panel.locator(".bars .now").press("ArrowRight")
    assert panel.told == [("choose", {"step": 3})]
    panel.show(draw(step=3))
    expect(panel.locator(".instead h3")).to_contain_text("At step 3 stands")
    expect(panel.locator(".bars .now")).to_be_focused()
    expect(panel.locator(".bars button").nth(2)).to_have_class("now")


def test_a_twin_s_answers_are_put_into_each_head_and_another_length_is_refused(
    bench, panel, draw, learned_pairs
):
    bench.resize(375)
    field = panel.block.get_by_label(say("why_twin_field"))
    field.fill("A very much longer sentence than that one is.")
    field.press("Enter")
    assert panel.told == [
        ("twin", {"twin": "A very much longer sentence than that one is."})
    ]
    panel.show(draw(step=2, twin=panel.told[0][1]["twin"]))
    expect(field).to_be_focused()
    expect(panel.block.get_by_role("alert")).to_contain_text(
        "The twin must have as many pieces"
    )
    expect(panel.locator(".swapped table")).to_have_count(0)
    expect(field).to_have_value(panel.told[0][1]["twin"])
    field.fill(learned_pairs[1][0])
    panel.block.get_by_role("button", name=say("why_twin_run")).click()
    panel.show(draw(step=2, twin=panel.told[1][1]["twin"]))
    expect(panel.locator(".swapped table")).to_have_count(3)
    expect(panel.locator(".swapped .found")).to_contain_text(
        "With the twin the difference is"
    )
    expect_fits(bench.page, 375)
    rows = [*csv.reader(io.StringIO(saved(bench.page, panel.save("CSV"))[0].decode()))]
    twins = [row for row in rows if row[0].startswith(say("why_twin_field"))]
    assert {len(row) for row in rows} == {3} and len(twins) == 3 * 2 * 4
    content, _ = saved(bench.page, panel.save("PNG"))
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_a_twin_that_is_being_typed_is_not_taken_away_by_an_answer(panel, draw):
    field = panel.block.get_by_label(say("why_twin_field"))
    field.fill("The cat")
    panel.show(draw(step=3))
    expect(field).to_have_value("The cat")
    expect(field).to_be_focused()


def test_what_each_piece_does_is_shown_in_two_ways(panel):
    ways = panel.locator(".inputs .buttons button")
    words = panel.locator(".inputs .words small")
    before = words.all_inner_texts()
    ways.nth(1).click()
    assert words.all_inner_texts() != before
    expect(panel.locator(".inputs .sub")).to_contain_text(say("why_way_1"))
    expect(ways.nth(1)).to_be_focused()
