"""The task of training a language model: windows of text, next-piece loss, perplexity on held-out text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from xformer.classifier import LanguageModel
from xformer.hub import checkpoint
from xformer.tokenizer import Tokenizer
from xformer.training.data.reviews import Windows
from xformer.training.loss import SmoothedCrossEntropy


class LanguageModelTask:
    """The `loop.Task` of generative pre-training (Radford et al. 2018, equation 1).

    The best weights are those with the lowest perplexity on held-out text.
    """

    score = "log_likelihood"

    def __init__(self, model: LanguageModel, tokenizer: Tokenizer, data: Windows,
                 held_out: Sequence[Sequence[np.ndarray]]) -> None:
        """Take the model, its training windows, and batches of held-out windows [length + 1]."""
        self.model, self.tokenizer, self.data, self.held_out = model, tokenizer, data, held_out

    def batches(self, epoch: int, skip: int) -> Iterator[list[np.ndarray]]:
        return self.data.epoch(epoch, skip)

    def weight(self, batch: Sequence[np.ndarray]) -> int:
        return sum(len(window) - 1 for window in batch)

    def loss(self, model: nn.Module, batch: Sequence[np.ndarray], device: torch.device) -> Tensor:
        """Sum the cross-entropy of each piece given those before it in its window."""
        windows = torch.from_numpy(np.stack(batch)).long().to(device)
        logits = model(windows[:, :-1])
        return SmoothedCrossEntropy.apply(logits.flatten(0, 1), windows[:, 1:].flatten(), 0.0)

    @torch.inference_mode()
    def evaluate(self, precision: str = "float32") -> dict[str, float]:
        """Score held-out text, in full precision: the mean log-likelihood of a piece in nats, and the perplexity, which
        is e to minus that."""
        device = self.model.embedding.weight.device
        total = sum(float(self.loss(self.model, batch, device)) for batch in self.held_out)
        mean = total / sum(map(self.weight, self.held_out))
        return {"log_likelihood": round(-mean, 4), "perplexity": round(math.exp(min(mean, 700.0)), 2)}

    def save(self, folder: Path, metrics: dict[str, Any]) -> None:
        checkpoint.save(folder, self.model, self.tokenizer, metrics)
