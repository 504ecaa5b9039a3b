"""A text as a language model reads it and may go on with it."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from xformer.pieces import EOS, SPECIAL
from xformer.results.messages import Message

__all__ = ["NextPiece", "Scored"]


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
