"""Transformers with a part taken away: what is left, by what it computes."""

import math
from dataclasses import replace

import pytest
import torch

from xformer.model import Attention, Config, Transformer
from xformer.results import PARTS
from xformer.training import parts

CONFIG = Config(
    vocab_size=40,
    d_model=16,
    n_heads=4,
    n_layers=2,
    d_ff=32,
    dropout=0.0,
    max_length=16,
)
SOURCE = torch.tensor([[5, 6, 7, 2]])
TARGET = torch.tensor([[1, 8, 9, 10]])


def made(without="", config=CONFIG):
    torch.manual_seed(0)
    return parts.transformer(config, without).eval()


@pytest.mark.parametrize(
    "part", [part for part in PARTS if part not in ("dropout", "smoothing")]
)
def test_each_part_makes_a_difference_and_what_is_left_learns_and_takes_steps(part):
    whole = made()
    model = made(part)
    assert not torch.allclose(whole(SOURCE, TARGET), model(SOURCE, TARGET), atol=1e-4)
    model(SOURCE, TARGET).square().sum().backward()
    assert any(weight.grad is not None for weight in model.parameters())
    with torch.inference_mode():
        assert model.step(TARGET[:, :1], model.start(SOURCE)).shape == (1, 40)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_without_residuals_a_layer_answers_what_its_sub_layers_do(norm):
    model = made("residual", Config(**CONFIG.to_dict() | {"norm": norm}))
    layer = model.encoder.layers[0]
    x = torch.randn(1, 3, 16)
    attention = layer.self_attention
    feed_forward = layer.feed_forward
    one = layer.self_residual.norm
    two = layer.feed_residual.norm
    wanted = (
        feed_forward(two(attention(one(x))))
        if norm == "pre"
        else two(feed_forward(one(attention(x))))
    )
    torch.testing.assert_close(layer(x, None), wanted)


def test_without_feed_forward_networks_attention_alone_adds():
    layer = made("feed_forward").encoder.layers[0]
    x = torch.randn(1, 3, 16)
    torch.testing.assert_close(
        layer(x, None), x + layer.self_attention(layer.self_residual.norm(x))
    )


def test_without_layer_norm_and_positions_there_are_none():
    assert not [
        one for one in made("norm").modules() if isinstance(one, torch.nn.LayerNorm)
    ]
    model = made("positions")
    torch.testing.assert_close(
        model.encode(SOURCE.flip(1))[0], model.encode(SOURCE)[0].flip(1)
    )


def test_without_the_mask_a_piece_depends_on_those_after_it():
    other = TARGET.clone()
    other[0, 3] = 20
    for without, same in (("", True), ("mask", False)):
        model = made(without)
        assert (
            torch.allclose(
                model(SOURCE, TARGET)[:, :3], model(SOURCE, other)[:, :3], atol=1e-6
            )
            == same
        )


def test_without_scaling_products_are_the_square_root_of_d_larger():
    attention = Attention(CONFIG)
    bare = made("scaling").decoder.layers[0]
    bare.self_attention.load_state_dict(attention.state_dict())
    bare.cross_attention.load_state_dict(attention.state_dict())
    x = torch.randn(1, 3, 16)
    other = torch.randn(1, 5, 16)
    q, k, v = attention.split(attention.in_proj(x))
    wanted = ((q @ k.transpose(-2, -1)).softmax(-1) @ v).transpose(1, 2).flatten(2)
    torch.testing.assert_close(bare.self_attention(x), attention.out_proj(wanted))
    k, v = attention.keys_values(other)
    wanted = ((q @ k.transpose(-2, -1)).softmax(-1) @ v).transpose(1, 2).flatten(2)
    torch.testing.assert_close(
        bare.cross_attention(x, memory=bare.cross_attention.keys_values(other)),
        attention.out_proj(wanted),
    )


def test_with_slices_a_head_is_made_of_its_own_numbers_of_a_vector_alone():
    """What they make is twice as large, the square root of four heads."""
    attention, whole = (
        made(without).decoder.layers[0].cross_attention for without in ("slices", "")
    )
    x = torch.randn(1, 5, 16)
    other = torch.randn(1, 5, 16)
    other[..., 4:8] = x[..., 4:8]
    one, two = (attention.keys_values(some)[:, :, 1] for some in (x, other))
    torch.testing.assert_close(one, two)
    alone = torch.zeros_like(x)
    alone[..., 4:8] = x[..., 4:8]
    torch.testing.assert_close(one, 2 * whole.keys_values(alone)[:, :, 1])
    assert made("slices").parameter_count() == made().parameter_count() - 6 * 576


def test_without_dropout_training_is_the_same_twice():
    config = replace(CONFIG, dropout=0.5)
    for without, same in (("", False), ("dropout", True)):
        model = made(without, config).train()
        assert torch.equal(model(SOURCE, TARGET), model(SOURCE, TARGET)) is same


def test_one_head_is_as_wide_as_four_and_an_untied_output_has_a_matrix_more():
    assert (
        made("heads").config.n_heads == 1
        and made("heads").parameter_count() == made().parameter_count()
    )
    assert made("tying").parameter_count() == made().parameter_count() + 40 * 16


def test_an_unknown_part_is_refused():
    with pytest.raises(ValueError, match="no part 'wheels'"):
        made("wheels")
    assert type(made("smoothing")) is Transformer and math.prod(SOURCE.shape) == 4
