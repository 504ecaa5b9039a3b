"""Readings between the layers as tables: their cells are the model's, and what differs
from the last is marked."""

import re

import numpy as np
import pytest

from xformer.figures.labels import percent
from xformer.parts.steps import lenses as layers
from xformer.results import Candidate, DecoderReadings, ReadDecoder, TranslateByLayer
from xformer.strings import SPANISH


def test_a_row_a_layer_with_the_words_that_the_last_lacks_marked():
    def said(text):
        return Candidate(text, -1.0, (5,), ("▁x",), (-0.5,), (), True)

    html = layers.by_layer(
        "A <b>", [said("Un <i> negro"), said("Un gato"), said("Un gato")]
    )
    assert (
        "Un <mark>&lt;i&gt; negro</mark>" in html
        and "<i>" not in html
        and "<b>" not in html
    )
    assert re.findall(r'<th scope="row">([^<]+)', html) == [
        "0: embeddings only",
        "1",
        "2: all",
    ]
    assert html.count("already the last word") == 1 and html.count("−0.50") == 3


@pytest.fixture
def readings():
    return DecoderReadings(
        ("<s>", "▁El"),
        ("▁El", "</s>"),
        (("▁<b>", "▁El"), ("▁El", "</s>")),
        np.array([[0.5, 0.25], [0.9, 0.8]]),
        np.array([[0.1, 0.01], [0.9, 0.8]]),
        np.array([[2, 7], [1, 1]]),
    )


def test_cells_hold_the_likeliest_piece_its_share_and_the_rank_of_the_written_one(
    readings,
):
    html = layers.lens(readings, ["▁The"], 2)
    cells = re.findall(
        r'<td class="reading( same)?".*?--share:([\d.]+)" tabindex="(-?\d)" data-step="(\d)" '
        r'data-layer="(\d)".*?data-rank="(\d)".*?>([^<]+)</td>',
        html,
    )
    assert [(same, share, rank) for same, share, _, _, _, rank, _ in cells] == [
        ("", "0.500", "2"),
        (" same", "0.900", "1"),
        ("", "0.250", "7"),
        (" same", "0.800", "1"),
    ]
    assert [cell[-1] for cell in cells] == ["&lt;b&gt;", "El", "El", "&lt;/s&gt;"]
    assert [cell[3:5] for cell in cells if cell[2] == "0"] == [("2", "1")], (
        "one cell is a stop of the Tab key"
    )
    assert (
        f"Step 1, before layer 1: &lt;b&gt; {percent(0.5)}; the piece that is written, El, has {percent(0.1)}, rank 2"
        in html
    )
    assert f"Paso 1, capa 1: El {percent(0.9)}" in layers.lens(
        readings, ["▁The"], 1, SPANISH
    )


def test_the_table_shows_what_the_service_reads(running, learned_pairs):
    english, _ = learned_pairs[1]
    best = running.translate(english).best
    found = running.ask(ReadDecoder(english, best.tokens))
    html = layers.lens(found, ["▁The"], 1)
    assert [
        int(rank) for rank in re.findall(r'data-rank="(\d+)"', html)
    ] == found.ranks.T.flatten().tolist()
    by_layer = running.ask(TranslateByLayer(english))
    assert f'<td lang="es">{by_layer[-1].text}</td>' in layers.by_layer(
        english, by_layer
    )
