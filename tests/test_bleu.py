"""BLEU of one translation: the paper's example, and that its parts multiply to its score."""

import math

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from xformer.results import NGram, UserError
from xformer.serve.bleu import bleu


def test_bleu_of_the_papers_example():
    """Papineni et al. (2002), section 2.1: "the" seven times has a modified unigram precision of 2/7."""
    parts = bleu("the the the the the the the", "the cat is on the mat")
    assert (parts.matches[0], parts.totals[0]) == (2, 7)
    assert parts.score == 0 and parts.brevity_penalty == 1


def test_bleu_multiplies_to_its_score_with_the_brevity_penalty():
    parts = bleu("El gato duerme en la mesa", "El gato duerme en la mesa grande de hoy")
    assert parts.brevity_penalty == pytest.approx(math.exp(1 - 9 / 6))
    assert parts.score == pytest.approx(100 * parts.brevity_penalty), "all precisions are 1"
    with pytest.raises(UserError):
        bleu("El gato", " ")


def test_a_perfect_text_too_short_for_four_tokens_in_a_row_is_perfect():
    parts = bleu("Muchas gracias.", "Muchas gracias.")
    assert parts.score == pytest.approx(100) and parts.orders == 3 and parts.totals == (3, 2, 1, 0)
    assert bleu("", "Muchas gracias.").score == 0


@given(st.lists(st.sampled_from(["el", "gato", "come", "pan", ",", "y"]), min_size=1, max_size=9),
       st.lists(st.sampled_from(["el", "gato", "come", "pan", ",", "y"]), min_size=1, max_size=9))
def test_scores_and_counts_are_those_of_sacrebleu(said, wanted):
    said, wanted = " ".join(said), " ".join(wanted)
    parts = bleu(said, wanted)
    theirs = sacrebleu.BLEU(smooth_method="none", max_ngram_order=parts.orders).corpus_score([said], [[wanted]])
    assert parts.score == pytest.approx(theirs.score, abs=1e-9)
    assert parts.matches[:parts.orders] == tuple(theirs.counts) and parts.totals[:parts.orders] == tuple(theirs.totals)
    assert parts.brevity_penalty == pytest.approx(theirs.bp)
    assert (parts.length, parts.reference_length) == (theirs.sys_len, theirs.ref_len)


def test_precisions_without_clipping_and_the_counts_of_each_ngram():
    """The classic of Papineni et al.: seven out of seven unclipped, two out of seven clipped."""
    parts = bleu("the the the the the the the", "the cat is on the mat")
    assert parts.unclipped[0] == 7 and parts.matches[0] == 2
    assert parts.ngrams[0][0] == NGram(("the",), 7, 2) and NGram(("cat",), 0, 1) in parts.ngrams[0]


def test_the_variant_of_lecture_notes_takes_a_higher_root_of_longer_ngrams():
    """Dive into Deep Learning, section 10.7.6."""
    parts = bleu("a b c d e", "a b c d x y")
    p = [4 / 5, 3 / 4, 2 / 3, 1 / 2]
    wanted = math.exp(1 - 6 / 5) * p[0] ** (1 / 2) * p[1] ** (1 / 4) * p[2] ** (1 / 8) * p[3] ** (1 / 16)
    assert parts.variant == pytest.approx(100 * wanted)
