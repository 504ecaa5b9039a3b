"""What was written for training: every sentence that the page offers has been looked
for, and what was found is said beside it."""

import json
import re
from html import unescape

import pytest

from research.taught import offered
from xformer.figures.taught import LARGE, PATH, Taught, marked, marks, taught
from xformer.figures.templates import fill
from xformer.lessons.files import lessons
from xformer.parts.learned.ask import Index, shipped
from xformer.parts.lecture import draw as lecture
from xformer.parts.sentences.part import PRESETS
from xformer.strings import ENGLISH, SPANISH
from xformer.training.data.corpora import key
from xformer.ui.tabs import ALL_EXAMPLES

OPENING = ALL_EXAMPLES["translation"][0]
FOUND = Taught(
    "en", "A <b>.", "written", "The <i>.", "El <i>.", 0.5, 0.5, 3, ("reelected",), True
)


def test_each_sentence_that_the_page_offers_has_been_looked_for():
    """After a new example: python -m research taught."""
    assert [*taught()] == [
        (reads, text)
        for side in LARGE.values()
        for reads, text in offered()
        if reads == side
    ]


def test_the_bound_of_a_sentence_is_that_of_texts_of_as_many_words():
    kept = json.loads(PATH.read_text(encoding="utf-8"))["bounds"]
    for one in taught().values():
        words = len(re.findall(r"[^\W_]+(?:['’][^\W_]+)*", one.text))
        assert one.bound == next(
            row["bound"]
            for row in kept
            if (row["reads"], row["origin"]) == (one.reads, one.origin)
            and words <= row["words"]
        )
        assert bool(one.near) == one.is_near


@pytest.mark.parametrize("model", LARGE)
def test_what_the_page_offers_was_written_for_by_nobody_but_for_the_opening(model):
    """And for the pair that is made of it; lessons count as examples."""
    examples = ALL_EXAMPLES["translation" if model == "en-es" else "translation_es"]
    pairs = [
        text
        for one in PRESETS
        if one.get("reads", "en") == LARGE[model]
        and one["name"]["en"] != "The lecture’s car"
        for text in one["texts"]
    ]
    meanings = ALL_EXAMPLES[f"meanings_{LARGE[model]}"]
    asked = [
        step.address.get("text", "") for one in lessons().values() for step in one.steps
    ]
    found = [
        one.text
        for one in marked([*examples, *pairs, *meanings, *asked], model)
        if one.aimed_at
    ]
    assert found == ([OPENING] if model == "en-es" else [])


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_a_mark_says_what_was_written_and_how_near_it_is(language):
    html = fill("taught.marks", language, found=[FOUND], named=True)
    assert f"<b>{language.html('taught')}</b>" in html and "<details" in html
    assert "<i>" not in html and "<b>." not in html
    said = unescape(re.sub("<.*?>", "", html))
    assert {"A <b>.", "The <i>.", "El <i>."} <= {
        unescape(one) for one in re.findall("<q[^>]*>(.*?)</q>", html)
    }
    near = language.say("taught_near", nearness="0.50", bound="0.50", near=3)
    for text in (
        near,
        language.say("taught_words", words="reelected"),
        language.say("taught_same"),
    ):
        assert text in said


def test_only_what_a_model_learned_from_is_said_of_it():
    assert "old motorbike" in marks([OPENING], "en-es")
    for texts, model in (
        ([OPENING], "es-en"),
        ([OPENING], "pre-norm"),
        ([OPENING], "mine"),
        (["We typed this."], "en-es"),
        ([], "en-es"),
    ):
        assert marks(texts, model) == ""
    seen = marks(["The dog bit the man."], "en-es", named=False)
    assert "seen in training" in seen and "word for word" in seen and "<q" not in seen


@pytest.mark.full
def test_the_lectures_sentences_that_have_a_twin_are_those_that_say_so():
    """Each is looked up by its letters among all pairs, and by its words among every
    tenth of them, with which stand all that are of learning: there the twin is."""
    lines = shipped().decode().splitlines(keepends=True)
    english = set()
    spanish = {}
    for line in lines:
        source, target, _ = line.split("\t")
        english.add(key(source))
        spanish.setdefault(key(target), []).append(source)
    twins = {one.english: one.twin for one in lecture.read() if one.twin}
    assert {one.english for one in lecture.read() if key(one.reference) in spanish} == {
        *twins
    }
    assert all(
        twin in spanish[key(one.reference)]
        for one in lecture.read()
        if (twin := one.twin)
    )
    assert english.isdisjoint(key(one.english) for one in lecture.read())
    made = Index(
        "".join(
            line for i, line in enumerate(lines) if i % 10 == 0 or "learn" in line
        ).encode(),
        0,
    )
    assert len(made.ends) < len(lines) / 8
    assert not [
        one.english for one in lecture.read() if made.nearest(one.english, 1).same
    ]
    assert (
        made.nearest("when did you learn to swim", 1).near[0].source
        == twins["when did you learn to swim"]
    )
