"""Label-smoothed cross-entropy, which all tasks train with, and what it is of who only guesses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from xformer.pieces import EOS, PAD


class SmoothedCrossEntropy(torch.autograd.Function):
    """Sum label-smoothed cross-entropies: logits [N, V], wanted [N] (PAD: not counted) -> a scalar.

    Equals `F.cross_entropy(…, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)`, but makes the gradient,
    softmax(logits) minus the smoothed target, already in the forward pass, in one array instead of five.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, wanted: Tensor, smoothing: float) -> Tensor:
        real = wanted != PAD
        p = logits.softmax(dim=1, dtype=torch.float32)
        log_total = logits.amax(1).float() - p.amax(1).log()  # log of the sum of exponentials
        likelihood = (1 - smoothing) * logits.gather(1, wanted[:, None])[:, 0].float()
        likelihood += smoothing * logits.mean(1, dtype=torch.float32)
        p -= smoothing / logits.shape[1]
        p.scatter_add_(1, wanted[:, None], p.new_full((len(wanted), 1), smoothing - 1))
        p *= real[:, None]
        ctx.save_for_backward(p.to(logits.dtype))
        return ((log_total - likelihood) * real).sum()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (p,) = ctx.saved_tensors
        return p * gradients[0], None, None


def guess(targets: Sequence[Sequence[int]], vocabulary: int, smoothing: float) -> float:
    """The loss, label smoothing included, of who knows only how often each target piece comes, EOS too."""
    counts = Counter(piece for target in targets for piece in (*target, EOS))
    total = sum(counts.values())
    shares = [(1 - smoothing) * counts[piece] / total + smoothing / vocabulary for piece in range(vocabulary)]
    return -sum(share * math.log(share) for share in shares if share)
