"""Studies of training that the page offers: what they answer, what they refuse, and what the page says of it."""

import dataclasses
import json
from types import SimpleNamespace

import pytest

from xformer import model
from xformer.explain import recorded as courses
from xformer.explain.gradients import gradients_at_the_beginning, untrained
from xformer.results import RunSettings, TrainingCourse, UserError
from xformer.serve import protocol
from xformer.serve import study as serving
from xformer.serve.limits import Guard
from xformer.serve.study import Study
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask
from xformer.ui.training import beginning, recorded


@pytest.fixture(scope="module")
def study():
    return Study()


def test_the_page_offers_the_orders_that_the_model_has():
    assert sorted(protocol.NORMS) == sorted(model.NORMS)


def test_gradients_are_those_of_the_explanation(study):
    assert study.gradients(2, 32, "post", 4) == gradients_at_the_beginning(untrained(2, 32, "post"), 4)
    assert study.gradients(2, 32, "post", 4) != study.gradients(2, 32, "pre", 4)


@pytest.mark.parametrize(("asked", "said"), [
    ((0, 32, "pre", 0), "0 layers"), ((19, 32, "pre", 0), "1 to 18 layers"), ((2, 33, "pre", 0), "width 33"),
    ((2, 256, "pre", 0), "width 256"), ((2, 32, "pre", -1), "The seed is -1; choose"),
    ((2, 32, "pre", 10**6), "The seed is 1,000,000; choose")])
def test_what_is_not_offered_is_refused_in_a_sentence(study, asked, said):
    with pytest.raises(UserError, match=said):
        study.gradients(*asked)


def test_gradients_have_the_limits_of_a_public_page():
    study = Study()
    study.guard = Guard(people=0)
    with pytest.raises(UserError, match="serves 0 people at once"):
        study.gradients(2, 32, "pre")


@pytest.mark.parametrize(("language", "times"), [(ENGLISH, "times"), (SPANISH, "veces")])
def test_the_first_part_says_by_what_gradients_grow(study, language, times):
    values = {"grad_order": "both", "grad_layers": 6, "grad_width": 32, "grad_seed": 1}
    answer = Ask.always(study, language).answer(beginning.draw, **values)
    assert answer["problem"] == ""
    norms = [one.norm for one in study.gradients(6, 32, "post", 1)
             if (one.stack, one.sublayer) == ("decoder", "feed_forward")]
    assert f"{norms[0]:.2g}" in answer["said"] and f"{norms[-1] / norms[0]:.2g} {times}" in answer["said"]
    drawn = json.loads(answer["picture"]["figure"])
    assert len(drawn["data"]) == 2 * (2 + 3)
    one = Ask.always(study, language).answer(beginning.draw, **values | {"grad_order": "pre", "grad_layers": 1})
    assert len(json.loads(one["picture"]["figure"])["data"]) == 5 and "post-norm:" not in one["said"]


def test_a_seed_that_is_no_seed_is_said(study):
    answer = Ask.always(study, ENGLISH).answer(beginning.draw, grad_order="both", grad_layers=2, grad_width=32,
                                               grad_seed=-3)
    assert "The seed is -3" in answer["problem"] and "picture" not in answer


def test_curves_stand_for_their_sublayers(study):
    from xformer.figures import training as figures
    found = {"post": study.gradients(3, 32, "post", 0)}
    figure = figures.gradients(found)
    curve = next(trace for trace in figure.data if trace.name == "post-norm, cross-attention")
    assert list(curve.x) == [1, 2, 3] and list(curve.y) == [
        one.norm for one in found["post"] if one.sublayer == "cross_attention"]
    assert figure.layout.yaxis2.title.text == "norm, decoder"
    assert dataclasses.astuple(found["post"][0])[:3] == ("encoder", 1, "self_attention")


def run_of(norm, warmup, peak, loss, ended="finished"):
    steps = tuple(range(100, 100 * len(loss) + 100, 100))
    return TrainingCourse(RunSettings("translation", norm, 6, "cosine", warmup, peak, 0.1, 0, 1000), steps, tuple(loss),
                          (peak,) * len(loss), (0.5,) * len(loss), ((steps[-1], 60.0, 3.25),), 60.0, 5.5, ended, "bleu")


@pytest.fixture
def recorded_study(tmp_path, monkeypatch):
    """A study whose file of recorded runs holds four: one that stalls, three that learn, the last of them cut off."""
    runs = [run_of("post", 0, 3e-3, [6, 5.5, 5.5, 5.5, 5.5, 5.5]), run_of("pre", 0, 3e-3, [6, 5, 4, 3.5, 3.4, 3.3]),
            run_of("post", 400, 3e-3, [6, 5.5, 4.5, 4, 3.5, 3.1]), run_of("pre", 400, 1e-3, [6, 5, 4, 3.5], "cut")]
    monkeypatch.setattr(serving, "DIVERGENCE", tmp_path / "divergence.json")
    serving.DIVERGENCE.write_text(courses.to_json({"pairs": 9, "words": 5, "machine": "<b>"}, runs))
    return Study()


def test_recorded_runs_are_compared_by_their_numbers(recorded_study):
    ask = Ask.always(recorded_study, ENGLISH)
    answer = ask.answer(recorded.draw, recorded_peak="0.003", recorded_run="")
    assert answer["problem"] == "" and "<b>" not in answer["said"]
    assert "Post-norm: without a warm-up, the loss of 0 of 1 runs came at least 20 % below" in answer["found"]
    assert "Pre-norm: without a warm-up, the loss of 1 of 1 runs" in answer["found"]
    assert "A loss of 3.30 took post-norm 600 and pre-norm 600 of 1,000 steps" in answer["found"]
    data = json.loads(answer["picture"]["figure"])["data"]
    assert len(data) == 3 * 3 and {curve["line"]["dash"] for curve in data} == {"solid", "dash"}
    assert answer["table"].count("<tr>") == 1 + 4 and "Cut off: " in answer["table"]


def test_a_chosen_run_is_thick_and_its_settings_are_said(recorded_study):
    ask = Ask.always(recorded_study, SPANISH)
    answer = ask.answer(recorded.draw, recorded_peak="0.001", recorded_run="post-0-0.003")
    said = answer["said"].split("</p>")[1]
    assert said.startswith("<p>post-norm, calentamiento 0 de 1\u202f000: llega a 0.003: Se estancó")
    data = json.loads(answer["picture"]["figure"])["data"]
    assert [curve["line"]["width"] for curve in data[:2]] == [1.6, 4] and answer["table"].count("class=chosen") == 1
    assert data[1]["customdata"][0] == "post-0-0.003"
    clicked = recorded.pick(recorded_study, SPANISH, event=SimpleNamespace(curve="pre-0-0.003"))
    assert clicked == {"chosen": "pre-0-0.003"}


def test_a_broken_recording_is_one_sentence_and_the_rest_works(recorded_study):
    stored = json.loads(serving.DIVERGENCE.read_text())
    stored["runs"][0].pop("loss")
    serving.DIVERGENCE.write_text(json.dumps(stored))
    answer = Ask.always(recorded_study, ENGLISH).answer(recorded.draw, recorded_peak="all", recorded_run="")
    assert "1 of the recorded runs cannot be read and are left out." in answer["problem"] and answer["picture"]
    serving.DIVERGENCE.write_text("{")
    answer = Ask.always(recorded_study, ENGLISH).answer(recorded.draw, recorded_peak="all", recorded_run="")
    assert "The file divergence.json of recorded runs is missing or broken" in answer["problem"]
    assert recorded_study.gradients(1, 32, "pre")


def test_the_recorded_runs_that_ship_are_whole():
    kept = Study().recorded()
    assert kept.courses and not kept.broken and serving.DIVERGENCE.stat().st_size <= 500_000
