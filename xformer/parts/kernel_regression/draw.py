"""Figures of kernel regression: points and the curve through them, the weights as a
map, and the bandwidth's errors."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from xformer.figures.heatmap import Axis, Scale, matrix, weight
from xformer.figures.layout import BLUE, ORANGE, axis, layout, line, logarithmic
from xformer.parts.kernel_regression import kernels
from xformer.parts.kernel_regression.kernels import RANGE, Descent
from xformer.results import decimal
from xformer.strings import ENGLISH, Language

# places at which the curve is drawn, and rows of the map
CURVE = 201
ROWS = 26
TEXTS = (
    "kernel_point",
    "kernel_x",
    "kernel_y",
    "kernel_kind",
    "kernel_is_point",
    "kernel_is_curve",
)


def payload(
    x: np.ndarray, y: np.ndarray, bandwidth: float, language: Language = ENGLISH
) -> dict[str, Any]:
    """Give kernel_regression.js the points, the curve through them, and its texts."""
    places = np.linspace(*RANGE[0], CURVE)
    return {
        "points": np.column_stack([x, y]).tolist(),
        "range": RANGE,
        "places": places.round(4).tolist(),
        "curve": (kernels.weights(places, x, bandwidth) @ y).round(4).tolist(),
        "title": language.say("kernel_curve", bandwidth=named(bandwidth, language)),
        "label": language.say("kernel_hint"),
        "texts": language.unfilled(TEXTS),
    }


def named(bandwidth: float, language: Language = ENGLISH) -> str:
    """Write a bandwidth; 0 with its meaning."""
    return (
        language.say("kernel_nearest")
        if bandwidth == 0
        else f"h = {decimal(bandwidth)}"
    )


def weights(x: np.ndarray, bandwidth: float, language: Language = ENGLISH) -> go.Figure:
    """Plot the weights as a map: a row a query, a column a point, from left to
    right."""
    say = language.say
    order = np.argsort(x, kind="stable")
    places = np.linspace(*RANGE[0], ROWS)
    return matrix(
        kernels.weights(places, x[order], bandwidth),
        Axis(say("kernel_asks"), [f"{place:.1f}" for place in places]),
        Axis(say("kernel_seen"), [decimal(value, 6) for value in x[order]]),
        weight(language, "x = "),
        title=say("kernel_map", bandwidth=named(bandwidth, language)),
        scale=Scale(say("kernel_weight")),
        cell=(26, 13),
    )


def errors(
    x: np.ndarray, y: np.ndarray, descent: Descent | None, language: Language = ENGLISH
) -> go.Figure:
    """Plot the leave-one-out error against the bandwidth, and the path of a gradient
    descent on it."""
    say = language.say
    least, most = kernels.POWERS
    widths = 2.0 ** np.linspace(least + 0.05, most, 80)
    found = [kernels.left_out(x, y, float(width))[0] for width in widths]
    hover = "h = %{x:.3~r}: %{y:.4f}<extra></extra>"
    lines = [line(widths, found, say("kernel_left_out"), BLUE, hover, mode="lines")]
    if descent is not None:
        lines.append(
            line(
                descent.bandwidths,
                descent.errors,
                say("kernel_descent", steps=len(descent.errors) - 1),
                ORANGE,
                hover,
                width=1,
                marker={"size": 6},
            )
        )
    return go.Figure(
        lines,
        layout(
            say("kernel_errors"),
            x=logarithmic(say("kernel_bandwidth_h"), widths.tolist()),
            y=axis(say("kernel_error"), rangemode="tozero"),
        ),
    )


def told(
    x: np.ndarray,
    y: np.ndarray,
    bandwidth: float,
    descent: Descent | None,
    language: Language = ENGLISH,
) -> str:
    """Say how well the curve predicts points that it has not seen, and where a descent
    has ended. HTML."""
    said = [
        language.html("kernel_said_nearest")
        if bandwidth == 0
        else language.html(
            "kernel_said",
            bandwidth=decimal(bandwidth),
            variance=f"{float(y.var()):.3f}",
            error=f"{kernels.left_out(x, y, bandwidth)[0]:.3f}",
        )
    ]
    if descent is not None:
        said.append(
            language.html(
                "kernel_said_descent",
                steps=len(descent.errors) - 1,
                first=f"{descent.errors[0]:.3f}",
                last=f"{descent.errors[-1]:.3f}",
                bandwidth=decimal(descent.bandwidths[-1]),
            )
        )
    return f'<p role="status">{" ".join(said)}</p>'
