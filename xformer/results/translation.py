"""A translated text: its hypotheses, the tree of its beam, its pieces and its
scores."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from xformer.results.messages import Message
from xformer.results.options import Options

__all__ = [
    "BeamTree",
    "Bleu",
    "Branch",
    "Candidate",
    "Energies",
    "EnergySource",
    "Energy",
    "Forced",
    "LengthScore",
    "NGram",
    "Pieced",
    "Translation",
]


@dataclass(frozen=True)
class Candidate:
    """One hypothesis of a finished search; its pieces end with </s> unless it was cut
    off at the greatest length."""

    text: str
    score: float  # sum of log_probs / length^alpha
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]
    # of each piece, given the source and the pieces before it; natural logarithms
    log_probs: tuple[float, ...]
    # likeliest pieces of each step with log_probs, best first
    alternatives: tuple[tuple[tuple[str, float], ...], ...]
    finished: bool  # ends with </s>


@dataclass(frozen=True)
class Translation:
    """A translated text: the n-best list, warnings, and how it was searched for."""

    source: str  # as it was translated: without control characters, on one line
    n_best: tuple[Candidate, ...]  # best first
    warnings: tuple[Message, ...]
    seconds: float
    options: Options  # of the search
    # limit of target pieces that was asked for, </s> included; None: the model's own
    max_length: int | None
    # pieces of `source` in the model's vocabulary, without </s>
    source_tokens: tuple[int, ...]
    # of translations like it, the share that say what was meant: in the register where
    # fewest do, and where most do; None: not known
    quality: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not self.n_best:
            raise ValueError(
                "n_best is empty; a translation has one hypothesis or more"
            )

    @property
    def best(self) -> Candidate:
        """The best hypothesis."""
        return self.n_best[0]

    @property
    def alone(self) -> Options:
        """The same options for a search that only has to give the best translation."""
        return replace(self.options, n_best=1, alternatives=1, quality=False)

    def to_json(self) -> dict[str, Any]:
        """The translation as the API and `--json` give it, with warnings in English;
        the quality only if asked for."""
        first, *_ = every = [
            {
                "text": one.text,
                "score": one.score,
                "pieces": list(one.pieces),
                "log_probs": list(one.log_probs),
            }
            for one in self.n_best
        ]
        return {
            **first,
            "alternatives": [
                [{"piece": piece, "log_prob": value} for piece, value in step]
                for step in self.best.alternatives
            ],
            "n_best": every,
            "warnings": [warning.say() for warning in self.warnings],
            **({"quality": self.quality} if self.options.quality else {}),
        }


@dataclass(frozen=True)
class Branch:
    """A token that a beam thought of as a continuation of one of its hypotheses."""

    # place in the tree of the token before it; None at the beginning
    parent: int | None
    step: int  # from 0
    token: int
    log_prob: float
    total: float  # sum of log-probabilities from the beginning
    score: float  # total / length^alpha
    # "kept"; "ended", as a finished hypothesis; "dropped", as it was not among the best
    fate: str


@dataclass(frozen=True)
class BeamTree:
    """Everything that a beam thought of while it translated one text."""

    # one candidate for each hypothesis that finished, at most the beam's width
    translation: Translation
    # by step, in each the best first: up to 2K of a beam of K
    branches: tuple[Branch, ...]
    pieces: tuple[str, ...]  # of the branches

    @property
    def warnings(self) -> tuple[Message, ...]:
        return self.translation.warnings

    def to_json(self) -> dict[str, Any]:
        """The translation's JSON, with "tree": each branch with its piece."""
        tree = [
            {"piece": piece, **asdict(branch)}
            for piece, branch in zip(self.pieces, self.branches, strict=True)
        ]
        return {**self.translation.to_json(), "tree": tree}


@dataclass(frozen=True)
class Forced:
    """A given target, and what a model thinks of each of its T pieces after those
    before it (teacher forcing)."""

    given: tuple[str, ...]  # the first of them <s>
    predicted: tuple[str, ...]  # the given ones moved on by one, the last of them </s>
    log_probs: tuple[float, ...]  # of `predicted`
    losses: tuple[float, ...]  # cross-entropy with label smoothing, as in training
    smoothing: float  # 0 to below 1
    vocabulary: int  # pieces that share what smoothing takes from the right one
    # by step: the likeliest pieces and their log-probabilities
    alternatives: tuple[tuple[tuple[str, float], ...], ...]


@dataclass(frozen=True)
class Energy:
    """What a target y of T pieces costs a model: E(x, y) = −ln P(y | x), in nats, the
    sum over its pieces."""

    text: str
    pieces: tuple[str, ...]  # the last of them </s>
    # −ln P of each piece, given the source and the pieces before it
    parts: tuple[float, ...]
    # mean length of the decoder's last states h (T, D); None for a model that has none
    # of its own to look at
    state: float | None

    @property
    def total(self) -> float:
        """E(x, y), in nats."""
        return sum(self.parts)

    @property
    def mean(self) -> float:
        """E(x, y) a piece, </s> counted."""
        return self.total / len(self.parts)


@dataclass(frozen=True)
class EnergySource:
    """A source x of S pieces, whose targets a model gives energies."""

    pieces: tuple[str, ...]  # the last of them </s>
    vocabulary: int  # pieces among which each next one is chosen
    state: float  # mean length of the encoder's last states h (S, D)


@dataclass(frozen=True)
class Energies:
    """What several targets of one source cost a model."""

    source: EnergySource
    targets: tuple[Energy, ...]  # in the order of the question


@dataclass(frozen=True)
class Pieced:
    """A text split into pieces, each with its log-probability under the vocabulary's
    unigram model."""

    text: str
    pieces: tuple[str, ...]
    log_probs: tuple[float, ...]

    @property
    def log_prob(self) -> float:
        """Of the split: pieces are drawn without regard to each other."""
        return sum(self.log_probs)


@dataclass(frozen=True)
class LengthScore:
    """Translation quality on sentences of `first` to `last` pieces of the source,
    without </s>."""

    first: int
    last: int | None  # None: no upper limit
    sentences: int
    bleu: float  # 0 to 100
    chrf: float  # 0 to 100
    # sentences of such lengths in the training data; None where they were not counted
    training: int | None

    @property
    def pieces(self) -> str:
        return f"{self.first}–{self.last}" if self.last else f"{self.first}+"


@dataclass(frozen=True)
class NGram:
    """Some tokens in a row, counted in a translation and in its reference."""

    tokens: tuple[str, ...]
    count: int  # in the translation
    reference: int  # in the reference

    @property
    def matches(self) -> int:
        """The count that BLEU takes, clipped: no more than the reference has."""
        return min(self.count, self.reference)


@dataclass(frozen=True)
class Bleu:
    """BLEU of one sentence and its parts, as Papineni et al. (2002) define it, on
    sacrebleu's 13a tokens."""

    # brevity_penalty times the geometric mean of the precisions, times 100; 0 where one
    # of them is 0
    score: float
    # sacrebleu's sentence score, in which a precision of 0 counts a little more
    smoothed: float
    # n-grams of the translation that are in the reference, for n = 1 to 4, clipped
    matches: tuple[int, ...]
    totals: tuple[int, ...]  # n-grams of the translation, for n = 1 to 4
    # exp(1 - reference_length / length) where the translation is shorter, else 1
    brevity_penalty: float
    length: int  # tokens of the translation
    reference_length: int
    # the largest n for which the translation has n-grams; longer ones are left out of
    # the mean
    orders: int = 4
    # exp(min(0, 1 - reference_length / length)) times the product of p_n^(1/2^n), times
    # 100
    variant: float = 0.0
    # for n = 1 to 4: those of either, in the order in which they come
    ngrams: tuple[tuple[NGram, ...], ...] = ()

    @property
    def unclipped(self) -> tuple[int, ...]:
        """For n = 1 to 4: n-grams of the translation that the reference has at all,
        however often."""
        return tuple(
            sum(ngram.count for ngram in ngrams if ngram.reference)
            for ngrams in self.ngrams
        )
