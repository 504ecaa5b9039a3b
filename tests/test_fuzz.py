"""Any string in, a result or one clear sentence out: from the services, and over
HTTP."""

import json
import math
import urllib.request

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xformer.results import (
    EmbedSource,
    Head,
    Move,
    Occlude,
    Positions,
    UserError,
    WalkHead,
)
from xformer.search import Options
from xformer.serve.bleu import bleu
from xformer.strings import ENGLISH, SPANISH

pytestmark = pytest.mark.full
# Anything at all, and what is likelier to go wrong: words the models know among signs
# that mean something somewhere.
PARTS = (
    "The cat",
    "good",
    "not",
    "12",
    ".",
    "'",
    '"',
    "<b>",
    "&amp;",
    "</s>",
    "<s>",
    "<unk>",
    "▁",
    "\n",
    "\t",
    "\x00",
    "\u202e",
    "\u200d",
    "\ufeff",
    "\ud800",
    "🙂",
    "你",
    "é",
    "e\u0301",
    "{0}",
    "%s",
    "$",
    "\\",
    "/",
    "=1+1",
    ",",
    ";",
    "a" * 300,
)
ANY = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PARTS), max_size=12).map(" ".join),
    st.lists(st.sampled_from(PARTS), max_size=6).map("".join),
)
few = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def answered(ask, *values):
    """The result, or None where it was refused in one sentence, in both languages."""
    try:
        return ask(*values)
    except UserError as refused:
        for language in (ENGLISH, SPANISH):
            sentence = refused.say(language)
            assert (
                sentence.endswith(".") and "\n" not in sentence and len(sentence) < 500
            ), sentence
        return None


@few
@given(ANY, st.integers(1, 4))
@pytest.mark.slow
def test_translate(running, text, beam):
    found = answered(lambda: running.translate(text, Options(beam=beam), max_length=8))
    if found is not None:
        assert all(math.isfinite(p) and p <= 0 for p in found.best.log_probs)
        assert json.loads(json.dumps(found.to_json()))["text"] == found.best.text


@few
@given(ANY, ANY)
def test_look_inside(running, english, spanish):
    trace = answered(running.trace, english, spanish)
    if trace is not None:
        assert trace.cross.sum(axis=-1) == pytest.approx(1, abs=1e-4)
        walk = running.ask(WalkHead(english, spanish, Head("cross", 1, 1)))
        assert walk.probabilities[:, : len(trace.source)] == pytest.approx(
            trace.cross[0, 0], abs=1e-4
        )
        assert answered(running.ask, Occlude(english, spanish)).effect.shape[0] == len(
            trace.predicted
        )
        assert answered(running.embed, [english]).shape[0] == 1
        assert len(answered(running.ask, EmbedSource(english)).pieces) == len(
            trace.source
        )


@few
@given(ANY, ANY, st.integers(-2, 6))
@pytest.mark.slow
def test_choose_another_word(running, text, piece, step):
    found = running.translate("The cat sleeps.")
    answered(lambda: running.choose(found.source, found.best, step, piece))
    answered(lambda: running.choose(text, found.best, 0, found.best.pieces[0]))


@few
@given(
    ANY,
    st.sampled_from(["none", "shift", "base", "own", "nonsense"]),
    st.floats(-1e9, 1e9),
    st.integers(),
)
def test_other_positions(running, text, kind, value, seed):
    answered(lambda: running.ask(Move(text, "El gato.", Positions(kind, value), seed)))


@few
@given(ANY)
def test_judge(reader, text):
    found = answered(lambda: reader.classify([text])[0])
    if found is not None:
        assert sum(found.probabilities.values()) == pytest.approx(1)
        why = answered(reader.attribute, text)
        assert len(why.effect) == len(why.words) and all(map(math.isfinite, why.effect))


@few
@given(ANY, ANY)
def test_compare(translation, reference):
    answered(bleu, translation, reference)


JSON = st.one_of(
    ANY,
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.text(max_size=5), max_size=3),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
)


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(JSON, JSON, JSON)
def test_anything_over_http_gets_a_result_or_one_sentence(address, text, second, third):
    for endpoint, values in (
        ("translate", [text, 1, 1]),
        ("classify", [text]),
        ("translate", ["The cat.", second, third]),
        ("explain", [text, second, third, 0, 0]),
        ("explain", ["The cat.", "El gato", "cross", second, third]),
    ):
        asked = urllib.request.Request(
            f"{address}/gradio_api/call/{endpoint}",
            json.dumps({"data": values}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked) as answer:
            event = json.load(answer)["event_id"]
        with urllib.request.urlopen(
            f"{address}/gradio_api/call/{endpoint}/{event}"
        ) as stream:
            said = dict(
                line.decode().rstrip("\n").split(": ", 1)
                for line in stream
                if b": " in line
            )
        if said["event"] == "error":
            sentence = json.loads(said["data"])["error"]
            assert sentence and "\n" not in sentence and "Traceback" not in sentence
            assert "Something went wrong" not in sentence, (endpoint, values)
        else:
            assert said["event"] == "complete" and json.loads(said["data"])[0]
