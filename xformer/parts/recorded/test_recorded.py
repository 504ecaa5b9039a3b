"""Recorded trainings beside each other: what is drawn and said of them, and of a file
that is broken."""

import dataclasses
import json
import re
from statistics import mean
from types import SimpleNamespace

import pytest

from xformer.explain import recorded as courses
from xformer.figures.training import recorded_lengths
from xformer.parts.recorded import draw
from xformer.parts.recorded import part as recorded
from xformer.results import TrainingCourse, decimal
from xformer.serve import study as serving
from xformer.serve.study import Study
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask

CHOSEN = "pre-200-0.003-heads-0"  # a run without several heads


def run_of(kind, loss, ended="finished", seed=0):
    steps = tuple(range(100, 100 * len(loss) + 100, 100))
    return TrainingCourse(
        dataclasses.replace(kind, seed=seed),
        steps,
        tuple(loss),
        (kind.peak,) * len(loss),
        (0.5,) * len(loss),
        ((steps[-1], 60.0, 3.25),),
        60.0,
        5.5,
        ended,
        (3.5,),
        ((0.1, 0.2), (0.3, 0.4)),
        "bleu",
    )


@pytest.fixture
def recorded_study(tmp_path, monkeypatch):
    """A study whose file of recorded runs holds five: one that diverges, a twin with
    two seeds, one of few pairs, and one that was cut off."""
    breaks, lower, pre = courses.QUESTIONS["break"]
    few = courses.QUESTIONS["data"][2]
    runs = [
        run_of(breaks, [6, 5, 4, 5.5, 5.5, 5.5]),
        run_of(lower, [6, 5, 4, 3.5, 3.4, 3.3]),
        run_of(lower, [6, 5.5, 4.5, 4, 3.5, 3.1], seed=1),
        run_of(few, [6, 5, 4, 3.5]),
        run_of(pre, [6, 5, 4, 3.5], "cut"),
    ]
    monkeypatch.setattr(serving, "RUNS", tmp_path / "runs.json")
    serving.RUNS.write_text(
        courses.to_json({"pairs": 9, "words": 5, "machine": "<b>"}, runs)
    )
    return Study()


def test_lengths_are_tabulated_where_every_run_has_them():
    run = run_of(courses.WHOLE, [6, 5])
    lengths = dataclasses.replace(run, by_length=(3.0, 2.0, 1.0))
    for runs, told in (([lengths, lengths], True), ([lengths, run], False)):
        html = recorded_lengths({courses.WHOLE: runs}, "rate", None)
        assert ("<table" in html) is told
        assert bool(html) is told


@pytest.mark.parametrize(("run", "is_open"), [("", False), (CHOSEN, True)])
def test_the_tables_of_many_runs_are_folded_until_one_is_chosen(run, is_open):
    answer = Ask.always(Study(), SPANISH).answer(
        recorded.draw, recorded_question="parts", recorded_run=run
    )
    ((opened, folded),) = re.findall(
        r'^<details class="more"( open)?>(.*)</details>$', answer["table"], re.DOTALL
    )
    assert bool(opened) is is_open
    assert folded.count("<table") == 2
    # in the row of its kind of each table
    assert folded.count("class=chosen") == 2 * is_open


def test_recorded_runs_are_compared_by_their_numbers(recorded_study):
    answer = Ask.always(recorded_study, ENGLISH).answer(
        recorded.draw, recorded_question="break", recorded_run=""
    )
    assert answer["problem"] == "" and "<b>" not in answer["said"]
    data = json.loads(answer["picture"]["figure"])["data"]
    assert len(data) == 3 * 3 and len({curve["line"]["color"] for curve in data}) == 2
    assert [curve["showlegend"] for curve in data[:3]] == [True, True, False], (
        "seeds share a name"
    )
    rows = re.findall(r"<tr.*?</tr>", answer["table"], re.DOTALL)[1:]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
    assert [row[0].strip() for row in cells] == [
        "post-norm, rate up to 0.03",
        "post-norm, rate up to 0.003",
    ]
    assert [row[1] for row in cells] == ["1", "2"] and [row[2] for row in cells] == [
        "1",
        "0",
    ]
    assert [row[4] for row in cells] == ["5.50", "3.20 (3.10–3.30)"]
    depths = json.loads(answer["depths"]["figure"])["data"]
    assert [curve["y"] for curve in depths[:2]] == [[0.1, 0.2], [0.3, 0.4]] and depths[
        0
    ]["x"] == ["enc. 1", "dec. 1"]


def test_held_out_loss_is_drawn_beside_that_of_training(recorded_study):
    answer = Ask.always(recorded_study, ENGLISH).answer(
        recorded.draw, recorded_question="data", recorded_run=""
    )
    data = json.loads(answer["picture"]["figure"])["data"]
    assert len(data) == 3, "loss, held-out loss, BLEU"
    assert [curve["y"] for curve in data if curve["line"].get("dash") == "dot"] == [
        [3.5]
    ]


def test_a_chosen_run_is_thick_and_what_happened_in_it_is_said(recorded_study):
    ask = Ask.always(recorded_study, SPANISH)
    answer = ask.answer(
        recorded.draw, recorded_question="break", recorded_run="post-600-0.03-0"
    )
    assert "<p>post-norm, tasa hasta 0.03: Divergió en el paso" in answer["said"]
    data = json.loads(answer["picture"]["figure"])["data"]
    assert [curve["line"]["width"] for curve in data[:2]] == [4, 1.6] and answer[
        "table"
    ].count("class=chosen") == 1
    assert data[1]["customdata"][0] == "post-600-0.003-0"
    clicked = recorded.pick(
        recorded_study, SPANISH, event=SimpleNamespace(curve="post-600-0.003-1")
    )
    assert clicked == {"chosen": "post-600-0.003-1"}


def test_a_question_without_runs_is_empty(recorded_study):
    answer = Ask.always(recorded_study, ENGLISH).answer(
        recorded.draw, recorded_question="order", recorded_run=""
    )
    assert answer["picture"] is None and answer["table"] == answer["problem"] == ""


def test_a_broken_recording_is_one_sentence_and_the_rest_works(recorded_study):
    stored = json.loads(serving.RUNS.read_text())
    stored["runs"][0].pop("loss")
    serving.RUNS.write_text(json.dumps(stored))
    answer = Ask.always(recorded_study, ENGLISH).answer(
        recorded.draw, recorded_question="break", recorded_run=""
    )
    assert (
        "1 of the recorded runs cannot be read and are left out." in answer["problem"]
        and answer["picture"]
    )
    serving.RUNS.write_text("{")
    answer = Ask.always(recorded_study, ENGLISH).answer(
        recorded.draw, recorded_question="break", recorded_run=""
    )
    assert (
        "The file runs.json of recorded runs is missing or broken" in answer["problem"]
    )
    assert recorded_study.gradients(1, 32, "pre")


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_both_orders_are_read_out_with_the_numbers_of_their_runs(language):
    answer = Ask.always(Study(), language).answer(
        recorded.draw, recorded_question="order", recorded_run=""
    )
    # the means of the file's three seeds, and of the gradients' growth
    for number in ("4.5", "5.7", "0.2", "11.7"):
        assert number in answer["read"]
    grown = [
        sum(one.growth for one in draw.DEEP if (one.norm, one.layers) == (norm, layers))
        / 3
        for norm, layers in (("post", 3), ("post", 6), ("pre", 6))
    ]
    assert grown[0] < 1.5 < 2 < grown[1] and grown[2] < 1
    assert all(decimal(value, 2) in answer["read"] for value in grown)
    drawn = json.loads(answer["deeper"]["figure"])["data"]
    assert [len(one["x"]) for one in drawn] == [3, 3, 6, 6]


@pytest.mark.parametrize("question", courses.QUESTIONS)
def test_each_question_ends_with_what_its_seeds_say(question):
    answer = Ask.always(Study(), SPANISH).answer(
        recorded.draw, recorded_question=question, recorded_run=""
    )
    said, unsettled = re.findall("<p>(.*?)</p>", answer["read"])[:2]
    rows = courses.kinds(Study().recorded(question).courses, question).values()
    for runs in rows:
        reached = [one.scores[-1][2] for one in runs]
        assert f"{mean(reached):.1f}" in said
    assert str(Study().recorded(question).about["d_model"]) in unsettled
    assert (answer["deeper"] is not None) == (question == "order")


def test_what_lies_beyond_the_spread_is_told_by_the_recorded_seeds():
    answer = Ask.always(Study(), ENGLISH).answer(
        recorded.draw, recorded_question="order", recorded_run=""
    )
    apart, within = answer["read"].split("Not larger than that spread: ")
    assert "post-norm, warm-up 200 (4.5) over post-norm, warm-up 0 (0.2)." in apart
    assert within.startswith("pre-norm, warm-up 0 (5.7) over post-norm, warm-up 200")
