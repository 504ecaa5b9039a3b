"""The runs of the four generations, with small models and with made-up scores."""

import json

import pytest

from research.options import GenerationRuns
from research.studies import generations as training
from tests.fixtures import PAIRS
from xformer.hub import checkpoint


@pytest.mark.full
def test_a_study_tries_the_rates_keeps_the_best_and_goes_on_where_it_was(
    tmp_path, tiny_checkpoint, monkeypatch
):
    shape = {"norm": "post", "d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16}
    monkeypatch.setitem(training.SHAPES, "post-norm", shape)
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text(
            "".join(f"{english}\t{spanish}\n" for english, spanish in PAIRS)
        )
    study = GenerationRuns(
        tmp_path,
        tmp_path / "runs",
        str(tiny_checkpoint),
        only="post-norm",
        rates=(1e-9, 1e-2),
        trial_pieces=200,
        pieces=300,
        batch_tokens=100,
        warmup=1,
        precision="float32",
    )
    lines = training.record(study)
    assert next(lines).startswith("post-norm, rate 1e-09")
    lines.close()
    began = (tmp_path / "runs/post-norm-1e-09/state.pt").stat().st_mtime_ns
    assert [line.split(":")[0] for line in training.record(study)] == [
        "post-norm, rate 1e-09",
        "post-norm, rate 0.01",
        "post-norm, rate 0.01, seed 1",
        "post-norm, rate 0.01, seed 2",
    ]
    assert (tmp_path / "runs/post-norm-1e-09/state.pt").stat().st_mtime_ns == began, (
        "it was whole already"
    )
    one, two = (
        checkpoint.read_metrics(tmp_path / f"runs/post-norm-0.01-seed{seed}")
        for seed in (1, 2)
    )
    assert one["study"] == two["study"] and [
        rate["rate"] for rate in one["study"]["rates"]
    ] == [1e-9, 1e-2]
    assert one["study"]["rates"][0]["dev_loss"] > one["study"]["rates"][1]["dev_loss"]
    assert (
        [seed["seed"] for seed in one["study"]["seeds"]]
        == [of["options"]["seed"] for of in (one, two)]
        == [1, 2]
    )


def test_a_rate_that_a_long_run_does_not_bear_gives_way_to_the_next_lower_one(
    tmp_path, monkeypatch
):
    """Best in the short runs, the highest rate ends a long one no lower; each long run
    goes on with one rate alone."""
    losses = {
        "1e-4": 4.0,
        "1e-3": 3.5,
        "1e-2": 3.4,
        "1e-2-seed1": 3.4,
        "1e-3-seed1": 3.0,
        "1e-3-seed2": 3.1,
    }
    losses = {
        f"gru-{float(name[:4]):g}{name[4:]}": loss for name, loss in losses.items()
    }

    def train(run):
        run.out.mkdir(parents=True)
        (run.out / "metrics.json").write_text("{}")
        (run.out / "metrics.jsonl").write_text(
            json.dumps({"bleu": 1.0, "dev_loss": losses[run.out.name]})
        )

    monkeypatch.setattr(training, "train_translation", train)
    study = GenerationRuns(
        tmp_path, tmp_path, "one", only="gru", rates=(1e-4, 1e-3, 1e-2)
    )
    assert [line.split(":")[0] for line in training.record(study)][3:] == [
        "gru, rate 0.01, seed 1",
        "gru, rate 0.001, seed 1",
        "gru, rate 0.001, seed 2",
    ]
    assert checkpoint.read_metrics(tmp_path / "gru-0.01-seed1") == {}
    assert [
        seed["dev_loss"]
        for seed in checkpoint.read_metrics(tmp_path / "gru-0.001-seed2")["study"][
            "seeds"
        ]
    ] == [3.0, 3.1]
