"""The calculator of sizes: what it counts is what PyTorch's own models have, compute and keep."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from xformer.model import Config, EncoderStack, Transformer
from xformer.parts.sizes import draw as figures
from xformer.parts.sizes import part, sizes
from xformer.parts.sizes.sizes import PRESETS, Sizes
from xformer.results import UserError
from xformer.serve.protocol import NORMS
from xformer.strings import ENGLISH, SPANISH

PIECES = 12
SMALL = [Sizes(layers, decoder, width, heads, hidden, 90, norm) for norm in NORMS
         for layers, decoder, width, heads, hidden in ((2, 3, 32, 4, 64), (3, 1, 48, 2, 96))]
each = pytest.mark.parametrize("small", SMALL, ids=str)


def built(small):
    return Transformer(Config(small.vocabulary, small.d_model, small.n_heads, small.encoder_layers,
                              small.decoder_layers, small.d_ff, small.norm, dropout=0.0)).train()


def run(model, small):
    source, target = torch.randint(4, small.vocabulary, (2, 1, PIECES))
    return model(source, target), target


@each
def test_parameters_are_those_of_the_model(small):
    model = built(small)
    assert sum(part.parameters for part in sizes.parts(small, PIECES)) == model.parameter_count()
    for tower in ("encoder", "decoder"):
        counted = sum(part.parameters for part in sizes.parts(small, PIECES) if part.stack == tower)
        assert counted == sum(parameter.numel() for parameter in getattr(model, tower).parameters())


def test_an_encoder_alone_has_no_decoder():
    small = Sizes(2, 0, 32, 4, 64, 90, "pre")
    assert sum(part.parameters for part in sizes.parts(small, PIECES)) == EncoderStack(
        Config(90, 32, 4, 2, 0, 64)).parameter_count()


def test_matrices_of_their_own_are_those_of_pytorch():
    d, v, own = 32, 90, Sizes(2, 2, 32, 4, 64, 90, "post", shared=False)
    layers = torch.nn.Transformer(d, 4, 2, 2, 64, batch_first=True)
    of_layers = sum(one.numel() for name, one in layers.named_parameters()
                    if name not in ("encoder.norm.weight", "encoder.norm.bias", "decoder.norm.weight",
                                    "decoder.norm.bias"))
    counted = sum(part.parameters for part in sizes.parts(own, PIECES))
    assert counted == of_layers + 2 * v * d + torch.nn.Linear(d, v).weight.numel() + v


@each
def test_products_are_half_of_the_operations_that_pytorch_counts(small):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        run(built(small), small)
    assert counter.get_total_flops() == 2 * sum(part.products for part in sizes.parts(small, PIECES))


@each
def test_what_training_keeps_is_nearly_what_autograd_saves(small):
    model = built(small)
    own = {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *model.buffers())}
    saved = {}

    def save(tensor):
        storage = tensor.untyped_storage()
        if tensor.is_floating_point() and storage.data_ptr() not in own:
            saved[storage.data_ptr()] = storage.nbytes() / sizes.BYTES, tensor  # held, so that no place is used twice
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
        logits, target = run(model, small)
        F.cross_entropy(logits.flatten(0, 1), target.flatten())
    assert sizes.activations(small, PIECES) == pytest.approx(sum(count for count, _ in saved.values()), rel=0.04)


def test_the_cache_is_that_of_decoding():
    small = SMALL[0]
    model = built(small).eval()
    source, target = torch.randint(4, small.vocabulary, (2, 1, PIECES))
    cache = model.start(source)
    model.step(target, cache)
    held = sum(past.tensor.numel() for past in cache.pasts) + sum(one.keys_values.numel() for one in cache.memories)
    assert held == sizes.cached(small, PIECES)


def test_known_models_have_their_known_counts():
    base, big = (sum(part.parameters for part in sizes.parts(PRESETS[name], 20)) for name in ("base", "big"))
    assert (round(base / 1e6), round(big / 1e6)) == (63, 214)  # the paper's table 3 says 65 and 213 million
    first = PRESETS["first_generation"]
    assert sizes.mixing_all_positions(first, 10) == (124_583_936, 149_886_015)


def test_mixing_positions_is_compared_like_with_like():
    """Both without embeddings, both with the output matrix: of layers and output that PyTorch itself counts."""
    first, classifier = PRESETS["first_generation"], PRESETS["classifier"]
    layers = torch.nn.Transformer(256, 4, 4, 4, 512, batch_first=True)
    last = torch.nn.Linear(256, first.vocabulary)
    own = sum(one.numel() for module in (layers, last) for one in module.parameters()) - 4 * 256  # two norms at the end
    assert sizes.times_as_many(first, 10) == pytest.approx((124_583_936 + 149_886_015) / own)
    assert round(sizes.times_as_many(first, 10), 1) == 25.2 and round(sizes.times_as_many(classifier, 20)) == 307
    shared = sizes.times_as_many(replace(first, shared=True), 10)
    assert shared == sizes.times_as_many(first, 10), "embeddings, shared or not, are in neither"


def test_feed_forward_grows_with_the_width_once_and_attention_with_its_square():
    base = PRESETS["base"]
    narrow, wide = ({part.name: part.parameters for part in sizes.parts(replace(base, d_model=width), 20)
                     if part.stack == "encoder"} for width in (512, 1024))
    assert wide["self_attention"] / narrow["self_attention"] == pytest.approx(4, rel=1e-2)
    assert wide["feed_forward"] / narrow["feed_forward"] == pytest.approx(2, rel=1e-2)
    assert "d_model times d_ff" in ENGLISH.say("sizes_look") and "d_model por d_ff" in SPANISH.say("sizes_look")


def test_a_head_that_mixes_positions_has_the_weights_of_the_lectures_code():
    words, small = 3, Sizes(1, 1, 8, 2, 16, 11, "post")
    head = [torch.nn.Linear(words * 4, words * 4) for _ in range(3)]
    feed = torch.nn.Linear(words * 8, words * 16), torch.nn.Linear(words * 16, words * 8)
    count = lambda modules: sum(one.numel() for module in modules for one in module.parameters())  # noqa: E731
    norm, attention = 2 * 8, 2 * count(head)
    assert sizes.mixing_all_positions(small, words) == (
        attention + count(feed) + 2 * norm, 2 * attention + count(feed) + 3 * norm + count([torch.nn.Linear(8, 11)]))


@pytest.mark.parametrize(("changed", "said"), [
    ({"size_width": 33}, "an even number"), ({"size_heads": 7}, "which 7 heads cannot share equally"),
    ({"size_encoder": 0}, "“Layers of the encoder” is 0; choose a whole number from 1 to 200."),
    ({"size_vocabulary": None}, "“Pieces in the vocabulary” is ;")])
def test_sizes_that_no_model_has_are_refused_in_a_sentence(running, changed, said):
    given = {**part.choose(running, ENGLISH, preset="base"), "size_batch": 32, **changed}
    with pytest.raises(UserError) as refused:
        part.draw(running, ENGLISH, **given)
    assert said in str(refused.value)


@pytest.mark.parametrize("preset", [part.OWN, *PRESETS])
def test_every_preset_is_drawn(running, preset):
    given = {**part.choose(running, ENGLISH, preset=preset), "size_batch": 32}
    drawn = part.draw(running, ENGLISH, **given)
    if preset == part.OWN:
        assert f"{running.info.parameters:,} parameters" in drawn["picture"]["figure"]
    if preset == "first_generation":
        assert "124,583,936" in drawn["said"] and "149,886,015" in drawn["said"] and "25.2 times" in drawn["said"]
    assert ("11,258 words" in drawn["said"]) == (preset in ("annotated", "first_generation"))


@pytest.mark.parametrize(("count", "said"), [(512, "0.000 MiB"), (3 << 19, "1.5 MiB"), (5 << 29, "2.50 GiB")])
def test_bytes_are_said_in_a_unit_that_fits(count, said):
    assert figures.memory(count) == said
