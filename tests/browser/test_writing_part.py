"""The language model as a person uses it: a text is read, written on, given a rival,
paused, and two are compared."""

import re

from playwright.sync_api import expect

from tests.browser.acts import idle, type_into
from xformer.strings import ENGLISH

TEXT = "A dull film, long and boring."
say = ENGLISH.say


def read(page, text):
    type_into(page.get_by_label(say("lm_text")), text)
    page.get_by_role("button", name=say("lm_read")).click()


def expect_pieces(page, count):
    expect(page.locator(".prose.writer-view")).to_have_attribute(
        "data-pieces", str(count)
    )


def test_a_text_is_read_written_on_given_a_rival_and_compared(visit, writer):
    page = visit("/?tab=sentiment&review_part=writer&lm_temperature=0")
    view = page.locator(".prose.writer-view")
    toggle = page.locator(".writer-view .toggle")
    read(page, "A dull")
    expect_pieces(page, len(writer.read("A dull").tokens))
    toggle.click()  # until the text ends
    whole = len(writer.read(TEXT, whole=True).tokens)
    expect_pieces(page, whole)
    expect(page.get_by_label(say("lm_text"))).to_have_value(TEXT)
    expect(toggle).to_be_disabled()
    page.locator(".writer-view .lm-piece").nth(1).click()  # what it expected there
    page.wait_for_url(re.compile("[?&]lm_place=2(&|$)"))
    page.keyboard.press("ArrowLeft")
    expect(view).to_have_attribute("data-place", "1")
    page.locator(".writer-view li button").nth(1).click()
    expect_pieces(page, 1)
    page.get_by_role("button", name=say("lm_more")).click()
    expect_pieces(page, 2)
    page.get_by_role("button", name=say("lm_back")).click()
    expect_pieces(page, 1)
    for key, value in (("lm_temperature", "2"), ("lm_top_k", "100"), ("lm_top_p", "1")):
        field = page.get_by_label(f"number input for {say(key)}")
        type_into(field, value)
        field.press("Enter")
    read(page, "The")
    idle(page)
    toggle.click()
    expect(view).to_have_attribute("data-pieces", re.compile(r"[4-9]|\d\d"))
    # which does nothing where the text has ended
    toggle.evaluate("toggle => toggle.click()")
    count = int(view.get_attribute("data-pieces"))
    idle(page)
    assert int(view.get_attribute("data-pieces")) <= count + 1, (
        "one piece was on its way"
    )
    again = visit(
        "/?tab=sentiment&review_part=writer&lm_text=A+dull+film,+long+and+boring.&lm_place=3"
    )
    expect_pieces(again, len(writer.read(TEXT).tokens))
    expect(again.locator(".prose.writer-view")).to_have_attribute("data-place", "3")
    for key, text in (
        ("lm_first", TEXT),
        ("lm_second", "Boring dull a and long film."),
    ):
        type_into(again.get_by_label(say(key)), text)
    again.locator(".block, button").get_by_text(
        say("lm_compare"), exact=True
    ).last.click()
    one, other = (
        writer.read(text, whole=True).total
        for text in (TEXT, "Boring dull a and long film.")
    )
    expect(again.locator(".likelier .verdict")).to_contain_text(
        f"{one - other:.2f} nats"
    )
