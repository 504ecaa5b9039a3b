"""Write one page of HTML that shows every head of a pass, with no server and nothing
from outside; and show it."""

from __future__ import annotations

import base64
import json
import re
import sys
import webbrowser
from collections.abc import Mapping
from html import escape
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from xformer.strings import ASSETS, Language

if TYPE_CHECKING:  # a trace writes itself as a page, so this module cannot import it
    from xformer.results import Head, Maps, Trace

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
# of models that are not known to translate
OTHERS = {"html_title": "html_title_any", "cross": "html_cross"}


def page(
    trace: Trace, start: Head, stacks: Mapping[str, Maps], language: Language
) -> str:
    """Fill the template assets/explain.html with the numbers of a pass and with texts.

    start: the head on which the page opens, or the nearest that there is in its stack.
    stacks: the attention by stack.
    """
    layers, heads = stacks[start.stack].probabilities.shape[:2]
    row = "row_target_late" if trace.asks_late else "row_target"
    origin = trace.origin
    # exact, and quickly written and read
    data = {
        "source": trace.source,
        "target": trace.target,
        "predicted": trace.predicted,
        "text": trace.text,
        "model": origin.info.line(language) if origin else "",
        # rows named by the piece that was given
        "given": sorted(map(str, origin.given)) if origin else [],
        "late": trace.asks_late,
        "texts": {
            key: language.texts[OTHERS.get(key, key) if origin is None else key]
            for key in TEXTS
        }
        | {"row_target": language.texts[row]},
        "start": {
            "stack": start.stack,
            "layer": min(start.layer, layers) - 1,
            "head": min(start.head, heads) - 1,
        },
        **{
            name: {
                "shape": maps.probabilities.shape,
                "data": base64.b64encode(
                    maps.probabilities.astype("<f4").tobytes()
                ).decode("ascii"),
            }
            for name, maps in stacks.items()
        },
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


def frame(page: str, height: int = 720) -> str:
    """Put a page into a frame of its own, for a notebook, whose own styles and scripts
    it then cannot touch."""
    return (
        f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" '
        f'style="width: 100%; height: {height}px; border: 0"></iframe>'
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
