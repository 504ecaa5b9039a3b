"""What makes answers quick on a CPU: every quick way equals the plain one, and nobody
else's numbers change."""

import copy

import pytest
import torch

from tests.test_model import SHAPE, near, rows, shaken, targets
from xformer.inference import needed
from xformer.model import ACTIVATIONS, NORMS, Config, Heads, Trace, Transformer
from xformer.pieces import BOS
from xformer.translator import pad


@pytest.fixture(params=NORMS)
def norm(request):
    return request.param


@pytest.fixture
def model(norm):
    torch.manual_seed(0)
    return shaken(Transformer(Config(norm=norm, **SHAPE)))


def watched(twin):
    """The names of the stacks that pass by their bare functions, as they do."""
    called = []
    for name in ("encoder", "decoder"):
        stack = getattr(twin, name)
        stack.flat = lambda *given, name=name, flat=stack.flat: (
            called.append(name) or flat(*given)
        )
    return called


def test_packed_weights_give_the_same_logits(tiny_model):
    source = torch.randint(4, 150, (3, 7))
    target = torch.randint(4, 150, (3, 5))
    packed = copy.deepcopy(tiny_model)
    packed.pack()
    assert packed.output is not None
    with torch.no_grad():
        torch.testing.assert_close(
            packed(source, target), tiny_model(source, target), atol=1e-5, rtol=1e-4
        )
        caches = [model.start(source) for model in (tiny_model, packed)]
        for step in target.T:
            plain, quick = (
                model.step(step[:, None], cache)
                for model, cache in zip((tiny_model, packed), caches, strict=True)
            )
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
    # not sorted, and the longest not always in the first group
    lengths = [1 + n * 7 % 13 for n in range(count)]
    source = pad(
        [[5 + (n + i) % 40 for i in range(length)] for n, length in enumerate(lengths)]
    )
    cache = model.start(source)
    tokens = torch.full((count, 1), BOS)
    got = model.step(tokens, cache)
    memory, mask = model.encode(source)
    torch.testing.assert_close(
        got, model.decode(tokens, memory, mask)[:, -1], atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize(
    "lengths", [(7,), (7, 7), (7, 4, 1)], ids=["one", "equal", "padded"]
)
@pytest.mark.parametrize("parts", [(1, 1, 1, 1), (2, 1, 1)], ids=["steps", "prefix"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@torch.no_grad()
def test_bare_functions_give_what_the_modules_give(lengths, parts, activation, norm):
    """Three hypotheses of each sentence, some dropped and repeated on the way, until
    only the last sentence is left."""
    model = shaken(Transformer(Config(norm=norm, activation=activation, **SHAPE)))
    packed = copy.deepcopy(model)
    source = rows(lengths)
    count = len(lengths)
    packed.pack()
    called = watched(packed.stepping)
    caches, end, target = (
        (model.start(source), packed.start(source)),
        0,
        targets((5,) * 3 * count),
    )
    for part in parts:
        plain, quick = (
            one.step(target[:, end : end + part], cache)
            for one, cache in zip((model, packed), caches, strict=True)
        )
        near(quick, plain, 1e-4)
        end += part
        last = end == parts[0] and count > 1
        hypotheses = torch.tensor(
            [[3 * n + 2, 3 * n, 3 * n] for n in range(count)][-1 if last else 0 :]
        ).flatten()
        for cache in caches:
            cache.select(hypotheses, torch.tensor([count - 1]) if last else None)
        if last:
            target = target[:3]
            count = 1
    assert called == ["encoder", *["decoder"] * len(parts)]
    assert packed.stepping.encoder.flat and packed.stepping.decoder.flat, (
        "they were used"
    )


@pytest.mark.parametrize("asked", ["heads", "trace", "gradients"])
def test_modules_do_what_bare_functions_cannot(model, asked):
    source = rows((7,))
    target = targets((5,))
    heads = Heads.without(
        model.config, [("cross", 1, 2), ("cross", 2, 4), ("decoder_self", 1, 1)]
    )
    packed = copy.deepcopy(model)
    packed.pack()
    twin = packed.stepping
    seen = Trace()
    called = watched(packed.stepping)
    with torch.set_grad_enabled(asked == "gradients"):
        if asked == "trace":
            twin(source, target, trace=seen)
            assert [
                len(one.probabilities)
                for one in (seen.encoder_self, seen.decoder_self, seen.cross)
            ] == [2, 2, 2]
        elif asked == "heads":
            steps = [
                one.step(target[:, :1], one.start(source, heads))
                for one in (packed, model)
            ]
            near(*steps, 1e-4)
        else:
            twin(source, target).sum().backward()
            assert all(parameter.grad is not None for parameter in packed.parameters())
    assert not called


def test_a_mask_that_hides_something_is_needed():
    assert needed(None) is None and needed(torch.tensor([[True, True]])) is None
    mask = torch.tensor([[True, False]])
    assert needed(mask) is mask


def test_a_packed_model_holds_its_weights_once(model):
    names = list(model.state_dict())
    count = model.parameter_count()
    model.train().pack()
    model.pack()
    twin = model.stepping
    assert (
        (list(model.state_dict()), model.parameter_count())
        == (names, count)
        == (list(twin.state_dict()), count)
    )
    assert twin is not model and twin.stepping is twin and not twin.training
    for mine, its in zip(
        model.state_dict().values(), twin.state_dict().values(), strict=True
    ):
        assert mine.data_ptr() == its.data_ptr()
    assert twin.embedding.positions is model.embedding.positions
