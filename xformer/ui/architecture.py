"""The Model tab: the figure of the paper for the loaded checkpoint; a block of attention opens its heads."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import gradio as gr

from xformer.figures import architecture as figure
from xformer.results import Trace
from xformer.service import Service
from xformer.strings import speaker
from xformer.ui import attention
from xformer.ui.canvas import canvas


def build(service: Service, language: str, trace: gr.State, tabs: gr.Tabs, shown: gr.Textbox, seen: attention.Built
          ) -> None:
    """Lay the tab out, called inside it. shown: which tab is open; seen: the Attention tab, which a click opens."""
    say = speaker(language)
    gr.HTML(f'<p class="note">{escape(say("arch_text"))}</p>')
    towers = canvas("blocks.js", "${value}", "architecture", draw(service, language, None), save=language)
    gr.HTML(f'<h3>{escape(say("arch_orders"))}</h3><p class="note">{escape(say("arch_orders_text"))}</p>'
            f"{figure.orders(service.info.norm, language)}", elem_classes="architecture")
    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    trace.change(partial(draw, service, language), trace, towers, **quiet)

    def choose(event: gr.EventData) -> list[Any]:  # gradio finds the event by its annotation, not through a partial
        return attention.open_layer(service, language, event.stack, int(event.layer))

    opened = towers.choose(choose, None, [tabs, shown, *seen.choice[:5]], **quiet)
    for event in seen.redraw:
        opened = opened.then(**event)


def draw(service: Service, language: str, trace: Trace | None) -> str:
    """The towers, with the lengths of the sentence on the page where there is one."""
    source, target = (None, None) if trace is None else (len(trace.source), len(trace.target))
    return figure.architecture(service.info, service.blocks(), source, target, language)
