"""What a check sees: the page when a question is answered, and the answer; and the
kinds of check there are."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import product
from typing import Any, TypeVar

from xformer.figures.locked_word import LETTERS, locked
from xformer.figures.word_link import choices, text_of
from xformer.results import (
    Candidate,
    Head,
    Message,
    Stream,
    Trace,
    Translation,
    UserError,
    Walk,
    decimal,
)
from xformer.results.questions import Follow, Question, WalkHead
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
    offered: tuple[str, ...] = ()  # the answers of a choice
    within: float = 0  # how far a number may be off

    @property
    def translated(self) -> Translation:
        """The translation on the page; raises UserError where it has none."""
        return there(self.translation, "no_trace")

    @property
    def passed(self) -> Trace:
        """The pass that the page looks into; raises UserError where it has none."""
        return there(self.trace, "no_trace")

    def walk(self, head: Head) -> Walk:
        """Every number of a head in the pass."""
        return self._ask(WalkHead, head)

    @property
    def stream(self) -> Stream:
        """The states of the encoder in the pass, sub-layer by sub-layer."""
        return self._ask(Follow, "encoder")

    def _ask(self, kind: Callable[..., Question[T]], about: Any) -> T:
        return self.service.ask(kind(self.passed.text, self.passed.tokens, about))

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
    # how far the model is from where another answer would be right; of what is judged,
    # how far the reader is from being wrong. 1 is clear; infinite where nothing is near
    margin: float = math.inf


Check = Callable[..., Found]
CHECKS: dict[str, Check] = {}
# What counts as clear, by what is measured. A weight or a probability, 0 to 1
SHARE = 0.1
# the log-probability of a translation, in nats, and per piece, as the beam ranks it
NATS = 0.5
SCORE = 0.05


def between(
    value: float, least: Mapping[str, float], clear: float
) -> tuple[str, float]:
    """The name under which a value falls, by the least value of each in rising order,
    and how far it is from the nearest bound, in units of what is clear."""
    name = [one for one, bound in least.items() if bound <= value][-1]
    bounds = [bound for bound in least.values() if math.isfinite(bound)]
    return name, min(abs(value - bound) for bound in bounds) / clear


def apart(
    before: Sequence[Candidate],
    after: Sequence[Candidate],
    of: Callable[[Candidate, Candidate], Any],
) -> float:
    """How much worse, by the beam's own scores, two translations are of which `of` says
    something else than of the best two: in units of SCORE. Where none is found, how
    much worse the last are; infinite where there are no others."""
    lost = [
        (
            of(one, two) == of(before[0], after[0]),
            before[0].score + after[0].score - one.score - two.score,
        )
        for one, two in product(before, after)
    ]
    others = [worse for is_same, worse in lost if not is_same]
    if len(lost) == 1:
        return math.inf
    return (min(others) if others else max(worse for _, worse in lost)) / SCORE


def words_changed(before: Candidate, after: Candidate) -> tuple[str, ...]:
    """What becomes of the words of a translation, the most exact first: "same",
    "order" (they stand otherwise), "word" (one at most is another), "other"."""
    if before.text == after.text:
        return ("same",)
    first, second = (re.findall(r"\w+", one.text.lower()) for one in (before, after))
    if first != second and sorted(first) == sorted(second):
        return "order", "other"
    while first and second and first[0] == second[0]:
        first, second = first[1:], second[1:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    return ("word", "other") if max(len(first), len(second)) <= 1 else ("other",)


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
def choice(
    scene: Scene,
    key: str,
    true: str,
    values: Mapping[str, Any],
    margin: float = math.inf,
) -> Found:
    """By what tells which option is true, the values of the text that says so, and how
    clear it is."""
    message = Message.of(f"{key}_{true}", **values)
    return Found(scene.answer == true, message, margin=margin)


@_kind
def number(scene: Scene, key: str, value: float, values: Mapping[str, Any]) -> Found:
    """By what computes the number. Nothing is near: any number may be the right one."""
    near = abs(scene.number - value) <= scene.within + 1e-9
    return Found(
        near, Message.of(key, value=decimal(value), **values), decimal(scene.number, 6)
    )


@_kind
def stays(
    scene: Scene,
    _: str,
    before: Sequence[Candidate],
    after: Sequence[Candidate],
    change: Callable[[Candidate, Candidate], tuple[str, ...]] = words_changed,
) -> Found:
    """By the hypotheses of two searches, the best first. change: says what becomes of a
    translation, the most exact first; the first that is offered is true."""

    def said(one: Candidate, two: Candidate) -> str:
        names = change(one, two)
        return next((name for name in names if name in scene.offered), names[-1])

    true = said(before[0], after[0])
    texts = {"before": before[0].text, "after": after[0].text}
    return Found(
        scene.answer == true,
        Message.of(f"lesson_said_{'same' if true == 'same' else 'other'}", **texts),
        margin=apart(before, after, said),
    )


@_kind
def most(
    scene: Scene,
    key: str,
    table: Mapping[str, float],
    values: Mapping[str, Any],
    written: Callable[[float], str] = _share,
) -> Found:
    """By a table of words or names, with shares or probabilities: the answer is that
    with the largest value. written: how one reads."""
    best = max(table, key=lambda one: table[one])
    second = max((table[one] for one in table if one != best), default=-math.inf)
    answer = next((one for one in table if one.lower() in scene.chosen), scene.answer)
    own = f"{answer} ({written(table[answer])})" if answer in table else answer
    return Found(
        answer == best,
        Message.of(key, best=best, value=written(table[best]), **values),
        own,
        (table[best] - second) / SHARE,
    )


@_kind
def judged(
    _: Scene, key: str, margin: float, own: str, values: Mapping[str, Any]
) -> Found:
    """By what judges the answer itself: how far it is from being wrong, below 0 where
    it is; what it was worth, and values."""
    return Found(margin >= 0, Message.of(key, **values), own, margin)
