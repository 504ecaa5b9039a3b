"""A part of the Sentiment tab: all heads of the classifier or of the language model,
and what fine-tuning moved."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gradio as gr
import numpy as np

from xformer.figures import grid_payload as grid
from xformer.figures import head_payload
from xformer.figures.attention import SHOW, VIEWS, Picture, all_maps, folded, picture
from xformer.figures.labels import of_model
from xformer.parts.reading import draw as figures
from xformer.parts.reading.draw import OF, ReaderChoice
from xformer.results import ModelInfo, Trace, UserError
from xformer.strings import Language
from xformer.ui import reviews
from xformer.ui.components import WIRE, figure, small_maps
from xformer.ui.controls import OneOf, Switch, Whole
from xformer.ui.handlers import LATEST, QUIET, SWIFT_LATEST, number_of, refused
from xformer.ui.layout import Layout, narrow, wide
from xformer.ui.pictures import Pictures, takes
from xformer.ui.places import note

ID = "maps"
FOLDS = (("tuned", "maps_compare"),)
MOST = 256  # layers, and heads of a layer, that an address may name
PLOTS = ("before", "after", "difference")
LOOK = ("layer", "head", "show", "view", "words", "hide", "weigh")
EMPTY: dict[str, Any] = {
    "read": None,
    "grid": None,
    "picture": None,
    "below": "",
    "rules": "",
    "distances": None,
    **dict.fromkeys(PLOTS),
}
# ReviewService and WriterService, by names of figures.reading.OF or of classifiers
Readers = Mapping[str, Any]


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    page = part.page
    language = part.language
    reader = page.reviews
    writer = None if isinstance(page.writer, UserError) else page.writer
    if reader is None or isinstance(reader, UserError):
        gr.HTML(reviews.missing(reader, language))
        return
    readers: Readers = {
        OF[0]: reader,
        **({} if writer is None else {OF[1]: writer}),
        **page.other_reviews,
    }
    part.ask = page.always(readers)
    pictures = part.pictures(ID, cleared=EMPTY)
    # the text that was read; None for none
    part["read"] = pictures.input("read", gr.State())
    pictures.follow(follow, "maps_layer", "maps_head")
    pictures.fact(
        "traces",
        traces_of,
    )
    pictures.fact("of", of_which)
    pictures.fact("choice", choice_of)
    pictures.fact(
        "maps",
        lambda traces, of, choice: all_maps(traces[of], choice.stack, choice.weigh),
    )
    pictures.fact(
        "seen",
        lambda traces, of, choice, maps, language: picture(
            traces[of], choice, language, maps
        ),
    )
    part.look("maps_look")
    problem = part.status()
    with gr.Row(elem_classes="detail reading"):
        with narrow():
            _settings(part, readers)
        with wide():
            pictures.add("picture", part.map("reading-view"), draw_picture)
            pictures.add(
                "rules",
                gr.HTML(elem_classes="summary"),
                draw_rules,
            )
            about = gr.HTML(
                figures.about(reader.info, reader.info, language),
                elem_classes="summary about-mask",
            )
            pictures.add(
                "about",
                about,
                draw_about,
            )
            pictures.add(
                "below",
                gr.HTML(elem_classes="summary words-of-picture"),
                folded,
                picture="seen",
            )
    pictures.add("grid", part["grid"], draw_grid)
    if writer is not None:
        _compare(part, pictures, _both(writer.info, reader.info))
    outputs = {
        name: part[name] for name in ("read", "maps_layer", "maps_head", "maps_show")
    }
    pictures.listen(problem)
    part["grid"].choose(
        **pictures.listener(problem, choose, outputs=outputs),
        **SWIFT_LATEST,
    )

    def connect() -> None:
        if page.review is None:  # no part asks for one
            review = gr.Textbox("", **WIRE)
            field = gr.Textbox(reviews.EXAMPLES[0], **WIRE)
        else:
            review = page.controls["review"].component
            field = page.review
        pictures.input("review", review)
        pictures.input("field", field)
        part.opened.change(
            **pictures.listener(problem, run, outputs={**outputs, "review": review}),
            **LATEST,
        )
        page.on_return.append(
            {**pictures.listener(problem, run_again, outputs=outputs), **QUIET}
        )
        if page.reviewer is not None:
            part["name"] = page.reviewer
            page.reviewer.input(**part.listener(take, "read", "maps_of"), **QUIET)

    page.connections.append(connect)


def traces_of(service: dict[str, Any], read: str) -> dict[str, Trace]:
    return {of: one.trace(read) for of, one in service.items()}


def of_which(traces: dict[str, Trace], maps_of: str) -> str:
    return maps_of if maps_of in traces else OF[0]


def draw_rules(service: dict[str, Any], of: str, seen: Any, language: Language) -> str:
    return figures.rules(
        seen.rules,
        language.say(
            "maps_note_causal" if service[of].info.causal else "maps_note_full"
        ),
    )


def draw_about(service: dict[str, Any], of: str, language: Language) -> str:
    return figures.about(service[of].info, service[classifier_of(of)].info, language)


def _settings(part: Layout, readers: Readers) -> None:
    """Lay out the choice of a model and of a head, and how it is drawn."""
    with gr.Row(elem_classes="controls"):
        part.control(
            "maps_of",
            OneOf((*readers,), OF[0]),
            gr.Radio,
            container=False,
            visible=len(readers) > 1,
            choices=[(named(name, part.language), name) for name in readers],
        )
    part.hidden("maps_layer", Whole(readers[OF[0]].info.n_layers, 1, MOST))
    part.hidden("maps_head", Whole(1, 1, MOST))
    part["grid"] = small_maps(part.language)
    with gr.Column(elem_classes="reading-settings"):
        part.choice("maps_show", SHOW, "head", "show_{}", "show")
        part.choice("maps_view", VIEWS, "auto", "view_{}", "view")
        with gr.Row(elem_classes="controls"):
            for key, text in (
                ("maps_words", "words"),
                ("maps_hide", "hide_sinks"),
                ("maps_weigh", "weigh"),
            ):
                part.control(key, Switch(), gr.Checkbox, text, min_width=150)


def _compare(part: Layout, pictures: Pictures, both: str) -> None:
    """Lay out the head before and after fine-tuning. both: names the models; HTML."""
    pictures.fact("compared", compared)
    with part.folded("tuned", pictures):
        gr.HTML(f"{note(part.language, 'maps_compare_text')}{both}")
        distances = part.table("moved-view")
        moved = part.beside(
            part.plot,
            {name: f"maps-{name}" for name in PLOTS},
            "detail three-maps of-reviews",  # which are mostly long
            280,
        )
    pictures.add_all("compared", {"distances": distances, **moved}, seen="tuned_open")


def named(of: str, language: Language) -> str:
    """Name a model that reads, as a choice."""
    return (
        language.say(f"maps_of_{of}")
        if of in OF
        else f"{language.say('maps_of_classifier')}: {of}"
    )


def _both(before: ModelInfo, after: ModelInfo) -> str:
    """Name the two models that are compared, for what is saved."""
    pair = replace(
        after,
        name=f"{before.name} → {after.name}",
        identity=f"{before.identity} → {after.identity}",
    )
    return of_model(
        pair,
        f"{before.versioned} → {after.versioned}",
        hidden=True,
    )


def take(readers: Readers, language: Language, *, name: str) -> dict[str, Any]:
    """Take the classifier that was chosen in another part: its maps are drawn when this
    part is opened."""
    return {"read": None, "maps_of": name if name in readers else OF[0]}


@refused(**EMPTY)
def run(
    service: Readers, language: Language, *, read: str | None, review: str, field: str
) -> dict[str, Any] | None:
    """Let all models read the review of the tab, where another one was read; a head may
    have been chosen since."""
    text = reviews.chosen(review, field)
    return None if read == text else {"read": text, "review": reviews.kept(text)}


@refused(**EMPTY)
def run_again(service: Readers, language: Language, *, review: str) -> dict[str, Any]:
    """Let all models read the review that the page has gone back to."""
    return {"read": review or reviews.EXAMPLES[0]}


def choose(
    service: Readers, language: Language, *, event: gr.EventData
) -> dict[str, Any]:
    """Show the head of the grid that was clicked."""
    return {
        "maps_layer": number_of(event, "layer"),
        "maps_head": number_of(event, "head"),
        "maps_show": "head",
    }


def follow(
    read: str | None,
    service: Readers,
    maps_of: str,
    maps_layer: int | None,
    maps_head: int | None,
) -> dict[str, Any] | None:
    """Keep to the layers and heads of the model; None where nothing was read."""
    if read is None:
        return None
    info = service[maps_of if maps_of in service else OF[0]].info
    return {
        "maps_layer": min(max(1, int(maps_layer or 1)), info.n_layers),
        "maps_head": min(max(1, int(maps_head or 1)), info.n_heads),
    }


@takes("of", *(f"maps_{key}" for key in LOOK))
def choice_of(of: str, **look: Any) -> ReaderChoice:
    """The choice that the controls of this part stand for."""
    return ReaderChoice(
        of=of, **{key.removeprefix("maps_"): value for key, value in look.items()}
    )


def draw_grid(
    traces: dict[str, Trace],
    of: str,
    choice: ReaderChoice,
    maps: np.ndarray,
    language: Language,
) -> Any:
    """Draw the small maps. The locked words of the translation stand in another
    text."""
    return {
        **grid.payload(maps, choice, language),
        "sides": ["", ""],
        "about": [traces[of].number, choice.layer, choice.head],
    }


def draw_picture(
    service: Readers, of: str, choice: ReaderChoice, seen: Picture, language: Language
) -> Any:
    """Draw what is chosen."""
    info = service[of].info
    return head_payload.payload(seen, choice, info.versioned, language)


def classifier_of(of: str) -> str:
    """The classifier that is compared with the language model."""
    return OF[0] if of == OF[1] else of


def compared(
    traces: dict[str, Trace], of: str, choice: ReaderChoice, language: Language
) -> dict[str, Any]:
    """Show the head before and after fine-tuning, where the classifier began as the
    language model: of the shipped one, where both have the same shape and read the same
    pieces. Else say why not, with no maps."""
    if classifier_of(of) != OF[0]:
        return {"distances": f"<p>{language.html('maps_not_begun', name=of)}</p>"}
    before = traces[OF[1]]
    after = traces[OF[0]]
    if (
        before.source != after.source
        or before.encoder_self.shape != after.encoder_self.shape
    ):
        return {"distances": f"<p>{language.html('maps_apart')}</p>"}
    plots = figures.before_after(before, after, choice.chosen, language)
    return {
        "distances": figures.distances(before, after, choice.chosen, language),
        **{name: figure(drawn) for name, drawn in zip(PLOTS, plots, strict=True)},
    }
