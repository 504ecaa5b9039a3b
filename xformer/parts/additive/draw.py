"""What additive.js draws of the additive attention of a recurrent model."""

from typing import Any

from xformer.figures.labels import FORMULAS, lesson, of_model, shown_all
from xformer.results import AdditiveWalk, ModelInfo
from xformer.strings import ENGLISH, Language

# texts
TEXTS = (
    "title",
    "step",
    "key",
    "score",
    "weight",
    "terms",
    "rest",
    "dimension",
    "mean",
    "product",
    "sum",
)


def heading(language: Language = ENGLISH) -> str:
    """Introduce it: its title, its formula, and what to notice in its figure; HTML."""
    return lesson(
        language,
        "first_title_additive",
        FORMULAS["principles"]["additive"],
        "first_text_additive",
    )


def additive(
    added: tuple[ModelInfo, AdditiveWalk],
    additive_step: int,
    language: Language = ENGLISH,
) -> dict[str, Any]:
    """Give additive.js the numbers of additive attention at all steps, of which it
    shows one, and its texts."""
    info, walk = added
    arrays = {
        name: getattr(walk, name).round(6).tolist()
        for name in ("q", "k", "w", "scores", "probabilities")
    }
    return {
        **arrays,
        "step": min(int(additive_step), len(walk.queries)) - 1,
        "given": shown_all(walk.queries),
        "predicted": shown_all(walk.predicted),
        "keys": shown_all(walk.keys),
        "model": of_model(info, info.name),
        "texts": {key: language.texts[f"additive_{key}"] for key in TEXTS},
    }
