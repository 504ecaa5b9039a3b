"""BLEU of one translation: the paper's example, and that its parts multiply to its score."""

import math

import pytest

from xformer.results import UserError
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
