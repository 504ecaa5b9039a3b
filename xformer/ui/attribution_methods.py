"""Part of the Attention tab that goes beyond attention: raw, value-weighted, and leave-one-out, side by side."""

from __future__ import annotations

from html import escape
from typing import Any

import gradio as gr

from xformer.explain.attribution_methods import answers
from xformer.figures.attribution_methods import compared, occlusion
from xformer.figures.labels import shown
from xformer.figures.notice import notice
from xformer.pieces import words
from xformer.results import Head, Occlusion, Trace
from xformer.serve.translation import Service
from xformer.strings import Language, speaker, text
from xformer.ui.components import figure, plot
from xformer.ui.handlers import QUIET, Ask, refusal


def build(ask: Ask, trace: gr.State, stack: gr.Radio, layer: gr.Radio, head: gr.Radio) -> None:
    """Lay the part out; called inside the tab. It asks about the pair that the tab looks into."""
    say = speaker(ask.language)
    with gr.Accordion(say("occlusion"), open=False):
        gr.HTML(f'<p class="note">{escape(say("occlusion_text"))}</p>')
        with gr.Row(elem_classes="ask"):
            word = gr.Dropdown([], value=None, label=say("compared_for"), min_width=160, elem_classes="compared-word")
            button = gr.Button(say("occlusion_run"), min_width=160)
        problem = gr.HTML(elem_classes="status")
        table = gr.HTML(elem_classes="tables compared")
        picture = plot("occluded", ask.language)
    found = gr.State()
    # Stack, layer and head in one: when another model has others, they change one after the other.
    where = gr.Textbox("cross {} {}".format(*ask.service.best_head), visible=False)
    gr.on([control.change for control in (stack, layer, head)], None, [stack, layer, head], where,
          js="(...where) => where.join(' ')", **QUIET)
    again: dict[str, Any] = {**ask(compare, [trace, found, word, where]), "outputs": table, **QUIET}
    trace.change(_words, trace, [word, found, table, picture], **QUIET)
    button.click(**ask(occlude, [trace]), outputs=[problem, picture, found],
                 api_visibility="private").then(**again)
    gr.on([word.change, where.change], **again)


def _words(trace: Trace | None) -> tuple[Any, ...]:
    """The target words of a new pair to choose among, the first that is longer than three letters first; all else
    is forgotten."""
    if trace is None:
        return gr.skip(), None, "", None
    names = _names(trace)
    first = next((i for i, name in enumerate(names) if len(name) > 3), 0)
    return gr.update(choices=[(name, i) for i, name in enumerate(names)], value=first), None, "", None


def _names(trace: Trace) -> list[str]:
    return [shown("".join(trace.predicted[i] for i in group)) for group in words(trace.predicted)]


def occlude(service: Service, language: Language, trace: Trace | None) -> tuple[str, Any, Any]:
    """What each source word did for each target piece: a problem, the heatmap, and the numbers."""
    if trace is None:
        return notice([text("no_trace", language)], "error"), gr.skip(), gr.skip()
    try:
        found = service.occlude(trace.text, trace.tokens)
        return "", figure(occlusion(found, language)), found
    except Exception as error:
        return refusal(error, language), gr.skip(), gr.skip()


def compare(service: Service, language: Language, trace: Trace | None, found: Occlusion | None, word: int | None,
            where: str) -> str:
    """The three answers for one target word, of the head that is shown or, in another stack, of the best aligned."""
    if trace is None or found is None or word is None:
        return ""
    stack, *place = where.split()
    layer, head = map(int, place) if stack == "cross" else service.best_head
    group = words(trace.predicted)[int(word)]
    errors = service.alignment_errors(layer, head)
    given = errors is not None and errors[1] < errors[0]
    named = f"{text('cross', language)} · {text('finder_where', language, layer=layer, head=head)}"
    read = answers(trace, found, Head("cross", layer, head), group, given)
    return compared(read, _names(trace)[int(word)], named, language, errors)
