"""Six questions to begin with, on the Translate tab. Their small pictures are made from
the page's own models."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from xformer.explain.positions import table
from xformer.parts.doors.draw import Door, bars, cells, curve
from xformer.parts.doors.draw import doors as figure
from xformer.pieces import WORD_START
from xformer.results import Head, Trace, Translation, UserError
from xformer.serve.protocol import ReviewService, StudyService, TranslationService
from xformer.strings import Language
from xformer.ui.components import canvas
from xformer.ui.handlers import QUIET
from xformer.ui.layout import Layout
from xformer.ui.tabs import examples

ID = "doors"
REFERS = ("it", "film")  # in this sentence
OF_PRONOUN = "Tom saw a film and he liked it."
OF_REVIEW = "Not bad, but not good either: the jokes work, the plot does not."
Passes = Callable[[str], tuple[Translation, Trace]]
KEPT = 8  # models whose doors are kept


def build(part: Layout) -> None:
    """Lay the doors out; called inside the Translate tab."""
    page = part.page
    shown = canvas(
        "doors.js",
        "${value}",
        "doors",
        figure(links(page.sentence.value), page.language),
    )
    made: dict[str, list[Door]] = {}  # by the identity of a model

    def draw(service: TranslationService, language: Language) -> dict[str, Any]:
        identity = service.info.identity
        if identity not in made:
            if len(made) >= KEPT:
                made.clear()
            found = links(examples(service)[0], service.info.source == "en")
            made[identity] = drawn(service, found, page.study, page.reviews)
        return {"shown": figure(made[identity], language)}

    shown.wanted(**page.ask(draw, {}, {"shown": shown}), **QUIET)


def links(sentence: str, english: bool = True) -> list[Door]:
    """The doors without their pictures. english: whether the model reads it, as the
    pronoun's sentence is English."""
    return [
        Door("align", {"tab": "attention", "stack": "cross", "text": sentence}),
        *(
            [
                Door(
                    "refer",
                    {"tab": "attention", "stack": "encoder_self", "text": OF_PRONOUN},
                )
            ]
            if english
            else []
        ),
        Door("next", {"tab": "decoding", "decode": "steps", "text": sentence}),
        Door("order", {"tab": "positions", "positions": "none", "text": sentence}),
        Door(
            "review", {"tab": "sentiment", "review_part": "judge", "review": OF_REVIEW}
        ),
        Door("learn", {"tab": "training", "part": "live"}),
    ]


def drawn(
    service: TranslationService,
    links: Sequence[Door],
    study: StudyService,
    reviews: ReviewService | UserError | None,
) -> list[Door]:
    """Draw what each door opens on. A door without a picture is one whose model is not
    here, or has no such part."""
    passes = cache(service.translate_and_trace)  # two doors open the same sentence
    draws: dict[str, Callable[[Door], Door]] = {
        "align": partial(aligns, service.best_head, passes),
        "refer": partial(refers, passes),
        "next": partial(chooses, passes),
        "order": lambda door: replace(
            door, picture=cells((table(12, 20, 10.0) + 1) / 2)
        ),
        "review": partial(judges, reviews),
        "learn": partial(learns, study),
    }

    def draw(door: Door) -> Door:
        try:
            return draws[door.key](door)
        except UserError:
            return door

    return [draw(door) for door in links]


def aligns(head: Head, passes: Passes, door: Door) -> Door:
    """Open the head that aligns best."""
    maps = passes(door.address["text"])[1].of("cross").probabilities
    return (
        replace(door, picture=cells(maps[head.layer - 1, head.head - 1]))
        if maps.size
        else door
    )


def refers(passes: Passes, door: Door) -> Door:
    """Open the head of the encoder in which the pronoun looks most at its noun, both
    locked."""
    trace = passes(door.address["text"])[1]
    maps = trace.of("encoder_self").probabilities
    words = [WORD_START + word for word in REFERS]
    if not maps.size or not {*words} <= {*trace.source}:
        return door
    asks, seen = map(trace.source.index, words)
    layer, head = map(
        int, np.unravel_index(maps[:, :, asks, seen].argmax(), maps.shape[:2])
    )
    address = {
        **door.address,
        "layer": layer + 1,
        "head": head + 1,
        "lock": f"en{asks}-en{seen}",
    }
    return Door(door.key, address, cells(maps[layer, head]))


def chooses(passes: Passes, door: Door) -> Door:
    """Open the step at which the model was least sure."""
    best = passes(door.address["text"])[0].best
    step = int(np.argmin(best.log_probs))
    return Door(
        door.key,
        {**door.address, "step": step + 1},
        bars([math.exp(value) for _, value in best.alternatives[step]]),
    )


def judges(reviews: ReviewService | UserError | None, door: Door) -> Door:
    """Open a review, with what each of its words is worth."""
    if reviews is None or isinstance(reviews, UserError):
        return door
    return replace(
        door, picture=bars(reviews.attribute(door.address["review"]).effect.tolist())
    )


def learns(study: StudyService, door: Door) -> Door:
    """Open live training, with what the best recorded run reached, step by step."""
    runs = [
        [(0, 0.0), *((step, score) for step, _, score in course.scores)]
        for course in study.recorded().courses
    ]

    def highest(run: list[tuple[int, float]]) -> float:
        return max(score for _, score in run)

    best = max(runs, key=highest)
    most = max(score for _, score in best) or 1
    return replace(
        door,
        picture=curve([step for step, _ in best], [score / most for _, score in best]),
    )
