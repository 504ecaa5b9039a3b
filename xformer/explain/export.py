"""Export a trace as a file: JSON, NPZ, or one HTML page that opens offline."""

import io
import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xformer.results import STACKS, Head, ModelInfo, Origin, Trace, UserError
from xformer.strings import ENGLISH, Language

FORMATS = (".json", ".npz", ".html")
FIRST = Head("cross", 1, 1)


def check(path: Path) -> None:
    """Raise UserError for a path to which no trace can be written; call it before
    anything is computed."""
    if path.suffix not in FORMATS:
        raise UserError(
            f"The file {path} is of an unknown kind; end its name with one of {', '.join(FORMATS)}."
        )
    if not path.parent.is_dir():
        raise UserError(
            f"There is no folder {path.parent}; make it first, or name another."
        )


def encode(
    trace: Trace,
    info: ModelInfo,
    suffix: str,
    start: Head = FIRST,
    language: Language = ENGLISH,
    given: Collection[Head] = (),
) -> bytes:
    """Write a trace as the content of a file of the kind `suffix`. Raises UserError for
    an unknown kind.

    start: the head on which a page opens; language: of its texts; given: the heads
    whose rows are labelled with the piece that they were given.
    """
    if suffix == ".json":
        return json.dumps(as_json(trace, info), ensure_ascii=False).encode()
    if suffix == ".npz":
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            source=np.array(trace.source),
            target=np.array(trace.target),
            predicted=np.array(trace.predicted),
            log_probs=np.array(trace.log_probs, np.float32),
            checkpoint=np.array([info.name, info.identity]),
            **_arrays(trace),
        )
        return buffer.getvalue()
    if suffix == ".html":
        return (
            replace(trace, origin=Origin(info, start, frozenset(given)))
            .page(language=language)
            .encode()
        )
    raise UserError(
        f"The kind of file {suffix or '(none)'} is unknown; choose one of {', '.join(FORMATS)}."
    )


def as_json(trace: Trace, info: ModelInfo) -> dict[str, Any]:
    """All data of a trace: token lists, log-probabilities, arrays as nested lists, and
    the checkpoint's identity."""
    return {
        "checkpoint": {"name": info.name, "identity": info.identity},
        "source": list(trace.source),
        "target": list(trace.target),
        "predicted": list(trace.predicted),
        "log_probs": list(trace.log_probs),
        "axes": ["layer", "head", "query", "key"],
        **{name: array.tolist() for name, array in _arrays(trace).items()},
    }


def _arrays(trace: Trace) -> dict[str, Any]:
    """The maps and the value norms of each stack, by their names in a file."""
    return {
        name: array
        for stack, maps in ((stack, trace.of(stack)) for stack in STACKS)
        for name, array in ((stack, maps.probabilities), (f"{stack}_norms", maps.norms))
    }
