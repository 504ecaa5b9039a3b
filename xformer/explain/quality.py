"""How far a translation can be trusted: of translations like it, the share that say
what was meant. No torch."""

import math
from collections.abc import Sequence

import numpy as np

from xformer.explain.doubts import sureness
from xformer.results import Candidate

# pieces of a source at which the logarithm of their number takes another weight
BENDS = (12, 24)


def features(pieces: int, best: Candidate) -> tuple[float, ...]:
    """Describe a translation: 1, the mean and the least log-probability of its pieces
    (nats), its characters a piece (few where words are spelled), ln of the number of
    `pieces` of its source, and how far it is above that of BENDS."""
    return (
        1.0,
        sureness(best.log_probs),
        min(best.log_probs),
        len(best.text) / len(best.log_probs),
        *(math.log(max(1, pieces / bend)) for bend in (1, *BENDS)),
    )


def fit(x: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Fit the weights (F,) of a logistic regression to features x (N, F) and labels
    good (N,), 0 or 1, by Newton's method; the slight ridge keeps them finite where x
    tells all labels apart."""
    weights = np.zeros(x.shape[1])
    for _ in range(30):
        said = estimate(weights, x)
        curvature = (x.T * said * (1 - said)) @ x + 0.1 * np.eye(len(weights))
        weights += np.linalg.solve(curvature, x.T @ (good - said) - 0.1 * weights)
    return weights


def estimate(
    weights: Sequence[float] | np.ndarray, x: Sequence[float] | np.ndarray
) -> np.ndarray:
    """Compute the share (0 to 1) that say what was meant: x (F,) or (N, F) -> () or
    (N,)."""
    return 1 / (1 + np.exp(-np.asarray(x) @ np.asarray(weights)))
