"""Reasons to doubt a translation: the text may not be English, or the model was not sure of it."""

import json
import re
from collections.abc import Sequence

from xformer.strings import ASSETS

LEAST = -0.75  # the bound of a guess for models to which `research evaluate guesses` has fitted none
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# By language: short words that are very frequent in it and do not exist in the other.
SHORT = {code: frozenset(words.split()) for code, words in json.loads(
    (ASSETS / "short_words.json").read_text(encoding="utf-8")).items()}
ENGLISH, SPANISH = SHORT["en"], SHORT["es"]


def sureness(log_probs: Sequence[float]) -> float:
    """Return the mean log-probability of a translation's pieces, in nats; at most 0."""
    return sum(log_probs) / max(1, len(log_probs))


def looks_like(text: str, language: str) -> bool:
    """Tell whether a text has more short words of a language, "en" or "es", than of the other of the two.

    >>> [looks_like(text, "es") for text in ("¿Dónde está el libro?", "Where is Los Angeles?")]
    [True, False]
    """
    own, other = _short([word.lower() for word in WORD.findall(text)], language)
    return own > other


def looks_foreign(text: str, language: str = "en") -> bool:
    """Tell whether a text has more short words of Spanish than of English, or six words and hardly a short English one;
    for the language "es", the other way round; of other languages it says nothing.

    >>> looks_foreign("Ich habe keine Ahnung, wo er heute wohnt."), looks_foreign("Good students study hard.")
    (True, False)
    """
    found = [re.split("['’]", word.lower())[0] for word in WORD.findall(text)]
    own, other = _short(found, language)
    return language in SHORT and (other > own or len(found) > 5 and own < len(found) / 12)


def _short(found: Sequence[str], language: str) -> tuple[int, int]:
    """Count the short words of a language among words, and those of the other."""
    counts = {code: sum(word in short for word in found) for code, short in SHORT.items()}
    return counts.pop(language, 0), max(counts.values())
