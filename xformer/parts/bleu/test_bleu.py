"""BLEU of one translation: the paper's example, and that its parts multiply to its
score."""

import math
import re

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from xformer.figures.translation import bleu as panel
from xformer.parts.bleu import draw as figures
from xformer.parts.bleu import part as tab
from xformer.results import NGram, UserError
from xformer.serve.bleu import bleu, corpus_bleu
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask


def test_bleu_of_the_papers_example():
    """Papineni et al. (2002), section 2.1: "the" seven times has a modified unigram
    precision of 2/7."""
    parts = bleu("the the the the the the the", "the cat is on the mat")
    assert (parts.matches[0], parts.totals[0]) == (2, 7)
    assert parts.score == 0 and parts.brevity_penalty == 1


def test_bleu_multiplies_to_its_score_with_the_brevity_penalty():
    parts = bleu("El gato duerme en la mesa", "El gato duerme en la mesa grande de hoy")
    assert parts.brevity_penalty == pytest.approx(math.exp(1 - 9 / 6))
    assert parts.score == pytest.approx(100 * parts.brevity_penalty), (
        "all precisions are 1"
    )
    with pytest.raises(UserError):
        bleu("El gato", " ")


def test_a_perfect_text_too_short_for_four_tokens_in_a_row_is_perfect():
    parts = bleu("Muchas gracias.", "Muchas gracias.")
    assert (
        parts.score == pytest.approx(100)
        and parts.orders == 3
        and parts.totals == (3, 2, 1, 0)
    )
    assert bleu("", "Muchas gracias.").score == 0


@given(
    st.lists(
        st.sampled_from(["el", "gato", "come", "pan", ",", "y"]), min_size=1, max_size=9
    ),
    st.lists(
        st.sampled_from(["el", "gato", "come", "pan", ",", "y"]), min_size=1, max_size=9
    ),
)
def test_scores_and_counts_are_those_of_sacrebleu(said, wanted):
    said = " ".join(said)
    wanted = " ".join(wanted)
    parts = bleu(said, wanted)
    theirs = sacrebleu.BLEU(
        smooth_method="none", max_ngram_order=parts.orders
    ).corpus_score([said], [[wanted]])
    assert parts.score == pytest.approx(theirs.score, abs=1e-9)
    assert parts.matches[: parts.orders] == tuple(theirs.counts) and parts.totals[
        : parts.orders
    ] == tuple(theirs.totals)
    assert parts.brevity_penalty == pytest.approx(theirs.bp)
    assert (parts.length, parts.reference_length) == (theirs.sys_len, theirs.ref_len)


def test_precisions_without_clipping_and_the_counts_of_each_ngram():
    """The classic of Papineni et al.: seven out of seven unclipped, two out of seven
    clipped."""
    parts = bleu("the the the the the the the", "the cat is on the mat")
    assert parts.unclipped[0] == 7 and parts.matches[0] == 2
    assert (
        parts.ngrams[0][0] == NGram(("the",), 7, 2)
        and NGram(("cat",), 0, 1) in parts.ngrams[0]
    )


def test_the_variant_of_lecture_notes_takes_a_higher_root_of_longer_ngrams():
    """Dive into Deep Learning, section 10.7.6."""
    parts = bleu("a b c d e", "a b c d x y")
    p = [4 / 5, 3 / 4, 2 / 3, 1 / 2]
    wanted = (
        math.exp(1 - 6 / 5)
        * p[0] ** (1 / 2)
        * p[1] ** (1 / 4)
        * p[2] ** (1 / 8)
        * p[3] ** (1 / 16)
    )
    assert parts.variant == pytest.approx(100 * wanted)


# Of many sentences


def test_the_corpus_formula_sums_counts_before_it_takes_precisions():
    said = ["el gato come pan en la casa de hoy", "fue un hermoso hermoso", "hoy"]
    wanted = [
        "el gato come el pan en la casa de Tom",
        "fue un hermoso casamiento",
        "hoy llueve",
    ]
    scored = [bleu(*both) for both in zip(said, wanted, strict=True)]
    theirs = sacrebleu.BLEU(smooth_method="none").corpus_score(said, [wanted])
    assert corpus_bleu(scored) == pytest.approx(theirs.score) and theirs.score > 0
    assert corpus_bleu(scored[1:]) == 0, "no n-gram of four matches"


# The laboratory


@pytest.mark.parametrize(
    ("ngram", "found"),
    [
        (NGram(("the",), 7, 2), [("matched", 2), ("clipped", 5)]),
        (NGram(("cat",), 0, 1), [("missed", 1)]),
        (NGram(("dog",), 3, 0), [("wrong", 3)]),
        (NGram(("a",), 1, 3), [("matched", 1), ("missed", 2)]),
    ],
)
def test_an_ngram_is_matched_clipped_wrong_or_missed(ngram, found):
    assert list(figures.kinds(ngram)) == found


def shown(said, wanted, part="bleu", language=ENGLISH):
    return Ask.always(None, language).answer(
        tab.run, part=part, bleu_said=said, bleu_wanted=wanted
    )


def test_the_laboratory_shows_seven_sevenths_become_two_sevenths():
    answer = shown("the the the the the the the", "the cat is on the mat")
    assert (
        answer["preset"] == "the"
        and shown("the the", "the cat is on the mat")["preset"] is None
    )
    assert (
        "Without clipping 7 of 7 (100.0 %); clipped 2 of 7 (28.6 %)" in answer["ngrams"]
    )
    assert (
        'class="ngram clipped">the <small>×5</small>' in answer["ngrams"]
        and answer["problem"] == ""
    )
    assert re.findall(r'class="value">([\d.]+)', answer["scores"])[0] == "0.0"
    spanish = shown(
        "the the the the the the the", "the cat is on the mat", language=SPANISH
    )
    assert "Sin recortar 7 de 7" in spanish["ngrams"]


def test_the_curve_of_brevity_passes_through_the_mark():
    parts = bleu("the cat is", "the cat is on the mat")
    curve, mark = figures.brevity(parts).data
    assert (mark.x[0], mark.y[0]) == (3, pytest.approx(math.exp(1 - 6 / 3)))
    assert curve.y[curve.x.tolist().index(3)] == pytest.approx(mark.y[0]) and curve.y[
        5:
    ] == pytest.approx(1)


@given(
    st.lists(st.sampled_from(["el", "gato", "pan", "y"]), min_size=1, max_size=7),
    st.lists(st.sampled_from(["el", "gato", "pan", "y"]), min_size=1, max_size=7),
)
def test_the_sum_that_stands_beside_sacrebleus_score_is_its_score(said, wanted):
    parts = bleu(" ".join(said), " ".join(wanted))
    if not any(parts.matches):
        assert figures.smoothed(parts) == "0: no n-gram matches" and parts.smoothed == 0
        return
    penalty, product, root = re.fullmatch(
        r"([\d.]+) · \((.*)\)<sup>1/(\d)</sup>", figures.smoothed(parts)
    ).groups()
    factors = [
        eval(one)
        for one in re.sub(
            r"<sup>(.*?)</sup>⁄<sub>(\d+)</sub>", r"(\1)/\2", product
        ).split(" · ")
    ]
    assert float(penalty) == pytest.approx(parts.brevity_penalty, abs=6e-4)
    assert 100 * parts.brevity_penalty * math.prod(factors) ** (
        1 / int(root)
    ) == pytest.approx(parts.smoothed)


def test_where_nothing_matches_sacrebleu_s_score_is_said_to_be_0():
    answer = shown("perro", "gato")
    assert "= 0: no n-gram matches" in answer["scores"]
    assert (
        "= 0: ningún n-grama coincide"
        in shown("perro", "gato", language=SPANISH)["scores"]
    )


@pytest.mark.parametrize("sign", ["\u00ad", "\u200b"])
def test_both_texts_are_cleaned(sign):
    text = f"El ga{sign}to duerme en la mesa."
    assert bleu(text, text).score == pytest.approx(100) == bleu(text, text).smoothed
    assert bleu(sign, text).score == 0


def test_short_texts_are_scored_by_the_orders_that_exist_and_the_laboratory_says_so():
    answer = shown("Muchas gracias.", "Muchas gracias.")
    assert (
        "too few tokens for n-grams of 4; the mean is over n = 1 to 3"
        in answer["scores"]
    )
    assert "has no n-grams of 4" in answer["ngrams"]
    assert re.findall(r'class="value">([\d.]+)', answer["scores"]) == [
        "100.0",
        "100.0",
        "100.0",
    ]
    assert "clipped" in panel(bleu("Muchas gracias.", "Muchas gracias."), ENGLISH)


def test_markup_is_text_and_what_cannot_be_scored_is_refused():
    assert "<img" not in "".join(
        shown("<img src=x>", "<img onerror=y>")[name] for name in ("ngrams", "scores")
    )
    answer = shown("El gato", " ")
    assert "Type a reference" in answer["problem"] or "reference" in answer["problem"]
    assert answer["ngrams"] is None and answer["curve"] is None
    assert "5,000" in shown("x " * 3000, "El gato")["problem"]
    assert shown("El gato", "El gato", part="sentences") == {"problem": ""}


def test_examples_are_put_into_the_fields(running, learned_pairs):
    ask = Ask.always(None, ENGLISH)
    assert (
        ask.answer(tab.choose, preset="short", translation=None)["bleu_said"]
        == "the cat is"
    )
    found = running.translate(learned_pairs[0][0])
    assert (
        ask.answer(tab.choose, preset="page", translation=found)["bleu_said"]
        == learned_pairs[0][1]
    )
