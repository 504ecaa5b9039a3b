"""Results for many classified texts: a summary in sentences, and a table. HTML, all text escaped."""

from collections.abc import Sequence

from xformer.figures.labels import percent
from xformer.figures.templates import fill
from xformer.parts.judging.draw import label_name
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
        sentences.append(say("texts_accuracy", right=right, count=len(known), share=f"{100 * right / len(known):.1f}"))
    if len(read) < len(judged):
        sentences.append(say("texts_unread", count=len(judged) - len(read), of=len(judged)))
    return sentences


def results(judged: Sequence[Judged], language: Language = ENGLISH) -> str:
    """Show the summary, and the first SHOWN rows as a table."""
    given, notes = any(row.given is not None for row in judged), any(row.notes for row in judged)
    keys = ["row", "text", "label", "probability", *(["given"] if given else []), *(["note"] if notes else [])]
    rows = [(_cut(row.text), row, *(label_name(label, language) if label else "–" for label in (row.label, row.given)),
             " ".join(note.say(language) for note in row.notes)) for row in judged[:SHOWN]]
    cut = language.say("texts_shown", shown=SHOWN, of=len(judged)) if len(judged) > SHOWN else ""
    return fill("many.results", language, sentences=summary(judged, language), cut=cut, rows=rows, has_given=given,
                has_notes=notes, names=[language.say(f"texts_{key}") for key in keys])


def progress(done: int, of: int, language: Language = ENGLISH) -> str:
    """Show how many texts have been read, in words and as a bar."""
    return fill("many.progress", language, said=language.say("texts_progress", done=done, of=of), done=done, of=of)


def _cut(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text[:4 * LONGEST].split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST].rstrip()} …"
