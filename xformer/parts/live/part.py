"""Part of the Training tab in which a tiny transformer is trained while one watches."""

from collections.abc import Iterator, Sequence
from threading import Event
from typing import Any

import gradio as gr

from xformer.figures import training as figures
from xformer.results import (
    LiveWait,
    Message,
    RunSettings,
    TrainingCourse,
    UserError,
)
from xformer.serve.protocol import (
    LARGEST_SEED,
    LIVE_LAYERS,
    LIVE_PARTS,
    LIVE_SECONDS,
    LIVE_STEPS,
    LIVE_WARMUP,
    NORMS,
    SCHEDULES,
    TASKS,
    StudyService,
)
from xformer.strings import Language
from xformer.ui.components import figure
from xformer.ui.controls import OneOf, Real, Whole
from xformer.ui.handlers import LATEST, OFF, ON, QUIET, end, refused
from xformer.ui.layout import Layout, narrow, wide
from xformer.ui.places import question
from xformer.ui.tabs import opened_by

ID = "live"
FOLDS = (("settings", "live_more", "live"),)
MOST_RUNS = len(figures.RUNS)  # that lie one over the other
PEAKS = ("0.00003", "0.0003", "0.001", "0.003", "0.01", "0.03")
FEW = ("0", "30", "300")  # examples to learn from; 0: new ones without end
# What to try, in pairs of which one breaks and the other does not; what they showed is
# in docs/TRAINING.md.
PRESETS: dict[str, dict[str, Any]] = {
    "pre": {"live_layers": 6},
    "post": {"live_order": "post", "live_layers": 6},
    "warm": {"live_order": "post", "live_warmup": 100, "live_layers": 6},
    "break": {"live_order": "post", "live_warmup": 200, "live_peak": "0.03"},
    "calm": {"live_order": "post", "live_warmup": 200},
    "slow": {"live_peak": "0.00003"},
    "few": {"live_pairs": "30"},
    "bare": {"live_layers": 6, "live_without": "residual"},
}
USUAL: dict[str, Any] = {
    "live_task": "reverse",
    "live_order": "pre",
    "live_warmup": 0,
    "live_peak": "0.003",
    "live_layers": 3,
    "live_without": "",
    "live_pairs": FEW[0],
    "live_schedule": "cosine",
    "live_smoothing": 0.0,
    "live_seed": 1,
    "live_steps": 400,
}


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    part.ask = part.page.always(part.page.study)
    say = part.say
    others = part.inner()
    part.status()
    with gr.Row(elem_classes="detail"):
        with wide():
            part.look("live_look")
            with gr.Row(elem_classes="try"):
                gr.HTML(f"<p>{part.html('live_try')}</p>")
                presets = {
                    name: gr.Button(
                        say(
                            f"live_try_{name}",
                            peak=one.get("live_peak", USUAL["live_peak"]),
                            count=one.get("live_pairs", ""),
                        ),
                        size="sm",
                        min_width=120,
                    )
                    for name, one in PRESETS.items()
                }
            with gr.Row():
                part["start"] = gr.Button(
                    say("live_run"), variant="primary", size="sm", min_width=100
                )
                part["stop"] = gr.Button(
                    say("live_stop"), interactive=False, size="sm", min_width=80
                )
                part["clear"] = gr.Button(say("live_clear"), size="sm", min_width=80)
            part["told"] = gr.HTML(elem_classes="summary live-told")
            part.beside(
                part.plot, {"progress": "live-progress", "pace": "live-pace"}, "curves"
            )
            with gr.Row():
                with gr.Column(min_width=300):
                    part["attention"] = part.plot("live-map")
                with gr.Column(min_width=300):
                    part["answers"] = gr.HTML(elem_classes="tables")
            part["depth"] = part.plot("live-depth")
        with narrow(elem_classes="controls"):
            part.choice("live_task", TASKS, USUAL["live_task"], "live_task_{}")
            part.choice(
                "live_order",
                NORMS,
                USUAL["live_order"],
                "train_order_{}",
                "train_order",
            )
            part.control(
                "live_warmup",
                Whole(USUAL["live_warmup"], 0, LIVE_WARMUP, 20),
                gr.Slider,
            )
            part.control(
                "live_peak",
                OneOf(PEAKS, USUAL["live_peak"]),
                gr.Radio,
                choices=list(PEAKS),
            )
            part.control(
                "live_layers",
                Whole(PRESETS["pre"]["live_layers"], 1, LIVE_LAYERS),
                gr.Slider,
                "train_layers",
            )
            part.control(
                "live_without",
                OneOf(("", *LIVE_PARTS), ""),
                gr.Dropdown,
                choices=[
                    (say("recorded_whole"), ""),
                    *part.language.choices("part_{}", LIVE_PARTS),
                ],
            )
            part.control(
                "live_pairs",
                OneOf(FEW, FEW[0]),
                gr.Radio,
                choices=[
                    (say("live_pairs_new") if count == FEW[0] else count, count)
                    for count in FEW
                ],
            )
            part.note(
                "live_tried",
                deep=PRESETS["bare"]["live_layers"],
                usual=USUAL["live_layers"],
                high=PRESETS["break"]["live_peak"],
                peak=USUAL["live_peak"],
                low=PRESETS["slow"]["live_peak"],
                count=PRESETS["few"]["live_pairs"],
            )
            with gr.Accordion(
                part.say("live_more"), open=False, elem_classes="at-settings"
            ) as fold:
                question(part.language, "settings")
                others.choice(
                    "live_schedule",
                    SCHEDULES,
                    USUAL["live_schedule"],
                    "live_schedule_{}",
                )
                others.control("live_smoothing", Real(0.0, 0.0, 0.3, 0.05), gr.Slider)
                others.control(
                    "live_steps",
                    Whole(USUAL["live_steps"], 20, LIVE_STEPS, 20),
                    gr.Slider,
                )
                others.number(
                    "live_seed",
                    Whole(USUAL["live_seed"], 0, LARGEST_SEED),
                    "train_seed",
                )
                part.note("live_text", seconds=LIVE_SECONDS)
    part.include(others)
    part |= {"runs": gr.State(()), "halt": gr.State()}
    shown = ("told", "progress", "pace", "depth")
    drawn = ("attention", "answers", "runs")
    gr.on(
        [part.opened.change, *part.changes()],
        **part.listener(plan, "pace", problem="problem", only_here=True),
        **LATEST,
    )
    part["start"].click(
        **part.listener(
            run, *shown, "start", "stop", "clear", *drawn, "halt", problem="problem"
        ),
        **QUIET,
        trigger_mode="once",
    )
    part["stop"].click(**part.listener(end, "stop"), **QUIET)
    part["clear"].click(
        **part.listener(forget, *shown, *drawn, problem="problem"), **QUIET
    )
    for name, button in presets.items():
        button.click(**part.listener(preset, *part.controls, name=name), **QUIET)
    part.views["settings"] = opened_by(others.controls, fold)


def settings_of(values: dict[str, Any]) -> RunSettings:
    """Read the settings of a run from the controls."""
    for name, offered in (("peak", PEAKS), ("pairs", FEW)):
        if (value := values[f"live_{name}"]) not in offered:
            raise UserError(
                Message.of(
                    "live_error_choice",
                    name=name,
                    value=str(value)[:40],
                    options=", ".join(offered),
                )
            )
    return RunSettings(
        values["live_task"],
        values["live_order"],
        _whole(values["live_layers"]),
        values["live_schedule"],
        _whole(values["live_warmup"]),
        float(values["live_peak"]),
        values["live_smoothing"],
        _whole(values["live_seed"] or 0),
        _whole(values["live_steps"]),
        values["live_without"],
        int(values["live_pairs"]),
    )


def _whole(value: Any) -> Any:
    """A number without a fraction as a whole one; anything else as it is, for the
    service to refuse."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def plan(
    study: StudyService,
    language: Language,
    *,
    runs: Sequence[TrainingCourse],
    **values: Any,
) -> dict[str, Any]:
    """Draw the learning rate of the run that the controls ask for: nothing that a run
    draws meanwhile."""
    return {
        "pace": figure(
            figures.pace(runs, study.schedule(settings_of(values)), language)
        )
    }


def preset(_: StudyService, language: Language, *, name: str) -> dict[str, Any]:
    """Set the controls to something worth to be tried."""
    return {**USUAL, **PRESETS[name]}


@refused(start=ON, stop=OFF, clear=ON, halt=None)
def run(
    study: StudyService,
    language: Language,
    *,
    runs: Sequence[TrainingCourse],
    **values: Any,
) -> Iterator[dict[str, Any]]:
    """Train, and draw how far it is; the last few runs before it stay under it."""
    settings = settings_of(values)
    halt = Event()
    planned = study.schedule(settings)
    before = tuple(runs)[-MOST_RUNS + 1 :]
    depth = figure(figures.live_depths(before, language))
    yield {"start": OFF, "stop": ON, "clear": OFF, "halt": halt, "depth": depth}
    for frame in study.train(settings, halt):
        if isinstance(frame, LiveWait):
            yield {
                "told": figures.told(runs, language) + figures.waits(frame, language)
            }
            continue
        runs = (*before, frame.course)
        yield {
            "told": figures.told(runs, language),
            "progress": figure(figures.progress(runs, language)),
            "pace": figure(figures.pace(runs, planned, language)),
            "runs": runs,
            "depth": figure(figures.live_depths(runs, language))
            if frame.course.ended
            else depth,
            "attention": figure(figures.map_now(frame, language)),
            "answers": figures.answers(frame, language),
        }
    yield {
        "start": ON,
        "stop": OFF,
        "clear": ON,
        "halt": None,
        "told": figures.told(runs, language),
    }


def forget(study: StudyService, language: Language, **values: Any) -> dict[str, Any]:
    """Take the runs away."""
    return {
        **plan(study, language, runs=(), **values),
        "runs": (),
        "told": "",
        "answers": "",
        "progress": None,
        "depth": None,
        "attention": None,
    }
