"""The Attention tab: one head of one stack of the pass that made the translation on the page."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import gradio as gr

from xformer.figures import heatmap
from xformer.results import STACKS, Trace
from xformer.service import Service
from xformer.strings import speaker, text


def build(service: Service, language: str, trace: gr.State) -> None:
    """Lay the tab out; called inside it. Every control redraws from the trace and asks the model nothing."""
    say = speaker(language)
    info = service.info
    with gr.Row(elem_classes="controls"):
        stack = gr.Radio([(say(f"stack_{name}"), name) for name in STACKS], value="cross", label=say("stack"),
                         scale=4, min_width=280)
        layer = gr.Radio(_numbers(info.n_decoder_layers), value=info.n_decoder_layers, label=say("layer"), scale=3, min_width=180)
        head = gr.Radio(_numbers(info.n_heads), value=1, label=say("head"), scale=4, min_width=280)
    picture = gr.Plot(show_label=False, elem_classes="picture")
    gr.HTML(f'<p class="note">{escape(say("attention_note"))}</p>')
    words = gr.HTML(elem_classes="summary")

    def layers(chosen: str, now: int) -> Any:
        count = info.n_layers if chosen == "encoder_self" else info.n_decoder_layers
        return gr.update(choices=_numbers(count), value=min(now, count))

    stack.input(layers, [stack, layer], layer, api_visibility="private", show_progress="hidden").then(
        partial(draw, language), [trace, stack, layer, head], [picture, words], api_visibility="private",
        show_progress="hidden")
    gr.on([layer.input, head.input, trace.change], partial(draw, language), [trace, stack, layer, head],
          [picture, words], api_visibility="private", show_progress="hidden")


def _numbers(count: int) -> list[tuple[str, int]]:
    return [(str(number), number) for number in range(1, count + 1)]


def draw(language: str, trace: Trace | None, stack: str, layer: int, head: int) -> tuple[Any, str]:
    """The heatmap of a head, and the same in words."""
    if trace is None:
        return None, f"<p>{escape(text('no_trace', language))}</p>"
    summary = heatmap.summary(trace, stack, int(layer), int(head), language)
    label = escape(text("summary_label", language))
    return (heatmap.heatmap(trace, stack, int(layer), int(head), language),
            f"<details><summary>{label}</summary><p>{escape(summary)}</p></details>")
