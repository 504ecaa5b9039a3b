"""The encoder on its own, as a language model and as a classifier: masks, pooling, what
is taken over and learned."""

import dataclasses
import math

import pytest
import torch
import torch.nn.functional as F

from xformer.classifier import (
    POOLINGS,
    ClassifierConfig,
    LanguageModel,
    LanguageModelConfig,
    Pooling,
    TransformerClassifier,
)
from xformer.fast import pack
from xformer.model import Heads, Trace
from xformer.pieces import BOS, EOS, PAD
from xformer.translator import pad

SHAPE = {
    "vocab_size": 50,
    "d_model": 32,
    "n_heads": 4,
    "n_layers": 2,
    "d_ff": 64,
    "dropout": 0.0,
    "max_length": 16,
}
ROWS = [[BOS, 10, 11, 12, 13, EOS], [BOS, 20, EOS], [BOS, 30, 31, EOS]]


def shaken(model):
    """Random biases and normalisations too: at 0 and 1, as they begin, they would hide
    mistakes."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += 0.2 * torch.randn_like(parameter)
    return model.eval()


def classifier(**more):
    torch.manual_seed(0)
    return shaken(TransformerClassifier(ClassifierConfig(**{**SHAPE, **more})))


def language_model():
    torch.manual_seed(0)
    return shaken(LanguageModel(LanguageModelConfig(**SHAPE)))


def near(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=1e-5)


# Pooling


def test_mean_pooling_by_hand():
    """The mean of the first two of three vectors; the third is padding."""
    states = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]]])
    text, weights = Pooling(ClassifierConfig(d_model=2, n_heads=1, pooling="mean"))(
        states, torch.tensor([[True, True, False]])
    )
    assert text.tolist() == [[2.0, 4.0]] and weights.tolist() == [[0.5, 0.5, 0.0]]


def test_attention_pooling_by_hand():
    """A query of (ln 3, 0) gives scores ln 3 and 0, hence weights 3/4 and 1/4."""
    pooling = Pooling(ClassifierConfig(d_model=2, n_heads=1))
    pooling.query.data = torch.tensor([math.log(3), 0.0])
    states = torch.tensor([[[1.0, 4.0], [0.0, 8.0], [5.0, 5.0]]])
    text, weights = pooling(states, torch.tensor([[True, True, False]]))
    near(weights, torch.tensor([[0.75, 0.25, 0.0]]))
    near(text, torch.tensor([[0.75, 5.0]]))


def test_max_pooling_by_hand():
    """The largest of each of four dimensions; the first vector gives three of them, the
    third is padding."""
    states = torch.tensor(
        [[[1.0, -2.0, 5.0, 7.0], [3.0, -6.0, 4.0, 2.0], [9.0, 9.0, 9.0, 9.0]]]
    )
    text, weights = Pooling(ClassifierConfig(d_model=4, n_heads=1, pooling="max"))(
        states, torch.tensor([[True, True, False]])
    )
    assert text.tolist() == [[3.0, -2.0, 5.0, 7.0]] and weights.tolist() == [
        [0.75, 0.25, 0.0]
    ]
    near(
        text,
        torch.nn.functional.adaptive_max_pool1d(states[:, :2].transpose(1, 2), 1)[
            ..., 0
        ],
    )


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("causal", [True, False])
def test_padding_changes_nothing(pooling, causal):
    model = classifier(pooling=pooling, causal=causal)
    together = model(pad(ROWS))
    near(together.weights.sum(1), torch.ones(3))
    for i, row in enumerate(ROWS):
        alone = model(torch.tensor([row]))
        near(together.logits[i], alone.logits[0])
        near(together.weights[i, : len(row)], alone.weights[0])
        assert (together.weights[i, len(row) :] == 0).all()


# Masks


def changed_at(tokens, place):
    other = tokens.clone()
    other[:, place] = 40
    return other


def test_a_later_piece_does_not_change_earlier_logits():
    model = language_model()
    tokens = torch.tensor(ROWS[:1])
    before = model(tokens)
    after = model(changed_at(tokens, 3))
    assert torch.equal(before[:, :3], after[:, :3])
    assert ((before - after).abs().amax(dim=2)[:, 3:] > 1e-3).all()


@pytest.mark.parametrize("causal", [True, False])
def test_a_classifier_sees_later_pieces_where_its_mask_allows_it(causal):
    model = classifier(causal=causal)
    tokens = torch.tensor(ROWS[:1])
    moved = (
        (model(tokens).states - model(changed_at(tokens, 3)).states)
        .abs()
        .amax(dim=2)[0]
    )
    assert bool((moved[:3] == 0).all()) == causal
    assert (moved[3:] > 1e-3).all()


@pytest.mark.parametrize("causal", [True, False])
def test_a_trace_holds_what_every_head_looked_at(causal):
    model = classifier(causal=causal)
    trace = Trace()
    near(model(pad(ROWS), trace).logits, model(pad(ROWS)).logits)
    assert [tuple(layer.shape) for layer in trace.encoder_self.probabilities] == [
        (3, 4, 6, 6)
    ] * 2
    for layer in trace.encoder_self.probabilities:
        near(layer.sum(-1), torch.ones(3, 4, 6))
        assert bool((layer[0].triu(1) == 0).all()) == causal
    assert trace.decoder_self.probabilities == []


def test_a_head_may_be_switched_off():
    model = classifier()
    heads = Heads.without(model.config, [("encoder_self", 2, 3)])
    whole = model(pad(ROWS)).logits
    without = model(pad(ROWS), heads=heads).logits
    assert (whole - without).abs().max() > 1e-3
    attention = model.encoder.layers[1].self_attention
    with torch.no_grad():
        attention.out_proj.weight[:, 16:24] = 0  # the third head of d = 8
    near(model(pad(ROWS)).logits, without)
    with pytest.raises(
        ValueError,
        match="there is no head 1 in layer 1 of cross; this model has 0 layers",
    ):
        Heads.without(model.config, [("cross", 1, 1)])


# What a classifier takes over


def test_a_causal_classifier_may_go_on_as_its_language_model():
    start = language_model()
    model = classifier(causal=True)
    own = model.head.weight.clone()
    model.load_state_dict(start.state_dict(), strict=False)
    near(model.logits(model(pad(ROWS)).states), start(pad(ROWS)))
    assert torch.equal(model.head.weight, own)
    assert model.state_dict().keys() - start.state_dict().keys() == {
        "pooling.query",
        "head.weight",
        "head.bias",
    }
    assert not start.state_dict().keys() - model.state_dict().keys()


def test_packed_weights_give_the_same_logits():
    model = classifier()
    packed = classifier()
    pack(packed)
    with torch.inference_mode():
        near(packed(pad(ROWS)).logits, model(pad(ROWS)).logits)


def test_probabilities_are_cooled_by_the_temperature():
    model = classifier(temperature=2.0)
    near(
        model.probabilities(torch.tensor([[0.0, 2 * math.log(3)]])),
        torch.tensor([[0.25, 0.75]]),
    )


def test_a_stack_without_a_decoder_has_no_decoder_layers():
    assert LanguageModelConfig(**SHAPE).decoder_layers == 0
    assert ClassifierConfig(
        **dataclasses.asdict(ClassifierConfig(labels=["a", "b"]))
    ).labels == ("a", "b")


# Learning


@pytest.mark.slow
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_few_reviews_are_learned_by_heart(
    review_tokenizer, reviews, learn_reviews, causal, pooling
):
    torch.manual_seed(0)
    model = TransformerClassifier(
        ClassifierConfig(
            **{**SHAPE, "vocab_size": len(review_tokenizer), "max_length": 64},
            causal=causal,
            pooling=pooling,
        )
    )
    assert learn_reviews(model, review_tokenizer, reviews, 60) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_language_model_learns_two_texts_by_heart(norm):
    torch.manual_seed(0)
    model = LanguageModel(LanguageModelConfig(**SHAPE, norm=norm))
    tokens = torch.tensor([[BOS, 10, 11, 12, 13, EOS], [BOS, 20, 13, 12, 11, EOS]])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(60):
        loss = F.cross_entropy(
            model(tokens[:, :-1])[:, 1:].flatten(0, 1), tokens[:, 2:].flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.1


@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_parameter_gets_a_gradient(pooling):
    model = classifier(pooling=pooling).train()
    F.cross_entropy(model(pad(ROWS)).logits, torch.tensor([0, 1, 1])).backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []
    assert model.embedding.weight.grad[PAD].abs().max() == 0
