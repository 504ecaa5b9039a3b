"""Interface and message texts in English and Spanish, read from assets/strings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
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
    source: str = "en"  # the language that the model on the page reads, which texts call {reads}
    target: str = "es"  # and the one that it {writes}

    def of(self, info: Any) -> Language:
        """This language, for texts about a model: `info` has the languages that it reads and writes."""
        return replace(self, source=getattr(info, "source", "en"), target=getattr(info, "target", "es"))

    @property
    def reads(self) -> str:
        """The attribute of HTML for text in the language that the model reads."""
        return f'lang="{self.source}"'

    @property
    def writes(self) -> str:
        """The attribute of HTML for text in the language that the model writes."""
        return f'lang="{self.target}"'

    @property
    def texts(self) -> dict[str, str]:
        """All texts by key, with their {values} not yet filled in, but for the model's languages."""
        return _texts(self.code, self.source, self.target)

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
def _texts(code: str, source: str, target: str) -> dict[str, str]:
    texts = json.loads((ASSETS / "strings" / f"{code}.json").read_text(encoding="utf-8"))
    reads, writes = texts[f"language_{source}"], texts[f"language_{target}"]
    return {key: text.replace("{reads}", reads).replace("{writes}", writes) for key, text in texts.items()}


ENGLISH = Language("en", "English")
SPANISH = Language("es", "Español", thousands="\u202f")
