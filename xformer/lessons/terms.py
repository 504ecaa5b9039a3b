"""Terms of the glossary inside texts: where one first appears, it is a button that
opens its entry beside the text."""

import re
from functools import cache

from xformer.figures.templates import fill
from xformer.lessons.files import Term, glossary, said
from xformer.strings import ENGLISH, Language

MOST = 3  # links in a part, so that its texts stay easy to read


def linked(html: str, language: Language, seen: set[str], most: int = MOST) -> str:
    """Make buttons of the terms in an escaped text that are not among `seen`, which
    they join, up to `most` of them."""
    pattern, names = _terms(language)

    def button(found: re.Match[str]) -> str:
        name = names[found[0].lower()]
        if name in seen or len(seen) >= most:
            return found[0]
        seen.add(name)
        return f'<button type="button" class="term" popovertarget="{name}">{found[0]}</button>'

    return pattern.sub(button, html)


def among(text: str, language: Language) -> set[str]:
    """The terms that a text has, as `linked` notes them."""
    pattern, names = _terms(language)
    return {names[one.lower()] for one in pattern.findall(text)}


def entries(language: Language) -> str:
    """All entries, out of sight until their buttons open them; once on a page, where
    the overview of all parts lists them too (assets/places.js). HTML."""
    return fill(
        "lessons.entries",
        language,
        terms=[
            (
                _name(one),
                said(one.term, language),
                said(one.text, language).replace("*", ""),
                one.see,
                " ".join(one.term.values()),
            )
            for one in glossary()
        ],
    )


def _name(term: Term) -> str:
    return "term-" + term.term[ENGLISH.code].lower().replace(" ", "-")


@cache
def _terms(language: Language) -> tuple[re.Pattern[str], dict[str, str]]:
    """What finds a term, in the singular or plural and the longest first; and its name,
    by how it is written. No title of a paper, and no key of the keyboard."""
    names = {}
    for one in glossary():
        term = said(one.term, language).lower()
        plurals = (
            f"{term}s",
            f"{term}es",
            re.sub("y$", "ies", term),
            re.sub("ión$", "iones", term),
        )
        names.update(dict.fromkeys((term, *plurals), _name(one)))
    longest = sorted(names, key=len, reverse=True)
    return re.compile(
        rf"(?<![\w“-])(?<!arrow )({'|'.join(map(re.escape, longest))})(?![\w-])",
        re.IGNORECASE,
    ), names
