"""The model from Spanish into English: what it reads and writes, how it is scored, and
what the page says of it."""

import json

import pytest

from tests.pages import laid_out
from xformer.explain.alignment import GOLD, Gold, read_gold, split
from xformer.hub.shipped import REVERSE
from xformer.parts.sentences.part import PRESETS, presets
from xformer.parts.translate import part as translate
from xformer.results import Options
from xformer.strings import ENGLISH, SPANISH
from xformer.training import evaluation
from xformer.ui.page import open_at
from xformer.ui.tabs import EXAMPLES, examples


def test_it_translates_spanish(back):
    typed = ["gato", "¿Dónde está mi hermano?", "donde esta la biblioteca"]
    said = [one.best.text for one in back.translate_many(typed)]
    assert said == ["cat", "Where is my brother?", "Where is the library?"]


def test_pairs_are_turned_round_for_it(both_ways, back):
    pairs = [
        ("The dog eats bread.", "El perro come pan."),
        ("Where is my brother?", "¿Dónde está mi hermano?"),
    ]
    assert evaluation.as_read(both_ways.default, pairs) == pairs
    assert evaluation.as_read(back, pairs) == [
        (spanish, english) for english, spanish in pairs
    ]
    assert (
        evaluation.evaluate_translation(back, pairs, Options(alternatives=0)).bleu > 60
    )


@pytest.mark.full
def test_gold_links_are_turned_round_for_it(back):
    gold = Gold("a b", "x y z", frozenset({(0, 2)}), frozenset({(0, 2), (1, 0)}))
    assert gold.turned() == Gold(
        "x y z", "a b", frozenset({(2, 0)}), frozenset({(2, 0), (0, 1)})
    )
    assert gold.turned().turned() == gold
    kept = json.loads((REVERSE.path / "metrics.json").read_text())["alignment"]["best"]
    scores = evaluation.evaluate_alignment(back, read_gold())
    assert (scores.layer, scores.head, scores.reading) == (
        kept["layer"],
        kept["head"],
        kept["of"],
    )
    assert scores.best == pytest.approx(0.025, abs=1e-3)
    assert evaluation.evaluate_alignment(
        back, read_gold(GOLD["es"])
    ).best == pytest.approx(0.021, abs=1e-3)


def test_the_gold_pairs_of_each_direction_link_every_word_that_is_written():
    for source, path in GOLD.items():
        pairs = [one.turned() if source == "es" else one for one in read_gold(path)]
        assert len({one.english for one in pairs}) == 40
        for one in pairs:
            assert {j for _, j in one.possible} == {*range(len(split(one.spanish)))}
            assert len({j for _, j in one.sure}) == len(one.sure)


def test_texts_take_the_languages_from_the_model(both_ways, back):
    assert ENGLISH.of(back.info).say("sentence") == "Spanish sentence"
    assert SPANISH.of(back.info).say("sentence") == "Frase en español"
    assert (
        ENGLISH.of(both_ways.default.info).say("sentence")
        == ENGLISH.say("sentence")
        == "English sentence"
    )


def test_the_other_direction_is_offered_and_never_taken_unasked(both_ways, back):
    def run(service, sentence):
        *_, answer = translate.run(
            service,
            ENGLISH.of(service.info),
            sentence=sentence,
            former=None,
            longest=60,
            models=both_ways,
            beam=1,
            n_best=1,
            length_penalty=1,
        )
        return answer

    assert (
        "Translate from"
        not in run(both_ways.default, "The cat is in the house.")["problem"]
    )
    said = run(both_ways.default, "El gato está en la casa.")
    assert (
        "looks like Spanish; the model reads English" in said["problem"]
        and said["asked"] in said["problem"]
    )
    assert "Translate from Spanish" in said["problem"] and "es-en" in said["problem"]
    said = run(back, "The cat is in the house.")["problem"]
    assert (
        "looks like English; the model reads Spanish" in said
        and "Translate from English" in said
    )
    assert (
        both_ways.reading("es") == "es-en"
        and both_ways.reading("en") == ""
        and both_ways.reading("de") is None
    )


def test_examples_and_pairs_are_in_the_language_that_it_reads(both_ways, back):
    assert examples(both_ways.default) == EXAMPLES and examples(back)[1] == "muchacha"
    own = presets(both_ways.default)
    theirs = presets(back)
    assert {*own} | {*theirs} == {*range(len(PRESETS))} and not {*own} & {*theirs}


def test_a_page_opens_in_its_language_and_goes_back(both_ways):
    page = laid_out(both_ways)
    said, there = open_at(page, {"model": "es-en"})
    assert said == ""
    assert there[page.sentence]["label"] == "Spanish sentence" and there[page.sentence][
        "value"
    ].startswith("Estaba")
    _, again = open_at(page, {"text": "The cat."})
    assert (
        again[page.sentence]["label"] == "English sentence"
        and again[page.sentence]["value"] == "The cat."
    )
