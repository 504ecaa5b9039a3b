"""The map of meanings, in Chromium: words chosen by click, keyboard and search, the layer, what is saved, a phone."""

import json
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.acts import contrasts, expect_fits, idle, saved, steady
from xformer.results import MapMeanings

BESIDE = "The bread is big. / We want bread."


def opened(visit, pair, width=1280, **more):
    rest = "".join(f"&{key}={value}" for key, value in more.items())
    page = visit(f"/?tab=model&model_part=meanings&text={quote(pair[0])}&mean_beside={quote(BESIDE)}{rest}",
                 width=width)
    part = page.locator(".block.meanings-map")
    expect(part.locator("ol.near li")).to_have_count(10)
    return page, part


def test_words_are_chosen_by_click_key_and_search_and_their_neighbours_are_those_of_the_model(
        visit, learned_pairs, running):
    page, part = opened(visit, learned_pairs[0])
    expect(page.locator("p.asks", has_text="Where does a word stand among others")).to_be_visible()
    expect(part.locator("ol.own [aria-pressed=true]")).to_have_text("bread")  # which two sentences have
    part.locator("ol.own [data-word='0']").click()
    page.wait_for_url(lambda url: "mean_word=1" in url)
    page.keyboard.press("ArrowRight")
    expect(part.locator("ol.own [data-word='1']")).to_be_focused()
    part.get_by_role("button", name="1", exact=True).first.click()
    page.wait_for_url(lambda url: "mean_word=2" in url and "mean_at=encoder.1" in url)
    asked = MapMeanings([learned_pairs[0], *((text, "El gato.") for text in BESIDE.split(" / "))], "encoder", 1, 220, 1)
    wanted = running.ask(asked)
    expect(part.locator(".caption")).to_have_text(f"{len(wanted.places):,} words. Encoder, after layer 1")
    expect(part.locator("ol.near [data-word]").first).to_have_attribute("data-word", str(wanted.nearest[0][0]))
    idle(page)
    assert [float(one) for one in part.locator("ol.near b").all_text_contents()] == pytest.approx(
        [cosine for _, cosine in wanted.nearest], abs=0.0051)
    search = part.get_by_role("searchbox", name="Find a word on the map")
    search.fill("bank")
    expect(part.locator(".hits")).to_contain_text(re.compile(r"Found: \d\d"))
    search.press("Enter")
    expect(part.locator(".side h3")).to_have_text("Nearest to “bank”")
    expect(part.locator(".alike")).to_contain_text("It stands in “")
    expect(part.locator(".order b").first).to_have_text(re.compile("10⁻[⁵⁶⁷]|^0$"))
    content, _ = saved(page, part.get_by_role("button", name="Save as JSON").click)
    assert len(json.loads(content)["rows"]) == len(wanted.places)
    content, _ = saved(page, part.get_by_role("button", name="Save as PNG").click)
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_the_map_is_named_by_the_layer_it_shows_until_the_other_comes(visit, learned_pairs):
    page, part = opened(visit, learned_pairs[0])
    layer, caption = part.get_by_role("button", name="1", exact=True).first, part.locator(".caption")
    near, held = part.locator("ol.near b").all_text_contents(), []
    page.route(re.compile("/gradio_api/(run|queue/join)"), lambda route: held.append(route))
    with page.expect_request(re.compile("/gradio_api/(run|queue/join)")):
        layer.click()
    expect(layer).to_have_attribute("aria-pressed", "true")
    steady(page, len(held))
    expect(caption).to_contain_text("after layer 2")
    assert part.locator("ol.near b").all_text_contents() == near
    for route in held:
        route.continue_()
    page.unroute(re.compile("/gradio_api/(run|queue/join)"))
    expect(caption).to_contain_text("after layer 1")
    idle(page)
    expect(part.locator("ol.near b")).not_to_have_text(near)


def test_a_dot_is_chosen_on_the_map_and_enlarged(visit, learned_pairs):
    page, part = opened(visit, learned_pairs[0])
    canvas = part.locator("canvas")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    idle(page)
    assert "mean_word=" in page.url
    first = part.locator("ol.own [aria-pressed=true]").text_content()
    expect(part.locator(".side h3")).to_have_text(f"Nearest to “{first}”")
    page.keyboard.press("+")  # the chosen word is in the middle then
    part.locator("ol.own [data-word='0']").click()
    expect(part.locator(".side h3")).to_have_text("Nearest to “The”")
    canvas.scroll_into_view_if_needed()
    idle(page)
    box = canvas.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    expect(part.locator(".tip b")).to_have_text(first)
    page.mouse.click(*middle)
    expect(part.locator(".side h3")).to_have_text(f"Nearest to “{first}”")


def test_the_part_fits_a_phone_in_the_dark_and_an_address_opens_the_decoder(visit, learned_pairs):
    page, part = opened(visit, learned_pairs[0], width=375, mean_at="decoder.2", __theme="dark")
    expect(part.locator(".caption")).to_contain_text("Decoder, after the cross-attention of layer 2")
    expect(part.locator(".note").first).to_contain_text("the more it is about the word to come")
    expect_fits(page, 375)
    assert page.evaluate("document.body.scrollHeight") <= 2400
    assert not [one for one in contrasts(page) if one["ratio"] < 4.5]
