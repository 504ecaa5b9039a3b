"""The First principles tab: equation 1 walked through with the numbers of the real model, and changed at will."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr
import numpy as np

from xformer.explain import alignment, walkthrough
from xformer.explain import key_value_store as key_values
from xformer.figures import stream as stream_figures
from xformer.figures import walkthrough as figures
from xformer.figures.attention import Choice, named_by
from xformer.figures.locked_word import Lock
from xformer.results import STACKS, Head, Message, Stream, Trace, UserError, Walk
from xformer.serve.protocol import TranslationService
from xformer.strings import ASSETS, Language
from xformer.ui import kernel_regression
from xformer.ui.attention import head_of, layer_of
from xformer.ui.components import canvas, figure, plot
from xformer.ui.controls import Controls, Numbered, OneOf, Real, Values, Whole, Words
from xformer.ui.handlers import QUIET, SWIFT, Ask, needs
from xformer.ui.tabs import Page, Tab, View

ID = "principles"
# The pictures of vectors, by the names of their headings and components.
STEPS: dict[str, Callable[[Walk, int, Language], Any]] = {
    "inputs": figures.inputs, "vectors": figures.vectors, "values": figures.values, "output": figures.output}
HEADS = (1, 2, 4, 8)  # that one d_model is split into
POWER = Real(0, *walkthrough.POWERS, step=0.25)
MOST_PADDING = 4
QUERY = 2  # who asks at first: the second, which has something to look at
STORE: dict[str, Any] = json.loads((ASSETS / "store.json").read_text(encoding="utf-8"))
RECORDS = Words("\n".join(": ".join(record) for record in STORE["records"]))
STORE_QUERY = Words(STORE["query"])


@dataclass(frozen=True, eq=False)
class Drawn:
    """The inputs for which the pictures on the page were drawn."""

    head: Head | None = None
    padding: int = 0
    trace: Trace | None = None
    walk: Walk | None = None
    query: int | None = None  # from 0
    switches: dict[str, Any] | None = None
    vectors: int | None = None  # the query whose vectors are drawn; None where they are not
    mapped: dict[str, Any] | None = None  # the switches of the map of all queries; None where it is not drawn
    lock: str = ""  # the words that were locked in the Attention tab
    stream: Stream | None = None  # of the trace, through the side of the head
    rest: tuple[int, int] | None = None  # layer and query of the rest of the layer; None where it is not drawn
    reshaped: bool = False


def layer_of_stack(service: TranslationService, so_far: Values) -> Numbered:
    """The layers of this tab's stack."""
    return layer_of(service, {"stack": so_far["first_stack"]})


def mask_of(service: TranslationService, so_far: Values) -> OneOf:
    """The masks of this tab's stack, first the one that the model uses there. In cross-attention there is no future:
    positions of two languages have no common order."""
    return {"encoder_self": OneOf(walkthrough.MASKS, "padding"), "decoder_self": OneOf(walkthrough.MASKS, "future"),
            "cross": OneOf(("padding", "none"), "padding")}[so_far["first_stack"]]


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    problem = gr.HTML(elem_classes="status")
    with gr.Row(elem_classes="principles"):
        with gr.Column(scale=7, min_width=320):
            scores = canvas("steps.js", "${value}", "first-scores", save=language)
            summary = gr.HTML(elem_classes="summary", min_height=60)
            gr.HTML(f'{figures.heading("scores", language)}<p class="note">{language.html("first_intro")}</p>')
        with gr.Column(scale=4, min_width=300, elem_classes="controls"):
            controls.add("first_stack", OneOf(STACKS, "cross"), gr.Radio, label=say("stack"),
                         choices=[(say(f"stack_{name}"), name) for name in STACKS])
            controls.add("first_layer", layer_of_stack, gr.Radio, label=say("layer"))
            controls.add("first_head", head_of, gr.Radio, label=say("head"))
            controls.add("query", lambda service, so_far: Whole(QUERY, 1, service.max_pieces), gr.Dropdown,
                         properties=lambda values: {"choices": [(str(values["query"]), values["query"])]},
                         label=say("first_query"))
            padding = controls.add("padding", Whole(0, 0, MOST_PADDING), gr.Slider, label=say("first_padding"),
                                   info=say("first_padding_info"), render=False)
            gr.HTML(f'<h4>{language.html("first_title_switches")}</h4>')
            controls.add("beta_power", POWER, gr.Slider, label=say("first_power"), info=say("first_power_info"))
            controls.add("scoring", OneOf(walkthrough.RULES, "scaled"), gr.Radio, label=say("first_rule"),
                         choices=[(say(f"first_rule_{name}"), name) for name in walkthrough.RULES])
            controls.add("mask", mask_of, gr.Radio, label=say("first_mask"), info=say("first_mask_info"),
                         properties=lambda values: {"choices": mask_choices(page.service, language, values)})
            padding.render()
            gr.HTML(f'<p class="formula">{figures.FORMULAS["switches"]}</p>'
                    f'<p class="note">{language.html("first_text_switches")}</p>')
    plots = {}
    with gr.Accordion(say("first_show_vectors"), open=False) as of_vectors:
        for name in STEPS:
            gr.HTML(figures.heading(name, language))
            plots[name] = plot(f"first-{name}", language)
            if name == "inputs":
                checked = gr.HTML(elem_classes="summary")
    with gr.Accordion(say("first_title_reshape"), open=False) as of_reshape:
        gr.HTML(figures.heading("reshape", language))
        plot_of_reshape = plot("first-reshape", language)
    with gr.Accordion(say("rest_title"), open=False) as of_rest:
        of_state = gr.HTML(stream_figures.heading("state", language, page.service.info.norm))
        strips = plot("rest-strips", language)
        sums = canvas("part.js", "${value}", "tables rest-sums", save=language)
        gr.HTML(stream_figures.heading("units", language))
        units, firing = plot("rest-units", language), gr.HTML(elem_classes="summary")
        gr.HTML(stream_figures.heading("course", language))
        course = plot("rest-course", language)
    with gr.Accordion(say("first_every_query"), open=False) as every_query:
        map_of_all = plot("first-map", language)
    with gr.Accordion(say("first_title_variance"), open=False) as of_variance:
        gr.HTML(figures.heading("variance", language))
        plot_of_variance = plot("first-variance", language)
    with gr.Accordion(say("first_title_split"), open=False) as of_split:
        gr.HTML(figures.heading("split", language))
        costs = gr.HTML(elem_classes="tables")
        plot_of_split = plot("first-split", language)

    # Whether the parts that follow the walk are looked at.
    opened = {"vectors_open": (of_vectors, gr.State(False)), "map_open": (every_query, gr.State(False)),
              "reshape_open": (of_reshape, gr.State(False)), "rest_open": (of_rest, gr.State(False))}
    for part, is_open in opened.values():
        part.expand(lambda: True, None, is_open, **QUIET)
        part.collapse(lambda: False, None, is_open, **QUIET)
    # One listener for the whole walk, so that an older answer can never come after a newer one and stay; it draws what
    # has changed, in one answer.
    drawn = gr.State(Drawn())
    gr.on([page.opened[ID].change, page.trace.change, *(is_open.change for _, is_open in opened.values()),
           *(control.component.input for control in controls.values())],
          **page.ask(draw, {"drawn": drawn, "trace": page.trace,
                            **{name: is_open for name, (_, is_open) in opened.items()},
                            **page.controls.named("lock"), **controls.named()},
                     {"drawn": drawn, **controls.named("first_layer", "query", "mask"), **plots, "summary": summary,
                      "scores": scores, "map": map_of_all, "checked": checked, "reshape": plot_of_reshape,
                      "strips": strips, "sums": sums, "units": units, "firing": firing, "course": course}, problem,
                     only_in=ID),
          trigger_mode="always_last", **SWIFT)
    of_variance.expand(**page.ask(draw_variance, {}, {"picture": plot_of_variance}), **QUIET)
    of_split.expand(**page.ask(draw_splits, {}, {"costs": costs, "picture": plot_of_split}), **QUIET)
    of_kernels, kernels_view = kernel_regression.build(page)
    store, of_store = _store(page)
    controls.include(of_kernels)
    controls.include(of_store)

    def store_update(service: TranslationService, values: Values) -> Any:
        """Open the store where the address asks it something."""
        defaults = of_store.defaults(service)
        return gr.update(open=True) if any(values[key] != defaults[key] for key in defaults) else gr.skip()

    return Tab(controls, {
        "store": View(store, store_update), "kernels": kernels_view,
        "state": View(of_state, lambda service, values: stream_figures.heading("state", language, service.info.norm))})


@needs(trace="no_trace")
def draw(service: TranslationService, language: Language, *, drawn: Drawn, trace: Trace, first_stack: str,
         first_layer: int, first_head: int, query: int | None, padding: int, beta_power: float, scoring: str, mask: str,
         vectors_open: bool, map_open: bool, reshape_open: bool = False, rest_open: bool = False, lock: str = ""
         ) -> dict[str, Any]:
    """Walk through the chosen head, and draw what is not drawn yet; set the controls that follow another one.

    lock: the words locked in the Attention tab; one that has just been locked becomes who asks.
    """
    answer: dict[str, Any] = {}
    layers = layer_of(service, {"stack": first_stack})
    head = Head(first_stack, min(int(first_layer), layers.most), int(first_head))
    if drawn.head is not None and drawn.head.stack != first_stack:
        so_far = {"first_stack": first_stack}
        mask = mask_of(service, so_far).default
        answer |= {"first_layer": gr.update(**layers.properties(), value=head.layer),
                   "mask": gr.update(choices=mask_choices(service, language, so_far), value=mask)}
    walk, padding = drawn.walk, int(padding)
    if walk is None or (head, padding) != (drawn.head, drawn.padding) or trace is not drawn.trace:
        walk = service.walk(trace.text, trace.tokens, head, padding)
    chosen = query
    if lock != drawn.lock and (drawn.head is not None or query == QUERY):
        query = locked_query(service, lock, head) or query
    other_walk, asks = walk is not drawn.walk, _asked(walk, query)
    if other_walk or query != chosen:
        choices = [(f"{i + 1} · {figures.query_label(walk, i, language)}", i + 1) for i in range(len(walk.queries))]
        answer["query"] = gr.update(choices=choices, value=asks + 1)
    switches: dict[str, Any] = {"rule": scoring, "power": float(beta_power), "mask": mask}
    if other_walk or asks != drawn.query or switches != drawn.switches:
        answer |= {"scores": figures.scores(walk, asks, **switches, language=language),
                   "summary": figures.summary(walk, asks, **switches, language=language)}
    if vectors_open and (other_walk or asks != drawn.vectors):
        answer |= {name: figure(step(walk, asks, language)) for name, step in STEPS.items()}
        answer["checked"] = figures.checked_inputs(walk, asks, language)
    if map_open and (other_walk or switches != drawn.mapped):
        answer["map"] = figure(figures.all_queries(walk, **switches, language=language))
    if reshape_open and (other_walk or not drawn.reshaped):
        answer["reshape"] = figure(figures.reshape(walk, language))
    rest = (head.layer, asks) if rest_open else None
    side = "encoder" if head.stack == "encoder_self" else "decoder"
    same_side = drawn.head is not None and (drawn.head.stack == "encoder_self") == (side == "encoder")
    stream = drawn.stream if trace is drawn.trace and same_side else None
    if rest is not None and (stream is None or rest != drawn.rest):
        stream = stream or service.follow(trace.text, trace.tokens, side)
        answer |= draw_rest(stream, *rest, language)
    return {**answer, "drawn": Drawn(head, padding, trace, walk, asks, switches, asks if vectors_open else None,
                                     switches if map_open else None, lock, stream, rest, reshape_open)}


def draw_rest(stream: Stream, layer: int, piece: int, language: Language) -> dict[str, Any]:
    """Draw what follows W_O: the rest of the layer, and the way of the piece through all layers."""
    return {"strips": figure(stream_figures.strips(stream, layer, piece, language)),
            "sums": stream_figures.sums(stream, layer, piece, language),
            "units": figure(stream_figures.units(stream, layer, piece, language)),
            "firing": stream_figures.firing(stream, layer, piece, language),
            "course": figure(stream_figures.course(stream, piece, language))}


def mask_choices(service: TranslationService, language: Language, so_far: Values) -> list[tuple[str, str]]:
    """Name the masks of this tab's stack."""
    return [(language.say(f"first_mask_{name}"), name) for name in mask_of(service, so_far).options]


def locked_query(service: TranslationService, lock: str, head: Head) -> int | None:
    """Find the query, from 1, in which the locked word asks in a head, as the Attention tab reads it; None for none."""
    word = (Lock.parse(lock) if lock else Lock()).placed(head.stack).asks
    if word is None:
        return None
    given = alignment.given_heads(service.info, service.alignment_errors)
    to_come = head.stack != "encoder_self" and named_by(Choice(*head), given) == "predicted"
    return word[1] + (0 if to_come else 1) or None


def _asked(walk: Walk, query: int | None) -> int:
    """The query that is chosen, from 0, where the walk has it; else the second, which has something to look at."""
    return query - 1 if query is not None and query <= len(walk.queries) else min(1, len(walk.queries) - 1)


def draw_variance(service: TranslationService, language: Language) -> dict[str, Any]:
    """Draw the variance of dot products with and without the scaling."""
    width = service.info.d_model // service.info.n_heads
    return {"picture": figure(figures.variance(walkthrough.variance(), width, language))}


def draw_splits(service: TranslationService, language: Language) -> dict[str, Any]:
    """Draw one d_model split into several heads, and compare what that costs."""
    d_model = service.info.d_model
    splits = [walkthrough.split(d_model, heads) for heads in HEADS if d_model % heads == 0]
    return {"costs": figures.split_costs(splits, language), "picture": figure(figures.splits(splits, language))}


def _store(page: Page) -> tuple[gr.Accordion, Controls]:
    """Lay out the key–value store: titles, texts, a query, and the temperature between retrieving one and blending all.
    """
    language, say, controls = page.language, page.language.say, Controls(page.service)
    with gr.Accordion(say("store_title"), open=False) as store:
        gr.HTML(f'<p class="note">{language.html("store_text")}</p>')
        controls.add("records", RECORDS, gr.Textbox, label=say("store_records"),
                     info=say("store_records_info", limit=key_values.MOST_RECORDS), lines=6, max_lines=14)
        with gr.Row(elem_classes="ask"):
            query = controls.add("store_query", STORE_QUERY, gr.Textbox, label=say("store_query"), lines=1, scale=8)
            button = gr.Button(say("store_run"), variant="primary", scale=1, min_width=120)
        problem = gr.HTML(elem_classes="status")
        power = controls.add("store_power", POWER, gr.Slider, label=say("first_power"), info=say("store_power_info"))
        table = gr.HTML(elem_classes="tables store", min_height=120)
    matches = gr.State()
    gr.on([page.opened[ID].change, button.click, query.submit],
          **page.ask(look_up, controls.named("records", "store_query"), {"matches": matches}, problem, only_in=ID),
          trigger_mode="always_last", **QUIET)
    gr.on([matches.change, power.input],
          **Ask.always(None, language)(retrieve, {"matches": matches, **controls.named("store_power")},
                                       {"table": table}), trigger_mode="always_last", **QUIET)
    return store, controls


def look_up(service: TranslationService, language: Language, *, records: str, store_query: str) -> dict[str, Any]:
    """Compare the query with the title of every record."""
    read = key_values.read(records or "")
    try:
        vectors = service.embed([title for title, _ in read] + [store_query or ""])
    except UserError:
        for title, _ in read:
            _check_title(service, records, title)
        raise
    return {"matches": (read, key_values.likeness(vectors[:-1], vectors[-1]))}


def _check_title(service: TranslationService, records: str, title: str) -> None:
    """Raise UserError, which names the line, where the model can read nothing of a title."""
    try:
        service.embed([title])
    except UserError as error:
        if isinstance(error.message, Message) and error.message.key in ("error_empty", "error_unknown"):
            number = key_values.line_of(records, title)
            raise UserError(Message.of("store_error_title", number=number, title=title[:40])) from error
        raise


def retrieve(_: None, language: Language, *, matches: tuple[key_values.Records, np.ndarray] | None, store_power: float
             ) -> dict[str, str]:
    """Show the records that were compared with the query, blended at a temperature; nothing before a comparison."""
    if matches is None:
        return {}
    records, cosines = matches
    beta = walkthrough.at_power(key_values.BETA, float(store_power))
    return {"table": figures.store(records, cosines, beta, language)}
