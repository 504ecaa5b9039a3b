"""The projector view in Chromium: one picture, what to say about it, the steps of a lesson, and nothing behind it."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.acts import idle, open_attention, open_tab

SAID, PROJECTED = ".to-say p", ".block.projected"


def expect_alone(page, width=1280, height=900):
    """One picture is as large as the window."""
    idle(page)
    assert [one.bounding_box() for one in page.locator(PROJECTED).all()] == [
        {"x": 0, "y": 0, "width": width, "height": height}]


def project(page, picture):
    """Choose the entry of a picture's menu."""
    page.locator(f"{picture} .save-menu summary").first.click()
    page.locator(f"{picture} .save-menu").first.get_by_role("button", name="Projector view").click()


@pytest.mark.parametrize(("tab", "picture", "question"), [
    ("decoding", ".block.step-player", "How does the decoder choose the next piece?"),
    ("principles", ".block.first-scores", "How does one head come to its weights, number by number?"),
    ("model", ".block.whole-pass", "What happens between the sentence and the next word of its translation?"),
    ("attention", ".block.heads", "Which words does each head look at?")])
def test_a_picture_is_alone_with_what_to_say_and_is_left_by_escape(visit, learned_pairs, tab, picture, question):
    page = visit("/?text=" + quote(learned_pairs[0][0]))
    open_tab(page, tab)
    project(page, picture)
    expect_alone(page)
    expect(page.locator(f"{PROJECTED}{picture.removeprefix('.block')}")).to_be_visible()
    expect(page.locator(f"{SAID} b")).to_have_text(question)
    assert page.locator(PROJECTED).evaluate("one => one.scrollWidth <= one.clientWidth + 1")
    assert page.evaluate("[...document.querySelectorAll('.bar, [role=tab]')].every(one => one.closest('[inert]'))")
    page.keyboard.press("Escape")
    idle(page)
    expect(page.locator(PROJECTED)).to_have_count(0)
    expect(page.locator(f"{picture} .save-menu summary").first).to_be_focused()
    assert not page.locator("[inert]").count()


def test_the_tab_key_stays_in_the_view(visit, learned_pairs):
    page = visit("/?tab=decoding&text=" + quote(learned_pairs[0][0]))
    project(page, ".block.step-player")
    expect_alone(page)
    expect(page.get_by_role("button", name="Leave the projector view (Escape)")).to_be_focused()
    places = set()
    for _ in range(25):
        page.keyboard.press("Tab")
        places.add(page.evaluate("""() => {
            const one = document.activeElement;
            return one === document.body || Boolean(one.closest('.projected, .to-say'));
        }"""))
    assert places == {True}


def test_the_picture_plays_by_arrow_keys_where_no_lesson_is_open(visit, learned_pairs):
    page = visit("/?tab=decoding&text=" + quote(learned_pairs[0][0]))
    now = page.locator(".step-player .written .now")
    first = now.text_content()
    project(page, ".block.step-player")
    expect_alone(page)
    page.keyboard.press("ArrowRight")
    idle(page)
    expect(now).not_to_have_text(first)
    page.keyboard.press("PageUp")
    expect(now).to_have_text(first)


def test_arrow_keys_go_through_the_heads_of_the_attention_tab(visit, learned_pairs):
    page = visit()
    title = open_attention(page, learned_pairs)
    page.locator(".view").get_by_role("button", name="Projector view").click()
    expect_alone(page)
    page.keyboard.press("ArrowRight")
    expect(title).to_contain_text("layer 2 of 2 · head 2 of 4")
    page.keyboard.press("ArrowUp")
    expect(title).to_contain_text("layer 1 of 2 · head 2 of 4")
    page.wait_for_url("**head=2**")
    expect_alone(page)
    place, lines = page.locator(".view .place").bounding_box(), page.locator(".view .line").first.bounding_box()
    assert lines["x"] >= place["x"] + place["width"], "the sentences stand beside the map"
    assert page.locator(".view .scroll").bounding_box()["width"] > 600, "the map is large, with the labels beside it"


def test_arrow_keys_go_through_a_lesson_and_its_text_stands_below(visit):
    page = visit("/?lesson=alignment.2&tab=translate&text=My+friend+bought+a+red+car.")
    expect(page.locator("aside.lesson .step")).to_be_visible()
    page.get_by_role("tab", name="Translate").focus()
    page.keyboard.press("p")
    expect_alone(page)
    expect(page.locator(f"{PROJECTED}.spanish")).to_be_visible()
    expect(page.locator(SAID)).to_contain_text("One head follows the words")
    page.keyboard.press("ArrowRight")
    expect(page.locator(SAID)).to_contain_text("Here is that head.")
    page.wait_for_url(re.compile(r"lesson=alignment\.3"))
    expect(page.locator(f"{PROJECTED}.view")).to_be_visible()
    expect_alone(page)
    page.keyboard.press("PageUp")
    expect(page.locator(SAID)).to_contain_text("One head follows the words")
    expect(page.locator(f"{PROJECTED}.spanish")).to_be_visible()
    page.locator(".to-say").get_by_role("button", name="Next").click()
    expect(page.locator(f"{PROJECTED}.view")).to_be_visible()
    page.keyboard.press("Escape")
    idle(page)
    expect(page.locator(PROJECTED)).to_have_count(0)
    expect(page.locator("aside.lesson .step")).to_be_visible()
    page.wait_for_url(re.compile(r"lesson=alignment\.3"))


def test_a_letter_that_is_typed_projects_nothing(visit):
    page = visit()
    field = page.get_by_label("English sentence")
    field.click()
    page.keyboard.type("p")
    expect(field).to_have_value(re.compile("p"))
    idle(page)
    expect(page.locator(PROJECTED)).to_have_count(0)
