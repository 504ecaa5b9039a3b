"""How much one word looks at another, in every head, before and after a word is replaced. HTML."""

import json
import re
from collections.abc import Collection, Sequence
from html import escape

import numpy as np

from xformer.explain.pairs import aligned
from xformer.figures.attention import Choice
from xformer.figures.labels import percent, place, sentence, shown
from xformer.figures.locked_word import LETTERS, Lock, links
from xformer.figures.tables import savable
from xformer.pieces import SPECIAL, WORD_START, spelled, words
from xformer.results import Head, Trace
from xformer.strings import ENGLISH, Language

Word = tuple[str, int]  # a side, "source" or "target", and a position, as in `Lock`
Share = tuple[str, Lock]  # a stack, and who looks at whom in it


def asked(lock: Lock) -> list[Share]:
    """List the stacks that have both locked words, with which word may look at which; both ways in the encoder."""
    if not lock.asks or not lock.seen or lock.asks == lock.seen:
        return []
    sides = {lock.asks[0], lock.seen[0]}
    turned = Lock(lock.seen, lock.asks)
    if sides == {"source"}:
        return [("encoder_self", lock), ("encoder_self", turned)]
    if sides == {"target"}:  # a word looks back only
        return [("decoder_self", lock if lock.asks[1] > lock.seen[1] else turned)]
    return [("cross", lock if lock.asks[0] == "target" else turned)]


def grid(trace: Trace, stack: str, lock: Lock, given: Collection[Head] = ()) -> np.ndarray:
    """Compute how much one word looks at the other in every head of a stack: (layers, heads), 0 to 1.

    Words are whole: shares are summed over the pieces of the word looked at, and averaged over the pieces of the word
    that looks. NaN if a head has no such row. given: the heads that align the piece they were given.
    """
    maps = trace.of(stack).probabilities
    values = np.full(maps.shape[:2], np.nan)
    for link in links(trace, Choice(stack, words=True), lock, maps, given):
        values[link.head.layer - 1, link.head.head - 1] = link.probability
    return values


def pieces_of(trace: Trace, side: str) -> tuple[str, ...]:
    """The pieces of a side, in the order in which a lock counts positions."""
    return trace.source if side == "source" else trace.target


def group_of(trace: Trace, word: Word) -> list[int]:
    """The positions of all pieces of the word at a position; none if that is beyond the sentence."""
    return next((group for group in words(pieces_of(trace, word[0])) if word[1] in group), [])


def text_of(trace: Trace, word: Word) -> str:
    """The word at a position, as text."""
    pieces = pieces_of(trace, word[0])
    return shown("".join(pieces[i] for i in group_of(trace, word)))


def choices(trace: Trace) -> list[tuple[str, str]]:
    """List every word of both sentences, without special pieces: a label, and the word in the form of a lock."""
    found = []
    for side, letters in LETTERS.items():
        pieces = pieces_of(trace, side)
        for group in words(pieces):
            text = "".join(pieces[i] for i in group)
            if text not in SPECIAL.values() and any(letter.isalnum() for letter in text):
                found.append((f"{letters.upper()} · {shown(text)}", f"{letters}{group[0]}"))
    return found


def moved(word: Word, old: Trace, new: Trace) -> Word | None:
    """Find a word in another pass, by aligning its sentences with the old ones; None if it is gone."""
    side, groups, texts = word[0], [], []
    for trace in (old, new):
        pieces = pieces_of(trace, side)
        groups.append(words(pieces))
        texts.append(["".join(pieces[i] for i in group) for group in groups[-1]])
    at = next((i for i, group in enumerate(groups[0]) if word[1] in group), None)
    there = next((one.second for one in aligned(*texts) if at is not None and one.first == at), None)
    return None if there is None else (side, groups[1][there][0])


def without(trace: Trace, word: Word, instead: str = "") -> str | None:
    """Write the source with another word, or none, in place of one of its words; None if that word is not found."""
    groups = words(trace.source)
    texts = [spelled("".join(trace.source[i] for i in group)).replace(WORD_START, "") for group in groups]
    at = next((i for i, group in enumerate(groups) if word[1] in group), None)
    if at is None or not texts[at]:
        return None
    # An apostrophe between letters belongs to the word: "it" does not stand in "it's". Pieces have straight ones only.
    wanted = re.escape(texts[at]).replace("'", "['’]")
    found = [*re.finditer(rf"(?<!\w)(?<!\w['’]){wanted}(?!\w)(?!['’]\w)", trace.text)]
    nth = texts[:at].count(texts[at])
    if nth >= len(found):
        return None
    return " ".join(f"{trace.text[:found[nth].start()]}{instead}{trace.text[found[nth].end():]}".split())


def grids(trace: Trace, lock: Lock, given: Collection[Head] = (), language: Language = ENGLISH,
          other: Trace | None = None) -> str:
    """Show how much one locked word looks at the other, in all heads of the stacks that have both: a row a layer, a
    column a head.

    other: a pass over the source with another word, for the same share there and for the difference. A click on a cell
    opens the head: assets/bar.js reads `data-address`.
    """
    say, html, sections, rows = language.say, language.html, [], list[list[object]]()
    for stack, placed in asked(lock):
        if not placed.asks or not placed.seen or not trace.of(stack).probabilities.size:
            continue  # a model need not have every stack
        pair = f"{text_of(trace, placed.asks)} → {text_of(trace, placed.seen)}"
        values = grid(trace, stack, placed, given)
        tables = [_table(values, stack, pair, 1.0, False, language)]
        rows += _rows(values, stack, pair)
        if other is not None:
            asks, seen = (moved(word, trace, other) for word in (placed.asks, placed.seen))
            if asks is None or seen is None:
                tables.append(f'<p class="sub">{html("link_gone")}</p>')
            else:
                there = grid(other, stack, Lock(asks, seen), given)
                named = f"{text_of(other, asks)} → {text_of(other, seen)}"
                change = there - values
                reach = max(0.1, float(np.nanmax(np.abs(change), initial=0)))
                tables += [_table(there, stack, named, 1.0, False, language),
                           _table(change, stack, say("link_change", pair=named), reach, True, language)]
                rows += [*_rows(there, stack, named), *_rows(change, stack, say("link_change", pair=named))]
        sections.append(f'<div class="grids">{"".join(tables)}</div>')
    if not sections or not lock.asks or not lock.seen:
        return ""
    name = say(f"stack_{stack}")
    columns = [say("stack"), say("link_pair"), say("layer"), say("head"), say("link_share")]
    return savable(f"<h3>{escape(name)}</h3>{''.join(sections)}", "word-link",
                   f"{name} · {text_of(trace, lock.asks)} → {text_of(trace, lock.seen)}", columns, rows,
                   (trace.text, sentence(trace.predicted)))


def _rows(values: np.ndarray, stack: str, pair: str) -> list[list[object]]:
    return [[stack, pair, layer + 1, head + 1, round(float(value), 4)]
            for (layer, head), value in np.ndenumerate(values) if value == value]


def _table(values: np.ndarray, stack: str, caption: str, reach: float, signed: bool, language: Language) -> str:
    """One grid, its largest share in words, and its colours with numbers."""
    html = language.html
    heads = "".join(f'<th scope="col">{html("head_short")}{head + 1}</th>' for head in range(values.shape[1]))
    body = "".join(
        f'<tr><th scope="row">{html("layer_short")}{layer + 1}</th>'
        + "".join(_cell(Head(stack, layer + 1, head + 1), float(value), reach, signed, language)
                  for head, value in enumerate(row)) + "</tr>" for layer, row in enumerate(values))
    ends = (f"−{reach:.2f}", f"+{reach:.2f}") if signed else ("0", "1")
    scale = f'<span class="scale{" signed" if signed else ""}">{ends[0]}<i></i>{ends[1]}</span>'
    below = f'<p class="sub">{scale} {_largest(values, stack, signed, language)}</p>'
    return (f"<figure><figcaption>{escape(caption)}</figcaption><table><thead><tr><td></td>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table>{below}</figure>")


def _largest(values: np.ndarray, stack: str, signed: bool, language: Language) -> str:
    """Name the head with the largest value of a grid."""
    if not np.isfinite(values).any():
        return ""
    layer, head = np.unravel_index(int(np.nanargmax(np.abs(values))), values.shape)
    where = place(Head(stack, int(layer) + 1, int(head) + 1), language)
    return language.html("link_most", head=where, value=_number(float(values[layer, head]), signed))


def _cell(head: Head, value: float, reach: float, signed: bool, language: Language) -> str:
    if value != value:
        return "<td>–</td>"
    address = escape(json.dumps({"tab": "attention", "stack": head.stack, "layer": head.layer, "head": head.head,
                                 "show": "head"}))
    kind = ' class="less"' if value < 0 else ""
    said = f"{place(head, language)}: {_number(value, signed) if signed else percent(value)}"
    return (f'<td{kind} style="--share:{min(1.0, abs(value) / reach):.3f}"><button type="button" '
            f'data-address="{address}" title="{escape(said)}" aria-label="{escape(said)}">{_number(value, signed)}'
            f"</button></td>")


def _number(value: float, signed: bool) -> str:
    """Write a share to two decimals; a change gets a sign."""
    if abs(value) < 0.005:
        return "0"
    return ("−" if value < 0 else "+" if signed else "") + f"{abs(value):.2f}"


def locked_words(lock: Lock) -> Sequence[str]:
    """Write both words of a lock as `choices` does; "" for a word that is not locked."""
    return [f"{LETTERS[word[0]]}{word[1]}" if word else "" for word in (lock.asks, lock.seen)]
