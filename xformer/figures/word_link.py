"""How much one word looks at another, in every head, before and after a word is
replaced. HTML."""

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from xformer.explain.pairs import aligned
from xformer.figures.attention import Choice
from xformer.figures.labels import sentence, shown
from xformer.figures.locked_word import LETTERS, Lock, links
from xformer.figures.templates import fill
from xformer.pieces import SPECIAL, WORD_START, joined, spelled, words
from xformer.results import Head, Trace
from xformer.strings import ENGLISH, Language

Word = tuple[str, int]  # a side, "source" or "target", and a position, as in `Lock`
Share = tuple[str, Lock]  # a stack, and who looks at whom in it


def asked(lock: Lock) -> list[Share]:
    """List the stacks that have both locked words, with which word may look at which;
    both ways in the encoder."""
    if not lock.asks or not lock.seen or lock.asks == lock.seen:
        return []
    sides = {lock.asks[0], lock.seen[0]}
    turned = Lock(lock.seen, lock.asks)
    if sides == {"source"}:
        return [("encoder_self", lock), ("encoder_self", turned)]
    if sides == {"target"}:  # a word looks back only
        return [("decoder_self", lock if lock.asks[1] > lock.seen[1] else turned)]
    return [("cross", lock if lock.asks[0] == "target" else turned)]


def grid(
    trace: Trace, stack: str, lock: Lock, given: Collection[Head] = ()
) -> np.ndarray:
    """Compute how much one word looks at the other in every head of a stack: (layers,
    heads), 0 to 1.

    Words are whole: shares are summed over the pieces of the word looked at, and
    averaged over the pieces of the word that looks. NaN if a head has no such row.
    given: the heads that align the piece they were given.
    """
    maps = trace.of(stack).probabilities
    values = np.full(maps.shape[:2], np.nan)
    for link in links(trace, Choice(stack, words=True), lock, maps, given):
        values[link.head.at] = link.probability
    return values


def pieces_of(trace: Trace, side: str) -> tuple[str, ...]:
    """The pieces of a side, in the order in which a lock counts positions."""
    return trace.source if side == "source" else trace.target


def number_of(trace: Trace, word: Word) -> int | None:
    """Which word of its sentence a position lies in, from 0; None if it is beyond."""
    groups = enumerate(words(pieces_of(trace, word[0])))
    return next((i for i, group in groups if word[1] in group), None)


def group_of(trace: Trace, word: Word) -> list[int]:
    """The positions of all pieces of the word at a position; none if that is beyond the
    sentence."""
    at = number_of(trace, word)
    return [] if at is None else words(pieces_of(trace, word[0]))[at]


def text_of(trace: Trace, word: Word) -> str:
    """The word at a position, as text."""
    return shown(*joined(pieces_of(trace, word[0]), [group_of(trace, word)]))


def choices(trace: Trace) -> list[tuple[str, str]]:
    """List every word of both sentences, without special pieces: a label, and the word
    in the form of a lock."""
    sides = ((letters, pieces_of(trace, side)) for side, letters in LETTERS.items())
    return [
        (f"{letters.upper()} · {shown(text)}", f"{letters}{group[0]}")
        for letters, pieces in sides
        for group, text in zip(words(pieces), joined(pieces), strict=True)
        if text not in SPECIAL.values() and any(map(str.isalnum, text))
    ]


def moved(word: Word, old: Trace, new: Trace) -> Word | None:
    """Find a word in another pass, by aligning its sentences with the old ones; None if
    it is gone."""
    old_pieces, new_pieces = (pieces_of(trace, word[0]) for trace in (old, new))
    at = number_of(old, word)
    there = next(
        (
            one.second
            for one in aligned(joined(old_pieces), joined(new_pieces))
            if at is not None and one.first == at
        ),
        None,
    )
    return None if there is None else (word[0], words(new_pieces)[there][0])


def without(trace: Trace, word: Word, instead: str = "") -> str | None:
    """Write the source with another word, or none, in place of one of its words; None
    if that word is not found."""
    texts = [spelled(text).replace(WORD_START, "") for text in joined(trace.source)]
    at = number_of(trace, word)
    if at is None or not texts[at]:
        return None
    # An apostrophe between letters belongs to the word: "it" does not stand in "it's".
    # Pieces have straight ones only.
    wanted = re.escape(texts[at]).replace("'", "['’]")
    found = [*re.finditer(rf"(?<!\w)(?<!\w['’]){wanted}(?!\w)(?!['’]\w)", trace.text)]
    nth = texts[:at].count(texts[at])
    if nth >= len(found):
        return None
    return " ".join(
        f"{trace.text[: found[nth].start()]}{instead}{trace.text[found[nth].end() :]}".split()
    )


def grids(
    trace: Trace,
    lock: Lock,
    given: Collection[Head] = (),
    language: Language = ENGLISH,
    other: Trace | None = None,
) -> str:
    """Show how much one locked word looks at the other, in all heads of the stacks that
    have both: a row a layer, a column a head.

    other: a pass over the source with another word, for the same share there and for
    the difference. A click on a cell opens the head: assets/bar.js reads
    `data-address`.
    """
    say = language.say
    ways = list[Any]()
    rows = list[list[object]]()
    for stack, placed in asked(lock):
        if not placed.asks or not placed.seen or not trace.of(stack).probabilities.size:
            continue  # a model need not have every stack
        pair = f"{text_of(trace, placed.asks)} → {text_of(trace, placed.seen)}"
        values = grid(trace, stack, placed, given)
        gone = False
        drawn = [(values, pair, 1.0, False)]
        if other is not None:
            asks, seen = (
                moved(word, trace, other) for word in (placed.asks, placed.seen)
            )
            gone = asks is None or seen is None
            if asks is not None and seen is not None:
                there = grid(other, stack, Lock(asks, seen), given)
                named = f"{text_of(other, asks)} → {text_of(other, seen)}"
                reach = max(0.1, float(np.nanmax(np.abs(there - values), initial=0)))
                drawn += [
                    (there, named, 1.0, False),
                    (there - values, say("link_change", pair=named), reach, True),
                ]
        rows += [
            [stack, caption, layer + 1, head + 1, round(float(value), 4)]
            for values, caption, _, _ in drawn
            for (layer, head), value in np.ndenumerate(values)
            if value == value
        ]
        ways.append(
            (
                [(values.tolist(), *more, _largest(values)) for values, *more in drawn],
                gone,
            )
        )
    if not ways or not lock.asks or not lock.seen:
        return ""
    title = f"{say(f'stack_{stack}')} · {text_of(trace, lock.asks)} → {text_of(trace, lock.seen)}"
    return fill(
        "word_link.grids",
        language,
        stack=stack,
        title=title,
        ways=ways,
        rows=rows,
        pair=(trace.text, sentence(trace.predicted)),
    )


def _largest(values: np.ndarray) -> tuple[int, int, float] | None:
    """Layer and head, from 1, of the largest value of a grid, and the value; None where
    all are NaN."""
    if not np.isfinite(values).any():
        return None
    head = Head.highest("", np.nan_to_num(np.abs(values), nan=-1))
    return head.layer, head.head, float(values[head.at])
