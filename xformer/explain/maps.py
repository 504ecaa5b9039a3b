"""Combine attention maps: by words, over heads and layers, without their sinks. Numpy
in, numpy out.

A map is (queries, keys) or has more axes before these two. Its rows sum to 1, and so do
the rows of every result; only `hide` can leave a row empty.
"""

from collections.abc import Sequence

import numpy as np

Groups = Sequence[Sequence[int]]
RULES = ("mean", "max")


def by_words(maps: np.ndarray, queries: Groups, keys: Groups) -> np.ndarray:
    """Join pieces into words: maps (…, pieces, pieces) -> (…, words, words). queries,
    keys: pieces of each word.

    A word's columns are summed and its rows averaged, so rows still sum to 1.
    """
    columns = np.stack([maps[..., list(group)].sum(axis=-1) for group in keys], axis=-1)
    return np.stack(
        [columns[..., list(group), :].mean(axis=-2) for group in queries], axis=-2
    )


def weigh(maps: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Weigh maps (…, queries, keys) by the norms (…, keys) of the transformed value
    vectors, and renormalise the rows.

    Kobayashi et al. (2020) take the norm of the vector that each position adds; here it
    is divided by their sum.
    """
    weighed = maps * norms[..., None, :]
    return weighed / weighed.sum(axis=-1, keepdims=True)


def combine(maps: np.ndarray, rule: str) -> np.ndarray:
    """Combine maps (heads, queries, keys) into one (queries, keys): the mean, or the
    maximum with rows renormalised.

    Raises ValueError for an unknown rule or no head.
    """
    if rule not in RULES:
        raise ValueError(f"the rule is {rule!r}; choose one of {', '.join(RULES)}")
    if not len(maps):
        raise ValueError("no head is chosen; choose at least one")
    if rule == "mean":
        return maps.mean(axis=0)
    largest = maps.max(axis=0)
    return largest / largest.sum(axis=-1, keepdims=True)


def rollout(layers: np.ndarray) -> np.ndarray:
    """Compute attention rollout through a stack of self-attention (Abnar and Zuidema
    2020).

    layers (layers, heads, n, n) -> (n, n): the product over the layers, first to last,
    of half the mean over heads and half the identity, which stands for the residual
    connection. Row q is the share of each input in position q.
    """
    size = layers.shape[-1]
    through = np.eye(size, dtype=layers.dtype)
    for layer in layers.mean(axis=1):
        through = (0.5 * layer + 0.5 * np.eye(size, dtype=layers.dtype)) @ through
    return through


def cross_rollout(cross: np.ndarray, encoder: np.ndarray) -> np.ndarray:
    """Trace a layer's cross-attention (heads, T, S) to the input pieces through the
    encoder (layers, heads, S, S).

    -> (T, S): the mean over heads times the encoder's rollout.
    """
    return cross.mean(axis=0) @ rollout(encoder)


def distance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Measure how far two sets of maps (…, queries, keys) are apart -> (…): 0 if equal,
    1 if no key is common.

    The total variation distance, half the sum of |p - q|, averaged over the queries:
    the share of attention that has moved to another key.
    """
    return 0.5 * np.abs(first - second).sum(axis=-1).mean(axis=-1)


def mass(maps: np.ndarray, keys: Sequence[int]) -> float:
    """Measure the share (0 to 1) of all attention in maps (…, queries, keys) that lies
    on some keys."""
    if not len(keys):
        return 0.0
    return float(maps[..., list(keys)].sum(axis=-1).mean())


def hide(maps: np.ndarray, keys: Sequence[int]) -> np.ndarray:
    """Hide some keys: their columns become 0, and rows are renormalised over the other
    keys.

    A row whose attention lies on hidden keys alone becomes 0 throughout. Call
    `by_words` before: an empty row of one piece would otherwise drag the sum of its
    word's row below 1.
    """
    shown = maps.copy()
    shown[..., list(keys)] = 0
    total = shown.sum(axis=-1, keepdims=True)
    return np.divide(shown, total, out=np.zeros_like(shown), where=total > 1e-9)


def sinks(pieces: Sequence[str]) -> list[int]:
    """Find attention sinks, where attention rests when a head has nothing to do: <s>,
    </s> and full stops.

    Each is a word of its own.
    """
    return [i for i, piece in enumerate(pieces) if piece in ("<s>", "</s>", ".", "▁.")]
