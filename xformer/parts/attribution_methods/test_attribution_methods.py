"""What each word needs: three answers beside each other, and what is said of them."""

import json
import math
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from tests.made import trace_of_cats
from tests.pages import laid_out
from xformer.explain import maps
from xformer.parts.attribution_methods import part
from xformer.parts.attribution_methods.draw import compared, occlusion
from xformer.parts.attribution_methods.methods import answers
from xformer.pieces import words
from xformer.results import Head, Occlude, Occlusion, fixed
from xformer.strings import ENGLISH
from xformer.ui.handlers import Ask


@pytest.fixture
def trace():
    return trace_of_cats()


def test_occlusion_shows_every_word_left_out_with_its_sign():
    found = Occlusion(
        ("▁the", "▁cats"),
        ("▁el", "</s>"),
        (-0.1, -0.2),
        np.array([[2.0, -0.5], [0.0, 0.25]]),
    )
    figure = occlusion(found)
    np.testing.assert_array_equal(figure.data[0].z, found.effect)
    assert list(figure.layout.xaxis.ticktext) == ["the", "cats"]
    assert list(figure.layout.yaxis.ticktext) == ["el", "&lt;/s&gt;"]
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-2, 2), (
        "no change stands in the middle of the colours"
    )
    assert (
        "el without cats: the log-probability falls by −0.50 nats"
        in figure.data[0].text[0][1]
    )


def test_three_answers_stand_side_by_side_for_one_target_word(trace):
    """Raw and value-weighted sums over the pieces of "cat", and nats summed over the
    pieces of the target word."""
    effect = np.array([[0.5, 2.0, -1.0], [0.25, 1.0, 0.0], [0, 0, 0]])
    occluded = Occlusion(
        ("▁the", "▁cat", "▁the"), trace.predicted, trace.log_probs, effect
    )
    found = answers(trace, occluded, Head("cross", 2, 1), [0, 1])
    assert found.words == ("▁the", "▁cat", "▁the", "</s>")
    rows = trace.cross[1, 0, :2]
    assert found.raw[1] == pytest.approx(rows[:, 1:3].sum() / 2)
    weighed = rows * trace.cross_norms[1, 0]
    weighed /= weighed.sum(axis=1, keepdims=True)
    assert found.weighed[1] == pytest.approx(weighed[:, 1:3].sum() / 2)
    assert found.effect[:3].tolist() == [0.75, 3.0, -1.0] and math.isnan(
        found.effect[3]
    )
    html = compared(found, "el gato", "layer 2, head 1")
    assert (
        fixed(found.raw[1], ".3f") in html
        and "+3.00" in html
        and "−1.00" in html
        and "–" in html
    )
    assert (
        "the model needs cat most" in html
        and "Attention is read where “el gato” is predicted." in html
    )


def test_a_head_that_aligns_what_it_was_given_is_read_one_row_later(trace):
    """The row that predicts "el" was given <s>; the one that was given "el" predicts
    "gato"; none was given </s>."""
    found = Occlusion(
        ("▁the", "▁cat", "▁the"),
        trace.predicted,
        trace.log_probs,
        np.arange(9.0).reshape(3, 3),
    )
    for target, row in (([0], 1), ([1], 2), ([2], 2)):
        late = answers(trace, found, Head("cross", 1, 2), target, given=True)
        predicts = answers(trace, found, Head("cross", 1, 2), [row])
        np.testing.assert_array_equal(late.raw, predicts.raw)
        np.testing.assert_array_equal(late.weighed, predicts.weighed)
        assert late.effect[:3].tolist() == found.effect[target[0]].tolist(), (
            "what is left out belongs to the word"
        )
        assert late.given == (target != [2])
    two = answers(trace, found, Head("cross", 1, 2), [0, 1], given=True)
    assert two.raw[0] == pytest.approx(trace.cross[0, 1, 1:, 0].mean())


@pytest.mark.parametrize(
    ("given", "errors", "said"),
    [
        (
            True,
            (0.79, 0.05),
            "where “el” was given (“after el”), not where it is predicted: this head aligns better "
            "there (alignment error rate 0.05 against 0.79)",
        ),
        (
            False,
            (0.39, 0.76),
            "where “el” is predicted: this head aligns better there than where the word "
            "was given (alignment error rate 0.39 against 0.76)",
        ),
        (
            False,
            (0.79, 0.05),
            "where “el” is predicted, because the decoder is never given it",
        ),
    ],
)
def test_the_rows_that_were_read_are_named_with_the_reason(trace, given, errors, said):
    found = Occlusion(
        ("▁the", "▁cat", "▁the"), trace.predicted, trace.log_probs, np.zeros((3, 3))
    )
    read = answers(trace, found, Head("cross", 1, 2), [0], given)
    assert said in compared(read, "el", "layer 1, head 2", errors=errors)


def test_words_that_look_like_markup_stay_text(trace):
    evil = replace(
        trace,
        source=("▁<b>", "</s>"),
        encoder_self=trace.encoder_self[..., :2, :2],
        cross=trace.cross[..., :2],
        cross_norms=trace.cross_norms[..., :2],
    )
    effect = Occlusion(
        ("▁<b>",), ("▁el", "▁gato", "</s>"), (-0.1, -0.2, -0.3), np.ones((3, 1))
    )
    assert occlusion(effect).layout.xaxis.ticktext[0] == "&lt;b&gt;"
    html = compared(answers(evil, effect, Head("cross", 1, 1), [1]), "<i>", "<u>")
    assert (
        "<b>" not in html
        and "<i>" not in html
        and "<u>" not in html
        and "&lt;b&gt;" in html
    )


@pytest.mark.parametrize(
    ("rates", "row"),
    [
        (None, 1),
        ({"predicted": [[0.8] * 4], "given": [[0.1] * 4]}, 2),
        ({"predicted": [[0.1] * 4], "given": [[0.8] * 4]}, 1),
    ],
)
def test_the_row_of_a_word_is_the_one_by_which_the_head_aligns(
    running, learned_pairs, monkeypatch, rates, row
):
    english, spanish = learned_pairs[0]
    monkeypatch.setattr(
        running, "metrics", {"alignment": {"alignment_error_rate": rates}}
    )
    trace = running.trace(english, spanish)
    assert words(trace.predicted)[1] == [1], "the second word is one piece"
    html = part.compare(
        running,
        ENGLISH,
        trace=trace,
        result=running.ask(Occlude(english, spanish)),
        word=1,
        head="cross.1.3",
    )
    wanted = maps.by_words(trace.cross[0, 2], [[row]], words(trace.source))[0]
    assert re.findall(r"<td lang=\"en\">.*?>(\d\.\d{3})<", html) == [
        fixed(value, ".3f") for value in wanted
    ]


def test_a_locked_word_of_the_translation_is_the_one_that_is_looked_at(
    running, learned_pairs
):
    trace = running.trace(*learned_pairs[0])
    before = {"trace": trace, "lock": "none"}
    for lock, word in (("es1", 0), ("es3-en1", 2)):
        assert part.follow(trace, lock, before) == {"word": word}
        assert part.follow(trace, lock, {**before, "lock": lock}) == {}
    for lock in ("", "en1", "es99"):
        assert part.follow(trace, lock, before) == {}


def test_what_each_word_needs_is_compared_word_by_word(running, learned_pairs):
    trace = running.trace(*learned_pairs[0])
    pictures = laid_out(running).pictures[part.ID]
    made = {}

    def draw(**values):
        return Ask.always(running, ENGLISH).answer(
            pictures.draw,
            **{"made": made, "trace": trace, "lock": "", "head": "cross.2.1", **values},
        )

    offered = draw(word=None, result=None)
    assert (
        offered["word"]["value"] == 1
        and offered["result"] is None
        and offered["table"] == ""
    )
    assert offered["word"]["choices"][:3] == [("El", 0), ("gato", 1), ("duerme", 2)]
    done = draw(word=1, result=None, action=part.occlude)
    assert (
        ENGLISH.say("occlusion_title")
        in json.loads(done["picture"]["figure"])["layout"]["title"]["text"]
    )
    other = draw(word=2, result=done["result"])
    assert "picture" not in other
    for name, answer in (("gato", done), ("duerme", other)):
        table = unescape(answer["table"])
        assert f"“{name}”" in table and "layer 2, head 1" in table
        assert table.count("<tr>") == 1 + 5, "a header; The cat sleeps . </s>"
    gone = draw(trace=None, word=2, result=done["result"])
    assert gone["table"] == "" and gone["picture"] is gone["result"] is None
