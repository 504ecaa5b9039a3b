"""What makes answers quick on a CPU: packed weights, a network for the steps of a search, sources encoded a few at a
time, and cross-attention to a short sentence with its projections multiplied in.

Nothing here changes an answer but in its last bits; tests hold each quick way equal to the plain one.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xformer.pieces import PAD
from xformer.products import Product, usable

if TYPE_CHECKING:  # the models are built on this module
    from xformer.model import Attention, Heads, LayerHeads, Memory, Record, Transformer

ENCODED = 16  # rows that a CPU encodes at a time, for a search

N = TypeVar("N", bound="Packable")


class Linear(nn.Linear):
    """`nn.Linear` that can multiply some rows of W only, and whose weights can be packed."""

    products: dict[tuple[int, int | None], Product] | None = None  # by first and last row, once it is packed
    quantised = False
    steps = False  # whether it is of a network for the steps of a search

    def forward(self, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """x [..., in] -> [..., last - first]"""
        weight: Tensor = self.weight
        bias: Tensor = self.bias
        if first or last:  # a slice of the whole would make its backward pass copy the whole gradient
            weight, bias = weight[first:last], bias[first:last]
        if self.products is None or not usable():
            return F.linear(x, weight, bias)
        if (first, last) not in self.products:
            self.products[first, last] = Product(weight, bias, self.quantised)
        return self.products[first, last](x, self.steps)

    def pack(self, quantised: bool) -> None:
        """Make inference faster, see `Packable.pack`."""
        self.products, self.quantised = {(0, None): Product(self.weight, self.bias, quantised)}, quantised
        self.products[0, None].measure()


class Packable(nn.Module):
    """A network that can be made ready for inference: the base of all models."""

    embedding: Any  # whose weight is the output's too
    output: Product | None = None  # with that weight, once it is packed
    twin: Any = None  # once it is packed: a network of the same weights, for the steps of a search
    steps = False  # whether this is such a twin

    @property
    def stepping(self: N) -> N:
        """The network that takes the steps of a search: its twin, or itself as long as it is not packed.

        Products of the two are by ways of their own, see `products.py`.
        """
        twin: N | None = self.twin
        return self if twin is None else twin

    def unembed(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """x [..., D] times the weight [V, D] of the embeddings, and its bias [V] if there is one -> [..., V]"""
        return F.linear(x, weight, bias) if self.output is None or not usable() else self.output(x, self.steps)

    def pack(self, quantised: bool = False) -> None:
        """Make inference in float32 on a CPU faster, for the price of copies of the weights, see `products.py`.

        Call it last: the copies do not follow when the weights change or move. Elsewhere than in float32 on a CPU the
        model stays as it is. Results differ in the last bits; with `quantised`, in 8 bits, by 0.015 nats a
        piece of a translation on average, and 0.13 in one of a hundred.
        """
        weight: Tensor = self.embedding.weight
        if weight.device.type != "cpu" or weight.dtype != torch.float32:
            return
        self.__dict__.pop("twin", None)  # of an earlier call
        twin = deepcopy(self, {id(shared): shared for shared in (*self.parameters(), *self.buffers())}).eval()
        self.output = twin.output = Product(weight, getattr(self, "output_bias", None), quantised)
        self.output.measure()
        for mine, its in zip(self.modules(), twin.modules(), strict=True):
            if isinstance(mine, Linear) and isinstance(its, Linear):
                mine.pack(quantised)
                its.products, its.quantised, its.steps = mine.products, quantised, True
        twin.steps = True
        self.__dict__["twin"] = twin  # not as one of its modules, whose weights would be counted and saved again


def encode(model: Transformer, source: Tensor, heads: Heads | None = None, positions: Tensor | None = None) -> Tensor:
    """source [B, S], sorted by length -> memory [B, S, D], 0 where nothing but padding stands.

    A CPU multiplies padding too: a few rows at a time need only as much as the longest of them.
    """
    size = ENCODED if source.device.type == "cpu" else len(source)
    memory = model.embedding.weight.new_zeros(*source.shape, model.config.d_model)
    for first in range(0, len(source), size):
        rows = source[first:first + size]
        longest = int((rows != PAD).sum(dim=1).max())
        memory[first:first + size, :longest] = model.encode(rows[:, :longest], heads=heads, positions=positions)[0]
    return memory


class Absorbed(NamedTuple):
    """What cross-attention looks at, with the projections of its queries and of its answers multiplied in.

    q_h . k_hs = x . (W_Q,h^T k_hs) + b_Q,h . k_hs, and head h adds the sum over s of p_hs (W_O,h v_hs). Of one short
    sentence these are fewer numbers than W_Q and W_O, which each step would read (as in section 2.1.2 of DeepSeek-V2,
    2024).
    """

    keys: Tensor  # [D, H S], divided by sqrt(d)
    bias: Tensor  # [H S]
    values: Tensor  # [H S, D]

    def attend(self, attention: Attention, x: Tensor, record: Record | None = None, heads: LayerHeads | None = None
               ) -> Tensor:
        """What `Memory.attend` answers: x [N, Q, D] -> [N, Q, D], all of them hypotheses of one sentence.

        Nothing is recorded, and heads weigh by equation 1 only.
        """
        scores = torch.addmm(self.bias, x.flatten(0, 1), self.keys)  # [N Q, H S]
        probabilities = scores.unflatten(1, (attention.n_heads, -1)).softmax(dim=-1)  # [N Q, H, S]
        if heads is not None:
            probabilities = probabilities * heads.keep[:, None]
        return torch.addmm(attention.out_proj.bias, probabilities.flatten(1), self.values).view(x.shape)

    def select(self, sentences: Tensor) -> Absorbed:
        """That of the one sentence there is."""
        return self


def absorb(attention: Attention, keys_values: Tensor) -> Absorbed:
    """Multiply the projections of an attention with the keys and values [2, 1, H, S, d] of one sentence."""
    k, v = keys_values[:, 0]  # [H, S, d]
    by_head = (attention.n_heads, k.shape[-1], -1)
    w_q, b_q = (whole[:attention.d_model].view(by_head) for whole in (attention.in_proj.weight, attention.in_proj.bias))
    w_o = attention.out_proj.weight.t().reshape(by_head)
    k = k * k.shape[-1] ** -0.5
    return Absorbed((k @ w_q).flatten(0, 1).t().contiguous(), (k @ b_q).flatten(), (v @ w_o).flatten(0, 1))


def absorbed(model: Transformer, memories: list[Memory], heads: Heads | None = None) -> Sequence[Memory | Absorbed]:
    """What the layers of the decoder look at, absorbed where the model is packed and the sentence is one and short."""
    _, sentences, n_heads, length, _ = memories[0].keys_values.shape
    few = sentences == 1 and length * n_heads <= model.config.d_model
    equation_1 = heads is None or not heads.weigh  # which alone is what `Absorbed` computes
    if not (few and equation_1 and model.output is not None and usable()):
        return memories
    layers: Any = model.decoder.layers
    return [absorb(layer.cross_attention, memory.keys_values) for layer, memory in zip(layers, memories, strict=True)]
