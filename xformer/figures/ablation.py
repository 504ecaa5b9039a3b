"""HTML tables for switched-off heads: how the translation changed, and which heads matter. All text is escaped."""

import difflib
import math
from collections.abc import Callable, Sequence
from html import escape

from xformer.figures.labels import percent, place, shown
from xformer.figures.tables import header
from xformer.pieces import words
from xformer.results import HeadEffect
from xformer.strings import ENGLISH, Language


def changed_words(old: str, new: str) -> str:
    """Mark word differences in the new text: added words in <ins>, removed ones in <del>."""
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


Key = Callable[[str], str]  # from the name of a text about a change to its key


def of_ablation(name: str) -> str:
    """The key of a text about heads that are switched off."""
    return f"ablation_{name}"


def before_and_after(old: str, new: str, pieces: Sequence[str], before: Sequence[float], after: Sequence[float],
                     language: Language = ENGLISH) -> str:
    """Compare two translations: both texts, and the log-probability of every word of the old one.

    pieces: of the old translation; before, after: their log-probabilities with all heads and without some, in nats.
    """
    return (both_texts(old, new, before, after, language, of_ablation)
            + word_table(column_names(language, of_ablation), pieces, before, after, language))


def both_texts(old: str, new: str, before: Sequence[float], after: Sequence[float], language: Language, key: Key
               ) -> str:
    """Show two translations with their differences marked, and the log-probability that the old one loses. HTML."""
    html = language.html
    same = f"<p>{html(key('same'))}</p>" if old == new else ""
    total = html(key("total"), before=f"{sum(before):.2f}", after=f"{sum(after):.2f}",
                 change=f"{sum(after) - sum(before):+.2f}")
    return (f'<p class="sub">{html(key("before"))}</p><p class="large" {language.writes}>{escape(old)}</p>'
            f'<p class="sub">{html(key("after"))}</p>'
            f'<p class="large" {language.writes}>{changed_words(old, new)}</p>{same}<p>{total}</p>')


def column_names(language: Language, key: Key) -> list[str]:
    """Name the columns of a `word_table` about a change."""
    return [language.say(key(name)) for name in ("word", "with", "without", "change")]


def word_table(names: Sequence[str], pieces: Sequence[str], before: Sequence[float], after: Sequence[float],
               language: Language = ENGLISH) -> str:
    """Tabulate log-probabilities by word, as `piece_table` does by piece; a word's is the sum over its pieces."""
    groups = words(pieces)
    old, new = ([sum(values[i] for i in group) for group in groups] for values in (before, after))
    return piece_table(names, ["".join(pieces[i] for i in group) for group in groups], old, new, language)


def piece_table(names: Sequence[str], pieces: Sequence[str], before: Sequence[float], after: Sequence[float],
                language: Language = ENGLISH) -> str:
    """Tabulate the log-probability (nats) of every piece before and after a change, with probability and difference.

    names: of the four columns.
    """
    def number(log_prob: float) -> str:
        probability = escape(percent(math.exp(log_prob)))
        return f'<td class="number">{log_prob:.2f} <span class="sub">({probability})</span></td>'

    rows = "".join(
        f'<tr><td {language.writes}>{escape(shown(piece))}</td>{number(old)}{number(new)}'
        f'<td class="number">{new - old:+.2f}</td></tr>'
        for piece, old, new in zip(pieces, before, after, strict=True))
    return f'<table class="plain changes">{header(names)}<tbody>{rows}</tbody></table>'


def effects(ranked: Sequence[HeadEffect], language: Language = ENGLISH) -> str:
    """Tabulate heads and the log-probability that each is worth to the translation, with bars, in the given order."""
    say, html = language.say, language.html
    largest = max((abs(one.effect) for one in ranked), default=0) or 1
    rows = "".join(
        f'<tr><td>{escape(place(one.head, language))}</td>'
        f'<td class="number">{one.effect:+.3f}</td>'
        f'<td><meter max="1" value="{abs(one.effect) / largest:.3f}"></meter></td></tr>' for one in ranked)
    return (f'<table class="plain">{header([say("finder_head"), say("effect"), ""])}<tbody>{rows}</tbody></table>'
            f'<p class="note">{html("effect_text")}</p>')
