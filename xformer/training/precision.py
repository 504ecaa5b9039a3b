"""Choose how to train by the time that trial steps take: the precision, float32 or bfloat16; compiled or as it is.

In bfloat16 PyTorch's autocast multiplies in half the bits, while weights and optimizer stay in float32. A CPU with
instructions for it trains up to twice as fast; one without is slower than in float32.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch

from xformer.training.options import PRECISIONS

TRIAL = 1.0  # seconds of trial steps in each way


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """Compute within this context in a precision."""
    return nullcontext() if precision == "float32" else torch.autocast(device.type, torch.bfloat16)


def measure(step: Callable[[str], None], ways: Sequence[str] = PRECISIONS) -> dict[str, float]:
    """Return the seconds of the quickest trial step in each precision, or other way; `step` is called with its name.

    Trial steps are made for TRIAL seconds in each, after a first one that allocates memory and is not counted. The
    quickest tells most: other programs can only make a step slower.
    """
    seconds = {}
    for way in ways:
        step(way)
        began, quickest, now = time.perf_counter(), math.inf, -math.inf
        while now - began < TRIAL:
            start = time.perf_counter()
            step(way)
            now = time.perf_counter()
            quickest = min(quickest, now - start)
        seconds[way] = quickest
    return seconds
