"""Follow the states of a sentence through a transformer, sub-layer by sub-layer, with the model's own functions.

Axes as in `model.py`. Nothing is stored on the model.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xformer.explain.passes import Pair
from xformer.model import FeedForward, Residual, Transformer, future_mask
from xformer.results import Message, Stream, Sublayer, UserError
from xformer.tokenizer import Tokenizer

SIDES = ("encoder", "decoder")


def _numpy(x: Tensor) -> np.ndarray:
    return x[0].float().cpu().numpy()


@torch.inference_mode()
def follow(model: Transformer, tokenizer: Tokenizer, pair: Pair, side: str) -> Stream:
    """Answer `results.Follow`; a state begins as embedding plus position. Raises UserError if there is no such side."""
    if side not in SIDES:
        raise UserError(Message.of("first_error_side", side=side, sides=", ".join(SIDES)))
    device, stack = model.embedding.weight.device, getattr(model, side)
    read, mask = (pair.source, None) if side == "encoder" else (pair.given, future_mask(len(pair.given), device))
    x, sublayers, moved = model.embedding(torch.tensor([read], device=device)), list[Sublayer](), 0.0

    def go(layer: int, name: str, residual: Residual, sublayer: Callable[[Tensor], Tensor]) -> None:
        """Run one sub-layer through its residual, and record what it does to the state."""
        nonlocal x, moved
        found: dict[str, Tensor] = {}

        def watched(y: Tensor) -> Tensor:
            found["read"], found["added"] = y, sublayer(y)
            return found["added"]

        state, x, hidden = x, residual(x, watched), None
        if isinstance(sublayer, FeedForward):
            hidden = _numpy(sublayer.activation(sublayer.inner(found["read"])))
            backwards = sublayer(found["read"].flip(1)).flip(1)
            moved = max(moved, float((backwards - found["added"]).abs().max()))
        norm: Any = residual.norm
        sublayers.append(Sublayer(
            layer, name, _numpy(state), _numpy(found["added"]), _numpy(found["read"] if residual.order == "pre" else x),
            _numpy(x), norm.weight.float().cpu().numpy(), norm.bias.float().cpu().numpy(), hidden))

    if side == "decoder":
        memory, memory_mask = model.encode(torch.tensor([pair.source], device=device))
    for number, layer in enumerate(stack.layers, 1):
        go(number, "self_attention", layer.self_residual, partial(layer.self_attention, mask=mask))
        if side == "decoder":
            go(number, "cross_attention", layer.cross_residual, partial(
                layer.cross_attention, mask=memory_mask, memory=layer.cross_attention.keys_values(memory)))
        go(number, "feed_forward", layer.feed_residual, layer.feed_forward)
    predicted = pair.predicted if side == "decoder" else []
    return Stream(tuple(tokenizer.pieces(read)), tuple(tokenizer.pieces(predicted)), model.config.norm,
                  tuple(sublayers), moved, _numpy(stack.norm(x)))
