"""Compare the layers that can read a sequence by the time they take (Vaswani et al. 2017, section 4 and table 1)."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from xformer.model import Attention, Config
from xformer.recurrent import GRU
from xformer.results import LayerTimes

LENGTHS = (10, 40, 160, 400)  # pieces
WIDTH = 256
RUNS = 3  # of each, of which the shortest counts


@torch.inference_mode()
def layer_times(pause: Callable[[], object] = lambda: None) -> list[LayerTimes]:
    """Measure how long one GRU, step by step, and one layer of self-attention, in one pass, take to read a sequence.

    One direction of the one and eight heads of the other, both of width WIDTH with random weights: the numbers they
    calculate with do not change the time. pause: called between measurements.
    """
    gru = GRU(WIDTH, WIDTH).eval()
    attention = Attention(Config(vocab_size=8, d_model=WIDTH, n_heads=8)).eval()
    times = []
    for pieces in LENGTHS:
        x, mask = torch.randn(1, pieces, WIDTH), torch.ones(1, pieces, dtype=torch.bool)
        readers: list[Callable[[], object]] = [lambda x=x, mask=mask: gru(x, mask),  # type: ignore[misc]
                                               lambda x=x: attention(x)]  # type: ignore[misc]
        times.append(LayerTimes(pieces, *(_shortest(read, pause) for read in readers)))
    return times


def _shortest(read: Callable[[], object], pause: Callable[[], object]) -> float:
    seconds = []
    for _ in range(RUNS):
        began = time.perf_counter()
        read()
        seconds.append(time.perf_counter() - began)
        pause()
    return min(seconds)
