"""Why a classifier judged a text as it did: each word left out in turn, and beside it what was looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from xformer.classifier import TransformerClassifier
from xformer.model import PastKeyValues, Trace, future_mask
from xformer.pieces import BOS, EOS, UNK, words

BATCH_PIECES = 1536  # read at once; more no longer fit the caches of a CPU


def word_groups(row: Sequence[int], pieces: Sequence[str]) -> list[list[int]]:
    """The words of a text as lists of positions in its row of pieces; its marks BOS and EOS are none."""
    return [group for group in words(pieces) if row[group[0]] not in (BOS, EOS)]


def without(row: Sequence[int], group: Sequence[int]) -> list[int]:
    """The row with UNK in place of a word: nothing else moves, and training has shown UNK wherever it hid a piece."""
    left_out = set(group)
    return [UNK if i in left_out else piece for i, piece in enumerate(row)]


def halves() -> bool:
    """Whether this CPU multiplies bfloat16 by instructions of its own, faster than float32, as far as PyTorch knows."""
    able: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()  # PyTorch 2.8 has none
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))


@torch.inference_mode()
def read_without(model: TransformerClassifier, row: Sequence[int], groups: Sequence[Sequence[int]],
                 progress: Callable[[int], object] | None = None) -> Tensor:
    """Logits [1 + W, C] of a row as it is and without each of W groups of pieces, in order; for a causal mask only.

    What `sentiment.read` gives for [row, *(without(row, group) for group in groups)], in about half the time: where no
    piece sees those after it, the states before the first piece left out are those of the whole row. Where a CPU has
    instructions for it, attention and feed-forward multiply in bfloat16, as in training; what they add is summed in
    float32: on 50 texts whose words did up to 4.7 nats, the shipped model's effects moved by at most 0.011. `progress`
    is told how many more rows are read.
    """
    if not model.config.causal:
        raise ValueError("the model's mask is not causal: a piece left out changes the states before it too")
    tokens = torch.tensor([row], device=model.embedding.weight.device)
    mask = future_mask(len(row), tokens.device)
    half = tokens.device.type == "cpu" and halves()

    def encode(x: Tensor, first: int, pasts: list[PastKeyValues]) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            states: Tensor = model.encoder(x, mask[first:], pasts=pasts)
            return states.to(x.dtype)

    whole = [PastKeyValues() for _ in model.encoder.layers]
    states = encode(model.embedding(tokens), 0, whole)  # [1, S, D]

    def judge(states: Tensor) -> Tensor:
        text, _ = model.pooling(states, torch.ones_like(states[..., 0], dtype=torch.bool))
        return model.head(text).float().cpu()

    logits, done = [judge(states)], 0
    while done < len(groups):
        first = min(groups[done])
        chunk = groups[done:done + max(1, BATCH_PIECES // (len(row) - first))]
        rows = torch.tensor([without(row, group)[first:] for group in chunk], device=tokens.device)  # [B, S - first]
        pasts = [past.head(first, len(chunk)) for past in whole]
        after = encode(model.embedding(rows, offset=first), first, pasts)
        logits.append(judge(torch.cat((states[:, :first].expand(len(chunk), -1, -1), after), dim=1)))
        done += len(chunk)
        if progress is not None:
            progress(len(chunk))
    return torch.cat(logits)


def log_odds(logits: Tensor, label: int) -> Tensor:
    """Logits [..., C], divided by the temperature -> log(p / (1 - p)) of one label's probability p [...], in nats."""
    others = torch.cat((logits[..., :label], logits[..., label + 1:]), dim=-1)
    return logits[..., label] - others.logsumexp(dim=-1)


class Look(NamedTuple):
    """One pass over a row of S pieces, and how much of the look each of them got."""

    logits: Tensor  # [C], not yet divided by the temperature
    pooling: np.ndarray  # (S,), from the pooling; sums to 1
    heads: np.ndarray  # (layers, heads, S), from each head; sums to 1


@torch.inference_mode()
def look(model: TransformerClassifier, row: Sequence[int]) -> Look:
    """Read a row once, and see how much the pooling and each head looked at each piece.

    The share of a head is the mean of its map's rows, each weighted as the pooling weighs the position that asks: rows
    that hardly reach the verdict hardly count.
    """
    trace = Trace()
    reading = model(torch.tensor([row], device=model.embedding.weight.device), trace)
    weights = reading.weights[0].float()
    maps = torch.stack([layer[0].float() for layer in trace.encoder_self.probabilities])  # [layers, H, S, S]
    heads = torch.einsum("q,lhqk->lhk", weights, maps)
    return Look(reading.logits[0].float().cpu(), weights.cpu().numpy(), heads.cpu().numpy())


def of_words(values: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """Values (…, pieces) -> (…, words): a word is looked at as much as its pieces together."""
    empty = np.empty((*values.shape[:-1], 0), values.dtype)
    return np.stack([values[..., list(group)].sum(axis=-1) for group in groups], axis=-1) if groups else empty
