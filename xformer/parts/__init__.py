"""Which parts stand in which tab of the page, and in what order. Take a name out, and
that part is gone from the page.

A part is a folder here. `part.py` lays it out and says what its controls do; `draw.py`
draws, without torch; `ask.py` answers its questions, and may load torch. Its scripts,
templates, style and texts lie beside them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Tab:
    """A tab of the page.

    parts: their folders. choice: the key, in the address, of the control by which a
    visitor chooses the part to see; "": the first part is the tab, and lays the others
    out inside it. name: the key of the text that names a part of a choice, with {} for
    its ID. own_field: whether it has texts of its own, and does without the sentence of
    the page.
    """

    parts: tuple[str, ...]
    choice: str = ""
    name: str = "part_{}"
    own_field: bool = False

    def modules(self) -> list[Any]:
        """Load part.py of each part."""
        return [import_module(f"{__name__}.{name}.part") for name in self.parts]


TABS: Mapping[str, Tab] = {  # by id
    "translate": Tab(("translate", "questions", "whole_pass", "round_trip")),
    "attention": Tab(
        (
            "attention",
            "ablation",
            "weighing",
            "attribution_methods",
            "counterfactual",
            "word_link",
        )
    ),
    "decoding": Tab(("steps",)),
    "pairs": Tab(
        ("sentences", "two_models", "bleu", "lecture"),
        "pairs_part",
        "pairs_part_{}",
        own_field=True,
    ),
    "sentiment": Tab(("judging", "reading", "writing"), "review_part", own_field=True),
    "positions": Tab(("positions",)),
    "principles": Tab(("principles", "kernel_regression")),
    "training": Tab(
        ("generations", "beginning", "live", "recorded", "forming", "path", "learned"),
        "part",
    ),
    "model": Tab(("architecture", "bugs", "vocabulary", "meanings"), "model_part"),
}
