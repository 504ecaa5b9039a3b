"""Pairs of kinds of text, by which it is fitted how far a translation can be trusted."""

import pytest

from research.__main__ import main
from research.data.registers import KINDS
from xformer.training.data.corpora import read_pairs


def corpus(folder, rows):
    text = "".join("\t".join(row) + "\n" for row in rows)
    (folder / "extra.tsv").write_text(text, encoding="utf-8")


def test_each_kind_has_distinct_sources_of_its_own_origins(tmp_path, capsys):
    rows = [
        (f"One pair {number % 400} of {name}.", f"Uno {number}.", origins[-1] + "x")
        for name, (_, origins) in KINDS.items()
        for number in range(800)
    ]
    corpus(tmp_path, [*rows, ("Too short.", "Muy corto.", "europarl")])
    command = ["data", "registers", "--data", str(tmp_path), "--out", str(tmp_path)]
    main(command)
    said = capsys.readouterr().out
    first = {}
    for name, (count, _) in KINDS.items():
        pairs = read_pairs(tmp_path / f"{name}.tsv")
        assert len({english for english, _ in pairs}) == len(pairs) == count
        assert all(f"of {name}." in english for english, _ in pairs)
        assert f"{name}.tsv: {count:,} pairs" in said
        first[name] = pairs
    main(command)
    assert {name: read_pairs(tmp_path / f"{name}.tsv") for name in KINDS} == first


@pytest.mark.parametrize(
    ("rows", "said"),
    [(None, "neither extra.tsv nor"), ([("a b c", "d", "gnome")], "pair of speeches")],
)
def test_data_without_a_kind_is_refused_in_a_sentence(tmp_path, capsys, rows, said):
    if rows:
        corpus(tmp_path, rows)
    assert main(["data", "registers", "--data", str(tmp_path), "--out", str(tmp_path)])
    assert said in capsys.readouterr().err
