"""Notices to a person as HTML: errors and warnings."""

from collections.abc import Iterable, Sequence

from xformer.figures.labels import paragraphs
from xformer.results import Message
from xformer.strings import Language


def notice(sentences: Sequence[str], kind: str, way_out: str = "") -> str:
    """Write sentences as a box in HTML, escaped; "" if there is none. kind: "error", an
    alert, "warning", "waiting".

    way_out: a button or link behind them, HTML.
    """
    if not sentences:
        return ""
    role = "alert" if kind == "error" else "status"
    said = paragraphs(sentences)
    return f'<div class="notice {kind}" role="{role}">{said}{way_out}</div>'


def warnings(messages: Iterable[Message], language: Language) -> str:
    """Write warnings as a box in HTML; "" if there is none."""
    return notice([one.say(language) for one in messages], "warning")
