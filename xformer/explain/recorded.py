"""Tell from the numbers of a short training run whether it learned, stalled or
diverged. Loads no torch."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from xformer.results import (
    PARTS,
    Message,
    RunSettings,
    TrainingCourse,
    UserError,
    decimal,
    refusing,
    unread,
)
from xformer.results.reviews import PretrainingRun, PretrainingStudy
from xformer.strings import ASSETS

RUNS = ASSETS / "runs.json"  # made by python -m research study runs

LEARNED = 0.9  # share of right answers from which a task counts as learned
# times the loss of guessing: a run that ends above this has hardly learned anything
STALLED = 0.8
# share of the loss's fall: a run whose loss rises again by more than this, and stays
# there, has diverged
RISEN = 0.25
MOST_BYTES = 2_000_000  # of a file of recorded runs
LENGTHS = (5, 9)  # most English words of short sentences, and of those between

# What recorded runs are to show, each by runs of which any two neighbours differ in one
# setting.
WHOLE = RunSettings("translation", "pre", 3, "cosine", 200, 3e-3, 0.1, 0, 1_200)
# whose rate passes that at which it breaks
RISING = replace(WHOLE, norm="post", warmup=600, peak=3e-2)
# from so few pairs that each comes often
FEW = replace(WHOLE, pairs=2_000)
# questions whose runs learn from sentences of all lengths, in a file of their own
APART = ("dropout", "parts")
QUESTIONS: dict[str, tuple[RunSettings, ...]] = {
    "break": (RISING, replace(RISING, peak=3e-3), replace(RISING, norm="pre")),
    "rate": (WHOLE, replace(WHOLE, peak=3e-5)),
    "data": (WHOLE, replace(WHOLE, pairs=20_000), replace(WHOLE, pairs=2_000)),
    "order": tuple(
        replace(WHOLE, norm=norm, warmup=warmup)
        for warmup in (0, 200)
        for norm in ("post", "pre")
    ),
    "division": (WHOLE, replace(WHOLE, without="before")),
    "dropout": tuple(
        replace(one, without=part) for one in (WHOLE, FEW) for part in ("", "dropout")
    ),
    "parts": (
        WHOLE,
        *(
            replace(
                WHOLE,
                without=part,
                smoothing=0.0 if part == "smoothing" else WHOLE.smoothing,
            )
            for part in PARTS
        ),
    ),
}


def smoothed(values: Sequence[float], width: int = 5) -> list[float]:
    """Take the median of each value and its neighbours, `width` in all, so that one odd
    batch does not count."""
    half = width // 2
    return [median(values[max(0, i - half) : i + half + 1]) for i in range(len(values))]


def rise(course: TrainingCourse) -> int | None:
    """Find the index at which the loss rose for good; None if it did not."""
    loss = smoothed(course.loss)
    if len(loss) < 5:
        return None
    low = min(range(len(loss)), key=loss.__getitem__)
    up = loss[-1] - loss[low]
    if up <= max(0.2, RISEN * (loss[0] - loss[low])):
        return None
    return next(i for i in range(low, len(loss)) if loss[i] > loss[low] + up / 2)


def verdict(course: TrainingCourse) -> Message:
    """Say what happened in a run, from the losses of its curve."""
    if course.ended == "diverged" or not course.loss:
        return Message.of("run_no_number", step=course.step[-1] if course.step else 1)
    turned = rise(course)
    if turned is not None:
        before = course.norm[max(0, turned - 20) : turned] or course.norm[:1]
        return Message.of(
            "run_diverged",
            step=course.step[turned],
            before=decimal(median(before), 2),
            after=decimal(max(course.norm[max(0, turned - 3) :]), 2),
            low=f"{min(course.loss[: turned + 1]):.2f}",
            last=f"{course.loss[-1]:.2f}",
        )
    end = next(iter(reached([course])), 0.0)
    seconds = f"{course.seconds:.0f}"
    losses = {
        "first": f"{course.loss[0]:.2f}",
        "last": f"{course.loss[-1]:.2f}",
        "step": course.step[-1],
        "guess": f"{course.guess:.2f}",
    }
    if course.loss[-1] > STALLED * course.guess:
        return Message.of("run_stalled", least=f"{100 * (1 - STALLED):.0f}", **losses)
    if course.measure == "bleu":
        return Message.of("run_bleu", bleu=f"{end:.1f}", **losses)
    share = f"{100 * end:.0f}"
    if end < LEARNED:
        return Message.of("run_halfway", share=share, **losses)
    below = max(
        (i for i, (_, _, value) in enumerate(course.scores) if value < LEARNED),
        default=-1,
    )
    since = course.scores[below + 1][0]  # the step from which the score stays above
    return Message.of(
        "run_learned",
        share=share,
        seconds=seconds,
        since=since,
        least=f"{100 * LEARNED:.0f}",
    )


def reached(runs: Sequence[TrainingCourse]) -> list[float]:
    """What each run that was scored reached at its end: see `measure`."""
    return [one.scores[-1][2] for one in runs if one.scores]


def highest_rate(course: TrainingCourse) -> float:
    """The highest learning rate that a run reached; its schedule may never reach the
    peak that was asked for."""
    return max(course.rate, default=0.0)


def learned(course: TrainingCourse) -> bool:
    """Whether the loss of a run fell well below that of guessing by the frequency of
    each piece, and stayed there."""
    return verdict(course).key not in ("run_no_number", "run_diverged", "run_stalled")


def kind_of(course: TrainingCourse) -> RunSettings:
    """What a run has in common with those of other seeds, lengths and depths: one of
    the settings of QUESTIONS."""
    return replace(
        course.settings, seed=WHOLE.seed, steps=WHOLE.steps, layers=WHOLE.layers
    )


def kinds(
    courses: Sequence[TrainingCourse], question: str
) -> dict[RunSettings, list[TrainingCourse]]:
    """The runs of a question that were not cut short, by their settings but for the
    seed, in the question's order."""
    found = {
        kind: [one for one in courses if kind_of(one) == kind and one.ended != "cut"]
        for kind in QUESTIONS[question]
    }
    return {kind: runs for kind, runs in found.items() if runs}


@dataclass(frozen=True)
class Recorded:
    """Runs that were made before and kept."""

    about: dict[str, Any]  # the data, the model, the machine
    courses: tuple[TrainingCourse, ...]
    broken: int  # further runs in the file that cannot be read


def to_json(
    about: dict[str, Any], runs: Sequence[TrainingCourse] | Sequence[PretrainingRun]
) -> str:
    """Write runs in the form that `read` expects, or `read_pretraining`."""
    lines = ",\n".join(json.dumps(asdict(run), allow_nan=False) for run in runs)
    return f'{{"about": {json.dumps(about, ensure_ascii=False)},\n"runs": [\n{lines}\n]}}\n'


def read(path: Path) -> Recorded:
    """Read recorded runs; broken runs are left out and counted. Raises UserError if the
    file as a whole is broken."""
    # a quarter of a second, which programs without runs need not wait
    from pydantic import ConfigDict, TypeAdapter

    with refusing(
        (OSError, ValueError, TypeError, KeyError, RecursionError),
        Message.of("recorded_broken", file=path.name),
    ):
        if fault := unread(path, MOST_BYTES):
            raise ValueError(fault)
        stored = json.loads(path.read_text(encoding="utf-8"))
        about = dict(stored["about"])
        runs = list(stored["runs"])
    reader = TypeAdapter(
        list[TrainingCourse], config=ConfigDict(extra="forbid", allow_inf_nan=False)
    )
    courses = []
    for run in runs:
        with suppress(ValueError):
            courses += [
                one
                for one in reader.validate_python([run])
                if len(one.step) == len(one.loss) == len(one.rate) == len(one.norm) > 0
            ]
    return Recorded(about, tuple(courses), len(runs) - len(courses))


@cache
def divided_after() -> Message | None:
    """Say what division after the softmax does to models that are trained so from the
    beginning; None where no such runs were recorded, or no others."""
    try:
        found = kinds(read(RUNS).courses, "division")
    except UserError:
        return None
    ends = [reached(runs) for runs in found.values()]
    if len(ends) < 2 or not all(ends):
        return None
    before, after = (f"{min(values):.1f}–{max(values):.1f}" for values in ends)
    return Message.of(
        "divided_after",
        after=after,
        before=before,
        steps=WHOLE.steps,
        layers=WHOLE.layers,
        seeds=min(map(len, ends)),
    )


def read_pretraining(path: Path) -> PretrainingStudy:
    """Read a study of pre-training. Raises UserError if the file is broken, or not
    there."""
    from pydantic import TypeAdapter

    with refusing((OSError, ValueError), Message.of("shares_broken", file=path.name)):
        if fault := unread(path, MOST_BYTES):
            raise ValueError(fault)
        return TypeAdapter(PretrainingStudy).validate_json(path.read_bytes())
