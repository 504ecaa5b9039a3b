"""The lecture's sentences as a table: the translations of its transformer, and those of
a model here. HTML."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from markupsafe import Markup

from xformer.explain.pairs import aligned
from xformer.figures.taught import MADE, marked, marks
from xformer.figures.templates import fill
from xformer.results import Bleu
from xformer.strings import ENGLISH, Language

# English, reference, the lecture's answer, its authors' verdict; and the English for
# which the training pairs that ship have the same Spanish, if they do.
FILE = Path(__file__).with_name("lecture20.tsv")
VERDICTS = {"correct": "right", "correct in meaning": "meaning", "wrong": "wrong"}


@dataclass(frozen=True)
class Sentence:
    """A sentence of the lecture, without capitals and punctuation, and its
    transformer's translation."""

    english: str
    reference: str
    answer: str
    verdict: str  # of its authors, one of VERDICTS' values
    twin: str = ""  # for which the models that ship learned the same Spanish


def read(path: Path = FILE) -> list[Sentence]:
    """Read the lecture's sentences."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Sentence(english, reference, answer, VERDICTS[verdict], *known)
        for english, reference, answer, verdict, *known in rows
    ]


def note(sentences: Sequence[Sentence], language: Language = ENGLISH) -> str:
    """Say which sentences either model had seen in training, and which others were
    aimed at; HTML."""
    aimed = [
        one
        for one in marked((one.english for one in sentences), "en-es")
        if one.aimed_at
    ]
    return language.html(
        "lecture_note",
        count=len(sentences),
        seen=sum(bool(one.twin) for one in sentences),
        aimed=len(aimed),
        words=", ".join(
            language.say("quoted", text=word)
            for one in aimed
            for word in one.words or (one.text,)
        ),
        nearest=MADE["nearest"],
        back=MADE["en_es"],
        ranked=MADE["ranked"],
        patterns=MADE["patterns"],
    )


def bare(text: str) -> str:
    """Write a text in the lecture's way: without capitals and punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


@dataclass(frozen=True)
class Answer:
    """A model's translation of a sentence, and BLEU of the lecture's translation and of
    this one, both `bare`."""

    text: str
    theirs: Bleu
    own: Bleu


def table(
    sentences: Sequence[Sentence],
    answers: Sequence[Answer],
    model: str,
    language: Language = ENGLISH,
) -> str:
    """Tabulate the sentences, with differences from the reference marked. answers: none
    before they are computed.

    A click on a sentence opens the page with it: assets/bar.js reads `data-address`.
    """
    names = [
        language.say(f"lecture_{key}", model=model)
        for key in ("english", "reference", "theirs", "own", "scores")
    ]
    rows = [
        (
            one,
            _marked(one.answer, one.reference),
            answer,
            _marked(answer.text, one.reference) if answer else None,
            Markup(marks([one.english], model, language, named=False)),
        )
        for one, answer in zip_longest(sentences, answers)
    ]
    return fill("lecture.table", language, names=names, rows=rows)


def _marked(text: str, reference: str) -> list[tuple[str, bool]]:
    """The words of a text, each with whether the reference has it in that place;
    capitals and punctuation are ignored."""
    words = text.split()
    places = aligned([bare(word) for word in words], reference.split())
    same = {one.first for one in places if one.same}
    return [(word, i in same or not bare(word)) for i, word in enumerate(words)]


def summary(
    answers: Sequence[Answer],
    theirs: float,
    own: float,
    model: str,
    language: Language = ENGLISH,
) -> list[str]:
    """Compare both over all sentences. theirs, own: corpus BLEU, which is not the mean
    of the sentences' scores."""

    def mean(scored: Sequence[Bleu]) -> str:
        return f"{sum(parts.smoothed for parts in scored) / len(scored):.1f}"

    return [
        language.say(
            "lecture_corpus",
            model=model,
            theirs=f"{theirs:.1f}",
            own=f"{own:.1f}",
            count=len(answers),
        ),
        language.say(
            "lecture_mean",
            model=model,
            theirs=mean([one.theirs for one in answers]),
            own=mean([one.own for one in answers]),
        ),
    ]
