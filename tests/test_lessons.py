"""Lessons: every file reads, every question has a right and a wrong answer on the models that ship, and replies say why.
"""

import json
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.pages import laid_out
from xformer.figures.word_link import choices
from xformer.lessons import files, panel
from xformer.lessons.checks import PLACES
from xformer.lessons.scene import CHECKS, Scene
from xformer.results import GENERATIONS, STACKS, Head, UserError
from xformer.serve.pool import Models
from xformer.serve.reviews import SentimentService
from xformer.serve.study import Study
from xformer.serve.translation import Service
from xformer.strings import ENGLISH, SPANISH
from xformer.ui import lessons as ui

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = ROOT / "checkpoints"
LESSONS = files.lessons()
# Sentences that a reader might type: among them each question finds a right one and a wrong one.
SENTENCES = ["She is bored.", "The cat sleeps.", "Thanks.", "You should go.", "Tom saw a film and he liked it.",
             "My friend bought a red car.", "Not bad at all, go and see it.", "It is not good.", "I loved it.",
             "A wonderful film, not boring for a minute.", "Hello.", "Good night."]
QUESTIONS = [pytest.param(lesson, number, id=f"{lesson.name}.{number}") for lesson in LESSONS.values()
             for number, step in enumerate(lesson.steps, 1) if step.question]


class Pool:
    """The shipped models by name, opened when they are asked for."""

    def __init__(self, default):
        self.opened, self.default, self.names = {"en-es": default}, default, ["en-es", *GENERATIONS]

    def lease(self, name=""):
        if name not in self.opened:
            self.opened[name] = Service.open(CHECKPOINTS / name, "cpu")
        return nullcontext(self.opened[name])


@pytest.fixture(scope="module")
def scene():
    """What a question may ask of: the shipped models and the recorded runs."""
    service = Service.open(CHECKPOINTS / "en-es", "cpu")
    pool = Pool(service)
    yield Scene(service, pool, Study(), SentimentService.open(CHECKPOINTS / "sentiment", "cpu"))
    for one in pool.opened.values():
        one.close()


@pytest.fixture(scope="module")
def standing(scene):
    """`standing(lesson, number)`: what stands on the page at a step, where the reader has typed nothing of their own."""
    passes = {}

    def stand(lesson, number):
        steps = lesson.steps[:number]
        address = {key: value for key, value in steps[-1].address.items()}
        text = next((one.address["text"] for one in reversed(steps) if "text" in one.address), "The cat sleeps.")
        if (text, address.get("spanish")) not in passes:
            translation, trace = scene.service.translate_and_trace(text)
            if "spanish" in address:
                trace = scene.service.explain(text, address["spanish"])
            passes[text, address.get("spanish")] = translation, trace
        translation, trace = passes[text, address.get("spanish")]
        there = replace(scene, translation=translation, trace=trace, review=address.get("review", ""))
        if steps[-1].place:
            name, given = steps[-1].place
            address |= PLACES[name](there, **given)
        head = (address.get("stack", "cross"), int(address.get("layer", 1)), int(address.get("head", 1)))
        first = tuple(address.get(f"first_{key}", value) for key, value in zip(Head._fields, scene.service.best_head,
                                                                             strict=True))
        return replace(there, head=Head(*head), first=Head(first[0], int(first[1]), int(first[2])),
                       query=int(address.get("query", 2)), within=steps[-1].question.within)
    return stand


def answers(question, there):
    """Every scene that an answer can make, or for a sentence some."""
    if question.kind == "head":
        info = there.service.info
        return [replace(there, head=Head(stack, layer + 1, head + 1)) for stack in STACKS
                for layer in range(info.layers(stack)) for head in range(info.n_heads)]
    if question.kind == "number":
        count = round((question.most - question.least) / question.by)
        texts = [f"{question.least + i * question.by:g}" for i in range(count + 1)]
    elif question.kind in ("word", "spanish"):
        side = "EN" if question.kind == "word" else "ES"
        texts = {label.split(" · ")[1] for label, _ in choices(there.trace) if label.startswith(side)}
    else:
        texts = dict(question.options) or SENTENCES
    return [replace(there, answer=text) for text in texts]


@pytest.mark.parametrize(("lesson", "number"), QUESTIONS)
def test_every_question_has_a_right_and_a_wrong_answer_on_the_models_that_ship(lesson, number, standing):
    """Which is found by trying all: weights that make a question unanswerable fail here."""
    question = lesson.steps[number - 1].question
    found = [CHECKS[question.check](one, **question.given) for one in answers(question, standing(lesson, number))]
    assert {one.right for one in found} == {True, False}
    for one in found:
        for language in (ENGLISH, SPANISH):
            said = panel.reply(one, language)
            assert said and "{" not in said
    right = [one for one in found if one.right]
    assert question.kind in ("sentence", "head", "number") or len(right) == 1, "one answer of a choice is right"
