"""What is said to a person: messages, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from xformer.strings import ENGLISH, Language

__all__ = [
    "Message",
    "UserError",
    "decimal",
    "fixed",
    "misfit",
    "refusing",
]

MINUS = "\N{MINUS SIGN}"  # as people read it; files and the API have a hyphen

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN = 1e-5  # numbers that are smaller are written with a power of ten


def fixed(value: float, form: str) -> str:
    """Write a number for people in a form of Python's, such as "+.2f", with a minus
    sign for a hyphen. `fixed` of assets/shared.js does the same."""
    return f"{value:{form}}".replace("-", MINUS)


def decimal(value: float, digits: int = 3) -> str:
    """Write a number with a given count of significant digits, as people do: 0.00001,
    130, 1.9 · 10⁻⁷. `decimal` of assets/shared.js does the same."""
    if not math.isfinite(value):
        return str(value).replace("inf", "∞").replace("-", MINUS)
    shown = float(f"{value:.{digits}g}")
    if 0 < abs(shown) < PLAIN:
        factor, power = f"{shown:.{digits - 1}e}".split("e")
        factor = fixed(float(factor), "g")
        return f"{factor} · 10{str(int(power)).translate(RAISED)}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(shown)))) if shown else 0
    written = fixed(shown, f".{decimals}f")
    return written.rstrip("0").rstrip(".") if decimals else written


@dataclass(frozen=True)
class Message:
    """A message to a person in a language chosen later: a key of assets/strings and its
    values."""

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
    """A refusal of what a person asked for: one sentence with the value, the limit and
    what to do.

    It is shown as it is, on the page and on the command line; in the reader's language
    where it is a `Message`.
    """

    def __init__(self, message: Message | str) -> None:
        self.message = message
        super().__init__(self.say())

    def say(self, language: Language = ENGLISH) -> str:
        """The sentence as plain text."""
        return (
            self.message
            if isinstance(self.message, str)
            else self.message.say(language)
        )


Refusal = Message | str | ValueError


@contextmanager
def refusing(
    kinds: type[Exception] | tuple[type[Exception], ...],
    say: Refusal | Callable[[Any], Refusal],
) -> Iterator[None]:
    """Turn errors of these kinds into a UserError that says this, or what `say` makes
    of one; or into another error. A UserError stays as it is."""
    try:
        yield
    except UserError:
        raise
    except kinds as error:
        said = say(error) if callable(say) else say
        raise (said if isinstance(said, ValueError) else UserError(said)) from error


def misfit(error: Any, of: str = "", inside: int = 0) -> str:
    """Say the first of pydantic's errors in a sentence. of: whose value it is about;
    inside: how much of its place is left out."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"][inside:])) or "What is sent"
    return f"{place}{of} is {repr(first['input'])[:40]}: {first['msg']}."
