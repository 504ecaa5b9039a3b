"""Studies of training: small transformers that are made, and trained, for who asks."""

from __future__ import annotations

from functools import lru_cache

from xformer.device import use_threads
from xformer.explain.complexity import layer_times
from xformer.explain.gradients import gradients_at_the_beginning, untrained
from xformer.results import LayerTimes, Message, SublayerGradient, UserError
from xformer.serve.limits import Guard
from xformer.serve.protocol import DEEPEST, LARGEST_SEED, NORMS, WIDEST


class Study:
    """Makes and trains small transformers on this machine's CPU; fits `protocol.StudyService`. Threads may share it."""

    def __init__(self) -> None:
        self.guard = Guard()

    def gradients(self, layers: int, width: int, norm: str, seed: int = 0) -> list[SublayerGradient]:
        """The gradient of each sub-layer of an untrained transformer, encoder first, from the input to the output.

        Raises UserError for a shape or a seed that is not offered.
        """
        if not (1 <= layers <= DEEPEST and width in range(32, WIDEST + 1, 32) and norm in NORMS):
            raise UserError(Message.of("train_error_shape", layers=layers, width=width, most=DEEPEST))
        if not 0 <= seed <= LARGEST_SEED:
            raise UserError(Message.of("train_error_seed", seed=seed))
        with self.guard.work():
            use_threads(1)
            return _gradients(layers, width, norm, seed)

    def layer_times(self) -> list[LayerTimes]:
        """How long a GRU and self-attention of one width take to read sequences of some lengths, measured now."""
        with self.guard.work() as pause:
            use_threads(1)
            return layer_times(pause)


@lru_cache(64)
def _gradients(layers: int, width: int, norm: str, seed: int) -> list[SublayerGradient]:
    return gradients_at_the_beginning(untrained(layers, width, norm), seed)
