"""Labelled plotly heatmaps, for everything but single attention heads: differences,
effects, vectors.

They look as assets/head_map.js draws a head: its palette, labels, and colour bar;
assets/plot.js brings the labels as near as they are long.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from xformer.figures.layout import FONT, LOOK, PALETTES, literal
from xformer.results import decimal, fixed
from xformer.strings import Language

# Blue below 0, orange above, transparent at 0; colour-blind readers can tell them
# apart.
DIVERGING: list[list[object]] = [
    [0, "rgba(43, 122, 246, 1)"],
    [0.5, "rgba(43, 122, 246, 0)"],
    [0.5, "rgba(217, 119, 6, 0)"],
    [1, "rgba(217, 119, 6, 1)"],
]
# From 0 to 1, as the heads are drawn.
SEQUENTIAL: list[list[object]] = [
    [i, f"rgba({r}, {g}, {b}, {a:g})"]
    for i, (r, g, b, a) in enumerate(PALETTES["blue"])
]
CELL = 26  # pixels; a long sentence scrolls rather than shrinks
# pixels for the colour bar, and its length
BAR = 92
SHORTEST = 120
LONGEST = 320
AXIS = {
    "ticks": "outside",
    "ticklen": 4,
    "tickcolor": "rgba(0,0,0,0)",
    "showgrid": False,
    "zeroline": False,
}
# from row, column and value to the hover text of the cell
Hover = Callable[[str, str, float], str]
GROUND = "rgba(128,128,128,0.10)"  # under the cells, as a head is drawn
WIDE = 900  # pixels that a strip of many numbers may take


@dataclass(frozen=True)
class Axis:
    """The rows or the columns: their title and their labels. every: one label in
    `every` is written. first: the number of the first, where labels are numbers."""

    title: str
    labels: Sequence[str]
    every: int = 1
    first: int = 0

    @property
    def positions(self) -> list[int]:
        """Where they stand. Plotly would merge equal labels, and "the … the" would lose
        a column."""
        return [*range(self.first, self.first + len(self.labels))]

    def drawn(self, **more: Any) -> dict[str, Any]:
        """Describe the axis to Plotly."""
        return {
            "tickvals": self.positions[:: self.every],
            "ticktext": literal(self.labels)[:: self.every],
            "title": {"text": self.title},
            **AXIS,
            **more,
        }


@dataclass(frozen=True)
class Scale:
    """The colours, up to the value `most`: from 0, or from -most where values have
    signs. title: of the colour bar."""

    title: str
    most: float = 1
    signed: bool = False


def matrix(
    values: np.ndarray,
    rows: Axis,
    columns: Axis,
    hover: Hover | str,
    *,
    title: str,
    scale: Scale,
    cell: tuple[float, float] = (CELL, CELL),
    pair: Sequence[str] = (),
) -> go.Figure:
    """Plot values (rows, columns) as a heatmap with a colour bar.

    hover: makes the text of a cell, which may hold markup, from labels that are escaped
        already; or a template of plotly's, which is cheaper.
    cell: width and height in pixels; the colour bar needs SHORTEST of height, and BAR
    of width.
    pair: the sentence and its translation, of which it is, for saved files.
    """
    hints = (
        {"hovertemplate": hover}
        if isinstance(hover, str)
        else {
            "hovertemplate": "%{text}<extra></extra>",
            "text": [
                [
                    hover(row_label, column_label, value)
                    for column_label, value in zip(
                        literal(columns.labels), row, strict=True
                    )
                ]
                for row_label, row in zip(
                    literal(rows.labels), values.tolist(), strict=True
                )
            ],
        }
    )
    x = columns.positions
    y = rows.positions
    left = 14 + 7 * max(map(len, rows.labels))
    top = 28 + 7 * max(map(len, columns.labels))
    height = cell[1] * len(y)
    below = max(8.0, SHORTEST + 12 - height)
    drawn = go.Heatmap(
        z=values,
        x=x,
        y=y,
        zmin=-scale.most if scale.signed else 0,
        zmax=scale.most,
        xgap=1 if cell[0] > 8 else 0,
        ygap=1,
        colorscale=DIVERGING if scale.signed else SEQUENTIAL,
        **hints,
        colorbar=bar(scale, height),
    )
    return go.Figure(
        drawn,
        {
            "title": {"text": literal([title])[0]},
            "width": left + cell[0] * len(x) + BAR,
            "height": top + height + below,
            "autosize": False,
            "margin": {"l": left, "r": BAR, "t": top, "b": below, "autoexpand": False},
            "xaxis": columns.drawn(
                tickangle=-90 if columns.every == 1 else 0,
                side="top",
                tickfont={"size": FONT},
                range=[x[0] - 0.5, x[-1] + 0.5],
            ),
            "yaxis": rows.drawn(
                range=[y[-1] + 0.5, y[0] - 0.5], tickfont={"size": FONT}
            ),
            "meta": {"map": True, "pair": list(pair)},
            **LOOK,
            "plot_bgcolor": GROUND,
        },
    )


def bar(scale: Scale, height: float) -> dict[str, Any]:
    """Describe to Plotly the colour bar beside a map of a height in pixels."""
    shares = (-1, -0.5, 0, 0.5, 1) if scale.signed else (0, 0.25, 0.5, 0.75, 1)
    marks = [share * scale.most for share in shares]
    return {
        "title": {"text": scale.title, "side": "right", "font": {"size": FONT}},
        "thickness": 14,
        "lenmode": "pixels",
        "len": max(SHORTEST, min(height, LONGEST)),
        "x": 1,
        "xpad": 13,
        "y": 1,
        "yanchor": "top",
        "ypad": 0,
        "ticks": "outside",
        "ticklen": 3,
        "tickvals": marks,
        "ticktext": [decimal(mark, 2) for mark in marks],
        "outlinewidth": 1,
        "outlinecolor": "rgba(128,128,128,0.6)",
    }


def strips(
    vectors: np.ndarray,
    names: Sequence[str],
    *,
    title: str,
    scale: Scale,
    height: float,
    language: Language,
    dimensions: Sequence[str] = (),
    pair: Sequence[str] = (),
) -> go.Figure:
    """Plot vectors, one a row, by their names. dimensions: their labels, if they are
    not the numbers from 1.
    height: of a row, in pixels. pair: as in `matrix`."""
    say = language.say
    count = vectors.shape[1]
    labels = dimensions or [str(i + 1) for i in range(count)]
    return matrix(
        vectors,
        Axis(say("first_axis_vector"), names),
        Axis(say("first_axis_dimension"), labels, every=max(1, count // 16), first=1),
        number(language),
        title=title,
        scale=scale,
        cell=(min(16.0, WIDE / count), height),
        pair=pair,
    )


def number(language: Language, row: str = "%{y}") -> str:
    """The hover text of a number of a vector, as a template."""
    return (
        language.say("first_hover_number", row=row, dimension="%{x}", value="%{z:+.4f}")
        + "<extra></extra>"
    )


def weight(language: Language, of: str = "") -> Hover:
    """Make the hover text of a weight or an activation. of: what is written before row
    and column."""
    return lambda row, column, value: language.say(
        "first_hover_score",
        row=f"{of}{row}",
        key=f"{of}{column}",
        value=fixed(value, ".4f"),
    )
