"""The Sentiment tab: models of film reviews, the classifier and the language model that it began as."""

from xformer.ui import parts
from xformer.ui.parts import Part
from xformer.ui.sentiment import judging, reading, writing
from xformer.ui.tabs import Page, Tab

ID = "sentiment"
PARTS: tuple[Part, ...] = (judging, reading, writing)


def build(page: Page) -> Tab:
    """Lay the tab out; called inside it: a choice of parts, of which one is shown."""
    tab = parts.build(page, ID, "review_part", PARTS, judging.ID)
    tab.own_field = True
    return tab
