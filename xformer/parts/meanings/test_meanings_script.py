"""The map of meanings: xformer/parts/meanings/meanings.js on answers of its part."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved, unreadable
from tests.pages import shown
from xformer.strings import ENGLISH

BESIDE = "The bread is big. / We want bread."
say = ENGLISH.say


@pytest.fixture
def answer(made, models, learned_pairs):
    """`answer(at, word)`: what the part answers, the whole map first and then what is
    chosen."""
    pictures = made.pictures["meanings"]
    drawn = {}
    service = models.default
    trace = service.trace(*learned_pairs[0])
    return lambda at="encoder.2", word=0: shown(
        pictures,
        service,
        made=drawn,
        trace=trace,
        mean_beside=BESIDE,
        mean_at=at,
        mean_word=word,
    )["map"]


def test_the_likeness_of_a_word_that_is_searched_is_said(bench, answer):
    part = bench.mount("meanings-map", answer())
    search = part.block.get_by_role("searchbox", name=say("mean_find"))
    search.fill("bank")
    expect(part.locator(".hits")).to_contain_text(re.compile(r"\d\d"))
    search.press("Enter")
    part.show(answer(*bench.call("shownMap")[:2]))
    expect(part.locator(".side h3")).to_have_text(re.compile("“bank”"))
    expect(part.locator(".order b").first).to_have_text(re.compile("10⁻[⁵⁶⁷]|^0$"))


def test_the_map_is_saved_with_all_its_words(bench, answer):
    whole = answer()
    part = bench.mount("meanings-map", whole)
    content, _ = saved(bench.page, part.save("JSON"))
    count = int(
        re.search(r"^[\d,]+", part.locator(".caption").text_content())[0].replace(
            ",", ""
        )
    )
    assert len(json.loads(content)["rows"]) == count > 200
    content, _ = saved(bench.page, part.save("PNG"))
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_it_is_named_by_the_layer_it_shows_until_the_other_comes(bench, answer):
    part = bench.mount("meanings-map", answer())
    layer = part.block.get_by_role("button", name="1", exact=True).first
    caption = part.locator(".caption")
    near = part.locator("ol.near b").all_text_contents()
    layer.click()
    expect(layer).to_have_attribute("aria-pressed", "true")
    expect(caption).to_contain_text("after layer 2")
    assert part.locator("ol.near b").all_text_contents() == near
    at, word, _ = bench.call("shownMap")
    assert at == "encoder.1"
    part.show(answer(at, word))
    expect(caption).to_contain_text("after layer 1")
    assert part.locator("ol.near b").all_text_contents() != near


def test_a_dot_is_chosen_on_the_map_and_enlarged(bench, answer):
    part = bench.mount("meanings-map", answer())
    page = bench.page
    canvas = part.locator("canvas")
    heading = part.locator(".side h3")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    first = part.locator("ol.own [aria-pressed=true]").text_content()
    part.show(answer(*bench.call("shownMap")[:2]))
    expect(heading).to_have_text(re.compile(f"“{first}”"))
    page.keyboard.press("+")  # the chosen word is in the middle then
    part.locator("ol.own [data-word='0']").click()
    part.show(answer(*bench.call("shownMap")[:2]))
    expect(heading).to_have_text(re.compile("“The”"))
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    expect(part.locator(".tip b")).to_have_text(first)
    page.mouse.click(*middle)
    part.show(answer(*bench.call("shownMap")[:2]))
    expect(heading).to_have_text(re.compile(f"“{first}”"))


def test_it_fits_a_phone_in_the_dark_with_the_decoder(bench, answer):
    part = bench.mount("meanings-map", answer("decoder.2"), width=375, theme="dark")
    expect(part.locator(".caption")).to_contain_text(
        "Decoder, after the cross-attention of layer 2"
    )
    expect_fits(bench.page, 375)
    assert bench.page.evaluate("document.body.scrollHeight") <= 2400
    assert not unreadable(bench.page)
