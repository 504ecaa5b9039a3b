"""Train any `Task`: schedule of the learning rate, averaging, several processes, metrics, resuming.

The loop knows neither the data of a task nor its loss.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from xformer.device import choose_device
from xformer.results import UserError
from xformer.training.options import TrainingOptions
from xformer.training.precision import autocast, measure


class Task(Protocol):
    """A model with its batches (lists of examples), its loss and its scores, for the loop to train."""

    @property
    def model(self) -> nn.Module: ...

    score: str  # the key of `evaluate` that decides which weights are best; larger is better

    def batches(self, epoch: int, skip: int) -> Iterator[list[Any]]:
        """Yield the batches of an epoch without the first `skip`, the same each time."""

    def weight(self, batch: list[Any]) -> int:
        """Count the numbers (target pieces, say) that the loss of a batch is summed over."""

    def loss(self, model: nn.Module, batch: list[Any], device: torch.device) -> Tensor:
        """Sum the losses of a batch to a scalar."""

    def evaluate(self, precision: str) -> dict[str, float]:
        """Score `model` as it stands, in evaluation mode. precision: that it is trained in."""

    def save(self, folder: Path, metrics: dict[str, Any]) -> None:
        """Write `model` as a checkpoint, with these metrics."""


def learning_rate(step: int, done: float, options: TrainingOptions, d_model: int) -> float:
    """Return the learning rate of step 1, 2, … when a share `done` (0 to 1) of the run is over.

    noam: d_model^-0.5 min(step^-0.5, step warmup^-1.5), section 5.3 of Vaswani et al., which post-norm needs.
    cosine: a short rise to the peak, then half a cosine down to 0 at the end of the run.
    """
    if options.schedule == "noam":
        warmup = max(1, options.warmup)
        return options.peak * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    rise = min(1.0, step / max(1, options.warmup))
    return options.peak * rise * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


class Average:
    """Exponential moving average of a model's weights, which forgets faster at the beginning."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay, self.steps = model, decay, 0
        self.weights = [p.detach().clone() for p in model.parameters()]

    def update(self) -> None:
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        torch._foreach_lerp_(self.weights, [p.detach() for p in self.model.parameters()], 1 - decay)

    def swap(self) -> None:
        """Exchange the model's weights and their average; a second call undoes the first."""
        for parameter, mean in zip(self.model.parameters(), self.weights, strict=True):
            parameter.data, mean.data = mean.data, parameter.data


def own_device(name: str | None = None) -> torch.device:
    """Return the device asked for, or the best there is: of several GPUs that of this process under torchrun.

    Raises UserError where this machine lacks it.
    """
    device = choose_device(name)
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if device == torch.device("cuda") else device


def keep_memory() -> None:
    """Let glibc keep the memory of freed tensors, which the kernel otherwise maps and zeroes again for each large one.

    On two cores this alone raised training from 2,750 to 4,000 target pieces a second (docs/LOG.md).
    """
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        m_trim_threshold, m_mmap_max = -1, -4
        libc.mallopt(m_mmap_max, 0)
        libc.mallopt(m_trim_threshold, 2**31 - 1)


class Trainer:
    """A run of a task into a folder: metrics.jsonl, state.pt to resume from, and the checkpoint with the best score."""

    def __init__(self, task: Task, folder: Path, options: TrainingOptions, device: torch.device) -> None:
        self.task, self.folder, self.options, self.device = task, folder, options, device
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.processes = dist.get_world_size() if dist.is_initialized() else 1
        torch.manual_seed(options.seed + self.rank)
        if device.type == "cpu":
            keep_memory()
        task.model.to(device)
        self.optimizer = torch.optim.AdamW(task.model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9,
                                           weight_decay=options.weight_decay, fused=True)
        self.average = Average(task.model, options.average)
        self.step = self.epoch = self.batch = 0
        self.elapsed = 0.0  # seconds of training, over all parts of an interrupted run
        self.best = -math.inf
        if (folder / "state.pt").is_file():
            self._resume()
        self.precision = "bfloat16" if options.precision == "auto" else options.precision
        self.parallel = task.model

    def train(self) -> dict[str, float]:
        """Train to the end of the run; return the last scores. An interrupted run goes on where it was last saved."""
        if self._done() < 1:
            self.precision = self._choose_precision()
        if self.processes > 1:
            self.parallel = DistributedDataParallel(self.task.model)
        limit = self.options.steps or None
        last_save = last_score = self.elapsed
        loss_sum, weight_sum, since = 0.0, 0, self.elapsed
        scores: dict[str, float] = {}
        with tqdm(total=limit, initial=self.step, disable=self.rank > 0, unit="step", dynamic_ncols=True) as bar:
            while (done := self._done()) < 1:
                step, skipped = self.step, self.batch
                for batch in self._shared(self.task.batches(self.epoch, self.batch)):
                    began = time.monotonic()
                    loss = self._learn(batch, done)
                    self.batch += 1
                    loss_sum, weight_sum = loss_sum + loss, weight_sum + self.task.weight(batch)
                    self.elapsed += self._agree(time.monotonic() - began)
                    bar.update()
                    if self.step % 20 == 0:
                        bar.set_postfix(epoch=self.epoch, loss=f"{loss_sum / weight_sum:.3f}",
                                        done=f"{100 * done:.1f}%")
                    done = self._done()
                    if self.elapsed - last_score >= 60 * self.options.evaluate_minutes or done >= 1:
                        rate = weight_sum / max(1e-9, self.elapsed - since)
                        scores = self._score(loss_sum / weight_sum, rate, done)
                        loss_sum, weight_sum, since, last_score = 0.0, 0, self.elapsed, self.elapsed
                    if self.elapsed - last_save >= 60 * self.options.save_minutes or done >= 1:
                        self._save()
                        last_save = self.elapsed
                    if done >= 1:
                        break
                else:
                    if self.step == step and not skipped:
                        raise UserError(f"There is nothing to train on: an epoch has no batch for {self.processes} "
                                        f"process(es); give more examples, or allow longer ones.")
                    self.epoch, self.batch = self.epoch + 1, 0
        return scores

    def _done(self) -> float:
        """Return the share of the run that is over: 1 or more at its end."""
        by_steps = self.step / self.options.steps if self.options.steps else 0.0
        by_time = self.elapsed / (60 * self.options.minutes) if self.options.minutes else 0.0
        return max(by_steps, by_time)

    def _choose_precision(self) -> str:
        """Return the precision asked for, or the quicker one: on a CPU by trial steps of the first process."""
        if self.options.precision != "auto" or self.device.type != "cpu":
            automatic = "bfloat16" if self.device.type == "cuda" else "float32"
            return automatic if self.options.precision == "auto" else self.options.precision
        parcel = [self._try_precisions() if self.rank == 0 else self.precision]
        if self.processes > 1:
            dist.broadcast_object_list(parcel, src=0)
        return parcel[0]

    def _try_precisions(self) -> str:
        """Return the precision in which trial steps are quicker; they change neither the model nor later chance."""
        def step(precision: str) -> None:
            with autocast(self.device, precision):
                loss = self.task.loss(self.task.model, batch, self.device)
            loss.backward()
            self.optimizer.zero_grad(set_to_none=True)

        self.task.model.train()
        with torch.random.fork_rng(devices=[]):
            batch = next(self.task.batches(self.epoch, 0), [])[::self.processes]
            if not batch:
                return self.precision  # an epoch without batches, which `train` will say
            seconds = measure(step)
        quicker = min(seconds, key=lambda precision: seconds[precision])
        tqdm.write(f"training in {quicker}: a trial step takes "
                   + ", ".join(f"{taken:.2g} s in {precision}" for precision, taken in seconds.items()))
        return quicker

    def _learn(self, batch: list[Any], done: float) -> float:
        """Make a step on this process's share of a batch; return the summed loss of the whole batch."""
        self.step += 1
        d_model = self.task.model.config.d_model  # type: ignore[union-attr]
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.step, done, self.options, d_model)  # type: ignore[arg-type]
        self.parallel.train()
        with autocast(self.device, self.precision):
            loss = self.task.loss(self.parallel, batch[self.rank::self.processes], self.device)
        # Processes average their gradients: times their number, over the weight of the whole batch, that is the
        # gradient of the mean loss, as one process would have it.
        (loss * (self.processes / self.task.weight(batch))).backward()
        nn.utils.clip_grad_norm_(self.task.model.parameters(), self.options.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.average.update()
        total = loss.detach().double()
        if self.processes > 1:
            dist.all_reduce(total)
        return float(total)

    def _shared(self, batches: Iterator[list[Any]]) -> Iterator[list[Any]]:
        """Yield the first process's batches on every process, without those that have too few examples for all."""
        if self.processes == 1:
            yield from batches
            return
        while True:
            parcel = [next(batches, None) if self.rank == 0 else None]
            dist.broadcast_object_list(parcel, src=0)
            if parcel[0] is None:
                return
            if len(parcel[0]) >= self.processes:
                yield parcel[0]
            else:
                self.batch += 1

    def _agree(self, seconds: float) -> float:
        """Return the seconds that the first process measured, so that all end at the same step."""
        if self.processes == 1:
            return seconds
        parcel = torch.tensor([seconds], dtype=torch.float64, device=self.device)
        dist.broadcast(parcel, src=0)
        return float(parcel)

    def _score(self, loss: float, rate: float, done: float) -> dict[str, float]:
        """Score the averaged weights, write a line of metrics.jsonl, and save the weights if they are the best.

        loss: mean since the last line. rate: of training, in examples' weight a second.
        """
        scores: dict[str, float] = {}
        if self.rank == 0:
            self.average.swap()
            self.task.model.eval()
            scores = self.task.evaluate(self.precision)
            line = {"step": self.step, "epoch": self.epoch, "minutes": round(self.elapsed / 60, 2),
                    "done": round(done, 4), "loss": round(loss, 4),
                    "learning_rate": self.optimizer.param_groups[0]["lr"], "per_second": round(rate), **scores}
            with (self.folder / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")
            tqdm.write(json.dumps(line))
            if scores[self.task.score] > self.best:
                self.best = scores[self.task.score]
                self.task.save(self.folder, {**line, "precision": self.precision, "options": asdict(self.options)})
            self.average.swap()
        if self.processes > 1:
            dist.barrier()
        return scores

    def _save(self) -> None:
        """Write state.pt, from which `_resume` goes on; the first process does it for all."""
        if self.rank:
            return
        state = {"model": self.task.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                 "average": self.average.weights, "average_steps": self.average.steps, "step": self.step,
                 "epoch": self.epoch, "batch": self.batch, "elapsed": self.elapsed, "best": self.best,
                 "precision": self.precision}
        torch.save(state, self.folder / "state.pt.new")
        os.replace(self.folder / "state.pt.new", self.folder / "state.pt")

    def _resume(self) -> None:
        """Load state.pt. The precision in it is information only: this run may be on another machine."""
        state = torch.load(self.folder / "state.pt", map_location=self.device, weights_only=True)
        self.task.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.average.weights, self.average.steps = state["average"], state["average_steps"]
        self.step, self.epoch, self.batch = state["step"], state["epoch"], state["batch"]
        self.elapsed, self.best = state["elapsed"], state["best"]
