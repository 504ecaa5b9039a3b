"""The study of pre-training, at toy size: what differs between its runs, how it goes
on, and Bayes' rule by hand."""

import json
import math
import os
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from research.__main__ import main
from research.options import PretrainingRuns
from research.studies import pretraining
from xformer.classifier import ClassifierConfig, LanguageModel, LanguageModelConfig
from xformer.explain.recorded import read, read_pretraining
from xformer.pieces import BOS, EOS
from xformer.results import UserError
from xformer.results.reviews import BEGINNINGS, GENERATIVE
from xformer.strings import ENGLISH

TOY = PretrainingRuns(
    steps=2,
    pretraining=2,
    layers=1,
    d_model=8,
    vocabulary=36,
    length=12,
    rows=4,
    precision="float32",
)
GOOD = ("a fine film with warm people", "what a warm story")
BAD = ("a dull film of cold people", "a cold story")
TRAIN = [
    (label, f"{text} {i}")
    for i in range(20)
    for label, text in [*((0, bad) for bad in BAD), *((1, good) for good in GOOD)]
]
TEXTS = [f"{text} seen on day {i}" for i in range(30) for text in (*GOOD, *BAD)]
SHAPE = {
    "vocab_size": 9,
    "d_model": 8,
    "n_heads": 2,
    "n_layers": 1,
    "d_ff": 16,
    "dropout": 0.0,
    "max_length": 12,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def study(folder):
    return pretraining.Study(TOY, TEXTS, TRAIN, TRAIN[:6], folder / "what")


def test_every_run_is_made_once_and_the_same_command_goes_on(
    folder, study, monkeypatch
):
    """Three seeds at a hundredth of the labels, of each way to learn; interrupted after
    two runs."""
    grid = [
        (share, seed, kind) for share, seed, kind in pretraining.GRID if share == 0.01
    ]
    assert {seed for _, seed, _ in grid} == {0, 1, 2} and {
        kind for *_, kind in grid
    } == {*BEGINNINGS, *GENERATIVE}
    monkeypatch.setattr(pretraining, "GRID", grid)
    out = folder / "what.json"
    making = pretraining.record(TOY, TEXTS, TRAIN, TRAIN[:6], out)
    first = [next(making), next(making)]
    making.close()
    assert [*read_pretraining(out).runs] == first
    rest = [*pretraining.record(TOY, TEXTS, TRAIN, TRAIN[:6], out)]
    kept = read_pretraining(out)
    assert [*kept.runs] == [*first, *rest] and [
        (one.share, one.seed, one.kind) for one in kept.runs
    ] == grid
    assert (
        kept.about["all_labels"] == 80
        and kept.about["unlabelled"] == 2 * 4
        and kept.about["held_out"] == 6
    )
    assert all(
        one.labels == 2 and math.isfinite(one.loss) and 0 <= one.accuracy <= 1
        for one in kept.runs
    )
    assert [*pretraining.record(TOY, TEXTS, TRAIN, TRAIN[:6], out)] == [], (
        "all are there"
    )
    with pytest.raises(UserError, match="made with other options"):
        next(pretraining.record(replace(TOY, steps=3), TEXTS, TRAIN, TRAIN[:6], out))


def test_only_the_beginning_differs(study, monkeypatch):
    """Before the first step, classifiers of a seed differ in their embeddings and
    layers alone; those are what the pre-trained model has."""
    monkeypatch.setattr(
        pretraining.Learner,
        "steps",
        lambda self: iter([type("Made", (), {"loss": 1.0})]),
    )
    monkeypatch.setattr(
        pretraining.Learner,
        "__init__",
        lambda self, task, options, device: setattr(
            self, "average", type("None", (), {"swap": lambda self: None})()
        ),
    )
    begun = {
        kind: study.fit("classifier", study.train, 1, 5, kind)[0].state_dict()
        for kind in ("", "language", "autoencoder")
    }
    for name, drawn in begun[""].items():
        for kind in ("language", "autoencoder"):
            learned = study.learned[kind]["weights"].get(name)
            found = begun[kind][name]
            is_learned = name.startswith(("embedding.", "encoder."))
            assert torch.equal(found, learned if is_learned else drawn), (kind, name)
    assert not torch.equal(
        begun[""]["embedding.weight"], begun["language"]["embedding.weight"]
    )


def test_two_language_models_differ_in_more_than_the_beginning_as_the_page_says(
    study, monkeypatch
):
    made = []
    fit = study.fit
    monkeypatch.setattr(
        study, "fit", lambda *what: made.append((what, fit(*what))) or made[-1][1]
    )
    for kind in (*BEGINNINGS, "two"):
        study.run(kind, 0.2, 0)
    weights = [sum(one.numel() for one in model.parameters()) for _, (model, _) in made]
    first = weights[0]
    second, third = weights[-2:]
    assert [kind for (kind, *_), _ in made] == ["classifier"] * 3 + ["language"] * 2
    assert {steps for (_, _, steps, *_), _ in made[:3]} == {TOY.steps} and len(
        {*weights[:3]}
    ) == 1
    assert {steps for (_, _, steps, *_), _ in made[3:]} == {TOY.steps // 2}
    assert second == third and 1.8 < (second + third) / first < 2.2
    text = ENGLISH.texts["shares_text"]
    assert (
        "classifiers differ in what they begin with, and in nothing else. The others are two language models"
        in text
    )
    assert "another loss, twice the weights and half of the steps for each" in text


def test_an_autoencoder_writes_from_one_vector_alone():
    """Texts of the same pieces in another order have other vectors; the same vector is
    written the same, whatever the pieces before: changing a piece changes what is
    written at every place, but through the vector only."""
    torch.manual_seed(0)
    model = pretraining.Autoencoder(
        ClassifierConfig(**SHAPE, pooling="mean", causal=True)
    ).eval()
    text = torch.tensor([[BOS, 5, 6, 7, 8]])
    whole = model(text)
    monkey = torch.randn(1, 8)
    model.pooling.forward = lambda states, real: (monkey, None)
    assert torch.equal(model(text), model(torch.tensor([[BOS, 8, 8, 4, 4]]))), (
        "nothing passes by the vector"
    )
    assert not torch.allclose(whole, model(text))


def test_a_text_is_as_likely_as_its_pieces_together_say():
    torch.manual_seed(0)
    model = LanguageModel(LanguageModelConfig(**SHAPE)).eval()
    rows = [[BOS, 5, 6, EOS], [BOS, 7, EOS]]
    found = pretraining.log_likelihoods(model, [(0, np.array(row)) for row in rows])
    with torch.no_grad():
        for row, value in zip(rows, found, strict=True):
            shares = F.log_softmax(model(torch.tensor([row])), -1)[0]
            by_piece = [float(shares[i, row[i + 1]]) for i in range(len(row) - 1)]
            assert float(value) == pytest.approx(sum(by_piece), abs=1e-4)


def test_bayes_rule_by_hand():
    """P(x | y) of 0.02 and 0.01 with one label three times as often as the other: 0.02
    · 1/4 against 0.01 · 3/4."""
    likelihoods = torch.tensor([[0.02, 0.01], [0.5, 0.0001]]).log()
    found = pretraining.bayes(likelihoods, torch.tensor([10, 30]))
    np.testing.assert_allclose(found[0], [0.02 / 0.05, 0.03 / 0.05], rtol=1e-5)
    np.testing.assert_allclose(found.sum(1), [1, 1])
    assert found.argmax(1).tolist() == [1, 0], "the rarer label needs a likelier text"


def test_the_command_says_what_is_missing_and_what_is_broken(tmp_path, capsys):
    assert (
        main(
            [
                "study",
                "pretraining",
                "--data",
                str(tmp_path),
                "--out",
                str(tmp_path / "x.json"),
            ]
        )
        == 2
    )
    assert (
        "There is no imdb-train.tsv or imdb-train.tsv.xz in" in capsys.readouterr().err
    )
    for text in (
        "",
        "{}",
        json.dumps({"about": {}, "runs": [{"kind": "two"}]}),
        json.dumps(
            {
                "about": {},
                "runs": [
                    {
                        "kind": "two",
                        "share": 1,
                        "seed": 0,
                        "labels": 1,
                        "accuracy": "x",
                        "loss": 0,
                        "seconds": 1,
                    }
                ],
            }
        ),
    ):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(UserError, match=r"x\.json"):
            read_pretraining(tmp_path / "x.json")


@pytest.mark.parametrize("reads", [read, read_pretraining])
@pytest.mark.parametrize(
    "make",
    [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir()],
    ids=["pipe", "device", "folder"],
)
def test_a_file_of_runs_that_is_none_is_not_read(tmp_path, reads, make):
    make(tmp_path / "runs.json")
    with pytest.raises(
        UserError, match=r"The file runs.json .* is missing or broken; make it again"
    ):
        reads(tmp_path / "runs.json")
