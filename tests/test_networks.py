"""What makes answers quick on a CPU: every quick way equals the plain one, and nobody
else's numbers change."""

import copy

import pytest
import torch

from tests.test_model import SHAPE, near, rows, shaken, targets
from xformer.fast import pack, plain, stepping
from xformer.fast.networks import Quick
from xformer.fast.products import Product
from xformer.model import (
    ACTIVATIONS,
    NORMS,
    Config,
    Heads,
    Trace,
    Transformer,
    needed,
)
from xformer.pieces import BOS
from xformer.translator import pad, start


@pytest.fixture(params=NORMS)
def norm(request):
    return request.param


@pytest.fixture
def model(norm):
    torch.manual_seed(0)
    return shaken(Transformer(Config(norm=norm, **SHAPE)))


@pytest.fixture
def multiplied(monkeypatch):
    """How each product was asked for: in a "pass", or in a "step" of a search."""
    asked = []

    def told(name, way):
        real = getattr(Product, name)
        monkeypatch.setattr(
            Product, name, lambda self, x: asked.append(way) or real(self, x)
        )

    told("__call__", "pass")
    told("step", "step")
    return asked


def test_packed_weights_give_the_same_logits(tiny_model):
    source = torch.randint(4, 150, (3, 7))
    target = torch.randint(4, 150, (3, 5))
    packed = copy.deepcopy(tiny_model)
    pack(packed)
    with torch.no_grad():
        torch.testing.assert_close(
            packed(source, target), tiny_model(source, target), atol=1e-5, rtol=1e-4
        )
        scorers = [start(model, source) for model in (tiny_model, packed)]
        for step in target.T:
            wanted, found = (scorer(step[:, None]) for scorer in scorers)
            torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)


def test_a_packed_model_still_has_gradients(tiny_model):
    packed = copy.deepcopy(tiny_model)
    pack(packed)
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
    packed = copy.deepcopy(model)
    pack(packed)
    tokens = torch.full((count, 1), BOS)
    got = start(packed, source)(tokens)
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
def test_steps_give_what_the_plain_model_gives(
    lengths, parts, activation, norm, multiplied
):
    """Three hypotheses of each sentence, some dropped and repeated on the way, until
    only the last sentence is left."""
    model = shaken(Transformer(Config(norm=norm, activation=activation, **SHAPE)))
    packed = copy.deepcopy(model)
    source = rows(lengths)
    count = len(lengths)
    pack(packed)
    scorers = [start(model, source), start(packed, source)]
    end = 0
    target = targets((5,) * 3 * count)
    for part in parts:
        wanted, found = (scorer(target[:, end : end + part]) for scorer in scorers)
        near(found, wanted, 1e-4)
        end += part
        last = end == parts[0] and count > 1
        hypotheses = torch.tensor(
            [[3 * n + 2, 3 * n, 3 * n] for n in range(count)][-1 if last else 0 :]
        ).flatten()
        for scorer in scorers:
            scorer.select(hypotheses, torch.tensor([count - 1]) if last else None)
        if last:
            target = target[:3]
            count = 1
    assert set(multiplied) == {"step"}


@pytest.mark.parametrize("asked", ["heads", "trace"])
@torch.no_grad()
def test_the_network_of_the_steps_can_do_all_that_the_model_can(
    model, asked, multiplied
):
    source = rows((7,))
    target = targets((5,))
    heads = Heads.without(
        model.config, [("cross", 1, 2), ("cross", 2, 4), ("decoder_self", 1, 1)]
    )
    packed = copy.deepcopy(model)
    pack(packed)
    if asked == "trace":
        seen, wanted = Trace(), Trace()
        near(
            stepping(packed)(source, target, seen), model(source, target, wanted), 1e-4
        )
        for stack in ("encoder_self", "decoder_self", "cross"):
            pairs = zip(
                getattr(seen, stack).probabilities,
                getattr(wanted, stack).probabilities,
                strict=True,
            )
            for found, plainly in pairs:
                near(found, plainly, 1e-4)
    else:
        near(
            start(packed, source, heads)(target[:, :1]),
            start(model, source, heads)(target[:, :1]),
            1e-4,
        )
    assert set(multiplied) == {"step"}


def test_where_gradients_are_asked_for_the_model_takes_the_steps(model, multiplied):
    packed = copy.deepcopy(model)
    pack(packed)
    start(packed, rows((7,)))(targets((5,))[:, :1]).sum().backward()
    assert packed.decoder.layers[0].feed_forward.inner.weight.grad is not None
    assert not multiplied
    with torch.no_grad():
        start(packed, rows((7,)))(targets((5,))[:, :1])
    assert set(multiplied) == {"step"}


def test_a_plain_copy_shares_the_weights_and_multiplies_by_itself(model, multiplied):
    pack(model)
    copied = plain(model)
    assert not any(isinstance(module, Quick) for module in copied.modules())
    assert type(copied) is Transformer
    for mine, its in zip(model.parameters(), copied.parameters(), strict=True):
        assert mine is its
    with torch.no_grad():
        copied(rows((7,)), targets((5,)))
        assert not multiplied
        model(rows((7,)), targets((5,)))
    assert set(multiplied) == {"pass"}


def test_a_mask_that_hides_something_is_needed():
    assert needed(torch.tensor([[True, True]])) is None
    mask = torch.tensor([[True, False]])
    assert needed(mask) is mask


def test_a_packed_model_holds_its_weights_once(model):
    names = list(model.state_dict())
    count = model.parameter_count()
    pack(model.train())
    pack(model)
    with torch.no_grad():
        twin = stepping(model)
    assert (
        (list(model.state_dict()), model.parameter_count())
        == (names, count)
        == (list(twin.state_dict()), count)
    )
    assert twin is not model and not twin.training
    for mine, its in zip(
        model.state_dict().values(), twin.state_dict().values(), strict=True
    ):
        assert mine.data_ptr() == its.data_ptr()
    assert twin.embedding.positions is model.embedding.positions
