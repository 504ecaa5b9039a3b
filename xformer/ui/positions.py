"""The Positions tab: a sentence without its positions, the sinusoidal table, why it works, and how far it carries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import gradio as gr
import numpy as np

from xformer.explain import positions as explain
from xformer.figures import head_payload
from xformer.figures import positions as figures
from xformer.figures.attention import Choice
from xformer.results import BASES as LIMITS
from xformer.results import MOST_SHIFT, POSITION_KINDS, Head, Message, Moved, Positions, Translation, UserError
from xformer.serve.protocol import ModelPool, TranslationService
from xformer.strings import Language
from xformer.ui.components import canvas, figure, plot, script
from xformer.ui.controls import Controls, OneOf, Real, Several, Switch, Values, Whole, one_head
from xformer.ui.handlers import QUIET, SWIFT, Ask, needs, refused
from xformer.ui.tabs import Page, Tab, View

ID = "positions"
BASES = (100.0, 1_000.0, 10_000.0)  # the last is that of the paper
LENGTH = Whole(64, 8, 200)  # of the table
WIDTHS = (4, 512)  # d_model: least, most
POWERS = (1.0, 5.0)  # of ten: the base
MOST_STEPS = 20
MOST_CURVES = 6
NOISE = np.linspace(0, 3, 31)
LATEST: dict[str, Any] = {**QUIET, "trigger_mode": "always_last"}
SIZE = ("length", "d_model", "base_power")  # keys of the controls that all pictures of the table depend on


def width(service: TranslationService, _: Values) -> Whole:
    """The width of the table, the model's own by default."""
    return Whole(min(WIDTHS[1], service.info.d_model), *WIDTHS, step=2)


def base_power(service: TranslationService, _: Values) -> Real:
    """The base as a power of ten, the model's own by default."""
    return Real(math.log10(service.info.position_base), *POWERS, step=0.05)


def dimensions_of(_: TranslationService, so_far: Values) -> Several:
    """The dimensions of the table that are drawn as curves."""
    middle = so_far["d_model"] // 4 * 2
    return Several((0, 1, middle, middle + 1), so_far["d_model"] - 1, MOST_CURVES)


def pair_of(_: TranslationService, so_far: Values) -> Whole:
    """The pair of dimensions that is turned."""
    return Whole(min(8, so_far["d_model"] // 4), 0, so_far["d_model"] // 2 - 1)


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it: one's own sentence without its positions, and the rest for who asks."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    experiment = _experiment(page)
    with gr.Accordion(say("pos_part_table"), open=False) as of_table:
        gr.HTML(figures.heading("table", language))
        with gr.Row(elem_classes="controls"):
            length = controls.add("length", LENGTH, gr.Slider, label=say("pos_length"), min_width=200)
            d_model = controls.add("d_model", width, gr.Slider, label=say("pos_width"), min_width=200)
            power = controls.add("base_power", base_power, gr.Slider, label=say("pos_power"), min_width=200,
                                 info=say("pos_power_info"))
        with gr.Row(elem_classes="detail"):
            with gr.Column(min_width=300):
                table = plot("pos-table", language)
            with gr.Column(min_width=300):
                curves = plot("pos-curves", language)
                dimensions = controls.add("dimensions", dimensions_of, gr.Dropdown, multiselect=True,
                                          max_choices=MOST_CURVES, label=say("pos_dimensions"))
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
                    pair = controls.add("pair", pair_of, gr.Slider, label=say("pos_pair_label"), min_width=140)
                    position = controls.add("position", Whole(2, 0, LENGTH.most), gr.Slider, label=say("pos_from"),
                                            min_width=140)
                    steps = controls.add("steps", Whole(3, 0, MOST_STEPS), gr.Slider, label=say("pos_steps"),
                                         min_width=140)
                circle, proof = plot("pos-rotation", language), gr.HTML(elem_classes="summary")
            with gr.Column(min_width=300):
                gr.HTML(figures.heading("noise", language))
                confusion = plot("pos-noise", language)
    with gr.Accordion(say("pos_title_sentence"), open=False) as of_sentence:
        gr.HTML(figures.heading("sentence", language))
        problem, parts = gr.HTML(elem_classes="status"), plot("pos-sentence", language)
    with gr.Accordion(say("pos_title_lengths"), open=False) as of_lengths:
        gr.HTML(f'<p class="note">{language.html("pos_text_lengths", fewest=figures.FEWEST)}</p>')
        with gr.Column(visible=bool(page.service.length_scores)) as measured:
            lengths = plot("pos-lengths", language)
        with gr.Column(visible=not page.service.length_scores) as unmeasured:
            gr.HTML(f'<p>{language.html("pos_no_lengths")} <code>python -m xformer evaluate lengths --pairs dev.tsv '
                    "--train DIR --save</code></p>")

    # In the browser: a control is redrawn without being asked for.
    d_model.input(None, [d_model, dimensions, pair], [dimensions, pair], js=script("fitWidth"), **LATEST)
    # Two listeners for the pictures that need no model, each of which draws those whose controls were moved: the first
    # for those beside the sliders, and when these are there, the second for the others.
    no_model, near, far = Ask.always(page.models, language, page.tab), gr.State({}), gr.State({})
    table_open, sentence_open = gr.State(False), gr.State(False)  # whether these parts are looked at
    draw_near = no_model(draw, {"looked_at": table_open, "drawn": near, **controls.named(*SIZE, "dimensions")},
                         {"drawn": near, "table": table, "curves": curves}, only_in=ID, pictures=NEAR)
    gr.on([page.opened[ID].change, length.change, d_model.change, power.change, dimensions.input], **draw_near,
          trigger_mode="always_last", **SWIFT)
    # After the State, by when the controls have what an address asks for that has opened the part.
    of_table.expand(lambda: True, None, table_open, **QUIET).then(**draw_near, **SWIFT)
    of_table.collapse(lambda: False, None, table_open, **QUIET)
    of_sentence.expand(lambda: True, None, sentence_open, **QUIET)
    of_sentence.collapse(lambda: False, None, sentence_open, **QUIET)
    gr.on([table.change, pair.input, position.input, steps.input],
          **no_model(draw, {"looked_at": table_open, "drawn": far,
                            **controls.named(*SIZE, "pair", "position", "steps")},
                     {"drawn": far, "waves": waves, "distances": distances, "compared": compared, "circle": circle,
                      "proof": proof, "confusion": confusion}, only_in=ID, pictures=FAR),
          trigger_mode="always_last", **SWIFT)
    gr.on([sentence_open.change, page.translation.change],
          **page.ask(draw_sentence, {"looked_at": sentence_open, "translation": page.translation},
                     {"picture": parts}, problem, only_in=ID), **LATEST)
    of_lengths.expand(**page.ask(draw_lengths, {}, {"picture": lengths}), **LATEST)

    def asked(service: TranslationService, values: Values) -> bool:
        """Whether the address asks something of the table."""
        defaults = controls.defaults(service)
        return any(values[key] != defaults[key] for key in of_the_table)

    of_the_table = tuple(controls)
    controls.include(experiment)
    return Tab(controls, {
        # As a component, which is set together with the values of the controls: it tells at once that it is open.
        "table": View(of_table, lambda service, values: gr.Accordion(open=True) if asked(service, values) else
                      gr.skip()),
        "measured": View(measured, lambda service, values: gr.update(visible=bool(service.length_scores))),
        "unmeasured": View(unmeasured, lambda service, values: gr.update(visible=not service.length_scores))})


def _base(power: float) -> float:
    """The base from its power of ten, exact where it is one of the presets."""
    base = 10 ** float(power)
    return next((known for known in BASES if math.isclose(known, base, rel_tol=1e-3)), round(base, 1))


def _bases(power: float) -> list[float]:
    """The bases that are compared: the presets, and the one that is chosen."""
    return sorted({*BASES, _base(power)})


def draw(models: ModelPool, language: Language, *, pictures: Sequence[str], drawn: dict[str, Any],
         looked_at: bool = True, **values: Any) -> dict[str, Any]:
    """Draw those of some pictures whose controls have changed, in turn with all other long computations.

    drawn: by picture, the values it was drawn for. looked_at: nothing is drawn where nobody sees it.
    """
    if not looked_at:
        return {}
    wanted = {name: {key: values[key] for key in PICTURES[name][1]} for name in pictures}
    answer: dict[str, Any] = {"drawn": {**drawn, **wanted}}
    new = [name for name, inputs in wanted.items() if drawn.get(name) != inputs]
    if new:
        with models.guard.work() as pause:
            for name in new:
                answer |= PICTURES[name][0](language, **wanted[name])
                pause()
    return answer


def draw_table(language: Language, length: int, d_model: int, base_power: float) -> dict[str, Any]:
    """Draw the table of positions."""
    base = _base(base_power)
    return {"table": figure(figures.table(explain.table(length, d_model, base), base, language))}


def draw_curves(language: Language, length: int, d_model: int, base_power: float, dimensions: Sequence[int]
                ) -> dict[str, Any]:
    """Draw some dimensions as curves, the first one where none of them is in the table."""
    base, kept = _base(base_power), [dimension for dimension in dimensions or [] if dimension < d_model] or [0]
    return {"curves": figure(figures.curves(explain.table(length, d_model, base), kept, base, language))}


def draw_waves(language: Language, length: int, d_model: int, base_power: float) -> dict[str, Any]:
    """Draw the wavelengths of all dimensions."""
    return {"waves": figure(figures.wavelengths(d_model, _bases(base_power), length, language))}


def draw_distances(language: Language, length: int, d_model: int, base_power: float) -> dict[str, Any]:
    """Draw the dot products of positions by their distance, and compare the bases in a table."""
    tables = {base: explain.table(length, d_model, base) for base in _bases(base_power)}
    return {"distances": figure(figures.distances(tables, language)), "compared": figures.bases(tables, language)}


def draw_rotation(language: Language, length: int, d_model: int, base_power: float, pair: int, position: int,
                  steps: int) -> dict[str, Any]:
    """Draw the turn of one pair, and check it; positions beyond the table are the last that fit."""
    base = _base(base_power)
    rows = explain.table(length, d_model, base)
    pair, steps = min(pair, d_model // 2 - 1), min(steps, length - 1)
    position = min(position, length - 1 - steps)
    return {"circle": figure(figures.rotation(rows, pair, position, steps, base, language)),
            "proof": figures.checked(rows, pair, steps, base, language)}


@lru_cache(16)
def _confusion(length: int, d_model: int, base: float) -> np.ndarray:
    return explain.confusion(explain.table(length, d_model, base), NOISE)


def draw_confusion(language: Language, length: int, d_model: int, base_power: float) -> dict[str, Any]:
    """Draw how often noise makes one position be taken for another."""
    shares = {base: _confusion(length, d_model, base) for base in _bases(base_power)}
    return {"confusion": figure(figures.confusion(shares, NOISE, length, d_model, language))}


# The functions that draw without a model, and the keys of the controls that each depends on.
PICTURES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "table": (draw_table, SIZE), "curves": (draw_curves, (*SIZE, "dimensions")), "waves": (draw_waves, SIZE),
    "distances": (draw_distances, SIZE), "rotation": (draw_rotation, (*SIZE, "pair", "position", "steps")),
    "confusion": (draw_confusion, SIZE)}
NEAR, FAR = ("table", "curves"), ("waves", "distances", "rotation", "confusion")


def draw_lengths(service: TranslationService, language: Language) -> dict[str, Any]:
    """Draw translation quality by length of sentence, where it was measured."""
    scores = service.length_scores
    return {"picture": figure(figures.lengths(scores, language))} if scores else {}


@needs(translation="no_trace")
def draw_sentence(service: TranslationService, language: Language, *, translation: Translation, looked_at: bool = True
                  ) -> dict[str, Any]:
    """Draw the vectors that the encoder is given for the sentence on the page, where somebody looks at them."""
    if not looked_at:
        return {}
    return {"picture": figure(figures.sentence(service.embedded(translation.source), language))}


# The properties of controls that are shown only for some values of others.
SHOWN = {"shift": lambda values: {"visible": values["positions"] == "shift"},
         "base": lambda values: {"visible": values["positions"] == "base"},
         "seed": lambda values: {"visible": values["shuffle"]}}


def _experiment(page: Page) -> Controls:
    """Lay out the part that translates again with other positions, or the words in another order; -> its controls."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    with gr.Row(elem_classes="experiment"):
        with gr.Column(scale=7, min_width=320):
            result, change = gr.HTML(elem_classes="tables ablation pos-result", min_height=320), gr.State()
        with gr.Column(scale=4, min_width=300, elem_classes="controls"):
            kind = controls.add("positions", OneOf(POSITION_KINDS, "none"), gr.Radio, label=say("pos_kind"),
                                choices=[(say(f"pos_kind_{name}"), name) for name in POSITION_KINDS])
            shift = controls.add("shift", Whole(5, 0, MOST_SHIFT), gr.Number, properties=SHOWN["shift"], precision=0,
                                 label=say("pos_shift"))
            # Gradio refuses what is beyond a minimum or maximum with words of its own, so these two have none.
            base = controls.add("base", Real(1_000, *LIMITS), gr.Number, properties=SHOWN["base"], minimum=None,
                                maximum=None, label=say("pos_base"))
            shuffle = controls.add("shuffle", Switch(), gr.Checkbox, label=say("pos_shuffle"))
            seed = controls.add("seed", Whole(1, 0, 999_999), gr.Number, properties=SHOWN["seed"], precision=0,
                                minimum=None, maximum=None, label=say("pos_seed"))
            compare = controls.add("compare", one_head(language), gr.Dropdown, label=say("pos_head"))
            button = gr.Button(say("pos_run"), variant="primary")
            gr.HTML(f'<h4>{language.html("pos_title_change")}</h4>'
                    f'<p class="note">{language.html("pos_text_change")}</p>')
    views = {}
    with gr.Row(elem_classes="detail", visible=False) as maps:
        for name in ("before", "after"):
            with gr.Column(min_width=300):
                views[name] = canvas("head_view.js", '<div class="drawing"></div>', f"view pos-{name}", save=language)
    gr.on([kind.change, shuffle.change],
          **Ask.always(None, language)(show, controls.named("positions", "shuffle"), controls.named(*SHOWN)), **LATEST)
    asked = {"change": change, "translation": page.translation, **controls.named()}
    shown = {"maps": maps, **views}
    gr.on([page.opened[ID].change, page.translation.change, button.click, kind.input, shuffle.input, shift.submit,
           base.submit, seed.submit],
          **page.ask(run, asked, {"result": result, "change": change, **shown}, result, only_in=ID),
          trigger_mode="always_last", api_visibility="private", show_progress_on=[result])
    compare.input(**page.ask(draw_maps, {"change": change, "compare": compare}, shown), **QUIET)
    return controls


def show(_: None, language: Language, **values: Any) -> dict[str, Any]:
    """Show the numbers that the chosen change takes, and hide the others."""
    return {key: gr.update(**properties(values)) for key, properties in SHOWN.items()}


@dataclass(frozen=True, eq=False)
class Change:
    """What is on the page: a translation made again, and what was asked for."""

    translation: Translation  # of the page
    positions: Positions
    seed: int | None  # of the order of the words; None for their own
    moved: Moved


NO_CHANGE: dict[str, Any] = {"change": None, "maps": gr.update(visible=False), "before": None, "after": None}


@needs(translation="no_trace")
@refused(**NO_CHANGE)
def run(service: TranslationService, language: Language, *, change: Change | None, translation: Translation,
        positions: str, shift: float | None, base: float | None, shuffle: bool, seed: float | None, compare: str
        ) -> dict[str, Any]:
    """Translate again with other positions, or with the words in another order, and compare; unless that is there."""
    if positions == "own" and not shuffle:
        raise UserError(Message.of("pos_unchanged"))
    value = {"shift": shift, "base": base}.get(positions, 0)
    if value is None:
        raise UserError(Message.of("pos_no_number"))
    added, order = Positions(positions, float(value)), int(seed or 0) if shuffle else None
    if change is not None and change.translation is translation and (added, order) == (change.positions, change.seed):
        return {"problem": gr.skip()}
    best = translation.best
    moved = service.with_positions(translation.source, best.tokens, added, order, translation.alone,
                                   translation.max_length)
    change = Change(translation, added, order, moved)
    return {"result": figures.moved(moved, best.text, language), "change": change,
            **draw_maps(service, language, change=change, compare=compare)}


def draw_maps(service: TranslationService, language: Language, *, change: Change | None, compare: str
              ) -> dict[str, Any]:
    """Draw the map of a head before and after the change, if there is one."""
    if change is None:
        return {}
    choice, identity = Choice(*Head.parse(compare)), f"{service.info.name} {service.info.identity}"
    before, after = (head_payload.payload(one, choice, identity, language)
                     for one in figures.maps(change.moved, choice, change.positions, language))
    return {"maps": gr.update(visible=True), "before": before, "after": after}
