"""Part of the Compare tab with the lecture's sentences: what its transformer said, and
what this model says now."""

from collections.abc import Iterator
from typing import Any

import gradio as gr

from xformer.figures.labels import paragraphs
from xformer.parts.lecture import draw as figures
from xformer.results import Message, Options, UserError
from xformer.serve.bleu import bleu, corpus_bleu
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.handlers import LATEST
from xformer.ui.layout import Layout
from xformer.ui.places import note

ID = "lecture"
SENTENCES = figures.read()


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    language = part.language
    gr.HTML(
        f'{note(language, "lecture_look", "")}<details class="more"><summary>{language.html("lecture_more")}'
        f'</summary><p class="note">{figures.note(SENTENCES, language)}</p></details>',
        elem_classes="look",
    )
    part.status()
    part["summary"] = gr.HTML(elem_classes="summary")
    part["table"] = part.table("lecture")
    part["done"] = gr.State(False)
    part.opened.change(
        **part.listener(
            run, "table", "summary", "done", problem="problem", only_here=True
        ),
        **LATEST,
    )


def run(
    service: TranslationService,
    language: Language,
    *,
    part: str,
    done: bool,
    progress: Any,
) -> Iterator[dict[str, Any]]:
    """Translate the lecture's sentences in one batch, and score them; once a page,
    where this part is shown."""
    if part != ID or done:
        yield {}
        return
    if (service.info.source, service.info.target) != ("en", "es"):
        raise UserError(Message.of("lecture_reads", model=service.info.name))
    model = service.info.name
    count = 0
    yield {"table": figures.table(SENTENCES, None, model, language), "summary": ""}

    def more(translated: int) -> None:
        nonlocal count
        count += translated
        progress((count, len(SENTENCES)))

    found = service.translate_many(
        [one.english for one in SENTENCES], Options(alternatives=1), progress=more
    )
    answers = [
        figures.Answer(
            translation.best.text,
            bleu(one.answer, one.reference),
            bleu(figures.bare(translation.best.text), one.reference),
        )
        for one, translation in zip(SENTENCES, found, strict=True)
    ]
    theirs, own = (
        corpus_bleu([getattr(answer, name) for answer in answers])
        for name in ("theirs", "own")
    )
    said = figures.summary(answers, theirs, own, model, language)
    yield {
        "table": figures.table(SENTENCES, answers, model, language),
        "done": True,
        "summary": paragraphs(said),
    }
