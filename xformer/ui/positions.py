"""The Positions tab: a sentence without its positions, the sinusoidal table, why it works, and how far it carries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import gradio as gr
import numpy as np

from xformer.explain import positions as explain
from xformer.figures import head_payload
from xformer.figures import positions as figures
from xformer.figures.attention import Choice
from xformer.results import BASES as LIMITS
from xformer.results import MOST_SHIFT, POSITION_KINDS, Head, Message, Moved, Positions, Translation, UserError
from xformer.results.questions import EmbedSource, Move
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import one_map, plot, script
from xformer.ui.controls import Controls, OneOf, Real, Several, Switch, Values, Whole, one_head
from xformer.ui.handlers import QUIET, Ask, needs, refused
from xformer.ui.pictures import Pictures
from xformer.ui.places import folded, note, question
from xformer.ui.tabs import Page, Tab, View, opened_by

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
    """Lay the tab out; called inside it: one's own sentence without its positions, and the other parts closed."""
    language, controls = page.language, Controls(page.service)
    question(language, ID)
    experiment = _experiment(page)
    with gr.Column(elem_classes="folds"):
        with folded(language, "pos-table") as table:
            shown = _table(page, controls)
        with folded(language, "pos-sentence") as of_sentence:
            gr.HTML(figures.heading("sentence", language))
            problem, sentence = gr.HTML(elem_classes="status"), plot("pos-sentence", language)
            beside = gr.HTML(elem_classes="summary")
        with folded(language, "pos-lengths") as of_lengths:
            gr.HTML(note(language, "pos_text_lengths", fewest=figures.FEWEST))
            with gr.Column(visible=bool(page.service.length_scores)) as measured:
                carried, lengths = gr.HTML(elem_classes="summary carried"), plot("pos-lengths", language)
            with gr.Column(visible=not page.service.length_scores) as unmeasured:
                gr.HTML(f'<p>{language.html("pos_no_lengths")} <code>python -m xformer evaluate lengths --pairs '
                        "dev.tsv --train DIR --save</code></p>")
    _draw_table(page, controls, shown, table)
    pictures = Pictures(page, controls, f"{ID}.sentence", tab=ID)
    pictures.opens("sentence_open", of_sentence)
    pictures.opens("lengths_open", of_lengths)
    pictures.fact("embedded", embed)
    pictures.add("sentence", sentence, figures.sentence, seen="sentence_open")
    pictures.add("beside", beside, figures.beside, seen="sentence_open")
    pictures.add("lengths", lengths, draw_lengths, seen="lengths_open")
    pictures.add("carried", carried, say_carried, seen="lengths_open")
    pictures.listen(problem, page.translation.change, how=QUIET)
    every = Controls(page.service)
    every.include(controls)
    every.include(experiment)
    return Tab(every, {
        "table": opened_by(controls, table),
        "measured": View(measured, lambda service, values: gr.update(visible=bool(service.length_scores))),
        "unmeasured": View(unmeasured, lambda service, values: gr.update(visible=not service.length_scores))})


def _table(page: Page, controls: Controls) -> dict[str, Any]:
    """Lay out the sinusoidal table, and why it works; -> the components by name."""
    language, say, shown = page.language, page.language.say, dict[str, Any]()
    gr.HTML(figures.heading("table", language))
    with gr.Row(elem_classes="controls"):
        controls.add("length", LENGTH, gr.Slider, label=say("pos_length"), min_width=200)
        controls.add("d_model", width, gr.Slider, label=say("pos_width"), min_width=200)
        controls.add("base_power", base_power, gr.Slider, label=say("pos_power"), min_width=200,
                     info=say("pos_power_info"))
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            shown["table"] = plot("pos-table", language)
        with gr.Column(min_width=300):
            shown["curves"] = plot("pos-curves", language)
            controls.add("dimensions", dimensions_of, gr.Dropdown, multiselect=True, max_choices=MOST_CURVES,
                         label=say("pos_dimensions"))
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("waves", language))
            shown["waves"] = plot("pos-waves", language)
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("distance", language))
            shown["distances"] = plot("pos-distance", language)
    shown["compared"] = gr.HTML(elem_classes="tables")
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("rotation", language))
            with gr.Row(elem_classes="controls"):
                controls.add("pair", pair_of, gr.Slider, label=say("pos_pair_label"), min_width=140)
                controls.add("position", Whole(2, 0, LENGTH.most), gr.Slider, label=say("pos_from"), min_width=140)
                controls.add("steps", Whole(3, 0, MOST_STEPS), gr.Slider, label=say("pos_steps"), min_width=140)
            shown["circle"], shown["proof"] = plot("pos-rotation", language), gr.HTML(elem_classes="summary")
        with gr.Column(min_width=300):
            gr.HTML(figures.heading("noise", language))
            shown["confusion"] = plot("pos-noise", language)
    return shown


def _draw_table(page: Page, controls: Controls, shown: Mapping[str, Any], part: gr.Accordion) -> None:
    """Declare the pictures of the table. The ones beside the sliders come first, and none needs a model."""
    # In the browser: a control is redrawn without being asked for.
    following = [*controls.named("dimensions", "pair").values()]
    controls["d_model"].component.input(None, [controls["d_model"].component, *following], following,
                                        js=script("fitWidth"), **LATEST)
    ask = Ask.always(page.models, page.language, page.tab)
    pictures = Pictures(page, controls, ID, tab=ID, ask=ask, in_turn=True)
    pictures.opens("table_open", part)
    pictures.fact("base", base_of)
    pictures.fact("turn", turn)
    pictures.add_each(shown, {"table": draw_table, "curves": draw_curves}, seen="table_open")
    pictures.add_each(shown, {"waves": draw_waves, "distances": draw_distances, "compared": compare_bases,
                              "circle": draw_rotation, "proof": check_rotation, "confusion": draw_confusion},
                      seen="table_open", late=True)
    pictures.listen(None, page.opened[ID].change, by_change=SIZE)


def base_of(base_power: float) -> float:
    """The base from its power of ten, exact where it is one of the presets."""
    base = 10 ** float(base_power)
    return next((known for known in BASES if math.isclose(known, base, rel_tol=1e-3)), round(base, 1))


def _bases(power: float) -> list[float]:
    """The bases that are compared: the presets, and the one that is chosen."""
    return sorted({*BASES, base_of(power)})


class Turn(NamedTuple):
    """A pair of dimensions that is turned from a position by some steps."""

    pair: int
    position: int
    steps: int


def turn(length: int, d_model: int, pair: int, position: int, steps: int) -> Turn:
    """Keep what is turned inside the table: positions beyond it are the last that fit."""
    steps = min(steps, length - 1)
    return Turn(min(pair, d_model // 2 - 1), min(position, length - 1 - steps), steps)


def draw_table(length: int, d_model: int, base: float, language: Language) -> Any:
    """Draw the table of positions."""
    return figures.table(explain.table(length, d_model, base), base, language)


def draw_curves(length: int, d_model: int, base: float, dimensions: Sequence[int], language: Language) -> Any:
    """Draw some dimensions as curves, the first one where none of them is in the table."""
    kept = [dimension for dimension in dimensions or [] if dimension < d_model] or [0]
    return figures.curves(explain.table(length, d_model, base), kept, base, language)


def draw_waves(length: int, d_model: int, base_power: float, language: Language) -> Any:
    """Draw the wavelengths of all dimensions."""
    return figures.wavelengths(d_model, _bases(base_power), length, language)


def _tables(length: int, d_model: int, base_power: float) -> dict[float, np.ndarray]:
    return {base: explain.table(length, d_model, base) for base in _bases(base_power)}


def draw_distances(length: int, d_model: int, base_power: float, language: Language) -> Any:
    """Draw the dot products of positions by their distance."""
    return figures.distances(_tables(length, d_model, base_power), language)


def compare_bases(length: int, d_model: int, base_power: float, language: Language) -> str:
    """Compare the bases in a table."""
    return figures.bases(_tables(length, d_model, base_power), language)


def draw_rotation(length: int, d_model: int, base: float, turn: Turn, language: Language) -> Any:
    """Draw the turn of one pair."""
    return figures.rotation(explain.table(length, d_model, base), *turn, base, language)


def check_rotation(length: int, d_model: int, base: float, turn: Turn, language: Language) -> str:
    """Say how exact the turn is."""
    return figures.checked(explain.table(length, d_model, base), turn.pair, turn.steps, base, language)


@lru_cache(16)
def _confusion(length: int, d_model: int, base: float) -> np.ndarray:
    return explain.confusion(explain.table(length, d_model, base), NOISE)


def draw_confusion(length: int, d_model: int, base_power: float, language: Language) -> Any:
    """Draw how often noise makes one position be taken for another."""
    shares = {base: _confusion(length, d_model, base) for base in _bases(base_power)}
    return figures.confusion(shares, NOISE, length, d_model, language)


def draw_lengths(service: TranslationService, language: Language) -> Any:
    """Draw translation quality by length of sentence; None where it was not measured."""
    scores = service.length_scores
    return figures.lengths(scores, language) if scores else None


def say_carried(service: TranslationService, language: Language) -> str:
    """Say what the curve of `draw_lengths` shows."""
    return figures.carried(service.length_scores, language)


@needs(translation="no_trace")
def embed(service: TranslationService, translation: Translation) -> Any:
    """The vectors that the encoder is given for the sentence on the page."""
    return service.ask(EmbedSource(translation.source))


# The properties of controls that are shown only for some values of others.
SHOWN = {"shift": lambda values: {"visible": values["positions"] == "shift"},
         "base": lambda values: {"visible": values["positions"] == "base"},
         "seed": lambda values: {"visible": values["shuffle"]}}


def _experiment(page: Page) -> Controls:
    """Lay out the part that translates again with other positions, or the words in another order; -> its controls."""
    language, say, controls = page.language, page.language.say, Controls(page.service)
    with gr.Row(elem_classes="experiment"):
        with gr.Column(scale=7, min_width=320):
            result = gr.HTML(elem_classes="tables ablation pos-result", min_height=320)
        with gr.Column(scale=4, min_width=300, elem_classes="controls"):
            kind = controls.add("positions", OneOf(POSITION_KINDS, "none"), gr.Radio, label=say("pos_kind"),
                                choices=language.choices("pos_kind_{}", POSITION_KINDS))
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
            gr.HTML(f'<details class="more"><summary>{language.html("more")}</summary>'
                    f'{note(language, "pos_text_change")}</details>')
    views = {}
    with gr.Row(elem_classes="detail maps-of-all"):
        for name in ("before", "after"):
            with gr.Column(min_width=300):
                views[name] = one_map(f"pos-{name}", language)
    gr.on([kind.change, shuffle.change],
          **Ask.always(None, language)(show, controls.named("positions", "shuffle"), controls.named(*SHOWN)), **LATEST)
    of_change = Pictures(page, controls, f"{ID}.change", tab=ID, cleared=NO_CHANGE)
    change = of_change.input("change", gr.State())
    of_change.fact("moved", make_change)
    of_change.fact("both_maps", both_maps)
    of_change.follow(lambda change: None if change is None else {})
    of_change.add("result", result, lambda moved, translation, language: figures.moved(
        moved, translation.best.text, language))
    of_change.add_all("both_maps", views)
    gr.on([page.opened[ID].change, page.translation.change, button.click, kind.input, shuffle.input, shift.submit,
           base.submit, seed.submit], **of_change.listener(result, ask_for, outputs={"change": change}),
          trigger_mode="always_last", api_visibility="private", show_progress_on=[result])
    compare.input(**of_change.listener(result, outputs={"change": change}), **QUIET)
    return controls


def show(_: None, language: Language, **values: Any) -> dict[str, Any]:
    """Show the numbers that the chosen change takes, and hide the others."""
    return {key: gr.update(**properties(values)) for key, properties in SHOWN.items()}


class Change(NamedTuple):
    """What is asked for: other positions, and another order of the words by a seed; None for their own."""

    positions: Positions
    seed: int | None


NO_CHANGE: dict[str, Any] = {"change": None, "before": None, "after": None}


@refused(**NO_CHANGE)
def ask_for(service: TranslationService, language: Language, *, change: Change | None, positions: str,
            shift: float | None, base: float | None, shuffle: bool, seed: float | None) -> dict[str, Any]:
    """Ask for other positions, or for the words in another order, unless that is asked for already."""
    if positions == "own" and not shuffle:
        raise UserError(Message.of("pos_unchanged"))
    value = {"shift": shift, "base": base}.get(positions, 0)
    if value is None:
        raise UserError(Message.of("pos_no_number"))
    asked = Change(Positions(positions, float(value)), int(seed or 0) if shuffle else None)
    return {} if asked == change else {"change": asked}


@needs(translation="no_trace")
def make_change(service: TranslationService, translation: Translation, change: Change) -> Moved:
    """Translate again, and look into both passes."""
    return service.ask(Move(translation.source, translation.best.tokens, *change, translation.alone,
                            translation.max_length))


def both_maps(service: TranslationService, moved: Moved, change: Change, compare: str, language: Language
              ) -> dict[str, Any]:
    """Draw the map of a head "before" and "after" the change."""
    names = (language.say("pos_kind_own"), figures.named(moved, change.positions, language))
    return head_payload.before_and_after((moved.before, moved.after), names, Choice(*Head.parse(compare)), service.info,
                                         language)
