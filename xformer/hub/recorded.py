"""Read the records that training leaves beside a checkpoint: the history of its
numbers, and moments with their maps. No torch."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from xformer.results import (
    SIDES,
    STACKS,
    Course,
    History,
    Moment,
    Moments,
    UserError,
    misfit,
    refusing,
)

HISTORY = "history.json"
MOMENTS = "moments.safetensors"
COLUMNS = [one.name for one in fields(History) if one.name != "scores"]
MOST_BYTES = 1 << 24
MOST_SHAPE = 64  # layers, and heads of a layer
T = TypeVar("T")


def read_history(folder: Path) -> History | None:
    """Read the history of a checkpoint; None if it has none. Raises UserError if the
    file is broken."""
    path = folder / HISTORY
    if not path.is_file():
        return None
    with _reading(path, "is no history"):
        stored = json.loads(path.read_text(encoding="utf-8"))
        stored["scores"] = [_score(line) for line in stored["scores"]]
        (history,) = _read(tuple[History, ...], [stored])
        if len({len(getattr(history, name)) for name in COLUMNS}) != 1:
            raise ValueError("its columns are of unequal length")
        return history


def _score(line: dict[str, Any]) -> dict[str, Any]:
    """The fields of `DevScores`, of which a file has the values beside the rest."""
    when = {name: line.pop(name) for name in ("step", "seconds", "seen")}
    return {**when, "values": line}


def _read(kind: type[T], stored: Any) -> T:
    """Read records of this type. Raises UserError."""
    # a quarter of a second, which programs that read none need not wait
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    numbers = ConfigDict(
        extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True
    )
    with refusing(ValidationError, misfit):
        return TypeAdapter(kind, config=numbers).validate_python(stored)


def moments_bytes(recorded: Moments) -> bytes:
    """Pack moments as a file in safetensors format; names and texts stand in its
    header."""
    arrays = {
        f"{stack}.{number}": maps
        for number, course in enumerate(recorded.courses)
        for stack, maps in course.maps.items()
    }
    if recorded.errors.size:
        arrays["errors"] = recorded.errors
    about = {
        "moments": [vars(moment) for moment in recorded.moments],
        "courses": [
            {name: value for name, value in vars(course).items() if name != "maps"}
            for course in recorded.courses
        ],
    }
    return save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        {"about": json.dumps(about, ensure_ascii=False)},
    )


def read_moments(folder: Path) -> Moments | None:
    """Read the moments of a checkpoint's training; None if it has none. Raises
    UserError if the file is broken."""
    path = folder / MOMENTS
    if not path.is_file():
        return None
    with _reading(path, "holds no moments"):
        with safe_open(path, "np") as file:
            about = json.loads((file.metadata() or {})["about"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        moments = _read(tuple[Moment, ...], about["moments"])
        courses = _read(
            tuple[Course, ...],
            [
                {**course, "maps": _maps(number, arrays)}
                for number, course in enumerate(about["courses"])
            ],
        )
        for number, course in enumerate(courses, 1):
            _check(f"sentence {number}", course, len(moments))
        errors = arrays.get("errors", np.zeros((len(moments), 2, 0, 0), np.float32))
        if not moments or not courses:
            raise ValueError("it holds no moment")
        if (
            errors.ndim != 4
            or errors.shape[:2] != (len(moments), 2)
            or errors.dtype != np.float32
        ):
            raise ValueError("its error rates are for another number of moments")
        if not ((errors >= 0) & (errors <= 1)).all():
            raise ValueError("an error rate is not between 0 and 1")
        shapes = {
            course.maps["cross"].shape[1:3] if "cross" in course.maps else (0, 0)
            for course in courses
        }
        if shapes != {errors.shape[2:]}:
            raise ValueError(
                "its error rates do not fit the layers and heads of its maps"
            )
        if (
            len(
                {
                    tuple(
                        (stack, maps.shape[1:3]) for stack, maps in course.maps.items()
                    )
                    for course in courses
                }
            )
            > 1
        ):
            raise ValueError("its sentences have maps of different layers and heads")
        return Moments(moments, courses, errors)


@contextmanager
def _reading(path: Path, fault: str) -> Iterator[None]:
    """Turn what is wrong with a file into a UserError that says what it "is no" or
    "holds no"."""
    try:
        if (size := path.stat().st_size) > MOST_BYTES:
            raise ValueError(f"{size:,} bytes, at most {MOST_BYTES:,} are read")
        yield
    except (
        SafetensorError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        OSError,
    ) as error:
        reason = (
            f"{error.args[0]!r} is missing"
            if isinstance(error, KeyError)
            else str(error).splitlines()[0][:200].rstrip(".")
        )
        raise UserError(
            f"The file {path} {fault} of a training run ({reason}); train the model again, or remove the "
            f"file."
        ) from error


def _maps(number: int, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        stack: arrays[f"{stack}.{number}"]
        for stack in STACKS
        if f"{stack}.{number}" in arrays
    }


def _check(name: str, course: Course, moments: int) -> None:
    """Raise ValueError for a course whose parts do not fit one another."""
    for stack, array in course.maps.items():
        asks, seen = (
            len({"source": course.source, "target": course.target}[side])
            for side in SIDES[stack]
        )
        if (
            array.ndim != 5
            or array.dtype != np.uint8
            or array.shape[::4] != (moments, seen)
            or array.shape[3] != asks
        ):
            raise ValueError(f"the maps of {name} do not fit its pieces")
        if not (0 < array.shape[1] <= MOST_SHAPE and 0 < array.shape[2] <= MOST_SHAPE):
            raise ValueError(
                f"the maps of {name} have {array.shape[1]} layers and {array.shape[2]} "
                f"heads; each must be from 1 to {MOST_SHAPE}"
            )
    if len(course.translations) != moments or len(course.predicted) != len(
        course.target
    ):
        raise ValueError(f"{name} has another number of moments")
