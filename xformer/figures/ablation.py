"""What changed when heads were switched off, or which heads matter: HTML tables, all text in them escaped."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from html import escape

from xformer.figures.labels import percent, shown
from xformer.pieces import words
from xformer.results import HeadEffect
from xformer.strings import text


def changed_words(old: str, new: str) -> str:
    """The new text with the words marked that the old one lacks (<ins>), and those that are gone (<del>)."""
    before, after = old.split(), new.split()
    parts = []
    for kind, a, b, c, d in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if kind in ("delete", "replace"):
            parts.append(f"<del>{escape(' '.join(before[a:b]))}</del>")
        if kind in ("insert", "replace"):
            parts.append(f"<ins>{escape(' '.join(after[c:d]))}</ins>")
        if kind == "equal":
            parts.append(escape(" ".join(after[c:d])))
    return " ".join(parts)


def before_and_after(old: str, new: str, pieces: Sequence[str], before: Sequence[float], after: Sequence[float],
                     language: str = "en") -> str:
    """Two translations, and the log-probability of every word of the old one with all heads and without some."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))
    same = f"<p>{say('ablation_same')}</p>" if old == new else ""
    names = [text(key, language) for key in ("ablation_word", "ablation_with", "ablation_without", "ablation_change")]
    total = say("ablation_total", before=f"{sum(before):.2f}", after=f"{sum(after):.2f}",
                change=f"{sum(after) - sum(before):+.2f}")
    return (f'<p class="sub">{say("ablation_before")}</p><p class="large" lang="es">{escape(old)}</p>'
            f'<p class="sub">{say("ablation_after")}</p><p class="large" lang="es">{changed_words(old, new)}</p>{same}'
            f"<p>{total}</p>{word_table(names, pieces, before, after)}")


def word_table(names: Sequence[str], pieces: Sequence[str], before: Sequence[float], after: Sequence[float]) -> str:
    """As `piece_table`, with a row a word: the log-probability of a word is the sum of its pieces'."""
    groups = words(pieces)
    old, new = ([sum(values[i] for i in group) for group in groups] for values in (before, after))
    return piece_table(names, ["".join(pieces[i] for i in group) for group in groups], old, new)


def piece_table(names: Sequence[str], pieces: Sequence[str], before: Sequence[float], after: Sequence[float]) -> str:
    """The log-probability (nats) of every piece before and after a change, with its probability, and the difference.

    names: of the four columns.
    """
    def number(log_prob: float) -> str:
        share = escape(percent(math.exp(log_prob)))
        return f'<td class="number">{log_prob:.2f} <span class="sub">({share})</span></td>'
    rows = "".join(
        f'<tr><td lang="es">{escape(shown(piece))}</td>{number(a)}{number(b)}<td class="number">{b - a:+.2f}</td></tr>'
        for piece, a, b in zip(pieces, before, after, strict=True))
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    return f'<table class="plain changes"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def effects(found: Sequence[HeadEffect], language: str = "en") -> str:
    """Heads ranked by what they are worth to the translation, as a table with bars."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))
    largest = max((abs(effect.effect) for effect in found), default=0) or 1
    rows = "".join(
        f'<tr><td>{say("finder_where", layer=e.layer, head=e.head)}</td>'
        f'<td class="number">{e.effect:+.3f}</td><td><meter max="1" value="{abs(e.effect) / largest:.3f}"></meter></td>'
        "</tr>" for e in found)
    return (f'<table class="plain"><thead><tr><th>{say("finder_head")}</th><th>{say("effect")}</th><th></th></tr>'
            f"</thead><tbody>{rows}</tbody></table><p class=\"note\">{say('effect_text')}</p>")
