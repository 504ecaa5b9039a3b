"""The look of every plotly figure: transparent, so that the dark theme shows through, and in the page's font.

Layouts are plain dictionaries, handed to go.Figure once: plotly's `update_layout` and `update_xaxes` take ten times as
long, which a reader notices when moving a slider.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

FONT = 13
GRID = "rgba(128, 128, 128, 0.25)"
LOOK: dict[str, Any] = {"font": {"size": FONT, "family": "system-ui, sans-serif"}, "dragmode": False,
                        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(128,128,128,0.10)"}


def layout(title: str, height: int, *, x: dict[str, Any], y: dict[str, Any], bottom: int = 100, **more: Any
           ) -> dict[str, Any]:
    """Lay out a figure with two axes and a legend below; it fills the available width, on a phone too.

    height, bottom: in pixels, of the figure and of the margin below it. more: entries of plotly's layout.
    """
    lines = textwrap.wrap(title, more.get("width", 380) // 10)
    return {
        "title": {"text": "<br>".join(literal(lines)), "x": 0, "xref": "container", "y": 1,
                  "yref": "container", "yanchor": "top", "pad": {"t": 22, "l": 8}, "font": {"size": 15}},
        "height": height, "autosize": True, "margin": {"l": 58, "r": 16, "t": 74, "b": bottom}, "xaxis": x, "yaxis": y,
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"}, **LOOK, **more}


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with a title. more: entries of plotly's axis."""
    return {"title": {"text": title, "standoff": 6}, "gridcolor": GRID, "zeroline": False, **more}


def literal(labels: Sequence[str]) -> list[str]:
    """Escape labels for plotly, which reads some HTML in its texts."""
    return [label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for label in labels]
