"""The small picture under a translation: its words, its numbers, and what it opens."""

import json
import re
from html import unescape

import pytest

from xformer.parts.translate.strip import strip
from xformer.pieces import words
from xformer.results import Head
from xformer.strings import ENGLISH, SPANISH


@pytest.fixture(scope="module")
def trace(running):
    return running.trace("The cat sleeps.", "El gato duerme.")


@pytest.mark.parametrize("given", [True, False])
def test_rows_are_spanish_words_columns_english_ones_and_cells_their_share(
    trace, given
):
    html = strip(trace, Head("cross", 2, 1), given)
    english, spanish = (
        re.findall(r"<text[^>]*>([^<]*)</text>", part)
        for part in re.findall(r'<g lang="..">(.*?)</g>', html)
    )
    assert english == ["The", "cat", "sleeps", "."] and spanish == [
        "El",
        "gato",
        "duerme",
        ".",
    ]
    cells = [float(p) for p in re.findall(r'fill-opacity="([0-9.]+)"', html)]
    assert len(cells) == 16
    the = words(trace.source)[0]  # its pieces
    # <s> is given first
    el = words(trace.target)[1] if given else words(trace.predicted)[0]
    assert cells[0] == pytest.approx(
        trace.cross[1, 0][el][:, the].sum(axis=1).mean(), abs=1e-3
    )


def test_a_click_opens_the_best_head_and_a_screen_reader_hears_the_picture(trace):
    html = strip(trace, Head("cross", 2, 1), True, SPANISH)
    address = json.loads(unescape(re.search(r'data-address="([^"]*)"', html)[1]))
    assert address == {
        "tab": "attention",
        "stack": "cross",
        "layer": None,
        "head": None,
        "show": "head",
    }
    assert (
        "Abrir capa 2, cabeza 1 en Atención" in html
        and "gato" in html.split('class="sr-only"')[1]
    )


def test_markup_in_a_sentence_is_text(running):
    html = strip(
        running.trace("<b>The</b> cat", "El gato."), Head("cross", 1, 1), False, ENGLISH
    )
    assert "<b>" not in html


def test_its_texts_are_in_the_language_of_the_page_and_the_models(running):
    head = Head("cross", 1, 1)
    trace = running.trace("The cat sleeps.", "El gato duerme.")
    assert "layer 1, head 1" in strip(trace, head, True, ENGLISH)
    drawn = strip(
        trace,
        head,
        True,
        SPANISH.of(type("Info", (), {"source": "ar", "target": "de"})),
    )
    assert (
        "capa 1" in drawn
        and '<g lang="ar" dir="rtl">' in drawn
        and '<g lang="de">' in drawn
    )
