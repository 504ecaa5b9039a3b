"""What the page and the command line may ask of services and of the pool of models;
loads no torch.

`serve.translation.Service`, `serve.reviews.SentimentService`, `serve.writer.Writer`,
`serve.study.Study` and `serve.pool.Models` are these protocols, and their methods are
described here; any other implementation may fit them too. Every method can be called
from several threads at once, and raises UserError for what it cannot do.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from threading import Event
from typing import Any, Protocol

import numpy as np

from xformer.explain.recorded import Recorded
from xformer.results.attention import Trace
from xformer.results.changes import Comparison
from xformer.results.inside import SublayerGradient
from xformer.results.messages import Message
from xformer.results.models import Block, Head, LayerTimes, ModelInfo
from xformer.results.options import GREEDY, OWN, Options, Positions
from xformer.results.questions import Answer, Question, Source, Target
from xformer.results.reviews import (
    Attribution,
    Calibration,
    PoolingScore,
    PretrainingStudy,
    Sentiment,
)
from xformer.results.training import (
    PARTS,
    History,
    LiveFrame,
    LiveWait,
    Moments,
    RunSettings,
)
from xformer.results.translation import Candidate, LengthScore, Pieced, Translation
from xformer.results.writing import Scored
from xformer.serve.limits import Guard

# most layers of a stack, and the largest d_model, of an untrained model that is studied
DEEPEST = 18
WIDEST = 128
LARGEST_SEED = 999_999
NORMS = ("post", "pre")  # orders of normalisation, the older first
TASKS = ("reverse", "numbers", "copy")  # on which a visitor may train a transformer
SCHEDULES = ("cosine", "noam")  # of the learning rate
# The most that a visitor may ask for.
LIVE_LAYERS = 8
LIVE_STEPS = 1_000
LIVE_WARMUP = 500
LIVE_PEAK = 0.1
LIVE_PAIRS = 1_000
# parts that a live run may go without: dropout it never has
LIVE_PARTS = tuple(part for part in PARTS if part != "dropout")
LIVE_SECONDS = 45  # of training, after which such a run ends

Progress = Callable[[int, int], object]


def public(service: type) -> dict[str, Any]:
    """What may be asked of a service of this protocol, by name: its methods and its
    values, but not its guard."""
    return {
        name: one
        for name, one in {**service.__annotations__, **vars(service)}.items()
        if name != "guard" and not name.startswith("_")
    }


class TranslationService(Protocol):
    """One translation model: it translates, and shows what happens in a pass over a
    sentence pair."""

    guard: Guard  # may be replaced by one that several services share
    info: ModelInfo
    metrics: dict[str, Any]  # measurements of the model, from its checkpoint
    max_pieces: int  # of a source or a target, </s> included

    @property
    def best_head(self) -> Head:
        """The head of the cross-attention that aligns words best, as `evaluate
        alignment --save` measured it; if it did not, the first head of the last layer.
        For a model without attention, this is a head that does not exist."""

    def alignment_errors(self, head: Head) -> tuple[float, float] | None:
        """Alignment error rates of a head, for the piece it predicts and the piece it
        was given; None if they were not measured, as for every head outside the
        cross-attention."""

    @property
    def length_scores(self) -> list[LengthScore]:
        """Translation quality by length of sentence, as `research evaluate lengths
        --save` measured it, or []."""

    @property
    def history(self) -> History | None:
        """The course of its training; None if it was not recorded."""

    @property
    def moments(self) -> Moments | None:
        """Moments of its training; None if they were not recorded."""

    def blocks(self) -> list[Block]:
        """The model box by box, in the order of its parameters."""

    def translate(
        self,
        text: str,
        options: Options | None = None,
        prefix: Sequence[int] = (),
        max_length: int | None = None,
        off: Iterable[Head] = (),
        positions: Positions = OWN,
        timeout: float | None = None,
    ) -> Translation:
        """Translate one text, in a batch with other waiting requests.

        prefix: target tokens to begin with. max_length: the most target pieces, </s>
        included. off: heads to leave out. positions: what is added to the embeddings.
        timeout: seconds after which the search is given up; None: the guard's limit.
        """

    def translate_many(
        self,
        texts: Sequence[str],
        options: Options | None = None,
        prefixes: Sequence[Sequence[int]] | None = None,
        max_length: int | None = None,
        progress: Callable[[int], object] | None = None,
        off: Iterable[Head] = (),
        positions: Positions = OWN,
        timeout: float | None = None,
    ) -> list[Translation]:
        """Translate texts in order, or refuse the first that cannot be; `progress` is
        told how many more are done."""

    def translate_and_trace(
        self, text: str, options: Options | None = None, max_length: int | None = None
    ) -> tuple[Translation, Trace]:
        """Translate a text and trace the pass over it and the best translation, as one
        request."""

    def choose(
        self,
        source: str,
        candidate: Candidate,
        step: int,
        piece: str,
        options: Options | None = None,
        max_length: int | None = None,
    ) -> Translation:
        """Translate again: the candidate's pieces before a step (the first is 0), then
        `piece`, then a new search.

        piece: as in `Candidate.alternatives`; </s> ends the translation. Refused are a
        step that there is not, and a piece that the model cannot write.
        """

    def typed(self, target: str) -> tuple[list[int], list[Message]]:
        """The tokens of a typed translation, without </s>, and the warnings about
        it."""

    def trace(
        self,
        source: Source,
        target: Target,
        off: Iterable[Head] = (),
        positions: Positions = OWN,
    ) -> Trace:
        """All attention maps of one teacher-forced pass over a source and a target, a
        text or tokens.

        off: heads to leave out. positions: what is added to the embeddings. Refused are
        an empty side and a long one.
        """

    def explain(
        self, source: str, target: str | None = None, options: Options | None = None
    ) -> Trace:
        """All attention maps for a source and a target; without a target, for the
        model's own translation."""

    def compare(
        self,
        first: Source,
        second: Source,
        options: Options | None = None,
        max_length: int | None = None,
    ) -> Comparison:
        """Translate two texts, trace both passes, and score each translation after both
        texts.

        A `Translation` that is given in place of a text is not searched for again.
        """

    def ask(
        self, question: Question[Answer], progress: Progress | None = None
    ) -> Answer:
        """Answer one of `results.questions`; `progress` is told of what is done, where
        the question says of what."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """One vector a text, (texts, D): the mean of the encoder's output over its
        pieces. Capitals are read as they are typed; the form in which a translation
        reads a text is its `source`."""

    def split(self, text: str, count: int = 1) -> list[Pieced]:
        """A text split into pieces in its `count` likeliest ways, the likeliest first.
        Capitals stay as they are typed; the form in which a translation reads a text is
        its `source`."""


class ReviewService(Protocol):
    """One classifier of reviews."""

    guard: Guard  # may be replaced by one that several services share
    info: ModelInfo

    @property
    def calibration(self) -> Calibration | None:
        """How well the probabilities are calibrated on validation data; None if it was
        not measured."""

    @property
    def pooling_scores(self) -> list[PoolingScore]:
        """Accuracy of classifiers by their pooling and mask; empty if it was not
        measured."""

    def clean(self, text: str) -> tuple[str, list[Message]]:
        """A text as the model reads it, and the warnings about it."""

    def classify(
        self, texts: Sequence[str], progress: Callable[[int], object] | None = None
    ) -> list[Sentiment]:
        """Classify texts in order, or refuse the first that cannot be; `progress` is
        told how many more are done."""

    def attribute(self, text: str, progress: Progress | None = None) -> Attribution:
        """Classify a text, and say what each of its words contributed to the label, by
        occlusion (Li et al. 2016): the word's pieces are replaced by UNK.

        The effect of a word is how much the calibrated log-odds of a label fall without
        it. With two labels it is the second, otherwise the likeliest. `progress` is
        told the number of words done and of all words.
        """

    def trace(self, text: str) -> Trace:
        """All attention maps of a pass over a text from <s> to </s>, as encoder
        self-attention."""

    def blocks(self) -> list[Block]:
        """The model box by box, in the order of its parameters."""


class WriterService(Protocol):
    """One language model of reviews."""

    guard: Guard  # may be replaced by one that several services share
    info: ModelInfo

    def read(
        self,
        text: str,
        whole: bool = False,
        options: Options = GREEDY,
        window: int = 0,
    ) -> Scored:
        """Score each piece of a text given the pieces before it; an empty text has only
        the pieces that may come first.

        whole: whether the text ends there, so that </s> is scored too. options: of the
        draw of the next piece. window: from how many pieces before it each piece is
        predicted; 0: from all.
        """

    def write(self, text: Scored, options: Options = GREEDY, window: int = 0) -> Scored:
        """Write one piece after a text: draw it, or take the likeliest at temperature
        0. Refused where the text has ended, or is as long as the model can read."""

    def choose(
        self,
        text: Scored,
        place: int,
        token: int | None = None,
        options: Options = GREEDY,
        window: int = 0,
    ) -> Scored:
        """Cut a text before the piece at a place (the first is 0); append `token` if
        one is given."""

    def trace(self, text: str) -> Trace:
        """All attention maps of a pass over a text from <s> to </s>, as encoder
        self-attention."""


class StudyService(Protocol):
    """Small transformers that are made and trained on demand, to see how training
    goes."""

    guard: Guard  # may be replaced by one that several services share

    def gradients(
        self, layers: int, width: int, norm: str, seed: int = 0
    ) -> list[SublayerGradient]:
        """The gradient of each sub-layer of an untrained transformer, encoder first,
        from the input to the output."""

    def layer_times(self) -> list[LayerTimes]:
        """The time that a GRU and self-attention take to read sequences of several
        lengths, measured now."""

    def pretraining(self) -> PretrainingStudy:
        """What pre-training is worth, as it was measured. Refused if the file is
        broken."""

    def recorded(self, question: str) -> Recorded:
        """The recorded runs on English and Spanish, those among them that answer one of
        `explain.recorded.QUESTIONS`. Refused if the file is broken."""

    def schedule(self, settings: RunSettings) -> list[float]:
        """The learning rate of each step of a run."""

    def train(
        self, settings: RunSettings, halt: Event
    ) -> Iterator[LiveFrame | LiveWait]:
        """Train a small transformer on one of TASKS; yield its progress about twice a
        second, and, while it waits for a place, for how long.

        The run ends by itself, after LIVE_SECONDS of training, when `halt` is set, when
        the client has gone, or when nobody reads its frames.
        """


class ModelPool(Protocol):
    """Translation models by name; "" and the default's own name mean the default."""

    guard: Guard  # shared by all models
    default: TranslationService
    # whether visitors may choose any folder of this machine and any repository on the
    # Hub
    any_name: bool

    @property
    def names(self) -> list[str]:
        """Names that every visitor may choose, the default's first."""

    def reading(self, language: str) -> str | None:
        """The name of the first model that every visitor may choose and that reads a
        language; None for none."""

    def translating(self, source: str, target: str) -> list[str]:
        """Those of `names` that translate from one language into another."""

    def known_as(self, name: str) -> str:
        """A name as it stands in addresses, "" for the default; one that is not offered
        is refused."""

    def needs(self, name: str) -> float | None:
        """The GB of memory that a model will take, estimated; None for one that is not
        on this machine yet."""

    def at_hand(self, name: str) -> bool:
        """Whether `lease` would answer at once, with the model or an error."""

    def lease(self, name: str = "") -> AbstractContextManager[TranslationService]:
        """A service that stays open while it is leased; refused if it cannot be loaded,
        or not soon."""
