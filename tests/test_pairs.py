"""Two sentences side by side: what stands where, log-probabilities crosswise, and what
the tab says of them."""

import html
import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.pages import laid_out
from xformer.__main__ import main
from xformer.explain import pairs
from xformer.explain.pairs import Place
from xformer.explain.passes import Pair
from xformer.figures import pairs as figures
from xformer.hub import checkpoint
from xformer.parts.sentences import part as tab
from xformer.results import STACKS, Head, UserError
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask


@pytest.fixture(scope="module")
def compared(running, learned_pairs):
    """Two sentences that the small model knows by heart."""
    return running.compare(learned_pairs[0][0], learned_pairs[1][0])


# What stands where


def test_sentences_are_laid_beside_each_other_word_by_word():
    assert pairs.aligned(
        ["I", "bought", "a", "car", "."], ["I", "bought", "a", "big", "house", "."]
    ) == [
        Place(0, 0, True),
        Place(1, 1, True),
        Place(2, 2, True),
        Place(3, 3, False),
        Place(None, 4, False),
        Place(4, 5, True),
    ]
    assert (
        pairs.aligned([], ["a"]) == [Place(None, 0, False)]
        and pairs.aligned([], []) == []
    )


def test_maps_stand_on_one_grid_and_their_difference_is_known_where_both_have_both_words():
    rows = [Place(0, 0, True), Place(None, 1, False)]
    columns = [Place(0, None, False), Place(1, 0, True)]
    first = np.array([[0.25, 0.75]])
    second = np.array([[0.5], [1.0]])
    one, other, difference = pairs.side_by_side(first, second, rows, columns)
    np.testing.assert_array_equal(one, [[0.25, 0.75], [np.nan, np.nan]])
    np.testing.assert_array_equal(other, [[np.nan, 0.5], [np.nan, 1.0]])
    np.testing.assert_array_equal(difference, [[np.nan, -0.25], [np.nan, np.nan]])


def test_a_place_is_named_by_both_words_where_they_differ():
    words = ["el", "coche"], ["la", "casa"]
    assert pairs.label(Place(0, 0, True), ["a"], ["a"]) == "a"
    assert pairs.label(Place(1, 1, False), *words) == "coche / casa"
    assert pairs.label(Place(None, 1, False), *words) == "– / casa"


# Log-probabilities crosswise


def test_log_probabilities_crosswise_are_cross_entropies(compared, tiny_checkpoint):
    loaded = checkpoint.load(tiny_checkpoint)
    for i, source in enumerate(compared.translations):
        for j, target in enumerate(compared.translations):
            pair = Pair.of(source.source_tokens, target.best.tokens[:-1])
            with torch.no_grad():
                logits = loaded.model(
                    torch.tensor([pair.source]), torch.tensor([pair.given])
                )[0]
            wanted = -F.cross_entropy(
                logits, torch.tensor(pair.predicted), reduction="none"
            )
            assert compared.log_probs[i][j] == pytest.approx(wanted.tolist(), abs=1e-4)
            assert compared.totals[i][j] == pytest.approx(float(wanted.sum()), abs=1e-3)


def test_a_comparison_has_both_passes_and_each_translation_suits_its_own_source(
    compared, running, learned_pairs
):
    for side, (english, spanish) in enumerate(learned_pairs[:2]):
        assert (
            compared.translations[side].best.text == spanish
            and compared.translations[side].source == english
        )
        assert compared.log_probs[side][side] == pytest.approx(
            compared.traces[side].log_probs, abs=1e-4
        )
        assert compared.totals[side][side] > compared.totals[1 - side][side] + 1
    with pytest.raises(UserError, match="nothing to translate"):
        running.compare(learned_pairs[0][0], " ")


def test_the_command_prints_what_differs_and_the_log_probabilities(
    compared, tiny_checkpoint, learned_pairs, capsys
):
    command = [
        "compare",
        learned_pairs[0][0],
        learned_pairs[1][0],
        "--checkpoint",
        str(tiny_checkpoint),
    ]
    assert main(command) == 0
    first, spanish, *_, of_first, of_second = capsys.readouterr().out.splitlines()
    assert first == "A  The [cat] [sleeps.]" and spanish == "   El [gato] [duerme.]"
    assert of_first.split()[-2:] == [
        f"{compared.totals[side][0]:.2f}" for side in range(2)
    ]
    assert of_second.split()[-2:] == [
        f"{compared.totals[side][1]:.2f}" for side in range(2)
    ]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sources"] == [english for english, _ in learned_pairs[:2]]
    assert sum(found["log_probs"][1][0]) == pytest.approx(
        compared.totals[1][0], abs=1e-3
    )


# What the figures say


@pytest.mark.parametrize("side", [0, 1])
def test_a_words_number_is_what_its_own_source_does_for_it_and_all_of_them_sum_to_the_whole(
    compared, side
):
    words = figures.weighed(compared, side)
    assert [word.text for word in words][:2] == [["El", "gato"], ["El", "perro"]][
        side
    ] and words[-1].text == "end"
    assert words[0].same and not words[1].same
    assert sum(word.gain for word in words) == pytest.approx(
        compared.totals[side][side] - compared.totals[1 - side][side], abs=1e-3
    )


def test_both_translations_show_what_differs_and_their_numbers_are_saved(compared):
    shown = figures.translations(compared)
    assert (
        "The <mark>cat</mark> <mark>sleeps.</mark>" in shown
        and "<mark>gato</mark>" in shown
    )
    table = json.loads(html.unescape(shown.split('data-table="')[1].split('"')[0]))
    assert table["columns"][1] == "word" and table["rows"][1][:2] == ["A", "gato"]
    assert (
        f"{compared.totals[1][0]:.2f}" in shown
        and "Both translations are the same" not in shown
    )


def test_the_same_sentence_twice_is_said_to_translate_alike(running, learned_pairs):
    same = running.compare(learned_pairs[0][0], learned_pairs[0][0])
    assert "Both translations are the same" in figures.translations(same)
    maps = figures.head_maps(same, Head("cross", 1, 1))
    assert maps.summary == ["Cross · layer 1, head 1 looks the same way in both."]


@pytest.mark.parametrize("stack", STACKS)
def test_a_head_is_drawn_in_both_passes_and_apart_on_one_grid(compared, stack):
    head = Head(stack, 2, 3)
    drawn = figures.head_maps(compared, head, language=SPANISH)
    first, second, apart = (
        one.data[0] for one in (drawn.first, drawn.second, drawn.difference)
    )
    assert first.z.shape == second.z.shape == apart.z.shape
    np.testing.assert_allclose(apart.z, second.z - first.z)
    own = first.z[~np.isnan(first.z).all(axis=1)]
    (
        np.testing.assert_allclose(np.nansum(own, axis=1), 1, atol=1e-4),
        "every word of the first sentence is there",
    )
    assert (first.zmin, first.zmax) == (0, 1) and apart.zmin == -apart.zmax
    assert first.colorscale == second.colorscale != apart.colorscale
    assert drawn.difference.layout.title.text.startswith("B − A")


def test_a_head_that_the_model_lacks_has_no_maps(compared):
    assert figures.head_maps(compared, Head("cross", 3, 1)) is None
    assert figures.head_maps(compared, Head("cross", 1, 5)) is None


# The tab


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
    chosen = Ask.always(running, ENGLISH).answer(tab.choose, preset=answer["preset"])
    assert (chosen["pair_a"], chosen["pair_b"]) == (
        "Our tea is cold.",
        "Our winter is cold.",
    )


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
    assert f"({change:+.2f})" in answer["pair_head"]["choices"][0][0]
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
