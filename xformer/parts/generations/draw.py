"""Compare the generations of translators: a sentence, their curves and scores, and what
their layers cost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import plotly.graph_objects as go

from xformer.figures.generation import COLOURS, DASHES, KERNEL, label
from xformer.figures.labels import paragraph
from xformer.figures.layout import (
    BLUE,
    END,
    GREY,
    TEAL,
    axis,
    layout,
    line,
    logarithmic,
)
from xformer.figures.spread import ranked
from xformer.figures.templates import fill
from xformer.results import Head, History, LayerTimes, LengthScore, ModelInfo, Moment
from xformer.strings import ENGLISH, Language

CURVES = ("bleu", "loss", "gradient_norm", "learning_rate")
# of a curve: what dev gave, its mode
SCORED = {"bleu": ("bleu", "lines+markers"), "loss": ("dev_loss", "markers")}
# Of runs that were not kept: million pieces, and BLEU on 500 pairs of dev of post-norm
# and pre-norm (docs/TRAINING.md).
LONGER = {"longer": 10, "post": "40.8", "pre": "40.4"}
# what would settle it: million pieces of each run, and runs of each generation
WANTED = {"wanted": 30, "seeds": 3}
# Of runs on a GPU that were not kept either: target pieces a second of the GRU and of
# pre-norm (research/LOG.md, 2026-11-26).
GPU = "NVIDIA H200"
GPU_BEFORE = 74_000
GPU_AFTER = 165_000
WARM = 3  # timed translations of the sentence, after one to warm up


@dataclass(frozen=True)
class Generation:
    """A model of one generation, with its measurements."""

    name: str  # of GENERATIONS
    info: ModelInfo
    # the cross-attention head that aligns best; None without attention
    head: Head | None
    error: float | None  # alignment error rate of that head
    bleu: float | None  # on dev, with the kept weights
    scores: dict[str, float]  # BLEU on other sets of sentences, by their names
    lengths: tuple[LengthScore, ...]
    history: History | None
    # the moment of the training at which the weights were kept; None if unknown
    kept: Moment | None = None
    broken: str = ""  # why the history cannot be read, in a sentence
    metrics: Mapping[str, Any] = field(default_factory=dict)  # of its checkpoint


@dataclass(frozen=True)
class Answer:
    """The translation of the sentence by a model of one generation."""

    name: str
    text: str
    seconds: float  # the median of WARM translations
    log_prob: float  # mean over the pieces
    refusal: str = ""  # why it has no translation, in a sentence


def translations(
    answers: Sequence[Answer], waiting: Sequence[str], language: Language = ENGLISH
) -> str:
    """Tabulate every generation's translation; HTML. waiting: names of the generations
    that still translate."""
    return fill(
        "generations.translations",
        language,
        runs=WARM,
        waiting=[label(name, language) for name in waiting],
        answers=[(label(answer.name, language), answer) for answer in answers],
    )


def facts(found: Sequence[Generation], language: Language = ENGLISH) -> str:
    """Tabulate size, training and scores; HTML, "" of none. A note below names
    histories that cannot be read."""
    if not found:
        return ""
    rows = []
    sets = list(dict.fromkeys(name for one in found for name in one.scores))
    names = [
        language.say(f"gen_column_{name}")
        for name in (
            "generation",
            "parameters",
            "seen",
            "training",
            "speed",
            "bleu",
        )
    ]
    names += [
        *(language.say("gen_column_set", name=name) for name in sets),
        language.say("gen_column_error"),
    ]
    for one in found:
        kept = one.kept
        scores = [one.scores.get(name) for name in sets]
        cells = [
            f"{one.info.parameters / 1e6:.1f} M",
            "–" if kept is None else f"{kept.seen / 1e6:.2f} M",
            "–"
            if kept is None
            else language.say("gen_minutes", minutes=f"{kept.seconds / 60:.1f}"),
            "–"
            if not (speed := _speed(one))
            else language.say("first_number", n=speed),
            _seeds(one, language) or ("–" if one.bleu is None else f"{one.bleu:.1f}"),
            *("–" if score is None else f"{score:.1f}" for score in scores),
            "–" if one.error is None else f"{one.error:.3f}",
        ]
        rows.append([label(one.name, language), *cells])
    notes = [
        *filter(
            None,
            (*(one.broken for one in found), *(_early(one, language) for one in found)),
        )
    ]
    if lacking := [
        label(one.name, language)
        for one in found
        if one.history is None and not one.broken
    ]:
        notes.append(language.say("gen_no_history", names=", ".join(lacking)))
    reached = {label(one.name, language): seeds_of(one) for one in found}
    if said := ranked(reached, language):
        notes.append(said)
    if {"post-norm", "pre-norm"} <= {one.name for one in found}:
        notes.append(language.say("gen_order", **LONGER, **WANTED))
    return fill("generations.facts", language, names=names, rows=rows, notes=notes)


def trained(found: Sequence[Generation], language: Language = ENGLISH) -> str:
    """Tabulate what the lecture trained its two transformers with beside what these
    were trained with; HTML."""
    return fill(
        "generations.trained",
        language,
        found=[(label(one.name, language), one) for one in found],
    )


def _speed(one: Generation) -> int:
    """The target pieces that a training learned from in a second, the median over its
    history, in tens; 0 if it is unknown."""
    per_second = one.history.per_second if one.history else ()
    return 10 * round(median(per_second) / 10) if per_second else 0


def gains(found: Sequence[Generation], language: Language = ENGLISH) -> str:
    """Say what reading all pieces at once gained in training: on one core, as recorded,
    and on a GPU; HTML. Empty where one of the two was not recorded."""
    speeds = {one.name: _speed(one) for one in found}
    before = speeds.get("gru", 0)
    after = speeds.get("pre-norm", 0)
    if not (before and after):
        return ""
    return paragraph(
        language,
        "gen_gains",
        before=before,
        after=after,
        times=f"{after / before:.2f}",
        gpu=GPU,
        gpu_before=GPU_BEFORE,
        gpu_after=GPU_AFTER,
        gpu_times=f"{GPU_AFTER / GPU_BEFORE:.1f}",
    )


def seeds_of(one: Generation) -> list[float]:
    """The BLEU at the end of each run of a generation that differ in the seed alone."""
    scores = [
        seed.get("bleu") for seed in one.metrics.get("study", {}).get("seeds", ())
    ]
    return [score for score in scores if score is not None]


def _seeds(one: Generation, language: Language) -> str:
    """Say what the runs of a generation that differ in the seed alone reached at their
    end; empty if there is one."""
    reached = [f"{score:.1f}" for score in seeds_of(one)]
    return (
        language.say("gen_seeds", count=len(reached), scores=" · ".join(reached))
        if reached[1:]
        else ""
    )


def _early(one: Generation, language: Language) -> str:
    """Say from which moment the weights are, if not from the end of the training; else
    empty."""
    if (
        one.kept is None
        or one.history is None
        or not one.history.step
        or one.kept.step >= one.history.step[-1]
    ):
        return ""
    return language.say(
        "gen_kept",
        name=label(one.name, language),
        step=one.kept.step,
        steps=one.history.step[-1],
        seen=f"{one.history.seen[-1] / 1e6:.2f}",
    )


def lengths(
    found: Sequence[Generation], language: Language = ENGLISH
) -> go.Figure | None:
    """Plot BLEU by the length of the sentences, a line a generation; None if it was not
    measured."""
    say = language.say
    measured = [one for one in found if one.lengths]
    if not measured:
        return None
    buckets = measured[0].lengths
    places = {score.first: place for place, score in enumerate(buckets)}
    data = []
    for one in measured:
        scores = [score for score in one.lengths if score.first in places]
        data.append(
            line(
                [places[score.first] for score in scores],
                [score.bleu for score in scores],
                label(one.name, language),
                COLOURS[one.name],
                f"%{{fullData.name}}: BLEU %{{y:.1f}}, %{{text}}{END}",
                dash=DASHES[one.name],
                text=[
                    say("gen_hover_length", sentences=score.sentences)
                    for score in scores
                ],
            )
        )
    ticks = {
        "tickvals": [*places.values()],
        "ticktext": [
            f"{score.pieces}<br>{language.number(score.sentences)}" for score in buckets
        ],
    }
    return go.Figure(
        data,
        layout(
            say("gen_plot_lengths"),
            x=axis(say("gen_axis_lengths"), **ticks),
            margin={"b": 60},
            y=axis("BLEU", rangemode="tozero"),
        ),
    )


def curves(
    found: Sequence[Generation], curve: str, language: Language = ENGLISH
) -> go.Figure | None:
    """Plot one of CURVES over the number of target pieces seen in training; None if
    there is no history."""
    say = language.say
    data = []
    for one in found:
        if one.history is None:
            continue
        points = list[tuple[str, list[int], list[float]]]()
        if curve != "bleu":
            points.append(
                ("lines", [*one.history.seen], [*getattr(one.history, curve)])
            )
        if curve in SCORED:
            scored, mode = SCORED[curve]
            scores = [score for score in one.history.scores if scored in score.values]
            points.append(
                (
                    mode,
                    [score.seen for score in scores],
                    [score.values[scored] for score in scores],
                )
            )
        for mode, x, y in (drawn for drawn in points if drawn[1]):
            data.append(
                line(
                    [seen / 1e6 for seen in x],
                    y,
                    label(one.name, language),
                    COLOURS[one.name],
                    f"%{{fullData.name}}: %{{y:.4~r}} · %{{x:.2f}} M{END}",
                    dash=DASHES[one.name],
                    mode=mode,
                    showlegend=mode != "markers",
                )
            )
    if not data:
        return None
    name = say(f"gen_curve_{curve}")
    values = [value for one in data for value in one.y]
    upright = (
        logarithmic(name, values)
        if curve == "gradient_norm"
        else axis(name, **({} if curve == "loss" else {"rangemode": "tozero"}))
    )
    title = (
        "gen_plot_both"
        if any(one.mode == "markers" for one in data)
        else f"gen_plot_{curve}"
    )
    return go.Figure(data, layout(say(title), x=axis(say("gen_axis_seen")), y=upright))


def complexity(pieces: int, width: int, language: Language = ENGLISH) -> str:
    """Tabulate the cost of three kinds of layers for a sequence of `pieces`: table 1 of
    Vaswani et al.; HTML.

    The path through convolutions is the path through a stack of them: n/k, or log_k n
    if dilated. The last column counts all products of a GRU, of the convolution, and of
    self-attention with its four projections.
    """
    n = pieces
    d = width
    k = KERNEL
    recurrence = 6 * n * d * d
    attention = 4 * n * d * d + 2 * n * n * d
    compared = (
        "equal"
        if attention == recurrence
        else "fewer"
        if attention < recurrence
        else "more"
    )
    dilated = max(1, math.ceil(math.log(n, k))) if n > 1 else 1
    rows = (
        (
            "recurrence",
            (n, "n"),
            (n, "n"),
            (n * d * d, "n · d²"),
            (recurrence, "6 · n · d²"),
        ),
        (
            "convolution",
            (1, "1"),
            (math.ceil(n / k), "n / k"),
            (k * n * d * d, "k · n · d²"),
            (k * n * d * d, "k · n · d²"),
        ),
        (
            "self_attention",
            (1, "1"),
            (1, "1"),
            (n * n * d, "n² · d"),
            (attention, "4 · n · d² + 2 · n² · d"),
        ),
    )
    said = language.say(
        f"gen_products_{compared}", attention=attention, recurrence=recurrence, d=d
    )
    return fill(
        "generations.complexity",
        language,
        n=n,
        d=d,
        k=k,
        dilated=dilated,
        said=said,
        rows=[(language.say(f"gen_layer_{name}"), *cells) for name, *cells in rows],
    )


def times(measured: Sequence[LayerTimes], language: Language = ENGLISH) -> go.Figure:
    """Plot how long two GRUs and attention take to read sequences, both axes
    logarithmic."""
    say = language.say
    pieces = [one.pieces for one in measured]
    data = [
        line(
            pieces,
            [1000 * getattr(one, name) for one in measured],
            say(f"gen_times_{name}"),
            colour,
            f"%{{fullData.name}}, %{{x}}: %{{y:.2f}} ms{END}",
            dash=dash,
        )
        for name, colour, dash in (
            ("recurrence", GREY, "dot"),
            ("library", TEAL, "dash"),
            ("attention", BLUE, "solid"),
        )
    ]
    return go.Figure(
        data,
        layout(
            say("gen_plot_times"),
            x=axis(
                say("gen_axis_pieces"), type="log", tickvals=pieces, ticktext=pieces
            ),
            y=logarithmic(say("gen_axis_ms"), [ms for one in data for ms in one.y]),
        ),
    )


def times_said(
    measured: Sequence[LayerTimes], width: int, language: Language = ENGLISH
) -> str:
    """Say how the layers compare for the longest sequence. width: of the layers.
    HTML."""
    last = measured[-1]
    return paragraph(
        language,
        "gen_times_said",
        pieces=last.pieces,
        width=width,
        recurrence=f"{1000 * last.recurrence:.1f}",
        library=f"{1000 * last.library:.1f}",
        attention=f"{1000 * last.attention:.1f}",
        times=f"{last.library / last.attention:.1f}",
    )
