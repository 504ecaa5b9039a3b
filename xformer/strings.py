"""Languages of the interface and of messages; their texts stand in assets/strings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).resolve().parent.parent / "assets"
LANGUAGES = {"en": "English", "es": "Español"}


@dataclass(frozen=True)
class Language:
    """A language by its code: `say` for plain text, `html` for text inside markup."""

    code: str  # of LANGUAGES

    @property
    def texts(self) -> dict[str, str]:
        """All texts by key, their {values} not filled in."""
        return _texts(self.code)

    def say(self, key: str, /, **values: Any) -> str:
        """The text of a key with its {values} filled in, unescaped; whole numbers are grouped by thousands."""
        return self.texts[key].format(**{name: self._grouped(value) for name, value in values.items()})

    def html(self, key: str, /, **values: Any) -> str:
        """The text of a key, escaped with its values: safe between tags and in quoted attributes."""
        return escape(self.say(key, **values))

    def _grouped(self, value: Any) -> Any:
        """A whole number with separators of thousands as the language has them; other values as they are."""
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        return f"{value:,}".replace(",", "\u202f" if self.code == "es" else ",")


@cache
def _texts(code: str) -> dict[str, str]:
    return json.loads((ASSETS / "strings" / f"{code}.json").read_text(encoding="utf-8"))


ENGLISH, SPANISH = Language("en"), Language("es")
