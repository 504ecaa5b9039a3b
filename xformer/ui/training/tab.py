"""The Training tab: how a translator comes to be, one part at a time."""

from __future__ import annotations

from collections.abc import Sequence

from xformer.ui import parts
from xformer.ui.tabs import Page, Tab
from xformer.ui.training import beginning, forming, generations, live, recorded

ID = "training"
PARTS: Sequence[parts.Part] = (generations, beginning, live, recorded, forming)


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it."""
    first = generations if generations.at_hand(page.models) else beginning  # which needs none of them
    return parts.build(page, ID, "part", PARTS, first.ID)
