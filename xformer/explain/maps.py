"""Attention maps put together: by words, over heads and layers, without their sinks. Numpy in, numpy out.

A map is (queries, keys) or has more axes before these two; its rows sum to 1, and so do those of every result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Groups = Sequence[Sequence[int]]
RULES = ("mean", "max")


def by_words(maps: np.ndarray, queries: Groups, keys: Groups) -> np.ndarray:
    """Maps (…, queries, keys) over pieces -> over words: the columns of a word are summed, its rows averaged.

    A word is looked at as much as its pieces together; it looks as its pieces do on average. Rows still sum to 1.
    """
    columns = np.stack([maps[..., list(group)].sum(axis=-1) for group in keys], axis=-1)
    return np.stack([columns[..., list(group), :].mean(axis=-2) for group in queries], axis=-2)


def weigh(maps: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Maps (…, queries, keys) times what is taken along from each key, norms (…, keys), rows divided by their sum.

    Kobayashi et al. (2020): the norm of the vector that is added from each position, here as a share of them all.
    """
    weighed = maps * norms[..., None, :]
    return weighed / weighed.sum(axis=-1, keepdims=True)


def combine(maps: np.ndarray, rule: str) -> np.ndarray:
    """Maps (heads, queries, keys) -> one (queries, keys): the mean over heads, or the maximum with rows renormalised.

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
    """Attention rollout through a stack of self-attention (Abnar and Zuidema 2020).

    layers (layers, heads, n, n) -> (n, n): the product, from the first layer to the last, of the heads' mean, half of
    which is the identity for the residual connection. Row q says how much of each input reaches position q.
    """
    size = layers.shape[-1]
    through = np.eye(size, dtype=layers.dtype)
    for layer in layers.mean(axis=1):
        through = (0.5 * layer + 0.5 * np.eye(size, dtype=layers.dtype)) @ through
    return through


def cross_rollout(cross: np.ndarray, encoder: np.ndarray) -> np.ndarray:
    """Cross-attention of a layer (heads, T, S), traced to the input pieces through the encoder (layers, heads, S, S).

    The heads' mean times the encoder's rollout -> (T, S).
    """
    return cross.mean(axis=0) @ rollout(encoder)


def mass(maps: np.ndarray, keys: Sequence[int]) -> float:
    """Share (0 to 1) of all attention in maps (…, queries, keys) that lies on these keys."""
    if not len(keys):
        return 0.0
    return float(maps[..., list(keys)].sum(axis=-1).mean())


def hide(maps: np.ndarray, keys: Sequence[int]) -> np.ndarray:
    """Maps without these keys, rows renormalised over what is left; the hidden columns are 0.

    A row that looked at nothing else is 0 throughout: there is nothing left of it to show.
    """
    shown = maps.copy()
    shown[..., list(keys)] = 0
    total = shown.sum(axis=-1, keepdims=True)
    return np.divide(shown, total, out=np.zeros_like(shown), where=total > 1e-9)


def sinks(pieces: Sequence[str]) -> list[int]:
    """Positions where attention rests when it has nothing to say: <s>, </s> and full stops."""
    return [i for i, piece in enumerate(pieces) if piece in ("<s>", "</s>", ".", "▁.")]
