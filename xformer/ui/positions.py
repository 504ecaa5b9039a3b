"""The Positions tab: the sinusoidal table, why it works, what it does to the sentence, and how far it carries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from html import escape
from typing import Any

import gradio as gr
import numpy as np

from xformer.explain import positions as explain
from xformer.figures import head_payload
from xformer.figures import positions as figures
from xformer.figures.attention import Choice
from xformer.figures.notice import notice
from xformer.results import BASES as LIMITS
from xformer.results import MOST_SHIFT, POSITION_KINDS, Moved, Positions, Translation
from xformer.serve.translation import Service
from xformer.strings import Language, speaker, text
from xformer.ui.ablation import every_head, head_names
from xformer.ui.address import Kind, OneOf, Real, Several, Switch, Take, Whole
from xformer.ui.components import canvas, figure, plot
from xformer.ui.handlers import QUIET, SWIFT, Ask, refusal

TAB = "positions"
BASES = (100.0, 1_000.0, 10_000.0)  # of the lecture notes that this project starts from, and of the paper
LENGTHS = (8, 200, 64)  # of the table: least, most, and what the page begins with
WIDTHS = (4, 512)  # d_model: least, most
POWERS = (1.0, 5.0)  # of ten: the base
MOST_STEPS = 20
MOST_CURVES = 6
NOISE = np.linspace(0, 3, 31)
# The dimensions and pairs that there are to choose from, what was chosen kept where it is still there. In the browser,
# so that the answer cannot come after another choice and undo it.
FIT = """(d_model, dimensions, pair) => {
  const kept = dimensions.filter(dimension => dimension < d_model), most = Math.floor(d_model / 2) - 1;
  const choices = Array.from({length: d_model}, (_, dimension) => [String(dimension), dimension]);
  return [{__type__: 'update', choices, value: kept.length ? kept : [0, 1]},
          {__type__: 'update', maximum: most, value: Math.min(pair, most)}];
}"""


def kinds(service: Service, d_model: int | None = None) -> dict[str, Kind]:
    """What the address says of this tab, in the order of its controls. d_model: of the table, the model's own if None.
    """
    width = min(WIDTHS[1], service.info.d_model)
    wide = d_model or width
    layer, head = service.best_head
    return {"length": Whole(LENGTHS[2], *LENGTHS[:2]), "d_model": Whole(width, *WIDTHS, step=2),
            "base_power": Real(math.log10(service.info.position_base), *POWERS),
            "dimensions": Several((0, 1, wide // 4 * 2, wide // 4 * 2 + 1), wide - 1, MOST_CURVES),
            "pair": Whole(min(8, wide // 4), 0, wide // 2 - 1), "position": Whole(2, 0, LENGTHS[1]),
            "steps": Whole(3, 0, MOST_STEPS), "positions": OneOf(POSITION_KINDS, "none"),
            "shift": Whole(5, 0, MOST_SHIFT), "base": Real(1_000, *LIMITS), "shuffle": Switch(),
            "seed": Whole(1, 0, 999_999), "compare": OneOf(head_names(service), f"cross {layer} {head}"),
            "moved": Switch()}


def arrive(service: Service, language: Language, take: Take) -> list[Any]:
    """The values of the tab's controls for an address, in the order of `kinds`."""
    d_model = take("d_model", kinds(service)["d_model"])
    found = {name: take(name, kind) for name, kind in kinds(service, d_model).items() if name != "d_model"}
    kind = found["positions"]
    return [found["length"], d_model, found["base_power"],
            gr.update(choices=_dimensions(d_model), value=list(found["dimensions"])),
            gr.update(maximum=d_model // 2 - 1, value=found["pair"]), found["position"], found["steps"], kind,
            gr.update(visible=kind == "shift", value=found["shift"]),
            gr.update(visible=kind == "base", value=found["base"]), found["shuffle"],
            gr.update(visible=found["shuffle"], value=found["seed"]),
            gr.update(choices=every_head(service, language), value=found["compare"]), found["moved"]]


def build(ask: Ask, translation: gr.State, shown: gr.Textbox) -> tuple[dict[str, Any], list[gr.Column]]:
    """Lay the tab out, called inside it; -> its controls, as `kinds` names them, and what is seen where quality by
    length was measured and where it was not.

    shown: which tab is open; nothing is drawn before it is this one.
    """
    language, service = ask.language, ask.service
    say = speaker(language)
    own = {name: kind.default for name, kind in kinds(service).items()}

    def slider(name: str, label: str, least: float, most: float, step: float = 1, width: int = 140) -> gr.Slider:
        return gr.Slider(least, most, own[name], step=step, label=label, min_width=width)

    gr.HTML(figures.heading("table", language))
    with gr.Row(elem_classes="controls"):
        length = slider("length", say("pos_length"), *LENGTHS[:2], width=200)
        d_model = slider("d_model", "d_model", *WIDTHS, step=2, width=200)
        preset = gr.Radio([(f"{base:g}", base) for base in BASES], value=_base(own["base_power"]),
                          label=say("pos_preset"), min_width=200)
        power = slider("base_power", say("pos_power"), *POWERS, step=0.05, width=200)
    table = plot("pos-table", language)
    dimensions = gr.Dropdown(_dimensions(own["d_model"]), value=list(own["dimensions"]), multiselect=True,
                             max_choices=MOST_CURVES, label=say("pos_dimensions"))
    curves = plot("pos-curves", language)
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("waves", language))
            waves = plot("pos-waves", language)
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("distance", language))
            distances = plot("pos-distance", language)
    compared = gr.HTML(elem_classes="tables")
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("rotation", language))
            with gr.Row(elem_classes="controls"):
                pair = slider("pair", say("pos_pair"), 0, own["d_model"] // 2 - 1)
                position = slider("position", say("pos_from"), 0, LENGTHS[1])
                steps = slider("steps", say("pos_steps"), 0, MOST_STEPS)
            circle, proof = plot("pos-rotation", language), gr.HTML(elem_classes="summary")
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("noise", language))
            confusion = plot("pos-noise", language)
    gr.HTML(figures.heading("sentence", language))
    problem, parts = gr.HTML(elem_classes="status"), plot("pos-sentence", language)
    experiment = _experiment(ask, translation, own)
    gr.HTML(f'<h4>{escape(say("pos_title_lengths"))}</h4><p class="note">{escape(say("pos_text_lengths"))}</p>')
    latest: dict[str, Any] = {**QUIET, "trigger_mode": "always_last"}
    with gr.Column(visible=bool(service.length_scores)) as measured:
        gr.on([shown.change], **ask(draw_lengths, [shown]), outputs=plot("pos-lengths", language), **latest)
    with gr.Column(visible=not service.length_scores) as unmeasured:
        gr.HTML(f'<p>{escape(say("pos_no_lengths"))} <code>python -m xformer evaluate lengths --pairs dev.tsv '
                "--train DIR --save</code></p>")

    # In the browser: the presets and the slider are one number, and a control is redrawn without being asked for.
    preset.input(None, preset, power, js="base => Math.log10(base)", **latest)
    power.change(None, power, preset, **latest,
                 js=f"power => {list(BASES)}.find(base => Math.abs(Math.log10(base) - power) < 1e-3) ?? null")
    d_model.input(None, [d_model, dimensions, pair], [dimensions, pair], js=FIT, **latest)
    # Two listeners for the pictures that need no model, each of which draws those whose controls were moved: the first
    # for those beside the sliders, and when these are there, the second for the others.
    near, far, inputs = gr.State({}), gr.State({}), [shown, length, d_model, power, dimensions, pair, position, steps]
    gr.on([shown.change, *(control.change for control in (length, d_model, power)), dimensions.input],
          partial(draw, language, True), [near, *inputs], [near, table, curves], trigger_mode="always_last", **SWIFT)
    gr.on([table.change, *(control.input for control in (pair, position, steps))], partial(draw, language, False),
          [far, *inputs], [far, waves, distances, compared, circle, proof, confusion], trigger_mode="always_last",
          **SWIFT)
    gr.on([shown.change, translation.change], **ask(draw_sentence, [translation, shown]),
          outputs=[problem, parts], **latest)
    controls = [length, d_model, power, dimensions, pair, position, steps, *experiment]
    return dict(zip(own, controls, strict=True)), [measured, unmeasured]


def _dimensions(d_model: int) -> list[tuple[str, int]]:
    return [(str(dimension), dimension) for dimension in range(d_model)]


def _base(power: float) -> float:
    """The base from its power of ten, exact where it is one of the presets."""
    base = 10 ** float(power)
    return next((known for known in BASES if math.isclose(known, base, rel_tol=1e-3)), round(base, 1))


def _bases(power: float) -> list[float]:
    """The bases that are compared: the presets, and the one that is chosen."""
    return sorted({*BASES, _base(power)})


def draw(language: Language, near: bool, drawn: dict[str, Any], shown: str, length: int, d_model: int, power: float,
         dimensions: list[int], pair: int, position: int, steps: int) -> list[Any]:
    """What was drawn for which values, and those pictures whose values have changed, where the tab is open: the first
    two, or the others."""
    size = (length, d_model, power)
    pictures: list[tuple[Any, tuple[Any, ...], int]] = [  # what draws it, for what, and how many components it fills
        (draw_table, size, 1), (draw_curves, (*size, tuple(dimensions)), 1), (draw_waves, size, 1),
        (draw_distances, size, 2), (draw_rotation, (*size, pair, position, steps), 2),
        (draw_confusion, size, 1)]
    now, answer = dict(drawn), []
    for function, values, count in pictures[:2] if near else pictures[2:]:
        if shown != TAB or drawn.get(function.__name__) == values:
            answer += [gr.skip()] * count
        else:
            made = function(language, *values)
            answer += made if count > 1 else [made]
            now[function.__name__] = values
    return [now, *answer]


def draw_table(language: Language, length: int, d_model: int, power: float) -> Any:
    return figure(figures.table(explain.table(length, d_model, _base(power)), _base(power), language))


def draw_curves(language: Language, length: int, d_model: int, power: float, dimensions: Sequence[int]) -> Any:
    kept = [dimension for dimension in dimensions or [0] if dimension < d_model] or [0]
    return figure(figures.curves(explain.table(length, d_model, _base(power)), kept, _base(power), language))


def draw_waves(language: Language, length: int, d_model: int, power: float) -> Any:
    return figure(figures.wavelengths(d_model, _bases(power), length, language))


def draw_distances(language: Language, length: int, d_model: int, power: float) -> tuple[Any, str]:
    tables = {base: explain.table(length, d_model, base) for base in _bases(power)}
    return figure(figures.distances(tables, language)), figures.bases(tables, language)


def draw_rotation(language: Language, length: int, d_model: int, power: float, pair: int, position: int, steps: int
                  ) -> tuple[Any, str]:
    """The turn of one pair, and its check; positions beyond the table are the last that fit."""
    rows = explain.table(length, d_model, _base(power))
    pair, steps = min(pair, d_model // 2 - 1), min(steps, length - 1)
    position = min(position, length - 1 - steps)
    return (figure(figures.rotation(rows, pair, position, steps, _base(power), language)),
            figures.checked(rows, pair, steps, _base(power), language))


@lru_cache(16)
def _confusion(length: int, d_model: int, base: float) -> np.ndarray:
    return explain.confusion(explain.table(length, d_model, base), NOISE)


def draw_confusion(language: Language, length: int, d_model: int, power: float) -> Any:
    shares = {base: _confusion(length, d_model, base) for base in _bases(power)}
    return figure(figures.confusion(shares, NOISE, length, d_model, language))


def draw_lengths(service: Service, language: Language, shown: str) -> Any:
    scores = service.length_scores
    return figure(figures.lengths(scores, language)) if shown == TAB and scores else gr.skip()


def draw_sentence(service: Service, language: Language, found: Translation | None, shown: str) -> tuple[str, Any]:
    """What the encoder is given for the sentence on the page, where the tab is open: a problem, and the picture."""
    if shown != TAB:
        return "", gr.skip()
    if found is None:
        return notice([text("no_trace", language)], "error"), gr.skip()
    try:
        return "", figure(figures.sentence(service.embedded(found.source), language))
    except Exception as error:
        return refusal(error, language), gr.skip()


def _experiment(ask: Ask, translation: gr.State, own: dict[str, Any]) -> list[Any]:
    """The part that translates again with other positions, or the words in another order; -> its controls."""
    say = speaker(ask.language)
    gr.HTML(f'<h4>{escape(say("pos_title_change"))}</h4><p class="note">{escape(say("pos_text_change"))}</p>')
    with gr.Row(elem_classes="controls"):
        kind = gr.Radio([(say(f"pos_kind_{name}"), name) for name in POSITION_KINDS], value=own["positions"],
                        label=say("pos_kind"), scale=3, min_width=280)
        shift = gr.Number(own["shift"], precision=0, minimum=0, maximum=MOST_SHIFT, label=say("pos_shift"),
                          visible=False, min_width=120)
        base = gr.Number(own["base"], label=say("pos_base"), visible=False, min_width=120)
        seed = gr.Number(own["seed"], precision=0, label=say("pos_seed"), visible=False, min_width=120)
    with gr.Row(elem_classes="ask"):
        shuffled = gr.Checkbox(own["shuffle"], label=say("pos_shuffle"), min_width=160)
        chosen = gr.Dropdown(every_head(ask.service, ask.language), value=own["compare"], label=say("pos_head"),
                             min_width=220, scale=2)
        button = gr.Button(say("pos_run"), variant="primary", min_width=160)
    result, found = gr.HTML(elem_classes="tables ablation pos-result"), gr.State()
    moved = gr.Checkbox(False, visible=False)  # whether the result is on the page: the address says so
    with gr.Row(elem_classes="detail", visible=False) as row:
        views = []
        for name in ("before", "after"):
            with gr.Column(min_width=300):
                views.append(canvas("head_view.js", '<div class="drawing"></div>', f"view pos-{name}",
                                    save=ask.language))
    kind.change(lambda name: [gr.update(visible=name == "shift"), gr.update(visible=name == "base")], kind,
                [shift, base], **QUIET)
    shuffled.change(lambda on: gr.update(visible=on), shuffled, seed, **QUIET)
    changed = [kind, shift, base, shuffled, seed, chosen]
    outputs = [result, found, row, *views, moved]
    button.click(**ask(run, [translation, *changed]), outputs=outputs, api_visibility="private")
    # A link that shows the change makes it again; another sentence forgets it.
    translation.change(**ask(again, [moved, found, translation, *changed]), outputs=outputs,
                       trigger_mode="always_last", **QUIET)
    chosen.input(**ask(draw_maps, [found, chosen]), outputs=[row, *views], **QUIET)
    return [kind, shift, base, shuffled, seed, chosen, moved]


def again(service: Service, language: Language, moved: bool, made: tuple[Moved, Positions] | None,
          found: Translation | None, *changed: Any) -> tuple[Any, ...]:
    """What becomes of a change when there is another translation: forgotten, or made where a link says so."""
    if moved and made is None:
        return run(service, language, found, *changed)
    return "", None, gr.update(visible=False), None, None, False


def run(service: Service, language: Language, found: Translation | None, kind: str, shift: float | None,
        base: float | None, shuffled: bool, seed: float | None, chosen: str) -> tuple[Any, ...]:
    """Translate again under a change: what became of it, what the maps are drawn from, the maps, and whether it went.
    """
    said, moved = _moved(service, language, found, kind, shift, base, shuffled, seed)
    return said, moved, *draw_maps(service, language, moved, chosen), moved is not None


def _moved(service: Service, language: Language, found: Translation | None, kind: str, shift: float | None,
           base: float | None, shuffled: bool, seed: float | None) -> tuple[str, tuple[Moved, Positions] | None]:
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
                                       int(seed or 0) if shuffled else None, found.alone, found.max_length)
    except Exception as error:
        return refusal(error, language), None
    return figures.moved(moved, found.best.text, language), (moved, positions)


def draw_maps(service: Service, language: Language, found: tuple[Moved, Positions] | None, chosen: str
              ) -> tuple[Any, ...]:
    """The map of a head before and after the change, for assets/head_view.js; hidden where nothing was changed."""
    if found is None:
        return gr.update(visible=False), None, None
    stack, layer, head = chosen.split()
    choice, identity = Choice(stack, int(layer), int(head)), f"{service.info.name} {service.info.identity}"
    before, after = (head_payload.payload(one, choice, identity, language)
                     for one in figures.maps(found[0], choice, found[1], language))
    return gr.update(visible=True), before, after
