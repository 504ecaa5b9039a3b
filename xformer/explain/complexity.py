"""Compare the layers that can read a sequence by the time they take (Vaswani et al. 2017, section 4 and table 1)."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch

from xformer.model import Attention, Config, Seeded
from xformer.recurrent import GRU
from xformer.results import LayerTimes

LENGTHS = (10, 40, 160, 400)  # pieces
WIDTH = 256
RUNS = 5  # of each that are timed, after one that is not


@torch.inference_mode()
def layer_times(pause: Callable[[], object] = lambda: None) -> list[LayerTimes]:
    """Measure how long one GRU, as `recurrent.GRU` and as PyTorch has it, and one layer of self-attention, in one pass,
    take to read a sequence.

    One direction of the one and eight heads of the other, both of width WIDTH with random weights: the numbers they
    calculate with do not change the time. pause: called between measurements.
    """
    with Seeded(0) as drawn:
        gru, library = GRU(WIDTH, WIDTH).eval(), torch.nn.GRU(WIDTH, WIDTH, batch_first=True).eval()
        attention = Attention(Config(vocab_size=8, d_model=WIDTH, n_heads=8)).eval()
    times = []
    for pieces in LENGTHS:
        x = torch.randn(1, pieces, WIDTH, generator=drawn.generator)
        mask = torch.ones(1, pieces, dtype=torch.bool)
        readers: list[Callable[[], object]] = [lambda x=x, mask=mask: gru(x, mask),  # type: ignore[misc]
                                               lambda x=x: library(x),  # type: ignore[misc]
                                               lambda x=x: attention(x)]  # type: ignore[misc]
        times.append(LayerTimes(pieces, *(_median(read, pause) for read in readers)))
    return times


def _median(read: Callable[[], object], pause: Callable[[], object]) -> float:
    """Time a reader when it is warm: the median of RUNS runs, in seconds."""
    seconds = []
    read()
    for _ in range(RUNS):
        began = time.perf_counter()
        read()
        seconds.append(time.perf_counter() - began)
        pause()
    return median(seconds)
