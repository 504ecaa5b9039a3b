"""The moments of a training, as the scripts draw them."""

import csv
import io
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved, unreadable
from tests.pages import laid_out
from xformer.parts.forming import draw as figures
from xformer.parts.forming import part as forming
from xformer.parts.forming.test_forming import VALUES
from xformer.results import Film, Head, Moment
from xformer.strings import ENGLISH
from xformer.ui.handlers import Ask

say = ENGLISH.say


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


# The film


@pytest.fixture
def film():
    """A film of three frames."""
    shown = Film(
        Head("cross", 2, 1),
        tuple(Moment(step, 60.0 * step, step, step / 4) for step in (0, 1, 4)),
        ("▁The", "▁dog", "</s>"),
        ("▁El", "▁perro"),
        ("", "el el", "El perro."),
        np.stack([np.full((2, 3), 1 / 3), np.full((2, 3), 1 / 3), np.eye(2, 3)]),
        (8.0, 5.0, 0.5),
        (0.9, 0.6, 0.1),
        ((1, 7.5), (2, 5.0), (4, 2.0)),
        1_300_000,
    )
    return lambda moment: figures.film(shown, ("The dog", "El perro"), moment)


def test_the_film_goes_from_frame_to_frame_by_keys_and_asks_nobody(bench, film):
    """Where motion is unwelcome it does not begin by itself, and opens at its end."""
    shown = bench.mount("forming-film", film(3))
    slider = shown.block.get_by_role("slider", name=say("film_which"))
    expect(slider).to_have_value("3")
    expect(shown.locator(".text")).to_have_text("El perro.")
    mark = shown.locator(".mark").get_attribute("d")
    picture = shown.locator(".map image").get_attribute("href")
    shown.block.get_by_role("button", name=say("play_previous")).focus()
    bench.page.keyboard.press("ArrowLeft")
    expect(slider).to_have_value("2")
    expect(shown.locator(".text")).to_have_text("el el")
    expect(shown.locator(".when")).to_contain_text("Step 1, 25.0 % of the training.")
    expect(shown.locator(".when")).to_contain_text("error of the head 0.60")
    assert shown.locator(".mark").get_attribute("d") != mark
    assert shown.locator(".map image").get_attribute("href") != picture
    bench.page.keyboard.press("ArrowLeft")
    expect(shown.locator(".text")).to_have_text(say("film_nothing"))
    expect(shown.locator(".when")).to_contain_text("Step 0, 0 % of the training.")
    assert {name for name, _ in shown.told} == {"choose"}, "for the address alone"
    assert bench.call("shownFrame") == 1
    shown.show(film(2))
    expect(slider).to_have_value("2")


# a clock that stands still: `tick` is what it would call
STILL = """() => { window.setInterval = call => { window.tick = call; return 1; };
    window.clearInterval = () => { window.tick = null; }; }"""


@pytest.fixture
def moving(bench):
    """A page on which motion is welcome, and time does not pass."""
    bench.open()
    bench.page.emulate_media(reduced_motion="no-preference")
    bench.page.evaluate(STILL)
    yield bench.page
    bench.page.emulate_media(reduced_motion="reduce")


def test_the_film_plays_once_to_its_end_and_stops_out_of_sight(bench, film, moving):
    shown = bench.mount("forming-film", film(3))
    toggle = shown.locator(".toggle")
    expect(toggle).to_have_text(say("play_stop"))
    for frame in (1, 2, 3):
        expect(shown.element).to_have_attribute("data-frame", str(frame))
        moving.evaluate("tick()")
    expect(toggle).to_have_text(say("play_start"))
    assert not moving.evaluate("window.tick")
    toggle.click()
    expect(toggle).to_have_text(say("play_stop"))
    shown.block.evaluate("one => { one.style.display = 'none'; }")
    expect(toggle).to_have_text(say("play_start"))
    assert not moving.evaluate("window.tick")


def test_an_address_that_names_a_frame_shows_that_one_still(bench, film, moving):
    shown = bench.mount("forming-film", film(2))
    expect(shown.element).to_have_attribute("data-frame", "2")
    assert not moving.evaluate("window.tick")


@pytest.mark.parametrize("width, theme", [(1280, "dark"), (375, "light")])
def test_the_film_can_be_read_and_saved(bench, film, width, theme):
    shown = bench.mount("forming-film", film(2), width=width, theme=theme)
    assert not unreadable(bench.page)
    expect_fits(bench.page, width)
    content, _ = saved(bench.page, shown.save("CSV"))
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert [row[1] for row in rows[1:]] == ["8", "5", "0.5"]
    assert rows[-1][-1] == "El perro."


def test_markup_in_a_translation_is_text(bench, film):
    value = film(3)
    value["frames"][2]["text"] = "<img src=x onerror=alert(1)>"
    value["pair"] = ["<b>a</b>", "<i>b</i>"]
    value["keys"][0] = "<b>"
    shown = bench.mount("forming-film", value)
    expect(shown.locator(".text")).to_have_text("<img src=x onerror=alert(1)>")
    assert shown.locator(".drawing :is(img, b, i)").count() == 0
