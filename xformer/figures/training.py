"""Figures of training: gradients before it begins, live runs, and recorded runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from xformer.explain.recorded import LENGTHS, highest_rate, reached, verdict
from xformer.figures.heatmap import Axis, Scale, matrix
from xformer.figures.labels import paragraph
from xformer.figures.layout import (
    BLUE,
    GREY,
    ORANGE,
    TEAL,
    axis,
    layout,
    line,
    logarithmic,
    panels,
)
from xformer.figures.spread import missed, ranked
from xformer.figures.templates import fill
from xformer.results import (
    LiveFrame,
    LiveWait,
    RunSettings,
    SublayerGradient,
    TrainingCourse,
    decimal,
)
from xformer.strings import ENGLISH, Language

Gradients = Mapping[str, Sequence[SublayerGradient]]  # by the order of normalisation
# of a question, as `explain.recorded.kinds` finds them
Kinds = Mapping[RunSettings, Sequence[TrainingCourse]]
# x and y of a run's curve
Points = Callable[[TrainingCourse], tuple[Sequence[float], Sequence[float]]]
# of the two orders of normalisation, wherever they are compared
COLOURS = {"post": ORANGE, "pre": BLUE}
RUNS = (BLUE, ORANGE, TEAL, "#a855f7")  # of runs that lie one over the other
# dashes and marks
SUBLAYERS = {
    "feed_forward": ("solid", "circle"),
    "self_attention": ("dot", "square"),
    "cross_attention": ("dash", "diamond"),
}


def gradients(found: Gradients, language: Language = ENGLISH) -> go.Figure:
    """Plot the norm of each sub-layer's gradient by depth, encoder above decoder (Xiong
    et al. 2020, figure 3)."""
    say = language.say
    traces = list[go.Scatter]()
    axes = dict[str, Any]()
    height, domains = panels(2)
    for which, stack, domain in zip(
        ("", "2"), ("encoder", "decoder"), domains, strict=True
    ):
        for norm, every in found.items():
            for name, (dash, mark) in SUBLAYERS.items():
                if some := [
                    one for one in every if (one.stack, one.sublayer) == (stack, name)
                ]:
                    traces.append(
                        line(
                            [one.layer for one in some],
                            [one.norm for one in some],
                            f"{say(f'train_order_{norm}')}, {say(f'train_{name}')}",
                            COLOURS[norm],
                            say("train_hover_gradient", layer="%{x}", norm="%{y:.3~r}"),
                            dash=dash,
                            yaxis=f"y{which}",
                            legendgroup=f"{norm} {name}",
                            showlegend=stack == "decoder",
                            marker={"symbol": mark, "size": 7},
                        )
                    )
        axes[f"yaxis{which}"] = logarithmic(
            say("train_norm_in", stack=say(f"train_{stack}")),
            domain=domain,
            values=[
                one.norm
                for every in found.values()
                for one in every
                if one.stack == stack
            ],
        )
    depth = max(one.layer for every in found.values() for one in every)
    layers = {"dtick": 1 if depth <= 12 else 2, "range": [0.7, depth + 0.3]}
    return go.Figure(
        traces,
        layout(
            say("train_plot_gradients", layers=depth),
            height=height,
            x=axis(say("train_layer"), anchor="y2", **layers),
            y=axes.pop("yaxis"),
            **axes,
        ),
    )


def growth(found: Gradients, language: Language = ENGLISH) -> str:
    """Say what to look for, and per order how the gradient grows from the decoder's
    first layer to its last; HTML."""
    said = [language.html("train_look_gradients")]
    for norm, every in found.items():
        through = [
            one.norm
            for one in every
            if (one.stack, one.sublayer) == ("decoder", "feed_forward")
        ]
        key = "train_growth" if len(through) > 1 else "train_growth_one"
        said.append(
            language.html(
                key,
                order=language.say(f"train_order_{norm}"),
                first=decimal(through[0], 2),
                last=decimal(through[-1], 2),
                times=decimal(through[-1] / through[0], 2),
            )
        )
    return "".join(f"<p>{one}</p>" for one in said)


def name_of(settings: RunSettings, language: Language = ENGLISH) -> str:
    """Name a run by the settings on which its results depend most."""
    named = language.say(
        "live_name",
        order=language.say(f"train_order_{settings.norm}"),
        layers=settings.layers,
        warmup=settings.warmup,
        peak=decimal(settings.peak, 6),
    )
    few = (
        language.say("live_name_pairs", count=settings.pairs) if settings.pairs else ""
    )
    return (
        named + few + (f", {without(settings, language)}" if settings.without else "")
    )


def without(settings: RunSettings, language: Language = ENGLISH) -> str:
    """Name what a run goes without, or say that its model is whole."""
    if not settings.without:
        return language.say("recorded_whole")
    if settings.without == "before":  # its division comes after
        return language.say("recorded_after")
    return language.say(
        "recorded_without", part=language.say(f"part_{settings.without}")
    )


def _stacked(
    parts: Sequence[tuple[Sequence[go.Scatter], dict[str, Any]]],
    title: str,
    language: Language,
) -> go.Figure:
    """Plot sets of curves over the steps of training, one above the other, with the
    legend of the first; each with its upright axis.

    It does without plotly's `make_subplots`, which is too slow for a figure that is
    drawn twice a second.
    """
    traces = list[go.Scatter]()
    axes = dict[str, Any]()
    height, domains = panels(len(parts))
    for number, ((some, upright), domain) in enumerate(
        zip(parts, domains, strict=True), 1
    ):
        which = "" if number == 1 else str(number)
        axes[f"yaxis{which}"] = {**upright, "domain": domain}
        # Without any curve, plotly would draw no axes there, and those of the others
        # over each other's names.
        for trace in some or [
            go.Scatter(x=[None], y=[None], mode="lines", hoverinfo="skip")
        ]:
            trace.update(
                yaxis=f"y{which}",
                showlegend=number == 1 and bool(some) and trace.showlegend is not False,
            )
            traces.append(trace)
    x = axis(language.say("live_step"), anchor=f"y{len(parts)}", rangemode="tozero")
    return go.Figure(
        traces,
        layout(title, height=height, x=x, y=axes.pop("yaxis"), showlegend=True, **axes),
    )


def _curves(
    courses: Sequence[TrainingCourse],
    what: str,
    points: Points,
    language: Language,
    mode: str = "lines",
    **how: Any,
) -> list[go.Scatter]:
    """A curve a run, of its points."""
    made = list[go.Scatter]()
    for i, one in enumerate(courses):
        x, y = map(list, points(one))
        hover = language.say(
            "live_hover", number=i + 1, what=what, step="%{x}", value="%{y:.4~r}"
        )
        made.append(
            line(
                x,
                y,
                _short_name(i, one, language),
                RUNS[i % len(RUNS)],
                hover,
                mode=mode,
                legendgroup=str(i),
                **how,
            )
        )
    return made


def _short_name(number: int, course: TrainingCourse, language: Language) -> str:
    """Name a live run, counted from 0, in the legend."""
    one = course.settings
    named = (
        without(one, language)
        if one.without
        else language.say(f"train_order_{one.norm}")
    )
    return f"{number + 1} · {named}"


def live_depths(
    courses: Sequence[TrainingCourse], language: Language = ENGLISH
) -> go.Figure | None:
    """Plot the gradient's norm by depth of the live runs that have ended; None if none
    has."""
    return depths(
        [
            (_short_name(i, one, language), RUNS[i % len(RUNS)], one)
            for i, one in enumerate(courses)
        ],
        language,
    )


def _scores(
    course: TrainingCourse, times: float = 1
) -> tuple[Sequence[float], Sequence[float]]:
    """The steps at which a run was scored, and the scores."""
    return [step for step, _, _ in course.scores], [
        times * score for _, _, score in course.scores
    ]


def progress(
    courses: Sequence[TrainingCourse], language: Language = ENGLISH
) -> go.Figure:
    """Plot loss and held-out accuracy of runs, laid one over the other."""
    say = language.say
    losses = _curves(
        courses, say("live_loss"), lambda one: (one.step, one.loss), language
    )
    losses += _curves(
        courses,
        say("recorded_held_out"),
        _held_out,
        language,
        dash="dot",
        showlegend=False,
    )
    shares = _curves(
        courses,
        say("live_accuracy"),
        lambda one: _scores(one, 100),
        language,
        "lines+markers",
    )
    return _stacked(
        [
            (losses, axis(say("live_axis_loss"), rangemode="tozero")),
            (shares, axis(say("live_axis_right"), range=[-4, 104])),
        ],
        say("live_plot_progress"),
        language,
    )


def pace(
    courses: Sequence[TrainingCourse],
    planned: Sequence[float],
    language: Language = ENGLISH,
) -> go.Figure:
    """Plot learning rate and gradient norm of runs, and the learning rates of a planned
    run."""
    say = language.say
    every = max(1, len(planned) // 150)
    rates = _curves(
        courses, say("live_rate"), lambda one: (one.step, one.rate), language
    )
    hover = say(
        "live_hover", number="–", what=say("live_rate"), step="%{x}", value="%{y:.4~r}"
    )
    rates.append(
        line(
            list(range(1, len(planned) + 1, every)),
            list(planned[::every]),
            say("live_planned"),
            GREY,
            hover,
            dash="dash",
            mode="lines",
        )
    )
    norms = _curves(
        courses, say("live_norm"), lambda one: (one.step, one.norm), language
    )
    return _stacked(
        [
            (rates, axis(say("live_rate"), rangemode="tozero")),
            (norms, _norms(courses, language)),
        ],
        say("live_plot_pace"),
        language,
    )


def _norms(courses: Sequence[TrainingCourse], language: Language) -> dict[str, Any]:
    """The axis for the gradient norms of runs."""
    norms = [norm for one in courses for norm in one.norm]
    return logarithmic(
        language.say("live_norm"),
        norms or (0.1, 1, 10),
        **({} if norms else {"range": [-1.1, 1.1]}),
    )


def map_now(frame: LiveFrame, language: Language = ENGLISH) -> go.Figure:
    """Plot the map of the sharpest head in a frame."""
    say = language.say
    title = say(
        "live_map",
        layer=frame.head.layer,
        head=frame.head.head,
        step=frame.course.step[-1] if frame.course.step else 0,
    )
    return matrix(
        frame.probabilities,
        Axis(say("live_map_rows"), frame.queries),
        Axis(say("live_map_columns"), frame.keys),
        lambda query, key, value: say(
            "live_hover_map", query=query, key=key, value=f"{value:.3f}"
        ),
        title=title,
        scale=Scale(say("probability")),
        cell=(30, 24),
    )


def answers(frame: LiveFrame, language: Language = ENGLISH) -> str:
    """Tabulate held-out questions, the answers in a frame, and the right answers;
    HTML."""
    return (
        fill("training.answers", language, rows=frame.answers) if frame.answers else ""
    )


def told(courses: Sequence[TrainingCourse], language: Language = ENGLISH) -> str:
    """Say how far each run is, or what happened in it; HTML."""
    runs = []
    for i, course in enumerate(courses):
        how = (
            verdict(course).say(language)
            if course.ended
            else language.say(
                "live_going",
                step=course.step[-1] if course.step else 0,
                steps=course.settings.steps,
            )
        )
        if course.ended in ("stopped", "late"):
            how = f"{language.say(f'live_{course.ended}', seconds=f'{course.seconds:.0f}')} {how}"
        runs.append((RUNS[i % len(RUNS)], name_of(course.settings, language), how))
    return fill("training.told", language, runs=runs) if runs else ""


def waits(wait: LiveWait, language: Language = ENGLISH) -> str:
    """Say how many runs have a turn before one that waits; HTML."""
    return paragraph(language, "live_wait", "status", before=wait.before)


def _held_out(course: TrainingCourse) -> tuple[Sequence[float], Sequence[float]]:
    """The steps at which the loss of what is not learned from was taken, and these
    losses."""
    return [step for step, *_ in course.scores][: len(course.held_out)], course.held_out


def depths(
    rows: Sequence[tuple[str, str, TrainingCourse]], language: Language = ENGLISH
) -> go.Figure | None:
    """Plot by depth the gradient's norm of runs, each with its name and colour: before
    the first step, and dashed at the end. None if no run has them."""
    say = language.say
    traces = list[go.Scatter]()
    names = list[str]()
    for name, colour, one in rows:
        for which, norms in enumerate(one.depths or ()):
            half = len(norms) // 2
            names = [
                say(f"recorded_{stack}", layer=i + 1)
                for stack in ("encoder", "decoder")
                for i in range(half)
            ]
            hover = f"{name}<br>{say(f'recorded_depth_{which}')}, %{{x}}: %{{y:.3~r}}<extra></extra>"
            traces.append(
                line(
                    names,
                    list(norms),
                    name,
                    colour,
                    hover,
                    dash="dot" if which else "solid",
                    showlegend=not which,
                    legendgroup=name,
                )
            )
    if not traces:
        return None
    every: list[float] = []
    for _, _, one in rows:
        for norms in one.depths or ():
            every.extend(norms)
    return go.Figure(
        traces,
        layout(
            say("recorded_depths"),
            height=panels(1)[0],
            showlegend=True,
            x=axis(say("recorded_layer"), type="category"),
            y=logarithmic(say("live_norm"), every),
        ),
    )


def recorded(
    found: Kinds,
    question: str,
    chosen: TrainingCourse | None,
    language: Language = ENGLISH,
) -> tuple[go.Figure, go.Figure | None]:
    """Plot the recorded runs that answer a question, seeds alike; the chosen one is
    thick: their loss, and the BLEU or rate and gradient's norm, by step; and the
    gradient's norm by depth."""
    say = language.say
    by_rate = question in ("break", "rate", "order")
    colours = dict(zip(found, RUNS, strict=False))
    if len(found) > len(RUNS):  # the first of them and the chosen one stand out
        colours = {
            kind: BLUE if not i else ORANGE if chosen in runs else GREY
            for i, (kind, runs) in enumerate(found.items())
        }

    def curves(
        what: str, points: Points, mode: str = "lines", **how: Any
    ) -> list[go.Scatter]:
        made = list[go.Scatter]()
        for kind, runs in sorted(
            found.items(), key=lambda one: colours[one[0]] != GREY
        ):
            for seed, one in enumerate(runs):
                x, y = map(list, points(one))
                name = recorded_name(one, question, language)
                hover = f"{name}<br>{what} %{{y:.4~r}} ({say('live_step')} %{{x}})<extra></extra>"
                shown = {"showlegend": not seed and colours[kind] != GREY, **how}
                made.append(
                    line(
                        x,
                        y,
                        name,
                        colours[kind],
                        hover,
                        mode=mode,
                        width=4 if one is chosen else 1.6,
                        legendgroup=name,
                        customdata=[key_of(one)] * len(x),
                        opacity=1 if chosen in (None, one) else 0.6,
                        **shown,
                    )
                )
        return made

    losses = curves(say("live_loss"), lambda one: (one.step, one.loss))
    if question in ("data", "dropout"):
        losses += curves(
            say("recorded_held_out"), _held_out, dash="dot", showlegend=False
        )
    middle = (
        (
            curves(say("live_rate"), lambda one: (one.step, one.rate)),
            axis(say("live_rate"), rangemode="tozero"),
        )
        if by_rate
        else (
            curves("BLEU", _scores, "lines+markers"),
            axis("BLEU", rangemode="tozero"),
        )
    )
    every = [one for runs in found.values() for one in runs]
    norms = (
        curves(say("live_norm"), lambda one: (one.step, one.norm)),
        _norms(every, language),
    )
    picture = _stacked(
        [(losses, axis(say("live_axis_loss"))), middle, *([norms] if by_rate else [])],
        say(
            f"recorded_plot_{'rate' if by_rate else 'bleu'}",
            steps=max(one.settings.steps for one in every),
        ),
        language,
    )
    rows = [
        (recorded_name(runs[0], question, language), colours[kind], runs[0])
        for kind, runs in found.items()
    ]
    return picture, depths([row for row in rows if row[1] != GREY] or rows, language)


def recorded_name(
    course: TrainingCourse, question: str, language: Language = ENGLISH
) -> str:
    """Name a recorded run by what the runs of a question differ in."""
    one = course.settings
    has_dropout = question == "dropout" and not one.without
    return language.say(
        f"recorded_name_{question}",
        order=language.say(f"train_order_{one.norm}"),
        warmup=one.warmup,
        rate=decimal(highest_rate(course), 2),
        without=language.say("recorded_dropout")
        if has_dropout
        else without(one, language),
        pairs=language.say("recorded_pairs", count=one.pairs)
        if one.pairs
        else language.say("recorded_all"),
    )


def recorded_found(found: Kinds, question: str, language: Language = ENGLISH) -> str:
    """Say which differences between the runs of a question lie beyond the spread of
    their seeds, by BLEU. Empty where there are too few seeds."""
    ends = {kind: values for kind, runs in found.items() if (values := reached(runs))}
    if question != "parts":
        return ranked(
            {
                recorded_name(found[kind][0], question, language): values
                for kind, values in ends.items()
            },
            language,
        )
    return missed(
        [one for kind, values in ends.items() if not kind.without for one in values],
        {
            language.say(f"part_{kind.without}"): values
            for kind, values in ends.items()
            if kind.without
        },
        language,
    )


def key_of(course: TrainingCourse) -> str:
    """Name a recorded run in addresses by its settings."""
    one = course.settings
    return "-".join(
        filter(
            None,
            (
                one.norm,
                str(one.warmup),
                f"{one.peak:g}",
                str(one.pairs or ""),
                one.without,
                str(one.seed),
            ),
        )
    )


def recorded_table(
    found: Kinds,
    question: str,
    chosen: TrainingCourse | None,
    language: Language = ENGLISH,
) -> str:
    """Tabulate the answers to a question, a row for the runs that differ only in their
    seed; HTML."""
    rows = [
        (
            recorded_name(runs[0], question, language),
            chosen in runs,
            len(runs),
            sum(verdict(one).key in ("run_diverged", "run_no_number") for one in runs),
            [highest_rate(one) for one in runs],
            [one.loss[-1] for one in runs],
            [min(one.held_out) for one in runs if one.held_out],
            [one.held_out[-1] for one in runs if one.held_out],
            reached(runs),
            [max(one.norm) for one in runs],
        )
        for runs in found.values()
    ]
    return fill("training.recorded", language, rows=rows)


def recorded_lengths(
    found: Kinds,
    question: str,
    chosen: TrainingCourse | None,
    language: Language = ENGLISH,
) -> str:
    """Tabulate the BLEU of runs at their end by the length of the sentences, a row for
    those that differ only in their seed; HTML. Empty where one lacks it."""
    if not all(one.by_length for runs in found.values() for one in runs):
        return ""
    say = language.say
    rows = [
        (
            recorded_name(runs[0], question, language),
            chosen in runs,
            [*zip(*(one.by_length for one in runs), strict=True)],
        )
        for runs in found.values()
    ]
    short, middle = LENGTHS
    columns = [
        say("recorded_short", most=short),
        say("recorded_between", least=short + 1, most=middle),
        say("recorded_long", least=middle + 1),
    ]
    return fill("training.recorded_lengths", language, columns=columns, rows=rows)
