"""The map of meanings as a person goes through it: a word, a layer, a search, and a
link."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.acts import idle, said
from xformer.results import MapMeanings
from xformer.strings import ENGLISH

BESIDE = "The bread is big. / We want bread."
say = ENGLISH.say


def test_words_and_layers_are_chosen_and_their_neighbours_are_those_of_the_model(
    visit, learned_pairs, running
):
    page = visit(
        f"/?tab=model&model_part=meanings&text={quote(learned_pairs[0][0])}&mean_beside={quote(BESIDE)}"
    )
    part = page.locator(".block.meanings-map")
    expect(part.locator("ol.near li")).to_have_count(10)
    expect(page.locator("p.asks", has_text=say("asks_meanings"))).to_be_visible()
    # which two sentences have
    expect(part.locator("ol.own [aria-pressed=true]")).to_have_text("bread")
    part.locator("ol.own [data-word='0']").click()
    page.wait_for_url(lambda url: "mean_word=1" in url)
    page.keyboard.press("ArrowRight")
    expect(part.locator("ol.own [data-word='1']")).to_be_focused()
    part.get_by_role("button", name="1", exact=True).first.click()
    page.wait_for_url(lambda url: "mean_word=2" in url and "mean_at=encoder.1" in url)
    asked = MapMeanings(
        [learned_pairs[0], *((text, "El gato.") for text in BESIDE.split(" / "))],
        "encoder",
        1,
        220,
        1,
    )
    wanted = running.ask(asked)
    expect(part.locator(".caption")).to_contain_text(
        f"{len(wanted.places):,} words. Encoder, after layer 1"
    )
    expect(part.locator("ol.near [data-word]").first).to_have_attribute(
        "data-word", str(wanted.nearest[0][0])
    )
    idle(page)
    assert [
        float(one) for one in part.locator("ol.near b").all_text_contents()
    ] == pytest.approx([cosine for _, cosine in wanted.nearest], abs=0.0051)
    search = part.get_by_role("searchbox", name=say("mean_find"))
    search.fill("bank")
    search.press("Enter")
    expect(part.locator(".side h3")).to_have_text(re.compile("“bank”"))
    expect(part.locator(".alike")).to_contain_text(said("mean_stands"))
    again = visit(
        "/"
        + page.url.split("/", 3)[3].replace("mean_at=encoder.1", "mean_at=decoder.2")
    )
    expect(again.locator(".meanings-map .caption")).to_contain_text(
        "Decoder, after the cross-attention of layer 2"
    )
