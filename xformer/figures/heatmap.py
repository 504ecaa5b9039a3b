"""An attention picture as a heatmap, with axes that say which piece asks and which is looked at."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from xformer.figures.picture import Picture
from xformer.strings import text

# From transparent to the accent: one hue on whatever the page is made of, in both themes, safe for the colour-blind.
SEQUENTIAL = [[0, "rgba(43, 122, 246, 0)"], [1, "rgba(43, 122, 246, 1)"]]
CELL = 26  # pixels; a long sentence scrolls rather than shrinks
FONT = 13


def heatmap(picture: Picture, language: str = "en") -> go.Figure:
    """A row a query, a column a key, the first of each at the top left."""
    rows, columns = escape(picture.queries), escape(picture.keys)
    hover = [[f"{text('hover_source', language, query=row, key=column)}<br><b>{p:.3f}</b>"
              for column, p in zip(columns, values, strict=True)]
             for row, values in zip(rows, picture.values.tolist(), strict=True)]
    # Axes are positions with texts: plotly would merge labels that are equal, and "the … the" would lose a column.
    figure = go.Figure(go.Heatmap(
        z=picture.values, x=list(range(len(columns))), y=list(range(len(rows))), zmin=0, zmax=1, xgap=1, ygap=1,
        colorscale=SEQUENTIAL, text=hover, hovertemplate="%{text}<extra></extra>",
        colorbar={"title": {"text": text("probability", language), "side": "right"}, "thickness": 14,
                  "tickformat": ".1f", "dtick": 0.2, "len": 1, "y": 0.5, "outlinewidth": 1}))
    left = 44 + 7 * max(map(len, picture.queries))
    top = 74 + 7 * max(map(len, picture.keys))
    figure.update_layout(
        title={"text": escape([picture.title])[0], "x": 0, "xanchor": "left", "xref": "container", "y": 1,
               "yanchor": "top", "yref": "container", "pad": {"t": 8, "l": 8}, "font": {"size": 16}},
        width=left + CELL * len(columns) + 100, height=top + max(CELL * len(rows), 150) + 12, autosize=False,
        margin={"l": left, "r": 100, "t": top, "b": 12, "autoexpand": False}, dragmode=False,
        font={"size": FONT, "family": "system-ui, sans-serif"},
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(128,128,128,0.10)")
    axis = {"ticks": "outside", "ticklen": 4, "tickcolor": "rgba(0,0,0,0)", "showgrid": False, "zeroline": False}
    figure.update_xaxes(tickvals=list(range(len(columns))), ticktext=columns, tickangle=-90, side="top",
                        title={"text": picture.seen, "standoff": 6}, **axis)
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=rows, autorange="reversed",
                        title={"text": picture.asks, "standoff": 6}, **axis)
    return figure


def escape(labels: Sequence[str]) -> list[str]:
    """Plotly reads some HTML in its texts; labels are only ever text."""
    return [label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for label in labels]
