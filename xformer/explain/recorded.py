"""Tell from the numbers of a short training run whether it learned, stalled or diverged. Loads no torch."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from xformer.results import Message, TrainingCourse, UserError
from xformer.results.reviews import PretrainingStudy

LEARNED = 0.9  # share of right answers from which a task counts as learned
STALLED = 0.8  # times the loss of guessing: a run that ends above this has hardly learned anything
RISEN = 0.25  # share of the loss's fall: a run whose loss rises again by more than this, and stays there, has diverged
MOST_BYTES = 2_000_000  # of a file of recorded runs


def smoothed(values: Sequence[float], width: int = 5) -> list[float]:
    """Take the median of each value and its neighbours, `width` in all, so that one odd batch does not count."""
    half = width // 2
    return [median(values[max(0, i - half):i + half + 1]) for i in range(len(values))]


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
        before = course.norm[max(0, turned - 20):turned] or course.norm[:1]
        return Message.of("run_diverged", step=course.step[turned], before=f"{median(before):.2g}",
                          after=f"{max(course.norm[max(0, turned - 3):]):.2g}",
                          low=f"{min(course.loss[:turned + 1]):.2f}", last=f"{course.loss[-1]:.2f}")
    reached, seconds = course.scores[-1][2] if course.scores else 0.0, f"{course.seconds:.0f}"
    losses = {"first": f"{course.loss[0]:.2f}", "last": f"{course.loss[-1]:.2f}", "step": course.step[-1],
              "guess": f"{course.guess:.2f}"}
    if course.loss[-1] > STALLED * course.guess:
        return Message.of("run_stalled", least=f"{100 * (1 - STALLED):.0f}", **losses)
    if course.measure == "bleu":
        return Message.of("run_bleu", bleu=f"{reached:.1f}", **losses)
    share = f"{100 * reached:.0f}"
    if reached < LEARNED:
        return Message.of("run_halfway", share=share, **losses)
    below = max((i for i, (_, _, value) in enumerate(course.scores) if value < LEARNED), default=-1)
    since = course.scores[below + 1][0]  # the step from which the score stays above
    return Message.of("run_learned", share=share, seconds=seconds, since=since, least=f"{100 * LEARNED:.0f}")


def highest_rate(course: TrainingCourse) -> float:
    """The highest learning rate that a run reached; its schedule may never reach the peak that was asked for."""
    return max(course.rate, default=0.0)


def learned(course: TrainingCourse) -> bool:
    """Whether the loss of a run fell well below that of guessing by the frequency of each piece, and stayed there."""
    return verdict(course).key not in ("run_no_number", "run_diverged", "run_stalled")


def findings(courses: Sequence[TrainingCourse]) -> list[Message]:
    """Compare post-norm and pre-norm in recorded runs not cut short: without a warm-up, and the best of each."""
    courses = [one for one in courses if one.ended != "cut"]
    found = list[Message]()
    for norm in ("post", "pre"):
        bare = [one for one in courses if one.settings.norm == norm and one.settings.warmup == 0]
        warm = [one for one in courses if one.settings.norm == norm and one.settings.warmup > 0]
        if bare or warm:
            found.append(Message.of(f"recorded_{norm}", bare=len(bare), learned=sum(map(learned, bare)),
                                    warm=len(warm), warmed=sum(map(learned, warm)), least=f"{100 * (1 - STALLED):.0f}"))
    post, pre = (min((one for one in courses if one.settings.norm == norm and one.loss), default=None,
                     key=lambda one: one.loss[-1]) for norm in ("post", "pre"))
    if post is None or pre is None:
        return found
    target = max(post.loss[-1], pre.loss[-1])
    values = {f"{norm}_{name}": value for norm, one in (("post", post), ("pre", pre)) for name, value in (
        ("warmup", one.settings.warmup), ("rate", f"{highest_rate(one):.2g}"), ("loss", f"{one.loss[-1]:.2f}"),
        ("at", next((step for step, loss in zip(one.step, one.loss, strict=True) if loss <= target), 0)))}
    found.append(Message.of("recorded_best", loss=f"{target:.2f}", steps=post.settings.steps, **values))
    if scores := [score for one in courses if one.measure == "bleu" for _, _, score in one.scores]:
        found.append(Message.of("recorded_bleu_of_all", bleu=f"{max(scores):.1f}"))
    return found


@dataclass(frozen=True)
class Recorded:
    """Runs that were made before and kept."""

    about: dict[str, Any]  # the data, the model, the machine
    courses: tuple[TrainingCourse, ...]
    broken: int  # further runs in the file that cannot be read


def to_json(about: dict[str, Any], courses: Sequence[TrainingCourse]) -> str:
    """Write runs in the form that `read` expects."""
    lines = ",\n".join(json.dumps(asdict(course), allow_nan=False) for course in courses)
    return f'{{"about": {json.dumps(about, ensure_ascii=False)},\n"runs": [\n{lines}\n]}}\n'


def read(path: Path) -> Recorded:
    """Read recorded runs; broken runs are left out and counted. Raises UserError if the file as a whole is broken."""
    from pydantic import ConfigDict, TypeAdapter  # a quarter of a second, which programs without runs need not wait

    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
        stored = json.loads(path.read_text(encoding="utf-8"))
        about, runs = dict(stored["about"]), list(stored["runs"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(Message.of("recorded_broken", file=path.name)) from error
    reader, courses = TypeAdapter(list[TrainingCourse], config=ConfigDict(extra="forbid", allow_inf_nan=False)), []
    for run in runs:
        with suppress(ValueError):
            courses += [one for one in reader.validate_python([run])
                        if len(one.step) == len(one.loss) == len(one.rate) == len(one.norm) > 0]
    return Recorded(about, tuple(courses), len(runs) - len(courses))


def read_pretraining(path: Path) -> PretrainingStudy:
    """Read a study of pre-training. Raises UserError if the file is broken, or not there."""
    from pydantic import TypeAdapter
    try:
        return TypeAdapter(PretrainingStudy).validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(Message.of("shares_broken", file=path.name)) from error
