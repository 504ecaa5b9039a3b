"""Write one page of HTML that shows every head of a pass, with no server and nothing from outside."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from xformer.strings import ASSETS, Language

TEXTS = ("html_title", "html_source", "html_target", "html_hint", "stack", "encoder_self", "decoder_self", "cross",
         "picture_title", "finder_where", "row_target", "looks_at", "attention_note")


def page(about: Mapping[str, Any], maps: Mapping[str, np.ndarray], start: tuple[str, int, int], language: Language
         ) -> str:
    """Fill the template assets/explain.html with numbers and texts.

    about: the lists `source`, `target` and `predicted`, a line about the `model`, the names of `given` heads, whose
    rows are named by the piece that they were given, and `late`, as in `results.Maps`. maps: by stack (layers, heads,
    queries, keys), float. start: the stack, layer and head on which the page opens, the nearest that there is.
    """
    stack, *_ = start
    layers, heads = maps[stack].shape[:2]
    layer, head = (min(number, count) - 1 for number, count in zip(start[1:], (layers, heads), strict=True))
    row = "row_target_late" if about.get("late") else "row_target"
    data = {**about, "texts": {**{key: language.texts[key] for key in TEXTS}, "row_target": language.texts[row]},
            "start": {"stack": stack, "layer": layer, "head": head},  # the script counts from 0
            # Three decimals are more than a screen shows, and a quarter of the size.
            **{name: np.round(values.astype(float), 3).tolist() for name, values in maps.items()}}
    template = (ASSETS / "explain.html").read_text(encoding="utf-8")
    filled = template.replace("__LANGUAGE__", language.code).replace("__SCRIPT__", _script())
    # Data comes last, as it may hold anything. Inside a script element, only "</script" and "<!--" could end it early:
    # no "<" is left in it.
    return filled.replace("__DATA__", json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"))


def frame(page: str, height: int = 720) -> str:
    """Put a page into a frame of its own, for a notebook, whose own styles and scripts it then cannot touch."""
    return (f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {height}px; border: 0"></iframe>')


def _script() -> str:
    """Join the modules of the page to one script, which stands in the page itself and can import nothing."""
    modules = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in ("shared.js", "explain.js"))
    return re.sub(r"^(export |import .*\n)", "", modules, flags=re.MULTILINE)
