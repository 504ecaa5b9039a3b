"""Studies of training that the page offers: what they answer, what they refuse, and what the page says of it."""

import dataclasses
import json

import pytest

from xformer import model
from xformer.explain.gradients import gradients_at_the_beginning, untrained
from xformer.results import UserError
from xformer.serve import protocol
from xformer.serve.limits import Guard
from xformer.serve.study import Study
from xformer.strings import ENGLISH, SPANISH
from xformer.ui import beginning
from xformer.ui.handlers import Ask


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
    with pytest.raises(UserError, match="0 people are being served"):
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
    assert figure.layout.yaxis2.title.text == "gradient norm, decoder"
    assert dataclasses.astuple(found["post"][0])[:3] == ("encoder", 1, "self_attention")
