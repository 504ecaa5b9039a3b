"""A trace as a file: JSON, NPZ, or one HTML page that opens offline."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from xformer.results import STACKS, ModelInfo, Trace, UserError
from xformer.strings import ASSETS, table, text

FORMATS = (".json", ".npz", ".html")
TEXTS = ("html_title", "html_source", "html_target", "html_hint", "stack", *STACKS, "picture_title", "finder_where",
         "row_target", "looks_at", "attention_note")  # of the page


def as_json(trace: Trace, info: ModelInfo) -> dict[str, Any]:
    """Everything of a trace: token lists, log-probabilities, arrays as nested lists, and the checkpoint's identity."""
    return {**_about(trace, info), **{name: array.tolist() for name, array in _arrays(trace).items()}}


def _about(trace: Trace, info: ModelInfo) -> dict[str, Any]:
    return {"checkpoint": {"name": info.name, "identity": info.identity}, "source": list(trace.source),
            "target": list(trace.target), "predicted": list(trace.predicted), "log_probs": list(trace.log_probs),
            "axes": ["layer", "head", "query", "key"]}


def _arrays(trace: Trace) -> dict[str, Any]:
    """The maps of each stack, and how much its heads take along from each key."""
    return {name: getattr(trace, name) for stack in STACKS for name in (stack, f"{stack}_norms")}


def encode(trace: Trace, info: ModelInfo, suffix: str, start: tuple[str, int, int] = ("cross", 1, 1),
           language: str = "en") -> bytes:
    """The content of a file of this kind; raises UserError for a kind that is not known.

    start: stack, layer and head, counted from 1, on which a page opens; language: of its texts.
    """
    if suffix == ".json":
        return json.dumps(as_json(trace, info), ensure_ascii=False).encode()
    if suffix == ".npz":
        buffer = io.BytesIO()
        np.savez_compressed(buffer, source=np.array(trace.source), target=np.array(trace.target),
                            predicted=np.array(trace.predicted), log_probs=np.array(trace.log_probs, np.float32),
                            checkpoint=np.array([info.name, info.identity]),
                            **_arrays(trace))
        return buffer.getvalue()
    if suffix == ".html":
        return _page(trace, info, start, language).encode()
    raise UserError(f"The kind of file {suffix or '(none)'} is not known; choose one of {', '.join(FORMATS)}.")


def _page(trace: Trace, info: ModelInfo, start: tuple[str, int, int], language: str) -> str:
    """A page that holds its numbers, texts and script, and asks for nothing from outside."""
    stack, layer, head = start
    layers, heads = getattr(trace, stack).shape[:2]
    model = text("html_model", language, name=info.name, identity=info.identity, norm=info.norm,
                 encoder=info.n_layers, decoder=info.n_decoder_layers, heads=info.n_heads)
    data = {**_about(trace, info), "model": model, "texts": {key: table(language)[key] for key in TEXTS},
            "start": {"stack": stack, "layer": min(layer, layers) - 1, "head": min(head, heads) - 1},
            # Three decimals are more than a screen shows, and a quarter of the size.
            **{name: np.round(getattr(trace, name).astype(float), 3).tolist() for name in STACKS}}
    template = (ASSETS / "explain.html").read_text(encoding="utf-8").replace("__LANGUAGE__", language)
    # Inside a script element, only "</script" and "<!--" could end the data early: no "<" is left in it.
    return template.replace("__DATA__", json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"))


def safe(cell: str) -> str:
    """A cell for a spreadsheet: behind an apostrophe where it would be taken for a formula, which could do harm."""
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def check(path: Path) -> None:
    """Raise UserError where a trace cannot be written to this path, before anything is computed."""
    if path.suffix not in FORMATS:
        raise UserError(f"The file {path} is of a kind that is not known; end its name with one of "
                        f"{', '.join(FORMATS)}.")
    if not path.parent.is_dir():
        raise UserError(f"There is no folder {path.parent}; make it first, or name another.")
