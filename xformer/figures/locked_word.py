"""The words that a reader has locked: their places in a picture, what they look at, and
which heads link them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xformer.explain.alignment import READINGS
from xformer.figures.attention import SIDES, Choice, Picture, Units, named_by, units
from xformer.figures.labels import place
from xformer.results import Head, Message, Trace, UserError
from xformer.strings import ENGLISH, Language

LETTERS = {"source": "en", "target": "es"}  # the sides of a pair, as a lock writes them
LOCK = re.compile(r"(?=.)(?:(en|es)(\d{1,4}))?(?:-(en|es)(\d{1,4}))?", re.ASCII)
MOST = 6  # words and heads that are listed
LEAST = 0.005  # the least probability that is listed


@dataclass(frozen=True)
class Lock:
    """The words that a reader has locked: the one that looks, the one that is looked
    at, or both; by their pieces.

    Positions count from 0; in the Spanish, 0 is <s>. Written "es4-en3" in addresses,
    "es4" or "-en3" for one word.
    """

    asks: tuple[str, int] | None = None  # a side, "source" or "target", and a position
    seen: tuple[str, int] | None = None

    @classmethod
    def parse(cls, text: str) -> Lock:
        """Read a lock. Raises UserError for anything else."""
        parts = LOCK.fullmatch(text)
        if parts is None:
            raise UserError(Message.of("error_lock", value=text[:40]))
        sides = {letters: side for side, letters in LETTERS.items()}
        first, at, second, by = parts.groups()
        return cls(
            (sides[first], int(at)) if first else None,
            (sides[second], int(by)) if second else None,
        )

    def placed(self, stack: str) -> Lock:
        """Give each word the role that it can have in a stack; leave out words that the
        stack does not have.

        A word that looks in one stack may only be looked at in another, and the other
        way round.
        """
        rows, columns = SIDES[stack]
        turned = rows != columns
        asks = next(
            (
                word
                for word in (self.asks, self.seen if turned else None)
                if word and word[0] == rows
            ),
            None,
        )
        seen = next(
            (
                word
                for word in (self.seen, self.asks if turned else None)
                if word and word[0] == columns
            ),
            None,
        )
        return Lock(asks, seen)


def locked(text: str) -> Lock:
    """The words that a control holds; none where it is empty."""
    return Lock.parse(text) if text else Lock()


def locked_target(lock: str) -> int | None:
    """Find the piece of the translation, from 0, that is locked; None if there is
    none."""
    words = locked(lock)
    return next(
        (
            at - 1
            for side, at in filter(None, (words.asks, words.seen))
            if side == "target" and at > 0
        ),
        None,
    )


@dataclass(frozen=True)
class Link:
    """A head of a stack, and how much a word looks at another in it."""

    head: Head
    asks: str
    seen: str
    probability: float


def row_of(words: Sequence[Sequence[int]], word: tuple[str, int] | None) -> int | None:
    """Find the row or column of a word. words: the positions of each row's pieces. None
    if no row has the word."""
    return next(
        (i for i, positions in enumerate(words) if word and word[1] in positions), None
    )


def links(
    trace: Trace,
    choice: Choice,
    lock: Lock,
    stack_maps: np.ndarray,
    given: Collection[Head] = (),
) -> list[Link]:
    """List the heads of a stack by how much one locked word looks at the other, best
    first.

    With one word locked, a head counts with its largest share from or to that word,
    apart from itself and sinks.
    stack_maps: `all_maps` of the choice. given: the heads that align the piece they
    were given; their rows are read so, as in their pictures.
    """
    lock = lock.placed(choice.stack)
    if lock == Lock():
        return []
    attention = trace.of(choice.stack)
    shown = {
        reading: units(stack_maps, attention, choice, reading == READINGS[0])
        for reading in READINGS
    }
    found = [
        link
        for head in Head.every(choice.stack, *stack_maps.shape[:2])
        if (
            link := _link(
                head, shown[named_by(choice, given, [head])], choice.stack, lock
            )
        )
    ]
    return sorted(found, key=lambda link: -link.probability)


def _link(head: Head, shown: Units, stack: str, lock: Lock) -> Link | None:
    """The link of one head; None if its map lacks the locked words."""
    row = row_of(shown.row_words, lock.asks)
    column = row_of(shown.column_words, lock.seen)
    if (lock.asks and row is None) or (lock.seen and column is None):
        return None
    values = shown.values[head.at]
    same = stack != "cross"
    if column is None:
        column = _largest(
            values[row],
            [
                k
                for k, words in enumerate(shown.column_words)
                if k in shown.sink_columns
                or same
                and words == shown.row_words[row or 0]
            ],
        )
    elif row is None:
        row = _largest(
            values[:, column],
            [
                q
                for q, words in enumerate(shown.row_words)
                if same and words == shown.column_words[column]
            ],
        )
    if row is None or column is None:
        return None
    return Link(head, shown.line[row], shown.keys[column], float(values[row, column]))


def _largest(values: np.ndarray, but: Sequence[int]) -> int | None:
    """The index of the largest value, apart from the indices in `but`; None if none is
    left."""
    left = [i for i in range(len(values)) if i not in but]
    return max(left, key=values.__getitem__) if left else None


def payload(
    trace: Trace,
    choice: Choice,
    lock: Lock,
    seen: Picture,
    stack_maps: np.ndarray,
    given: Collection[Head],
    language: Language = ENGLISH,
) -> dict[str, Any]:
    """Pack what locked_word.js shows of the locked words: what they look at, and which
    heads link them.

    seen: the picture on the page. Texts are plain; the script escapes them.
    """
    say = language.say
    lock = lock.placed(choice.stack)
    row = row_of(seen.row_words, lock.asks)
    column = row_of(seen.column_words, lock.seen)
    if row is None and column is None:
        return {
            "title": "",
            "heading": say("lock_title"),
            "hint": say("lock_hint" if lock == Lock() else "lock_not_here"),
        }
    asks = "" if row is None else seen.line[row]
    looked = "" if column is None else seen.keys[column]
    both = row is not None and column is not None
    from_row = row is not None
    if choice.stack != "cross":  # the same word stands in the other line too
        asking = row if from_row else row_of(seen.row_words, lock.seen)
        looked_at = row_of(seen.column_words, lock.asks) if column is None else column
    else:
        asking = row
        looked_at = column
    lists = [
        {
            "title": say(f"lock_{key}", word=labels[i]),
            "empty": say(empty),
            "words": _most(others, values),
        }
        for i, key, empty, labels, others, values in (
            (
                asking,
                "looks",
                "lock_nothing",
                seen.line,
                seen.keys,
                seen.values[asking or 0],
            ),
            (
                looked_at,
                "seen",
                "lock_nobody",
                seen.keys,
                seen.line,
                seen.values[:, looked_at or 0],
            ),
        )
        if i is not None
    ]
    question = "lock_both" if both else "lock_from" if from_row else "lock_to"
    sides = [LETTERS[side] for side in SIDES[choice.stack]]
    of_rows = [f"{sides[0]}{positions[0]}" for positions in seen.row_words]
    of_columns = [f"{sides[1]}{positions[0]}" for positions in seen.column_words]
    return {
        "title": f"{asks} → {looked}" if both else asks or looked,
        "lists": lists,
        "question": say(question, asks=asks, seen=looked, word=asks or looked),
        "other": say("lock_other"),
        "none": say("lock_no_other"),
        "others": [*(seen.keys if from_row else seen.line)],
        "chosen": column if from_row else None,
        "axis": "column" if from_row else "row",
        "locks": {
            "own": of_columns[column or 0] if row is None else of_rows[row],
            "others": of_columns if from_row else of_rows,
        },
        "links": [
            {
                "layer": link.head.layer,
                "head": link.head.head,
                "place": place(link.head, language),
                "value": round(link.probability, 3),
                "words": ""
                if both
                else f"→ {link.seen}"
                if from_row
                else f"{link.asks} →",
                "here": choice.show == "head" and link.head == choice.chosen,
            }
            for link in links(trace, choice, lock, stack_maps, given)[:MOST]
        ],
    }


def _most(labels: Sequence[str], values: np.ndarray) -> list[dict[str, Any]]:
    """The labels of the largest values, the largest first."""
    order = np.argsort(-values, kind="stable")[: MOST - 1]
    return [
        {"label": labels[i], "value": round(float(values[i]), 3)}
        for i in order
        if values[i] >= LEAST
    ]
