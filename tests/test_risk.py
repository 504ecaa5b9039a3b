"""Minimum risk training: the hypotheses of a model with their nearness, and what it
learns by telling them apart."""

import lzma
from dataclasses import replace
from itertools import islice

import pytest
import torch

from research.__main__ import main as research
from research.data.nearest import nearness
from tests.research.test_nearest import beam_of
from xformer.__main__ import main
from xformer.hub import checkpoint
from xformer.pieces import BOS, EOS
from xformer.training.data.corpora import (
    NO_ROUGHENING,
    RANKED,
    Ranked,
    TranslationBatches,
    read_ranked,
)
from xformer.training.loop import Learner
from xformer.training.options import BatchOptions, TrainingOptions
from xformer.training.tasks import SHARPNESS, TranslationTask, expected_cost
from xformer.translator import pad

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def data(tmp_path_factory, tiny_checkpoint, learned_pairs):
    """A folder with pairs, and with the hypotheses that the command has made of
    them."""
    folder = tmp_path_factory.mktemp("risk")
    lines = [f"{english}\t{spanish}\n" for english, spanish in learned_pairs]
    (folder / "train.tsv").write_text("".join(lines[:4]), encoding="utf-8")
    (folder / "dev.tsv").write_text("".join(lines[3:5]), encoding="utf-8")
    assert (
        research(
            [
                "data",
                "nearest",
                "--ranked",
                "--data",
                str(folder),
                "--checkpoint",
                str(tiny_checkpoint),
                "--beam",
                "6",
                "--device",
                "cpu",
            ]
        )
        == 0
    )
    return folder


@pytest.fixture
def loaded(tiny_checkpoint):
    return checkpoint.load(tiny_checkpoint)


def trainable(loaded):
    model = type(loaded.model)(loaded.model.config)
    model.load_state_dict(loaded.model.state_dict())
    return model


@pytest.fixture
def ranked(data, loaded):
    return read_ranked(data / "ranked.tsv.xz", loaded.tokenizer)


def rows_of(path):
    return [
        tuple(line.split("\t"))
        for line in lzma.decompress(path.read_bytes()).decode().splitlines()
    ]


def train(folder, out, *more):
    return main(
        [
            "train",
            "translation",
            "--data",
            str(folder),
            "--out",
            str(out),
            "--steps",
            "2",
            "--device",
            "cpu",
            "--threads",
            "1",
            "--precision",
            "float32",
            *map(str, more),
        ]
    )


def test_the_file_has_the_first_hypotheses_of_each_sentence(
    data, loaded, learned_pairs
):
    """Without sentences that dev has."""
    rows = [
        line.split("\t")
        for line in lzma.decompress((data / "ranked.tsv.xz").read_bytes())
        .decode()
        .splitlines()
    ]
    references = dict(learned_pairs)
    assert {english for english, *_ in rows} == {learned_pairs[i][0] for i in range(3)}
    for first in range(0, len(rows), RANKED):
        group = rows[first : first + RANKED]
        (english,) = {row[0] for row in group}
        assert [row[1] for row in group] == [
            *dict.fromkeys(filter(None, beam_of(loaded, english, 6)))
        ][:RANKED]
        for _, spanish, near in group:
            assert float(near) == pytest.approx(
                nearness(spanish, [references[english]]), abs=0.051
            )


def test_what_all_cost_the_same_teaches_nothing(tmp_path, loaded):
    alike = "".join(f"A cat.\tgato {i}\t40.0\n" for i in range(RANKED))
    short = "A dog.\tperro\t50\n"
    good = "".join(f"A bird.\tave {i}\t{20 * i}\n" for i in range(RANKED + 1))
    (tmp_path / "ranked.tsv").write_text(alike + short + good, encoding="utf-8")
    (one,) = read_ranked(tmp_path / "ranked.tsv", loaded.tokenizer)
    assert one.source == loaded.tokenizer.encode("A bird.")
    assert one.hypotheses == [
        loaded.tokenizer.encode(f"ave {i}") for i in range(RANKED)
    ]
    assert one.costs == pytest.approx([1.0, 0.8, 0.6, 0.4])


def test_the_expected_cost_is_that_of_each_hypothesis_alone(loaded, ranked):
    """Together, padded and with one source for all of a sentence, against one after the
    other."""
    total = 0.0
    for one in ranked:
        means = []
        for hypothesis in one.hypotheses:
            logits = loaded.model(pad([[*one.source, EOS]]), pad([[BOS, *hypothesis]]))[
                0
            ].log_softmax(-1)
            means.append(
                sum(
                    float(logits[i, piece])
                    for i, piece in enumerate([*hypothesis, EOS])
                )
                / (len(hypothesis) + 1)
            )
        probabilities = torch.softmax(SHARPNESS * torch.tensor(means), 0)
        total += sum(
            float(p) * cost for p, cost in zip(probabilities, one.costs, strict=True)
        )
    assert float(expected_cost(loaded.model, ranked, CPU)) == pytest.approx(
        total / len(ranked), abs=1e-5
    )


def test_a_step_makes_the_dear_hypotheses_less_probable(loaded, ranked):
    """Costs that are the other way round make a model that knows its sentences by heart
    forget them."""
    turned = [one._replace(costs=[1 - cost for cost in one.costs]) for one in ranked]
    pairs = [
        (
            loaded.tokenizer.decode(one.source),
            loaded.tokenizer.decode(one.hypotheses[0]),
        )
        for one in ranked
    ]
    batches = TranslationBatches(
        loaded.tokenizer,
        pairs,
        ranked=turned,
        options=BatchOptions(names=0, sampled=0),
        roughening=NO_ROUGHENING,
    )
    model = trainable(loaded)
    before = float(expected_cost(model, turned, CPU).detach())
    least = sum(min(one.costs) for one in turned) / len(turned)
    learner = Learner(
        TranslationTask(model, loaded.tokenizer, batches, [], risk=50.0),
        TrainingOptions(steps=30, peak=2e-3, warmup=0),
        CPU,
    )
    weight = {learner.task.weight(batch) for batch in learner.task.batches(0, 0)}
    assert weight == {
        sum(len(loaded.tokenizer.encode(spanish)) + 1 for _, spanish in pairs)
    }, "of the pairs alone"
    for _ in learner.steps():
        pass
    after = float(expected_cost(model.eval(), turned, CPU).detach())
    assert least <= after < (least + before) / 2


def test_a_part_of_a_batch_may_have_no_pair_or_no_hypotheses(loaded, ranked):
    """As a process or an accumulated part may get it: the parts together are the sum of
    the whole."""
    task = TranslationTask(
        trainable(loaded).eval(), loaded.tokenizer, None, [], risk=3.0
    )
    pair = (ranked[0].source, ranked[0].hypotheses[0])
    plain = float(task.loss(task.model, [pair], CPU).detach())
    together = float(task.loss(task.model, [pair, *ranked], CPU).detach())
    cost = float(expected_cost(task.model, ranked, CPU).detach())
    assert together == pytest.approx(plain + 3.0 * task.weight([pair]) * cost, rel=1e-5)
    assert (
        float(task.loss(task.model, ranked, CPU).detach()) == 0 == task.weight(ranked)
    )


def test_batches_go_on_where_they_were(loaded, ranked, learned_pairs):
    """Each batch has hypotheses beside its pairs, by the epoch, and no more of them
    than it may."""
    made = TranslationBatches(
        loaded.tokenizer,
        learned_pairs * 4,
        ranked=ranked * 5,
        seed=3,
        options=BatchOptions(batch_tokens=100, names=0, sampled=0, extra_weight=0),
    )
    every = [*made.epoch(1)]
    assert len(every) > 4 and every[3:] == [*made.epoch(1, 3)]
    for batch in every:
        some = [one for one in batch if isinstance(one, Ranked)]
        longest = max(len(hypothesis) for one in some for hypothesis in one.hypotheses)
        sources = max(len(one.source) for one in some)
        assert (
            len(some) == 1 or len(some) * (sources + 1 + RANKED * (longest + 1)) <= 100
        )
        assert len(batch) > len(some)
    long = ranked[0]._replace(source=[7] * 40)
    assert TranslationBatches(
        loaded.tokenizer,
        learned_pairs,
        ranked=[long, ranked[0]],
        options=BatchOptions(max_pieces=40),
    ).ranked == [ranked[0]], "as of pairs, those that are too long are left out"
    assert not any(
        isinstance(one, Ranked)
        for batch in islice(
            TranslationBatches(
                loaded.tokenizer, learned_pairs, options=BatchOptions()
            ).epoch(0),
            9,
        )
        for one in batch
    )


def test_the_command_says_what_it_learns_from(data, tiny_checkpoint, tmp_path, capsys):
    assert train(data, tmp_path / "run", "--from", tiny_checkpoint, "--risk", "20") == 0
    assert "3 sentences with ranked hypotheses, from step 0" in capsys.readouterr().out


def test_a_model_that_reads_spanish_learns_from_what_it_made_of_it(
    learned_pairs, tiny_checkpoint, tmp_path, capsys
):
    """Its hypotheses stand beside the Spanish of pairs, and what training reads has
    English first, and none of dev."""
    loaded = checkpoint.load(tiny_checkpoint)
    back = tmp_path / "back"
    loaded.model.config = replace(loaded.model.config, source="es", target="en")
    checkpoint.save(back, loaded.model, loaded.tokenizer, {})
    dev = [(learned_pairs[0][0], "Otra cosa."), ("No.", learned_pairs[1][1])]
    for name, pairs in (("train", learned_pairs), ("dev", dev)):
        (tmp_path / f"{name}.tsv").write_text(
            "".join(f"{e}\t{s}\n" for e, s in pairs), encoding="utf-8"
        )
    made = [
        "data",
        "nearest",
        "--data",
        str(tmp_path),
        "--checkpoint",
        str(back),
        "--device",
        "cpu",
    ]
    assert research([*made, "--ranked", "--beam", "6"]) == 0
    assert {one[0] for one in rows_of(tmp_path / "ranked.tsv.xz")} <= {
        spanish for _, spanish in learned_pairs[2:]
    }
    assert research([*made, "--least", "0"]) == 0
    read = {spanish for _, spanish in rows_of(tmp_path / "nearest.tsv.xz")}
    assert read and read <= {spanish for _, spanish in learned_pairs} - {
        learned_pairs[1][1]
    }
    capsys.readouterr()
    assert (
        train(tmp_path, tmp_path / "run", "--from", back, "--risk", "20", "--reverse")
        == 0
    )
    assert "sentences with ranked hypotheses, from step 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lines", "more", "text"),
    [
        ("", ["--risk", "20"], "--risk is for transformers, and needs ranked.tsv"),
        (
            "A bird.\tave\t9\n",
            ["--risk", "20", "--architecture", "gru"],
            "--risk is for transformers",
        ),
        (
            "A bird.\tave\n" * RANKED,
            ["--risk", "20"],
            "has a line without its nearness",
        ),
        (
            "A bird.\tave\tnear\n" * RANKED,
            ["--risk", "20"],
            "has a line without its nearness",
        ),
        (
            "A bird.\tave\tnan\n" * RANKED,
            ["--risk", "20"],
            "has a line without its nearness, 0 to 100",
        ),
        (
            "A bird.\tave\t101\n" * RANKED,
            ["--risk", "20"],
            "has a line without its nearness, 0 to 100",
        ),
        (
            "A bird.\tave\t9\n" * RANKED,
            ["--risk", "20"],
            "has no sentence with 4 hypotheses of unlike nearness",
        ),
        (
            "A bird.\tave\t9\n",
            ["--risk", "-1"],
            "--risk is -1.0; it must be a number, at least 0",
        ),
    ],
    ids=[
        "no file",
        "gru",
        "no nearness",
        "no number",
        "not a number",
        "above 100",
        "alike",
        "negative",
    ],
)
def test_what_cannot_be_learned_is_said_in_one_sentence(
    tmp_path, learned_pairs, capsys, lines, more, text
):
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text(
            "".join(f"{e}\t{s}\n" for e, s in learned_pairs), encoding="utf-8"
        )
    if lines:
        (tmp_path / "ranked.tsv").write_text(lines, encoding="utf-8")
    shape = [
        "--d-model",
        "16",
        "--n-heads",
        "2",
        "--n-layers",
        "1",
        "--d-ff",
        "16",
        "--vocab-size",
        "100",
    ]
    assert train(tmp_path, tmp_path / "run", *shape, *more) == 2
    *_, error = capsys.readouterr().err.strip().splitlines()
    assert text in error and error.endswith(".")
