"""Terms of the glossary inside texts: which are linked, how often, and what their
buttons open."""

import html
import re

import gradio as gr
import pytest

from tests.pages import laid_out
from xformer.lessons import files, panel, terms
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.places import note, places, question

BUTTON = re.compile(
    '<button type="button" class="term" popovertarget="([^"]*)">(.*?)</button>'
)


def linked(text, language=ENGLISH, seen=None, **most):
    return BUTTON.findall(
        terms.linked(
            html.escape(text), language, set() if seen is None else seen, **most
        )
    )


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        (
            ENGLISH,
            "A head of the cross-attention.",
            [("term-head", "head"), ("term-cross-attention", "cross-attention")],
        ),
        (
            ENGLISH,
            "Queries & losses, “keys”",
            [("term-query", "Queries"), ("term-loss", "losses")],
        ),
        (
            ENGLISH,
            "The heads, one head; ahead, head-on, headed.",
            [("term-head", "heads")],
        ),
        (ENGLISH, "“Attention Is All You Need”: use the arrow keys", []),
        (
            SPANISH,
            "Las posiciones de la atención cruzada",
            [
                ("term-position", "posiciones"),
                ("term-cross-attention", "atención cruzada"),
            ],
        ),
    ],
)
def test_a_term_is_found_as_a_word_the_longest_first(language, text, wanted):
    assert linked(text, language) == wanted


def test_a_term_is_linked_once_and_few_are():
    seen = set()
    assert (
        linked("a head", seen=seen)
        and not linked("a head", seen=seen)
        and seen == {"term-head"}
    )
    many = "attention, layer, mask, loss, softmax"
    assert [name for name, _ in linked(many)] == [
        "term-attention",
        "term-layer",
        "term-mask",
    ]
    assert len(linked(many, most=5)) == 5


@pytest.mark.parametrize("language", [ENGLISH, SPANISH], ids=str)
def test_every_term_finds_itself_and_its_entry(language):
    entries = terms.entries(language)
    for one in files.glossary():
        [(name, written)] = linked(one.term[language.code], language)
        assert (
            written == one.term[language.code]
            and entries.count(f'<div popover id="{name}"') == 1
        )
    assert "*" not in entries


def test_nothing_but_the_links_is_added_to_a_text():
    for language in (ENGLISH, SPANISH):
        for key, text in language.texts.items():
            escaped = html.escape(text)
            assert (
                BUTTON.sub(r"\2", terms.linked(escaped, language, set())) == escaped
            ), key


def test_a_note_of_a_part_does_not_repeat_what_its_question_links():
    asked = question(ENGLISH, "store")  # How is attention a soft look-up in a table?
    assert BUTTON.findall(asked.value) == [("term-attention", "attention")]
    assert [name for name, _ in BUTTON.findall(note(ENGLISH, "store_text"))] == [
        "term-key",
        "term-value",
    ]
    assert not BUTTON.findall(note(ENGLISH, "store_text"))
    question(ENGLISH, "rest")
    assert BUTTON.findall(note(ENGLISH, "store_text")), "another part begins"


def test_a_lesson_links_a_term_in_the_step_where_it_first_comes():
    lesson = files.lessons()["it"]
    steps = [
        BUTTON.findall(panel.step(lesson, number, ENGLISH))
        for number in range(1, len(lesson.steps) + 1)
    ]
    assert ("term-encoder", "encoder") in steps[0] and ("term-nat", "nats") in steps[3]
    names = [name for step in steps for name, _ in step]
    assert len(names) == len({*names}) and all(
        len(step) <= terms.MOST for step in steps
    )


def test_no_part_has_more_links_than_a_few_and_no_title_or_label_has_one(running):
    page = laid_out(running)
    texts = [
        str(getattr(one, "value", ""))
        for one in page.demo.blocks.values()
        if isinstance(one, gr.HTML)
    ]
    assert sum(len(BUTTON.findall(text)) for text in texts) > len(places())
    for text in texts:
        assert len(BUTTON.findall(text)) <= terms.MOST
        assert not re.search(
            r"<(h[1-6]|summary|label|th)\b[^>]*>(?:(?!</\1>).)*class=\"term\"", text
        )
