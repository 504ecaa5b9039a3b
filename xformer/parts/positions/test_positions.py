"""Positions: as an argument of a pass, by hand, on the page's own figures, and by the
length of a sentence."""

import base64
import json
import math
import re
import threading
from functools import partial
from types import SimpleNamespace

import gradio as gr
import numpy as np
import pytest
import torch

from research import fits
from tests.harness import ROOT
from tests.pages import laid_out
from xformer.explain import positions as explain
from xformer.figures import head_payload
from xformer.figures.attention import Choice
from xformer.figures.layout import GAP
from xformer.model import sinusoids
from xformer.parts.positions import draw as figures
from xformer.parts.positions import part as tab
from xformer.results import (
    POSITION_KINDS,
    Embedded,
    EmbedSource,
    LengthScore,
    Move,
    Positions,
    UserError,
    fixed,
)
from xformer.serve.limits import Guard
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask

BASES = (100.0, 1_000.0, 10_000.0)


@pytest.fixture
def sentence():
    generator = torch.Generator().manual_seed(3)
    return (
        torch.randint(4, 150, (2, 6), generator=generator),
        torch.randint(4, 150, (2, 5), generator=generator),
    )


# An argument of a pass


@torch.no_grad()
def test_the_models_own_table_handed_in_is_the_pass_itself(tiny_model, sentence):
    config = tiny_model.config
    own = sinusoids(config.max_length, config.d_model, config.position_base)
    whole = tiny_model(*sentence)
    assert torch.equal(tiny_model(*sentence, positions=own), whole)
    assert torch.equal(tiny_model(*sentence, positions=None), whole)
    moved = tiny_model(*sentence, positions=sinusoids(64, 32, first=3))
    assert (moved - whole).abs().max() > 1e-3


@torch.no_grad()
def test_steps_with_a_cache_use_the_table_they_were_started_with(tiny_model, sentence):
    source, target = sentence
    table = sinusoids(64, 32, 100.0, first=2)
    whole = tiny_model(source, target, positions=table)
    cache = tiny_model.start(source, positions=table)
    steps = torch.stack(
        [tiny_model.step(token[:, None], cache) for token in target.T], dim=1
    )
    torch.testing.assert_close(steps, whole, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_without_positions_the_encoder_only_follows_the_order_of_the_words(
    tiny_model, sentence
):
    """Permutation equivariance, of either norm: words in another order give the same
    vectors in that order."""
    source = sentence[0]
    nowhere = torch.zeros(64, 32)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    memory = tiny_model.encode(source, positions=nowhere)[0]
    torch.testing.assert_close(
        tiny_model.encode(source[:, order], positions=nowhere)[0],
        memory[:, order],
        atol=1e-5,
        rtol=1e-5,
    )
    own = tiny_model.encode(source)[0]
    shuffled = tiny_model.encode(source[:, order])[0]
    assert (shuffled - own[:, order]).abs().max() > 1e-2, "with positions it does not"


@torch.no_grad()
def test_a_table_that_is_too_short_is_refused(tiny_model, sentence):
    with pytest.raises(ValueError, match="6 pieces is longer than the 4 positions"):
        tiny_model(*sentence, positions=torch.zeros(4, 32))


def test_base_100_with_a_doubled_exponent_is_base_10_000():
    """As the page says of the code of one lecture."""
    dimensions = np.arange(0, 512, 2)
    np.testing.assert_allclose(
        100.0 ** (2.0 * dimensions / 512), 10_000.0 ** (dimensions / 512), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("d_model", "base", "first"),
    [
        (32, 10_000, 0),
        (512, 10_000, 1000),
        (30, 2, 0),
        (4, 123_456.7, 3),
        (256, 1_000_000, 7),
    ],
)
def test_the_table_of_the_page_is_that_of_the_model_to_the_last_bit(
    d_model, base, first
):
    np.testing.assert_array_equal(
        explain.table(300, d_model, base, first), sinusoids(300, d_model, base, first)
    )


def test_sinusoids_from_a_position_on_are_those_rows_of_the_table():
    assert torch.equal(sinusoids(10, 32, 100.0, first=7), sinusoids(17, 32, 100.0)[7:])


# The service


def test_every_change_is_the_pass_with_its_table(running, learned_pairs):
    english, spanish = learned_pairs[0]
    tables = {
        "own": sinusoids(128, 32),
        "none": torch.zeros(128, 32),
        "shift": sinusoids(128, 32, first=3),
        "base": sinusoids(128, 32, 100.0),
    }
    assert tables.keys() == set(POSITION_KINDS)
    for kind, table in tables.items():
        trace = running.trace(
            english,
            spanish,
            positions=Positions(kind, {"shift": 3, "base": 100}.get(kind, 0)),
        )
        source = torch.tensor([[*running.tokenizer.encode(english), 3]])
        with torch.no_grad():
            logits = running.model(
                source, torch.tensor([[2, *trace.tokens]]), positions=table
            )
        wanted = logits.log_softmax(-1)[
            0, range(len(trace.predicted)), [*trace.tokens, 3]
        ]
        np.testing.assert_allclose(trace.log_probs, wanted, atol=1e-5)


def test_a_change_shows_the_translation_and_the_pieces_before_and_after(
    running, learned_pairs
):
    english, spanish = learned_pairs[1]
    found = running.ask(Move(english, spanish, Positions("none")))
    assert found.source == english and found.translation.source == english
    assert found.before.predicted == found.after.predicted
    assert sum(found.after.log_probs) < sum(found.before.log_probs)
    assert found.before.log_probs == pytest.approx(
        running.trace(english, spanish).log_probs
    )
    same = running.ask(Move(english, spanish, Positions("base", 10_000)))
    assert same.translation.best.text == spanish
    assert same.after.log_probs == pytest.approx(same.before.log_probs, abs=1e-5)


def test_without_positions_a_sentence_is_a_bag_of_words(running, learned_pairs):
    english, spanish = learned_pairs[1]
    typed = running.ask(Move(english, spanish, Positions("none")))
    shuffled = running.ask(Move(english, spanish, Positions("none"), seed=1))
    assert shuffled.source != english and sorted(
        shuffled.source.rstrip(".").split()
    ) == sorted(english.rstrip(".").split())
    assert shuffled.translation.best.text == typed.translation.best.text
    assert shuffled.after.log_probs == pytest.approx(typed.after.log_probs, abs=1e-4)
    own = running.ask(Move(english, spanish, Positions(), seed=1))
    assert sum(own.after.log_probs) < sum(own.before.log_probs) - 0.01, (
        "with positions the order counts"
    )


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        (Positions("sideways"), "“sideways”.*one of own, none, shift, base"),
        (Positions("shift", -1), "−1.*whole number from 0 to 1,000"),
        (Positions("shift", 1001), "1001.*0 to 1,000"),
        (Positions("shift", 0.5), "0.5.*whole number"),
        (Positions("shift", math.nan), "nan.*whole number"),
        (Positions("base", 1), "1.*2 to 1,000,000"),
        (Positions("base", math.inf), "∞.*2 to 1,000,000"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_in_one_sentence(
    running, positions, said
):
    for ask in (
        lambda: running.translate("The cat sleeps.", positions=positions),
        lambda: running.ask(Move("The cat sleeps.", "El gato duerme.", positions)),
    ):
        with pytest.raises(UserError, match=said):
            ask()


@pytest.mark.slow
def test_one_person_moves_the_positions_and_another_does_not(running, learned_pairs):
    english, spanish = learned_pairs[0]
    wanted = {
        positions: running.translate(english, positions=positions)
        for positions in (Positions(), Positions("none"), Positions("shift", 9))
    }
    assert wanted[Positions()].best.text == spanish
    assert len({found.best.log_probs for found in wanted.values()}) == 3
    together = threading.Barrier(6)
    wrong = []

    def person(positions):
        together.wait()
        for _ in range(6):
            found = running.translate(english, positions=positions)
            trace = running.trace(english, found.best.tokens, positions=positions)
            if found.best.text != wanted[positions].best.text or not np.allclose(
                trace.log_probs, wanted[positions].best.log_probs, atol=1e-4
            ):
                wrong.append((positions, found.best.text))

    people = [
        threading.Thread(target=person, args=(positions,))
        for positions in [*wanted] * 2
    ]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert not wrong


def test_what_the_encoder_is_given_is_the_sum_of_both(running):
    found = running.ask(EmbedSource("The cat sleeps."))
    tokens = torch.tensor([[*running.tokenizer.encode("The cat sleeps."), 3]])
    with torch.no_grad():
        np.testing.assert_allclose(
            found.embeddings + found.positions,
            running.model.embedding(tokens)[0],
            atol=1e-6,
        )
    assert found.pieces[-1] == "</s>" and len(found.pieces) == len(found.embeddings)
    np.testing.assert_array_equal(
        found.positions, explain.table(len(found.pieces), 32, 10_000)
    )


# By hand


def test_wavelengths_by_hand():
    np.testing.assert_allclose(
        explain.wavelengths(4, 10_000), [2 * math.pi, 2 * math.pi * 100]
    )
    np.testing.assert_allclose(explain.wavelengths(2, 100), [2 * math.pi])


@pytest.mark.parametrize("base", BASES)
def test_dot_products_depend_on_the_distance_alone(base):
    rows = explain.table(40, 16, base)
    found = explain.dot_products(rows)
    every = rows @ rows.T
    assert found[0] == pytest.approx(8, abs=1e-5), "d_model / 2"
    for p in range(40):
        np.testing.assert_allclose(
            every[p], found[np.abs(np.arange(40) - p)], atol=1e-4
        )
    np.testing.assert_allclose(
        explain.dot_products(explain.table(5, 2, base)), np.cos(np.arange(5)), atol=1e-6
    )


@pytest.mark.parametrize("base", BASES)
def test_one_rotation_takes_every_position_k_on(base):
    rows = explain.table(60, 32, base)
    for pair in (0, 3, 15):
        for steps in (0, 1, 7, 59):
            matrix = explain.rotation(steps, pair, 32, base)
            np.testing.assert_allclose(matrix @ matrix.T, np.eye(2), atol=1e-12)
            assert explain.rotation_error(rows, steps, pair, base) < 1e-6
    np.testing.assert_allclose(
        explain.rotation(math.pi / 2, 0, 32, base), [[0, 1], [-1, 0]], atol=1e-12
    )
    moved = rows.copy()
    moved[9, 6] += 0.25
    assert explain.rotation_error(moved, 2, 3, base) > 0.1, (
        "the check sees a table that is wrong"
    )
    with pytest.raises(ValueError, match="60 steps do not fit in 60 positions"):
        explain.rotation_error(rows, 60, 0, base)


def test_noise_confuses_positions_and_a_large_base_sooner():
    noise = np.array([0, 0.05, 0.5, 100.0])
    by_base = {
        base: explain.confusion(explain.table(64, 32, base), noise, draws=8)
        for base in BASES
    }
    for shares in by_base.values():
        assert shares[0] == shares[1] == 0 and (np.diff(shares) >= 0).all()
        assert shares[-1] == pytest.approx(63 / 64, abs=0.03), (
            "blind, one in 64 is right by luck"
        )
    assert by_base[100][2] < by_base[1_000][2] < by_base[10_000][2]


def test_two_orthogonal_rows_are_confused_as_often_as_the_normal_distribution_says():
    """Rows (1, 0) and (0, 1): mistaken where the difference of two noises passes 1,
    N(0, 2 sigma^2)."""
    sigma = 0.5
    wanted = 0.5 * math.erfc(1 / (sigma * 2**0.5) / 2**0.5)
    assert explain.confusion(
        np.eye(2, dtype=np.float32), np.array([sigma]), draws=20_000
    )[0] == pytest.approx(wanted, abs=0.01)


def test_a_small_base_and_few_dimensions_bring_far_positions_back():
    """One pair of dimensions turns in 2 pi: 44 positions on are seven turns, 43.98, and
    nearly the same again."""
    distance, alike = explain.second_peak(explain.table(60, 2, 100))
    assert distance == 44 and alike == pytest.approx(math.cos(44), abs=1e-6)
    assert explain.second_peak(explain.table(3, 2, 100)) is None, (
        "1, 0.54, -0.42: it only falls"
    )


def test_words_are_shuffled_as_the_seed_says_and_what_ends_the_sentence_stays():
    text = "The dog eats the bread."
    first = explain.shuffle(text, 1)
    assert first == explain.shuffle(text, 1) and first != text and first.endswith(".")
    assert sorted(first[:-1].split()) == sorted(text[:-1].split())
    assert len({explain.shuffle(text, seed) for seed in range(10)}) > 3
    assert explain.shuffle("Good morning!", 5) == "morning Good!"
    for text in ("Hello.", "ha ha ha", "…"):
        with pytest.raises(UserError, match="two different words"):
            explain.shuffle(text, 0)


# How far it carries


@pytest.mark.parametrize(
    "name", ["en-es", "es-en", "gru", "gru-attention", "post-norm", "pre-norm"]
)
def test_each_length_that_ships_has_enough_sentences(name):
    metrics = json.loads(
        (ROOT / "checkpoints" / name / "metrics.json").read_text(encoding="utf-8")
    )
    assert (
        min(bucket["sentences"] for bucket in metrics["lengths"]["buckets"])
        >= fits.FEWEST
    )


def test_without_scores_there_is_nothing_to_plot(running):
    assert running.length_scores == []


# Pictures


def test_the_table_is_drawn_with_its_numbers_and_its_formula():
    rows = explain.table(10, 8, 1_000)
    figure = figures.table(rows, 1_000)
    sines, cosines = (np.asarray(trace.z) for trace in figure.data)
    np.testing.assert_array_equal(np.where(np.isnan(sines), cosines, sines), rows)
    assert np.isnan(sines[:, 1::2]).all() and np.isnan(cosines[:, ::2]).all()
    assert figure.layout.title.text == "Positions 0 to 9 in 8 dimensions, base 1,000"
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == (
        "dimension",
        "position",
    )
    # Position 7, dimension 5: what the reader sees is what is drawn there.
    said = [trace.hovertemplate.replace("%{y}", "7") for trace in figure.data]
    assert said[0].replace("%{x}", "4").startswith("sin(7 / 1000^(4/8)) = ")
    assert said[1].replace("%{x}", "5").startswith("cos(7 / 1000^((5−1)/8)) = ")
    assert cosines[7, 5] == pytest.approx(math.cos(7 / 1_000 ** (4 / 8)), abs=1e-6)
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-1, 1)
    assert (
        figure.layout.paper_bgcolor == "rgba(0,0,0,0)"
        and figure.layout.coloraxis.colorbar.title.text == "value"
    )


def test_curves_are_the_columns_that_were_chosen():
    rows = explain.table(20, 8, 100)
    figure = figures.curves(rows, [0, 5], 100)
    np.testing.assert_array_equal(figure.data[1].y, rows[:, 5])
    assert figure.data[1].name == "dimension 5 (wavelength 62.8)"
    assert figure.data[0].hovertemplate.startswith("sin(%{x} / 100^(0/8)) = ")
    assert figure.data[1].hovertemplate.startswith("cos(%{x} / 100^(4/8)) = ")


def test_bases_are_compared_by_wavelength_distance_and_noise():
    tables = {base: explain.table(30, 16, base) for base in BASES}
    waves = figures.wavelengths(16, BASES, 30)
    far = figures.distances(tables)
    assert [trace.name for trace in waves.data] == [
        "base 100",
        "base 1,000",
        "base 10,000",
        "length of the table: 30",
    ]
    np.testing.assert_allclose(waves.data[1].y, explain.wavelengths(16, 1_000))
    assert waves.data[1].customdata[3] == 6 and waves.layout.yaxis.type == "log"
    np.testing.assert_array_equal(far.data[2].y, explain.dot_products(tables[10_000]))
    assert far.data[2].customdata[0] == pytest.approx(1)
    assert "(8 with itself)" in far.layout.title.text
    noise = np.array([0.0, 1.0])
    found = figures.confusion({100.0: np.array([0.0, 0.25])}, noise, 30, 16)
    assert (
        list(found.data[0].y) == [0, 25]
        and found.layout.yaxis.title.text == "mistaken (%)"
    )
    html = figures.bases(
        {100.0: explain.table(60, 2, 100), 10_000.0: explain.table(60, 512, 10_000)}
    )
    assert f"{math.cos(1):.3f}" in html and "44 positions (1.000)" in html


def test_the_turn_is_drawn_from_one_position_to_the_other():
    rows = explain.table(30, 16, 100)
    figure = figures.rotation(rows, 2, 4, 3, 100)
    start, end = figure.data[-2:]
    assert (start.x[1], start.y[1]) == pytest.approx((rows[4, 5], rows[4, 4]), abs=1e-6)
    assert (end.x[1], end.y[1]) == pytest.approx((rows[7, 5], rows[7, 4]), abs=1e-6)
    angle = math.degrees(3 / 100 ** (4 / 16))
    assert (
        figure.layout.title.text
        == f"Pair 2: from position 4 to 7 is a turn by {angle:.1f}°"
    )
    assert figure.layout.yaxis.title.text == "dimension 4 (sine)"
    assert (
        "sin(7 / 100^(4/16))" in end.hovertemplate
        and "cos(7 / 100^(4/16))" in end.hovertemplate
    )
    html = figures.checked(rows, 2, 3, 100)
    turn = math.radians(angle)
    assert "checked for 27 positions" in html
    assert re.findall(r"<span>([−\d.]+)</span>", html) == [
        fixed(value, ".3f")
        for value in (math.cos(turn), math.sin(turn), -math.sin(turn), math.cos(turn))
    ]


def test_the_parts_of_a_sentence_have_one_scale_and_labels_that_are_text():
    found = Embedded(
        ("▁<b>", "▁the", "▁the", "</s>"), 2 * np.ones((4, 6)), explain.table(4, 6, 100)
    )
    figure = figures.sentence(found)
    np.testing.assert_allclose(figure.data[2].z, figure.data[0].z + figure.data[1].z)
    assert {trace.coloraxis for trace in figure.data} == {"coloraxis"}
    assert figure.layout.yaxis2.ticktext == (
        "0 · &lt;b&gt;",
        "1 · the",
        "2 · the",
        "3 · &lt;/s&gt;",
    )
    names = [figure.layout[key].title.text for key in ("yaxis", "yaxis2", "yaxis3")]
    assert names[:2] == ["embeddings (RMS 2.00)", "+ positions (RMS 0.71)"] and names[
        2
    ].startswith("=")
    gaps = [
        figure.layout[above].domain[0] - figure.layout[below].domain[1]
        for above, below in (("yaxis", "yaxis2"), ("yaxis2", "yaxis3"))
    ]
    plots = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    assert [round(gap * plots) for gap in gaps] == [GAP] * 2, (
        "however long the sentence is"
    )
    assert [trace.name for trace in figure.data] == [
        "embeddings",
        "positions",
        "sum",
    ], "what saved numbers are called"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            ENGLISH,
            "the positions are 0.35 times as large as the words that they are added to: their RMS is 0.71, that of "
            "the words 2.00.",
        ),
        (
            SPANISH,
            "el tamaño de las posiciones es 0.35 veces el de las palabras a las que se suman: su RMS es 0.71, y el "
            "de las palabras 2.00.",
        ),
    ],
)
def test_how_large_positions_are_beside_words_is_one_sentence(language, said):
    """A sine and a cosine of the same angle have a mean square of a half."""
    found = Embedded(
        ("▁the", "</s>"),
        2 * np.array([[1, -1, 1, -1], [1, 1, 1, 1]]),
        explain.table(2, 4, 100),
    )
    assert said in figures.beside(found, language)


def test_a_change_is_told_with_both_translations_every_piece_and_both_maps(
    running, learned_pairs
):
    english, spanish = learned_pairs[1]
    found = running.ask(Move(english, spanish, Positions("shift", 5), seed=2))
    html = figures.moved(found, spanish)
    assert f'<p lang="en">{found.source}</p>' in html and f">{spanish}</p>" in html
    assert html.count("<tr>") == 1 + len(found.before.predicted)
    assert fixed(sum(found.after.log_probs), ".2f") in html
    assert figures.named(found, Positions("shift", 5)) == (
        "positions: shifted (5), words shuffled"
    )
    maps = head_payload.before_and_after(
        (found.before, found.after), "ab", Choice("cross", 2, 3), running.info
    )
    for drawn, seen, name in zip(
        maps.values(), (found.before, found.after), "ab", strict=True
    ):
        values = np.frombuffer(base64.b64decode(drawn["data"]), "<f4")
        np.testing.assert_array_equal(values, seen.cross[1, 2].ravel())
        assert drawn["title"].endswith(f"layer 2 of 2 · head 3 of 4 · {name}")
    assert maps["before"]["keys"] != maps["after"]["keys"]


def test_quality_stands_above_what_was_learned_from():
    scores = [
        LengthScore(1, 5, 10, 40.0, 60.0, 1000),
        LengthScore(6, 10, 30, 30.0, 50.0, None),
    ]
    figure = figures.lengths(scores)
    assert (
        figure.layout.xaxis.ticktext == ("1–5", "6–10")
        and figure.layout.xaxis.title.text == "English pieces"
    )
    bleu, chrf, training = figure.data
    assert (list(bleu.y), list(chrf.y), list(training.y)) == (
        [40, 30],
        [60, 50],
        [1000, None],
    )
    assert figure.layout.xaxis.range == (-0.5, 1.5), "the bars at both ends are whole"
    assert (
        bleu.text[0] == "40.0 on 10 sentences"
        and figure.layout.yaxis.title.text == "BLEU, chrF"
    )


def test_what_is_said_of_lengths_is_made_from_their_numbers():
    short, middle, long = (
        LengthScore(first, first + 4, 20, bleu, 60.0, None)
        for first, bleu in ((1, 40.0), (6, 45.5), (11, 41.25))
    )
    said = figures.carried([short, middle, long])
    assert (
        "best on sentences of 6–10 pieces, 45.5" in said
        and "of 11–15 pieces, it is 41.2, 4.3 less" in said
    )
    assert (
        "best on the longest sentences measured, of 6–10 pieces: 45.5"
        in figures.carried([short, middle])
    )
    assert figures.carried([short]) == figures.carried([]) == ""
    assert len(figures.lengths([LengthScore(1, 5, 20, 40.0, 60.0, 0)]).data) == 2, (
        "no bars of nothing"
    )


def test_a_panel_of_nothing_is_left_out():
    figure = figures.lengths([LengthScore(1, None, 10, 40.0, 60.0, None)])
    assert [list(curve.y) for curve in figure.data] == [[40], [60]], (
        "nothing is known of training"
    )
    assert (
        figure.layout.xaxis.ticktext == ("1+",)
        and "yaxis2" not in figure.to_dict()["layout"]
    )
    assert figure.layout.xaxis.title.text == "English pieces"


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_every_picture_says_what_it_is_in_both_languages(language):
    rows = explain.table(12, 8, 100)
    drawn = [
        figures.table(rows, 100, language),
        figures.curves(rows, [1], 100, language),
        figures.wavelengths(8, BASES, 12, language),
        figures.distances({100.0: rows}, language),
        figures.rotation(rows, 1, 2, 3, 100, language),
    ]
    for figure in drawn:
        assert (
            figure.layout.title.text
            and figure.layout.xaxis.title.text
            and figure.layout.yaxis.title.text
        )
    for name in figures.FORMULAS:
        assert "<sub>" in figures.heading(name, language) or "<sup>" in figures.heading(
            name, language
        )


# The tab


@pytest.fixture(scope="module")
def pictures(running):
    return laid_out(running).pictures


def test_controls_keep_to_what_there_is():
    assert (tab.base_of(3.0), tab.base_of(2.5)) == (1_000, 316.2)
    assert tab._bases(2.5) == [100, 316.2, 1_000, 10_000]
    kept = tab.turn(length=8, d_model=8, pair=9, position=200, steps=20)
    title = tab.draw_rotation(8, 8, 1e4, kept, ENGLISH).layout.title.text
    assert "from position 0 to 7" in title
    assert "1 positions" in tab.check_rotation(8, 8, 1e4, kept, ENGLISH)


def test_bad_numbers_get_one_sentence_on_the_page(running, learned_pairs, pictures):
    found = running.translate(learned_pairs[0][0])
    ask = Ask.always(running, ENGLISH)

    def run(translation, kind, shift, base, shuffle, seed):
        return ask.answer(
            pictures["positions.change"].draw,
            made={},
            action=tab.ask_for,
            change=None,
            translation=translation,
            positions=kind,
            shift=shift,
            base=base,
            shuffle=shuffle,
            seed=seed,
            compare="cross.1.2",
        )

    for asked, said in (
        (("own", 5, 100, False, 1), "Nothing would change"),
        (("shift", 5_000, 100, False, 1), "0 to 1,000"),
        (("base", 5, 1, False, 1), "2 to 1,000,000"),
        (("base", 5, None, False, 1), "A number is missing"),
    ):
        answer = run(found, *asked)
        assert (
            'role="alert"' in answer["problem"]
            and said in answer["problem"]
            and answer["change"] is None
        )
        assert [answer["before"], answer["after"]] == [None, None]
    answer = run(None, "none", 5, 100, False, 1)
    assert ENGLISH.say("no_trace") in answer["problem"] and answer["change"] is None
    answer = run(found, "none", 5, 100, True, 1)
    assert (
        answer["change"].positions == Positions("none") and answer["change"].seed == 1
    )
    assert answer["before"]["title"].endswith("as in training") and answer["after"][
        "title"
    ].endswith("words shuffled")


def test_a_change_is_made_once_and_again_for_another_translation_or_other_positions(
    running, learned_pairs, pictures, monkeypatch
):
    found, other = (running.translate(learned_pairs[i][0]) for i in range(2))
    made = {}
    times = []
    answer = running.ask
    monkeypatch.setattr(
        running, "ask", lambda question: times.append(question) or answer(question)
    )
    asked = {
        "positions": "none",
        "shift": 5,
        "base": 100,
        "shuffle": False,
        "seed": 1,
        "compare": "cross.2.3",
    }

    def run(translation, change, **more):
        return Ask.always(running, ENGLISH).answer(
            pictures["positions.change"].draw,
            made=made,
            action=tab.ask_for,
            change=change,
            translation=translation,
            **{**asked, **more},
        )

    first = run(found, None)
    assert (
        first["before"]["title"].endswith("head 3 of 4 · positions: as in training")
        and learned_pairs[0][1] in first["result"]
    )
    assert run(found, first["change"]) == {"problem": gr.skip()}
    again = run(other, first["change"])
    assert (
        learned_pairs[1][1] in again["result"]
        and "change" not in again
        and len(times) == 2
    )
    for more in ({"positions": "shift"}, {"shuffle": True}):
        assert run(found, first["change"], **more)["result"]
    another_head = Ask.always(running, ENGLISH).answer(
        pictures["positions.change"].draw,
        made=made,
        change=run(found, None)["change"],
        translation=found,
        compare="cross.1.1",
    )
    assert another_head.keys() == {"problem", "before", "after"} and len(times) == 5


def test_what_cannot_be_seen_is_not_drawn(running, learned_pairs, pictures):
    found = running.translate(learned_pairs[0][0])
    ask = Ask.always(running, ENGLISH)
    of_sentence = partial(
        ask.answer, pictures["positions.sentence"].draw, made={}, translation=found
    )
    assert of_sentence(sentence_open=False, lengths_open=False) == {"problem": ""}
    size = {
        "length": 8,
        "d_model": 8,
        "base_power": 4.0,
        "dimensions": [0],
        "pair": 1,
        "position": 2,
        "steps": 3,
    }
    for late in (False, True):
        answer = ask.answer(
            pictures["positions"].draw, made={}, late=late, table_open=False, **size
        )
        assert answer == {"problem": gr.skip() if late else ""}
    answer = of_sentence(sentence_open=True, lengths_open=False)
    drawn = json.loads(answer["sentence"]["figure"])
    assert drawn["layout"]["title"]["text"].startswith("Your sentence")
    words, places = (
        re.search(r"RMS ([\d.]+)", drawn["layout"][axis]["title"]["text"])[1]
        for axis in ("yaxis", "yaxis2")
    )
    assert f"their RMS is {places}, that of the words {words}." in answer["beside"]
    word, place, both = (
        np.array(row) for row in unpacked(json.loads(answer["joined"]["figure"]))
    )
    assert word + place == pytest.approx(both, abs=1e-4)
    said = answer["costs"]
    assert ">64<" in said and f">{3 * 32 * 64:,}<" in said
    assert "need only" in said and "of 32 directions for 95 %" in said


def unpacked(figure):
    """The rows of a heatmap as it is sent."""
    z = figure["data"][0]["z"]
    if isinstance(z, dict):
        shape = [int(n) for n in z["shape"].split(",")]
        return np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape(shape)
    return z


def test_what_lies_in_the_directions_of_positions_cannot_be_told_from_them():
    places = explain.table(16, 8, 100)
    count, share = explain.apart(places[::-1], places)
    assert 1 < count <= 8 and share == pytest.approx(1, abs=0.06)
    # words that vary in one other direction alone
    low = np.linalg.svd(places - places.mean(0))[2][-1]
    words = np.outer(np.arange(16), low)
    assert explain.apart(words, places)[1] == pytest.approx(0, abs=1e-6)


def test_only_what_changed_is_drawn_again(pictures):
    start = {
        "length": 16,
        "d_model": 8,
        "base_power": 4.0,
        "dimensions": [0, 1],
        "pair": 1,
        "position": 2,
        "steps": 3,
    }
    made = {}

    def draw(late, **values):
        answer = pictures["positions"].draw(
            SimpleNamespace(guard=Guard()),
            ENGLISH,
            made,
            late=late,
            table_open=True,
            **{**start, **values},
        )
        return {
            name: value
            for name, value in answer.items()
            if name not in ("tick", "problem")
        }

    for late, filled in (
        (False, {"table", "curves"}),
        (True, {"waves", "distances", "compared", "circle", "proof", "confusion"}),
    ):
        answer = draw(late)
        assert answer.keys() == filled and None not in answer.values()
        assert draw(late) == {}
    confusion = draw(True, base_power=2.5)["confusion"]
    assert [line["name"] for line in json.loads(confusion["figure"])["data"]] == [
        "base 100",
        "base 316.2",
        "base 1,000",
        "base 10,000",
    ]
    draw(True)
    # another step turns the hand further, and nothing else
    answer = draw(True, steps=4)
    assert answer.keys() == {"circle", "proof"}


def test_pictures_are_drawn_in_turn_with_all_that_computes(pictures):
    guard = Guard(people=1)
    values = {
        "length": 8,
        "d_model": 8,
        "base_power": 4.0,
        "dimensions": [0],
        "table_open": True,
    }
    ask = Ask.always(SimpleNamespace(guard=guard), ENGLISH)
    inside = threading.Event()
    leave = threading.Event()

    def somebody():
        with guard.enter():
            inside.set()
            leave.wait()

    other = threading.Thread(target=somebody)
    other.start()
    inside.wait()
    refused = ask.answer(pictures["positions"].draw, made={}, **values)
    leave.set()
    other.join()
    assert "serves 1 people at once" in refused["problem"] and "table" not in refused
    drawn = ask.answer(pictures["positions"].draw, made={}, **values)
    assert drawn["table"] and guard.inside == 0
