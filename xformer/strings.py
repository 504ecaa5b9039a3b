"""Interface and message texts in English and Spanish, read from assets/strings."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

PACKAGE = Path(str(files("xformer")))
# An installed package holds them; in a clone they stand beside the package.
ASSETS = PACKAGE / "assets" if (PACKAGE / "assets").is_dir() else PACKAGE.parent / "assets"


@dataclass(frozen=True)
class Language:
    """A language of the interface: `say` for plain text, `html` for text inside markup."""

    code: str  # "en", "es": the file in assets/strings, and HTML's lang
    name: str  # in the language itself
    thousands: str = ","  # the separator of groups of three digits

    @property
    def texts(self) -> dict[str, str]:
        """All texts by key, with their {values} not yet filled in."""
        return _texts(self.code)

    def say(self, key: str, /, **values: Any) -> str:
        """The text of a key with its {values} filled in, unescaped; whole numbers get separators of thousands."""
        return self.texts[key].format(**{name: self._grouped(value) for name, value in values.items()})

    def html(self, key: str, /, **values: Any) -> str:
        """The text of a key with its {values}, escaped: safe between tags and in quoted attributes."""
        return escape(self.say(key, **values))

    def choices(self, key: str, names: Iterable[str]) -> list[tuple[str, str]]:
        """Name things to choose from, with the text whose key is "key_{}" with the name in it."""
        return [(self.say(key.format(name)), name) for name in names]

    def _grouped(self, value: Any) -> Any:
        """A whole number with the language's separators of thousands; other values are returned unchanged."""
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{value:,}".replace(",", self.thousands)
        return value


@cache
def _texts(code: str) -> dict[str, str]:
    return json.loads((ASSETS / "strings" / f"{code}.json").read_text(encoding="utf-8"))


ENGLISH = Language("en", "English")
SPANISH = Language("es", "Español", thousands="\u202f")
