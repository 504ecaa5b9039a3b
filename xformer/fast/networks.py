"""Make a model quick on a CPU. The code of its modules stays; what they multiply with
is exchanged, and what a call of one costs.

A packed model multiplies by packed weights in its passes over whole sentences. Beside
it stands a network of the same weights for the steps of a search. One sentence is so
little to compute that the calls of its modules would take as long, so they are called
without what `nn.Module` adds: hooks, and a search for each thing that a module holds.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from xformer.fast.products import Product, undisturbed, usable
from xformer.model import (
    Attention,
    Cache,
    Heads,
    Network,
    Transformer,
    needed,
    padding_mask,
)
from xformer.pieces import PAD
from xformer.recurrent import RecurrentTranslator, State

ENCODED = 16  # rows that are encoded at a time, for a search

N = TypeVar("N", bound=Network)


class Rows:
    """W and b of a linear layer: of any rows of W their product, packed when it is
    first asked for."""

    def __init__(self, of: nn.Linear, quantised: bool) -> None:
        self.weight = of.weight
        self.bias = of.bias
        self.quantised = quantised
        self._products: dict[tuple[int, int | None], Product] = {}

    def __call__(self, first: int = 0, last: int | None = None) -> Product:
        if (first, last) not in self._products:
            self._products[first, last] = Product(
                self.weight[first:last], self.bias[first:last], self.quantised
            )
        return self._products[first, last]


class Output(NamedTuple):
    """What a packed model has beside its modules."""

    product: Product  # with the weight of the embeddings
    steps: Any  # the network of the same weights for the steps of a search


class Quick(nn.Module):
    """What is put before the class of a module, see `_put`."""

    quick: Any  # what it multiplies with


class PackedLinear(Quick, nn.Linear):
    quick: Rows

    def forward(self, x: Tensor) -> Tensor:
        return self.quick()(x) if usable() else super().forward(x)


class PackedAttention(Quick, Attention):
    in_proj: PackedLinear

    def project(self, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        if not usable():
            return super().project(x, first, last)
        return self.in_proj.quick(first, last)(x)


class PackedNetwork(Quick, Network):
    quick: Output

    def logits(self, x: Tensor) -> Tensor:
        return self.quick.product(x) if usable() else super().logits(x)


class LinearOfSteps(Quick, nn.Linear):
    quick: Rows

    def forward(self, x: Tensor) -> Tensor:
        return self.quick().step(x)


class LayerNormOfSteps(Quick, nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        return torch.layer_norm(
            x, self.normalized_shape, self.weight, self.bias, self.eps
        )


class AttentionOfSteps(Quick, Attention):
    in_proj: LinearOfSteps

    def project(self, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        return self.in_proj.quick(first, last).step(x)


class NetworkOfSteps(Quick, Network):
    quick: Output

    def logits(self, x: Tensor) -> Tensor:
        return self.quick.product.step(x)


class TransformerOfSteps(Quick, Transformer):
    def start(
        self,
        source: Tensor,
        heads: Heads | None = None,
        positions: Tensor | None = None,
    ) -> Cache:
        """A few rows at a time need only as much as the longest of them: a CPU
        multiplies padding too. Where nothing but padding stands the memory is 0."""
        memory = self.embedding.weight.new_zeros(*source.shape, self.config.d_model)
        with undisturbed():
            for first in range(0, len(source), ENCODED):
                rows = source[first : first + ENCODED]
                rows = rows[:, : int((rows != PAD).sum(dim=1).max())]
                memory[first : first + ENCODED, : rows.shape[1]] = self.encoder(
                    self.embedding(rows, positions=positions),
                    needed(padding_mask(rows)),
                    heads=heads,
                )
            mask = needed(padding_mask(source))
            return Cache(self.decoder.memories(memory, mask), heads, positions)

    def step(self, tokens: Tensor, cache: Cache) -> Tensor:
        with undisturbed():
            return super().step(tokens, cache)


class RecurrentOfSteps(Quick, RecurrentTranslator):
    def encode(self, source: Tensor) -> State:
        with undisturbed():
            return super().encode(source)

    def step(self, tokens: Tensor, cache: State) -> Tensor:
        with undisturbed():
            return super().step(tokens, cache)


PACKED: dict[Any, Any] = {
    nn.Linear: PackedLinear,
    Attention: PackedAttention,
    Network: PackedNetwork,
}
OF_STEPS: dict[Any, Any] = {
    nn.Linear: LinearOfSteps,
    nn.LayerNorm: LayerNormOfSteps,
    Attention: AttentionOfSteps,
    Network: NetworkOfSteps,
    Transformer: TransformerOfSteps,
    RecurrentTranslator: RecurrentOfSteps,
}


def pack(model: Network, quantised: bool = False) -> None:
    """Make inference in float32 on a CPU faster, for the price of copies of the
    weights, see `products.py`.

    Call it last: the copies do not follow when the weights change or move. Elsewhere
    than in float32 on a CPU the model stays as it is. Results differ in the last bits;
    with `quantised`, in 8 bits, by 0.015 nats a piece of a translation on average, and
    0.13 in one of a hundred.
    """
    weight = model.embedding.weight
    if weight.device.type != "cpu" or weight.dtype != torch.float32:
        return
    for module in model.modules():
        _take_away(module)  # what an earlier call has put
    steps = plain(model).eval()
    output = Product(weight, getattr(model, "output_bias", None), quantised)
    output.measure()
    for mine, its in zip(model.modules(), steps.modules(), strict=True):
        if isinstance(mine, nn.Linear):
            rows = Rows(mine, quantised)
            rows().measure()
            vars(mine)["quick"] = vars(its)["quick"] = rows
        _put(mine, PACKED)
        _put(its, OF_STEPS)
        _make_bare(its)
    # not as one of the model's modules, whose weights would be counted and saved again
    vars(model)["quick"] = vars(steps)["quick"] = Output(output, steps)


def plain(model: N) -> N:
    """A copy that shares all weights, and of which nothing is packed."""
    shared: dict[int, Any] = {
        id(one): one for one in (*model.parameters(), *model.buffers())
    }
    packed = [id(vars(module).get("quick")) for module in model.modules()]
    copied = deepcopy(model, {**dict.fromkeys(packed), **shared})
    for module in copied.modules():
        _take_away(module)
    return copied


def stepping(model: N) -> N:
    """The network that takes the steps of a search: of a packed model that beside it,
    else itself. Where gradients or autocast are asked for, it is the model too."""
    if not isinstance(model, PackedNetwork) or not usable():
        return model
    steps: N = model.quick.steps
    return steps


def _put(module: nn.Module, before: dict[Any, Any]) -> None:
    """Let a module do what `before` says of its kinds, and the rest as before."""
    for kind, quick in before.items():
        if isinstance(module, kind):
            own: Any = type(module)
            module.__class__ = _both(quick, own)


def _take_away(module: nn.Module) -> None:
    """Undo `_put`."""
    kinds: list[Any] = type(module).mro()
    module.__class__ = next(kind for kind in kinds if not issubclass(kind, Quick))
    vars(module).pop("quick", None)


def _make_bare(module: nn.Module) -> None:
    """Let Python find what a module holds without `nn.Module.__getattr__`, and call its
    forward pass without `nn.Module.__call__`."""
    vars(module).update(module.named_children())
    vars(module).update(module.named_parameters(recurse=False))
    vars(module).update(module.named_buffers(recurse=False))
    own: Any = type(module)
    module.__class__ = _bare(own)


@cache
def _both(quick: Any, kind: Any) -> Any:
    """A class that does what `quick` says, and the rest as `kind`."""
    return type(kind.__name__, (quick, kind), {})


@cache
def _bare(kind: Any) -> Any:
    """The same, whose call is its forward pass."""
    return type(kind.__name__, (kind,), {"__call__": kind.forward})
