"""Write one page of HTML that shows every head of a pass, with no server and nothing
from outside; and show it."""

from __future__ import annotations

import json
import re
import sys
import webbrowser
from collections.abc import Mapping
from html import escape
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from xformer.strings import ASSETS, Language

TEXTS = (
    "html_title",
    "html_source",
    "html_target",
    "html_search",
    "html_found",
    "html_not_found",
    "html_sinks",
    "stack",
    "encoder_self",
    "decoder_self",
    "cross",
    "picture_title",
    "finder_where",
    "row_target",
    "looks_at",
    "looks_at_nothing",
    "looked_at_by",
    "looked_at_by_nobody",
    "view",
    "view_heatmap",
    "view_arcs",
    "view_hint",
    "arcs_drawn",
    "probability",
    "line_asks",
    "line_seen",
    "words",
    "rule_words",
    "rule_hidden",
    "grid_rule",
    "attention_note",
)


def page(data: Mapping[str, Any], texts: Mapping[str, str], language: Language) -> str:
    """Fill the template assets/explain.html with the numbers of a pass and with texts.

    data: as `results.Trace` describes itself. texts: the keys of texts that stand in
    place of others.
    """
    data = {
        **data,
        "texts": {key: language.texts[texts.get(key, key)] for key in TEXTS},
    }
    template, *modules = (
        (ASSETS / name).read_text(encoding="utf-8")
        for name in (
            "explain.html",
            "shared.js",
            "head_map.js",
            "units.js",
            "explain.js",
        )
    )
    # The modules become one script, which stands in the page itself and can import
    # nothing.
    script = re.sub(
        r"^(export |import [^;]*;.*\n)", "", "\n".join(modules), flags=re.MULTILINE
    )
    filled = template.replace("__LANGUAGE__", language.code).replace(
        "__SCRIPT__", script
    )
    # Data comes last, as it may hold anything. Inside a script element, only "</script"
    # and "<!--" could end it early: no "<" is left in it.
    return filled.replace(
        "__DATA__", json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    )


HEIGHT = 720  # of a frame in a notebook, in pixels


def frame(page: str) -> str:
    """Put a page into a frame of its own, for a notebook, whose own styles and scripts
    it then cannot touch."""
    return (
        f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" '
        f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
    )


def show(page: str) -> None:
    """Show a page: in the notebook where this runs in one, else in the browser, from a
    temporary file."""
    ipython = sys.modules.get("IPython")  # which every notebook has loaded
    if ipython is not None and ipython.get_ipython() is not None:
        display = import_module("IPython.display")
        display.display(display.HTML(frame(page)))
        return
    with NamedTemporaryFile(
        "w", suffix=".html", encoding="utf-8", delete=False
    ) as file:
        file.write(page)
    webbrowser.open(Path(file.name).as_uri())
