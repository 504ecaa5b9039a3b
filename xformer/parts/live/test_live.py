"""Training that somebody watches: its tasks, its schedule, its frames, its limits, and
what the page shows of it."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from random import Random

import numpy as np
import pytest
import torch

from xformer.device import use_threads
from xformer.explain.recorded import verdict
from xformer.parts.live import part
from xformer.pieces import EOS
from xformer.results import Head, LiveWait, RunSettings, UserError
from xformer.serve import study as serving
from xformer.serve.limits import Guard
from xformer.serve.study import Study
from xformer.strings import ENGLISH, SPANISH
from xformer.training import live
from xformer.ui.handlers import Ask

SMALL = RunSettings("copy", "pre", 1, "cosine", 2, 3e-3, 0.1, 1, 6)
VALUES = {
    "live_task": "copy",
    "live_order": "pre",
    "live_layers": 1,
    "live_schedule": "cosine",
    "live_warmup": 2,
    "live_peak": "0.003",
    "live_smoothing": 0.1,
    "live_seed": 1,
    "live_steps": 6,
    "live_without": "",
    "live_pairs": "0",
}


def watched(settings, ended=lambda made: ""):
    return [*live.train(settings, ended)]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "cero"),
        (16, "dieciséis"),
        (29, "veintinueve"),
        (30, "treinta"),
        (42, "cuarenta y dos"),
        (100, "cien"),
        (101, "ciento uno"),
        (555, "quinientos cincuenta y cinco"),
        (900, "novecientos"),
        (1000, "mil"),
        (1999, "mil novecientos noventa y nueve"),
        (7021, "siete mil veintiuno"),
        (9100, "nueve mil cien"),
    ],
)
def test_numbers_are_written_in_spanish(number, words):
    assert " ".join(live.in_words(number)) == words


def test_answers_are_right_and_held_out_questions_are_never_trained_on():
    rng = Random(0)
    for task, check in (
        ("reverse", lambda one: one.answer == one.question[::-1]),
        ("copy", lambda one: one.answer == one.question),
        (
            "numbers",
            lambda one: list(one.answer) == live.in_words(int("".join(one.question))),
        ),
    ):
        assert all(check(live.draw(task, rng)) for _ in range(50))
        examples = live.Examples(task, 3)
        held = {tuple(examples.encode(one.question)) for one in examples.held_out}
        assert len(held) == live.HELD_OUT
        batches = [
            batch for batch, _ in zip(examples.epoch(0), range(20), strict=False)
        ]
        assert not held & {
            tuple(question) for batch in batches for question, _ in batch
        }
        assert [*zip(examples.epoch(0, 7), range(1), strict=False)][0][0] == batches[7]


def test_few_examples_are_the_same_few_in_every_epoch():
    examples = live.Examples("copy", 3, 5)
    met = set()
    for number in (0, 1):
        for batch in islice(examples.epoch(number), 20):
            met |= {tuple(question) for question, _ in batch}
    assert met == {tuple(question) for question, _ in examples.few} and len(met) == 5
    assert not met & {tuple(examples.encode(one.question)) for one in examples.held_out}


def test_the_drawn_schedule_is_the_one_that_is_followed():
    for name in ("cosine", "noam"):
        settings = replace(SMALL, schedule=name, warmup=3)
        drawn = live.schedule(settings)
        *_, last = watched(settings)
        assert (
            last.course.rate == pytest.approx(drawn, rel=1e-3)
            and max(drawn) <= settings.peak * 1.0001
        )
    assert max(
        live.schedule(replace(SMALL, schedule="noam", warmup=3))
    ) == pytest.approx(SMALL.peak)


@pytest.mark.slow
def test_a_frame_shows_the_numbers_the_map_and_answers():
    torch.manual_seed(5)
    wanted = torch.rand(2)
    torch.manual_seed(5)
    *_, last = watched(replace(SMALL, layers=2))
    torch.testing.assert_close(torch.rand(2), wanted)
    course = last.course
    assert (
        course.ended == "finished"
        and course.step == (1, 2, 3, 4, 5, 6)
        and len(course.norm) == 6
    )
    assert len(course.held_out) == len(course.scores) and [
        len(norms) for norms in course.depths
    ] == [4, 4]
    assert course.scores[-1][0] == 6 and all(
        0 <= share <= 1 for _, _, share in course.scores
    )
    assert (
        isinstance(last.head, Head)
        and last.head.stack == "cross"
        and 1 <= last.head.layer <= 2
    )
    assert (
        last.probabilities.shape == (len(last.queries), len(last.keys))
        and last.keys[-1] == "</s>"
        and EOS
    )
    np.testing.assert_allclose(last.probabilities.sum(1), 1, atol=1e-5)
    assert (
        all(right == question for question, _, right in last.answers)
        and len(last.answers) == live.SHOWN
    )


def test_a_seed_gives_the_same_run_beside_others():
    def learned(seed):
        *_, last = watched(replace(SMALL, seed=seed))
        return last.course.loss, last.course.norm, last.answers

    seeds = [1, 2, 3, 1, 2, 3]
    alone = [learned(seed) for seed in seeds]
    state = torch.get_rng_state()
    # As `Study` does: a thread that says nothing has as many of its own as was said
    # last, wherever in the process.
    with ThreadPoolExecutor(len(seeds), initializer=use_threads, initargs=(1,)) as pool:
        assert [*pool.map(learned, seeds)] == alone
    assert torch.equal(torch.get_rng_state(), state), (
        "nobody else's random numbers are used up"
    )


@pytest.mark.full
@pytest.mark.slow
def test_a_small_model_learns_to_copy():
    *_, last = watched(replace(SMALL, steps=300, warmup=0, smoothing=0.0))
    assert verdict(last.course).key == "run_learned", verdict(last.course).say()


def test_numbers_that_are_none_end_a_run_and_are_said():
    *_, last = watched(replace(SMALL, peak=1e18, warmup=0))
    assert (
        last.course.ended == "diverged" and verdict(last.course).key == "run_no_number"
    )


def test_a_run_is_stopped_after_the_step_it_is_at():
    frames = []
    halt = threading.Event()
    for frame in Study().train(replace(SMALL, steps=1_000), halt):
        frames.append(frame)
        halt.set()
    last = frames[-1].course
    assert (
        last.ended == "stopped"
        and last.step[-1] < 1_000
        and last.scores[-1][0] == last.step[-1]
    )


def test_a_run_ends_when_it_has_taken_long_enough(monkeypatch):
    monkeypatch.setattr(serving.protocol, "LIVE_SECONDS", 0.0)
    *_, last = Study().train(replace(SMALL, steps=1_000), threading.Event())
    assert last.course.ended == "late" and last.course.step[-1] == 1


def test_a_run_ends_when_whoever_asked_is_gone_and_says_so_to_a_page_that_was_only_slow():
    study = Study()
    halt = threading.Event()
    there = [True]
    study.guard = Guard(asker=lambda: lambda: there[0])
    frames = study.train(replace(SMALL, steps=1_000), halt)
    next(frames)
    there[0] = False
    *_, last = frames
    assert (
        halt.is_set()
        and last.course.ended == "stopped"
        and last.course.step[-1] < 1_000
    )


def test_who_waits_for_a_turn_can_leave():
    study = Study()
    halt = threading.Event()
    first = study.places.join("1"), study.places.join("2")
    run = study.train(SMALL, halt)
    assert next(run) == LiveWait(0)
    halt.set()
    assert [*run] == [] and [study.places.before(one) for one in first] == [None] * 2


def test_a_run_whose_frames_nobody_takes_ends():
    now = [0.0]
    halt = threading.Event()
    study = Study(clock=lambda: now[0])
    frames = study.train(replace(SMALL, steps=1_000), halt)
    next(frames)
    assert not halt.is_set()
    now[0] = serving.UNREAD + 0.1
    assert halt.wait(60)
    *_, last = frames
    assert last.course.ended == "stopped" and last.course.step[-1] < 1_000


def test_the_wait_for_others_is_said_above_the_curves():
    study = Study()
    others = [study.places.join(f"{number}") for number in range(2)]
    answers = Ask.always(study, ENGLISH).answers(part.run, runs=(), **VALUES)
    next(answers)
    assert "Others train too: 0 in line before this run." in next(answers)["told"]
    for run in others:
        study.places.leave(run)
    *_, last = (one for one in answers if "runs" in one)
    assert last["runs"][0].ended == "finished"


def test_a_run_that_is_stopped_while_it_waits_leaves_no_wait_behind():
    study = Study()
    others = [study.places.join(f"{number}") for number in range(2)]
    answers = Ask.always(study, ENGLISH).answers(part.run, runs=(), **VALUES)
    halt = next(answers)["halt"]
    assert "in line before" in next(answers)["told"] and len(others) == 2
    halt.set()
    *_, last = answers
    assert last["told"] == "" and last["start"]["interactive"]


def test_a_run_rests_while_somebody_is_served():
    rested = []

    class Halt(threading.Event):
        def wait(self, timeout=None):
            rested.append(timeout)
            return False

    study = Study()
    assert [*study.train(SMALL, Halt())] and not rested
    with study.guard.enter():
        assert [*study.train(SMALL, Halt())]
    assert len(rested) == SMALL.steps and all(
        0 < seconds <= serving.LOOK for seconds in rested
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"layers": 9}, "The value of layers is 9; choose a number from 1 to 8."),
        ({"steps": 0}, "steps is 0"),
        ({"peak": float("nan")}, "peak is nan"),
        ({"peak": 1.0}, "from 0 to 0.1"),
        ({"warmup": -1}, "warmup is −1"),
        ({"task": "<b>"}, "task is “<b>”; choose one of reverse, numbers, copy"),
        ({"norm": "no"}, "norm is “no”"),
        ({"seed": -1}, "The seed is -1"),
        ({"schedule": None}, "schedule is “None”; choose one of cosine, noam"),
        ({"layers": None}, "layers is None; choose"),
        ({"peak": {}}, "peak is {}; choose"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"steps": float("inf")}, "steps is ∞"),
        ({"pairs": 1_001}, "pairs is 1001"),
        ({"without": "wheels"}, "without is “wheels”; choose one of residual, norm"),
    ],
)
def test_settings_that_are_not_offered_are_refused_in_a_sentence(change, said):
    for ask in (
        lambda settings: Study().schedule(settings),
        lambda settings: next(Study().train(settings, threading.Event())),
    ):
        with pytest.raises(UserError, match=re.escape(said)):
            ask(replace(SMALL, **change))


@pytest.mark.slow
@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_a_second_run_is_laid_over_the_first(language):
    ask = Ask.always(Study(), language)
    planned = ask.answer(part.plan, runs=(), **VALUES)
    assert planned.keys() == {"problem", "pace"}, (
        "what a run that goes on draws is left alone"
    )
    curves = [
        trace
        for trace in json.loads(planned["pace"]["figure"])["data"]
        if trace["x"] != [None]
    ]
    assert [trace["name"] for trace in curves] == [language.say("live_planned")]
    *_, last = (
        one for one in ask.answers(part.run, runs=(), **VALUES) if "runs" in one
    )
    *_, again = (
        one
        for one in ask.answers(
            part.run, runs=last["runs"], **VALUES | {"live_order": "post"}
        )
        if "runs" in one
    )
    assert len(again["runs"]) == 2 and again["runs"][0] is last["runs"][0]
    names = [trace["name"] for trace in json.loads(again["progress"]["figure"])["data"]]
    assert [name[:11] for name in names] == ["1 · pre-nor", "2 · post-no"] * 3
    assert again["told"].count("<li>") == 2 and "</table>" in again["answers"]
    assert len(part.MOST_RUNS * [0]) == 4
    gone = ask.answer(part.forget, **VALUES)
    assert gone["runs"] == () and gone["told"] == gone["answers"] == ""
    assert gone["progress"] is gone["depth"] is gone["attention"] is None


def test_buttons_come_back_when_a_run_is_refused():
    answer = Ask.always(Study(), ENGLISH).answer(
        part.run, runs=(), **VALUES | {"live_seed": -4}
    )
    assert "The seed is -4" in answer["problem"]
    assert answer["start"]["interactive"] and not answer["stop"]["interactive"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"live_schedule": None}, "schedule is “None”"),
        ({"live_peak": None}, "peak is “None”"),
        ({"live_layers": {}}, "layers is {}"),
        ({"live_steps": float("nan")}, "steps is nan"),
        ({"live_seed": float("nan")}, "The seed is nan"),
        ({"live_pairs": 7}, "pairs is “7”"),
        ({"live_smoothing": None}, "smoothing is None"),
    ],
)
def test_fields_that_hold_nonsense_are_said(change, said):
    from html import unescape

    assert said in unescape(
        Ask.always(Study(), ENGLISH).answer(part.plan, runs=(), **VALUES | change)[
            "problem"
        ]
    )


def test_presets_are_settings_that_the_controls_offer():
    for name in part.PRESETS:
        chosen = part.preset(None, ENGLISH, name=name)
        assert chosen.keys() == VALUES.keys() and Study().schedule(
            part.settings_of(chosen)
        )
