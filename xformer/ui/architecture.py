"""The Model tab: the figure of the paper for the loaded checkpoint; a block of attention opens its heads."""

from __future__ import annotations

from html import escape
from typing import Any

import gradio as gr

from xformer.figures import architecture as figure
from xformer.results import Trace
from xformer.serve.translation import Service
from xformer.strings import Language, speaker
from xformer.ui import attention
from xformer.ui.components import PICTURES, canvas
from xformer.ui.handlers import QUIET, Ask


def build(ask: Ask, trace: gr.State, tabs: gr.Tabs, shown: gr.Textbox, seen: attention.Built) -> list[gr.HTML]:
    """Lay the tab out, called inside it; -> what shows the model, as `arrive` sets it.

    shown: which tab is open; seen: the Attention tab, which a click opens.
    """
    say, (figure_of_model, figure_of_orders) = speaker(ask.language), arrive(ask.service, ask.language)
    gr.HTML(f'<p class="note">{escape(say("arch_text"))}</p>')
    towers = canvas("blocks.js", "${value}", "architecture", figure_of_model, save=ask.language)
    gr.HTML(f'<h3>{escape(say("arch_orders"))}</h3><p class="note">{escape(say("arch_orders_text"))}</p>')
    orders = canvas("blocks.js", "${value}", "architecture", figure_of_orders, save=ask.language, files=PICTURES)
    trace.change(**ask(draw, [trace]), outputs=towers, **QUIET)
    opened = towers.choose(**ask(_choose), outputs=[tabs, shown, *seen.choice[:5]], **QUIET)
    for event in seen.redraw:
        opened = opened.then(**event)
    return [towers, orders]


def arrive(service: Service, language: Language) -> list[str]:
    """The towers before there is a sentence, and both orders of normalisation."""
    return [draw(service, language, None), figure.orders(service.info.norm, language)]


def _choose(service: Service, language: Language, event: gr.EventData) -> list[Any]:
    return attention.open_layer(service, language, event.stack, int(event.layer))


def draw(service: Service, language: Language, trace: Trace | None) -> str:
    """The towers, with the lengths of the sentence on the page where there is one."""
    source, target = (None, None) if trace is None else (len(trace.source), len(trace.target))
    return figure.architecture(service.info, service.blocks(), source, target, language)
