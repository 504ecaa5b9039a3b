"""Transformers with one part taken away, whose training shows what the part is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xformer.model import Attention, Config, Residual, Transformer, dropout
from xformer.training.loop import Task


class Bare(Residual):
    """A sub-layer to which nothing is added: it answers Sublayer(LayerNorm(x)), or
    LayerNorm(Sublayer(x))."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        answer = dropout(
            sublayer(self.norm(x) if self.order == "pre" else x), self.p, self.training
        )
        return answer if self.order == "pre" else self.norm(answer)


class Skipped(Residual):
    """What is left of a sub-layer that is taken away: x."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return x


class Unscaled(Attention):
    """Attention without the 1 / sqrt(d) of equation 1: its queries are multiplied by
    sqrt(d) first."""

    def split(self, x: Tensor) -> Tensor:
        parts = super().split(x)  # queries; keys and values; or all three
        if len(parts) == 2:
            return parts
        return torch.cat((parts[:1] * parts.shape[-1] ** 0.5, parts[1:]))


class ScaledAfter(Attention):
    """softmax(q k^T) / sqrt(d), as one lecture has it: what the division takes from the
    weights is taken from the values here."""

    def split(self, x: Tensor) -> Tensor:
        parts = super().split(x)
        size = parts.shape[-1] ** 0.5
        values = parts[-1:] / size
        if len(parts) == 1:  # the queries of cross-attention
            return parts * size
        if len(parts) == 2:
            return torch.cat((parts[:1], values))
        return torch.cat((parts[:1] * size, parts[1:2], values))


class Unmasked(Attention):
    """The decoder's self-attention, which in training sees the pieces that it is to
    predict."""

    def forward(
        self, x: Tensor, mask: Tensor | None = None, *others: object, **named: object
    ) -> Tensor:
        return super().forward(x, None, *others, **named)  # type: ignore[arg-type]


class Slices(nn.Module):
    """Projections of heads that each see their own slice of x alone, as one lecture has
    it: queries, keys and values of head h are made of dimensions h d to (h + 1) d."""

    def __init__(self, whole: nn.Linear, n_heads: int) -> None:
        """whole: the projections [3 D, D] of which these are a part; sqrt(H) times as
        large, so that what they make is as large."""
        super().__init__()
        size = whole.in_features // n_heads
        heads = whole.weight.detach().view(3, n_heads, size, n_heads, size)
        own = heads.diagonal(dim1=1, dim2=3).movedim(-1, 1)  # [3, H, d, d]
        self.blocks = nn.Parameter(own * n_heads**0.5)
        self.bias = whole.bias

    @property
    def weight(self) -> Tensor:
        """[3 D, D], zero outside of the slices."""
        return torch.cat([torch.block_diag(*heads) for heads in self.blocks])

    def forward(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., 3 D]"""
        return F.linear(x, self.weight, self.bias)


class Untied(Transformer):
    """The output has a matrix of its own, where section 3.4 has that of the
    embeddings."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.apart = nn.Parameter(torch.empty_like(self.embedding.weight))
        nn.init.normal_(self.apart, std=config.d_model**-0.5)

    def logits(self, x: Tensor) -> Tensor:
        return F.linear(x, self.apart)


def _become(modules: Iterable[nn.Module], kind: type[nn.Module]) -> None:
    for module in modules:
        module.__class__ = kind


def transformer(config: Config, without: str = "") -> Transformer:
    """Make a transformer without one of `results.PARTS`, or a whole one; without
    "heads", it has one head of the same width; without "slices", each head sees its
    slice of the input alone; without "before", it divides by sqrt(d) after the softmax;
    and "smoothing" is no part of the model.
    Raises ValueError for an unknown part."""
    if without == "heads":
        config = replace(config, n_heads=1)
    elif without == "dropout":
        config = replace(config, dropout=0.0)
    model = Untied(config) if without == "tying" else Transformer(config)
    layers: list[Any] = [*model.encoder.layers, *model.decoder.layers]
    residuals = [module for module in model.modules() if isinstance(module, Residual)]
    attentions = [module for module in model.modules() if isinstance(module, Attention)]
    if without == "residual":
        _become(residuals, Bare)
    elif without == "norm":
        for residual in residuals:
            residual.norm = nn.Identity()  # type: ignore[assignment]
        model.encoder.norm = model.decoder.norm = nn.Identity()
    elif without == "feed_forward":
        _become([layer.feed_residual for layer in layers], Skipped)
    elif without == "positions":
        model.embedding.positions.zero_()
    elif without == "mask":
        _become([layer.self_attention for layer in layers[config.n_layers :]], Unmasked)
    elif without in ("scaling", "before"):
        _become(attentions, Unscaled if without == "scaling" else ScaledAfter)
    elif without == "slices":
        for attention in attentions:
            attention.in_proj = Slices(attention.in_proj, attention.n_heads)  # type: ignore[assignment]
    elif without not in ("", "heads", "dropout", "smoothing", "tying"):
        raise ValueError(f"there is no part {without!r} to take away")
    return model


def depths(task: Task, batch: list[Any], device: torch.device) -> tuple[float, ...]:
    """The norm of the gradient of each layer's weights, encoder first, of the mean loss
    of a batch; no dropout."""
    task.model.eval().zero_grad(set_to_none=True)
    (task.loss(task.model, batch, device) / task.weight(batch)).backward()
    model: Any = task.model
    norms = [
        nn.utils.get_total_norm(
            [p.grad for p in layer.parameters() if p.grad is not None]
        )
        for layer in (*model.encoder.layers, *model.decoder.layers)
    ]
    model.zero_grad(set_to_none=True)
    return tuple(float(f"{float(norm):.4g}") for norm in norms)
