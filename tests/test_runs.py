"""The study of short runs, at toy size: what it records, and how it goes on."""

from dataclasses import replace

import pytest
import torch

from tests.conftest import PAIRS
from xformer.__main__ import main
from xformer.explain import recorded as courses
from xformer.pieces import EOS
from xformer.results import UserError
from xformer.training.options import DivergenceRuns
from xformer.training.studies import divergence
from xformer.training.tasks import guess

TOY = DivergenceRuns(steps=4, layers=1, d_model=8, vocabulary=90, dev=3, scored=2, batch_tokens=60)
CPU = torch.device("cpu")


def test_guessing_by_frequency_costs_the_entropy_of_the_pieces():
    assert guess([[5], [6], [5], [6]], 10, 0.0) == pytest.approx(1.5 * 0.6931, abs=1e-3)
    assert guess([[5, 5, 5]], 10, 0.1) > guess([[5, 5, 5]], 10, 0.0)
    assert EOS not in (5, 6)


def test_short_pairs_are_short_on_both_sides():
    pairs = [("a b", "a b"), ("a b c", "a"), ("a", "a b c d e"), ("b", "c")]
    assert divergence.short(pairs, 2, 9) == [("a b", "a b"), ("b", "c")] and len(divergence.short(pairs, 2, 1)) == 1


@pytest.mark.slow
def test_every_run_is_recorded_and_a_run_that_was_cut_off_is_made_again(tmp_path, monkeypatch):
    out = tmp_path / "runs.json"
    monkeypatch.setattr(divergence, "GRID", divergence.GRID[:3])
    making = divergence.record(TOY, PAIRS, PAIRS, out, CPU)
    first = next(making)
    making.close()
    assert first.ended == "cut" and [one.ended for one in courses.read(out).courses] == ["cut"]
    made = [*divergence.record(TOY, PAIRS, PAIRS, out, CPU)]
    kept = courses.read(out)
    assert [one.ended for one in kept.courses] == ["finished"] * 3 and kept.about["layers"] == 1
    assert [(one.settings.norm, one.settings.warmup) for one in kept.courses] == [("post", 0), ("pre", 0),
                                                                                ("post", 400)]
    assert [*divergence.record(TOY, PAIRS, PAIRS, out, CPU)] == [], "all are there"
    last = made[-1]
    assert last.step == (1, 2, 3, 4) and [step for step, _, _ in last.scores] == [2, 4]
    assert last.rate[0] == pytest.approx(last.settings.peak / 400, rel=1e-3), "the first step of the warm-up"
    with pytest.raises(UserError, match="made with other options"):
        next(divergence.record(replace(TOY, steps=5), PAIRS, PAIRS, out, CPU))


def test_without_short_pairs_nothing_can_be_studied(tmp_path):
    with pytest.raises(UserError, match="no pair of at most 5 English words"):
        next(divergence.record(TOY, [("a " * 9, "b")], PAIRS, tmp_path / "x.json", CPU))


def test_the_command_says_what_is_missing(tmp_path, capsys):
    assert main(["study", "divergence", "--data", str(tmp_path), "--out", str(tmp_path / "x.json")]) == 2
    assert "There is no train.tsv or train.tsv.xz in" in capsys.readouterr().err
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text("one two three four five six\tuno\n")
    assert main(["study", "divergence", "--data", str(tmp_path), "--out", str(tmp_path / "x.json")]) == 2
    assert "no pair of at most 5 English words" in capsys.readouterr().err
