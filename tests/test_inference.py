"""What makes answers quick on a CPU: every quick way equals the plain one, and nobody else's numbers change."""

import copy

import pytest
import torch

from tests.test_model import SHAPE, near, rows, shaken, targets
from xformer.inference import Absorbed
from xformer.model import NORMS, Config, Heads, Memory, Transformer
from xformer.pieces import BOS
from xformer.translator import pad


@pytest.fixture(params=NORMS)
def model(request):
    torch.manual_seed(0)
    return shaken(Transformer(Config(norm=request.param, **SHAPE)))


def test_packed_weights_give_the_same_logits(tiny_model):
    source, target = torch.randint(4, 150, (3, 7)), torch.randint(4, 150, (3, 5))
    packed = copy.deepcopy(tiny_model)
    packed.pack()
    assert packed.output is not None
    with torch.no_grad():
        torch.testing.assert_close(packed(source, target), tiny_model(source, target), atol=1e-5, rtol=1e-4)
        caches = [model.start(source) for model in (tiny_model, packed)]
        for step in target.T:
            plain, quick = (model.step(step[:, None], cache)
                            for model, cache in zip((tiny_model, packed), caches, strict=True))
            torch.testing.assert_close(quick, plain, atol=1e-5, rtol=1e-4)


def test_a_packed_model_still_has_gradients(tiny_model):
    packed = copy.deepcopy(tiny_model)
    packed.pack()
    packed(torch.tensor([[5, 6]]), torch.tensor([[2, 7]])).sum().backward()
    assert all(parameter.grad is not None for parameter in packed.parameters())


@torch.no_grad()
@torch.inference_mode()
@pytest.mark.parametrize("count", [1, 16, 17, 40])
def test_many_sources_are_encoded_as_if_at_once(model, count):
    lengths = [1 + n * 7 % 13 for n in range(count)]  # not sorted, and the longest not always in the first group
    source = pad([[5 + (n + i) % 40 for i in range(length)] for n, length in enumerate(lengths)])
    cache, tokens = model.start(source), torch.full((count, 1), BOS)
    got = model.step(tokens, cache)
    memory, mask = model.encode(source)
    torch.testing.assert_close(got, model.decode(tokens, memory, mask)[:, -1], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("parts", [(1, 1, 1, 1), (2, 1, 1)], ids=["steps", "prefix"])
@torch.no_grad()
def test_a_short_sentence_that_has_absorbed_its_projections_is_decoded_as_any(model, parts):
    """All hypotheses of a single sentence, some dropped and repeated on the way, with all heads and without two."""
    source, target = rows((7,)), targets((5,) * 3)
    for heads in (None, Heads.without(model.config, [("cross", 1, 2), ("cross", 2, 4), ("decoder_self", 1, 1)])):
        packed = copy.deepcopy(model)
        packed.pack()
        caches, end = (model.start(source, heads), packed.start(source, heads)), 0
        assert isinstance(caches[0].memories[0], Memory) and isinstance(caches[1].memories[0], Absorbed)
        for part in parts:
            plain, quick = (one.step(target[:, end:end + part], cache)
                            for one, cache in zip((model, packed), caches, strict=True))
            near(quick, plain, 1e-4)
            end += part
            for cache in caches:
                cache.select(torch.tensor([2, 0, 0]), None)


@torch.no_grad()
def test_only_what_is_worth_it_is_absorbed(model):
    model.pack()
    for source in (rows((7, 7)), rows((9,))):  # two sentences; 9 pieces times 4 heads are more than d_model, 32
        assert isinstance(model.start(source).memories[0], Memory)
    with torch.enable_grad():
        assert isinstance(model.start(rows((7,))).memories[0], Memory)


def test_a_packed_model_holds_its_weights_once(model):
    names, count = list(model.state_dict()), model.parameter_count()
    model.train().pack()
    model.pack()
    twin = model.stepping
    assert (list(model.state_dict()), model.parameter_count()) == (names, count) == (list(twin.state_dict()), count)
    assert twin is not model and twin.stepping is twin and not twin.training
    for mine, its in zip(model.state_dict().values(), twin.state_dict().values(), strict=True):
        assert mine.data_ptr() == its.data_ptr()
    assert twin.embedding.positions is model.embedding.positions
