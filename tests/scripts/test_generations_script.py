"""Generations beside each other and the moments of a training, as their scripts draw
them."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, named, unreadable
from tests.pages import laid_out
from tests.test_forming import VALUES
from xformer.figures.generation import label
from xformer.parts.forming import part as forming
from xformer.parts.generations import part as generations
from xformer.strings import ENGLISH
from xformer.ui.handlers import Ask


@pytest.fixture
def compared(models):
    """What the first part shows in the end, by the names of the components."""
    answer = {}
    for step in generations.compare(
        models,
        ENGLISH,
        translation=models.default.translate("The cat sleeps."),
        compared=None,
    ):
        answer |= step
    return answer


def moment(models, number, **values):
    pictures = laid_out(models).pictures[forming.ID]
    return Ask.always(models, ENGLISH).answer(
        pictures.draw,
        made={},
        **{**VALUES, "form_model": "pre-norm", "form_moment": number, **values},
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone_each_generation_has_its_translation_and_its_map(
    bench, compared, theme
):
    bench.open(width=375, theme=theme)
    table = bench.mount("gen-said", compared["table"])
    expect(table.locator(".said")).to_have_count(4)
    for name in generations.WITH_MAPS:
        shown = bench.mount(f"gen-{name}", compared[name])
        expect(shown.locator(".title")).to_contain_text(f"{label(name)} · layer")
    expect_fits(bench.page, 375)
    assert not unreadable(bench.page)


def test_each_curve_names_its_generations(bench, models):
    answer = generations.draw(models, ENGLISH, found=None, gen_curve="loss")
    for name, key in (("gen-curves", "curves"), ("gen-lengths", "lengths")):
        plot = bench.mount(name, answer[key])
        expect(plot.element).to_have_attribute("data-drawn", "1")
        expect(named(bench.page, name).filter(has_text="pre-norm")).to_have_count(1)
    other = generations.draw(
        models, ENGLISH, found=answer["found"], gen_curve="gradient_norm"
    )
    plot = bench.mount("gen-curves", other["curves"])
    expect(plot.locator(".plot")).to_have_accessible_name(
        ENGLISH.say("gen_plot_gradient_norm")
    )


def test_a_moment_has_its_maps_and_another_takes_their_place(bench, models):
    first = moment(models, 1)
    second = moment(models, 2, form_stack="encoder_self")
    view = bench.mount("form-view", first["picture"]["value"])
    story = bench.mount("form-story", first["story"])
    grid = bench.mount("heads", first["grid"]["value"])
    expect(view.locator(".title")).to_contain_text(
        re.compile("^Cross-attention.*step 0")
    )
    expect(story.locator("tr.now")).to_contain_text("step 0")
    expect(grid.locator("canvas")).to_have_attribute("data-drawn", re.compile("^cross"))
    view.show(second["picture"]["value"])
    grid.show(second["grid"]["value"])
    story.show(second["story"])
    expect(view.locator(".title")).to_contain_text(
        re.compile("^Encoder self-attention.*step 5")
    )
    expect(story.locator("tr.now")).to_contain_text("step 5")
    expect(grid.locator("canvas")).to_have_attribute(
        "data-drawn", re.compile("^encoder_self")
    )


def test_on_a_phone_the_story_of_a_training_fits(bench, models):
    bench.open(width=375)
    answer = moment(models, 3)
    for name, value in (
        ("form-said", answer["said"]),
        ("form-story", answer["story"]),
        ("form-view", answer["picture"]["value"]),
    ):
        bench.mount(name, value)
    story = bench.page.locator(".prose.form-story")
    assert story.evaluate("one => one.scrollWidth - one.clientWidth") <= 1, "it scrolls"
    expect_fits(bench.page, 375)
    assert not unreadable(bench.page)
