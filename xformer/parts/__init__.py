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
    """A tab of the page, or a sheet more of one: as much as a tab, and laid out when it
    is first opened.

    parts: their folders. of: of a sheet, the tab that it belongs to, in whose choice it
    is; "" for a tab, which is its own first sheet. choice: the key, in the address, of the control by which a
    visitor chooses the part to see; "": the first part is the tab, and lays the others
    out inside it. name: the key of the text that names a part of a choice, with {} for
    its ID. own_field: whether it has texts of its own, and does without the sentence of
    the page.
    """

    parts: tuple[str, ...]
    choice: str = ""
    name: str = "part_{}"
    own_field: bool = False
    of: str = ""

    def modules(self) -> list[Any]:
        """Load part.py of each part."""
        return [import_module(f"{__name__}.{name}.part") for name in self.parts]


# By id; the sheets of a tab, in their order, come after it.
TABS: Mapping[str, Tab] = {
    "translate": Tab(("translate", "questions", "whole_pass", "round_trip")),
    "decoding": Tab(("steps", "why"), of="translate"),
    "pairs": Tab(
        ("sentences", "two_models", "bleu", "lecture"),
        "pairs_part",
        "pairs_part_{}",
        own_field=True,
        of="translate",
    ),
    "attention": Tab(
        (
            "attention",
            "ablation",
            "counterfactual",
            "weighing",
            "word_link",
            "attribution_methods",
        )
    ),
    "principles": Tab(
        ("principles", "additive", "store", "kernel_regression"), of="attention"
    ),
    "sentiment": Tab(("judging", "reading", "writing"), "review_part", own_field=True),
    "positions": Tab(("positions",)),
    "training": Tab(
        ("generations", "beginning", "live", "recorded", "forming", "path", "learned"),
        "part",
    ),
    "model": Tab(
        ("vocabulary", "meanings", "architecture", "energy", "bugs"), "model_part"
    ),
}


def sheets() -> dict[str, tuple[str, ...]]:
    """List the sheets of each tab by their ids, the tab's own first. Without parts a tab
    is none, and its sheets are tabs."""
    there = {name: tab for name, tab in TABS.items() if tab.parts}
    own = [name for name, tab in there.items() if tab.of not in there]
    return {
        name: (name, *(one for one, tab in there.items() if tab.of == name))
        for name in own
    }


def choice(tab: str) -> str:
    """Name the control, in the address, by which a sheet of a tab is chosen."""
    return f"{tab}_part"
