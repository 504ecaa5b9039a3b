"""The language model in Chromium: a text is looked at, written on, changed and compared."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import contrasts, expect_fits, idle, saved, type_into

TEXT = "A dull film, long and boring."


def read(page, text):
    type_into(page.get_by_label("Beginning of a text, in English"), text)
    page.get_by_role("button", name="Read the text").click()


def expect_pieces(page, count):
    expect(page.locator(".prose.writer-view")).to_have_attribute("data-pieces", str(count))


def test_a_text_is_looked_at_written_on_and_given_a_rival(visit, writer):
    page = visit("/?tab=sentiment&review_part=writer&lm_temperature=0")
    read(page, "A dull")
    count = len(writer.read("A dull").tokens)
    expect_pieces(page, count)
    likeliest = page.locator(".writer-view li button")
    expect(likeliest).to_have_count(10)
    page.get_by_role("button", name="Write on").click()  # until the text ends
    whole = len(writer.read(TEXT, whole=True).tokens)
    expect_pieces(page, whole)
    expect(page.get_by_label("Beginning of a text, in English")).to_have_value(TEXT)
    expect(page.get_by_role("button", name="Write on")).to_be_disabled()
    expect(page.locator(".writer-view .sum")).to_contain_text("The text ends here.")

    page.locator(".writer-view .lm-piece").nth(1).click()  # what it expected there
    expect(page.locator(".writer-view h3")).to_contain_text("Instead of")
    page.wait_for_url(re.compile("[?&]lm_place=2(&|$)"))
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".prose.writer-view")).to_have_attribute("data-place", "1")
    likeliest.nth(1).click()
    expect_pieces(page, 1)
    page.get_by_role("button", name="One piece").click()
    expect_pieces(page, 2)
    page.get_by_role("button", name="Take one away").click()
    expect_pieces(page, 1)


def test_writing_pauses_when_it_is_told_to(visit):
    page = visit("/?tab=sentiment&review_part=writer&lm_temperature=2&lm_top_k=100&lm_top_p=1&lm_seed=3")
    read(page, "The")
    view, toggle = page.locator(".prose.writer-view"), page.locator(".writer-view .toggle")
    toggle.click()
    expect(view).to_have_attribute("data-pieces", re.compile(r"[4-9]|\d\d"))
    toggle.evaluate("toggle => toggle.click()")  # which does nothing where the text has ended
    count = int(view.get_attribute("data-pieces"))
    expect(toggle).to_have_text("▶ Write on")
    idle(page)
    assert int(view.get_attribute("data-pieces")) <= count + 1, "one piece was on its way"


def test_the_address_brings_the_text_and_its_place_back(visit, writer):
    count = len(writer.read(TEXT).tokens)
    page = visit("/?tab=sentiment&review_part=writer&lm_text=A+dull+film,+long+and+boring.&lm_place=3")
    expect_pieces(page, count)
    expect(page.locator(".prose.writer-view")).to_have_attribute("data-place", "3")
    content, name = saved(page, lambda: page.locator(".writer-view [data-save=json]").click())
    kept = json.loads(content)
    assert kept["checkpoint"] == {"name": writer.info.name, "identity": writer.info.identity}, "not the classifier's"
    rows = kept["rows"]
    wanted = writer.read(TEXT).likeliest[2][0]
    (found,) = [row for row in rows if row[0] == 3 and row[2] == 1]
    assert found[5] == pytest.approx(wanted.log_prob, abs=1e-4) and name.startswith("Language-model")


def test_the_likelier_of_two_texts_is_told(visit, writer):
    page = visit("/?tab=sentiment&review_part=writer")
    texts = (TEXT, "Boring dull a and long film.")
    page.get_by_role("button", name="Two texts compared").click()
    for label, text in zip(("Text A", "Text B"), texts, strict=True):
        type_into(page.get_by_label(label), text)
    page.locator(".block, button").get_by_text("Compare", exact=True).last.click()
    expect(page.locator(".likelier .verdict")).to_contain_text("A is")
    one, other = (writer.read(text, whole=True).total for text in texts)
    expect(page.locator(".likelier .verdict")).to_contain_text(f"{one - other:.2f} nats")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_phone_and_can_be_read(visit, theme):
    page = visit(f"/es?tab=sentiment&review_part=writer&__theme={theme}", 375)
    page.locator(".writer-view .lm-piece").first.wait_for()
    expect_fits(page, 375)
    assert contrasts(page)[0]["ratio"] >= 4.5
