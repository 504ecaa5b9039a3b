"""Roles of heads, on maps constructed to have them."""

import numpy as np
import pytest

from xformer.figures.attention import Choice
from xformer.figures.labels import percent
from xformer.parts.attention import part as attention
from xformer.parts.attention import roles
from xformer.results import Trace
from xformer.strings import ENGLISH, SPANISH

PIECES = ["▁the", "▁cat", "▁the", "▁dog", ".", "</s>"]
SIZE = len(PIECES)


def sends(targets):
    """A map whose row q looks at targets[q] only."""
    attention = np.zeros((len(targets), SIZE))
    attention[range(len(targets)), targets] = 1
    return attention


@pytest.mark.parametrize(
    ("role", "targets"),
    [
        ("previous", [0, 0, 1, 2, 3, 4]),
        ("next", [1, 2, 3, 4, 5, 5]),
        ("itself", range(SIZE)),
        ("first", [0] * SIZE),
        ("last", [SIZE - 1] * SIZE),
        ("separator", [4, 5, 4, 5, 4, 5]),
        ("same_word", [2, 1, 0, 3, 4, 5]),
    ],
)
def test_a_head_that_does_nothing_else_scores_one(role, targets):
    assert roles.score(sends(list(targets)), role, PIECES, PIECES) == 1


@pytest.mark.parametrize("role", roles.SELF_ROLES)
def test_even_attention_scores_what_chance_gives(role):
    even = np.full((SIZE, SIZE), 1 / SIZE)
    chance = 2 / SIZE if role == "separator" else 1 / SIZE
    assert roles.score(even, role, PIECES, PIECES) == pytest.approx(chance)


def test_rows_of_which_a_role_says_nothing_are_not_counted():
    attention = sends([2, 1, 0, 3, 4, 5])
    attention[1] = 0.5  # no other "cat": whatever this row does cannot matter
    assert roles.score(attention, "same_word", PIECES, PIECES) == 1
    assert roles.score(attention, "same_word", PIECES[1:2], PIECES[1:2]) is None


def test_the_decoder_is_not_blamed_for_what_it_cannot_see():
    """The first position can only look at itself: it proves no role."""
    attention = np.tril(np.ones((3, 3)))
    attention /= attention.sum(axis=1, keepdims=True)
    assert roles.score(
        attention, "itself", PIECES[:3], PIECES[:3], causal=True
    ) == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert roles.score(attention, "next", PIECES[:3], PIECES[:3], causal=True) is None


def test_the_finder_puts_the_right_head_first():
    even = np.full((SIZE, SIZE), 1 / SIZE)
    maps = np.stack(
        [
            np.stack([even, sends([0, 0, 1, 2, 3, 4])]),
            np.stack([sends([1, 2, 3, 4, 5, 5]), even]),
        ]
    )
    found = roles.rank("encoder_self", maps, PIECES, PIECES)
    assert {(r.role, r.head.layer, r.head.head) for r in found[:2]} == {
        ("previous", 1, 2),
        ("next", 2, 1),
    }
    assert len(found) == 4 * len(roles.SELF_ROLES)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            ENGLISH,
            "The head with the clearest role on this sentence, layer 2, head 1, looks at the next piece ({}).",
        ),
        (
            SPANISH,
            "La cabeza con el papel más claro en esta frase, capa 2, cabeza 1, mira a la pieza siguiente "
            "({}).",
        ),
    ],
)
def test_the_finder_says_which_head_is_clearest(language, said):
    even = np.full((SIZE, SIZE), 1 / SIZE)
    almost = (9 * sends([0, 0, 1, 2, 3, 4]) + even) / 10
    maps = np.stack(
        [np.stack([even, almost]), np.stack([sends([1, 2, 3, 4, 5, 5]), even])]
    )
    best = roles.rank("encoder_self", maps, PIECES, PIECES)
    assert attention.say_clearest(best, language) == f"<p>{said.format(percent(1))}</p>"
    assert attention.say_clearest([], language) == ""


@pytest.mark.parametrize(
    ("pieces", "left_out"),
    [
        (["<s>", "▁the", "▁cat", "▁the"], set()),
        (["<s>", "▁the", "▁cat", "▁sat"], {"same_word"}),
    ],
)
def test_in_the_decoder_a_role_that_no_row_can_play_is_left_out(pieces, left_out):
    """The last row can look at the last key, itself, the one before at the next:
    neither is a way of looking."""
    even = np.tril(np.ones((4, 4)))
    even /= even.sum(axis=1, keepdims=True)
    found = roles.rank(
        "decoder_self", np.stack([np.stack([np.eye(4), even])]), pieces, pieces
    )
    assert {r.role for r in found} == {
        "previous",
        "itself",
        "first",
        "separator",
        "same_word",
    } - left_out
    assert [(r.role, r.head.head, r.score) for r in found[:1]] == [("itself", 1, 1)]
    assert len(found) == 2 * len({r.role for r in found})


def test_nothing_is_ranked_where_there_is_nothing_to_choose():
    """Nothing was translated yet: the decoder's one row looks at <s>, which is all
    there is; no word to align with."""
    assert roles.rank("decoder_self", np.ones((1, 2, 1, 1)), ["<s>"], ["<s>"]) == []
    found = roles.rank("cross", np.full((1, 1, 1, 2), 0.5), ["<s>"], [".", "</s>"])
    assert {r.role for r in found} == {"first", "last"}
    ones = (
        np.ones((1, 1, *shape)) for shape in ((2, 2), (1, 1), (1, 2), (2,), (1,), (2,))
    )
    trace = Trace(("▁the", "</s>"), ("<s>",), ("</s>",), (-0.1,), *ones, "the", ())
    assert attention.best_heads(trace, "decoder_self") == []
    assert attention._roles(trace, Choice("decoder_self"), ENGLISH) == "", (
        "no sentence that ends in nothing"
    )


def test_alignedness_wants_sharp_rows_that_go_to_different_words():
    own = [True, True, True, False]
    diagonal = np.eye(3, 4)
    assert roles.alignedness(diagonal, own) == 1
    assert roles.alignedness(np.repeat(diagonal[:1], 3, axis=0), own) == pytest.approx(
        1 / 3
    )
    assert roles.alignedness(np.eye(4)[[3, 3, 3]], own) == 0, (
        "everything on </s> is no alignment"
    )
    assert roles.alignedness(np.ones((2, 1)), [False]) is None


def test_an_unknown_role_is_named():
    with pytest.raises(
        ValueError, match="the role is 'verb'; choose one of previous, next"
    ):
        roles.score(np.eye(2), "verb", PIECES[:2], PIECES[:2])
