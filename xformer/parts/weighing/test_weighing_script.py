"""Attention that weighs otherwise: what the part draws and saves, in the styles of the
page."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved
from tests.pages import shown
from xformer.hub.checkpoint import examine
from xformer.parts.weighing import part as weighing
from xformer.results import fixed
from xformer.strings import ENGLISH

TEXT = "The dog eats the bread."
SPANISH = "El perro come el pan."
# by the class of a picture, its name
PARTS = {
    "weigh-result": "result",
    "weigh-words": "words",
    "weigh-before": "before",
    "weigh-after": "after",
    "weigh-curve": "curve",
}


@pytest.fixture(scope="module")
def drawn(models, made):
    """`drawn(**values)`: what the part draws where its controls hold these values, by
    name."""
    pictures = made.pictures[weighing.ID]
    translation = models.default.translate(TEXT)

    def draw(**values):
        there = {}
        first, late = (
            shown(
                pictures,
                models.default,
                made=there,
                drawer=weighing.WITHIN,
                translation=translation,
                late=late,
                **values,
            )
            for late in (False, True)
        )
        return {**first, **late}

    return draw


def mounted(bench, name, values, **how):
    return bench.mount(name, values[PARTS[name]], **how)


def numbers(part):
    return json.loads(saved(part.page, part.save("JSON"))[0])


def test_the_head_before_and_after_and_the_curve_over_beta_are_drawn(bench, drawn):
    values = drawn()
    expect(mounted(bench, "weigh-before", values).locator(".title")).to_contain_text(
        ENGLISH.say("weigh_with")
    )
    expect(mounted(bench, "weigh-after", values).locator(".title")).to_contain_text(
        "β → ∞ · Cross, all layers"
    )
    expect(
        mounted(bench, "weigh-curve", values).locator(".scatterlayer .js-line")
    ).to_have_count(3)


def test_a_word_that_is_locked_in_one_of_both_maps_is_of_that_map_alone(bench, drawn):
    """They name no pair of sentences, so they share no locked words with the page."""
    before, after = (
        mounted(bench, name, drawn()) for name in ("weigh-before", "weigh-after")
    )
    before.locator(".token[data-row='1']").click()
    expect(before.locator(".said")).to_contain_text(ENGLISH.say("view_locked"))
    expect(after.locator(".said")).to_have_text("")
    assert bench.call("lockedWords") == "" and before.told == []


def test_a_factor_of_one_is_said_to_change_nothing(bench, drawn):
    part = mounted(bench, "weigh-result", drawn(weigh_scope="head", weigh_power=0))
    expect(part.locator(".what")).to_have_text("β = 1 · Cross, layer 2, head 1")
    expect(part.element).to_contain_text(ENGLISH.say("weigh_same"))


def test_the_words_and_the_curve_are_saved_as_numbers(bench, drawn):
    values = drawn(weigh_scope="layer")
    words = mounted(bench, "weigh-words", values)
    assert [row[0] for row in numbers(words)["rows"]] == [
        *SPANISH.rstrip(".").split(),
        ".",
        "</s>",
    ]
    assert len(numbers(mounted(bench, "weigh-curve", values))["rows"]) == 3 * 13
    content, _ = saved(bench.page, words.save("SVG"))
    assert b".reweighed td" in content


def test_both_translations_are_saved_with_what_the_change_costs_and_whose_they_are(
    bench, drawn, tiny_checkpoint
):
    part = mounted(bench, "weigh-result", drawn(weigh_power=-6))
    found = numbers(part)
    first, second = found["rows"]
    assert (
        first[:2] == [ENGLISH.say("weigh_with"), SPANISH]
        and second[0] == "β = 0 · Cross, all layers"
    )
    said = part.locator(".weighed p").last.text_content()
    assert all(fixed(one[2], ".2f") in said for one in (first, second))
    assert found["title"] == f"β = 0 · Cross, all layers: {TEXT}"
    assert found["checkpoint"] == {
        "name": "tiny-en-es",
        "identity": examine(tiny_checkpoint).identity,
    }
    content, _ = saved(bench.page, part.save("SVG"))
    assert TEXT.encode() in content and b".weigh-result" not in content, (
        "the sentence stands in it"
    )


def test_all_of_it_fits_a_phone(bench, drawn):
    bench.open(width=375)
    for name in PARTS:
        mounted(bench, name, drawn())
    expect_fits(bench.page, 375)
