"""Part of the First principles tab about how attention began: kernel regression through
points that one may drag."""

import math
from collections.abc import Callable
from typing import Any

import gradio as gr

from xformer.figures.labels import FORMULAS, lesson
from xformer.parts.kernel_regression import draw as figures
from xformer.parts.kernel_regression import kernels
from xformer.serve.protocol import ModelPool
from xformer.strings import Language
from xformer.ui.components import figure, script
from xformer.ui.controls import Real, Words
from xformer.ui.handlers import QUIET, SWIFT_LATEST, refused, text_of
from xformer.ui.layout import Layout, narrow, wide
from xformer.ui.tabs import Listener, opened_by

ID = "kernels"
NAME = "kernel_title"
WITHIN = "before"
POWER = Real(-1, *kernels.POWERS, step=0.25)


def build(part: Layout) -> None:
    """Lay the part out, and what it folds into."""
    say = part.say
    with part.folded("kernels") as fold:
        gr.HTML(
            lesson(
                part.language,
                "kernel_heading",
                FORMULAS["kernel_regression"]["kernel"],
                "kernel_look",
            )
        )
        with gr.Row(elem_classes="detail"):
            with wide():
                part["curve"] = part.canvas(
                    "kernel_regression.js",
                    '<p class="caption"></p><div class="drawing"></div>',
                    "kernel-curve",
                    frame="chart",
                )
            with narrow(elem_classes="controls"):
                power = part.control(
                    "kernel_power", POWER, gr.Slider, info="kernel_power_info"
                )
                with gr.Row():
                    fit = gr.Button(
                        say("kernel_fit"), size="sm", variant="primary", min_width=140
                    )
                    again = gr.Button(say("kernel_reset"), size="sm", min_width=120)
                part["said"] = gr.HTML(elem_classes="summary", min_height=60)
        part.status()
        part.hidden("kernel_points", Words(), gr.Textbox)
        part.beside(part.plot, {"weights": "kernel-map", "errors": "kernel-errors"})

    def listener(handler: Callable[..., Any], **fixed: Any) -> Listener:
        return part.listener(
            handler,
            "curve",
            "said",
            "weights",
            "errors",
            *part.controls,
            problem="problem",
            ask=part.page.always(part.page.models),
            **fixed,
        )

    fold.expand(**listener(draw), **QUIET)
    power.input(**listener(draw), **SWIFT_LATEST)
    part["curve"].move(**listener(move), **SWIFT_LATEST)
    fit.click(None, js=script("whenMoved"), **QUIET).then(**listener(descend), **QUIET)
    again.click(None, js=script("whenMoved"), **QUIET).then(
        **listener(draw, kernel_points="", reset=True), **QUIET
    )
    part.views["kernels"] = opened_by(part.controls, fold)


@refused(curve=None, said="", weights=None, errors=None)
def draw(
    models: ModelPool,
    language: Language,
    *,
    kernel_points: str,
    kernel_power: float,
    reset: bool = False,
    descent: kernels.Descent | None = None,
) -> dict[str, Any]:
    """Draw the curve through the points, its weights, and the errors by bandwidth."""
    x, y = kernels.read(kernel_points)
    bandwidth = kernels.bandwidth_at(float(kernel_power))
    with models.guard.work():
        answer = {
            "curve": figures.payload(x, y, bandwidth, language),
            "said": figures.told(x, y, bandwidth, descent, language),
            "weights": figure(figures.weights(x, bandwidth, language)),
            "errors": figure(figures.errors(x, y, descent, language)),
        }
    return {**answer, "kernel_points": ""} if reset else answer


def move(
    models: ModelPool,
    language: Language,
    *,
    kernel_points: str,
    kernel_power: float,
    event: gr.EventData,
) -> dict[str, Any]:
    """Draw what is changed by a point that was moved."""
    moved = text_of(event, "points")
    return {
        **draw(models, language, kernel_points=moved, kernel_power=kernel_power),
        "kernel_points": moved,
    }


@refused(curve=None, said="", weights=None, errors=None)
def descend(
    models: ModelPool, language: Language, *, kernel_points: str, kernel_power: float
) -> dict[str, Any]:
    """Fit the bandwidth by gradient descent from where it is, and draw the way."""
    x, y = kernels.read(kernel_points)
    least, most = (2.0**power for power in kernels.POWERS)
    begin = min(most, max(least, kernels.bandwidth_at(float(kernel_power))))
    with models.guard.work():
        descent = kernels.descend(x, y, begin, (least * 1.01, most))
    power = round(math.log2(descent.bandwidths[-1]), 3)
    return {
        **draw(
            models,
            language,
            kernel_points=kernel_points,
            kernel_power=power,
            descent=descent,
        ),
        "kernel_power": power,
    }
