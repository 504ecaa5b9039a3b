"""Plain records that travel between the rooms of the house; str, numbers and numpy only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xformer import strings


@dataclass(frozen=True)
class Message:
    """Something to tell a person, in whatever language they read: a key of assets/strings and its values."""

    key: str
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, key: str, /, **values: Any) -> Message:
        return cls(key, tuple(values.items()))

    def say(self, language: str = "en") -> str:
        return strings.text(self.key, language, **dict(self.values))


class UserError(ValueError):
    """Something a person asked for that cannot be done: one sentence with the value, the limit and what to do.

    It is shown as it is, on the page and on the command line, in the reader's language where it is a `Message`.
    """

    def __init__(self, message: Message | str) -> None:
        self.message = message
        super().__init__(self.say())

    def say(self, language: str = "en") -> str:
        return self.message if isinstance(self.message, str) else self.message.say(language)


@dataclass(frozen=True)
class Candidate:
    """One translation as the search found it; `pieces` and what is beside them end with </s> unless it was cut off."""

    text: str
    score: float  # sum of log_probs / length^alpha
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]
    log_probs: tuple[float, ...]  # natural log of each piece's probability, given the source and the pieces before it
    alternatives: tuple[tuple[tuple[str, float], ...], ...]  # at each step the likeliest pieces, best first
    finished: bool


@dataclass(frozen=True)
class Translation:
    """What the model made of a text."""

    source: str  # as it was translated: without control characters, on one line
    n_best: tuple[Candidate, ...]  # best first
    warnings: tuple[Message, ...]
    seconds: float

    @property
    def best(self) -> Candidate:
        return self.n_best[0]

    def to_json(self) -> dict[str, Any]:
        best = self.best
        return {"text": best.text, "score": best.score, "pieces": list(best.pieces),
                "log_probs": list(best.log_probs),
                "alternatives": [[{"piece": piece, "log_prob": value} for piece, value in step]
                                 for step in best.alternatives],
                "n_best": [{"text": c.text, "score": c.score, "pieces": list(c.pieces),
                            "log_probs": list(c.log_probs)} for c in self.n_best],
                "warnings": [warning.say() for warning in self.warnings]}


@dataclass(frozen=True, eq=False)  # every pass is its own: arrays have no single truth to compare
class Trace:
    """Every attention map of one teacher-forced pass: float32 arrays (layers, heads, query, key), rows sum to 1."""

    source: tuple[str, ...]  # S pieces, the last of them </s>
    target: tuple[str, ...]  # T pieces that the decoder is given, the first of them <s>
    predicted: tuple[str, ...]  # T pieces: what each position is asked to predict; target moved on by one
    log_probs: tuple[float, ...]  # of `predicted`
    encoder_self: np.ndarray  # (layers, heads, S, S)
    decoder_self: np.ndarray  # (layers, heads, T, T)
    cross: np.ndarray  # (layers, heads, T, S)


@dataclass(frozen=True, eq=False)
class Occlusion:
    """What each word of the source did for each piece of the target: how much its log-probability falls without it."""

    words: tuple[str, ...]  # of the source, W of them, as pieces joined
    predicted: tuple[str, ...]  # T pieces
    log_probs: tuple[float, ...]  # of `predicted`, with the whole source
    effect: np.ndarray  # (T, W), nats; positive where the word helped


@dataclass(frozen=True)
class HeadEffect:
    """What one head is worth to a translation; layer and head count from 1."""

    stack: str
    layer: int
    head: int
    effect: float  # nats by which the translation's log-probability falls without it


STACKS = ("encoder_self", "decoder_self", "cross")


@dataclass(frozen=True)
class ModelInfo:
    """What the page says about the loaded model."""

    name: str
    identity: str
    parameters: int
    norm: str
    n_layers: int
    n_decoder_layers: int
    n_heads: int
    d_model: int
    device: str
    precision: str


@dataclass(frozen=True)
class Bleu:
    """BLEU of one sentence taken apart, as Papineni et al. (2002) define it, on sacrebleu's 13a tokens."""

    score: float  # brevity_penalty times the geometric mean of the precisions, times 100; 0 where one of them is 0
    smoothed: float  # sacrebleu's sentence score, in which a precision of 0 counts a little more
    matches: tuple[int, ...]  # n-grams of the translation that are in the reference, for n = 1 to 4
    totals: tuple[int, ...]  # n-grams of the translation
    brevity_penalty: float  # exp(1 - reference_length / length) where the translation is shorter, else 1
    length: int  # tokens of the translation
    reference_length: int
