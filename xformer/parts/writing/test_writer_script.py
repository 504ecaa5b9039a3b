"""The language model's text: xformer/parts/writing/writer.js on pictures of its
part."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved, unreadable
from xformer.parts.writing import draw as figures
from xformer.strings import ENGLISH, SPANISH

TEXT = "A dull film, long and boring."
say = ENGLISH.say


@pytest.fixture
def answer(writer):
    """`answer(text, place, language)`: what the part shows of a text that is read."""
    return lambda text=TEXT, place=0, language=ENGLISH: figures.payload(
        writer.read(text), place, language
    )


def test_a_place_is_looked_at_by_click_and_by_key_and_told(bench, answer, writer):
    view = bench.mount("writer-view", answer("A dull"))
    expect(view.locator("li button")).to_have_count(10)
    view.locator(".lm-piece").nth(1).click()
    expect(view.locator("h3")).to_contain_text(
        say("lm_instead", piece="").split("“")[0]
    )
    bench.page.keyboard.press("ArrowLeft")
    expect(view.element).to_have_attribute("data-place", "1")
    view.locator("li button").nth(1).click()
    rival = writer.read("A dull").likeliest[0][1]
    assert view.told == [
        ("choose", {"place": 2}),
        ("choose", {"place": 1}),
        ("act", {"what": "take", "place": 1, "token": rival.token}),
    ]


def test_a_text_that_has_ended_cannot_be_written_on(bench, answer):
    view = bench.mount("writer-view", answer("A dull"))
    expect(view.locator(".toggle")).to_be_enabled()
    view.locator("[data-act=more]").click()
    assert view.told == [("act", {"what": "more"})]
    view.show({**answer(TEXT), "finished": True})
    expect(view.locator(".toggle")).to_be_disabled()
    expect(view.locator(".sum")).to_contain_text(say("lm_ended"))


def test_writing_goes_on_with_each_answer_until_it_is_told_to_pause(bench, answer):
    view = bench.mount("writer-view", answer("The"))
    toggle = view.locator(".toggle")
    toggle.click()
    assert view.told == [("act", {"what": "more"})]
    view.show(answer("The film"))
    bench.page.wait_for_function("mounted[1].told.length === 2")
    toggle.click()
    expect(toggle).to_have_text(say("lm_play"))
    view.show(answer("The film was"))  # a piece was on its way
    assert len(view.told) == 2


def test_the_file_holds_the_likeliest_pieces_of_every_place_and_names_the_model(
    bench, answer, writer
):
    view = bench.mount("writer-view", answer(place=3))
    expect(view.element).to_have_attribute("data-place", "3")
    content, name = saved(bench.page, view.save("JSON"))
    rows = json.loads(content)["rows"]
    wanted = writer.read(TEXT).likeliest[2][0]
    (found,) = [row for row in rows if row[0] == 3 and row[2] == 1]
    assert found[5] == pytest.approx(wanted.log_prob, abs=1e-4) and name.startswith(
        "Language-model"
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_phone_and_can_be_read(bench, answer, theme):
    bench.mount(
        "writer-view", answer(language=SPANISH), width=375, theme=theme, language="es"
    )
    expect_fits(bench.page, 375)
    assert not unreadable(bench.page)
