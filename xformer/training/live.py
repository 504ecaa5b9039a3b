"""Train a tiny transformer on a task that a person understands, to be watched: turn
letters around, copy them, or write a number in Spanish words."""

from __future__ import annotations

import math
import random
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from xformer.model import Config, Seeded, Trace, Transformer
from xformer.pieces import BOS, EOS, SPECIAL
from xformer.results import (
    Head,
    LiveFrame,
    Options,
    RunSettings,
    TrainingCourse,
    UserError,
)
from xformer.training import parts
from xformer.training.data.corpora import Ids
from xformer.training.loop import Learner, Made, learning_rate
from xformer.training.options import TrainingOptions
from xformer.training.tasks import TranslationTask, guess
from xformer.translator import Translator, pad, translate_ids

CPU = torch.device("cpu")
WIDTH = 64
HEADS = 4
BATCH = 32  # examples of a step
HELD_OUT = 64  # examples that are never trained on, and are answered to be scored
SHOWN = 4  # of them
SCORED = 20  # times in a run
POINTS = 150  # of each curve
PAUSE = 0.5  # seconds between two looks
LETTERS = "abcdefghij"
UNITS, TENS, HUNDREDS = (
    words.split()
    for words in (
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
        "dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
        "veintiocho veintinueve",
        "treinta cuarenta cincuenta sesenta setenta ochenta noventa",
        "ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos",
    )
)
WORDS = (*UNITS, *TENS, "y", "cien", *HUNDREDS, "mil")


class Example(NamedTuple):
    question: tuple[str, ...]
    answer: tuple[str, ...]

    @property
    def held_out(self) -> bool:
        """Whether it is never trained on: one in ten."""
        return zlib.crc32(" ".join(self.question).encode()) % 10 == 0


def in_words(number: int) -> list[str]:
    """Write a number from 0 to 9,999 in Spanish words."""
    if number < 30:
        return [UNITS[number]]
    if number < 100:
        tens, rest = divmod(number, 10)
        return [TENS[tens - 3], *(["y", UNITS[rest]] if rest else [])]
    if number < 1_000:
        hundreds, rest = divmod(number, 100)
        return (
            ["cien"]
            if number == 100
            else [HUNDREDS[hundreds - 1], *(in_words(rest) if rest else [])]
        )
    thousands, rest = divmod(number, 1_000)
    return [
        *([UNITS[thousands]] if thousands > 1 else []),
        "mil",
        *(in_words(rest) if rest else []),
    ]


def draw(task: str, rng: random.Random) -> Example:
    """Draw a question of a task, with its answer."""
    if task == "numbers":
        number = rng.randrange(10 ** rng.randint(1, 4))
        return Example(tuple(str(number)), tuple(in_words(number)))
    letters = tuple(rng.choice(LETTERS) for _ in range(rng.randint(3, 8)))
    return Example(letters, letters[::-1] if task == "reverse" else letters)


class Examples:
    """Questions of a task as pieces, and batches of them without end."""

    def __init__(self, task: str, seed: int, few: int = 0) -> None:
        """few: how many there are to learn from; 0: new ones without end."""
        self.task = task
        self.seed = seed
        self.pieces = (
            *SPECIAL.values(),
            *("0123456789" if task == "numbers" else LETTERS),
            *(WORDS if task == "numbers" else ()),
        )
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        rng = random.Random(f"held out {task}")
        found = dict[Example, None]()
        while len(found) < HELD_OUT:
            example = draw(task, rng)
            if example.held_out:
                found[example] = None
        self.held_out = [*found]
        rng = random.Random(f"few {seed}")
        self.few = [self._new(rng) for _ in range(few)]

    def _new(self, rng: random.Random) -> Ids:
        """Draw an example to learn from."""
        while (example := draw(self.task, rng)).held_out:
            pass
        return self.encode(example.question), self.encode(example.answer)

    def encode(self, symbols: Sequence[str]) -> list[int]:
        return [self.ids[symbol] for symbol in symbols]

    def epoch(self, number: int, skip: int = 0) -> Iterator[list[Ids]]:
        """Yield a thousand batches, the same for the same seed and epoch."""
        rng = random.Random(f"{self.seed} {number}")
        for i in range(1_000):
            batch = [
                rng.choice(self.few) if self.few else self._new(rng)
                for _ in range(BATCH)
            ]
            if i >= skip:
                yield batch


class ExamplesTask(TranslationTask):
    """The `loop.Task` of such a task: its loss is that of translation."""

    score = "accuracy"

    def __init__(
        self, model: Transformer, examples: Examples, smoothing: float
    ) -> None:
        self.model = model
        self.data = examples
        self.smoothing = smoothing

    @torch.no_grad()
    def held_out_loss(self, examples: list[Ids]) -> float:
        """The mean loss of a piece of the answers."""
        return round(
            float(self.loss(self.model, examples, CPU)) / self.weight(examples), 4
        )

    def evaluate(self, precision: str = "float32") -> dict[str, float]:
        return {self.score: answer(self.model, self.data)[1]}


def options(settings: RunSettings, width: int = WIDTH) -> TrainingOptions:
    """Options of the loop for a run whose rate is `peak` at its highest, in either
    schedule; nothing is clipped."""
    peak = settings.peak * (
        math.sqrt(width * max(1, settings.warmup)) if settings.schedule == "noam" else 1
    )
    return TrainingOptions(
        steps=settings.steps,
        schedule=settings.schedule,
        peak=peak,
        warmup=settings.warmup,
        clip=math.inf,
        precision="float32",
        seed=settings.seed,
    )


def schedule(settings: RunSettings) -> list[float]:
    """The learning rate of each step of a run."""
    wanted = options(settings)
    return [
        learning_rate(step, (step - 1) / settings.steps, wanted, WIDTH)
        for step in range(1, settings.steps + 1)
    ]


def train(
    settings: RunSettings,
    ended: Callable[[Made], str],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[LiveFrame]:
    """Train, and yield what is to be seen about twice a second, and at the end.

    ended: called after each step, says why the run is to end: "stopped", "late"; "" to
    go on. clock: tells the time in seconds.
    """
    examples = Examples(settings.task, settings.seed, settings.pairs)
    with Seeded(settings.seed):
        # dropout draws from what all share
        model = parts.transformer(
            Config(
                vocab_size=len(examples.pieces),
                d_model=WIDTH,
                n_heads=HEADS,
                n_layers=settings.layers,
                d_ff=4 * WIDTH,
                norm=settings.norm,
                dropout=0.0,
                max_length=32,
            ),
            settings.without,
        )
    task = ExamplesTask(model, examples, settings.smoothing)
    learner = Learner(task, options(settings), CPU)
    rng = random.Random(0)
    floor = guess(
        [examples.encode(draw(settings.task, rng).answer) for _ in range(500)],
        len(examples.pieces),
        settings.smoothing,
    )
    began = told = clock()
    every = max(1, settings.steps // SCORED)
    scores = list[tuple[int, float, float]]()
    held_out = list[float]()
    probe = [
        (examples.encode(one.question), examples.encode(one.answer))
        for one in examples.held_out
    ]
    before = parts.depths(task, probe, CPU)
    answers: tuple[tuple[str, str, str], ...] = ()
    why = ""

    def frame(why: str) -> LiveFrame:
        course = TrainingCourse(
            settings,
            **learner.history.columns(POINTS),
            scores=tuple(scores),
            ended=why,
            seconds=round(clock() - began, 1),
            guess=floor,
            held_out=tuple(held_out),
            depths=(before, parts.depths(task, probe, CPU))
            if why not in ("", "diverged")
            else None,
        )
        return LiveFrame(course, answers, *look(model, examples))

    try:
        for made in learner.steps():
            why = ended(made)
            scored = made.step % every == 0 or made.step == settings.steps
            if scored or why:
                answers, share = answer(model, examples)
                scores.append((made.step, round(clock() - began, 1), share))
                held_out.append(task.held_out_loss(probe))
            if why:
                break
            if scored or clock() - told > PAUSE:
                told = clock()
                yield frame("")
    except UserError:
        why = "diverged"
    yield frame(why or "finished")


def answer(
    model: Translator, examples: Examples
) -> tuple[tuple[tuple[str, str, str], ...], float]:
    """Answer the held-out questions greedily: the first few of them, and the share of
    all that is right."""
    model.eval()
    found = translate_ids(
        model,
        [examples.encode(one.question) for one in examples.held_out],
        Options(beam=1, alternatives=0),
        max_lengths=[14] * len(examples.held_out),
    )
    between = " " if examples.task == "numbers" else ""
    said = [
        tuple(examples.pieces[token] for token in best.tokens if token != EOS)
        for best, *_ in found
    ]
    share = sum(
        one.answer == mine for one, mine in zip(examples.held_out, said, strict=True)
    ) / len(said)
    shown = tuple(
        ("".join(one.question), between.join(mine), between.join(one.answer))
        for one, mine in zip(examples.held_out[:SHOWN], said, strict=False)
    )
    return shown, share


@torch.no_grad()
def look(
    model: Transformer, examples: Examples
) -> tuple[Head, tuple[str, ...], tuple[str, ...], np.ndarray]:
    """Find the sharpest head of the cross-attention in a pass over the first held-out
    question and its answer: the one whose largest probability is largest on average. ->
    head, queries, keys, its map (Q, K)"""
    one = examples.held_out[0]
    trace = Trace()
    source = examples.encode(one.question)
    target = examples.encode(one.answer)
    model.eval()
    model(pad([[*source, EOS]]), pad([[BOS, *target]]), trace)
    maps = torch.stack(trace.cross.probabilities)[:, 0]  # [layers, H, Q, K]
    sharpness = torch.nan_to_num(maps.amax(-1).mean(-1))
    layer, head = divmod(int(sharpness.argmax()), maps.shape[1])
    end = SPECIAL[EOS]
    return (
        Head("cross", layer + 1, head + 1),
        (*one.answer, end),
        (*one.question, end),
        maps[layer, head].float().numpy(),
    )
