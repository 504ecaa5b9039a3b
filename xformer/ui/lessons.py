"""Lessons beside the page: the panel, the step in the address, and the answers, which
are checked on the live model."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from xformer.lessons import links, panel
from xformer.lessons.checks import PLACES
from xformer.lessons.files import Lesson, lectures, said, with_steps
from xformer.lessons.links import where
from xformer.lessons.scene import CHECKS, Scene
from xformer.results import Head, Message, UserError
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import WIRE, canvas
from xformer.ui.controls import Controls, Kind, Values
from xformer.ui.handlers import LATEST, text_of
from xformer.ui.tabs import Page, View

# that checks ask for
SEEN = (
    "stack",
    "layer",
    "head",
    "first_stack",
    "first_layer",
    "first_head",
    "query",
    "review",
)
VIEWS: Mapping[str, Callable[[Language], str]] = {
    panel.ALL: panel.choice_of_lessons,
    panel.GLOSSARY: panel.all_terms,
    panel.CLASS: panel.for_a_class,
    panel.ANSWERS: panel.answers_of_a_class,
    panel.LECTURES: panel.all_lectures,
    **{panel.LECTURE + name: partial(panel.one_lecture, name) for name in lectures()},
}


@dataclass(frozen=True)
class Place(Kind):
    """Where a reader is: "it.3", the third step of a lesson, "kak.3", the third slide of
    a lecture; one of VIEWS; or "", nowhere."""

    controls: Controls  # of the page, once it is laid out: what steps may set
    default: str = ""
    longest: int = links.LONGEST + len("~.999")

    def read(self, key: str, value: str) -> str:
        if not value or value in VIEWS:
            return value
        known = where(value)
        if known is None:
            raise UserError(
                Message.of(
                    "address_choice",
                    key=key,
                    value=value[:40],
                    options=", ".join((*VIEWS, *with_steps())),
                )
            )
        for number, step in enumerate(known[0].steps, 1):
            if {*step.address} - {*self.controls} or key in step.address:
                raise UserError(Message.of("error_class_step", step=number))
        return value


def build(page: Page) -> None:
    """Lay the panel out, called where it is to stand; it is wired when all tabs are
    there."""
    at = page.controls.add("lesson", Place(page.controls), gr.Textbox, **WIRE)
    language = page.language
    # a label of the projector view
    panel_html = (
        f'<aside class="lesson" aria-label="{language.html("lessons")}" '
        f'data-leave="{language.html("projector_leave")}"></aside>'
    )
    shown = canvas("lesson.js", panel_html, "lessons", value(at.value, language))

    def at_address(service: TranslationService, values: Values) -> Any:
        return gr.update(value=value(values["lesson"], language))

    page.views["lesson"] = View(
        shown,
        at_address,
    )

    def connect() -> None:
        shown.go(
            **page.ask(go, {}, {"panel": shown, "lesson": at}, page=page),
            **LATEST,
        )
        seen = {
            "translation": page.translation,
            "trace": page.trace,
            "lock": page.lock,
            **{
                key: page.controls[key].component
                for key in SEEN
                if key in page.controls
            },
        }
        shown.answer(
            **page.ask(answer, {**seen, "lesson": at}, {"panel": shown}, page=page),
            **LATEST,
        )
        shown.fact(
            **page.ask(say_fact, seen, {"panel": shown}, page=page),
            **LATEST,
        )

    page.connections.append(connect)


def value(at: str, language: Language) -> dict[str, Any]:
    """What the panel shows for a place, and with a step the next one, so that it can be
    shown as soon as it is asked for."""
    known = where(at)
    if known is None:
        return {"at": at, "html": VIEWS[at](language) if at else ""}
    lesson, number = known
    here, *ahead = (
        {"at": f"{lesson.name}.{one}", "html": _step(lesson, one, language)}
        for one in range(number, min(number + 1, len(lesson.steps) + 1) + 1)
    )
    return {**here, "ahead": next(iter(ahead), None)}


def _step(lesson: Lesson, number: int, language: Language) -> str:
    """A step as HTML, or the slide of a lecture."""
    is_slide = lesson.name in lectures() and number <= len(lesson.steps)
    return (
        panel.slide(lesson.name, number, language)
        if is_slide
        else panel.step(lesson, number, language)
    )


def go(
    service: TranslationService, language: Language, *, event: Any, page: Page
) -> dict[str, Any]:
    """Open a view; or have the browser open the address of a step, which sets the panel
    too."""
    to = Place(page.controls).read("lesson", text_of(event, "to"))
    known = where(to)
    step = known[0].step(known[1]) if known else None
    if known is None or step is None:
        return {"panel": value(to, language), "lesson": to}
    lesson, number = known
    if not step.address:  # of what the page does not show: it stays as it is
        at = f"{lesson.name}.{number}"
        return {"panel": value(at, language), "lesson": at}
    address = {**step.address, "lesson": f"{lesson.name}.{number}"}
    if step.place is not None:
        name, given = step.place
        try:
            translation, trace = service.translate_and_trace(step.address["text"])
            found = PLACES[name](
                Scene(
                    service,
                    page.models,
                    page.study,
                    translation=translation,
                    trace=trace,
                ),
                **given,
            )
            address |= {key: str(one) for key, one in found.items()}
        except UserError:
            # of a model that translates the sentence otherwise: its place is not marked
            pass
    lecture = lectures().get(lesson.name)
    part = lecture.slides[number - 1].at if lecture else ""
    return {"panel": {"at": address["lesson"], "address": address, "place": part}}


def answer(
    service: TranslationService,
    language: Language,
    *,
    event: Any,
    lesson: str,
    page: Page,
    **seen: Any,
) -> dict[str, Any]:
    """Check an answer on what stands on the page, and say what was found."""
    known = where(lesson)
    step = known[0].step(known[1]) if known else None
    question = step.question if step else None
    if known is None or question is None:
        raise UserError(Message.of("error_answer_none"))
    # the same reply again is a new value
    place = {"at": f"{known[0].name}.{known[1]}", "made": time.time()}
    try:
        given = text_of(event, "answer")
        if question.options and given not in dict(question.options):
            raise UserError(Message.of("error_answer_none"))
        scene = replace(
            scene_of(service, language, page, **seen),
            answer=given,
            offered=tuple(dict(question.options)),
            within=question.within,
        )
        if question.kind == "open":
            kept = {
                "right": None,
                "html": language.html("lesson_kept"),
                "answer": scene.typed,
            }
            return {"panel": {**place, "reply": kept}}
        found = CHECKS[question.check](scene, **question.given)
    except UserError as error:
        return {
            "panel": {
                **place,
                "reply": {"right": None, "html": panel.marked(error.say(language))},
            }
        }
    own = (
        said(dict(question.options)[given], language)
        if question.options
        else found.expected
    )
    return {
        "panel": {
            **place,
            "reply": {
                "right": found.right,
                # of the reader's own sentence it is no answer that a second try needs
                "html": panel.reply(found, language, open=question.kind == "sentence"),
                "answer": given if question.kind == "sentence" else own or given,
            },
        }
    }


def say_fact(
    service: TranslationService,
    language: Language,
    *,
    event: Any,
    page: Page,
    **seen: Any,
) -> dict[str, Any]:
    """Say the fact of a slide, computed from what stands on the page; "" of a model that lacks what it needs."""
    known = where(at := text_of(event, "at"))
    lecture = lectures().get(known[0].name) if known else None
    if known is None or lecture is None or known[1] > len(lecture.slides):
        raise UserError(Message.of("error_answer_none"))
    html = ""
    if asked := lecture.slides[known[1] - 1].fact:
        name, given = asked
        # what is true does not depend on the answer
        scene = replace(scene_of(service, language, page, **seen), answer="0")
        try:
            said = CHECKS[name](scene, **given).message.say(language)
            html = panel.marked(panel.opened(said))
        except UserError:
            pass
    return {"panel": {"at": at, "made": time.time(), "fact": html}}


def scene_of(
    service: TranslationService,
    language: Language,
    page: Page,
    *,
    stack: str = "cross",
    layer: int = 1,
    head: int = 1,
    first_stack: str = "cross",
    first_layer: int = 1,
    first_head: int = 1,
    **seen: Any,
) -> Scene:
    """Gather what stands on the page; a page need not have every tab."""
    reviews = None if isinstance(page.reviews, UserError) else page.reviews
    return Scene(
        service,
        page.models,
        page.study,
        reviews,
        head=Head(stack, int(layer), int(head)),
        first=Head(first_stack, int(first_layer), int(first_head)),
        language=language,
        **seen,
    )
