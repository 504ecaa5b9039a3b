"""Part of the First principles tab about the attention before the transformer's: its
score a small network, with the trained numbers of a model of its own."""

import gradio as gr

from xformer.figures.labels import sentence
from xformer.parts.additive import draw as figures
from xformer.results import AdditiveWalk, Message, ModelInfo, Trace, UserError
from xformer.results.questions import WalkAdditive
from xformer.serve.protocol import ModelPool
from xformer.ui.controls import Whole
from xformer.ui.generations import generation
from xformer.ui.handlers import LATEST, needs, number_of
from xformer.ui.layout import Layout
from xformer.ui.tabs import opened_by

ID = "additive"
NAME = "first_title_additive"
WITHIN = "before"
RECURRENT = "gru-attention"  # the checkpoint that looks by additive attention
STEP = 2  # at first: the second piece, which has another to look at


def build(part: Layout) -> None:
    """Lay the part out, and what it folds into."""
    pictures = part.pictures(
        ID, cleared={"additive": None}, ask=part.page.always(part.page.models)
    )
    pictures.fact("added", walk_additive)
    with part.folded("additive", pictures) as fold:
        gr.HTML(figures.heading(part.language))
        problem = part.status()
        picture = pictures.add(
            "additive",
            part.canvas(
                "additive.js",
                '<div class="drawing"></div>',
                "first-additive",
                frame="rows",
            ),
            figures.additive,
            seen="additive_open",
        )
    part.hidden("additive_step", Whole(STEP, 1, 999))
    picture.choose(
        **part.listener(
            lambda service, language, *, event: {
                "additive_step": number_of(event, "step")
            },
            "additive_step",
        ),
        **LATEST,
    )
    pictures.listen(problem, part.opened.change, part["trace"].change)
    part.views["additive"] = opened_by(part.controls, fold)


@needs(trace="no_trace")
def walk_additive(service: ModelPool, trace: Trace) -> tuple[ModelInfo, AdditiveWalk]:
    """Walk through the additive attention of the checkpoint that has one, with the pair
    that the page looks into."""
    info = service.default.info if trace.origin is None else trace.origin.info
    if RECURRENT not in service.translating(info.source, info.target):
        raise UserError(Message.of("additive_missing", name=RECURRENT))
    with generation(service, RECURRENT) as model:
        return model.info, model.ask(
            WalkAdditive(trace.text, sentence(trace.predicted))
        )
