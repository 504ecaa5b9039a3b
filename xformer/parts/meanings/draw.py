"""The payload of meanings.js: a map of words by their states, and what another order of
them changes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from xformer.figures.labels import percent
from xformer.figures.packed import packed
from xformer.results import MapMeanings, MeaningMap
from xformer.strings import ENGLISH, Language

LEVELS = 65_535  # of the plane's numbers


def payload(
    found: MeaningMap,
    asked: MapMeanings,
    order: tuple[float, float, float],
    states: Sequence[str],
    counts: Sequence[int],
    language: Language = ENGLISH,
) -> dict[str, Any]:
    """Pack a map. Each sentence is a text with a tab before each word and a line feed
    before each sign; the plane is 16-bit numbers, x and y of each word on one scale.

    order: as `results.Reverse` answers. states, counts: stacks with a layer, and
    numbers of sentences, to choose from.
    """
    words = set(map(tuple, found.places.tolist()))
    blanks = str.maketrans("\t\n", "  ")
    least = found.plane.min(axis=0)
    reach = float(np.ptp(found.plane, axis=0).max()) or 1.0
    levels = np.round((found.plane - least) / reach * LEVELS).astype("<u2")
    return {
        "sentences": [
            "".join(
                ("\t" if (number, i) in words else "\n") + unit.translate(blanks)
                for i, unit in enumerate(units)
            )
            for number, units in enumerate(found.sentences)
        ],
        "own": found.own,
        "plane": packed(levels),
        "least": least.tolist(),
        "step": reach / LEVELS,
        "alike": found.alike.round(3).tolist(),
        "shares": [*map(percent, found.shares)],
        "both": percent(sum(found.shares)),
        "at": f"{asked.stack}.{asked.layer}",
        "states": states,
        "count": asked.sentences,
        "counts": counts,
        "order": order,
        "stack": language.say(f"mean_{asked.stack}"),
        "texts": {
            key: text for key, text in language.texts.items() if key.startswith("mean_")
        },
    }


def chosen(found: MeaningMap) -> dict[str, Any]:
    """The word of a map that is chosen, and those nearest to it with their cosines."""
    return {
        "word": found.word,
        "near": [[at, round(cosine, 3)] for at, cosine in found.nearest],
    }
