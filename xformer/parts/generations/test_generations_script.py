"""Generations beside each other, as their scripts draw them."""

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, named, unreadable
from tests.pages import shown
from xformer.figures.generation import label
from xformer.parts.generations import part as generations
from xformer.strings import ENGLISH


@pytest.fixture
def compared(made, models):
    """What the first part shows in the end, by the names of the components."""
    return shown(
        made.pictures[generations.ID],
        models,
        translation=models.default.translate("The cat sleeps."),
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


def test_each_curve_names_its_generations(bench, made, models):
    pictures = made.pictures[f"{generations.ID}.scores"]
    kept = {}
    answer = shown(pictures, models, made=kept, gen_curve="loss")
    for name, key in (("gen-curves", "curves"), ("gen-lengths", "lengths")):
        plot = bench.mount(name, answer[key])
        expect(plot.element).to_have_attribute("data-drawn", "1")
        expect(named(bench.page, name).filter(has_text="pre-norm")).to_have_count(1)
    other = shown(pictures, models, made=kept, gen_curve="gradient_norm")
    plot = bench.mount("gen-curves", other["curves"])
    expect(plot.locator(".plot")).to_have_accessible_name(
        ENGLISH.say("gen_plot_gradient_norm")
    )
