"""Part of the Training tab: the page's sentence at moments of a training, as a film; and
recorded moments of other runs, through which translations and attention maps come to
be."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from xformer.figures import generation as named
from xformer.figures import grid_payload as grid
from xformer.figures import head_payload
from xformer.figures.attention import Choice, picture
from xformer.parts.forming import draw as figures
from xformer.parts.forming import errors as explain
from xformer.results import (
    GENERATIONS,
    STACKS,
    Course,
    Head,
    Message,
    Moment,
    Moments,
    Trace,
    Translation,
    UserError,
    WatchForm,
)
from xformer.serve.protocol import ModelPool, TranslationService
from xformer.strings import Language
from xformer.ui.components import TRANSPORT, figure, script, small_maps
from xformer.ui.controls import OneOf, Whole, only_own
from xformer.ui.generations import generation, kept_moment
from xformer.ui.handlers import LATEST, QUIET, needs, number_of
from xformer.ui.layout import Layout
from xformer.ui.tabs import Listener

ID = "forming"
OF_SENTENCE = True
FOLDS = (
    ("moments", "form_recorded"),
    ("errors", "form_plot_errors", "moments"),
)
MOMENTS = 12
MOST_MOMENTS = 20
MOST_SENTENCES = 40
MOST_HEADS = 64
HIDDEN = gr.update(value=None, visible=False)
NOTHING: dict[str, Any] = {
    "said": "",
    "story": "",
    "grid": HIDDEN,
    "picture": HIDDEN,
    "errors": None,
    "errors_part": gr.update(visible=False),
}
PAIR = ("en", "es")  # languages of the model in the film
# what was kept of a training run: moments, the name and identity of its model, and the
# moment whose weights were kept where it is known
Kept = tuple[Moments, str, Moment | None]


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    pictures = part.pictures("film", cleared={"film": None})
    problem = part.status()
    part.look("form_look")
    film = pictures.add(
        "film",
        part.canvas("film.js", TRANSPORT, "forming-film", frame="chart"),
        watch,
    )
    # the frame at which an address opens; the last, at which a film ends, plays it
    frame = part.hidden("film_moment", Whole(MOMENTS, 1, MOST_MOMENTS))
    film.choose(
        None, None, frame, js=script("shownFrame"), trigger_mode="multiple", **QUIET
    )
    pictures.listen(problem, part.opened.change, how=LATEST)
    with part.folded("moments") as fold:
        _build_recorded(part, fold)


def _build_recorded(part: Layout, fold: gr.Accordion) -> None:
    """Lay out the moments that were kept of the four generations."""
    language = part.language
    ask = part.page.always(part.page.models)
    part["recorded_problem"] = gr.HTML(elem_classes="status")
    part.look("form_recorded_look")
    with gr.Row(elem_classes="controls"):
        model = part.control(
            "form_model",
            OneOf(GENERATIONS, GENERATIONS[1]),
            gr.Radio,
            scale=2,
            choices=[(named.label(name, language), name) for name in GENERATIONS],
        )
        course = part.control(
            "form_sentence",
            Whole(1, 1, MOST_SENTENCES),
            gr.Dropdown,
            properties=only_own("form_sentence"),
        )
    moment = part.control("form_moment", Whole(MOMENTS, 1, MOST_MOMENTS), gr.Slider)
    part["said"] = gr.HTML(elem_classes="summary form-said")
    with gr.Row(elem_classes="detail forming"):
        with gr.Column(min_width=300):
            part["story"] = gr.HTML(elem_classes="tables form-story")
            stack = part.choice(
                "form_stack", STACKS, "cross", "stack_{}", "stack", container=False
            )
            # 0: the head that aligns best in the end
            part.hidden("form_layer", Whole(0, 0, MOST_HEADS))
            part.hidden("form_head", Whole(0, 0, MOST_HEADS))
            part["grid"] = small_maps(language)
        with gr.Column(min_width=300):
            part["picture"] = part.map("form-view")
            with gr.Column() as part["errors_part"], part.folded("errors"):
                part["errors"] = part.plot("form-errors")
    pictures = part.pictures("forming", cleared=NOTHING, ask=ask)
    pictures.opens("moments_open", fold)
    pictures.fact("kept", recorded)
    pictures.fact("drawn", draw)
    pictures.follow(offer, "form_sentence", "form_moment")
    pictures.add_all(
        "drawn",
        {"problem": part["recorded_problem"], **{name: part[name] for name in NOTHING}},
        seen="moments_open",
    )
    place = {name: part[name] for name in ("form_layer", "form_head")}

    def listener(action: Callable[..., Any] | None = None) -> Listener:
        problem = part["recorded_problem"]
        return {**pictures.listener(problem, action, outputs=place), **LATEST}

    flag = pictures.flags["moments_open"]
    gr.on([flag.change, model.input, course.input, moment.input], **listener())
    stack.input(**listener(first_head))
    part["grid"].choose(**listener(choose))


@needs(translation="no_trace")
def watch(
    service: TranslationService,
    language: Language,
    translation: Translation,
    film_moment: int,
    before: Mapping[str, Any],
) -> dict[str, Any]:
    """Play the page's pair in the model of the film, once a translation. Raises
    UserError for other languages than that model's."""
    if before.get("translation") is translation:
        return gr.skip()
    pair = (translation.source, translation.best.text)
    languages = (service.info.source, service.info.target)
    if {*languages} != {*PAIR}:
        raise UserError(Message.of("film_language", model=service.info.name))
    english, spanish = pair if languages == PAIR else pair[::-1]
    film = service.ask(WatchForm(english, spanish))
    return figures.film(film, (english, spanish), int(film_moment), language)


def recorded(service: ModelPool, language: Language, form_model: str) -> Kept:
    """Read what was kept of the training of a generation; raises UserError where there
    is nothing."""
    if form_model not in service.names:
        raise UserError(Message.of("form_missing", name=form_model))
    with generation(service, form_model) as lent:
        moments = lent.moments
        if moments is None:
            raise UserError(Message.of("form_none", name=form_model))
        return moments, lent.info.versioned, kept_moment(lent)


def first_head() -> dict[str, int]:
    """Show the first head of another stack, or the best."""
    return {"form_layer": 0, "form_head": 0}


def choose(event: gr.EventData) -> dict[str, int]:
    """Show the head of the grid that was clicked."""
    return {
        "form_layer": number_of(event, "layer"),
        "form_head": number_of(event, "head"),
    }


def offer(
    kept: Kept, form_sentence: int | None, form_moment: int, before: Mapping[str, Any]
) -> dict[str, Any]:
    """Offer the moments and sentences of another model."""
    if before.get("kept") is kept:
        return {}
    moments = kept[0]
    count = len(moments.moments)
    sentences = [(one.english, i) for i, one in enumerate(moments.courses, 1)]
    return {
        "form_moment": gr.update(maximum=count, value=min(int(form_moment), count)),
        "form_sentence": gr.update(
            choices=sentences, value=min(int(form_sentence or 1), len(sentences))
        ),
    }


def draw(
    kept: Kept,
    language: Language,
    form_sentence: int | None,
    form_moment: int,
    form_stack: str,
    form_layer: int | None,
    form_head: int | None,
) -> dict[str, Any]:
    """Draw a moment of a training run: the translation then, all maps of a stack, one
    of its heads, and its error."""
    moments, identity, best_moment = kept
    at = min(int(form_moment), len(moments.moments)) - 1
    course = moments.courses[min(int(form_sentence or 1), len(moments.courses)) - 1]
    best = explain.followed(moments)
    trace = explain.trace_at(course, at)
    place = (int(form_layer or 0), int(form_head or 0))
    head = _head(best, form_stack, place, trace.of(form_stack).probabilities.shape[:2])
    reading = _reading(moments, best, head)
    is_best = best is not None and head == best[0]
    answer = {
        **NOTHING,
        "problem": "",
        "story": figures.story(moments, course, at, language),
        "said": figures.summary(
            moments, at, head, reading, is_best, best_moment, language
        ),
    }
    if best is not None:
        shown = head if head is not None and head.stack == "cross" else best[0]
        drawn_errors = figures.errors(
            moments, shown, _reading(moments, best, shown), at, language
        )
        answer |= {
            "errors": figure(drawn_errors),
            "errors_part": gr.update(visible=True),
        }
    if head is not None:
        step = moments.moments[at].step
        return answer | _maps(trace, course, head, reading, identity, step, language)
    if best is not None:  # else the summary says so
        answer["problem"] = f'<p class="note">{language.html("no_maps_stack")}</p>'
    return answer


def _head(
    best: tuple[Head, str] | None,
    stack: str,
    place: tuple[int, int],
    shape: tuple[int, ...],
) -> Head | None:
    """The head that is looked at: the chosen one where the stack has it, else the best
    of the cross-attention, else the first; None where the stack has none."""
    layers, heads = shape
    if not layers:
        return None
    if 1 <= place[0] <= layers and 1 <= place[1] <= heads:
        return Head(stack, *place)
    return best[0] if best is not None and stack == "cross" else Head(stack, 1, 1)


def _reading(moments: Moments, best: tuple[Head, str] | None, head: Head | None) -> str:
    """The reading in which a head of the cross-attention aligns better at the end."""
    if best is None or head is None or head.stack != "cross":
        return "predicted"
    return explain.better_reading(moments, head)


def _maps(
    trace: Trace,
    course: Course,
    head: Head,
    reading: str,
    identity: str,
    step: int,
    language: Language,
) -> dict[str, Any]:
    """Draw the small maps of the stack, and that of the head."""
    choice = Choice(*head, view="heatmap")
    given = {head} if reading == "given" else set()
    drawn = picture(trace, choice, language, given=given)
    drawn = replace(
        drawn, title=language.say("form_title", title=drawn.title, step=step)
    )
    small = grid.payload(trace.of(head.stack).probabilities, choice, language, given)
    view = head_payload.payload(
        drawn, choice, identity, language, (course.english, course.reference)
    )
    return {
        "grid": gr.update(
            value={**small, "about": [trace.number, *head]}, visible=True
        ),
        "picture": gr.update(value=view, visible=True),
    }
