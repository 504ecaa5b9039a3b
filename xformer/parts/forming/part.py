"""Part of the Training tab: moments of a training run, through which translations and
attention maps come to be."""

from collections.abc import Callable
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
    UserError,
)
from xformer.serve.protocol import ModelPool
from xformer.strings import Language
from xformer.ui.components import figure, small_maps
from xformer.ui.controls import OneOf, Whole, only_own
from xformer.ui.generations import generation, kept_moment
from xformer.ui.handlers import LATEST, number_of, refused
from xformer.ui.layout import Layout
from xformer.ui.tabs import Listener

ID = "forming"
FOLDS = (("errors", "form_plot_errors"),)
MOMENTS = 12
MOST_MOMENTS = 20
MOST_SENTENCES = 40
MOST_HEADS = 64
HIDDEN = gr.update(value=None, visible=False)
NOTHING: dict[str, Any] = {
    "drawn": "",
    "said": "",
    "story": "",
    "grid": HIDDEN,
    "picture": HIDDEN,
    "errors": None,
    "errors_part": gr.update(visible=False),
}


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    part.ask = part.page.always(part.page.models)
    language = part.language
    part.status()
    part.look("form_look")
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
        with gr.Column(scale=5, min_width=300):
            part["story"] = gr.HTML(elem_classes="tables form-story")
            stack = part.choice(
                "form_stack", STACKS, "cross", "stack_{}", "stack", container=False
            )
            # 0: the head that aligns best in the end
            part.hidden("form_layer", Whole(0, 0, MOST_HEADS))
            part.hidden("form_head", Whole(0, 0, MOST_HEADS))
            part["grid"] = small_maps(language)
        with gr.Column(scale=5, min_width=300):
            part["picture"] = part.map("form-view")
            with part.folded("errors") as part["errors_part"]:
                part["errors"] = part.plot("form-errors")
    part["drawn"] = gr.State("")

    def listener(handler: Callable[..., Any], **fixed: Any) -> Listener:
        return part.listener(
            handler,
            "drawn",
            "said",
            "story",
            "grid",
            "picture",
            "errors",
            "errors_part",
            "form_sentence",
            "form_moment",
            "form_layer",
            "form_head",
            problem="problem",
            only_here=True,
            **fixed,
        )

    gr.on(
        [part.opened.change, model.input, course.input, moment.input],
        **listener(draw),
        **LATEST,
    )
    stack.input(**listener(draw, other_stack=True), **LATEST)
    part["grid"].choose(**listener(choose), **LATEST)


def recorded(
    models: ModelPool, name: str, language: Language
) -> tuple[Moments, str, Moment | None]:
    """Return the moments of a generation, the name and identity of its model, and the
    moment whose weights were kept where it is known; raises UserError where there are
    none."""
    if name not in models.names:
        raise UserError(Message.of("form_missing", name=name))
    with generation(models, name) as service:
        moments = service.moments
        if moments is None:
            raise UserError(Message.of("form_none", name=name))
        return (
            moments,
            f"{service.info.name} {service.info.identity}",
            kept_moment(service),
        )


def choose(
    models: ModelPool,
    language: Language,
    *,
    event: gr.EventData,
    drawn: str,
    **values: Any,
) -> dict[str, Any]:
    """Show the head of the grid that was clicked."""
    return draw(
        models,
        language,
        drawn=drawn,
        **{
            **values,
            "form_layer": number_of(event, "layer"),
            "form_head": number_of(event, "head"),
        },
    )


@refused(**NOTHING)
def draw(
    models: ModelPool,
    language: Language,
    *,
    form_model: str,
    form_sentence: int | None,
    form_moment: int,
    form_stack: str,
    form_layer: int | None,
    form_head: int | None,
    drawn: str = "",
    other_stack: bool = False,
) -> dict[str, Any]:
    """Draw a moment of a training run: the translation then, all maps of a stack, one
    of its heads, and its error.

    drawn: the model whose moments and sentences the controls offer already, so that
    nothing is set while it is moved.
    """
    moments, identity, kept = recorded(models, form_model, language)
    count = len(moments.moments)
    at = min(int(form_moment), count) - 1
    number = min(int(form_sentence or 1), len(moments.courses)) - 1
    course = moments.courses[number]
    best = explain.followed(moments)
    trace = explain.trace_at(course, at)
    stack_maps = trace.of(form_stack).probabilities
    place = (0, 0) if other_stack else (int(form_layer or 0), int(form_head or 0))
    head = _head(best, form_stack, place, stack_maps.shape[:2])
    reading = _reading(moments, best, head)
    answer = {
        **NOTHING,
        "story": figures.story(moments, course, at, language),
        "said": figures.summary(
            moments,
            at,
            head,
            reading,
            best is not None and head == best[0],
            kept,
            language,
        ),
        "drawn": form_model,
        "form_layer": head.layer if head and place != (0, 0) else 0,
        "form_head": head.head if head and place != (0, 0) else 0,
    }
    if form_model != drawn:
        answer["form_moment"] = gr.update(maximum=count, value=at + 1)
        answer["form_sentence"] = gr.update(
            choices=[(one.english, i) for i, one in enumerate(moments.courses, 1)],
            value=number + 1,
        )
    if best is not None:
        shown = head if head is not None and head.stack == "cross" else best[0]
        drawn_errors = figures.errors(
            moments, shown, _reading(moments, best, shown), at, language
        )
        answer |= {
            "errors": figure(drawn_errors),
            "errors_part": gr.update(visible=True),
        }
    if head is None:
        lacking = (
            ""
            if best is None
            else f'<p class="note">{language.html("no_maps_stack")}</p>'
        )
        # of a model without attention the summary says so
        return {**answer, "problem": lacking}
    return {
        **answer,
        **_maps(
            trace, course, head, reading, identity, moments.moments[at].step, language
        ),
    }


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
