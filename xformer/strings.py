"""Interface and message texts in English and Spanish, read from assets/strings."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).resolve().parent.parent / "assets"
LANGUAGES = {"en": "English", "es": "Español"}


@cache
def table(language: str) -> dict[str, str]:
    """All texts of a language, by key."""
    return json.loads((ASSETS / "strings" / f"{language}.json").read_text(encoding="utf-8"))


def text(key: str, language: str = "en", /, **values: Any) -> str:
    """The text of a key with its {values} filled in; whole numbers are grouped in thousands as the language does."""
    def shown(value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            grouped = f"{value:,}"
            return grouped.replace(",", "\u202f") if language == "es" else grouped
        return value
    return table(language)[key].format(**{name: shown(value) for name, value in values.items()})


class Language(str):
    """A language of the interface, by its code ("en", "es"): `say` for plain text, `html` for text inside markup."""

    @property
    def code(self) -> str:
        return str(self)

    @property
    def texts(self) -> dict[str, str]:
        """All texts by key, their {values} not filled in."""
        return table(self.code)

    def say(self, key: str, /, **values: Any) -> str:
        """The text of a key with its {values} filled in, unescaped."""
        return text(key, self.code, **values)

    def html(self, key: str, /, **values: Any) -> str:
        """The text of a key, escaped with its values: safe between tags and in quoted attributes."""
        return escape(self.say(key, **values))


ENGLISH, SPANISH = Language("en"), Language("es")


def speaker(language: str) -> Callable[..., str]:
    """`text` for one language: say(key, …)."""
    def say(key: str, /, **values: Any) -> str:
        return text(key, language, **values)
    return say
