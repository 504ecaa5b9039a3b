"""Text before a model reads it: one line, no control characters, and warnings of what it does not know; no torch."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xformer.pieces import EOS
from xformer.results import Message, UserError

if TYPE_CHECKING:
    from xformer.tokenizer import Tokenizer

MAX_CHARACTERS = 5_000  # looked at before anything is computed
MARKUP = re.compile(r"<[a-zA-Z/!][^<>]*>")


def unknown_characters(tokenizer: Tokenizer, text: str, refused: str = "error_unknown") -> list[Message]:
    """A warning of the characters that a vocabulary lacks, if any; raises UserError, the message `refused`, where
    nothing else is left."""
    unknown = tokenizer.unknown(text)
    if not unknown:
        return []
    shown = " ".join(unknown)[:40]
    known = [piece for piece in tokenizer.encode(text) if piece > EOS]
    if not any(c.isalnum() for c in tokenizer.decode(known)):
        raise UserError(Message.of(refused, characters=shown))
    return [Message.of("warning_unknown", characters=shown)]


def one_line(text: str) -> tuple[str, int]:
    """A text on one line without control characters, and how many of these there were."""
    kept = "".join(" " if c.isspace() else c for c in text
                   if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co"))
    dropped = sum(not c.isspace() and unicodedata.category(c) in ("Cc", "Cs", "Co") for c in text)
    return " ".join(kept.split()), dropped


def clean(text: str, empty: str = "error_empty") -> tuple[str, list[Message]]:
    """A text on one line without control characters, and what to say about it; raises UserError, the message `empty`,
    where none is left."""
    if len(text) > MAX_CHARACTERS:
        raise UserError(Message.of("error_characters", characters=len(text), words=len(text.split()),
                                   limit=MAX_CHARACTERS))
    line, dropped = one_line(text)
    if not line:
        raise UserError(Message.of(empty))
    warnings = []
    if dropped:
        warnings.append(Message.of("warning_control", count=dropped))
    if MARKUP.search(line):
        warnings.append(Message.of("warning_markup"))
    return line, warnings


def repeats(tokens: Sequence[int]) -> bool:
    """Whether a run of 1 to 8 pieces stands four times or more in a row, as in a loop the decoder cannot leave."""
    for size in range(1, 9):
        same = 0
        for i in range(size, len(tokens)):
            same = same + 1 if tokens[i] == tokens[i - size] else 0
            if same >= 3 * size:
                return True
    return False
