"""The payload of assets/head_grid.js: small maps of all heads of a stack."""

from collections.abc import Collection
from typing import Any

import numpy as np

from xformer.explain.alignment import READINGS
from xformer.figures.attention import SIDES, Choice, heads_of, named_by
from xformer.figures.labels import place
from xformer.figures.layout import PALETTES
from xformer.figures.locked_word import LETTERS
from xformer.figures.packed import packed
from xformer.results import Head
from xformer.strings import ENGLISH, Language


def payload(
    stack_maps: np.ndarray,
    choice: Choice,
    language: Language = ENGLISH,
    given: Collection[Head] = (),
) -> dict[str, Any]:
    """Pack maps (layers, heads, queries, keys) as bytes, 255 for a probability of 1,
    and mark the chosen head.

    With one byte a cell, eight heads of 40 by 40 are 17 kB. given: heads whose rows are
    labelled with the piece given.
    """
    say = language.say
    layers, heads, rows, columns = stack_maps.shape
    levels = np.round(np.clip(stack_maps, 0, 1) * 255).astype(np.uint8)
    moved = [
        f"{one.layer}.{one.head}"
        for one in Head.every(choice.stack, layers, heads)
        if choice.stack != "encoder_self"
        and named_by(choice, given, [one]) == READINGS[0]
    ]
    return {
        "data": packed(levels),
        "stack": choice.stack,
        "moved": moved,
        "sides": [LETTERS[side] for side in SIDES[choice.stack]],
        "layers": layers,
        "heads": heads,
        "rows": rows,
        "columns": columns,
        "palette": PALETTES[choice.palette],
        "layer_label": say("layer_short"),
        "head_label": say("head_short"),
        "layer_word": say("layer").lower(),
        "head_word": say("head").lower(),
        "title": f"{say('grid_title')} · {say(choice.name)}",
        "rules": [*([say("rule_weigh")] if choice.weigh else []), say("grid_rule")],
        **chosen(stack_maps, choice, language),
    }


def chosen(
    stack_maps: np.ndarray, choice: Choice, language: Language = ENGLISH
) -> dict[str, Any]:
    """Mark the heads of the picture: the only part of the payload that changes with the
    choice of a head."""
    layers, heads, rows, columns = stack_maps.shape
    shown = heads_of(choice, layers, heads)
    # all heads, so none is marked
    whole = choice.show == "rollout" and choice.stack != "cross"
    return {
        "layer": choice.layer,
        "head": choice.head,
        "lit": [] if whole else [f"{one.layer}.{one.head}" for one in shown],
        "key": f"{choice.stack} {rows} {columns} {choice.layer} {choice.head} {choice.show}",
        "description": language.say(
            "grid_description",
            stack=language.say(choice.name),
            layers=layers,
            heads=heads,
            chosen=language.say("grid_all")
            if whole
            else ", ".join(place(one, language) for one in shown),
        ),
    }
