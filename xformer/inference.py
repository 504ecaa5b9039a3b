"""What makes answers quick on a CPU: packed weights, a network for the steps of a
search whose layers are bare functions, and sources encoded a few at a time.

Nothing here changes an answer but in its last bits; tests hold each quick way equal to
the plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xformer.pieces import PAD
from xformer.products import Product, usable

if TYPE_CHECKING:  # the models are built on this module
    from xformer.model import Heads, Memory, PastKeyValues, Transformer

ENCODED = 16  # rows that a CPU encodes at a time, for a search

Function = Callable[..., Tensor]
N = TypeVar("N", bound="Packable")


class Linear(nn.Linear):
    """`nn.Linear` that can multiply some rows of W only, and whose weights can be
    packed."""

    products: Any = None  # of first and last row its `Product`, once it is packed
    quantised = False
    steps = False  # whether it is of a network for the steps of a search

    def forward(self, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """x [..., in] -> [..., last - first]"""
        if self.products is not None and usable():
            return self.product(first, last)(x, self.steps)
        # a slice of the whole would make its backward pass copy the whole gradient
        if not (first or last):
            return F.linear(x, self.weight, self.bias)
        return F.linear(x, self.weight[first:last], self.bias[first:last])

    def product(self, first: int = 0, last: int | None = None) -> Any:
        """That of some rows of W, once it is packed."""
        if (first, last) not in self.products:
            self.products[first, last] = Product(
                self.weight[first:last], self.bias[first:last], self.quantised
            )
        return self.products[first, last]

    def pack(self, quantised: bool) -> None:
        """Make inference faster, see `Packable.pack`."""
        self.products = {(0, None): Product(self.weight, self.bias, quantised)}
        self.quantised = quantised
        self.products[0, None].measure()


class Stack(nn.Module):
    """An encoder or a decoder, of layers and a norm: the base of both."""

    # what `flatten` makes of it, once it is packed for the steps of a search
    flat: Function | None = None


def needed(mask: Tensor | None) -> Tensor | None:
    """None for a mask that hides nothing: without one attention takes half of the
    time."""
    return None if mask is None or mask.all() else mask


def flatten(stack: Any) -> Function:
    """A pass with all heads, of which nothing is recorded, by bare functions: in a step
    of one sentence the calls of modules take longer than what they compute. Each
    function does what the module of its name does in `model.py`."""

    def normalise(norm: nn.Module) -> Any:
        if not isinstance(norm, nn.LayerNorm):
            return norm
        shape = list(norm.normalized_shape)
        weight = norm.weight.detach()
        bias = norm.bias.detach()
        eps = norm.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, eps)

    def residual(of: Any, sublayer: Function) -> Function:
        norm = normalise(of.norm)
        if of.order == "pre":
            return lambda x, *given: x + sublayer(norm(x), *given)
        return lambda x, *given: norm(x + sublayer(x, *given))

    def self_attention(of: Any) -> Function:
        w_qkv = of.in_proj.product()
        w_o = of.out_proj.product()
        heads = of.n_heads

        def attend(
            x: Tensor, mask: Tensor | None, past: PastKeyValues | None
        ) -> Tensor:
            # [3, N, H, L, d]
            projected = (
                w_qkv(x, True).view(*x.shape[:2], 3, heads, -1).permute(2, 0, 3, 1, 4)
            )
            k, v = projected[1:] if past is None else past.extend(projected[1:])
            return w_o(
                F.scaled_dot_product_attention(projected[0], k, v, mask)
                .transpose(1, 2)
                .reshape(x.shape),
                True,
            )

        return attend

    def cross_attention(of: Any) -> Function:
        w_q = of.in_proj.product(last=of.d_model)
        w_o = of.out_proj.product()
        heads = of.n_heads

        def attend(x: Tensor, memory: Memory) -> Tensor:
            k, v = memory.keys_values
            # [B, H, n Q, d]
            q = w_q(x, True).view(len(k), -1, heads, k.shape[-1]).transpose(1, 2)
            return w_o(
                F.scaled_dot_product_attention(q, k, v, memory.mask)
                .transpose(1, 2)
                .reshape(x.shape),
                True,
            )

        return attend

    def feed_forward(of: Any) -> Function:
        inner = of.inner.product()
        outer = of.outer.product()
        activation = of.activation
        return lambda x: outer(activation(inner(x, True)), True)

    layers = []
    finish = normalise(stack.norm)
    for one in stack.layers:
        cross = hasattr(one, "cross_attention") and residual(
            one.cross_residual, cross_attention(one.cross_attention)
        )
        layers.append(
            (
                residual(one.self_residual, self_attention(one.self_attention)),
                cross,
                residual(one.feed_residual, feed_forward(one.feed_forward)),
            )
        )

    def through(
        x: Tensor, mask: Tensor | None, pasts: Any, memories: Sequence[Memory] = ()
    ) -> Tensor:
        mask = needed(mask)
        for i, (attend, look_across, feed) in enumerate(layers):
            x = attend(x, mask, pasts[i] if pasts else None)
            x = feed(look_across(x, memories[i]) if look_across else x)
        return finish(x)

    return through


class Packable(nn.Module):
    """A network that can be made ready for inference: the base of all models."""

    embedding: Any  # whose weight is the output's too
    output: Product | None = None  # with that weight, once it is packed
    # once it is packed: a network of the same weights, for the steps of a search
    twin: Any = None
    steps = False  # whether this is such a twin

    @property
    def stepping(self: N) -> N:
        """The network that takes the steps of a search, see `products.py`: itself as
        long as it is not packed."""
        twin: N | None = self.twin
        return self if twin is None else twin

    def unembed(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """x [..., D] times the weight [V, D] of the embeddings, and its bias [V] if
        there is one -> [..., V]"""
        return (
            F.linear(x, weight, bias)
            if self.output is None or not usable()
            else self.output(x, self.steps)
        )

    def pack(self, quantised: bool = False) -> None:
        """Make inference in float32 on a CPU faster, for the price of copies of the
        weights, see `products.py`.

        Call it last: the copies do not follow when the weights change or move.
        Elsewhere than in float32 on a CPU the model stays as it is. Results differ in
        the last bits; with `quantised`, in 8 bits, by 0.015 nats a piece of a
        translation on average, and 0.13 in one of a hundred.
        """
        weight: Tensor = self.embedding.weight
        if weight.device.type != "cpu" or weight.dtype != torch.float32:
            return
        self.__dict__.pop("twin", None)  # of an earlier call
        twin = deepcopy(
            self,
            {id(shared): shared for shared in (*self.parameters(), *self.buffers())},
        ).eval()
        self.output = twin.output = Product(
            weight, getattr(self, "output_bias", None), quantised
        )
        self.output.measure()
        # a stack after its layers
        for mine, its in reversed([*zip(self.modules(), twin.modules(), strict=True)]):
            if isinstance(mine, Linear) and isinstance(its, Linear):
                mine.pack(quantised)
                its.products = mine.products
                its.quantised = quantised
                its.steps = True
            if isinstance(its, Stack):
                its.flat = flatten(its)
        twin.steps = True
        # not as one of its modules, whose weights would be counted and saved again
        self.__dict__["twin"] = twin


def encode(
    model: Transformer,
    source: Tensor,
    heads: Heads | None = None,
    positions: Tensor | None = None,
) -> Tensor:
    """source [B, S], sorted by length -> memory [B, S, D], 0 where nothing but padding
    stands.

    A CPU multiplies padding too: a few rows at a time need only as much as the longest
    of them.
    """
    if len(source) == 1:
        return model.encode(source, heads=heads, positions=positions)[0]
    size = ENCODED if source.device.type == "cpu" else len(source)
    memory = model.embedding.weight.new_zeros(*source.shape, model.config.d_model)
    for first in range(0, len(source), size):
        rows = source[first : first + size]
        longest = int((rows != PAD).sum(dim=1).max())
        memory[first : first + size, :longest] = model.encode(
            rows[:, :longest], heads=heads, positions=positions
        )[0]
    return memory
