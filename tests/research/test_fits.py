"""Fits to held-out pairs, and tables of what ships, on the small models."""

import json
import shutil
from contextlib import closing

import numpy as np
import pytest

from research import fits
from research.__main__ import main
from research.fits import fit, fit_registers
from tests.fixtures import PAIRS
from xformer.__main__ import main as xformer
from xformer.explain.quality import logistic
from xformer.parts.learned import ask as learned
from xformer.results import Force, MemoryScore, Options
from xformer.serve.translation import Service


def lengths(capsys, *argv):
    status = main(["evaluate", "lengths", *map(str, argv)])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def pairs_file(tmp_path, learned_pairs):
    file = tmp_path / "train.tsv"
    file.write_text(
        "".join(f"{english}\t{spanish}\n" for english, spanish in learned_pairs),
        encoding="utf-8",
    )
    return file


@pytest.mark.parametrize("fewest", [1, 2, 100])
def test_scores_by_length_are_those_of_the_sentences_of_that_length(
    capsys, tiny_checkpoint, tokenizer, learned_pairs, pairs_file, monkeypatch, fewest
):
    monkeypatch.setattr(fits, "FEWEST", fewest)
    status, out, _ = lengths(
        capsys,
        "--pairs",
        pairs_file,
        pairs_file,
        "--checkpoint",
        tiny_checkpoint,
        "--train",
        pairs_file,
        "--json",
    )
    found = json.loads(out)
    assert found["trained_on"] == [["train.tsv", len(learned_pairs)]]
    pieces = [len(tokenizer.encode(english)) for english, _ in learned_pairs]
    assert status == 0 and found["sentences"] == 2 * len(learned_pairs), "of both files"
    firsts = [bucket["first"] for bucket in found["buckets"]]
    assert (
        set(firsts) <= set(fits.LENGTHS)
        and firsts[0] == 1
        and (len(firsts) == 1) == (fewest == 100)
    )
    assert [bucket["last"] for bucket in found["buckets"]] == [
        *(first - 1 for first in firsts[1:]),
        None,
    ]
    for bucket in found["buckets"]:
        inside = [n for n in pieces if bucket["first"] <= n <= (bucket["last"] or n)]
        assert bucket["sentences"] == 2 * bucket["training"] == 2 * len(inside)
        assert len(firsts) == 1 or bucket["sentences"] >= fewest, (
            "those of few are joined"
        )
        assert bucket["bleu"] == bucket["chrf"] == 100, (
            "the model knows them all by heart"
        )
    assert sum(bucket["sentences"] for bucket in found["buckets"]) == found["sentences"]


def test_scores_by_length_are_kept_beside_what_else_is_known(
    capsys, tiny_checkpoint, pairs_file, tmp_path
):
    folder = tmp_path / "copy"
    shutil.copytree(tiny_checkpoint, folder)
    before = json.loads((folder / "metrics.json").read_text())
    status, out, _ = lengths(
        capsys, "--pairs", pairs_file, "--checkpoint", folder, "--beam", 1, "--save"
    )
    lines = out.splitlines()
    assert status == 0 and lines[0].split() == [
        "pieces",
        "sentences",
        "BLEU",
        "chrF",
        "trained",
        "on",
    ]
    assert lines[1].split() == ["1+", "8", "100.0", "100.0", "–"]
    assert "8 sentences, beam 1" in lines[-1]
    running = Service.open(folder, "cpu")
    scores = running.length_scores
    running.close()
    assert {key: running.metrics[key] for key in before} == before
    assert (scores[0].first, scores[-1].last, scores[0].bleu, scores[0].training) == (
        1,
        None,
        100,
        None,
    )
    assert sum(score.sentences for score in scores) == 8


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--pairs", "none.tsv"], "There is no file none.tsv"),
        (["--train", "nowhere.tsv"], "There is no file nowhere.tsv"),
    ],
)
def test_what_cannot_be_scored_gets_one_sentence(
    capsys, tiny_checkpoint, pairs_file, flags, said
):
    status, out, err = lengths(
        capsys, "--pairs", pairs_file, "--checkpoint", tiny_checkpoint, *flags
    )
    assert (status, out) == (2, "") and said in err and err.count("\n") == 1


def test_the_bound_marks_less_than_a_share_and_catches_what_is_wrong(
    running, learned_pairs
):
    """Of eight sentences learned by heart and one never seen, the one is the least sure
    and the only wrong one."""
    pairs = [*learned_pairs, ("Zq zq xj vw.", "Nada parecido a esto.")]
    scores = fits.fit_guesses(running, pairs, Options(), share=0.2)
    assert (scores.sentences, scores.marked, scores.wrong, scores.caught) == (
        9,
        1,
        1,
        1,
    )
    assert fits.fit_guesses(running, pairs, Options(), share=0.1).marked == 0


def test_a_model_that_knows_its_pairs_by_heart_is_found_out(
    tiny_checkpoint, learned_pairs, tmp_path, monkeypatch, capsys
):
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    unseen = tmp_path / "dev.tsv"
    seen = tmp_path / "s.tsv"
    others = [
        (english, learned_pairs[i - 1][1])
        for i, (english, _) in enumerate(learned_pairs)
    ]
    unseen.write_text(
        "".join("\t".join(pair) + "\n" for pair in others), encoding="utf-8"
    )
    seen.write_text(
        "".join("\t".join((*pair, "direct")) + "\n" for pair in learned_pairs)
        + "The dog sings.\tNada.\tpivot\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(learned, "FILES", (seen,))
    assert (
        main(
            [
                "evaluate",
                "memory",
                "--pairs",
                str(unseen),
                "--checkpoint",
                str(folder),
                "--device",
                "cpu",
                "--save",
            ]
        )
        == 0
    )
    assert "'same': 8" in capsys.readouterr().out
    kept = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["memory"]
    never, known = (MemoryScore(**one) for one in kept["scores"])
    assert (
        never.seen,
        never.pairs,
        never.same,
        known.seen,
        known.pairs,
        known.same,
    ) == (False, 8, 0, True, 8, 8)
    assert (
        never.reference < -1 < -0.1 < known.reference
        and known.own == never.own
        and kept["beam"] == 5
    )
    with closing(Service.open(folder, "cpu")) as service:
        log_probs = [service.ask(Force(*pair)).log_probs for pair in learned_pairs]
        assert known.reference == pytest.approx(
            np.median([np.mean(one) for one in log_probs]), abs=2e-3
        )


@pytest.fixture
def pairs_files(tmp_path, learned_pairs):
    """Two files of held-out pairs: what the tiny model knows by heart, and what it
    cannot."""
    wrong = [
        (english, "Nada parecido a esto.")
        for english in ("A big dog.", "The house.", "It cost 3.", "I am Tom.")
    ]
    for name, pairs in (("known", learned_pairs), ("wrong", wrong)):
        (tmp_path / f"{name}.tsv").write_text(
            "".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8"
        )
    return [str(tmp_path / name) for name in ("known.tsv", "wrong.tsv")]


def test_the_command_fits_tests_and_keeps(
    capsys, tiny_checkpoint, tmp_path, pairs_files
):
    folder = tmp_path / "copy"
    shutil.copytree(tiny_checkpoint, folder)
    argv = ["--checkpoint", str(folder), "--device", "cpu"]
    assert (
        main(
            ["evaluate", "quality", "--pairs", *pairs_files, "--json", "--save", *argv]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    kept = json.loads((folder / "metrics.json").read_text())["quality"]
    assert kept == {key: found[key] for key in kept} and kept["search"] == [5, 1.0]
    tested = kept["tested"]
    assert [tested[name]["good"] for name in ("known", "wrong")] == [1, 0]
    assert (
        tested["known"]["least"] == tested["known"]["most"] < 0.1
        and tested["wrong"]["least"] == tested["wrong"]["most"] > 0.9
    ), "each is told by a fit to the other"
    assert min(tested[name]["error"] for name in ("known", "wrong")) > 0.9
    assert max(tested[name]["known"] for name in ("known", "wrong")) < 0.5, (
        "but not by one that has others of its kind"
    )
    by_length = [tested[name] for name in tested if name.startswith("from ")]
    assert sum(group["sentences"] for group in by_length) == 12
    assert [*kept["registers"]] == ["known", "wrong"]
    assert kept["registers"]["known"] > kept["registers"]["wrong"]
    few = ["evaluate", "quality", "--pairs", *pairs_files, "--limit", "2", "--json"]
    assert main([*few, *argv]) == 0
    drawn = json.loads(capsys.readouterr().out)["tested"]
    assert [drawn[name]["sentences"] for name in ("known", "wrong")] == [2, 2]
    assert main(["evaluate", "quality", "--pairs", *pairs_files, *argv]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "tested",
        "on",
        "sentences",
        "good",
        "least",
        "most",
        "error",
        "by",
        "chance",
        "ranked",
        "known",
    ]
    assert lines[1].startswith("known")
    assert lines[-1].startswith("beam 5, checkpoint copy ")

    assert xformer(["translate", "The cat sleeps.", "--quality", *argv]) == 0
    sure, translation = capsys.readouterr().out.rstrip("\n").split("\t")
    low, high = map(float, sure.split(" to "))
    assert 0 < low < 0.5 < high <= 1 and translation == "El gato duerme."
    assert xformer(["translate", "The cat sleeps.", "--quality", "--json", *argv]) == 0
    assert json.loads(capsys.readouterr().out)["quality"] == pytest.approx(
        [low, high], abs=0.005
    )
    assert xformer(["translate", "¿Dónde está el coche rojo?", "--quality", *argv]) == 0
    assert capsys.readouterr().out.startswith("unknown\t")


def test_a_set_is_tested_by_a_fit_to_the_others_alone(running, monkeypatch):
    """Of three sets none, half and all are good; what a fit to the other two says of
    each leaves it out."""
    with pytest.raises(ValueError, match="one set is too few"):
        fits.fit_quality(running, {"one": PAIRS[:4]}, Options(n_best=5))
    nearest = fits._nearest
    chrf = iter([[0] * 4, [0, 100, 0, 100], [100] * 4])
    monkeypatch.setattr(
        fits, "_nearest", lambda *given: (nearest(*given)[0], np.array(next(chrf)))
    )
    monkeypatch.setattr(
        fits,
        "fit_registers",
        lambda x, names, good: (
            np.zeros(x.shape[1]),
            {
                name: float(good[np.array(names) == name].mean())
                for name in [*dict.fromkeys(names)]
            },
        ),
    )
    monkeypatch.setattr(
        fits.quality,
        "between",
        lambda weights, added, x: np.array([[min(added)], [max(added)]]).repeat(
            len(x), axis=1
        ),
    )
    sets = {"none": PAIRS[:4], "half": PAIRS[4:8], "all": PAIRS[:4]}
    found = fits.fit_quality(running, sets, Options(n_best=5))
    assert found["registers"] == {"none": 0, "half": 0.5, "all": 1}, (
        "it ships a fit to all"
    )
    rows = {
        name: [found["tested"][name][key] for key in ("good", "least", "most", "error")]
        for name in sets
    }
    assert rows == {
        "none": [0, 0.5, 1, 0.5],
        "half": [0.5, 0, 1, 0],
        "all": [1, 0, 0.5, 0.5],
    }
    # none of four draws of a half is good in 6 of a hundred: the range is missed by 0.5
    assert found["tested"]["none"]["by chance"] == 0.5
    assert [found["tested"][name]["ranked"] for name in sets] == [1, 0.5, 1], (
        "all are said the same of"
    )


def test_the_error_of_a_range_is_the_mean_distance_outside_it_in_ten_bins():
    said = np.array([[0.0, 0.6, 0.6], [0.1, 0.8, 0.9]])
    off = fits._outside(said, np.array([[0, 1, 0], [1, 1, 1]]))
    # bins of 1 and of 2 sentences: 0.5 of 0.6 to 0.85, then all of each
    assert off == pytest.approx([0.2 / 3, (0.9 + 0.3) / 3])
    assert fits._outside(np.ones((2, 1)), np.array([True])) == 0


def test_ranked_counts_pairs_of_a_good_and_a_bad_one_and_ties_half():
    said = np.array([0.9, 0.5, 0.5, 0.1])
    assert fits._ranked(said, np.array([True, True, False, False])) == 3.5 / 4
    assert fits._ranked(said, np.array([False, False, True, True])) == 0.5 / 4
    assert fits._ranked(said[:2], np.array([True, True])) == 1


def test_a_fit_finds_the_weights_that_labels_were_drawn_with():
    draw = np.random.default_rng(0)
    x = np.column_stack([np.ones(20_000), draw.normal(size=(20_000, 2))])
    wanted = np.array([0.5, 2.0, -1.0])
    good = draw.random(len(x)) < logistic(x @ wanted)
    assert fit(x, good) == pytest.approx(wanted, abs=0.06)
    assert np.isfinite(fit(x[:4], x[:4, 1] > 0)).all(), "labels that x tells apart"


def test_registers_share_weights_and_each_adds_its_own():
    draw = np.random.default_rng(0)
    x = draw.normal(size=(30_000, 2))
    added = {"news": -1.0, "talks": 0.0, "everyday": 1.5}
    registers = draw.choice([*added], len(x))
    shift = np.array([added[one] for one in registers])
    good = draw.random(len(x)) < 1 / (1 + np.exp(-(x @ [2.0, -1.0] + shift)))
    weights, found = fit_registers(x, registers, good)
    assert weights == pytest.approx([2, -1], abs=0.1)
    assert found == pytest.approx(added, abs=0.1)
