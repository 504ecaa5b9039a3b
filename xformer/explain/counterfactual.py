"""Compare where heads look right after two different words at one step of a
translation. Numpy in, numpy out.

The maps are the cross-attention (layers, heads, T, S) of two passes over one source,
whose targets are the same before `step` (from 0) and differ there. Row t of a map is
computed from the first t pieces, so rows 0 to `step` are equal, and row `step` + 1 is
the first that can differ. With `late`, as in `results.Maps`, row t is computed from the
first t - 1 pieces, and row `step` + 2 is the first that can differ.
"""

from collections.abc import Sequence

import numpy as np


def comparable(old: np.ndarray, new: np.ndarray, step: int, late: bool = False) -> bool:
    """Whether both passes have the first row that can differ; a pass whose piece at the
    step was </s> does not."""
    return min(old.shape[-2], new.shape[-2]) > step + 1 + late


def difference(
    old: np.ndarray, new: np.ndarray, step: int, late: bool = False
) -> np.ndarray:
    """Each head's attention after the new piece minus that after the old one: (layers,
    heads, S), -1 to 1.

    Raises ValueError if the passes are not comparable.
    """
    row = step + 1 + late
    if not comparable(old, new, step, late):
        raise ValueError(
            f"passes of {old.shape[-2]} and {new.shape[-2]} rows cannot be compared after step {step}; "
            f"both must have more than {row}"
        )
    return new[:, :, row] - old[:, :, row]


def distance(
    old: np.ndarray, new: np.ndarray, step: int, late: bool = False
) -> np.ndarray:
    """Total variation distance of each head's attention after the two pieces, (layers,
    heads).

    It is half the sum of the absolute differences: 0 if both look at the same, 1 if
    they have nothing in common. Raises ValueError if the passes are not comparable.
    """
    return np.abs(difference(old, new, step, late)).sum(axis=-1) / 2


def parting(given: Sequence[int], free: Sequence[int]) -> int | None:
    """Return the first step at which a given target and a free translation differ; None
    if they are the same."""
    if list(given) == list(free):
        return None
    same = [a == b for a, b in zip(given, free, strict=False)]
    return same.index(False) if False in same else len(same)
