"""Classified texts, and how good the classifier is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xformer.results.messages import Message

__all__ = [
    "LABELS",
    "Attribution",
    "Bin",
    "Calibration",
    "Maximum",
    "PoolingScore",
    "PretrainingRun",
    "PretrainingStudy",
    "Sentiment",
]

# of reviews, in the order of the classifier's outputs
LABELS = ("negative", "positive")


@dataclass(frozen=True, eq=False)
class Sentiment:
    """A classified text."""

    text: str  # as it was read: on one line, without markup of line breaks
    label: str
    probability: float  # of the label, calibrated
    probabilities: dict[str, float]  # of every label
    pieces: tuple[str, ...]  # as they were read, from <s> to </s>
    weights: np.ndarray  # (L,), of the pooling; they sum to 1
    cut: int  # pieces left out after the first quarter, because the text is too long
    warnings: tuple[Message, ...]
    seconds: float
    # of the labels, in their order, as the softmax is given them: divided by the
    # temperature of the calibration; () where they are unknown
    scores: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The classification as the API and `--json` give it, with warnings in
        English."""
        return {
            "label": self.label,
            "probability": self.probability,
            "probabilities": self.probabilities,
            "pieces": list(self.pieces),
            "weights": [round(float(w), 6) for w in self.weights],
            "cut": self.cut,
            "warnings": [warning.say() for warning in self.warnings],
        }


@dataclass(frozen=True, eq=False)
class Maximum:
    """What a pooling by maximum keeps of a text: of each of D dimensions the largest
    number, and which word gives it.

    Words are those of `Attribution`, and <s> and </s> around them; float32.
    """

    words: tuple[str, ...]  # W + 2
    values: np.ndarray  # (W + 2, D), of each word's pieces the largest number
    # (D,), nats that a dimension adds to the log-odds of `toward`, of each unit of its
    # number
    weights: np.ndarray
    bias: float  # nats that are added whatever the text
    against: str  # the label that the odds are against: the likeliest but for `toward`

    @property
    def givers(self) -> np.ndarray:
        """The number of the word that gives each dimension, (D,)."""
        return self.values.argmax(axis=0)

    @property
    def adds(self) -> np.ndarray:
        """The nats that each dimension adds, (D,): with the bias they sum to the
        log-odds."""
        return self.weights * self.values.max(axis=0)


@dataclass(frozen=True, eq=False)
class Attribution:
    """A classified text with the effect of each of its W words, and the attention that
    each got; float32."""

    sentiment: Sentiment
    toward: str  # the label that a positive `effect` speaks for
    words: tuple[str, ...]  # W, their pieces joined; without <s> and </s>
    # number of words before the place where pieces were left out; None where none were
    cut: int | None
    # (W,), nats by which the log-odds of the label `toward` fall without the word
    effect: np.ndarray
    # (W,), the pooling's weight of the word; the rest of 1 lies on <s> and </s>
    pooling: np.ndarray
    # (layers, H, W), each head's attention to the word, weighed by the pooling;
    # likewise
    heads: np.ndarray
    seconds: float
    # how the pooling makes one vector: by learned weights, as a "mean", or as a "max"
    pooled: str = "attention"
    maximum: Maximum | None = None  # where it is a "max"


@dataclass(frozen=True)
class Bin:
    """Classified texts of about the same confidence, which is the probability of the
    label they got."""

    count: int
    confidence: float  # their mean
    accuracy: float  # the share of them whose label is right


@dataclass(frozen=True)
class Calibration:
    """Calibration of a classifier's probabilities, measured on validation data (Guo et
    al. 2017).

    Errors are expected calibration errors: the mean over texts of |accuracy -
    confidence| of their bin.
    """

    temperature: float  # divides the logits
    error: float  # with it
    error_before: float  # without it
    bins: tuple[Bin, ...]  # with it


BEGINNINGS = ("nothing", "language", "autoencoder")  # of a classifier
# language models, one of each label: from nothing, and from the language model
GENERATIVE = ("two", "two_language")


@dataclass(frozen=True)
class PretrainingRun:
    """How well reviews were judged after learning from a share of the labels."""

    kind: str  # one of BEGINNINGS or GENERATIVE
    share: float  # of all labels, above 0, at most 1
    seed: int
    labels: int  # their number
    accuracy: float  # on held-out reviews, 0 to 1
    # at the end of training, in nats: of a classifier a text, of language models a
    # piece
    loss: float
    seconds: float  # of one core, to learn and to be scored


@dataclass(frozen=True)
class PretrainingStudy:
    """The runs of a study of pre-training."""

    about: dict[str, Any]  # what they have in common, and what was learned before them
    runs: tuple[PretrainingRun, ...]

    @property
    def shares(self) -> list[float]:
        """The shares of the labels that were learned from, the smallest first."""
        return sorted({one.share for one in self.runs})

    def of(self, kind: str, share: float) -> list[PretrainingRun]:
        """The runs of a kind and a share of the labels, in the order they were made
        in."""
        return [one for one in self.runs if one.kind == kind and one.share == share]

    def gains(self, one: str, other: str, share: float) -> list[float]:
        """The points of accuracy by which runs of a kind are ahead of those of another
        kind with the same share and seed, 0 to 100."""
        return [
            100 * (run.accuracy - base.accuracy)
            for run in self.of(one, share)
            for base in self.of(other, share)
            if base.seed == run.seed
        ]

    @staticmethod
    def mean(runs: Sequence[PretrainingRun]) -> float:
        """The mean accuracy of some runs, 0 to 1."""
        return sum(one.accuracy for one in runs) / len(runs)


@dataclass(frozen=True)
class PoolingScore:
    """Accuracy of a classifier by how it was built: its pooling and its mask."""

    pooling: str  # "attention", "mean" or "max"
    causal: bool
    imdb: float  # accuracy on the validation set of IMDb, 0 to 1
    sst2: float  # accuracy on the validation set of SST-2, 0 to 1
    layers: int
    d_model: int
    parameters: int
    labels: int  # texts learned from
    steps: int
    pretrained: bool  # as a language model
    texts: int = 0  # of the validation set of IMDb; 0 where it is not known
