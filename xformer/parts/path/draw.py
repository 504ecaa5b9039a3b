"""The path between two pieces through layers of four kinds, and how far each piece
reaches in trained encoders."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from xformer.figures.generation import COLOURS, DASHES, label
from xformer.figures.labels import paragraph, percent, shown_all
from xformer.figures.layout import END, GREY, axis, layout, line, logarithmic
from xformer.results import Reach, decimal
from xformer.strings import ENGLISH, Language

LOW = 140  # pixels between the axes of a plot that stands below the drawing
NETWORKS = ("recurrence", "convolution", "dilated", "self_attention")


def network(
    name: str, count: int, kernel: int, first: int, last: int
) -> dict[str, Any]:
    """Lay out the layers of one of NETWORKS, and find a shortest path from the input at
    `first` to a state at `last`.

    feeds: from the input up, how far before it each layer reads in the one below: a
    convolution its own place and the kernel - 1 before it; a dilated one `kernel` times
    as far apart as that below (van den Oord et al., "WaveNet",
    2016); until the last of `count` places sees the first. A recurrent state also reads
    the one before it. route: the nodes on the path as (layer, place); an input's layer
    is 0.
    """
    layers = {"recurrence": [[0]], "self_attention": [[*range(1 - count, count)]]}.get(
        name, []
    )
    seen = 1
    while seen < count and name in ("convolution", "dilated"):
        layers.append(
            [place * (seen if name == "dilated" else 1) for place in range(kernel)]
        )
        seen += layers[-1][-1]
    path = [
        (0, first),
        *((1, place) for place in range(first, last + 1) if name == "recurrence"),
    ]
    for layer, reads in enumerate(layers, 1):
        if rest := last - path[-1][1]:
            step = (
                rest % (reads[1] + reads[-1])
                if name == "dilated"
                else min(rest, reads[-1])
            )
            path.append((layer, path[-1][1] + step))
    return {"name": name, "feeds": layers, "route": path}


def left(reach: Reach) -> dict[str, Any]:
    """What is left of each derivative, (n, n) without </s>, and on average at each
    distance, of that at distance 0."""
    norms = reach.norms[:-1, :-1].astype(float) / reach.norms.diagonal()[:-1].mean()
    means = [
        float(norms.diagonal(away).mean() + norms.diagonal(-away).mean()) / 2
        for away in range(len(norms))
    ]
    return {"norms": norms.tolist(), "means": means, "directions": reach.directions}


def payload(
    pieces: Sequence[str],
    found: Mapping[str, Any],
    chosen: tuple[int, int],
    kernel: int,
    language: Language = ENGLISH,
) -> dict[str, Any]:
    """Give path.js the layers, the path between two pieces (indices), and what was
    found of each generation."""
    models = [
        {
            "name": label(name, language),
            **(left(reach) if isinstance(reach, Reach) else {"said": reach or "…"}),
        }
        for name, reach in found.items()
    ]
    return {
        "pieces": shown_all(pieces),
        "chosen": chosen,
        "kernel": kernel,
        "models": models,
        "networks": [
            {
                "title": title,
                **network(name, len(pieces), kernel, min(chosen), max(chosen)),
            }
            for title, name in language.choices("path_{}", NETWORKS)
        ],
        "texts": {
            key: text for key, text in language.texts.items() if key.startswith("path_")
        },
    }


def needed(
    measured: Mapping[str, Sequence[Mapping[str, float]]], language: Language = ENGLISH
) -> go.Figure:
    """Plot, by the length of what is read, in how many words of a hundred the gradient
    of the log-probability is largest at the word that is translated, a line a model,
    and what it would be by chance."""
    say = language.say
    data = [
        line(
            [one["pieces"] for one in every],
            [100 * one["first"] for one in every],
            label(name, language),
            COLOURS[name],
            "%{text}" + END,
            dash=DASHES[name],
            text=[
                say(
                    "path_needed_hover",
                    model=label(name, language),
                    pieces=decimal(one["pieces"]),
                    first=percent(one["first"]),
                    share=percent(one["share"]),
                    words=one["words"],
                )
                for one in every
            ],
        )
        for name, every in measured.items()
    ]
    lengths = next(iter(measured.values()))
    chance = line(
        [one["pieces"] for one in lengths],
        [100 * one["chance"] for one in lengths],
        say("path_needed_chance"),
        GREY,
        f"%{{fullData.name}}: %{{y:.1f}} %{END}",
        dash="dot",
        mode="lines",
        showlegend=False,
    )
    return go.Figure(
        [*data, chance],
        layout(
            say("path_needed_plot"),
            height=LOW,
            x=axis(say("path_needed_pieces")),
            y=axis(say("path_needed_share"), rangemode="tozero"),
        ),
    )


def needed_said(
    measured: Mapping[str, Sequence[Mapping[str, float]]], language: Language = ENGLISH
) -> str:
    """Say what `needed` shows, from the shortest to the longest; HTML."""
    each = [
        language.say(
            "path_needed_each",
            model=label(name, language),
            short=percent(every[0]["first"]),
            long=percent(every[-1]["first"]),
        )
        for name, every in measured.items()
    ]
    every = next(iter(measured.values()))
    return paragraph(
        language,
        "path_needed_said",
        short=f"{every[0]['pieces']:.0f}",
        long=f"{every[-1]['pieces']:.0f}",
        each="; ".join(each),
    )


def curves(
    found: Mapping[str, Any], distance: int, language: Language = ENGLISH
) -> go.Figure | None:
    """Plot what is left on average by distance, a line a model, with a mark at that of
    the chosen pieces."""
    known = {
        name: left(reach)["means"]
        for name, reach in found.items()
        if isinstance(reach, Reach)
    }
    data = [
        line(
            [*range(len(means))],
            means,
            label(name, language),
            COLOURS[name],
            f"%{{fullData.name}}, %{{x}}: %{{y:.3~r}}{END}",
            dash=DASHES[name],
        )
        for name, means in known.items()
    ]
    mark = {
        "type": "line",
        "x0": distance,
        "x1": distance,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": GREY},
    }
    return (
        go.Figure(
            data,
            layout(
                language.say("path_plot"),
                height=LOW,
                x=axis(language.say("path_axis_distance")),
                shapes=[mark],
                y=logarithmic(language.say("path_axis_left"), sum(known.values(), [])),
            ),
        )
        if data
        else None
    )
