"""Part of the Training tab: the gradients of a transformer that has learned nothing yet, by depth."""

from __future__ import annotations

from typing import Any

import gradio as gr

from xformer.figures import training as figures
from xformer.serve.protocol import DEEPEST, LARGEST_SEED, NORMS, WIDEST, StudyService
from xformer.strings import Language
from xformer.ui.components import figure, plot
from xformer.ui.controls import Controls, OneOf, Whole
from xformer.ui.handlers import QUIET, Ask
from xformer.ui.places import note
from xformer.ui.tabs import Page, Tab

ID = "beginning"
OF_SENTENCE = False
ORDERS = ("both", *NORMS)


def build(page: Page, opened: gr.Textbox) -> Tab:
    """Lay the part out; called inside it."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    problem = gr.HTML(elem_classes="status")
    with gr.Row(elem_classes="detail"):
        with gr.Column(scale=7, min_width=320):
            picture = plot("train-gradients", language)
            said = gr.HTML(elem_classes="summary", min_height=60)
        with gr.Column(scale=4, min_width=300, elem_classes="controls"):
            controls.add("grad_order", OneOf(ORDERS, "both"), gr.Radio, label=say("train_order"),
                         choices=language.choices("train_order_{}", ORDERS))
            controls.add("grad_layers", Whole(6, 1, DEEPEST), gr.Slider, label=say("train_layers"))
            controls.add("grad_width", Whole(128, 32, WIDEST, 32), gr.Slider, label=say("train_width"))
            controls.add("grad_seed", Whole(0, 0, LARGEST_SEED), gr.Number, precision=0, minimum=None, maximum=None,
                         label=say("train_seed"))
            gr.HTML(note(language, "train_beginning_text"))
    gr.on([opened.change, *(control.component.change for control in controls.values())],
          **Ask.always(page.study, language, page.tab)(draw, controls.named(), {"said": said, "picture": picture},
                                                       problem, only_in="training"),
          trigger_mode="always_last", **QUIET)
    return Tab(controls)


def draw(study: StudyService, language: Language, *, grad_order: str, grad_layers: int, grad_width: int,
         grad_seed: float | None) -> dict[str, Any]:
    """Draw the gradients of an untrained model, and say how they grow or shrink with depth."""
    orders = NORMS if grad_order == "both" else (grad_order,)
    found = {norm: study.gradients(int(grad_layers), int(grad_width), norm, int(grad_seed or 0)) for norm in orders}
    return {"said": figures.growth(found, language), "picture": figure(figures.gradients(found, language))}
