"""Components that a script in assets/ draws."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import gradio as gr
import plotly

from xformer.strings import ASSETS, text

# Python's Plotly brings the script that draws its figures; the browser fetches it from here.
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
FILES = ("png", "svg", "csv", "json")


def canvas(script: str, template: str, name: str, value: Any = None) -> gr.HTML:
    """A component that assets/`script` draws from its value, and that may trigger events of its own.

    (A function rather than a subclass: gradio writes a .pyi file beside the source of every subclass.)
    """
    return gr.HTML(value, html_template=template, elem_classes=name,
                   js_on_load=(ASSETS / script).read_text(encoding="utf-8"))


def plot(name: str, language: str) -> gr.HTML:
    """A component for a Plotly figure, sent as `figure` makes it, with buttons below that save it from the browser.

    gr.Plot draws each figure twice and from nothing, which is seen when a slider moves; this one draws what changed.
    """
    gr.set_static_paths(PLOTLY)
    script = (ASSETS / "plot.js").read_text(encoding="utf-8").replace("PLOTLY", PLOTLY.resolve().as_posix())
    buttons = "".join(f'<button type="button" data-save="{kind}" aria-label="'
                      f'{escape(text("save_as", language, kind=kind.upper()))}">{kind.upper()}</button>'
                      for kind in FILES)
    return gr.HTML(html_template=f'<div class="plot"></div><div class="tools" hidden>{buttons}</div>',
                   elem_classes=["picture", name], js_on_load=script)


def figure(drawn: Any) -> dict[str, str]:
    """A Plotly figure as assets/plot.js draws it."""
    return {"figure": drawn.to_json(validate=False)}
