"""The Attention tab: all heads of a stack of the pass that made the translation, and one of them in detail."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import gradio as gr

from xformer.explain import roles
from xformer.figures import grid, heatmap
from xformer.figures.labels import percent
from xformer.figures.picture import SHOW, Choice, picture, summary
from xformer.figures.translation import notice
from xformer.results import STACKS, Trace, Translation, UserError
from xformer.service import Service
from xformer.strings import ASSETS, speaker, text
from xformer.ui import ablation


def head_grid() -> gr.HTML:
    """Small maps of all heads on a canvas; its value is a `figures.grid.payload`, its event `choose` names a head.

    (A function rather than a subclass: gradio writes a .pyi file beside the source of every subclass.)
    """
    return gr.HTML(html_template='<canvas tabindex="0" role="img"></canvas>', elem_classes="heads",
                   js_on_load=(ASSETS / "head_grid.js").read_text(encoding="utf-8"))


def build(service: Service, language: str, translation: gr.State, trace: gr.State) -> list[gr.components.Component]:
    """Lay the tab out, called inside it; -> the controls that say what is seen, in the order of `Choice`.

    Every control above the ablation redraws from the trace alone."""
    say = speaker(language)
    info, (best_layer, best_head) = service.info, service.best_head
    inspected = gr.Dropdown([], value=None, allow_custom_value=True, label=say("inspected"),
                            info=say("inspected_info"), elem_classes="inspected")
    problem = gr.HTML(elem_classes="status")
    with gr.Row(elem_classes="controls"):
        stack = gr.Radio([(say(f"stack_{name}"), name) for name in STACKS], value="cross", label=say("stack"),
                         scale=4, min_width=280)
        layer = gr.Radio(numbers(info.n_decoder_layers), value=best_layer, label=say("layer"), scale=3,
                         min_width=180)
        head = gr.Radio(numbers(info.n_heads), value=best_head, label=say("head"), scale=4, min_width=280)
    gr.HTML(f'<h3>{escape(say("grid_title"))} <span class="sub">{escape(say("grid_hint"))}</span></h3>')
    heads = head_grid()
    with gr.Row(elem_classes="controls"):
        show = gr.Radio([(say(f"show_{name}"), name) for name in SHOW], value="head", label=say("show"), scale=4,
                        min_width=280)
        words = gr.Checkbox(False, label=say("words"), scale=2, min_width=200)
        hide = gr.Checkbox(False, label=say("hide_sinks"), scale=2, min_width=200)
    plot = gr.Plot(show_label=False, elem_classes="picture")
    below = gr.HTML(elem_classes="summary")
    gr.HTML(f'<p class="note">{escape(say("attention_note"))}</p>')
    with gr.Accordion(say("finder"), open=False):
        gr.HTML(f'<p class="note">{escape(say("finder_text"))}</p>')
        finder = gr.Dataset(components=[gr.Textbox(visible=False)] * 3, type="index", samples=[],
                            headers=[say("finder_role"), say("finder_head"), say("finder_score")], show_label=False,
                            elem_classes="finder")
    ablation.build(service, language, translation, stack, layer, head)
    found = gr.State([])

    choice = [trace, stack, layer, head, show, words, hide]
    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    translation.change(_found, translation, [inspected, problem], **quiet)
    inspected.input(partial(inspect, service, language), [translation, inspected], [problem, trace],
                    api_visibility="private")
    draw_all = partial(draw, service, language)
    shown = [heads, plot, below]
    gr.on([layer.input, head.input, show.input, words.input, hide.input], draw_all, choice, shown, **quiet)

    def layers(chosen: str, now: int) -> Any:
        count = info.n_layers if chosen == "encoder_self" else info.n_decoder_layers
        return gr.update(choices=numbers(count), value=min(now, count))

    stack.input(layers, [stack, layer], layer, **quiet).then(draw_all, choice, shown, **quiet).then(
        partial(find, language), [trace, stack], [finder, found], **quiet)
    trace.change(draw_all, choice, shown, **quiet).then(partial(find, language), [trace, stack], [finder, found],
                                                        **quiet)
    heads.choose(_chosen, None, [layer, head, show], **quiet).then(draw_all, choice, shown, **quiet)
    finder.click(_open, [finder, found], [layer, head, show], **quiet).then(draw_all, choice, shown, **quiet)
    return choice[1:]


def numbers(count: int) -> list[tuple[str, int]]:
    """Choices 1 to count."""
    return [(str(number), number) for number in range(1, count + 1)]


def _found(found: Translation | None) -> tuple[Any, str]:
    """The translations found for a new sentence, to choose among; the best one is looked into first."""
    if found is None:
        return gr.skip(), ""
    return gr.update(choices=[c.text for c in found.n_best], value=found.best.text), ""


def inspect(service: Service, language: str, found: Translation | None, spanish: str | None) -> tuple[str, Any]:
    """Trace another translation of the sentence: one that was found, piece by piece as it was, or one typed by hand."""
    if found is None:
        return notice([text("no_trace", language)], "error"), gr.skip()
    try:
        target = next((c.tokens for c in found.n_best if c.text == spanish), spanish or "")
        return "", service.trace(found.source, target)
    except UserError as error:
        return notice([error.say(language)], "error"), gr.skip()


def _chosen(event: gr.EventData) -> tuple[int, int, str]:
    return int(event.layer), int(event.head), "head"


def _open(index: int, found: list[tuple[int, int]]) -> tuple[int, int, str]:
    return *found[index], "head"


def find(language: str, trace: Trace | None, stack: str) -> tuple[Any, list[tuple[int, int]]]:
    """The best head of the stack for every role, best first, as rows to click; and where each row leads."""
    if trace is None:
        return gr.skip(), []
    queries = trace.source if stack == "encoder_self" else trace.target
    keys = trace.target if stack == "decoder_self" else trace.source
    best: dict[str, roles.Role] = {}
    for role in roles.rank(stack, getattr(trace, stack), queries, keys):
        best.setdefault(role.role, role)
    rows = [[text(f"role_{role.role}", language),
             text("finder_where", language, layer=role.layer, head=role.head), percent(role.score)]
            for role in best.values()]
    return gr.update(samples=rows), [(role.layer, role.head) for role in best.values()]


def draw(service: Service, language: str, trace: Trace | None, stack: str, layer: int, head: int, show: str,
         words: bool, hide: bool) -> tuple[Any, Any, str]:
    """The small maps, the heatmap of what is chosen, and its rules, sink meter and summary in words."""
    if trace is None:
        return None, None, f"<p>{escape(text('no_trace', language))}</p>"
    errors = service.alignment_errors(int(layer), int(head)) if stack == "cross" and show == "head" else None
    seen = picture(trace, Choice(stack, int(layer), int(head), show, words, hide), language)
    said = [*seen.rules]
    if errors:
        said.append(text("aligns_given" if errors[1] < errors[0] else "aligns_predicted", language,
                         predicted=f"{errors[0]:.2f}", given=f"{errors[1]:.2f}"))
    rules = "".join(f"<p>{escape(rule)}</p>" for rule in said)
    meter = escape(text("sink_meter", language, percent=percent(seen.sinks)))
    label = escape(text("summary_label", language))
    return (grid.payload(getattr(trace, stack), stack, int(layer), int(head), language),
            heatmap.heatmap(seen, language),
            f'<div class="rules" role="status">{rules}<p><meter max="1" value="{seen.sinks:.3f}"></meter> {meter}</p>'
            f"</div><details><summary>{label}</summary><p>{escape(summary(seen, language))}</p></details>")
