"""The Positions tab: the sinusoidal table, why it works, what it does to the sentence, and how far it carries."""

from __future__ import annotations

import logging
import math
from functools import partial
from html import escape
from typing import Any

import gradio as gr
import numpy as np

from xformer.explain import positions as explain
from xformer.figures import positions as figures
from xformer.figures import view
from xformer.figures.picture import Choice
from xformer.figures.translation import notice
from xformer.results import POSITION_KINDS, Moved, Positions, Translation, UserError
from xformer.service import MOST_SHIFT, Service
from xformer.strings import speaker, text
from xformer.ui.ablation import every_head
from xformer.ui.canvas import canvas

log = logging.getLogger(__name__)
BASES = (100.0, 1_000.0, 10_000.0)  # of the lecture notes that this project starts from, and of the paper
LENGTHS = (8, 200, 64)  # of the table: least, most, and what the page begins with
WIDTHS = (4, 512)  # d_model: least, most
POWERS = (1.0, 5.0)  # of ten: the base
MOST_STEPS = 20
NOISE = np.linspace(0, 3, 31)


def build(service: Service, language: str, translation: gr.State, tab: gr.Tab) -> None:
    """Lay the tab out, called inside it; nothing is drawn before it is opened."""
    say = speaker(language)
    info, width = service.info, min(WIDTHS[1], service.info.d_model)

    def plot(name: str) -> gr.Plot:
        return gr.Plot(show_label=False, elem_classes=["picture", f"pos-{name}"])

    gr.HTML(figures.heading("table", language))
    with gr.Row(elem_classes="controls"):
        length = gr.Slider(*LENGTHS, step=1, label=say("pos_length"), min_width=200)
        d_model = gr.Slider(*WIDTHS, value=width, step=2, label="d_model", min_width=200)
        preset = gr.Radio([(f"{base:g}", base) for base in BASES], value=info.position_base, label=say("pos_preset"),
                          min_width=200)
        power = gr.Slider(*POWERS, value=math.log10(info.position_base), step=0.05, label=say("pos_power"),
                          min_width=200)
    table = plot("table")
    dimensions = gr.Dropdown(_dimensions(width), value=[0, 1, width // 4 * 2, width // 4 * 2 + 1], multiselect=True,
                             max_choices=6, label=say("pos_dimensions"))
    curves = plot("curves")
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("waves", language))
            waves = plot("waves")
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("distance", language))
            distances = plot("distance")
    compared = gr.HTML(elem_classes="tables")
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("rotation", language))
            with gr.Row(elem_classes="controls"):
                pair = gr.Slider(0, width // 2 - 1, min(8, width // 4), step=1, label=say("pos_pair"), min_width=140)
                position = gr.Slider(0, LENGTHS[1], 2, step=1, label=say("pos_from"), min_width=140)
                steps = gr.Slider(0, MOST_STEPS, 3, step=1, label=say("pos_steps"), min_width=140)
            circle, proof = plot("rotation"), gr.HTML(elem_classes="summary")
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("noise", language))
            confusion = plot("noise")
    gr.HTML(figures.heading("sentence", language))
    problem, parts = gr.HTML(elem_classes="status"), plot("sentence")
    _experiment(service, language, translation)
    gr.HTML(f'<h4>{escape(say("pos_title_lengths"))}</h4><p class="note">{escape(say("pos_text_lengths"))}</p>')
    scores = service.length_scores
    by_length = plot("lengths") if scores else None
    if by_length is None:
        gr.HTML(f'<p>{escape(say("pos_no_lengths"))} <code>python -m xformer evaluate lengths --pairs dev.tsv '
                "--train DIR --save</code></p>")
    else:
        tab.select(partial(figures.lengths, scores, language), None, by_length, api_visibility="private",
                   show_progress="hidden")

    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "trigger_mode": "always_last"}
    size = [length, d_model, power]
    moved = [control.change for control in size]
    opened = gr.State(False)  # whether anybody has looked at this tab yet
    preset.input(_power, preset, power, **quiet)
    power.change(_preset, power, preset, **quiet)
    d_model.change(_fit, [d_model, dimensions, pair], [dimensions, pair], **quiet)
    for triggers, function, inputs, outputs in (
            (moved, draw_table, size, table),
            ([*moved, dimensions.change], draw_curves, [*size, dimensions], curves),
            (moved, draw_waves, size, waves),
            (moved, draw_distances, size, [distances, compared]),
            ([*moved, pair.change, position.change, steps.change], draw_rotation, [*size, pair, position, steps],
             [circle, proof]),
            ([length.change, d_model.change], draw_confusion, size[:2], confusion)):
        draw = partial(function, language)
        tab.select(draw, inputs, outputs, **quiet)
        gr.on(triggers, draw, inputs, outputs, **quiet)
    sentence = {"fn": partial(draw_sentence, service, language), "inputs": [translation, opened],
                "outputs": [problem, parts], **quiet}
    tab.select(lambda: True, None, opened, **quiet).then(**sentence)
    translation.change(**sentence)


def _dimensions(d_model: int) -> list[tuple[str, int]]:
    return [(str(dimension), dimension) for dimension in range(d_model)]


def _fit(d_model: int, dimensions: list[int], pair: int) -> tuple[Any, Any]:
    """The dimensions and pairs that there are to choose from, what was chosen kept where it is still there."""
    return (gr.update(choices=_dimensions(d_model), value=[d for d in dimensions if d < d_model] or [0, 1]),
            gr.update(maximum=d_model // 2 - 1, value=min(pair, d_model // 2 - 1)))


def _power(base: float) -> float:
    return math.log10(base)


def _base(power: float) -> float:
    """The base from its power of ten, exact where it is one of the presets."""
    base = 10 ** float(power)
    return next((known for known in BASES if math.isclose(known, base, rel_tol=1e-3)), round(base, 1))


def _preset(power: float) -> float | None:
    base = _base(power)
    return base if base in BASES else None


def _bases(power: float) -> list[float]:
    """The bases that are compared: the presets, and the one that is chosen."""
    return sorted({*BASES, _base(power)})


def draw_table(language: str, length: int, d_model: int, power: float) -> Any:
    return figures.table(explain.table(length, d_model, _base(power)), _base(power), language)


def draw_curves(language: str, length: int, d_model: int, power: float, dimensions: list[int]) -> Any:
    kept = [dimension for dimension in dimensions or [0] if dimension < d_model] or [0]
    return figures.curves(explain.table(length, d_model, _base(power)), kept, _base(power), language)


def draw_waves(language: str, length: int, d_model: int, power: float) -> Any:
    return figures.wavelengths(d_model, _bases(power), length, language)


def draw_distances(language: str, length: int, d_model: int, power: float) -> tuple[Any, str]:
    tables = {base: explain.table(length, d_model, base) for base in _bases(power)}
    return figures.distances(tables, language), figures.bases(tables, language)


def draw_rotation(language: str, length: int, d_model: int, power: float, pair: int, position: int, steps: int
                  ) -> tuple[Any, str]:
    """The turn of one pair, and its check; positions beyond the table are the last that fit."""
    rows = explain.table(length, d_model, _base(power))
    pair, steps = min(pair, d_model // 2 - 1), min(steps, length - 1)
    position = min(position, length - 1 - steps)
    return (figures.rotation(rows, pair, position, steps, _base(power), language),
            figures.checked(rows, pair, steps, _base(power), language))


def draw_confusion(language: str, length: int, d_model: int) -> Any:
    shares = {base: explain.confusion(explain.table(length, d_model, base), NOISE) for base in BASES}
    return figures.confusion(shares, NOISE, length, d_model, language)


def draw_sentence(service: Service, language: str, found: Translation | None, opened: bool) -> tuple[str, Any]:
    """What the encoder is given for the sentence on the page, once the tab is open: a problem, and the picture."""
    if not opened:
        return "", gr.skip()
    if found is None:
        return notice([text("no_trace", language)], "error"), gr.skip()
    try:
        return "", figures.sentence(service.embedded(found.source), language)
    except UserError as error:
        return notice([error.say(language)], "error"), gr.skip()
    except Exception:
        log.exception("the embeddings of a sentence failed")
        return notice([text("error_unexpected", language)], "error"), gr.skip()


def _experiment(service: Service, language: str, translation: gr.State) -> None:
    """The part that translates again with other positions, or the words in another order."""
    say = speaker(language)
    layer, head = service.best_head
    gr.HTML(f'<h4>{escape(say("pos_title_change"))}</h4><p class="note">{escape(say("pos_text_change"))}</p>')
    with gr.Row(elem_classes="controls"):
        kind = gr.Radio([(say(f"pos_kind_{name}"), name) for name in POSITION_KINDS], value="none",
                        label=say("pos_kind"), scale=3, min_width=280)
        shift = gr.Number(5, precision=0, minimum=0, maximum=MOST_SHIFT, label=say("pos_shift"), visible=False,
                          min_width=120)
        base = gr.Number(1_000, label=say("pos_base"), visible=False, min_width=120)
        seed = gr.Number(1, precision=0, label=say("pos_seed"), visible=False, min_width=120)
    with gr.Row(elem_classes="ask"):
        shuffled = gr.Checkbox(False, label=say("pos_shuffle"), min_width=160)
        chosen = gr.Dropdown(every_head(service, language), value=f"cross {layer} {head}", label=say("pos_head"),
                             min_width=220, scale=2)
        button = gr.Button(say("pos_run"), variant="primary", min_width=160)
    result, found = gr.HTML(elem_classes="tables ablation pos-result"), gr.State()
    with gr.Row(elem_classes="detail", visible=False) as row:
        views = []
        for name in ("before", "after"):
            with gr.Column(min_width=300):
                views.append(canvas("head_view.js", '<div class="drawing"></div>', f"view pos-{name}"))
    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    kind.change(lambda name: [gr.update(visible=name == "shift"), gr.update(visible=name == "base")], kind,
                [shift, base], **quiet)
    shuffled.change(lambda on: gr.update(visible=on), shuffled, seed, **quiet)
    mapped = {"fn": partial(draw_maps, service, language), "inputs": [found, chosen], "outputs": [row, *views],
              **quiet}
    button.click(partial(run, service, language), [translation, kind, shift, base, shuffled, seed], [result, found],
                 api_visibility="private").then(**mapped)
    chosen.input(**mapped)
    translation.change(lambda: ("", None), None, [result, found], **quiet).then(**mapped)


def run(service: Service, language: str, found: Translation | None, kind: str, shift: float | None,
        base: float | None, shuffled: bool, seed: float | None) -> tuple[str, Any]:
    """Translate again under a change: what became of it, and everything that the maps are drawn from."""
    if found is None:
        return notice([text("no_trace", language)], "error"), None
    if kind == "own" and not shuffled:
        return notice([text("pos_unchanged", language)], "error"), None
    value = {"shift": shift, "base": base}.get(kind, 0)
    if value is None:
        return notice([text("pos_no_number", language)], "error"), None
    positions = Positions(kind, float(value))
    try:
        moved = service.with_positions(found.source, found.best.tokens, positions,
                                       int(seed or 0) if shuffled else None)
    except UserError as error:
        return notice([error.say(language)], "error"), None
    except Exception:
        log.exception("a translation with other positions failed")
        return notice([text("error_unexpected", language)], "error"), None
    return figures.moved(moved, found.best.text, language), (moved, positions)


def draw_maps(service: Service, language: str, found: tuple[Moved, Positions] | None, chosen: str) -> tuple[Any, ...]:
    """The map of a head before and after the change, for assets/head_view.js; hidden where nothing was changed."""
    if found is None:
        return gr.update(visible=False), None, None
    stack, layer, head = chosen.split()
    choice, identity = Choice(stack, int(layer), int(head)), f"{service.info.name} {service.info.identity}"
    before, after = (view.payload(one, choice, identity, language)
                     for one in figures.maps(found[0], choice, found[1], language))
    return gr.update(visible=True), before, after
