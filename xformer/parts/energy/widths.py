"""Attention between vectors of several widths: every matrix of it, with its shape.

n queries of d_xq numbers look at m pairs of a key's vector of d_xk and a value's of
d_xv: Q = X_q W_q (n, d′), K = X_k W_k (m, d′), V = X_v W_v (m, d″), and softmax(Q K^T /
√d′) V (n, d″). Numpy only.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from xformer.explain.principles import SEED, softmax
from xformer.results import ModelInfo
from xformer.strings import ENGLISH, Language

QUERIES = 4  # n
KEYS = 6  # m
TEXTS = (
    "widths_label",
    "widths_matrix",
    "widths_row",
    "widths_column",
    "widths_number",
    "widths_value",
    "widths_queries",
    "widths_keys",
    "widths_values",
    "widths_weights",
    "widths_answer",
)


@dataclass(frozen=True)
class Attention:
    """All matrices, by their names in the order in which they are computed."""

    matrices: dict[str, np.ndarray]

    @property
    def learned(self) -> int:
        """How many numbers W_q, W_k and W_v have."""
        return sum(self.matrices[name].size for name in ("W_q", "W_k", "W_v"))


def attention(
    query: int, key: int, value: int, inner: int, outer: int, seed: int = SEED
) -> Attention:
    """Compute attention of vectors and matrices drawn by a seed. query, key, value:
    d_xq, d_xk, d_xv. inner, outer: d′, d″.

    Each vector and each matrix is drawn by itself, so that a change of one width leaves
    what does not depend on it.
    """

    def drawn(which: int, rows: int, columns: int) -> np.ndarray:
        return np.random.default_rng([seed, which]).standard_normal((rows, columns))

    x_q = drawn(0, QUERIES, query)
    x_k = drawn(1, KEYS, key)
    x_v = drawn(2, KEYS, value)
    w_q = drawn(3, query, inner) / np.sqrt(query)
    w_k = drawn(4, key, inner) / np.sqrt(key)
    w_v = drawn(5, value, outer) / np.sqrt(value)
    q = x_q @ w_q
    k = x_k @ w_k
    v = x_v @ w_v
    weights = softmax(q @ k.T, inner**-0.5)
    return Attention(
        {
            "X_q": x_q,
            "W_q": w_q,
            "Q": q,
            "X_k": x_k,
            "W_k": w_k,
            "K": k,
            "X_v": x_v,
            "W_v": w_v,
            "V": v,
            "A": weights,
            "Y": weights @ v,
        }
    )


def payload(
    found: Attention, info: ModelInfo, language: Language = ENGLISH
) -> dict[str, Any]:
    """Pack the matrices for widths.js, with a sentence on their shapes."""
    shapes = {name: one.shape for name, one in found.matrices.items()}
    own = info.d_model // info.n_heads
    told = language.say(
        "widths_told",
        inner=shapes["Q"][1],
        outer=shapes["V"][1],
        queries=QUERIES,
        keys=KEYS,
        learned=found.learned,
    )
    of_model = language.say("widths_model", width=info.d_model, own=own)
    return {
        "title": language.say("widths_title", queries=QUERIES, keys=KEYS),
        "matrices": {
            name: np.round(one, 4).tolist() for name, one in found.matrices.items()
        },
        "told": f"{told} {of_model}",
        "texts": language.unfilled(TEXTS),
    }
