"""What a pass computes on its way: one head number by number, the residual stream,
states read early."""

from dataclasses import dataclass

import numpy as np

from xformer.results.models import Head

__all__ = [
    "DecoderReadings",
    "Embedded",
    "Learned",
    "MeaningMap",
    "MemoryScore",
    "NearPair",
    "Neighbour",
    "Reach",
    "Stream",
    "Sublayer",
    "SublayerGradient",
    "Walk",
]


@dataclass(frozen=True, eq=False)
class DecoderReadings:
    """The state of the decoder after each layer, read as if it were the last: by the
    output embedding.

    Row 0 is of the embedded pieces. Nothing in training asks that such a reading make
    sense: a layer hands its state to the next one, not to a reader.
    """

    given: tuple[str, ...]  # T pieces, the first of them <s>
    predicted: tuple[str, ...]  # T pieces, the last of them </s>
    pieces: tuple[tuple[str, ...], ...]  # (layers + 1, T): the likeliest piece
    likeliest: np.ndarray  # (layers + 1, T): its probability
    probabilities: np.ndarray  # (layers + 1, T): of the predicted piece
    ranks: np.ndarray  # (layers + 1, T): of the predicted piece; 1 is the likeliest


@dataclass(frozen=True, eq=False)
class Walk:
    """Every number of one head in one pass, in the steps of equation 1 of Vaswani et
    al. (2017); float32, d is d_k.

    Each step follows from the one before: scores = q k^T; scaled = scores / sqrt(d);
    masked = scaled, or minus infinity where the mask is False; probabilities =
    softmax(masked); answers = probabilities v; shares = answers W_O.
    """

    head: Head
    # Q pieces: of the source in the encoder, in the decoder those it was given
    queries: tuple[str, ...]
    # Q pieces to predict at these positions; () in the encoder
    predicted: tuple[str, ...]
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
    # (Q, D), what asks: q = x W_Q + b_Q; the normalised state where the order is "pre"
    x: np.ndarray
    # (K, D), what is looked at: k = y W_K + b_K; in cross-attention what the encoder
    # made
    y: np.ndarray
    w_q: np.ndarray  # (D, d)
    b_q: np.ndarray  # (d,)
    # (Q, D), queries of all heads side by side, before they are cut apart
    every_q: np.ndarray


@dataclass(frozen=True, eq=False)
class Sublayer:
    """What one sub-layer did to the states of L pieces, (L, D), with the residual
    around it."""

    layer: int  # from 1
    name: str  # "self_attention", "cross_attention" or "feed_forward"
    state: np.ndarray  # before it
    added: np.ndarray  # what it answers
    # LayerNorm of the state ("pre"), or of the state and what is added ("post")
    normed: np.ndarray
    after: np.ndarray  # the state after it
    gamma: np.ndarray  # (D,) of that LayerNorm, as is beta
    beta: np.ndarray
    # (L, d_ff) of the feed-forward network, after its ReLU
    hidden: np.ndarray | None = None

    def read(self, norm: str) -> np.ndarray:
        """What the normalisation read, in this order of it."""
        return self.state if norm == "pre" else self.state + self.added


@dataclass(frozen=True, eq=False)
class Stream:
    """The states of all pieces through one side of a model, sub-layer by sub-layer: the
    residual stream."""

    # L: of the source with </s>, or those that the decoder is given
    pieces: tuple[str, ...]
    predicted: tuple[str, ...]  # L to predict there; () in the encoder
    norm: str  # "pre" or "post"
    sublayers: tuple[Sublayer, ...]
    # largest change of any output of a feed-forward network where its pieces stand in
    # reverse order
    moved: float
    # (L, D), the last state as the next part reads it: in "pre" order after one more
    # LayerNorm
    output: np.ndarray

    def of_layer(self, layer: int) -> list[Sublayer]:
        """The sub-layers of a layer, from 1."""
        return [one for one in self.sublayers if one.layer == layer]


@dataclass(frozen=True, eq=False)
class Embedded:
    """The encoder's input before it is summed: embeddings of S pieces, and positions,
    as vectors of D numbers."""

    pieces: tuple[str, ...]  # S, the last of them </s>
    embeddings: np.ndarray  # (S, D), scaled by the square root of D
    positions: np.ndarray  # (S, D)


@dataclass(frozen=True, eq=False)
class Reach:
    """How much each state of an encoder moves with each of its inputs: Frobenius norms
    of derivatives (D, D)."""

    pieces: tuple[str, ...]  # S, the last of them </s>
    # (S, S) float32: of the state of the row by the input vector of the column
    norms: np.ndarray
    # of a state's D, random ones, by which the norms are estimated; 0 where they are
    # exact
    directions: int


@dataclass(frozen=True)
class Neighbour:
    """A piece of another sentence, whose state is like that of a given piece."""

    pieces: tuple[str, ...]  # of the sentence, without </s>
    position: int  # from 0
    similarity: float  # -1 to 1


@dataclass(frozen=True, eq=False)
class MeaningMap:
    """W words in the plane in which the states of all that are not the asker's own vary
    most; the own come first."""

    # words and signs of each; "▁" stands before those after a space
    sentences: tuple[tuple[str, ...], ...]
    # (W, 2), the sentence of each word, and which of its words and signs it is
    places: np.ndarray
    own: int  # words
    plane: np.ndarray  # (W, 2)
    shares: tuple[float, float]  # of all variance, along each axis
    alike: np.ndarray  # (layers + 1, own, own), cosines of the own words
    word: int  # the place of one
    # others that are not own, one a sentence, with their cosines
    nearest: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class NearPair:
    """A training pair whose source has words of a text."""

    source: str
    target: str
    # "tatoeba"; "pivot", joined through a third language; "written" for this project;
    # "entry", bare words
    origin: str
    similarity: float  # 0 to 1, `parts.learned.ask`
    more: int = 0  # further pairs of the same source


@dataclass(frozen=True)
class MemoryScore:
    """What a model makes of pairs that it learned from, or never saw: medians, in nats
    a piece, </s> included."""

    seen: bool
    pairs: int
    reference: float  # log-probability of the pairs' own targets
    own: float  # and of its translations
    same: int  # translations that are the pair's, but for case and punctuation


@dataclass(frozen=True)
class Learned:
    """What the training pairs that ship have of a text."""

    words: tuple[tuple[str, int], ...]  # each once, with the pairs whose source has it
    near: tuple[NearPair, ...]  # nearest first, each of another source
    same: bool  # whether the nearest has the text's own words in their order
    pairs: int  # in all
    # as `research evaluate memory --save` measured them
    scores: tuple[MemoryScore, ...] = ()


@dataclass(frozen=True)
class SublayerGradient:
    """The gradient of the weights of one sub-layer."""

    stack: str  # "encoder" or "decoder"
    layer: int  # from 1
    sublayer: str  # "self_attention", "cross_attention", "feed_forward"
    norm: float
