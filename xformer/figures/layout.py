"""The look of figures: their colours, which colour-blind readers can tell apart; and
that of every plotly figure, transparent, so that the theme shows through, and in the
page's font.

assets/plot.js finishes it for the width of a window: the page shows the title; each
upright axis is named above it; up to four curves are named at their ends, other traces
in a legend right below.

Layouts are plain dictionaries, handed to go.Figure once: plotly's `update_layout` and
`update_xaxes` take ten times as long, which a reader notices when moving a slider.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.colors import convert_colors_to_same_type, sequential, unlabel_rgb

from xformer.results import decimal

# of curves and bars
BLUE = "#2b7af6"
ORANGE = "#d97706"
TEAL = "#0d9488"
GREY = "#9ca3af"
FONT = 12  # small, as assets/scale.css has it
GRID = "rgba(128, 128, 128, 0.25)"
CLEAR = "rgba(0,0,0,0)"
LOOK: dict[str, Any] = {
    "font": {"size": FONT, "family": "system-ui, sans-serif"},
    "dragmode": False,
    "paper_bgcolor": CLEAR,
    "plot_bgcolor": CLEAR,
}
# pixels: the height of a plot, and of each of several that stand one above the other
PLOT = 240
PANEL = 170
GAP = 32  # pixels between these; the name of the lower one's axis stands there
# pixels around a plot: the names and the numbers of its axes
MARGIN = {"l": 48, "r": 16, "t": 26, "b": 44}
MARKS = 3  # least number of marks on a logarithmic axis
# at the end of a hover text: the name of what is drawn does not stand beside it
END = "<extra></extra>"
# of its marks, within a decade
STEPS = ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5, 7), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9))
# of the International System of Units, by the power of ten
PREFIXES = {9: "G", 6: "M", 3: "k", 0: ""}
Stop = tuple[int, int, int, float]  # red, green, blue (0 to 255), opacity (0 to 1)


def _plotlys(name: str) -> list[Stop]:
    """The stops of one of plotly's sequential palettes."""
    colours, _ = convert_colors_to_same_type(getattr(sequential, name), "rgb")
    return [(*(round(part) for part in unlabel_rgb(colour)), 1.0) for colour in colours]


# For values from 0 to 1: evenly spaced stops; the browser draws the colours between
# them. From transparent to one hue is quiet on any page, light or dark; the others come
# from matplotlib, through plotly.
PALETTES: dict[str, list[Stop]] = {
    "blue": [(43, 122, 246, 0.0), (43, 122, 246, 1.0)],
    "grey": [(128, 128, 128, 0.0), (128, 128, 128, 1.0)],
    "viridis": _plotlys("Viridis"),
    "cividis": _plotlys("Cividis"),
    "magma": _plotlys("Magma"),
}


def layout(
    title: str,
    *,
    x: dict[str, Any],
    y: dict[str, Any],
    height: int = PLOT,
    pair: Sequence[str] = (),
    **more: Any,
) -> dict[str, Any]:
    """Lay out a figure with two axes; it fills the available width, on a phone too.

    height: in pixels, between the axes. pair: the sentence and its translation, of
    which it is, for saved files. more: entries of plotly's layout; those of its margin
    replace MARGIN's.
    """
    margin = {**MARGIN, **more.pop("margin", {})}
    return {
        "title": {"text": literal([title])[0]},
        "height": height + margin["t"] + margin["b"],
        "autosize": True,
        "margin": margin,
        "xaxis": x,
        "yaxis": y,
        "meta": {"pair": list(pair)},
        **LOOK,
        **more,
    }


def line(
    x: Any,
    y: Any,
    name: str,
    colour: str,
    hover: str | None,
    *,
    dash: str | None = None,
    width: float | None = None,
    mode: str = "lines+markers",
    **more: Any,
) -> go.Scatter:
    """A line through points. hover: the text beside a point, as a template of plotly's.
    more: entries of its trace."""
    return go.Scatter(
        x=x,
        y=y,
        name=name,
        mode=mode,
        line={"color": colour, "dash": dash, "width": width},
        hovertemplate=hover,
        **more,
    )


def panels(count: int, height: int = 0) -> tuple[int, list[tuple[float, float]]]:
    """Place plots one above the other: the height of all, and each one's domain, from
    the top down.

    height: of each; if not given PANEL, and of a plot alone PLOT.
    """
    height = height or (PANEL if count > 1 else PLOT)
    whole = count * height + (count - 1) * GAP
    tops = [1 - number * (height + GAP) / whole for number in range(count)]
    return whole, [(max(0.0, top - height / whole), top) for top in tops]


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with a title. more: entries of plotly's axis."""
    return {
        "title": {"text": title, "standoff": 6, "font": {"size": FONT}},
        "gridcolor": GRID,
        "zeroline": False,
        "automargin": "height+width",
        # all have their room; to find out, Plotly would measure each once more
        "ticklabeloverflow": "allow",
        **more,
    }


def logarithmic(
    title: str, values: Iterable[float | None], **more: Any
) -> dict[str, Any]:
    """A logarithmic axis for these values, with marks at 1, 10, 100, or closer where
    they are of few powers of ten."""
    known = [
        value
        for value in values
        if value is not None and math.isfinite(value) and value > 0
    ] or [1.0]
    low = math.log10(min(known))
    high = math.log10(max(known))
    decades = range(math.floor(low), math.ceil(high) + 1)
    for steps in STEPS:
        marks = [step * 10.0**decade for decade in decades for step in steps]
        if sum(low <= math.log10(mark) <= high for mark in marks) >= MARKS:
            break
    return axis(
        title,
        type="log",
        tickvals=marks,
        ticktext=[short(mark) for mark in marks],
        **more,
    )


def short(value: float) -> str:
    """Write a number as a mark of an axis: 0.05, 20, 3 k."""
    power = next((power for power in PREFIXES if abs(value) >= 0.9999 * 10**power), 0)
    return f"{decimal(value / 10**power)} {PREFIXES[power]}".rstrip()


def literal(labels: Sequence[str]) -> list[str]:
    """Escape labels for plotly, which reads some HTML in its texts."""
    return [
        label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        for label in labels
    ]
