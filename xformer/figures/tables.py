"""Parts of HTML tables that several figures share. All text is escaped here."""

import json
from collections.abc import Sequence
from html import escape

from xformer.figures.labels import of_pair


def header(names: Sequence[str]) -> str:
    """The head row of a table, a cell for each column's name; one without a name is no header."""
    cells = "".join(f"<th>{escape(name)}</th>" if name else "<td></td>" for name in names)
    return f"<thead><tr>{cells}</tr></thead>"


def row(first: str, cells: Sequence[str], names: Sequence[str]) -> str:
    """A row of a table that is a card where there is little room: its header, and cells (HTML), each with its column's
    name. names: of all columns."""
    rest = "".join(f'<td data-name="{escape(name)}">{cell}</td>' for name, cell in zip(names[1:], cells, strict=False))
    return f"<tr><th scope=row>{escape(first)}</th>{rest}</tr>"


def savable(body: str, rules: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]],
            pair: Sequence[str] = ()) -> str:
    """Wrap HTML so that assets/part.js can save it, as a picture and as the numbers of a table.

    rules: the CSS class with which all rules for this part in style.css begin. pair: the sentence and its translation,
    where the part is of one pair and does not name it.
    """
    table = escape(json.dumps({"columns": list(columns), "rows": [list(row) for row in rows]}, ensure_ascii=False))
    return f'<div class="{rules}" data-title="{escape(title)}" data-table="{table}"{of_pair(pair)}>{body}</div>'
