"""The questions of a sentence, each a button that opens where the page answers it, with
its answer beside it. HTML."""

from collections.abc import Mapping, Sequence

from xformer.figures.labels import percent, place, shortened
from xformer.figures.templates import fill
from xformer.parts.questions.find import Question
from xformer.results import Head
from xformer.strings import ENGLISH, Language

LESSON = "probabilities.1"  # to begin with
LONGEST = 22  # letters of a word
NAMES_A_NOUN = ("refer", "refer_alone", "refer_common")


def questions(
    each: Sequence[Question],
    language: Language = ENGLISH,
    taught: Sequence[Head] = (),
    measured: Mapping[str, int] | None = None,
) -> str:
    """List questions with their answers. taught: heads that were taught in training
    where to look; it is said where one of them is an answer. measured: how many
    pronouns an answer "said" a noun of, and of how many the "right" one; said where a
    noun is."""
    is_said = any(one.said in NAMES_A_NOUN for one in each)
    heads = {one.values.get("head") for one in each if one.asks == "refer"}
    return fill(
        "questions.questions",
        language,
        each=[(asks(one, language), said(one, language), one.address) for one in each],
        taught=[place(head, language) for head in taught if head in heads],
        measured=measured if is_said else None,
    )


def invitation(language: Language = ENGLISH) -> str:
    """Invite to the first lesson."""
    return fill("questions.invitation", language, lesson=LESSON)


def asks(one: Question, language: Language = ENGLISH) -> str:
    """Write a question."""
    return language.say(f"ask_{one.asks}", **_written(one, language))


def said(one: Question, language: Language = ENGLISH) -> str:
    """Write its answer."""
    return language.say(f"said_{one.said}", **_written(one, language))


def _written(one: Question, language: Language) -> dict[str, object]:
    """Its values as people read them: shares with two digits, probabilities in percent,
    long words shortened."""
    return {name: _as_read(name, one, language) for name in one.values}


def _as_read(name: str, one: Question, language: Language) -> object:
    value = one.values[name]
    if isinstance(value, float):
        return percent(value) if "p" in one.values else f"{value:.2f}"
    if isinstance(value, Head):
        return place(value, language)
    if isinstance(value, list):
        return shortened(" · ".join(value), 2 * LONGEST)
    return shortened(value, LONGEST) if isinstance(value, str) else value
