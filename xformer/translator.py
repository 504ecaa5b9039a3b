"""Sentences of ids in, hypotheses out: pads, batches, and runs a search over a Transformer. No text, no threads."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import torch
from torch import Tensor

from xformer.model import Heads, Transformer
from xformer.pieces import EOS, PAD
from xformer.search import Hypothesis, Options, finish, searching


def pad(rows: Sequence[Sequence[int]], device: torch.device | None = None) -> Tensor:
    """Rows of unequal length -> [B, longest], filled up with PAD on the right."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], device=device)


class CachedScorer:
    """A `search.Scorer`: one batch of sources in the middle of being decoded with a key-value cache."""

    def __init__(self, model: Transformer, source: Tensor, heads: Heads | None = None,
                 positions: Tensor | None = None) -> None:
        self.model = model
        self.cache = model.start(source, heads, positions)

    def __call__(self, tokens: Tensor) -> Tensor:
        return self.model.step(tokens, self.cache)

    def select(self, hypotheses: Tensor, sentences: Tensor | None) -> None:
        self.cache.select(hypotheses, sentences)


def target_limit(source_length: int, max_length: int) -> int:
    """The most pieces that a translation of so many may have, EOS included: generous, for runaway loops only."""
    return min(max_length, 2 * source_length + 16)


def translate_ids(model: Transformer, sources: Sequence[Sequence[int]], options: Options | None = None,
                  prefixes: Sequence[Sequence[int]] | None = None, max_lengths: Sequence[int] | None = None,
                  batch_rows: int = 320) -> list[list[Hypothesis]]:
    """For each source (pieces without EOS) its hypotheses, best first; `translating` without a pause."""
    return finish(translating(model, sources, options, prefixes, max_lengths, batch_rows))


@torch.inference_mode()
def translating(model: Transformer, sources: Sequence[Sequence[int]], options: Options | None = None,
                prefixes: Sequence[Sequence[int]] | None = None, max_lengths: Sequence[int] | None = None,
                batch_rows: int = 320, heads: Heads | None = None, positions: Tensor | None = None
                ) -> Generator[None, None, list[list[Hypothesis]]]:
    """For each source (pieces without EOS) its hypotheses, best first; similar lengths are decoded together. Pauses
    after each step of a search, so that several may take turns.

    batch_rows: the most hypotheses (sentences times beam) that are decoded at once. heads: those that take part.
    positions [length, D]: instead of the model's own.
    """
    options = options or Options()
    device = next(model.parameters()).device
    width = options.n_best if options.sampling else options.beam
    found: list[list[Hypothesis]] = [[] for _ in sources]
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    size = max(1, batch_rows // width)
    for first in range(0, len(order), size):
        chunk = order[first:first + size]
        scorer = CachedScorer(model, pad([[*sources[i], EOS] for i in chunk], device), heads, positions)
        limits = [max_lengths[i] if max_lengths is not None
                  else target_limit(len(sources[i]) + 1, model.config.max_length) for i in chunk]
        chosen = [prefixes[i] for i in chunk] if prefixes is not None else None
        for i, hypotheses in zip(chunk, (yield from searching(scorer, limits, options, chosen, device)), strict=True):
            found[i] = hypotheses
    return found
