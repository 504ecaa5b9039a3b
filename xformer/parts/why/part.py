"""Part of Step by step: why a piece stands in the translation, and not a rival."""

from typing import Any

import gradio as gr

from xformer.figures.labels import paragraph, place
from xformer.parts.why import draw as figures
from xformer.results import Forced, Trace, UserError, Why, questions
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.handlers import SWIFT_LATEST, text_of
from xformer.ui.layout import Layout
from xformer.ui.pictures import Pictures
from xformer.ui.places import Place

ID = "why"
PLACES = (Place(ID, "decode_why", {"decode": ID}),)


def build(part: Layout, pictures: Pictures) -> gr.HTML:
    """Lay the part out; called inside it. The tab has the pair, what the model makes of
    it, and what is asked of a step; -> where a step is chosen."""
    gr.HTML(paragraph(part.language, "why_text", "note"))
    panel = part.canvas(
        "why.js", '<div class="drawing"></div>', "why-panel", frame="rows"
    )
    pictures.fact("sides", sides)
    pictures.fact("against", against)
    pictures.fact("reason", reason)
    pictures.fact("swapped", swapped)
    pictures.add("why_panel", panel, draw, seen=lambda decode: decode == ID)

    def connect() -> None:
        problem = part["problem"]
        panel.rival(
            **pictures.listener(
                problem, lambda event: {"rival": text_of(event, "rival")}
            ),
            **SWIFT_LATEST,
        )
        panel.twin(
            **pictures.listener(
                problem, lambda event: {"twin": text_of(event, "twin")}
            ),
            **SWIFT_LATEST,
        )

    part.page.connections.append(connect)
    return panel


def sides(service: TranslationService, trace: Trace) -> Any:
    return service.ask(questions.TellSides(trace.text, trace.tokens))


def reason(service: TranslationService, trace: Trace, step: int, against: Any) -> Any:
    return service.ask(
        questions.AskWhy(trace.text, trace.tokens, int(step) - 1, against)
    )


def against(given: Forced, step: int, rival: str) -> str:
    """The rival that was chosen, where it is one of the likeliest at this step; else
    the likeliest."""
    at = int(step) - 1
    names = [
        piece for piece, _ in given.alternatives[at] if piece != given.predicted[at]
    ]
    return rival if rival in names else names[0]


def swapped(
    service: TranslationService, trace: Trace, step: int, against: str, twin: str
) -> Any:
    """What each head's answers for a twin change; None without one, and what is wrong
    with it where it is refused."""
    if not twin.strip():
        return None
    try:
        return service.ask(
            questions.SwapHeads(trace.text, trace.tokens, int(step) - 1, against, twin)
        )
    except UserError as error:
        return error


def draw(
    service: TranslationService,
    trace: Trace,
    given: Forced,
    step: int,
    against: str,
    sides: Any,
    reason: Why,
    swapped: Any,
    twin: str,
    language: Language,
) -> dict[str, Any]:
    """Draw why a piece stands there; and, where it was measured, how badly the origins
    of pieces align words."""
    problem = swapped.say(language) if isinstance(swapped, UserError) else ""
    measured = service.metrics.get("alignment", {})
    best = service.best_head
    errors = service.alignment_errors(best)
    error = ""
    if {"sides", "sentences"} <= measured.keys() and errors:
        error = language.say(
            "why_sides_error",
            sides=f"{measured['sides']:.3f}",
            count=int(measured["sentences"]),
            head=place(best, language),
            best=f"{min(errors):.3f}",
        )
    packed = figures.payload(
        trace, sides[0], given, int(step), against, reason, language
    )
    return {
        **packed,
        "error": error,
        "twin": figures.twin(
            twin, None if problem else swapped, problem, packed["difference"], language
        ),
    }
