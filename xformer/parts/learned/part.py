"""Part of the Training tab: the training pairs nearest to the page's sentence, and how
likely they are beside it."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import gradio as gr

from xformer.explain.doubts import sureness
from xformer.figures.taught import MADE, OTHER
from xformer.figures.templates import fill
from xformer.parts.learned import draw as figures
from xformer.results import Force, NearestPairs, Translation, UserError
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.handlers import LATEST, needs, refused
from xformer.ui.layout import Layout

ID = "learned"
OF_SENTENCE = True


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    part.status()
    part.look("learned_look")
    part["found"] = part.table("learned-pairs")
    part["shown"] = gr.State()
    part.opened.change(
        **part.listener(run, "found", "shown", problem="problem", only_here=True),
        **LATEST,
    )


@refused(found="", shown=None)
@needs(translation="no_trace")
def run(
    service: TranslationService,
    language: Language,
    *,
    part: str,
    translation: Translation,
    shown: Translation | None,
    progress: Any,
) -> Iterator[dict[str, Any]]:
    """Find the pairs nearest to the page's sentence, then score the nearest; once a
    translation, where it is seen."""
    if part != ID or shown is translation:
        yield {}
        return
    found = service.ask(
        NearestPairs(translation.source), lambda done, of: progress((done, of))
    )
    # with the table, below which it would move when that comes
    note = fill("learned.note", language, other=OTHER, made=MADE)

    def drawn(scores: Any) -> dict[str, str]:
        table = figures.table(found, translation, service.info, scores, language)
        return {"found": f"{table}{note}"}

    yield drawn(None)
    scored = None
    with suppress(UserError):  # one that is too long for the model has no scores
        for one in found.near[:1]:
            scored = (
                sureness(service.ask(Force(one.source, one.target)).log_probs),
                sureness(
                    service.translate(one.source, translation.alone).best.log_probs
                ),
            )
    yield {**drawn(scored), "shown": translation}
