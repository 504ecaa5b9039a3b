"""Two sentences side by side: what stands where, log-probabilities crosswise, and what
the tab says of them."""

import html
import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from xformer.__main__ import main
from xformer.explain import pairs
from xformer.explain.pairs import Place
from xformer.explain.passes import Pair
from xformer.figures import pairs as figures
from xformer.hub import checkpoint
from xformer.results import STACKS, Head, UserError, fixed
from xformer.strings import SPANISH


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
        fixed(compared.totals[1][0], ".2f") in shown
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
