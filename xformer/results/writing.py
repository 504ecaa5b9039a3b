"""A text as a language model reads it and may go on with it, as an autoencoder gives it
back, or as small translators without masks and with them read it."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from xformer.pieces import EOS, SPECIAL
from xformer.results.messages import Message

__all__ = ["GivenBack", "NextPiece", "Scored", "Unmasked", "WholePass"]


class NextPiece(NamedTuple):
    """A piece that may come next in a text."""

    token: int
    piece: str
    log_prob: float


@dataclass(frozen=True)
class Scored:
    """A text of N pieces as a language model reads it, each piece given those before
    it; natural logarithms."""

    text: str
    # N, without <s>; the last of them </s> where the text is to end there
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]  # N
    log_probs: tuple[float, ...]  # N
    # N + 1, nats: of the piece at each place, and of the one after the last
    entropies: tuple[float, ...]
    # N + 1: the same places, the likeliest first
    likeliest: tuple[tuple[NextPiece, ...], ...]
    # of likeliest[-1]: to be drawn next, as the options of sampling say; 0 where it
    # cannot
    chances: tuple[float, ...]
    choices: int  # pieces that can be drawn next
    limit: int  # most pieces that the model reads
    warnings: tuple[Message, ...] = ()

    @property
    def total(self) -> float:
        """The log-probability of the text."""
        return sum(self.log_probs)

    @property
    def perplexity(self) -> float | None:
        """The number of equally likely pieces between which one would be as unsure, on
        average; None of no piece."""
        return math.exp(-self.total / len(self.tokens)) if self.tokens else None

    @property
    def finished(self) -> bool:
        """Whether nothing can be written on: the text has ended, or is as long as the
        model reads."""
        return len(self.tokens) >= self.limit or self.pieces[-1:] == (SPECIAL[EOS],)


@dataclass(frozen=True)
class GivenBack:
    """A text, and what an autoencoder makes of it at each of W widths of its
    bottleneck."""

    text: str  # without capitals, as it is read
    widths: tuple[int, ...]
    back: tuple[str, ...]  # what came back at each width
    # the share of pieces that need not be changed to have the text again
    right: tuple[float, ...]
    # scores on sentences that it has not seen: of width 8, "exact_8", the share that
    # comes back without a fault, and "pieces_8"; how many, "held_out"
    metrics: dict[str, float]
    code: tuple[float, ...]  # of the text, between -1 and 1
    # texts on the line from this code to that of another text, and how far on it
    line: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class WholePass:
    """What a model of whole-sentence matrices makes of a sentence of N words, marks
    counted. Each answer has N - 1 words: of places 1, 2, …"""

    given: tuple[str, ...]  # each place where the decoder is given the translation
    turn: tuple[str, ...]  # each word given to the decoder before the next is written
    once: tuple[str, ...]  # all from a stub, SOS EOS EOS …
    # (N - 1, N) float32. How the log-probability of each written word hangs on each
    # word that the decoder is given, in nats
    reliance: np.ndarray
    # where its self-attention looks for each written word; rows sum to 1
    looks: np.ndarray


@dataclass(frozen=True)
class Unmasked:
    """A sentence and its translation through the small translators of a lecture's kind,
    without masks and with them; and what these scored."""

    text: tuple[str, ...]  # the words of the sentence
    unknown: tuple[str, ...]  # those of them that the vocabulary does not have
    # those of them that stand in none of the sentences from which these were drawn
    rare: tuple[str, ...]
    taken: int  # pieces that the page's model makes of the same text
    # known words at the end of the sentence, or of a longer translation that was typed,
    # that are not read: there are too many
    cut: int
    # the words of the translation, N: SOS, those that are known, EOS …
    target: tuple[str, ...]
    missing: tuple[str, ...]  # words of the translation that the vocabulary has not
    is_own: bool  # whether the translation was typed; else it is the masked model's
    passes: dict[str, WholePass]  # by "unmasked" and "masked"
    # of each seed, see `research.studies.unmasked.scores`
    runs: tuple[dict[str, Any], ...]
    about: dict[str, Any]  # the pairs, the vocabulary, the parameter tensors
