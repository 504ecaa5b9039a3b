"""Part of the Attention tab that saves the numbers of every head, as JSON, NPZ or one HTML page.

The file travels in the answer and is made by the browser: nobody's sentence is left on the server's disk.
"""

from __future__ import annotations

import base64
import time
from typing import Any

import gradio as gr

from xformer.explain.export import encode
from xformer.figures.notice import notice
from xformer.results import Trace
from xformer.serve.translation import Service
from xformer.strings import Language, speaker, text
from xformer.ui.address import read_choice
from xformer.ui.components import canvas
from xformer.ui.handlers import Ask, refusal

KINDS = ("json", "npz", "html")


def build(ask: Ask, trace: gr.State, choice: list[Any]) -> None:
    """Lay the buttons out; called inside the tab."""
    say = speaker(ask.language)
    with gr.Accordion(say("export"), open=False):
        with gr.Row():
            buttons = [gr.Button(say(f"export_{kind}"), size="sm", min_width=120) for kind in KINDS]
        problem = gr.HTML(elem_classes="status")
        file = canvas("download.js", "<span></span>", "download")
    for kind, button in zip(KINDS, buttons, strict=True):
        button.click(**ask(save, [trace, *choice], kind=kind), outputs=[problem, file], api_visibility="private")


def save(service: Service, language: Language, trace: Trace | None, *values: Any, kind: str) -> tuple[str, Any]:
    """A problem, and what assets/download.js offers: the whole pass."""
    if trace is None:
        return notice([text("no_trace", language)], "error"), gr.skip()
    info = service.info
    try:
        choice = read_choice(*values)
        content = encode(trace, info, f".{kind}", choice.chosen, language)
    except Exception as error:
        return refusal(error, language), gr.skip()
    return "", {"name": f"{info.name.replace('/', '-')}-attention.{kind}",
                "data": base64.b64encode(content).decode("ascii"),
                "made": time.time()}  # the same file twice is a new value, so it is offered again
