"""Follow the states of a sentence through a transformer, sub-layer by sub-layer, with the model's own functions.

Axes as in `model.py`. Nothing is stored on the model.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from xformer.explain.passes import Pair
from xformer.model import FeedForward, Residual, Transformer, future_mask
from xformer.results import Message, Stream, Sublayer, UserError
from xformer.tokenizer import Tokenizer

SIDES = ("encoder", "decoder")


class _Follower:
    """The state as it passes through the layers, and a record of what each sub-layer does to it."""

    def __init__(self, x: Tensor) -> None:
        self.x, self.sublayers, self.moved = x, list[Sublayer](), 0.0

    def go(self, layer: int, name: str, residual: Residual, sublayer: Callable[[Tensor], Tensor]) -> None:
        """Run one sub-layer through its residual, and record it."""
        found: dict[str, Tensor] = {}

        def watched(y: Tensor) -> Tensor:
            found["read"], found["added"] = y, sublayer(y)
            return found["added"]

        state, self.x = self.x, residual(self.x, watched)
        hidden = None
        if isinstance(sublayer, FeedForward):
            hidden = _numpy(F.relu(sublayer.inner(found["read"])))
            backwards = sublayer(found["read"].flip(1)).flip(1)
            self.moved = max(self.moved, float((backwards - found["added"]).abs().max()))
        normed = found["read"] if residual.order == "pre" else self.x
        norm: Any = residual.norm
        self.sublayers.append(Sublayer(
            layer, name, _numpy(state), _numpy(found["added"]), _numpy(normed), _numpy(self.x),
            norm.weight.float().cpu().numpy(), norm.bias.float().cpu().numpy(), hidden))


def _numpy(x: Tensor) -> np.ndarray:
    return x[0].float().cpu().numpy()


@torch.inference_mode()
def follow(model: Transformer, tokenizer: Tokenizer, pair: Pair, side: str) -> Stream:
    """Answer `results.Follow`; a state begins as embedding plus position. Raises UserError if there is no such side."""
    if side not in SIDES:
        raise UserError(Message.of("first_error_side", side=side, sides=", ".join(SIDES)))
    device = model.embedding.weight.device
    encoder: Any = model.encoder.layers
    decoder: Any = model.decoder.layers
    source, given = (torch.tensor([tokens], device=device) for tokens in (pair.source, pair.given))
    if side == "encoder":
        way = _Follower(model.embedding(source))
        for number, layer in enumerate(encoder, 1):
            way.go(number, "self_attention", layer.self_residual, layer.self_attention)
            way.go(number, "feed_forward", layer.feed_residual, layer.feed_forward)
        return Stream(tuple(tokenizer.pieces(pair.source)), (), model.config.norm, tuple(way.sublayers), way.moved,
                      _numpy(model.encoder.norm(way.x)))
    memory, memory_mask = model.encode(source)
    mask, way = future_mask(len(pair.given), device), _Follower(model.embedding(given))
    for number, layer in enumerate(decoder, 1):
        keys_values = layer.cross_attention.keys_values(memory)
        way.go(number, "self_attention", layer.self_residual, partial(layer.self_attention, mask=mask))
        way.go(number, "cross_attention", layer.cross_residual,
               partial(layer.cross_attention, mask=memory_mask, memory=keys_values))
        way.go(number, "feed_forward", layer.feed_residual, layer.feed_forward)
    pieces, predicted = (tuple(tokenizer.pieces(tokens)) for tokens in (pair.given, pair.predicted))
    return Stream(pieces, predicted, model.config.norm, tuple(way.sublayers), way.moved,
                  _numpy(model.decoder.norm(way.x)))
