"""The Model tab: how the loaded model is built, a calculator for others, and its pieces and vectors."""

from __future__ import annotations

from collections.abc import Sequence

from xformer.ui import parts
from xformer.ui.model import architecture, sizes, vocabulary
from xformer.ui.tabs import Page, Tab

ID = "model"
PARTS: Sequence[parts.Part] = (architecture, sizes, vocabulary)


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it."""
    return parts.build(page, ID, "model_part", PARTS, architecture.ID)
