"""Part of the Training tab: the gradients of a transformer that has learned nothing
yet, by depth."""

from typing import Any

import gradio as gr

from xformer.figures import training as figures
from xformer.serve.protocol import DEEPEST, LARGEST_SEED, NORMS, WIDEST, StudyService
from xformer.strings import Language
from xformer.ui.components import figure
from xformer.ui.controls import Whole
from xformer.ui.handlers import SWIFT_LATEST
from xformer.ui.layout import Layout, narrow, wide

ID = "beginning"
ORDERS = ("both", *NORMS)


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    part.ask = part.page.always(part.page.study)
    part.status()
    with gr.Row(elem_classes="detail"):
        with wide():
            part["picture"] = part.plot("train-gradients")
            part["said"] = gr.HTML(elem_classes="summary", min_height=60)
        with narrow(elem_classes="controls"):
            part.choice("grad_order", ORDERS, "both", "train_order_{}", "train_order")
            part.control("grad_layers", Whole(6, 1, DEEPEST), gr.Slider, "train_layers")
            part.control(
                "grad_width", Whole(128, 32, WIDEST, 32), gr.Slider, "train_width"
            )
            part.number("grad_seed", Whole(0, 0, LARGEST_SEED), "train_seed")
            part.note("train_beginning_text")
    gr.on(
        [part.opened.change, *part.changes()],
        **part.listener(draw, "said", "picture", problem="problem", only_here=True),
        **SWIFT_LATEST,
    )


def draw(
    study: StudyService,
    language: Language,
    *,
    grad_order: str,
    grad_layers: int,
    grad_width: int,
    grad_seed: float | None,
) -> dict[str, Any]:
    """Draw the gradients of an untrained model, and say how they grow or shrink with
    depth."""
    orders = NORMS if grad_order == "both" else (grad_order,)
    found = {
        norm: study.gradients(
            int(grad_layers), int(grad_width), norm, int(grad_seed or 0)
        )
        for norm in orders
    }
    return {
        "said": figures.growth(found, language),
        "picture": figure(figures.gradients(found, language)),
    }
