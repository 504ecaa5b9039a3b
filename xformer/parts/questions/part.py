"""Three questions made from the sentence that stands, below its translation. They come
with the translation, in the same answer."""

import gradio as gr

from xformer.explain.alignment import reading
from xformer.parts.questions.draw import invitation
from xformer.parts.questions.draw import questions as figure
from xformer.parts.questions.find import Question, questions
from xformer.results import Head, Trace, Translation
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import canvas
from xformer.ui.layout import Layout

ID = "questions"


def build(part: Layout) -> None:
    """Lay the questions out; called inside the Translate tab."""
    part[ID] = gr.HTML(elem_classes="questions frame-text")


def build_below(part: Layout) -> None:
    """Invite to the first lesson, below the picture."""
    canvas("invitation.js", invitation(part.language), "invitation")


def of_pair(
    service: TranslationService,
    language: Language,
    translation: Translation,
    trace: Trace,
) -> str:
    """Show the questions of a translation; called with each new one."""
    taught = [
        Head("encoder_self", *one) for one in service.metrics.get("taught_heads", ())
    ]
    measured = service.metrics.get("referring")
    return figure(ask(service, translation, trace), language, taught, measured)


def ask(
    service: TranslationService, translation: Translation, trace: Trace
) -> list[Question]:
    """Make the questions of a translation, with what is known of the model's heads."""
    head = service.best_head
    return questions(
        translation,
        trace,
        (service.info.source, service.info.target),
        head,
        reading(service.alignment_errors(head)) == "given",
    )
