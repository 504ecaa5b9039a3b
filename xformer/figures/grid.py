"""All heads of a stack as one small picture: what assets/head_grid.js draws."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from xformer.figures.palettes import PALETTES
from xformer.figures.picture import Choice
from xformer.strings import text

CHOSEN = ("layer", "head", "joined", "key", "description")  # what changes with the head that is chosen


def payload(maps: np.ndarray, choice: Choice, language: str = "en") -> dict[str, Any]:
    """Maps (layers, heads, queries, keys) as bytes, 255 for a probability of 1.

    A byte a cell and no nested lists: eight heads of 40 by 40 are 17 kB.
    """
    layers, heads, rows, columns = maps.shape
    levels = np.round(np.clip(maps, 0, 1) * 255).astype(np.uint8)
    joined = [f"{layer}.{head}" for layer, head in choice.heads] if choice.show in ("mean", "max") else []
    return {"data": base64.b64encode(levels.tobytes()).decode("ascii"), "layers": layers, "heads": heads, "rows": rows,
            "columns": columns, "layer": choice.layer, "head": choice.head, "joined": joined,
            "palette": PALETTES[choice.palette],
            "key": f"{choice.stack} {rows} {columns} {choice.layer} {choice.head}",
            "layer_label": text("layer_short", language), "head_label": text("head_short", language),
            "layer_word": text("layer", language).lower(), "head_word": text("head", language).lower(),
            "description": text("grid_description", language, stack=text(choice.stack, language), layers=layers,
                                heads=heads, layer=choice.layer, head=choice.head)}
