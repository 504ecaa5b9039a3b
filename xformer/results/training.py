"""The course of a training run."""

from dataclasses import dataclass

import numpy as np

from xformer.results.models import Head

__all__ = [
    "PARTS",
    "Course",
    "DevScores",
    "Film",
    "History",
    "LiveFrame",
    "LiveWait",
    "Moment",
    "Moments",
    "RunSettings",
    "TrainingCourse",
]


@dataclass(frozen=True)
class DevScores:
    """What a model in training reached on the development set."""

    step: int
    seconds: float  # of training until then
    seen: int  # target pieces until then
    values: dict[str, float]  # `bleu` and others


@dataclass(frozen=True)
class History:
    """The course of a training run in at most a few hundred points; each stands for the
    steps since the last."""

    step: tuple[int, ...]
    seconds: tuple[float, ...]  # of training until then
    seen: tuple[int, ...]  # target pieces learned from until then
    loss: tuple[float, ...]  # mean of a target piece
    learning_rate: tuple[float, ...]  # of the last step
    gradient_norm: tuple[float, ...]  # mean, before it is clipped
    largest_norm: tuple[float, ...]
    per_second: tuple[float, ...]  # target pieces
    scores: tuple[DevScores, ...]


@dataclass(frozen=True)
class Moment:
    """A moment of a training run."""

    step: int
    seconds: float  # of training until then
    seen: int  # target pieces until then
    done: float  # share of the run, 0 to 1


@dataclass(frozen=True)
class Course:
    """How the translation of one sentence, and the maps of a pass over it and its
    reference, came to be.

    Maps are uint8 (moments, layers, H, Q, K), 255 for a probability of 1.
    """

    english: str
    reference: str
    source: tuple[str, ...]  # pieces, the last of them </s>
    # pieces of the reference that the decoder is given, the first of them <s>
    target: tuple[str, ...]
    predicted: tuple[str, ...]  # those that it is to predict
    translations: tuple[str, ...]  # one a moment, decoded greedily
    maps: dict[str, np.ndarray]  # by stack; only those that the model has


@dataclass(frozen=True)
class Moments:
    """Moments of a training run, on a logarithmic scale of it."""

    moments: tuple[Moment, ...]
    courses: tuple[Course, ...]  # one a sentence
    # float32 (moments, 2, layers, H): alignment error rates of the cross heads, in both
    # READINGS
    errors: np.ndarray


@dataclass(frozen=True, eq=False)
class Film:
    """What a small translator makes of one pair at moments of its training."""

    head: Head  # of the cross-attention, the one that aligns best in the end
    moments: tuple[Moment, ...]
    source: tuple[str, ...]  # K pieces, </s> last
    target: tuple[str, ...]  # Q pieces, without special ones: what looks
    translations: tuple[str, ...]  # one a moment, decoded greedily
    maps: np.ndarray  # (moments, Q, K) float32, of that head
    losses: tuple[float, ...]  # mean of a target piece, nats, one a moment
    errors: tuple[float, ...]  # alignment error rates of the head, one a moment
    # steps, and the mean loss of a target piece since the one before it
    course: tuple[tuple[int, float], ...]
    parameters: int


# Of a transformer, that a small run may go without: see `training.parts`.
PARTS = (
    "residual",
    "norm",
    "feed_forward",
    "positions",
    "heads",
    "slices",
    "mask",
    "scaling",
    "before",
    "dropout",
    "smoothing",
    "tying",
)


@dataclass(frozen=True)
class RunSettings:
    """What a small training run is asked for."""

    task: str  # "translation", or one of serve.protocol.TASKS
    norm: str  # order of normalisation
    layers: int  # of the encoder and of the decoder
    schedule: str  # of the learning rate
    warmup: int  # steps
    peak: float  # learning rate at its highest
    smoothing: float  # of the labels
    seed: int
    steps: int  # after which it ends
    without: str = ""  # one of PARTS that the model has not
    # to learn from, of a recorded run; 0: all. Of a live one, examples; 0: new ones
    # without end
    pairs: int = 0


@dataclass(frozen=True)
class TrainingCourse:
    """The course of a small training run, in points; each stands for the steps since
    the one before it."""

    settings: RunSettings
    step: tuple[int, ...]
    loss: tuple[float, ...]  # mean of a target piece, nats
    rate: tuple[float, ...]  # of learning, in the last of these steps
    norm: tuple[float, ...]  # the largest norm of the gradient in these steps
    # step, seconds, and what was reached: see `measure`
    scores: tuple[tuple[int, float, float], ...]
    seconds: float  # since it began
    guess: float  # the loss of who knows only how often each target piece comes
    # "" while it goes on; "finished", "diverged", "stopped", "late", "cut"
    ended: str = ""
    # loss of a piece that is not learned from, one a score: of a recorded run without
    # smoothing where the file says so, else smoothed as `loss`
    held_out: tuple[float, ...] = ()
    # Norm of the gradient of each layer's weights, encoder first: before the first
    # step, and at the end.
    depths: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    # share of held-out answers that are right, 0 to 1; or "bleu", 0 to 100
    measure: str = "accuracy"
    # BLEU at the end by the length of what is translated: see `explain.recorded.LENGTHS`
    by_length: tuple[float, ...] = ()
    seen: int = 0  # target pieces learned from; 0: unknown


@dataclass(frozen=True, eq=False)
class LiveFrame:
    """A moment of a training run that a visitor watches."""

    course: TrainingCourse
    # held-out questions, what the model answers, and what is right
    answers: tuple[tuple[str, str, str], ...]
    head: Head  # the head of the cross-attention that is sharpest at this moment
    # Q pieces of the first right answer, </s> too: each where it is to be predicted
    queries: tuple[str, ...]
    keys: tuple[str, ...]  # K pieces of the first question, </s> too
    probabilities: np.ndarray  # (Q, K) float32


@dataclass(frozen=True)
class LiveWait:
    """A training run that waits until others give it a place."""

    before: int  # runs that stand in line before it
