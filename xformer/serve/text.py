"""Prepare a text for a model: one line, no control characters, split into pieces, with
warnings. Loads no torch."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from xformer.pieces import EOS, UNK, WORD_START
from xformer.results import Message, UserError

if TYPE_CHECKING:
    from xformer.tokenizer import Tokenizer

MAX_CHARACTERS = 5_000  # checked before anything is computed
PHRASE_WORDS = 3  # most words of a text that counts as an entry of a dictionary
# printed signs that every vocabulary here reads as a space
BLANKS = ("\N{REPLACEMENT CHARACTER}", WORD_START)
NAME = r"<[a-z][\w:-]*"
VALUE = r"""\s+[\w:@.-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>]+)"""
# An end tag; a tag whose attributes all have values, or whose first attribute has a
# quoted one; a comment or other text that begins with <!. "x <y and y> z" is a
# comparison: to HTML it is a tag with attributes that have no values.
MARKUP = re.compile(
    rf"""</[a-z][\w:-]*\s*>|{NAME}(?:{VALUE})*\s*/?>|{NAME}\s[^<>=]*=\s*["'][^<>]*>"""
    r"|<!(?:--|doctype\b|\[cdata\[)",
    re.IGNORECASE,
)


class Prepared(NamedTuple):
    """A text as a model reads it."""

    text: str  # on one line
    tokens: list[int]  # of its pieces, without special ones
    warnings: list[Message]


def one_line(text: str) -> tuple[str, int]:
    """Put a text on one line without control characters; return it and how many of them
    were dropped."""
    kept = "".join(
        " " if c.isspace() else c
        for c in text
        if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co")
    )
    dropped = sum(
        not c.isspace() and unicodedata.category(c) in ("Cc", "Cs", "Co") for c in text
    )
    return " ".join(kept.split()), dropped


def clean(
    text: str,
    empty: str = "error_empty",
    kind: str = "",
    limit: int = MAX_CHARACTERS,
    tidy: Callable[[str], str] = str.strip,
) -> tuple[str, list[Message]]:
    """Put a text on one line without control characters, then tidy it; return it, and
    warnings of what a model does not read, and of markup, which it reads as text.
    Raises UserError if it has more characters than the limit or, with the message
    `empty`, if nothing is left of it. kind: in the keys of messages about its length
    and its markup.
    """
    if len(text) > limit:
        raise UserError(
            Message.of(
                f"error_{kind}characters",
                characters=len(text),
                words=len(text.split()),
                limit=limit,
            )
        )
    line, dropped = one_line(text)
    if not (line := tidy(line)):
        raise UserError(Message.of(empty))
    warnings = [Message.of("warning_control", count=dropped)] if dropped else []
    if blanks := [sign for sign in BLANKS if sign in line]:
        warnings.append(Message.of("warning_blank", characters=" ".join(blanks)))
    if MARKUP.search(line):
        warnings.append(Message.of(f"warning_{kind}markup"))
    return line, warnings


def prepare(
    tokenizer: Tokenizer,
    text: str,
    limit: int | None = None,
    empty: str = "error_empty",
    unknown: str = "error_unknown",
    cleaned: Callable[[str, str], tuple[str, list[Message]]] = clean,
    target: bool = False,
) -> Prepared:
    """Clean a text, as `cleaned` does, and split it into pieces, once.

    limit: the most pieces, </s> included. Raises UserError with the message `empty` if
    nothing is left of the text, with `unknown` if no letter or digit is left but
    characters that the vocabulary lacks. target: of a translation.
    """
    line, warnings = cleaned(text, empty)
    tokens = tokenizer.encode(line, target=target)
    if not tokens:  # as for "▁" alone
        raise UserError(Message.of(empty))
    if limit is not None and len(tokens) + 1 > limit:
        raise UserError(
            Message.of(
                "error_pieces",
                words=len(line.split()),
                pieces=len(tokens) + 1,
                limit=limit,
            )
        )
    if UNK in tokens and (lacking := tokenizer.unknown(line, target)):
        characters = " ".join(lacking)[:40]
        if not any(
            c.isalnum()
            for c in tokenizer.decode([token for token in tokens if token > EOS])
        ):
            raise UserError(Message.of(unknown, characters=characters))
        warnings = [*warnings, Message.of("warning_unknown", characters=characters)]
    return Prepared(line, tokens, warnings)


def in_small_letters(line: str) -> str | None:
    """Write a line of capitals, or a word or phrase that begins with one, as a
    dictionary has it; None for any other line. Training has few of the first, and the
    second mostly at the beginning of a sentence.

    >>> in_small_letters("Cat"), in_small_letters("WHERE ARE YOU?"), in_small_letters("I like NASA.")
    ('cat', 'Where are you?', None)
    """
    words = line.split()
    if (
        line.isupper()
        and sum(c.isalpha() for c in line) > 1
        and not any(c.isdigit() for c in line)
    ):
        return (
            line.capitalize()
            if len(words) > PHRASE_WORDS or line[-1] in ".!?"
            else line.lower()
        )
    entry = line.removesuffix(".") if len(words) == 1 else line
    if (
        len(words) > PHRASE_WORDS
        or not line[0].isupper()
        or not entry.replace(" ", "").isalpha()
    ):
        return None
    small = line.lower()
    return small if line in (line.title(), line.capitalize()) else None
