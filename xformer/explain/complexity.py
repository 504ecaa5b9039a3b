"""Compare the time that layers take to read a sequence (Vaswani et al. 2017, section 4
and table 1)."""

from collections.abc import Callable
from functools import partial
from statistics import median
from timeit import repeat

import torch

from xformer.model import Attention, Config, Seeded
from xformer.recurrent import GRU
from xformer.results import LayerTimes

LENGTHS = (10, 40, 160, 400)  # pieces
WIDTH = 256
RUNS = 5  # timed runs of each layer, after one to warm up


@torch.inference_mode()
def layer_times(pause: Callable[[], object] = lambda: None) -> list[LayerTimes]:
    """Measure how long `recurrent.GRU`, PyTorch's GRU and one layer of self-attention
    take to read a sequence.

    The GRUs read in one direction, the attention has eight heads; all are WIDTH wide.
    Their weights are random, since the values do not change the time. pause: called
    between measurements.
    """
    with Seeded(0) as drawn:
        gru = GRU(WIDTH, WIDTH).eval()
        library = torch.nn.GRU(WIDTH, WIDTH, batch_first=True).eval()
        attention = Attention(Config(vocab_size=8, d_model=WIDTH, n_heads=8)).eval()
    times = []
    for pieces in LENGTHS:
        x = torch.randn(1, pieces, WIDTH, generator=drawn.generator)
        mask = torch.ones(1, pieces, dtype=torch.bool)
        readers = partial(gru, x, mask), partial(library, x), partial(attention, x)
        times.append(
            LayerTimes(
                pieces,
                *(
                    median(repeat(read, pause, number=1, repeat=RUNS + 1)[1:])
                    for read in readers
                ),
            )
        )
    return times
