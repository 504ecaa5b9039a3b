"""Interface and message texts in English and Spanish: those of assets/strings, which
all share, and of each part."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from babel import Locale, UnknownLocaleError

PACKAGE = Path(str(files("xformer")))
# An installed package holds them; in a clone they stand beside the package.
ASSETS = (
    PACKAGE / "assets" if (PACKAGE / "assets").is_dir() else PACKAGE.parent / "assets"
)


def of_parts(pattern: str) -> list[Path]:
    """List the files of all parts of the page that match, such as "*.js"."""
    return sorted(PACKAGE.glob(f"parts/*/{pattern}"))


@dataclass(frozen=True)
class Language:
    """A language of the interface: `say` for plain text, `html` for text inside
    markup."""

    code: str  # "en", "es": the name of its files, and HTML's lang
    name: str  # in the language itself
    thousands: str = ","  # the separator of groups of three digits
    # the language that the model on the page reads, which texts call {reads}
    source: str = "en"
    target: str = "es"  # and the one that it {writes}

    def of(self, info: Any) -> Language:
        """This language, for texts about a model: `info` has the languages that it
        reads and writes."""
        return replace(
            self,
            source=getattr(info, "source", "en"),
            target=getattr(info, "target", "es"),
        )

    @property
    def reads(self) -> str:
        """The attribute of HTML for text in the language that the model reads."""
        return _written(self.source)

    @property
    def writes(self) -> str:
        """The attribute of HTML for text in the language that the model writes."""
        return _written(self.target)

    @property
    def texts(self) -> dict[str, str]:
        """All texts by key, with their {values} not yet filled in, but for the model's
        languages."""
        return _texts(self.code, self.source, self.target)

    def say(self, key: str, /, **values: Any) -> str:
        """The text of a key with its {values} filled in, unescaped; whole numbers get
        separators of thousands."""
        whole = {
            name: self.number(one) for name, one in values.items() if type(one) is int
        }
        return self.texts[key].format(**{**values, **whole})

    def unfilled(self, keys: Iterable[str]) -> dict[str, str]:
        """The texts of keys, for a script that fills in their {values}."""
        return {key: self.texts[key] for key in keys}

    def number(self, value: float, digits: int = 0) -> str:
        """Write a number with separators of thousands. digits: after the point."""
        return f"{value:,.{digits}f}".replace(",", self.thousands)

    def html(self, key: str, /, **values: Any) -> str:
        """The text of a key with its {values}, escaped: safe between tags and in quoted
        attributes."""
        return escape(self.say(key, **values))

    def choices(self, key: str, names: Iterable[str]) -> list[tuple[str, str]]:
        """Name things to choose from, with the text whose key is "key_{}" with the name
        in it."""
        return [(self.say(key.format(name)), name) for name in names]


def leftwards(code: str) -> bool:
    """Whether a language is written from right to left."""
    try:
        return Locale(code).text_direction == "rtl"
    except UnknownLocaleError:
        return False


def _written(code: str) -> str:
    return f'lang="{code}" dir="rtl"' if leftwards(code) else f'lang="{code}"'


@cache
def _texts(code: str, source: str, target: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in (ASSETS / "strings" / f"{code}.json", *of_parts(f"{code}.json")):
        own = json.loads(path.read_text(encoding="utf-8"))
        if twice := sorted(texts.keys() & own.keys()):
            raise ValueError(
                f"{path} has texts of another file too: {', '.join(twice)}"
            )
        texts |= own
    names = Locale(code).languages
    reads = names.get(source, source)
    writes = names.get(target, target)
    return {
        key: text.replace("{reads}", reads).replace("{writes}", writes)
        for key, text in texts.items()
    }


ENGLISH = Language("en", "English")
SPANISH = Language("es", "Español", thousands="\u202f")
