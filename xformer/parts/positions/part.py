"""The Positions tab: a sentence without its positions, the sinusoidal table, why it
works, and how far it carries."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import gradio as gr
import numpy as np

from xformer.explain import positions as explain
from xformer.figures import head_payload
from xformer.figures.attention import Choice
from xformer.parts.positions import draw as figures
from xformer.pieces import WORD_START
from xformer.results import BASES as LIMITS
from xformer.results import (
    MOST_SHIFT,
    POSITION_KINDS,
    Embedded,
    Head,
    Message,
    Moved,
    Positions,
    Translation,
    UserError,
    Walk,
)
from xformer.results.questions import EmbedSource, Move, WalkHead
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.components import script
from xformer.ui.controls import Real, Several, Switch, Values, Whole, one_head
from xformer.ui.handlers import LATEST, QUIET, needs, refused
from xformer.ui.layout import Layout, narrow, wide
from xformer.ui.pictures import Pictures
from xformer.ui.places import note, question
from xformer.ui.tabs import Page, Tab, View, opened_by

ID = "positions"
NAME = "pos_title_change"
FOLDS = (
    ("pos-table", "fold_positions"),
    ("pos-sentence", "pos_title_sentence", "pos-table"),
    ("pos-lengths", "pos_title_lengths", "pos-table"),
)
BASES = (100.0, 1_000.0, 10_000.0)  # the last is that of the paper
LENGTH = Whole(64, 8, 200)  # of the table
WIDTHS = (4, 512)  # d_model: least, most
POWERS = (1.0, 5.0)  # of ten: the base
MOST_STEPS = 20
MOST_CURVES = 6
NOISE = np.linspace(0, 3, 31)
# keys of the controls that all pictures of the table depend on
SIZE = ("length", "d_model", "base_power")


def dimensions_of(_: TranslationService, so_far: Values) -> Several:
    """The dimensions of the table that are drawn as curves."""
    middle = so_far["d_model"] // 4 * 2
    return Several((0, 1, middle, middle + 1), so_far["d_model"] - 1, MOST_CURVES)


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it: one's own sentence without its positions, and
    the other parts closed."""
    language = page.language
    part = Layout(page, ID)
    every = Layout(page)
    question(language, ID)
    experiment = _experiment(page)
    pictures = part.pictures(f"{ID}.sentence")
    pictures.fact("embedded", embed)
    pictures.fact("walk", first_head)
    with gr.Column(elem_classes="folds"), _table(part) as table:
        problem = _sentence(part, pictures)
        measured, unmeasured = _lengths(part, pictures)
    page.pictures[ID].listen(None, page.opened[ID].change, by_change=SIZE)
    pictures.listen(problem, page.translation.change, how=QUIET)
    every.include(part)
    every.include(experiment)
    return Tab(
        every.controls,
        {
            "table": opened_by(part.controls, table),
            "measured": View(
                measured,
                _measured,
            ),
            "unmeasured": View(
                unmeasured,
                lambda service, values: gr.update(visible=not service.length_scores),
            ),
        },
    )


def _measured(service: TranslationService, values: Values) -> Any:
    return gr.update(visible=bool(service.length_scores))


def draw_lengths(service: TranslationService, language: Language) -> Any:
    return (
        figures.lengths(service.length_scores, language)
        if service.length_scores
        else None
    )


def _sentence(part: Layout, pictures: Pictures) -> gr.HTML:
    """Lay out the embeddings of the sentence, with and without their positions; ->
    where problems are said."""
    language = part.language
    with part.folded("pos-sentence", pictures, "sentence"):
        gr.HTML(figures.heading("sentence", language))
        problem = part.status()
        pictures.add(
            "sentence",
            part.plot("pos-sentence"),
            figures.sentence,
            seen="sentence_open",
        )
        pictures.add(
            "beside",
            gr.HTML(elem_classes="summary"),
            figures.beside,
            seen="sentence_open",
        )
        gr.HTML(figures.heading("joined", language))
        pictures.add(
            "joined",
            part.plot("pos-joined"),
            draw_joined,
            seen="sentence_open",
        )
        pictures.add(
            "costs",
            gr.HTML(elem_classes="summary"),
            figures.costs_of_joining,
            seen="sentence_open",
        )
    return problem


def draw_joined(embedded: Embedded, walk: Walk, language: Language) -> Any:
    """Draw the last piece of the sentence that begins a word."""
    words = [i for i, piece in enumerate(embedded.pieces) if begins_word(piece)]
    return figures.joined(embedded, walk, (words or [0])[-1], language)


def begins_word(piece: str) -> bool:
    return piece[:1] == WORD_START and any(map(str.isalpha, piece))


def _lengths(part: Layout, pictures: Pictures) -> tuple[gr.Column, gr.Column]:
    """Lay out how far positions carry; -> what shows that, and what says that it was
    not measured."""
    page = part.page
    language = part.language
    with part.folded("pos-lengths", pictures, "lengths"):
        part.note("pos_text_lengths")
        with gr.Column(visible=bool(page.service.length_scores)) as measured:
            pictures.add(
                "carried",
                gr.HTML(elem_classes="summary carried"),
                lambda service, language: figures.carried(
                    service.length_scores, language
                ),
                seen="lengths_open",
            )
            pictures.add(
                "lengths",
                part.plot("pos-lengths"),
                draw_lengths,
                seen="lengths_open",
            )
        with gr.Column(visible=not page.service.length_scores) as unmeasured:
            gr.HTML(
                f"<p>{language.html('pos_no_lengths')} <code>python -m research evaluate lengths --pairs "
                "dev.tsv --train FILE.tsv --save</code></p>"
            )
    return measured, unmeasured


@contextmanager
def _table(part: Layout) -> Iterator[gr.Accordion]:
    """Lay out the sinusoidal table, and why it works; -> what it stands in, open for
    more. The pictures beside the sliders come first, and none needs a model."""
    language = part.language
    page = part.page
    pictures = part.pictures(ID, ask=page.always(page.models), in_turn=True)
    pictures.fact("base", base_of)
    pictures.fact("turn", turn)
    with part.folded("pos-table", pictures, "table") as table:
        gr.HTML(figures.heading("table", language))
        with gr.Row(elem_classes="controls"):
            part.control("length", LENGTH, gr.Slider, "pos_length", min_width=200)
            # By default those of the model.
            part.control(
                "d_model",
                _width,
                gr.Slider,
                "pos_width",
                min_width=200,
            )
            part.control(
                "base_power",
                _power,
                gr.Slider,
                "pos_power",
                "pos_power_info",
                min_width=200,
            )
        with gr.Row(elem_classes="detail"):
            with gr.Column(min_width=300):
                pictures.add(
                    "table",
                    part.plot("pos-table"),
                    draw_table,
                    seen="table_open",
                )
            with gr.Column(min_width=300):
                pictures.add(
                    "curves", part.plot("pos-curves"), draw_curves, seen="table_open"
                )
                part.control(
                    "dimensions",
                    dimensions_of,
                    gr.Dropdown,
                    "pos_dimensions",
                    multiselect=True,
                    max_choices=MOST_CURVES,
                )
        _why(part, pictures)
        yield table
    # In the browser: a control is redrawn without being asked for.
    following = [part["dimensions"], part["pair"]]
    part["d_model"].input(
        None, [part["d_model"], *following], following, js=script("fitWidth"), **LATEST
    )


def _width(service: TranslationService, _: Any) -> Whole:
    return Whole(min(WIDTHS[1], service.info.d_model), *WIDTHS, step=2)


def _power(service: TranslationService, _: Any) -> Real:
    return Real(math.log10(service.info.position_base), *POWERS, step=0.05)


def draw_table(length: int, d_model: int, base: float, language: Language) -> Any:
    return figures.table(explain.table(length, d_model, base), base, language)


def _why(part: Layout, pictures: Pictures) -> None:
    """Lay out why the table works."""

    def late(name: str, component: gr.HTML, draw: Callable[..., Any]) -> None:
        pictures.add(name, component, draw, seen="table_open", late=True)

    def heading(name: str) -> None:
        gr.HTML(figures.heading(name, part.language))

    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            heading("waves")
            late(
                "waves",
                part.plot("pos-waves"),
                draw_waves,
            )
        with gr.Column(min_width=300):
            heading("distance")
            late(
                "distances",
                part.plot("pos-distance"),
                draw_distances,
            )
    late(
        "compared",
        gr.HTML(elem_classes="tables"),
        draw_compared,
    )
    with gr.Row(elem_classes="detail"):
        with gr.Column(min_width=300):
            heading("rotation")
            with gr.Row(elem_classes="controls pos-turn"):
                part.control(
                    "pair",
                    _turned,
                    gr.Slider,
                    "pos_pair_label",
                    min_width=140,
                )
                part.control(
                    "position",
                    Whole(2, 0, LENGTH.most),
                    gr.Slider,
                    "pos_from",
                    min_width=140,
                )
                part.control(
                    "steps",
                    Whole(3, 0, MOST_STEPS),
                    gr.Slider,
                    "pos_steps",
                    min_width=140,
                )
            late("circle", part.plot("pos-rotation"), draw_rotation)
            late("proof", gr.HTML(elem_classes="summary"), check_rotation)
        with gr.Column(min_width=300):
            heading("noise")
            late(
                "confusion",
                part.plot("pos-noise"),
                draw_confusion,
            )


def draw_compared(
    length: int, d_model: int, base_power: float, language: Language
) -> str:
    return figures.bases(_tables(length, d_model, base_power), language)


def draw_waves(length: int, d_model: int, base_power: float, language: Language) -> Any:
    return figures.wavelengths(d_model, _bases(base_power), length, language)


def draw_distances(
    length: int, d_model: int, base_power: float, language: Language
) -> Any:
    return figures.distances(_tables(length, d_model, base_power), language)


def draw_confusion(
    length: int, d_model: int, base_power: float, language: Language
) -> Any:
    return figures.confusion(
        {base: _confusion(length, d_model, base) for base in _bases(base_power)},
        NOISE,
        length,
        d_model,
        language,
    )


def _turned(_: Any, so_far: Values) -> Whole:
    return Whole(min(8, so_far["d_model"] // 4), 0, so_far["d_model"] // 2 - 1)


def base_of(base_power: float) -> float:
    """The base from its power of ten, exact where it is one of the presets."""
    base = 10 ** float(base_power)
    return next(
        (known for known in BASES if math.isclose(known, base, rel_tol=1e-3)),
        round(base, 1),
    )


def _bases(power: float) -> list[float]:
    """The bases that are compared: the presets, and the one that is chosen."""
    return sorted({*BASES, base_of(power)})


class Turn(NamedTuple):
    """A pair of dimensions that is turned from a position by some steps."""

    pair: int
    position: int
    steps: int


def turn(length: int, d_model: int, pair: int, position: int, steps: int) -> Turn:
    """Keep what is turned inside the table: positions beyond it are the last that
    fit."""
    steps = min(steps, length - 1)
    return Turn(min(pair, d_model // 2 - 1), min(position, length - 1 - steps), steps)


def draw_curves(
    length: int,
    d_model: int,
    base: float,
    dimensions: Sequence[int],
    language: Language,
) -> Any:
    """Draw some dimensions as curves, the first one where none of them is in the
    table."""
    kept = [dimension for dimension in dimensions or [] if dimension < d_model] or [0]
    return figures.curves(explain.table(length, d_model, base), kept, base, language)


def _tables(length: int, d_model: int, base_power: float) -> dict[float, np.ndarray]:
    return {base: explain.table(length, d_model, base) for base in _bases(base_power)}


def draw_rotation(
    length: int, d_model: int, base: float, turn: Turn, language: Language
) -> Any:
    """Draw the turn of one pair."""
    return figures.rotation(explain.table(length, d_model, base), *turn, base, language)


def check_rotation(
    length: int, d_model: int, base: float, turn: Turn, language: Language
) -> str:
    """Say how exact the turn is."""
    return figures.checked(
        explain.table(length, d_model, base), turn.pair, turn.steps, base, language
    )


@lru_cache(16)
def _confusion(length: int, d_model: int, base: float) -> np.ndarray:
    """How often noise makes one position be taken for another."""
    return explain.confusion(explain.table(length, d_model, base), NOISE)


@needs(translation="no_trace")
def embed(service: TranslationService, translation: Translation) -> Any:
    """The vectors that the encoder is given for the sentence on the page."""
    return service.ask(EmbedSource(translation.source))


@needs(translation="no_trace")
def first_head(service: TranslationService, translation: Translation) -> Walk:
    """The numbers of the first head that reads these vectors."""
    found = translation.best.tokens
    return service.ask(WalkHead(translation.source, found, Head("encoder_self", 1, 1)))


# The properties of controls that are shown only for some values of others.
SHOWN = {
    "shift": lambda values: {"visible": values["positions"] == "shift"},
    "base": lambda values: {"visible": values["positions"] == "base"},
    "seed": lambda values: {"visible": values["shuffle"]},
}


def _experiment(page: Page) -> Layout:
    """Lay out the part that translates again with other positions, or the words in
    another order; -> it."""
    language = page.language
    part = Layout(page, ID)
    pictures = part.pictures(f"{ID}.change", cleared=NO_CHANGE)
    change = pictures.input("change", gr.State())
    pictures.fact("moved", make_change)
    pictures.fact("both_maps", both_maps)
    pictures.follow(nothing_changed)
    with gr.Row(elem_classes="experiment"):
        with wide():
            result = gr.HTML(elem_classes="tables ablation pos-result", min_height=320)
        with narrow(elem_classes="controls"):
            kind = part.choice(
                "positions", POSITION_KINDS, "none", "pos_kind_{}", "pos_kind"
            )
            shift = part.control(
                "shift",
                Whole(5, 0, MOST_SHIFT),
                gr.Number,
                "pos_shift",
                properties=SHOWN["shift"],
                precision=0,
            )
            base = part.number(
                "base",
                Real(1_000, *LIMITS),
                "pos_base",
                properties=SHOWN["base"],
                precision=None,
            )
            shuffle = part.control("shuffle", Switch(), gr.Checkbox, "pos_shuffle")
            seed = part.number(
                "seed", Whole(1, 0, 999_999), "pos_seed", properties=SHOWN["seed"]
            )
            compare = part.control(
                "compare", one_head(language), gr.Dropdown, "pos_head"
            )
            button = gr.Button(language.say("pos_run"), variant="primary")
            gr.HTML(
                f'<details class="more"><summary>{language.html("more")}</summary>'
                f"{note(language, 'pos_text_change')}</details>"
            )
    pictures.add(
        "result",
        result,
        lambda moved, translation, language: figures.moved(
            moved, translation.best.text, language
        ),
    )
    pictures.add_all(
        "both_maps",
        part.beside(
            part.map,
            {"before": "pos-before", "after": "pos-after"},
            "detail maps-of-all",
        ),
    )
    gr.on(
        [kind.change, shuffle.change],
        **part.listener(show, *SHOWN, ask=page.always(None)),
        **LATEST,
    )
    gr.on(
        [
            page.opened[ID].change,
            page.translation.change,
            button.click,
            kind.input,
            shuffle.input,
            shift.submit,
            base.submit,
            seed.submit,
        ],
        **pictures.listener(result, ask_for, outputs={"change": change}),
        **LATEST,
    )
    compare.input(**pictures.listener(result, outputs={"change": change}), **QUIET)
    return part


def nothing_changed(change: Any) -> dict[str, Any] | None:
    return None if change is None else {}


def show(
    _: None, language: Language, *, positions: str, shuffle: bool
) -> dict[str, Any]:
    """Show the numbers that the chosen change takes, and hide the others."""
    values = {"positions": positions, "shuffle": shuffle}
    return {key: gr.update(**properties(values)) for key, properties in SHOWN.items()}


class Change(NamedTuple):
    """What is asked for: other positions, and another order of the words by a seed;
    None for their own."""

    positions: Positions
    seed: int | None


NO_CHANGE: dict[str, Any] = {"change": None, "before": None, "after": None}


@refused(**NO_CHANGE)
def ask_for(
    service: TranslationService,
    language: Language,
    *,
    change: Change | None,
    positions: str,
    shift: float | None,
    base: float | None,
    shuffle: bool,
    seed: float | None,
) -> dict[str, Any]:
    """Ask for other positions, or for the words in another order, unless that is asked
    for already."""
    if positions == "own" and not shuffle:
        raise UserError(Message.of("pos_unchanged"))
    value = {"shift": shift, "base": base}.get(positions, 0)
    if value is None:
        raise UserError(Message.of("pos_no_number"))
    asked = Change(
        Positions(positions, float(value)), int(seed or 0) if shuffle else None
    )
    return {} if asked == change else {"change": asked}


@needs(translation="no_trace")
def make_change(
    service: TranslationService, translation: Translation, change: Change
) -> Moved:
    """Translate again, and look into both passes."""
    return service.ask(
        Move(
            translation.source,
            translation.best.tokens,
            *change,
            translation.alone,
            translation.max_length,
        )
    )


def both_maps(
    service: TranslationService,
    moved: Moved,
    change: Change,
    compare: str,
    language: Language,
) -> dict[str, Any]:
    """Draw the map of a head "before" and "after" the change."""
    names = (
        language.say("pos_named", kind=language.say("pos_kind_own")),
        figures.named(moved, change.positions, language),
    )
    return head_payload.before_and_after(
        (moved.before, moved.after),
        names,
        Choice(*Head.parse(compare)),
        service.info,
        language,
    )
