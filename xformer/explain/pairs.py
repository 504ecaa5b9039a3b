"""Compare two sentences that differ in a word or two: which words correspond. Numpy in,
numpy out."""

import difflib
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np


class Place(NamedTuple):
    """A word of one sentence and the word of the other that stands in its place; None
    if only one has a word."""

    first: int | None
    second: int | None
    same: bool  # whether both are the same word


def aligned(first: Sequence[str], second: Sequence[str]) -> list[Place]:
    """Lay two sentences beside each other, word by word, keeping the order of both.

    The longest runs of common words stand opposite each other. The words between them
    are paired from the left; the rest of the longer side has no partner.

    >>> aligned(["the", "cat", "sleeps"], ["the", "dogs", "of", "Tom", "sleeps"])[1:3]
    [Place(first=1, second=1, same=False), Place(first=None, second=2, same=False)]
    """
    places = []
    for kind, a, b, c, d in difflib.SequenceMatcher(
        a=first, b=second, autojunk=False
    ).get_opcodes():
        places += [
            Place(i, j, kind == "equal")
            for i, j in zip_longest(range(a, b), range(c, d))
        ]
    return places


def side_by_side(
    first: np.ndarray,
    second: np.ndarray,
    rows: Sequence[Place],
    columns: Sequence[Place],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lay two maps (queries, keys) on one grid (rows, columns): the first, the second,
    and second minus first.

    A cell is NaN if a sentence lacks one of its two words; the difference is NaN if
    either sentence does.
    """
    grids = []
    for values, side in ((first, 0), (second, 1)):
        # at -1: what a sentence lacks
        padded = np.pad(values.astype(np.float32), (0, 1), constant_values=np.nan)
        own = (
            [-1 if (i := place[side]) is None else i for place in places]
            for places in (rows, columns)
        )
        grids.append(padded[np.ix_(*own)])
    return grids[0], grids[1], grids[1] - grids[0]


def label(place: Place, first: Sequence[str], second: Sequence[str]) -> str:
    """Name a place: the common word, or both words with a slash between; a dash stands
    for a missing word."""
    one = "–" if place.first is None else first[place.first]
    return (
        one
        if place.same
        else f"{one} / {'–' if place.second is None else second[place.second]}"
    )
