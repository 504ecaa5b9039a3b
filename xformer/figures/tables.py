"""Parts of HTML tables that several figures share. All text is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def header(names: Sequence[str]) -> str:
    """The head row of a table, a cell for each column's name."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in names)
    return f"<thead><tr>{cells}</tr></thead>"
