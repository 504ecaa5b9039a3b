"""The panel beside the page as HTML: a step, lessons, the glossary, or a lecture. assets/lesson.js draws it."""

import json
import re
from html import escape

from xformer.lessons import links
from xformer.lessons.files import HINTS, Lesson, Question, Step, Text, glossary, lectures, lessons, said
from xformer.lessons.scene import Found
from xformer.lessons.terms import MOST, among, linked
from xformer.strings import ASSETS, Language

ALL, GLOSSARY, CLASS = "all", "glossary", "class"  # views besides a step, as addresses write them
LECTURES, LECTURE = "lectures", "lecture."
FORM = ASSETS / "class.html"


def marked(text: str) -> str:
    """Escape a text, in which *words* between stars are emphasised."""
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", escape(text))


def shown(text: Text, language: Language) -> str:
    """A text, marked; named as of another language where it has only that."""
    html = marked(said(text, language))
    return html if language.code in text else f'<span lang="{next(iter(text))}">{html}</span>'


def step(lesson: Lesson, number: int, language: Language) -> str:
    """A step, from 1, with its question, and the ways on; after the last the summary."""
    one, html, count = lesson.step(number), language.html, len(lesson.steps)
    if one is None:
        return summary(lesson, language)
    ways = [_button(f"{lesson.name}.{number - 1}", html("lesson_back")) if number > 1 else "",
            _button(f"{lesson.name}.{number}", html("lesson_again"), "again"),
            _button(f"{lesson.name}.{number + 1}", html("lesson_next" if number < count else "lesson_summary"), "next")]
    question = _question(one.question, language) if one.question else ""
    seen = among(" ".join(said(before.text, language) for before in lesson.steps[:number - 1]), language)
    text = linked(shown(one.text, language), language, seen, len(seen) + MOST)
    return (f'{_head(language)}<div class="step" data-point="{escape(one.point)}">'
            f'<h2 tabindex="-1">{shown(lesson.title, language)} <span class="sub">'
            f'{html("lesson_step", number=number, count=count)}</span></h2>'
            f'<p class="text">{text}</p>{question}<p class="ways">{"".join(ways)}</p></div>')


def summary(lesson: Lesson, language: Language) -> str:
    """What was asked; the browser fills in what the reader answered, and what the model did (assets/class.js)."""
    html = language.html
    asked = "".join(
        f'<div data-step="{number}"{" data-sentence" if _is_of_sentence(one) else ""}>'
        f'<dt>{number}. {shown(one.question.ask, language)}</dt><dd>{html("summary_none")}</dd></div>'
        for number, one in enumerate(lesson.steps, 1) if one.question)
    tools = "".join(f'<button type="button" data-do="{name}">{html(f"summary_{name}")}</button>'
                    for name in ("copy", "print"))
    return (f'{_head(language)}<div class="summary" data-answer="{html("summary_answer", answer="{answer}")}" '
            f'data-of="{html("summary_of", text="{text}")}"><h2 tabindex="-1">{shown(lesson.title, language)} '
            f'<span class="sub">{html("lesson_summary")}</span></h2><p class="sub">{html("summary_text")}</p>'
            f'<dl>{asked}</dl><p class="ways">{_button(f"{lesson.name}.{len(lesson.steps)}", html("lesson_back"))}'
            f'{tools}{_button(ALL, html("lesson_end"), "next")}</p><p class="reply" role="status" '
            f'data-copied="{html("summary_copied")}"></p></div>')


def _is_of_sentence(one: Step) -> bool:
    """Whether what is asked is asked of the sentence on the page."""
    return "text" in one.address and one.address.get("tab") != "sentiment" and (
        one.question is not None and one.question.kind not in ("sentence", "open"))


def choice_of_lessons(language: Language) -> str:
    """All lessons. The browser knows what was done of each, and on which step to go on."""
    html = language.html
    some = html("lesson_some", right="{right}", count="{count}")  # the browser fills them in
    items = "".join(
        f'<li><button type="button" data-lesson="{name}" data-questions="{_questions(one)}">'
        f'<b>{escape(said(one.title, language))}</b> <span>{html("lesson_minutes", minutes=one.minutes)}</span>'
        f' <span class="done" data-some="{some}" data-all="{html("lesson_all")}"></span></button></li>'
        for name, one in lessons().items())
    return (f'{_head(language)}<h2 tabindex="-1">{html("lessons")}</h2><p>{html("lessons_text")}</p><ol>{items}</ol>'
            f'<p class="ways">{_button(GLOSSARY, html("glossary"))}{_button(LECTURES, html("lectures"))}'
            f'{_button(CLASS, html("class_title"))}</p>'
            f'<label>{html("class_open")} <input type="file" accept=".json"></label>')


def for_a_class(language: Language) -> str:
    """Where a teacher chooses a lesson or writes one: assets/class.html, filled in. assets/class.js does the rest."""
    limits = {name: value for name, value in vars(links).items() if name.startswith(("LONGEST", "MOST"))}
    word = rf"\s*[^\s,]{{1,{links.LONGEST_WORD}}}"
    blanks = {**dict.fromkeys(("word", "target", "among"), "…"), "characters": "{characters}", "limit": "{limit}"}
    named = {"LESSONS": {name: (said(one.title, language), "") for name, one in lessons().items()},
             "LANGUAGES": {code: (one.name, "") for code, one in links.LANGUAGES.items()},
             "CHECKS": {name: (language.say(f"class_ask_{name}", **blanks, **one.fixed), " ".join(one.fields))
                        for name, one in links.OFFERS.items()}}
    values = {**{name: str(value) for name, value in limits.items()},
              "CODE": language.code, "LARGE": language.html("error_class_long", **blanks), "WORD": rf"{word}\s*",
              "SEVERAL": rf"{word}([\s,]+[^\s,]{{1,{links.LONGEST_WORD}}}){{1,{links.MOST_OPTIONS - 1}}}[\s,]*",
              **{f"HINT_{number}": language.html("class_hint", number=number) for number in range(1, HINTS + 1)},
              **{name: "".join(f'<option value="{key}" data-fields="{fields}">{escape(text)}</option>'
                               for key, (text, fields) in options.items()) for name, options in named.items()}}
    return _head(language) + re.sub(r"{{(\w+)}}", lambda found: values.get(
        found[1]) or language.html(f"class_{found[1]}", **blanks), FORM.read_text(encoding="utf-8"))


def all_terms(language: Language) -> str:
    """The glossary, with a field that filters it; each entry with a button that shows where it is to be seen."""
    see = language.html("glossary_see")
    items = "".join(
        f'<div><dt>{escape(said(one.term, language))}</dt><dd>{marked(said(one.text, language))} '
        f'<button type="button" data-address="{escape(json.dumps(one.see))}" '
        f'aria-label="{see}: {escape(said(one.term, language))}">{see}</button></dd></div>'
        for one in sorted(glossary(), key=lambda one: said(one.term, language).lower()))
    return (f'{_head(language)}<h2 tabindex="-1">{language.html("glossary")}</h2>'
            f'<label>{language.html("glossary_filter")} <input type="search" class="filter"></label>'
            f'<dl>{items}</dl><p class="none" role="status" hidden>{language.html("glossary_none")}</p>'
            f"<p>{_button(ALL, language.html('lessons'))}</p>")


def all_lectures(language: Language) -> str:
    """The lectures of which the page says what it shows."""
    html = language.html
    items = "".join(f'<li><button type="button" data-lesson="{LECTURE}{name}"><b lang="en">{escape(one.title)}</b>'
                    f"</button> {escape(said(one.of, language))}</li>" for name, one in lectures().items())
    return (f'{_head(language)}<h2 tabindex="-1">{html("lectures")}</h2><p>{html("lectures_text")}</p><ol>{items}</ol>'
            f"<p>{_button(ALL, html('lessons'))}</p>")


def one_lecture(name: str, language: Language) -> str:
    """What the page shows of a lecture, slide by slide, with buttons that open it."""
    html, lecture = language.html, lectures()[name]
    others = {key: None for slide in lecture.slides for key in slide.see if key != "text"}  # of the slide opened before
    items, seen = "", html("glossary_see")
    for one in lecture.slides:
        address = escape(json.dumps({**others, **one.see}))
        see = (f'<button type="button" data-address="{address}" data-place="{one.at}" '
               f'aria-label="{seen}: {escape(one.term)}">{seen}</button> ') if one.see else ""
        lesson = _button(one.lesson, html("lectures_lesson", title=said(lessons()[one.lesson].title, language))
                         ) if one.lesson else ""
        items += (f'<div><dt lang="en">{escape(one.term)}</dt><dd>{marked(said(one.text, language))} {see}{lesson}'
                  "</dd></div>")
    return (f'{_head(language)}<h2 tabindex="-1" lang="en">{escape(lecture.title)}</h2>'
            f'<p class="sub">{escape(said(lecture.of, language))}</p><dl>{items}</dl>'
            f'<p>{_button(LECTURES, html("lectures"))}</p>')


def reply(found: Found, language: Language) -> str:
    """Say what was found, and what the reader expected where that was something else."""
    verdict = language.html("lesson_right" if found.right else "lesson_wrong")
    expected = "" if found.right or not found.expected else " " + language.html("lesson_expected",
                                                                                answer=found.expected)
    return f"<b>{verdict}</b> {escape(found.message.say(language))}{expected}"


def _head(language: Language) -> str:
    html = language.html
    return (f'<div class="top">{_button(ALL, html("lessons_all"))}<button type="button" class="fold" '
            f'aria-expanded="true">{html("lesson_fold")}</button>'
            f'<button type="button" data-lesson="" class="close" aria-label="{html("lesson_close")}">×</button></div>')


def _button(to: str, label: str, kind: str = "") -> str:
    return f'<button type="button" data-lesson="{escape(to)}" class="{kind}">{label}</button>'


def _questions(lesson: Lesson) -> str:
    return ",".join(str(number) for number, one in enumerate(lesson.steps, 1) if one.question)


def _question(one: Question, language: Language) -> str:
    html = language.html
    hints = "".join(f'<details><summary>{html("lesson_hint", number=number)}</summary><p>'
                    f"{shown(hint, language)}</p></details>" for number, hint in enumerate(one.hints, 1))
    return (f'<form data-kind="{one.kind}"><fieldset><legend>{shown(one.ask, language)}</legend>'
            f'{_field(one, language)}</fieldset><button type="submit" class="check">'
            f'{html("lesson_keep" if one.kind == "open" else "lesson_check")}</button>'
            f'{hints}<p class="reply" role="status"></p></form>')


def _field(one: Question, language: Language) -> str:
    """What the answer is given by. Words are filled in by the browser, which knows the sentence on the page."""
    html = language.html
    if one.kind == "choice":
        return "".join(f'<label><input type="radio" name="answer" value="{escape(answer)}" required> '
                       f"{marked(said(text, language))}</label>" for answer, text in one.options)
    if one.kind == "number":
        middle = one.least + one.by * round((one.most - one.least) / 2 / one.by)
        return (f'<input type="range" name="answer" min="{one.least:g}" max="{one.most:g}" step="{one.by:g}" '
                f'value="{middle:g}" aria-label="{escape(said(one.ask, language))}"><output>{middle:g}</output>')
    if one.kind == "sentence":
        return (f'<input type="text" name="answer" lang="en" maxlength="400" required autocomplete="off" '
                f'aria-label="{html("lesson_sentence")}" placeholder="{html("lesson_sentence")}">')
    if one.kind == "open":
        return f'<textarea rows="4" maxlength="400" required aria-label="{html("lesson_open")}"></textarea>'
    if one.kind == "head":
        return f'<p class="sub">{html("lesson_head")}</p>'
    side = "es" if one.kind == "spanish" else "en"
    return f'<div class="words" data-side="{side}" lang="{side}"></div><p class="sub">{html("lesson_word")}</p>'
