"""BLEU taken apart: n-grams that match, are clipped or missing, the brevity penalty,
and three scores with their sums.

HTML, all text escaped.
"""

from collections.abc import Iterator

import numpy as np
import plotly.graph_objects as go

from xformer.figures.layout import BLUE, ORANGE, axis, layout, line, literal
from xformer.figures.templates import fill
from xformer.results import Bleu, NGram
from xformer.strings import ENGLISH, Language

KINDS = ("matched", "clipped", "wrong", "missed")  # of n-grams
MOST = 60  # n-grams that are listed of each order
# the most tokens up to which the brevity penalty is drawn, unless a text is longer
LONGEST = 300


def kinds(ngram: NGram) -> Iterator[tuple[str, int]]:
    """Split the count of an n-gram into the KINDS that occur.

    Matched: in both texts. Clipped: in both, but these are more than the reference has.
    Wrong: in the translation alone. Missed: the reference has these, the translation
    does not.
    """
    more = ngram.count - ngram.matches
    counts = (
        ngram.matches,
        more if ngram.reference else 0,
        0 if ngram.reference else more,
        ngram.reference - ngram.matches,
    )
    return ((kind, count) for kind, count in zip(KINDS, counts, strict=True) if count)


def ngrams(parts: Bleu, language: Language = ENGLISH) -> str:
    """Show the n-grams of a translation and its reference by KINDS, with precisions
    before and after clipping."""
    rows = list[list[object]]()
    orders = []
    each = zip(parts.ngrams, parts.unclipped, parts.matches, parts.totals, strict=True)
    for n, (of_n, *counts) in enumerate(each, 1):
        listed = [
            [(" ".join(ngram.tokens), *one) for one in kinds(ngram)] for ngram in of_n
        ]
        rows += [
            [n, tokens, language.say(f"bleu_{kind}"), count]
            for one in listed
            for tokens, kind, count in one
        ]
        orders.append((sum(listed[:MOST], []), len(of_n) - MOST, *counts))
    return fill("bleu.ngrams", language, kinds=KINDS, orders=orders, rows=rows)


def brevity(parts: Bleu, language: Language = ENGLISH) -> go.Figure:
    """Plot the brevity penalty by length of a translation, for this reference, with a
    mark on this translation."""
    say = language.say
    reference = parts.reference_length
    longest = min(max(2 * reference, parts.length + 1), max(LONGEST, parts.length))
    lengths = np.arange(1, longest + 1)
    curve = np.exp(np.minimum(0, 1 - reference / lengths))
    name, mark = literal(
        [
            say("bleu_lab_curve"),
            say("bleu_lab_this", value=f"{parts.brevity_penalty:.3f}"),
        ]
    )
    drawn = [
        line(lengths, curve, name, BLUE, None, mode="lines"),
        go.Scatter(
            x=[parts.length],
            y=[parts.brevity_penalty],
            mode="markers",
            name=mark,
            marker={"color": ORANGE, "size": 12},
        ),
    ]
    title = say(
        "bleu_lab_brevity",
        length=parts.length,
        reference=reference,
        value=f"{parts.brevity_penalty:.3f}",
    )
    return go.Figure(
        drawn,
        layout(
            title,
            x=axis(say("bleu_lab_length"), range=[0, longest + 0.5]),
            y=axis(say("bleu_lab_penalty"), range=[0, 1.06]),
        ),
    )


def scores(parts: Bleu, language: Language = ENGLISH) -> str:
    """Show the same pair's three scores: how each is computed with these numbers, and
    why they differ."""
    orders = parts.orders
    penalty = f"{parts.brevity_penalty:.3f}"
    precisions = [
        f"<sup>{match}</sup>⁄<sub>{total}</sub>"
        for match, total in zip(parts.matches[:orders], parts.totals, strict=False)
    ]
    root = f"{penalty} · ({' · '.join(precisions) or '0'})<sup>1/{max(orders, 1)}</sup>"
    halves = (
        " · ".join(f"({one})<sup>1/{2**n}</sup>" for n, one in enumerate(precisions, 1))
        or "0"
    )
    return fill(
        "bleu.scores",
        language,
        parts=parts,
        paper=root,
        notes=f"{penalty} · {halves}",
        sacre=smoothed(parts, language),
    )


def smoothed(parts: Bleu, language: Language = ENGLISH) -> str:
    """Write sacrebleu's sentence score with its numbers: a precision of 0 counts as
    1/2, 1/4, … of one n-gram, but if no n-gram matches at all the score is 0. HTML."""
    if not any(parts.matches):
        return language.html("bleu_no_match")
    factors = []
    halvings = 0
    for match, total in zip(parts.matches[: parts.orders], parts.totals, strict=False):
        halvings += match == 0
        over = str(match) if match else f"1/{2**halvings}"
        factors.append(f"<sup>{over}</sup>⁄<sub>{total}</sub>")
    return f"{parts.brevity_penalty:.3f} · ({' · '.join(factors) or '0'})<sup>1/{max(parts.orders, 1)}</sup>"
