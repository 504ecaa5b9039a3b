"""Records that the parts of the program hand each other; str, numbers and numpy only."""

from __future__ import annotations

import math
import sys
import webbrowser
from dataclasses import asdict, dataclass, field, replace
from html import escape
from importlib import import_module
from itertools import count
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import numpy as np

from xformer.pieces import EOS, SPECIAL
from xformer.strings import ENGLISH, Language


@dataclass(frozen=True)
class Message:
    """A message to a person in a language chosen later: a key of assets/strings and its values."""

    key: str
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, key: str, /, **values: Any) -> Message:
        """A message from its key, and its values by name."""
        return cls(key, tuple(values.items()))

    def say(self, language: Language = ENGLISH) -> str:
        """The message as plain text."""
        return language.say(self.key, **dict(self.values))


class UserError(ValueError):
    """A refusal of what a person asked for: one sentence with the value, the limit and what to do.

    It is shown as it is, on the page and on the command line; in the reader's language where it is a `Message`.
    """

    def __init__(self, message: Message | str) -> None:
        self.message = message
        super().__init__(self.say())

    def say(self, language: Language = ENGLISH) -> str:
        """The sentence as plain text."""
        return self.message if isinstance(self.message, str) else self.message.say(language)


STOPS = ("lookahead", "bound", "k_finished")  # of a beam
ANSWERS_IN = ("auto", "float32", "int8")  # precisions that a model may be asked to answer in


@dataclass(frozen=True)
class Options:
    """Search settings: beam search, or sampling where the temperature is above 0."""

    beam: int = 5
    n_best: int = 1
    length_penalty: float = 1.0  # alpha: hypotheses are ranked by log-probability / length^alpha
    temperature: float = 0.0
    top_k: int = 0  # sample among the k likeliest; 0: all
    top_p: float = 1.0  # sample among the fewest pieces that hold this probability (Holtzman et al. 2020)
    seed: int = 0  # of the samples; each text draws its own, so that they do not depend on what else is translated
    stop: str = "lookahead"  # when a beam of 2 and more ends: one of STOPS, explained in `search.searching`
    alternatives: int = 5  # likeliest pieces to keep of each step

    def __post_init__(self) -> None:
        limits = {"beam": (1, 32), "n_best": (1, 32), "length_penalty": (0, 5), "temperature": (0, 10),
                  "top_k": (0, 100_000), "top_p": (0, 1), "alternatives": (0, 32)}
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not low <= value <= high:
                raise ValueError(f"{name} is {value}; it must be between {low} and {high}")
        if not self.sampling and self.n_best > self.beam:
            raise ValueError(f"n_best is {self.n_best}, but a beam of {self.beam} ends with {self.beam} hypotheses; "
                             f"raise beam or lower n_best")
        if self.stop not in STOPS:
            raise ValueError(f"stop is {self.stop!r}; choose one of {', '.join(STOPS)}")
        if self.top_p == 0:
            raise ValueError("top_p is 0; it must be above 0 to leave a piece to choose")

    @property
    def sampling(self) -> bool:
        """Whether pieces are drawn at random."""
        return self.temperature > 0


GREEDY = Options(beam=1)


@dataclass(frozen=True)
class Candidate:
    """One hypothesis of a finished search; its pieces end with </s> unless it was cut off at the greatest length."""

    text: str
    score: float  # sum of log_probs / length^alpha
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]
    log_probs: tuple[float, ...]  # of each piece, given the source and the pieces before it; natural logarithms
    alternatives: tuple[tuple[tuple[str, float], ...], ...]  # likeliest pieces of each step with log_probs, best first
    finished: bool  # ends with </s>


@dataclass(frozen=True)
class Translation:
    """A translated text: the n-best list, warnings, and how it was searched for."""

    source: str  # as it was translated: without control characters, on one line
    n_best: tuple[Candidate, ...]  # best first
    warnings: tuple[Message, ...]
    seconds: float
    options: Options  # of the search
    max_length: int | None  # limit of target pieces that was asked for, </s> included; None: the model's own
    source_tokens: tuple[int, ...]  # pieces of `source` in the model's vocabulary, without </s>

    def __post_init__(self) -> None:
        if not self.n_best:
            raise ValueError("n_best is empty; a translation has one hypothesis or more")

    @property
    def best(self) -> Candidate:
        """The best hypothesis."""
        return self.n_best[0]

    @property
    def alone(self) -> Options:
        """The same options for a search of which only the best translation is needed."""
        return replace(self.options, n_best=1, alternatives=1)

    def to_json(self) -> dict[str, Any]:
        """The translation as the API and `--json` give it, with warnings in English."""
        best = self.best
        return {"text": best.text, "score": best.score, "pieces": list(best.pieces),
                "log_probs": list(best.log_probs),
                "alternatives": [[{"piece": piece, "log_prob": value} for piece, value in step]
                                 for step in best.alternatives],
                "n_best": [{"text": c.text, "score": c.score, "pieces": list(c.pieces),
                            "log_probs": list(c.log_probs)} for c in self.n_best],
                "warnings": [warning.say() for warning in self.warnings]}


STACKS = ("encoder_self", "decoder_self", "cross")
# Names of the small models that are compared with one another, the oldest first.
GENERATIONS = ("gru", "gru-attention", "post-norm", "pre-norm")


class Head(NamedTuple):
    """The place of an attention head; written "cross.1.2" outside the program: in addresses, menus and files."""

    stack: str  # of STACKS
    layer: int  # from 1
    head: int  # from 1

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer}.{self.head}"

    @classmethod
    def parse(cls, name: str, stack: str = "") -> Head:
        """Read the name of a head: "cross.1.2", "cross 1 2" as in older links, or "1.2" of a given `stack`.

        Raises ValueError for anything else; but not for a head that a model lacks, which its `ModelInfo` knows.
        """
        parts = name.replace(".", " ").split()
        stack, *numbers = parts if len(parts) == 3 else [stack, *parts]
        if stack not in STACKS or len(numbers) != 2 or not all(n.isascii() and n.isdigit() for n in numbers):
            raise ValueError(f"{name[:40]!r} names no attention head; write one as cross.1.2: stack, layer, head")
        return cls(stack, int(numbers[0]), int(numbers[1]))


@dataclass(frozen=True, eq=False)
class Maps:
    """The attention of one stack in one pass, from Q query pieces to K key pieces."""

    asks: tuple[str, ...]  # Q query pieces: of the source in the encoder, in the decoder those it was given
    predicted: tuple[str, ...]  # Q pieces to predict at these positions; () in the encoder
    seen: tuple[str, ...]  # K key pieces
    probabilities: np.ndarray  # (layers, heads, Q, K) float32, rows sum to 1
    norms: np.ndarray  # (layers, heads, K), as in `Trace`
    late: bool = False  # a query was made before its piece was read, as a recurrent decoder makes it


@dataclass(frozen=True)
class Origin:
    """The model that a pass was recorded of, and what is known of its heads."""

    info: ModelInfo
    best_head: Head  # on which a picture opens
    given: frozenset[Head] = frozenset()  # heads of the cross-attention that align the piece they were given


@dataclass(frozen=True, eq=False)  # every pass is its own: arrays have no single truth to compare
class Trace:
    """Every attention map of one teacher-forced pass: float32 arrays (layers, heads, query, key), rows sum to 1.

    The norms (layers, heads, key) are ||v W_O||, the length of each key's value vector after the output projection: how
    much a head would take along from that key (Kobayashi et al. 2020).
    """

    source: tuple[str, ...]  # S pieces, the last of them </s>
    target: tuple[str, ...]  # T pieces that the decoder is given, the first of them <s>
    predicted: tuple[str, ...]  # T pieces to predict, one at each position: the target moved on by one
    log_probs: tuple[float, ...]  # of `predicted`
    encoder_self: np.ndarray  # (layers, heads, S, S)
    decoder_self: np.ndarray  # (layers, heads, T, T)
    cross: np.ndarray  # (layers, heads, T, S)
    encoder_self_norms: np.ndarray  # (layers, heads, S)
    decoder_self_norms: np.ndarray  # (layers, heads, T)
    cross_norms: np.ndarray  # (layers, heads, S)
    text: str  # the source as it was typed
    tokens: tuple[int, ...]  # of the target, without <s> and </s>
    origin: Origin | None = field(default=None, kw_only=True)  # where it is known
    number: int = field(init=False, default_factory=count().__next__)  # counts the traces of this process

    def of(self, stack: str) -> Maps:
        """The attention of one of STACKS, with its pieces. Raises KeyError for another name."""
        return {"encoder_self": Maps(self.source, (), self.source, self.encoder_self, self.encoder_self_norms),
                "decoder_self": Maps(self.target, self.predicted, self.target, self.decoder_self,
                                     self.decoder_self_norms),
                "cross": Maps(self.target, self.predicted, self.source, self.cross, self.cross_norms,
                              self.asks_late)}[stack]

    @property
    def asks_late(self) -> bool:
        """Whether the query of a row was made before the piece of the row was read: that of a recurrent decoder."""
        return self.origin is not None and self.origin.info.architecture != "transformer"


    def page(self, head: Head | str | None = None, language: Language = ENGLISH) -> str:
        """Write a page of HTML that shows every head, opens without a server, and asks for nothing from outside.

        head: the one on which it opens, as "cross.1.2"; the best of the model if not given. Raises ValueError for what
        names no head, and UserError where the model has none.
        """
        from xformer import offline_page  # only where a page is wanted
        origin = self.origin
        best = origin.best_head if origin else Head("cross", 1, 1)
        start = best if head is None else Head.parse(head) if isinstance(head, str) else head
        stacks = [stack for stack in STACKS if self.of(stack).probabilities.size]
        if not stacks:
            raise UserError(Message.of("html_no_heads", model=origin.info.name if origin else "?"))
        if start.stack not in stacks:
            start = Head(stacks[0], 1, 1)
        about = {"source": self.source, "target": self.target, "predicted": self.predicted,
                 "model": origin.info.line(language) if origin else "",
                 "given": sorted(map(str, origin.given)) if origin else [], "late": self.asks_late}
        return offline_page.page(about, {stack: self.of(stack).probabilities for stack in STACKS}, start, language)

    def _repr_html_(self) -> str:
        """The page in a frame: how a notebook shows a trace that a cell ends with."""
        from xformer import offline_page
        try:
            return offline_page.frame(self.page())
        except UserError as error:
            return f"<p>{escape(str(error))}</p>"

    def show(self, head: Head | str | None = None, language: Language = ENGLISH) -> None:
        """Show every head: in the notebook where this runs in one, else in the browser, from a temporary file.

        head, language: as for `page`.
        """
        from xformer import offline_page
        page = self.page(head, language)
        ipython = sys.modules.get("IPython")  # which every notebook has loaded
        if ipython is not None and ipython.get_ipython() is not None:
            display = import_module("IPython.display")
            display.display(display.HTML(offline_page.frame(page)))
            return
        with NamedTemporaryFile("w", suffix=".html", encoding="utf-8", delete=False) as file:
            file.write(page)
        webbrowser.open(Path(file.name).as_uri())


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two source texts side by side: the pass over each with its own translation, and each translation after both."""

    translations: tuple[Translation, Translation]
    traces: tuple[Trace, Trace]  # of each source and its own translation
    # [source][translation]: log-probability of each piece of the translation, </s> included, after that source
    log_probs: tuple[tuple[tuple[float, ...], ...], ...]

    @property
    def totals(self) -> tuple[tuple[float, ...], ...]:
        """Sums of `log_probs`: [source][translation], nats."""
        return tuple(tuple(map(sum, of_source)) for of_source in self.log_probs)

    def to_json(self) -> dict[str, Any]:
        """The translations' JSON, and log-probabilities crosswise."""
        return {"sources": [translation.source for translation in self.translations],
                "translations": [translation.to_json() for translation in self.translations],
                "log_probs": [[list(values) for values in of_source] for of_source in self.log_probs]}


@dataclass(frozen=True)
class Branch:
    """A token that a beam thought of as a continuation of one of its hypotheses."""

    parent: int | None  # place in the tree of the token before it; None at the beginning
    step: int  # from 0
    token: int
    log_prob: float
    total: float  # sum of log-probabilities from the beginning
    score: float  # total / length^alpha
    fate: str  # "kept"; "ended", as a finished hypothesis; "dropped", as it was not among the best


@dataclass(frozen=True)
class BeamTree:
    """Everything that a beam thought of while it translated one text."""

    translation: Translation  # with as many candidates as the beam was wide, where so many finished
    branches: tuple[Branch, ...]  # by step, in each the best first: up to 2K of a beam of K
    pieces: tuple[str, ...]  # of the branches

    @property
    def warnings(self) -> tuple[Message, ...]:
        return self.translation.warnings

    def to_json(self) -> dict[str, Any]:
        """The translation's JSON, with "tree": each branch with its piece."""
        tree = [{"piece": piece, **asdict(branch)} for piece, branch in zip(self.pieces, self.branches, strict=True)]
        return {**self.translation.to_json(), "tree": tree}


@dataclass(frozen=True, eq=False)
class DecoderReadings:
    """The state of the decoder after each layer, read as if it were the last: by the output embedding.

    Axes: 0 to M layers (0: the embedded pieces), T steps. Nothing in training asks that such a reading make sense: a
    layer hands its state to the next one, not to a reader.
    """

    given: tuple[str, ...]  # T pieces, the first of them <s>
    predicted: tuple[str, ...]  # T pieces, the last of them </s>
    pieces: tuple[tuple[str, ...], ...]  # (M + 1, T): the likeliest piece
    likeliest: np.ndarray  # (M + 1, T): its probability
    probabilities: np.ndarray  # (M + 1, T): of the predicted piece
    ranks: np.ndarray  # (M + 1, T): of the predicted piece; 1 is the likeliest


@dataclass(frozen=True)
class Forced:
    """A given target, and what a model thinks of each of its T pieces after those before it (teacher forcing)."""

    given: tuple[str, ...]  # the first of them <s>
    predicted: tuple[str, ...]  # the given ones moved on by one, the last of them </s>
    log_probs: tuple[float, ...]  # of `predicted`
    losses: tuple[float, ...]  # cross-entropy with label smoothing, as in training
    smoothing: float  # 0 to below 1
    vocabulary: int  # pieces that share what smoothing takes from the right one
    alternatives: tuple[tuple[tuple[str, float], ...], ...]  # by step: the likeliest pieces and their log-probabilities


@dataclass(frozen=True, eq=False)
class Occlusion:
    """Leave-one-out effects of W source words on T target pieces."""

    words: tuple[str, ...]  # W words of the source, their pieces joined
    predicted: tuple[str, ...]  # T pieces
    log_probs: tuple[float, ...]  # of `predicted`, with the whole source
    effect: np.ndarray  # (T, W), nats by which a piece's log-probability falls without the word


@dataclass(frozen=True)
class HeadEffect:
    """The worth of one head to a translation."""

    head: Head
    effect: float  # nats by which the translation's log-probability falls without it


@dataclass(frozen=True, eq=False)
class Walk:
    """Every number of one head in one pass, in the steps of equation 1 of Vaswani et al. (2017); float32, d is d_k.

    Each step follows from the one before: scores = q k^T; scaled = scores / sqrt(d); masked = scaled, or minus infinity
    where the mask is False; probabilities = softmax(masked); answers = probabilities v; shares = answers W_O.
    """

    head: Head
    queries: tuple[str, ...]  # Q pieces: of the source in the encoder, in the decoder those it was given
    predicted: tuple[str, ...]  # Q pieces to predict at these positions; () in the encoder
    keys: tuple[str, ...]  # K pieces, padding too
    q: np.ndarray  # (Q, d)
    k: np.ndarray  # (K, d)
    v: np.ndarray  # (K, d)
    mask: np.ndarray  # (Q, K) bool, True where a query may look
    scores: np.ndarray  # (Q, K)
    scaled: np.ndarray  # (Q, K)
    masked: np.ndarray  # (Q, K)
    probabilities: np.ndarray  # (Q, K)
    answers: np.ndarray  # (Q, d), sums of v weighted by the probabilities
    shares: np.ndarray  # (Q, D), added to the output by this head
    output: np.ndarray  # (Q, D), of all heads together, and the bias
    x: np.ndarray  # (Q, D), what asks: q = x W_Q + b_Q; the normalised state where the order is "pre"
    y: np.ndarray  # (K, D), what is looked at: k = y W_K + b_K; in cross-attention what the encoder made
    w_q: np.ndarray  # (D, d)
    b_q: np.ndarray  # (d,)
    every_q: np.ndarray  # (Q, D), queries of all heads side by side, before they are cut apart


@dataclass(frozen=True, eq=False)
class Sublayer:
    """What one sub-layer did to the states of L pieces, (L, D), with the residual around it."""

    layer: int  # from 1
    name: str  # "self_attention", "cross_attention" or "feed_forward"
    state: np.ndarray  # before it
    added: np.ndarray  # what it answers
    normed: np.ndarray  # LayerNorm of the state ("pre"), or of the state and what is added ("post")
    after: np.ndarray  # the state after it
    gamma: np.ndarray  # (D,) of that LayerNorm, as is beta
    beta: np.ndarray
    hidden: np.ndarray | None = None  # (L, d_ff) of the feed-forward network, after its ReLU

    def read(self, norm: str) -> np.ndarray:
        """What the normalisation read, in this order of it."""
        return self.state if norm == "pre" else self.state + self.added


@dataclass(frozen=True, eq=False)
class Stream:
    """The states of all pieces on their way through one side of a model, sub-layer by sub-layer: the residual stream.
    """

    pieces: tuple[str, ...]  # L: of the source with </s>, or those that the decoder is given
    predicted: tuple[str, ...]  # L to predict there; () in the encoder
    norm: str  # "pre" or "post"
    sublayers: tuple[Sublayer, ...]
    moved: float  # largest change of any output of a feed-forward network where its pieces stand in reverse order

    def of_layer(self, layer: int) -> list[Sublayer]:
        """The sub-layers of a layer, from 1."""
        return [one for one in self.sublayers if one.layer == layer]


@dataclass(frozen=True)
class Block:
    """One box in the figure of a model: a sub-layer, a normalisation, or the embeddings."""

    name: str  # "encoder.layers.0.self_attention"
    weights: tuple[tuple[str, tuple[int, ...]], ...]  # name and shape of each

    @property
    def parameters(self) -> int:
        """The number of parameters in the box."""
        return sum(math.prod(shape) for _, shape in self.weights)


LABELS = ("negative", "positive")  # of reviews, in the order of the classifier's outputs
POSITION_KINDS = ("own", "none", "shift", "base")
MOST_SHIFT = 1_000  # greatest shift of positions
BASES = (2.0, 1_000_000.0)  # least and greatest base of sinusoids


@dataclass(frozen=True)
class Positions:
    """The positions that a pass adds to its embeddings: the model's own, or others for that pass alone."""

    kind: str = "own"  # of POSITION_KINDS; "none": zeros instead of positions
    value: float = 0  # "shift": how far all are moved on; "base": the base of the sinusoids


OWN = Positions()  # the model's


@dataclass(frozen=True, eq=False)
class Moved:
    """A translation before and after a change of positions or of the order of the words."""

    source: str  # as it was read, perhaps shuffled
    translation: Translation  # made under the change
    before: Trace  # of the original source and translation
    after: Trace  # of `source` and the same target pieces, under the change


WEIGHINGS = ("beta", "unscaled", "after", "queries", "zeroed")
SCOPES = ("stack", "layer", "head")


@dataclass(frozen=True)
class Weighing:
    """Attention that makes weights of scores otherwise than equation 1: in one head, in its layer, or in its stack.

    Kinds: "beta", softmax(beta q k^T / sqrt(d)); "unscaled", softmax(q k^T); "after", softmax(q k^T) / sqrt(d);
    "queries", the softmax over the queries, so that columns sum to 1; "zeroed", what the future mask hides gets a score
    of 0 and a value of 0 in place of a score of minus infinity.
    """

    head: Head
    scope: str = "stack"  # of SCOPES
    kind: str = "beta"  # of WEIGHINGS
    beta: float = 1.0  # of "beta": from 0, where all weights are alike, to infinity, where the largest takes all


@dataclass(frozen=True, eq=False)
class Reweighed:
    """A translation before and after its attention was weighed otherwise."""

    translation: Translation  # made under the change
    before: Trace  # of the original source and translation
    after: Trace  # of the same, under the change


@dataclass(frozen=True, eq=False)
class Embedded:
    """The encoder's input before it is summed: embeddings of S pieces, and positions, as vectors of D numbers."""

    pieces: tuple[str, ...]  # S, the last of them </s>
    embeddings: np.ndarray  # (S, D), scaled by the square root of D
    positions: np.ndarray  # (S, D)


@dataclass(frozen=True)
class Pieced:
    """A text split into pieces, each with its log-probability under the vocabulary's unigram model."""

    text: str
    pieces: tuple[str, ...]
    log_probs: tuple[float, ...]

    @property
    def log_prob(self) -> float:
        """Of the split: pieces are drawn without regard to each other."""
        return sum(self.log_probs)


@dataclass(frozen=True)
class Neighbour:
    """A piece of another sentence whose state is like the one that is asked for."""

    pieces: tuple[str, ...]  # of the sentence, without </s>
    position: int  # from 0
    similarity: float  # -1 to 1


@dataclass(frozen=True)
class LengthScore:
    """Translation quality on sentences of `first` to `last` pieces of the source, without </s>."""

    first: int
    last: int | None  # None: no upper limit
    sentences: int
    bleu: float | None  # 0 to 100; None where there is no sentence
    chrf: float | None  # 0 to 100; None where there is no sentence
    training: int | None  # sentences of such lengths in the training data; None where they were not counted


@dataclass(frozen=True)
class ModelInfo:
    """The facts about a loaded model that the page shows."""

    name: str
    identity: str  # beginning of the hash of its weights
    parameters: int
    norm: str  # "pre" or "post"
    n_layers: int  # of the encoder
    n_decoder_layers: int
    n_heads: int
    d_model: int
    device: str
    precision: str
    position_base: float = 10_000.0  # of its sinusoidal positions
    architecture: str = "transformer"  # or "gru", "gru-attention"
    causal: bool = False  # of a model without a decoder: whether a piece sees only those before it
    pooling: str = ""  # of a classifier: how it makes one vector of all pieces'

    def line(self, language: Language = ENGLISH) -> str:
        """The model in a line: its name, and how it is built."""
        return language.say("html_model", name=self.name, identity=self.identity, norm=self.norm,
                            encoder=self.n_layers, decoder=self.n_decoder_layers, heads=self.n_heads)

    def layers(self, stack: str) -> int:
        """The number of layers of one of STACKS that have attention maps."""
        if self.architecture != "transformer":
            return 1 if stack == "cross" and self.architecture == "gru-attention" else 0
        return self.n_layers if stack == "encoder_self" else self.n_decoder_layers


@dataclass(frozen=True)
class SublayerGradient:
    """The gradient of the weights of one sub-layer."""

    stack: str  # "encoder" or "decoder"
    layer: int  # from 1
    sublayer: str  # "self_attention", "cross_attention", "feed_forward"
    norm: float


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
    """BLEU of one sentence and its parts, as Papineni et al. (2002) define it, on sacrebleu's 13a tokens."""

    score: float  # brevity_penalty times the geometric mean of the precisions, times 100; 0 where one of them is 0
    smoothed: float  # sacrebleu's sentence score, in which a precision of 0 counts a little more
    matches: tuple[int, ...]  # n-grams of the translation that are in the reference, for n = 1 to 4, clipped
    totals: tuple[int, ...]  # n-grams of the translation, for n = 1 to 4
    brevity_penalty: float  # exp(1 - reference_length / length) where the translation is shorter, else 1
    length: int  # tokens of the translation
    reference_length: int
    orders: int = 4  # the largest n of which the translation has n-grams; longer ones are left out of the mean
    variant: float = 0.0  # exp(min(0, 1 - reference_length / length)) times the product of p_n^(1/2^n), times 100
    ngrams: tuple[tuple[NGram, ...], ...] = ()  # for n = 1 to 4: those of either, in the order in which they come

    @property
    def unclipped(self) -> tuple[int, ...]:
        """For n = 1 to 4: n-grams of the translation that the reference has at all, however often."""
        return tuple(sum(ngram.count for ngram in ngrams if ngram.reference) for ngrams in self.ngrams)


@dataclass(frozen=True)
class Bin:
    """Classified texts of about the same confidence, which is the probability of the label they got."""

    count: int
    confidence: float  # their mean
    accuracy: float  # the share of them whose label is right


@dataclass(frozen=True)
class Calibration:
    """Calibration of a classifier's probabilities, measured on validation data (Guo et al. 2017).

    Errors are expected calibration errors: the mean over texts of |accuracy - confidence| of their bin.
    """

    temperature: float  # divides the logits
    error: float  # with it
    error_before: float  # without it
    bins: tuple[Bin, ...]  # with it


@dataclass(frozen=True)
class LabelShare:
    """Accuracy of a classifier that learned from a share of the labels."""

    pretrained: bool  # as a language model
    share: float  # of all labels, 0 to 1
    imdb: float  # accuracy on the validation set of IMDb, 0 to 1
    sst2: float  # accuracy on the validation set of SST-2, 0 to 1
    labels: int  # their number
    steps: int | None = None  # of training, without pre-training


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


@dataclass(frozen=True, eq=False)
class Sentiment:
    """A classified text."""

    text: str  # as it was read: on one line, without markup of line breaks
    label: str
    probability: float  # of the label, calibrated
    probabilities: dict[str, float]  # of every label
    pieces: tuple[str, ...]  # as they were read, from <s> to </s>
    weights: np.ndarray  # (pieces,), of the pooling; they sum to 1
    cut: int  # pieces left out after the first quarter, because the text is too long
    warnings: tuple[Message, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The classification as the API and `--json` give it, with warnings in English."""
        return {"label": self.label, "probability": self.probability, "probabilities": self.probabilities,
                "pieces": list(self.pieces), "weights": [round(float(w), 6) for w in self.weights], "cut": self.cut,
                "warnings": [warning.say() for warning in self.warnings]}


@dataclass(frozen=True, eq=False)
class Maximum:
    """What a pooling by maximum keeps of a text: of each of D dimensions the largest number, and which word gives it.

    Words are those of `Attribution`, and <s> and </s> around them; float32.
    """

    words: tuple[str, ...]  # W + 2
    values: np.ndarray  # (W + 2, D), of each word's pieces the largest number
    weights: np.ndarray  # (D,), nats that a dimension adds to the log-odds of `toward`, of each unit of its number
    bias: float  # nats that are added whatever the text
    against: str  # the label that the odds are against: the likeliest but for `toward`

    @property
    def givers(self) -> np.ndarray:
        """The number of the word that gives each dimension, (D,)."""
        return self.values.argmax(axis=0)

    @property
    def adds(self) -> np.ndarray:
        """The nats that each dimension adds, (D,): with the bias they sum to the log-odds."""
        return self.weights * self.values.max(axis=0)


@dataclass(frozen=True, eq=False)
class Attribution:
    """A classified text with the effect of each of its W words, and the attention that each got; float32."""

    sentiment: Sentiment
    toward: str  # the label that a positive `effect` speaks for
    words: tuple[str, ...]  # W, their pieces joined; without <s> and </s>
    cut: int | None  # number of words before the place where pieces were left out; None where none were
    effect: np.ndarray  # (W,), nats by which the log-odds of the label `toward` fall without the word
    pooling: np.ndarray  # (W,), the pooling's weight of the word; the rest of 1 lies on <s> and </s>
    heads: np.ndarray  # (layers, heads, W), each head's attention to the word, weighed by the pooling; likewise
    seconds: float
    pooled: str = "attention"  # how the pooling makes one vector: by learned weights, as a "mean", or as a "max"
    maximum: Maximum | None = None  # where it is a "max"


class NextPiece(NamedTuple):
    """A piece that may come next in a text."""

    token: int
    piece: str
    log_prob: float


@dataclass(frozen=True)
class Scored:
    """A text of N pieces as a language model reads it, each piece given those before it; natural logarithms."""

    text: str
    tokens: tuple[int, ...]  # N, without <s>; the last of them </s> where the text is to end there
    pieces: tuple[str, ...]  # N
    log_probs: tuple[float, ...]  # N
    entropies: tuple[float, ...]  # N + 1, nats: of the piece at each place, and of the one after the last
    likeliest: tuple[tuple[NextPiece, ...], ...]  # N + 1: the same places, the likeliest first
    chances: tuple[float, ...]  # of likeliest[-1]: to be drawn next, as the options of sampling say; 0 where it cannot
    choices: int  # pieces that can be drawn next
    limit: int  # most pieces that the model reads
    warnings: tuple[Message, ...] = ()

    @property
    def total(self) -> float:
        """The log-probability of the text."""
        return sum(self.log_probs)

    @property
    def perplexity(self) -> float | None:
        """The number of equally likely pieces between which one would be as unsure, on average; None of no piece."""
        return math.exp(-self.total / len(self.tokens)) if self.tokens else None

    @property
    def finished(self) -> bool:
        """Whether nothing can be written on: the text has ended, or is as long as the model reads."""
        return len(self.tokens) >= self.limit or self.pieces[-1:] == (SPECIAL[EOS],)


@dataclass(frozen=True)
class Judged:
    """One of many classified texts."""

    text: str  # as it was given
    given: str | None  # the label that came with it
    label: str | None  # None where the text could not be read; the notes then say why
    probability: float | None  # of the label, calibrated; None as above
    notes: tuple[Message, ...]


@dataclass(frozen=True)
class DevScores:
    """What a model in training reached on the development set."""

    step: int
    seconds: float  # of training until then
    seen: int  # target pieces until then
    values: dict[str, float]  # `bleu` and others


@dataclass(frozen=True)
class History:
    """The course of a training run in at most a few hundred points, each of which stands for the steps since the one
    before it."""

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
    """How the translation of one sentence, and the maps of a pass over it and its reference, came to be.

    M moments; maps are uint8 (M, layers, heads, query, key), 255 for a probability of 1.
    """

    english: str
    reference: str
    source: tuple[str, ...]  # pieces, the last of them </s>
    target: tuple[str, ...]  # pieces of the reference that the decoder is given, the first of them <s>
    predicted: tuple[str, ...]  # those that it is to predict
    translations: tuple[str, ...]  # M, decoded greedily
    maps: dict[str, np.ndarray]  # by stack; only those that the model has


@dataclass(frozen=True)
class Moments:
    """Moments of a training run, on a logarithmic scale of it."""

    moments: tuple[Moment, ...]
    courses: tuple[Course, ...]  # one a sentence
    errors: np.ndarray  # float32 (M, 2, layers, heads): alignment error rates of the cross heads, in both READINGS


@dataclass(frozen=True)
class LayerTimes:
    """How long one layer takes to read a sequence, measured on this machine."""

    pieces: int
    recurrence: float  # seconds, of a GRU as `recurrent.GRU` has it, a loop in Python, one step a piece
    library: float  # seconds, of PyTorch's own GRU
    attention: float  # seconds, of self-attention, in one pass


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


@dataclass(frozen=True)
class TrainingCourse:
    """The course of a small training run, in points each of which stands for the steps since the one before it."""

    settings: RunSettings
    step: tuple[int, ...]
    loss: tuple[float, ...]  # mean of a target piece, nats
    rate: tuple[float, ...]  # of learning, in the last of these steps
    norm: tuple[float, ...]  # the largest norm of the gradient in these steps
    scores: tuple[tuple[int, float, float], ...]  # step, seconds, and what was reached: see `measure`
    seconds: float  # since it began
    guess: float  # the loss of who knows only how often each target piece comes
    ended: str = ""  # "" while it goes on; "finished", "diverged", "stopped", "late", "cut"
    measure: str = "accuracy"  # share of held-out answers that are right, 0 to 1; or "bleu", 0 to 100


@dataclass(frozen=True, eq=False)
class LiveFrame:
    """A moment of a training run that somebody watches."""

    course: TrainingCourse
    answers: tuple[tuple[str, str, str], ...]  # held-out questions, what the model answers, and what is right
    head: Head  # the head of the cross-attention that is sharpest at this moment
    queries: tuple[str, ...]  # Q pieces of the first right answer, </s> too: each where it is to be predicted
    keys: tuple[str, ...]  # K pieces of the first question, </s> too
    probabilities: np.ndarray  # (Q, K) float32


@dataclass(frozen=True)
class LiveWait:
    """A training run that waits until others give it a place."""

    before: int  # runs that come on before it
    seconds: int  # until it does, about
