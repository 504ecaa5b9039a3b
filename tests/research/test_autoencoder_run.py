"""The study of autoencoders, at toy size: what it learns from, how it scores, and how
it goes on."""

import json

import pytest
import torch

from research.__main__ import main
from research.options import AutoencoderRun
from research.studies import autoencoder as study
from xformer.autoencoder import Autoencoder, AutoencoderConfig
from xformer.explain import autoencoders
from xformer.results import UserError

REVIEWS = [
    f"A fine film with {count} warm people. It is dull!<br />Was it? See page {count}."
    for count in ("two", "three", "four", "five", "six")
]
HELD_OUT = ["A fine film with nine cold people. It is dull!"]


@pytest.fixture
def options(tmp_path, tokenizer):
    known = tmp_path / "known.model"
    known.write_bytes(tokenizer.model)
    return AutoencoderRun(
        out=tmp_path / "run",
        vocabulary=known,
        steps=2,
        rows=4,
        length=64,
        layers=1,
        d_model=8,
        d_ff=8,
        held_out=5,
        precision="float32",
    )


def test_it_learns_from_short_plain_sentences_each_once():
    found = study.sentences(
        [*REVIEWS, REVIEWS[0], "one. <b>Two</b> it is. " + "A a" * 9]
    )
    assert found == sorted(
        [
            *(one.split(".")[0] + "." for one in REVIEWS),
            "It is dull!",
            "Was it?",
            *(f"See page {one.split()[4]}." for one in REVIEWS),
        ]
    )


def test_what_comes_back_is_scored_by_the_pieces_that_stay(tokenizer, monkeypatch):
    """Three of four pieces are right in one text, the other is whole."""
    torch.manual_seed(0)
    model = Autoencoder(
        AutoencoderConfig(
            vocab_size=len(tokenizer),
            d_model=8,
            n_heads=4,
            n_layers=1,
            d_ff=8,
            max_length=8,
            widths=(3,),
        )
    ).eval()
    monkeypatch.setattr(model, "write", lambda code: [[5, 6, 7, 9], [5, 6]])
    found = study.scores(model, tokenizer, [[5, 6, 7, 8], [5, 6]], 0.0, 0.0)
    assert found["exact_3"] == 0.5 and found["pieces_3"] == 0.875


def test_a_run_writes_what_the_page_reads_with_its_scores(options):
    first, last = study.record(options, REVIEWS, HELD_OUT)
    assert first == "12 sentences to learn from, 1 held out"
    kept = autoencoders.load(options.out / "model.npz")
    assert kept.metrics["held_out"] == 1 and kept.metrics["texts"] == 12
    assert kept.metrics["step"] == 2 and kept.metrics["options"]["steps"] == 2
    for width in kept.model.config.widths:
        assert {f"exact_{width}", f"noisy_pieces_{width}"} <= {*kept.metrics}
    assert str(kept.model.parameter_count()) in last


def test_the_same_command_goes_on_where_it_was(options):
    list(study.record(options, REVIEWS, HELD_OUT))
    lines = (options.out / "metrics.jsonl").read_text().splitlines()
    list(study.record(options, REVIEWS, HELD_OUT))
    assert (options.out / "metrics.jsonl").read_text().splitlines() == lines
    assert json.loads(lines[-1])["step"] == 2


def test_a_twin_is_given_spoiled_texts_and_learns_whole_ones(
    options, tokenizer, monkeypatch
):
    seen = []
    given = {**vars(options), "drop": 0.5, "delay": 0.5, "hidden": 0.0}
    task = study.AutoencoderTask(
        Autoencoder(
            AutoencoderConfig(
                vocab_size=len(tokenizer), d_model=8, n_heads=4, n_layers=1, d_ff=8,
                max_length=24,
            )
        ),
        tokenizer, [], [], AutoencoderRun(**given), options.out,
    )  # fmt: skip
    encode = task.model.encode
    monkeypatch.setattr(
        task.model,
        "encode",
        lambda tokens, width: seen.append(tokens.tolist()) or encode(tokens, width),
    )
    batch = [(0, torch.tensor([2, *range(5, 15), 3]).numpy())]
    assert task.loss(task.model, batch, torch.device("cpu")).isfinite()
    [[row]] = seen
    assert row[0] == 2 and row[-1] == 3 and 3 <= len(row) < 12
    assert {*row} <= {2, 3, *range(5, 15)}


def test_the_command_names_the_file_that_it_lacks(tmp_path, capsys):
    wanted = ["--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(["study", "autoencoder", *wanted]) == 2
    assert "imdb-train" in capsys.readouterr().err


def test_without_a_sentence_to_score_it_does_not_begin(options):
    with pytest.raises(UserError, match="held out"):
        list(study.record(options, REVIEWS, ["It is dull!"]))
