"""Sentence pairs that are made up of what a translation must copy."""

import re
from random import Random

import pytest

from research.__main__ import main
from research.data.copied import FILLINGS, SLOT, carriers, draw, separated
from xformer.training.data.corpora import read_pairs

DRAWN = [draw(Random(seed)) for seed in range(3000)]


def test_the_same_seed_draws_the_same_pair_and_most_differ():
    assert [draw(Random(seed)) for seed in range(50)] == DRAWN[:50]
    assert len({*DRAWN}) > 2900


def test_every_slot_has_a_filling_and_stands_on_both_sides():
    for english, spanish in carriers():
        slots = [match[0] for match in SLOT.finditer(english)]
        assert sorted(slots) == sorted(match[0] for match in SLOT.finditer(spanish)), (
            english
        )
        assert {match[1] for match in SLOT.finditer(english)} <= {*FILLINGS}
    assert {
        match[1] for english, _ in carriers() for match in SLOT.finditer(english)
    } == {*FILLINGS}


def test_no_slot_is_left_open():
    assert not any(re.search("[{}][a-z]", side) for pair in DRAWN for side in pair)


@pytest.mark.parametrize(
    "name",
    [
        "person",
        "place",
        "brand",
        "small",
        "phone",
        "code",
        "email",
        "url",
        "file",
        "version",
        "software",
        "formula",
        "hashtag",
        "foreign",
        "language",
        "year",
        "emoji",
        "handle",
        "score",
        "acronym",
    ],
)
def test_what_is_copied_is_the_same_on_both_sides(name):
    for seed in range(100):
        english, spanish = FILLINGS[name](Random(seed))
        assert english == spanish and english.strip()


@pytest.mark.parametrize(
    ("name", "english", "spanish"),
    [
        ("money", r"[$£¥€][\d,]+(\.\d\d)?|[\d,]+(\.\d\d)? €", r"[\d.]+(,\d\d)? [$£¥€]"),
        ("number", r"[\d,]+", r"[\d.]+"),
        ("percent", r"\d+(\.\d)?%", r"\d+(,\d)? %"),
        ("decimal", r"\d+\.\d+", r"\d+,\d+"),
        ("degrees", r"-?\d+ ?°[CF]?", r"-?\d+(°| °[CF])"),
    ],
)
def test_amounts_are_written_as_each_language_writes_them(name, english, spanish):
    for seed in range(200):
        filling = FILLINGS[name](Random(seed))
        assert re.fullmatch(english, filling[0]) and re.fullmatch(
            spanish, filling[1]
        ), filling
        assert re.sub(r"\D", "", filling[0]) == re.sub(r"\D", "", filling[1])


def test_four_digits_stand_with_a_separator_and_without_and_more_always_with_it():
    drawn = [
        separated(value, Random(seed))
        for seed in range(60)
        for value in (999, 3_450, 12_500)
    ]
    assert {*drawn} == {
        ("999", "999"),
        ("3,450", "3.450"),
        ("3450", "3450"),
        ("12,500", "12.500"),
    }
    assert 10 < drawn.count(("3450", "3450")) < 30
    assert any(
        re.fullmatch(r"\d{4}(,\d\d)? [$£¥€]", FILLINGS["money"](Random(seed))[1])
        for seed in range(200)
    )


def test_times_after_noon_are_counted_on():
    for seed in range(300):
        english, spanish = FILLINGS["time"](Random(seed))
        hour, minute = map(int, re.findall(r"\d+", english))
        assert spanish == (
            f"{hour + 12}:{minute:02d}" if "p" in english.lower() else english
        )


def test_dates_in_figures_stay_and_months_are_translated():
    for seed in range(300):
        english, spanish = FILLINGS["date"](Random(seed))
        assert english == spanish or re.fullmatch(r"\d+ de [a-z]+( de \d{4})?", spanish)
        assert {*re.findall(r"\d+", english)} == {*re.findall(r"\d+", spanish)}


def test_titles_are_translated_and_the_name_is_kept():
    for seed in range(200):
        english, spanish = FILLINGS["ftitled"](Random(seed))
        assert english.split(" ", 1)[1] == spanish.split(" ", 1)[1]
        assert spanish.split()[0] in {
            "Dra.",
            "Sra.",
            "Srta.",
            "Prof.",
            "profesora",
            "doctora",
            "presidenta",
            "inspectora",
        }


def test_the_command_writes_pairs_that_training_reads(tmp_path, capsys):
    for name in ("one", "two"):
        command = ["data", "copied", "--out", str(tmp_path / name), "--pairs", "50"]
        assert main(command) == 0
    one, two = (tmp_path / name / "copied.tsv.xz" for name in ("one", "two"))
    assert capsys.readouterr().out.split() == [str(one), str(two)]
    assert one.read_bytes() == two.read_bytes() and len(read_pairs(one)) == 50
