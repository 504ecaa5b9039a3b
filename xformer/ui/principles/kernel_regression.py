"""Part of the First principles tab about how attention began: kernel regression through points that one may drag."""

import math
from typing import Any

import gradio as gr

from xformer.explain import kernel_regression as kernels
from xformer.figures import kernel_regression as figures
from xformer.figures.labels import lesson
from xformer.serve.protocol import ModelPool
from xformer.strings import Language
from xformer.ui.components import canvas, figure, plot
from xformer.ui.controls import Controls, Real, Words
from xformer.ui.handlers import QUIET, SWIFT, Ask, refused, text_of
from xformer.ui.places import folded
from xformer.ui.tabs import Page

POWER = Real(-1, *kernels.POWERS, step=0.25)
FORMULA = ("<i>f</i>(<i>x</i>) = Σ<sub><i>i</i></sub> softmax<sub><i>i</i></sub>( −(<i>x</i> − "
           "<i>x<sub>i</sub></i>)² / 2<i>h</i>² ) <i>y<sub>i</sub></i>")


def build(page: Page) -> tuple[Controls, gr.Accordion]:
    """Lay the part out; -> its controls, and its accordion."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    with folded(language, "kernels") as part:
        gr.HTML(lesson(say("kernel_heading"), FORMULA, say("kernel_look")))
        with gr.Row(elem_classes="detail"):
            with gr.Column(scale=7, min_width=300):
                curve = canvas("kernel_regression.js", '<p class="caption"></p><div class="drawing"></div>',
                               "kernel-curve", save=language)
            with gr.Column(scale=4, min_width=300, elem_classes="controls"):
                power = controls.add("kernel_power", POWER, gr.Slider, label=say("kernel_power"),
                                     info=say("kernel_power_info"))
                with gr.Row():
                    fit = gr.Button(say("kernel_fit"), size="sm", variant="primary", min_width=140)
                    again = gr.Button(say("kernel_reset"), size="sm", min_width=120)
                said = gr.HTML(elem_classes="summary", min_height=60)
        problem = gr.HTML(elem_classes="status")
        controls.add("kernel_points", Words(), gr.Textbox, visible=False)
        with gr.Row(elem_classes="detail"):
            with gr.Column(min_width=300):
                weights = plot("kernel-map", language)
            with gr.Column(min_width=300):
                errors = plot("kernel-errors", language)
    ask = Ask.always(page.models, language)
    inputs = controls.named()
    shown = {"curve": curve, "said": said, "weights": weights, "errors": errors, **inputs}
    latest: dict[str, Any] = {"trigger_mode": "always_last", **SWIFT}
    part.expand(**ask(draw, inputs, shown, problem), **QUIET)
    power.input(**ask(draw, inputs, shown, problem), **latest)
    curve.move(**ask(move, inputs, shown, problem), **latest)
    fit.click(**ask(descend, inputs, shown, problem), **QUIET)
    again.click(**ask(draw, {"kernel_power": power}, shown, problem, kernel_points="", reset=True), **QUIET)
    return controls, part


@refused(curve=None, said="", weights=None, errors=None)
def draw(models: ModelPool, language: Language, *, kernel_points: str, kernel_power: float, reset: bool = False,
         descent: kernels.Descent | None = None) -> dict[str, Any]:
    """Draw the curve through the points, its weights, and the errors by bandwidth."""
    x, y = kernels.read(kernel_points)
    bandwidth = kernels.bandwidth_at(float(kernel_power))
    with models.guard.work():
        answer = {"curve": figures.payload(x, y, bandwidth, language),
                  "said": figures.told(x, y, bandwidth, descent, language),
                  "weights": figure(figures.weights(x, y, bandwidth, language)),
                  "errors": figure(figures.errors(x, y, descent, language))}
    return {**answer, "kernel_points": ""} if reset else answer


def move(models: ModelPool, language: Language, *, kernel_points: str, kernel_power: float, event: gr.EventData
         ) -> dict[str, Any]:
    """Draw what is changed by a point that was moved."""
    moved = text_of(event, "points")
    return {**draw(models, language, kernel_points=moved, kernel_power=kernel_power), "kernel_points": moved}


@refused(curve=None, said="", weights=None, errors=None)
def descend(models: ModelPool, language: Language, *, kernel_points: str, kernel_power: float) -> dict[str, Any]:
    """Fit the bandwidth by gradient descent from where it is, and draw the way."""
    x, y = kernels.read(kernel_points)
    least, most = (2.0 ** power for power in kernels.POWERS)
    begin = min(most, max(least, kernels.bandwidth_at(float(kernel_power))))
    with models.guard.work():
        descent = kernels.descend(x, y, begin, (least * 1.01, most))
    power = round(math.log2(descent.bandwidths[-1]), 3)
    return {**draw(models, language, kernel_points=kernel_points, kernel_power=power, descent=descent),
            "kernel_power": power}
