"""Compute attention with one thing changed: temperature, scoring function, mask,
scaling, heads. Numpy in and out.

Queries are q (Q, d), keys k (K, d), values v (K, d); scores and weights are (Q, K), and
rows of weights sum to 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from xformer.pieces import PAD, SPECIAL

RULES = ("scaled", "unscaled", "additive", "gaussian", "identity")
MASKS = ("padding", "future", "none")
SEED = 2015  # of all random numbers here
HARD = math.inf  # the beta (inverse temperature) at which the softmax is an argmax
# powers of two by which a slider multiplies beta; its ends mean 0 and HARD
POWERS = (-6, 6)


def at_power(beta: float, power: float) -> float:
    """Multiply beta by 2 to the power; 0 (uniform) at the lower end of POWERS or below,
    HARD at the upper or above."""
    least, most = POWERS
    return 0.0 if power <= least else HARD if power >= most else beta * 2.0**power


# from 0 to HARD
BETAS = tuple(at_power(1.0, power) for power in range(POWERS[0], POWERS[1] + 1))


def own_beta(rule: str, d: int) -> float:
    """The factor by which a rule scales its scores before the softmax: 1 / sqrt(d), or
    1 if it does not scale.

    d: the length of the vectors that it compares. Raises ValueError for an unknown
    rule.
    """
    if rule not in RULES:
        raise ValueError(f"the rule is {rule!r}; choose one of {', '.join(RULES)}")
    return d**-0.5 if rule in ("scaled", "gaussian", "identity") else 1.0


def score(rule: str, q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Score every key for every query, before any temperature, (Q, K). Raises
    ValueError for an unknown rule.

    scaled, unscaled: q . k (Vaswani et al. 2017; Luong et al. 2015). gaussian: -|q -
    k|^2 / 2, whose softmax is the kernel regression of Nadaraya (1964) and Watson
    (1964). additive: w . tanh(W q + U k) (Bahdanau et al. 2015), with untrained
    weights: W and U of standard deviation 1 / sqrt(d), w of 1, the same at every call.
    identity: q . k of vectors without projection, so that the scores of a set X are X
    X^T.
    """
    own_beta(rule, q.shape[-1])
    if rule == "gaussian":
        return -((q[:, None] - k[None]) ** 2).sum(axis=-1) / 2
    if rule == "additive":
        d = q.shape[-1]
        rng = np.random.default_rng(SEED)
        to_q, to_k = rng.standard_normal((2, d, d)) / math.sqrt(d)
        return np.tanh((q @ to_q)[:, None] + (k @ to_k)[None]) @ rng.standard_normal(d)
    return q @ k.T


def softmax(
    scores: np.ndarray, beta: float = 1.0, mask: np.ndarray | None = None
) -> np.ndarray:
    """softmax(beta scores) over the last axis, where the mask is True. beta 0: uniform;
    HARD: one-hot (ties share).

    A row whose mask is all False is 0 throughout.
    """
    allowed = np.ones(scores.shape, dtype=bool) if mask is None else mask
    best = np.where(allowed, scores, -np.inf).max(axis=-1, keepdims=True)
    # at most 0: exp cannot overflow
    away = np.where(allowed, scores - np.where(np.isfinite(best), best, 0), 0)
    likely = (away == 0).astype(float) if beta == HARD else np.exp(beta * away)
    weights = np.where(allowed, likely, 0.0)
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def mask(kind: str, queries: int, keys: Sequence[str]) -> np.ndarray:
    """Make a mask (Q, K), True where a query may look. Raises ValueError for an unknown
    kind.

    padding: all keys but padding. future: of these, none after the query. none: every
    key.
    """
    if kind not in MASKS:
        raise ValueError(f"the mask is {kind!r}; choose one of {', '.join(MASKS)}")
    allowed = np.ones((queries, len(keys)), dtype=bool)
    if kind != "none":
        allowed &= np.array([key != SPECIAL[PAD] for key in keys])
    return np.tril(allowed) if kind == "future" else allowed


def entropy(weights: np.ndarray) -> np.ndarray:
    """Entropy (Q,) of each row of weights in bits: 0 if all lies on one key, log2 K if
    it is spread evenly."""
    logs = np.log2(weights, out=np.zeros_like(weights), where=weights > 0)
    return 0 - (weights * logs).sum(axis=-1)


def saturation(
    scores: np.ndarray, mask: np.ndarray, beta: float
) -> tuple[float, float, float]:
    """Tell how near an argmax the softmax of beta scores (Q, K) is where a mask is
    True: the standard deviation of beta scores; and, as means over the queries, the
    largest weight, and the trace of the Jacobian, sum p (1 - p)."""
    p = softmax(scores, beta, mask)
    return (
        float(beta * scores[mask].std()),
        float(p.max(axis=-1).mean()),
        float((p * (1 - p)).sum(axis=-1).mean()),
    )


@dataclass(frozen=True, eq=False)
class Variance:
    """Statistics of dot products of vectors whose entries are drawn from a standard
    normal distribution."""

    d: np.ndarray  # (n,) lengths of the vectors
    plain: np.ndarray  # (n,) variance of q . k, which is d
    scaled: np.ndarray  # (n,) variance of q . k / sqrt(d), which is 1
    # (n,) mean largest weight of a softmax over KEYS keys without scaling
    largest_plain: np.ndarray
    largest_scaled: np.ndarray  # (n,) the same with scaling
    # (n,) mean trace of that softmax's Jacobian, the sum of p (1 - p), without scaling
    slope_plain: np.ndarray
    slope_scaled: np.ndarray  # (n,) the same with scaling


KEYS = 10
TOKENS = 8  # that are cut into heads
DRAWS = 20  # of an order of columns


@cache
def variance(
    lengths: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
    samples: int = 2000,
) -> Variance:
    """Measure why the dot product is divided by sqrt(d): its variance grows like d
    (Vaswani et al. 2017, footnote 4).

    samples: number of queries, each with KEYS keys of its own.
    """
    rng = np.random.default_rng(SEED)
    rows = []
    for d in lengths:
        q = rng.standard_normal((samples, 1, d), dtype=np.float32)
        dots = (q * rng.standard_normal((samples, KEYS, d), dtype=np.float32)).sum(
            axis=-1
        )
        scaled = dots / math.sqrt(d)
        plain = softmax(dots)
        moderate = softmax(scaled)
        rows.append(
            (
                dots.var(),
                scaled.var(),
                *(p.max(axis=-1).mean() for p in (plain, moderate)),
                *((p * (1 - p)).sum(axis=-1).mean() for p in (plain, moderate)),
            )
        )
    return Variance(np.array(lengths), *np.array(rows, dtype=float).T)


@dataclass(frozen=True, eq=False)
class Split:
    """One d_model cut into a number of heads: where one token looks, and what that
    costs."""

    heads: int
    weights: np.ndarray  # (heads, tokens), one distribution per head
    parameters: int  # of W_Q, W_K, W_V and W_O
    products: int  # multiplications in q k^T and in weights v


def split(d_model: int, heads: int) -> Split:
    """Compute multi-head attention (section 3.2.2) of random tokens with random W_Q and
    W_K, cut into `heads` blocks.

    The tokens and both matrices are the same for every number of heads; only the cut
    differs. Raises ValueError if the heads cannot share d_model equally.
    """
    if heads < 1 or d_model % heads:
        raise ValueError(
            f"d_model is {d_model}, which {heads} heads cannot share equally; choose a divisor of it"
        )
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((TOKENS, d_model))
    q, k = (
        x @ (rng.standard_normal((d_model, d_model)) / math.sqrt(d_model))
        for _ in range(2)
    )
    d = d_model // heads
    # (heads, tokens, d)
    q, k = (y.reshape(TOKENS, heads, d).transpose(1, 0, 2) for y in (q, k))
    weights = softmax(q[:, 0, None] @ k.transpose(0, 2, 1), d**-0.5)[:, 0]
    return Split(heads, weights, 4 * d_model * d_model, heads * 2 * TOKENS * TOKENS * d)


def mutual(maps: np.ndarray) -> np.ndarray:
    """How far maps (..., L, L) of self-attention are their own transposes: the cosine
    of A and A^T without the diagonal, (...).

    1: what i takes from j, j takes from i; 0: never both. Shares have no signs, so a
    map that is spread out has some of it by chance: see `mutual_by_chance`.
    """
    others = maps * (1 - np.eye(maps.shape[-1]))
    both = (others * others.swapaxes(-1, -2)).sum((-1, -2))
    return both / np.maximum((others * others).sum((-1, -2)), 1e-12)


def mutual_by_chance(maps: np.ndarray) -> np.ndarray:
    """What `mutual` is on average where the columns of maps (..., L, L) are shuffled,
    the same way in all of them, DRAWS times: (...)."""
    drawn = np.random.default_rng(SEED)
    orders = [drawn.permutation(maps.shape[-1]) for _ in range(DRAWS)]
    return np.mean([mutual(maps[..., order]) for order in orders], axis=0)
