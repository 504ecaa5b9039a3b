"""The lecture's sentences: the file, the table, and what is scored."""

import html
import json
import re

import pytest

from xformer.figures.taught import MADE
from xformer.parts.lecture import draw as figures
from xformer.parts.lecture import part as tab
from xformer.serve.bleu import bleu
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask


def test_the_file_has_twenty_sentences_with_answers_and_verdicts():
    assert len(tab.SENTENCES) == 20
    for one in tab.SENTENCES:
        assert one.english and one.verdict in figures.VERDICTS.values()
        assert (
            figures.bare(one.english) == one.english
            and figures.bare(one.answer) == one.answer
        )
    assert (
        figures.Sentence(
            "it was a beautiful wedding",
            "fue un hermoso casamiento",
            "fue un hermoso hermoso",
            "wrong",
        )
        in tab.SENTENCES
    )


def test_what_our_models_learned_from_is_counted_and_marked():
    """xformer/parts/learned/test_learned.py looks for these in the pairs."""
    assert [one.english for one in tab.SENTENCES if one.twin] == [
        "you are so shallow",
        "when did you learn to swim",
    ]
    assert "Of the 20, 2 (marked *) stand in the data" in figures.note(tab.SENTENCES)
    for language in (ENGLISH, SPANISH):
        note = figures.note(tab.SENTENCES, language)
        for number in (MADE["nearest"], MADE["en_es"], MADE["ranked"]):
            assert language.say("first_number", n=number) in note
    assert "for 4, marked “written for training”" in figures.note(tab.SENTENCES)
    assert "“curlers”, “shallow”, “hockey”, “reelected”." in figures.note(tab.SENTENCES)
    table = figures.table(tab.SENTENCES, [], "M")
    assert (
        "* in training, for “You&#39;re so shallow.”" in table
        and table.count("<small>* in") == 2
    )


def test_answers_are_scored_as_the_lecture_writes_them():
    assert figures.bare("¿Cuándo aprendiste a nadar?") == "cuándo aprendiste a nadar"


def test_a_sentence_that_something_was_written_for_is_marked_under_the_model_it_taught():
    def marked(model):
        rows = figures.table(tab.SENTENCES, [], model).split("<tr>")
        return [
            one.english
            for one, row in zip(tab.SENTENCES, rows[2:], strict=True)
            if 'class="taught"' in row
        ]

    assert marked("en-es") == [
        "mary has curlers in her hair",
        "you are so shallow",
        "how often does tom play hockey",
        "he was reelected mayor",
    ]
    assert not marked("pre-norm") and not marked("es-en")


@pytest.fixture
def answers(made):
    """`answers(service, language)`: what is answered where the part is opened."""

    def answers(service, language=ENGLISH, **given):
        return [
            *Ask.always(service, language).answers(
                made.pictures[tab.ID].stream,
                **{"made": {}, "part": "lecture", "progress": print, **given},
            )
        ]

    return answers


def test_the_table_comes_before_its_answers_and_then_with_them(running, answers):
    told = []
    first, last = answers(running, progress=told.append)
    assert "…" in first["table"] and "…" not in last["table"]
    assert told[-1] == (20, 20)
    said = [
        translation.best.text
        for translation in running.translate_many(
            [one.english for one in tab.SENTENCES]
        )
    ]
    table = json.loads(
        html.unescape(last["table"].split('data-table="')[1].split('"')[0])
    )
    assert [row[4] for row in table["rows"]] == said and len(table["rows"][0]) == len(
        table["columns"]
    )
    for row, text in zip(table["rows"], said, strict=True):
        assert row[6] == pytest.approx(
            bleu(figures.bare(text), row[1]).smoothed, abs=0.01
        )
    assert (
        "by the corpus formula" in last["summary"] and "tiny-en-es" in last["summary"]
    )
    assert "por la fórmula del corpus" in answers(running, SPANISH)[-1]["summary"]


def test_a_sentence_is_a_button_that_opens_it(running, answers):
    table = answers(running)[0]["table"]
    addresses = [
        json.loads(html.unescape(one))
        for one in re.findall(r'data-address="(.*?)"', table)
    ]
    assert addresses[0] == {
        "tab": "translate",
        "text": "anybody can read it",
        "spanish": None,
        "lock": None,
    }
    assert {one["tab"] for one in addresses} == {"translate", "attention"} and len(
        addresses
    ) == 40


def test_they_are_translated_once_and_only_where_they_are_seen(running, answers):
    kept = {}
    assert answers(running, part="bleu", made=kept) == [{"problem": ""}]
    assert len(answers(running, made=kept)) == 2
    assert answers(running, made=kept) == [{"problem": ""}]


def test_what_differs_from_the_reference_is_marked_whatever_its_capitals():
    table = figures.table(
        [
            figures.Sentence(
                "a", "fue un hermoso casamiento", "fue un hermoso hermoso", "wrong"
            )
        ],
        [figures.Answer("¡Fue una hermosa boda!", bleu("x", "y"), bleu("x", "y"))],
        "M",
    )
    assert "fue un hermoso <mark>hermoso</mark>" in table
    assert "¡Fue <mark>una</mark> <mark>hermosa</mark> <mark>boda!</mark>" in table
