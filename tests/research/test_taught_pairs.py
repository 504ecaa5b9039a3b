"""What was written for the page's sentences, looked for again in the training pairs."""

import json
import lzma
import re
from dataclasses import replace

import numpy as np
import pytest

from research import taught
from research.__main__ import main
from tests.harness import ROOT
from xformer.figures.taught import PATH
from xformer.figures.taught import taught as kept
from xformer.parts.learned import ask as learned

DEV = ROOT.parent / "shared" / "data" / "translation" / "dev.tsv"
FILES = {
    "learned": "The cat sleeps.\tEl gato duerme.\tdirect\n",
    "written": "The big cat sleeps.\tEl gato grande duerme.\twritten\n"
    "the cat\tel gato\tentry\n",
    "words": "".join(
        f"She wore curlers {day}.\tLlevaba rulos {day}.\twritten\n"
        for day in ("today", "yesterday", "often", "again")
    ),
    "prose": "It is the end.\tEs el final.\twritten\n",
    "texts": "The dogs sleep.\tLos perros duermen.\twritten\n",
}


@pytest.fixture
def few(monkeypatch, tmp_path):
    """Few pairs in place of those that ship, and a bound of one half for all."""
    paths = []
    for name, text in FILES.items():
        paths.append(tmp_path / f"{name}.tsv.xz")
        paths[-1].write_bytes(lzma.compress(text.encode()))
    monkeypatch.setattr(taught, "FILES", tuple(paths))
    monkeypatch.setattr(taught, "FOR_WORDS", paths[2])
    monkeypatch.setattr(
        taught, "known", lambda side: memoryview("".join(FILES.values()).encode())
    )
    return taught.Files("en"), [
        taught.Bound("en", kind, 1_000, 0.5, 100) for kind in taught.KINDS
    ]


def test_only_what_was_written_here_counts_as_near(few):
    files, bounds = few
    found = files.taught("The cat sleeps.", bounds)
    assert found.seen and found.source != "The cat sleeps."
    index = files.index
    rows = [index.lines(i, i + 1)[0] for i in range(len(index.ends))]
    similar = dict(
        zip(map(str, rows), index.similarities("The cat sleeps."), strict=True)
    )
    written = {row: value for row, value in similar.items() if "direct" not in row}
    assert found.nearness == pytest.approx(max(written.values()), abs=1e-3)
    assert found.near == sum(
        value >= 0.5
        for row, value in written.items()
        if ("entry" in row) == (found.origin == "entry")
    )
    assert found.is_near and not found.words
    far = files.taught("Nobody knows.", bounds)
    assert (far.near, far.seen, far.aimed_at) == (0, False, False)
    entry = files.taught("the CAT", bounds)
    assert (entry.origin, entry.nearness, entry.seen) == ("entry", 1.0, True)


def test_a_word_that_others_seldom_have_was_aimed_at(few):
    files, bounds = few
    assert files.taught("Mary has Curlers.", bounds).words == ("Curlers",)
    assert files.aimed("She wore a big cat today.") == ["She", "wore"]


def test_a_bound_is_above_all_but_one_in_twenty(few, monkeypatch):
    files, _ = few
    monkeypatch.setattr(taught, "LENGTHS", (4, 1_000))
    texts = [
        *("The cat sleeps.", "The big cat sleeps.", "a dog", "nothing here"),
        "The big cat sleeps and the dogs sleep.",
    ]
    found = files.bounds(texts)
    assert [(one.origin, one.words, one.of) for one in found] == [
        (kind, words, of) for kind in taught.KINDS for words, of in ((4, 4), (1_000, 1))
    ]
    nearest = [
        float((files.index.similarities(text) * files.rows["written"]).max())
        for text in texts[:4]
    ]
    assert found[0].bound == pytest.approx(np.quantile(nearest, 0.95), abs=1e-3)
    with pytest.raises(ValueError, match="no sentence of 5 to 1000 words"):
        files.bounds(texts[:4])


def test_the_command_keeps_the_bounds_and_writes_what_it_found(
    few, monkeypatch, tmp_path, capsys
):
    path = tmp_path / "taught.json"
    monkeypatch.setattr(taught, "PATH", path)
    monkeypatch.setattr(
        taught, "offered", lambda: [taught.Offered("en", "Mary has curlers.")]
    )
    monkeypatch.setattr(taught.write, "__defaults__", (path,))
    assert main(["taught"]) == 0
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["bounds"] == json.loads(PATH.read_text(encoding="utf-8"))["bounds"]
    (row,) = found["sentences"]
    assert row["words"] == ["curlers"] and "1 sentences, 1 of them" in (
        capsys.readouterr().out
    )


@pytest.mark.full
@pytest.mark.parametrize("reads", taught.READS)
def test_what_ships_is_what_the_training_pairs_that_ship_say(reads):
    """A sample, the opening sentence among it; and the bounds, on a sample of dev where
    that is at hand."""
    files = taught.Files(reads)
    bounds = taught.kept(reads)
    rows = [one for one in kept().values() if one.reads == reads]
    for one in [*rows[::9], *(row for row in rows if row.aimed_at)]:
        found = files.taught(one.text, bounds)
        assert found == replace(one, nearness=pytest.approx(one.nearness, abs=2e-3))
        assert files.index.nearest(one.text, 1).same == one.seen
    card = (ROOT / "research" / "taught.py").read_text(encoding="utf-8")
    said = {float(one) for one in re.findall(r"0\.\d{3}", card)}
    assert {one.bound for one in bounds} <= said
    assert learned.SIDES[(reads, {"en": "es", "es": "en"}[reads])] == files.side
    if not DEV.is_file():
        pytest.skip(f"the held-out pairs are not at {DEV}")
    lines = DEV.read_text(encoding="utf-8").splitlines()
    texts = sorted({line.split("\t")[files.side] for line in lines})[::8]
    near = [files.taught(text, bounds).is_near for text in texts]
    assert 0.05 < np.mean(near) < 0.15
