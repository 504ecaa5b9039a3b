"""What may be asked of a translation model about its inside: records for
`serve.protocol.TranslationService.ask`.

A question says by its type what record answers it; a docstring says what that is, and
its units. A source is a text, which is read as `translate` reads it, in small letters
where that finds it likelier; or the same model's translation of one, whose pieces are
then known. A target is a text, or the tokens of a `Candidate`. options, prefix and
max_length are those of `translate`. What cannot be answered raises UserError when it is
asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from typing_extensions import dataclass_transform

from xformer.results.attention import AdditiveWalk
from xformer.results.changes import (
    Examined,
    HeadEffect,
    Moved,
    Occlusion,
    Reweighed,
    Why,
)
from xformer.results.inside import (
    DecoderReadings,
    Embedded,
    Learned,
    MeaningMap,
    Neighbour,
    Reach,
    Stream,
    Walk,
)
from xformer.results.models import STACKS, Head
from xformer.results.options import Options, Positions, Weighing
from xformer.results.training import Film
from xformer.results.translation import (
    BeamTree,
    Candidate,
    Energies,
    Forced,
    Translation,
)
from xformer.results.writing import GivenBack, Unmasked

__all__ = [
    "AskWhy", "Begin", "EmbedSource", "Examine", "Follow", "Force", "GiveBack", "GrowTree",
    "MapMeanings", "MeasureEnergies", "MeasureReach", "Move", "NearestContexts",
    "NearestPairs", "NearestPieces", "Occlude", "RankHeads", "ReadDecoder", "Reverse", "Reweigh",
    "SwapHeads", "SweepBeta", "TellSides", "TranslateByLayer", "Unmask", "WalkAdditive",
    "WalkHead", "WatchForm",
]  # fmt: skip

Source = str | Translation
Target = str | Sequence[int]
Answer = TypeVar("Answer", covariant=True)


@dataclass_transform(frozen_default=True)
class Question(Generic[Answer]):
    """A question whose answer is of this type; the kinds of questions are frozen
    dataclasses of what is asked for."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True)(cls)


class OfPair(Question[Answer]):
    """A question about a source and a target."""

    source: Source
    target: Target


class WalkHead(OfPair[Walk]):
    """Every number of one head in a pass, from q, k and v to its output."""

    head: Head
    # <pad> pieces after the source, as in a batch with a longer sentence
    padding: int = 0


class Begin(OfPair[tuple[Walk, dict[str, tuple[float, float]]]]):
    """`WalkHead` in a model of the same shape that has learned nothing, its weights
    just drawn; and, for each matrix of the layer, the standard deviation of its numbers
    then and in the trained model."""

    head: Head


class WalkAdditive(OfPair[AdditiveWalk]):
    """Every number of the additive attention of a recurrent model, at each step.
    Refused by other models."""


class Follow(OfPair[Stream]):
    """The states (L, D) of all pieces through one side of the model, sub-layer by
    sub-layer."""

    side: str  # "encoder" or "decoder"


class Occlude(OfPair[Occlusion]):
    """The nats that each target piece loses where each word of the source is left out,
    (T, W)."""


class RankHeads(OfPair[list[HeadEffect]]):
    """The nats that the target loses without each head, the worst loss first; progress:
    passes done, and of all."""

    stacks: Sequence[str] = STACKS


class ReadDecoder(OfPair[DecoderReadings]):
    """The decoder's state after each layer, read as if it were the last: probabilities
    (layers + 1, T)."""


class Force(OfPair[Forced]):
    """The log-probability and the loss, in nats, of each target piece after those
    before it (teacher forcing)."""

    smoothing: float = 0.1  # of the labels, 0 to below 1


class SweepBeta(OfPair[dict[str, tuple[float, ...]]]):
    """The target's log-probability for each of `explain.principles.BETAS` in all heads
    of a stack, by stack."""


class Reweigh(OfPair[Reweighed]):
    """A translation with changed attention weights, and what they change in a target
    made without the change."""

    change: Weighing
    options: Options | None = None
    max_length: int | None = None


class Move(OfPair[Moved]):
    """A translation with other positions, and what they change in a target that was
    made with the model's own."""

    positions: Positions
    # shuffles the words of the source; None leaves them in order
    seed: int | None = None
    options: Options | None = None
    max_length: int | None = None


class Examine(OfPair[Examined]):
    """A model with a mistake of BUGS in all its layers."""

    bug: str  # "": none, the healthy model


class MeasureReach(OfPair[Reach]):
    """How far each piece of the source reaches in the encoder: norms (S, S) of
    derivatives of states by inputs."""

    target: Target = ()  # not looked at
    MOST = 48  # pieces of a source, </s> included


class OfRival(OfPair[Answer]):
    """A question about the piece at a step, from 0, and a piece that might stand there
    instead."""

    step: int
    rival: str


class AskWhy(OfRival[Why]):
    """Why the piece was written and not its rival."""


class SwapHeads(OfRival[tuple[dict[str, np.ndarray], float]]):
    """The difference of both pieces' logits where one head's answers are replaced by
    those for a twin source, for each head (layers, H), by stack; and with all that is
    the twin's."""

    twin: str  # a source of as many pieces


class TellSides(OfPair[tuple[np.ndarray, np.ndarray]]):
    """How much of each target piece came from each source piece (T, S), and from each
    piece that was given (T, T); each row of both together sums to 1."""


class GiveBack(Question[GivenBack]):
    """A short English text through the autoencoder that ships, the same for every
    model of the page."""

    text: str
    other: str  # where the line leads; "" for none
    width: int  # of the bottleneck, on the line
    STEPS = 7  # texts on the line, both ends included


class Unmask(Question[Unmasked]):
    """A short sentence through the small translators without masks and with them, the
    same for every model of the page. Words that they do not know are left out."""

    text: str
    target: str  # what the decoder is given; "" for what the one with masks writes


class GrowTree(Question[BeamTree]):
    """All hypotheses that a beam considers, kept and dropped; the best is that of
    `translate`. Refused for samples."""

    source: Source
    options: Options | None = None
    prefix: Sequence[int] = ()
    max_length: int | None = None

    @classmethod
    def wider(cls, found: Translation, beam: int, **changed: Any) -> "GrowTree":
        """The search that found a translation, with a beam of another width. changed:
        more of its options."""
        options = replace(found.options, beam=beam, alternatives=1, **changed)
        return cls(found, options, max_length=found.max_length)


class MeasureEnergies(Question[Energies]):
    """−ln P(y | x) of each of several targets y of one source x, in nats."""

    source: Source
    targets: Sequence[Target]
    MOST = 64  # targets


class TranslateByLayer(Question[tuple[Candidate, ...]]):
    """Translations from the encoder's state after 0 to all layers; the last is the
    usual translation."""

    source: Source
    options: Options | None = None
    max_length: int | None = None


class EmbedSource(Question[Embedded]):
    """The encoder's input vectors (S, D), embeddings and positions apart."""

    source: Source


class NearestPieces(Question[list[tuple[str, float]]]):
    """The pieces whose embeddings are most like that of a piece, with their cosines."""

    piece: str
    count: int = 12


class NearestContexts(Question[list[Neighbour]]):
    """The pieces in contexts.txt whose state after a layer of the encoder is most like
    that of a piece."""

    source: Source
    position: int  # of the piece in the source, from 0
    layer: int  # 0, the embedding, to all
    count: int = 10


class MapMeanings(Question[MeaningMap]):
    """The words of own pairs among those of assets/meanings.tsv; progress: sentences
    read, and of all."""

    pairs: Sequence[tuple[Source, Target]]
    stack: str  # "encoder", or "decoder", there after its cross-attention
    layer: int  # 0, embedding and position, to all
    sentences: int  # of the file, the first
    # whose neighbours are looked for, by its place in the map; -1: the longest that two
    # own pairs have
    word: int = -1


class NearestPairs(Question[Learned]):
    """The training pairs that ship whose source is nearest to a text by its words;
    progress: pairs read, and of all."""

    text: str


class WatchForm(Question[Film]):
    """What a small translator from English into Spanish, which ships at moments of its
    training, makes of a pair at each."""

    english: str
    spanish: str


class Reverse(Question[tuple[float, float, float]]):
    """How far at most the self-attention of the encoder's first layer answers otherwise
    where a source stands in reverse order, without positions and with them; and the
    largest number of its answer, without."""

    source: Source
