"""Follow the states of a sentence through a transformer, sub-layer by sub-layer, with
the model's own functions.

Axes as in `model.py`. Nothing is stored on the model.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from xformer.explain.passes import Pair
from xformer.model import FeedForward, Record, Residual, Transformer, future_mask
from xformer.results import Message, Stream, Sublayer, UserError
from xformer.tokenizer import Tokenizer

SIDES = ("encoder", "decoder")


class Step(NamedTuple):
    """What one sub-layer does to the states [1, L, D] of a pass, with the residual
    around it."""

    layer: int  # from 1
    name: str  # "self_attention", "cross_attention" or "feed_forward"
    sublayer: Any
    residual: Residual
    state: Tensor  # before it
    read: Tensor  # by the sub-layer
    added: Tensor  # what it answers
    after: Tensor  # the state after it
    record: Record  # of an attention's one call


def steps(model: Transformer, pair: Pair, side: str) -> Iterator[Step]:
    """Run the encoder or the decoder of a pass; a state begins as embedding plus
    position."""
    device = model.device
    decoder = side == "decoder"
    source, given = (
        torch.tensor([tokens], device=device) for tokens in (pair.source, pair.given)
    )
    memory, memory_mask = model.encode(source) if decoder else (source, None)
    x = model.embedding(given if decoder else source)
    mask = future_mask(len(pair.given), device) if decoder else None
    names = (
        "self_attention",
        *(("cross_attention",) if decoder else ()),
        "feed_forward",
    )
    for number, layer in enumerate(getattr(model, side).layers, 1):
        for name in names:
            residual: Residual = getattr(layer, f"{name.split('_')[0]}_residual")
            sublayer = getattr(layer, name)
            record = Record(calls=[])
            state = x
            read = residual.norm(x) if residual.order == "pre" else x
            if name == "self_attention":
                added = sublayer(read, mask, record=record)
            elif name == "cross_attention":
                added = sublayer(
                    read, memory_mask, sublayer.keys_values(memory), record=record
                )
            else:
                added = sublayer(read)
            x = residual(x, lambda _, added=added: added)
            yield Step(number, name, sublayer, residual, state, read, added, x, record)


def _numpy(x: Tensor) -> np.ndarray:
    return x[0].float().cpu().numpy()


@torch.inference_mode()
def follow(model: Transformer, tokenizer: Tokenizer, pair: Pair, side: str) -> Stream:
    """Answer `results.Follow`. Raises UserError if there is no such side."""
    if side not in SIDES:
        raise UserError(
            Message.of("first_error_side", side=side, sides=", ".join(SIDES))
        )
    sublayers = list[Sublayer]()
    moved = 0.0
    x = torch.empty(0)
    for one in steps(model, pair, side):
        x = one.after
        hidden = None
        norm = one.residual.norm
        if isinstance(one.sublayer, FeedForward):
            hidden = _numpy(one.sublayer.activation(one.sublayer.inner(one.read)))
            backwards = one.sublayer(one.read.flip(1)).flip(1)
            moved = max(moved, float((backwards - one.added).abs().max()))
        sublayers.append(
            Sublayer(
                one.layer,
                one.name,
                _numpy(one.state),
                _numpy(one.added),
                _numpy(one.read if one.residual.order == "pre" else x),
                _numpy(x),
                norm.weight.float().cpu().numpy(),
                norm.bias.float().cpu().numpy(),
                hidden,
            )
        )
    read, predicted = (
        (pair.given, pair.predicted) if side == "decoder" else (pair.source, [])
    )
    return Stream(
        tuple(tokenizer.pieces(read)),
        tuple(tokenizer.pieces(predicted)),
        model.config.norm,
        tuple(sublayers),
        moved,
        _numpy(getattr(model, side).norm(x)),
    )
