"""Components that a script in assets/ draws."""

from __future__ import annotations

import gradio as gr

from xformer.strings import ASSETS


def canvas(script: str, template: str, name: str) -> gr.HTML:
    """A component that assets/`script` draws from its value, and that may trigger events of its own.

    (A function rather than a subclass: gradio writes a .pyi file beside the source of every subclass.)
    """
    return gr.HTML(html_template=template, elem_classes=name, js_on_load=(ASSETS / script).read_text(encoding="utf-8"))
