"""Positions in pictures: the table of Vaswani et al. (2017), section 3.5, why it works, and what it does to a sentence.

Tables are (length, d_model) as `explain.positions.table` makes them; pair i is dimension 2i, a sine, and 2i + 1, a
cosine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from xformer.explain import positions as explain
from xformer.figures import heatmap
from xformer.figures.ablation import changed_words, piece_table
from xformer.figures.attention import Choice, Picture, picture
from xformer.figures.labels import lesson, shown_all
from xformer.figures.layout import GRID, axis, layout, literal
from xformer.results import Embedded, LengthScore, Moved, Positions
from xformer.strings import text

COLOURS = {100.0: "#d97706", 1_000.0: "#0d9488", 10_000.0: "#2b7af6"}  # of the bases that are always compared
OTHER = "#9ca3af"
HEIGHT = 330  # pixels, of a plot
DOWN = {"autorange": "reversed", "showgrid": False}  # rows from the top down
LINES = ("#2b7af6", "#d97706", "#0d9488", "#a855f7", "#dc2626", "#9ca3af")
# Typeset by the browser itself: no fonts or scripts from anywhere.
FORMULAS = {
    "table": "<i>PE</i>(<i>p</i>, 2<i>i</i>) = sin(<i>p</i> / <i>base</i><sup>2<i>i</i>/<i>d</i></sup>) &nbsp; "
             "<i>PE</i>(<i>p</i>, 2<i>i</i>+1) = cos(<i>p</i> / <i>base</i><sup>2<i>i</i>/<i>d</i></sup>)",
    "waves": "<i>λ<sub>i</sub></i> = 2π · <i>base</i><sup>2<i>i</i>/<i>d</i></sup>",
    "distance": "<i>PE</i>(<i>p</i>) · <i>PE</i>(<i>p</i>+<i>n</i>) = Σ<sub><i>i</i></sub> cos(<i>n ω<sub>i</sub></i>) "
                "&nbsp; <i>ω<sub>i</sub></i> = 2π / <i>λ<sub>i</sub></i>",
    "rotation": "<i>PE<sub>i</sub></i>(<i>p</i>+<i>k</i>) = <i>R</i>(<i>k ω<sub>i</sub></i>) · "
                "<i>PE<sub>i</sub></i>(<i>p</i>)",
    "noise": "argmin<sub><i>q</i></sub> ‖ <i>PE</i>(<i>p</i>) + <i>ε</i> − <i>PE</i>(<i>q</i>) ‖ ≠ <i>p</i>",
    "sentence": "<i>x<sub>p</sub></i> = √<i>d</i> · <i>E</i>[piece<sub><i>p</i></sub>] + <i>PE</i>(<i>p</i>)",
}


def heading(name: str, language: str = "en") -> str:
    """What a picture is about, its formula, and what to notice in it, as HTML."""
    return lesson(text(f"pos_title_{name}", language), FORMULAS[name], text(f"pos_text_{name}", language))


def value_of(position: str, dimension: int, d_model: int, base: float) -> str:
    """The formula of one number of the table with its numbers filled in, but for what is given as `position`."""
    return f"{'cos' if dimension % 2 else 'sin'}({position} / {base:g}^({dimension // 2 * 2}/{d_model}))"


def table(rows: np.ndarray, base: float, language: str = "en") -> go.Figure:
    """The table as a heatmap: a row a position, a column a dimension; hover says the formula with its numbers."""
    length, d_model = rows.shape
    even = np.arange(d_model) % 2 == 0
    maps = [go.Heatmap(
        name=name, z=np.where(chosen, rows, np.float32(np.nan)), coloraxis="coloraxis", hoverongaps=False,
        hovertemplate=f"{name}(%{{y}} / {base:g}^({exponent}/{d_model})) = %{{z:.4f}}<extra></extra>")
        for name, exponent, chosen in (("sin", "%{x}", even), ("cos", "(%{x}−1)", ~even))]  # gaps where the other is
    return go.Figure(maps, layout(
        text("pos_plot_table", language, last=length - 1, d_model=d_model, base=_base(base)), 420, bottom=48,
        x=axis(text("pos_dimension", language)), y=axis(text("pos_position", language), **DOWN),
        coloraxis=_scale(text("pos_value", language), 1)))


def curves(rows: np.ndarray, dimensions: Sequence[int], base: float, language: str = "en") -> go.Figure:
    """Chosen dimensions as curves over the positions."""
    d_model, lines = rows.shape[1], []
    for colour, dimension in zip(LINES * len(dimensions), dimensions, strict=False):
        wave = explain.wavelengths(d_model, base)[dimension // 2]
        lines.append(go.Scatter(
            y=rows[:, dimension], mode="lines+markers", line={"color": colour}, marker={"size": 4},
            name=text("pos_curve", language, dimension=dimension, wavelength=_number(wave)),
            hovertemplate=f"{value_of('%{x}', dimension, d_model, base)} = %{{y:.4f}}<extra></extra>"))
    return go.Figure(lines, layout(
        text("pos_plot_curves", language, base=_base(base)), HEIGHT, x=axis(text("pos_position", language)),
        y=axis(text("pos_value", language), range=[-1.08, 1.08])))


def wavelengths(d_model: int, bases: Sequence[float], length: int, language: str = "en") -> go.Figure:
    """The wavelength of each pair of dimensions for several bases, and the length of the table as a line across."""
    exponents = np.arange(0, d_model, 2)
    lines = [go.Scatter(
        y=explain.wavelengths(d_model, base), customdata=exponents, **_line(base, language),
        hovertemplate=f"2π · {base:g}^(%{{customdata}}/{d_model}) = %{{y:.4g}}<extra></extra>") for base in bases]
    across = go.Scatter(
        x=[0, d_model // 2 - 1], y=[length, length], mode="lines", line={"color": OTHER, "dash": "dash"},
        name=text("pos_length_line", language, length=length), hoverinfo="name")
    return go.Figure([*lines, across], layout(
        text("pos_plot_waves", language, d_model=d_model), HEIGHT, x=axis(text("pos_pair", language)),
        y=axis(text("pos_wavelength", language), type="log", dtick=1)))


def distances(tables: Mapping[float, np.ndarray], language: str = "en") -> go.Figure:
    """Dot product of two positions against their distance, for the tables of several bases."""
    lines, d_model = [], 0
    for base, rows in tables.items():
        d_model, dots = rows.shape[1], explain.dot_products(rows)
        lines.append(go.Scatter(
            y=dots, customdata=dots * 2 / d_model, **_line(base, language), hovertemplate=text(
                "pos_hover_distance", language, n="%{x}", dot="%{y:.2f}", alike="%{customdata:.3f}")
            + "<extra></extra>"))
    return go.Figure(lines, layout(
        text("pos_plot_distance", language, most=d_model // 2), HEIGHT, x=axis(text("pos_distance", language)),
        y=axis(text("pos_dot", language))))


def bases(tables: Mapping[float, np.ndarray], language: str = "en") -> str:
    """For each base what is hard to tell apart in its table: neighbours, or positions far away; an HTML table."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))

    rows = []
    for base, table_of_base in tables.items():
        d_model = table_of_base.shape[1]
        neighbour = float(explain.dot_products(table_of_base)[1]) * 2 / d_model
        far = explain.rival(table_of_base)
        named = say("pos_far", distance=far[0], alike=f"{far[1]:.3f}") if far else "–"
        rows.append(f'<tr><td class="number">{escape(_base(base))}</td>'
                    f'<td class="number">{_number(explain.wavelengths(d_model, base)[-1])}</td>'
                    f'<td class="number">{neighbour:.3f}</td><td>{named}</td></tr>')
    return (f'<table class="plain"><caption>{say("pos_bases")}</caption><thead><tr><th>{say("pos_base")}</th>'
            f'<th>{say("pos_longest")}</th><th>{say("pos_neighbours")}</th><th>{say("pos_farther")}</th></tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table>')


def rotation(rows: np.ndarray, pair: int, position: int, steps: int, base: float, language: str = "en") -> go.Figure:
    """The circle that a pair of dimensions goes round, and the turn from one position to that `steps` further on."""
    sines, cosines = rows[:, 2 * pair], rows[:, 2 * pair + 1]
    d_model, angle = rows.shape[1], 2 * math.pi / explain.wavelengths(rows.shape[1], base)[pair]
    arc = np.linspace(position * angle, (position + steps) * angle, 60)
    around = np.linspace(0, 2 * math.pi, 181)
    parts = [
        go.Scatter(x=np.cos(around), y=np.sin(around), mode="lines", line={"color": GRID}, hoverinfo="skip",
                   showlegend=False),
        go.Scatter(x=cosines, y=sines, mode="markers", marker={"color": OTHER, "size": 6},
                   name=text("pos_every", language), customdata=np.arange(len(rows)), hovertemplate=text(
                       "pos_hover_circle", language, position="%{customdata}", sine="%{y:.4f}", cosine="%{x:.4f}")
                   + "<extra></extra>"),
        go.Scatter(x=0.85 * np.cos(arc), y=0.85 * np.sin(arc), mode="lines", hoverinfo="skip", showlegend=False,
                   line={"color": "#d97706", "width": 3})]
    for place, colour in ((position, "#2b7af6"), (position + steps, "#d97706")):
        parts.append(go.Scatter(
            x=[0, math.cos(place * angle)], y=[0, math.sin(place * angle)], mode="lines+markers",
            line={"color": colour, "width": 2}, marker={"size": [1, 11], "color": colour},
            name=text("pos_place", language, position=place), hovertemplate=(
                f"{value_of(str(place), 2 * pair, d_model, base)} = %{{y:.4f}}<br>"
                f"{value_of(str(place), 2 * pair + 1, d_model, base)} = %{{x:.4f}}<extra></extra>")))
    title = text("pos_plot_rotation", language, pair=pair, position=position, to=position + steps,
                 degrees=f"{math.degrees(steps * angle):.1f}")
    return go.Figure(parts, layout(
        title, 430, x=axis(text("pos_cosine", language, dimension=2 * pair + 1), range=[-1.15, 1.15]),
        y=axis(text("pos_sine", language, dimension=2 * pair), range=[-1.15, 1.15], scaleanchor="x")))


def checked(rows: np.ndarray, pair: int, steps: int, base: float, language: str = "en") -> str:
    """The matrix of the turn, and the largest error it makes anywhere in the table, as HTML."""
    (a, b), (c, d) = explain.rotation(steps, pair, rows.shape[1], base)
    error = explain.rotation_error(rows, steps, pair, base)
    return (f'<p role="status"><span class="formula"><i>R</i> = ( {a:+.3f} &nbsp; {b:+.3f} ; {c:+.3f} &nbsp; {d:+.3f} )'
            f'</span> {escape(text("pos_checked", language, count=len(rows) - steps, error=f"{error:.1e}"))}</p>')


def confusion(shares: Mapping[float, np.ndarray], noise: np.ndarray, length: int, d_model: int, language: str = "en"
              ) -> go.Figure:
    """Share of positions that are taken for another one, against the noise, for several bases."""
    lines = [go.Scatter(x=noise, y=100 * values, **_line(base, language), hovertemplate=text(
        "pos_hover_noise", language, noise="%{x:.2f}", share="%{y:.1f}") + "<extra></extra>")
        for base, values in shares.items()]
    return go.Figure(lines, layout(
        text("pos_plot_noise", language, length=length, d_model=d_model), HEIGHT, x=axis(text("pos_noise", language)),
        y=axis(text("pos_confused", language), range=[-3, 103])))


def sentence(found: Embedded, language: str = "en") -> go.Figure:
    """Embeddings, positions and their sum, one above the other, to the same scale: a row a piece."""
    parts = {"embeddings": found.embeddings, "positions": found.positions, "sum": found.embeddings + found.positions}
    reach = float(max(1, np.percentile(np.abs(parts["sum"]), 99)))
    pieces = literal([f"{i} · {piece}" for i, piece in enumerate(shown_all(found.pieces))])
    names = [text(f"pos_part_{name}", language, size=f"{math.sqrt(float((part ** 2).mean())):.2f}")
             for name, part in parts.items()]
    figure = make_subplots(3, 1, shared_xaxes=True, subplot_titles=names, vertical_spacing=0.08)
    for row, (name, part) in enumerate(parts.items(), 1):
        figure.add_trace(go.Heatmap(
            name=text(f"pos_name_{name}", language), z=part.astype(np.float32), coloraxis="coloraxis",
            hovertemplate=text("pos_hover_part", language, piece="%{y}", dimension="%{x}", value="%{z:+.3f}")
            + "<extra></extra>"), row=row, col=1)
    height = 150 + 3 * (30 + max(60, 18 * len(pieces)))
    labels = {"tickvals": list(range(len(pieces))), "ticktext": pieces, **DOWN}
    figure.update_layout(layout(text("pos_plot_sentence", language), height, x=axis(""), y=axis("", **labels),
                                bottom=48, coloraxis=_scale(text("pos_value", language), reach)))
    figure.update_layout(xaxis2=axis(""), xaxis3=axis(text("pos_dimension", language)), yaxis3=axis("", **labels),
                         yaxis2=axis(text("pos_piece", language), **labels))
    return figure


def moved(found: Moved, old: str, language: str = "en") -> str:
    """What was read, the translations before and after, and every piece of the old one; HTML. old: its text."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))

    new = found.translation.best.text
    read = f'<p class="sub">{say("pos_read")}</p><p lang="en">{escape(found.source)}</p>' if (
        found.source != found.before.text) else ""
    same = f'<p>{say("pos_same")}</p>' if old == new else ""
    before, after = sum(found.before.log_probs), sum(found.after.log_probs)
    total = say("pos_total", before=f"{before:.2f}", after=f"{after:.2f}", change=f"{after - before:+.2f}")
    names = [text(key, language) for key in ("pos_piece", "pos_before", "pos_after", "pos_change")]
    return (f'{read}<p class="sub">{say("pos_translation_before")}</p><p class="large" lang="es">{escape(old)}</p>'
            f'<p class="sub">{say("pos_translation_after")}</p>'
            f'<p class="large" lang="es">{changed_words(old, new) or say("pos_nothing")}</p>{same}<p>{total}</p>'
            f"{piece_table(names, found.before.predicted, found.before.log_probs, found.after.log_probs)}")


def maps(found: Moved, choice: Choice, positions: Positions, language: str = "en") -> tuple[Picture, Picture]:
    """A head before and after the change, each picture named for what it is."""
    kinds = [text(f"pos_kind_{positions.kind}", language)]
    if positions.kind in ("shift", "base"):
        kinds[0] += f" ({positions.value:g})"
    if found.source != found.before.text:
        kinds.append(text("pos_shuffled", language))
    old, new = (picture(trace, choice, language) for trace in (found.before, found.after))
    return (replace(old, title=f"{old.title} · {text('pos_kind_own', language)}"),
            replace(new, title=f"{new.title} · {', '.join(kinds)}"))


def lengths(scores: Sequence[LengthScore], language: str = "en") -> go.Figure:
    """BLEU and chrF by length of sentence, and below them how many sentences of that length were learned from."""
    def say(key: str, **values: object) -> str:
        return text(key, language, **values)

    places = list(range(len(scores)))
    figure = make_subplots(2, 1, shared_xaxes=True, row_heights=[0.62, 0.38], vertical_spacing=0.08)
    for name, colour in (("bleu", "#2b7af6"), ("chrf", "#d97706")):
        figure.add_trace(go.Scatter(
            x=places, y=[getattr(score, name) for score in scores], mode="lines+markers", line={"color": colour},
            name={"bleu": "BLEU", "chrf": "chrF"}[name],
            text=[say("pos_hover_length", value=getattr(score, name), sentences=score.sentences) for score in scores],
            hovertemplate="%{fullData.name} %{text}<extra></extra>"), row=1, col=1)
    figure.add_trace(go.Bar(
        x=places, y=[score.training for score in scores], marker={"color": OTHER}, name=say("pos_training"),
        hovertemplate=say("pos_hover_training", count="%{y:,}") + "<extra></extra>"), row=2, col=1)
    bins = {"tickvals": places, "ticktext": [f"{score.first}–{score.last or ''}" for score in scores]}
    figure.update_layout(layout(say("pos_plot_lengths"), 470, x=axis("", **bins),
                                y=axis(say("pos_quality"), rangemode="tozero")))
    figure.update_layout(xaxis2=axis(say("pos_pieces"), **bins), yaxis2=axis(say("pos_learned")))
    return figure


def _line(base: float, language: str) -> dict[str, Any]:
    return {"mode": "lines", "line": {"color": COLOURS.get(base, OTHER)}, "name": text("pos_base_is", language,
                                                                                      base=_base(base))}


def _base(base: float) -> str:
    return f"{base:,.6g}".replace(",", "\u202f")


def _number(value: float) -> str:
    return f"{value:,.1f}".replace(",", "\u202f")


def _scale(name: str, reach: float) -> dict[str, Any]:
    return {"colorscale": heatmap.DIVERGING, "cmin": -reach, "cmax": reach, "colorbar": {
        "title": {"text": name, "side": "right"}, "thickness": 14, "outlinewidth": 1}}
