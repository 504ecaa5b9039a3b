"""All heads of a stack as one small picture: what assets/head_grid.js draws."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from xformer.figures.attention import Choice
from xformer.figures.palettes import PALETTES
from xformer.strings import text


def payload(maps: np.ndarray, choice: Choice, language: str = "en") -> dict[str, Any]:
    """Maps (layers, heads, queries, keys) as bytes, 255 for a probability of 1, and which of them is chosen.

    A byte a cell and no nested lists: eight heads of 40 by 40 are 17 kB.
    """
    layers, heads, rows, columns = maps.shape
    levels = np.round(np.clip(maps, 0, 1) * 255).astype(np.uint8)
    return {"data": base64.b64encode(levels.tobytes()).decode("ascii"), "layers": layers, "heads": heads, "rows": rows,
            "columns": columns, "palette": PALETTES[choice.palette],
            "layer_label": text("layer_short", language), "head_label": text("head_short", language),
            "title": f"{text('grid_title', language)} · {text(choice.stack, language)}",
            "rules": [text("rule_weigh", language)] if choice.weigh else [],
            "layer_word": text("layer", language).lower(), "head_word": text("head", language).lower(),
            **chosen(maps, choice, language)}


def chosen(maps: np.ndarray, choice: Choice, language: str = "en") -> dict[str, Any]:
    """Which of the maps is chosen: all that changes with another head."""
    layers, heads, rows, columns = maps.shape
    joined = [f"{layer}.{head}" for layer, head in choice.heads] if choice.show in ("mean", "max") else []
    return {"layer": choice.layer, "head": choice.head, "joined": joined,
            "key": f"{choice.stack} {rows} {columns} {choice.layer} {choice.head}",
            "description": text("grid_description", language, stack=text(choice.stack, language), layers=layers,
                                heads=heads, layer=choice.layer, head=choice.head)}
