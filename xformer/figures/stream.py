"""Figures of the residual stream: one layer's normalisations and sums, the units of its
network, and all layers."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from xformer.figures import heatmap
from xformer.figures.heatmap import Axis, Scale
from xformer.figures.labels import FORMULAS as ALL_FORMULAS
from xformer.figures.labels import lesson, paragraph, shown, shown_all
from xformer.figures.layout import BLUE, ORANGE, TEAL, axis, layout, line, panels
from xformer.figures.templates import fill
from xformer.results import Stream, Sublayer, decimal
from xformer.strings import ENGLISH, Language

UNITS = 24  # of the feed-forward network that are drawn
COLOURS = {"self_attention": BLUE, "cross_attention": TEAL, "feed_forward": ORANGE}
HOVER = "%{x}: %{y:.3f}"
FORMULAS = ALL_FORMULAS["stream"]


def heading(name: str, language: Language = ENGLISH, norm: str = "pre") -> str:
    """Introduce a figure: title, formula, and what to notice. norm: the model's order
    of normalisation. HTML."""
    return lesson(
        language,
        f"rest_title_{name}",
        FORMULAS[name],
        f"rest_text_{name}_post"
        if (name, norm) == ("state", "post")
        else f"rest_text_{name}",
    )


def strips(
    stream: Stream,
    layer: int,
    piece: int,
    language: Language = ENGLISH,
    pair: Sequence[str] = (),
) -> go.Figure:
    """Plot a piece's state through a layer, a row a vector: the state, LayerNorm with γ
    and β, and what is added."""
    say = language.say
    names = list[str]()
    rows = list[np.ndarray]()
    for one in stream.of_layer(layer):
        parts = [(say("rest_state"), one.state[piece])]
        of_norm = [
            ("γ", one.gamma),
            ("β", one.beta),
            (say("rest_normed"), one.normed[piece]),
        ]
        added = [(say("rest_added", name=say(f"train_{one.name}")), one.added[piece])]
        parts += [*of_norm, *added] if stream.norm == "pre" else [*added, *of_norm]
        names += [name for name, _ in parts]
        rows += [numbers for _, numbers in parts]
    numbers = np.vstack([*rows, stream.of_layer(layer)[-1].after[piece]])
    # A few dimensions of the state are ten times as large as the others, which would
    # become invisible.
    reach = float(np.quantile(np.abs(numbers), 0.98)) or 1.0
    return heatmap.strips(
        numbers,
        [*names, say("rest_state")],
        title=_title(stream, layer, piece, language),
        height=20,
        language=language,
        scale=Scale(say("first_bar_number"), reach, signed=True),
        pair=pair,
    )


def sums(
    stream: Stream,
    layer: int,
    piece: int,
    pair: Sequence[str] = (),
    language: Language = ENGLISH,
) -> str:
    """Tabulate a layer's sub-layers for a piece: LayerNorm's mean and deviation,
    lengths, share, cosine. HTML.

    pair: the sentence and its translation, written into a saved picture.
    """
    say = language.say
    rows = []
    for one in stream.of_layer(layer):
        read = one.read(stream.norm)[piece]
        rows.append(
            [
                say(f"train_{one.name}"),
                float(read.mean()),
                float(read.std()),
                *_measures(one)[:, piece].tolist(),
            ]
        )
    columns = [
        say(f"rest_{name}")
        for name in (
            "sublayer",
            "mean",
            "deviation",
            "length",
            "added_length",
            "share",
            "cosine",
        )
    ]
    return fill(
        "stream.sums",
        language,
        title=_title(stream, layer, piece, language),
        columns=columns,
        rows=rows,
        norm=stream.norm,
        pair=pair,
    )


def _title(stream: Stream, layer: int, piece: int, language: Language) -> str:
    return language.say(
        "rest_strips",
        piece=shown(stream.pieces[piece]),
        layer=layer,
        d_model=stream.output.shape[1],
    )


def _measures(one: Sublayer) -> np.ndarray:
    """Lengths of the state and of the addition, their ratio, and the cosine of the
    states before and after: (4, L)."""
    state, added = (
        np.linalg.norm(numbers, axis=1) for numbers in (one.state, one.added)
    )
    return np.stack(
        [state, added, added / np.maximum(state, 1e-12), _cosines(one.state, one.after)]
    )


def _cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cosines (L,) of vectors (L, D), row by row."""
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosines: np.ndarray = (a * b).sum(axis=1) / np.maximum(lengths, 1e-12)
    return cosines


def _network(stream: Stream, layer: int) -> np.ndarray:
    """The hidden numbers (L, d_ff) of a layer's feed-forward network."""
    hidden = stream.of_layer(layer)[-1].hidden
    assert hidden is not None, (
        "the last sub-layer of each layer is its feed-forward network"
    )
    return hidden


def units(
    stream: Stream,
    layer: int,
    piece: int,
    language: Language = ENGLISH,
    pair: Sequence[str] = (),
) -> go.Figure:
    """Plot the units that fire most on a piece: a row a unit, a column a piece of the
    sentence."""
    say = language.say
    hidden = _network(stream, layer)
    chosen = np.argsort(-hidden[piece], kind="stable")[:UNITS]
    # no unit fires on this piece
    chosen = chosen[hidden[piece, chosen] > 0] if hidden[piece].any() else np.arange(1)
    shown_units = hidden[:, chosen].T

    return heatmap.matrix(
        shown_units,
        Axis(
            say("rest_axis_unit"),
            [say("rest_unit", unit=int(unit) + 1) for unit in chosen],
        ),
        Axis(say("rest_axis_piece"), shown_all(stream.pieces)),
        heatmap.weight(language),
        cell=(24, 18),
        title=say(
            "rest_units",
            layer=layer,
            units=len(chosen),
            piece=shown(stream.pieces[piece]),
        ),
        scale=Scale(say("rest_activation"), max(1e-6, float(shown_units.max()))),
        pair=pair,
    )


def firing(stream: Stream, layer: int, piece: int, language: Language = ENGLISH) -> str:
    """Say how many units fire, and that the network treats all positions alike;
    HTML."""
    fires = (_network(stream, layer) > 0).sum(axis=1)
    return paragraph(
        language,
        "rest_fire",
        "status",
        units=_network(stream, layer).shape[1],
        fire=int(fires[piece]),
        piece=shown(stream.pieces[piece]),
        pieces=len(fires),
        mean=f"{fires.mean():.0f}",
        moved=decimal(stream.moved, 2) if stream.moved else "0",
    )


def course(
    stream: Stream, piece: int, language: Language = ENGLISH, pair: Sequence[str] = ()
) -> go.Figure:
    """Plot a piece's state through all layers: its length, its cosine with the previous
    state, and the additions."""
    say = language.say
    layers = stream.sublayers[-1].layer
    after = (stream.of_layer(layer)[-1].after for layer in range(1, layers + 1))
    states = np.stack([stream.sublayers[0].state, *after])
    lengths = np.linalg.norm(states, axis=2)  # (layers + 1, L)
    cosines = np.stack(
        [_cosines(a, b) for a, b in zip(states, states[1:], strict=False)]
    )
    places = list(range(layers + 1))
    curves = list[go.Scatter]()
    for which, x, values in (("", places, lengths), ("2", places[1:], cosines)):
        for name, y, dash in (
            (say("rest_this_piece"), values[:, piece], "solid"),
            (say("rest_mean_of_all"), values.mean(axis=1), "dash"),
        ):
            curves.append(
                line(
                    x,
                    y,
                    name,
                    "#a855f7",
                    HOVER,
                    dash=dash,
                    legendgroup=name,
                    showlegend=not which,
                    yaxis=f"y{which}",
                )
            )
    for sublayer, colour in COLOURS.items():
        some = [one for one in stream.sublayers if one.name == sublayer]
        for of, dash in (
            ((say("rest_this_piece"), "solid"), (say("rest_mean_of_all"), "dash"))
            if some
            else ()
        ):
            shares = [
                float(
                    _measures(one)[2][piece]
                    if dash == "solid"
                    else _measures(one)[2].mean()
                )
                for one in some
            ]
            name = say(f"train_{sublayer}")
            curves.append(
                line(
                    [one.layer for one in some],
                    shares,
                    name if dash == "solid" else f"{name}, {of}",
                    colour,
                    HOVER,
                    dash=dash,
                    yaxis="y3",
                    showlegend=dash == "solid",
                )
            )
    height, (first, second, third) = panels(3)
    title = say(
        "rest_course",
        piece=shown(stream.pieces[piece]),
        layers=layers,
        side=say("rest_side_decoder" if stream.predicted else "rest_side_encoder"),
    )
    return go.Figure(
        curves,
        layout(
            title,
            height=height,
            pair=pair,
            x=axis(
                say("rest_after_layer"),
                anchor="y3",
                dtick=1,
                range=[-0.2, layers + 0.2],
            ),
            y=axis(say("rest_length"), rangemode="tozero", domain=first),
            yaxis2=axis(say("rest_cosine_layers"), domain=second),
            yaxis3=axis(say("rest_share"), rangemode="tozero", domain=third),
        ),
    )
