"""Notices to a person as HTML: errors and warnings."""

from collections.abc import Sequence
from html import escape


def notice(sentences: Sequence[str], kind: str, way_out: str = "") -> str:
    """Write sentences as a box in HTML, escaped; "" if there is none. kind: "error", an
    alert, "warning", "waiting".

    way_out: a button or link behind them, HTML.
    """
    if not sentences:
        return ""
    role = "alert" if kind == "error" else "status"
    paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return f'<div class="notice {kind}" role="{role}">{paragraphs}{way_out}</div>'
