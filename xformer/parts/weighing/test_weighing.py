"""Attention that weighs otherwise than equation 1: weights by hand, passes against
weights changed, and what is shown."""

import math
import re

import gradio as gr
import numpy as np
import pytest
import torch

from tests.fixtures import random_model
from tests.pages import laid_out
from xformer import results
from xformer.explain import principles as walkthrough
from xformer.explain import weighing
from xformer.explain.passes import Intervention, Pair, log_probs
from xformer.model import Heads, Record, Trace, future_mask
from xformer.parts.weighing import draw as figures
from xformer.parts.weighing import part
from xformer.pieces import BOS, EOS
from xformer.results import Head, Options, Reweigh, SweepBeta, UserError, Weighing
from xformer.search import search
from xformer.serve.translation import MOST_MORE
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask

LOG2 = math.log(2)
# d = 2
Q = torch.tensor([[[[2.0, 0], [0, 0]]]])
K = torch.tensor([[[[LOG2, 9], [0, 9], [2 * LOG2, 9]]]])
NEAR = {"atol": 1e-5, "rtol": 1e-5}


# By hand: the first query's scores are 2 log 2, 0, 4 log 2; the second's are 0


@pytest.mark.parametrize(
    ("beta", "first"),
    [
        (0, [1 / 3] * 3),
        (math.sqrt(2), [4 / 21, 1 / 21, 16 / 21]),
        (math.inf, [0, 0, 1]),
    ],
)
def test_beta_goes_from_uniform_through_the_softmax_to_one_hot(beta, first):
    found = weighing.by_beta(torch.tensor(float(beta))[None, None, None])(Q, K, None)
    torch.testing.assert_close(found[0, 0], torch.tensor([first, [1 / 3] * 3]))


@pytest.mark.parametrize("beta", [0.0, 1.0, math.inf])
def test_what_is_masked_gets_nothing_at_any_temperature(beta):
    mask = torch.tensor([[True, True, False], [False, True, True]])
    found = weighing.by_beta(torch.tensor(beta)[None, None, None])(Q, K, mask)[0, 0]
    assert (found[~mask] == 0).all()
    torch.testing.assert_close(found.sum(dim=-1), torch.ones(2))


def test_the_slips_of_lectures_on_numbers_by_hand():
    unscaled = torch.tensor([[4 / 21, 1 / 21, 16 / 21], [1 / 3] * 3])
    torch.testing.assert_close(weighing.unscaled(Q, K, None)[0, 0], unscaled)
    torch.testing.assert_close(
        weighing.scaled_after(Q, K, None)[0, 0], unscaled / math.sqrt(2)
    )
    rows = torch.tensor([[2 * LOG2, 0, 4 * LOG2], [0.0] * 3]) / math.sqrt(2)
    columns = weighing.over_queries(Q, K, None)[0, 0]
    torch.testing.assert_close(columns, rows.exp() / rows.exp().sum(dim=0))
    torch.testing.assert_close(columns.sum(dim=0), torch.ones(3))
    hidden = weighing.over_queries(Q, K, torch.tensor([[False, True, True]]))[0, 0]
    assert (hidden[:, 0] == 0).all() and not hidden.isnan().any()


def test_zeros_in_place_of_minus_infinity_take_their_share():
    """The readable way: keys and values that are hidden become 0, and stay in the
    softmax."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, 5, 4)
    found = weighing.zeroed(5)(q, k, future_mask(5))
    for row in range(5):
        seen = (torch.arange(5) <= row)[:, None]
        weights = (q[:, :, row : row + 1] @ (k * seen).transpose(-2, -1) / 2).softmax(
            dim=-1
        )
        torch.testing.assert_close(found[:, :, row : row + 1] @ v, weights @ (v * seen))
    # as decoding sees it, with a cache
    step = weighing.zeroed(5)(q[:, :, 2:3], k[:, :, :3], None)
    torch.testing.assert_close(step, found[:, :, 2:3, :3])
    torch.testing.assert_close(
        weighing.zeroed(0)(q, k, None), weighing.unscaled(q / 2, k, None)
    )


# In a pass


def attention(model, stack, layer):
    layers = model.encoder.layers if stack == "encoder_self" else model.decoder.layers
    return getattr(
        layers[layer - 1], "cross_attention" if stack == "cross" else "self_attention"
    )


def sharpen(model, stack, layer, head, factor):
    """Multiply the queries of a head, by its weights."""
    d = model.config.d_model // model.config.n_heads
    rows = slice((head - 1) * d, head * d)
    with torch.no_grad():
        for weights in (
            attention(model, stack, layer).in_proj.weight,
            attention(model, stack, layer).in_proj.bias,
        ):
            weights[rows] *= factor


@pytest.mark.parametrize("stack", results.STACKS)
@pytest.mark.parametrize(
    ("scope", "kind"), [("head", "beta"), ("layer", "beta"), ("stack", "unscaled")]
)
@pytest.mark.slow
def test_a_factor_on_the_scores_is_one_on_the_weights_of_the_queries(
    tiny_model, stack, scope, kind
):
    source = torch.randint(4, 150, (2, 6))
    target = torch.randint(4, 150, (2, 5))
    heads = weighing.heads(tiny_model, Weighing(Head(stack, 2, 3), scope, kind, 2.5), 5)
    with torch.no_grad():
        changed = tiny_model(source, target, heads=heads)
        own = tiny_model(source, target)
        assert not torch.allclose(changed, own, atol=1e-3)
        for layer in (1, 2) if scope == "stack" else (2,):
            for head in (3,) if scope == "head" else range(1, 5):
                sharpen(
                    tiny_model,
                    stack,
                    layer,
                    head,
                    math.sqrt(8) if kind == "unscaled" else 2.5,
                )
        torch.testing.assert_close(changed, tiny_model(source, target), **NEAR)


@pytest.mark.parametrize("stack", results.STACKS)
@pytest.mark.parametrize(
    ("kind", "weights"),
    [
        (
            "after",
            lambda scores: (scores * math.sqrt(8)).softmax(dim=-1) / math.sqrt(8),
        ),
        ("queries", lambda scores: scores.softmax(dim=-2)),
        (
            "beta",
            lambda scores: torch.nn.functional.one_hot(
                scores.argmax(dim=-1), scores.shape[-1]
            ),
        ),
    ],
)
@pytest.mark.slow
def test_maps_and_answers_of_a_layer_follow_from_its_queries_and_keys(
    tiny_model, stack, kind, weights
):
    source = torch.randint(4, 150, (1, 6))
    target = torch.randint(4, 150, (1, 5))
    trace = Trace(*(Record(calls=[]) for _ in results.STACKS))
    with torch.no_grad():
        tiny_model(
            source,
            target,
            trace,
            weighing.heads(
                tiny_model, Weighing(Head(stack, 1, 1), "stack", kind, math.inf), 5
            ),
        )
        for layer in (1, 2):
            _, q, k, v, mask, answer = getattr(trace, stack).calls[layer - 1]
            scores = q @ k.transpose(-2, -1) / math.sqrt(8)
            wanted = weights(
                scores if mask is None else scores.masked_fill(~mask, -math.inf)
            ).float()
            torch.testing.assert_close(
                getattr(trace, stack).probabilities[layer - 1], wanted, **NEAR
            )
            out = attention(tiny_model, stack, layer).out_proj(
                (wanted @ v).transpose(1, 2).flatten(2)
            )
            torch.testing.assert_close(answer, out, **NEAR)


@pytest.mark.parametrize(
    "change",
    [
        Weighing(Head("cross", 2, 1), "stack", "beta", math.inf),
        Weighing(Head("decoder_self", 1, 2), "head", "beta", 0.0),
        Weighing(Head("encoder_self", 1, 1), "stack", "queries"),
        Weighing(Head("decoder_self", 2, 1), "stack", "zeroed"),
        Weighing(Head("cross", 1, 1), "layer", "after"),
    ],
)
def test_decoding_step_by_step_weighs_so_too(tiny_model, change):
    source = torch.randint(4, 150, (1, 6))
    target = torch.randint(4, 150, (1, 5))
    heads = weighing.heads(tiny_model, change, 5)
    with torch.inference_mode():
        whole = tiny_model(source, target, heads=heads)
        cache = tiny_model.start(source, heads)
        steps = torch.stack(
            [tiny_model.step(token[:, None], cache) for token in target.T], dim=1
        )
    torch.testing.assert_close(steps, whole, **NEAR)


def test_a_packed_model_weighs_so_too(running, tokenizer, learned_pairs):
    """The bare functions of a step know equation 1 only."""
    source = torch.tensor([[*tokenizer.encode(learned_pairs[0][0]), EOS]])
    heads = weighing.heads(
        running.model, Weighing(Head("cross", 1, 1), "stack", "beta", 0.0), 1
    )
    with torch.inference_mode():
        step = running.model.step(
            torch.tensor([[BOS]]), running.model.start(source, heads)
        )
        whole = running.model(source, torch.tensor([[BOS]]), heads=heads)[:, -1]
    torch.testing.assert_close(step, whole, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("stack", ["decoder_self", "cross"])
def test_a_softmax_over_queries_is_decoded_from_whole_prefixes(tiny_model, stack):
    source = torch.randint(4, 150, (1, 6))
    options = Options(beam=3, n_best=3)
    heads = weighing.heads(
        tiny_model, Weighing(Head(stack, 1, 1), "stack", "queries"), 5
    )
    with torch.inference_mode():
        (found,) = search(weighing.WholePrefix(tiny_model, source, heads), [6], options)
        for one in found:
            for step, (token, value) in enumerate(
                zip(one.tokens, one.log_probs, strict=True)
            ):
                given = torch.tensor([[BOS, *one.tokens[:step]]])
                logits = tiny_model(source, given, heads=heads)[0, -1].log_softmax(
                    dim=-1
                )
                assert value == pytest.approx(float(logits[token]), abs=1e-4)


@pytest.mark.parametrize("kind", results.WEIGHINGS)
@pytest.mark.parametrize("scope", ["head", "stack"])
def test_in_half_precision_as_on_a_gpu_it_is_the_same_but_for_rounding(
    tokenizer, kind, scope
):
    model = random_model("pre", tokenizer)
    source = torch.tensor([[5, 6, 7, 8, 2]])
    target = torch.tensor([[1, 9, 10, 11]])
    change = Weighing(Head("decoder_self", 1, 2), scope, kind, 0.5)
    with torch.inference_mode():
        wanted = model(source, target, heads=weighing.heads(model, change, 4))
        model.to(torch.bfloat16)
        found = model(source, target, heads=weighing.heads(model, change, 4))
    assert found.dtype == torch.bfloat16
    assert float((found.float() - wanted).abs().mean()) < 0.05 * float(
        wanted.abs().mean()
    )


# As a service


@pytest.mark.parametrize("kind", results.WEIGHINGS)
def test_a_translation_is_made_again_and_scored_before_and_after(
    running, learned_pairs, kind
):
    english, spanish = learned_pairs[1]
    change = Weighing(Head("decoder_self", 1, 2), "stack", kind, 0.0)
    done = running.ask(Reweigh(english, spanish, change))
    tokens, _ = running.typed(spanish)
    assert done.before.log_probs == pytest.approx(
        running.trace(english, spanish).log_probs
    )
    given = torch.tensor([[BOS, *tokens]])
    with torch.inference_mode():
        logits = running.model(
            torch.tensor([[*running.tokenizer.encode(english), EOS]]),
            given,
            heads=weighing.heads(running.model, change, len(tokens) + 1),
        )[0].log_softmax(dim=-1)
    wanted = [float(logits[i, token]) for i, token in enumerate([*tokens, EOS])]
    assert done.after.log_probs == pytest.approx(wanted, abs=1e-4)
    assert len(done.translation.best.tokens) <= len(tokens) + MOST_MORE
    if kind != "queries":  # which sees more when it is given everything
        again = running.ask(Reweigh(english, done.translation.best.tokens, change))
        if (
            len(again.after.predicted) == len(done.translation.best.tokens)
            and kind != "zeroed"
        ):
            assert again.after.log_probs == pytest.approx(
                done.translation.best.log_probs, abs=1e-3
            )


def test_a_factor_of_one_changes_nothing_and_none_is_left_behind(
    running, learned_pairs
):
    english, spanish = learned_pairs[0]
    plain = running.translate(english).best
    running.ask(Reweigh(english, spanish, Weighing(Head("cross", 1, 1), beta=0.0)))
    same = running.ask(
        Reweigh(english, spanish, Weighing(Head("cross", 1, 1), beta=1.0))
    )
    assert (
        same.translation.best.text
        == plain.text
        == running.translate(english).best.text
        == spanish
    )
    assert same.translation.best.log_probs == pytest.approx(plain.log_probs, abs=1e-4)
    np.testing.assert_allclose(same.after.cross, same.before.cross, atol=1e-5)


def test_the_sweep_is_one_pass_for_each_beta(running, learned_pairs):
    english, spanish = learned_pairs[1]
    found = running.ask(SweepBeta(english, spanish))
    whole = sum(running.trace(english, spanish).log_probs)
    pair = Pair.of(running.tokenizer.encode(english), running.typed(spanish)[0])
    assert list(found) == list(results.STACKS)
    for stack, values in found.items():
        assert len(values) == len(walkthrough.BETAS) == 13 and walkthrough.BETAS[6] == 1
        assert values[6] == pytest.approx(whole, abs=1e-3)
        for i in (0, 3, 9, 12):
            change = Weighing(Head(stack, 1, 1), beta=walkthrough.BETAS[i])
            heads = weighing.heads(running.model, change, len(pair.given))
            with torch.inference_mode():
                alone = log_probs(
                    running.model, [pair.source], pair, change=Intervention(heads=heads)
                )
            assert values[i] == pytest.approx(float(alone.sum()), abs=1e-3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Weighing(Head("cross", 3, 1)), "no head 1 in layer 3 of cross"),
        (Weighing(Head("cross", 1, 1), beta=-1.0), "β is −1; it must be 0 or more"),
        (Weighing(Head("cross", 1, 1), beta=math.nan), "β is nan"),
        (
            Weighing(Head("cross", 1, 1), kind="sideways"),
            "“sideways, stack” is not a way to change the weights",
        ),
        (
            Weighing(Head("cross", 1, 1), scope="all"),
            "“beta, all” is not a way to change the weights",
        ),
    ],
)
def test_what_cannot_be_weighed_says_why(running, learned_pairs, change, said):
    with pytest.raises(UserError, match=re.escape(said)):
        running.ask(Reweigh(*learned_pairs[0], change))


def test_a_batch_of_betas_is_weighed_row_by_row(tiny_model):
    source = torch.randint(4, 150, (1, 6))
    target = torch.randint(4, 150, (1, 5))
    betas = torch.tensor([0.0, 2.0, math.inf])
    ones = Heads.without(tiny_model.config, [])
    heads = Heads(
        ones.encoder_self,
        ones.decoder_self,
        ones.cross,
        {("cross", 1): weighing.by_beta(betas[:, None, None, None])},
    )
    with torch.no_grad():
        together = tiny_model(source.expand(3, -1), target.expand(3, -1), heads=heads)
        for row, beta in zip(together, betas.tolist(), strict=True):
            alone = weighing.heads(
                tiny_model, Weighing(Head("cross", 1, 1), "layer", "beta", beta), 5
            )
            torch.testing.assert_close(
                row[None], tiny_model(source, target, heads=alone), **NEAR
            )


# On the page


@pytest.fixture(scope="module")
def pictures(running):
    return laid_out(running).pictures[part.ID]


@pytest.fixture
def answers(running, pictures, learned_pairs):
    """Both answers of the page: what is drawn first, and what comes when that is
    there."""
    translation = running.translate(learned_pairs[0][0])
    made = {}

    def answers(**more):
        asked = {
            "drawer": part.WITHIN,
            "translation": translation,
            "weigh_head": "cross.2.1",
            "weigh_scope": "stack",
            "weigh_kind": "beta",
            "weigh_power": 6,
            **more,
        }
        return [
            Ask.always(running, ENGLISH).answer(
                pictures.draw, made=made, late=late, **asked
            )
            for late in (False, True)
        ]

    return answers


def test_both_translations_come_first_and_then_the_curve(running, answers, monkeypatch):
    asked = []
    ask = running.ask
    monkeypatch.setattr(
        running, "ask", lambda question: asked.append(type(question)) or ask(question)
    )
    first, last = answers()
    assert "β → ∞ · Cross, all layers" in first["result"] and "curve" not in first
    assert (
        first["before"] and first["after"] and "equation 1" in first["before"]["title"]
    )
    assert last["curve"]["figure"].count('"customdata"') == 3
    again, curve = answers(weigh_scope="head")
    assert (
        "layer 2, head 1" in again["result"]
        and curve["curve"]
        and asked.count(SweepBeta) == 1
    )
    assert answers(weigh_scope="head") == [{"problem": ""}, {"problem": gr.skip()}]


def test_nothing_is_computed_where_nobody_looks(answers):
    assert answers(drawer="") == [{"problem": ""}, {"problem": gr.skip()}]


def test_where_nothing_can_be_weighed_nothing_old_stays(answers):
    assert answers()[0]["result"]
    refused, _ = answers(translation=None)
    assert (
        "Waiting for a translation" in refused["problem"]
        and refused["result"] == ""
        and refused["curve"] is None
    )
    drawn, curve = answers()
    assert drawn["result"] and curve["curve"], "and is drawn again"


def test_only_the_decoder_offers_the_mask_of_zeros(answers):
    first, _ = answers(weigh_kind="zeroed")
    assert (
        first["weigh_kind"]["value"] == "beta"
        and len(first["weigh_kind"]["choices"]) == 4
    )
    first, last = answers(weigh_kind="zeroed", weigh_head="decoder_self.1.1")
    assert (
        first["weigh_kind"]["value"] == "zeroed"
        and len(first["weigh_kind"]["choices"]) == 5
    )
    assert (
        first["weigh_power"]["visible"] is False
        and "elegida" not in last["curve"]["figure"]
    )


@pytest.mark.parametrize("kind", results.WEIGHINGS)
def test_what_was_weighed_is_named_in_both_languages(running, learned_pairs, kind):
    change = Weighing(Head("decoder_self", 1, 2), "layer", kind)
    done = running.ask(Reweigh(*learned_pairs[0], change))
    english, spanish = (
        figures.translations(done, change, learned_pairs[0][1], language)
        for language in (ENGLISH, SPANISH)
    )
    assert (
        "layer 1" in english and "capa 1" in spanish and learned_pairs[0][1] in english
    )
    rows = figures.words_table(done, change).count("<tr>")
    assert rows == len(learned_pairs[0][1].split()) + 3  # the header, and “.” and </s>


def test_the_curve_marks_what_is_chosen_where_it_has_it():
    swept = {stack: [-1.0] * 13 for stack in results.STACKS}
    at = {
        ("beta", 0.0): -6,
        ("beta", 4.0): 2,
        ("beta", math.inf): 6,
        ("unscaled", 1.0): 1.5,
    }
    for (kind, beta), power in at.items():
        drawn = figures.curve(
            swept, "El perro.", Weighing(Head("cross", 1, 1), "stack", kind, beta), 8
        )
        assert drawn.layout.shapes[0].x0 == pytest.approx(power)
    assert "of “El perro.” against β" in drawn.layout.title.text
    assert not figures.curve(
        swept, "El perro.", Weighing(Head("cross", 1, 1), "stack", "queries"), 8
    ).layout.shapes
    assert len(figures.TICKS) == len(walkthrough.BETAS)
