"""Fits to held-out pairs, and tables of what ships, on the small models."""

import json
import shutil
from contextlib import closing

import numpy as np
import pytest

from research import fits
from research.__main__ import main
from tests.conftest import PAIRS
from xformer.__main__ import main as xformer
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
        pairs_file.parent,
        "--json",
    )
    found = json.loads(out)
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
        (["--train", "nowhere"], "There is no train.tsv or train.tsv.xz in nowhere"),
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
    assert (
        tested["all"]["sentences"],
        tested["known"]["good"],
        tested["wrong"]["good"],
    ) == (12, 1, 0)
    assert tested["known"]["said"] > tested["wrong"]["said"]
    assert (
        sum(
            group["sentences"]
            for name, group in tested.items()
            if name.startswith("from ")
        )
        == 12
    )
    assert main(["evaluate", "quality", "--pairs", *pairs_files, *argv]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "tested",
        "on",
        "sentences",
        "good",
        "said",
        "error",
        "by",
        "chance",
    ]
    assert lines[2].startswith("known")
    assert lines[-1].startswith("beam 5, checkpoint copy ")

    assert xformer(["translate", "The cat sleeps.", "--quality", *argv]) == 0
    sure, translation = capsys.readouterr().out.rstrip("\n").split("\t")
    assert 0.5 < float(sure) <= 1 and translation == "El gato duerme."
    assert xformer(["translate", "The cat sleeps.", "--quality", "--json", *argv]) == 0
    assert json.loads(capsys.readouterr().out)["quality"] == pytest.approx(
        float(sure), abs=0.005
    )
    assert xformer(["translate", "¿Dónde está el coche rojo?", "--quality", *argv]) == 0
    assert capsys.readouterr().out.startswith("unknown\t")


def test_a_sentence_is_tested_by_a_fit_that_has_not_seen_it(running, monkeypatch):
    """Two of six are good, and of each is said which share of the other five is: of the
    good 1 of 5, else 2 of 5."""
    with pytest.raises(ValueError, match="one sentence is too few"):
        fits.fit_quality(running, {"one": PAIRS[:1]}, Options(n_best=5))
    nearest = fits._nearest
    monkeypatch.setattr(
        fits,
        "_nearest",
        lambda *given: (nearest(*given)[0], 100 * np.array([0, 0, 0, 1, 1, 0])),
    )
    monkeypatch.setattr(fits.quality, "fit", lambda x, good: good[:, None].mean(0))
    monkeypatch.setattr(
        fits.quality, "estimate", lambda weights, x: weights.repeat(len(x))
    )
    found = fits.fit_quality(running, {"six": PAIRS[:6]}, Options(n_best=5))
    assert found["weights"] == [0.3333], "what ships has seen all"
    tested = found["tested"]["six"]
    assert {**tested, "by chance": 0} == {
        "sentences": 6,
        "good": 0.333,
        "said": 0.333,
        "error": 0.533,
        "by chance": 0,
    }
    # Two draws of 0.2 and four of 0.4 are (0.6 + 1.6) / 6 off or more in 91 of a
    # thousand, more than that in 36.
    assert tested["by chance"] == 0.367


def test_the_calibration_error_is_the_mean_distance_in_ten_bins():
    said = np.array([0.05, 0.75, 0.75])
    off = fits._apart(said, np.array([[0, 1, 0], [1, 1, 1]]))
    assert off == pytest.approx([(0.05 + 0.5) / 3, (0.95 + 0.5) / 3])
    assert fits._apart(np.array([1.0]), np.array([True])) == 0
