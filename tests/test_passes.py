"""Passes that show what happened inside; those of one kind are tested with what they
show, in modules of their own."""

import pytest

from xformer.explain import passes
from xformer.explain.passes import UNCHANGED, intervene
from xformer.model import Heads
from xformer.results import Head, Occlude, Positions


def test_where_nothing_is_changed_there_are_no_tensors(tiny_model):
    assert (
        intervene(tiny_model) is UNCHANGED
        and UNCHANGED.heads is None
        and UNCHANGED.table is None
    )


def test_changes_are_equal_where_the_same_was_asked_for(tiny_model):
    """So that requests that ask for the same share a batch."""
    first, second = (
        intervene(tiny_model, [Head("cross", 1, 2)], Positions("shift", 3))
        for _ in range(2)
    )
    assert (
        first == second
        and hash(first) == hash(second)
        and first.table is not second.table
    )
    assert first != intervene(tiny_model, [Head("cross", 1, 1)], Positions("shift", 3))
    assert first != intervene(tiny_model, [Head("cross", 1, 2)], Positions("shift", 4))


@pytest.mark.parametrize(
    "ask",
    [
        lambda service: service.translate(
            "The cat sleeps.",
            off=[Head("cross", 1, 2)],
            positions=Positions("shift", 3),
        ),
        lambda service: service.trace(
            "The cat sleeps.", [5], [Head("cross", 1, 2)], Positions("shift", 3)
        ),
    ],
)
def test_what_a_request_changes_is_made_into_tensors_once(running, monkeypatch, ask):
    made = []
    without = Heads.without
    table = passes.sinusoids
    monkeypatch.setattr(
        Heads, "without", lambda *args: made.append("heads") or without(*args)
    )
    monkeypatch.setattr(
        passes, "sinusoids", lambda *args: made.append("positions") or table(*args)
    )
    ask(running)
    assert made == ["heads", "positions"]


def test_words_are_left_out_in_batches_of_any_size(running, learned_pairs, monkeypatch):
    english, spanish = learned_pairs[1]
    whole = running.ask(Occlude(english, spanish))
    monkeypatch.setattr(passes, "OCCLUDED_PIECES", 1)
    assert running.ask(Occlude(english, spanish)).effect == pytest.approx(
        whole.effect, abs=1e-5
    )
