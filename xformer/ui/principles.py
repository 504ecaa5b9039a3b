"""The First principles tab: equation 1 walked through with the numbers of the real model, and changed at will."""

from __future__ import annotations

import json
import logging
from functools import partial
from html import escape
from typing import Any

import gradio as gr
import numpy as np

from xformer.explain import principles
from xformer.explain import store as key_values
from xformer.figures import principles as figures
from xformer.figures.translation import notice
from xformer.results import STACKS, Trace, UserError, Walk
from xformer.service import Service
from xformer.strings import ASSETS, speaker, text

log = logging.getLogger(__name__)
TAB = "principles"
STEPS = ("vectors", "scores", "values", "output")
HEADS = (1, 2, 4, 8)  # that one d_model is split into
MOST_PADDING = 4
STORE: dict[str, Any] = json.loads((ASSETS / "store.json").read_text(encoding="utf-8"))


def build(service: Service, language: str, trace: gr.State, shown: gr.Textbox, tab: gr.Tab) -> None:
    """Lay the tab out, called inside it. shown: which tab is open; nothing is drawn before it is this one."""
    say = speaker(language)
    info, (best_layer, best_head) = service.info, service.best_head
    problem, walk = gr.HTML(elem_classes="status"), gr.State()
    gr.HTML(f'<p class="note">{escape(say("first_intro"))}</p>')
    with gr.Row(elem_classes="controls"):
        stack = gr.Radio([(say(f"stack_{name}"), name) for name in STACKS], value="cross", label=say("stack"),
                         scale=4, min_width=280)
        layer = gr.Radio(_numbers(info.n_decoder_layers), value=best_layer, label=say("layer"), scale=3, min_width=180)
        head = gr.Radio(_numbers(info.n_heads), value=best_head, label=say("head"), scale=4, min_width=280)
    with gr.Row(elem_classes="controls"):
        query = gr.Dropdown([], value=None, label=say("first_query"), scale=3, min_width=240)
        padding = gr.Slider(0, MOST_PADDING, 2, step=1, label=say("first_padding"), info=say("first_padding_info"),
                            scale=2, min_width=240)
    plots = []
    for name in STEPS:
        gr.HTML(figures.step(name, language))
        plots.append(gr.Plot(show_label=False, elem_classes=["picture", f"first-{name}"]))
    gr.HTML(figures.step("switches", language))
    with gr.Row(elem_classes="controls"):
        power = gr.Slider(*principles.POWERS, value=0, step=0.25, label=say("first_power"),
                          info=say("first_power_info"), scale=3, min_width=280)
        rule = gr.Radio([(say(f"first_rule_{name}"), name) for name in principles.RULES], value="scaled",
                        label=say("first_rule"), scale=4, min_width=280)
        mask = gr.Radio([(say(f"first_mask_{name}"), name) for name in principles.MASKS], value="padding",
                        label=say("first_mask"), scale=3, min_width=280)
    said = gr.HTML(elem_classes="summary", min_height=60)
    bars = gr.Plot(show_label=False, elem_classes=["picture", "first-bars"])
    with gr.Accordion(say("first_every_query"), open=False) as whole:
        everybody = gr.Plot(show_label=False, elem_classes=["picture", "first-map"])
    with gr.Accordion(say("first_title_variance"), open=False) as varies:
        gr.HTML(figures.step("variance", language))
        plot_of_variance = gr.Plot(show_label=False, elem_classes=["picture", "first-variance"])
    with gr.Accordion(say("first_title_split"), open=False) as cut:
        gr.HTML(figures.step("split", language))
        costs = gr.HTML(elem_classes="tables")
        plot_of_split = gr.Plot(show_label=False, elem_classes=["picture", "first-split"])
    _store(service, language)

    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    chosen = [stack, layer, head, padding]
    asked = {"outputs": [problem, walk, query], **quiet}
    ask_now = partial(ask, service, language, opened=TAB)
    tab.select(ask_now, [trace, query, *chosen], **asked)
    trace.change(partial(ask, service, language), [trace, query, *chosen, shown], **asked)
    gr.on([layer.input, head.input, padding.release], ask_now, [trace, query, *chosen], **asked)
    stack.input(partial(_other_stack, service), [stack, layer], [layer, mask], **quiet).then(
        ask_now, [trace, query, *chosen], **asked)
    switched = [walk, query, power, rule, mask]
    drawn = {"fn": partial(draw, language), "inputs": [walk, query], "outputs": plots, **quiet}
    changed = {"fn": partial(change, language), "inputs": switched, "outputs": [said, bars], **quiet}
    mapped = {"fn": partial(draw_map, language), "inputs": [walk, rule, power, mask], "outputs": everybody, **quiet}
    walk.change(**drawn)
    walk.change(**changed)
    query.input(**drawn)
    gr.on([query.input, rule.input, mask.input], **changed)
    power.input(**changed, trigger_mode="always_last")
    opened = gr.State(False)  # whether the map of all queries is looked at
    whole.expand(lambda: True, None, opened, **quiet).then(**mapped)
    whole.collapse(lambda: False, None, opened, **quiet)
    gr.on([walk.change, rule.input, mask.input, power.release], partial(_if_open, language),
          [opened, walk, rule, power, mask], everybody, **quiet)
    varies.expand(partial(_variance, service, language), None, plot_of_variance, **quiet)
    cut.expand(partial(_splits, service, language), None, [costs, plot_of_split], **quiet)


def _numbers(count: int) -> list[tuple[str, int]]:
    return [(str(number), number) for number in range(1, count + 1)]


def _other_stack(service: Service, stack: str, layer: int) -> tuple[Any, str]:
    """The layers that the stack has, and the mask that its model uses."""
    count = service.info.n_layers if stack == "encoder_self" else service.info.n_decoder_layers
    own = "future" if stack == "decoder_self" else "padding"
    return gr.update(choices=_numbers(count), value=min(layer, count)), own


def ask(service: Service, language: str, trace: Trace | None, query: int | None, stack: str, layer: int, head: int,
        padding: int, opened: str) -> tuple[str, Any, Any]:
    """Walk through the head that is chosen, where the tab is open: a problem, the walk, and who can ask."""
    if opened != TAB:
        return "", gr.skip(), gr.skip()
    if trace is None:
        return notice([text("no_trace", language)], "error"), gr.skip(), gr.skip()
    try:
        walk = service.walk(trace.text, trace.tokens, stack, int(layer), int(head), int(padding))
    except UserError as error:
        return notice([error.say(language)], "error"), gr.skip(), gr.skip()
    except Exception:
        log.exception("a walk through a head failed")
        return notice([text("error_unexpected", language)], "error"), gr.skip(), gr.skip()
    choices = [(f"{i + 1} · {figures.query_label(walk, i, language)}", i) for i in range(len(walk.queries))]
    return "", walk, gr.update(choices=choices, value=_asked(walk, query))


def _asked(walk: Walk, query: int | None) -> int:
    """The query that is chosen, where the walk has it; else the second, which has something to look at."""
    return query if query is not None and query < len(walk.queries) else min(1, len(walk.queries) - 1)


def draw(language: str, walk: Walk | None, query: int | None) -> Any:
    """The four pictures of the walk, for one query."""
    if walk is None:
        return [gr.skip()] * len(STEPS)
    return [getattr(figures, name)(walk, _asked(walk, query), language) for name in STEPS]


def change(language: str, walk: Walk | None, query: int | None, power: float, rule: str, mask: str) -> tuple[Any, Any]:
    """What the switches make of one query, in words and as bars."""
    if walk is None:
        return gr.skip(), gr.skip()
    switches = (walk, _asked(walk, query), rule, float(power), mask, language)
    return figures.summary(*switches), figures.bars(*switches)


def draw_map(language: str, walk: Walk | None, rule: str, power: float, mask: str) -> Any:
    """What the switches make of all queries."""
    return gr.skip() if walk is None else figures.all_queries(walk, rule, float(power), mask, language)


def _if_open(language: str, opened: bool, *values: Any) -> Any:
    return draw_map(language, *values) if opened else gr.skip()


def _variance(service: Service, language: str) -> Any:
    return figures.variance(principles.variance(), service.info.d_model // service.info.n_heads, language)


def _splits(service: Service, language: str) -> tuple[str, Any]:
    d_model = service.info.d_model
    found = [principles.split(d_model, heads) for heads in HEADS if d_model % heads == 0]
    return figures.split_costs(found, language), figures.splits(found, language)


def _store(service: Service, language: str) -> None:
    """The key–value store: titles, texts, a query, and the temperature between retrieving one and blending all."""
    say = speaker(language)
    found = gr.State()
    with gr.Accordion(say("store_title"), open=False):
        gr.HTML(f'<p class="note">{escape(say("store_text"))}</p>')
        lines = gr.Textbox("\n".join(": ".join(record) for record in STORE["records"]), label=say("store_records"),
                           info=say("store_records_info", limit=key_values.MOST_RECORDS), lines=6, max_lines=14)
        with gr.Row(elem_classes="ask"):
            query = gr.Textbox(STORE["query"], label=say("store_query"), lines=1, scale=8)
            button = gr.Button(say("store_run"), variant="primary", scale=1, min_width=120)
        problem = gr.HTML(elem_classes="status")
        power = gr.Slider(*principles.POWERS, value=0, step=0.25, label=say("first_power"),
                          info=say("store_power_info"))
        table = gr.HTML(elem_classes="tables store", min_height=120)
    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    shown = {"fn": partial(retrieve, language), "inputs": [found, power], "outputs": table, **quiet}
    gr.on([button.click, query.submit], partial(look_up, service, language), [lines, query], [problem, found],
          api_visibility="private").then(**shown)
    power.input(**shown, trigger_mode="always_last")


def look_up(service: Service, language: str, lines: str, query: str) -> tuple[str, Any]:
    """Read the records and compare the query with every title: a problem, and what `retrieve` works on."""
    try:
        records = key_values.read(lines or "")
        vectors = service.embed([title for title, _ in records] + [query or ""])
        return "", (records, key_values.likeness(vectors[:-1], vectors[-1]))
    except UserError as error:
        return notice([error.say(language)], "error"), gr.skip()
    except Exception:
        log.exception("the key-value store failed")
        return notice([text("error_unexpected", language)], "error"), gr.skip()


def retrieve(language: str, found: tuple[key_values.Records, np.ndarray] | None, power: float) -> Any:
    """The records at a temperature."""
    if found is None:
        return gr.skip()
    return figures.store(*found, principles.at_power(key_values.BETA, float(power)), language)
