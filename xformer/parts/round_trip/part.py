"""Part of the Translate tab: the translation is translated back, by a model of the
other direction."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gradio as gr

from xformer.figures import translation as figure
from xformer.figures.changes import changed_words
from xformer.figures.labels import paragraph
from xformer.figures.notice import notice, warnings
from xformer.results import Force, Translation
from xformer.serve.protocol import ModelPool, TranslationService
from xformer.strings import Language
from xformer.ui.handlers import QUIET, needs
from xformer.ui.layout import Layout

ID = "back"
NAME = "back_title"
WITHIN = "reference"
EMPTIED = ("came_back",)  # for a new sentence, by the part that holds this one


def build(part: Layout) -> None:
    """Lay the part out; called inside its fold."""
    part["go_back"] = gr.Button(part.say("back_run"), size="sm")
    part["back_problem"] = gr.HTML(elem_classes="status")
    part["came_back"] = gr.HTML(elem_classes="tables went")
    part["went"] = part.page.translation
    part["go_back"].click(
        **part.listener(
            run, "came_back", problem="back_problem", models=part.page.models
        ),
        **QUIET,
    )


@needs(went="back_empty")
def run(
    service: TranslationService,
    language: Language,
    *,
    went: Translation,
    models: ModelPool,
) -> Iterator[dict[str, Any]]:
    """Translate the translation back; and ask the other model how likely each piece of
    the sentence is, given the
    translation: what that does not say is unlikely."""
    there = service.info
    name = next(iter(models.translating(there.target, there.source)), None)
    if name is None:
        yield {
            "problem": notice([language.of(there).say("back_none")], "warning"),
            "came_back": "",
        }
        return
    if not models.at_hand(name):
        yield {
            "problem": notice([language.say("models_loading", name=name)], "warning")
        }
    with models.lease(name) as second:
        back = second.translate(went.best.text, replace(went.alone, alternatives=1))
        tokens, _ = second.typed(went.source)
        own = second.ask(Force(went.best.text, tuple(tokens)))
    as_read = replace(
        back.best,
        pieces=own.predicted,
        log_probs=own.log_probs,
        alternatives=own.alternatives,
    )
    same = went.source.split() == back.best.text.split()
    shown = (
        paragraph(language, "back_same")
        if same
        else f'{paragraph(language, "back_came")}<p class="large" {language.of(there).reads}>'
        f"{changed_words(went.source, back.best.text)}</p>"
    )
    yield {
        "problem": warnings(back.warnings, language),
        "came_back": f"{shown}{paragraph(language.of(second.info), 'back_likely', 'note', name=second.info.name)}"
        f"{figure.translation(as_read, language.of(second.info))}",
    }
