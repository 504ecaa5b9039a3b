"""How far a translation can be trusted: of translations like it, the share that say
what was meant, from the register where fewest do to that where most do. No torch."""

import math
from collections.abc import Sequence

import numpy as np

from xformer.explain.doubts import sureness
from xformer.results import Candidate

# pieces of a source at which the logarithm of their number takes another weight
BENDS = (12, 24)


def features(pieces: int, best: Candidate) -> tuple[float, ...]:
    """Describe a translation: the mean and the least log-probability of its pieces
    (nats), its characters a piece (few where words are spelled), ln of the number of
    `pieces` of its source, and how far it is above that of BENDS."""
    return (
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


def fit_registers(
    x: np.ndarray, registers: Sequence[str], good: np.ndarray
) -> tuple[np.ndarray, dict[str, float]]:
    """Fit weights (F,) that all registers share, and what each of them adds, to
    features x (N, F), the register of each row and labels good (N,)."""
    names = [*dict.fromkeys(map(str, registers))]
    own = np.array([[one == name for name in names] for one in registers])
    weights = fit(np.hstack([x, own]), good)
    first = x.shape[1]
    return weights[:first], dict(zip(names, weights[first:].tolist(), strict=True))


def between(
    weights: Sequence[float] | np.ndarray,
    registers: Sequence[float],
    x: Sequence[float] | np.ndarray,
) -> np.ndarray:
    """Compute the least and the largest share (0 to 1) of those that the registers
    give: x (F,) or (N, F) -> (2,) or (2, N)."""
    logits = np.asarray(x) @ np.asarray(weights)
    return 1 / (1 + np.exp([-logits - min(registers), -logits - max(registers)]))
