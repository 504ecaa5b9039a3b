"""One attention picture with the two sentences beside it: what assets/head_view.js draws, as a heatmap or as arcs."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from xformer.figures.attention import Choice, Picture
from xformer.figures.palettes import PALETTES
from xformer.strings import table

TEXTS = ("looks_at", "looked_at_by", "view_hint", "view_locked", "arcs_drawn", "larger", "smaller", "probability",
         "line_asks", "line_seen")


def payload(picture: Picture, choice: Choice, checkpoint: str, language: str = "en") -> dict[str, Any]:
    """Labels as text and values (queries, keys) as float32 bytes; the browser escapes every label and fills `texts` in.

    checkpoint: name and identity, which stand under an exported picture. `same`: row i and column i are the same
    position of the same sentence.
    """
    values = np.ascontiguousarray(picture.values, dtype="<f4")
    return {"data": base64.b64encode(values.tobytes()).decode("ascii"), "queries": picture.queries,
            "keys": picture.keys, "line": picture.line, "title": picture.title, "rules": picture.rules,
            "asks": picture.asks, "seen": picture.seen, "view": choice.view, "threshold": choice.threshold / 100,
            "palette": PALETTES[choice.palette], "same": choice.stack != "cross", "checkpoint": checkpoint,
            "texts": {key: table(language)[key] for key in TEXTS},
            "key": " ".join(map(str, (picture.title, *values.shape, choice.view, choice.threshold, choice.words,
                                      choice.hide, choice.weigh, choice.palette)))}
