"""A small picture of one cross-attention head, word by word, as SVG in HTML; all text is escaped."""

import json
from collections.abc import Sequence
from html import escape

import numpy as np

from xformer.explain.maps import by_words
from xformer.figures.labels import percent, place, shown
from xformer.pieces import SPECIAL, WORD_START, words
from xformer.results import Head, Trace
from xformer.strings import ENGLISH, Language

CELL, LETTER = 20, 7.2  # pixels: a cell, and the mean width of a letter in the labels
LONGEST = 14  # letters of a label
MOST = 40  # words on either side that are drawn
LEAST = 0.62  # of its size, to which the picture shrinks


def strip(trace: Trace, head: Head, given: bool, language: Language = ENGLISH) -> str:
    """Draw which English words a head looks at for every Spanish word, and name the one that it looks at most.

    given: whether the head aligns the piece that a row was given, or the piece that it predicts. head: the model's best
    head, which the Attention tab shows by default. A click on the picture opens the head there: assets/bar.js reads
    `data-address`, the entries of the new address; null removes an entry.
    """
    attention = trace.of(head.stack)
    if not attention.probabilities.size:
        return f'<p class="note">{language.html("no_maps_model")}</p>'
    rows = attention.asks if given else attention.predicted
    row_groups, key_groups = _words(rows), _words(attention.seen)
    if not row_groups or not key_groups:
        return ""
    values = by_words(attention.probabilities[head.layer - 1, head.head - 1], row_groups, key_groups)
    spanish = [shown("".join(rows[i] for i in group)) for group in row_groups]
    english = [shown("".join(attention.seen[i] for i in group)) for group in key_groups]
    address = escape(json.dumps({"tab": "attention", "stack": head.stack, "layer": None, "head": None,
                                 "show": "head"}))
    title = language.html("strip_title", where=place(head, language))
    hint = language.html("strip_hint_given" if given else "strip_hint_predicted")
    return (f'<h3>{title}</h3><button type="button" class="open" data-address="{address}" '
            f'aria-label="{language.html("strip_open", where=place(head, language))}">'
            f"{_picture(values, spanish, english, language)}</button>"
            f'<p class="sub">{hint}</p>'
            f'<p class="sr-only">{escape(_in_words(values, spanish, english, language))}</p>')


def _words(pieces: Sequence[str]) -> list[list[int]]:
    """Group pieces into words, without special pieces."""
    marks = {*SPECIAL.values(), WORD_START}
    return [group for group in words(pieces) if pieces[group[0]] not in marks or len(group) > 1][:MOST]


def _picture(values: np.ndarray, spanish: list[str], english: list[str], language: Language) -> str:
    left = 10 + LETTER * max(len(_cut(word)) for word in spanish)
    top = 12 + LETTER * max(len(_cut(word)) for word in english)
    width, height = left + CELL * len(english), top + CELL * len(spanish)
    cells = "".join(
        f'<rect x="{left + CELL * k:.0f}" y="{top + CELL * q:.0f}" width="{CELL}" height="{CELL}" '
        f'fill-opacity="{p:.3f}"><title>{escape(spanish[q])} → {escape(english[k])} {percent(float(p))}</title></rect>'
        for (q, k), p in np.ndenumerate(values))
    across = "".join(
        f'<text transform="translate({left + CELL * (k + .7):.0f} {top - 6:.0f}) rotate(-90)">{escape(_cut(word))}'
        "</text>"
        for k, word in enumerate(english))
    down = "".join(f'<text x="{left - 6:.0f}" y="{top + CELL * (q + .7):.0f}" text-anchor="end">{escape(_cut(word))}'
                   "</text>" for q, word in enumerate(spanish))
    return (f'<svg width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'style="max-width: {width:.0f}px; min-width: {LEAST * width:.0f}px" aria-hidden="true">'
            f'{cells}<g {language.reads}>{across}</g><g {language.writes}>{down}</g></svg>')


def _in_words(values: np.ndarray, spanish: list[str], english: list[str], language: Language) -> str:
    """Say for each Spanish word at which English word the head looks most."""
    return " ".join(language.say("summary_row", query=word, key=english[int(row.argmax())],
                                 percent=percent(float(row.max()))) for word, row in zip(spanish, values, strict=True))


def _cut(word: str) -> str:
    return word if len(word) <= LONGEST else word[:LONGEST - 1] + "…"
