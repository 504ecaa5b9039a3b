"""Read the records that training leaves beside a checkpoint: the history of its
numbers, and moments with their maps. No torch."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from xformer.results import (
    SIDES,
    STACKS,
    Course,
    DevScores,
    History,
    Moment,
    Moments,
    UserError,
)

HISTORY = "history.json"
MOMENTS = "moments.safetensors"
COLUMNS = (
    "step",
    "seconds",
    "seen",
    "loss",
    "learning_rate",
    "gradient_norm",
    "largest_norm",
    "per_second",
)
WHOLE = ("step", "seen")  # columns of whole numbers
MOST_BYTES = 1 << 24
MOST_SHAPE = 64  # layers, and heads of a layer


def read_history(folder: Path) -> History | None:
    """Read the history of a checkpoint; None if it has none. Raises UserError if the
    file is broken."""
    path = folder / HISTORY
    if not path.is_file():
        return None
    with _reading(path, "is no history"):
        stored = json.loads(path.read_text(encoding="utf-8"))
        columns = {
            name: tuple(
                (_whole if name in WHOLE else _finite)(value) for value in stored[name]
            )
            for name in COLUMNS
        }
        if len({len(column) for column in columns.values()}) != 1:
            raise ValueError("its columns are of unequal length")
        scores = tuple(
            DevScores(
                _whole(line["step"]),
                _finite(line["seconds"]),
                _whole(line["seen"]),
                {
                    name: _finite(value)
                    for name, value in line.items()
                    if name not in ("step", "seconds", "seen")
                },
            )
            for line in stored["scores"]
        )
        return History(**columns, scores=scores)


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
        moments = tuple(
            Moment(
                _whole(moment["step"]),
                _finite(moment["seconds"]),
                _whole(moment["seen"]),
                _finite(moment["done"]),
            )
            for moment in about["moments"]
        )
        courses = tuple(
            _course(number, course, arrays, len(moments))
            for number, course in enumerate(about["courses"])
        )
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
            else str(error).splitlines()[0][:200]
        )
        raise UserError(
            f"The file {path} {fault} of a training run ({reason}); train the model again, or remove the "
            f"file."
        ) from error


def _texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts, or raise ValueError."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{str(value)[:40]!r} is no list of texts")
    return tuple(value)


def _course(
    number: int, stored: dict[str, Any], arrays: dict[str, np.ndarray], moments: int
) -> Course:
    source, target, predicted, translations = (
        _texts(stored[name])
        for name in ("source", "target", "predicted", "translations")
    )
    maps = {
        stack: arrays[f"{stack}.{number}"]
        for stack in STACKS
        if f"{stack}.{number}" in arrays
    }
    for stack, array in maps.items():
        asks, seen = (
            len({"source": source, "target": target}[side]) for side in SIDES[stack]
        )
        if (
            array.ndim != 5
            or array.dtype != np.uint8
            or array.shape[::4] != (moments, seen)
            or array.shape[3] != asks
        ):
            raise ValueError(f"the maps of sentence {number + 1} do not fit its pieces")
        if not (0 < array.shape[1] <= MOST_SHAPE and 0 < array.shape[2] <= MOST_SHAPE):
            raise ValueError(
                f"the maps of sentence {number + 1} have {array.shape[1]} layers and {array.shape[2]} "
                f"heads; each must be from 1 to {MOST_SHAPE}"
            )
    if len(translations) != moments or len(predicted) != len(target):
        raise ValueError(f"sentence {number + 1} has another number of moments")
    return Course(
        str(stored["english"]),
        str(stored["reference"]),
        source,
        target,
        predicted,
        translations,
        maps,
    )


def _finite(value: Any) -> Any:
    """Return a number, or raise ValueError if it is not finite and below 1e300, as a
    plot needs it."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not -1e300 < value < 1e300
    ):
        raise ValueError(f"{str(value)[:40]} is no finite number")
    return value


def _whole(value: Any) -> int:
    """Return a whole number of at least 0, or raise ValueError."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or not 0 <= value < 1 << 53
    ):
        raise ValueError(f"{str(value)[:40]} is no whole number of at least 0")
    return value
