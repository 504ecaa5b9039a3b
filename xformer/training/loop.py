"""Train any `Task`: schedule of the learning rate, averaging, several processes,
metrics, resuming.

The loop knows neither the data of a task nor its loss.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import torch
import torch.distributed as dist
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from xformer.device import choose_device
from xformer.hub import checkpoint
from xformer.hub.recorded import HISTORY, MOMENTS
from xformer.results import Moment, UserError, write_whole
from xformer.tokenizer import Tokenizer
from xformer.training.history import History
from xformer.training.moments import MomentsRecorder
from xformer.training.options import PRECISIONS, TrainingOptions

T = TypeVar("T")
TRIAL = 1.0  # seconds of trial steps in each way
# Where a run stands, as its state keeps it.
PLACE = (
    "step",
    "epoch",
    "batch",
    "elapsed",
    "seen",
    "best",
    "loss_sum",
    "weight_sum",
    "scored",
)


class Task(Protocol):
    """A model with its vocabulary, its batches (lists of examples), its loss and its
    scores, for the loop to train."""

    model: Any
    tokenizer: Tokenizer
    data: Any  # epochs of batches
    # the key of `evaluate` that decides which weights are best; larger is better
    score: str

    def batches(self, epoch: int, skip: int) -> Iterator[list[Any]]:
        """Yield the batches of an epoch without the first `skip`, the same each
        time."""
        return self.data.epoch(epoch, skip)

    def weight(self, batch: list[Any]) -> int:
        """Count the numbers (target pieces, say) that the loss of a batch is summed
        over."""

    def loss(self, model: nn.Module, batch: list[Any], device: torch.device) -> Tensor:
        """Sum the losses of a batch to a scalar."""

    def evaluate(self, precision: str) -> dict[str, float]:
        """Score `model` as it stands, in evaluation mode. precision: that it is trained
        in."""

    def save(self, folder: Path, metrics: dict[str, Any]) -> None:
        """Write `model` as a checkpoint, with these metrics."""
        checkpoint.save(folder, self.model, self.tokenizer, metrics)


def learning_rate(
    step: int, done: float, options: TrainingOptions, d_model: int
) -> float:
    """Return the learning rate of step 1, 2, … when a share `done` (0 to 1) of the run
    is over.

    noam: d_model^-0.5 min(step^-0.5, step warmup^-1.5), section 5.3 of Vaswani et al.,
    which post-norm needs.
    cosine: a short rise to the peak, then half a cosine down to 0 at the end of the
    run.
    """
    if options.schedule == "noam":
        warmup = max(1, options.warmup)
        return options.peak * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    rise = min(1.0, step / max(1, options.warmup))
    return options.peak * rise * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


class Average:
    """Exponential moving average of a model's weights, which forgets faster at the
    beginning.

    PyTorch's AveragedModel cannot be swapped with the model and begins with the weights
    after the first step; with it and LambdaLR, which knows steps but no minutes, a step
    of 1.5 million weights took 3 to 8 ms longer.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model = model
        self.decay = decay
        self.steps = 0
        self.weights = [p.detach().clone() for p in model.parameters()]

    def update(self) -> None:
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        torch._foreach_lerp_(
            self.weights, [p.detach() for p in self.model.parameters()], 1 - decay
        )

    def swap(self) -> None:
        """Exchange the model's weights and their average; a second call undoes the
        first."""
        for parameter, mean in zip(self.model.parameters(), self.weights, strict=True):
            parameter.data, mean.data = mean.data, parameter.data


def own_device(name: str | None = None) -> torch.device:
    """Return the device asked for, or the best there is: of several GPUs that of this
    process under torchrun. Raises UserError where this machine lacks it."""
    device = choose_device(name)
    return (
        torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        if device == torch.device("cuda")
        else device
    )


def keep_memory() -> None:
    """Let glibc keep the memory of freed tensors, which the kernel otherwise maps and
    zeroes again for each large one.

    On two cores this alone raised training from 2,750 to 4,000 target pieces a second
    (research/LOG.md).
    """
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        m_trim_threshold = -1
        m_mmap_max = -4
        libc.mallopt(m_mmap_max, 0)
        libc.mallopt(m_trim_threshold, 2**31 - 1)


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """Compute within this context in a precision.

    In bfloat16 PyTorch's autocast multiplies in half the bits, while weights and
    optimizer stay in float32. A CPU with instructions for it trains up to twice as
    fast; one without is slower than in float32.
    """
    return (
        nullcontext()
        if precision == "float32"
        else torch.autocast(device.type, torch.bfloat16)
    )


def measure(
    step: Callable[[str], None], ways: Sequence[str] = PRECISIONS
) -> dict[str, float]:
    """Return the seconds of the quickest trial step in each precision, or other way;
    `step` is called with its name.

    Trial steps are made for TRIAL seconds in each, after a first one that allocates
    memory and is not counted. The quickest tells most: other programs can only make a
    step slower.
    """
    seconds = {}
    for way in ways:
        step(way)
        times = list[float]()
        while sum(times) < TRIAL:
            began = time.perf_counter()
            step(way)
            times.append(time.perf_counter() - began)
        seconds[way] = min(times)
    return seconds


def chance(device: torch.device) -> list[Tensor]:
    """Return the states of PyTorch's random generators: that of the CPU, and that of
    the GPU if `device` is one."""
    return [
        torch.get_rng_state(),
        *(
            []
            if device.type == "cpu"
            else [torch.get_device_module(device).get_rng_state()]
        ),
    ]


def restore_chance(states: Sequence[Tensor], device: torch.device) -> None:
    """Set PyTorch's random generators to states that `chance` returned, perhaps on a
    machine without this one's GPU."""
    own, *gpu = [state.cpu() for state in states]
    torch.set_rng_state(own)
    if gpu and device.type != "cpu":
        torch.get_device_module(device).set_rng_state(gpu[0])


class Made(NamedTuple):
    """What a step of training was."""

    step: int  # from 1
    loss: float  # mean of the batch, by its weight
    norm: float  # of the gradient, before it is clipped
    rate: float  # of learning


class Learner:
    """A run of a task in memory, which is given steps one by one and writes nothing.

    What is drawn on the way, as by dropout, is drawn from torch's generator, which is
    left as it is found.
    """

    def __init__(
        self, task: Task, options: TrainingOptions, device: torch.device
    ) -> None:
        self.task = task
        self.options = options
        self.device = device
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.processes = dist.get_world_size() if dist.is_initialized() else 1
        task.model.to(device)
        self.optimizer = torch.optim.AdamW(
            task.model.parameters(),
            lr=0.0,
            betas=(0.9, 0.98),
            eps=1e-9,
            weight_decay=options.weight_decay,
            fused=True,
        )
        self.average = Average(task.model, options.average)
        self.step = self.epoch = self.batch = 0
        self.elapsed = 0.0  # seconds of training, over all parts of an interrupted run
        self.seen = 0  # weight of all examples learned from
        self.history = History()
        # since they were last set to 0
        self.loss_sum = 0.0
        self.weight_sum = 0
        self.precision = "float32" if options.precision == "auto" else options.precision
        self.parallel = task.model

    def steps(self) -> Iterator[Made]:
        """Train to the end of the run, and yield after each step. Raises UserError
        where it diverges."""
        while (done := self._done()) < 1:
            step = self.step
            skipped = self.batch
            for batch in self._shared(self.task.batches(self.epoch, self.batch)):
                began = time.monotonic()
                loss, norm = self._learn(batch, done)
                self.batch += 1
                weight = self.task.weight(batch)
                self.loss_sum = self.loss_sum + loss
                self.weight_sum = self.weight_sum + weight
                # so that all end at the same step
                took = self._of_first(time.monotonic() - began)
                self.elapsed = self.elapsed + took
                self.seen = self.seen + weight
                rate = self.optimizer.param_groups[0]["lr"]
                self.history.add(
                    self.step,
                    self.elapsed,
                    self.seen,
                    rate,
                    loss=loss,
                    weight=weight,
                    norm=norm,
                    took=took,
                )
                yield Made(self.step, loss / weight, norm, rate)
                done = self._done()
                if done >= 1:
                    return
            if self.step == step and not skipped:
                raise UserError(
                    f"There is nothing to train on: an epoch has no batch for {self.processes} "
                    f"process(es); give more examples, or allow longer ones."
                )
            self.epoch = self.epoch + 1
            self.batch = 0

    def _done(self) -> float:
        """Return the share of the run that is over: 1 or more at its end."""
        limits = (
            (self.step, self.options.steps),
            (self.elapsed, 60 * self.options.minutes),
            (self.seen, self.options.weight),
        )
        return max(made / limit for made, limit in limits if limit)

    def _learn(self, batch: list[Any], done: float) -> tuple[float, float]:
        """Make a step on this process's share of a batch; return the summed loss of the
        whole batch, and the norm of the gradient before it was clipped."""
        self.step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(
                self.step, done, self.options, self.task.model.config.d_model
            )
        self.parallel.train()
        share = batch[self.rank :: self.processes]
        weight = self.task.weight(batch)
        parts = [
            part
            for i in range(self.options.accumulate)
            if (part := share[i :: self.options.accumulate])
        ]
        total = torch.zeros(
            (),
            dtype=torch.float64,
            device="cpu" if self.device.type == "mps" else self.device,
        )
        for number, part in enumerate(parts, 1):
            apart = number < len(parts) and isinstance(
                self.parallel, DistributedDataParallel
            )
            # the others are asked for their gradients once
            with self.parallel.no_sync() if apart else nullcontext():
                with autocast(self.device, self.precision):
                    loss = self.task.loss(self.parallel, part, self.device)
                # Processes average their gradients: times their number, over the weight
                # of the whole batch, the sum of all parts is the gradient of the mean
                # loss, as one process would have it of the batch in one piece.
                (loss * (self.processes / weight)).backward()
            total += loss.detach().to(total)
        norm = float(
            nn.utils.clip_grad_norm_(self.task.model.parameters(), self.options.clip)
        )
        if self.processes > 1:
            dist.all_reduce(total)
        if not (math.isfinite(total) and math.isfinite(norm)):
            raise self._diverged("the loss or its gradient")
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.average.update()
        return float(total), norm

    def _diverged(
        self, what: str, way_out: str = "begin again with a smaller rate"
    ) -> UserError:
        """Make the last sentence of a run in which numbers became NaN, infinite or too
        large to be stored."""
        return UserError(
            f"Training has diverged: {what} in step {self.step} is no number any more; {way_out}."
        )

    def _shared(self, batches: Iterator[list[Any]]) -> Iterator[list[Any]]:
        """Yield the first process's batches on every process, without those that have
        too few examples for all."""
        while (
            batch := self._of_first(None if self.rank else next(batches, None))
        ) is not None:
            if len(batch) >= self.processes:
                yield batch
            else:
                self.batch += 1

    def _of_first(self, value: T) -> T:
        """Return the first process's value, to all of them."""
        parcel = [value]
        if self.processes > 1:
            dist.broadcast_object_list(parcel, src=0)
        return parcel[0]


class Trainer(Learner):
    """A run of a task into a folder: metrics.jsonl, history.json, state.pt to resume
    from, and the checkpoint with the best score."""

    def __init__(
        self,
        task: Task,
        folder: Path,
        options: TrainingOptions,
        device: torch.device,
        begun_with: Mapping[str, str | float | None] | None = None,
        moments: MomentsRecorder | None = None,
    ) -> None:
        """Begin a run, or load the state of an interrupted one in `folder`.

        begun_with: options by name that cannot change once a run has begun. The state
        keeps them, and an interrupted run has those it was begun with. moments: who is
        to take moments of the averaged weights on the way.
        """
        if device.type == "cpu":
            keep_memory()
        super().__init__(task, options, device)
        torch.manual_seed(options.seed + self.rank)
        self.folder = folder
        self.begun_with = dict(begun_with or {})
        self.best = -math.inf
        self.scored = 0.0  # when the last line of metrics was written, by `elapsed`
        if (folder / "state.pt").is_file():
            self._resume()
        if self.rank == 0:
            self._forget_newer_metrics()
        self.moments = moments
        if moments:
            moments.resume(self.step, self._done())

    def train(self) -> dict[str, float]:
        """Train to the end of the run; return the last scores. An interrupted run goes
        on where it was last saved."""
        if self._done() < 1:
            self.precision = self._choose_precision()
        if self.options.compile and self._done() < 1:
            self.parallel = self._choose_compiled()
        if self.processes > 1:
            self.parallel = DistributedDataParallel(self.parallel)
        last_save = self.elapsed
        scores: dict[str, float] = {}
        with tqdm(
            total=self.options.steps or None,
            initial=self.step,
            disable=self.rank > 0,
            unit="step",
            dynamic_ncols=True,
        ) as bar:
            if (done := self._done()) < 1:
                self._observe(done)
            for _ in self.steps():
                bar.update()
                done = self._done()
                if self.step % 20 == 0:
                    bar.set_postfix(
                        epoch=self.epoch,
                        loss=f"{self.loss_sum / self.weight_sum:.3f}",
                        done=f"{100 * done:.1f}%",
                    )
                self._observe(done)
                if (
                    self.elapsed - self.scored >= 60 * self.options.evaluate_minutes
                    or done >= 1
                ):
                    rate = self.weight_sum / max(1e-9, self.elapsed - self.scored)
                    scores = self._score(self.loss_sum / self.weight_sum, rate, done)
                    self.loss_sum = 0.0
                    self.weight_sum = 0
                    self.scored = self.elapsed
                if (
                    self.elapsed - last_save >= 60 * self.options.save_minutes
                    or done >= 1
                ):
                    self._save()
                    last_save = self.elapsed
        return scores

    def _observe(self, done: float) -> None:
        """Have a moment of the averaged weights taken, if one is due."""
        if self.moments is None or not self.moments.due(min(1.0, done)):
            return
        if self.rank == 0:
            self.average.swap()
            self.task.model.eval()
            with self._writing(self.folder / MOMENTS):
                self.moments.take(
                    Moment(
                        self.step,
                        round(self.elapsed, 1),
                        self.seen,
                        round(min(1.0, done), 5),
                    )
                )
            self.average.swap()
        if self.processes > 1:
            dist.barrier()

    def _choose_precision(self) -> str:
        """Return the precision asked for, or the quicker one: on a CPU by trial steps
        of the first process."""
        if self.options.precision != "auto":
            return self.options.precision
        if self.device.type != "cpu":
            return "bfloat16" if self.device.type == "cuda" else "float32"
        ways = {precision: (self.task.model, precision) for precision in PRECISIONS}
        return self._of_first(
            ""
            if self.rank
            else self._quicker(
                ways, 1, "training in {}: a trial step takes {}", "{:.2g} s in {}"
            )
        )

    def _choose_compiled(self) -> nn.Module:
        """Return the model, compiled where trial steps of the first process are quicker
        so; of any shape of batch."""
        compiled = cast(nn.Module, torch.compile(self.task.model, dynamic=True))
        models = {"as it is": self.task.model, "compiled": compiled}
        ways = {name: (model, self.precision) for name, model in models.items()}
        try:
            way = (
                ""
                if self.rank
                else self._quicker(
                    ways,
                    2,
                    "training the model {}: {steps} trial steps take {}",
                    "{:.2g} s {}",
                )
            )
        except Exception as error:
            # of many kinds, some of them private: no compiler, no Triton, a broken
            # cache
            self.optimizer.zero_grad(set_to_none=True)
            cause = getattr(error, "inner_exception", error)
            reason = (str(cause).strip() or type(cause).__name__).splitlines()[0]
            tqdm.write(
                f"training goes on without torch.compile, which did not work on this machine: {reason}"
            )
            way = "as it is"
        return models[self._of_first(way)]

    def _quicker(
        self,
        ways: Mapping[str, tuple[nn.Module, str]],
        most: int,
        said: str,
        taken: str,
    ) -> str:
        """Return in which way, a model and a precision, trial steps are quicker; they
        change neither the model nor later chance. most: steps of a trial. said, taken:
        the sentence about it, and about the time of one way."""

        def step(way: str) -> None:
            model, precision = ways[way]
            # of several shapes, for which a model is to be compiled once
            for batch in batches:
                with autocast(self.device, precision):
                    loss = self.task.loss(model, batch, self.device)
                loss.backward()
                self.optimizer.zero_grad(set_to_none=True)
            float(loss.detach())  # now it has ended on a GPU too

        self.task.model.train()
        with torch.random.fork_rng(
            devices=[self.device] if self.device.type == "cuda" else []
        ):
            batches = [
                batch[:: self.processes]
                for batch in islice(self.task.batches(self.epoch, 0), most)
            ]
            if not batches:
                # an epoch without batches, which `train` will say
                return next(iter(ways))
            seconds = measure(step, [*ways])
        quicker = min(seconds, key=lambda way: seconds[way])
        times = ", ".join(taken.format(time, way) for way, time in seconds.items())
        tqdm.write(said.format(quicker, times, steps=len(batches)))
        return quicker

    def _diverged(
        self, what: str, way_out: str = "begin again with a smaller --peak"
    ) -> UserError:
        """Make the last sentence of such a run; its history up to there is kept."""
        if self.rank == 0:
            self._write_history()
        if (kept := self.folder / "state.pt").is_file():
            way_out = f"the state in {kept} is from before: go on from it with a smaller --peak"
        return super()._diverged(what, way_out)

    def _check_weights(self) -> None:
        """Raise UserError where weights or their averages are no numbers, or too large
        for half precision."""
        for weight in (*self.task.model.parameters(), *self.average.weights):
            if not torch.isfinite(weight.detach().half()).all():
                raise self._diverged("a weight")

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        """Turn what goes wrong while a file is written, as on a full disk, into a
        UserError; take its beginning away.

        The file is written beside its place, as path + ".new", so that the one before
        is still whole.
        """
        try:
            yield
        except (OSError, RuntimeError, SafetensorError) as error:
            path.with_name(path.name + ".new").unlink(missing_ok=True)
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise UserError(
                f"The file {path} cannot be written ({reason}); make room on the disk, and give the same "
                f"command again: it goes on from the state saved last."
            ) from error

    def _score(self, loss: float, rate: float, done: float) -> dict[str, float]:
        """Score the averaged weights, write a line of metrics.jsonl, and save the
        weights if they are the best.

        loss: mean since the last line. rate: of training, in examples' weight a second.
        """
        self._check_weights()
        scores: dict[str, float] = {}
        if self.rank == 0:
            self.average.swap()
            self.task.model.eval()
            scores = self.task.evaluate(self.precision)
            line = {
                "step": self.step,
                "epoch": self.epoch,
                "minutes": round(self.elapsed / 60, 2),
                "done": round(done, 4),
                "loss": round(loss, 4),
                "learning_rate": self.optimizer.param_groups[0]["lr"],
                "seen": self.seen,
                "per_second": round(rate),
                **scores,
            }
            metrics = self.folder / "metrics.jsonl"
            with self._writing(metrics), metrics.open("a") as file:
                file.write(json.dumps(line) + "\n")
            tqdm.write(json.dumps(line))
            self.history.score(self.step, self.elapsed, self.seen, scores)
            self._write_history()
            if scores[self.task.score] > self.best:
                self.best = scores[self.task.score]
                with self._writing(self.folder / "model.safetensors"):
                    self.task.save(
                        self.folder,
                        {
                            **line,
                            "precision": self.precision,
                            "options": asdict(self.options),
                        },
                    )
            self.average.swap()
        if self.processes > 1:
            dist.barrier()
        return scores

    def _write_history(self) -> None:
        path = self.folder / HISTORY
        with self._writing(path):
            write_whole(path, self.history.to_json())

    def _save(self) -> None:
        """Write state.pt, from which `_resume` goes on; the first process does it for
        all."""
        self._check_weights()
        generators = [chance(self.device)]  # one entry a process
        if self.processes > 1:
            generators *= self.processes
            dist.all_gather_object(generators, chance(self.device))
        if self.rank:
            return
        state = {
            "model": self.task.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "average": self.average.weights,
            "average_steps": self.average.steps,
            "generators": generators,
            "begun_with": self.begun_with,
            "precision": self.precision,
            "history": vars(self.history),
            **{name: getattr(self, name) for name in PLACE},
        }
        path = self.folder / "state.pt"
        with self._writing(path):
            torch.save(state, path.with_name("state.pt.new"))
            os.replace(path.with_name("state.pt.new"), path)

    def _resume(self) -> None:
        """Load state.pt. The precision in it is information only: this run may be on
        another machine."""
        state = torch.load(
            self.folder / "state.pt", map_location=self.device, weights_only=True
        )
        self.task.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.average.weights = state["average"]
        self.average.steps = state["average_steps"]
        vars(self).update({name: state[name] for name in PLACE})
        vars(self.history).update(state["history"])
        self.begun_with |= state["begun_with"]
        # With another number of processes every one has other examples, so that no
        # generator can go on where it was.
        if len(state["generators"]) == self.processes:
            restore_chance(state["generators"][self.rank], self.device)

    def _forget_newer_metrics(self) -> None:
        """Take out of metrics.jsonl what the state knows nothing of: later steps, and a
        line that was not finished.

        A process that was killed had written them after it last saved its state; those
        steps are made again.
        """
        path = self.folder / "metrics.jsonl"
        if path.is_file():
            with self._writing(path):
                lines = path.read_bytes().splitlines(keepends=True)
                write_whole(path, b"".join(lines[: len(self.history.scores)]))
