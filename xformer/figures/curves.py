"""Curves of plotly figures."""

from typing import Any

import plotly.graph_objects as go

NO_NAME = "<extra></extra>"  # at the end of a hover text: without it, the name of what is drawn stands beside the text


def curve(x: Any, y: Any, name: str, colour: str, hover: str | None, *, dash: str | None = None,
          width: float | None = None, mode: str = "lines+markers", **more: Any) -> go.Scatter:
    """A line through points. hover: the text beside a point, as a template of plotly's. more: entries of its trace."""
    return go.Scatter(x=x, y=y, name=name, mode=mode, line={"color": colour, "dash": dash, "width": width},
                      hovertemplate=hover, **more)
