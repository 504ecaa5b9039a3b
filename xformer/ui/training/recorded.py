"""Part of the Training tab that compares recorded runs on English and Spanish."""

from collections.abc import Sequence
from html import escape
from typing import Any

import gradio as gr

from xformer.explain import recorded as explain
from xformer.figures import training as figures
from xformer.figures.notice import notice
from xformer.results import UserError
from xformer.serve.protocol import StudyService
from xformer.strings import Language
from xformer.ui.components import figure
from xformer.ui.controls import OneOf
from xformer.ui.handlers import LATEST, QUIET, text_of
from xformer.ui.layout import Layout

ID = "recorded"
ALL = "all"


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    study, language, say = part.page.study, part.language, part.say
    part.ask = part.page.always(study)
    try:
        runs = study.recorded().courses
    except UserError:
        runs = ()  # which `draw` says
    peaks = (*dict.fromkeys(f"{one.settings.peak:g}" for one in runs), ALL)
    names = {figures.key_of(one): figures.recorded_name(one, language) for one in runs}
    part["said"] = gr.HTML(elem_classes="summary recorded-said")
    part.status()
    with gr.Row(elem_classes="controls"):
        part.control("recorded_peak", OneOf(peaks, peaks[0]), gr.Radio, "live_peak",
                     choices=[(say("recorded_all") if peak == ALL else peak, peak) for peak in peaks])
        part["chosen"] = part.control(
            "recorded_run", OneOf(("", *names), ""), gr.Dropdown,
            choices=[(say("recorded_none"), ""), *((name, key) for key, name in names.items())])
    part["picture"], part["found"] = part.plot("recorded-runs"), gr.HTML(elem_classes="summary")
    with part.folded("runs"):
        part["table"] = gr.HTML(elem_classes="tables")
    gr.on([part.opened.change, *part.changes()], **LATEST, **part.listener(
        draw, "said", "picture", "found", "table", problem="problem", only_here=True))
    part["picture"].pick(**part.listener(pick, "chosen"), **QUIET)


def draw(study: StudyService, language: Language, *, recorded_peak: str, recorded_run: str) -> dict[str, Any]:
    """Draw the runs of one rate, or all, and say what they found."""
    kept = study.recorded()
    runs = [one for one in kept.courses if recorded_peak in (ALL, f"{one.settings.peak:g}")]
    chosen = next((one for one in kept.courses if figures.key_of(one) == recorded_run), None)
    if chosen is not None and chosen not in runs:
        runs.append(chosen)
    said = [language.say("recorded_look", count=len(kept.courses), pairs=kept.about.get("pairs", 0),
                         words=kept.about.get("words", 0), machine=kept.about.get("machine", "?"))]
    if chosen is not None:
        said.append(f"{figures.recorded_name(chosen, language)}: {explain.verdict(chosen).say(language)}")
    found = [language.say("recorded_lecture"), *(one.say(language) for one in explain.findings(kept.courses))]
    missing = [language.say("recorded_missing", count=kept.broken)] if kept.broken else []
    return {"said": _paragraphs(said), "found": _paragraphs(found), "problem": notice(missing, "warning"),
            "picture": figure(figures.recorded(runs, chosen, language)) if runs else None,
            "table": figures.recorded_table(kept.courses, chosen, language)}


def _paragraphs(sentences: Sequence[str]) -> str:
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)


def pick(_: StudyService, language: Language, *, event: gr.EventData) -> dict[str, Any]:
    """Choose the run whose curve was clicked."""
    return {"chosen": text_of(event, "curve")}
