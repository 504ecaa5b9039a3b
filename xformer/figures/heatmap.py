"""One attention head as a heatmap, with axes that say which piece asks and which is looked at."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from xformer.figures.labels import percent, shown_all
from xformer.results import Trace
from xformer.strings import text

# From transparent to the accent: one hue on whatever the page is made of, in both themes, safe for the colour-blind.
SEQUENTIAL = [[0, "rgba(43, 122, 246, 0)"], [1, "rgba(43, 122, 246, 1)"]]
CELL = 26  # pixels; a long sentence scrolls rather than shrinks
FONT = 13


def head(trace: Trace, stack: str, layer: int, index: int) -> np.ndarray:
    """Probabilities (query, key) of one head; layer and index count from 1, as on the page."""
    return getattr(trace, stack)[layer - 1, index - 1]


def query_labels(trace: Trace, stack: str, language: str = "en") -> list[str]:
    """What each row is: an English piece, or for the decoder what it was given last and is asked to predict."""
    if stack == "encoder_self":
        return shown_all(trace.source)
    return [text("row_target", language, given=given, wanted=wanted)
            for given, wanted in zip(shown_all(trace.target), shown_all(trace.predicted), strict=True)]


def key_labels(trace: Trace, stack: str) -> list[str]:
    """What each column is: the piece that is looked at."""
    return shown_all(trace.target if stack == "decoder_self" else trace.source)


def title(trace: Trace, stack: str, layer: int, index: int, language: str = "en") -> str:
    layers, heads = getattr(trace, stack).shape[:2]
    return text("picture_title", language, stack=text(stack, language), layer=layer, layers=layers, head=index,
                heads=heads)


def heatmap(trace: Trace, stack: str, layer: int, index: int, language: str = "en") -> go.Figure:
    """One head: a row a query, a column a key, the first of each at the top left; layer and index count from 1."""
    probabilities = head(trace, stack, layer, index)
    rows, columns = query_labels(trace, stack, language), key_labels(trace, stack)
    hover = [[f"{text('hover_source', language, query=row, key=column)}<br><b>{p:.3f}</b>"
              for column, p in zip(escape(columns), values, strict=True)]
             for row, values in zip(escape(rows), probabilities.tolist(), strict=True)]
    # Axes are positions with texts: plotly would merge labels that are equal, and "the … the" would lose a column.
    figure = go.Figure(go.Heatmap(
        z=probabilities, x=list(range(len(columns))), y=list(range(len(rows))), zmin=0, zmax=1, xgap=1, ygap=1,
        colorscale=SEQUENTIAL, text=hover, hovertemplate="%{text}<extra></extra>",
        colorbar={"title": {"text": text("probability", language), "side": "right"}, "thickness": 14,
                  "tickformat": ".1f", "dtick": 0.2, "len": 1, "y": 0.5, "outlinewidth": 1}))
    left = 44 + 7 * max(map(len, rows))
    top = 74 + 7 * max(map(len, columns))
    figure.update_layout(
        title={"text": title(trace, stack, layer, index, language), "x": 0, "xanchor": "left", "xref": "container",
               "y": 1, "yanchor": "top", "yref": "container", "pad": {"t": 8, "l": 8}, "font": {"size": 16}},
        width=left + CELL * len(columns) + 100, height=top + max(CELL * len(rows), 150) + 12, autosize=False,
        margin={"l": left, "r": 100, "t": top, "b": 12, "autoexpand": False}, dragmode=False,
        font={"size": FONT, "family": "system-ui, sans-serif"},
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(128,128,128,0.10)")
    seen = "axis_seen_target" if stack == "decoder_self" else "axis_seen_source"
    asks = "axis_asks_source" if stack == "encoder_self" else "axis_asks_target"
    figure.update_xaxes(tickvals=list(range(len(columns))), ticktext=escape(columns), tickangle=-90, side="top",
                        ticks="outside", ticklen=4, tickcolor="rgba(0,0,0,0)",
                        title={"text": text(seen, language), "standoff": 6}, showgrid=False, zeroline=False)
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=escape(rows), autorange="reversed",
                        ticks="outside", ticklen=4, tickcolor="rgba(0,0,0,0)",
                        title={"text": text(asks, language), "standoff": 6}, showgrid=False, zeroline=False)
    return figure


def escape(labels: list[str]) -> list[str]:
    """Plotly reads some HTML in its texts; labels are only ever text."""
    return [label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for label in labels]


def summary(trace: Trace, stack: str, layer: int, index: int, language: str = "en") -> str:
    """The picture in words, for who cannot see it: where every row looks most."""
    probabilities = head(trace, stack, layer, index)
    rows, columns = query_labels(trace, stack, language), key_labels(trace, stack)
    lines = [text("summary_start", language, title=title(trace, stack, layer, index, language))]
    for row, values in zip(rows, probabilities, strict=True):
        best = int(values.argmax())
        lines.append(text("summary_row", language, query=row, key=columns[best], percent=percent(float(values[best]))))
    return " ".join(lines)
