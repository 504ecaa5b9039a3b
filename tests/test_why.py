"""Why a piece and not its rival: sums that are exact, gradients and patches against readable ways, and the pictures."""

import numpy as np
import pytest
import torch

from tests.conftest import random_model
from xformer import model as transformer
from xformer.explain import why
from xformer.explain.passes import Pair
from xformer.figures import why as figures
from xformer.model import Trace
from xformer.results import STACKS, AskWhy, Share, TellSides, UserError, Why
from xformer.strings import ENGLISH, SPANISH

PAIR = Pair.of([9, 14, 30, 22], [11, 40, 17, 25, 8])
STEP, RIVAL = 3, 33


@pytest.fixture(scope="module", params=["pre", "post"])
def model(request, tokenizer):
    return random_model(request.param, tokenizer, d_model=32, n_layers=2, n_heads=4, d_ff=48).eval()


def difference(model, pair=PAIR, step=STEP, rival=RIVAL):
    with torch.inference_mode():
        logits = model(torch.tensor([pair.source]), torch.tensor([pair.given]))[0, step]
    return float(logits[pair.predicted[step]] - logits[rival])


@pytest.mark.parametrize("step", range(6))
def test_the_parts_sum_to_the_difference_of_the_logits(model, step):
    if model.config.norm == "post":
        with pytest.raises(UserError, match="post-norm"):
            why.shares(model, PAIR, step, RIVAL)
        return
    parts = why.shares(model, PAIR, step, RIVAL)
    assert sum(part.value for part in parts) == pytest.approx(difference(model, step=step), abs=1e-4)
    assert len(parts) == len({(part.kind, part.head, part.layer) for part in parts}) == 2 + 2 * (2 * 4 + 1) + 1


@torch.inference_mode()
def test_a_part_is_what_the_sum_loses_without_it(model):
    """The stream without a head's answer, the last normalisation kept as it was."""
    if model.config.norm == "post":
        return
    block = next(iter(why.blocks(model, PAIR)))[0][1]  # cross-attention of the first layer
    share = next(part for part in why.shares(model, PAIR, STEP, RIVAL) if str(part.head) == "cross.1.2")
    columns = block.attention.out_proj.weight[:, 8:16]
    added = columns @ (block.probabilities[1] @ block.v[1])[STEP]
    trace_end = _end(model)
    normed = (added - added.mean()) * model.decoder.norm.weight / torch.sqrt(trace_end.var(correction=0) + 1e-5)
    weight = model.embedding.weight
    wanted = normed @ (weight[PAIR.predicted[STEP]] - weight[RIVAL])
    assert share.value == pytest.approx(wanted.item(), abs=1e-5)


def _end(model):
    """The residual stream of the step before the last normalisation."""
    memory, mask = model.encode(torch.tensor([PAIR.source]))
    x = model.embedding(torch.tensor([PAIR.given]))
    future = transformer.future_mask(len(PAIR.given))
    for layer, seen in zip(model.decoder.layers, model.decoder.memories(memory, mask), strict=True):
        x = layer(x, future, seen)
    return x[0, STEP]


@torch.no_grad()
def test_gradient_times_input_is_how_the_difference_moves(model):
    """A piece's embedding made longer by a thousandth moves the difference by a thousandth of its number."""
    source, prefix, missed = why.gradients(model, PAIR, STEP, RIVAL)
    assert source.shape == (5,) and prefix.shape == (STEP + 1,) and missed >= 0
    pair = PAIR._replace(given=PAIR.given[:STEP + 1], predicted=PAIR.predicted[:STEP + 1])
    for side, values in ((0, source), (1, prefix)):
        for at in range(len(values)):
            ends = []
            for change in (1 + 1e-3, 1 - 1e-3):
                inputs = [model.embedding(torch.tensor([row])).clone() for row in (pair.source, pair.given)]
                place = model.embedding.positions[at]
                inputs[side][0, at] = (inputs[side][0, at] - place) * change + place
                mask = transformer.padding_mask(torch.tensor([pair.source]))
                memories = model.decoder.memories(model.encoder(inputs[0], mask), mask)
                x = model.decoder(inputs[1], transformer.future_mask(STEP + 1), memories)
                logits = model.logits(x[0, -1]).double()
                ends.append(float(logits[pair.predicted[STEP]] - logits[RIVAL]))
            assert values[at] == pytest.approx((ends[0] - ends[1]) / 2e-3, abs=5e-3)


def test_integrated_gradients_miss_less_with_more_steps(model, monkeypatch):
    few = why.gradients(model, PAIR, STEP, RIVAL)[2]
    monkeypatch.setattr(why, "STEPS", 512)
    assert why.gradients(model, PAIR, STEP, RIVAL)[2] < max(0.01, few)


def test_each_head_is_replaced_by_the_twins_alone(model, monkeypatch):
    twin = [9, 15, 30, 22, 3]
    grids, own, other = why.patched(model, PAIR, twin, STEP, RIVAL)
    assert own == pytest.approx(difference(model), abs=1e-5)
    assert other == pytest.approx(difference(model, PAIR._replace(source=twin)), abs=1e-5)
    assert [grids[stack].shape for stack in STACKS] == [(2, 4)] * 3
    answers, attend = [], transformer.attend

    def kept(*given):
        y, probabilities = attend(*given)
        answers.append(y)
        return y, probabilities

    monkeypatch.setattr(transformer, "attend", kept)
    difference(model, PAIR._replace(source=twin))
    theirs, order = answers[:], [("encoder_self", 0), ("encoder_self", 1), ("decoder_self", 0), ("cross", 0),
                                 ("decoder_self", 1), ("cross", 1)]
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
            assert grids[stack][layer, head] == pytest.approx(difference(model), abs=1e-4)
    with pytest.raises(UserError, match="which has 5; it has 4"):
        why.patched(model, PAIR, twin[1:], STEP, RIVAL)


def test_what_comes_from_which_side_by_hand(model):
    """ALTI+ with loops over queries and keys."""
    ours, target = why.sources(model, PAIR)
    np.testing.assert_allclose(ours.sum(axis=1) + target.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(np.triu(target, 1), 0) and ours.min() >= 0
    recorded = Trace(*(transformer.Record(calls=[]) for _ in STACKS))
    with torch.inference_mode():
        model(torch.tensor([PAIR.source]), torch.tensor([PAIR.given]), recorded)
        first, layer = recorded.encoder_self.calls[0], model.encoder.layers[0]
        x = model.embedding(torch.tensor([PAIR.source]))[0]
        wanted = torch.zeros(5, 5)
        for q in range(5):
            w_o, maps = layer.self_attention.out_proj.weight, recorded.encoder_self.probabilities[0][0]
            parts = [sum(maps[h, q, k] * w_o[:, 8 * h:8 * h + 8] @ first.v[0, h, k] for h in range(4))
                     for k in range(5)]
            parts[q] = parts[q] + x[q]
            whole = sum(parts) + layer.self_attention.out_proj.bias
            if model.config.norm == "post":
                norm = layer.self_residual.norm
                scale = norm.weight / torch.sqrt(whole.var(correction=0) + norm.eps)
                parts, whole = [(part - part.mean()) * scale for part in parts], (whole - whole.mean()) * scale
            near = torch.stack([(whole.abs().sum() - (whole - part).abs().sum()).clamp(min=0) for part in parts])
            wanted[q] = near / near.sum()
    (block,), _ = next(iter(why.blocks(model, PAIR, "encoder")))
    torch.testing.assert_close(why._near(block, 5), wanted, atol=1e-5, rtol=0)


# The service and the pictures


def test_a_service_says_why_and_refuses_in_a_sentence(running):
    answer = running.translate("The cat sleeps.")
    tokens = answer.best.tokens
    rival = next(piece for piece, _ in answer.best.alternatives[1] if piece != answer.best.pieces[1])
    found = running.ask(AskWhy(answer, tokens, 1, rival))
    own = dict(answer.best.alternatives[1])
    assert found.difference == pytest.approx(own[answer.best.pieces[1]] - own[rival], abs=1e-3)
    assert found.patched == {} and found.rival == rival
    for step, other, twin, said in ((99, rival, "", "100"), (1, "nothing", "", "nothing"),
                                    (1, answer.best.pieces[1], "", "is the piece that was written"),
                                    (1, rival, "A very much longer sentence than that one.", "The twin must")):
        with pytest.raises(UserError, match=said):
            running.ask(AskWhy(answer, tokens, step, other, twin))
    sides = running.ask(TellSides(answer, tokens))
    assert sides.from_source.shape == (len(tokens), len(sides.source))


FOUND = Why("▁<b>", "▁no", 1.5, (Share("head", why.Head("cross", 1, 2), 0, 2.0), Share("bias", None, 0, -0.5)),
            ("▁a", "</s>"), ("<s>",), np.array([0.5, -0.25]), np.array([1.0]), 0.02,
            {stack: np.array([[1.5, 0.25 if stack == "cross" else 1.25]]) for stack in STACKS}, -2.0)


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_the_picture_says_what_the_numbers_are(language):
    drawn = figures.why(FOUND, language)
    assert "<b>" not in drawn and "&lt;b&gt;" in drawn
    assert "+2.00" in drawn and "-0.50" in drawn and "+1.50" in drawn and "-1.25" in drawn
    place = language.say("finder_where", layer=1, head=2)
    assert drawn.count(place) == 3  # as a part, in what is saved, and as the head that decides
    assert language.html("why_needs_pre") in figures.why(Why(*[() if name == "shares" else value for name, value
                                                            in vars(FOUND).items()]), language)
