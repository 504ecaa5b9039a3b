"""What a check sees: the page when a question is answered, and the answer; and the
kinds of check there are."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from xformer.figures.locked_word import LETTERS, locked
from xformer.figures.word_link import choices, text_of
from xformer.results import Head, Message, Trace, Translation, UserError, decimal
from xformer.serve.protocol import (
    ModelPool,
    ReviewService,
    StudyService,
    TranslationService,
)
from xformer.strings import ENGLISH, Language

LONGEST = 400  # characters of a typed answer
T = TypeVar("T")
# a side, "source" or "target", and a position, as in `figures.locked_word.Lock`
Word = tuple[str, int]


def there(one: T | None, key: str = "error_answer_data") -> T:
    """What is there; raises UserError, of the text that is named, where it is None."""
    if one is None:
        raise UserError(Message.of(key))
    return one


@dataclass(frozen=True, eq=False)
class Scene:
    """The page when a question is answered."""

    service: TranslationService
    models: ModelPool
    study: StudyService
    reviews: ReviewService | None = None  # None: there is no classifier
    translation: Translation | None = None  # None: the page has none yet
    trace: Trace | None = None  # of the pair that the page looks into
    head: Head = Head("cross", 1, 1)  # of the Attention tab
    first: Head = Head("cross", 1, 1)  # of First principles
    query: int | None = 2  # of First principles, from 1; None: not chosen yet
    lock: str = ""
    review: str = ""
    language: Language = ENGLISH
    answer: str = ""
    within: float = 0  # how far a number may be off

    @property
    def translated(self) -> Translation:
        """The translation on the page; raises UserError where it has none."""
        return there(self.translation, "no_trace")

    @property
    def passed(self) -> Trace:
        """The pass that the page looks into; raises UserError where it has none."""
        return there(self.trace, "no_trace")

    @property
    def number(self) -> float:
        """The answer as a number; raises UserError for anything else."""
        try:
            value = float(self.answer[:20])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise UserError(
                Message.of(
                    "error_answer_number", answer=self.answer[:40], example="2.5"
                )
            )
        return value

    @property
    def typed(self) -> str:
        """The answer as a sentence; raises UserError where it is empty or too long."""
        if not self.answer.strip() or len(self.answer) > LONGEST:
            raise UserError(Message.of("error_answer_sentence", limit=LONGEST))
        return self.answer

    def every(self, side: str) -> list[Word]:
        """Every word of a sentence of the pass."""
        return [
            (side, int(name[2:]))
            for _, name in choices(self.passed)
            if name.startswith(LETTERS[side])
        ]

    def position(self, side: str, word: str) -> Word:
        """The first place of a word in a sentence of the pass; raises UserError where
        it is not there."""
        for one in self.every(side):
            if text_of(self.passed, one).lower() == word.lower():
                return one
        raise UserError(Message.of("error_answer_word", word=word[:40]))

    @property
    def chosen(self) -> list[str]:
        """The answer; where none was given, the locked words. Raises UserError where
        there is neither."""
        lock = locked(self.lock)
        found = (
            [self.answer]
            if self.answer
            else [text_of(self.passed, one) for one in (lock.seen, lock.asks) if one]
        )
        if not found:
            raise UserError(Message.of("error_answer_none"))
        return [one.lower() for one in found]


@dataclass(frozen=True)
class Found:
    """What was found, and whether it is what the reader expected."""

    right: bool
    message: Message
    expected: str = ""  # the reader's own answer, with its value where it has one


Check = Callable[..., Found]
CHECKS: dict[str, Check] = {}


def _share(value: float) -> str:
    return f"{value:.2f}" if value >= 0.005 or not value else "< 0.01"


def _kind(judge: Callable[..., Found]) -> Callable[..., Any]:
    """Make a decorator that declares a check by what it measures. judge: says what was
    found, by the scene, the key of the text about it, and what was measured. A file's
    parameters are those of the measure."""

    @wraps(judge)
    def declare(measure: Callable[..., tuple[Any, ...]], **more: Any) -> Any:
        @wraps(measure)
        def check(scene: Scene, **given: Any) -> Found:
            return judge(
                scene,
                f"lesson_said_{measure.__name__}",
                *measure(scene, **given),
                **more,
            )

        CHECKS[measure.__name__] = check
        return measure

    return declare


@_kind
def choice(scene: Scene, key: str, true: str, values: Mapping[str, Any]) -> Found:
    """By what tells which option is true, and the values of the text that says so."""
    return Found(scene.answer == true, Message.of(f"{key}_{true}", **values))


@_kind
def number(scene: Scene, key: str, value: float, values: Mapping[str, Any]) -> Found:
    """By what computes the number."""
    near = abs(scene.number - value) <= scene.within + 1e-9
    return Found(
        near, Message.of(key, value=decimal(value), **values), decimal(scene.number, 6)
    )


@_kind
def stays(scene: Scene, _: str, before: str, after: str) -> Found:
    """By two translations: they are the "same", or the second is an "other" one."""
    true = "same" if before == after else "other"
    return Found(
        scene.answer == true,
        Message.of(f"lesson_said_{true}", before=before, after=after),
    )


@_kind
def most(
    scene: Scene,
    key: str,
    table: Mapping[str, float],
    values: Mapping[str, Any],
    written: Callable[[float], str] = _share,
) -> Found:
    """By a table of words or names: the answer is that with the largest value. written:
    how one reads."""
    best = max(table, key=lambda one: table[one])
    answer = next((one for one in table if one.lower() in scene.chosen), scene.answer)
    own = f"{answer} ({written(table[answer])})" if answer in table else answer
    return Found(
        answer == best,
        Message.of(key, best=best, value=written(table[best]), **values),
        own,
    )


@_kind
def judged(
    _: Scene, key: str, right: bool, own: str, values: Mapping[str, Any]
) -> Found:
    """By what judges the answer itself: whether it is right, what it was worth, and
    values."""
    return Found(right, Message.of(key, **values), own)
