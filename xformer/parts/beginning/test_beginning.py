"""Gradients at the beginning of a training: what is said and drawn of them."""

import dataclasses
import json

import pytest

from xformer.figures import training as figures
from xformer.parts.beginning import part as beginning
from xformer.serve.study import Study
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask


@pytest.fixture(scope="module")
def study():
    return Study()


@pytest.mark.parametrize(
    ("language", "times"), [(ENGLISH, "times"), (SPANISH, "veces")]
)
def test_it_is_said_by_what_gradients_grow(study, language, times):
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
