"""The moments of a training, as the scripts draw them."""

import re

from playwright.sync_api import expect

from tests.browser.acts import expect_fits, unreadable
from tests.pages import laid_out
from xformer.parts.forming import part as forming
from xformer.parts.forming.test_forming import VALUES
from xformer.strings import ENGLISH
from xformer.ui.handlers import Ask


def moment(models, number, **values):
    pictures = laid_out(models).pictures[forming.ID]
    return Ask.always(models, ENGLISH).answer(
        pictures.draw,
        made={},
        **{**VALUES, "form_model": "pre-norm", "form_moment": number, **values},
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
