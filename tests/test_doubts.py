"""What is said of a text that is not English, and of one that the model does not
know."""

import math

import pytest

from xformer.explain.doubts import (
    ENGLISH,
    LEAST,
    SPANISH,
    looks_like,
    lost,
    no_sentence,
    sentences,
    signs_of_code,
    spelled,
    sureness,
)
from xformer.parts.translate import part as translation
from xformer.results import Options
from xformer.serve import translation as translations
from xformer.strings import ENGLISH as IN_ENGLISH


@pytest.mark.parametrize(
    "text",
    [
        "¿Dónde está mi libro?",
        "Él es solo un principiante.",
        "ESTO ES UNA PRUEBA",
        "No lo sé, porque no estaba.",
    ],
)
def test_spanish_is_found_by_its_short_words(text):
    assert looks_like(text, "es") and not looks_like(text, "en")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello!",
        "No.",
        "Los Angeles is in California.",
        "She said “hola” to me.",
        "I can't see the sea from La Paz.",
        "blorp frindle",
        "Mi casa is my house, it is.",
    ],
)
def test_english_and_nonsense_are_not_taken_for_spanish(text):
    assert not looks_like(text, "es")


def test_no_word_is_of_both_languages():
    assert not SPANISH & ENGLISH and len(SPANISH) > 60 and len(ENGLISH) > 60


def test_a_translation_is_as_sure_as_the_mean_of_its_pieces():
    assert sureness((-1.0, -0.6, -0.8)) == pytest.approx(-0.8)


@pytest.mark.parametrize(
    ("metrics", "bound"),
    [
        ({}, LEAST),
        ({"guesses": {"bound": -0.5}}, -0.5),
        ({"guesses": {"bound": "no"}}, LEAST),
        ({"guesses": 3}, LEAST),
    ],
)
def test_the_bound_is_the_one_that_was_fitted_to_the_model(
    running, monkeypatch, metrics, bound
):
    monkeypatch.setattr(running, "metrics", metrics)
    assert running.guess_bound == bound


def test_a_guess_is_said_with_its_probability(running, monkeypatch):
    """In Python, the API and the command, which hand on the warnings of a translation,
    and on the page."""
    assert not running.translate("The cat sleeps.").warnings
    monkeypatch.setattr(running, "metrics", {"guesses": {"bound": 0.0}})
    found = running.translate("The cat sleeps.")
    percent = round(
        100 * math.exp(sum(found.best.log_probs) / len(found.best.log_probs))
    )
    assert [one.say() for one in found.warnings] == [
        IN_ENGLISH.say("warning_guess", percent=percent)
    ]
    values = {
        "former": None,
        "beam": 2,
        "n_best": 1,
        "length_penalty": 1,
        "longest": 20,
    }
    *_, answer = translation.run(
        running, IN_ENGLISH, sentence="The cat sleeps.", **values
    )
    assert (
        f"it gives each piece of this translation {percent} % on average"
        in answer["problem"]
    )
    assert "may not be" not in answer["problem"], "nothing says that it is not English"
    foreign = running.translate("Ich habe keine Ahnung, wo er heute wohnt.").warnings
    assert any(
        one.key == "warning_guess_foreign"
        and "may not be English" in one.say(IN_ENGLISH)
        for one in foreign
    )
    *_, answer = translation.run(
        running, IN_ENGLISH, sentence="El libro no es de la casa.", **values
    )
    assert (
        "looks like Spanish" in answer["problem"]
        and "may not be English" not in answer["problem"]
    ), "said once"


@pytest.mark.parametrize(
    ("text", "language"),
    [("Where is the book?", "en"), ("¿Dónde está el libro?", "es")],
)
def test_a_text_looks_like_one_of_the_two_languages(text, language):
    assert looks_like(text, language) and not looks_like(
        text, {"en": "es", "es": "en"}[language]
    )
    assert not looks_like(text, "de")


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("if (x == null) { return 0; }", 5),
        ("print('Hello')", 2),
        ("apt-get install -y git && make", 3),
        ("x[i] = 3", 2),
        ("He paid $3 (or 5 %); I don't know.", 0),
        ("The show (1990) was “[the] best” of all; we liked it.", 0),
        ("I program in C#.", 0),
        ("a = b", 0),
    ],
)
def test_signs_of_code_are_counted_where_a_sentence_has_fewer(text, signs):
    assert signs_of_code(text) == signs


def test_words_that_are_spelled_are_counted():
    """Words of three letters and more, two letters a piece at most; no numbers, and
    none of two letters."""
    pieces = [
        "▁", "q", "w", "er", "▁as", "df", ".", "▁1", "9", "9", "▁ab", "▁J", "ür", "gen",
        "▁house",
    ]  # fmt: skip
    assert spelled(pieces) == (3, 6)
    assert [one.key for one in no_sentence("qwer asdf", pieces[:6])] == [
        "warning_spelled"
    ]
    assert not no_sentence("qwer", pieces[:4]), "one word may be a name"
    assert not no_sentence(
        "qwer house as is ab", [*pieces[:4], "▁house", "▁as", "▁is", "▁ab"]
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("No end", 0),
        ("One. Two! Three?", 3),
        ("“One.” Two… Three", 2),
        ("The U.S. and Mr. Smith at 3 p.m. today.", 1),
        ("It is 3.5 km. He left at 5 p.m.", 2),
        ("¿Uno? El Sr. Pérez. Tres.", 3),
        ("Los EE. UU. y Ud. son tres.", 1),
    ],
)
def test_sentences_are_counted_by_what_ends_them(text, count):
    assert sentences(text) == count


def test_a_sentence_that_was_lost_is_said_with_both_numbers(running):
    """Only of a text of several."""
    (said,) = lost("One. Two. Three.", "Uno y dos. Tres.")
    assert dict(said.values) == {"sentences": 3, "translated": 2}
    assert (
        not lost("One. Two.", "Uno. Dos.")
        and not lost("One. Two.", "Uno. Y. Dos.")
        and not lost("One.", "Uno")
    )


def test_what_is_no_sentence_is_said_once_and_has_no_figure_of_trust(
    running, learned_pairs, monkeypatch
):
    """The reason found stands in the place of the one that is guessed at. A small
    vocabulary spells what is known."""
    assert not running.translate(learned_pairs[1][0]).warnings
    monkeypatch.setattr(translations, "LEAST_PIECES", 100)
    assert [one.key for one in running.translate(learned_pairs[1][0]).warnings] == [
        "warning_spelled"
    ]
    for text, key in (
        ("if (x) { y = [z]; }", "warning_code"),
        ("dgoh sneh tcab.", "warning_spelled"),
    ):
        found = running.translate(text, Options(quality=True))
        assert [one.key for one in found.warnings].count(
            key
        ) == 1 and found.quality is None
        assert not [
            one for one in found.warnings if one.key.startswith("warning_guess")
        ]
