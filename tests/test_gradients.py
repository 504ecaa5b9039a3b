"""Gradients before the first step, against numerical ones and what Xiong et al. say of
them."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.nn.functional as F

from research.__main__ import main as research
from xformer.explain import gradients
from xformer.explain.gradients import gradients_at_the_beginning
from xformer.model import Config, Transformer
from xformer.pieces import BOS

SHAPE = Config(
    vocab_size=50,
    d_model=16,
    n_heads=2,
    n_layers=2,
    n_decoder_layers=1,
    d_ff=32,
    dropout=0.3,
)


def of(found, stack, sublayer="feed_forward"):
    return [
        gradient.norm
        for gradient in found
        if (gradient.stack, gradient.sublayer) == (stack, sublayer)
    ]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_norms_are_slopes_of_the_loss(norm):
    """Going a little way along a gradient raises the loss by that way times its
    norm."""
    config = dataclasses.replace(SHAPE, norm=norm)
    found = gradients_at_the_beginning(config, seed=3)
    torch.manual_seed(3)
    model = Transformer(config).eval()
    source, target = torch.randint(BOS + 1, 50, (2, gradients.BATCH, gradients.LENGTH))
    wanted = torch.randint(BOS + 1, 50, (gradients.BATCH, gradients.LENGTH)).flatten()
    model.double()

    def loss():
        return F.cross_entropy(model(source, target).flatten(0, 1), wanted)

    loss().backward()
    places = [("encoder", i, layer) for i, layer in enumerate(model.encoder.layers, 1)]
    places += [("decoder", i, layer) for i, layer in enumerate(model.decoder.layers, 1)]
    parts = [
        (stack, i, name, getattr(layer, name))
        for stack, i, layer in places
        for name in gradients.SUBLAYERS
        if hasattr(layer, name)
    ]
    assert [(g.stack, g.layer, g.sublayer) for g in found] == [
        part[:3] for part in parts
    ]
    for gradient, (*_, part) in zip(found, parts, strict=True):
        moved = [(p, p.detach().clone(), p.grad) for p in part.parameters()]
        with torch.no_grad():
            values = []
            for way in (1e-4, -1e-4):
                for parameter, old, slope in moved:
                    parameter.copy_(old + way * slope / gradient.norm)
                values.append(float(loss()))
            for parameter, old, _ in moved:
                parameter.copy_(old)
        assert (values[0] - values[1]) / 2e-4 == pytest.approx(gradient.norm, rel=1e-3)


def test_gradients_grow_towards_the_output_with_post_norm_only():
    deep = Config(vocab_size=200, d_model=32, n_heads=4, n_layers=8, d_ff=128)
    post, pre = (
        gradients_at_the_beginning(dataclasses.replace(deep, norm=norm))
        for norm in ("post", "pre")
    )
    *_, last = of(post, "decoder")
    assert last > 4 * of(post, "decoder")[0]
    assert max(of(pre, "decoder")) < 2.5 * min(of(pre, "decoder"))


def test_nobody_elses_random_numbers_are_used_up():
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    first = gradients_at_the_beginning(SHAPE, 1)
    torch.testing.assert_close(torch.rand(3), wanted)
    assert (
        gradients_at_the_beginning(SHAPE, 1)
        == first
        != gradients_at_the_beginning(SHAPE, 2)
    )
    with torch.inference_mode():
        assert gradients_at_the_beginning(SHAPE, 1) == first


def test_a_seed_gives_the_same_beside_others_who_draw():
    seeds = range(8)
    alone = [gradients_at_the_beginning(SHAPE, seed) for seed in seeds]

    def draw(seed):
        for _ in range(20):
            torch.manual_seed(seed)
            Transformer(SHAPE)

    with ThreadPoolExecutor(4) as pool:
        others = [pool.submit(draw, seed) for seed in seeds]
        assert [
            *pool.map(lambda seed: gradients_at_the_beginning(SHAPE, seed), seeds)
        ] == alone
        assert all(other.result() is None for other in others)


def test_the_command_prints_both_orders(capsys):
    assert research(["study", "beginning", "--n-layers", "1", "--d-model", "16"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [line[:3] for line in lines] == [
        ["encoder", "1", "self_attention"],
        ["encoder", "1", "feed_forward"],
        ["decoder", "1", "self_attention"],
        ["decoder", "1", "cross_attention"],
        ["decoder", "1", "feed_forward"],
    ]
    assert all(float(value) > 0 for line in lines for value in line[3:])
    assert research(["study", "beginning", "--d-model", "12"]) == 2
    assert (
        "There is no such model: d_model is 12, which 8 heads cannot share"
        in capsys.readouterr().err
    )
