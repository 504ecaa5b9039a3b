"""Studies of training: small transformers that are made and trained on demand.

This is the one module of `serve` that imports `training`, and only when a run is
started.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING

from xformer.device import use_threads
from xformer.explain.complexity import layer_times
from xformer.explain.gradients import gradients_at_the_beginning, untrained
from xformer.explain.recorded import APART, Recorded, read, read_pretraining
from xformer.results import (
    LayerTimes,
    LiveFrame,
    LiveWait,
    Message,
    RunSettings,
    SublayerGradient,
    UserError,
    decimal,
)
from xformer.results.reviews import PretrainingStudy
from xformer.serve import protocol
from xformer.serve.limits import LOOK, TURNS, Guard, Places
from xformer.strings import ASSETS

if TYPE_CHECKING:
    from xformer.training.loop import Made

RUNS = ASSETS / "runs.json"  # made by python -m research study runs
# and this by the same with --only parts, from sentences of all lengths
WITHOUT = ASSETS / "parts.json"
# and this by python -m research study pretraining
PRETRAINING = ASSETS / "pretraining.json"
# While other requests are served, a run rests after each step for REST times the step's
# duration. On one core, a sentence that takes 78 ms alone took 80 beside one run, 123
# beside two, and 186 beside one that does not rest.
REST = 3.0
UNREAD = 10.0  # seconds after which a run ends if its frames are not read
_gradients = lru_cache(64)(gradients_at_the_beginning)


@lru_cache(4)
def _recorded(path: Path, changed: int) -> Recorded:
    """Read recorded runs, once as long as nobody has changed the file."""
    return read(path)


class Study(protocol.StudyService):
    """Makes and trains small transformers on this machine's CPU."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """clock: returns the time in seconds."""
        self.guard = Guard()
        self.clock = clock
        self.places = Places()

    def gradients(
        self, layers: int, width: int, norm: str, seed: int = 0
    ) -> list[SublayerGradient]:
        is_offered = 1 <= layers <= protocol.DEEPEST and width in range(
            32, protocol.WIDEST + 1, 32
        )
        if not (is_offered and norm in protocol.NORMS):
            raise UserError(
                Message.of(
                    "train_error_shape",
                    layers=layers,
                    width=width,
                    most=protocol.DEEPEST,
                )
            )
        _check_seed(seed)
        with self.guard.work():
            use_threads(1)
            return _gradients(untrained(layers, width, norm), seed)

    def layer_times(self) -> list[LayerTimes]:
        with self.guard.work() as pause:
            use_threads(1)
            return layer_times(pause)

    def pretraining(self) -> PretrainingStudy:
        return read_pretraining(PRETRAINING)

    def recorded(self, question: str) -> Recorded:
        path = WITHOUT if question in APART else RUNS
        return _recorded(path, path.stat().st_mtime_ns if path.is_file() else 0)

    def schedule(self, settings: RunSettings) -> list[float]:
        from xformer.training import live

        _check(settings)
        return live.schedule(settings)

    def train(
        self, settings: RunSettings, halt: Event
    ) -> Iterator[LiveFrame | LiveWait]:
        # The training has a thread of its own, uses one core, and rests most of the
        # time while others are served.
        _check(settings)
        there = self.guard.asker()
        frames = Queue[LiveFrame | Exception | None](1)
        mine = self.places.join(self.guard.visitor())
        read = began = resumed = self.clock()

        def on(made: Made | None = None) -> str:
            """Wait until the run has a place; return why it must end, "" if it may go
            on. made: its progress."""
            nonlocal began, resumed
            now = self.clock()
            if made is not None and self.guard.inside:
                halt.wait(min(LOOK, REST * (now - resumed)))
            while not (
                self.places.wait(mine, LOOK)
                or halt.is_set()
                or self.clock() - read > UNREAD
            ):
                pass
            resumed = self.clock()
            if made is None:
                began = resumed  # only now it has a place
            if resumed - read > UNREAD:
                halt.set()
            late = resumed - began > protocol.LIVE_SECONDS
            return "stopped" if halt.is_set() else "late" if late else ""

        def show(frame: LiveFrame | Exception | None) -> None:
            with suppress(Empty):
                frames.get_nowait()  # only the newest is worth drawing
            frames.put(frame)

        def run() -> None:
            try:
                if on():
                    show(None)
                    return
                from xformer.training import live

                use_threads(1)
                for frame in live.train(settings, on, self.clock):
                    show(frame)
            except Exception as error:  # it is raised where the frames are read
                show(error)
            finally:
                self.places.leave(mine)

        Thread(target=run, name="live training", daemon=True).start()
        said: int | None = None
        try:
            while True:
                if not there():  # a page that was only slow is told the end
                    halt.set()
                read = self.clock()
                before = self.places.before(mine)
                if before is not None and before != said:
                    said = before
                    yield LiveWait(before)
                    continue
                try:
                    with TURNS.given_up():
                        frame = frames.get(timeout=LOOK)
                except Empty:
                    continue
                if frame is None:
                    return
                if isinstance(frame, Exception):
                    raise frame
                yield frame
                if frame.course.ended:
                    return
        finally:
            halt.set()


def _check(settings: RunSettings) -> None:
    """Raise UserError for settings that are not offered."""
    for name, least, most in (
        ("layers", 1, protocol.LIVE_LAYERS),
        ("steps", 1, protocol.LIVE_STEPS),
        ("warmup", 0, protocol.LIVE_WARMUP),
        ("peak", 0, protocol.LIVE_PEAK),
        ("smoothing", 0, 0.5),
        ("pairs", 0, protocol.LIVE_PAIRS),
    ):
        value = getattr(settings, name)
        known = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (known and math.isfinite(value) and least <= value <= most):
            raise UserError(
                Message.of(
                    "live_error_number",
                    name=name,
                    least=least,
                    most=most,
                    value=decimal(value, 6) if known else str(value)[:40],
                )
            )
    for name, offered in (
        ("task", protocol.TASKS),
        ("norm", protocol.NORMS),
        ("schedule", protocol.SCHEDULES),
        ("without", ("", *protocol.LIVE_PARTS)),
    ):
        if (word := getattr(settings, name)) not in offered:
            raise UserError(
                Message.of(
                    "live_error_choice",
                    name=name,
                    value=str(word)[:40],
                    options=", ".join(filter(None, offered)),
                )
            )
    _check_seed(settings.seed)


def _check_seed(seed: int) -> None:
    if (
        isinstance(seed, bool)
        or not isinstance(seed, int)
        or not 0 <= seed <= protocol.LARGEST_SEED
    ):
        raise UserError(Message.of("train_error_seed", seed=seed))
