"""What recorded runs of both orders say, and how the gradient grows with depth before
the first step."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import plotly.graph_objects as go

from xformer.explain.recorded import QUESTIONS, WHOLE, reached
from xformer.figures.labels import paragraph, paragraphs
from xformer.figures.layout import BLUE, END, ORANGE, axis, layout, line, logarithmic
from xformer.figures.spread import BETWEEN
from xformer.figures.training import recorded_found
from xformer.results import RunSettings, TrainingCourse, decimal
from xformer.strings import ENGLISH, Language

# what would settle more: million target pieces of a run, and layers of each stack
LARGER = {"full": 30, "depth": 6}
COLOURS = {"post": ORANGE, "pre": BLUE}
Kinds = Mapping[RunSettings, Sequence[TrainingCourse]]


@dataclass(frozen=True)
class Deep:
    """An untrained model's gradients on real sentences, from `research study depths`:
    the norm of each layer's, encoder first."""

    norm: str
    layers: int  # of the encoder, and of the decoder
    seed: int
    norms: list[float]

    @property
    def decoder(self) -> list[float]:
        """Of the decoder's layers, from the first to the last."""
        return self.norms[self.layers :]

    @property
    def growth(self) -> float:
        """How many times the first decoder layer's gradient the last one's is."""
        return self.decoder[-1] / self.decoder[0]


DEEP = [
    Deep(**run)
    for run in json.loads(
        Path(__file__).with_name("depths.json").read_text(encoding="utf-8")
    )["runs"]
]


def deeper(runs: Sequence[Deep], language: Language = ENGLISH) -> go.Figure:
    """Plot the mean over seeds of the gradients of the decoder's layers, a line an
    order and a depth."""
    say = language.say
    data = []
    for norm, layers in dict.fromkeys((one.norm, one.layers) for one in runs):
        some = [one for one in runs if (one.norm, one.layers) == (norm, layers)]
        name = say(
            "recorded_deep_name",
            order=say(f"train_order_{norm}"),
            layers=layers,
        )
        columns = [*zip(*(one.decoder for one in some), strict=True)]
        data.append(
            line(
                [*range(1, layers + 1)],
                [mean(column) for column in columns],
                name,
                COLOURS[norm],
                f"%{{fullData.name}}, %{{text}}{END}",
                dash="solid" if layers == max(one.layers for one in runs) else "dot",
                text=[
                    say(
                        "recorded_deep_hover",
                        layer=at,
                        norm=decimal(mean(column), 3),
                        least=decimal(min(column), 3),
                        most=decimal(max(column), 3),
                    )
                    for at, column in enumerate(columns, 1)
                ],
            )
        )
    values = [value for one in runs for value in one.decoder]
    return go.Figure(
        data,
        layout(
            say(
                "recorded_deep_plot",
                shallow=min(one.layers for one in runs),
                deep=max(one.layers for one in runs),
            ),
            x=axis(say("recorded_deep_layer"), dtick=1),
            y=logarithmic(say("live_norm"), values),
        ),
    )


def settled(
    found: Kinds,
    question: str,
    about: Mapping[str, Any],
    language: Language = ENGLISH,
) -> str:
    """Say which differences between the runs of a question lie beyond the spread of
    their seeds, and what such runs cannot settle; HTML. Empty where there are too few
    seeds. about: of the runs, as they were recorded."""
    said = recorded_found(found, question, language)
    if not said:
        return ""
    size = {name: about.get(name, "?") for name in ("layers", "d_model", "steps")}
    unsettled = language.say("recorded_unsettled", **size)
    seen = [one.seen for runs in found.values() for one in runs if one.seen]
    if seen:
        unsettled += " " + language.say(
            "recorded_larger", pieces=f"{mean(seen) / 1e6:.2f}", **LARGER
        )
    missing = [
        language.say(f"part_{kind.without}")
        for kind in QUESTIONS[question]
        if kind not in found
    ]
    if question == "parts" and missing:
        unsettled += " " + language.say("recorded_unmade", list=BETWEEN.join(missing))
    return paragraphs([said, unsettled])


def order_read(found: Kinds, deep: Sequence[Deep], language: Language = ENGLISH) -> str:
    """Say what the runs of both orders reached beside what a lecture reports, and what
    the depth does to what a warm-up is for; HTML. Empty where a run is missing."""
    ends = {
        (kind.norm, bool(kind.warmup)): reached(runs) for kind, runs in found.items()
    }
    wanted = [(norm, warm) for norm in COLOURS for warm in (True, False)]
    if not all(ends.get(one) for one in wanted):
        return ""
    bleu = {
        f"{norm}_{'with' if warm else 'without'}": f"{mean(ends[norm, warm]):.1f}"
        for norm, warm in wanted
    }
    shallow, deepest = (pick(one.layers for one in deep) for pick in (min, max))
    depths = {shallow: "shallow", deepest: "deep"}
    grown = {
        f"{norm}_{depths[layers]}": decimal(
            mean(
                one.growth for one in deep if (one.norm, one.layers) == (norm, layers)
            ),
            2,
        )
        for norm, layers in dict.fromkeys((one.norm, one.layers) for one in deep)
    }
    seeds = len({one.seed for one in deep})
    return paragraph(
        language,
        "recorded_order_read",
        seeds=min(map(len, ends.values())),
        steps=WHOLE.steps,
        **bleu,
    ) + paragraph(
        language,
        "recorded_deep_read",
        seeds=seeds,
        shallow=shallow,
        deep=deepest,
        **grown,
    )
