"""The panel beside the page as HTML: a step, lessons, the glossary, or a lecture.
assets/lesson.js draws it."""

import re
from functools import partial
from html import escape

from xformer.figures.templates import fill
from xformer.lessons import links
from xformer.lessons.files import (
    Lesson,
    Text,
    glossary,
    lectures,
    lectures_as_lessons,
    lessons,
    said,
)
from xformer.lessons.scene import Found
from xformer.lessons.terms import MOST, among, linked
from xformer.strings import ENGLISH, SPANISH, Language

# views besides a step, as addresses write them
ALL = "all"
GLOSSARY = "glossary"
CLASS = "class"
ANSWERS = "answers"
LECTURES = "lectures"
LECTURE = "lecture."


def marked(text: str) -> str:
    """Escape a text, in which *words* between stars are emphasised."""
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", escape(text))


def shown(text: Text, language: Language) -> str:
    """A text, marked; named as of another language where it has only that."""
    html = marked(said(text, language))
    return (
        html
        if language.code in text
        else f'<span lang="{next(iter(text))}">{html}</span>'
    )


def step(lesson: Lesson, number: int, language: Language) -> str:
    """A step, from 1, with its question, and the ways on; after the last the
    summary."""
    one = lesson.step(number)
    html = partial(shown, language=language)
    if one is None:
        return fill("lessons.summary", language, lesson=lesson, shown=html)
    seen = among(
        " ".join(said(before.text, language) for before in lesson.steps[: number - 1]),
        language,
    )
    return fill(
        "lessons.step",
        language,
        lesson=lesson,
        number=number,
        one=one,
        shown=html,
        said=partial(said, language=language),
        text=linked(html(one.text), language, seen, len(seen) + MOST),
    )


def slide(lecture: str, number: int, language: Language) -> str:
    """A slide of a lecture, from 1: the lecture's words, what is seen here, room for
    the fact that the model adds later, and a question."""
    lesson = lectures_as_lessons()[lecture]
    one = lectures()[lecture].slides[number - 1]
    return fill(
        "lessons.slide",
        language,
        lesson=lesson,
        number=number,
        one=one,
        shown=partial(shown, language=language),
        said=partial(said, language=language),
    )


def choice_of_lessons(language: Language) -> str:
    """All lessons. The browser knows what was done of each, and on which step to go
    on."""
    return fill(
        "lessons.choice",
        language,
        lessons=lessons(),
        said=partial(said, language=language),
    )


def for_a_class(language: Language) -> str:
    """Where a teacher chooses a lesson or writes one. assets/class.js does the rest."""
    word = rf"\s*[^\s,]{{1,{links.LONGEST_WORD}}}"
    blanks = {
        **dict.fromkeys(("word", "target", "among"), "…"),
        "characters": "{characters}",
        "limit": "{limit}",
    }
    return fill(
        "lessons.for_a_class",
        language,
        code=language.code,
        limits=links,
        word=rf"{word}\s*",
        several=rf"{word}([\s,]+[^\s,]{{1,{links.LONGEST_WORD}}}){{1,{links.MOST_OPTIONS - 1}}}[\s,]*",
        lessons=[
            (name, said(one.title, language), "") for name, one in lessons().items()
        ],
        languages=[(code, one.name, "") for code, one in links.LANGUAGES.items()],
        blanks=blanks,
        checks=[
            (
                name,
                language.say(f"class_ask_{name}", **blanks, **one.fixed),
                " ".join(one.fields),
            )
            for name, one in links.OFFERS.items()
        ],
    )


def answers_of_a_class(language: Language) -> str:
    """Where a teacher pastes summaries, which assets/answers.js counts by what marks
    their lines in either language."""
    marks = {
        mark: [
            one.say(key, **dict.fromkeys((mark, "text"), ""))
            for one in (ENGLISH, SPANISH)
        ]
        for mark, key in (
            ("summary", "lesson_summary"),
            ("answer", "summary_answer"),
            ("first", "summary_first"),
            ("none", "summary_none"),
        )
    }
    return fill("lessons.answers_of_a_class", language, marks=marks)


def all_terms(language: Language) -> str:
    """The glossary, with a field that filters it; each entry with a button that shows
    where it is to be seen."""
    terms = [
        (said(one.term, language), marked(said(one.text, language)), one.see)
        for one in glossary()
    ]
    return fill(
        "lessons.glossary",
        language,
        terms=sorted(terms, key=lambda term: term[0].lower()),
    )


def all_lectures(language: Language) -> str:
    """The lectures of which the page says what it shows."""
    return fill(
        "lessons.lectures",
        language,
        lectures=lectures(),
        said=partial(said, language=language),
    )


def one_lecture(name: str, language: Language) -> str:
    """What the page shows of a lecture, slide by slide, with buttons that open it."""
    lecture = lectures()[name]
    # of the slide opened before
    others = {
        key: None for slide in lecture.slides for key in slide.see if key != "text"
    }
    slides = [
        (
            one,
            marked(said(one.text, language)),
            one.lesson and said(lessons()[one.lesson].title, language),
        )
        for one in lecture.slides
    ]
    return fill(
        "lessons.lecture",
        language,
        lecture=lecture,
        of=said(lecture.of, language),
        slides=slides,
        others=others,
        name=name,
    )


def reply(found: Found, language: Language, open: bool = False) -> str:
    """Say what was found, and what the reader expected where that was something else.
    open: say what is true of a wrong answer at once, not folded."""
    return fill(
        "lessons.reply",
        language,
        found=found,
        said=opened(found.message.say(language)),
        open=open,
    )


def opened(sentence: str) -> str:
    """A sentence that begins with a capital letter, also where that of a name is
    small."""
    return sentence[:1].upper() + sentence[1:]
