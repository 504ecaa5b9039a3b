"""The payload of assets/heads.js: the maps of all heads of a stack, in the units of the
picture, so that the page draws another head without asking."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from xformer.explain.alignment import READINGS
from xformer.figures.attention import Choice, Picture, named_by, picture, units
from xformer.figures.packed import packed
from xformer.results import Head, Trace
from xformer.strings import ENGLISH, Language

MOST = 65535  # what stands for a probability of 1
LARGEST = 400_000  # cells of all maps together, 1.1 MB: beyond, a head is asked for


def payload(
    stack_maps: np.ndarray,
    trace: Trace,
    choice: Choice,
    language: Language = ENGLISH,
    given: Collection[Head] = (),
) -> dict[str, Any] | None:
    """Pack maps (layers, heads, queries, keys) as two bytes a cell, which keep a
    probability to 0.00001: 24 heads of 21 by 23 are 34 kB as JSON, with their labels.
    None where they are too large.

    `readings` holds the heads whose rows are labelled alike, with those labels, as a
    payload of head_payload has them. The title has {layer} and {head} to be filled in.
    choice: which of its heads is chosen does not matter. given: the heads that align
    the piece they were given.
    """
    if stack_maps.size > LARGEST:
        return None
    layers, heads = stack_maps.shape[:2]
    readings: dict[str, list[Head]] = {}
    for head in Head.every(choice.stack, layers, heads):
        readings.setdefault(named_by(choice, given, [head]), []).append(head)
    first = replace(choice, layer=1, head=1, show="head")
    return {
        "of": name(trace, choice),
        "title": language.say(
            "picture_title",
            stack=language.say(choice.name),
            layer="{layer}",
            layers=layers,
            head="{head}",
            heads=heads,
        ),
        "rules": picture(trace, first, language, stack_maps, given).rules,
        "readings": [
            _reading(stack_maps, trace, first, language, given, alike)
            for alike in readings.values()
        ],
    }


def name(trace: Trace, choice: Choice) -> str:
    """Name what the maps of a choice are of, whichever of its heads is chosen."""
    own = (choice.stack, choice.rows, choice.words, choice.hide, choice.weigh)
    return " ".join(map(str, (trace.number, *own)))


def _reading(
    stack_maps: np.ndarray,
    trace: Trace,
    choice: Choice,
    language: Language,
    given: Collection[Head],
    alike: list[Head],
) -> dict[str, Any]:
    """Pack the maps and labels of heads whose rows are labelled alike."""
    one = replace(choice, layer=alike[0].layer, head=alike[0].head)
    labels: Picture = picture(trace, one, language, stack_maps, given)
    predicted = named_by(choice, given, alike[:1]) == READINGS[0]
    maps = np.stack([stack_maps[head.at] for head in alike])
    values = units(maps, trace.of(choice.stack), choice, predicted, language).values
    levels = np.round(np.clip(values, 0, 1) * MOST).astype("<u2")
    return {
        "heads": [f"{head.layer}.{head.head}" for head in alike],
        "data": packed(levels),
        **{
            key: getattr(labels, key)
            for key in (
                "queries",
                "keys",
                "line",
                "row_words",
                "column_words",
                "asks",
                "seen",
            )
        },
    }
