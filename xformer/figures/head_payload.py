"""The payload of assets/head_view.js: one attention picture with the two sentences beside it, as heatmap or arcs."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from xformer.figures.attention import Choice, Picture
from xformer.figures.palettes import PALETTES
from xformer.strings import ENGLISH, Language

TEXTS = ("looks_at", "looked_at_by", "view_hint", "view_locked", "arcs_drawn", "larger", "smaller", "probability",
         "line_asks", "line_seen")  # that the script fills in itself


def payload(picture: Picture, choice: Choice, checkpoint: str, language: Language = ENGLISH) -> dict[str, Any]:
    """Pack a picture: labels as text, which the script escapes, and values (queries, keys) as float32 bytes.

    checkpoint: name and identity, which stand under an exported picture. In the payload, `same` says whether row i and
    column i are the same position of the same sentence, and `key` differs for pictures that look different.
    """
    values = np.ascontiguousarray(picture.values, dtype="<f4")
    key = (picture.title, *values.shape, choice.view, choice.threshold, choice.words, choice.hide, choice.weigh,
           choice.palette)
    return {"data": base64.b64encode(values.tobytes()).decode("ascii"), "queries": picture.queries,
            "keys": picture.keys, "line": picture.line, "title": picture.title, "rules": picture.rules,
            "asks": picture.asks, "seen": picture.seen, "view": choice.view, "threshold": choice.threshold / 100,
            "palette": PALETTES[choice.palette], "same": choice.stack != "cross", "checkpoint": checkpoint,
            "texts": {name: language.texts[name] for name in TEXTS}, "key": " ".join(map(str, key))}
