"""Plain records that travel between the rooms of the house; str, numbers and numpy only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from xformer.strings import ENGLISH, Language


@dataclass(frozen=True)
class Message:
    """Something to tell a person, in whatever language they read: a key of assets/strings and its values."""

    key: str
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, key: str, /, **values: Any) -> Message:
        return cls(key, tuple(values.items()))

    def say(self, language: Language = ENGLISH) -> str:
        return language.say(self.key, **dict(self.values))


class UserError(ValueError):
    """Something a person asked for that cannot be done: one sentence with the value, the limit and what to do.

    It is shown as it is, on the page and on the command line, in the reader's language where it is a `Message`.
    """

    def __init__(self, message: Message | str) -> None:
        self.message = message
        super().__init__(self.say())

    def say(self, language: Language = ENGLISH) -> str:
        return self.message if isinstance(self.message, str) else self.message.say(language)


@dataclass(frozen=True)
class Options:
    """How to search. Sampling instead of beam search where temperature is above 0."""

    beam: int = 5
    n_best: int = 1
    length_penalty: float = 1.0  # alpha: hypotheses are ranked by log-probability / length^alpha
    temperature: float = 0.0
    top_k: int = 0  # sample among the k likeliest; 0: all
    top_p: float = 1.0  # sample among the fewest pieces that hold this probability (Holtzman et al. 2020)
    seed: int = 0
    alternatives: int = 5  # how many alternatives to keep of each step

    def __post_init__(self) -> None:
        limits = {"beam": (1, 32), "n_best": (1, 32), "length_penalty": (0, 5), "temperature": (0, 10),
                  "top_k": (0, 100_000), "top_p": (0, 1), "alternatives": (0, 32)}
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} is {value}; it must be between {low} and {high}")
        if not self.sampling and self.n_best > self.beam:
            raise ValueError(f"n_best is {self.n_best}, but a beam of {self.beam} ends with {self.beam} hypotheses; "
                             f"raise beam or lower n_best")
        if self.top_p == 0:
            raise ValueError("top_p is 0; it must be above 0 to leave a piece to choose")

    @property
    def sampling(self) -> bool:
        return self.temperature > 0


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
    options: Options  # how it was searched for
    max_length: int | None  # the most target pieces that were asked for, </s> included; None: what the model takes
    source_tokens: tuple[int, ...]  # pieces of `source` in the model's vocabulary, without </s>

    @property
    def best(self) -> Candidate:
        return self.n_best[0]

    @property
    def alone(self) -> Options:
        """How to search for another translation in the same way, of which only the best is looked at."""
        return replace(self.options, n_best=1, alternatives=1)

    def to_json(self) -> dict[str, Any]:
        best = self.best
        return {"text": best.text, "score": best.score, "pieces": list(best.pieces),
                "log_probs": list(best.log_probs),
                "alternatives": [[{"piece": piece, "log_prob": value} for piece, value in step]
                                 for step in best.alternatives],
                "n_best": [{"text": c.text, "score": c.score, "pieces": list(c.pieces),
                            "log_probs": list(c.log_probs)} for c in self.n_best],
                "warnings": [warning.say() for warning in self.warnings]}


STACKS = ("encoder_self", "decoder_self", "cross")


class Head(NamedTuple):
    """One attention head; written "cross.1.2" outside the program: in addresses, menus, scripts and files."""

    stack: str  # of STACKS
    layer: int  # from 1
    head: int  # from 1

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer}.{self.head}"

    @classmethod
    def parse(cls, name: str, stack: str = "") -> Head:
        """The head that a name means: "cross.1.2", "cross 1 2" as older links have it, or "1.2" of a given `stack`.

        Raises ValueError for a name that means none. Whether a model has such a head is for its `ModelInfo` to say.
        """
        parts = name.replace(".", " ").split()
        stack, *numbers = parts if len(parts) == 3 else [stack, *parts]
        if stack not in STACKS or len(numbers) != 2 or not all(n.isascii() and n.isdigit() for n in numbers):
            raise ValueError(f"{name[:40]!r} names no attention head; write one as cross.1.2: stack, layer, head")
        return cls(stack, int(numbers[0]), int(numbers[1]))


@dataclass(frozen=True, eq=False)
class Maps:
    """The attention of one stack in one pass: Q pieces that ask look at K pieces."""

    asks: tuple[str, ...]  # Q pieces: the source in the encoder, in the decoder what it was given
    predicted: tuple[str, ...]  # Q pieces that these are asked to predict; () in the encoder
    seen: tuple[str, ...]  # K pieces
    probabilities: np.ndarray  # (layers, heads, Q, K) float32, rows sum to 1
    norms: np.ndarray  # (layers, heads, K), as in `Trace`


@dataclass(frozen=True, eq=False)  # every pass is its own: arrays have no single truth to compare
class Trace:
    """Every attention map of one teacher-forced pass: float32 arrays (layers, heads, query, key), rows sum to 1.

    The norms, (layers, heads, key), are how much a head takes along from each key where it looks: ||v W_O||, the
    length of the transformed value vector (Kobayashi et al. 2020).
    """

    source: tuple[str, ...]  # S pieces, the last of them </s>
    target: tuple[str, ...]  # T pieces that the decoder is given, the first of them <s>
    predicted: tuple[str, ...]  # T pieces: what each position is asked to predict; target moved on by one
    log_probs: tuple[float, ...]  # of `predicted`
    encoder_self: np.ndarray  # (layers, heads, S, S)
    decoder_self: np.ndarray  # (layers, heads, T, T)
    cross: np.ndarray  # (layers, heads, T, S)
    encoder_self_norms: np.ndarray  # (layers, heads, S)
    decoder_self_norms: np.ndarray  # (layers, heads, T)
    cross_norms: np.ndarray  # (layers, heads, S)
    text: str  # the source as it was typed
    tokens: tuple[int, ...]  # of the target, without <s> and </s>
    number: int = field(init=False, default_factory=count().__next__)  # of the passes of this process, in order

    def of(self, stack: str) -> Maps:
        """The attention of one of STACKS."""
        encoder = stack == "encoder_self"
        return Maps(self.source if encoder else self.target, () if encoder else self.predicted,
                    self.target if stack == "decoder_self" else self.source,
                    getattr(self, stack), getattr(self, f"{stack}_norms"))


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


@dataclass(frozen=True, eq=False)
class Walk:
    """Equation 1 of Vaswani et al. (2017), number by number: one head in one pass, float32; d is the paper's d_k.

    Each step follows from the one before: scores = q k^T; scaled = scores / sqrt(d); masked = scaled, or minus infinity
    where the mask is False; probabilities = softmax(masked); answers = probabilities v; shares = answers W_O.
    """

    stack: str
    layer: int  # from 1
    head: int  # from 1
    queries: tuple[str, ...]  # Q pieces: the source in the encoder, in the decoder what it was given
    predicted: tuple[str, ...]  # in the decoder, what each of them is asked to predict; else empty
    keys: tuple[str, ...]  # K pieces, padding too
    q: np.ndarray  # (Q, d)
    k: np.ndarray  # (K, d)
    v: np.ndarray  # (K, d)
    mask: np.ndarray  # (Q, K) bool, True where a query may look
    scores: np.ndarray  # (Q, K)
    scaled: np.ndarray  # (Q, K)
    masked: np.ndarray  # (Q, K)
    probabilities: np.ndarray  # (Q, K)
    answers: np.ndarray  # (Q, d), the weighted sums
    shares: np.ndarray  # (Q, D), what this head adds to the output
    output: np.ndarray  # (Q, D), of all heads together, and the bias


@dataclass(frozen=True)
class Block:
    """One box in the figure of a model: a sub-layer, a normalisation, or the embeddings."""

    name: str  # "encoder.layers.0.self_attention"
    weights: tuple[tuple[str, tuple[int, ...]], ...]  # name and shape of each

    @property
    def parameters(self) -> int:
        return sum(math.prod(shape) for _, shape in self.weights)


LABELS = ("negative", "positive")  # of reviews, as their data number them
POSITION_KINDS = ("own", "none", "shift", "base")
MOST_SHIFT = 1_000  # positions that a pass may be moved on by
BASES = (2.0, 1_000_000.0)  # of sinusoids, least and most


@dataclass(frozen=True)
class Positions:
    """Which positions a pass adds to its embeddings: the model's own, or a change made for that pass alone."""

    kind: str = "own"  # of POSITION_KINDS; "none": zeros instead of positions
    value: float = 0  # "shift": how far all are moved on; "base": the base of the sinusoids


OWN = Positions()  # the model's

@dataclass(frozen=True, eq=False)
class Moved:
    """What becomes of a translation when the positions, or the order of the words, are changed."""

    source: str  # as it was read, perhaps shuffled
    translation: Translation  # made under the change
    before: Trace  # of the original translation, as it was
    after: Trace  # of the same target pieces, under the change


@dataclass(frozen=True, eq=False)
class Embedded:
    """What the encoder is given: S pieces as vectors of d_model numbers, and the positions added to them."""

    pieces: tuple[str, ...]  # S, the last of them </s>
    embeddings: np.ndarray  # (S, D), scaled by the square root of D
    positions: np.ndarray  # (S, D)


@dataclass(frozen=True)
class LengthScore:
    """How well sentences of some lengths are translated, in pieces of the source without </s>."""

    first: int
    last: int | None  # None: and all that are longer
    sentences: int
    bleu: float | None  # None where there is no sentence
    chrf: float | None
    training: int | None  # sentences of such lengths in the training data; None where nobody counted


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
    position_base: float = 10_000.0  # of its sinusoidal positions

    def layers(self, stack: str) -> int:
        """How many layers one of STACKS has."""
        return self.n_layers if stack == "encoder_self" else self.n_decoder_layers


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


@dataclass(frozen=True)
class Bin:
    """Texts whose confidence, the probability of the label they were given, is about the same."""

    count: int
    confidence: float  # their mean
    accuracy: float  # the share of them whose label is right


@dataclass(frozen=True)
class Calibration:
    """How far a classifier's probabilities can be taken at their word, measured on validation data (Guo et al. 2017).

    An error is the mean over texts of how far accuracy and confidence of their bin are apart.
    """

    temperature: float  # that divides the logits
    error: float  # with it
    error_before: float  # without it
    bins: tuple[Bin, ...]  # with it


@dataclass(frozen=True)
class LabelShare:
    """Accuracy (0 to 1) of a classifier that learned from a share of the labels."""

    pretrained: bool  # it began as a language model; else from nothing
    share: float  # of all labels, 0 to 1
    imdb: float  # on the validation set of IMDb
    sst2: float  # on the validation set of SST-2
    labels: int  # how many
    steps: int | None = None  # of training, pre-training apart


@dataclass(frozen=True, eq=False)
class Sentiment:
    """What the classifier made of a text."""

    text: str  # as it was read: on one line, without markup of line breaks
    label: str
    probability: float  # of the label, calibrated
    probabilities: dict[str, float]  # of every label
    pieces: tuple[str, ...]  # that were read, from <s> to </s>
    weights: np.ndarray  # (pieces,), of the pooling; they sum to 1
    cut: int  # pieces left out after the first quarter, because the text is too long
    warnings: tuple[Message, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return {"label": self.label, "probability": self.probability, "probabilities": self.probabilities,
                "pieces": list(self.pieces), "weights": [round(float(w), 6) for w in self.weights], "cut": self.cut,
                "warnings": [warning.say() for warning in self.warnings]}


@dataclass(frozen=True, eq=False)
class Attribution:
    """Why a classifier judged a text as it did: a few numbers for each of the W words that it read, as float32."""

    sentiment: Sentiment
    toward: str  # the label that `effect` speaks for
    words: tuple[str, ...]  # W, as pieces joined; <s> and </s> are not among them
    cut: int | None  # how many words stand before the place where pieces were left out; None where none were
    effect: np.ndarray  # (W,) by how much the log-odds of the label `toward` fall without the word
    pooling: np.ndarray  # (W,) the pooling's weight of the word; what is missing to 1 lies on <s> and </s>
    heads: np.ndarray  # (layers, heads, W) how much each head looks at the word, on its way into the pooling; likewise
    seconds: float


@dataclass(frozen=True)
class Judged:
    """One of many texts, and what the classifier made of it."""

    text: str  # as it was given
    given: str | None  # the label that came with it
    label: str | None  # None where the text could not be read; the notes then say why
    probability: float | None  # of the label, calibrated
    notes: tuple[Message, ...]
