"""Parts of HTML tables that several figures share. All text is escaped here."""

import json
from collections.abc import Callable, Iterable, Sequence
from html import escape

import numpy as np

from xformer.figures.labels import of_pair
from xformer.strings import Language


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


def by_heads(values: np.ndarray, cell: Callable[[tuple[int, int], float], str], language: Language) -> str:
    """A table of values (layers, heads): a row a layer, a column a head. cell: writes one, of its layer and head."""
    names = ["", *(f"{language.say('head_short')}{head + 1}" for head in range(values.shape[1]))]
    rows = "".join(f'<tr><th scope="row">{language.html("layer_short")}{layer}</th>'
                   f'{"".join(cell((layer, head), float(value)) for head, value in enumerate(of_layer, 1))}</tr>'
                   for layer, of_layer in enumerate(values, 1))
    return f'<table>{header(names, "col")}<tbody>{rows}</tbody></table>'


def row(first: str, cells: Sequence[str], names: Sequence[str]) -> str:
    """A row of a table that is a card where there is little room: its header, and cells (HTML), each with its column's
    name. names: of all columns."""
    rest = "".join(f'<td data-name="{escape(name)}">{cell}</td>' for name, cell in zip(names[1:], cells, strict=False))
    return f"<tr><th scope=row>{escape(first)}</th>{rest}</tr>"


def captioned(body: str, title: str, pair: Sequence[str], more: str = "") -> str:
    """Wrap HTML of a sentence and its translation, `pair`, so that it can be saved as a picture. more: attributes."""
    return f'<div class="table" data-title="{escape(title)}"{more}{of_pair(pair)}>{body}</div>'


def savable(body: str, rules: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]],
            pair: Sequence[str] = ()) -> str:
    """Wrap HTML so that assets/part.js can save it, as a picture and as the numbers of a table.

    rules: the CSS class with which all rules for this part in style.css begin. pair: the sentence and its translation,
    where the part is of one pair and does not name it.
    """
    table = escape(json.dumps({"columns": list(columns), "rows": [list(row) for row in rows]}, ensure_ascii=False))
    return f'<div class="{rules}" data-title="{escape(title)}" data-table="{table}"{of_pair(pair)}>{body}</div>'
