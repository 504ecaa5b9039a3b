"""The training loop with a task of a few numbers: schedule, averaging, what is written,
and going on after a stop."""

import json
import math
import resource
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from xformer.results import UserError
from xformer.training import loop
from xformer.training.loop import Average, Trainer, learning_rate
from xformer.training.options import SCHEDULES, TrainingOptions

CPU = torch.device("cpu")
OFTEN = {"evaluate_minutes": 0.0, "save_minutes": 0.0}  # after every step
# no trial steps
STEADY = {"weight_decay": 0.1, "peak": 0.01, "warmup": 3, "precision": "bfloat16"}


class Line(nn.Module):
    """y = w x + b for x of three numbers."""

    def __init__(self, seed=0):
        super().__init__()
        self.config = SimpleNamespace(d_model=16)
        self.layer = nn.Linear(3, 1)
        generator = torch.Generator().manual_seed(seed)
        for parameter in self.parameters():
            nn.init.normal_(parameter, generator=generator)

    def forward(self, x):
        return self.layer(x)


class LineTask:
    """Four batches an epoch, of 1 to 4 examples. `evaluate` gives the scores it was
    handed, one after the other."""

    score = "good"

    def __init__(self, scores=(), seed=0, crash_at=0):
        self.model = Line(seed)
        self.scores = list(scores)
        self.crash_at = crash_at
        self.seen = []
        self.asked = []
        self.looks = []
        self.saved = []

    def batches(self, epoch, skip):
        self.asked.append((epoch, skip))
        rng = torch.Generator().manual_seed(epoch)
        made = [
            [
                (torch.randn(3, generator=rng), torch.randn(1, generator=rng))
                for _ in range(size)
            ]
            for size in (2, 4, 1, 3)
        ]
        yield from made[skip:]

    def weight(self, batch):
        return len(batch)

    def loss(self, model, batch, device):
        self.seen.append(batch)
        if len(self.seen) == self.crash_at:
            raise KeyboardInterrupt
        x, y = (torch.stack(column) for column in zip(*batch, strict=True))
        return (model(x) - y).square().sum()

    def evaluate(self, precision):
        self.looks.append((self.model.training, weights(self.model)))
        return {"good": self.scores.pop(0) if self.scores else 0.0, "also": 7}

    def save(self, folder, metrics):
        self.saved.append((metrics["step"], weights(self.model), metrics))


def weights(model):
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])


def train(task, folder, **options):
    trainer = Trainer(task, folder, TrainingOptions(**{**STEADY, **options}), CPU)
    return trainer, trainer.train()


def lines(folder):
    return [
        json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]


# Learning rate


def test_noam_is_the_formula_of_the_paper():
    """d_model^-0.5 min(step^-0.5, step warmup^-1.5) of section 5.3, with its d_model of
    512 and warmup of 4,000."""
    options = TrainingOptions(steps=1, schedule="noam", peak=1.0, warmup=4000)
    rates = {step: learning_rate(step, 0.0, options, 512) for step in range(1, 20_001)}
    assert max(rates, key=rates.get) == 4000
    assert (
        rates[4000]
        == pytest.approx(512**-0.5 * 4000**-0.5)
        == pytest.approx(6.99e-4, rel=1e-3)
    )
    assert rates[1] == pytest.approx(rates[4000] / 4000)
    assert rates[2000] == pytest.approx(rates[4000] / 2)
    assert rates[16_000] == pytest.approx(rates[4000] / 2)
    twice = TrainingOptions(steps=1, schedule="noam", peak=2.0, warmup=4000)
    assert learning_rate(4000, 0.9, twice, 512) == 2 * rates[4000]


def test_cosine_rises_to_the_peak_and_ends_at_zero():
    options = TrainingOptions(steps=1, schedule="cosine", peak=0.8, warmup=100)
    assert [
        learning_rate(step, 0.0, options, 512) for step in (1, 50, 100, 5000)
    ] == pytest.approx([0.008, 0.4, 0.8, 0.8])
    assert [
        learning_rate(1000, done, options, 512)
        for done in (1 / 3, 0.5, 2 / 3, 1.0, 1.2)
    ] == pytest.approx([0.6, 0.4, 0.2, 0.0, 0.0])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_warmup_is_no_division_by_zero(schedule):
    assert learning_rate(
        1, 0.0, TrainingOptions(steps=1, schedule=schedule, warmup=0, peak=1.0), 4
    ) in (0.5, 1.0)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({}, "the length of training is 0; give a number of steps or of minutes"),
        (
            {"steps": -5},
            "the length of training is 0; give a number of steps or of minutes",
        ),
        (
            {"steps": 1, "schedule": "flat"},
            "schedule is 'flat'; choose one of noam, cosine",
        ),
        (
            {"steps": 1, "precision": "float16"},
            "precision is 'float16'; choose one of auto, float32, bfloat16",
        ),
        (
            {"steps": 1, "average": 1.0},
            "average is 1.0; it must be at least 0 and below 1",
        ),
    ],
)
def test_wrong_options_are_refused(change, text):
    with pytest.raises(ValueError) as error:
        TrainingOptions(**change)
    assert str(error.value) == text


# Averaging


def numbers(model, *values):
    for parameter, value in zip(model.parameters(), values, strict=True):
        parameter.data.fill_(value)


def test_the_average_by_hand():
    """Decay is min(0.5, (1 + n) / (10 + n)): 2/11 and 3/12 at first, and 0.5 from the
    eighth step."""
    model = nn.Linear(1, 1)
    numbers(model, 1.0, -1.0)
    average = Average(model, 0.5)
    numbers(model, 12.0, 10.0)
    average.update()
    # 10, 8
    assert [float(w) for w in average.weights] == pytest.approx(
        [1 + 9 / 11 * 11, -1 + 9 / 11 * 11]
    )
    numbers(model, 2.0, 0.0)
    average.update()
    # 4, 2
    assert [float(w) for w in average.weights] == pytest.approx(
        [10 - 0.75 * 8, 8 - 0.75 * 8]
    )
    for _ in range(5):
        numbers(model, float(average.weights[0]), float(average.weights[1]))
        average.update()
    numbers(model, 8.0, 8.0)
    average.update()
    assert [float(w) for w in average.weights] == pytest.approx([6.0, 5.0])


def test_swapping_twice_changes_nothing():
    model = Line(0)
    average = Average(model, 0.9)
    numbers(model, 1.0, 2.0)
    average.update()
    own = weights(model)
    mean = torch.cat([w.flatten() for w in average.weights])
    assert not torch.equal(own, mean)
    average.swap()
    assert torch.equal(weights(model), mean)
    average.swap()
    assert torch.equal(weights(model), own)
    assert torch.equal(torch.cat([w.flatten() for w in average.weights]), mean)


def test_without_decay_the_average_is_the_newest():
    model = Line(0)
    average = Average(model, 0.0)
    numbers(model, 3.0, 4.0)
    average.update()
    assert torch.equal(
        torch.cat([w.flatten() for w in average.weights]), weights(model)
    )


# A run


def test_training_lowers_the_loss(tmp_path):
    task = LineTask()
    (batch, *_) = task.batches(0, 0)
    before = float(task.loss(task.model, batch, CPU).detach())
    train(task, tmp_path, steps=60, peak=0.1)
    assert float(task.loss(task.model, batch, CPU).detach()) < 0.5 * before


def test_epochs_follow_each_other_without_a_gap(tmp_path):
    task = LineTask()
    train(task, tmp_path, steps=10)
    assert task.asked == [(0, 0), (1, 0), (2, 0)]
    assert [len(batch) for batch in task.seen] == [2, 4, 1, 3, 2, 4, 1, 3, 2, 4]


def first_gradient(task):
    """That of the mean loss of the first batch, in full precision."""
    (batch, *_) = task.batches(0, 0)
    loss = task.loss(task.model, batch, CPU) / len(batch)
    return torch.cat(
        [g.flatten() for g in torch.autograd.grad(loss, list(task.model.parameters()))]
    )


def moments(trainer):
    return torch.cat(
        [
            trainer.optimizer.state[p]["exp_avg"].flatten()
            for p in trainer.task.model.parameters()
        ]
    )


def test_a_step_follows_the_gradient_of_the_mean_loss(tmp_path):
    """Adam's first moment after one step is 0.1 of it. A bfloat16 has 8 bits, hence 1
    %: measured 0.3 %."""
    want = first_gradient(LineTask())
    trainer, _ = train(LineTask(), tmp_path, steps=1, clip=1e9)
    torch.testing.assert_close(
        moments(trainer), 0.1 * want, rtol=1e-2, atol=1e-2 * float(want.norm()) * 0.1
    )


def test_a_step_in_full_precision_follows_the_gradient_closely(tmp_path):
    want = first_gradient(LineTask())
    trainer, _ = train(LineTask(), tmp_path, steps=1, clip=1e9, precision="float32")
    torch.testing.assert_close(moments(trainer), 0.1 * want, rtol=1e-5, atol=1e-7)


def test_gradients_are_clipped(tmp_path):
    want = first_gradient(LineTask())
    trainer, _ = train(LineTask(), tmp_path, steps=1, clip=0.25)
    assert want.norm() > 0.5
    assert float(moments(trainer).norm()) == pytest.approx(0.1 * 0.25, rel=1e-3)


def test_weights_decay(tmp_path):
    """By the learning rate of the step times the decay, apart from Adam's own step of
    at most the rate."""
    task = LineTask()
    before = weights(task.model)
    train(task, tmp_path, steps=1, peak=0.01, warmup=1, weight_decay=10.0)
    torch.testing.assert_close(weights(task.model), 0.9 * before, rtol=0, atol=0.0101)
    assert (weights(task.model) - 0.9 * before).abs().max() > 0.009


def test_a_line_of_metrics_says_how_it_stands(tmp_path):
    """With a learning rate of 0 the model stays, so that the losses can be told
    beforehand; they are weighted by the examples. A bfloat16 has 8 bits, hence 1 %."""
    task = LineTask(scores=[1.5])
    train(task, tmp_path, steps=6, peak=0.0)
    losses = [
        float(task.loss(task.model, batch, CPU).detach()) for batch in task.seen[:6]
    ]
    (line,) = lines(tmp_path)
    assert list(line) == [
        "step",
        "epoch",
        "minutes",
        "done",
        "loss",
        "learning_rate",
        "seen",
        "per_second",
        "good",
        "also",
    ]
    assert (line["step"], line["epoch"], line["done"], line["good"], line["also"]) == (
        6,
        1,
        1.0,
        1.5,
        7,
    )
    assert line["loss"] == pytest.approx(
        sum(losses) / (2 + 4 + 1 + 3 + 2 + 4), rel=1e-2
    )
    assert line["learning_rate"] == 0.0 and line["per_second"] > 0


def test_a_line_holds_the_loss_since_the_line_before(tmp_path):
    task = LineTask()
    train(task, tmp_path, steps=3, peak=0.0, **OFTEN)
    losses = [
        float(task.loss(task.model, batch, CPU).detach()) / len(batch)
        for batch in task.seen[:3]
    ]
    assert [line["loss"] for line in lines(tmp_path)] == pytest.approx(losses, rel=1e-2)


def test_the_learning_rate_is_that_of_the_schedule(tmp_path):
    train(LineTask(), tmp_path, steps=6, peak=0.5, warmup=2, **OFTEN)
    rates = [
        0.5 * min(1, (i + 1) / 2) * 0.5 * (1 + math.cos(math.pi * i / 6))
        for i in range(6)
    ]
    assert [line["learning_rate"] for line in lines(tmp_path)] == pytest.approx(rates)


def test_the_averaged_weights_are_scored_and_the_others_trained_on(tmp_path):
    looked = LineTask()
    unlooked = LineTask()
    (tmp_path / "unlooked").mkdir()
    train(unlooked, tmp_path / "unlooked", steps=5)
    trainer, _ = train(looked, tmp_path, steps=5, **OFTEN)
    assert torch.equal(weights(looked.model), weights(unlooked.model))
    training, scored = looked.looks[-1]
    assert training is False
    assert torch.equal(
        scored, torch.cat([w.flatten() for w in trainer.average.weights])
    )
    assert not torch.equal(scored, weights(looked.model))


def test_the_best_weights_are_kept(tmp_path):
    task = LineTask(scores=[1.0, 3.0, 2.0, 3.0, 4.0])
    trainer, scores = train(task, tmp_path, steps=5, **OFTEN)
    assert [step for step, _, _ in task.saved] == [1, 2, 5]
    for step, saved, metrics in task.saved:
        # what was scored is what is kept
        assert torch.equal(saved, task.looks[step - 1][1])
        assert (
            metrics["good"] == {1: 1.0, 2: 3.0, 5: 4.0}[step]
            and metrics["options"]["steps"] == 5
        )
    assert scores == {"good": 4.0, "also": 7} and trainer.best == 4.0


def clock(monkeypatch, seconds):
    """Every look at the clock is so many seconds after the one before: a step begins
    and ends with one."""
    now = iter(range(0, 10**9, seconds))
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: next(now)))


def test_a_run_ends_after_its_minutes(tmp_path, monkeypatch):
    clock(monkeypatch, 15)
    trainer, _ = train(LineTask(), tmp_path, minutes=1.5)
    assert trainer.step == 6 and trainer.elapsed == 90
    assert lines(tmp_path)[-1]["minutes"] == 1.5


@pytest.mark.parametrize(("steps", "end"), [(3, 3), (9, 4)])
def test_whichever_limit_comes_first_ends_a_run(tmp_path, monkeypatch, steps, end):
    clock(monkeypatch, 15)
    assert train(LineTask(), tmp_path, minutes=1.0, steps=steps)[0].step == end


def test_scores_and_states_come_at_their_intervals(tmp_path, monkeypatch):
    """A step a quarter of a minute: scores every minute, states every half."""
    clock(monkeypatch, 15)
    saved = []
    monkeypatch.setattr(
        loop.os, "replace", lambda new, old: saved.append((new.name, old.name))
    )
    train(LineTask(), tmp_path, steps=10, evaluate_minutes=1.0, save_minutes=0.5)
    assert [line["step"] for line in lines(tmp_path)] == [4, 8, 10]
    assert [names for names in saved if "state.pt" in names] == [
        ("state.pt.new", "state.pt")
    ] * 5


@pytest.mark.parametrize("precision", ["auto", "bfloat16"])
def test_an_epoch_without_batches_ends_the_run(tmp_path, precision):
    task = LineTask()
    task.batches = lambda epoch, skip: iter(())
    with pytest.raises(
        UserError,
        match="^There is nothing to train on: an epoch has no batch for 1 process",
    ):
        train(task, tmp_path, steps=3, precision=precision)


# Precision


class Clock:
    """A clock that stands still while nothing is computed; a trial step takes as long
    as its precision is said to."""

    def __init__(self, **seconds):
        self.now = 100.0
        self.seconds = seconds
        self.steps = []

    def perf_counter(self):
        return self.now

    def step(self, name):
        self.steps.append(name)
        self.now += self.seconds[name].pop(0)


def test_trial_steps_last_a_second_and_the_first_is_not_counted(monkeypatch):
    clock = Clock(float32=[9.0, 0.5, 0.25, 0.5], bfloat16=[0.1, 3.0])
    monkeypatch.setattr(loop, "time", clock)
    assert loop.measure(clock.step) == {"float32": 0.25, "bfloat16": 3.0}
    assert clock.steps == ["float32"] * 4 + ["bfloat16"] * 2


def quicker(monkeypatch, **seconds):
    """Trial steps that take so long, one of each."""
    asked = []

    def measure(step, ways):
        for name in ways:
            asked.append(name)
            step(name)
        return seconds

    monkeypatch.setattr(loop, "measure", measure)
    return asked


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [
        ({"float32": 1.5, "bfloat16": 0.25}, "bfloat16"),
        ({"float32": 1.5, "bfloat16": 2.0}, "float32"),
    ],
)
def test_a_run_learns_in_the_precision_that_is_quicker_here(
    tmp_path, monkeypatch, capsys, seconds, chosen
):
    """And as if no trial steps had been: they leave the weights, the gradients and
    chance as they were."""

    class Noisy(LineTask):
        def loss(self, model, batch, device):
            return super().loss(model, batch, device) * torch.rand(())

    asked = quicker(monkeypatch, **seconds)
    (tmp_path / "told").mkdir()
    measured = Noisy()
    told = Noisy()
    one, _ = train(measured, tmp_path, steps=6, precision="auto")
    two, _ = train(told, tmp_path / "told", steps=6, precision=chosen)
    assert (
        asked == ["float32", "bfloat16"]
        and len(measured.seen) == 8
        and len(told.seen) == 6
    )
    assert one.precision == two.precision == chosen
    assert torch.equal(weights(measured.model), weights(told.model)) and torch.equal(
        moments(one), moments(two)
    )
    said = capsys.readouterr().out
    assert said.count("training in") == 1
    assert (
        f"training in {chosen}: a trial step takes 1.5 s in float32, {seconds['bfloat16']:.2g} s in bf"
        in said
    )
    assert [metrics["precision"] for _, _, metrics in measured.saved] == [chosen]
    assert measured.saved[0][2]["options"]["precision"] == "auto"


def test_a_run_may_go_on_in_another_precision(tmp_path, monkeypatch):
    """On another machine, say; what its state remembers is for people."""
    quicker(monkeypatch, float32=1.0, bfloat16=2.0)
    train(LineTask(), tmp_path, steps=2, precision="auto")
    assert (
        torch.load(tmp_path / "state.pt", weights_only=True)["precision"] == "float32"
    )
    quicker(monkeypatch, float32=2.0, bfloat16=1.0)
    trainer, _ = train(LineTask(), tmp_path, steps=4, precision="auto")
    assert trainer.step == 4
    assert (
        torch.load(tmp_path / "state.pt", weights_only=True)["precision"] == "bfloat16"
    )


def test_a_state_from_before_precision_was_chosen_is_gone_on_with(tmp_path):
    train(LineTask(), tmp_path, steps=2)
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    del state["precision"]
    torch.save(state, tmp_path / "state.pt")
    assert train(LineTask(), tmp_path, steps=4)[0].step == 4


def test_a_finished_run_tries_nothing(tmp_path, monkeypatch):
    asked = quicker(monkeypatch, float32=1.0, bfloat16=2.0)
    train(LineTask(), tmp_path, steps=2)
    train(LineTask(), tmp_path, steps=2, precision="auto")
    assert asked == []


@pytest.mark.parametrize(
    ("kind", "precision"), [("cuda", "bfloat16"), ("mps", "float32")]
)
def test_on_a_gpu_nothing_is_tried(tmp_path, monkeypatch, kind, precision):
    asked = quicker(monkeypatch, float32=1.0, bfloat16=2.0)
    trainer = Trainer(LineTask(), tmp_path, TrainingOptions(steps=1), CPU)
    trainer.device = SimpleNamespace(type=kind)
    assert trainer._choose_precision() == precision and asked == []
    trainer.options = TrainingOptions(steps=1, precision="float32")
    assert trainer._choose_precision() == "float32"


# Going on after a stop


@pytest.mark.parametrize("crash", [2, 4, 5, 6, 9])
def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(tmp_path, crash):
    """Killed in the step `crash`, after the state of the one before was saved; an epoch
    ends with step 4 and 8."""
    (tmp_path / "whole").mkdir()
    whole = LineTask()
    stopped = LineTask(crash_at=crash)
    resumed = LineTask(seed=99)
    one, _ = train(whole, tmp_path / "whole", steps=10)
    with pytest.raises(KeyboardInterrupt):
        train(stopped, tmp_path, steps=10, save_minutes=0.0)
    two, _ = train(resumed, tmp_path, steps=10, save_minutes=0.0)
    # the step that was killed came twice
    assert len(stopped.seen) + len(resumed.seen) == 11
    assert torch.equal(weights(whole.model), weights(resumed.model))
    assert torch.equal(moments(one), moments(two))
    for a, b in zip(one.average.weights, two.average.weights, strict=True):
        assert torch.equal(a, b)


def test_a_run_goes_on_from_the_last_state_only(tmp_path):
    """What was learned after it was saved is learned again."""
    whole = LineTask()
    stopped = LineTask(crash_at=7)
    resumed = LineTask(seed=99)
    (tmp_path / "whole").mkdir()
    train(whole, tmp_path / "whole", steps=10)
    trainer = Trainer(stopped, tmp_path, TrainingOptions(steps=10, **STEADY), CPU)
    learn = trainer._learn

    def save_after_three(batch, done):
        if trainer.step == 3:
            trainer._save()
        return learn(batch, done)

    trainer._learn = save_after_three
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    train(resumed, tmp_path, steps=10)
    assert resumed.asked[0] == (0, 3) and len(resumed.seen) == 7
    assert torch.equal(weights(whole.model), weights(resumed.model))


def test_the_best_score_outlives_a_stop(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(LineTask(scores=[5.0, 1.0], crash_at=3), tmp_path, steps=6, **OFTEN)
    resumed = LineTask(scores=[4.0, 2.0, 6.0, 3.0])
    train(resumed, tmp_path, steps=6, **OFTEN)
    assert [step for step, _, _ in resumed.saved] == [5]
    assert [(line["step"], line["good"]) for line in lines(tmp_path)] == [
        (1, 5.0),
        (2, 1.0),
        (3, 4.0),
        (4, 2.0),
        (5, 6.0),
        (6, 3.0),
    ]


def test_time_is_counted_over_all_parts_of_a_run(tmp_path, monkeypatch):
    clock(monkeypatch, 15)
    with pytest.raises(KeyboardInterrupt):
        train(LineTask(crash_at=4), tmp_path, minutes=2.0, save_minutes=0.0)
    resumed = LineTask()
    trainer, _ = train(resumed, tmp_path, minutes=2.0)
    assert (len(resumed.seen), trainer.step, trainer.elapsed) == (5, 8, 120)


def test_a_finished_run_learns_nothing_more(tmp_path):
    task = LineTask()
    again = LineTask(seed=99)
    train(task, tmp_path, steps=4)
    _, scores = train(again, tmp_path, steps=4)
    assert again.seen == [] and scores == {}
    assert torch.equal(weights(again.model), weights(task.model))


def test_a_finished_run_may_be_prolonged(tmp_path):
    train(LineTask(), tmp_path, steps=4)
    task = LineTask()
    trainer, _ = train(task, tmp_path, steps=6)
    assert trainer.step == 6 and [len(batch) for batch in task.seen] == [2, 4]


def test_no_half_written_state_is_left(tmp_path, monkeypatch):
    """A process that ends while it writes leaves the state before."""

    def broken(state, path):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    train(LineTask(), tmp_path, steps=2)
    before = (tmp_path / "state.pt").read_bytes()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(torch, "save", broken)
        train(LineTask(), tmp_path, steps=5, save_minutes=0.0)
    assert (tmp_path / "state.pt").read_bytes() == before
    assert train(LineTask(), tmp_path, steps=5)[0].step == 5
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "history.json",
        "metrics.jsonl",
        "state.pt",
    ]


class Trap:
    """A pickle that runs code when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_a_state_cannot_run_code(tmp_path):
    torch.save({"model": Trap(str(tmp_path / "ran"))}, tmp_path / "state.pt")
    with pytest.raises(Exception, match="(?i)weights.only"):
        Trainer(LineTask(), tmp_path, TrainingOptions(steps=1), CPU)
    assert not (tmp_path / "ran").exists()


class Noisy(LineTask):
    """A task that draws on chance in every step, as dropout does."""

    def loss(self, model, batch, device):
        return super().loss(model, batch, device) * torch.rand(())


@pytest.mark.parametrize("crash", [2, 5, 9])
def test_chance_goes_on_where_it_was(tmp_path, crash):
    (tmp_path / "whole").mkdir()
    whole = Noisy()
    resumed = Noisy(seed=99)
    train(whole, tmp_path / "whole", steps=10)
    with pytest.raises(KeyboardInterrupt):
        train(Noisy(crash_at=crash), tmp_path, steps=10, save_minutes=0.0)
    torch.rand(7)  # what else drew from the generator meanwhile
    train(resumed, tmp_path, steps=10)
    assert torch.equal(weights(whole.model), weights(resumed.model))


def test_the_mean_loss_goes_on_over_a_stop(tmp_path):
    """The line of metrics at the end has the mean of all six steps, not of those after
    the stop."""
    (tmp_path / "whole").mkdir()
    train(LineTask(), tmp_path / "whole", steps=6)
    with pytest.raises(KeyboardInterrupt):
        train(LineTask(crash_at=5), tmp_path, steps=6, save_minutes=0.0)
    train(LineTask(), tmp_path, steps=6)
    assert [line["loss"] for line in lines(tmp_path)] == [
        line["loss"] for line in lines(tmp_path / "whole")
    ]


def test_scores_newer_than_the_state_are_forgotten(tmp_path):
    """A process that was killed leaves lines of steps that are made again, and perhaps
    half a line."""
    train(LineTask(), tmp_path, steps=3, **OFTEN)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "good": 1}\n{"step": 9, "good": 2}\n{"step": 10, "go')
    train(LineTask(), tmp_path, steps=6, **OFTEN)
    assert [line["step"] for line in lines(tmp_path)] == [1, 2, 3, 4, 5, 6]
    assert not (tmp_path / "metrics.jsonl.new").exists()


# What ends a run


class Diverging(LineTask):
    """A task whose loss is NaN from a step on."""

    def __init__(self, at, **more):
        super().__init__(**more)
        self.at = at

    def loss(self, model, batch, device):
        return super().loss(model, batch, device) * (
            math.nan if len(self.seen) == self.at else 1.0
        )


def test_a_run_that_diverges_ends_with_a_sentence_and_its_last_whole_state(tmp_path):
    with pytest.raises(UserError) as error:
        train(Diverging(at=4), tmp_path, steps=10, save_minutes=0.0)
    assert str(error.value) == (
        f"Training has diverged: the loss or its gradient in step 4 is no number any more; the state in "
        f"{tmp_path / 'state.pt'} is from before: go on from it with a smaller --peak."
    )
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    assert state["step"] == 3 and all(
        w.isfinite().all() for w in state["model"].values()
    )
    resumed = LineTask()
    assert train(resumed, tmp_path, steps=10)[0].step == 10


def test_weights_that_are_no_numbers_are_neither_scored_nor_saved(tmp_path):
    """Here a gradient of numbers, but a step so large that the weights cannot be
    stored."""
    task = LineTask()
    with pytest.raises(
        UserError,
        match="^Training has diverged: a weight in step 1 is no number .+; begin again",
    ):
        train(task, tmp_path, steps=10, peak=1e20, warmup=0, **OFTEN)
    assert task.looks == task.saved == [] and [
        path.name for path in tmp_path.iterdir()
    ] == ["history.json"]


@contextmanager
def files_of_at_most(size):
    """Let no file grow beyond a size in bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_ends_a_run_with_a_sentence_and_its_last_whole_state(tmp_path):
    train(LineTask(), tmp_path, steps=2)
    before = (tmp_path / "state.pt").read_bytes()
    with files_of_at_most(1500), pytest.raises(UserError) as error:
        train(LineTask(), tmp_path, steps=5, save_minutes=0.0)
    text = str(error.value)
    assert text.startswith(
        f"The file {tmp_path / 'state.pt'} cannot be written ("
    ) and text.endswith(
        "make room on the disk, and give the same command again: it goes on from the state saved last."
    )
    assert "\n" not in text
    assert (tmp_path / "state.pt").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "history.json",
        "metrics.jsonl",
        "state.pt",
    ]
    assert train(LineTask(), tmp_path, steps=5)[0].step == 5


# Compiled by torch.compile; here by backends of it that need no compiler, or by one
# that fails


def compiling(monkeypatch, backend, **seconds):
    """Let torch.compile use a backend; trial steps seem to take so many seconds."""
    made = []

    def compiled(model, dynamic):
        assert dynamic
        made.append(compile_model(model, dynamic=True, backend=backend))
        return made[-1]

    def measure(step, ways):
        for way in ways:
            step(way)
        return {way: seconds[way.split()[0]] for way in ways}

    compile_model = torch.compile
    monkeypatch.setattr(torch, "compile", compiled)
    monkeypatch.setattr(loop, "measure", measure)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quicker", "seconds"),
    [
        ("compiled", {"as": 2.0, "compiled": 1.0}),
        ("as it is", {"as": 1.0, "compiled": 2.0}),
    ],
)
def test_a_model_is_trained_compiled_where_that_is_quicker(
    tmp_path, monkeypatch, capsys, quicker, seconds
):
    (tmp_path / "plain").mkdir()
    (tmp_path / "compiled").mkdir()
    plain = LineTask()
    task = LineTask()
    train(plain, tmp_path / "plain", steps=5)
    made = compiling(monkeypatch, "aot_eager", **seconds)
    trainer, _ = train(task, tmp_path / "compiled", steps=5, compile=True)
    assert (trainer.parallel is made[0]) == (quicker == "compiled") and len(made) == 1
    assert (
        f"training the model {quicker}: 2 trial steps take {seconds['as']:.2g} s as it is"
        in capsys.readouterr().out
    )
    torch.testing.assert_close(weights(task.model), weights(plain.model))
    state = torch.load(tmp_path / "compiled" / "state.pt", weights_only=True)
    # whoever goes on with it need not compile
    assert {*state["model"]} == {*task.model.state_dict()}


def test_a_machine_without_a_compiler_trains_as_without_the_option(
    tmp_path, monkeypatch, capsys
):
    def no_compiler(graph, inputs):
        raise RuntimeError("No working C++ compiler found\nand much more")

    task = LineTask()
    plain = LineTask()
    compiling(monkeypatch, no_compiler)
    trainer, _ = train(task, tmp_path, steps=3, compile=True)
    assert trainer.parallel is task.model
    said = capsys.readouterr().out.splitlines()
    (sentence,) = [line for line in said if "torch.compile" in line]
    assert sentence.startswith(
        "training goes on without torch.compile, which did not work on this machine: "
    )
    assert "No working C++ compiler found" in sentence
    (tmp_path / "plain").mkdir()
    train(plain, tmp_path / "plain", steps=3)
    assert torch.equal(weights(task.model), weights(plain.model))


# Several processes, as far as one can see of them; two real ones are in
# test_training.py


def test_batches_too_small_to_share_out_are_passed_over_but_counted(
    tmp_path, monkeypatch
):
    """So that a run that goes on skips what the one before has seen: of 2, 4, 1 and 3
    examples the third."""
    monkeypatch.setattr(
        loop,
        "dist",
        SimpleNamespace(
            broadcast_object_list=lambda parcel, src: None, is_initialized=lambda: False
        ),
    )
    trainer = Trainer(LineTask(), tmp_path, TrainingOptions(steps=1), CPU)
    trainer.processes = 2
    seen = []
    for batch in trainer._shared(trainer.task.batches(0, 0)):
        trainer.batch += 1
        seen.append((len(batch), trainer.batch))
    assert seen == [(2, 1), (4, 2), (3, 4)]


@pytest.mark.parametrize(("rank", "tried"), [(0, ["float32", "bfloat16"]), (1, [])])
def test_several_processes_learn_in_the_precision_that_the_first_has_chosen(
    tmp_path, monkeypatch, rank, tried
):
    """It tries on its own share of the first batch, one of two examples."""
    sent = []

    def broadcast(parcel, src):
        sent.append(parcel[0])
        parcel[0] = "float32"

    asked = quicker(monkeypatch, float32=1.0, bfloat16=2.0)
    monkeypatch.setattr(
        loop,
        "dist",
        SimpleNamespace(broadcast_object_list=broadcast, is_initialized=lambda: False),
    )
    trainer = Trainer(LineTask(), tmp_path, TrainingOptions(steps=1), CPU)
    trainer.processes = 2
    trainer.rank = rank
    assert trainer._choose_precision() == "float32" and asked == tried
    assert [len(batch) for batch in trainer.task.seen] == [1] * len(tried)
    assert len(sent) == 1 and (rank or sent == ["float32"])


def test_the_mean_gradient_of_two_processes_is_that_of_one(tmp_path, monkeypatch):
    """Each has every second example, and the sum of them all to divide by. Measured 0.5
    %, of a bfloat16's 8 bits."""
    monkeypatch.setattr(
        loop,
        "dist",
        SimpleNamespace(all_reduce=lambda total: None, is_initialized=lambda: False),
    )
    found = {}
    for processes, rank in ((1, 0), (2, 0), (2, 1)):
        trainer = Trainer(LineTask(), tmp_path, TrainingOptions(steps=1, clip=1e9), CPU)
        trainer.processes = processes
        trainer.rank = rank
        trainer._learn(list(trainer.task.batches(0, 0))[1], 0.0)
        assert [len(batch) for batch in trainer.task.seen] == [4 // processes]
        found[processes, rank] = moments(trainer)
    mean = (found[2, 0] + found[2, 1]) / 2
    torch.testing.assert_close(
        mean, found[1, 0], rtol=1e-2, atol=1e-2 * float(mean.norm())
    )


def test_the_same_seed_trains_the_same(tmp_path):
    """Chance that the task draws on comes from the seed of the run."""

    class Noisy(LineTask):
        def loss(self, model, batch, device):
            return super().loss(model, batch, device) * torch.rand(())

    ends = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        task = Noisy()
        train(task, tmp_path / name, steps=3, seed=seed)
        ends.append(weights(task.model))
    assert torch.equal(ends[0], ends[1]) and not torch.equal(ends[0], ends[2])


@pytest.mark.parametrize(
    ("cuda", "mps", "device"),
    [
        (True, False, "cuda:1"),
        (False, True, "mps"),
        (False, False, "cpu"),
        (True, True, "cuda:1"),
    ],
)
def test_the_best_device_is_used(monkeypatch, cuda, mps, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert str(loop.own_device()) == device


def test_a_device_that_is_not_there_is_refused_in_a_sentence():
    assert str(loop.own_device("cpu")) == "cpu"
    with pytest.raises(UserError, match="gpu of the neighbours"):
        loop.own_device("gpu of the neighbours")


def test_steps_can_be_had_one_by_one_without_a_folder():
    """They are those of `train`, which writes."""
    options = TrainingOptions(**STEADY, steps=6)
    learner = loop.Learner(LineTask(), options, CPU)
    made = [*learner.steps()]
    assert [one.step for one in made] == [1, 2, 3, 4, 5, 6] and learner.epoch == 1
    assert [one.rate for one in made] == [
        learning_rate(step, (step - 1) / 6, options, 16) for step in range(1, 7)
    ]
    assert all(one.norm > 0 for one in made) and len(learner.history.points) == 6


def test_a_step_and_a_written_run_learn_the_same(tmp_path):
    task = LineTask()
    other = LineTask()
    train(task, tmp_path, steps=6)
    learner = loop.Learner(other, TrainingOptions(**STEADY, steps=6), CPU)
    [*learner.steps()]
    torch.testing.assert_close(weights(learner.task.model), weights(task.model))
