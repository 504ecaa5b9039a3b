"""The First principles tab: equation 1 walked through with the numbers of the real model, and changed at will."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
import numpy as np

from xformer.explain import alignment
from xformer.explain import key_value_store as key_values
from xformer.explain import principles as explain
from xformer.explain.principles import Split
from xformer.figures import principles as figures
from xformer.figures import stream as stream_figures
from xformer.figures.attention import Choice, named_by
from xformer.figures.labels import sentence
from xformer.figures.locked_word import locked
from xformer.results import STACKS, Follow, Head, Message, Trace, UserError, Walk, WalkHead
from xformer.serve.protocol import TranslationService
from xformer.strings import ASSETS, Language
from xformer.ui.attention.tab import head_of, layer_of
from xformer.ui.components import canvas, plot
from xformer.ui.controls import Controls, Numbered, OneOf, Real, Values, Whole, Words
from xformer.ui.handlers import QUIET, Ask, needs
from xformer.ui.pictures import Pictures
from xformer.ui.places import folded, note, question
from xformer.ui.principles import kernel_regression
from xformer.ui.tabs import Page, Tab, View, opened_by

ID = "principles"
# The pictures of vectors, by the names of their headings and components.
STEPS: dict[str, Callable[[Walk, int, Language], Any]] = {
    "inputs": figures.inputs, "vectors": figures.vectors, "values": figures.values, "output": figures.output}
HEADS = (1, 2, 4, 8)  # that one d_model is split into
POWER = Real(0, *explain.POWERS, step=0.25)
MOST_PADDING = 4
QUERY = 2  # the query at first: the second piece, which has another to look at
STORE: dict[str, Any] = json.loads((ASSETS / "store.json").read_text(encoding="utf-8"))
RECORDS = Words("\n".join(": ".join(record) for record in STORE["records"]))
STORE_QUERY = Words(STORE["query"])


def layer_of_stack(service: TranslationService, so_far: Values) -> Numbered:
    """The layers of this tab's stack."""
    return layer_of(service, {"stack": so_far["first_stack"]})


def mask_of(service: TranslationService, so_far: Values) -> OneOf:
    """The masks of this tab's stack, first the one that the model uses there. In cross-attention there is no future:
    positions of two languages have no common order."""
    return {"encoder_self": OneOf(explain.MASKS, "padding"), "decoder_self": OneOf(explain.MASKS, "future"),
            "cross": OneOf(("padding", "none"), "padding")}[so_far["first_stack"]]


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it."""
    language, controls, parts = page.language, Controls(page.service), dict[str, gr.Accordion]()
    question(language, ID)
    problem = gr.HTML(elem_classes="status")
    with gr.Row(elem_classes="principles"):
        shown = _walk(page, controls)
    with gr.Column(elem_classes="folds"):
        shown |= _parts(page, parts)
        of_kernels, kernels = kernel_regression.build(page)
        of_store, store = _store(page)
    _draw(page, controls, shown, parts, problem)
    controls.include(of_kernels)
    controls.include(of_store)
    return Tab(controls, {"store": opened_by(of_store, store), "kernels": opened_by(of_kernels, kernels), "state": View(
        shown["state"], lambda service, values: stream_figures.heading("state", language, service.info.norm))})


def _walk(page: Page, controls: Controls) -> dict[str, Any]:
    """Lay out one head's scores, and beside them what can be changed; -> the components by name."""
    language, say = page.language, page.language.say
    with gr.Column(scale=7, min_width=320):
        scores = canvas("steps.js", "${value}", "first-scores", save=language)
        summary = gr.HTML(elem_classes="summary", min_height=60)
        gr.HTML(f'<details class="more"><summary>{language.html("more")}</summary>'
                f'{figures.heading("scores", language)}<p class="formula">{figures.FORMULAS["switches"]}</p>'
                f'{note(language, "first_text_switches")}</details>')
    with gr.Column(scale=4, min_width=300, elem_classes="controls"):
        controls.add("first_stack", OneOf(STACKS, "cross"), gr.Radio, label=say("stack"),
                     choices=language.choices("stack_{}", STACKS))
        with gr.Row(elem_classes="of-one-head"):
            controls.add("first_layer", layer_of_stack, gr.Radio, label=say("layer"), scale=2, min_width=90)
            controls.add("first_head", head_of, gr.Radio, label=say("head"), scale=5, min_width=200)
        query = controls.add("query", lambda service, so_far: Whole(QUERY, 1, service.max_pieces), gr.Dropdown,
                             properties=lambda values: {"choices": [(str(values["query"]), values["query"])]},
                             label=say("first_query"))
        padding = controls.add("padding", Whole(0, 0, MOST_PADDING), gr.Slider, label=say("first_padding"),
                               info=say("first_padding_info"), render=False)
        gr.HTML(f'<h3>{language.html("first_title_switches")}</h3>')
        controls.add("beta_power", POWER, gr.Slider, label=say("first_power"), info=say("first_power_info"))
        controls.add("scoring", OneOf(explain.RULES, "scaled"), gr.Radio, label=say("first_rule"),
                     choices=language.choices("first_rule_{}", explain.RULES))
        controls.add("mask", mask_of, gr.Radio, label=say("first_mask"), info=say("first_mask_info"),
                     properties=lambda values: {"choices": mask_choices(page.service, language, values)})
        padding.render()
    return {"scores": scores, "summary": summary, "query": query}


def _parts(page: Page, parts: dict[str, gr.Accordion]) -> dict[str, Any]:
    """Lay out what is closed at first; -> the components by name. parts: to which the accordions are added."""
    language, shown = page.language, dict[str, Any]()
    with folded(language, "vectors") as parts["vectors"]:
        for name in STEPS:
            gr.HTML(figures.heading(name, language))
            shown[name] = plot(f"first-{name}", language)
            if name == "inputs":
                shown["checked"] = gr.HTML(elem_classes="summary")
    with folded(language, "reshape") as parts["reshape"]:
        gr.HTML(figures.heading("reshape", language))
        shown["reshape"] = plot("first-reshape", language)
    with folded(language, "rest") as parts["rest"]:
        shown["state"] = gr.HTML(stream_figures.heading("state", language, page.service.info.norm))
        shown["strips"] = plot("rest-strips", language)
        shown["sums"] = canvas("part.js", "${value}", "tables rest-sums", save=language)
        gr.HTML(stream_figures.heading("units", language))
        shown["units"], shown["firing"] = plot("rest-units", language), gr.HTML(elem_classes="summary")
        gr.HTML(stream_figures.heading("course", language))
        shown["course"] = plot("rest-course", language)
    with folded(language, "map") as parts["map"]:
        shown["map"] = plot("first-map", language)
    with folded(language, "variance") as parts["variance"]:
        gr.HTML(figures.heading("variance", language))
        shown["variance"] = plot("first-variance", language)
    with folded(language, "split") as parts["split"]:
        gr.HTML(figures.heading("split", language))
        shown["costs"] = gr.HTML(elem_classes="tables")
        shown["splits"] = plot("first-split", language)
    return shown


def _draw(page: Page, controls: Controls, shown: Mapping[str, Any], parts: Mapping[str, gr.Accordion],
          problem: gr.HTML) -> None:
    """Declare the pictures of a head of the pair that the page looks into."""
    pictures = Pictures(page, controls, ID, tab=ID)
    for name, part in parts.items():
        pictures.opens(f"{name}_open", part)
    pictures.follow(follow, **controls.named("first_layer", "query", "mask"))
    pictures.fact("head", head_in)
    pictures.fact("walk", walk_through)
    pictures.fact("asks", asked)
    pictures.fact("pair", lambda trace: [] if trace is None else [trace.text, sentence(trace.predicted)])
    pictures.fact("power", lambda beta_power: float(beta_power))
    pictures.add("query", shown["query"], offer_queries)
    pictures.add_each(shown, {"scores": figures.scores, "summary": figures.summary}, query="asks", rule="scoring")
    pictures.add_each(shown, {**STEPS, "checked": figures.checked_inputs}, seen="vectors_open", query="asks")
    pictures.add("map", shown["map"], figures.all_queries, seen="map_open", rule="scoring")
    pictures.add("reshape", shown["reshape"], figures.reshape, seen="reshape_open")
    pictures.fact("side", lambda head: "encoder" if head.stack == "encoder_self" else "decoder")
    pictures.fact("stream", lambda service, trace, side: service.ask(Follow(trace.text, trace.tokens, side)))
    pictures.fact("layer", lambda head: head.layer)
    pictures.add_each(shown, {"strips": stream_figures.strips, "sums": stream_figures.sums,
                              "units": stream_figures.units, "firing": stream_figures.firing,
                              "course": stream_figures.course}, seen="rest_open", piece="asks")
    pictures.add("variance", shown["variance"], draw_variance, seen="variance_open")
    pictures.fact("ways", splits_of)
    pictures.add_each(shown, {"costs": figures.split_costs, "splits": figures.splits}, seen="split_open")
    pictures.listen(problem, page.opened[ID].change, page.trace.change)


def follow(service: TranslationService, language: Language, head: Head, query: int | None, first_stack: str, lock: str,
           before: dict[str, Any]) -> dict[str, Any]:
    """Set the controls that follow another stack; a word that has just been locked becomes the query."""
    answer: dict[str, Any] = {}
    if before and before["first_stack"] != first_stack:
        so_far = {"first_stack": first_stack}
        answer = {"first_layer": gr.update(**layer_of_stack(service, so_far).properties(), value=head.layer),
                  "mask": gr.update(choices=mask_choices(service, language, so_far),
                                    value=mask_of(service, so_far).default)}
    if lock != before.get("lock", "") and (before or query == QUERY):
        asks = locked_query(service, lock, head)
        if asks not in (None, query):
            answer["query"] = asks
    return answer


def head_in(service: TranslationService, first_stack: str, first_layer: int, first_head: int) -> Head:
    """The head that is chosen, in the last layer of its stack where that has fewer."""
    return Head(first_stack, min(int(first_layer), layer_of(service, {"stack": first_stack}).most), int(first_head))


@needs(trace="no_trace")
def walk_through(service: TranslationService, trace: Trace, head: Head, padding: int) -> Walk:
    """Walk through a head of the pair that the page looks into."""
    return service.ask(WalkHead(trace.text, trace.tokens, head, int(padding)))


def offer_queries(walk: Walk, asks: int, language: Language, before: dict[str, Any]) -> Any:
    """Offer the queries of another walk."""
    if before.get("walk") is walk:
        return gr.skip()
    choices = [(f"{i + 1} · {figures.query_label(walk, i, language)}", i + 1) for i in range(len(walk.queries))]
    return gr.update(choices=choices, value=asks + 1)


def mask_choices(service: TranslationService, language: Language, so_far: Values) -> list[tuple[str, str]]:
    """Name the masks of this tab's stack."""
    return language.choices("first_mask_{}", mask_of(service, so_far).options)


def locked_query(service: TranslationService, lock: str, head: Head) -> int | None:
    """Find the query, from 1, in which the locked word asks in a head, as the Attention tab reads it; None for none."""
    word = locked(lock).placed(head.stack).asks
    if word is None:
        return None
    given = alignment.given_heads(service.info, service.alignment_errors)
    to_come = head.stack != "encoder_self" and named_by(Choice(*head), given) == "predicted"
    return word[1] + (0 if to_come else 1) or None


def asked(walk: Walk, query: int | None) -> int:
    """The query that is chosen, from 0, where the walk has it; else the second, which has something to look at."""
    return query - 1 if query is not None and query <= len(walk.queries) else min(1, len(walk.queries) - 1)


def draw_variance(service: TranslationService, language: Language) -> Any:
    """Draw the variance of dot products with and without the scaling."""
    return figures.variance(explain.variance(), service.info.d_model // service.info.n_heads, language)


def splits_of(service: TranslationService) -> list[Split]:
    """Split one d_model into several heads."""
    d_model = service.info.d_model
    return [explain.split(d_model, heads) for heads in HEADS if d_model % heads == 0]


def _store(page: Page) -> tuple[Controls, gr.Accordion]:
    """Lay out the key–value store: titles, texts, a query, and the temperature between retrieving one and blending all;
    -> its controls, and its accordion."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    with folded(language, "store") as store:
        gr.HTML(note(language, "store_text"))
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
    return controls, store


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
    beta = explain.at_power(key_values.BETA, float(store_power))
    return {"table": figures.store(records, cosines, beta, language)}
