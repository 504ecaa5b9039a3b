"""Write the arguments and results of services as JSON, and read them, exactly: arrays
travel bit for bit.

Numbers, texts and lists are JSON's own. Everything else is an object with its kind: an
array has its bytes in base64, a record of `xformer.results` its name and fields.
Reading makes nothing but these and runs no code, so neither side has to trust the
other, as it would with pickles.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache, partial
from inspect import signature
from typing import Any, get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError, with_config
from typing_extensions import NotRequired, TypedDict

from xformer import results
from xformer.results import misfit, refusing

RECORDS: dict[str, type] = {
    name: kind
    for name, kind in vars(results).items()
    if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))
}
SEQUENCES: dict[str, Any] = {kind.__name__: kind for kind in (tuple, set, frozenset)}
NUMBERS = "biufc"  # kinds of numpy dtypes that are read
LARGEST = 1 << 63  # whole numbers must be below, to fit a tensor


@cache
def _names(kind: Any) -> list[str]:
    """Return the names of the fields from which a record is made."""
    return [*signature(kind).parameters]


VERSION = hashlib.sha256(
    repr([(name, _names(RECORDS[name])) for name in sorted(RECORDS)]).encode()
).hexdigest()[:12]


def dumps(value: Any) -> str:
    """Write a value as JSON. Raises TypeError for a type that cannot be sent."""
    return json.dumps(_packed(value), separators=(",", ":"))


def loads(text: str | bytes) -> Any:
    """Read what `dumps` wrote. Raises UserError for anything else."""
    with refusing(
        (ValueError, KeyError, TypeError, AttributeError, RecursionError),
        (
            "The message is not in the format of this version; use the same version on both sides."
        ),
    ):
        return _unpacked(json.loads(text, parse_int=_whole, parse_constant=_constant))


def _whole(digits: str) -> int:
    if abs(number := int(digits)) >= LARGEST:
        raise ValueError(f"{digits} is too large")
    return number


def _constant(name: str) -> float:
    if name == "NaN":
        raise ValueError("NaN is no number")
    return float(name)


def _packed(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        return {
            "": "array",
            "type": value.dtype.str,
            "shape": value.shape,
            "bytes": base64.b64encode(np.ascontiguousarray(value).tobytes()).decode(),
        }
    if isinstance(value, np.generic):
        return value.item()
    name = type(value).__name__
    if RECORDS.get(name) is type(value):
        return {
            "": name,
            "fields": {
                one: _packed(getattr(value, one)) for one in _names(RECORDS[name])
            },
        }
    if isinstance(value, dict):
        return {
            "": "dict",
            "items": [[_packed(key), _packed(one)] for key, one in value.items()],
        }
    if isinstance(value, list):
        return [_packed(one) for one in value]
    if name in SEQUENCES and type(value) is SEQUENCES[name]:
        return {"": name, "items": [_packed(one) for one in value]}
    raise TypeError(f"a {name} cannot be sent")


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(one) for one in value]
    if not isinstance(value, dict):
        return value
    kind = value[""]
    if kind == "array":
        dtype = np.dtype(value["type"])
        if dtype.kind not in NUMBERS:
            raise ValueError(f"an array of {dtype}")
        return (
            np.frombuffer(base64.b64decode(value["bytes"]), dtype)
            .reshape(value["shape"])
            .copy()
        )
    if kind == "dict":
        return {_unpacked(key): _unpacked(one) for key, one in value["items"]}
    if kind in SEQUENCES:
        return SEQUENCES[kind](map(_unpacked, value["items"]))
    fields = {name: _unpacked(one) for name, one in value["fields"].items()}
    check(RECORDS[kind], fields)
    with refusing(
        ValueError, lambda error: f"The record {kind} is not valid: {error}."
    ):
        return RECORDS[kind](**fields)


@cache
def _adapter(made: Callable[..., Any]) -> TypeAdapter[dict[str, Any]]:
    """What reads the fields of a record, or the arguments of a method, by name."""
    hints = get_type_hints(made)
    fields = {
        name: hints[name] if one.default is one.empty else NotRequired[hints[name]]
        for name, one in signature(made).parameters.items()
        if name not in ("self", "progress")
    }
    kind = TypedDict(made.__name__, fields)  # type: ignore[misc]
    with_config(extra="forbid", strict=True, arbitrary_types_allowed=True)(kind)
    return TypeAdapter(kind)


def check(made: Callable[..., Any], given: Any) -> None:
    """Raise UserError, about the first of the fields of a record, or of the arguments
    for a method, by name, that is unknown, missing or not of its annotated type."""
    with refusing(
        ValidationError,
        partial(misfit, of=f" of {made.__name__}"),
    ):
        for one in _adapter(made).validate_python(given).values():
            if isinstance(one, Iterator):
                tuple(one)  # pydantic reads an Iterable when it is gone through


def weight(value: Any, counted: set[int] | None = None) -> int:
    """Count the bytes of the arrays and the length of the texts in a value, however
    deep in records and lists; once what is in it several times. counted: the objects
    that are counted already."""
    counted = set() if counted is None else counted
    if id(value) in counted:
        return 0
    counted.add(id(value))
    if isinstance(value, (np.ndarray, str)):
        return value.nbytes if isinstance(value, np.ndarray) else len(value)
    inner = (
        vars(value).values()
        if is_dataclass(value)
        else value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, (list, tuple))
        else ()
    )
    # a copy: a handler in another thread may change it meanwhile
    return sum(weight(one, counted) for one in [*inner])
