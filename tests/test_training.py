"""Training a translation model: its loss, its scores, and whole runs from the command
line, in one process and two."""

import json
import lzma
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import xformer
from tests.harness import free_port, wait_until
from xformer.__main__ import main
from xformer.explain import film
from xformer.hub import checkpoint
from xformer.hub.recorded import read_history, read_moments
from xformer.model import Config, Transformer
from xformer.pieces import BOS, EOS, PAD
from xformer.results import UserError
from xformer.training import loop
from xformer.training.data.corpora import Packer, Roughening, TranslationBatches
from xformer.training.options import (
    BatchOptions,
    LanguageModelRun,
    SentimentRun,
    TrainingOptions,
    TranslationRun,
)
from xformer.training.run import train_translation
from xformer.training.tasks import (
    SmoothedCrossEntropy,
    TranslationTask,
    learn_vocabulary,
)

CPU = torch.device("cpu")
SMALL = [
    "--d-model",
    "16",
    "--n-heads",
    "2",
    "--n-layers",
    "1",
    "--d-ff",
    "32",
    "--vocab-size",
    "150",
]
STEADY = [
    "--dropout", "0", "--sampled", "0", "--names", "0", "--no-roughening", "--device",
    "cpu", "--threads", "1", "--precision", "bfloat16",
]  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory, pairs):
    """A folder of 144 pairs to train on (sentences and their halves), and 4 of them to
    be scored on."""
    folder = tmp_path_factory.mktemp("data")
    rng = random.Random(0)
    train = [pair for pair in pairs for _ in range(6)]
    rng.shuffle(train)
    for name, rows in (("train", train), ("dev", pairs[:4])):
        (folder / f"{name}.tsv").write_text(
            "".join(f"{e}\t{s}\n" for e, s in rows), encoding="utf-8"
        )
    return folder


def command(data, out, *more):
    return [
        "train",
        "translation",
        "--data",
        str(data),
        "--out",
        str(out),
        *SMALL,
        *STEADY,
        *map(str, more),
    ]


def lines(folder):
    return [
        json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]


def state(folder):
    return torch.load(folder / "state.pt", weights_only=True)


def task(model, tokenizer, pairs, dev=(), smoothing=0.1):
    batches = TranslationBatches(
        tokenizer,
        pairs,
        options=BatchOptions(batch_tokens=200, names=0.0, sampled=0.0),
        roughening=Roughening(*[0.0] * 7),
    )
    return TranslationTask(model, tokenizer, batches, dev, smoothing)


# Loss


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_smoothed_cross_entropy_equals_torchs(smoothing):
    generator = torch.Generator().manual_seed(0)
    logits = (4 * torch.randn(40, 30, generator=generator)).requires_grad_()
    wanted = torch.randint(1, 30, (40,), generator=generator)
    wanted[::4] = PAD
    theirs = F.cross_entropy(
        logits, wanted, ignore_index=PAD, reduction="sum", label_smoothing=smoothing
    )
    ours = SmoothedCrossEntropy.apply(logits, wanted, smoothing)
    torch.testing.assert_close(ours, theirs)
    (want,), (got,) = (
        torch.autograd.grad(loss * 0.7, logits, retain_graph=True)
        for loss in (theirs, ours)
    )
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
    assert (got[::4] == 0).all() and (got[1::4] != 0).all()


def test_smoothed_cross_entropy_of_huge_logits_is_finite():
    logits = torch.tensor([[1e4, -1e4, 0.0], [0.0, 1e4, 1e4]], requires_grad=True)
    loss = SmoothedCrossEntropy.apply(logits, torch.tensor([1, 2]), 0.1)
    torch.testing.assert_close(
        loss,
        F.cross_entropy(
            logits, torch.tensor([1, 2]), reduction="sum", label_smoothing=0.1
        ),
    )
    loss.backward()
    assert logits.grad.isfinite().all()


def test_smoothed_cross_entropy_in_bfloat16_is_near():
    """A bfloat16 has 8 bits, so a gradient is off by up to 1/256 of itself; the sums
    are made in full precision."""
    generator = torch.Generator().manual_seed(0)
    logits = (4 * torch.randn(40, 30, generator=generator)).bfloat16().requires_grad_()
    wanted = torch.randint(1, 30, (40,), generator=generator)
    exact = logits.detach().float().requires_grad_()
    theirs = F.cross_entropy(exact, wanted, reduction="sum", label_smoothing=0.1)
    ours = SmoothedCrossEntropy.apply(logits, wanted, 0.1)
    theirs.backward()
    ours.backward()
    assert ours.dtype == torch.float32 and logits.grad.dtype == torch.bfloat16
    assert float(ours.detach()) == pytest.approx(float(theirs.detach()), rel=1e-5)
    torch.testing.assert_close(logits.grad.float(), exact.grad, rtol=1 / 256, atol=1e-6)


def test_the_loss_of_a_batch_is_that_of_its_sentences(tiny_model, tokenizer, pairs):
    """Each alone, unpadded, in PyTorch's words: BOS and the target in, the target and
    EOS wanted."""
    ours = task(tiny_model, tokenizer, pairs)
    want = 0.0
    batch = [
        (tokenizer.encode(english), tokenizer.encode(spanish))
        for english, spanish in pairs[:5]
    ]
    with torch.no_grad():
        for source, target in batch:
            logits = tiny_model(
                torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]])
            )[0]
            want += float(
                F.cross_entropy(
                    logits,
                    torch.tensor([*target, EOS]),
                    reduction="sum",
                    label_smoothing=0.1,
                )
            )
        assert float(ours.loss(tiny_model, batch, CPU)) == pytest.approx(want, rel=1e-5)
    assert ours.weight(batch) == sum(len(target) + 1 for _, target in batch)


# Scores and vocabulary


def test_a_taught_model_has_full_marks(tiny_checkpoint, learned_pairs):
    loaded = checkpoint.load(tiny_checkpoint)
    scores = task(loaded.model, loaded.tokenizer, [], learned_pairs).evaluate()
    assert list(scores) == ["bleu", "bleu_plain", "dev_loss"]
    assert scores["bleu"] == 100.0
    # it was never taught sentences in lower case
    assert 0 <= scores["bleu_plain"] < 100


def test_a_wrong_translation_costs_marks(tiny_checkpoint, learned_pairs):
    loaded = checkpoint.load(tiny_checkpoint)
    dev = [*learned_pairs[:-1], (learned_pairs[-1][0], learned_pairs[0][1])]
    assert 10 < task(loaded.model, loaded.tokenizer, [], dev).evaluate()["bleu"] < 95


def test_the_vocabulary_is_learned_from_both_languages_and_lower_case(pairs):
    tokenizer = learn_vocabulary([("ZEBRA QUIZ WALTZ.", "ÑANDÚ Y PINGÜINO.")] * 5, 38)
    assert tokenizer.unknown("ZEBRA ÑANDÚ zebra quiz waltz.") == []
    assert tokenizer.unknown("ñandú") != []


# Runs


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A run of six steps, scored and saved at each."""
    out = tmp_path_factory.mktemp("whole")
    assert (
        main(
            command(
                data,
                out,
                "--steps",
                6,
                "--evaluate-minutes",
                0,
                "--save-minutes",
                0,
                "--warmup",
                2,
            )
        )
        == 0
    )
    return out


@pytest.mark.slow
def test_a_run_ends_with_a_checkpoint(whole):
    assert sorted(p.name for p in whole.iterdir()) == [
        "config.json",
        "history.json",
        "metrics.json",
        "metrics.jsonl",
        "model.safetensors",
        "state.pt",
        "tokenizer.model",
    ]
    loaded = checkpoint.load(whole)
    assert (
        loaded.model.config.d_model,
        loaded.model.config.vocab_size,
        loaded.model.config.norm,
    ) == (16, 150, "pre")
    assert loaded.metrics["options"]["schedule"] == "cosine"
    best = max(lines(whole), key=lambda line: line["bleu"])
    assert {key: loaded.metrics[key] for key in best} == best


def test_metrics_tell_the_course_of_a_run(whole):
    told = lines(whole)
    assert [line["step"] for line in told] == [1, 2, 3, 4, 5, 6]
    assert set(told[0]) == {
        "step",
        "epoch",
        "minutes",
        "done",
        "loss",
        "learning_rate",
        "seen",
        "per_second",
        "bleu",
        "bleu_plain",
        "dev_loss",
    }
    # a random model knows nothing
    assert told[0]["loss"] == pytest.approx(math.log(150), rel=0.2)
    assert told[-1]["loss"] < told[0]["loss"]


class Stop(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, pytest.param(4, marks=pytest.mark.full)])
def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(
    whole, data, tmp_path, monkeypatch, after
):
    learn = loop.Trainer._learn

    def stop(trainer, batch, done):
        if trainer.step == after:
            raise Stop
        return learn(trainer, batch, done)

    args = command(
        data,
        tmp_path,
        "--steps",
        6,
        "--evaluate-minutes",
        0,
        "--save-minutes",
        0,
        "--warmup",
        2,
    )
    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(loop.Trainer, "_learn", stop)
        main(args)
    assert state(tmp_path)["step"] == after
    assert main(args) == 0
    one = state(whole)
    two = state(tmp_path)
    assert two["step"] == 6
    for name, weight in one["model"].items():
        assert torch.equal(weight, two["model"][name]), name
    assert all(
        torch.equal(a, b) for a, b in zip(one["average"], two["average"], strict=True)
    )
    assert [line["loss"] for line in lines(tmp_path)] == [
        line["loss"] for line in lines(whole)
    ]
    assert checkpoint.load(tmp_path).identity == checkpoint.load(whole).identity


@pytest.mark.slow
def test_a_run_with_dropout_that_was_stopped_ends_as_if_it_had_not_been(
    data, tmp_path, monkeypatch
):
    """The masks go on where they were."""
    learn = loop.Trainer._learn

    def stop(trainer, batch, done):
        if trainer.step == 2:
            raise Stop
        return learn(trainer, batch, done)

    options = [
        "--steps",
        4,
        "--save-minutes",
        0,
        "--warmup",
        1,
        "--dropout",
        0.3,
        "--dev-limit",
        1,
    ]
    assert main(command(data, tmp_path / "whole", *options)) == 0
    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(loop.Trainer, "_learn", stop)
        main(command(data, tmp_path / "stopped", *options))
    assert main(command(data, tmp_path / "stopped", *options)) == 0
    one = state(tmp_path / "whole")
    two = state(tmp_path / "stopped")
    assert all(
        torch.equal(weight, two["model"][name]) for name, weight in one["model"].items()
    )
    losses = [
        [line["loss"] for line in lines(tmp_path / name)]
        for name in ("whole", "stopped")
    ]
    assert losses[0] == losses[1]


def test_a_run_goes_on_with_the_model_it_began(whole, data, tmp_path, capsys):
    """Whatever the command says of its size: the folder knows better, and it is
    said."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    capsys.readouterr()
    assert (
        main(command(data, tmp_path, "--steps", 7, "--d-model", 32, "--vocab-size", 90))
        == 0
    )
    assert (
        f"The run in {tmp_path} goes on as it was begun, with --d-model 16 (not 32), --vocab-size 150 (not 90); "
        f"name another folder with --out to begin a new run.\n"
    ) in capsys.readouterr().out
    assert checkpoint.load(tmp_path).model.config == checkpoint.load(whole).model.config
    assert state(tmp_path)["step"] == 7


def test_a_run_may_begin_with_the_weights_of_a_checkpoint(whole, data, tmp_path):
    """With a learning rate of 0 they stay as they were, and so does the vocabulary."""
    assert (
        main(
            command(
                data,
                tmp_path,
                "--steps",
                1,
                "--from",
                whole,
                "--peak",
                0,
                "--vocab-size",
                90,
            )
        )
        == 0
    )
    before = checkpoint.load(whole)
    after = checkpoint.load(tmp_path)
    assert (
        after.identity == before.identity
        and after.tokenizer.model == before.tokenizer.model
    )


@pytest.mark.parametrize("dropout", [0.0, 0.25])
def test_a_run_from_a_checkpoint_has_its_own_dropout(whole, data, tmp_path, dropout):
    start = checkpoint.load(whole)
    checkpoint.save(
        tmp_path / "start",
        Transformer(Config(**{**start.model.config.to_dict(), "dropout": 0.4})),
        start.tokenizer,
        {},
    )
    args = command(
        data, tmp_path, "--steps", 1, "--from", tmp_path / "start", "--dropout", dropout
    )
    assert main(args) == 0
    assert checkpoint.load(tmp_path).model.config.dropout == dropout


def test_a_folder_may_hold_written_pairs_and_a_second_corpus(
    data, tmp_path, capsys, monkeypatch
):
    """All of it is learned from: 8 pairs of train, half of 4 + 6, two sentences once
    and three phrases twice."""
    folder = tmp_path / "data"
    folder.mkdir()
    train = [(f"One sentence of number {i} here.", f"Una frase {i}.") for i in range(8)]
    corpora = {
        "train": train,
        "dev": train[:1],
        "extra": [(f"Extra one, number {i} of it.", f"Extra {i}.") for i in range(4)],
        "extra2": [
            (f"Extra two, number {i} of it.", f"Extra dos {i}.") for i in range(6)
        ],
        "written": [
            (f"Written sentence of six words {i}.", f"Escrita {i}.") for i in range(2)
        ]
        + [(f"A phrase {i}.", f"Frase {i}.") for i in range(3)],
    }
    for name, rows in corpora.items():
        content = "".join(
            f"{english}\t{spanish}\n" for english, spanish in rows
        ).encode()
        packed = name == "written"
        (folder / f"{name}.tsv{'.xz' * packed}").write_bytes(
            lzma.compress(content) if packed else content
        )
    epochs = []
    batches = Packer.__call__
    monkeypatch.setattr(
        Packer,
        "__call__",
        lambda self, pairs, *rest: epochs.append(pairs) or batches(self, pairs, *rest),
    )
    args = command(
        folder,
        tmp_path / "out",
        "--steps",
        1,
        "--extra-weight",
        0.5,
        "--written-weight",
        1,
        "--phrase-weight",
        2,
        "--vocab-size",
        50,
    )
    assert main(args) == 0
    assert (
        "8 pairs and 10 extra and 5 written, 3 of them phrases, from step 0"
        in capsys.readouterr().out
    )
    counts = Counter(epochs[0])
    assert (
        all(counts[pair] == 1 for pair in train)
        and sum(counts.values()) == 8 + 5 + 2 + 6
    )
    assert [counts[pair] for pair in corpora["written"]] == [1, 1, 2, 2, 2]
    assert sum(counts[pair] for pair in corpora["extra"] + corpora["extra2"]) == 5
    # W is in written alone
    assert checkpoint.load(tmp_path / "out").tokenizer.unknown(
        "Extra dos: frase W"
    ) == [":"]


def test_post_norm_is_trained_by_the_schedule_of_its_paper(data, tmp_path):
    assert main(command(data, tmp_path, "--steps", 1, "--norm", "post")) == 0
    loaded = checkpoint.load(tmp_path)
    assert (
        loaded.model.config.norm == "post"
        and loaded.metrics["options"]["schedule"] == "noam"
    )
    assert lines(tmp_path)[0]["learning_rate"] == pytest.approx(16**-0.5 * 4000**-1.5)


@pytest.mark.slow
def test_a_run_with_moments_uses_a_given_vocabulary_and_ends_after_so_many_pieces(
    whole, data, tmp_path
):
    assert (
        main(
            command(
                data,
                tmp_path,
                "--architecture",
                "gru-attention",
                "--vocabulary",
                whole,
                "--target-pieces",
                2000,
                "--moments",
                4,
                "--batch-tokens",
                500,
            )
        )
        == 0
    )
    assert (tmp_path / "tokenizer.model").read_bytes() == (
        whole / "tokenizer.model"
    ).read_bytes()
    history = read_history(tmp_path)
    kept = read_moments(tmp_path)
    assert history.seen[-2] < 2000 <= history.seen[-1]
    assert (
        kept.moments[0].step == 0
        and kept.moments[-1].step == history.step[-1]
        and len(kept.moments) == 4
    )
    assert all(len(course.translations) == 4 for course in kept.courses)


@pytest.mark.slow
def test_a_run_keeps_the_weights_of_its_moments_for_a_film(
    whole, data, tmp_path, capsys
):
    run = tmp_path / "run"
    assert (
        main(
            command(
                data,
                run,
                "--vocabulary",
                whole,
                "--steps",
                4,
                "--moments",
                3,
                "--film",
                "--batch-tokens",
                500,
            )
        )
        == 0
    )
    out = tmp_path / "film.npz"
    make = ["checkpoint", "film", str(run), "--out", str(out)]
    assert main(make) == 0
    assert f"{out}: 3 moments" in capsys.readouterr().out
    reel = film.read(out)
    assert [moment.step for moment in reel.moments] == [0, 2, 4]
    assert reel.course[-1][0] == 4
    (run / film.WEIGHTS / "2.safetensors").unlink()
    assert main(make) == 2
    assert "train with --moments 12 --film" in capsys.readouterr().err


def torchrun(*argv, launchers=1, processes=1, module="xformer"):
    """Start launchers, each as on a host of its own, that find each other at a port of
    this machine."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(xformer.__file__).parents[1]),
        "OMP_NUM_THREADS": "1",
    }
    meeting = [
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        f"127.0.0.1:{free_port()}",
        "--rdzv-id",
        "test",
        "--local-addr",
        "127.0.0.1",
    ]
    return [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "torch.distributed.run",
                "--nnodes",
                str(launchers),
                "--nproc-per-node",
                str(processes),
                *meeting,
                "-m",
                module,
                *argv,
            ],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(launchers)
    ]


def ended(started):
    """-> what launchers said until they ended, and with what."""
    try:
        return [(one.communicate(timeout=120)[0], one.returncode) for one in started]
    finally:
        for one in started:
            one.terminate()
            one.wait()


EXACT = [
    "--steps",
    4,
    "--evaluate-minutes",
    9,
    "--warmup",
    1,
    "--peak",
    "1e-3",
    "--batch-tokens",
    600,
    "--dev-limit",
    1,
    "--precision",
    "float32",
]


@pytest.fixture(scope="module")
def exact(data, tmp_path_factory):
    """The losses of four steps in one process, each of a batch in one piece."""
    folder = tmp_path_factory.mktemp("exact")
    assert main(command(data, folder, *EXACT)) == 0
    return losses(folder)


def losses(folder):
    return [point[5] / point[6] for point in state(folder)["history"]["points"]]


@pytest.mark.slow
def test_a_batch_learned_in_parts_is_learned_as_in_one_piece(data, exact, tmp_path):
    assert main(command(data, tmp_path, *EXACT, "--accumulate", 3)) == 0
    assert (
        losses(tmp_path) == pytest.approx(exact, abs=1e-5)
        and len(exact) == 4
        and exact[3] < exact[0]
    )


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize(("launchers", "processes", "parts"), [(2, 1, 2), (1, 4, 1)])
def test_processes_of_one_host_or_of_two_learn_what_one_learns(
    data, exact, tmp_path, launchers, processes, parts
):
    started = torchrun(
        *command(data, tmp_path, *EXACT, "--accumulate", parts),
        launchers=launchers,
        processes=processes,
    )
    said = ended(started)
    assert [status for _, status in said] == [0] * launchers, said
    # one of them speaks and writes
    assert sum(f"{launchers * processes} process(es)" in text for text, _ in said) == 1
    assert losses(tmp_path) == pytest.approx(exact, abs=1e-5)


def workers(launcher):
    """The processes that a launcher has started, by their ranks."""
    try:
        numbers = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
        found = {
            number: Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
            for number in numbers
        }
    except OSError:
        return {}
    return {
        int(one.split(b"=")[1]): int(number)
        for number, environment in found.items()
        for one in environment
        if one.startswith(b"RANK=")
    }


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="it looks for processes in /proc")
def test_when_a_process_dies_all_stop_and_the_same_command_goes_on(data, tmp_path):
    asked = command(
        data,
        tmp_path,
        "--steps",
        60,
        "--save-minutes",
        0,
        "--evaluate-minutes",
        9,
        "--dev-limit",
        1,
    )
    started = torchrun(*asked, processes=2)
    wait_until(
        lambda: (tmp_path / "state.pt").is_file() or started[0].poll() is not None
    )
    both = workers(started[0].pid)
    os.kill(both[1], signal.SIGKILL)
    ((said, status),) = ended(started)
    assert status != 0 and not any(
        Path(f"/proc/{number}").exists() for number in both.values()
    ), said
    stopped = state(tmp_path)["step"]
    assert 1 <= stopped < 60
    ((said, status),) = ended(torchrun(*asked, processes=2))
    assert status == 0 and re.search(r"from step (\d+)", said)[1] == str(stopped), said
    assert state(tmp_path)["step"] == 60 and (tmp_path / "model.safetensors").is_file()


@pytest.mark.slow
def test_a_dry_run_says_what_a_run_would_take_and_writes_nothing(
    data, tmp_path, capsys
):
    assert main(command(data, tmp_path / "none", "--steps", 50, "--dry-run")) == 0
    said = dict(
        re.split(r"  +", line, maxsplit=1)
        for line in capsys.readouterr().out.splitlines()
        if "  " in line
    )
    assert list(said) == [
        "learned from",
        "an epoch",
        "trial steps",
        "this run",
        "memory",
    ]
    assert (
        said["this run"].startswith("50 steps, ")
        and " minutes in bfloat16" in said["this run"]
    )
    steps, mean, pieces = (
        float(n.replace(",", "")) for n in re.findall(r"[\d,.]*\d", said["an epoch"])
    )
    assert steps * mean == pytest.approx(pieces, rel=0.05)
    parameters = int(
        re.search(r"for ([\d,]+) parameters", said["memory"])[1].replace(",", "")
    )
    assert (
        said["memory"].startswith(f"{20 * parameters / 1e6:,.0f} MB for ")
        and not (tmp_path / "none").exists()
    )
    assert (
        main(command(data, tmp_path / "none", "--target-pieces", 5000, "--dry-run"))
        == 0
    )
    assert " 5,000 pieces, " in capsys.readouterr().out


# What cannot be done


@pytest.mark.parametrize("name", ["train", "dev"])
def test_missing_data_is_named(data, tmp_path, capsys, name):
    folder = tmp_path / "data"
    folder.mkdir()
    other = {"train": "dev", "dev": "train"}[name]
    (folder / f"{other}.tsv").write_bytes((data / f"{other}.tsv").read_bytes())
    assert main(command(folder, tmp_path / "out", "--steps", 1)) == 2
    error = capsys.readouterr().err
    assert error == (
        f"There is no {name}.tsv or {name}.tsv.xz in {folder}; make them with “python -m research data "
        f"translation --out {folder}”, or write English, a tab, Spanish on each line.\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ([], "the length of training is 0; give a number of steps or of minutes"),
        (
            ["--steps", 1, "--average", 1.5],
            "--average is 1.5; it must be a number, at least 0 and below 1",
        ),
        (
            ["--steps", 1, "--extra-weight", 2],
            "--extra-weight is 2.0; it must be a number, at least 0 and at most 1",
        ),
        (
            ["--steps", 1, "--n-heads", 3],
            "d_model is 16, which 3 heads cannot share equally",
        ),
        (
            ["--steps", 1, "--vocab-size", 100_000],
            "a vocabulary of 100000 pieces cannot be learned from this text",
        ),
        (
            ["--steps", 1, "--from", "/nowhere"],
            "There is no checkpoint folder at /nowhere; check the path",
        ),
        (
            ["--steps", 1, "--max-pieces", 1],
            "There is nothing to train on: an epoch has no batch",
        ),
    ],
)
def test_a_wrong_option_is_refused_in_a_sentence(data, tmp_path, capsys, more, text):
    assert main(command(data, tmp_path, *more)) == 2
    *_, error = capsys.readouterr().err.strip().splitlines()
    assert text in error and error.endswith(".")
    assert (
        not (tmp_path / "state.pt").exists()
        and not (tmp_path / "model.safetensors").exists()
    )


def test_a_malformed_line_is_refused(data, tmp_path, capsys):
    (tmp_path / "train.tsv").write_text("Hello.\tHola.\nno tab\n")
    (tmp_path / "dev.tsv").write_text("Hello.\tHola.\n")
    assert main(command(tmp_path, tmp_path / "out", "--steps", 1)) == 2
    assert (
        f"line 2 of {tmp_path / 'train.tsv'} is not a pair" in capsys.readouterr().err
    )


def test_errors_are_user_errors_for_callers_too(data, tmp_path):
    with pytest.raises(
        UserError, match=r"^Training cannot start: the length of training is 0; .+\.$"
    ):
        train_translation(TranslationRun(data, tmp_path))


def test_options_not_given_keep_their_defaults():
    run = TranslationRun(Path("data"), Path("out"), steps=5, peak=None, warmup=7)
    assert run.training_options() == TrainingOptions(steps=5, warmup=7)


@pytest.mark.parametrize(
    ("run", "schedule", "peak", "warmup"),
    [
        (TranslationRun(Path(), Path(), steps=1), "cosine", 1.5e-3, 200),
        (TranslationRun(Path(), Path(), steps=1, norm="post"), "noam", 1.0, 4000),
        (
            TranslationRun(Path(), Path(), steps=1, norm="post", peak=2.0, warmup=9),
            "noam",
            2.0,
            9,
        ),
        (
            TranslationRun(Path(), Path(), steps=1, norm="post", schedule="cosine"),
            "cosine",
            1.5e-3,
            200,
        ),
        (LanguageModelRun(Path(), Path(), steps=1), "cosine", 1.5e-3, 200),
        (SentimentRun(Path(), Path(), steps=1), "cosine", 1e-3, 200),
        (SentimentRun(Path(), Path(), steps=1, start="a/b"), "cosine", 4e-4, 200),
        (
            SentimentRun(Path(), Path(), steps=1, start="a/b", norm="post"),
            "noam",
            1.0,
            4000,
        ),
    ],
)
def test_the_pace_is_what_is_usual_for_the_norm_and_the_task(
    run, schedule, peak, warmup
):
    assert run.training_options() == TrainingOptions(
        steps=1, schedule=schedule, peak=peak, warmup=warmup
    )
