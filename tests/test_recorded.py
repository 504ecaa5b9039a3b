"""What training leaves beside a checkpoint: its history, thinned, and moments of its
maps; read back, or refused."""

import json

import numpy as np
import pytest
import torch

from tests.test_loop import LineTask, lines, train
from xformer.explain.alignment import READINGS, read_gold
from xformer.hub import checkpoint, recorded
from xformer.hub.recorded import moments_bytes, read_history, read_moments
from xformer.model import Config, Transformer
from xformer.recurrent import RecurrentConfig, RecurrentTranslator
from xformer.results import Course, Moment, Moments, UserError
from xformer.training import history as history_module
from xformer.training.history import History
from xformer.training.moments import MomentsRecorder, shares


def translator(kind, tokenizer):
    torch.manual_seed(0)
    shape = {
        "vocab_size": len(tokenizer),
        "d_model": 16,
        "dropout": 0.0,
        "max_length": 128,
    }
    if kind == "transformer":
        return Transformer(
            Config(n_heads=2, n_layers=2, n_decoder_layers=1, d_ff=16, **shape)
        ).eval()
    return RecurrentTranslator(RecurrentConfig(attention=kind, **shape)).eval()


@pytest.fixture(scope="module")
def gold(tokenizer):
    """Four aligned pairs, two of which the small vocabulary can write and are among
    those shown."""
    wanted = {
        "Do not run!",
        "I do not like cold soup.",
        "Who broke the kitchen window?",
        "Turn off the light before you go out.",
    }
    return [pair for pair in read_gold() if pair.english in wanted]


# History


def test_a_history_stands_for_every_step():
    history = History()
    for step in range(1, 1001):
        history.add(
            step,
            step / 2,
            10 * step,
            0.1,
            loss=20.0 if step <= 500 else 10.0,
            weight=10,
            norm=50.0 if step == 700 else 1.0,
            took=0.5,
        )
    stored = json.loads(history.to_json())
    assert (
        200 <= len(stored["step"]) <= history_module.MOST and stored["step"][-1] == 1000
    )
    assert len(set(np.diff(stored["step"]))) == 1, "points of equally many steps"
    assert (stored["loss"][0], stored["loss"][-1]) == (2.0, 1.0)
    assert stored["seen"] == [10 * step for step in stored["step"]]
    assert max(stored["largest_norm"]) == 50.0 and np.mean(
        stored["gradient_norm"]
    ) == pytest.approx(1.049)
    assert set(stored["per_second"]) == {20}


def test_the_loop_writes_its_history_beside_the_checkpoint(tmp_path):
    train(LineTask(scores=[0.1, 0.3, 0.2]), tmp_path, steps=3, evaluate_minutes=0.0)
    history = read_history(tmp_path)
    told = lines(tmp_path)
    assert history.step == (1, 2, 3)
    # LineTask has batches of 2, 4, 1 and 3
    assert list(history.seen) == [line["seen"] for line in told] == [2, 6, 7]
    assert list(history.loss) == pytest.approx(
        [line["loss"] for line in told], abs=1e-3
    )
    assert list(history.learning_rate) == pytest.approx(
        [line["learning_rate"] for line in told], rel=1e-3
    )
    assert [scores.values["good"] for scores in history.scores] == [0.1, 0.3, 0.2]
    assert min(history.gradient_norm) > 0


def test_a_run_ends_after_so_many_pieces_and_its_rate_follows(tmp_path):
    trainer, _ = train(LineTask(), tmp_path, weight=12, warmup=0, evaluate_minutes=0.0)
    # 2 + 4 + 1 + 3 and, of the next epoch, 2
    assert (trainer.seen, trainer.step) == (12, 5)
    rates = [line["learning_rate"] / 0.01 for line in lines(tmp_path)]
    assert rates == pytest.approx(
        [(1 + np.cos(np.pi * seen / 12)) / 2 for seen in (0, 2, 6, 7, 10)]
    )


def test_an_interrupted_run_goes_on_with_its_history(tmp_path):
    whole = tmp_path / "whole"
    parts = tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    often = {"steps": 6, "evaluate_minutes": 0.0, "save_minutes": 0.0}
    train(LineTask(), whole, **often)
    with pytest.raises(KeyboardInterrupt):
        train(LineTask(crash_at=4), parts, **often)
    train(LineTask(), parts, **often)
    one = read_history(whole)
    two = read_history(parts)
    assert (one.step, one.seen, one.loss, one.gradient_norm) == (
        two.step,
        two.seen,
        two.loss,
        two.gradient_norm,
    )
    assert [s.step for s in two.scores] == [1, 2, 3, 4, 5, 6]


def test_a_run_that_diverges_leaves_its_history(tmp_path):
    class Diverging(LineTask):
        def loss(self, model, batch, device):
            return super().loss(model, batch, device) * (
                float("nan") if len(self.seen) == 3 else 1.0
            )

    with pytest.raises(UserError, match="diverged"):
        train(Diverging(), tmp_path, steps=9)
    assert read_history(tmp_path).step == (1, 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda stored: stored.pop("loss"), "0.loss is {"),
        (lambda stored: stored["loss"].pop(), "its columns are of unequal length"),
        (
            lambda stored: stored["loss"].__setitem__(0, None),
            "0.loss.0 is None: Input should be a valid number",
        ),
        (lambda stored: stored["scores"][0].pop("step"), "'step' is missing"),
        (
            lambda stored: stored["step"].__setitem__(0, float("inf")),
            "0.step.0 is inf: Input should be a finite number",
        ),
        (
            lambda stored: stored["seen"].__setitem__(0, [3]),
            "0.seen.0 is [3]: Input should be a valid integer",
        ),
        (
            lambda stored: stored["scores"][0].update(step=1e400),
            "0.scores.0.step is inf: Input should be a finite number",
        ),
        (
            lambda stored: stored["scores"][0].update(bleu=float("inf")),
            "0.scores.0.values.bleu is inf: Input should be a finite number",
        ),
        (
            lambda stored: stored["scores"][0].update(bleu=[1]),
            "0.scores.0.values.bleu is [1]: Input should be a valid number",
        ),
    ],
)
def test_a_broken_history_is_one_sentence(tmp_path, change, words):
    assert read_history(tmp_path) is None
    history = History()
    history.add(1, 1.0, 10, 0.1, loss=20.0, weight=10, norm=1.0, took=0.5)
    history.score(1, 1.0, 10, {"bleu": 3.0})
    stored = json.loads(history.to_json())
    change(stored)
    (tmp_path / recorded.HISTORY).write_text(json.dumps(stored))
    with pytest.raises(UserError) as error:
        read_history(tmp_path)
    assert words in str(error.value) and "history.json" in str(error.value)


def test_a_history_cut_off_is_one_sentence(tmp_path):
    (tmp_path / recorded.HISTORY).write_text('{"step": [1, 2')
    with pytest.raises(UserError, match="is no history of a training run"):
        read_history(tmp_path)


# Moments


def test_moments_are_due_at_shares_that_double():
    assert shares(5) == [0.0, 0.125, 0.25, 0.5, 1.0]


def test_each_share_is_due_once_even_where_a_step_passes_several(
    tmp_path, tokenizer, gold
):
    recorder = MomentsRecorder(
        tmp_path, translator("none", tokenizer), tokenizer, gold, 5
    )
    recorder.resume(0, 0.0)
    passing = (0.0, 0.0, 0.1, 0.3, 0.4, 0.5, 0.9, 1.0, 1.0)
    assert [done for done in passing if recorder.due(done)] == [0.0, 0.3, 0.5, 1.0]


@pytest.mark.parametrize(
    ("kind", "stacks"),
    [
        ("transformer", {"encoder_self": 2, "decoder_self": 1, "cross": 1}),
        ("additive", {"cross": 1}),
        ("none", {}),
    ],
)
def test_moments_are_kept_and_read_back(tmp_path, tokenizer, gold, kind, stacks):
    recorder = MomentsRecorder(
        tmp_path, translator(kind, tokenizer), tokenizer, gold, 3
    )
    recorder.resume(0, 0.0)
    threads = torch.get_num_threads()
    for step in (0, 5):
        recorder.take(Moment(step, float(step), 10 * step, step / 10))
    assert torch.get_num_threads() == threads
    kept = read_moments(tmp_path)
    assert [moment.step for moment in kept.moments] == [0, 5]
    assert [course.english for course in kept.courses] == [
        "I do not like cold soup.",
        "Do not run!",
    ]
    heads = 2 if kind == "transformer" else 1
    for course in kept.courses:
        assert set(course.maps) == set(stacks) and len(course.translations) == 2
        for stack, layers in stacks.items():
            maps = course.maps[stack]
            asks = course.source if stack == "encoder_self" else course.target
            sees = course.target if stack == "decoder_self" else course.source
            assert (
                maps.shape == (2, layers, heads, len(asks), len(sees))
                and maps.dtype == np.uint8
            )
            assert np.abs(maps.astype(int).sum(axis=-1) - 255).max() <= len(sees) / 2
    assert kept.errors.shape == (
        (2, len(READINGS), 1, heads) if stacks else (2, len(READINGS), 0, 0)
    )
    assert ((kept.errors >= 0) & (kept.errors <= 1)).all()


def test_a_run_that_was_interrupted_forgets_later_moments(tmp_path, tokenizer, gold):
    model = translator("additive", tokenizer)
    recorder = MomentsRecorder(tmp_path, model, tokenizer, gold, 4)
    recorder.resume(0, 0.0)
    for step, done in ((0, 0.0), (3, 0.3), (6, 0.6)):
        assert recorder.due(done)
        recorder.take(Moment(step, 1.0, step, done))
    again = MomentsRecorder(tmp_path, model, tokenizer, gold, 4)
    again.resume(4, 0.4)
    assert not again.due(0.4) and again.due(0.5)
    again.take(Moment(5, 1.0, 5, 0.5))
    assert [moment.step for moment in read_moments(tmp_path).moments] == [0, 3, 5]
    anew = MomentsRecorder(tmp_path, model, tokenizer, gold, 4)
    anew.resume(0, 0.0)
    anew.take(Moment(0, 0.0, 0, 0.0))
    assert [moment.step for moment in read_moments(tmp_path).moments] == [0]


def test_the_trainer_takes_moments_of_the_averaged_weights(tmp_path):
    class Taken:
        def __init__(self):
            self.taken = []

        def resume(self, step, done):
            assert (step, done) == (0, 0.0)

        def due(self, done):
            return done in (0.0, 0.5, 1.0)

        def take(self, moment):
            assert not task.model.training
            self.taken.append(
                (
                    moment.step,
                    moment.done,
                    [p.detach().clone() for p in task.model.parameters()],
                )
            )

    task = LineTask()
    moments = Taken()
    trainer = history_trainer(task, tmp_path, moments)
    trainer.train()
    assert [(step, done) for step, done, _ in moments.taken] == [
        (0, 0.0),
        (2, 0.5),
        (4, 1.0),
    ]
    assert all(
        torch.equal(a, b)
        for a, b in zip(moments.taken[-1][2], trainer.average.weights, strict=True)
    )


def history_trainer(task, folder, moments):
    from xformer.training.loop import Trainer
    from xformer.training.options import TrainingOptions

    options = TrainingOptions(steps=4, precision="bfloat16", peak=0.01)
    return Trainer(task, folder, options, torch.device("cpu"), moments=moments)


def test_a_vocabulary_without_the_characters_is_refused(tmp_path, tokenizer, gold):
    with pytest.raises(ValueError, match="has not the characters"):
        MomentsRecorder(
            tmp_path,
            translator("none", tokenizer),
            tokenizer,
            [pair for pair in gold if pair.english.startswith("Who")],
            3,
        )


def test_broken_moments_are_one_sentence(tmp_path, tokenizer, gold):
    assert read_moments(tmp_path) is None
    recorder = MomentsRecorder(
        tmp_path, translator("additive", tokenizer), tokenizer, gold, 3
    )
    recorder.resume(0, 0.0)
    recorder.take(Moment(0, 0.0, 0, 0.0))
    path = tmp_path / recorded.MOMENTS
    kept = recorder.kept
    whole = path.read_bytes()
    shorter = kept.courses[0].maps["cross"][..., :-1]
    for broken in (
        whole[:-10],
        whole[:50],
        b"",
        moments_bytes(Moments((), kept.courses, kept.errors)),
        moments_bytes(
            Moments(kept.moments, (vary(kept.courses[0], shorter),), kept.errors)
        ),
    ):
        path.write_bytes(broken)
        with pytest.raises(UserError, match="holds no moments of a training run"):
            read_moments(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda one: Moments(one.moments, one.courses, one.errors[:, :, :, :0]),
            "do not fit the layers and heads of its maps",
        ),
        (
            lambda one: Moments(
                one.moments, one.courses, np.zeros((1, 2, 0, 0), np.float32)
            ),
            "do not fit the layers and heads",
        ),
        (
            lambda one: Moments(one.moments, one.courses, one.errors + 2),
            "an error rate is not between 0 and 1",
        ),
        (
            lambda one: Moments(
                one.moments, one.courses, one.errors * np.float32("nan")
            ),
            "not between 0 and 1",
        ),
        (
            lambda one: Moments(
                one.moments,
                (vary(one.courses[0], one.courses[0].maps["cross"][:, :0]),),
                one.errors,
            ),
            "have 0 layers and 1 heads; each must be from 1 to 64",
        ),
        (
            lambda one: Moments(
                one.moments,
                (vary(one.courses[0], one.courses[0].maps["cross"][:, :, :0]),),
                one.errors,
            ),
            "have 1 layers and 0 heads",
        ),
        (
            lambda one: Moments(
                (Moment(float("inf"), 0.0, 0, 0.0),), one.courses, one.errors
            ),
            "0.step is inf: Input should be a finite number",
        ),
        (
            lambda one: Moments((Moment([1], 0.0, 0, 0.0),), one.courses, one.errors),
            "0.step is [1]: Input should be a valid integer",
        ),
    ],
)
def test_hostile_moments_are_one_sentence_that_names_the_file(
    tmp_path, tokenizer, gold, change, said
):
    recorder = MomentsRecorder(
        tmp_path, translator("additive", tokenizer), tokenizer, gold, 3
    )
    recorder.resume(0, 0.0)
    recorder.take(Moment(0, 0.0, 0, 0.0))
    (tmp_path / recorded.MOMENTS).write_bytes(moments_bytes(change(recorder.kept)))
    with pytest.raises(UserError) as refused:
        read_moments(tmp_path)
    assert said in str(refused.value) and recorded.MOMENTS in str(refused.value)


def vary(course, cross):
    return Course(
        course.english,
        course.reference,
        course.source,
        course.target,
        course.predicted,
        course.translations,
        {"cross": cross},
    )


def test_history_and_moments_belong_to_a_checkpoint():
    assert {recorded.HISTORY, recorded.MOMENTS} < set(checkpoint.ALL_FILES)
    assert checkpoint.ALL_FILES[-1] == "model.safetensors"
