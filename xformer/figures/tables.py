"""Parts of HTML tables for figures that write HTML themselves; assets/html/tables.html has them for templates."""

import json
from collections.abc import Iterable, Sequence
from html import escape

from xformer.figures.labels import of_pair


def header(names: Sequence[str], scope: str = "") -> str:
    """The head row of a table, a cell for each column's name; one without a name is no header. scope: of headers."""
    scope = scope and f' scope="{scope}"'
    cells = "".join(f"<th{scope}>{escape(name)}</th>" if name else "<td></td>" for name in names)
    return f"<thead><tr>{cells}</tr></thead>"


def table(names: Sequence[str], rows: Iterable[str], kind: str = "plain", caption: str = "") -> str:
    """A table: a name for each column, and rows as HTML. kind: its CSS classes. caption: HTML."""
    titled = f"<caption>{caption}</caption>" if caption else ""
    return f'<table class="{kind}">{titled}{header(names)}<tbody>{"".join(rows)}</tbody></table>'


def numbers(*texts: str) -> str:
    """Cells with numbers."""
    return "".join(f'<td class="number">{text}</td>' for text in texts)


def bar(share: float, text: str, kind: str = "") -> str:
    """A cell with a number and a bar, `share` of it (0 to 1) filled. kind: "for" or "against", the bar's colour."""
    return numbers(f'<span class="bar{kind and " "}{kind}" style="--share:{share:.3f}">{text}</span>')


def savable(body: str, rules: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]],
            pair: Sequence[str] = ()) -> str:
    """Wrap HTML so that assets/part.js can save it, as a picture and as the numbers of a table.

    rules: the CSS class with which all rules for this part in style.css begin. pair: the sentence and its translation,
    where the part is of one pair and does not name it.
    """
    table = escape(json.dumps({"columns": list(columns), "rows": [list(row) for row in rows]}, ensure_ascii=False))
    return f'<div class="{rules}" data-title="{escape(title)}" data-table="{table}"{of_pair(pair)}>{body}</div>'
