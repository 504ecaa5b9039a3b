"""Kernel regression of Nadaraya (1964) and Watson (1964): attention of numbers to
numbers, without learnt matrices.

n points have x and y (n,); the queries are m places q (m,); weights are (m, n), and
each row sums to 1. Numpy only.
"""

import math
from dataclasses import dataclass

import numpy as np

from xformer.explain.principles import HARD, SEED, score, softmax
from xformer.results import Message, UserError, decimal

POINTS = 14  # at the beginning
RANGE = ((0.0, 5.0), (-1.0, 6.0))  # of x and of y
STEPS = 40  # of a gradient descent
RATE = 0.5
# powers of two of the bandwidth; the lower end means 0, the nearest neighbour
POWERS = (-5, 2)
MOST_POINTS = 30


def bandwidth_at(power: float) -> float:
    """Read the bandwidth off its slider."""
    return 0.0 if power <= POWERS[0] else 2.0**power


def written(x: np.ndarray, y: np.ndarray) -> str:
    """Write points as they stand in an address: "0.5,1.2 3,4"."""
    return " ".join(f"{a:g},{b:g}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def read(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Read points from a text; `first_points` if it is empty. Raises UserError, which
    names what is no point."""
    if not text.strip():
        return first_points()
    points = []
    for one in text.split():
        try:
            a, b = map(float, one.split(","))
        except ValueError:
            a = b = math.nan
        if not (RANGE[0][0] <= a <= RANGE[0][1] and RANGE[1][0] <= b <= RANGE[1][1]):
            raise UserError(
                Message.of(
                    "kernel_error_point",
                    point=one[:40],
                    left=decimal(RANGE[0][0], 6),
                    right=decimal(RANGE[0][1], 6),
                    low=decimal(RANGE[1][0], 6),
                    high=decimal(RANGE[1][1], 6),
                )
            )
        points.append((a, b))
    if not 2 <= len(points) <= MOST_POINTS:
        raise UserError(
            Message.of("kernel_error_count", count=len(points), most=MOST_POINTS)
        )
    x, y = np.array(points).T
    return x, y


def first_points() -> tuple[np.ndarray, np.ndarray]:
    """Draw x evenly from RANGE, and y = 2 sin(x) + x^0.8 with noise of deviation 0.5:
    the same points every time."""
    rng = np.random.default_rng(SEED)
    x = np.sort(rng.uniform(*RANGE[0], POINTS)).round(2)
    return x, (2 * np.sin(x) + x**0.8 + 0.5 * rng.standard_normal(POINTS)).round(2)


def weights(q: np.ndarray, x: np.ndarray, bandwidth: float) -> np.ndarray:
    """softmax(-(q - x)^2 / (2 bandwidth^2)), (m, n); at bandwidth 0 the nearest point
    has all: hard attention."""
    return softmax(
        score("gaussian", q[:, None], x[:, None]),
        HARD if bandwidth == 0 else bandwidth**-2,
    )


def left_out(x: np.ndarray, y: np.ndarray, bandwidth: float) -> tuple[float, float]:
    """Predict each point from the others; return the mean squared error and its
    derivative by the bandwidth's log.

    If a point's own y took part, a bandwidth of 0 would always be best.
    """
    scores = score("gaussian", x[:, None], x[:, None])
    beta = bandwidth**-2
    found = softmax(scores, beta, ~np.eye(len(x), dtype=bool))
    errors = found @ y - y
    by_beta = (found * (scores - (found * scores).sum(axis=1, keepdims=True))) @ y
    return float((errors**2).mean()), float((2 * errors * by_beta).mean() * -2 * beta)


@dataclass(frozen=True)
class Descent:
    """A gradient descent on the log of the bandwidth, step by step."""

    bandwidths: tuple[float, ...]
    errors: tuple[float, ...]


def descend(
    x: np.ndarray, y: np.ndarray, bandwidth: float, limits: tuple[float, float]
) -> Descent:
    """Take STEPS down the gradient of the error of `left_out`. limits: the least and
    the greatest bandwidth.

    The error is measured in units of the variance of y, so that RATE suits any points.
    """
    size = max(float(y.var()), 1e-12)
    found = list[tuple[float, float]]()
    for _ in range(STEPS + 1):
        error, slope = left_out(x, y, bandwidth)
        found.append((bandwidth, error))
        bandwidth = float(np.clip(bandwidth * np.exp(-RATE * slope / size), *limits))
    return Descent(*zip(*found, strict=True))
