"""Figures of training: gradients before it begins, live runs, and recorded runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from xformer.explain.recorded import highest_rate, verdict
from xformer.figures.heatmap import Axis, Scale, matrix
from xformer.figures.labels import paragraph
from xformer.figures.layout import BLUE, GREY, ORANGE, TEAL, axis, layout, line, logarithmic, panels
from xformer.figures.templates import fill
from xformer.results import LiveFrame, LiveWait, RunSettings, SublayerGradient, TrainingCourse
from xformer.strings import ENGLISH, Language

Gradients = Mapping[str, Sequence[SublayerGradient]]  # by the order of normalisation
Points = Callable[[TrainingCourse], tuple[Sequence[float], Sequence[float]]]  # x and y of a run's curve
COLOURS = {"post": ORANGE, "pre": BLUE}  # of the two orders of normalisation, wherever they are compared
RUNS = (BLUE, ORANGE, TEAL, "#a855f7")  # of runs that lie one over the other
SUBLAYERS = {"feed_forward": ("solid", "circle"), "self_attention": ("dot", "square"),
             "cross_attention": ("dash", "diamond")}  # dashes and marks


def gradients(found: Gradients, language: Language = ENGLISH) -> go.Figure:
    """Plot the norm of each sub-layer's gradient by depth, encoder above decoder (Xiong et al. 2020, figure 3)."""
    say = language.say
    traces, axes, (height, domains) = list[go.Scatter](), dict[str, Any](), panels(2)
    for which, stack, domain in zip(("", "2"), ("encoder", "decoder"), domains, strict=True):
        for norm, every in found.items():
            for name, (dash, mark) in SUBLAYERS.items():
                some = [one for one in every if (one.stack, one.sublayer) == (stack, name)]
                if some:
                    traces.append(line(
                        [one.layer for one in some], [one.norm for one in some],
                        f"{say(f'train_order_{norm}')}, {say(f'train_{name}')}", COLOURS[norm],
                        say("train_hover_gradient", layer="%{x}", norm="%{y:.3g}"), dash=dash, yaxis=f"y{which}",
                        legendgroup=f"{norm} {name}", showlegend=stack == "decoder",
                        marker={"symbol": mark, "size": 7}))
        axes[f"yaxis{which}"] = logarithmic(
            say("train_norm_in", stack=say(f"train_{stack}")), domain=domain,
            values=[one.norm for every in found.values() for one in every if one.stack == stack])
    depth = max(one.layer for every in found.values() for one in every)
    layers = {"dtick": 1 if depth <= 12 else 2, "range": [0.7, depth + 0.3]}
    return go.Figure(traces, layout(say("train_plot_gradients", layers=depth), height=height,
                                    x=axis(say("train_layer"), anchor="y2", **layers), y=axes.pop("yaxis"), **axes))


def growth(found: Gradients, language: Language = ENGLISH) -> str:
    """Say what to look for, and per order how the gradient grows from the decoder's first layer to its last; HTML."""
    said = [language.html("train_look_gradients")]
    for norm, every in found.items():
        through = [one.norm for one in every if (one.stack, one.sublayer) == ("decoder", "feed_forward")]
        key = "train_growth" if len(through) > 1 else "train_growth_one"
        said.append(language.html(key, order=language.say(f"train_order_{norm}"), first=f"{through[0]:.2g}",
                                  last=f"{through[-1]:.2g}", times=f"{through[-1] / through[0]:.2g}"))
    return "".join(f"<p>{one}</p>" for one in said)


def name_of(settings: RunSettings, language: Language = ENGLISH) -> str:
    """Name a run by the settings on which its results depend most."""
    return language.say("live_name", order=language.say(f"train_order_{settings.norm}"), layers=settings.layers,
                        warmup=settings.warmup, peak=f"{settings.peak:g}")


def _stacked(parts: Sequence[tuple[Sequence[go.Scatter], dict[str, Any]]], title: str, language: Language) -> go.Figure:
    """Plot sets of curves over the steps of training, one above the other, with the legend of the first; each with its
    upright axis.

    It does without plotly's `make_subplots`, which is too slow for a figure that is drawn twice a second.
    """
    traces, axes, (height, domains) = list[go.Scatter](), dict[str, Any](), panels(len(parts))
    for number, ((some, upright), domain) in enumerate(zip(parts, domains, strict=True), 1):
        which = "" if number == 1 else str(number)
        axes[f"yaxis{which}"] = {**upright, "domain": domain}
        # Without any curve, plotly would draw no axes there, and those of the others over each other's names.
        for trace in some or [go.Scatter(x=[None], y=[None], mode="lines", hoverinfo="skip")]:
            trace.update(yaxis=f"y{which}", showlegend=number == 1 and bool(some))
            traces.append(trace)
    x = axis(language.say("live_step"), anchor=f"y{len(parts)}", rangemode="tozero")
    return go.Figure(traces, layout(title, height=height, x=x, y=axes.pop("yaxis"), showlegend=True, **axes))


def _curves(courses: Sequence[TrainingCourse], what: str, points: Points, language: Language,
            mode: str = "lines") -> list[go.Scatter]:
    """A curve a run, of its points."""
    made = list[go.Scatter]()
    for i, one in enumerate(courses):
        x, y = map(list, points(one))
        hover = language.say("live_hover", number=i + 1, what=what, step="%{x}", value="%{y:.4g}")
        made.append(line(x, y, f"{i + 1} · {language.say(f'train_order_{one.settings.norm}')}", RUNS[i % len(RUNS)],
                         hover, mode=mode, legendgroup=str(i)))
    return made


def _scores(course: TrainingCourse, times: float = 1) -> tuple[Sequence[float], Sequence[float]]:
    """The steps at which a run was scored, and the scores."""
    return [step for step, _, _ in course.scores], [times * score for _, _, score in course.scores]


def progress(courses: Sequence[TrainingCourse], language: Language = ENGLISH) -> go.Figure:
    """Plot loss and held-out accuracy of runs, laid one over the other."""
    say = language.say
    losses = _curves(courses, say("live_loss"), lambda one: (one.step, one.loss), language)
    shares = _curves(courses, say("live_accuracy"), lambda one: _scores(one, 100), language, "lines+markers")
    return _stacked([(losses, axis(say("live_axis_loss"), rangemode="tozero")),
                     (shares, axis(say("live_axis_right"), range=[-4, 104]))], say("live_plot_progress"), language)


def pace(courses: Sequence[TrainingCourse], planned: Sequence[float], language: Language = ENGLISH) -> go.Figure:
    """Plot learning rate and gradient norm of runs, and the learning rates of a planned run."""
    say, every = language.say, max(1, len(planned) // 150)
    rates = _curves(courses, say("live_rate"), lambda one: (one.step, one.rate), language)
    hover = say("live_hover", number="–", what=say("live_rate"), step="%{x}", value="%{y:.4g}")
    rates.append(line(list(range(1, len(planned) + 1, every)), list(planned[::every]), say("live_planned"), GREY,
                      hover, dash="dash", mode="lines"))
    norms = _curves(courses, say("live_norm"), lambda one: (one.step, one.norm), language)
    return _stacked([(rates, axis(say("live_rate"), rangemode="tozero")), (norms, _norms(courses, language))],
                    say("live_plot_pace"), language)


def _norms(courses: Sequence[TrainingCourse], language: Language) -> dict[str, Any]:
    """The axis for the gradient norms of runs."""
    norms = [norm for one in courses for norm in one.norm]
    return logarithmic(language.say("live_norm"), norms or (0.1, 1, 10), **({} if norms else {"range": [-1.1, 1.1]}))


def map_now(frame: LiveFrame, language: Language = ENGLISH) -> go.Figure:
    """Plot the map of the sharpest head in a frame."""
    say = language.say
    title = say("live_map", layer=frame.head.layer, head=frame.head.head,
                step=frame.course.step[-1] if frame.course.step else 0)
    return matrix(frame.probabilities, Axis(say("live_map_rows"), frame.queries),
                  Axis(say("live_map_columns"), frame.keys), lambda query, key, value: say(
                      "live_hover_map", query=query, key=key, value=f"{value:.3f}"), title=title,
                  scale=Scale(say("probability")), cell=(30, 24))


def answers(frame: LiveFrame, language: Language = ENGLISH) -> str:
    """Tabulate held-out questions, the answers in a frame, and the right answers; HTML."""
    return fill("training.answers", language, rows=frame.answers) if frame.answers else ""


def told(courses: Sequence[TrainingCourse], language: Language = ENGLISH) -> str:
    """Say how far each run is, or what happened in it; HTML."""
    runs = []
    for i, course in enumerate(courses):
        how = verdict(course).say(language) if course.ended else language.say(
            "live_going", step=course.step[-1] if course.step else 0, steps=course.settings.steps)
        if course.ended in ("stopped", "late"):
            how = f'{language.say(f"live_{course.ended}", seconds=f"{course.seconds:.0f}")} {how}'
        runs.append((RUNS[i % len(RUNS)], name_of(course.settings, language), how))
    return fill("training.told", language, runs=runs) if runs else ""


def waits(wait: LiveWait, language: Language = ENGLISH) -> str:
    """Say how long a run waits for its turn; HTML."""
    return paragraph(language, "live_wait", "status", before=wait.before, seconds=wait.seconds)


def recorded(courses: Sequence[TrainingCourse], chosen: TrainingCourse | None, language: Language = ENGLISH
             ) -> go.Figure:
    """Plot loss, BLEU and gradient norm of recorded runs together; the chosen one is thick."""
    say = language.say
    dashes = dict(zip(sorted({one.settings.warmup for one in courses}), ("solid", "dash", "dot", "dashdot"),
                      strict=False))

    def curves(what: str, points: Points, mode: str = "lines") -> list[go.Scatter]:
        made = list[go.Scatter]()
        for one in courses:
            (x, y), name = map(list, points(one)), recorded_name(one, language)
            made.append(line(
                x, y, name, COLOURS[one.settings.norm],
                f"{name}<br>{what} %{{y:.4g}} ({say('live_step')} %{{x}})<extra></extra>", mode=mode,
                dash=dashes.get(one.settings.warmup, "dot"), width=4 if one is chosen else 1.6, legendgroup=name,
                customdata=[key_of(one)] * len(x), opacity=1 if chosen in (None, one) else 0.45))
        return made

    return _stacked([
        (curves(say("live_loss"), lambda one: (one.step, one.loss)), axis(say("live_axis_loss"))),
        (curves("BLEU", _scores, "lines+markers"), axis("BLEU", rangemode="tozero")),
        (curves(say("live_norm"), lambda one: (one.step, one.norm)), _norms(courses, language))],
        say("recorded_plot", steps=max(one.settings.steps for one in courses)), language)


def recorded_name(course: TrainingCourse, language: Language = ENGLISH) -> str:
    """Name a recorded run by its order, its warm-up, and the learning rate that it reached."""
    return language.say("recorded_name", order=language.say(f"train_order_{course.settings.norm}"),
                        warmup=course.settings.warmup, steps=course.settings.steps, rate=f"{highest_rate(course):.2g}")


def key_of(course: TrainingCourse) -> str:
    """Name a recorded run in addresses: its order, its warm-up, and the peak of its settings."""
    return f"{course.settings.norm}-{course.settings.warmup}-{course.settings.peak:g}"


def recorded_table(courses: Sequence[TrainingCourse], chosen: TrainingCourse | None, language: Language = ENGLISH
                   ) -> str:
    """Tabulate recorded runs: settings, results, verdict; HTML."""
    names = [language.say(key) for key in ("train_order", "recorded_warmup", "live_peak", "recorded_rate",
                                           "recorded_loss", "recorded_bleu", "recorded_norm", "recorded_said")]
    rows = [(one, one is chosen, highest_rate(one), max((bleu for _, _, bleu in one.scores), default=0),
             verdict(one).say(language)) for one in courses]
    return fill("training.recorded", language, names=names, rows=rows)
