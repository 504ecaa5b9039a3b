"""Write the records that services take and give as JSON, and read them: exactly, arrays bit for bit, and no code.

Numbers and texts stand as they are, lists as lists; everything else is an object with its kind: an array as its bytes
in base64, a record of `xformer.results` by its name and fields. Reading makes nothing but these, so neither side has to
trust the other as it would with pickles.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from xformer import results
from xformer.results import UserError

RECORDS: dict[str, type] = {name: kind for name, kind in vars(results).items()
                            if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))}
SEQUENCES: dict[str, Any] = {kind.__name__: kind for kind in (tuple, set, frozenset)}
NUMBERS = "biufc"  # kinds of arrays that are read


def _names(kind: type) -> list[str]:
    """Return the fields that make a record."""
    named = getattr(kind, "_fields", None)
    return list(named) if named else [f.name for f in fields(kind) if f.init]


VERSION = hashlib.sha256(repr([(name, _names(RECORDS[name])) for name in sorted(RECORDS)]).encode()).hexdigest()[:12]


def dumps(value: Any) -> str:
    """Write a value as JSON. Raises TypeError for one that does not travel."""
    return json.dumps(_packed(value), separators=(",", ":"))


def loads(text: str | bytes) -> Any:
    """Read what `dumps` wrote; raises UserError for anything else."""
    try:
        return _unpacked(json.loads(text))
    except UserError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError("What was sent is not in the form of this version; use the same version on both sides."
                        ) from error


def _packed(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        return {"": "array", "type": value.dtype.str, "shape": value.shape,
                "bytes": base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()}
    if isinstance(value, np.generic):
        return value.item()
    name = type(value).__name__
    if RECORDS.get(name) is type(value):
        return {"": name, "fields": {one: _packed(getattr(value, one)) for one in _names(type(value))}}
    if isinstance(value, dict):
        return {"": "dict", "items": [[_packed(key), _packed(one)] for key, one in value.items()]}
    if isinstance(value, list):
        return [_packed(one) for one in value]
    if name in SEQUENCES and type(value) is SEQUENCES[name]:
        return {"": name, "items": [_packed(one) for one in value]}
    raise TypeError(f"a {name} does not travel")


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
        return np.frombuffer(base64.b64decode(value["bytes"]), dtype).reshape(value["shape"]).copy()
    if kind == "dict":
        return {_unpacked(key): _unpacked(one) for key, one in value["items"]}
    if kind in SEQUENCES:
        return SEQUENCES[kind](map(_unpacked, value["items"]))
    return RECORDS[kind](**{name: _unpacked(one) for name, one in value["fields"].items()})
