"""Two sentences side by side: the part that asks for them and shows what differs."""

import html
import json

import numpy as np
import pytest

from tests.pages import laid_out
from xformer.figures import pairs as figures
from xformer.parts.sentences import part as tab
from xformer.results import fixed
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask


@pytest.fixture(scope="module")
def compared(running, learned_pairs):
    """Two sentences that the small model knows by heart."""
    return running.compare(learned_pairs[0][0], learned_pairs[1][0])


@pytest.fixture(scope="module")
def pictures(running):
    return laid_out(running).pictures[tab.TAB]


@pytest.fixture
def answered(running, pictures):
    made = {}

    def answered(language=ENGLISH, action=tab.run, **named):
        given = {
            "pairs_part": "sentences",
            "pair_head": "cross.1.1",
            "asked": None,
            "beam": 5,
            "length_penalty": 1.0,
            **named,
        }
        return Ask.always(running, language).answer(
            pictures.draw, made=made, action=action, **given
        )

    answered.made = made
    return answered


def test_two_sentences_are_compared_once(answered, learned_pairs):
    (first, _), (second, _) = learned_pairs[:2]
    answer = answered(pair_a=first, pair_b=second)
    assert (
        answer["problem"] == ""
        and answer["preset"] is None
        and "<mark>gato</mark>" in answer["result"]
    )
    assert answer["first"]["figure"] and answer["summary"].startswith(
        "<p>Cross · layer 1, head 1 changes most"
    )
    again = answered(pair_a=first, pair_b=second, asked=answer["asked"])
    assert again == {"problem": ""}, "it is on the page already"
    assert answered(pair_a=first, pair_b=second, pairs_part="bleu") == {"problem": ""}
    assert "asked" in answered(
        pair_a=first, pair_b=second, asked=answer["asked"], beam=2
    )


def test_a_pair_of_the_list_comes_with_its_question(running, answered):
    for language in (ENGLISH, SPANISH):
        answer = answered(
            language, pair_a="Our tea is cold.", pair_b="Our winter is cold."
        )
        preset = tab.PRESETS[answer["preset"]]
        assert html.escape(preset["look"][language.code]) in answer["result"]
    chosen = Ask.always(running, ENGLISH).answer(
        tab.choose, preset=answer["preset"], translation=None
    )
    assert (chosen["pair_a"], chosen["pair_b"]) == (
        "Our tea is cold.",
        "Our winter is cold.",
    )


def test_the_sentence_of_the_page_goes_into_both_fields(running, learned_pairs):
    text = learned_pairs[1][0]
    page = Ask.always(running, ENGLISH)
    found = page.answer(tab.choose, preset=tab.OWN, translation=running.translate(text))
    assert (found["pair_a"], found["pair_b"]) == (text, text)
    assert "pair_a" not in page.answer(tab.choose, preset=tab.OWN, translation=None)


def test_every_pair_has_both_languages_and_two_sentences():
    assert len(tab.PRESETS) >= 15
    for one in tab.PRESETS:
        assert {*one["name"]} == {*one["look"]} == {"en", "es"} and len(
            {*one["texts"]}
        ) == 2


def test_a_pair_that_sentences_were_written_for_says_so(running):
    """What teaches the very pattern of a pair is no proof that the model found it."""
    [car] = [one for one in tab.PRESETS if one["name"]["en"] == "The lecture’s car"]
    compared = running.compare(*car["texts"])
    taught = figures.translations(compared, model="en-es")
    assert taught.count('class="taught"') == 2 and "old motorbike" in taught
    assert 'class="taught"' not in figures.translations(compared, model="gru")


def test_a_missing_sentence_is_said_and_nothing_old_stays(answered, learned_pairs):
    answer = answered(pair_a=learned_pairs[0][0], pair_b=" ")
    assert (
        "A sentence is missing" in answer["problem"]
        and answer["result"] is None
        and answer["difference"] is None
    )


def test_a_new_comparison_opens_on_the_head_that_changes_most(
    answered, compared, running, learned_pairs
):
    order = figures.ranked(compared)
    assert len(order) == 24 and [abs(change) for _, change in order] == sorted(
        (abs(change) for _, change in order), reverse=True
    )
    head, change = order[0]
    apart = figures.head_maps(compared, head).difference.data[0].z
    assert np.nanmax(np.abs(apart)) >= abs(change) - 1e-6
    usual = str(running.best_head)
    answer = answered(
        pair_a=learned_pairs[0][0], pair_b=learned_pairs[1][0], pair_head=usual
    )
    assert (
        answer["pair_head"]["value"] == str(head)
        and len(answer["pair_head"]["choices"]) == 24
    )
    assert f"({fixed(change, '+.2f')})" in answer["pair_head"]["choices"][0][0]
    chosen = answered(action=None, asked=answer["asked"], pair_head=str(order[5][0]))
    assert "pair_head" not in chosen


def test_where_both_sentences_have_a_pronoun_the_heads_are_ranked_where_it_asks(
    running,
):
    order = figures.ranked(running.compare("She reads a book.", "She reads a letter."))
    assert {head.stack for head, _ in order[:8]} == {"encoder_self"}


def test_another_head_is_drawn_without_the_model(
    answered, learned_pairs, running, monkeypatch
):
    asked = answered(pair_a=learned_pairs[0][0], pair_b=learned_pairs[1][0])["asked"]
    monkeypatch.delattr(type(running), "compare")
    answer = answered(action=None, asked=asked, pair_head="encoder_self.2.1")
    assert (
        "Encoder"
        in json.loads(answer["difference"]["figure"])["layout"]["title"]["text"]
    )
    answer = answered(action=None, asked=asked, pair_head="cross.9.1")
    assert (
        "has no attention of this kind" in answer["summary"] and answer["first"] is None
    )
    assert answered(action=None, asked=None, pair_head="cross.1.1") == {"problem": ""}


def test_the_address_names_the_part_the_sentences_and_the_head(running):
    page = laid_out(running)
    values, problems = page.controls.read(
        running,
        {
            "tab": "pairs",
            "pairs_part": "bleu",
            "pair_a": "One.",
            "pair_b": "Two.",
            "pair_head": "encoder_self.1.2",
            "bleu_said": "uno",
            "bleu_wanted": "dos",
        },
    )
    assert (
        not problems
        and values["pair_b"] == "Two."
        and values["pair_head"] == "encoder_self.1.2"
    )
    assert (values["pairs_part"], values["bleu_said"], values["bleu_wanted"]) == (
        "bleu",
        "uno",
        "dos",
    )


def test_what_is_translated_already_is_not_searched_for_again(
    running, answered, learned_pairs, monkeypatch
):
    (first, _), (second, _) = learned_pairs[:2]
    shown = answered(pair_a=first, pair_b=second)["asked"]
    asked = []
    compared = answered.made["compared"].value
    search = running._translated
    monkeypatch.setattr(
        running,
        "_translated",
        lambda wait, sources, *more, **named: (
            asked.extend(source.text for source in sources),
            search(wait, sources, *more, **named),
        )[1],
    )
    third = learned_pairs[2][0]
    assert answered(pair_a=third, pair_b=first, asked=shown)["result"]
    assert asked == [third]
    assert [one.source for one in answered.made["compared"].value.translations] == [
        third,
        first,
    ]
    again = running.compare(*compared.translations)
    assert again.totals == compared.totals and asked == [third]
