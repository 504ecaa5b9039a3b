"""Where heads look right after two different words in the same place of a translation. Numpy in, numpy out.

The maps are the cross-attention (layers, heads, T, S) of two passes over one source, whose targets are the same before
`step` (the first is 0) and differ there. Row t of a map is asked after t pieces, so rows 0 to `step` cannot differ:
no position sees what comes after it. Row `step` + 1 is the first that can.
"""

from __future__ import annotations

import numpy as np


def comparable(old: np.ndarray, new: np.ndarray, step: int) -> bool:
    """Whether both passes go on after the step; one whose piece there was </s> has no row to compare."""
    return min(old.shape[-2], new.shape[-2]) > step + 1


def difference(old: np.ndarray, new: np.ndarray, step: int) -> np.ndarray:
    """What each head looks at after the new piece, minus after the old one: (layers, heads, S), from -1 to 1.

    Raises ValueError where they are not comparable.
    """
    if not comparable(old, new, step):
        raise ValueError(f"passes of {old.shape[-2]} and {new.shape[-2]} rows cannot be compared after step {step}; "
                         f"both must have more than {step + 1}")
    return new[:, :, step + 1] - old[:, :, step + 1]


def distance(old: np.ndarray, new: np.ndarray, step: int) -> np.ndarray:
    """Total variation distance of what each head looks at, (layers, heads): half the sum of absolute differences.

    0 where a head looks at the same after both pieces, 1 where at nothing in common. Raises ValueError as above.
    """
    return np.abs(difference(old, new, step)).sum(axis=-1) / 2
