"""Why a piece and not its rival, as the Step by step tab draws it of a pair."""

import pytest

from tests.pages import laid_out, shown
from xformer.results import Options


@pytest.fixture(scope="module")
def pair(running, learned_pairs):
    return running.translate_and_trace(learned_pairs[1][0], Options(beam=5))


@pytest.fixture(scope="module")
def pictures(running):
    return laid_out(running).pictures["decoding"]


@pytest.fixture
def draw(running, pictures, pair):
    """`draw(step=2)`: what the panel is set to."""
    translation, trace = pair
    return lambda **values: shown(
        pictures,
        running,
        translation=translation,
        trace=trace,
        decode="why",
        **values,
    )["why_panel"]


def test_why_a_piece_stands_there_is_asked_of_a_rival_and_a_twin(draw, pair):
    packed = draw(step=2)
    total = sum(value for _, value in packed["parts"])
    assert packed["step"] == 2 and packed["difference"] == pytest.approx(
        total, abs=1e-4
    )
    assert packed["against"] == packed["rivals"][0][0] and "grids" not in packed["twin"]
    rival = packed["rivals"][2][0]
    other = draw(step=2, rival=rival, twin=pair[0].source)
    assert other["against"] == rival and other["difference"] > packed["difference"]
    assert other["twin"]["grids"][0][1] == [[pytest.approx(0, abs=1e-4)] * 4] * 2, (
        "the twin is the sentence itself"
    )
    answer = draw(
        step=2,
        rival="no such piece",
        twin="A very much longer sentence than that.",
    )
    assert answer["against"] == packed["against"]
    assert answer["twin"]["problem"].startswith("The twin must have as many pieces")


def test_how_badly_origins_align_words_is_said_where_it_was_measured(
    running, draw, monkeypatch
):
    assert draw()["error"] == ""
    rates = {"predicted": [[0.5, 0.25, 1, 1]] * 2, "given": [[1, 1, 1, 1]] * 2}
    monkeypatch.setitem(
        running.metrics,
        "alignment",
        {
            "alignment_error_rate": rates,
            "sentences": 7,
            "sides": 0.3,
            "best": {"layer": 1, "head": 2, "of": "predicted"},
        },
    )
    whole = running.metrics["alignment"]
    said = draw()["error"]
    monkeypatch.setitem(
        running.metrics,
        "alignment",
        {name: whole[name] for name in whole if name != "sentences"},
    )
    assert draw()["error"] == ""
    assert (
        "0.300" in said
        and "layer 1, head 2" in said
        and "0.250" in said
        and "7 sentences" in said
    )
