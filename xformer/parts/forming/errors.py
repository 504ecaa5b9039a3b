"""Read moments of a training run: the passes at each, and the head that aligns words
best at the end. No torch."""

from typing import Any

import numpy as np

from xformer.explain.alignment import READINGS, best_of
from xformer.results import SIDES, Course, Head, Moments, Trace


def followed(moments: Moments) -> tuple[Head, str] | None:
    """Find the cross-attention head that aligns best at the last moment, and in which
    of alignment.READINGS; None if the model has no attention."""
    last = moments.errors[-1]
    if not last.size:
        return None
    return best_of(last)


def better_reading(moments: Moments, head: Head) -> str:
    """Name the reading in which a head of the cross-attention aligns better at the last
    moment."""
    return READINGS[
        int(np.argmin(moments.errors[-1, :, head.layer - 1, head.head - 1]))
    ]


def error_course(moments: Moments, head: Head, reading: str) -> list[float]:
    """List the alignment error rate of a head at every moment."""
    return [
        float(value)
        for value in moments.errors[
            :, READINGS.index(reading), head.layer - 1, head.head - 1
        ]
    ]


def trace_at(course: Course, moment: int) -> Trace:
    """Make the trace of the pass over a sentence and its reference at a moment, from 0.
    Log-probabilities and norms are not recorded, and are 0."""
    arrays: dict[str, Any] = {}
    for stack, sides in SIDES.items():
        asks, seen = (len(getattr(course, side)) for side in sides)
        maps = np.zeros((0, 1, asks, seen), np.float32)
        if stack in course.maps:
            maps = course.maps[stack][moment].astype(np.float32) / 255
        arrays |= {
            stack: maps,
            f"{stack}_norms": np.zeros((*maps.shape[:2], seen), np.float32),
        }
    return Trace(
        course.source,
        course.target,
        course.predicted,
        (0.0,) * len(course.predicted),
        **arrays,
        text=course.english,
        tokens=(),
    )
