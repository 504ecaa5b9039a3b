"""Six questions to begin with, each a link to where the page answers it, with a small
picture of what is seen there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xformer.figures.templates import fill
from xformer.strings import ENGLISH, Language

# pixels of a picture
WIDTH = 64
HEIGHT = 40
LESSON = "probabilities.1"  # to begin with


@dataclass(frozen=True)
class Door:
    """A question, the text "door_" and its key; the address that answers it; and a
    picture, SVG, "" for none."""

    key: str
    address: Mapping[str, Any]
    picture: str = ""


def doors(each: Sequence[Door], language: Language = ENGLISH) -> str:
    """List the doors, under a line that folds them. HTML."""
    return fill("doors.doors", language, each=each, lesson=LESSON)


def cells(values: np.ndarray) -> str:
    """Draw a map (rows, columns) of numbers from 0 to 1."""
    rows, columns = values.shape
    wide = WIDTH / columns
    high = HEIGHT / rows
    return _svg(
        "".join(
            _box(wide * c, high * r, wide, high, f' fill-opacity="{value:.2f}"')
            for (r, c), value in np.ndenumerate(values)
            if value >= 0.005
        )
    )


def bars(values: Sequence[float]) -> str:
    """Draw numbers as bars, warm above a middle line and cold below it; from the ground
    up where none is negative."""
    most = max(*values, 0.0)
    least = min(*values, 0.0)
    wide = WIDTH / len(values)
    scale = HEIGHT / ((most - least) or 1)
    return _svg(
        "".join(
            _box(
                wide * i + 1,
                (most - max(value, 0)) * scale,
                wide - 2,
                abs(value) * scale,
                ' class="up"' if least < 0 < value else "",
            )
            for i, value in enumerate(values)
        )
    )


def curve(x: Sequence[float], y: Sequence[float]) -> str:
    """Draw a curve; y from 0 to 1."""
    points = " ".join(
        f"{WIDTH * at / (max(x) or 1):.1f},{2 + (HEIGHT - 4) * (1 - value):.1f}"
        for at, value in zip(x, y, strict=True)
    )
    return _svg(f'<polyline points="{points}"/>')


def _svg(inside: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" aria-hidden="true">{inside}</svg>'


def _box(x: float, y: float, wide: float, high: float, more: str = "") -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"{more}/>'
    )
