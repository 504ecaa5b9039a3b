"""Part of the Attention tab that saves the numbers of every head, as JSON, NPZ or one HTML page.

The file travels in the answer and is made by the browser: nobody's sentence is left on the server's disk.
"""

from __future__ import annotations

import base64
import time
from typing import Any

import gradio as gr

from xformer.explain.export import encode
from xformer.results import Head, Trace
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import canvas
from xformer.ui.controls import Controls
from xformer.ui.handlers import needs
from xformer.ui.tabs import Page

KINDS = ("json", "npz", "html")


def build(page: Page, look: Controls) -> None:
    """Lay the buttons out; called inside the tab. look: the tab's, whose stack, layer and head are marked."""
    say = page.language.say
    with gr.Accordion(say("export"), open=False):
        with gr.Row():
            buttons = [gr.Button(say(f"export_{kind}"), size="sm", min_width=120) for kind in KINDS]
        problem = gr.HTML(elem_classes="status")
        file = canvas("download.js", "<span></span>", "download")
    for kind, button in zip(KINDS, buttons, strict=True):
        button.click(**page.ask(save, {"trace": page.trace, **look.named("stack", "layer", "head")}, {"file": file},
                                problem, kind=kind), api_visibility="private")


@needs(trace="no_trace")
def save(service: TranslationService, language: Language, *, trace: Trace, stack: str, layer: int, head: int, kind: str
         ) -> dict[str, Any]:
    """The whole pass as a file, for assets/download.js."""
    info = service.info
    content = encode(trace, info, f".{kind}", Head(stack, layer, head), language)
    return {"file": {"name": f"{info.name.replace('/', '-')}-attention.{kind}",
                     "data": base64.b64encode(content).decode("ascii"),
                     "made": time.time()}}  # the same file twice is a new value, so it is offered again
