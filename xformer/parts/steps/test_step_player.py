"""The payload of the player: the pieces, numbers and ranks that the model gave, and no
others."""

import math

import pytest

from xformer.figures.labels import shown
from xformer.parts.steps.step_player import payload
from xformer.results import Force, Forced
from xformer.strings import SPANISH


@pytest.fixture(scope="module")
def forced(running, learned_pairs):
    return running.ask(Force(*learned_pairs[1]))


def test_each_step_has_the_numbers_of_the_pass(running, forced, learned_pairs):
    english, _ = learned_pairs[1]
    made = payload(running.trace(*learned_pairs[1]).source, forced, 2)
    assert made["title"] == f"Step by step: {english}" and made["step"] == 2
    assert [one["given"] for one in made["steps"]] == [
        shown(piece) for piece in forced.given
    ]
    assert [one["wanted"] for one in made["steps"]] == [
        shown(piece) for piece in forced.predicted
    ]
    assert made["steps"][-1]["total"] == pytest.approx(sum(forced.log_probs), abs=1e-5)
    for one, log_prob, listed in zip(
        made["steps"], forced.log_probs, forced.alternatives, strict=True
    ):
        assert one["log_prob"] == pytest.approx(log_prob, abs=1e-6)
        assert one["likeliest"] == [
            [shown(piece), pytest.approx(value, abs=1e-6)] for piece, value in listed
        ]
        assert one["rank"] == 1, "it knows the sentence by heart"
        assert one["rest"] + sum(
            math.exp(value) for _, value in listed
        ) == pytest.approx(1, abs=1e-6)


def test_a_piece_that_is_none_of_the_likeliest_has_no_rank_and_no_share_in_the_rest():
    forced = Forced(
        ("<s>",),
        ("▁z",),
        (math.log(0.1),),
        (2.3,),
        0.0,
        5,
        ((("▁a", math.log(0.5)), ("▁b", -2.0)),),
    )
    (step,) = payload(["▁x"], forced, 99)["steps"]
    assert step["rank"] == 0 and step["rest"] == pytest.approx(
        0.4 - math.exp(-2), abs=1e-6
    )


def test_a_step_that_is_not_there_is_the_last_and_texts_are_in_the_page_s_language(
    forced,
):
    made = payload(["▁The"], forced, 999, SPANISH, masked=False)
    assert not made["masked"] and payload(["▁The"], forced, 1)["masked"]
    assert (
        made["step"] == len(forced.predicted)
        and made["texts"]["play_next"] == "Paso siguiente"
    )
