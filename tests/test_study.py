"""Studies of training that the page offers: what they answer, what they refuse, and
what the page says of it."""

import dataclasses
import json
import re
from types import SimpleNamespace

import pytest

from xformer import model
from xformer.explain import recorded as courses
from xformer.explain.gradients import gradients_at_the_beginning, untrained
from xformer.parts.beginning import part as beginning
from xformer.parts.recorded import part as recorded
from xformer.results import TrainingCourse, UserError
from xformer.serve import protocol
from xformer.serve import study as serving
from xformer.serve.limits import Guard
from xformer.serve.study import Study
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask


@pytest.fixture(scope="module")
def study():
    return Study()


def test_the_page_offers_the_orders_that_the_model_has():
    assert sorted(protocol.NORMS) == sorted(model.NORMS)


def test_gradients_are_those_of_the_explanation(study):
    assert study.gradients(2, 32, "post", 4) == gradients_at_the_beginning(
        untrained(2, 32, "post"), 4
    )
    assert study.gradients(2, 32, "post", 4) != study.gradients(2, 32, "pre", 4)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((0, 32, "pre", 0), "0 layers"),
        ((19, 32, "pre", 0), "1 to 18 layers"),
        ((2, 33, "pre", 0), "width 33"),
        ((2, 256, "pre", 0), "width 256"),
        ((2, 32, "pre", -1), "The seed is -1; choose"),
        ((2, 32, "pre", 10**6), "The seed is 1,000,000; choose"),
    ],
)
def test_what_is_not_offered_is_refused_in_a_sentence(study, asked, said):
    with pytest.raises(UserError, match=said):
        study.gradients(*asked)


def test_gradients_have_the_limits_of_a_public_page():
    study = Study()
    study.guard = Guard(people=0)
    with pytest.raises(UserError, match="serves 0 people at once"):
        study.gradients(2, 32, "pre")


@pytest.mark.parametrize(
    ("language", "times"), [(ENGLISH, "times"), (SPANISH, "veces")]
)
def test_the_first_part_says_by_what_gradients_grow(study, language, times):
    values = {"grad_order": "both", "grad_layers": 6, "grad_width": 32, "grad_seed": 1}
    answer = Ask.always(study, language).answer(beginning.draw, **values)
    assert answer["problem"] == ""
    norms = [
        one.norm
        for one in study.gradients(6, 32, "post", 1)
        if (one.stack, one.sublayer) == ("decoder", "feed_forward")
    ]
    assert (
        f"{norms[0]:.2g}" in answer["said"]
        and f"{norms[-1] / norms[0]:.2g} {times}" in answer["said"]
    )
    drawn = json.loads(answer["picture"]["figure"])
    assert len(drawn["data"]) == 2 * (2 + 3)
    one = Ask.always(study, language).answer(
        beginning.draw, **values | {"grad_order": "pre", "grad_layers": 1}
    )
    assert (
        len(json.loads(one["picture"]["figure"])["data"]) == 5
        and "post-norm:" not in one["said"]
    )


def test_a_seed_that_is_no_seed_is_said(study):
    answer = Ask.always(study, ENGLISH).answer(
        beginning.draw, grad_order="both", grad_layers=2, grad_width=32, grad_seed=-3
    )
    assert "The seed is -3" in answer["problem"] and "picture" not in answer


def test_curves_stand_for_their_sublayers(study):
    from xformer.figures import training as figures

    found = {"post": study.gradients(3, 32, "post", 0)}
    figure = figures.gradients(found)
    curve = next(
        trace for trace in figure.data if trace.name == "post-norm, cross-attention"
    )
    assert list(curve.x) == [1, 2, 3] and list(curve.y) == [
        one.norm for one in found["post"] if one.sublayer == "cross_attention"
    ]
    assert figure.layout.yaxis2.title.text == "norm, decoder"
    assert dataclasses.astuple(found["post"][0])[:3] == ("encoder", 1, "self_attention")


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


def test_the_recorded_runs_that_ship_are_whole():
    kept = Study().recorded()
    assert kept.courses and not kept.broken and serving.RUNS.stat().st_size <= 500_000
