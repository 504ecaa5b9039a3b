"""The training pairs nearest to a sentence, how often its words were met, and how
likely seen and unseen pairs are."""

import re
from collections.abc import Sequence

from xformer.explain.doubts import sureness
from xformer.figures.taught import LARGE
from xformer.figures.templates import fill
from xformer.parts.learned.ask import WORD, plain
from xformer.results import GENERATIONS, Learned, ModelInfo, Translation
from xformer.strings import ENGLISH, Language


def shared(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """Cut a text into words and what stands between them, each with whether it is among
    the `plain` words."""
    return [
        (part, plain(part) in words) for part in re.split(f"({WORD.pattern})", text)
    ]


def table(
    found: Learned,
    translation: Translation,
    info: ModelInfo,
    scored: tuple[float, float] | None,
    language: Language = ENGLISH,
) -> str:
    """Tabulate what was found; HTML. scored: log-probabilities a piece of the nearest
    pair's target and the model's."""
    words = [plain(word) for word, _ in found.words]
    scores = sorted(found.scores, key=lambda one: not one.seen)
    rows = [
        ("learned_nearest", 1, *(scored or (None, None))),
        (
            "learned_yours",
            1,
            scored[0] if scored and found.same else None,
            sureness(translation.best.log_probs),
        ),
        *(
            (
                "learned_seen" if one.seen else "learned_unseen",
                one.pairs,
                one.reference,
                one.own,
            )
            for one in scores
        ),
    ]
    kind = (
        "large"
        if info.name in LARGE
        else "small"
        if info.name in GENERATIONS
        else "other"
    )
    return fill(
        "learned.table",
        language,
        found=found,
        pair=(translation.source, translation.best.text),
        pairs=[(one, shared(one.source, words)) for one in found.near],
        rows=rows if found.near else rows[1:],
        scores=scores,
        about=language.say(f"learned_{kind}", model=info.name, count=found.pairs),
    )
