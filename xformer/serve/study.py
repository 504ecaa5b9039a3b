"""Studies of training: small transformers that are made, and trained, for who asks.

The one module of what serves that imports `training`, and only when somebody trains.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import lru_cache
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING

from xformer.device import use_threads
from xformer.explain.complexity import layer_times
from xformer.explain.courses import Recorded, read
from xformer.explain.gradients import gradients_at_the_beginning, untrained
from xformer.results import LayerTimes, LiveFrame, Message, RunSettings, SublayerGradient, UserError
from xformer.serve.limits import LOOK, Guard
from xformer.serve.protocol import (
    DEEPEST,
    LARGEST_SEED,
    LIVE_LAYERS,
    LIVE_PEAK,
    LIVE_SECONDS,
    LIVE_STEPS,
    LIVE_WARMUP,
    NORMS,
    SCHEDULES,
    TASKS,
    WIDEST,
)
from xformer.strings import ASSETS

if TYPE_CHECKING:
    from xformer.training.loop import Made

DIVERGENCE = ASSETS / "divergence.json"  # made by python -m xformer study divergence
# While somebody is served, a run rests for so many times as long as its step took. On one core, a sentence that takes
# 78 ms alone took 80 beside one run, 123 beside two, and 186 beside one that does not rest.
REST = 3.0


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
        _check_seed(seed)
        with self.guard.work():
            use_threads(1)
            return _gradients(layers, width, norm, seed)

    def layer_times(self) -> list[LayerTimes]:
        """How long a GRU and self-attention of one width take to read sequences of some lengths, measured now."""
        with self.guard.work() as pause:
            use_threads(1)
            return layer_times(pause)

    def recorded(self) -> Recorded:
        """The runs on English and Spanish that were recorded. Raises UserError where the file is broken."""
        return read(DIVERGENCE)

    def schedule(self, settings: RunSettings) -> list[float]:
        """The learning rate of each step of a run. Raises UserError for settings that are not offered."""
        from xformer.training import live
        _check(settings)
        return live.schedule(settings)

    def train(self, settings: RunSettings, halt: Event) -> Iterator[LiveFrame]:
        """Train a small transformer on one of TASKS, and show how far it is about twice a second, until it ends or
        `halt` is set, whoever asked is gone, or LIVE_SECONDS are over. Raises UserError for settings not offered.

        It trains in a thread of its own, on one thread of the CPU, and rests most of the time while others are served.
        """
        _check(settings)
        there, frames = self.guard.asker(), Queue[LiveFrame | Exception | None]()
        began = before = time.monotonic()

        def ended(made: Made) -> str:
            nonlocal before
            now = time.monotonic()
            if self.guard.inside:
                halt.wait(min(LOOK, REST * (now - before)))
            before = time.monotonic()
            return "stopped" if halt.is_set() else "late" if before - began > LIVE_SECONDS else ""

        def run() -> None:
            from xformer.training import live
            use_threads(1)
            try:
                for frame in live.train(settings, ended):
                    frames.put(frame)
                frames.put(None)
            except Exception as error:  # is raised where the frames are asked for
                frames.put(error)

        Thread(target=run, name="live training", daemon=True).start()
        try:
            while True:
                try:
                    frame = frames.get(timeout=LOOK)
                    while frames.qsize():  # only the newest is worth to be drawn
                        newer = frames.get()
                        if newer is None:
                            frames.put(None)
                            break
                        frame = newer
                except Empty:
                    if not there():
                        return
                    continue
                if frame is None:
                    return
                if isinstance(frame, Exception):
                    raise frame
                yield frame
                if not there():
                    return
        finally:
            halt.set()


def _check(settings: RunSettings) -> None:
    """Raise UserError for settings that are not offered."""
    for name, value, least, most in (
            ("layers", settings.layers, 1, LIVE_LAYERS), ("steps", settings.steps, 1, LIVE_STEPS),
            ("warmup", settings.warmup, 0, LIVE_WARMUP), ("peak", settings.peak, 0, LIVE_PEAK),
            ("smoothing", settings.smoothing, 0, 0.5)):
        if not (math.isfinite(value) and least <= value <= most):
            raise UserError(Message.of("live_error_number", name=name, value=f"{value:g}", least=least, most=most))
    for name, word, offered in (("task", settings.task, TASKS), ("norm", settings.norm, NORMS),
                                ("schedule", settings.schedule, SCHEDULES)):
        if word not in offered:
            raise UserError(Message.of("live_error_choice", name=name, value=word[:40], options=", ".join(offered)))
    _check_seed(settings.seed)


def _check_seed(seed: int) -> None:
    if not 0 <= seed <= LARGEST_SEED:
        raise UserError(Message.of("train_error_seed", seed=seed))


@lru_cache(64)
def _gradients(layers: int, width: int, norm: str, seed: int) -> list[SublayerGradient]:
    return gradients_at_the_beginning(untrained(layers, width, norm), seed)
