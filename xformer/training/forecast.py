"""Say what a training run would take, by trial steps of it: steps, pieces, minutes, memory."""

from __future__ import annotations

import sys
import time
from itertools import islice
from typing import Any

import torch

from xformer.training.loop import Learner, Task
from xformer.training.options import PRECISIONS, TrainingOptions

TRIALS = 8  # steps in each precision, after one that is not counted
COPIES = 5  # float32 numbers kept for each parameter: itself, gradient, two of Adam, and the average


def forecast(task: Task, options: TrainingOptions, device: torch.device, learned_from: str) -> str:
    """Make trial steps on the first batches of a run, and return what they imply, in a few lines.

    The model has changed afterwards. Raises ValueError where there is no batch.
    """
    sizes: list[int] = []
    first: list[list[Any]] = []
    for batch in task.batches(0, 0):
        sizes.append(task.weight(batch))
        first += [batch] if len(first) <= TRIALS else []
    if not first:
        raise ValueError("an epoch has no batch; give more examples, or allow longer ones")
    learner = Learner(task, options, device)
    usual = {"cuda": ["bfloat16"], "mps": ["float32"]}.get(device.type, PRECISIONS)
    tried = usual if options.precision == "auto" else [options.precision]
    speeds = {precision: _speed(learner, first, precision) for precision in tried}
    precision = max(speeds, key=lambda one: speeds[one])
    mean, speed = sum(sizes) / len(sizes), speeds[precision]
    limits = [limit for limit in (options.steps * mean, 60 * options.minutes * speed, options.weight) if limit]
    seen = min(limits)
    parameters = sum(p.numel() for p in task.model.parameters())
    return "\n".join((
        f"learned from   {learned_from}",
        f"an epoch       {len(sizes):,} steps of {mean:,.0f} pieces on average, {sum(sizes):,} pieces",
        "trial steps    " + ", ".join(f"{speeds[one]:,.0f} pieces a second in {one}" for one in speeds),
        f"this run       {seen / mean:,.0f} steps, {seen:,.0f} pieces, {seen / sum(sizes):.2f} epochs, "
        f"{seen / speed / 60:,.1f} minutes in {precision}, scores on held-out data not counted",
        f"memory         {4 * COPIES * parameters / 1e6:,.0f} MB for {parameters:,} parameters, their gradient, Adam "
        f"and the average; {_held(device):,.0f} MB held at most in the trial steps"))


def _speed(learner: Learner, batches: list[list[Any]], precision: str) -> float:
    """Return pieces a second of steps in a precision; the first step is not counted."""
    learner.precision, seen, began = precision, 0, 0.0
    for number, batch in enumerate(islice([*batches, *batches], TRIALS + 1)):
        if number == 1:
            began = time.perf_counter()
        learner._learn(batch, 0.0)  # its numbers come back to the CPU, so it has ended
        seen += learner.task.weight(batch) if number else 0
    return seen / (time.perf_counter() - began)


def _held(device: torch.device) -> float:
    """Return the most megabytes that this process has held: of the GPU's memory, or else of the machine's."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e6
    if sys.platform == "win32":
        return float("nan")
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
