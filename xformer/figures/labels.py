"""How pieces and texts stand in and above pictures: legible, and never able to be taken for a mark of the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from xformer.pieces import SPECIAL, WORD_START


def shown(piece: str) -> str:
    """A piece as an axis label: a word's first piece bare, one that goes on with a word after an ellipsis."""
    if piece in SPECIAL.values():
        return piece
    if piece.startswith(WORD_START):
        return piece.removeprefix(WORD_START) or "␣"
    return piece if not any(c.isalnum() for c in piece) else f"…{piece}"


def shown_all(pieces: Sequence[str]) -> list[str]:
    return [shown(piece) for piece in pieces]


def percent(probability: float) -> str:
    """A probability as people read it: two figures, and never 100 % for what is not certain."""
    value = 100 * probability
    if value >= 99.95:
        return "100 %" if probability >= 0.9999995 else "> 99.9 %"
    return f"{value:.1f} %" if value >= 0.1 else "< 0.1 %"


def lesson(title: str, formula: str, note: str) -> str:
    """What a picture is about, its formula (HTML), and what to notice in it, as HTML."""
    return (f'<h4>{escape(title)} <span class="formula">{formula}</span></h4>'
            f'<p class="note">{escape(note)}</p>')
