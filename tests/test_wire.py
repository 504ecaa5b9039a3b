"""Records as JSON and back: exactly, and nothing that is no record."""

import json

import numpy as np
import pytest

from xformer.results import Head, Message, Options, UserError
from xformer.serve import wire


def same(one, other):
    """Whether two values are equal, arrays bit for bit, records field by field."""
    if isinstance(one, np.ndarray):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if wire.RECORDS.get(type(one).__name__) is type(one):
        return type(one) is type(other) and all(
            same(getattr(one, name), getattr(other, name))
            for name in wire._names(type(one))
        )
    if isinstance(one, (list, tuple)):
        return (
            type(one) is type(other)
            and len(one) == len(other)
            and all(map(same, one, other))
        )
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        0.1 + 0.2,
        float("inf"),
        "¿“ñ”?",
        [1, (2, [3])],
        {"a": 1, 2: (3,)},
        frozenset({"cross"}),
        {1, 2},
        Head("cross", 1, 2),
        (Head("cross", 1, 2),),
        Options(beam=3, seed=9),
        Message.of("engine_away", address="x"),
        np.array([[0.1, np.pi], [1e-30, 2]], np.float32),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.arange(6).reshape(2, 3).T,
    ],
)
def test_a_value_comes_back_as_it_was(value):
    assert same(value, wire.loads(wire.dumps(value)))


def test_a_pass_comes_back_bit_for_bit(running, learned_pairs):
    translation, trace = running.translate_and_trace(learned_pairs[0][0])
    assert same((translation, trace), wire.loads(wire.dumps((translation, trace))))


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "{",
        "{}",
        '{"":"Path","fields":{}}',
        '{"":"array","type":"|O","shape":[1],"bytes":"AAAA"}',
        '{"":"Head","fields":{"x":1}}',
        '{"":"array","type":"<f4","shape":[9],"bytes":"AAAA"}',
        '{"":[]}',
        '{"":"Options","fields":{"beam":-1}}',
        "[" * 100_000,
    ],
)
def test_what_is_no_record_is_refused_in_a_sentence(sent):
    with pytest.raises(UserError):
        wire.loads(sent)


def test_what_could_run_code_does_not_travel():
    for value in (print, object(), b"x", np.array([object()])):
        try:
            written = wire.dumps(value)
        except TypeError:
            continue
        with pytest.raises(UserError):
            wire.loads(written)
    assert json.loads(wire.dumps(["x"])) == ["x"]
