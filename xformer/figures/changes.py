"""HTML of what a change makes of a translation: words that differ, and
log-probabilities before and after it."""

import difflib
from collections.abc import Sequence
from html import escape

from xformer.figures.templates import fill
from xformer.pieces import joined, words
from xformer.strings import ENGLISH, Language


def changed_words(old: str, new: str, kept: int = 1_000_000) -> str:
    """Mark word differences in the new text: added words in <ins>, removed ones in
    <del>.

    kept: words that are shown beside a change; of longer unchanged stretches the others
    are left out.
    """
    before = old.split()
    after = new.split()
    steps = difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    parts = []
    for number, (kind, a, b, c, d) in enumerate(steps):
        same = after[c:d]
        if kind == "equal":
            first = kept if number else 0
            last = kept if number < len(steps) - 1 else 0
            if len(same) > first + last + kept:
                same = [*same[:first], "…", *same[len(same) - last :]]
            parts.append(escape(" ".join(same)))
        else:
            parts += [
                f"<{tag}>{escape(' '.join(words))}</{tag}>"
                for tag, words in (("del", before[a:b]), ("ins", same))
                if words
            ]
    return " ".join(parts)


def both_texts(
    about: str,
    old: str,
    new: str,
    before: Sequence[float],
    after: Sequence[float],
    language: Language,
    empty: str = "",
) -> str:
    """Show two translations with their differences marked, and the log-probability that
    the old one loses. HTML.

    about: the keys of its texts, with {} for what they differ in. empty: stands for a
    new translation without words.
    """
    return fill(
        "changes.both_texts",
        language,
        about=about,
        old=old,
        new=new,
        changes=changed_words(old, new),
        empty=empty,
        before=sum(before),
        after=sum(after),
    )


def column_names(about: str, language: Language) -> list[str]:
    """Name the columns of a `word_table` about a change."""
    return [
        language.say(about.format(name))
        for name in ("word", "with", "without", "change")
    ]


def word_table(
    names: Sequence[str],
    pieces: Sequence[str],
    before: Sequence[float],
    after: Sequence[float],
    language: Language = ENGLISH,
) -> str:
    """Tabulate log-probabilities by word, as `piece_table` does by piece; a word's is
    the sum over its pieces."""
    groups = words(pieces)
    old, new = (
        [sum(values[i] for i in group) for group in groups]
        for values in (before, after)
    )
    return piece_table(names, joined(pieces, groups), old, new, language)


def piece_table(
    names: Sequence[str],
    pieces: Sequence[str],
    before: Sequence[float],
    after: Sequence[float],
    language: Language = ENGLISH,
) -> str:
    """Tabulate the log-probability (nats) of every piece before and after a change,
    with probability and difference.

    names: of the four columns.
    """
    return fill(
        "changes.piece_table",
        language,
        names=names,
        rows=zip(pieces, before, after, strict=True),
    )
