"""The encoder on its own: a classifier of texts, and the language model that it may
begin as.

Radford et al., "Improving Language Understanding by Generative Pre-Training" (2018): a
stack of layers with a causal mask learns to predict the next piece of texts without
labels, then is fine-tuned on texts with labels. What that paper calls a decoder without
cross-attention is the encoder of `model.py` with another mask.

Axes as there, and C labels.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xformer.model import (
    Config,
    EncoderStack,
    Heads,
    Trace,
    dropout,
    future_mask,
    padding_mask,
)
from xformer.pieces import PAD
from xformer.results import LABELS

POOLINGS = ("attention", "mean", "max")


@dataclass(frozen=True)
class LanguageModelConfig(Config):
    """The shape of a stack without a decoder."""

    @property
    def decoder_layers(self) -> int:
        return 0


@dataclass(frozen=True)
class ClassifierConfig(LanguageModelConfig):
    labels: tuple[str, ...] = LABELS
    # "attention": learned weights; "mean": equal ones; "max": of each dimension the
    # largest
    pooling: str = "attention"
    # True: a piece sees only those before it, as in the language model
    causal: bool = False
    # divides the logits; fitted on validation data (Guo et al. 2017)
    temperature: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_length < 3:
            raise ValueError(
                f"max_length is {self.max_length}; a text of one piece between its marks needs 3"
            )
        if not (
            isinstance(self.labels, (list, tuple))
            and all(isinstance(label, str) for label in self.labels)
            and len(set(self.labels)) == len(self.labels) > 1
        ):
            raise ValueError(
                f"labels are {self.labels!r}; they must be two or more different names"
            )
        object.__setattr__(self, "labels", tuple(self.labels))  # JSON knows lists only
        if self.pooling not in POOLINGS:
            raise ValueError(
                f"pooling is {self.pooling!r}; choose one of {', '.join(POOLINGS)}"
            )
        if not isinstance(self.causal, bool):
            raise ValueError(f"causal is {self.causal!r}; it must be true or false")
        if not (
            isinstance(self.temperature, (int, float))
            and 0 < self.temperature < math.inf
        ):
            raise ValueError(
                f"temperature is {self.temperature!r}; it must be a number greater than 0"
            )


class LanguageModel(EncoderStack):
    """Predicts the next piece; input and output share the embeddings."""

    config: LanguageModelConfig

    def __init__(self, config: LanguageModelConfig) -> None:
        super().__init__(config)
        self.initialise()

    def forward(
        self, tokens: Tensor, trace: Trace | None = None, heads: Heads | None = None
    ) -> Tensor:
        """tokens [B, S] beginning with BOS -> logits [B, S, V] of the piece that
        follows each"""
        # Padding stands at the end, where the future mask already hides it from every
        # real position.
        mask = future_mask(tokens.shape[1], tokens.device)
        return self.logits(self.encoder(self.embedding(tokens), mask, trace, heads))


class Pooling(nn.Module):
    """One vector for a whole text: the mean of its pieces' vectors, weighted equally or
    by what has been learned, or the largest number of each dimension.

    The learned weights are softmax(h q), one query q for all texts (Yang et al. 2016,
    without their hidden layer); it begins at 0, where the weights are equal.
    """

    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__()
        self.kind = config.pooling
        self.query = (
            nn.Parameter(torch.zeros(config.d_model))
            if config.pooling == "attention"
            else None
        )

    def forward(self, states: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """states [B, S, D], real [B, S] (False: padding) -> the text [B, D] and the
        weights [B, S], which sum to 1

        The weight of a piece in a maximum is the share of the dimensions that it gives.
        """
        if self.kind == "max":
            # [B, D] both
            text, givers = states.masked_fill(~real[..., None], -math.inf).max(dim=1)
            return text, F.one_hot(givers, real.shape[1]).to(states.dtype).mean(dim=1)
        scores = (
            states @ self.query
            if self.query is not None
            else states.new_zeros(real.shape)
        )
        weights = scores.masked_fill(~real, -math.inf).softmax(dim=-1)
        return (weights.to(states.dtype)[:, None] @ states)[:, 0], weights


class Reading(NamedTuple):
    """What a classifier made of a batch of texts."""

    logits: Tensor  # [B, C], not yet divided by the temperature
    weights: Tensor  # [B, S], of the pooling
    # [B, S, D], of each piece; with a causal mask `logits(states)` predicts the next
    # one
    states: Tensor


class TransformerClassifier(EncoderStack):
    """Encoder, pooling, linear layer."""

    config: ClassifierConfig

    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__(config)
        self.pooling = Pooling(config)
        self.head = nn.Linear(config.d_model, len(config.labels))
        self.initialise()

    def forward(
        self, tokens: Tensor, trace: Trace | None = None, heads: Heads | None = None
    ) -> Reading:
        """tokens [B, S], padded on the right"""
        real = tokens != PAD
        mask = (
            future_mask(tokens.shape[1], tokens.device)
            if self.config.causal
            else padding_mask(tokens)
        )
        states = self.encoder(self.embedding(tokens), mask, trace, heads)
        text, weights = self.pooling(states, real)
        return Reading(
            self.head(dropout(text, self.config.dropout, self.training)),
            weights,
            states,
        )

    def probabilities(self, logits: Tensor) -> Tensor:
        """logits [..., C] -> calibrated probabilities [..., C]"""
        return torch.softmax(logits.float() / self.config.temperature, dim=-1)
