"""Many texts and their sentiments: a summary in words, and a table. HTML, all text in it escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from xformer.figures.labels import percent
from xformer.figures.sentiment import label_name
from xformer.results import Judged
from xformer.strings import text

SHOWN = 300  # rows; the file that can be saved has all of them
LONGEST = 160  # characters of a text in the table


def summary(found: Sequence[Judged], language: str = "en") -> list[str]:
    """How many texts got each label and how sure the model was, how often it agrees with the labels that were given,
    and how many texts could not be read."""
    def say(key: str, **values: object) -> str:
        return text(key, language, **values)
    read = [row for row in found if row.label is not None]
    sentences = []
    for label in sorted({row.label for row in read if row.label is not None}, reverse=True):  # positive first
        sure = [row.probability for row in read if row.label == label and row.probability is not None]
        sentences.append(say("texts_count", label=label_name(label, language), count=len(sure), of=len(read),
                             share=f"{100 * len(sure) / len(read):.1f}", mean=percent(sum(sure) / len(sure))))
    known = [row for row in read if row.given is not None]
    if known:
        right = sum(row.given == row.label for row in known)
        sentences.append(say("texts_accuracy", right=right, count=len(known),
                             share=f"{100 * right / len(known):.1f}"))
    if len(read) < len(found):
        sentences.append(say("texts_unread", count=len(found) - len(read), of=len(found)))
    return sentences


def results(found: Sequence[Judged], language: str = "en") -> str:
    """The summary and the first rows as a table."""
    def say(key: str, **values: object) -> str:
        return escape(text(key, language, **values))
    given = any(row.given is not None for row in found)
    notes = any(row.notes for row in found)
    head = [say("texts_row"), say("texts_text"), say("texts_label"), say("texts_probability"),
            *([say("texts_given")] if given else []), *([say("texts_note")] if notes else [])]
    rows = []
    for number, row in enumerate(found[:SHOWN], 1):
        cells = [f'<td class="number">{number}</td>', f'<td lang="en" class="text">{escape(_cut(row.text))}</td>',
                 f"<td>{escape(label_name(row.label, language)) if row.label else '–'}</td>",
                 f'<td class="number">{percent(row.probability) if row.probability is not None else "–"}</td>']
        if given:
            cells.append(f"<td>{escape(label_name(row.given, language)) if row.given else '–'}</td>")
        if notes:
            cells.append(f'<td class="remark">{escape(" ".join(note.say(language) for note in row.notes))}</td>')
        kind = ' class="unread"' if row.label is None else ' class="differs"' if row.given not in (None, row.label) \
            else ""
        rows.append(f"<tr{kind}>{''.join(cells)}</tr>")
    cut = f"<p class=\"note\">{say('texts_shown', shown=SHOWN, of=len(found))}</p>" if len(found) > SHOWN else ""
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in summary(found, language))
    return (f'<div role="status">{sentences}</div>{cut}<div class="rows" tabindex="0" role="region" '
            f'aria-label="{say("texts_table")}"><table class="plain"><thead><tr>'
            f"{''.join(f'<th>{name}</th>' for name in head)}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>")


def progress(done: int, of: int, language: str = "en") -> str:
    """How many texts are read so far."""
    said = escape(text("texts_progress", language, done=done, of=of))
    return f'<p role="status">{said}</p><progress max="{of}" value="{done}" aria-label="{said}"></progress>'


def _cut(line: str) -> str:
    """A text on one line, as far as there is room for it."""
    line = " ".join(line[:4 * LONGEST].split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST].rstrip()} …"
