"""The Compare tab in Chromium: two sentences, the BLEU laboratory, the lecture's sentences; on a phone too."""

import csv
import io
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, open_tab, saved, type_into


@pytest.fixture(scope="module")
def page(same_page):
    return same_page


def part(page, name):
    open_tab(page, "pairs")
    page.locator(".parts").get_by_text(name, exact=True).click()


def test_two_sentences_are_compared_and_the_address_keeps_them(page, learned_pairs):
    part(page, "Two sentences")
    type_into(page.get_by_label("Sentence A (English)"), learned_pairs[0][0])
    second = page.get_by_label("Sentence B (English)")
    type_into(second, learned_pairs[1][0])
    second.press("Enter")
    shown = page.locator(".contrasted")
    expect(shown.locator("section").first.locator(".said mark").first).to_have_text("gato")
    expect(shown.locator("section").last.locator(".said mark").first).to_have_text("perro")
    expect(page.locator(".pair-difference .caption")).to_have_text(re.compile(r"^B − A · (Cross|Encoder|Decoder)"))
    page.wait_for_function("() => new URLSearchParams(location.search).get('pair_b')?.startsWith('The dog')")
    table, name = saved(page, page.locator(".compared").get_by_role("button", name="Save as CSV").click)
    rows = list(csv.reader(io.StringIO(table.decode())))
    assert rows[1][:2] == ["A", "El"] and name.endswith(".csv")
    picture, _ = saved(page, page.locator(".compared").get_by_role("button", name="Save as SVG").click)
    assert b"gato" in picture and b".contrasted" in picture


def test_the_laboratory_follows_what_is_typed(page):
    part(page, "BLEU laboratory")
    lab = page.locator(".bleu-parts")
    expect(lab).to_contain_text("Without clipping 7 of 7 (100.0 %); clipped 2 of 7 (28.6 %)")
    type_into(page.get_by_label("Translation (any text)"), "the cat is")
    expect(lab).to_contain_text("Without clipping 3 of 3")
    expect(page.locator(".brevity .caption")).to_contain_text("c = 3, r = 6, so 0.368")
    expect(page.locator(".brevity .js-plotly-plot .scatterlayer path").first).to_be_visible()
    expect(page.locator(".bleu-scores")).to_contain_text("too few tokens for n-grams of 4")
    page.wait_for_function("() => new URLSearchParams(location.search).get('bleu_said') === 'the cat is'")


def test_the_lectures_sentences_are_translated_and_open(page):
    part(page, "The lecture’s sentences")
    table = page.locator(".lecture-table")
    expect(page.locator(".block.summary").filter(has_text="by the corpus formula")).to_be_visible()
    expect(table.locator("tbody tr")).to_have_count(20)
    table.get_by_role("button", name="i was waiting for tom", exact=True).click()
    expect(page.get_by_label("English sentence")).to_have_value("i was waiting for tom")
    expect(page.locator(".translation .piece").first).to_be_visible()


@pytest.mark.parametrize("name", ["sentences", "bleu", "lecture"])
def test_every_part_fits_a_phone(visit, name):
    page = visit(f"/es?tab=pairs&pairs_part={name}", width=375)
    expect(page.locator({"sentences": ".contrasted .word", "bleu": ".bleu-parts .ngram",
                         "lecture": ".lecture-table td"}[name]).first).to_be_visible()
    expect_fits(page, 375)


def test_maps_of_both_sentences_fit_a_phone_with_their_colours(visit):
    page = visit("/?tab=pairs", width=375)
    for name in ("first", "second"):
        expect(page.locator(f".pair-{name}[data-drawn] .main-svg").first).to_be_visible()
        page.wait_for_function("""selector => { const {scrollWidth, clientWidth} = document.querySelector(selector);
            return scrollWidth <= clientWidth; }""", arg=f".pair-{name} .plot")
