"""The lecture's sentences as a table: the translations of its transformer, and those of a model here. HTML."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from xformer.explain.pairs import aligned
from xformer.figures.tables import savable
from xformer.results import Bleu
from xformer.strings import ASSETS, ENGLISH, Language

# English, reference, the lecture's answer, its authors' verdict; and "seen" where train.tsv, which does not ship, has
# the pair but for a contraction, or the same Spanish of another English sentence.
FILE = ASSETS / "lecture20.tsv"
VERDICTS = {"correct": "right", "correct in meaning": "meaning", "wrong": "wrong"}


@dataclass(frozen=True)
class Sentence:
    """A sentence of the lecture, without capitals and punctuation, and its transformer's translation."""

    english: str
    reference: str
    answer: str
    verdict: str  # of its authors, one of VERDICTS' values
    seen: bool = False  # whether the models that ship learned from it, or from its Spanish


def read(path: Path = FILE) -> list[Sentence]:
    """Read the lecture's sentences."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [Sentence(english, reference, answer, VERDICTS[verdict], seen == ["seen"])
            for english, reference, answer, verdict, *seen in rows]


def note(sentences: Sequence[Sentence], language: Language = ENGLISH) -> str:
    """Say which sentences either model had seen in training; HTML."""
    return language.html("lecture_note", count=len(sentences), seen=sum(one.seen for one in sentences))


def bare(text: str) -> str:
    """Write a text in the lecture's way: without capitals and punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


@dataclass(frozen=True)
class Answer:
    """A model's translation of a sentence, and BLEU of the lecture's translation and of this one, both `bare`."""

    text: str
    theirs: Bleu
    own: Bleu


def table(sentences: Sequence[Sentence], answers: Sequence[Answer] | None, model: str, language: Language = ENGLISH
          ) -> str:
    """Tabulate the sentences, with differences from the reference marked. answers: None before they are computed.

    A click on a sentence opens the page with it: assets/bar.js reads `data-address`.
    """
    say, html = language.say, language.html
    names = [say("lecture_english"), say("lecture_reference"), say("lecture_theirs"), say("lecture_own", model=model),
             say("lecture_scores")]
    rows, numbers = [], list[list[object]]()
    for i, one in enumerate(sentences):
        answer = answers[i] if answers else None
        verdict = html(f"lecture_verdict_{one.verdict}")
        own = "…" if answer is None else _marked(answer.text, one.reference)
        scores = "…" if answer is None else f"{answer.theirs.smoothed:.0f} → {answer.own.smoothed:.0f}"
        reference = f'{escape(one.reference)}{" *" if one.seen else ""}'
        cells = (_links(one.english, language), reference,
                 f'{_marked(one.answer, one.reference)} <span class="verdict {one.verdict}">{verdict}</span>', own,
                 scores)
        languages = ("en", "es", "es", "es", "")
        rows.append("<tr>" + "".join(
            f'<td data-name="{escape(name)}"{f" lang={code}" if code else " class=number"}>{cell}</td>'
            for name, code, cell in zip(names, languages, cells, strict=True)) + "</tr>")
        numbers.append([one.english, one.reference, one.answer, verdict, answer.text if answer else "",
                        round(answer.theirs.smoothed, 2) if answer else "",
                        round(answer.own.smoothed, 2) if answer else ""])
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    columns = [*names[:3], say("lecture_verdict"), names[3], say("lecture_their_bleu"), say("lecture_own_bleu")]
    return savable(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>", "lecture-table",
                   say("lecture_title"), columns, numbers)


def _links(english: str, language: Language) -> str:
    """The sentence as a button that opens it in Translate, and one that opens it in Attention."""
    def address(tab: str) -> str:
        return escape(json.dumps({"tab": tab, "text": english, "spanish": None, "lock": None}))

    attention = language.html("tab_attention")
    return (f'<button type="button" data-address="{address("translate")}" title="{language.html("lecture_open")}">'
            f'{escape(english)}</button> <button type="button" class="also" data-address="{address("attention")}" '
            f'aria-label="{attention}: {escape(english)}">{attention}</button>')


def _marked(text: str, reference: str) -> str:
    """Mark the words of a text that the reference does not have in that place; capitals and punctuation are ignored."""
    words = text.split()
    places = aligned([bare(word) for word in words], reference.split())
    same = {one.first for one in places if one.same}
    return " ".join(escape(word) if i in same or not bare(word) else f"<mark>{escape(word)}</mark>"
                    for i, word in enumerate(words))


def summary(answers: Sequence[Answer], theirs: float, own: float, model: str, language: Language = ENGLISH
            ) -> list[str]:
    """Compare both over all sentences. theirs, own: corpus BLEU, which is not the mean of the sentences' scores."""
    def mean(scored: Sequence[Bleu]) -> str:
        return f"{sum(parts.smoothed for parts in scored) / len(scored):.1f}"

    return [language.say("lecture_corpus", model=model, theirs=f"{theirs:.1f}", own=f"{own:.1f}", count=len(answers)),
            language.say("lecture_mean", model=model, theirs=mean([one.theirs for one in answers]),
                         own=mean([one.own for one in answers]))]
