"""Part of the Training tab: the training pairs nearest to the page's sentence, and how
likely they are beside it."""

from contextlib import suppress
from typing import Any

from xformer.explain.doubts import sureness
from xformer.figures.taught import MADE, OTHER
from xformer.figures.templates import fill
from xformer.parts.learned import draw as figures
from xformer.results import Force, Learned, NearestPairs, Translation, UserError
from xformer.serve.protocol import TranslationService
from xformer.strings import Language
from xformer.ui.handlers import LATEST, needs
from xformer.ui.layout import Layout

ID = "learned"
OF_SENTENCE = True


def build(part: Layout) -> None:
    """Lay the part out; called inside it."""
    pictures = part.pictures(ID, cleared={"found": ""})
    pictures.fact("near", nearest)
    pictures.fact("scored", score)
    pictures.fact("unscored", lambda: None)
    problem = part.status()
    part.look("learned_look")
    table = part.table("learned-pairs")
    pictures.add("found", table, draw, scored="unscored")
    pictures.add("found_scored", table, draw, late=True)
    pictures.listen(problem, part.opened.change, how=LATEST)


@needs(translation="no_trace")
def nearest(
    service: TranslationService, translation: Translation, progress: Any
) -> Learned:
    """Find the pairs nearest to the page's sentence."""
    return service.ask(
        NearestPairs(translation.source), lambda done, of: progress((done, of))
    )


def score(
    service: TranslationService, translation: Translation, near: Learned
) -> tuple[float, float] | None:
    """Score the nearest pair and the model's own translation of it; None where there is
    none, or it is too long for the model."""
    for one in near.near[:1]:
        with suppress(UserError):
            return (
                sureness(service.ask(Force(one.source, one.target)).log_probs),
                sureness(
                    service.translate(one.source, translation.alone).best.log_probs
                ),
            )
    return None


def draw(
    service: TranslationService,
    translation: Translation,
    near: Learned,
    scored: tuple[float, float] | None,
    language: Language,
) -> str:
    """Draw the pairs, and below them what would move when they come."""
    table = figures.table(near, translation, service.info, scored, language)
    return table + fill("learned.note", language, other=OTHER, made=MADE)
