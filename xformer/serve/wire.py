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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from inspect import signature
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from xformer import results
from xformer.results import UserError, refusing
from xformer.results.questions import Question

RECORDS: dict[str, type] = {
    name: kind
    for name, kind in vars(results).items()
    if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))
}
SEQUENCES: dict[str, Any] = {kind.__name__: kind for kind in (tuple, set, frozenset)}
NUMBERS = "biufc"  # kinds of numpy dtypes that are read
LARGEST = 1 << 63  # whole numbers must be below, to fit a tensor
_hints = cache(get_type_hints)
KINDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    NoneType: "null",
}


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
        return _unpacked(json.loads(text))


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
    return _record(
        RECORDS[kind], {name: _unpacked(one) for name, one in value["fields"].items()}
    )


def _record(kind: type, values: dict[str, Any]) -> Any:
    """Make a record. Raises UserError if a field is unknown or not of its annotated
    type."""
    names = _names(kind)
    for name, value in values.items():
        if name not in names:
            raise UserError(
                f"The record {kind.__name__} has no field {name[:40]!r}; it has {', '.join(names)}."
            )
        _check(f"field {name} of {kind.__name__}", value, _hints(kind)[name])
    with refusing(
        ValueError, lambda error: f"The record {kind.__name__} is not valid: {error}."
    ):
        return kind(**values)


def check_arguments(wanted: Callable[..., Any], given: Any) -> dict[str, Any]:
    """Return the arguments for a method, by name. Raises UserError, about the first
    argument that is unknown, missing or not of its annotated type."""
    if not isinstance(given, dict):
        raise UserError(
            f"The arguments of {wanted.__name__} are {_short(given)}; they must be a record by name."
        )
    parameters = [
        one
        for one in signature(wanted).parameters.values()
        if one.name not in ("self", "progress")
    ]
    names = [one.name for one in parameters]
    for name, value in given.items():
        if name not in names:
            raise UserError(
                f"There is no argument {_short(name)} of {wanted.__name__}; it takes "
                f"{', '.join(names) or 'none'}."
            )
        _check(f"argument {name} of {wanted.__name__}", value, _hints(wanted)[name])
    if lacking := [
        one.name
        for one in parameters
        if one.default is one.empty and one.name not in given
    ]:
        raise UserError(
            f"The call of {wanted.__name__} lacks the argument {lacking[0]}; give all of "
            f"{', '.join(names)} that have no default."
        )
    return given


def _check(what: str, value: Any, kind: Any) -> None:
    fits, called = _type(kind)
    if not fits(value):
        raise UserError(f"The {what} is {_short(value)}; it must be {called}.")


def _short(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= 40 else f"{said[:40]}…"


@cache
def _type(kind: Any) -> tuple[Callable[[Any], bool], str]:
    """What tells whether a value fits an annotation, and what a sentence calls such
    values; the fields of records were checked when they were made."""
    origin = get_origin(kind)
    if kind is Any:
        return lambda value: True, "anything"
    if kind in (int, float):
        return (
            lambda value: (
                isinstance(value, int)
                and not isinstance(value, bool)
                and abs(value) < LARGEST
                or kind is float
                and isinstance(value, float)
                and value == value
            ),
            KINDS[kind],
        )
    if origin in (None, Question):
        names = [
            name for name, one in RECORDS.items() if issubclass(one, origin or kind)
        ]
        called = KINDS.get(kind) or (
            f"a record {' or '.join(names)}" if names else "an array"
        )
        return lambda value: isinstance(value, origin or kind), called
    fits, named = zip(
        *(_type(one) for one in get_args(kind) if one is not Ellipsis), strict=True
    )
    if origin in (Union, UnionType):
        return lambda value: any(fit(value) for fit in fits), " or ".join(named)
    if origin in (dict, Mapping):
        return (
            lambda value: (
                isinstance(value, dict)
                and all(fits[0](one) and fits[1](value[one]) for one in value)
            ),
            ("a record by name"),
        )
    if origin is tuple and Ellipsis not in get_args(kind):
        return (
            lambda value: (
                isinstance(value, (list, tuple))
                and len(value) == len(fits)
                and all(fit(one) for fit, one in zip(fits, value, strict=True))
            ),
            (f"a list of {len(fits)} entries: {', '.join(named)}"),
        )
    kinds = (
        (list, tuple)
        if origin in (tuple, list, Sequence)
        else (list, tuple, set, frozenset)
    )
    return (
        lambda value: isinstance(value, kinds) and all(map(fits[0], value)),
        f"a list, each entry {named[0]}",
    )


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
    return sum(weight(one, counted) for one in inner)
