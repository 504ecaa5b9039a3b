"""What is said of the spread of seeds, from made-up scores of which it is known."""

import pytest

from xformer.figures.spread import missed, ranked, side
from xformer.strings import ENGLISH, SPANISH


def test_neighbours_lie_apart_where_no_seed_of_the_one_reaches_the_other():
    said = ranked({"a": [5.0, 7.0], "b": [9.0, 8.0], "c": [5.0, 1.0]}, ENGLISH)
    apart, within = said.split("Not larger than that spread: ")
    assert apart.endswith("every seed of the other: b (8.5) over a (6.0). ")
    assert within == "a (6.0) over c (3.0).", "a seed of c has what one of a has"
    assert "spread of 2 seeds" in apart


def test_a_side_is_taken_where_all_values_agree():
    assert [side(some) for some in ([0.1, 2], [-2, -0.1], [-1, 1], [0, 1])] == [
        "ahead",
        "behind",
        "open",
        "open",
    ]
    assert [side([low], [4, 5], margin=1) for low in (2.9, 3, 6, 6.1)] == [
        "behind",
        "open",
        "open",
        "ahead",
    ]


def test_of_one_seed_nothing_is_ranked_or_missed():
    assert ranked({"a": [5.0], "b": [9.0, 8.0]}) == ranked({}) == ""
    assert missed([5.0], {"a": [1.0]}) == missed([5.0, 6.0], {}) == ""


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_a_part_is_missed_where_every_run_without_it_lies_below_the_whole(language):
    without = {"low": [1.0, 4.9], "mixed": [4.0, 5.0], "high": [7.1], "in": [4.1]}
    said = missed([5.0, 6.0], without, language)
    whole, single, worse, better, among = said.split(". ")
    assert "5.0" in whole and "6.0" in whole and "5.5" in whole and "1–2" in whole
    assert "1.0" in single, "4.1 is less than that below"
    assert [
        part.split(": ")[1].split(" ", 1)[1] for part in (worse, better, among)
    ] == [
        "low (3.0)",
        "high (7.1)",
        "in (4.1); mixed (4.5).",
    ]
