"""Figures of sinusoidal positions: the table of Vaswani et al. (2017, section 3.5), its
properties and its effects.

Tables are (length, d_model) as `explain.positions.table` makes them; pair i is
dimension 2i, a sine, and 2i + 1, a cosine.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from xformer.explain import positions as explain
from xformer.figures import heatmap
from xformer.figures.changes import both_texts, piece_table
from xformer.figures.labels import FORMULAS as ALL_FORMULAS
from xformer.figures.labels import lesson, paragraph, shown_all
from xformer.figures.labels import sentence as spelled_out
from xformer.figures.layout import (
    BLUE,
    END,
    GREY,
    GRID,
    ORANGE,
    TEAL,
    axis,
    layout,
    line,
    literal,
    logarithmic,
    panels,
)
from xformer.figures.templates import fill
from xformer.results import Embedded, LengthScore, Moved, Positions, Walk, decimal
from xformer.strings import ENGLISH, Language

# of the bases that are always compared; any other is grey
COLOURS = {100.0: ORANGE, 1_000.0: TEAL, 10_000.0: BLUE}
# colours of the curves of dimensions
LINES = (BLUE, ORANGE, TEAL, "#a855f7", "#dc2626", GREY)
DOWN = {"autorange": "reversed", "showgrid": False}  # rows from the top down
FORMULAS = ALL_FORMULAS["positions"]


def heading(name: str, language: Language = ENGLISH) -> str:
    """Introduce a figure: its title, its formula, and what to notice in it; HTML."""
    return lesson(language, f"pos_title_{name}", FORMULAS[name], f"pos_text_{name}")


def value_of(position: str, dimension: int, d_model: int, base: float) -> str:
    """Write the formula of one number of the table, with `position` as given and all
    else in numbers."""
    function = "cos" if dimension % 2 else "sin"
    return (
        f"{function}({position} / {decimal(base, 6)}^({dimension // 2 * 2}/{d_model}))"
    )


def table(rows: np.ndarray, base: float, language: Language = ENGLISH) -> go.Figure:
    """Plot the table as a heatmap: a row a position, a column a dimension; hovering
    shows the formula in numbers."""
    say = language.say
    length, d_model = rows.shape
    even = np.arange(d_model) % 2 == 0
    # Two heatmaps, each with gaps at the other's columns, since sine and cosine have
    # different formulas.
    maps = [
        go.Heatmap(
            name=name,
            z=np.where(own, rows, np.float32(np.nan)),
            coloraxis="coloraxis",
            hoverongaps=False,
            hovertemplate=f"{name}(%{{y}} / {decimal(base, 6)}^({exponent}/{d_model})) = %{{z:.4f}}{END}",
        )
        for name, exponent, own in (("sin", "%{x}", even), ("cos", "(%{x}−1)", ~even))
    ]
    title = say(
        "pos_plot_table", last=length - 1, d_model=d_model, base=_base(base, language)
    )
    return go.Figure(
        maps,
        layout(
            title,
            height=320,
            x=axis(say("pos_dimension")),
            y=axis(say("pos_position"), **DOWN),
            plot_bgcolor=heatmap.GROUND,
            coloraxis=_scale(say("pos_value"), 1, 320),
        ),
    )


def curves(
    rows: np.ndarray,
    dimensions: Sequence[int],
    base: float,
    language: Language = ENGLISH,
) -> go.Figure:
    """Plot chosen dimensions as curves over the positions."""
    say = language.say
    d_model = rows.shape[1]
    waves = explain.wavelengths(d_model, base)
    lines = [
        line(
            None,
            rows[:, dimension],
            say(
                "pos_curve",
                dimension=dimension,
                wavelength=language.number(waves[dimension // 2], 1),
            ),
            colour,
            f"{value_of('%{x}', dimension, d_model, base)} = %{{y:.4f}}{END}",
            marker={"size": 4},
        )
        for colour, dimension in zip(LINES * len(dimensions), dimensions, strict=False)
    ]
    return go.Figure(
        lines,
        layout(
            say("pos_plot_curves", base=_base(base, language)),
            x=axis(say("pos_position")),
            y=axis(say("pos_value"), range=[-1.08, 1.08]),
        ),
    )


def wavelengths(
    d_model: int, bases: Sequence[float], length: int, language: Language = ENGLISH
) -> go.Figure:
    """Plot the wavelength of each pair of dimensions for several bases; a line across
    marks the table's length."""
    say = language.say
    exponents = np.arange(0, d_model, 2)
    lines = [
        _of_base(
            base,
            language,
            None,
            explain.wavelengths(d_model, base),
            f"2π · {decimal(base, 6)}^(%{{customdata}}/{d_model}) = %{{y:.4~r}}{END}",
            customdata=exponents,
        )
        for base in bases
    ]
    across = line(
        [0, d_model // 2 - 1],
        [length, length],
        say("pos_length_line", length=length),
        GREY,
        None,
        dash="dash",
        mode="lines",
        hoverinfo="name",
    )
    return go.Figure(
        [*lines, across],
        layout(
            say("pos_plot_waves", d_model=d_model),
            x=axis(say("pos_pair")),
            y=logarithmic(
                say("pos_wavelength"), [float(wave) for one in lines for wave in one.y]
            ),
        ),
    )


def distances(
    tables: Mapping[float, np.ndarray], language: Language = ENGLISH
) -> go.Figure:
    """Plot the dot product of two positions against their distance, for the tables of
    several bases."""
    say = language.say
    hover = (
        say("pos_hover_distance", n="%{x}", dot="%{y:.2f}", alike="%{customdata:.3f}")
        + END
    )
    lines = list[go.Scatter]()
    d_model = 0
    for base, rows in tables.items():
        d_model = rows.shape[1]
        dots = explain.dot_products(rows)
        lines.append(
            _of_base(base, language, None, dots, hover, customdata=dots * 2 / d_model)
        )
    return go.Figure(
        lines,
        layout(
            say("pos_plot_distance", most=d_model // 2),
            x=axis(say("pos_distance")),
            y=axis(say("pos_dot")),
        ),
    )


def bases(tables: Mapping[float, np.ndarray], language: Language = ENGLISH) -> str:
    """Tabulate for each base which positions are hard to tell apart: neighbours, or
    positions far away. HTML."""
    rows = []
    for base, table_of_base in tables.items():
        d_model = table_of_base.shape[1]
        neighbour = float(explain.dot_products(table_of_base)[1]) * 2 / d_model
        longest = language.number(explain.wavelengths(d_model, base)[-1], 1)
        rows.append(
            (
                _base(base, language),
                longest,
                neighbour,
                explain.second_peak(table_of_base),
            )
        )
    return fill("positions.bases", language, rows=rows)


def rotation(
    rows: np.ndarray,
    pair: int,
    position: int,
    steps: int,
    base: float,
    language: Language = ENGLISH,
) -> go.Figure:
    """Plot the circle of a pair of dimensions, and the turn from `position` to the
    position `steps` further on."""
    say = language.say
    sines = rows[:, 2 * pair]
    cosines = rows[:, 2 * pair + 1]
    d_model = rows.shape[1]
    angle = 2 * math.pi / explain.wavelengths(rows.shape[1], base)[pair]
    arc = np.linspace(position * angle, (position + steps) * angle, 60)
    around = np.linspace(0, 2 * math.pi, 181)
    hover = (
        say(
            "pos_hover_circle",
            position="%{customdata}",
            sine="%{y:.4f}",
            cosine="%{x:.4f}",
        )
        + END
    )
    parts = [
        go.Scatter(
            x=np.cos(around),
            y=np.sin(around),
            mode="lines",
            line={"color": GRID},
            hoverinfo="skip",
            showlegend=False,
        ),
        go.Scatter(
            x=cosines,
            y=sines,
            mode="markers",
            marker={"color": GREY, "size": 6},
            name=say("pos_every"),
            customdata=np.arange(len(rows)),
            hovertemplate=hover,
        ),
        go.Scatter(
            x=0.85 * np.cos(arc),
            y=0.85 * np.sin(arc),
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            line={"color": ORANGE, "width": 3},
        ),
    ]
    for place, colour in ((position, BLUE), (position + steps, ORANGE)):
        parts.append(
            line(
                [0, math.cos(place * angle)],
                [0, math.sin(place * angle)],
                say("pos_place", position=place),
                colour,
                f"{value_of(str(place), 2 * pair, d_model, base)} = %{{y:.4f}}<br>"
                f"{value_of(str(place), 2 * pair + 1, d_model, base)} = %{{x:.4f}}{END}",
                marker={"size": [1, 11], "color": colour},
            )
        )
    title = say(
        "pos_plot_rotation",
        pair=pair,
        position=position,
        to=position + steps,
        degrees=f"{math.degrees(steps * angle):.1f}",
    )
    return go.Figure(
        parts,
        layout(
            title,
            height=320,
            x=axis(say("pos_cosine", dimension=2 * pair + 1), range=[-1.15, 1.15]),
            y=axis(
                say("pos_sine", dimension=2 * pair),
                range=[-1.15, 1.15],
                scaleanchor="x",
            ),
        ),
    )


def checked(
    rows: np.ndarray, pair: int, steps: int, base: float, language: Language = ENGLISH
) -> str:
    """Show the matrix of the turn, and its largest error anywhere in the table;
    HTML."""
    return fill(
        "positions.checked",
        language,
        matrix=explain.rotation(steps, pair, rows.shape[1], base),
        count=len(rows) - steps,
        error=explain.rotation_error(rows, steps, pair, base),
    )


def confusion(
    shares: Mapping[float, np.ndarray],
    noise: np.ndarray,
    length: int,
    d_model: int,
    language: Language = ENGLISH,
) -> go.Figure:
    """Plot the share of positions that are mistaken for another one against the noise,
    for several bases."""
    say = language.say
    hover = say("pos_hover_noise", noise="%{x:.2f}", share="%{y:.1f}") + END
    lines = [
        _of_base(base, language, noise, 100 * values, hover)
        for base, values in shares.items()
    ]
    return go.Figure(
        lines,
        layout(
            say("pos_plot_noise", length=length, d_model=d_model),
            x=axis(say("pos_noise")),
            y=axis(say("pos_confused"), range=[-3, 103]),
        ),
    )


def sentence(embedded: Embedded, language: Language = ENGLISH) -> go.Figure:
    """Plot embeddings, positions and their sum, one above the other on one scale: a row
    a piece."""
    say = language.say
    parts = {
        "embeddings": embedded.embeddings,
        "positions": embedded.positions,
        "sum": embedded.embeddings + embedded.positions,
    }
    reach = float(max(1, np.percentile(np.abs(parts["sum"]), 99)))
    pieces = literal(
        [f"{i} · {piece}" for i, piece in enumerate(shown_all(embedded.pieces))]
    )
    names = [
        say(f"pos_part_{name}", size=f"{_rms(part):.2f}")
        for name, part in parts.items()
    ]
    hover = (
        say("pos_hover_part", piece="%{y}", dimension="%{x}", value="%{z:+.3f}") + END
    )
    height, domains = panels(3, 13 * len(pieces))
    labels = {
        "tickvals": list(range(len(pieces))),
        "ticktext": pieces,
        **DOWN,
    }
    maps = [
        go.Heatmap(
            name=say(f"pos_name_{name}"),
            z=part.astype(np.float32),
            coloraxis="coloraxis",
            yaxis=f"y{which}",
            hovertemplate=hover,
        )
        for which, (name, part) in zip(("", "2", "3"), parts.items(), strict=True)
    ]
    first, second, third = (
        axis(name, domain=domain, **labels)
        for name, domain in zip(names, domains, strict=True)
    )
    return go.Figure(
        maps,
        layout(
            say("pos_plot_sentence"),
            height=height,
            x=axis(say("pos_dimension"), anchor="y3", showgrid=False),
            y=first,
            yaxis2=second,
            yaxis3=third,
            coloraxis=_scale(say("pos_value"), reach, height),
            margin={"l": 90},
            pair=[spelled_out(embedded.pieces)],
        ),
    )


def beside(embedded: Embedded, language: Language = ENGLISH) -> str:
    """Say how large the positions are beside the embeddings, as `sentence` shows both;
    HTML."""
    words, places = (_rms(part) for part in (embedded.embeddings, embedded.positions))
    return paragraph(
        language,
        "pos_found_sentence",
        times=f"{places / words:.2f}",
        positions=f"{places:.2f}",
        embeddings=f"{words:.2f}",
    )


def joined(
    embedded: Embedded, walk: Walk, piece: int, language: Language = ENGLISH
) -> go.Figure:
    """Plot what the first head's W_Q makes of a piece's word, of its position, and of
    their sum: the last row is the sum of the two above."""
    word, place = (
        part[piece] @ walk.w_q for part in (embedded.embeddings, embedded.positions)
    )
    together = (embedded.embeddings + embedded.positions)[piece] @ walk.w_q
    rows = ["W₁ x", "W₂ p", "W (x + p)"]
    return heatmap.strips(
        np.vstack([word, place, together]),
        rows,
        title=language.say(
            "pos_plot_joined",
            piece=shown_all(embedded.pieces)[piece],
            position=piece,
        ),
        height=24,
        scale=heatmap.Scale(
            language.say("pos_value"), float(np.abs(together).max()), signed=True
        ),
        language=language,
        pair=[spelled_out(embedded.pieces)],
    )


def costs_of_joining(
    embedded: Embedded, walk: Walk, language: Language = ENGLISH
) -> str:
    """Tabulate what adding and concatenating cost, and say that they are the same with
    one matrix twice, and how well the sum can be taken apart; HTML."""
    words = embedded.embeddings
    places = embedded.positions
    width = words.shape[1]
    twice = np.hstack([words, places]) @ np.vstack([walk.w_q, walk.w_q])
    error = float(np.abs(twice - (words + places) @ walk.w_q).max())
    count, share = explain.apart(words, places)
    return fill(
        "positions.joined",
        language,
        rows=[
            ("numbers", width, 2 * width),
            ("first", 3 * width**2, 6 * width**2),
            ("layer", 12 * width**2, 48 * width**2),
        ],
        error=decimal(error, 2),
        pieces=len(words),
        count=count,
        width=width,
        kept=f"{100 * explain.KEPT:.0f}",
        share=f"{100 * share:.1f}",
        chance=f"{100 * count / width:.1f}",
    )


def _rms(part: np.ndarray) -> float:
    return math.sqrt(float((part**2).mean()))


def moved(change: Moved, old: str, language: Language = ENGLISH) -> str:
    """Compare a translation with the one made under changed positions: both texts, and
    every piece's log-probability.

    old: the text of the translation before the change.
    """
    before = change.before
    texts = both_texts(
        "pos_moved_{}",
        old,
        change.translation.best.text,
        before.log_probs,
        change.after.log_probs,
        language,
        language.say("pos_nothing"),
    )
    names = [
        language.say(key)
        for key in ("pos_piece", "pos_before", "pos_after", "pos_change")
    ]
    pieces = piece_table(
        names, before.predicted, before.log_probs, change.after.log_probs, language
    )
    return fill(
        "positions.moved",
        language,
        texts=texts,
        pieces=pieces,
        read="" if change.source == before.text else change.source,
    )


def named(change: Moved, positions: Positions, language: Language = ENGLISH) -> str:
    """Name the positions of a change, and whether its words are shuffled."""
    value = (
        f" ({decimal(positions.value, 6)})"
        if positions.kind in ("shift", "base")
        else ""
    )
    shuffled = (
        f", {language.say('pos_shuffled')}"
        if change.source != change.before.text
        else ""
    )
    kind = language.say(f"pos_kind_{positions.kind}")
    return language.say("pos_named", kind=f"{kind}{value}{shuffled}")


def lengths(scores: Sequence[LengthScore], language: Language = ENGLISH) -> go.Figure:
    """Plot BLEU and chrF by sentence length, and below them the number of training
    sentences, if known."""
    say = language.say
    places = list(range(len(scores)))
    known = any(score.training for score in scores)
    bins: dict[str, Any] = {
        "tickvals": places,
        "ticktext": [score.pieces for score in scores],
    }
    if known:
        bins["range"] = [-0.5, len(scores) - 0.5]  # the bars of both ends whole
    height, domains = panels(2 if known else 1)
    data = list[Any]()
    for name, values, colour in (
        ("BLEU", [score.bleu for score in scores], BLUE),
        ("chrF", [score.chrf for score in scores], ORANGE),
    ):
        hints = [
            say("pos_hover_length", value=value, sentences=score.sentences)
            for value, score in zip(values, scores, strict=True)
        ]
        data.append(
            line(
                places,
                values,
                name,
                colour,
                f"%{{fullData.name}} %{{text}}{END}",
                text=hints,
            )
        )
    more: dict[str, Any] = {}
    if known:
        data.append(
            go.Bar(
                x=places,
                y=[score.training for score in scores],
                marker={"color": GREY},
                yaxis="y2",
                name=say("pos_training"),
                showlegend=False,
                hovertemplate=say("pos_hover_training", count="%{y:,}") + END,
            )
        )
        more["yaxis2"] = axis(say("pos_learned"), domain=domains[1])
    return go.Figure(
        data,
        layout(
            say("pos_plot_lengths"),
            height=height,
            x=axis(say("pos_pieces"), anchor=f"y{len(domains)}", **bins),
            y=axis(say("pos_quality"), rangemode="tozero", domain=domains[0]),
            **more,
        ),
    )


def carried(scores: Sequence[LengthScore], language: Language = ENGLISH) -> str:
    """Say in a sentence where quality is best, and what it is at the longest sentences
    that `lengths` plots; HTML."""
    if len(scores) < 2:
        return ""
    best = max(scores, key=lambda score: score.bleu)
    last = scores[-1]
    less = round(best.bleu, 1) - round(last.bleu, 1)  # as both are read
    at = {"pieces": last.pieces, "bleu": f"{last.bleu:.1f}"}
    if best is last:
        return paragraph(language, "pos_carried_far", **at)
    return paragraph(
        language,
        "pos_carried",
        **at,
        best_pieces=best.pieces,
        best=f"{best.bleu:.1f}",
        less=f"{less:.1f}",
    )


def _of_base(
    base: float, language: Language, x: Any, y: Any, hover: str, **more: Any
) -> go.Scatter:
    """A curve for one base, with its look and its name."""
    return line(
        x,
        y,
        language.say("pos_base_is", base=_base(base, language)),
        COLOURS.get(base, GREY),
        hover,
        mode="lines",
        **more,
    )


def _base(base: float, language: Language) -> str:
    """Write a base with separators of thousands."""
    digits = 0 if base == int(base) else 6
    written = language.number(base, digits)
    return written.rstrip("0").rstrip(".") if digits else written


def _scale(name: str, reach: float, height: float) -> dict[str, Any]:
    """A colour axis from -reach to reach, beside maps of a height in pixels."""
    return {
        "colorscale": heatmap.DIVERGING,
        "cmin": -reach,
        "cmax": reach,
        "colorbar": heatmap.bar(heatmap.Scale(name, reach, signed=True), height),
    }
