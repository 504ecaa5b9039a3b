"""The First principles tab: equation 1 walked through with the numbers of the real
model, and changed at will."""

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr

from xformer.explain import alignment
from xformer.explain import principles as explain
from xformer.figures import stream as stream_figures
from xformer.figures.attention import Choice, named_by
from xformer.figures.labels import sentence
from xformer.figures.locked_word import locked
from xformer.parts.principles import draw as figures
from xformer.results import (
    STACKS,
    Follow,
    Head,
    Trace,
    Walk,
    WalkHead,
)
from xformer.results.questions import Begin
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.controls import Numbered, OneOf, Real, Values, Whole, only_own
from xformer.ui.handlers import needs
from xformer.ui.heads import head_of, layer_of
from xformer.ui.layout import Layout, narrow, wide
from xformer.ui.pictures import Pictures
from xformer.ui.places import note, question
from xformer.ui.tabs import Page, Tab, View

ID = "principles"
NAME = "first_title_scores"
FOLDS = (
    ("vectors", "fold_numbers"),
    ("reshape", "first_title_reshape", "vectors"),
    ("map", "first_every_query", "vectors"),
    ("rest", "rest_title", "vectors"),
    ("variance", "fold_why"),
    ("split", "first_title_split", "variance"),
    ("slice", "first_title_slice", "variance"),
    ("initial", "first_title_initial", "variance"),
    ("before", "fold_before"),
)
# The pictures of vectors, by the names of their headings and components.
STEPS: dict[str, Callable[[Walk, int, Language], Any]] = {
    "inputs": figures.inputs,
    "vectors": figures.vectors,
    "values": figures.values,
    "output": figures.output,
}
HEADS = (1, 2, 4, 8)  # that one d_model is split into
POWER = Real(0, *explain.POWERS, step=0.25)
MOST_PADDING = 4
QUERY = 2  # the query at first: the second piece, which has another to look at


def layer_of_stack(service: TranslationService, so_far: Values) -> Numbered:
    """The layers of this tab's stack."""
    return layer_of(service, {"stack": so_far["first_stack"]})


def mask_of(service: TranslationService, so_far: Values) -> OneOf:
    """The masks of this tab's stack, first the one that the model uses there. In
    cross-attention there is no future: positions of two languages have no common order.
    """
    return {
        "encoder_self": OneOf(explain.MASKS, "padding"),
        "decoder_self": OneOf(explain.MASKS, "future"),
        "cross": OneOf(("padding", "none"), "padding"),
    }[so_far["first_stack"]]


def build(page: Page, inside: Sequence[Any] = ()) -> Tab:
    """Lay the tab out; called inside it. inside: the modules of other parts, which are
    folded: what stood in its place before."""
    language = page.language
    part = Layout(page, ID)
    question(language, ID)
    problem = part.status()
    pictures = part.pictures(ID)
    _facts(pictures)
    with gr.Row(elem_classes="principles"):
        _walk(part, pictures)
    with gr.Column(elem_classes="folds in-threes"):
        state = _folds(part, pictures)
        others = [part.inner() for _ in inside]
        with part.folded("before"):
            for module, other in zip(inside, others, strict=True):
                module.build(other)
    pictures.listen(problem, page.opened[ID].change, page.trace.change)
    for other in others:
        part.include(other)
    return Tab(
        part.controls,
        {
            **part.views,
            "state": View(
                state,
                lambda service, values: stream_figures.heading(
                    "state", language, service.info.norm
                ),
            ),
        },
    )


def _facts(pictures: Pictures) -> None:
    """Declare what is asked and worked out of a head of the pair that the page looks
    into."""
    pictures.follow(follow, "first_layer", "query", "mask")
    # The head that is chosen, in the last layer of its stack where that has fewer.
    pictures.fact(
        "head",
        first_head_of,
    )
    pictures.fact("walk", walk_through)
    pictures.fact("asks", asked)
    pictures.fact(
        "pair",
        texts_of,
    )
    pictures.fact("power", lambda beta_power: float(beta_power))
    pictures.fact("side", side_of)
    pictures.fact(
        "stream",
        followed,
    )
    pictures.fact("layer", lambda head: head.layer)
    pictures.fact(
        "begun",
        begun,
    )
    pictures.fact(
        "ways",
        ways,
    )


def first_head_of(
    service: TranslationService, first_stack: str, first_layer: int, first_head: int
) -> Head:
    return Head(
        first_stack,
        min(int(first_layer), layer_of(service, {"stack": first_stack}).most),
        int(first_head),
    )


def texts_of(trace: Trace | None) -> list[str]:
    return [] if trace is None else [trace.text, sentence(trace.predicted)]


def side_of(head: Head) -> str:
    return "encoder" if head.stack == "encoder_self" else "decoder"


def followed(service: TranslationService, trace: Trace, side: str) -> Any:
    return service.ask(Follow(trace.text, trace.tokens, side))


def begun(service: TranslationService, trace: Trace, head: Head) -> Any:
    return service.ask(Begin(trace.text, trace.tokens, head))


def ways(service: TranslationService) -> list[Any]:
    return [
        explain.split(service.info.d_model, heads)
        for heads in HEADS
        if service.info.d_model % heads == 0
    ]


def _walk(part: Layout, pictures: Pictures) -> None:
    """Lay out one head's scores, and beside them what can be changed."""
    language = part.language
    with wide():
        scores = part.canvas("steps.js", "${value}", "first-scores", frame="rows")
        summary = gr.HTML(elem_classes="summary", min_height=60)
        gr.HTML(
            f'<details class="more"><summary>{language.html("more")}</summary>'
            f'{figures.heading("scores", language)}<p class="formula">{figures.FORMULAS["switches"]}</p>'
            f"{note(language, 'first_text_switches')}</details>"
        )
    with narrow(elem_classes="controls"):
        part.choice("first_stack", STACKS, "cross", "stack_{}", "stack")
        with gr.Row(elem_classes="of-one-head"):
            part.control(
                "first_layer", layer_of_stack, gr.Radio, "layer", scale=2, min_width=90
            )
            part.control(
                "first_head", head_of, gr.Radio, "head", scale=5, min_width=200
            )
        query = part.control(
            "query",
            lambda service, so_far: Whole(QUERY, 1, service.max_pieces),
            gr.Dropdown,
            "first_query",
            properties=only_own("query"),
        )
        padding = part.control(
            "padding",
            Whole(0, 0, MOST_PADDING),
            gr.Slider,
            "first_padding",
            "first_padding_info",
            render=False,
        )
        # on a phone what follows is folded, by principles.css
        gr.HTML(
            f"<h3>{language.html('first_title_switches')}</h3>"
            '<details class="more switches"><summary>'
            f"{language.html('first_switches')}</summary></details>",
            elem_classes="unfolds",
        )
        part.control("beta_power", POWER, gr.Slider, "first_power", "first_power_info")
        part.choice("scoring", explain.RULES, "scaled", "first_rule_{}", "first_rule")
        part.control(
            "mask",
            mask_of,
            gr.Radio,
            "first_mask",
            "first_mask_info",
            properties=lambda values: {
                "choices": mask_choices(part.page.service, language, values)
            },
        )
        padding.render()
    pictures.add("query", query, offer_queries)
    pictures.add("scores", scores, figures.scores, query="asks", rule="scoring")
    pictures.add("summary", summary, figures.summary, query="asks", rule="scoring")


def _folds(part: Layout, pictures: Pictures) -> gr.HTML:
    """Lay out what is closed at first; -> what explains the states, which depends on
    the model."""
    language = part.language
    plot = part.plot
    with part.folded("vectors", pictures):
        for name, draw in STEPS.items():
            gr.HTML(figures.heading(name, language))
            pictures.add(
                name, plot(f"first-{name}"), draw, seen="vectors_open", query="asks"
            )
            if name == "inputs":
                pictures.add(
                    "checked",
                    gr.HTML(elem_classes="summary"),
                    figures.checked_inputs,
                    seen="vectors_open",
                    query="asks",
                )
        with part.folded("reshape", pictures, closed=True):
            gr.HTML(figures.heading("reshape", language))
            pictures.add(
                "reshape", plot("first-reshape"), figures.reshape, seen="reshape_open"
            )
        with part.folded("map", pictures, closed=True):
            pictures.add(
                "map",
                plot("first-map"),
                figures.all_queries,
                seen="map_open",
                rule="scoring",
            )
            gr.HTML(figures.heading("mutual", language))
            pictures.add(
                "mutual",
                part.table("tables"),
                figures.mutual,
                seen="map_open",
            )
            pictures.add(
                "one_way", plot("first-one-way"), figures.one_way, seen="map_open"
            )
        with part.folded("rest", pictures, closed=True):
            of_piece: dict[str, Any] = {"seen": "rest_open", "piece": "asks"}
            state = gr.HTML(
                stream_figures.heading("state", language, part.page.service.info.norm)
            )
            pictures.add(
                "strips", plot("rest-strips"), stream_figures.strips, **of_piece
            )
            pictures.add(
                "sums", part.table("tables rest-sums"), stream_figures.sums, **of_piece
            )
            gr.HTML(stream_figures.heading("units", language))
            pictures.add("units", plot("rest-units"), stream_figures.units, **of_piece)
            pictures.add(
                "firing",
                gr.HTML(elem_classes="summary"),
                stream_figures.firing,
                **of_piece,
            )
            gr.HTML(stream_figures.heading("course", language))
            pictures.add(
                "course", plot("rest-course"), stream_figures.course, **of_piece
            )
    with part.folded("variance", pictures):
        gr.HTML(figures.heading("variance", language))
        pictures.add(
            "variance",
            plot("first-variance"),
            draw_variance,
            seen="variance_open",
        )
        with part.folded("split", pictures):
            gr.HTML(figures.heading("split", language))
            pictures.add(
                "costs",
                gr.HTML(elem_classes="tables"),
                figures.split_costs,
                seen="split_open",
            )
            pictures.add(
                "splits", plot("first-split"), figures.splits, seen="split_open"
            )
        with part.folded("slice", pictures):
            gr.HTML(figures.heading("slice", language))
            pictures.add(
                "slices",
                plot("first-slices"),
                figures.slices,
                seen="slice_open",
                query="asks",
            )
            pictures.add(
                "sliced",
                gr.HTML(elem_classes="summary"),
                figures.sliced,
                seen="slice_open",
                query="asks",
            )
        with part.folded("initial", pictures):
            gr.HTML(figures.heading("initial", language))
            pictures.add(
                "initial", part.table("tables"), figures.initial, seen="initial_open"
            )
    return state


def draw_variance(service: TranslationService, language: Language) -> Any:
    return figures.variance(
        explain.variance(),
        service.info.d_model // service.info.n_heads,
        language,
    )


def follow(
    service: TranslationService,
    language: Language,
    head: Head,
    query: int | None,
    first_stack: str,
    lock: str,
    before: dict[str, Any],
) -> dict[str, Any]:
    """Set the controls that follow another stack; a word that has just been locked
    becomes the query."""
    answer: dict[str, Any] = {}
    if before and before["first_stack"] != first_stack:
        so_far = {"first_stack": first_stack}
        answer = {
            "first_layer": gr.update(
                **layer_of_stack(service, so_far).properties(), value=head.layer
            ),
            "mask": gr.update(
                choices=mask_choices(service, language, so_far),
                value=mask_of(service, so_far).default,
            ),
        }
    if lock != before.get("lock", "") and (before or query == QUERY):
        asks = locked_query(service, lock, head)
        if asks not in (None, query):
            answer["query"] = asks
    return answer


@needs(trace="no_trace")
def walk_through(
    service: TranslationService, trace: Trace, head: Head, padding: int
) -> Walk:
    """Walk through a head of the pair that the page looks into."""
    return service.ask(WalkHead(trace.text, trace.tokens, head, int(padding)))


def offer_queries(
    walk: Walk, asks: int, language: Language, before: dict[str, Any]
) -> Any:
    """Offer the queries of another walk."""
    if before.get("walk") is walk:
        return gr.skip()
    choices = [
        (f"{i + 1} · {figures.query_label(walk, i, language)}", i + 1)
        for i in range(len(walk.queries))
    ]
    return gr.update(choices=choices, value=asks + 1)


def mask_choices(
    service: TranslationService, language: Language, so_far: Values
) -> list[tuple[str, str]]:
    """Name the masks of this tab's stack."""
    return language.choices("first_mask_{}", mask_of(service, so_far).options)


def locked_query(service: TranslationService, lock: str, head: Head) -> int | None:
    """Find the query, from 1, in which the locked word asks in a head, as the Attention
    tab reads it; None for none."""
    word = locked(lock).placed(head.stack).asks
    if word is None:
        return None
    given = alignment.given_heads(service.info, service.alignment_errors)
    to_come = (
        head.stack != "encoder_self" and named_by(Choice(*head), given) == "predicted"
    )
    return word[1] + (0 if to_come else 1) or None


def asked(walk: Walk, query: int | None) -> int:
    """The query that is chosen, from 0, where the walk has it; else the second, which
    has something to look at."""
    return (
        query - 1
        if query is not None and query <= len(walk.queries)
        else min(1, len(walk.queries) - 1)
    )
