"""Lessons of a class: one whole lesson in a link or a small file, read within limits,
because anybody may have made it.

An address names one "~DATA": JSON, deflated as zlib does, in base64url. It has a
`title`, the `language` of its texts and `steps`; a step has a `text`, an `address` and
perhaps a `question`: a `check` of OFFERS, the fields of that check, and, if the teacher
wrote any, `ask`, other words for it, and up to two `hints`. A file holds the same JSON
as it is.
"""

import json
import re
import zlib
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from xformer.lessons import files
from xformer.lessons.checks import SURE
from xformer.lessons.files import HINTS, MOST_WORDS, Lesson, Step
from xformer.results import Message, UserError, refusing
from xformer.strings import ENGLISH, SPANISH

MARK = "~"  # before the data, where an address names a lesson
LONGEST = 6_000  # characters of the data
LONGEST_LINK = 2_000  # and of a link that is passed on, or a file is
MOST_BYTES = 20_000  # of the JSON
MOST_STEPS = 20  # of a lesson
# characters; words
LONGEST_TEXT = 600
LONGEST_TITLE = 80
LONGEST_WORD = 40
MOST_OPTIONS = 4
LONGEST_VALUE = 2_000
LANGUAGES = {one.code: one for one in (ENGLISH, SPANISH)}


@dataclass(frozen=True)
class Offer:
    """A check that a teacher may choose; without words of the teacher it is asked as
    "class_ask_" and its name says."""

    kind: str  # of files.KINDS
    # that the teacher fills in: `options`, or parameters of the check
    fields: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)  # the other parameters
    # of a choice: the key of its text, by the answer
    answers: Mapping[str, str] = field(default_factory=dict)
    within: float = 0  # how far a number may be off


SAME = {"same": "class_same", "word": "class_one_word", "other": "class_other"}
OFFERS = {
    "open": Offer("open"),
    "least_sure": Offer("spanish"),
    "sure_of_word": Offer("number", ("word",), within=10),
    "looks_back": Offer("word", ("word",)),
    "looks_most": Offer("choice", ("word", "among")),
    "head_for": Offer("head", ("word", "target"), {"part": 0.75}),
    "aligning_head": Offer("head", fixed={"near": 0.2}),
    "without_head": Offer("choice", answers=SAME),
    "costs_more": Offer(
        "choice",
        ("word",),
        answers={"head": "class_head", "word": "class_word", "both": "class_both"},
    ),
    "moved": Offer(
        "choice",
        fixed={"how": "none"},
        answers={"same": "class_same", "order": "class_order", "other": "class_words"},
    ),
    "greedy": Offer("choice", answers=SAME),
    "stands_in": Offer("choice", ("options",)),
    "makes": Offer("sentence", ("word",)),
    "keeps_translation": Offer("sentence", fixed={"how": "none"}),
    "unsure_start": Offer("sentence", fixed={"below": 50}),
    "label_of": Offer(
        "choice",
        answers={
            "positive": "class_positive",
            "positive_unsure": "class_positive_unsure",
            "negative_unsure": "class_negative_unsure",
            "negative": "class_negative",
        },
    ),
    "review_with": Offer("sentence", ("word",), {"label": "negative"}),
}


def where(value: str) -> tuple[Lesson, int] | None:
    """The lesson and the step, from 1, that a control names: "it.3", or "it" for its
    first; after the last step comes the summary. A lecture is a lesson too, with its
    slides as steps: "kak.3". None where there is none such. Raises UserError for a
    lesson of a class that cannot be used, and a slide that a lecture lacks."""
    name, _, number = value.partition(".")
    number = number or "1"
    lesson = (
        read(name.removeprefix(MARK))
        if name.startswith(MARK)
        else files.with_steps().get(name)
    )
    if lesson is None:
        return None
    if re.fullmatch("[0-9]{1,3}", number) and 1 <= int(number) <= (
        len(lesson.steps) + 1
    ):
        return lesson, int(number)
    if name not in files.lectures():
        return None
    raise UserError(
        Message.of("error_slide", value=value[:40], name=name, count=len(lesson.steps))
    )


def read(data: str) -> Lesson:
    """Read the lesson of a class. Raises UserError, a sentence that names the limit or
    the step."""
    stored = _unpacked(data)
    title, code, steps = (stored.get(key) for key in ("title", "language", "steps"))
    if (
        not isinstance(code, str)
        or code not in LANGUAGES
        or not isinstance(steps, list)
        or not steps
    ):
        raise UserError(Message.of("error_class_data"))
    if not isinstance(title, str) or not title.strip() or len(title) > LONGEST_TITLE:
        raise UserError(Message.of("error_class_title", limit=LONGEST_TITLE))
    if len(steps) > MOST_STEPS:
        raise UserError(
            Message.of("error_class_steps", count=len(steps), limit=MOST_STEPS)
        )
    return Lesson(
        MARK + data,
        {code: title},
        0,
        tuple(_step(one, i, code) for i, one in enumerate(steps, 1)),
    )


def _unpacked(data: str) -> dict[str, Any]:
    if len(data) > LONGEST:
        raise UserError(
            Message.of("error_class_long", characters=len(data), limit=LONGEST)
        )
    text = b""

    def refusal(_: Exception) -> Message:
        return (
            Message.of("error_class_large", limit=MOST_BYTES)
            if len(text) > MOST_BYTES
            else Message.of("error_class_data")
        )

    with refusing(
        (ValueError, TypeError, RecursionError, zlib.error),
        refusal,
    ):
        if not re.fullmatch("[A-Za-z0-9_-]+", data):
            raise ValueError("no base64url")
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(
            urlsafe_b64decode(data + "=" * (-len(data) % 4)), MOST_BYTES + 1
        )
        if len(text) > MOST_BYTES or not unpacker.eof:
            raise ValueError("too much, or not all")
        stored = dict(json.loads(text))
        # half a character cannot be sent on
        json.dumps(stored, ensure_ascii=False).encode()
        return stored


def _step(stored: Any, number: int, code: str) -> Step:
    """A step as files have it, with the teacher's texts in the one language that they
    have."""
    with refusing(
        (ValueError, TypeError, AttributeError, LookupError),
        Message.of("error_class_step", step=number),
    ):
        text = stored["text"]
        question = stored.get("question") or {}
        address = stored.get("address", {})
        asked = question.get("ask", "")
        hints = question.get("hints", [])
        if not isinstance(hints, list):
            raise ValueError("hints are a list")
        if len(hints) > HINTS:
            raise UserError(
                Message.of(
                    "error_class_hints", step=number, count=len(hints), limit=HINTS
                )
            )
        for one in (text, asked or text, *hints):
            if (
                not isinstance(one, str)
                or not one.strip()
                or len(one) > LONGEST_TEXT
                or len(one.split()) >= MOST_WORDS
            ):
                raise UserError(
                    Message.of(
                        "error_class_text",
                        step=number,
                        words=MOST_WORDS,
                        characters=LONGEST_TEXT,
                    )
                )
        if {*stored} - {"text", "address", "question"} or not all(
            isinstance(value, str) and len(value) <= LONGEST_VALUE
            for value in address.values()
        ):
            raise ValueError("what no step of a class has")
        whole = {
            "address": address,
            "text": _twice(text),
            **({"question": _question(question)} if question else {}),
        }
        step = files.step(whole, f"step {number}", hints=0)
    if step.question:
        ask = {code: asked} if asked else step.question.ask
        step = replace(
            step,
            question=replace(
                step.question, ask=ask, hints=tuple({code: one} for one in hints)
            ),
        )
    return replace(step, text={code: text})


def _question(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A question as files have it. Raises ValueError, TypeError or LookupError where it
    is none of OFFERS."""
    given = {
        key: value
        for key, value in stored.items()
        if key not in ("check", "ask", "hints")
    }
    name = stored["check"]
    ask = stored.get("ask")
    offer = OFFERS[name]
    if {*given} != {*offer.fields} or not all(
        _fits(key, value) for key, value in given.items()
    ):
        raise ValueError(f"{name} takes {offer.fields}")
    words = given.get("among") or given.pop("options", [])
    options = [{"answer": word, **_twice(word)} for word in words] or [
        {"answer": answer, **_both(key, sure=f"{100 * SURE:.0f} %")}
        for answer, key in offer.answers.items()
    ]
    check = {"name": name, **offer.fixed, **given}
    asked = (
        _twice(ask)
        if ask
        else _both(f"class_ask_{name}", **{**check, "among": " · ".join(words)})
    )
    return {
        "kind": offer.kind,
        "options": options,
        "within": offer.within,
        "check": check,
        "ask": asked,
    }


def _fits(key: str, value: Any) -> bool:
    """Whether a field holds what it may."""
    if key in ("among", "options"):
        return (
            isinstance(value, list)
            and 2 <= len(value) <= MOST_OPTIONS
            and all(_fits("word", word) for word in value)
            and len({*value}) == len(value)
        )
    return (
        isinstance(value, str)
        and len(value) <= LONGEST_WORD
        and len(value.split()) == 1
    )


def _twice(text: str) -> dict[str, str]:
    return dict.fromkeys(LANGUAGES, text)


def _both(key: str, **values: Any) -> dict[str, str]:
    return {code: one.say(key, **values) for code, one in LANGUAGES.items()}
