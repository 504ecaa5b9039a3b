"""HTML tables for switched-off heads: how the translation changed, and which heads
matter. All text is escaped."""

from collections.abc import Sequence

from xformer.figures.changes import both_texts, column_names, word_table
from xformer.figures.templates import fill
from xformer.results import HeadEffect
from xformer.strings import ENGLISH, Language


def before_and_after(
    old: str,
    new: str,
    pieces: Sequence[str],
    before: Sequence[float],
    after: Sequence[float],
    language: Language = ENGLISH,
) -> str:
    """Compare two translations: both texts, and the log-probability of every word of
    the old one.

    pieces: of the old translation; before, after: their log-probabilities with all
    heads and without some, in nats.
    """
    return both_texts("ablation_{}", old, new, before, after, language) + word_table(
        column_names("ablation_{}", language), pieces, before, after, language
    )


def effects(ranked: Sequence[HeadEffect], language: Language = ENGLISH) -> str:
    """Tabulate heads and the log-probability that each is worth to the translation,
    with bars, in the given order."""
    largest = max((abs(one.effect) for one in ranked), default=0) or 1
    return fill("ablation.effects", language, ranked=ranked, largest=largest)
