"""Reasons to doubt a translation: the text may not be English, or no sentence, the
model was unsure, or lost a part."""

import json
import re
from collections.abc import Sequence

from xformer.pieces import WORD_START, words
from xformer.results.messages import Message
from xformer.strings import ASSETS

# the bound of a guess for models to which `research evaluate guesses` has fitted none
LEAST = -0.75
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# By language: short words that are very frequent in it and do not exist in the other.
SHORT = {
    code: frozenset(words.split())
    for code, words in json.loads(
        (ASSETS / "short_words.json").read_text(encoding="utf-8")
    ).items()
}
ENGLISH = SHORT["en"]
SPANISH = SHORT["es"]
# Measured with en-es: what is marked of 2,003 sentences of dev and 997 of FLORES-200
# dev (lost ones: of 500 and 400), and of lists of twenty texts, the first written to
# choose the limit by, the last when it was chosen. More than half of the words spelled,
# two at least: 2 and 0; of gibberish 19 and 17. Signs of program code: 0 and 0; of
# lines of code 18, 15 and 13 (not “import os”). Fewer sentences than the text: 0 and 0;
# of 140 texts of 3 to 6 sentences 29 of the 30 that lost one, and 7 others. With es-en,
# of 300 and 150: 0 and 0.
SPELLED = 2  # characters of a word to a piece of it, at most, where it is spelled
# of a vocabulary that is measured: a small one spells words that the model knows
LEAST_PIECES = 8_000
CODE = re.compile(
    r"""[{};_\\|`#&=]|</|/>|<<|->|<\w+(?:\.h)?>|\w\(|\w\[|\(["']|["']\)|\):|://| --?[a-z]"""
)
MOST_CODE = 0.03  # signs of program code, CODE, to a character, at most, in sentences
# What ends a sentence: no point after one letter (“U.S.”, “a.m.”) or these, unless the
# text ends there.
SHORTENED = (
    "Mr", "Mrs", "Ms", "Dr", "St", "Jr", "Sr", "Sra", "Srta", "Ud", "Uds", "EE", "UU",
)  # fmt: skip
END = re.compile(
    r"(?<!\b\w)"
    + "".join(rf"(?<!\b{one})" for one in SHORTENED)
    + r"""[.!?…]+["'”’»)]*(?=\s)|[.!?…]["'”’»)]*$"""
)


def sureness(log_probs: Sequence[float]) -> float:
    """Return the mean log-probability of a translation's pieces, in nats; at most 0."""
    return sum(log_probs) / max(1, len(log_probs))


def looks_like(text: str, language: str) -> bool:
    """Tell whether a text has more short words of a language, "en" or "es", than of the
    other of the two.

    >>> [looks_like(text, "es") for text in ("¿Dónde está el libro?", "Where is Los Angeles?")]
    [True, False]
    """
    own, other = _short([word.lower() for word in WORD.findall(text)], language)
    return own > other


def looks_foreign(text: str, language: str = "en") -> bool:
    """Tell whether a text has more short words of Spanish than of English, or six words
    and hardly a short English one; for the language "es", the other way round; of other
    languages it says nothing.

    >>> looks_foreign("Ich habe keine Ahnung, wo er heute wohnt."), looks_foreign("Good students study hard.")
    (True, False)
    """
    found = [re.split("['’]", word.lower())[0] for word in WORD.findall(text)]
    own, other = _short(found, language)
    return language in SHORT and (
        other > own or len(found) > 5 and own < len(found) / 12
    )


def _short(found: Sequence[str], language: str) -> tuple[int, int]:
    """Count the short words of a language among words, and those of the other."""
    counts = {
        code: sum(word in short for word in found) for code, short in SHORT.items()
    }
    return counts.pop(language, 0), max(counts.values())


def spelled(pieces: Sequence[str]) -> tuple[int, int]:
    """Count the words of a text that are spelled, as the vocabulary has nothing longer
    for them, and all its words.

    >>> spelled(["▁", "a", "s", "d", "f", "▁house", "."])
    (1, 2)
    """
    groups = [
        (len(group), "".join(pieces[i] for i in group).removeprefix(WORD_START))
        for group in words(pieces)
    ]
    found = [(count, word) for count, word in groups if any(map(str.isalnum, word))]
    return sum(
        word.isalpha() and 2 < len(word) <= SPELLED * count for count, word in found
    ), len(found)


def signs_of_code(text: str) -> int:
    """Count the signs of program code in a text; 0 where it has as few as sentences
    have.

    >>> signs_of_code("if (x == null) { return 0; }"), signs_of_code("He said [sic] that he had met the others in May.")
    (5, 0)
    """
    found = len(CODE.findall(text))
    return found if found > 1 and found > MOST_CODE * len(text) else 0


def sentences(text: str) -> int:
    """Count the sentences of a text by what ends them.

    >>> sentences("Mr. Smith left at 5 p.m. yesterday. Why?"), sentences("no end")
    (2, 0)
    """
    return len(END.findall(text))


def no_sentence(text: str, pieces: Sequence[str]) -> list[Message]:
    """Say that a text is program code, or that most of its words are spelled in
    `pieces`; of a sentence nothing."""
    if count := signs_of_code(text):
        return [Message.of("warning_code", count=count)]
    count, every = spelled(pieces)
    return (
        [Message.of("warning_spelled", count=count, words=every)]
        if count > 1 and 2 * count > every
        else []
    )


def lost(text: str, translation: str) -> list[Message]:
    """Say that a translation has fewer sentences than its text; nothing where it has as
    many."""
    count = sentences(text)
    left = sentences(translation)
    return (
        [Message.of("warning_lost", sentences=count, translated=left)]
        if left < count > 1
        else []
    )
