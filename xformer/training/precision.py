"""Choose the precision to train in, by the time that trial steps take: float32, or bfloat16 where that is quicker.

In bfloat16 PyTorch's autocast multiplies in half the bits, while weights and optimizer stay in float32. A CPU with
instructions for it trains up to twice as fast; one without is slower than in float32.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

from xformer.training.options import PRECISIONS

TRIAL = 1.0  # seconds of trial steps in each precision


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """Compute within this context in a precision."""
    return nullcontext() if precision == "float32" else torch.autocast(device.type, torch.bfloat16)


def measure(step: Callable[[str], None]) -> dict[str, float]:
    """Return the seconds of the quickest trial step in each precision; `step` is called with its name.

    Trial steps are made for TRIAL seconds in each, after a first one that allocates memory and is not counted. The
    quickest tells most: other programs can only make a step slower.
    """
    seconds = {}
    for precision in PRECISIONS:
        step(precision)
        began, quickest, now = time.perf_counter(), math.inf, -math.inf
        while now - began < TRIAL:
            start = time.perf_counter()
            step(precision)
            now = time.perf_counter()
            quickest = min(quickest, now - start)
        seconds[precision] = quickest
    return seconds
