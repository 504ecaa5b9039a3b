"""The First principles tab: equation 1 walked through with the numbers of the real model, and changed at will."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

import gradio as gr
import numpy as np

from xformer.explain import key_value_store as key_values
from xformer.explain import walkthrough
from xformer.figures import walkthrough as figures
from xformer.figures.notice import notice
from xformer.results import STACKS, Trace, Walk
from xformer.serve.translation import Service
from xformer.strings import ASSETS, Language, speaker, text
from xformer.ui.address import Kind, OneOf, Real, Take, Whole, Words
from xformer.ui.attention import numbers
from xformer.ui.components import figure, plot
from xformer.ui.handlers import QUIET, SWIFT, Ask, refusal

TAB = "principles"
STEPS = ("vectors", "scores", "values", "output")
HEADS = (1, 2, 4, 8)  # that one d_model is split into
MOST_PADDING = 4
STORE: dict[str, Any] = json.loads((ASSETS / "store.json").read_text(encoding="utf-8"))


def kinds(service: Service, stack: str = "cross") -> dict[str, Kind]:
    """What the address says of this tab, in the order of its controls; layers are those of `stack`."""
    info, (layer, head) = service.info, service.best_head
    layers = info.layers(stack)
    return {"first_stack": OneOf(STACKS, "cross"), "first_layer": Whole(min(layer, layers), 1, layers),
            "first_head": Whole(head, 1, info.n_heads), "query": Whole(2, 1, service.max_pieces),
            "padding": Whole(2, 0, MOST_PADDING), "beta_power": Real(0, *walkthrough.POWERS),
            "scoring": OneOf(walkthrough.RULES, "scaled"), "mask": OneOf(walkthrough.MASKS, "padding"),
            "records": Words("\n".join(": ".join(record) for record in STORE["records"])),
            "store_query": Words(STORE["query"]), "store_power": Real(0, *walkthrough.POWERS)}


def arrive(service: Service, take: Take) -> list[Any]:
    """The values of the tab's controls for an address, in the order of `kinds`, and whether the store is open."""
    stack = take("first_stack", kinds(service)["first_stack"])
    wanted = kinds(service, stack)
    found = {name: take(name, kind) for name, kind in wanted.items() if name != "first_stack"}
    found["first_layer"] = gr.update(choices=numbers(service.info.layers(stack)), value=found["first_layer"])
    found["first_head"] = gr.update(choices=numbers(service.info.n_heads), value=found["first_head"])
    query = found["query"]
    found["query"] = gr.update(choices=[(str(query), query)], value=query)
    looked_up = any(found[name] != wanted[name].default for name in ("records", "store_query", "store_power"))
    return [stack, *found.values(), gr.update(open=True) if looked_up else gr.skip()]


def build(ask: Ask, trace: gr.State, shown: gr.Textbox) -> tuple[dict[str, Any], gr.Accordion]:
    """Lay the tab out, called inside it; -> its controls, as `kinds` names them, and the store, which may be opened.

    shown: which tab is open; nothing is drawn before it is this one.
    """
    language, service = ask.language, ask.service
    say = speaker(language)
    info, own = service.info, {name: kind.default for name, kind in kinds(service).items()}
    problem = gr.HTML(elem_classes="status")
    gr.HTML(f'<p class="note">{escape(say("first_intro"))}</p>')
    with gr.Row(elem_classes="controls"):
        stack = gr.Radio([(say(f"stack_{name}"), name) for name in STACKS], value=own["first_stack"],
                         label=say("stack"), scale=4, min_width=280)
        layer = gr.Radio(numbers(info.n_decoder_layers), value=own["first_layer"], label=say("layer"), scale=3,
                         min_width=180)
        head = gr.Radio(numbers(info.n_heads), value=own["first_head"], label=say("head"), scale=4, min_width=280)
    with gr.Row(elem_classes="controls"):
        query = gr.Dropdown([], value=None, label=say("first_query"), scale=3, min_width=240)
        padding = gr.Slider(0, MOST_PADDING, own["padding"], step=1, label=say("first_padding"),
                            info=say("first_padding_info"), scale=2, min_width=240)
    plots = []
    for name in STEPS:
        gr.HTML(figures.heading(name, language))
        plots.append(plot(f"first-{name}", language))
    gr.HTML(figures.heading("switches", language))
    with gr.Row(elem_classes="controls"):
        power = gr.Slider(*walkthrough.POWERS, value=own["beta_power"], step=0.25, label=say("first_power"),
                          info=say("first_power_info"), scale=3, min_width=280)
        rule = gr.Radio([(say(f"first_rule_{name}"), name) for name in walkthrough.RULES], value=own["scoring"],
                        label=say("first_rule"), scale=4, min_width=280)
        mask = gr.Radio([(say(f"first_mask_{name}"), name) for name in walkthrough.MASKS], value=own["mask"],
                        label=say("first_mask"), scale=3, min_width=280)
    said = gr.HTML(elem_classes="summary", min_height=60)
    bars = plot("first-bars", language)
    with gr.Accordion(say("first_every_query"), open=False) as whole:
        everybody = plot("first-map", language)
    with gr.Accordion(say("first_title_variance"), open=False) as varies:
        gr.HTML(figures.heading("variance", language))
        plot_of_variance = plot("first-variance", language)
    with gr.Accordion(say("first_title_split"), open=False) as cut:
        gr.HTML(figures.heading("split", language))
        costs = gr.HTML(elem_classes="tables")
        plot_of_split = plot("first-split", language)
    store, *looked_up = _store(ask, shown, own)

    opened = gr.State(False)  # whether the map of all queries is looked at
    whole.expand(lambda: True, None, opened, **QUIET)
    whole.collapse(lambda: False, None, opened, **QUIET)
    # One listener for the whole walk, so that an older answer can never come after a newer one and stay; it draws what
    # has changed, in one answer.
    inputs = [gr.State(Drawn()), shown, trace, stack, layer, head, query, padding, power, rule, mask, opened]
    gr.on([shown.change, trace.change, opened.change,
           *(control.input for control in (stack, layer, head, query, padding, power, rule, mask))],
          **ask(draw, inputs), outputs=[inputs[0], problem, layer, query, mask, *plots, said, bars, everybody],
          trigger_mode="always_last", **SWIFT)
    varies.expand(**ask(_variance), outputs=plot_of_variance, **QUIET)
    cut.expand(**ask(_splits), outputs=[costs, plot_of_split], **QUIET)
    return dict(zip(own, [stack, layer, head, query, padding, power, rule, mask, *looked_up], strict=True)), store


@dataclass(frozen=True, eq=False)
class Drawn:
    """What the pictures of the walk were drawn for."""

    asked: tuple[Any, ...] = ()  # stack, layer, head and padding
    trace: Trace | None = None
    walk: Walk | None = None
    query: int | None = None
    switches: tuple[Any, ...] = ()
    mapped: tuple[Any, ...] = ()


def draw(service: Service, language: Language, drawn: Drawn, shown: str, trace: Trace | None, stack: str, layer: int,
         head: int, query: int | None, padding: int, power: float, rule: str, mask: str, opened: bool) -> list[Any]:
    """Walk through the head that is chosen, where the tab is open, and draw what is not drawn yet.

    -> what is drawn then, a problem, the controls that follow another (layer, query, mask), and the pictures.
    """
    skip, count = gr.skip(), len(STEPS)
    if shown != TAB:
        return [skip] * (8 + count)
    if trace is None:
        return [skip, notice([text("no_trace", language)], "error"), *[skip] * (6 + count)]
    layer = min(int(layer), service.info.layers(stack))
    other = bool(drawn.asked) and drawn.asked[0] != stack
    if other:  # begins with the mask that its model uses
        mask = "future" if stack == "decoder_self" else "padding"
    asked, walk = (stack, layer, int(head), int(padding)), drawn.walk
    if walk is None or asked != drawn.asked or trace is not drawn.trace:
        try:
            walk = service.walk(trace.text, trace.tokens, *asked)
        except Exception as error:
            return [skip, refusal(error, language), *[skip] * (6 + count)]
    new = walk is not drawn.walk
    asks = _asked(walk, query)
    switches = (float(power), rule, mask)
    mapped = switches if opened else ()
    choices = [(f"{i + 1} · {figures.query_label(walk, i, language)}", i + 1) for i in range(len(walk.queries))]
    changed = new or asks != drawn.query
    return [Drawn(asked, trace, walk, asks, switches, mapped), "",
            gr.update(choices=numbers(service.info.layers(stack)), value=layer) if other else skip,
            gr.update(choices=choices, value=asks + 1) if new else skip, mask if other else skip,
            *([figure(getattr(figures, name)(walk, asks, language)) for name in STEPS] if changed else [skip] * count),
            *(change(language, walk, asks, *switches) if changed or switches != drawn.switches else (skip, skip)),
            figure(figures.all_queries(walk, rule, float(power), mask, language))
            if opened and (new or mapped != drawn.mapped) else skip]


def _asked(walk: Walk, query: int | None) -> int:
    """The query that is chosen, from 0, where the walk has it; else the second, which has something to look at."""
    return query - 1 if query is not None and query <= len(walk.queries) else min(1, len(walk.queries) - 1)


def change(language: Language, walk: Walk, query: int, power: float, rule: str, mask: str) -> tuple[Any, Any]:
    """What the switches make of one query, in words and as bars."""
    switches = (walk, query, rule, power, mask, language)
    return figures.summary(*switches), figure(figures.bars(*switches))


def _variance(service: Service, language: Language) -> Any:
    return figure(figures.variance(walkthrough.variance(), service.info.d_model // service.info.n_heads, language))


def _splits(service: Service, language: Language) -> tuple[str, Any]:
    d_model = service.info.d_model
    found = [walkthrough.split(d_model, heads) for heads in HEADS if d_model % heads == 0]
    return figures.split_costs(found, language), figure(figures.splits(found, language))


def _store(ask: Ask, shown: gr.Textbox, own: dict[str, Any]) -> tuple[Any, ...]:
    """The key–value store: titles, texts, a query, and the temperature between retrieving one and blending all.

    -> the accordion that it is in, and its controls.
    """
    say = speaker(ask.language)
    found = gr.State()
    with gr.Accordion(say("store_title"), open=False) as store:
        gr.HTML(f'<p class="note">{escape(say("store_text"))}</p>')
        lines = gr.Textbox(own["records"], label=say("store_records"),
                           info=say("store_records_info", limit=key_values.MOST_RECORDS), lines=6, max_lines=14)
        with gr.Row(elem_classes="ask"):
            query = gr.Textbox(own["store_query"], label=say("store_query"), lines=1, scale=8)
            button = gr.Button(say("store_run"), variant="primary", scale=1, min_width=120)
        problem = gr.HTML(elem_classes="status")
        power = gr.Slider(*walkthrough.POWERS, value=own["store_power"], step=0.25, label=say("first_power"),
                          info=say("store_power_info"))
        table = gr.HTML(elem_classes="tables store", min_height=120)
    gr.on([shown.change, button.click, query.submit], **ask(look_up, [shown, lines, query]),
          outputs=[problem, found], trigger_mode="always_last", **QUIET)
    gr.on([found.change, power.input], partial(retrieve, ask.language), [found, power], table,
          trigger_mode="always_last", **QUIET)
    return store, lines, query, power


def look_up(service: Service, language: Language, shown: str, lines: str, query: str) -> tuple[str, Any]:
    """Read the records and compare the query with every title: a problem, and what `retrieve` works on."""
    if shown != TAB:
        return "", gr.skip()
    try:
        records = key_values.read(lines or "")
        vectors = service.embed([title for title, _ in records] + [query or ""])
        return "", (records, key_values.likeness(vectors[:-1], vectors[-1]))
    except Exception as error:
        return refusal(error, language), gr.skip()


def retrieve(language: Language, found: tuple[key_values.Records, np.ndarray] | None, power: float) -> Any:
    """The records at a temperature."""
    if found is None:
        return gr.skip()
    return figures.store(*found, walkthrough.at_power(key_values.BETA, float(power)), language)
