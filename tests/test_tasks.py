"""Training language models and classifiers: data, losses, calibration, and whole runs
from the command line."""

import json
import lzma
import math
import random
import shutil

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from research.__main__ import main as research
from tests.test_training import ended, losses, torchrun
from xformer.__main__ import main
from xformer.classifier import (
    ClassifierConfig,
    LanguageModel,
    LanguageModelConfig,
    TransformerClassifier,
)
from xformer.hub import checkpoint
from xformer.pieces import BOS, EOS, UNK
from xformer.results import UserError
from xformer.serve.reviews import SentimentService, encode
from xformer.training import loop, run
from xformer.training.data.reviews import (
    ReviewBatches,
    Windows,
    encode_rows,
    encode_texts,
    learn_vocabulary,
    read_rows,
    share,
)
from xformer.training.options import LanguageModelRun, SentimentRun, TranslationRun
from xformer.training.tasks import (
    LanguageModelTask,
    SentimentTask,
    fit_temperature,
    reliability,
)

CPU = torch.device("cpu")
SHAPE = {
    "d_model": 16,
    "n_heads": 2,
    "n_layers": 1,
    "d_ff": 32,
    "dropout": 0.0,
    "max_length": 32,
}
SMALL = [
    "--d-model", "16", "--n-heads", "2", "--n-layers", "1", "--d-ff", "32",
    "--vocab-size", "60", "--max-length", "32", "--dropout", "0", "--device", "cpu",
    "--threads", "1", "--precision", "bfloat16",
]  # fmt: skip
OFTEN = ["--evaluate-minutes", "0", "--save-minutes", "0", "--warmup", "1"]


@pytest.fixture(scope="module")
def data(tmp_path_factory, reviews, pairs):
    """A folder with everything that training reads: 96 reviews, 48 phrases, 24 texts
    without labels."""
    folder = tmp_path_factory.mktemp("data")

    def lines(rows):
        return "".join(f"{label}\t{text}\n" for label, text in rows).encode()

    (folder / "imdb-train.tsv.xz").write_bytes(lzma.compress(lines(reviews * 8)))
    (folder / "imdb-validation.tsv").write_bytes(lines(reviews))
    (folder / "sst2-train-phrases.tsv").write_bytes(
        lines([(label, text[:-1]) for label, text in reviews] * 4)
    )
    (folder / "sst2-validation.tsv").write_bytes(lines(reviews[:4]))
    (folder / "imdb-unlabelled.txt.xz").write_bytes(
        lzma.compress("\n".join(e for e, _ in pairs).encode() + b"\n")
    )
    return folder


def command(what, data, out, *more):
    return [
        "train",
        what,
        "--data",
        str(data),
        "--out",
        str(out),
        *SMALL,
        *map(str, more),
    ]


def lines(folder):
    return [
        json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]


def state(folder):
    return torch.load(folder / "state.pt", weights_only=True)


def classifier(tokenizer, **more):
    torch.manual_seed(0)
    return TransformerClassifier(
        ClassifierConfig(vocab_size=len(tokenizer), **{**SHAPE, **more})
    ).eval()


# Data


def test_a_text_may_hold_tabs_and_the_last_line_may_be_empty(tmp_path):
    (tmp_path / "rows.tsv").write_text("1\tGood.\tVery.\n0\t Bad. \r\n\n")
    assert read_rows(tmp_path / "rows.tsv") == [(1, "Good.\tVery."), (0, "Bad.")]


def test_a_share_of_the_labels_is_balanced_repeatable_and_nested():
    rows = [(int(i % 4 == 0), f"text {i}") for i in range(1000)]
    tenth = share(rows, 0.1, 3)
    hundredth = share(rows, 0.01, 3)
    assert [len([r for r in tenth if r[0] == label]) for label in (0, 1)] == [50, 50]
    assert [len([r for r in hundredth if r[0] == label]) for label in (0, 1)] == [5, 5]
    assert set(hundredth) < set(tenth) < set(rows)
    assert share(rows, 0.1, 3) == tenth and set(share(rows, 0.1, 4)) != set(tenth)
    assert share(rows, 1.0, 3) == rows


@pytest.mark.parametrize("part", [0, -0.5, 1.5])
def test_a_share_that_is_none_is_refused(part):
    with pytest.raises(ValueError, match="it must be above 0 and at most 1"):
        share([(0, "a"), (1, "b")], part, 0)


def test_a_vocabulary_of_reviews_has_no_capitals(reviews):
    tokenizer = learn_vocabulary([text for _, text in reviews] * 3, 60, 0)
    assert all(
        piece == piece.lower() for piece in tokenizer.pieces(range(4, len(tokenizer)))
    )


@pytest.fixture
def examples():
    """A hundred texts of 3 to 42 pieces."""
    rng = random.Random(0)
    return [(i % 2, np.full(rng.randint(3, 42), 4 + i)) for i in range(100)]


def test_batches_hold_every_example_once_and_keep_their_limits(examples):
    batches = list(
        ReviewBatches([(examples, 1.0)], batch_pieces=120, batch_rows=9).epoch(0)
    )
    assert sorted(int(pieces[0]) for batch in batches for _, pieces in batch) == list(
        range(4, 104)
    )
    for batch in batches:
        longest = max(len(pieces) for _, pieces in batch)
        assert len(batch) <= 9 and len(batch) * longest <= 120
    padding = sum(max(len(p) for _, p in b) - len(p) for b in batches for _, p in b)
    assert padding < 0.1 * sum(len(pieces) for _, pieces in examples)


@pytest.mark.parametrize(
    ("part", "count"), [(0.0, 50), (0.5, 75), (1.0, 100), (2.25, 162)]
)
def test_each_source_has_its_share(examples, part, count):
    batches = list(
        ReviewBatches([(examples[:50], 1.0), (examples[50:], part)]).epoch(0)
    )
    numbers = [int(pieces[0]) - 4 for batch in batches for _, pieces in batch]
    assert len(numbers) == count and sorted(n for n in numbers if n < 50) == list(
        range(50)
    )


def names(batches):
    return [[int(pieces[0]) for _, pieces in batch] for batch in batches]


def test_an_epoch_of_reviews_repeats_with_its_number_and_may_be_gone_on_with(examples):
    data = ReviewBatches([(examples, 0.5)], batch_pieces=120, seed=1)
    first = names(data.epoch(0))
    assert names(data.epoch(0)) == first != names(data.epoch(1))
    assert names(data.epoch(0, skip=3)) == first[3:]
    assert (
        names(ReviewBatches([(examples, 0.5)], batch_pieces=120, seed=2).epoch(0))
        != first
    )


def test_windows_go_through_all_text():
    texts = [np.array([BOS, *range(10 * i, 10 * i + 7), EOS]) for i in range(1, 8)]
    data = Windows(texts, 5, batch_pieces=10)
    batches = [np.stack(batch).tolist() for batch in data.epoch(0)]
    windows = [window for batch in batches for window in batch]
    assert {len(window) for window in windows} == {6} and {
        len(batch) for batch in batches
    } == {2}
    assert all(
        before[-1] == after[0]
        for before, after in zip(windows, windows[1:], strict=False)
    )
    stream = [windows[0][0], *(piece for window in windows for piece in window[1:])]
    assert len(stream) == 61  # of 63
    whole = [stream[i : i + 9] for i in range(0, 54, 9)]
    assert (
        all(text in [t.tolist() for t in texts] for text in whole)
        and len({text[1] for text in whole}) == 6
    )
    assert [np.stack(batch).tolist() for batch in data.epoch(0, skip=1)] == batches[1:]
    assert [np.stack(batch).tolist() for batch in data.epoch(1)] != batches


def test_texts_without_labels_are_not_cut(review_tokenizer):
    (row,) = encode_texts(review_tokenizer, ["The best film.<br />" * 300])
    assert len(row) > 1500 and (row[0], row[-1]) == (BOS, EOS) and UNK not in row


# Losses


@torch.no_grad()
def test_the_loss_of_a_language_model_is_the_cross_entropy_of_the_next_piece(
    review_tokenizer,
):
    torch.manual_seed(0)
    model = LanguageModel(LanguageModelConfig(vocab_size=120, **SHAPE)).eval()
    batch = [np.array([BOS, 10, 11, 12]), np.array([12, 13, EOS, BOS])]
    task = LanguageModelTask(model, review_tokenizer, Windows([], 3), [batch])
    want = 0.0
    for window in batch:
        log_probs = model(torch.tensor([window[:-1].tolist()]))[0].log_softmax(1)
        want -= float(sum(log_probs[i, piece] for i, piece in enumerate(window[1:])))
    assert float(task.loss(model, batch, CPU)) == pytest.approx(want, rel=1e-5)
    assert task.weight(batch) == 6
    scores = task.evaluate()
    assert scores["log_likelihood"] == pytest.approx(-want / 6, abs=1e-4)
    assert scores["perplexity"] == pytest.approx(math.exp(want / 6), rel=1e-3)


@torch.no_grad()
@pytest.mark.parametrize("auxiliary", [0.0, 0.5])
def test_the_loss_of_a_classifier_by_hand(review_tokenizer, reviews, auxiliary):
    """Texts of one length, so that the mean of the batch's pieces is that of each
    text."""
    model = classifier(review_tokenizer, causal=True)
    batch = [
        (label, pieces[:9])
        for label, pieces in encode_rows(review_tokenizer, reviews[:3], 32)
    ]
    task = SentimentTask(model, review_tokenizer, ReviewBatches([]), {}, auxiliary)
    want = 0.0
    for label, pieces in batch:
        tokens = torch.tensor([pieces.tolist()])
        reading = model(tokens)
        want += float(F.cross_entropy(reading.logits, torch.tensor([label])))
        next_piece = model.logits(reading.states)[0, :-1]
        want += auxiliary * float(F.cross_entropy(next_piece, tokens[0, 1:]))
    assert float(task.loss(model, batch, CPU)) == pytest.approx(want, rel=1e-5)
    assert task.weight(batch) == 3


def test_pieces_are_blanked_in_their_share(review_tokenizer, reviews, monkeypatch):
    model = classifier(review_tokenizer)
    seen = []
    batch = encode_rows(review_tokenizer, reviews, 32) * 10
    task = SentimentTask(model, review_tokenizer, ReviewBatches([]), {}, blank=0.25)
    task.loss(lambda tokens: seen.append(tokens) or model(tokens), batch, CPU)
    real = sum(len(pieces) - 2 for _, pieces in batch)
    assert int((seen[0] == UNK).sum()) == pytest.approx(0.25 * real, rel=0.15)
    assert (seen[0][:, 0] == BOS).all() and int((seen[0] == EOS).sum()) == 120


def test_several_processes_may_share_the_auxiliary_loss(review_tokenizer, reviews):
    """DistributedDataParallel sees the shared embeddings used outside of its forward
    pass: the gradient is the same."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        model = classifier(review_tokenizer, causal=True)
        task = SentimentTask(model, review_tokenizer, ReviewBatches([]), {}, 0.5)
        batch = encode_rows(review_tokenizer, reviews, 32)
        want = torch.autograd.grad(
            task.loss(model, batch, CPU), list(model.parameters())
        )
        for _ in range(2):
            model.zero_grad()
            task.loss(DistributedDataParallel(model), batch, CPU).backward()
        for gradient, parameter in zip(want, model.parameters(), strict=True):
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-5)
    finally:
        dist.destroy_process_group()


# Calibration


def test_the_temperature_by_hand():
    """Logits 4 apart, right three times of four: 1 / (1 + e^(-4 / T)) = 3 / 4 at T = 4
    / ln 3."""
    logits = torch.tensor([[0.0, 4.0]] * 4)
    assert fit_temperature(logits, torch.tensor([1, 1, 1, 0])) == pytest.approx(
        4 / math.log(3), rel=1e-4
    )


def test_the_temperature_undoes_what_made_logits_too_sure():
    torch.manual_seed(0)
    logits = torch.randn(20_000, 2) * 2
    labels = torch.multinomial(logits.softmax(1), 1)[:, 0]
    assert fit_temperature(3 * logits, labels) == pytest.approx(3, rel=0.05)


def test_the_temperature_of_a_perfect_model_has_a_floor():
    assert fit_temperature(
        torch.tensor([[0.0, 9.0], [9.0, 0.0]]), torch.tensor([1, 0])
    ) == pytest.approx(0.05)


def test_reliability_by_hand():
    """Four texts at 0.9, half of them right, and one at 0.6 that is: (4 x 0.4 + 1 x
    0.4) / 5."""
    probabilities = torch.tensor([[0.1, 0.9]] * 4 + [[0.6, 0.4]])
    error, bins = reliability(probabilities, torch.tensor([1, 1, 0, 0, 0]))
    assert error == pytest.approx(0.4)
    assert bins == [
        {"count": 1, "confidence": 0.6, "accuracy": 1.0},
        {"count": 4, "confidence": 0.9, "accuracy": 0.5},
    ]


def test_a_score_holds_both_sets_their_mean_and_the_temperature(
    tiny_classifier, reviews, tmp_path
):
    loaded = checkpoint.load(tiny_classifier, TransformerClassifier)
    known = encode_rows(loaded.tokenizer, reviews, 24)
    wrong = [(1 - label, pieces) for label, pieces in known]
    validation = {"imdb": known, "sst2": wrong[:6] + known[6:]}
    task = SentimentTask(loaded.model, loaded.tokenizer, ReviewBatches([]), validation)
    scores = task.evaluate()
    assert scores == {
        "accuracy": 0.75,
        "imdb": 1.0,
        "sst2": 0.5,
        "calibration_error": scores["calibration_error"],
    }
    task.save(tmp_path, {"step": 3})
    again = checkpoint.load(tmp_path, TransformerClassifier)
    assert (
        again.model.config.temperature
        == again.metrics["calibration"]["temperature"]
        > 1
    )
    assert again.metrics["step"] == 3
    assert (
        scores["calibration_error"] < 0.2 < again.metrics["calibration"]["error_before"]
    )
    assert sum(b["count"] for b in again.metrics["calibration"]["bins"]) == 24


# Runs


@pytest.fixture(scope="module")
def pretrained(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("language-model")
    assert (
        main(
            command(
                "language-model", data, out, "--steps", 3, "--batch-pieces", 128, *OFTEN
            )
        )
        == 0
    )
    return out


@pytest.fixture(scope="module")
def tuned(data, pretrained, tmp_path_factory):
    out = tmp_path_factory.mktemp("sentiment")
    assert (
        main(
            command(
                "sentiment",
                data,
                out,
                "--steps",
                4,
                "--from",
                pretrained,
                "--auxiliary",
                0.5,
                *OFTEN,
            )
        )
        == 0
    )
    return out


def test_a_language_model_is_a_checkpoint_with_its_perplexity(pretrained):
    loaded = checkpoint.load(pretrained, LanguageModel)
    assert loaded.model.config == LanguageModelConfig(vocab_size=60, **SHAPE)
    told = lines(pretrained)
    assert [line["step"] for line in told] == [1, 2, 3] and told[0][
        "loss"
    ] == pytest.approx(math.log(60), rel=0.2)
    assert (
        loaded.metrics["perplexity"] == min(line["perplexity"] for line in told) < 110
    )
    assert loaded.tokenizer.encode("THE") == loaded.tokenizer.encode("the")


def test_a_classifier_is_a_checkpoint_with_its_accuracies(tuned):
    loaded = checkpoint.load(tuned, TransformerClassifier)
    assert (loaded.model.config.labels, loaded.model.config.causal) == (
        ("negative", "positive"),
        True,
    )
    best = max(lines(tuned), key=lambda line: line["accuracy"])
    assert {key: loaded.metrics[key] for key in best} == best
    assert best["accuracy"] == pytest.approx(
        (best["imdb"] + best["sst2"]) / 2, abs=1e-4
    )
    assert (
        loaded.metrics["calibration"]["temperature"] == loaded.model.config.temperature
    )
    assert loaded.metrics["options"]["peak"] == 4e-4


@pytest.mark.parametrize("causal", [True, False])
def test_a_classifier_begins_with_the_weights_of_the_language_model(
    data, pretrained, tmp_path, causal
):
    """With a learning rate of 0 they stay as they were."""
    mask = [] if causal else ["--mask", "full"]
    assert (
        main(
            command(
                "sentiment",
                data,
                tmp_path,
                "--steps",
                1,
                "--from",
                pretrained,
                "--peak",
                0,
                *mask,
            )
        )
        == 0
    )
    before = checkpoint.load(pretrained, LanguageModel)
    after = checkpoint.load(tmp_path, TransformerClassifier)
    assert (
        after.tokenizer.model == before.tokenizer.model
        and after.model.config.causal == causal
    )
    kept = after.model.state_dict()
    for name, weight in before.model.state_dict().items():
        assert torch.equal(weight, kept[name]), name


def test_a_classifier_may_begin_with_nothing(data, tmp_path):
    assert (
        main(
            command(
                "sentiment",
                data,
                tmp_path,
                "--steps",
                1,
                "--labels",
                0.25,
                "--pooling",
                "mean",
            )
        )
        == 0
    )
    loaded = checkpoint.load(tmp_path, TransformerClassifier)
    assert (loaded.model.config.causal, loaded.model.config.pooling) == (False, "mean")
    assert loaded.metrics["options"]["peak"] == 1e-3


def test_a_share_of_labels_is_what_is_trained_on(data, tmp_path, capsys):
    assert (
        main(command("sentiment", data, tmp_path, "--steps", 1, "--labels", 0.25)) == 0
    )
    assert "24 reviews and 12 phrases, from step 0" in capsys.readouterr().out


class Stop(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("what", ["language-model", "sentiment"])
def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(
    data, pretrained, tuned, tmp_path, monkeypatch, what
):
    learn = loop.Trainer._learn

    def stop(trainer, batch, done):
        if trainer.step == 2:
            raise Stop
        return learn(trainer, batch, done)

    more = {
        "language-model": ["--steps", 3, "--batch-pieces", 128],
        "sentiment": ["--steps", 4, "--from", pretrained, "--auxiliary", 0.5],
    }[what]
    args = command(what, data, tmp_path, *more, *OFTEN)
    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(loop.Trainer, "_learn", stop)
        main(args)
    assert state(tmp_path)["step"] == 2
    assert main(args) == 0
    whole = {"language-model": pretrained, "sentiment": tuned}[what]
    for name, weight in state(whole)["model"].items():
        assert torch.equal(weight, state(tmp_path)["model"][name]), name
    assert [line["loss"] for line in lines(tmp_path)] == [
        line["loss"] for line in lines(whole)
    ]


@pytest.mark.slow
def test_a_classifier_learns_from_the_command_line(data, tmp_path):
    """A hundred steps, and it knows nearly all reviews by heart."""
    assert (
        main(
            command(
                "sentiment",
                data,
                tmp_path,
                "--steps",
                100,
                "--peak",
                5e-3,
                "--average",
                0.5,
                "--warmup",
                5,
                "--batch-rows",
                24,
            )
        )
        == 0
    )
    assert checkpoint.load(tmp_path, TransformerClassifier).metrics["accuracy"] > 0.9
    assert (
        main(
            [
                "evaluate",
                "sentiment",
                "--rows",
                str(data / "imdb-validation.tsv"),
                "--checkpoint",
                str(tmp_path),
            ]
        )
        == 0
    )


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("what", ["language-model", "sentiment"])
def test_a_dry_run_says_what_a_run_would_take_and_writes_nothing(
    data, tmp_path, capsys, what
):
    assert (
        main(
            command(
                what,
                data,
                tmp_path / "none",
                "--steps",
                30,
                "--batch-pieces",
                128,
                "--dry-run",
            )
        )
        == 0
    )
    said = capsys.readouterr().out
    assert (
        "\nthis run       30 steps, " in said and " pieces a second in bfloat16" in said
    )
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_what_poolings_reach_is_gathered_from_runs(data, tuned, tmp_path, capsys):
    """The lecture's classifier in small: one layer, maximum, both directions."""
    small = tmp_path / "small"
    shown = shutil.copytree(tuned, tmp_path / "shown")
    assert (
        main(
            command(
                "sentiment",
                data,
                small,
                "--steps",
                2,
                "--pooling",
                "max",
                "--mask",
                "full",
                *OFTEN,
            )
        )
        == 0
    )
    capsys.readouterr()
    assert (
        research(
            [
                "evaluate",
                "poolings",
                str(tuned),
                str(small),
                "--checkpoint",
                str(shown),
                "--save",
            ]
        )
        == 0
    )
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in said[1:]] == [
        ["max", "full"],
        ["attention", "causal"],
    ]
    both, causal = SentimentService.open(shown, "cpu").pooling_scores
    metrics = checkpoint.read_metrics(small)
    config = checkpoint.examine(small).config
    assert (
        both.pooling,
        both.causal,
        both.imdb,
        both.sst2,
        both.steps,
        both.layers,
        both.d_model,
    ) == (
        "max",
        False,
        metrics["imdb"],
        metrics["sst2"],
        metrics["step"],
        config.n_layers,
        config.d_model,
    )
    assert causal.pretrained and causal.causal and not both.pretrained
    assert (
        both.parameters
        == checkpoint.load(small, TransformerClassifier).model.parameter_count()
    )
    assert research(["evaluate", "poolings", str(data)]) == 2


# What cannot be done


@pytest.mark.parametrize(
    ("what", "name", "line"),
    [
        ("language-model", "imdb-unlabelled.txt", "a text"),
        (
            "language-model",
            "imdb-validation.tsv",
            "0 (negative) or 1 (positive), a tab, a text",
        ),
        (
            "sentiment",
            "sst2-train-phrases.tsv",
            "0 (negative) or 1 (positive), a tab, a text",
        ),
    ],
)
def test_missing_data_is_named(data, tmp_path, capsys, what, name, line):
    folder = shutil.copytree(data, tmp_path / "data")
    for file in folder.glob(f"{name}*"):
        file.unlink()
    assert main(command(what, folder, tmp_path / "out", "--steps", 1)) == 2
    assert capsys.readouterr().err == (
        f"There is no {name} or {name}.xz in {folder}; make them with “python -m research data sentiment --out "
        f"{folder}”, or write {line} on each line.\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("what", "more", "text"),
    [
        (
            "sentiment",
            ["--auxiliary", 0.5],
            "the auxiliary weight is 0.5, but where pieces see those after them there is",
        ),
        (
            "sentiment",
            ["--blank", 1],
            "--blank is 1.0; it must be a number, at least 0 and below 1",
        ),
        (
            "sentiment",
            ["--phrases", -1],
            "--phrases is -1.0; it must be a number, at least 0 and at most 1,000",
        ),
        (
            "sentiment",
            ["--max-length", 2],
            "--max-length is 2; it must be a whole number, at least 3 and at most 65,536",
        ),
        (
            "sentiment",
            ["--labels", 0],
            "--labels is 0.0; it must be a number, above 0 and at most 1",
        ),
        (
            "sentiment",
            ["--from", "/nowhere"],
            "There is no checkpoint folder at /nowhere",
        ),
        (
            "sentiment",
            ["--n-heads", 3],
            "d_model is 16, which 3 heads cannot share equally",
        ),
        (
            "language-model",
            ["--max-length", 5000],
            "the validation reviews fill no window of 5000 pieces",
        ),
        (
            "language-model",
            ["--vocab-size", 90_000],
            "a vocabulary of 90000 pieces cannot be learned from this text",
        ),
    ],
)
def test_a_wrong_option_is_refused_in_a_sentence(
    data, tmp_path, capsys, what, more, text
):
    assert main(command(what, data, tmp_path, "--steps", 1, *more)) == 2
    *_, error = capsys.readouterr().err.strip().splitlines()
    assert text in error and error.endswith(".")
    assert (
        not (tmp_path / "state.pt").exists()
        and not (tmp_path / "model.safetensors").exists()
    )


def test_a_classifier_cannot_begin_with_a_translation_model(
    data, tiny_checkpoint, tmp_path, capsys
):
    assert (
        main(
            command(
                "sentiment", data, tmp_path, "--steps", 1, "--from", tiny_checkpoint
            )
        )
        == 2
    )
    assert (
        f"The checkpoint {tiny_checkpoint} holds a translation model, but a language model is needed"
        in (capsys.readouterr().err)
    )


def test_a_run_of_another_kind_is_not_gone_on_with(data, pretrained, tmp_path, capsys):
    out = shutil.copytree(pretrained, tmp_path / "out")
    assert main(command("sentiment", data, out, "--steps", 9)) == 2
    assert (
        "holds a language model, but a text classifier is needed"
        in capsys.readouterr().err
    )


def test_rows_are_encoded_as_they_are_read_later(review_tokenizer):
    ((label, pieces),) = encode_rows(
        review_tokenizer, [(1, "It 's the best film<br />of the year .")], 32
    )
    assert (
        label == 1
        and pieces.tolist()
        == encode(review_tokenizer, "It's the best film of the year.", 32)[0]
    )


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "more"),
    [("language-model", ["--batch-pieces", 256]), ("sentiment", ["--batch-rows", 12])],
)
def test_two_processes_learn_what_one_learns(data, tmp_path, what, more):
    asked = [
        *more,
        "--steps",
        3,
        "--evaluate-minutes",
        9,
        "--warmup",
        1,
        "--peak",
        "1e-3",
        "--precision",
        "float32",
    ]
    ((said, status),) = ended(
        torchrun(
            *command(what, data, tmp_path / "two", *asked),
            processes=2,
            module="tests.threads_left",
        )
    )
    assert status == 0 and "2 process(es)" in said, said
    # A thread of gloo's that asks for the interpreter while it ends takes the whole
    # process down; a model that holds the group last waits for a thread that waits for
    # it.
    assert said.count("holders left: 0\n") == 2, said
    assert said.count("threads left:") == 2 and "gloo" not in said, said
    assert main(command(what, data, tmp_path / "one", *asked)) == 0
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)
    for score in ("perplexity", "accuracy", "calibration_error"):
        assert lines(tmp_path / "two")[-1].get(score) == pytest.approx(
            lines(tmp_path / "one")[-1].get(score), abs=0.02
        )


@pytest.mark.parametrize(
    ("train", "options"),
    [
        (run.train_translation, TranslationRun),
        (run.train_language_model, LanguageModelRun),
        (run.train_sentiment, SentimentRun),
    ],
)
def test_only_the_first_process_needs_the_data(tmp_path, monkeypatch, train, options):
    class HasRead(Exception):
        pass

    def begun(_):
        raise HasRead

    monkeypatch.setattr(run, "_begun", begun)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(HasRead):
        train(options(data=tmp_path, out=tmp_path))
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(UserError, match="There is no "):
        train(options(data=tmp_path, out=tmp_path))
