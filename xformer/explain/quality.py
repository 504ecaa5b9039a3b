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


def logistic(logits: np.ndarray | Sequence[np.ndarray]) -> np.ndarray:
    """Turn logits of any shape into shares (0 to 1)."""
    return 1 / (1 + np.exp(-np.asarray(logits)))


def between(
    weights: Sequence[float] | np.ndarray,
    registers: Sequence[float],
    x: Sequence[float] | np.ndarray,
) -> np.ndarray:
    """Compute the least and the largest share (0 to 1) of those that the registers
    give: x (F,) or (N, F) -> (2,) or (2, N)."""
    logits = np.asarray(x) @ np.asarray(weights)
    return logistic([logits + min(registers), logits + max(registers)])
