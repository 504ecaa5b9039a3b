"""Decoding for everybody: strangers share batches and never see each other, and nobody
waits for a long sentence."""

import threading

import numpy as np
import pytest

from tests.fixtures import endless
from xformer import results
from xformer.explain import passes
from xformer.results import Options, UserError
from xformer.serve import batching
from xformer.serve.translation import Service


@pytest.mark.slow
def test_requests_of_many_threads_share_batches_and_never_see_each_other(
    running, learned_pairs, monkeypatch
):
    batches = []
    decode = batching.translating

    def counted(model, sources, *rest):
        batches.append(len(sources))
        return decode(model, sources, *rest)

    monkeypatch.setattr(batching, "translating", counted)
    alone = {
        english: running.trace(english, spanish) for english, spanish in learned_pairs
    }
    together = threading.Barrier(len(learned_pairs) * 2)
    wrong = []

    def person(english, spanish, options):
        together.wait()
        for _ in range(6):
            found = running.translate(english, options)
            trace = running.trace(found.source, found.best.tokens)
            same = all(
                np.allclose(getattr(trace, s), getattr(alone[english], s), atol=1e-5)
                for s in results.STACKS
            )
            if found.best.text != spanish or found.source != english or not same:
                wrong.append((english, found.best.text))

    people = [
        threading.Thread(target=person, args=(*pair, Options(beam=beam)))
        for pair in learned_pairs
        for beam in (1, 3)
    ]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert not wrong
    assert sum(batches) == len(people) * 6
    assert max(batches) > 1, "nothing that arrived together was decoded together"


def test_one_bad_batch_is_told_to_those_in_it_and_the_others_are_served(
    running, learned_pairs, monkeypatch
):
    def broken(*_):
        yield
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(batching, "translating", broken)
        with pytest.raises(RuntimeError, match="out of memory"):
            running.translate(learned_pairs[0][0])
    assert running.translate(learned_pairs[0][0]).best.text == learned_pairs[0][1]


def test_nobody_waits_for_the_end_of_somebody_elses_long_sentence(
    running, learned_pairs, monkeypatch
):
    (long, spanish), (short, quick) = learned_pairs[:2]
    decode = batching.translating
    begun = threading.Event()
    answered = threading.Event()
    steps = []

    def slow(model, sources, *rest):
        if sources == [running.tokenizer.encode(long)]:
            while not answered.is_set() and len(steps) < 100_000:
                steps.append(None)
                begun.set()
                yield
        return (yield from decode(model, sources, *rest))

    monkeypatch.setattr(batching, "translating", slow)
    found = []
    other = threading.Thread(target=lambda: found.append(running.translate(long)))
    other.start()
    assert begun.wait(60)
    assert running.translate(short).best.text == quick
    assert not found and len(steps) >= batching.PATIENCE, (
        "the long one was not in the middle of its search"
    )
    answered.set()
    other.join()
    assert found[0].best.text == spanish


def test_a_search_that_nobody_waits_for_any_longer_stops(
    running, learned_pairs, monkeypatch
):
    stopped = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(batching, "translating", endless(stopped))
        with pytest.raises(
            UserError, match="took longer than 0 seconds and was given up"
        ):
            running.translate(learned_pairs[0][0], timeout=0.1)
        assert stopped.wait(10)
    assert (
        running.translate(learned_pairs[0][0], timeout=60).best.text
        == learned_pairs[0][1]
    )


def test_closing_answers_what_was_asked_before(tiny_checkpoint, learned_pairs):
    short_lived = Service.open(tiny_checkpoint, "cpu")
    found = short_lived.translate(learned_pairs[0][0])
    short_lived.close()
    assert found.best.text == learned_pairs[0][1]


def test_a_long_sentence_shares_no_batch_with_short_ones(running):
    lengths = [3, 12, 31, 32, 60, 64]
    waiting = [
        batching.Request([5] * length, Options(), [], 8, passes.UNCHANGED)
        for length in lengths
    ]
    together = [
        [len(request.tokens) for request in batch.requests]
        for batch in batching.form_batches(running.model, waiting)
    ]
    assert together == [[3, 12, 31], [32, 60], [64]]
