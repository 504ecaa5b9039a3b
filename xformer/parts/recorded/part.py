"""Part of the Training tab that compares recorded runs on English and Spanish."""

from itertools import chain
from typing import Any

import gradio as gr

from xformer.explain import recorded as explain
from xformer.figures import training as figures
from xformer.figures.labels import paragraphs
from xformer.figures.notice import notice
from xformer.parts.recorded import draw as order
from xformer.results import UserError, decimal
from xformer.serve.protocol import StudyService
from xformer.strings import Language
from xformer.ui.components import figure
from xformer.ui.controls import OneOf
from xformer.ui.handlers import LATEST, text_of
from xformer.ui.layout import Layout

ID = "recorded"


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    part.ask = part.page.always(part.page.study)
    say = part.say
    names = {}
    for question in explain.QUESTIONS:
        try:
            runs = part.page.study.recorded(question).courses
        except UserError:
            runs = ()  # which `draw` says
        for one in chain.from_iterable(explain.kinds(runs, question).values()):
            name = figures.recorded_name(one, question, part.language)
            names[figures.key_of(one)] = f"{name} · {one.settings.seed}"
    with gr.Row(elem_classes="controls"):
        part.choice(
            "recorded_question",
            tuple(explain.QUESTIONS),
            "break",
            "recorded_question_{}",
        )
        part["chosen"] = part.control(
            "recorded_run",
            OneOf(("", *names), ""),
            gr.Dropdown,
            choices=[
                (say("recorded_none"), ""),
                *((name, key) for key, name in names.items()),
            ],
        )
    part["said"] = gr.HTML(elem_classes="summary recorded-said")
    part.status()
    with gr.Row():
        with gr.Column(min_width=300):
            part["picture"] = part.plot("recorded-runs")
            part["deeper"] = part.plot("recorded-deeper")
        with gr.Column(min_width=300):
            part["depths"] = part.plot("recorded-depths")
            part["read"] = gr.HTML(elem_classes="summary recorded-read")
    part["table"] = gr.HTML(elem_classes="tables")
    gr.on(
        [part.opened.change, *part.changes()],
        **LATEST,
        **part.listener(
            draw,
            "said",
            "picture",
            "depths",
            "read",
            "deeper",
            "table",
            problem="problem",
            only_here=True,
        ),
    )
    part["picture"].pick(**part.listener(pick, "chosen"), **LATEST)


def draw(
    study: StudyService,
    language: Language,
    *,
    recorded_question: str,
    recorded_run: str,
) -> dict[str, Any]:
    """Draw the runs that answer a question, and say what they found."""
    question = recorded_question
    kept = study.recorded(question)
    missing = (
        [language.say("recorded_missing", count=kept.broken)] if kept.broken else []
    )
    answer = {
        "said": "",
        "picture": None,
        "depths": None,
        "read": "",
        "deeper": None,
        "table": "",
        "problem": notice(missing, "warning"),
    }
    found = explain.kinds(kept.courses, question)
    if not found:
        return answer
    chosen = next(
        (one for one in kept.courses if figures.key_of(one) == recorded_run), None
    )
    (kind, first), *_ = found.items()
    said = [
        language.say(
            f"recorded_look_{question}",
            warmup=kind.warmup,
            rate=decimal(explain.highest_rate(first[0]), 2),
            times=round(explain.WHOLE.peak / explain.QUESTIONS["rate"][1].peak),
            few=explain.FEW.pairs,
        ),
        language.say(
            "recorded_look",
            **{
                name: kept.about.get(name, "?")
                for name in ("pairs", "words", "layers", "d_model", "steps", "machine")
            },
        ),
    ]
    if chosen is not None:
        said.append(
            f"{figures.recorded_name(chosen, question, language)}: {explain.verdict(chosen).say(language)}"
        )
    by_order = question == "order"
    table = figures.recorded_table(
        found, question, chosen, language
    ) + figures.recorded_lengths(found, question, chosen, language)
    if by_order or question in explain.APART:  # beside much else, or of many rows
        table = (
            f'<details class="more"{" open" if chosen else ""}>'
            f"<summary>{language.html('recorded_numbers')}</summary>{table}</details>"
        )
    picture, depths = figures.recorded(found, question, chosen, language)
    return answer | {
        "said": paragraphs(said),
        "picture": figure(picture),
        "depths": figure(depths),
        "read": order.settled(found, question, kept.about, language)
        + (order.order_read(found, order.DEEP, language) if by_order else ""),
        "deeper": figure(order.deeper(order.DEEP, language)) if by_order else None,
        "table": table,
    }


def pick(_: StudyService, language: Language, *, event: gr.EventData) -> dict[str, Any]:
    """Choose the run whose curve was clicked."""
    return {"chosen": text_of(event, "curve")}
