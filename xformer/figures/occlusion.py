"""What each source word did for each target piece, measured by leaving it out, as a heatmap of its own colours."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from xformer.figures.heatmap import matrix
from xformer.figures.labels import shown, shown_all
from xformer.results import Occlusion
from xformer.strings import text

# Diverging and safe for the colour-blind: orange where the word helped, blue where it stood in the way.
DIVERGING: list[list[object]] = [[0, "rgba(43, 122, 246, 1)"], [0.5, "rgba(128, 128, 128, 0)"],
                                 [1, "rgba(217, 119, 6, 1)"]]


def occlusion(found: Occlusion, language: str = "en") -> go.Figure:
    """A row a target piece, a column a source word left out; the value is the fall of the piece's log-probability."""
    def say(key: str, **values: object) -> str:
        return text(key, language, **values)

    def hover(piece: str, word: str, value: float) -> str:
        return say("occlusion_hover", piece=piece, word=word, value=f"{value:+.2f}")

    reach = max(1.0, float(np.abs(found.effect).max()))
    return matrix(found.effect, shown_all(found.predicted), [shown(word) for word in found.words], hover,
                  title=say("occlusion_title"), rows=say("occlusion_rows"), columns=say("occlusion_columns"),
                  bar=say("occlusion_bar"), colours=DIVERGING, span=(-reach, reach))
