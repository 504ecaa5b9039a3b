"""The drawing of the path between two words: xformer/parts/path/path.js on answers of
its part."""

import csv
import io

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved, unreadable
from xformer.parts.path import part as path
from xformer.strings import ENGLISH

TEXT = "The dog eats the bread."


@pytest.fixture(scope="module")
def measured(models):
    *_, last = path.measure(models, TEXT, ENGLISH)
    return last


@pytest.fixture
def answer(measured):
    """`answer(first, last, kernel=3)`: what the part answers for two words that were
    chosen."""
    return lambda first=0, last=0, kernel=3: path.draw(
        measured, path.ends_of(measured, first, last), kernel, ENGLISH
    )


def test_two_words_are_chosen_by_click_and_by_key(bench, answer):
    drawing = bench.mount("path-between", answer())
    words = drawing.locator(".word")
    expect(words.first).to_have_attribute("aria-pressed", "true")
    expect(drawing.locator(".measured td:not(.said)")).to_have_count(4 * 4)
    words.nth(2).click()
    bench.page.keyboard.press("ArrowRight")
    bench.page.keyboard.press("Enter")
    assert [name for name, _ in drawing.told] == ["choose", "choose"]
    drawing.show(answer(*bench.call("chosenPath")))
    expect(drawing.element).to_have_attribute("data-drawn", "2 3")
    expect(words.nth(3)).to_be_focused()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_can_be_read(bench, answer, theme):
    bench.mount("path-between", answer(), theme=theme)
    assert not unreadable(bench.page)


def test_the_file_holds_the_length_of_each_path_and_what_it_is_at_most(bench, answer):
    drawing = bench.mount("path-between", answer(3, 4))
    content, _ = saved(bench.page, drawing.save("CSV"))
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert [row[2] for row in rows if row[1] == "between them"] == ["2", "1", "1", "1"]
    count = drawing.locator(".word").count()
    assert [row[2] for row in rows if row[1] == "at most"][::3] == [str(count), "1"]


def test_what_is_chosen_stays_where_the_page_changes_before_the_answer(bench, answer):
    drawing = bench.mount("path-between", answer(1, 4))
    drawing.locator(".word").nth(1).click()
    before = drawing.locator(".kinds svg").first.get_attribute("width")
    bench.resize(800)
    chosen = drawing.locator('.word[aria-pressed="true"]').first
    expect(drawing.locator(".kinds svg").first).not_to_have_attribute("width", before)
    expect(drawing.element).to_have_attribute("data-drawn", "0 3")
    expect(chosen).to_have_attribute("data-piece", "1")
    drawing.show(answer(*bench.call("chosenPath")))
    expect(drawing.element).to_have_attribute("data-drawn", "3 1")


def test_the_answer_to_half_a_choice_is_not_drawn(bench, answer):
    """The two ends of a choice are set one after the other, with an answer to each."""
    drawing = bench.mount("path-between", answer(1, 4))
    drawing.locator(".word").nth(1).click()
    drawing.show(answer(4, 4))
    expect(drawing.element).to_have_attribute("data-drawn", "0 3")
    drawing.show(answer(4, 2))
    expect(drawing.element).to_have_attribute("data-drawn", "3 1")


def test_on_a_phone_the_words_scroll_and_the_page_does_not(bench, answer):
    drawing = bench.mount("path-between", answer(2, 5, kernel=2), width=375)
    expect(drawing.element).to_have_attribute("data-drawn", "1 4")
    expect(drawing.locator(".of h3").nth(1)).to_contain_text("k = 2")
    expect_fits(bench.page, 375)
