"""Gather the numbers of a training run, step by step, into a few hundred points that
travel with the checkpoint."""

from __future__ import annotations

import json
from typing import Any

from xformer.hub.recorded import COLUMNS

MOST = 400  # points; where there are more, two neighbours become one
Point = list[float]  # of one step or several: see `History.add`


class History:
    """The points of a run so far, each of them made of equally many steps, and its
    scores."""

    def __init__(self) -> None:
        self.every = 1  # steps of a point
        self.points: list[Point] = []
        self.scores: list[dict[str, float]] = []

    def add(
        self,
        step: int,
        seconds: float,
        seen: int,
        rate: float,
        *,
        loss: float,
        weight: int,
        norm: float,
        took: float,
    ) -> None:
        """Add a step. seconds, seen: of training, and of pieces learned from, until
        then. loss: summed over `weight` pieces. norm: of the gradient, before it is
        clipped. took: seconds."""
        # The first four are of the last step of a point, `largest` is a maximum, the
        # others are sums.
        point = [step, seconds, seen, rate, norm, loss, weight, norm, took, 1]
        if self.points and self.points[-1][-1] < self.every:
            self.points[-1] = _together(self.points[-1], point)
        else:
            self.points.append(point)
        if len(self.points) > MOST:
            self.every *= 2
            self.points = [
                _together(*pair) if len(pair) == 2 else pair[0]
                for pair in (
                    self.points[i : i + 2] for i in range(0, len(self.points), 2)
                )
            ]

    def score(
        self, step: int, seconds: float, seen: int, scores: dict[str, float]
    ) -> None:
        """Add what the model reached on the development set."""
        self.scores.append(
            {"step": step, "seconds": round(seconds, 1), "seen": seen, **scores}
        )

    def columns(self, most: int) -> dict[str, Any]:
        """Give the columns of a `results.TrainingCourse`, of at most `most` points."""
        size = max(1, -(-len(self.points) // most))
        groups = [self.points[i : i + size] for i in range(0, len(self.points), size)]
        return {
            "step": tuple(int(group[-1][0]) for group in groups),
            "loss": tuple(
                round(
                    sum(point[5] for point in group)
                    / max(1, sum(point[6] for point in group)),
                    4,
                )
                for group in groups
            ),
            "rate": tuple(_short(group[-1][3]) for group in groups),
            "norm": tuple(_short(max(point[4] for point in group)) for group in groups),
        }

    def to_json(self) -> bytes:
        """Write the history in the form that `hub.recorded.read_history` reads."""
        rows = [
            (
                int(step),
                round(seconds, 1),
                int(seen),
                round(loss / max(1, weight), 4),
                _short(rate),
                _short(norms / steps),
                _short(largest),
                round(weight / max(1e-9, took)),
            )
            for step, seconds, seen, rate, largest, loss, weight, norms, took, steps in self.points
        ]
        columns = {
            name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)
        }
        return (json.dumps({**columns, "scores": self.scores}) + "\n").encode()


def _together(one: Point, two: Point) -> Point:
    """Join two neighbouring points."""
    return [
        *two[:4],
        max(one[4], two[4]),
        *(a + b for a, b in zip(one[5:], two[5:], strict=True)),
    ]


def _short(value: float) -> float:
    return float(f"{value:.4g}")
