"""Where everything stands: each part of the page with the question that it answers, and
the overview that leads there.

A part's question is its first line. assets/places.js opens the overview, and searches
it, with lessons and the glossary, by the words of either language; and it brings a part
into sight that the fragment of an address names, such as
/?tab=attention&attention_part=principles#store.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Any

import gradio as gr

from xformer import parts
from xformer.figures.templates import fill
from xformer.lessons.files import lessons, said
from xformer.lessons.terms import entries, linked
from xformer.strings import ENGLISH, SPANISH, Language
from xformer.ui.components import canvas


@dataclass(frozen=True)
class Place:
    """A part of the page. Its question is the text "asks_" and its key; name: the key
    of the text that names it.

    address: what of the page's address opens it, besides its tab. folded: whether it is
    a part that a reader opens, and that the fragment of the address names. within: the
    key of the place in which it stands as a section, which is listed in its stead.
    """

    key: str
    name: str
    address: Mapping[str, str] = field(default_factory=dict)
    folded: bool = False
    within: str = ""


@cache
def places() -> Mapping[str, tuple[Place, ...]]:
    """List the places of all parts by the ids of their tabs."""
    return {
        name: tuple(place for place in of_tab if not place.within)
        for name, of_tab in _all().items()
    }


@cache
def sections() -> Mapping[str, Place]:
    """List by their keys what stands in places as a section."""
    return {
        place.key: place
        for of_tab in _all().values()
        for place in of_tab
        if place.within
    }


def held(key: str) -> list[Place]:
    """List the sections of a place."""
    return [place for place in sections().values() if place.within == key]


@cache
def _all() -> Mapping[str, tuple[Place, ...]]:
    return {
        tab: tuple(chain(*(_of_sheet(tab, name) for name in of_tab)))
        for tab, of_tab in parts.sheets().items()
    }


def _of_sheet(tab: str, name: str) -> Iterator[Place]:
    """List the places of a sheet of a tab, with what opens that sheet: an address that
    names none opens the first."""
    which = {} if name == tab else {parts.choice(tab): name}
    for place in _inside(parts.TABS[name]):
        yield replace(place, address={**which, **place.address})


def _inside(tab: parts.Tab) -> Iterator[Place]:
    """List the places of a sheet: its parts, and what each lays out folded."""
    modules = tab.modules()
    folds = [
        _folds(module, {tab.choice: module.ID} if tab.choice else {})
        for module in modules
    ]
    holders = {
        fold.key: module.ID
        for module, inside in zip(modules, folds, strict=True)
        for fold in inside
    }
    for module, inside in zip(modules, folds, strict=True):
        held_in = within(module, modules)
        if hasattr(module, "PLACES"):
            yield from module.PLACES
        elif tab.choice:
            name = tab.name.format(module.ID)
            address = {tab.choice: holders.get(held_in, module.ID)}
            yield Place(module.ID, name, address, bool(held_in), held_in)
        elif hasattr(module, "NAME"):
            is_folded = module is not modules[0]
            yield Place(module.ID, module.NAME, folded=is_folded, within=held_in)
        if not tab.choice:
            yield from inside
    if tab.choice:
        yield from chain(*folds)


def within(module: Any, modules: Iterable[Any]) -> str:
    """The key of the fold, or of the part, in which a part stands as a section; "" where
    none of these modules lays that out."""
    key: str = getattr(module, "WITHIN", "")
    laid_out = {
        one
        for other in modules
        for one in (other.ID, *(fold for fold, *_ in getattr(other, "FOLDS", ())))
    }
    return key if key in laid_out else ""


def _folds(module: Any, address: Mapping[str, str]) -> list[Place]:
    """List what a part lays out folded. address: what opens the part."""
    return [
        Place(key, text, address, folded=True, within="".join(within))
        for key, text, *within in getattr(module, "FOLDS", ())
    ]


@cache
def names() -> Mapping[str, str]:
    """Return by its key the key of the text that names a place."""
    return {place.key: place.name for those in _all().values() for place in those}


_linked: ContextVar[set[str]] = ContextVar("terms linked in the part being laid out")


def question(language: Language, key: str) -> gr.HTML:
    """Ask, as the first line of a part, what it answers."""
    _linked.set(set())
    return gr.HTML(note(language, f"asks_{key}", "asks"), elem_classes="asked")


def note(language: Language, key: str, of: str = "note", /, **values: object) -> str:
    """Explain something of the part that is being laid out: a text of that key, its
    first terms linked. HTML.

    of: the paragraph's class.
    """
    return f'<p class="{of}">{linked(language.html(key, **values), language, _linked.get(set()))}</p>'


def title(tab: str, language: Language) -> str:
    """Return the key of the text that names a tab, or a sheet whose tab is not there."""
    return f"tab_{tab}" if f"tab_{tab}" in language.texts else f"sheet_{tab}"


def overview(language: Language) -> gr.HTML:
    """Lay out the button that opens the overview of all parts, and the overview."""
    return canvas(
        "places.js",
        fill(
            "places.overview",
            language,
            places=places(),
            named={tab: title(tab, language) for tab in places()},
            lessons={
                name: said(one.title, language) for name, one in lessons().items()
            },
            titles={
                name: " ".join(one.title.values()) for name, one in lessons().items()
            },
            words=_words,
            held=held,
        )
        + entries(language),
        "places",
    )


def _words(key: str, name: str = "") -> str:
    """By what other words a place is found, in both languages: those of the text
    "words_" and its key, its name, and what names its sections. name: the key of
    that."""
    named = [f"words_{key}", name]
    for one in held(key):
        named += [f"words_{one.key}", f"asks_{one.key}", one.name]
    texts = [
        language.texts.get(one, "") for language in (ENGLISH, SPANISH) for one in named
    ]
    return " ".join(filter(None, texts))
