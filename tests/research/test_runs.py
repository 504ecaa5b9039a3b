"""The study of short runs, at toy size: what it records, and how it goes on."""

from dataclasses import replace

import pytest
import torch

from research.__main__ import main
from research.options import StudyRuns
from research.studies import runs
from tests.fixtures import PAIRS
from xformer.explain import recorded as courses
from xformer.pieces import EOS
from xformer.results import UserError
from xformer.training.options import LARGEST_SEED
from xformer.training.tasks import guess

TOY = StudyRuns(
    steps=4, layers=1, d_model=8, vocabulary=90, dev=3, scored=2, batch_tokens=60
)
CPU = torch.device("cpu")
# Of seed 0: the run that breaks, one with few pairs, one without a part. Of seed 1: the
# first of them.
ASKED = [
    [
        courses.RISING,
        replace(courses.WHOLE, pairs=3),
        replace(courses.WHOLE, without="residual"),
    ],
    [replace(courses.RISING, seed=1)],
]


def test_guessing_by_frequency_costs_the_entropy_of_the_pieces():
    assert guess([[5], [6], [5], [6]], 10, 0.0) == pytest.approx(1.5 * 0.6931, abs=1e-3)
    assert guess([[5, 5, 5]], 10, 0.1) > guess([[5, 5, 5]], 10, 0.0)
    assert EOS not in (5, 6)


def test_short_pairs_are_short_on_both_sides():
    pairs = [("a b", "a b"), ("a b c", "a"), ("a", "a b c d e"), ("b", "c")]
    assert (
        runs.short(pairs, 2, 9) == [("a b", "a b"), ("b", "c")]
        and len(runs.short(pairs, 2, 1)) == 1
    )


@pytest.mark.slow
def test_every_run_is_recorded_and_a_run_that_was_cut_off_is_made_again(
    tmp_path, monkeypatch
):
    out = tmp_path / "runs.json"
    monkeypatch.setattr(runs, "of_seed", lambda seed, only: ASKED[seed])
    making = runs.record(TOY, PAIRS, PAIRS, out, CPU)
    first = next(making)
    making.close()
    assert first.ended == "cut" and [
        one.ended for one in courses.read(out).courses
    ] == ["cut"]
    made = [*runs.record(TOY, PAIRS, PAIRS, out, CPU)]
    kept = courses.read(out)
    assert [one.ended for one in kept.courses] == ["finished"] * 3 and kept.about[
        "layers"
    ] == 1
    assert [courses.kind_of(one) for one in kept.courses] == ASKED[0]
    assert [one.settings.layers for one in kept.courses] == [1] * 3
    assert [*runs.record(TOY, PAIRS, PAIRS, out, CPU)] == [], "all are there"
    last = made[-1]
    assert last.step == (1, 2, 3, 4) and [step for step, _, _ in last.scores] == [2, 4]
    assert last.rate[0] == pytest.approx(last.settings.peak / 200, rel=1e-3), (
        "the first step of the warm-up"
    )
    assert len(last.held_out) == 2 and [len(norms) for norms in last.depths] == [2, 2]
    assert len(last.by_length) == 3 and kept.about["held_out"] == "unsmoothed"
    assert last.depths[0] != last.depths[1] and all(
        norm > 0 for norms in last.depths for norm in norms
    )
    assert [*runs.record(replace(TOY, seed=1), PAIRS, PAIRS, out, CPU)], (
        "those of another seed stand beside them"
    )
    assert [one.settings.seed for one in courses.read(out).courses] == [0, 0, 0, 1]
    for other, device, said in (
        (replace(TOY, steps=5), CPU, r"other options \(steps 4, not 5\)"),
        (TOY, torch.device("cuda"), r"other options \(device cpu, not cuda\)"),
    ):
        with pytest.raises(UserError, match=said):
            next(runs.record(other, PAIRS, PAIRS, out, device))


@pytest.mark.slow
def test_a_seed_is_added_to_a_file_that_does_not_say_all(tmp_path, monkeypatch):
    out = tmp_path / "runs.json"
    monkeypatch.setattr(
        runs, "of_seed", lambda seed, only: [replace(courses.WHOLE, seed=seed)]
    )
    one_seed = replace(TOY, scored=1)

    def told(seed):
        *_, last = runs.record(replace(one_seed, seed=seed), PAIRS, PAIRS, out, CPU)
        return last.held_out

    unsmoothed = told(0)
    kept = courses.read(out)
    about = {key: kept.about[key] for key in kept.about if key not in runs.THEN}
    out.write_text(courses.to_json({**about, "machine": "Z80"}, []))
    smoothed = told(0)
    told(1)
    kept = courses.read(out)
    assert smoothed != unsmoothed and kept.about == {
        **about,
        **runs.THEN,
        "machine": f"Z80, {about['machine']}",
    }
    assert [one.settings.seed for one in kept.courses] == [0, 1]


def test_no_seed_passes_the_largest():
    StudyRuns(seed=LARGEST_SEED - 1, seeds=2)
    with pytest.raises(
        ValueError, match=f"with --seeds 3 .* at most {LARGEST_SEED - 2}"
    ):
        StudyRuns(seed=LARGEST_SEED - 1, seeds=3)


def test_one_question_is_asked_of_every_seed_in_turn():
    parts = courses.QUESTIONS["parts"]
    asked = [one for seed in (3, 4) for one in runs.of_seed(seed, "parts")]
    assert [one.seed for one in asked] == [3] * len(parts) + [4] * len(parts)
    assert [replace(one, seed=0) for one in asked[: len(parts)]] == [*parts]
    assert not {one.without for one in runs.of_seed(1)} - {"", "before"}


def test_bleu_is_told_by_the_length_of_the_english():
    dev = [("a " * 5, "uno dos tres cuatro"), ("a " * 10, "cinco seis siete ocho")]
    said = ["uno dos tres cuatro", "cinco seis otra cosa"]
    short, between, long = runs.by_length(dev, said)
    assert short == 100 and between == 0 and 0 < long < 100


def test_without_short_pairs_nothing_can_be_studied(tmp_path):
    with pytest.raises(UserError, match="no pair of at most 5 English words"):
        next(runs.record(TOY, [("a " * 9, "b")], PAIRS, tmp_path / "x.json", CPU))


def test_the_command_says_what_is_missing(tmp_path, capsys):
    assert (
        main(
            [
                "study",
                "runs",
                "--data",
                str(tmp_path),
                "--out",
                str(tmp_path / "x.json"),
            ]
        )
        == 2
    )
    assert "There is no train.tsv or train.tsv.xz in" in capsys.readouterr().err
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text("one two three four five six\tuno\n")
    assert (
        main(
            [
                "study",
                "runs",
                "--data",
                str(tmp_path),
                "--out",
                str(tmp_path / "x.json"),
            ]
        )
        == 2
    )
    assert "no pair of at most 5 English words" in capsys.readouterr().err
