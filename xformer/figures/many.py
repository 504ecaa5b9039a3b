"""Results for many classified texts: a summary in sentences, and a table. HTML, all text escaped."""

from collections.abc import Sequence
from html import escape

from xformer.figures.labels import percent
from xformer.figures.sentiment import label_name
from xformer.figures.tables import header
from xformer.results import Judged
from xformer.strings import ENGLISH, Language

SHOWN = 300  # rows; the file that can be saved has all of them
LONGEST = 160  # characters of a text that the table shows


def summary(judged: Sequence[Judged], language: Language = ENGLISH) -> list[str]:
    """Summarise in sentences: count and mean probability of each label, agreement with given labels, unread texts."""
    say = language.say
    read = [row for row in judged if row.label is not None]
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
    if len(read) < len(judged):
        sentences.append(say("texts_unread", count=len(judged) - len(read), of=len(judged)))
    return sentences


def results(judged: Sequence[Judged], language: Language = ENGLISH) -> str:
    """Show the summary, and the first SHOWN rows as a table."""
    say, html = language.say, language.html
    given = any(row.given is not None for row in judged)
    notes = any(row.notes for row in judged)
    names = [say("texts_row"), say("texts_text"), say("texts_label"), say("texts_probability")]
    if given:
        names.append(say("texts_given"))
    if notes:
        names.append(say("texts_note"))
    rows = "".join(_row(number, row, given, notes, language) for number, row in enumerate(judged[:SHOWN], 1))
    cut = f'<p class="note">{html("texts_shown", shown=SHOWN, of=len(judged))}</p>' if len(judged) > SHOWN else ""
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in summary(judged, language))
    return (f'<div role="status">{sentences}</div>{cut}'
            f'<div class="rows" tabindex="0" role="region" aria-label="{html("texts_table")}">'
            f'<table class="plain">{header(names)}<tbody>{rows}</tbody></table></div>')


def progress(done: int, of: int, language: Language = ENGLISH) -> str:
    """Show how many texts have been read, in words and as a bar."""
    said = language.html("texts_progress", done=done, of=of)
    return f'<p role="status">{said}</p><progress max="{of}" value="{done}" aria-label="{said}"></progress>'


def _row(number: int, row: Judged, given: bool, notes: bool, language: Language) -> str:
    """One row of the table. given, notes: whether the table has columns for given labels and for notes."""
    cells = [f'<td class="number">{number}</td>', f'<td lang="en" class="text">{escape(_cut(row.text))}</td>',
             f"<td>{_label(row.label, language)}</td>",
             f'<td class="number">{"–" if row.probability is None else percent(row.probability)}</td>']
    if given:
        cells.append(f"<td>{_label(row.given, language)}</td>")
    if notes:
        cells.append(f'<td class="remark">{escape(" ".join(note.say(language) for note in row.notes))}</td>')
    if row.label is None:
        kind = ' class="unread"'
    elif row.given not in (None, row.label):
        kind = ' class="differs"'
    else:
        kind = ""
    return f"<tr{kind}>{''.join(cells)}</tr>"


def _label(label: str | None, language: Language) -> str:
    return escape(label_name(label, language)) if label else "–"


def _cut(line: str) -> str:
    """Shorten a text to one line of at most LONGEST characters."""
    line = " ".join(line[:4 * LONGEST].split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST].rstrip()} …"
