"""Another word at a step: what stays, what is searched for again, and where heads look
after each of the two."""

import json
from dataclasses import replace
from functools import partial

import gradio as gr
import numpy as np
import pytest

from xformer.explain import counterfactual
from xformer.parts.counterfactual import draw as figures
from xformer.parts.counterfactual import part as tab
from xformer.pieces import BOS, EOS, PAD, UNK
from xformer.results import STACKS, Candidate, Message, UserError
from xformer.search import Options
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask


@pytest.fixture(scope="module")
def found(running, learned_pairs):
    """The translation of "The dog eats the bread."."""
    return running.translate(learned_pairs[1][0])


def rival(candidate, step):
    """The likeliest piece at a step that goes on with the sentence and was not
    chosen."""
    return next(
        piece
        for piece, _ in candidate.alternatives[step]
        if piece not in (candidate.pieces[step], "</s>")
    )


# The service


@pytest.mark.parametrize("step", [0, 2, -1])
def test_what_stands_before_the_choice_stays_and_the_rest_is_searched_for(
    running, found, step
):
    step %= len(found.best.pieces)
    piece = rival(found.best, step)
    again = running.choose(found.source, found.best, step, piece)
    assert again.source == found.source
    assert again.best.pieces[: step + 1] == (*found.best.pieces[:step], piece)
    assert dict(found.best.alternatives[step])[piece] == pytest.approx(
        again.best.log_probs[step], abs=1e-4
    )
    trace = running.trace(found.source, again.best.tokens)
    length = len(again.best.pieces)
    assert trace.predicted[:length] == again.best.pieces
    np.testing.assert_allclose(
        trace.log_probs[:length], again.best.log_probs, atol=1e-4
    )


def test_the_piece_that_was_chosen_leads_back_to_the_translation(running, found):
    for step, piece in enumerate(found.best.pieces):
        assert (
            running.choose(found.source, found.best, step, piece).best.text
            == found.best.text
        )


@pytest.mark.parametrize("step", [0, 3])
@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(beam=1),
        Options(beam=4, n_best=3),
        Options(n_best=2, temperature=1.0),
    ],
)
def test_the_end_chosen_ends_the_translation_there(running, found, step, options):
    again = running.choose(found.source, found.best, step, "</s>", options)
    assert {c.pieces for c in again.n_best} == {(*found.best.pieces[:step], "</s>")}
    assert again.best.finished and again.warnings == found.warnings
    trace = running.trace(found.source, again.best.tokens)
    assert trace.predicted == again.best.pieces
    np.testing.assert_allclose(trace.log_probs, again.best.log_probs, atol=1e-4)


def test_a_word_in_place_of_the_end_goes_on(running, found):
    step = len(found.best.pieces) - 1
    again = running.choose(found.source, found.best, step, rival(found.best, step))
    assert found.best.pieces[step] == "</s>" and len(again.best.pieces) > step + 1


@pytest.mark.parametrize("step", [-1, 99])
def test_a_step_that_is_not_there_is_named_with_the_limit(running, found, step):
    steps = len(found.best.pieces)
    with pytest.raises(UserError) as told:
        running.choose(found.source, found.best, step, "▁El")
    assert str(told.value) == (
        f"There is no step {step + 1}: this translation has {steps} pieces; "
        f"choose a step from 1 to {steps}."
    )
    assert told.value.say(SPANISH).startswith(f"No hay un paso {step + 1}")


@pytest.mark.parametrize("piece", ["▁zebra", "", "<s>", "<pad>"])
def test_a_piece_that_no_translation_can_hold_is_refused(running, found, piece):
    with pytest.raises(UserError) as told:
        running.choose(found.source, found.best, 1, piece)
    assert str(told.value) == (
        f"“{piece}” is not a piece that this model can write; "
        "choose one of those listed for the step."
    )
    assert f"«{piece}» no es una pieza" in told.value.say(SPANISH)


def test_every_piece_leads_back_to_its_id(tokenizer):
    ids = range(len(tokenizer))
    assert [tokenizer.id_of(piece) for piece in tokenizer.pieces(ids)] == list(ids)
    assert [tokenizer.id_of(piece) for piece in ("<pad>", "<unk>", "<s>", "</s>")] == [
        PAD,
        UNK,
        BOS,
        EOS,
    ]
    assert tokenizer.id_of("▁zebra") is None


# Where heads look


def test_difference_and_distance_of_maps_worked_by_hand():
    old = np.zeros((2, 1, 3, 4))
    new = np.zeros((2, 1, 4, 4))
    old[0, 0, 2] = [0.5, 0.5, 0, 0]
    new[0, 0, 2] = [0.25, 0.5, 0.25, 0]
    old[1, 0, 2] = [0, 0, 1, 0]
    new[1, 0, 2] = [0.5, 0, 0, 0.5]
    new[:, :, 3] = 1  # beyond the step, where targets are no longer alike
    np.testing.assert_array_equal(
        counterfactual.difference(old, new, 1),
        [[[-0.25, 0, 0.25, 0]], [[0.5, 0, -1, 0.5]]],
    )
    np.testing.assert_array_equal(counterfactual.distance(old, new, 1), [[0.25], [1]])
    np.testing.assert_array_equal(counterfactual.distance(old, old, 1), [[0], [0]])


def test_a_pass_that_ends_at_the_step_has_nothing_to_compare():
    old = np.zeros((1, 1, 3, 4))
    new = np.zeros((1, 1, 5, 4))
    assert counterfactual.comparable(old, new, 1)
    assert not counterfactual.comparable(old, new, 2) and not counterfactual.comparable(
        new, old, 2
    )
    with pytest.raises(
        ValueError, match="passes of 3 and 5 rows cannot be compared after step 2"
    ):
        counterfactual.distance(old, new, 2)


def test_nothing_differs_up_to_the_choice_and_something_right_after_it(running, found):
    step = 2
    again = running.choose(found.source, found.best, step, rival(found.best, step))
    old, new = (running.trace(found.source, one.best.tokens) for one in (found, again))
    for stack in STACKS:
        before = getattr(old, stack)
        after = getattr(new, stack)
        if stack == "encoder_self":
            np.testing.assert_allclose(after, before, atol=1e-6)
        else:
            keys = slice(step + 1) if stack == "decoder_self" else slice(None)
            np.testing.assert_allclose(
                after[:, :, : step + 1, keys], before[:, :, : step + 1, keys], atol=1e-6
            )
    distances = counterfactual.distance(old.cross, new.cross, step)
    assert (
        distances.shape == (2, 4)
        and distances.min() >= 0
        and 1e-3 < distances.max() <= 1
    )
    np.testing.assert_allclose(
        counterfactual.difference(old.cross, new.cross, step).sum(axis=-1), 0, atol=1e-5
    )


@pytest.mark.parametrize(
    ("given", "free", "step"),
    [
        ([5, 6, EOS], [5, 6, EOS], None),
        ([5, 6, EOS], [5, 7, EOS], 1),
        ([5, EOS], [5, 6, EOS], 1),
        ([5, 6], [5], 1),
    ],
)
def test_where_a_given_target_and_a_free_translation_part(given, free, step):
    assert counterfactual.parting(given, free) == step


# What is shown


@pytest.fixture
def traces(running):
    """Two passes over "the <b> </s>" that part at step 1, with two layers of two heads
    that were worked by hand."""
    old = running.trace("The cat sleeps.", "El gato")
    before = np.zeros((2, 2, 4, 3), np.float32)
    after = np.zeros((2, 2, 3, 3), np.float32)
    before[:, :, 2] = [0.5, 0.25, 0.25]
    after[:, :, 2] = [0.5, 0.25, 0.25]
    after[1, 0, 2] = [0, 0.25, 0.75]
    after[0, 1, 2] = [0.25, 0.5, 0.25]
    after[0, 0, 2] = [0.5, 0.375, 0.125]
    source = ("▁the", "▁<b>", "</s>")
    return (
        replace(
            old, source=source, predicted=("▁El", "▁<i>", ".", "</s>"), cross=before
        ),
        replace(old, source=source, predicted=("▁El", "▁perro", "</s>"), cross=after),
    )


def candidate(text, *pieces):
    return Candidate(
        text,
        -1.0,
        tuple(range(4, 4 + len(pieces))),
        pieces,
        (-0.5,) * len(pieces),
        (((pieces[0], -0.5),),) * len(pieces),
        True,
    )


def test_the_picture_names_every_head_and_shows_its_difference(traces):
    figure = figures.difference(*traces, 1)
    drawn = figure.data[0]
    np.testing.assert_array_equal(
        drawn.z, [[0, 0.125, -0.125], [-0.25, 0.25, 0], [-0.5, 0, 0.5], [0, 0, 0]]
    )
    assert (drawn.zmin, drawn.zmax) == (-0.5, 0.5), (
        "no change stands in the middle of the colours"
    )
    assert list(figure.layout.yaxis.ticktext) == [
        "layer 1, head 1 · 0.12",
        "layer 1, head 2 · 0.25",
        "layer 2, head 1 · 0.50",
        "layer 2, head 2 · 0.00",
    ]
    assert list(figure.layout.xaxis.ticktext) == ["the", "&lt;b&gt;", "&lt;/s&gt;"]
    assert (
        figure.layout.title.text
        == "Cross-attention after “perro” minus after “&lt;i&gt;”"
    )
    assert drawn.colorbar.title.text == "difference in probability"
    assert (
        drawn.text[1][1]
        == "layer 1, head 2 · 0.25: +0.250 at &lt;b&gt; (+: looked at more after “perro”)"
    )
    spanish = figures.difference(*traces, 1, SPANISH)
    assert spanish.layout.title.text.startswith("Atención cruzada tras «perro»")
    assert spanish.layout.yaxis.ticktext[2] == "capa 2, cabeza 1 · 0.50"


def test_markup_in_the_new_word_stays_text_in_the_picture(traces):
    figure = figures.difference(*reversed(traces), 1)
    assert (
        "“&lt;i&gt;”" in figure.data[0].text[1][1]
        and "<i>" not in figure.data[0].text[1][1]
    )


def test_heads_that_hardly_changed_stay_pale(traces):
    figure = figures.difference(traces[0], traces[0], 1)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-0.1, 0.1)


def test_the_summary_names_the_three_heads_that_changed_most_and_between_what(traces):
    said = figures.summary(*traces, 1)
    assert said.startswith("The heads that changed most after “perro” instead of “<i>”")
    assert said.endswith(
        "layer 2, head 1 (0.50: more at </s>, less at the); "
        "layer 1, head 2 (0.25: more at <b>, less at the); "
        "layer 1, head 1 (0.12: more at <b>, less at </s>)."
    )


def test_the_comparison_marks_what_changed_and_is_never_html(traces):
    old = candidate("El <i> .", "▁El", "▁<i>", ".", "</s>")
    new = candidate("El perro", "▁El", "▁perro", "</s>")
    html = figures.comparison(old, new, *traces, 1)
    assert "El <del>&lt;i&gt; .</del> <ins>perro</ins>" in html
    assert "<i>" not in html and "<b>" not in html
    assert (
        "Log-probability: −2.00 with “&lt;i&gt;”, −1.50 with “perro” (+0.50)." in html
    )
    assert "With “&lt;i&gt;” at step 2" in html and "With “perro” at step 2" in html


def test_a_translation_that_ends_with_the_choice_is_said_and_not_drawn(traces):
    assert figures.difference(*traces, 2) is None
    assert figures.summary(*traces, 2).startswith(
        "One of the two translations ends with this choice"
    )
    old = candidate("El", "▁El", "</s>")
    new = candidate("", "</s>")
    assert "(nothing)" in figures.comparison(old, new, *traces, 0)


# The tab


def test_steps_are_counted_from_one_and_begin_where_the_model_was_least_sure(found):
    offered = tab.offer(None, ENGLISH, translation=found)
    step = offered["step"]
    piece = offered["piece"]
    best = found.best
    assert len(step["choices"]) == len(best.pieces) and step["choices"][0][
        0
    ].startswith("1 · after <s> → ")
    assert step["choices"][-1][0].startswith(f"{len(best.pieces)} · after . → </s> ")
    assert best.log_probs[step["value"]] == min(best.log_probs)
    assert [value for _, value in piece["choices"]] == [
        name
        for name, _ in best.alternatives[step["value"]]
        if name != best.pieces[step["value"]]
    ]
    assert piece["value"] == piece["choices"][0][1] and " · " in piece["choices"][0][0]
    assert (offered["result"], offered["picture"]) == ("", None)
    assert tab.offer(None, ENGLISH, translation=None)["step"]["choices"] == []
    assert (
        tab.offer_pieces(None, ENGLISH, translation=None, step=None)["piece"]["choices"]
        == []
    )


def test_the_tab_answers_every_choice_with_a_result_or_a_sentence(
    running, found, monkeypatch
):
    listener = Ask.always(running, ENGLISH)(
        tab.run,
        dict.fromkeys(("translation", "step", "piece")),
        {"result": (result := gr.HTML()), "picture": gr.HTML()},
        result,
    )
    ask = partial(listener["fn"], found)
    html, plot = ask(1, rival(found.best, 1))
    assert (
        "The heads that changed most" in html
        and len(json.loads(plot["figure"])["layout"]["yaxis"]["ticktext"]) == 8
    )
    html, plot = ask(1, "</s>")
    assert "One of the two translations ends with this choice" in html and plot is None
    html, plot = ask(99, "▁El")
    assert (
        'class="notice error"' in html
        and "There is no step 100" in html
        and plot is None
    )
    assert "Waiting for a translation" in listener["fn"](None, None, None)[0]

    def broken(*_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(running, "choose", broken)
    html, plot = ask(1, "▁El")
    assert "Something went wrong" in html and "memory" not in html and plot is None


def test_a_loop_that_a_choice_leads_into_is_warned_of(running, found, monkeypatch):
    again = running.choose(found.source, found.best, 1, rival(found.best, 1))
    warned = replace(again, warnings=(Message.of("warning_repetition"),))
    monkeypatch.setattr(running, "choose", lambda *_: warned)
    said = tab.run(
        running, ENGLISH, translation=found, step=1, piece=rival(found.best, 1)
    )
    assert "in a loop" in said["result"]


def test_a_locked_word_of_the_translation_is_the_step_that_is_changed(
    running, learned_pairs
):
    found = running.translate(learned_pairs[0][0])
    answer = tab.follow(running, ENGLISH, translation=found, lock="es1")
    assert answer["step"] == 0 and answer["piece"]["choices"]
    offered = tab.offer(running, ENGLISH, translation=found, lock="es2-en1")
    assert offered["step"]["value"] == 1, (
        "also where the translation comes after the lock"
    )
    for lock in ("", "en1", "es99"):
        assert tab.follow(running, ENGLISH, translation=found, lock=lock) == {}
