"""Why a piece and not its rival: sums that are exact, gradients and patches against
readable ways, and the pictures."""

import copy
import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.fixtures import random_model
from xformer import model as transformer
from xformer.explain import stream
from xformer.explain.passes import Pair
from xformer.model import Trace
from xformer.parts.why import ask as why
from xformer.parts.why import draw as figures
from xformer.results import STACKS, AskWhy, SwapHeads, TellSides, UserError, Why
from xformer.strings import ENGLISH, SPANISH

PAIR = Pair.of([9, 14, 30, 22], [11, 40, 17, 25, 8])
STEP = 3
RIVAL = 33


@pytest.fixture(scope="module", params=["pre", "post"])
def model(request, tokenizer):
    return random_model(
        request.param, tokenizer, d_model=32, n_layers=2, n_heads=4, d_ff=48
    ).eval()


def difference(model, pair=PAIR, step=STEP, rival=RIVAL):
    with torch.inference_mode():
        logits = model(torch.tensor([pair.source]), torch.tensor([pair.given]))[0, step]
    return float(logits[pair.predicted[step]] - logits[rival])


@pytest.mark.parametrize("step", range(6))
def test_the_parts_sum_to_the_difference_of_the_logits(model, step):
    adds, rest = why.shares(model, PAIR, step, RIVAL)
    assert adds.sum() + sum(rest) == pytest.approx(
        difference(model, step=step), abs=1e-4
    )
    assert adds.shape == (2, 2 * 4 + 1) and np.abs(adds).min() > 0


@torch.inference_mode()
def test_a_part_is_what_the_sum_loses_without_it(model):
    """The stream with and without what a head adds, sent on with every normalisation as
    it was, by hand."""
    done = [*stream.steps(model, PAIR, "decoder")]
    # cross-attention of the first layer, its second head
    one = done[1]
    norm = model.config.norm
    columns = one.sublayer.out_proj.weight[:, 8:16]
    added = (
        columns
        @ (one.record.probabilities[0][0, 1] @ one.record.calls[0].v[0, 1])[STEP]
    )
    if norm == "post":  # after this sub-layer and after each later one
        for late in done[1:]:
            added = _normed(
                added, (late.state + late.added)[0, STEP], late.residual.norm
            )
    else:
        added = _normed(added, done[-1].after[0, STEP], model.decoder.norm)
    weight = model.embedding.weight
    wanted = added @ (weight[PAIR.predicted[STEP]] - weight[RIVAL])
    assert why.shares(model, PAIR, STEP, RIVAL)[0][0, 4 + 1] == pytest.approx(
        wanted.item(), abs=1e-5
    )


def _normed(part, whole, norm):
    return (
        (part - part.mean())
        * norm.weight
        / torch.sqrt(whole.var(correction=0) + norm.eps)
    )


def test_the_biases_of_the_output_count_too(tokenizer):
    model = random_model("post", tokenizer, output_bias=True)
    model.output_bias += torch.randn(len(tokenizer))
    adds, rest = why.shares(model, PAIR, STEP, RIVAL)
    assert adds.sum() + sum(rest) == pytest.approx(difference(model), abs=1e-4)
    # a twin that is the same changes nothing
    grids, other = why.swapped(model, PAIR, STEP, RIVAL, PAIR.source)
    assert other == pytest.approx(difference(model), abs=1e-4)
    np.testing.assert_allclose(grids["cross"], other, atol=1e-4)


def moved(model, change, step=STEP):
    """The difference where the embeddings of both sides are changed by change(side,
    embeddings [L, D])."""
    pair = PAIR._replace(given=PAIR.given[: step + 1])
    with torch.no_grad():
        places = [model.embedding.positions[: len(row)] for row in pair[:2]]
        inputs = [
            change(side, model.embedding(torch.tensor([pair[side]]))[0] - places[side])
            + places[side]
            for side in (0, 1)
        ]
        mask = transformer.padding_mask(torch.tensor([pair.source]))
        memories = model.decoder.memories(model.encoder(inputs[0][None], mask), mask)
        x = model.decoder(inputs[1][None], transformer.future_mask(step + 1), memories)
        logits = model.logits(x[0, -1]).double()
    return float(logits[pair.predicted[step]] - logits[RIVAL])


def test_gradient_times_input_is_how_the_difference_moves(model):
    """A piece's embedding made longer by a thousandth moves the difference by a
    thousandth of its number."""
    found = why.gradients(model, PAIR, STEP, RIVAL)
    assert found[0].shape == (2, 5) and found[1].shape == (2, STEP + 1)
    for side in (0, 1):
        for at in range(found[side].shape[1]):

            def longer(by, of, x, side=side, at=at):
                return (
                    x * (1 + by * (torch.arange(len(x)) == at)[:, None])
                    if of == side
                    else x
                )

            ends = [moved(model, partial(longer, by)) for by in (1e-3, -1e-3)]
            assert found[side][0, at] == pytest.approx(
                (ends[0] - ends[1]) / 2e-3, abs=5e-3
            )


@pytest.fixture
def sharp(model):
    """The model with embeddings eight times as large: the difference turns sharply near
    average pieces."""
    made = copy.deepcopy(model)
    with torch.no_grad():
        made.embedding.weight *= 8
    return made


def average_but_for_ends(model):
    """Change all embeddings but those of </s> and <s> to the average piece's."""
    average = model.embedding.weight.detach().mean(dim=0) * 32**0.5

    def changed(side, x):
        kept = torch.zeros(len(x), 1)
        kept[len(x) - 1 if side == 0 else 0] = 1
        return kept * x + (1 - kept) * average

    return changed


@pytest.mark.parametrize("step", [1, 3, 5])
def test_integrated_gradients_sum_to_the_change_from_average_pieces(sharp, step):
    pair = Pair(PAIR.source, PAIR.given[: step + 1], PAIR.predicted[: step + 1])
    source, given, change = why.gradients(sharp, pair, step, RIVAL)
    without = moved(sharp, average_but_for_ends(sharp), step)
    assert change == pytest.approx(difference(sharp, step=step) - without, abs=1e-4)
    assert source[1].sum() + given[1].sum() == pytest.approx(change, rel=0.02, abs=0.01)
    assert source[1, -1] == given[1, 0] == 0


def test_each_piece_has_its_integral_in_a_bounded_number_of_passes(sharp, monkeypatch):
    """By two thousand steps of the same size, and gradients of these."""
    source, given, _ = why.gradients(sharp, PAIR, STEP, RIVAL)
    average = sharp.embedding.weight.detach().mean(dim=0) * 32**0.5
    pair = PAIR._replace(given=PAIR.given[: STEP + 1])
    places = [sharp.embedding.positions[: len(row)] for row in pair[:2]]
    own = [
        sharp.embedding(torch.tensor([row]))[0].detach() - place
        for row, place in zip(pair[:2], places, strict=True)
    ]
    scales = ((torch.arange(2_000) + 0.5) / 2_000)[:, None, None]
    inputs = [(average + scales * (one - average)).requires_grad_() for one in own]
    fixed = [
        torch.cat((inputs[0][:, :-1], own[0][-1:].expand(2_000, 1, -1)), dim=1),
        torch.cat((own[1][:1].expand(2_000, 1, -1), inputs[1][:, 1:]), dim=1),
    ]
    memories = sharp.decoder.memories(sharp.encoder(fixed[0] + places[0], None), None)
    x = sharp.decoder(
        fixed[1] + places[1], transformer.future_mask(STEP + 1), memories
    )[:, -1]
    weight = sharp.embedding.weight.detach()
    slopes = torch.autograd.grad(
        (x @ (weight[PAIR.predicted[STEP]] - weight[RIVAL])).sum(), inputs
    )
    for slope, one, found in zip(slopes, own, (source[1], given[1]), strict=True):
        np.testing.assert_allclose(
            found, (slope.mean(dim=0) * (one - average)).sum(dim=1), atol=0.12
        )
    turns = list[int]()
    widest = why.PIECES
    monkeypatch.setattr(why, "PIECES", 90)
    monkeypatch.setattr(why, "MOST", 70)
    monkeypatch.setattr(why, "NEAR", 1e-9)
    monkeypatch.setattr(why, "NATS", 1e-9)
    monkeypatch.setattr(
        sharp.encoder,
        "forward",
        lambda x, *more, run=sharp.encoder.forward: (
            turns.append(len(x)),
            run(x, *more),
        )[1],
    )
    why.gradients(sharp, PAIR, STEP, RIVAL)
    assert max(turns) == 10 < widest and 70 <= sum(turns) < 2 * 70 + 2


def test_each_head_is_replaced_by_the_twins_alone(model, monkeypatch):
    twin = [9, 15, 30, 22, 3]
    grids, other = why.swapped(model, PAIR, STEP, RIVAL, twin)
    assert other == pytest.approx(
        difference(model, PAIR._replace(source=twin)), abs=1e-5
    )
    assert [grids[stack].shape for stack in STACKS] == [(2, 4)] * 3
    answers = []
    attend = transformer.attend

    def kept(*given):
        y, probabilities = attend(*given)
        answers.append(y)
        return y, probabilities

    monkeypatch.setattr(transformer, "attend", kept)
    difference(model, PAIR._replace(source=twin))
    theirs = answers[:]
    order = [
        ("encoder_self", 0),
        ("encoder_self", 1),
        ("decoder_self", 0),
        ("cross", 0),
        ("decoder_self", 1),
        ("cross", 1),
    ]
    for number, (stack, layer) in enumerate(order):
        for head in range(4):
            count = iter(range(len(order)))

            def replaced(*given, number=number, head=head, count=count):
                y, probabilities = attend(*given)
                if next(count) == number:
                    y = y.clone()
                    y[:, head] = theirs[number][:, head]
                return y, probabilities

            monkeypatch.setattr(transformer, "attend", replaced)
            assert grids[stack][layer, head] == pytest.approx(
                difference(model), abs=1e-4
            )
    with pytest.raises(UserError, match="which has 5; it has 4"):
        why.swapped(model, PAIR, STEP, RIVAL, twin[1:])


def test_what_comes_from_which_side_by_hand(model):
    """ALTI+ with loops over queries and keys; what parts are near to is the real
    result, with all its biases."""
    ours, target = why.sources(model, PAIR)
    np.testing.assert_allclose(ours.sum(axis=1) + target.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(np.triu(target, 1), 0) and ours.min() >= 0
    recorded = Trace(*(transformer.Record(calls=[]) for _ in STACKS))
    with torch.inference_mode():
        model(torch.tensor([PAIR.source]), torch.tensor([PAIR.given]), recorded)
        first = recorded.encoder_self.calls[0]
        layer = model.encoder.layers[0]
        x = model.embedding(torch.tensor([PAIR.source]))[0]
        wanted = torch.zeros(5, 5)
        for q in range(5):
            w_o = layer.self_attention.out_proj.weight
            maps = recorded.encoder_self.probabilities[0][0]
            parts = [
                sum(
                    maps[h, q, k] * w_o[:, 8 * h : 8 * h + 8] @ first.v[0, h, k]
                    for h in range(4)
                )
                for k in range(5)
            ]
            parts[q] = parts[q] + x[q]
            whole = sum(parts) + layer.self_attention.out_proj.bias
            if model.config.norm == "post":
                norm = layer.self_residual.norm
                scale = norm.weight / torch.sqrt(whole.var(correction=0) + norm.eps)
                parts = [(part - part.mean()) * scale for part in parts]
                whole = norm(whole)
            near = torch.stack(
                [
                    (whole.abs().sum() - (whole - part).abs().sum()).clamp(min=0)
                    for part in parts
                ]
            )
            wanted[q] = near / near.sum()
    torch.testing.assert_close(
        why.near(next(stream.steps(model, PAIR, "encoder"))), wanted, atol=1e-5, rtol=0
    )


# The service and the pictures


def test_a_service_says_why_and_refuses_in_a_sentence(running):
    answer = running.translate("The cat sleeps.")
    tokens = answer.best.tokens
    rival = next(
        piece
        for piece, _ in answer.best.alternatives[1]
        if piece != answer.best.pieces[1]
    )
    found = running.ask(AskWhy(answer, tokens, 1, rival))
    own = dict(answer.best.alternatives[1])
    total = found.adds.sum() + sum(found.rest)
    assert total == pytest.approx(own[answer.best.pieces[1]] - own[rival], abs=1e-4)
    assert found.by_given.shape == (2, 2)
    for question, said in (
        (AskWhy(answer, tokens, 99, rival), "100"),
        (AskWhy(answer, tokens, 1, "no one"), "no one"),
        (
            AskWhy(answer, tokens, 1, answer.best.pieces[1]),
            "is the piece that was written",
        ),
        (
            SwapHeads(answer, tokens, 1, rival, "A very much longer sentence."),
            "The twin must",
        ),
        (SwapHeads(answer, tokens, 1, rival, " "), "There is nothing to translate"),
    ):
        with pytest.raises(UserError, match=said):
            running.ask(question)
    grids, other = running.ask(SwapHeads(answer, tokens, 1, rival, "The cat sleeps."))
    assert other == pytest.approx(total, abs=1e-4)
    assert grids["encoder_self"] == pytest.approx(np.full((2, 4), other), abs=1e-4)
    source, given = running.ask(TellSides(answer, tokens))
    assert source.shape == (len(tokens), found.by_source.shape[1]) and given.shape == (
        len(tokens),
        len(tokens),
    )


TRACE = SimpleNamespace(
    source=("▁a", "</s>"), target=("<s>", "▁<b>"), predicted=("▁<b>", "</s>")
)
FORCED = SimpleNamespace(
    log_probs=(-0.5, -0.1), alternatives=((("▁no", -0.25), ("▁<b>", -0.5)), ())
)
FOUND = Why(
    np.array([[1.0, -2.0, 0.25, 0.5, 0.125]]),
    (0.5, -0.25, -0.375),
    np.ones((2, 2)),
    np.ones((2, 1)),
    3.0,
)


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_the_payload_sums_to_the_difference_and_names_its_parts(language):
    packed = figures.payload(
        TRACE, np.array([[0.5, 0.25], [0.1, 0.1]]), FORCED, 1, "▁no", FOUND, language
    )
    json.dumps(packed)
    assert packed["bars"] == [("<b>", 0.75), ("</s>", 0.2)] and packed["rivals"] == [
        ("▁no", "no", -0.25)
    ]
    assert packed["difference"] == sum(value for _, value in packed["parts"]) == -0.25
    assert [value for _, value in packed["parts"]] == [
        0.5,
        -0.25,
        -1.0,
        0.75,
        0.125,
        -0.375,
    ]
    assert [rows for _, rows in packed["heads"]] == [[[1.0, -2.0]], [[0.25, 0.5]]]
    assert "−0.25" in packed["said"] and "0.78" in packed["said"]
    assert [len(one["pieces"]) for one in packed["inputs"]] == [2, 1]


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
@pytest.mark.parametrize(
    ("answered", "exact"),
    [(-0.5, True), (-0.503, True), (-0.51, False), (-0.44, False)],
)
def test_parts_are_called_exact_only_where_they_sum_to_the_difference(
    answered, exact, language
):
    """The parts sum to −0.25; a model that answers in int8 gives another difference
    than its weights as kept."""
    forced = SimpleNamespace(
        log_probs=(answered, -0.1),
        alternatives=((("▁no", -0.25), ("▁<b>", answered)), ()),
    )
    packed = figures.payload(
        TRACE, np.array([[0.5, 0.25], [0.1, 0.1]]), forced, 1, "▁no", FOUND, language
    )
    note = packed["texts"]["why_parts_note"]
    assert (note == language.say("why_parts_note")) is exact
    assert exact or ("−0.25" in note and figures.signed(answered + 0.25) in note)


def test_a_twin_s_heads_are_told_by_what_they_change():
    grids = {
        stack: np.array([[1.5, 0.25 if stack == "cross" else 1.75]]) for stack in STACKS
    }
    packed = figures.twin("The doctor.", (grids, -2.0), "", 1.5)
    assert packed["grids"][2] == ("Cross", [[0.0, -1.25]]) and packed["grids"][0][
        1
    ] == [[0.0, 0.25]]
    assert (
        "is −2.00 instead of +1.50" in packed["said"]
        and "Cross · layer 1, head 2: by −1.25" in packed["said"]
    )
    assert figures.twin("", None, "", 1.5) == {
        "text": "",
        "problem": "",
        "example": figures.TWINS["en"],
    }
