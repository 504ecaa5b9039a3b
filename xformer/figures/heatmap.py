"""Labelled heatmaps of what is not one head: differences and effects, drawn by plotly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from xformer.figures.layout import LOOK, literal
from xformer.figures.palettes import PALETTES

# Below and above 0: blue and orange, which the colour-blind tell apart too, and nothing in between.
DIVERGING: list[list[object]] = [[0, "rgba(43, 122, 246, 1)"], [0.5, "rgba(43, 122, 246, 0)"],
                                 [0.5, "rgba(217, 119, 6, 0)"], [1, "rgba(217, 119, 6, 1)"]]
# From 0 to 1, as the heads are drawn.
BLUE: list[list[object]] = [[i, f"rgba({r}, {g}, {b}, {a:g})"] for i, (r, g, b, a) in enumerate(PALETTES["blue"])]
CELL = 26  # pixels; a long sentence scrolls rather than shrinks
AXIS = {"ticks": "outside", "ticklen": 4, "tickcolor": "rgba(0,0,0,0)", "showgrid": False, "zeroline": False}
Hover = Callable[[str, str, float], str]  # row, column and value to what is said of the cell


def matrix(values: np.ndarray, queries: Sequence[str], keys: Sequence[str], hover: Hover | str, *, title: str,
           rows: str, columns: str, bar: str, colours: list[list[object]], span: tuple[float, float],
           cell: tuple[float, float] = (CELL, CELL), every: int = 1, first: int = 0, right: int = 100) -> go.Figure:
    """values (queries, keys) as a labelled heatmap with a colour bar over `span`; rows and columns name the axes.

    Labels are text, whatever is in them; `hover` is handed them escaped, and may add marks of its own, or is plotly's
    template, which costs less. cell: width and height in pixels; the colour bar needs 150 of height. every: of so many
    columns one is labelled. first: the number of the first column, where the labels are numbers. right: pixels for the
    colour bar.
    """
    asks, seen = literal(queries), literal(keys)
    places = list(range(first, first + len(seen)))
    said = {"hovertemplate": hover} if isinstance(hover, str) else {
        "hovertemplate": "%{text}<extra></extra>",
        "text": [[hover(query, key, value) for key, value in zip(seen, row, strict=True)]
                 for query, row in zip(asks, values.tolist(), strict=True)]}
    left = 44 + 7 * max(map(len, queries))
    top = 74 + 7 * max(map(len, keys))
    # Axes are positions with texts: plotly would merge labels that are equal, and "the … the" would lose a column.
    return go.Figure(go.Heatmap(
        z=values, x=places, y=list(range(len(asks))), zmin=span[0], zmax=span[1], xgap=1 if cell[0] > 8 else 0, ygap=1,
        colorscale=colours, **said,
        colorbar={"title": {"text": bar, "side": "right"}, "thickness": 14, "len": 1, "y": 0.5, "outlinewidth": 1}),
        {"title": {"text": literal([title])[0], "x": 0, "xanchor": "left", "xref": "container", "y": 1,
                   "yanchor": "top", "yref": "container", "pad": {"t": 8, "l": 8}, "font": {"size": 16}},
         "width": left + cell[0] * len(keys) + right, "height": top + max(cell[1] * len(queries), 150) + 12,
         "autosize": False, "margin": {"l": left, "r": right, "t": top, "b": 12, "autoexpand": False},
         "xaxis": {"tickvals": places[::every], "ticktext": seen[::every], "tickangle": -90, "side": "top",
                   "range": [first - 0.5, first + len(seen) - 0.5], "title": {"text": columns, "standoff": 6}, **AXIS},
         "yaxis": {"tickvals": list(range(len(asks))), "ticktext": asks, "range": [len(asks) - 0.5, -0.5],
                   "title": {"text": rows, "standoff": 6}, **AXIS}, **LOOK})
