"""How often the noun that is named is the one that is meant: what counts as meant."""

import pytest

from research import referring
from research.referring import MARY, TOM, meant


@pytest.mark.parametrize(
    ("words", "pronoun", "code", "names"),
    [
        ("Tom said that", "he", "en", TOM),
        ("Tom told Mary that", "She", "en", MARY),
        ("Tom said that", "she", "en", frozenset()),
        ("Tom dijo que", "su", "es", TOM),
        ("Tom le dijo a Mary que", "su", "es", frozenset()),
        ("María dijo que", "ella", "es", MARY),
    ],
)
def test_a_pronoun_means_the_name_of_its_gender_that_stands_before_it(
    words, pronoun, code, names
):
    assert meant(words.split(), pronoun, code) == names


def test_sentences_without_these_names_are_not_asked_about(running):
    found = referring.measure(running, [("The cat sleeps.", "El gato duerme.")])
    assert found == referring.Referred(0, 0, 0)
    found = referring.measure(running, [("Tom said that he sleeps.", "Tom duerme.")])
    assert found.pronouns == 1 and found.right <= found.said <= 1
