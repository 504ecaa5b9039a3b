"""HTML from templates, those of assets/html and of the parts: a macro a piece of HTML,
which jinja2 fills.

Whatever is put in is escaped, unless it is marked as HTML with `| safe`. Besides its
values a macro knows HELPERS; `say`, a text of the language by its key; `place`, the
name of a head; and `reads` and `writes`, the attributes of text in the model's
languages.
"""

import json
import math
import re
from functools import cache, partial
from html import escape
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from xformer.figures import labels
from xformer.pieces import WORD_START
from xformer.results import decimal, fixed
from xformer.strings import ASSETS, Language, of_parts

HELPERS = {
    "WORD_START": WORD_START,
    "bare": labels.bare,
    "exp": math.exp,
    "log": math.log,
    "percent": labels.percent,
    "json": lambda value: Markup(escape(json.dumps(value, ensure_ascii=False))),
    "readable": labels.readable,
    "sentence": labels.sentence,
    "shown": labels.shown,
    "zip": partial(zip, strict=True),
}


class Templates(FileSystemLoader):
    """Templates as one line: a line break beside a tag counts for nothing, any other is
    a space."""

    def get_source(self, environment: Environment, template: str) -> Any:
        source, *more = super().get_source(environment, template)
        for pattern, instead in (
            (r"(>|[%#]\})\n\s*", r"\1"),
            (r"\n\s*(?=<|\{[%#])", ""),
            (r"\n\s*", " "),
        ):
            source = re.sub(pattern, instead, source)
        return source, *more


FOLDERS = [ASSETS / "html", *sorted({path.parent for path in of_parts("*.html")})]
ENVIRONMENT = Environment(
    loader=Templates(FOLDERS), autoescape=True, undefined=StrictUndefined
)
ENVIRONMENT.filters["f"] = fixed  # {{ share | f(".3f") }}
ENVIRONMENT.filters["n"] = decimal  # {{ rate | n(2) }}


def fill(part: str, language: Language, /, **values: Any) -> str:
    """Fill a macro, such as "pairs.translations", with values by the names of its
    parameters; HTML."""
    name, macro = part.split(".")
    return str(getattr(_macros(name, language), macro)(**values))


@cache
def _macros(name: str, language: Language) -> Any:
    return ENVIRONMENT.get_template(f"{name}.html").make_module(
        {
            **HELPERS,
            "say": language.say,
            "reads": Markup(language.reads),
            "writes": Markup(language.writes),
            "place": lambda head: labels.place(head, language),
            "times": lambda gain: labels.times(gain, language),
        }
    )
