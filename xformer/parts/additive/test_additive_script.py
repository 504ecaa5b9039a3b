"""Additive attention step by step: xformer/parts/additive/additive.js on the numbers
of a trained model."""

import csv
import io

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved
from tests.pages import shown


@pytest.fixture
def answer(made, models, learned_pairs):
    """`answer(step)`: what the tab draws for the first pair at a step, from 1."""
    trace = models.default.trace(*learned_pairs[0])
    return lambda step: shown(
        made.pictures["additive"],
        models,
        trace=trace,
        additive_open=True,
        additive_step=step,
    )["additive"]


@pytest.mark.parametrize("width", [1280, 375])
def test_a_key_goes_to_the_next_step_and_keeps_the_focus(bench, answer, width):
    picture = bench.mount("first-additive", answer(1), width=width)
    steps = picture.locator("[data-step]")
    expect(picture.locator(".title")).to_contain_text("after <s> → predicts")
    expect(picture.locator("img.numbers").first).to_be_visible()
    steps.first.press("ArrowRight")
    assert picture.told == [("choose", {"step": 2})]
    picture.show(answer(2))
    expect(picture.element).to_have_attribute("data-drawn", "2")
    expect(steps.nth(1)).to_be_focused()
    expect(steps.nth(1)).to_have_attribute("aria-pressed", "true")
    expect_fits(bench.page, width)


def test_the_weights_of_a_step_add_up(bench, answer):
    picture = bench.mount("first-additive", answer(2))
    weights = [float(one) for one in picture.locator(".share").all_text_contents()]
    assert sum(weights) == pytest.approx(1, abs=0.01 * len(weights))


def test_what_lifts_the_score_of_a_piece_above_the_mean_adds_up(bench, answer):
    drawn = answer(2)
    picture = bench.mount("first-additive", drawn)
    picture.locator("[data-key]").last.click()
    expect(picture.locator(".of-score")).to_contain_text("</s> has")
    inside = np.tanh(np.array(drawn["q"][1]) + np.array(drawn["k"]))
    lifts = np.array(drawn["w"]) * (inside[-1] - inside.mean(axis=0))
    largest = sorted(lifts, key=abs, reverse=True)[:6]
    numbers = [
        float(one.replace("−", "-"))
        for one in picture.locator(".products tr td:last-child").all_text_contents()
    ]
    assert numbers == pytest.approx(
        [*largest, sum(lifts) - sum(largest), sum(lifts)], abs=0.0015
    )
    assert not picture.told, "which the server need not know"


def test_a_piece_that_is_looked_into_stays_until_another_step_is_chosen(bench, answer):
    picture = bench.mount("first-additive", answer(2))
    picture.locator("[data-key]").last.click()
    picture.show(answer(2))
    expect(picture.locator(".of-score")).to_contain_text("</s> has")
    expect(picture.locator("[data-key]").last).to_be_focused()


def test_the_file_has_a_row_for_each_number_and_each_score(bench, answer):
    picture = bench.mount("first-additive", answer(2))
    keys = picture.locator("[data-key]").count()
    content, name = saved(bench.page, picture.save("CSV"))
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert (
        name.startswith("after-")
        and "gru-attention" in rows[0][0]
        and len(rows) == 1 + keys * (16 + 1)
    )
    first = [row for row in rows[1:] if row[0] == rows[1][0]]
    total = sum(float(row[6]) for row in first[:16])
    assert float(first[-1][6]) - total == pytest.approx(
        float(rows[-1][6])
        - sum(float(row[6]) for row in rows[1:] if row[0] == rows[-1][0] and row[2]),
        abs=1e-4,
    ), "one bias for all keys"


def test_without_an_answer_nothing_is_left(bench, answer):
    picture = bench.mount("first-additive", answer(2))
    picture.show(None)
    expect(picture.element).to_have_attribute("data-empty", "true")
    expect(picture.locator(".additive")).to_have_count(0)
