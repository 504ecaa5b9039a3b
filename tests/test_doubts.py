"""What is said of a text that is not English, and of one that the model does not know."""

from dataclasses import replace

import pytest

from xformer.explain.doubts import ENGLISH, SPANISH, looks_spanish, unsure
from xformer.results import Candidate
from xformer.strings import ENGLISH as IN_ENGLISH
from xformer.ui import translation


@pytest.mark.parametrize("text", ["¿Dónde está mi libro?", "Él es solo un principiante.", "ESTO ES UNA PRUEBA",
                                  "No lo sé, porque no estaba."])
def test_spanish_is_found_by_its_short_words(text):
    assert looks_spanish(text)


@pytest.mark.parametrize("text", ["", "Hello!", "No.", "Los Angeles is in California.", "She said “hola” to me.",
                                  "I can't see the sea from La Paz.", "blorp frindle", "Mi casa is my house, it is."])
def test_english_and_nonsense_are_not_taken_for_spanish(text):
    assert not looks_spanish(text)


def test_no_word_is_of_both_languages():
    assert not SPANISH & ENGLISH and len(SPANISH) > 60 and len(ENGLISH) > 60


@pytest.mark.parametrize(("log_probs", "wanted"), [((-0.1, -2.0, -0.1), False), ((-1.0, -0.6, -0.7), True)])
def test_a_translation_is_doubtful_where_its_pieces_are_improbable(log_probs, wanted):
    assert unsure(Candidate("a b c", -1.0, (5, 6, 7), ("▁a", "▁b", "▁c"), log_probs, ((), (), ()), True)) is wanted


def test_the_page_says_so_beside_the_translation(running):
    values = {"former": None, "beam": 2, "n_best": 1, "length_penalty": 1, "longest": 20}
    *_, answer = translation.run(running, IN_ENGLISH, sentence="The cat sleeps.", **values)
    assert "was unsure" not in answer["shown"]
    best = answer["translation"].best
    doubtful = replace(answer["translation"], n_best=(replace(best, log_probs=(-1.0,) * len(best.log_probs)),))
    assert "was unsure of most of what it wrote" in translation.shown(doubtful, IN_ENGLISH)
    *_, answer = translation.run(running, IN_ENGLISH, sentence="El libro no es de la casa.", **values)
    assert "looks like Spanish" in answer["problem"]
