"""Lessons, the glossary and lectures, read from assets/: texts in two languages, states
of the page, and questions.

What a file may hold is said in docs/LESSONS.md. A question names a check and words; it
holds no answer.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from xformer.lessons import slides as _of_slides  # noqa: F401 fills CHECKS
from xformer.lessons.checks import PLACES
from xformer.lessons.scene import CHECKS
from xformer.results import Message, refusing
from xformer.strings import ASSETS, ENGLISH, SPANISH, Language

FOLDER = ASSETS / "lessons"
# what lessons may be asked of, by lesson and list: "it.short"
SENTENCES = ASSETS / "lesson_sentences.json"
GLOSSARY = ASSETS / "glossary.json"
LECTURES = ASSETS / "lectures.json"
OF_SLIDES = ASSETS / "told"  # of each lecture, what its slides have besides
PLAN = ASSETS / "plan.json"
# of questions
KINDS = ("choice", "number", "word", "spanish", "head", "sentence", "open")
# words of a step and of an entry of the glossary; hints of a question
MOST_WORDS = 80
MOST_OF_ENTRY = 40
HINTS = 2
ORDER = (
    "probabilities",
    "alignment",
    "by-hand",
    "it",
    "order",
    "masks",
    "search",
    "layers",
    "generations",
    "warm-up",
    "sentiment",
    "bias",
)
# A sentence with what a lesson says of it, by the names that its texts have for them:
# text, words, numbers, or a text in both languages
Sentence = Mapping[str, Any]
NAMED = re.compile(r"\{(\w+)\.(\w+)\}")  # in a lesson: of a list, and of a sentence
# by the code of a language; a lesson of a class has one language
Text = Mapping[str, str]


@dataclass(frozen=True)
class Question:
    """What a reader is asked, and how the answer is checked."""

    ask: Text
    kind: str  # of KINDS
    # a name in CHECKS; "" of an open question, whose answer is kept and not checked
    check: str
    given: Mapping[str, Any]  # the parameters of the check: words and settings
    hints: tuple[Text, ...] = ()
    # of a choice: answers, and how they read
    options: tuple[tuple[str, Text], ...] = ()
    least: float = 0  # of a number, as are the next three
    most: float = 100
    by: float = 1
    within: float = 0  # how far the answer may be off


@dataclass(frozen=True)
class Step:
    """A text, the state of the page that it speaks about, and perhaps a question."""

    text: Text
    # keys and values; a key that it lacks has its default, and `text` stays
    address: Mapping[str, str]
    point: str = ""  # a selector of what is meant
    # a name in PLACES and its parameters: more of the address
    place: tuple[str, Mapping[str, Any]] | None = None
    question: Question | None = None

    @property
    def of_sentence(self) -> bool:
        """Whether its question is about the sentence on the page."""
        return (
            "text" in self.address
            and self.address.get("tab") != "sentiment"
            and (
                self.question is not None
                and self.question.kind not in ("sentence", "open")
            )
        )


@dataclass(frozen=True)
class Lesson:
    """Steps in order."""

    name: str  # as addresses write it
    title: Text
    minutes: int  # that it takes, about; 0: not known
    steps: tuple[Step, ...]

    def step(self, number: int) -> Step | None:
        """The step of a number, from 1; None after the last, where the summary
        stands."""
        return self.steps[number - 1] if number <= len(self.steps) else None


@dataclass(frozen=True)
class Term:
    """An entry of the glossary."""

    term: Text
    text: Text
    see: Mapping[str, str]  # the address where it is to be seen


# The first picture of a part that the fragment of an address names
PICTURE_OF = ".at-{} .block:is(.picture, .tables, .architecture, [class*=frame-])"
# The name of a check and its parameters
Named = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Slide:
    """What a lecture has, and what the page shows of it: nothing, where both `see` and
    `lesson` are empty."""

    term: str  # in the lecture's own words
    text: Text
    see: Mapping[str, str]  # an address
    at: str  # the part that its fragment names
    lesson: str  # the name of one
    point: str = ""  # a selector of its picture; "": the main one of its tab
    page: int = 0  # of the lecture; 0 where its pages have no numbers
    quote: str = ""  # a sentence of the lecture
    fact: Named | None = None  # what says one sentence of the model on the page
    question: Question | None = None


@dataclass(frozen=True)
class Part:
    """A part of a plan for a class: a lesson, or something to show."""

    minutes: int
    title: Text
    text: Text  # what to do; {} of a lesson
    see: Mapping[str, str]  # the address
    at: str = ""  # the part that its fragment names


@dataclass(frozen=True)
class Lecture:
    """A lecture on transformers by somebody else."""

    title: str
    of: Text  # whose it is
    slides: tuple[Slide, ...]  # in the order of the lecture


@cache
def lessons() -> dict[str, Lesson]:
    """All lessons by name, in the order in which they build on one another."""
    return {
        name: read(FOLDER / f"{name}.json")
        for name in ORDER
        if (FOLDER / f"{name}.json").exists()
    }


@cache
def sentences() -> dict[str, list[dict[str, Any]]]:
    """The sentences that lessons may be asked of, by lesson and list; the first of each
    list is the one that the lesson has."""
    return _stored(SENTENCES)


@cache
def glossary() -> tuple[Term, ...]:
    """All entries, in the order of the file."""
    stored = _stored(GLOSSARY)
    return tuple(
        Term(
            _text(one["term"], "term", MOST_OF_ENTRY),
            _text(one["text"], "text", MOST_OF_ENTRY),
            one["see"],
        )
        for one in stored["terms"]
    )


@cache
def plan() -> tuple[Part, ...]:
    """The plan of ninety minutes, part by part; a lesson takes as long as it says."""
    return tuple(
        Part(
            one["minutes"],
            lessons()[one["lesson"]].title,
            {},
            {"lesson": one["lesson"]},
        )
        if "lesson" in one
        else Part(
            one["minutes"],
            _text(one["title"], "title", MOST_OF_ENTRY),
            _text(one["text"], "text", MOST_OF_ENTRY),
            one["see"],
            one.get("at", ""),
        )
        for one in _stored(PLAN)["plan"]
    )


@cache
def lectures() -> dict[str, Lecture]:
    """All lectures by name, in the order of the file."""
    return {
        one["name"]: Lecture(
            one["title"],
            _text(one["of"], one["name"], MOST_OF_ENTRY),
            tuple(_slides(one["slides"], _additions(one["name"]))),
        )
        for one in _stored(LECTURES)["lectures"]
    }


@cache
def lectures_as_lessons() -> dict[str, Lesson]:
    """Each lecture as a lesson, whose steps are its slides, by its name."""
    return {
        name: Lesson(
            name,
            {ENGLISH.code: lecture.title},
            0,
            tuple(
                Step(one.text, one.see, question=one.question) for one in lecture.slides
            ),
        )
        for name, lecture in lectures().items()
    }


@cache
def with_steps() -> dict[str, Lesson]:
    """All lessons, and then all lectures as lessons, by name."""
    return {**lessons(), **lectures_as_lessons()}


def _additions(lecture: str) -> dict[str, dict[str, Any]]:
    """What a lecture's file adds to its slides, by their terms, in the lecture's
    order."""
    path = OF_SLIDES / f"{lecture}.json"
    return {one["term"]: one for one in _stored(path)["slides"]}


def _slides(
    entries: Sequence[Mapping[str, Any]], added: Mapping[str, Mapping[str, Any]]
) -> Iterator[Slide]:
    """The slides of a lecture: those of `added` in its order, then the others."""
    stored = {one["term"]: one for one in entries}
    ordered = [stored[term] for term in added if term in stored]
    for one in [*ordered, *(one for one in entries if one["term"] not in added)]:
        term = one["term"]
        more = added.get(term, {})
        _known(more, ("term", "point", "page", "quote", "fact", "question"), term)
        yield Slide(
            term,
            _text(one["text"], term, MOST_OF_ENTRY),
            one.get("see", {}),
            one.get("at", ""),
            one.get("lesson", ""),
            more.get("point", PICTURE_OF.format(one["at"]) if "at" in one else ""),
            more.get("page", 0),
            more.get("quote", ""),
            _called(CHECKS, more["fact"], term) if "fact" in more else None,
            _question(more["question"], term, 0) if "question" in more else None,
        )


def read(path: Path, chosen: Mapping[str, Sentence] | None = None) -> Lesson:
    """Read a lesson. chosen: sentences of its lists that stand in it instead of the
    first ones. Raises UserError, a sentence that names the file and the step, where it
    cannot be used."""
    stored = _stored(path)
    with refusing(
        (ValueError, TypeError, AttributeError),
        partial(_fault, path),
    ):
        stored = _filled(stored, {**_first(path.stem), **(chosen or {})})
        steps = tuple(
            step(one, f"step {number}")
            for number, one in enumerate(stored.get("steps", ()), 1)
        )
        if not steps or not isinstance(stored.get("minutes"), int):
            raise ValueError(
                "a lesson has `minutes`, a whole number, and `steps`, one or more"
            )
        return Lesson(
            path.stem,
            _text(stored.get("title"), "title", MOST_WORDS),
            stored["minutes"],
            steps,
        )


def lists(lesson: str) -> dict[str, list[int]]:
    """The lists of a lesson, and the questions that are asked of the sentences of each:
    numbers of steps, from 1."""
    steps = [json.dumps(one) for one in _stored(FOLDER / f"{lesson}.json")["steps"]]
    return {
        name: [
            number
            for number, one in enumerate(steps, 1)
            if f"{{{name}." in one and '"question"' in one
        ]
        for name in _first(lesson)
    }


def _first(lesson: str) -> dict[str, Sentence]:
    return {
        name.partition(".")[2]: choice[0]
        for name, choice in sentences().items()
        if name.partition(".")[0] == lesson
    }


def _filled(stored: Any, chosen: Mapping[str, Sentence], code: str = "") -> Any:
    """What a file holds, with the sentences that are chosen in the place of their
    names. code: of the language of a text. Raises ValueError for a name that no
    sentence has."""
    if isinstance(stored, dict):
        return {
            key: _filled(
                one, chosen, key if key in (ENGLISH.code, SPANISH.code) else code
            )
            for key, one in stored.items()
        }
    if isinstance(stored, list):
        return [_filled(one, chosen, code) for one in stored]

    def named(found: re.Match[str]) -> Any:
        if found[2] not in chosen.get(found[1], {}):
            raise ValueError(f"{found[0]} names nothing in {SENTENCES.name}")
        value = chosen[found[1]][found[2]]
        return value[code] if isinstance(value, dict) else value

    def in_text(found: re.Match[str]) -> str:
        return str(named(found))

    if not isinstance(stored, str):
        return stored
    if alone := NAMED.fullmatch(stored):
        return named(alone)
    return NAMED.sub(in_text, stored)


def _fault(path: Path, error: Exception) -> Message:
    return Message.of("error_lesson", file=path.name, reason=str(error))


def _stored(path: Path) -> dict[str, Any]:
    with refusing(
        (OSError, ValueError, TypeError),
        partial(_fault, path),
    ):
        return dict(json.loads(path.read_text(encoding="utf-8")))


def step(stored: Mapping[str, Any], where: str, hints: int = HINTS) -> Step:
    """Read a step; hints: how many its question must have. Raises ValueError, TypeError
    or AttributeError."""
    _known(stored, ("text", "address", "point", "place", "question"), where)
    place = _called(PLACES, stored["place"], where) if "place" in stored else None
    address = {key: str(value) for key, value in stored.get("address", {}).items()}
    question = (
        _question(stored["question"], where, hints) if "question" in stored else None
    )
    text = _text(stored.get("text"), f"{where}: text", MOST_WORDS)
    return Step(text, address, stored.get("point", ""), place, question)


def _question(stored: Mapping[str, Any], where: str, most_hints: int) -> Question:
    numbers = ("least", "most", "by", "within")
    _known(stored, ("ask", "kind", "check", "hints", "options", *numbers), where)
    kind = stored.get("kind")
    hints = stored.get("hints", [])
    if kind not in KINDS:
        raise ValueError(
            f"{where} asks for a {kind!r}; write one of {', '.join(KINDS)}"
        )
    if len(hints) != most_hints:
        raise ValueError(f"{where} has {len(hints)} hints; a question has {most_hints}")
    options = tuple(
        (str(one["answer"]), _text(one, f"{where}: option", MOST_WORDS))
        for one in stored.get("options", ())
    )
    if (kind == "choice") != (len(options) > 1):
        raise ValueError(
            f"{where} has {len(options)} options; a choice has two or more, other questions none"
        )
    check, given = (
        ("", {}) if kind == "open" else _called(CHECKS, stored.get("check", {}), where)
    )
    limits = {name: float(stored[name]) for name in numbers if name in stored}
    said = [
        _text(one, f"{where}: {name}", MOST_WORDS)
        for name, one in (
            ("ask", stored.get("ask")),
            *(("hint", hint) for hint in hints),
        )
    ]
    return Question(said[0], kind, check, given, tuple(said[1:]), options, **limits)


def _called(
    table: Mapping[str, Callable[..., Any]], stored: Mapping[str, Any], where: str
) -> tuple[str, dict[str, Any]]:
    """The name of a function of a table, and what a file gives it: what the function
    takes, and no more."""
    given = dict(stored)
    name = str(given.pop("name", None))
    if name not in table:
        raise ValueError(f"{where} names {name!r}; write one of {', '.join(table)}")
    takes = {
        key: one
        for key, one in signature(table[name]).parameters.items()
        if one.kind is Parameter.KEYWORD_ONLY
    }
    lacking = {key for key, one in takes.items() if one.default is Parameter.empty} - {
        *given
    }
    if lacking or {*given} - {*takes}:
        raise ValueError(
            f"{where} gives {name} {sorted(given) or 'nothing'}; it takes {sorted(takes) or 'nothing'}"
        )
    return name, given


def _known(stored: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    if unknown := {*stored} - {*keys}:
        raise ValueError(
            f"{where} has {sorted(unknown)}; it may have {', '.join(keys)}"
        )


def _text(text: Any, place: str, most: int) -> Text:
    """A text in both languages, of fewer words than `most`. place: its own, for
    sentences about it."""
    codes = (ENGLISH.code, SPANISH.code)
    if not isinstance(text, Mapping) or not all(
        isinstance(text.get(code), str) and text[code] for code in codes
    ):
        raise ValueError(f"{place} lacks a text in {' or '.join(codes)}")
    for code in codes:
        if (count := len(text[code].split())) >= most:
            raise ValueError(
                f"{place} has {count} words in {code}; write fewer than {most}"
            )
    return {code: text[code] for code in codes}


def said(text: Text, language: Language) -> str:
    """A text in a language, or in the one that it has."""
    return text.get(language.code) or next(iter(text.values()))
