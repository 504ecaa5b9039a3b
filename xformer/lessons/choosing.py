"""Which sentences lessons are asked of: those of assets/lesson_sentences.json whose
answers are farthest from their bounds for the weights at hand."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from xformer.figures.word_link import choices
from xformer.lessons import files
from xformer.lessons.checks import PLACES, RIVALS, stands
from xformer.lessons.files import Lesson, Question, Sentence
from xformer.lessons.scene import CHECKS, Scene
from xformer.results import STACKS, Head, UserError

# what a hint quotes as something to type
QUOTED = re.compile(r"[“«]([^”»]+[.!?])[”»]")
# what stands on the page at a step that names no sentence
ANY = "The cat sleeps."


@dataclass(frozen=True)
class Margins:
    """How clear the answers about one sentence are."""

    of: str  # lesson and list, "it.short"
    sentence: Sentence
    # by the number of the step, from 1: 1 is clear, 0 is no answer, infinite where
    # nothing is near
    margins: Mapping[int, float]

    @property
    def least(self) -> float:
        """The margin of the question that is the least clear."""
        return min(self.margins.values())


def measured(scene: Scene, chosen: Iterable[str]) -> Iterator[Margins]:
    """Measure every sentence of some lists. scene: what there is to ask; its
    translation, pass, heads and answers do not matter."""
    for of in chosen:
        lesson, name = of.split(".")
        for sentence in files.sentences()[of]:
            read = files.read(files.FOLDER / f"{lesson}.json", {name: sentence})
            yield Margins(
                of,
                sentence,
                {
                    number: margin(read, number, scene, sentence)
                    for number in files.lists(lesson)[name]
                },
            )


def write(best: Mapping[str, Sentence], path: Path) -> None:
    """Write all lists, each with its best sentence first. best: by lesson and list."""
    lines = []
    for of, found in files.sentences().items():
        first = best.get(of, found[0])
        ordered = [first, *(one for one in found if one != first)]
        texts = [json.dumps(one, ensure_ascii=False) for one in ordered]
        lines.append(f"{json.dumps(of)}: [\n  " + ",\n  ".join(texts) + "]")
    path.write_text("{\n " + ",\n ".join(lines) + "}\n", encoding="utf-8")


def margin(
    lesson: Lesson, number: int, scene: Scene, sentence: Sentence | None = None
) -> float:
    """How clear the answer to the question of a step is; 0 where none can be given. Of
    a sentence also where the answer is not the one that the lesson `wants`, by the
    number of the step, as a later step builds on it; or the translation lacks what it
    `says`."""
    wanted = dict((sentence or {}).get("wants", {})).get(str(number))
    question = lesson.steps[number - 1].question
    if question is None:
        raise ValueError(f"step {number} of {lesson.name} asks nothing")
    try:
        there = standing(lesson, number, scene)
        if question.kind == "sentence" and not quoted(question):
            return math.inf
        if not stands((sentence or {}).get("says", ""), there.translated.best):
            return 0.0
        found = (
            (one.answer, CHECKS[question.check](one, **question.given))
            for one in tried(question, there)
        )
        if question.kind == "number":
            return next(found)[1].margin
        if question.kind in ("sentence", "head"):
            return max([0.0, *(one.margin for _, one in found)])
        answer, right = next((one for one in found if one[1].right), ("", None))
        return right.margin if right and wanted in (None, answer) else 0.0
    except UserError:  # of a sentence, or a translation, that lacks a word
        return 0.0


def standing(lesson: Lesson, number: int, scene: Scene) -> Scene:
    """What stands on the page at a step, from 1, before the reader has changed
    anything. Raises UserError where its place cannot be computed."""
    steps = lesson.steps[:number]
    address: dict[str, Any] = dict(steps[-1].address)
    texts = [one.address["text"] for one in steps if "text" in one.address]
    text = texts[-1] if texts else ANY
    translation, trace = scene.service.translate_and_trace(text, RIVALS)
    if "spanish" in address:
        trace = scene.service.explain(text, address["spanish"])
    there = replace(
        scene,
        translation=translation,
        trace=trace,
        review=address.get("review", ""),
    )
    if steps[-1].place:
        name, given = steps[-1].place
        address |= PLACES[name](there, **given)
    question = steps[-1].question
    return replace(
        there,
        head=_head(address, "", Head("cross", 1, 1)),
        first=_head(address, "first_", scene.service.best_head),
        query=int(address.get("query", 2)),
        offered=tuple(dict(question.options)) if question else (),
        within=question.within if question else 0,
    )


def _head(address: Mapping[str, Any], prefix: str, default: Head) -> Head:
    """The head that an address names, by keys with a prefix; the default for what it
    lacks."""
    stack, layer, head = (
        address.get(f"{prefix}{key}", getattr(default, key)) for key in Head._fields
    )
    return Head(stack, int(layer), int(head))


def tried(question: Question, there: Scene) -> list[Scene]:
    """Every scene that an answer to a question can make; of a sentence, those that its
    hints quote."""
    if question.kind == "head":
        info = there.service.info
        return [
            replace(there, head=Head(stack, layer + 1, head + 1))
            for stack in STACKS
            for layer, head in product(range(info.layers(stack)), range(info.n_heads))
        ]
    if question.kind == "number":
        count = round((question.most - question.least) / question.by)
        texts = [f"{question.least + i * question.by:g}" for i in range(count + 1)]
    elif question.kind in ("word", "spanish"):
        side = "EN" if question.kind == "word" else "ES"
        words = [label.split(" · ") for label, _ in choices(there.passed)]
        texts = [*dict.fromkeys(word for of, word in words if of.startswith(side))]
    elif question.kind == "choice":
        texts = [answer for answer, _ in question.options]
    else:
        texts = quoted(question)
    return [replace(there, answer=text) for text in texts]


def quoted(question: Question) -> list[str]:
    """The sentences that the hints of a question quote, in all languages."""
    said = [text for hint in question.hints for text in hint.values()]
    return [one for text in said for one in QUOTED.findall(text)]


def shown(margin: float) -> str:
    """A margin as a table has it."""
    return "any" if math.isinf(margin) else f"{min(margin, 99.0):.1f}"
