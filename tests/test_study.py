"""Studies of training that the page offers: what they answer, what they refuse, and
what the page says of it."""

import pytest

from xformer import model
from xformer.explain.gradients import gradients_at_the_beginning, untrained
from xformer.results import UserError
from xformer.serve import protocol
from xformer.serve import study as serving
from xformer.serve.limits import Guard
from xformer.serve.study import Study


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


def test_the_recorded_runs_that_ship_are_whole():
    kept = Study().recorded("order")
    assert kept.courses and not kept.broken and serving.RUNS.stat().st_size <= 500_000
