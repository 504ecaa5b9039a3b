"""A small transformer in the way of a lecture: its matrices multiply all ten words of a
sentence at once (Kak and Bouman, "Transformers: Learning with Purely Attention Based
Networks", 2023, TransformerFG).

Axes: B batch, N words of a sentence, marks counted, M width of a word's vector, H
heads, s = M / H, V words of a language. Three more things are the lecture's, not the
paper's: the softmax goes over the queries, it is divided by sqrt(s) only afterwards,
and no residual connection goes around the cross-attention.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SOS = 0
EOS = 1  # stands after a sentence, until it has N words


@dataclass(frozen=True)
class Config:
    """What fixes the shape of a model, and what its decoder sees."""

    source_words: int  # of the vocabulary, the two marks counted
    target_words: int
    masked: bool  # does the decoder see only words before that which it is to write?
    words: int = 10
    d_model: int = 32
    n_heads: int = 4
    n_layers: int = 1  # of the encoder, and of the decoder

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class Head(nn.Module):
    """One head: three matrices, each of N s by N s numbers."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        size = config.d_model // config.n_heads
        self.shape = (config.words, size)
        self.q, self.k, self.v = (
            nn.Linear(config.words * size, config.words * size) for _ in range(3)
        )

    def forward(self, x: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """A slice x [B, N, s] and the slice that it looks at -> the answer [B, N, s],
        and the weights [B, N, N]."""
        q = self.q(x.flatten(1)).unflatten(1, self.shape)
        k, v = (
            one(seen.flatten(1)).unflatten(1, self.shape) for one in (self.k, self.v)
        )
        weights = (q @ k.mT).softmax(dim=-2) * self.shape[1] ** -0.5
        return weights @ v, weights


class Attention(nn.Module):
    """Heads, each with a slice of every word's vector; their answers side by side."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Head(config) for _ in range(config.n_heads))

    def forward(self, x: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """x [B, N, M], seen [B, N, M] -> [B, N, M], and the weights [B, H, N, N]"""
        slices = zip(
            x.chunk(len(self.heads), dim=-1),
            seen.chunk(len(self.heads), dim=-1),
            strict=True,
        )
        answers, weights = zip(
            *(head(*one) for head, one in zip(self.heads, slices, strict=True)),
            strict=True,
        )
        return torch.cat(answers, dim=-1), torch.stack(weights, dim=1)


class FeedForward(nn.Module):
    """Two matrices, N M by 2 N M, that mix all words of a sentence."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.words * config.d_model
        self.inner = nn.Linear(width, 2 * width)
        self.outer = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(F.relu(self.inner(x.flatten(1)))).view(x.shape)


class EncoderLayer(nn.Module):
    """The lecture's BasicEncoder: 4 heads of 6 tensors, and 8 more."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.attention_norm = nn.LayerNorm(config.d_model)
        self.feed_forward = FeedForward(config)
        self.feed_norm = nn.LayerNorm(config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        x = self.attention_norm(x + self.attention(x, x)[0])
        return self.feed_norm(x + self.feed_forward(x))


class DecoderLayer(nn.Module):
    """The lecture's BasicDecoder: twice 4 heads of 6 tensors, and 10 more."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.attention_norm = nn.LayerNorm(config.d_model)
        self.cross = Attention(config)
        self.cross_norm = nn.LayerNorm(config.d_model)
        self.feed_forward = FeedForward(config)
        self.feed_norm = nn.LayerNorm(config.d_model)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """x [B, N, M] -> [B, N, M], and the weights [B, H, N, N] of its self-attention."""
        answer, own = self.attention(x, x)
        x = self.attention_norm(x + answer)
        x = self.cross_norm(self.cross(x, memory)[0])
        return self.feed_norm(x + self.feed_forward(x)), own


class WholeSentence(nn.Module):
    """The model: place t of its output says what word t is, of an input whose place t
    is that word; only a mask hides it."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.source = nn.Embedding(config.source_words, config.d_model)
        self.target = nn.Embedding(config.target_words, config.d_model)
        self.encoder = nn.ModuleList(
            EncoderLayer(config) for _ in range(config.n_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(config) for _ in range(config.n_layers)
        )
        self.out = nn.Linear(config.d_model, config.target_words)

    def encode(self, source: Tensor) -> Tensor:
        """source [B, N] -> [B, N, M]"""
        x = self.source(source)
        for layer in self.encoder:
            x = layer(x)
        return x

    def decode(
        self, x: Tensor, memory: Tensor, maps: list[Tensor] | None = None
    ) -> Tensor:
        """Embedded words x [B, N, M] -> the state [B, N, M] of each place. maps gets
        the weights of each layer's self-attention, [B, H, N, N]."""
        for layer in self.decoder:
            x, own = layer(x, memory)
            if maps is not None:
                maps.append(own)
        return x

    def hidden(self, target: Tensor, before: int) -> Tensor:
        """Embed target [B, N], with zeros from place `before` on."""
        places = torch.arange(target.shape[1], device=target.device)
        return self.target(target) * (places < before)[:, None]

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """source [B, N], target [B, N] -> logits [B, N - 1, V] of words 1, 2, ...: from
        one pass over the whole target without a mask; with it from N - 1 passes, of
        which each has one word more."""
        memory = self.encode(source)
        if not self.config.masked:
            states = self.decode(self.target(target), memory)[:, 1:]
            return self.out(states)
        ends = range(1, self.config.words)
        given = torch.cat([self.hidden(target, end) for end in ends])
        states = self.decode(given, memory.repeat(len(ends), 1, 1))
        states = states.unflatten(0, (len(ends), -1))
        return self.out(
            torch.stack([states[i, :, end] for i, end in enumerate(ends)], dim=1)
        )

    def stub(self, rows: int) -> Tensor:
        """What DLStudio gives the decoder where a sentence is to be translated: SOS EOS
        EOS ... [B, N]"""
        found = torch.full((rows, self.config.words), EOS)
        found[:, 0] = SOS
        return found

    @torch.inference_mode()
    def write_at_once(self, source: Tensor) -> Tensor:
        """source [B, N] -> words [B, N], all from one stub, as DLStudio tests: no word
        knows of the others. The first is EOS, as there."""
        words = self(source, self.stub(len(source))).argmax(dim=-1)
        return F.pad(words, (1, 0), value=EOS)

    @torch.inference_mode()
    def write_in_turn(self, source: Tensor) -> Tensor:
        """source [B, N] -> words [B, N]: each is given to the decoder before the next
        is written. The first is SOS."""
        memory = self.encode(source)
        words = self.stub(len(source))
        for place in range(1, self.config.words):
            given = (
                self.hidden(words, place) if self.config.masked else self.target(words)
            )
            words[:, place] = self.out(self.decode(given, memory)[:, place]).argmax(-1)
        return words
