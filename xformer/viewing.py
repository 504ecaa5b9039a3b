"""Attention that another program computed, read into a `Trace` that shows itself;
without torch.

Taken are outputs of any model of `transformers`, arrays of numpy or torch, and the JSON
of `xformer explain`. A stack is an array (layers, H, Q, K) or (layers, B, H, Q, K), a
tuple of layers (H, Q, K) or (B, H, Q, K), or, from `generate`, a tuple of steps, each a
tuple of layers, with Q = 1 after the first and a K that may grow. B: texts of a batch;
other letters as in xformer/results. A stack without a name is of self-attention, the
decoder's where no piece sees a later one, or, where queries and keys differ in number,
of cross-attention; {"cross": array} gives it a name.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xformer.results import STACKS, Trace, UserError, refusing, unread

NAMES = {
    "encoder_self": "encoder_attentions",
    "decoder_self": "decoder_attentions",
    "cross": "cross_attentions",
}
SIDES = {
    "encoder_self": ("tokens", "tokens"),
    "decoder_self": ("target", "target"),
    "cross": ("target", "tokens"),
}
NOTHING = np.empty((0, 0, 0, 0), np.float32)
NO_NORMS = np.empty((0, 0, 0), np.float32)
FAR = 1e-2  # from 1, of the sum of a row; half precision rounds
MOST = 16_000_000  # numbers of a page, which then has 85 MB
MOST_BYTES = 12 * MOST  # of a JSON file: MOST numbers of six digits


def view(
    attentions: Any,
    tokens: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    *,
    batch: int = 0,
    text: str = "",
    padding: str = "",
) -> Trace:
    """Read attention that another program computed: `view(…).show()` shows every head,
    `page()` is that as HTML.

    tokens: the pieces that the model, or its encoder, has read, special ones too;
    target: those that the decoder was given, after `generate` also with the last one,
    which it was not given. Without them, positions have numbers.
    batch: which text of a batch, from 0. text: what is written above in place of the
    pieces. padding: "left" or "right", where maps go on beyond the pieces and are cut.
    Raises UserError for what cannot be shown.
    """
    found = attentions
    if isinstance(found, (str, Path)):
        found = _read(Path(found))
    elif isinstance(found, (tuple, list)) or hasattr(found, "shape"):
        found = {"attentions": found}
    held = {
        name: found.get(name)
        if isinstance(found, Mapping)
        else getattr(found, name, None)
        for name in (
            *STACKS,
            *NAMES.values(),
            "attentions",
            "beam_indices",
            "source",
            "target",
            "predicted",
        )
    }
    if held["beam_indices"] is not None:
        raise UserError(
            "Each step of a beam search is of other hypotheses; pass its result to the model once more, as "
            "the input of the decoder, and view the attentions of that pass."
        )
    texts = {
        "tokens": held["source"] if tokens is None else tokens,
        "target": held["target"] if target is None else target,
        "predicted": None if target else held["predicted"],
    }
    pieces = {side: _pieces(side, of_side) for side, of_side in texts.items()}
    given = {
        stack: held[name] if held[stack] is None else held[stack]
        for stack, name in NAMES.items()
    }
    maps = {
        stack: _maps(stack, layers, batch)
        for stack, layers in given.items()
        if _is_there(layers)
    }
    if _is_there(lone := held["attentions"]):
        array = _maps("attentions", lone, batch)
        read = pieces["tokens"] or pieces["target"]
        n = len(read) or array.shape[-1]
        own = array[..., -n:, -n:] if padding == "left" else array[..., :n, :n]
        sees_later = not maps and np.triu(own, 1).any()
        stack = (
            "cross"
            if array.shape[-2] != array.shape[-1]
            else "encoder_self"
            if sees_later
            else "decoder_self"
        )
        if stack == "decoder_self" and not maps:
            pieces |= {"tokens": (), "target": read}
        maps[stack] = array
        given[stack] = lone
    if not maps:
        raise UserError(
            'There are no attentions in this output; load the model with attn_implementation="eager", and '
            "call it with output_attentions=True."
        )
    rows = [array.shape[-2] for stack, array in maps.items() if stack != "encoder_self"]
    if any(map(_is_steps, given.values())) and len(pieces["target"]) - 1 in rows:
        pieces |= {"target": pieces["target"][:-1], "predicted": pieces["target"][1:]}
    for stack, (asking, seen) in SIDES.items():
        maps[stack] = (
            _fitted(stack, maps[stack], pieces[asking], pieces[seen], padding)
            if stack in maps
            else NOTHING
        )
    if (count := sum(array.size for array in maps.values())) > MOST:
        raise UserError(
            f"The attentions are {count:,} numbers, and a page holds {MOST:,}; pass fewer layers, or only "
            f'one stack, as with {{"cross": output.cross_attentions}}.'
        )
    return Trace(
        pieces["tokens"],
        pieces["target"],
        pieces["predicted"],
        (),
        maps["encoder_self"],
        maps["decoder_self"],
        maps["cross"],
        NO_NORMS,
        NO_NORMS,
        NO_NORMS,
        text,
        (),
    )


def _read(path: Path) -> Any:
    """Read the JSON of `xformer explain`."""
    # RecursionError: thousands of nested brackets
    with refusing(
        (OSError, ValueError, RecursionError),
        lambda error: (
            f"The file {path} cannot be read as the JSON that “xformer explain --json” writes: {error}."
        ),
    ):
        if fault := unread(path, MOST_BYTES):
            raise ValueError(f"it {fault}")
        return json.loads(path.read_text(encoding="utf-8"))


def _pieces(side: str, given: Any) -> tuple[str, ...]:
    """The pieces of one side; none where it is None."""
    with refusing(
        (TypeError, ValueError),
        (
            f"{side} must be pieces of text, as tokenizer.convert_ids_to_tokens(ids) gives them."
        ),
    ):
        pieces = () if given is None else tuple(given)
        if isinstance(given, str) or not all(
            isinstance(piece, str) for piece in pieces
        ):
            raise ValueError("no pieces")
        return pieces


def _is_there(layers: Any) -> bool:
    """Whether there are arrays: with fused attention an output has None in their place,
    or a tuple of None."""
    sized = hasattr(layers, "__len__")
    return layers is not None and not (
        sized and (len(layers) == 0 or any(one is None for one in layers))
    )


def _is_steps(layers: Any) -> bool:
    first = (
        layers[0] if _is_there(layers) and isinstance(layers, (tuple, list)) else None
    )
    return (
        isinstance(first, (tuple, list))
        and len(first) > 0
        and hasattr(first[0], "shape")
    )


def _maps(name: str, layers: Any, batch: int) -> np.ndarray:
    """The maps (layers, H, Q, K) of one text, float32."""

    def of_text(layer: Any) -> np.ndarray:
        array = np.asarray(
            layer.detach().float().cpu() if hasattr(layer, "detach") else layer,
            dtype=np.float32,
        )
        if array.ndim not in (3, 4) or (
            array.ndim == 4 and not 0 <= batch < len(array)
        ):
            raise ValueError(
                f"a layer has the shape {array.shape}, and batch, from 0, is {batch}; pass (heads, "
                "queries, keys) or (batch, heads, queries, keys)"
            )
        return array[batch] if array.ndim == 4 else array

    with refusing(
        (TypeError, ValueError),
        lambda error: (
            f"{name} cannot be read as layers of one shape: {str(error)[:200]}."
        ),
    ):
        if not _is_steps(layers):
            return np.stack([of_text(layer) for layer in layers])
        steps = [np.stack([of_text(layer) for layer in step]) for step in layers]
        most = steps[-1].shape[-1]
        return np.concatenate(
            [
                np.pad(step, (*3 * [(0, 0)], (0, most - step.shape[-1])))
                for step in steps
            ],
            axis=-2,
        )


def _fitted(
    name: str, array: np.ndarray, rows: Sequence[str], keys: Sequence[str], padding: str
) -> np.ndarray:
    """Leave padding out of maps (layers, H, Q, K); refuse what its pieces do not fit,
    or no probability."""
    for axis, pieces, what in ((-2, rows, "queries"), (-1, keys, "keys")):
        size = array.shape[axis]
        kept = len(pieces) or array.shape[axis]
        if size < kept or (size > kept and padding not in ("left", "right")):
            raise UserError(
                f"{name} has {size} {what} for {kept} pieces; name all that the model was given, special "
                'ones too, or say padding="right" (or "left") if the rest is padding.'
            )
        array = array.take(
            range(size - kept, size) if padding == "left" else range(kept), axis=axis
        )
    sums = array.sum(axis=-1)
    for wrong, said in (
        (~np.isfinite(sums), "a number that is not finite"),
        ((array < 0).any(axis=-1), "a negative number: scores, and no probabilities"),
        (
            abs(sums - 1) > FAR,
            "a row that does not sum to 1: call model.eval(), and cut no key off",
        ),
    ):
        for layer, head, _ in np.argwhere(wrong)[:1]:
            raise UserError(f"{name}, layer {layer + 1}, head {head + 1}, has {said}.")
    return array
