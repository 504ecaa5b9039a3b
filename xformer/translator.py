"""Translate sentences of ids: pad, batch, and search with a model. No text, no
threads."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import torch
from torch import Tensor

from xformer import fast
from xformer.model import Heads, Transformer
from xformer.pieces import EOS, PAD
from xformer.recurrent import RecurrentTranslator
from xformer.results import Branch
from xformer.search import Hypothesis, Options, check_prefix, finish, grow, searching

Translator = Transformer | RecurrentTranslator


def pad(rows: Sequence[Sequence[int]], device: torch.device | None = None) -> Tensor:
    """Put rows of unequal length into one tensor [B, longest], filled up with PAD on
    the right."""
    longest = max(len(row) for row in rows)
    return torch.tensor(
        [[*row, *[PAD] * (longest - len(row))] for row in rows], device=device
    )


class CachedScorer:
    """Scores the next tokens of one batch of sources with a key-value cache: a
    `search.Scorer`."""

    def __init__(self, model: Translator, cache: Any) -> None:
        """cache: the result of `model.start`."""
        self.model = fast.stepping(model)
        self.cache = cache

    def __call__(self, tokens: Tensor) -> Tensor:
        return self.model.step(tokens, self.cache)

    def select(self, hypotheses: Tensor, sentences: Tensor | None) -> None:
        self.cache.select(hypotheses, sentences)


def start(
    model: Translator,
    source: Tensor,
    heads: Heads | None = None,
    positions: Tensor | None = None,
) -> CachedScorer:
    """Encode source [B, S] with the quickest network of the model that there is."""
    cache = fast.stepping(model).start(source, heads, positions)
    return CachedScorer(model, cache)


def target_limit(source_length: int, max_length: int) -> int:
    """The most pieces of a translation, EOS included, for a source of this length;
    generous: it only ends loops."""
    return min(max_length, 2 * source_length + 16)


@torch.inference_mode()
def grow_tree(
    model: Translator,
    source: Sequence[int],
    options: Options,
    prefix: Sequence[int],
    max_length: int,
) -> tuple[list[Hypothesis], list[Branch]]:
    """Translate one source (pieces without EOS) by beam, and record what was kept and
    dropped: see `search.grow`."""
    scorer = start(model, pad([[*source, EOS]], model.device))
    return grow(scorer, max_length, options, prefix, model.device)


def translate_ids(
    model: Translator,
    sources: Sequence[Sequence[int]],
    options: Options | None = None,
    prefixes: Sequence[Sequence[int]] | None = None,
    max_lengths: Sequence[int] | None = None,
    batch_rows: int = 320,
) -> list[list[Hypothesis]]:
    """Find the hypotheses of each source (pieces without EOS), best first:
    `translating` without a pause."""
    return finish(
        translating(model, sources, options, prefixes, max_lengths, batch_rows)
    )


@torch.inference_mode()
def translating(
    model: Translator,
    sources: Sequence[Sequence[int]],
    options: Options | None = None,
    prefixes: Sequence[Sequence[int]] | None = None,
    max_lengths: Sequence[int] | None = None,
    batch_rows: int = 320,
    heads: Heads | None = None,
    positions: Tensor | None = None,
) -> Generator[None, None, list[list[Hypothesis]]]:
    """Find the hypotheses of each source (pieces without EOS), best first; pause after
    each step, so that searches can take turns.

    Sources of similar length are decoded together, at most batch_rows hypotheses
    (sentences times beam) at once. prefixes, max_lengths: of the targets, as for
    `searching`; its ValueError is raised before decoding begins. heads: which heads
    take part. positions [length, D]: in place of the model's own.
    """
    options = options or Options()
    device = model.device
    width = options.n_best if options.sampling else options.beam
    if max_lengths is None:
        max_lengths = [
            target_limit(len(source) + 1, model.config.max_length) for source in sources
        ]
    if prefixes is None:
        prefixes = [[] for _ in sources]
    for prefix, limit in zip(prefixes, max_lengths, strict=True):
        check_prefix(prefix, limit, model.config.vocab_size)
    translations: list[list[Hypothesis]] = [[] for _ in sources]
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    size = max(1, batch_rows // width)
    for first in range(0, len(order), size):
        chunk = order[first : first + size]
        scorer = start(
            model, pad([[*sources[i], EOS] for i in chunk], device), heads, positions
        )
        results = yield from searching(
            scorer,
            [max_lengths[i] for i in chunk],
            options,
            [prefixes[i] for i in chunk],
            device,
        )
        for i, hypotheses in zip(chunk, results, strict=True):
            translations[i] = hypotheses
    return translations
