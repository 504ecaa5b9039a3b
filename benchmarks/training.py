"""Target pieces a second in training: this project's step, and steps of the same shape as others would write them.

What makes it fair: the same batch (random pieces, all rows equally long, so that nothing is spent on padding), the
same optimizer with the same settings, bfloat16 autocast, label smoothing, dropout after each sub-layer and embedding
only, clipped gradients. The others use `F.cross_entropy`; this project's step also keeps its moving average of the
weights. Each works in a process of its own, so that `loop.keep_memory`, which changes the allocator of a whole
process, helps only the one that calls it.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.harness import Contender, Ring, median, table
from benchmarks.translation import TorchModel, marian
from xformer.model import Config, Transformer
from xformer.pieces import BOS, EOS, PAD
from xformer.training import live, loop
from xformer.training.options import TrainingOptions
from xformer.training.tasks import TranslationTask
from xformer.translator import pad

PAIRS, LENGTH = 200, 9  # of a batch; in pieces, without BOS and EOS
SMOOTHING = 0.1
OPTIONS = TrainingOptions(steps=1_000_000, precision="bfloat16")
LIVE_OPTIONS = TrainingOptions(steps=1_000_000, precision="float32", clip=math.inf)
OURS, TORCH, MARIAN = "this project", "nn.Transformer", "Marian, transformers"

Batch = list[tuple[list[int], list[int]]]
Request = list[Batch]


class Ours:
    def __init__(self, config: Config, threads: int) -> None:
        task = TranslationTask(Transformer(config), None, None, (), SMOOTHING)
        with tempfile.TemporaryDirectory() as nothing:
            self.trainer = loop.Trainer(task, Path(nothing), OPTIONS, torch.device("cpu"))

    def __call__(self, request: Request) -> None:
        for batch in request:
            self.trainer._learn(batch, done=0.5)


class Usual:
    """The usual training step around somebody else's model, a function of source and target to logits."""

    def __init__(self, model: nn.Module, logits: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.model, self.logits = model.train(), logits
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=OPTIONS.peak, betas=(0.9, 0.98), eps=1e-9,
                                           weight_decay=OPTIONS.weight_decay, fused=True)

    def __call__(self, request: Request) -> None:
        for batch in request:
            source = pad([[*s, EOS] for s, _ in batch])
            target = pad([[BOS, *t] for _, t in batch])
            wanted = pad([[*t, EOS] for _, t in batch])
            with torch.autocast("cpu", torch.bfloat16):
                logits = self.logits(source, target)
                loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD,
                                       label_smoothing=SMOOTHING)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), OPTIONS.clip)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            loss.item()


def usual_torch(config: Config, threads: int) -> Usual:
    model = TorchModel(config, config.dropout)
    for module in model.modules():  # only after sub-layers, like the others
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
        elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            module.dropout.p = 0.0
    return Usual(model, model)


def usual_marian(config: Config, threads: int) -> Usual:
    model: Any = marian(config)

    def logits(source: Tensor, target: Tensor) -> Tensor:
        return model(input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=target,
                     use_cache=False).logits

    return Usual(model, logits)


class Live(Ours):
    """The loop that a visitor of the page watches."""

    def __init__(self, config: Config, threads: int) -> None:
        task = TranslationTask(Transformer(config), None, None, (), SMOOTHING)
        self.trainer = loop.Learner(task, LIVE_OPTIONS, torch.device("cpu"))


class UsualLive(Usual):
    """The usual step in float32, with nothing clipped."""

    def __call__(self, request: Request) -> None:
        for batch in request:
            source, target = pad([[*s, EOS] for s, _ in batch]), pad([[BOS, *t] for _, t in batch])
            wanted = pad([[*t, EOS] for _, t in batch])
            F.cross_entropy(self.logits(source, target).flatten(0, 1), wanted.flatten(), ignore_index=PAD,
                            label_smoothing=SMOOTHING).backward()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)


def usual_live(config: Config, threads: int) -> UsualLive:
    model = TorchModel(config, config.dropout)
    return UsualLive(model, model)


def run_live(rounds: int = 5, steps: int = 20) -> str:
    """Markdown: steps a second of the model that a visitor trains on the page, on one thread."""
    config = Config(vocab_size=14, d_model=live.WIDTH, n_heads=live.HEADS, n_layers=6, d_ff=4 * live.WIDTH, dropout=0.0,
                    max_length=32)
    contenders = [Contender(name, build, (config,), 1) for name, build in ((OURS, Live), (TORCH, usual_live))]
    request = [batch[:live.BATCH] for batch in batches(config.vocab_size, steps)]
    with closing(Ring(contenders)) as ring:
        seconds = ring.race([request], rounds, lambda *_: True)
    speed = {c.name: steps / median(seconds[c.title, 0]) for c in contenders}
    rows = [[c.title, f"{speed[c.name]:.1f}", f"{speed[OURS] / speed[c.name]:.2f}"] for c in contenders]
    text = (f"Live training, 6 + 6 layers of width {live.WIDTH}, batches of {live.BATCH} examples of {LENGTH} + "
            f"{LENGTH} pieces, float32, median of {rounds} rounds of {steps} steps:")
    return f"{text}\n\n{table(['training', 'steps a second', 'this project is so many times as fast'], rows)}"


def batches(vocab_size: int, steps: int) -> Request:
    rng = random.Random(0)
    return [[(rng.choices(range(4, vocab_size), k=LENGTH), rng.choices(range(4, vocab_size), k=LENGTH))
             for _ in range(PAIRS)] for _ in range(steps)]


def run(config: Config, rounds: int, steps: int) -> str:
    """Markdown: target pieces a second."""
    threads = torch.get_num_threads()
    ways = ((OURS, Ours), (TORCH, usual_torch), (MARIAN, usual_marian))
    contenders = [Contender(name, build, (config,), threads) for name, build in ways]
    with closing(Ring(contenders)) as ring:
        seconds = ring.race([batches(config.vocab_size, steps)], rounds, lambda *_: True)
    pieces = steps * PAIRS * (LENGTH + 1)
    speed = {c.name: pieces / median(seconds[c.title, 0]) for c in contenders}
    rows = [[c.title, f"{speed[c.name]:,.0f}", f"{pieces / min(seconds[c.title, 0]):,.0f}",
             f"{speed[OURS] / speed[c.name]:.2f}"] for c in contenders]
    head = ["training", "target pieces a second", "fastest round", "this project is so many times as fast"]
    text = (f"Training, batches of {PAIRS} pairs of {LENGTH} + {LENGTH} pieces, bfloat16 autocast, median of {rounds} "
            f"rounds of {steps} steps:")
    return f"{text}\n\n{table(head, rows)}"
