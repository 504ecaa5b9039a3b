"""Lessons of a class: what a link or a file may hold, and what a crafted one is
told."""

import base64
import html
import json
import math
import random
import time
import zlib
from contextlib import closing

import pytest

from tests.pages import answered, gone, laid_out
from xformer.lessons import files, links, panel
from xformer.pieces import words
from xformer.results import UserError
from xformer.serve.translation import Service
from xformer.strings import ENGLISH, SPANISH
from xformer.ui import lessons as ui

IMG = "<img src=x onerror=alert(1)>"
ADDRESS = {"tab": "translate", "text": "The chair is old."}
STEP = {
    "text": "Mira *esto*.",
    "address": ADDRESS,
    "question": {"check": "looks_back", "word": "silla"},
}
ASKED = STEP["question"]
LESSON = {"title": "La silla", "language": "es", "steps": [STEP]}
NOT_A_LESSON = "There is no lesson in this link or file"


def packed(lesson):
    """What a browser makes of a lesson."""
    content = lesson if isinstance(lesson, bytes) else json.dumps(lesson).encode()
    return base64.urlsafe_b64encode(zlib.compress(content)).decode().rstrip("=")


def lesson(**changed):
    return packed({**LESSON, **changed})


def with_step(**changed):
    return lesson(steps=[STEP, {**STEP, **changed}])


def refusal(data):
    """The one sentence that a lesson is refused with, in English; there is one in
    Spanish too."""
    with pytest.raises(UserError) as refused:
        links.read(data)
    said = [refused.value.say(language) for language in (ENGLISH, SPANISH)]
    assert said[0] != said[1] and all(
        "\n" not in one and one.endswith(".") for one in said
    )
    return said[0]


@pytest.fixture(scope="module")
def tiny(tiny_checkpoint, learned_pairs):
    """A page with a small model that knows eight sentences, and what it shows of the
    second."""
    with closing(Service.open(tiny_checkpoint, "cpu")) as service:
        translation, trace = service.translate_and_trace(learned_pairs[1][0])
        yield laid_out(service), service, {"translation": translation, "trace": trace}


def test_a_lesson_is_read_as_it_was_written_in_the_one_language_that_it_has():
    data = lesson(
        steps=[STEP, {**STEP, "question": {"check": "open", "ask": "¿Y tú?"}}]
    )
    first, second = links.read(data).steps
    name = f"~{data}"
    assert (
        links.where(name) == links.where(f"{name}.1")
        and links.where(f"{name}.2")[1] == 2
    )
    assert links.where(f"{name}.3")[1] == 3, "the summary"
    assert (
        links.where(f"{name}.4") is None and links.where(f"{name}.{'9' * 5000}") is None
    )
    assert first.address == ADDRESS and first.text == {"es": "Mira *esto*."}
    assert first.question.check == "looks_back" and first.question.given == {
        "word": "silla"
    }
    assert (
        first.question.ask["en"]
        == "Which English word does the Spanish “silla” look at most?"
    )
    assert second.question.ask == {"es": "¿Y tú?"} and second.question.kind == "open"
    assert first.question.hints == second.question.hints == (), (
        "lessons from before there were hints are read as ever"
    )


@pytest.mark.parametrize(
    "question", [STEP["question"], {"check": "open", "ask": "¿Y tú?"}]
)
def test_a_question_may_have_up_to_two_hints_which_are_shown_as_those_of_the_lessons_that_ship(
    question,
):
    for hints in (
        [],
        ["Tiene *cuatro* patas."],
        ["Tiene *cuatro* patas.", f"Mira. {IMG}"],
    ):
        read = links.read(with_step(question={**question, "hints": hints}))
        assert read.steps[1].question.hints == tuple({"es": one} for one in hints)
        shown = panel.step(read, 2, ENGLISH)
        assert [f"<summary>Hint {number}</summary>" in shown for number in (1, 2)] == [
            len(hints) > 0,
            len(hints) > 1,
        ]
        assert (
            '<p><span lang="es">Tiene <em>cuatro</em> patas.</span></p>' in shown
        ) == bool(hints)
        assert (
            IMG not in shown
            and "<p>Tiene <em>cuatro</em> patas.</p>" in panel.step(read, 2, SPANISH)
            or not hints
        )


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_the_texts_of_another_language_are_marked_as_such(language):
    shown = panel.step(links.read(lesson()), 1, language)
    marked = '<span lang="es">Mira <em>esto</em>.</span>'
    assert (marked in shown) == (language is ENGLISH) and "Mira <em>esto</em>." in shown
    assert language.html("class_ask_looks_back", word="silla") in shown


@pytest.mark.parametrize("name", links.OFFERS)
def test_every_offer_makes_a_question_that_files_could_hold_and_is_in_the_form(name):
    offer = links.OFFERS[name]
    fields = {
        key: ["red", "old"] if key in ("among", "options") else "car"
        for key in offer.fields
    }
    question = (
        links.read(with_step(question={"check": name, **fields})).steps[1].question
    )
    assert question.kind == offer.kind and question.check == (
        "" if name == "open" else name
    )
    for language in (ENGLISH, SPANISH):
        form = panel.for_a_class(language)
        assert (
            f'<option value="{name}" data-fields="{" ".join(offer.fields)}">' in form
            and "{{" not in form
        )
        assert all(f'name="{key}"' in form for key in fields)
        assert "{" not in files.said(question.ask, language)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "A",
        "AAAA",
        "é",
        "a b",
        "<b>",
        "../x",
        lesson()[:-3],
        packed([]),
        packed("a"),
        packed(None),
        packed(b"{"),
        packed(b"\xff"),
        packed(b'{"title": "\\ud800"}'),
        packed({}),
        lesson(steps=[]),
        lesson(steps={}),
        lesson(steps="abc"),
        lesson(language="fr"),
        lesson(language=["es"]),
    ],
)
def test_what_is_no_lesson_is_refused(data):
    assert refusal(data).startswith(NOT_A_LESSON)


def test_too_much_of_anything_is_refused_with_its_limit():
    noise = "".join(random.Random(0).choices("abcdefghij", k=18_000))
    assert "at most 6,000 are read" in refusal(lesson(title=noise))
    assert "more than 20,000 bytes" in refusal(lesson(title="a" * 20_000))
    assert "21 steps; at most 20" in refusal(lesson(steps=[STEP] * 21))
    assert "longer than 80 characters" in refusal(lesson(title="a" * 81))
    for text in ("a " * 80, "a" * 601, "", " ", None, 5, ["a"]):
        assert "text in step 2" in refusal(with_step(text=text))
    assert "text in step 2" in refusal(
        with_step(question={"check": "open", "ask": "a " * 80})
    )
    assert "Step 2 of the lesson has 3 hints; at most 2" in refusal(
        with_step(question={**ASKED, "hints": ["a"] * 3})
    )
    for hint in ("a " * 80, "a" * 601, "", " ", None, 5, ["a"]):
        assert "text in step 2" in refusal(
            with_step(question={**ASKED, "hints": ["a", hint]})
        )


def test_a_bomb_is_opened_as_far_as_the_limit_and_no_further():
    bomb = packed(b" " * 4_000_000)  # 4 MB in 5,300 characters
    assert len(bomb) < links.LONGEST
    began = time.process_time()
    assert "more than 20,000 bytes" in refusal(bomb)
    assert time.process_time() - began < 1
    for deep in (
        b"[" * 19_000,
        b'{"a":' * 3_000,
        b'{"title":' + b"[" * 9_000 + b"]" * 9_000 + b"}",
    ):
        assert refusal(packed(deep)).startswith(NOT_A_LESSON)


@pytest.mark.parametrize(
    "changed",
    [
        {"point": "body"},
        {"place": {"name": "link"}},
        {"onclick": "alert(1)"},
        {"address": []},
        {"address": {"tab": 5}},
        {"address": {"text": "a" * 2_001}},
        {"question": "looks_back"},
        {"question": [1]},
        {"question": {"ask": "¿?"}},
        *(
            {"question": {**STEP["question"], **more}}
            for more in (
                {"check": "os.system"},
                {"check": "sure_of"},
                {"check": ["looks_back"]},
                {"check": None},
                {"check": {}},
                {"word": ""},
                {"word": 5},
                {"word": ["silla"]},
                {"word": "dos palabras"},
                {"word": "a" * 41},
                {"more": 1},
                {"kind": "choice"},
                {"part": 0},
                {"hints": "ab"},
                {"hints": {"a": "b"}},
                {"hints": None},
            )
        ),
        {"question": {"check": "looks_back"}},
        {"question": {"check": "least_sure", "word": "a"}},
        *(
            {"question": {"check": "looks_most", "word": "it", "among": among}}
            for among in (
                [],
                ["a"],
                ["a", "a"],
                "ab",
                [["a"], ["b"]],
                ["a", 5],
                list("abcde"),
                {"a": 1, "b": 2},
                None,
            )
        ),
    ],
)
def test_a_step_that_no_page_makes_is_refused_by_its_number(changed):
    assert refusal(with_step(**changed)).startswith("Step 2 of the lesson")


@pytest.mark.parametrize("step", [None, 5, "a", [], {}, ["text"], {"address": {}}])
def test_what_is_no_step_is_refused(step):
    assert "tep 2 of the lesson" in refusal(lesson(steps=[STEP, step]))


# On the page


@pytest.mark.parametrize(
    "address", [{"nowhere": "1"}, {"__theme": "dark"}, {"lesson": "it.1"}, {IMG: "1"}]
)
def test_a_step_sets_only_what_the_page_has(tiny, address):
    page, service, _ = tiny
    values, problems = page.controls.read(
        service, {"lesson": f"~{with_step(address=address)}.1"}
    )
    assert values["lesson"] == "" and [one.say() for one in problems] == [
        ENGLISH.say("error_class_step", step=2)
    ]
    with pytest.raises(UserError, match="Step 2 of the lesson"):
        gone(page, service, f"~{with_step(address=address)}.1")


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_markup_of_a_stranger_stays_text_wherever_it_may_stand(tiny, language):
    page, service, _ = tiny
    word = "<img/onerror=alert(1)>"
    data = lesson(
        title=IMG,
        steps=[
            {
                "text": IMG,
                "address": {"tab": IMG, "text": IMG},
                "question": {"check": "open", "ask": IMG},
            },
            {**STEP, "question": {"check": "looks_back", "word": word}},
            {
                **STEP,
                "question": {
                    "check": "looks_most",
                    "word": word,
                    "among": [word, "b"],
                    "ask": IMG,
                },
            },
        ],
    )
    for number in (1, 2, 3, 4):
        at = f"~{data}.{number}"
        shown = ui.value(
            page.controls.read(service, {"lesson": at})[0]["lesson"], language
        )
        assert (
            shown["at"] == at
            and html.escape(IMG) in shown["html"]
            and "<img" not in shown["html"]
        )
        moved = gone(page, service, at, language)["panel"]
        assert "<img" not in moved.get("html", "")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("~", NOT_A_LESSON),
        ("~broken.1", NOT_A_LESSON),
        (f"~{lesson()[:-3]}.1", NOT_A_LESSON),
        (f"~{packed(b'no lesson at all')}.1", NOT_A_LESSON),
        (f"~{'A' * 7_000}.1", "at most 6,000 are read"),
        (f"~{with_step(point='x')}.2", "Step 2 of the lesson"),
        (f"~{lesson(steps=[{**STEP, 'address': {IMG: ''}}])}", "Step 1 of the lesson"),
    ],
)
def test_a_bad_link_is_told_in_one_sentence_and_the_rest_of_the_address_is_kept(
    tiny, broken, said
):
    page, service, _ = tiny
    values, problems = page.controls.read(
        service, {"lesson": broken, "tab": "attention", "text": "The cat sleeps."}
    )
    assert len(problems) == 1 and (values["lesson"], values["tab"]) == ("", "attention")
    assert (
        values["text"] == "The cat sleeps."
        and said in problems[0].say()
        and IMG not in problems[0].say()
    )
    with pytest.raises(UserError, match=said):
        gone(page, service, broken)


def replied(tiny, data, number, answer, language=ENGLISH):
    page, service, seen = tiny
    return answered(page, service, f"~{data}.{number}", answer, language, **seen)


def test_answers_are_checked_on_the_model_or_kept_and_come_with_what_the_summary_shows(
    tiny,
):
    translation = tiny[2]["translation"]
    word = translation.best.text.split()[0]
    data = lesson(
        steps=[
            {**STEP, "question": one}
            for one in (
                {"check": "open"},
                {"check": "sure_of_word", "word": word},
                {"check": "stands_in", "options": [word, "xyz"]},
                {"check": "makes", "word": word.upper()},
                {"check": "greedy"},
            )
        ]
    )
    kept = replied(tiny, data, 1, "Pienso que <b> sí.")
    assert kept == {
        "right": None,
        "html": ENGLISH.html("lesson_kept"),
        "answer": "Pienso que <b> sí.",
    }
    empty = replied(tiny, data, 1, " ")
    assert "Type a sentence" in empty["html"] and "answer" not in empty
    trace = tiny[2]["trace"]
    (first,) = (group for group in words(trace.target) if 1 in group)  # after <s>
    sure = 100 * math.exp(sum(trace.log_probs[i - 1] for i in first))
    right, wrong = (
        replied(tiny, data, 2, f"{one:.0f}") for one in (sure, (sure + 50) % 100)
    )
    assert (right["right"], wrong["right"]) == (
        True,
        False,
    ) and f"{sure:.3g} %" in right["html"]
    assert [replied(tiny, data, 3, one)["right"] for one in (word, "xyz")] == [
        True,
        False,
    ]
    made = replied(tiny, data, 4, translation.source)
    assert made["right"] is True and made["answer"] == translation.source
    for language in (ENGLISH, SPANISH):
        assert replied(tiny, data, 5, "same", language)["answer"] == language.say(
            "class_same"
        )
    assert "Choose an answer first" in replied(tiny, data, 3, "none of them")["html"]
    assert "no word “silla”" in replied(tiny, lesson(), 1, "chair")["html"]
    with pytest.raises(UserError):
        replied(tiny, data, 6, "the summary asks nothing")


def test_a_long_lesson_stays_in_the_address_of_whoever_plays_it(tiny):
    page, service, _ = tiny
    own = json.loads(page.controls.left_out(service))
    assert (
        own["longer"] == {"lesson": len("~.999") + links.LONGEST}
        and own["longest"] < links.LONGEST
    )


def test_a_lesson_ends_with_a_summary_that_the_browser_fills_in():
    for one in files.lessons().values():
        asked = [number for number, step in enumerate(one.steps, 1) if step.question]
        shown = panel.step(one, len(one.steps) + 1, SPANISH)
        assert [f'data-step="{number}"' in shown for number in asked] == [True] * len(
            asked
        )
        assert f'data-lesson="{one.name}.{len(one.steps) + 1}"' in panel.step(
            one, len(one.steps), SPANISH
        )
