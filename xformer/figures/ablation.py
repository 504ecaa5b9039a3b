"""HTML tables for switched-off heads: how the translation changed, and which heads matter. All text is escaped."""

import difflib
from collections.abc import Sequence
from html import escape

from xformer.figures.templates import fill
from xformer.pieces import joined, words
from xformer.results import HeadEffect
from xformer.strings import ENGLISH, Language


def changed_words(old: str, new: str, kept: int = 1_000_000) -> str:
    """Mark word differences in the new text: added words in <ins>, removed ones in <del>.

    kept: words that are shown beside a change; of longer unchanged stretches the others are left out.
    """
    before, after = old.split(), new.split()
    steps, parts = difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes(), []
    for number, (kind, a, b, c, d) in enumerate(steps):
        same = after[c:d]
        if kind == "equal":
            first, last = kept if number else 0, kept if number < len(steps) - 1 else 0
            if len(same) > first + last + kept:
                same = [*same[:first], "…", *same[len(same) - last:]]
            parts.append(escape(" ".join(same)))
        else:
            parts += [f"<{tag}>{escape(' '.join(words))}</{tag}>"
                      for tag, words in (("del", before[a:b]), ("ins", same)) if words]
    return " ".join(parts)


def before_and_after(old: str, new: str, pieces: Sequence[str], before: Sequence[float], after: Sequence[float],
                     language: Language = ENGLISH) -> str:
    """Compare two translations: both texts, and the log-probability of every word of the old one.

    pieces: of the old translation; before, after: their log-probabilities with all heads and without some, in nats.
    """
    return (both_texts("ablation_{}", old, new, before, after, language)
            + word_table(column_names("ablation_{}", language), pieces, before, after, language))


def both_texts(about: str, old: str, new: str, before: Sequence[float], after: Sequence[float], language: Language,
               empty: str = "") -> str:
    """Show two translations with their differences marked, and the log-probability that the old one loses. HTML.

    about: the keys of its texts, with {} for what they differ in. empty: stands for a new translation without words.
    """
    return fill("ablation.both_texts", language, about=about, old=old, new=new, changes=changed_words(old, new),
                empty=empty, before=sum(before), after=sum(after))


def column_names(about: str, language: Language) -> list[str]:
    """Name the columns of a `word_table` about a change."""
    return [language.say(about.format(name)) for name in ("word", "with", "without", "change")]


def word_table(names: Sequence[str], pieces: Sequence[str], before: Sequence[float], after: Sequence[float],
               language: Language = ENGLISH) -> str:
    """Tabulate log-probabilities by word, as `piece_table` does by piece; a word's is the sum over its pieces."""
    groups = words(pieces)
    old, new = ([sum(values[i] for i in group) for group in groups] for values in (before, after))
    return piece_table(names, joined(pieces, groups), old, new, language)


def piece_table(names: Sequence[str], pieces: Sequence[str], before: Sequence[float], after: Sequence[float],
                language: Language = ENGLISH) -> str:
    """Tabulate the log-probability (nats) of every piece before and after a change, with probability and difference.

    names: of the four columns.
    """
    return fill("ablation.piece_table", language, names=names, rows=zip(pieces, before, after, strict=True))


def effects(ranked: Sequence[HeadEffect], language: Language = ENGLISH) -> str:
    """Tabulate heads and the log-probability that each is worth to the translation, with bars, in the given order."""
    largest = max((abs(one.effect) for one in ranked), default=0) or 1
    return fill("ablation.effects", language, ranked=ranked, largest=largest)
