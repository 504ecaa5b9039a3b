"""The payload of assets/head_grid.js: small maps of all heads of a stack."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from xformer.figures.attention import Choice
from xformer.figures.palettes import PALETTES
from xformer.strings import ENGLISH, Language


def payload(stack_maps: np.ndarray, choice: Choice, language: Language = ENGLISH) -> dict[str, Any]:
    """Pack maps (layers, heads, queries, keys) as bytes, 255 for a probability of 1, and mark the chosen head.

    A byte a cell and no nested lists: eight heads of 40 by 40 are 17 kB.
    """
    say = language.say
    layers, heads, rows, columns = stack_maps.shape
    levels = np.round(np.clip(stack_maps, 0, 1) * 255).astype(np.uint8)
    return {"data": base64.b64encode(levels.tobytes()).decode("ascii"),
            "layers": layers, "heads": heads, "rows": rows, "columns": columns, "palette": PALETTES[choice.palette],
            "layer_label": say("layer_short"), "head_label": say("head_short"),
            "layer_word": say("layer").lower(), "head_word": say("head").lower(),
            "title": f"{say('grid_title')} · {say(choice.stack)}", "rules": [say("rule_weigh")] if choice.weigh else [],
            **chosen(stack_maps, choice, language)}


def chosen(stack_maps: np.ndarray, choice: Choice, language: Language = ENGLISH) -> dict[str, Any]:
    """Mark the chosen head: the part of the payload that changes with another head."""
    layers, heads, rows, columns = stack_maps.shape
    joined = [f"{one.layer}.{one.head}" for one in choice.heads] if choice.show in ("mean", "max") else []
    return {"layer": choice.layer, "head": choice.head, "joined": joined,
            "key": f"{choice.stack} {rows} {columns} {choice.layer} {choice.head}",
            "description": language.say("grid_description", stack=language.say(choice.stack), layers=layers,
                                        heads=heads, layer=choice.layer, head=choice.head)}
