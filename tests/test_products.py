"""Products for inference: every way gives what `F.linear` gives, the quickest is taken,
8 bits are near."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from xformer import fast
from xformer.explain import passes
from xformer.explain.passes import Pair
from xformer.fast import products
from xformer.fast.products import ROWS, USUAL, WAYS, Product
from xformer.model import Config, Transformer
from xformer.pieces import BOS, EOS
from xformer.results import STACKS
from xformer.translator import start


def numbers(*shape, seed=0):
    """Random numbers of float16, in float32."""
    return (
        torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
        .half()
        .float()
    )


@pytest.fixture
def clock(monkeypatch):
    """Let a product take so many seconds by each way; who multiplied how many rows is
    written down."""
    seconds = dict.fromkeys(WAYS, 1.0)
    multiplied = []
    now = [0.0]

    def timed(way, make):
        def made(weight, bias):
            real = make(weight, bias)

            def multiply(x):
                multiplied.append((x.numel() // x.shape[-1], way))
                now[0] += seconds[way]
                return real(x)

            return multiply

        return made

    monkeypatch.setattr(
        products, "WAYS", {way: timed(way, make) for way, make in WAYS.items()}
    )
    monkeypatch.setattr(products.time, "perf_counter", lambda: now[0])
    products.quickest.cache_clear()
    yield seconds, multiplied
    products.quickest.cache_clear()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rows", [1, 5, 40])
@torch.inference_mode()
def test_every_way_gives_the_same_product(way, rows):
    weight = numbers(48, 32)
    bias = numbers(48, seed=1)
    x = torch.randn(rows, 1, 32)
    for b in (bias, None):
        torch.testing.assert_close(
            WAYS[way](weight, b)(x), F.linear(x, weight, b), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("way", WAYS)
@torch.inference_mode()
def test_the_quickest_way_is_taken(clock, way):
    seconds, multiplied = clock
    seconds[way] = 0.8
    weight = numbers(48, 32)
    x = torch.randn(1, 32)
    product = Product(weight)
    torch.testing.assert_close(
        product.step(x), F.linear(x, weight), rtol=1e-4, atol=1e-5
    )
    assert multiplied[-1] == (1, way) and {tried for _, tried in multiplied} == set(
        WAYS
    )
    before = len(multiplied)
    product.step(x)
    assert len(multiplied) == before + 1, "it is measured once"
    product(x)
    assert multiplied[-1] == (1, USUAL), "this is no step of a search"


def test_a_way_that_gains_little_is_not_worth_a_copy(clock):
    seconds, _ = clock
    seconds["columns"] = 0.95
    assert products.quickest(48, 32, 1, True) == USUAL


@torch.inference_mode()
def test_weights_that_float16_would_round_are_not_kept_in_it(clock):
    seconds, multiplied = clock
    seconds["halves"] = 0.1
    weight = numbers(48, 32)
    weight[3, 4] += 1e-6
    Product(weight).step(torch.randn(1, 32))
    assert "halves" not in {way for _, way in multiplied}


@torch.inference_mode()
def test_many_rows_are_not_measured(clock):
    _, multiplied = clock
    rows = max(ROWS) + 1
    Product(numbers(48, 32)).step(torch.randn(rows, 32))
    assert multiplied == [(rows, USUAL)]


def test_measuring_leaves_the_number_of_threads():
    products.quickest.cache_clear()
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        Product(numbers(48, 32)).measure()
        assert torch.get_num_threads() == threads + 1
    finally:
        torch.set_num_threads(threads)


@pytest.mark.skipif(
    not products.multiplies_8_bits(),
    reason="PyTorch has no 8-bit products for this processor",
)
@torch.inference_mode()
def test_a_product_in_8_bits_is_near():
    """Each row of W has its own scale: one of small weights is as near as one of large
    ones."""
    weight = torch.randn(48, 320)
    bias = torch.randn(48)
    x = torch.randn(7, 3, 320)
    weight[::2] /= 1000
    wanted = F.linear(x, weight)
    found = Product(weight, quantised=True)(x)
    off = (found - wanted).norm(dim=(0, 1)) / wanted.norm(dim=(0, 1))  # [48]
    assert 1e-4 < off.max() < 0.05
    torch.testing.assert_close(Product(weight, bias, quantised=True)(x), found + bias)


def test_gradients_and_autocast_need_the_weights_themselves():
    assert not products.usable()
    with torch.no_grad():
        assert products.usable()
        with torch.autocast("cpu", torch.bfloat16):
            assert not products.usable()


@torch.inference_mode()
def test_maps_are_the_same_bit_for_bit_whatever_is_measured_to_be_quickest(
    clock, tokenizer, learned_pairs
):
    seconds, multiplied = clock
    pair = Pair.of(*(tokenizer.encode(text) for text in learned_pairs[0]))
    found = []
    for way in WAYS:  # as many processes, each of which measures otherwise
        seconds.update(dict.fromkeys(WAYS, 1.0), **{way: 0.5})
        products.quickest.cache_clear()
        torch.manual_seed(0)
        model = Transformer(
            Config(
                vocab_size=len(tokenizer), d_model=192, n_heads=4, n_layers=2, d_ff=384
            )
        ).eval()
        fast.pack(model.half().float())
        multiplied.clear()
        start(model, torch.tensor([pair.source]))(torch.tensor([[BOS]]))
        assert {used for _, used in multiplied} == {way}
        multiplied.clear()
        found.append(passes.trace(model, tokenizer, pair, ""))
        assert {used for _, used in multiplied} == {USUAL}
    for trace in found[1:]:
        assert trace.log_probs == found[0].log_probs
        for stack in STACKS:
            assert np.array_equal(getattr(trace, stack), getattr(found[0], stack)), (
                stack
            )


@torch.inference_mode()
def test_a_pass_in_the_middle_of_a_step_multiplies_as_any_other(clock, monkeypatch):
    seconds, multiplied = clock
    other = next(way for way in WAYS if way != USUAL)
    seconds[other] = 0.5
    torch.manual_seed(0)
    model = Transformer(
        Config(vocab_size=150, d_model=192, n_heads=4, n_layers=1, d_ff=384)
    ).eval()
    fast.pack(model.half().float())
    source = torch.tensor([[5, 6, EOS]])
    target = torch.tensor([[BOS, 7]])
    used = []

    def look():
        multiplied.clear()
        with torch.inference_mode():
            model(source, target)
        used.append({way for _, way in multiplied})

    def both(*args, **kwargs):
        look()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(look).result()
        multiplied.clear()
        return forward(*args, **kwargs)

    scorer = start(model, source)
    decoder = scorer.model.decoder
    forward = decoder.forward
    monkeypatch.setitem(vars(scorer.model), "decoder", both)
    scorer(target[:, :1])
    assert used == [{USUAL}, {USUAL}] and {way for _, way in multiplied} == {other}
