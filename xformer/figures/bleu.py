"""BLEU taken apart: n-grams that match, are clipped or missing, the brevity penalty, and three scores with their sums.

HTML, all text escaped.
"""

from collections.abc import Iterator
from html import escape

import numpy as np
import plotly.graph_objects as go

from xformer.figures.layout import BLUE, ORANGE, axis, layout, literal
from xformer.figures.tables import savable
from xformer.results import Bleu, NGram
from xformer.strings import ENGLISH, Language

KINDS = ("matched", "clipped", "wrong", "missed")  # of n-grams
MOST = 60  # n-grams that are listed of each order
LONGEST = 300  # the most tokens up to which the brevity penalty is drawn, unless a text is longer


def kinds(ngram: NGram) -> Iterator[tuple[str, int]]:
    """Split the count of an n-gram into the KINDS that occur.

    Matched: in both texts. Clipped: in both, but these are more than the reference has. Wrong: in the translation
    alone. Missed: the reference has these, the translation does not.
    """
    more = ngram.count - ngram.matches
    counts = (ngram.matches, more if ngram.reference else 0, 0 if ngram.reference else more,
              ngram.reference - ngram.matches)
    return ((kind, count) for kind, count in zip(KINDS, counts, strict=True) if count)


def ngrams(parts: Bleu, language: Language = ENGLISH) -> str:
    """Show the n-grams of a translation and its reference by KINDS, with precisions before and after clipping."""
    say, html = language.say, language.html
    rows, sections = list[list[object]](), []
    for n, (of_n, raw, clipped, total) in enumerate(zip(parts.ngrams, parts.unclipped, parts.matches, parts.totals,
                                                        strict=True), 1):
        rows += [[n, " ".join(ngram.tokens), say(f"bleu_{kind}"), count] for ngram in of_n
                 for kind, count in kinds(ngram)]
        chips = "".join(_chip(ngram, kind, count) for ngram in of_n[:MOST] for kind, count in kinds(ngram))
        more = f'<span class="more">{html("bleu_more", count=len(of_n) - MOST)}</span>' if len(of_n) > MOST else ""
        said = (html("bleu_lab_precision", raw=raw, clipped=clipped, total=total, before=_percent(raw, total),
                     after=_percent(clipped, total)) if total else html("bleu_lab_none", n=n))
        bar = f"--share:{clipped / max(total, 1):.4f}; --raw:{raw / max(total, 1):.4f}"
        sections.append(f'<section><h3>{html("bleu_lab_order", n=n)}</h3><p class="precision" style="{bar}">{said}</p>'
                        f'<p class="chips">{chips}{more}</p></section>')
    key = "".join(f'<span class="ngram {kind}">{html(f"bleu_{kind}")}</span>' for kind in KINDS)
    return savable(f'<p class="key">{key}</p>{"".join(sections)}', "bleu-parts", say("bleu_lab_title"),
                   [say("bleu_n"), say("bleu_lab_tokens"), say("bleu_lab_kind"), say("bleu_lab_count")], rows)


def _chip(ngram: NGram, kind: str, count: int) -> str:
    times = f' <small>×{count}</small>' if count > 1 else ""
    return f'<span class="ngram {kind}">{escape(" ".join(ngram.tokens))}{times}</span>'


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


def brevity(parts: Bleu, language: Language = ENGLISH) -> go.Figure:
    """Plot the brevity penalty by length of a translation, for this reference, with a mark on this translation."""
    say, reference = language.say, parts.reference_length
    longest = min(max(2 * reference, parts.length + 1), max(LONGEST, parts.length))
    lengths = np.arange(1, longest + 1)
    curve = np.exp(np.minimum(0, 1 - reference / lengths))
    (mark,) = literal([say("bleu_lab_this", value=f"{parts.brevity_penalty:.3f}")])
    (name,) = literal([say("bleu_lab_curve")])
    drawn = [go.Scatter(x=lengths, y=curve, mode="lines", name=name, line={"color": BLUE, "width": 2}),
             go.Scatter(x=[parts.length], y=[parts.brevity_penalty], mode="markers", name=mark,
                        marker={"color": ORANGE, "size": 12})]
    title = say("bleu_lab_brevity", length=parts.length, reference=reference, value=f"{parts.brevity_penalty:.3f}")
    return go.Figure(drawn, layout(title, x=axis(say("bleu_lab_length"), range=[0, longest + 0.5]),
                                   y=axis(say("bleu_lab_penalty"), range=[0, 1.06])))


def scores(parts: Bleu, language: Language = ENGLISH) -> str:
    """Show the same pair's three scores: how each is computed with these numbers, and why they differ."""
    html, orders = language.html, parts.orders
    precisions = [f"<sup>{match}</sup>⁄<sub>{total}</sub>"
                  for match, total in zip(parts.matches[:orders], parts.totals, strict=False)]
    penalty = f"{parts.brevity_penalty:.3f}"
    product = " · ".join(precisions) or "0"
    root = f"{penalty} · ({product})<sup>1/{max(orders, 1)}</sup>"
    halves = " · ".join(f"({one})<sup>1/{2 ** n}</sup>" for n, one in enumerate(precisions, 1)) or "0"
    lenient = smoothed(parts, language)
    sections = [
        _score("paper", parts.score, f"BP · (∏ <i>p<sub>n</sub></i>)<sup>1/<i>N</i></sup> = {root}", language),
        _score("sacre", parts.smoothed, f"BP · (∏ <i>p̃<sub>n</sub></i>)<sup>1/<i>N</i></sup> = {lenient}", language),
        _score("notes", parts.variant,
               "exp(min(0, 1 − <i>r</i>/<i>c</i>)) · ∏ <i>p<sub>n</sub></i><sup>1/2<sup><i>n</i></sup></sup> = "
               f"{penalty} · {halves}", language)]
    short = f'<p class="short">{html("bleu_short", missing=orders + 1, orders=orders)}</p>' if 0 < orders < 4 else ""
    rows = [[language.say(f"bleu_score_{name}"), round(value, 4)] for name, value in
            (("paper", parts.score), ("sacre", parts.smoothed), ("notes", parts.variant))]
    return savable(f"{short}<div>{''.join(sections)}</div>", "bleu-scores", language.say("bleu_lab_scores"),
                   [language.say("bleu_lab_formula"), language.say("bleu_lab_score")], rows)


def smoothed(parts: Bleu, language: Language = ENGLISH) -> str:
    """Write sacrebleu's sentence score with its numbers: a precision of 0 counts as 1/2, 1/4, … of one n-gram, but if
    no n-gram matches at all the score is 0. HTML."""
    if not any(parts.matches):
        return language.html("bleu_no_match")
    factors, halvings = [], 0
    for match, total in zip(parts.matches[:parts.orders], parts.totals, strict=False):
        if match == 0:
            halvings += 1
        over = str(match) if match else f"1/{2 ** halvings}"
        factors.append(f"<sup>{over}</sup>⁄<sub>{total}</sub>")
    return f"{parts.brevity_penalty:.3f} · ({' · '.join(factors) or '0'})<sup>1/{max(parts.orders, 1)}</sup>"


def _score(name: str, value: float, formula: str, language: Language) -> str:
    html = language.html
    return (f'<section><h3>{html(f"bleu_score_{name}")}</h3><p class="value">{value:.1f}</p>'
            f'<p class="sum">{formula}</p><p class="why">{html(f"bleu_why_{name}")}</p></section>')
