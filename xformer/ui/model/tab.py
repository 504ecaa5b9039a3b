"""The Model tab: a whole pass in one picture, how the model is built, broken models to diagnose, a calculator for
others, pieces and vectors."""

from collections.abc import Sequence

from xformer.ui import parts
from xformer.ui.model import architecture, bugs, sizes, vocabulary, whole_pass
from xformer.ui.tabs import Page, Tab

ID = "model"
PARTS: Sequence[parts.Part] = (whole_pass, architecture, bugs, sizes, vocabulary)


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it."""
    return parts.build(page, ID, "model_part", PARTS, whole_pass.ID)
