"""The residual stream, sub-layer by sub-layer: against readable formulas, PyTorch's
own, and the model's own output."""

import math
import re
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.pages import laid_out
from xformer import results
from xformer.explain import stream
from xformer.explain.passes import Pair
from xformer.figures import stream as figures
from xformer.results import Follow, Head, UserError, WalkHead
from xformer.strings import ENGLISH, SPANISH

PAIR = Pair.of([5, 6, 7, 8], [9, 10, 11])


@pytest.fixture(params=stream.SIDES)
def followed(request, tiny_model, tokenizer):
    return tiny_model, stream.follow(tiny_model, tokenizer, PAIR, request.param)


def module_of(model, found, one):
    layer = (model.decoder if found.predicted else model.encoder).layers[one.layer - 1]
    return getattr(layer, one.name), getattr(
        layer, f"{one.name.split('_')[0]}_residual"
    )


def test_each_state_follows_from_the_one_before_by_the_formulas_of_the_papers(followed):
    model, found = followed
    assert found.norm == model.config.norm and [
        one.layer for one in found.sublayers[:1]
    ] == [1]
    for one, following in zip(
        found.sublayers, [*found.sublayers[1:], None], strict=True
    ):
        read = one.state if found.norm == "pre" else one.state + one.added
        normed = (read - read.mean(axis=1, keepdims=True)) / np.sqrt(
            read.var(axis=1, keepdims=True) + 1e-5
        ) * one.gamma + one.beta
        np.testing.assert_allclose(one.normed, normed, atol=1e-5)
        np.testing.assert_allclose(
            one.after,
            one.state + one.added if found.norm == "pre" else normed,
            atol=1e-5,
        )
        np.testing.assert_array_equal(one.read(found.norm), read)
        if following is not None:
            np.testing.assert_array_equal(following.state, one.after)


def test_the_last_state_is_what_the_model_says(followed):
    model, found = followed
    source = torch.tensor([PAIR.source])
    given = torch.tensor([PAIR.given])
    last = torch.tensor(found.sublayers[-1].after)[None]
    with torch.no_grad():
        if found.predicted:
            torch.testing.assert_close(
                model.logits(model.decoder.norm(last)),
                model(source, given),
                atol=1e-4,
                rtol=0,
            )
        else:
            torch.testing.assert_close(
                model.encoder.norm(last), model.encode(source)[0], atol=1e-5, rtol=0
            )


def test_the_network_is_a_convolution_of_width_1_and_its_units_are_its_own(followed):
    model, found = followed
    for one in found.sublayers:
        network, _ = module_of(model, found, one)
        if one.name != "feed_forward":
            assert one.hidden is None
            continue
        x = torch.tensor(one.normed if found.norm == "pre" else one.state)
        with torch.no_grad():
            hidden = F.relu(
                F.conv1d(
                    x.T[None], network.inner.weight[:, :, None], network.inner.bias
                )
            )
            out = F.conv1d(
                hidden, network.outer.weight[:, :, None], network.outer.bias
            )[0].T
        np.testing.assert_allclose(one.hidden, hidden[0].T, atol=1e-5)
        np.testing.assert_allclose(one.added, out, atol=1e-5)
    assert found.moved < 1e-5


def test_a_network_that_saw_its_neighbours_would_be_found_out(
    tiny_model, tokenizer, monkeypatch
):
    forward = type(tiny_model.encoder.layers[0].feed_forward).forward
    monkeypatch.setattr(
        type(tiny_model.encoder.layers[0].feed_forward),
        "forward",
        lambda self, x: forward(self, x + x.roll(1, dims=1)),
    )
    assert stream.follow(tiny_model, tokenizer, PAIR, "encoder").moved > 1e-2


# What a head reads


@pytest.mark.parametrize("stack", results.STACKS)
@pytest.mark.parametrize("layer", [1, 2])
def test_q_is_what_a_student_gets_who_multiplies(running, learned_pairs, stack, layer):
    walk = running.ask(WalkHead(*learned_pairs[0], Head(stack, layer, 3)))
    np.testing.assert_allclose(walk.x @ walk.w_q + walk.b_q, walk.q, atol=1e-4)
    side = "encoder" if stack == "encoder_self" else "decoder"
    name = "cross_attention" if stack == "cross" else "self_attention"
    found = running.ask(Follow(*learned_pairs[0], side))
    (one,) = [one for one in found.of_layer(layer) if one.name == name]
    np.testing.assert_allclose(walk.x, one.normed, atol=1e-5)  # pre-norm
    every = [
        running.ask(WalkHead(*learned_pairs[0], Head(stack, layer, head))).q
        for head in range(1, 5)
    ]
    np.testing.assert_array_equal(walk.every_q, np.concatenate(every, axis=1))
    layers = (
        running.model.encoder.layers
        if stack == "encoder_self"
        else running.model.decoder.layers
    )
    weights, bias = (
        part.detach().numpy()
        for part in getattr(layers[layer - 1], name).in_proj.parameters()
    )
    np.testing.assert_allclose(
        walk.y @ weights[32 + 16 : 32 + 24].T + bias[32 + 16 : 32 + 24],
        walk.k,
        atol=1e-4,
    )


def test_a_side_that_there_is_not_is_refused_in_a_sentence(running, learned_pairs):
    with pytest.raises(UserError) as refusal:
        running.ask(Follow(*learned_pairs[0], "up"))
    assert (
        refusal.value.say(ENGLISH)
        == "There is no side “up”; choose one of encoder, decoder."
    )
    assert (
        refusal.value.say(SPANISH)
        == "No hay ningún lado «up»; elige uno de encoder, decoder."
    )


# The figures


def test_the_sums_of_a_layer_are_told_in_numbers(running, learned_pairs):
    found = running.ask(Follow(*learned_pairs[0], "decoder"))
    html = figures.sums(found, 2, 1)
    rows = [
        re.findall(r"<td[^>]*>(.*?)</td>", row)
        for row in html.split("<tbody>")[1].split("</tr>")[:-1]
    ]
    for row, one in zip(rows, found.of_layer(2), strict=True):
        state = one.state[1]
        added = one.added[1]
        after = one.after[1]
        length = math.sqrt((state**2).sum())
        wanted = [
            state.mean(),
            state.std(),
            length,
            math.sqrt((added**2).sum()),
            math.sqrt((added**2).sum()) / length,
            state @ after / length / math.sqrt((after**2).sum()),
        ]
        assert [float(cell.replace("−", "-")) for cell in row] == pytest.approx(
            wanted, abs=6e-4
        )
    assert [one.name for one in found.of_layer(2)] == [
        "self_attention",
        "cross_attention",
        "feed_forward",
    ]


def test_the_units_that_fire_most_stand_first(running, learned_pairs):
    found = running.ask(Follow(*learned_pairs[0], "encoder"))
    hidden = found.of_layer(1)[-1].hidden
    drawn = np.array(figures.units(found, 1, 2).data[0].z, dtype=float)
    np.testing.assert_allclose(drawn[:, 2], np.sort(hidden[2])[::-1][: len(drawn)])
    assert (drawn[:, 2] > 0).all() and drawn.shape[1] == len(found.pieces)
    said = figures.firing(found, 1, 2)
    assert (
        f"Of 64 units, {(hidden[2] > 0).sum()} fire on " in said and found.moved < 1e-5
    )


def test_the_course_has_every_layer_from_the_embedding_on(running, learned_pairs):
    found = running.ask(Follow(*learned_pairs[0], "decoder"))
    lines = figures.course(found, 1).data
    first = found.sublayers[0].state
    assert len(lines) == 4 + 6 and len(lines[0].y) == 3 and len(lines[2].y) == 2
    assert lines[0].y[0] == pytest.approx(np.linalg.norm(first[1]), rel=1e-5)
    after = found.of_layer(1)[-1].after
    assert lines[2].y[0] == pytest.approx(
        first[1] @ after[1] / np.linalg.norm(first[1]) / np.linalg.norm(after[1])
    )
    assert lines[1].y[0] == pytest.approx(
        np.linalg.norm(first, axis=1).mean(), rel=1e-5
    )


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_both_orders_of_normalisation_are_drawn_in_their_own_order(
    tiny_model, tokenizer, language
):
    found = stream.follow(tiny_model, tokenizer, PAIR, "encoder")
    rows = figures.strips(found, 1, 0, language).layout.yaxis.ticktext
    norm = rows.index("LayerNorm")
    added = next(i for i, row in enumerate(rows) if row.startswith("+ "))
    assert (norm < added) == (found.norm == "pre") and len(rows) == 11
    for name in figures.FORMULAS:
        assert "<i>" in figures.heading(name, language)


def test_a_state_goes_straight_through_where_it_is_not_normalised():
    assert "goes straight through the model" in figures.heading("state")
    assert "nothing goes through the model unchanged" in figures.heading(
        "state", norm="post"
    )
    assert figures.heading("units", norm="post") == figures.heading("units")


def test_the_rest_is_drawn_only_where_it_is_looked_at_and_once(
    running, learned_pairs, monkeypatch
):
    trace = running.trace(*learned_pairs[0])
    asked = []
    ask = running.ask
    monkeypatch.setattr(
        running,
        "ask",
        lambda question: (
            (asked.append(question.side) if isinstance(question, Follow) else None)
            or ask(question)
        ),
    )
    look = {
        "trace": trace,
        "first_stack": "cross",
        "first_layer": 1,
        "first_head": 1,
        "query": 2,
        "padding": 0,
        "beta_power": 0.0,
        "scoring": "scaled",
        "mask": "padding",
        "lock": "",
        **{
            f"{part}_open": False
            for part in (
                "vectors",
                "map",
                "reshape",
                "rest",
                "variance",
                "split",
                "slice",
                "initial",
                "additive",
            )
        },
    }
    draw = partial(laid_out(running).pictures["principles"].draw, running, ENGLISH, {})
    closed = draw(**look)
    assert "strips" not in closed and not asked
    seen = {"rest_open": True, "reshape_open": True}
    opened = draw(**{**look, **seen})
    assert (
        opened["strips"]
        and opened["course"]
        and opened["reshape"]
        and asked == ["decoder"]
    )
    again = draw(**{**look, **seen, "query": 3})
    assert again["strips"] and "reshape" not in again and asked == ["decoder"]
    other = {**look, "first_stack": "encoder_self", "mask": "padding"}
    assert draw(**{**other, "rest_open": True})["units"]
    assert asked == ["decoder", "encoder"]
