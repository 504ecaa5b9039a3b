"""How far a translation can be trusted: of translations like it, the share that say what was meant. No torch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from xformer.explain.doubts import sureness
from xformer.results import Candidate


def features(pieces: int, candidates: Sequence[Candidate]) -> tuple[float, ...]:
    """Describe a translation by five numbers, from which its quality is reckoned.

    They are 1, the mean log-probability of its pieces and the least (nats), the logarithm of the number of `pieces` of
    its source, and how like the others of its beam are, as the mean share of words (0 to 1) that they have in common.
    candidates: different texts of one beam, the best first.
    """
    best, *others = (Counter(candidate.text.split()) for candidate in candidates)
    common = [2 * sum((best & other).values()) / max(1, sum((best + other).values())) for other in others] or [1.0]
    log_probs = candidates[0].log_probs
    return 1.0, sureness(log_probs), min(log_probs), math.log(max(1, pieces)), sum(common) / len(common)


def fit(x: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Fit the weights (F,) of a logistic regression to features x (N, F) and labels good (N,), 0 or 1.

    By Newton's method, with a ridge so slight that it only keeps weights finite where x tells all labels apart.
    """
    weights = np.zeros(x.shape[1])
    for _ in range(30):
        said = estimate(weights, x)
        curvature = (x.T * said * (1 - said)) @ x + 0.1 * np.eye(len(weights))
        weights += np.linalg.solve(curvature, x.T @ (good - said) - 0.1 * weights)
    return weights


def estimate(weights: Sequence[float] | np.ndarray, x: Sequence[float] | np.ndarray) -> np.ndarray:
    """Compute the share (0 to 1) that say what was meant: x (F,) or (N, F) -> () or (N,)."""
    return 1 / (1 + np.exp(-np.asarray(x) @ np.asarray(weights)))


def calibration_error(said: np.ndarray, good: np.ndarray, bins: int = 10) -> float:
    """Compute the expected calibration error (Guo et al. 2017) of shares `said` (N,) against labels `good` (N,)."""
    place = np.minimum((said * bins).astype(int), bins - 1)
    return float(sum(abs((said - good)[place == i].sum()) for i in range(bins)) / len(said))
