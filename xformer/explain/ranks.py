"""How far two orders agree: Spearman's rank correlation. Numpy only."""

from __future__ import annotations

import numpy as np


def ranks(values: np.ndarray) -> np.ndarray:
    """Places (n,) of the values in order, the least is 1; values that are equal share the mean of their places."""
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + 1 + np.searchsorted(ordered, values, "right")) / 2


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's: Pearson's correlation of the ranks, from -1 (opposite order) to 1 (the same order).

    None where there is none: fewer than three values, or one side all equal.
    """
    a, b = (ranks(values) - (len(values) + 1) / 2 for values in (first, second))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if len(first) > 2 and size else None
