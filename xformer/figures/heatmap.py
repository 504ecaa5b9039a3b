"""Labelled plotly heatmaps, for everything but single attention heads: differences, effects, vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from xformer.figures.layout import LOOK, literal
from xformer.figures.palettes import PALETTES

# Blue below 0, orange above, transparent at 0; colour-blind readers can tell them apart.
DIVERGING: list[list[object]] = [[0, "rgba(43, 122, 246, 1)"], [0.5, "rgba(43, 122, 246, 0)"],
                                 [0.5, "rgba(217, 119, 6, 0)"], [1, "rgba(217, 119, 6, 1)"]]
# From 0 to 1, as the heads are drawn.
SEQUENTIAL: list[list[object]] = [[i, f"rgba({r}, {g}, {b}, {a:g})"]
                                  for i, (r, g, b, a) in enumerate(PALETTES["blue"])]
CELL = 26  # pixels; a long sentence scrolls rather than shrinks
AXIS = {"ticks": "outside", "ticklen": 4, "tickcolor": "rgba(0,0,0,0)", "showgrid": False, "zeroline": False}
Hover = Callable[[str, str, float], str]  # from row, column and value to the hover text of the cell


def matrix(values: np.ndarray, queries: Sequence[str], keys: Sequence[str], hover: Hover | str, *, title: str,
           rows: str, columns: str, bar: str, colours: list[list[object]], span: tuple[float, float],
           cell: tuple[float, float] = (CELL, CELL), every: int = 1, first: int = 0, right: int = 100) -> go.Figure:
    """Plot values (queries, keys) as a heatmap with labelled rows and columns, and a colour bar over `span`.

    hover: makes the text of a cell, which may hold markup, from labels that are escaped already; or a template of
        plotly's, which is cheaper.
    rows, columns, bar: titles of the axes and of the colour bar.
    cell: width and height in pixels; the colour bar needs 150 of height. right: pixels for the colour bar.
    every: one column in `every` is labelled. first: number of the first column, if the labels are numbers.
    """
    row_labels, column_labels = literal(queries), literal(keys)
    hints = {"hovertemplate": hover} if isinstance(hover, str) else {
        "hovertemplate": "%{text}<extra></extra>",
        "text": [[hover(row_label, column_label, value)
                  for column_label, value in zip(column_labels, row, strict=True)]
                 for row_label, row in zip(row_labels, values.tolist(), strict=True)]}
    # Axes are positions with texts: plotly would merge equal labels, and "the … the" would lose a column.
    x, y = list(range(first, first + len(column_labels))), list(range(len(row_labels)))
    left = 44 + 7 * max(map(len, queries))
    top = 74 + 7 * max(map(len, keys))
    heading = {"text": literal([title])[0], "x": 0, "xanchor": "left", "xref": "container", "y": 1, "yanchor": "top",
               "yref": "container", "pad": {"t": 8, "l": 8}, "font": {"size": 16}}
    across = {"tickvals": x[::every], "ticktext": column_labels[::every], "tickangle": -90, "side": "top",
              "range": [first - 0.5, first + len(x) - 0.5], "title": {"text": columns, "standoff": 6}, **AXIS}
    down = {"tickvals": y, "ticktext": row_labels, "range": [len(y) - 0.5, -0.5],
            "title": {"text": rows, "standoff": 6}, **AXIS}
    colour_bar = {"title": {"text": bar, "side": "right"}, "thickness": 14, "len": 1, "y": 0.5, "outlinewidth": 1}
    drawn = go.Heatmap(z=values, x=x, y=y, zmin=span[0], zmax=span[1], xgap=1 if cell[0] > 8 else 0, ygap=1,
                       colorscale=colours, **hints, colorbar=colour_bar)
    return go.Figure(drawn, {
        "title": heading, "width": left + cell[0] * len(x) + right, "height": top + max(cell[1] * len(y), 150) + 12,
        "autosize": False, "margin": {"l": left, "r": right, "t": top, "b": 12, "autoexpand": False},
        "xaxis": across, "yaxis": down, **LOOK})
