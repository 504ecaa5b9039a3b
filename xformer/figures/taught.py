"""What was written for training, said where it stands: a mark beside those of the
page's own sentences for which the shipped translators were given pairs like them.

`python -m research taught` looks for the pairs, and writes assets/taught.json.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from xformer.figures.templates import fill
from xformer.strings import ASSETS, ENGLISH, Language

PATH = ASSETS / "taught.json"
# models that learned from the pairs written here, and what they read; GENERATIONS did
# not
LARGE = {"en-es": "en", "es-en": "es"}
# Pairs that these learned from and that do not ship: checkpoints/en-es/README.md.
OTHER = 103_059 + 167_812
# Pairs with a side that a model wrote, as the cards have them: translations of
# Tatoeba's sentences, then of others.
MADE = {
    "nearest": 104_101,
    "en_es": 121_941,
    "es_en": 136_547 + 81_800,
    "ranked": 37_144,  # of en-es, sentences
    "ranked_es": 33_396,  # of es-en
    "patterns": 6_565,  # pairs, of en-es alone
}


@dataclass(frozen=True)
class Taught:
    """What was written here that is nearest to a sentence."""

    reads: str  # the language of the sentence, "en" or "es"
    text: str
    origin: str  # of the nearest pair, "written" or "entry" of a dictionary
    source: str  # the pair
    target: str
    nearness: float  # cosine of tf · idf, 0 to 1
    bound: float  # from which it counts, for a text of as many words
    near: int  # unlike sources that reach it
    words: tuple[str, ...]  # rare ones that sentences were written for
    seen: bool  # whether it stands in the training pairs that ship, word for word

    @property
    def is_near(self) -> bool:
        return self.nearness >= self.bound

    @property
    def aimed_at(self) -> bool:
        """Whether something was written here for its pattern, or for a word of it."""
        return self.is_near or bool(self.words)


@cache
def taught() -> dict[tuple[str, str], Taught]:
    """What was found, by language and sentence."""
    rows = json.loads(PATH.read_text(encoding="utf-8"))["sentences"]
    found = (Taught(**{**one, "words": tuple(one["words"])}) for one in rows)
    return {(one.reads, one.text): one for one in found}


def marked(texts: Iterable[str], model: str) -> list[Taught]:
    """Those of the page's sentences that a model was taught, or has seen."""
    reads = LARGE.get(model, "")
    found = (taught().get((reads, text)) for text in dict.fromkeys(texts))
    return [one for one in found if one and (one.aimed_at or one.seen)]


def marks(
    texts: Iterable[str], model: str, language: Language = ENGLISH, named: bool = True
) -> str:
    """Mark those of some sentences that a model was taught; HTML, each a fold with what
    was found. named: each with its sentence."""
    return fill("taught.marks", language, found=marked(texts, model), named=named)
