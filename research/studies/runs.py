"""Short runs on English and Spanish that answer a question each, see
`explain.recorded.QUESTIONS`."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from research.options import StudyRuns
from xformer.explain import recorded
from xformer.model import Config
from xformer.results import RunSettings, TrainingCourse, UserError, write_whole
from xformer.tokenizer import Tokenizer
from xformer.training import live, parts
from xformer.training.data.corpora import NO_ROUGHENING, Pair, TranslationBatches
from xformer.training.loop import Learner, keep_memory
from xformer.training.options import BatchOptions
from xformer.training.tasks import TranslationTask, bleu, guess, learn_vocabulary

POINTS = 60  # of each curve
PROBE = 64  # pairs by whose loss the gradients of the layers are compared
# how a file of runs was made that does not say it: before there were such options
THEN = {"precision": "float32", "held_out": "smoothed", "device": "cpu"}


def short(pairs: Sequence[Pair], words: int, most: int) -> list[Pair]:
    """Keep the first `most` pairs of at most `words` English words, and of at most two
    more Spanish ones."""
    return [
        pair
        for pair in pairs
        if len(pair[0].split()) <= words and len(pair[1].split()) <= words + 2
    ][:most]


def by_length(dev: Sequence[Pair], said: Sequence[str]) -> tuple[float, ...]:
    """The BLEU of translations of pairs of dev that are short, between and long, by the
    words of their English; of lengths that no pair has, 0."""
    groups: list[list[tuple[str, str]]] = [[] for _ in range(len(recorded.LENGTHS) + 1)]
    for (english, spanish), one in zip(dev, said, strict=True):
        longer = sum(len(english.split()) > most for most in recorded.LENGTHS)
        groups[longer].append((one, spanish))
    return tuple(
        bleu([one for one, _ in group], [spanish for _, spanish in group])
        if group
        else 0.0
        for group in groups
    )


def run(
    study: StudyRuns,
    settings: RunSettings,
    tokenizer: Tokenizer,
    train: Sequence[Pair],
    dev: Sequence[Pair],
    device: torch.device,
    held_out_as: str,
) -> Iterator[TrainingCourse]:
    """Train one model; yield the course so far, whenever it was scored, and at the
    end. held_out_as: its loss on dev is "smoothed" as in training, or "unsmoothed"."""
    torch.manual_seed(settings.seed)
    model = parts.transformer(
        Config(
            vocab_size=len(tokenizer),
            d_model=study.d_model,
            n_heads=4,
            n_layers=settings.layers,
            d_ff=4 * study.d_model,
            norm=settings.norm,
            dropout=0.1,
        ),
        settings.without,
    )
    packed = BatchOptions(
        batch_tokens=study.batch_tokens, max_pieces=64, names=0.0, sampled=0.0
    )
    learned_from = train[: settings.pairs or None]
    batches = TranslationBatches(
        tokenizer,
        learned_from,
        options=packed,
        roughening=NO_ROUGHENING,
        seed=settings.seed,
    )
    task = TranslationTask(model, tokenizer, batches, dev, settings.smoothing)
    # without smoothing its loss is the same quantity for all
    smoothing = settings.smoothing if held_out_as == "smoothed" else 0.0
    judge = TranslationTask(model, tokenizer, batches, dev, smoothing)
    learner = Learner(
        task,
        replace(live.options(settings, study.d_model), precision=study.precision),
        device,
    )
    probe = [
        (tokenizer.encode(english), tokenizer.encode(spanish))
        for english, spanish in train[:PROBE]
    ]
    before = after = parts.depths(task, probe, device)
    torch.manual_seed(settings.seed)
    floor = guess(
        [tokenizer.encode(spanish) for _, spanish in train[:5_000]],
        len(tokenizer),
        settings.smoothing,
    )
    began = time.monotonic()
    scores = list[tuple[int, float, float]]()
    held_out = list[float]()
    lengths: tuple[float, ...] = ()
    every = max(1, settings.steps // study.scored)

    def course(ended: str) -> TrainingCourse:
        return TrainingCourse(
            settings,
            **learner.history.columns(POINTS),
            scores=tuple(scores),
            ended=ended,
            seconds=round(time.monotonic() - began, 1),
            guess=round(floor, 4),
            measure="bleu",
            held_out=tuple(held_out),
            depths=(before, after),
            by_length=lengths,
            seen=learner.seen,
        )

    try:
        for made in learner.steps():
            if made.step % every == 0:
                after = parts.depths(task, probe, device)
                said = judge.translations()
                reached = bleu(said, [spanish for _, spanish in dev])
                scores.append((made.step, round(learner.elapsed, 1), reached))
                held_out.append(round(judge.dev_loss(), 4))
                lengths = by_length(dev, said)
                yield course("cut")
    except UserError:
        yield course("diverged")
    else:
        yield course("finished")


def of_seed(seed: int, only: str | None = None) -> list[RunSettings]:
    """The runs to be made with a seed, each once: those of one question, or of all but
    those APART."""
    asked = (
        runs
        for name, runs in recorded.QUESTIONS.items()
        if (name == only if only else name not in recorded.APART)
    )
    return [
        replace(one, seed=seed)
        for one in dict.fromkeys(one for runs in asked for one in runs)
    ]


def check_options(
    out: Path, about: Mapping[str, Any], asked: Mapping[str, Any]
) -> None:
    """Raise UserError where the file `out` says `about` its runs that they were made
    with other options than asked."""
    for name, value in asked.items():
        if about.get(name) != value:
            raise UserError(
                f"The file {out} holds runs that were made with other options ({name} {about.get(name)}, not "
                f"{value}); name another file with --out."
            )


def record(
    study: StudyRuns,
    train: Sequence[Pair],
    dev: Sequence[Pair],
    out: Path,
    device: torch.device,
) -> Iterator[TrainingCourse]:
    """Make every run of a seed that the file `out` does not hold whole already, and
    write it there as it comes; yield what is written. Raises UserError where the file
    holds something else."""
    train = short(train, study.words, study.pairs)
    dev = short(dev, study.words, study.dev)
    if not (train and dev):
        raise UserError(
            f"There is no pair of at most {study.words} English words to learn from, or to score with; "
            f"give more of them, or longer ones with --words."
        )
    tokenizer = learn_vocabulary(train, study.vocabulary)
    kept = recorded.read(out) if out.is_file() else None
    before = {**THEN, **kept.about} if kept else {}
    about = {
        **{
            name: value
            for name, value in vars(study).items()
            if name not in ("seed", "seeds", "only", "device")
        },
        "vocabulary": len(tokenizer),
        "pairs": len(train),
        "dev": len(dev),
        "held_out": before.get("held_out", "unsmoothed"),
        "device": device.type,
    }
    if kept:
        check_options(out, before, about)
    courses = kept.courses if kept else ()
    done = {course.settings: course for course in courses if course.ended != "cut"}
    machines = [*filter(None, before.get("machine", "").split(", "))]
    about["machine"] = ", ".join(dict.fromkeys([*machines, _processor(device)]))
    if device.type == "cpu":
        keep_memory()
    # one seed of all before the next, so that what is there can be compared
    asked = (
        one
        for seed in range(study.seed, study.seed + study.seeds)
        for one in of_seed(seed, study.only)
    )
    for wanted in asked:
        settings = replace(wanted, layers=study.layers, steps=study.steps)
        if settings in done:
            continue
        for course in run(
            study, settings, tokenizer, train, dev, device, about["held_out"]
        ):
            done[settings] = course
            write_whole(out, recorded.to_json(about, [*done.values()]).encode())
            yield course


def _processor(device: torch.device) -> str:
    """Name the GPU, or this machine's processor."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
