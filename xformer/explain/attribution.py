"""Attribute a classifier's verdict to words: leave out each in turn, and compare with
the attention that it got."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from xformer.classifier import TransformerClassifier
from xformer.model import PastKeyValues, Trace, future_mask
from xformer.pieces import BOS, EOS, SPECIAL, UNK, words
from xformer.results import Maximum

BATCH_PIECES = 1536  # in a batch; more do not fit the caches of a CPU


def word_groups(
    row: Sequence[int], pieces: Sequence[str], cut: int | None = None
) -> list[list[int]]:
    """Group a row of pieces into words, as lists of positions; BOS and EOS are no
    words.

    cut: position of the first piece after the place where pieces were left out. No word
    spans it.
    """
    at = len(pieces) if cut is None else cut
    after = [[at + i for i in group] for group in words(pieces[at:])]
    return [
        group
        for group in [*words(pieces[:at]), *after]
        if row[group[0]] not in (BOS, EOS)
    ]


def without(row: Sequence[int], group: Sequence[int]) -> list[int]:
    """Replace a word in a row by UNK, with which training hid pieces too; all other
    pieces keep their places."""
    left_out = set(group)
    return [UNK if i in left_out else piece for i, piece in enumerate(row)]


def halves() -> bool:
    """Whether this CPU has bfloat16 instructions, with which it multiplies faster than
    in float32."""
    # PyTorch 2.8 has none
    able: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))


@torch.inference_mode()
def read_without(
    model: TransformerClassifier,
    row: Sequence[int],
    groups: Sequence[Sequence[int]],
    progress: Callable[[int], object] | None = None,
) -> Tensor:
    """Compute logits [1 + W, C] of a row as it is and without each of W groups of
    pieces, in order.

    The result is that of reading [row, *(without(row, group) for group in groups)], in
    about half the time: under a causal mask, the states before the first piece left out
    are those of the whole row. `progress` is called with the number of rows newly read.
    Raises ValueError for a model whose mask is not causal.

    If the CPU has bfloat16 instructions, attention and feed-forward multiply in
    bfloat16, as in training, and residuals are summed in float32. On 50 texts whose
    words had effects of up to 4.7 nats, this changed the shipped model's effects by at
    most 0.011.
    """
    if not model.config.causal:
        raise ValueError(
            "the model's mask is not causal: a piece left out changes the states before it too"
        )
    tokens = torch.tensor([row], device=model.device)
    mask = future_mask(len(row), tokens.device)
    half = tokens.device.type == "cpu" and halves()

    def encode(x: Tensor, first: int, pasts: list[PastKeyValues]) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            states: Tensor = model.encoder(x, mask[first:], pasts=pasts)
            return states.to(x.dtype)

    whole = [PastKeyValues() for _ in model.encoder.layers]
    states = encode(model.embedding(tokens), 0, whole)  # [1, S, D]

    def judge(states: Tensor) -> Tensor:
        text, _ = model.pooling(
            states, torch.ones_like(states[..., 0], dtype=torch.bool)
        )
        return model.head(text).float().cpu()

    logits = [judge(states)]
    done = 0
    while done < len(groups):
        first = min(groups[done])
        chunk = groups[done : done + max(1, BATCH_PIECES // (len(row) - first))]
        # [B, S - first]
        rows = torch.tensor(
            [without(row, group)[first:] for group in chunk], device=tokens.device
        )
        pasts = [past.head(first, len(chunk)) for past in whole]
        after = encode(model.embedding(rows, offset=first), first, pasts)
        logits.append(
            judge(
                torch.cat((states[:, :first].expand(len(chunk), -1, -1), after), dim=1)
            )
        )
        done += len(chunk)
        if progress is not None:
            progress(len(chunk))
    return torch.cat(logits)


def log_odds(logits: Tensor, label: int) -> Tensor:
    """Compute log(p / (1 - p)) [...] for one label's probability p, in nats. logits
    [..., C]: over the temperature."""
    others = torch.cat((logits[..., :label], logits[..., label + 1 :]), dim=-1)
    return logits[..., label] - others.logsumexp(dim=-1)


class Look(NamedTuple):
    """One pass over a row of S pieces, and the share of attention that each piece
    got."""

    logits: Tensor  # [C], not yet divided by the temperature
    pooling: np.ndarray  # (S,), weights of the pooling; sum to 1
    heads: np.ndarray  # (layers, heads, S), shares of each head's attention; sum to 1
    states: np.ndarray  # (S, D), the input of the pooling


@torch.inference_mode()
def look(model: TransformerClassifier, row: Sequence[int]) -> Look:
    """Read a row once, and measure how much the pooling and each head looked at each
    piece.

    A head's shares are the mean of its map's rows, each weighted with the pooling's
    weight of its position: rows that hardly reach the verdict hardly count.
    """
    trace = Trace()
    reading = model(torch.tensor([row], device=model.device), trace)
    weights = reading.weights[0].float()
    # [layers, H, S, S]
    maps = torch.stack([layer[0].float() for layer in trace.encoder_self.probabilities])
    heads = torch.einsum("q,lhqk->lhk", weights, maps)
    return Look(
        reading.logits[0].float().cpu(),
        weights.cpu().numpy(),
        heads.cpu().numpy(),
        reading.states[0].float().cpu().numpy(),
    )


@torch.inference_mode()
def maximum(
    model: TransformerClassifier,
    found: Look,
    spelled: Sequence[str],
    groups: Sequence[Sequence[int]],
    label: str,
) -> Maximum:
    """Take a maximum over a text's pieces apart: each word's largest number in each
    dimension, and the weight of the dimension in the log-odds of a label against the
    likeliest other one.

    spelled, groups: the words of the text, and the positions of their pieces. With two
    labels, the numbers that the dimensions add and the bias sum to the log-odds of the
    label.
    """
    labels = model.config.labels
    of = labels.index(label)
    other = max(
        (i for i in range(len(labels)) if i != of),
        key=found.logits.tolist().__getitem__,
    )
    weights, biases = (
        (part / model.config.temperature).float().cpu()
        for part in (model.head.weight, model.head.bias)
    )
    every = [[0], *groups, [len(found.states) - 1]]
    values = np.stack([found.states[group].max(axis=0) for group in every])
    return Maximum(
        (SPECIAL[BOS], *spelled, SPECIAL[EOS]),
        values,
        (weights[of] - weights[other]).numpy(),
        float(biases[of] - biases[other]),
        labels[other],
    )


def of_words(values: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """Sum values (…, pieces) over the pieces of each word -> (…, words)."""
    empty = np.empty((*values.shape[:-1], 0), values.dtype)
    return (
        np.stack([values[..., list(group)].sum(axis=-1) for group in groups], axis=-1)
        if groups
        else empty
    )
