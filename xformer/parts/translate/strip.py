"""A small picture of one cross-attention head, word by word, as SVG in HTML; all text
is escaped."""

from collections.abc import Sequence

from xformer.explain.maps import by_words
from xformer.figures.labels import paragraph, shortened, shown
from xformer.figures.templates import fill
from xformer.pieces import SPECIAL, WORD_START, joined, words
from xformer.results import Head, Trace
from xformer.strings import ENGLISH, Language

# pixels: a cell, and the width of all but the widest letters of the labels
CELL = 20
LETTER = 8
LONGEST = 14  # letters of a label
MOST = 40  # words on either side that are drawn
LEAST = 0.62  # of its size, to which the picture shrinks


def strip(trace: Trace, head: Head, given: bool, language: Language = ENGLISH) -> str:
    """Draw which English words a head looks at for every Spanish word, and name the one
    that it looks at most.

    given: whether the head aligns the piece that a row was given, or the piece that it
    predicts. head: the model's best head, which the Attention tab shows by default. A
    click on the picture opens the head there: assets/bar.js reads `data-address`, the
    entries of the new address; null removes an entry.
    """
    attention = trace.of(head.stack)
    if not attention.probabilities.size:
        return paragraph(language, "no_maps_model", "note")
    rows = attention.asks if given else attention.predicted
    row_groups = _words(rows)
    key_groups = _words(attention.seen)
    if not row_groups or not key_groups:
        return ""
    values = by_words(
        attention.probabilities[head.layer - 1, head.head - 1], row_groups, key_groups
    )
    spanish, english = (
        list(map(shown, joined(pieces, groups)))
        for pieces, groups in ((rows, row_groups), (attention.seen, key_groups))
    )
    down, across = (
        [shortened(word, LONGEST) for word in names] for names in (spanish, english)
    )
    left, top = (
        gap + LETTER * max(map(len, names)) for gap, names in ((10, down), (12, across))
    )
    return fill(
        "strip.strip",
        language,
        head=head,
        values=values.tolist(),
        spanish=spanish,
        english=english,
        given=given,
        picture=(down, across, CELL, left, top, LEAST),
    )


def _words(pieces: Sequence[str]) -> list[list[int]]:
    """Group pieces into words, without special pieces."""
    marks = {*SPECIAL.values(), WORD_START}
    return [
        group
        for group in words(pieces)
        if pieces[group[0]] not in marks or len(group) > 1
    ][:MOST]
