"""The transformer against PyTorch's own layers, numpy, and itself: every fast way
equals the readable one."""

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from xformer.model import (
    NORMS,
    Attention,
    Cache,
    Config,
    Decoder,
    DecoderLayer,
    Embedding,
    Encoder,
    EncoderLayer,
    Memory,
    Record,
    Trace,
    Transformer,
    attend,
    dropout,
    future_mask,
    padding_mask,
    sinusoids,
)
from xformer.pieces import BOS, EOS, PAD

SHAPE = {
    "vocab_size": 50,
    "d_model": 32,
    "n_heads": 4,
    "n_layers": 2,
    "d_ff": 64,
    "dropout": 0.0,
    "max_length": 64,
}
LENGTHS = (7, 4, 1)  # of the rows of a batch; the rest is padding


def near(a, b, tolerance=1e-5):
    torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


def rows(lengths=LENGTHS, vocabulary=50, seed=0):
    """Random pieces [B, longest], padded on the right."""
    numbers = torch.randint(
        4,
        vocabulary,
        (len(lengths), max(lengths)),
        generator=torch.Generator().manual_seed(seed),
    )
    for row, length in zip(numbers, lengths, strict=True):
        row[length:] = PAD
    return numbers


def targets(lengths=LENGTHS, seed=1):
    numbers = rows(lengths, seed=seed)
    numbers[:, 0] = BOS
    return numbers


def shaken(module, seed=0):
    """Random biases and normalisations too: at 0 and 1, as they begin, they would hide
    mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return module.eval()


@pytest.fixture(params=NORMS)
def config(request):
    return Config(norm=request.param, **SHAPE)


@pytest.fixture
def model(config):
    torch.manual_seed(0)
    return shaken(Transformer(config))


def copy_attention(ours, theirs):
    theirs.in_proj_weight.copy_(ours.in_proj.weight)
    theirs.in_proj_bias.copy_(ours.in_proj.bias)
    theirs.out_proj.load_state_dict(ours.out_proj.state_dict())


def copy_layer(ours, theirs):
    """Weights of one of our layers into PyTorch's layer of the same kind."""
    norms = [ours.self_residual.norm, ours.feed_residual.norm]
    with torch.no_grad():
        copy_attention(ours.self_attention, theirs.self_attn)
        if isinstance(ours, DecoderLayer):
            copy_attention(ours.cross_attention, theirs.multihead_attn)
            norms.insert(1, ours.cross_residual.norm)
        for i, norm in enumerate(norms, 1):
            getattr(theirs, f"norm{i}").load_state_dict(norm.state_dict())
        theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
        theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())


def torch_layer(kind, config):
    return kind(
        config.d_model,
        config.n_heads,
        config.d_ff,
        dropout=0.0,
        batch_first=True,
        norm_first=config.norm == "pre",
    )


# Against PyTorch


@torch.no_grad()
def test_attention_equals_torchs(config):
    ours = shaken(Attention(config))
    theirs = nn.MultiheadAttention(
        config.d_model, config.n_heads, batch_first=True
    ).eval()
    copy_attention(ours, theirs)
    x = torch.randn(3, 5, 32)
    source = rows()
    memory = torch.randn(3, 7, 32)
    record = Record()
    got = ours(x, padding_mask(source), memory=ours.keys_values(memory), record=record)
    want, maps = theirs(
        x, memory, memory, key_padding_mask=source == PAD, average_attn_weights=False
    )
    near(got, want)
    near(record.probabilities[0], maps)


@torch.no_grad()
def test_encoder_layer_equals_torchs(config):
    ours = shaken(EncoderLayer(config))
    theirs = torch_layer(nn.TransformerEncoderLayer, config).eval()
    copy_layer(ours, theirs)
    x = torch.randn(3, 7, 32)
    source = rows()
    real = source != PAD
    near(
        ours(x, padding_mask(source))[real], theirs(x, src_key_padding_mask=~real)[real]
    )


@torch.no_grad()
def test_decoder_layer_equals_torchs(config):
    ours = shaken(DecoderLayer(config))
    theirs = torch_layer(nn.TransformerDecoderLayer, config).eval()
    copy_layer(ours, theirs)
    x = torch.randn(3, 5, 32)
    memory = torch.randn(3, 7, 32)
    source = rows()
    got = ours(
        x,
        future_mask(5),
        Memory(ours.cross_attention.keys_values(memory), padding_mask(source)),
    )
    want = theirs(
        x, memory, tgt_mask=~future_mask(5), memory_key_padding_mask=source == PAD
    )
    near(got, want)


@torch.no_grad()
def test_encoder_stack_equals_torchs(config):
    ours = shaken(Encoder(config))
    final = nn.LayerNorm(32) if config.norm == "pre" else None
    theirs = nn.TransformerEncoder(
        torch_layer(nn.TransformerEncoderLayer, config),
        config.n_layers,
        final,
        enable_nested_tensor=False,
    ).eval()
    for our_layer, their_layer in zip(ours.layers, theirs.layers, strict=True):
        copy_layer(our_layer, their_layer)
    if final:
        theirs.norm.load_state_dict(ours.norm.state_dict())
    x = torch.randn(3, 7, 32)
    source = rows()
    real = source != PAD
    near(
        ours(x, padding_mask(source))[real], theirs(x, src_key_padding_mask=~real)[real]
    )


@torch.no_grad()
def test_decoder_stack_equals_torchs(config):
    ours = shaken(Decoder(dataclasses.replace(config, n_decoder_layers=3)))
    final = nn.LayerNorm(32) if config.norm == "pre" else None
    theirs = nn.TransformerDecoder(
        torch_layer(nn.TransformerDecoderLayer, config), 3, final
    ).eval()
    for our_layer, their_layer in zip(ours.layers, theirs.layers, strict=True):
        copy_layer(our_layer, their_layer)
    if final:
        theirs.norm.load_state_dict(ours.norm.state_dict())
    x = torch.randn(3, 5, 32)
    memory = torch.randn(3, 7, 32)
    source = rows()
    got = ours(x, future_mask(5), ours.memories(memory, padding_mask(source)))
    near(
        got,
        theirs(
            x, memory, tgt_mask=~future_mask(5), memory_key_padding_mask=source == PAD
        ),
    )


# Attention


@pytest.mark.parametrize(
    "mask",
    [None, future_mask(9), padding_mask(rows((9, 3)))],
    ids=["none", "future", "padding"],
)
def test_fused_attention_equals_the_explicit_one(mask):
    q, k, v = torch.randn(3, 2, 4, 9, 8, generator=torch.Generator().manual_seed(0))
    fused, nothing = attend(q, k, v, mask, fused=True)
    explicit, probabilities = attend(q, k, v, mask, fused=False)
    assert nothing is None
    near(fused, explicit, 1e-6)
    near(explicit, probabilities @ v, 1e-6)


def test_attention_by_hand():
    """d = 4, so scores are halved: a query that scores 2 ln 3 and 0 looks at its keys
    with 3/4 and 1/4."""
    q = torch.tensor([[[[2 * math.log(3), 0.0, 0.0, 0.0]]]])
    k = torch.tensor([[[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]]])
    v = torch.tensor([[[[4.0, 0.0, 0.0, 0.0], [0.0, 8.0, 0.0, 0.0]]]])
    for fused in (True, False):
        near(attend(q, k, v, None, fused)[0], torch.tensor([[[[3.0, 2.0, 0.0, 0.0]]]]))
    near(attend(q, k, v, None, fused=False)[1], torch.tensor([[[[0.75, 0.25]]]]))


def test_keys_and_values_are_the_second_and_third_projection(config):
    attention = shaken(Attention(config))
    memory = torch.randn(3, 7, 32)
    _, k, v = attention.in_proj(memory).chunk(3, dim=-1)
    near(attention.keys_values(memory).transpose(2, 3).flatten(3), torch.stack((k, v)))


# Traces


@torch.no_grad()
def test_a_trace_changes_nothing(model):
    near(model(rows(), targets(), Trace()), model(rows(), targets()), 1e-5)


@torch.no_grad()
def test_a_trace_holds_probabilities(model):
    source = rows()
    target = targets((5, 3, 2))
    trace = Trace()
    model(source, target, trace)
    shapes = {
        "encoder_self": (3, 4, 7, 7),
        "decoder_self": (3, 4, 5, 5),
        "cross": (3, 4, 5, 7),
    }
    for name, shape in shapes.items():
        assert [tuple(p.shape) for p in getattr(trace, name).probabilities] == [
            shape
        ] * 2
        for probabilities in getattr(trace, name).probabilities:
            near(probabilities.sum(-1), torch.ones(shape[:3]))
    for probabilities in (
        *trace.encoder_self.probabilities,
        *trace.cross.probabilities,
    ):
        hidden = (source == PAD)[:, None, None, :].expand_as(probabilities)
        assert (probabilities[hidden] == 0).all() and (probabilities[~hidden] > 0).all()
    for probabilities in trace.decoder_self.probabilities:
        assert (probabilities.triu(1) == 0).all() and (
            probabilities.tril() > 0
        ).sum() == 3 * 4 * 15


@torch.no_grad()
def test_attention_times_value_norms_is_the_length_of_what_each_head_adds(model):
    """Against the definition of Kobayashi et al. (2020), a loop over positions and
    heads, with every bias at 0."""
    layer = model.encoder.layers[0].self_attention
    d = 32 // 4
    record = Record()
    x = torch.randn(2, 6, 32)
    layer.in_proj.bias[64:] = 0
    layer(x, record=record)
    for head in range(4):
        w_v = layer.in_proj.weight[64 + head * d : 64 + (head + 1) * d]  # [d, D]
        w_o = layer.out_proj.weight[:, head * d : (head + 1) * d]  # [D, d]
        # [B, Q, K, D]
        added = (
            record.probabilities[0][:, head, :, :, None] * (x @ w_v.T @ w_o.T)[:, None]
        )
        near(
            added.norm(dim=-1),
            record.probabilities[0][:, head] * record.value_norms[0][:, head, None],
            1e-5,
        )
    model(rows(), targets((5, 3, 2)), trace := Trace())
    assert [tuple(norms.shape) for norms in trace.cross.value_norms] == [(3, 4, 7)] * 2
    assert [tuple(norms.shape) for norms in trace.decoder_self.value_norms] == [
        (3, 4, 5)
    ] * 2


@torch.no_grad()
def test_a_trace_in_training_equals_that_of_evaluation(model):
    seen = Trace()
    again = Trace()
    model(rows(), targets(), seen)
    model.train()(rows(), targets(), again)
    near(torch.stack(seen.cross.probabilities), torch.stack(again.cross.probabilities))


@torch.no_grad()
def test_a_trace_equals_what_growing_prefixes_see(model):
    source = rows()
    target = targets((6, 6, 6))
    whole = Trace()
    memory, mask = model.encode(source)
    model.decode(target, memory, mask, whole)
    for length in range(1, 7):
        part = Trace()
        model.decode(target[:, :length], memory, mask, part)
        for layer in range(2):
            near(
                part.decoder_self.probabilities[layer][:, :, -1],
                whole.decoder_self.probabilities[layer][:, :, length - 1, :length],
            )
            near(
                part.cross.probabilities[layer][:, :, -1],
                whole.cross.probabilities[layer][:, :, length - 1],
            )


@torch.no_grad()
def test_a_trace_equals_what_cached_steps_see(model):
    source = rows()
    target = targets((6, 6, 6))
    whole = Trace()
    model(source, target, whole)
    cache = model.start(source)
    for at in range(6):
        now = Trace()
        x = model.embedding(target[:, at : at + 1], offset=at)
        model.decoder(x, None, cache.memories, cache.pasts, now)
        for layer in range(2):
            near(
                now.decoder_self.probabilities[layer][:, :, 0],
                whole.decoder_self.probabilities[layer][:, :, at, : at + 1],
            )
            near(
                now.cross.probabilities[layer][:, :, 0],
                whole.cross.probabilities[layer][:, :, at],
            )


# Steps with a cache


@torch.no_grad()
def test_cached_steps_equal_one_pass(model):
    source = rows()
    target = targets((6, 6, 6))
    whole = model(source, target)
    cache = model.start(source)
    for at in range(6):
        near(model.step(target[:, at : at + 1], cache), whole[:, at])
    assert cache.length == 6


@pytest.mark.parametrize("parts", [(3, 1, 2), (6,), (1, 5), (2, 2, 2)])
@torch.no_grad()
def test_several_tokens_at_once_equal_one_pass(model, parts):
    source = rows()
    target = targets((6, 6, 6))
    whole = model(source, target)
    cache = model.start(source)
    end = 0
    for part in parts:
        end += part
        near(model.step(target[:, end - part : end], cache), whole[:, end - 1])


@torch.no_grad()
def test_hypotheses_share_one_memory(model):
    """Two hypotheses of each of three sentences, in the cache that knows only the
    sentences."""
    source = rows()
    target = targets((5,) * 6)
    whole = model(source.repeat_interleave(2, dim=0), target)
    cache = model.start(source)
    for at in range(5):
        near(model.step(target[:, at : at + 1], cache), whole[:, at])
    assert cache.memories[0].keys_values.shape[1] == 3


@torch.no_grad()
def test_a_cache_follows_the_hypotheses_that_live_on(model):
    """Rows are swapped, repeated and dropped, a sentence ends; each step must equal the
    rows' whole histories."""
    source = rows()
    tokens = targets((6,) * 6)
    history = tokens[:, :2]
    sentences = torch.tensor([0, 0, 1, 1, 2, 2])
    cache = model.start(source)
    model.step(history, cache)
    for chosen, kept, column in (
        ([1, 0, 3, 3, 4, 4], None, 2),
        ([0, 0, 5, 4], [0, 2], 3),
        ([3, 2], [1], 4),
    ):
        cache.select(torch.tensor(chosen), None if kept is None else torch.tensor(kept))
        history = history[chosen]
        sentences = sentences[chosen]
        history = torch.cat(
            (history, tokens[: len(chosen), column : column + 1]), dim=1
        )
        near(
            model.step(history[:, -1:], cache), model(source[sentences], history)[:, -1]
        )
    assert cache.memories[0].mask.shape[0] == 1


def test_a_fresh_cache_may_be_selected(model):
    source = rows()
    cache = model.start(source)
    cache.select(torch.tensor([2, 0]), torch.tensor([2, 0]))
    near(
        model.step(torch.tensor([[BOS], [BOS]]), cache),
        model(source[[2, 0]], torch.tensor([[BOS], [BOS]]))[:, 0],
    )


# What a position may see


@torch.no_grad()
def test_padding_changes_nothing(model):
    source = rows()
    target = targets((5, 3, 2))
    together = model(source, target)
    for i, (length, steps) in enumerate(zip(LENGTHS, (5, 3, 2), strict=True)):
        near(
            together[i, :steps],
            model(source[i : i + 1, :length], target[i : i + 1, :steps])[0],
        )


@torch.no_grad()
def test_later_pieces_do_not_change_earlier_logits(model):
    source = rows()
    target = targets((6, 6, 6))
    changed = target.clone()
    changed[:, 4:] = (changed[:, 4:] + 7) % 40 + 4
    before = model(source, target)
    after = model(source, changed)
    near(after[:, :4], before[:, :4], 1e-6)
    assert ((after - before)[:, 4:].abs().amax(-1) > 1e-3).all()


@torch.no_grad()
def test_every_source_piece_counts(model):
    source = rows((7, 7))
    target = targets((4, 4))
    before = model(source, target)
    for at in range(7):
        changed = source.clone()
        changed[:, at] = (changed[:, at] + 1) % 40 + 4
        assert ((model(changed, target) - before).abs().amax(-1) > 1e-5).all()


@torch.no_grad()
def test_the_order_of_the_source_counts(model):
    source = rows((6,))
    target = targets((4,))
    assert (model(source.flip(1), target) - model(source, target)).abs().max() > 1e-2


@pytest.mark.slow
@torch.no_grad()
def test_many_threads_share_a_model(model):
    """Eight threads decode and trace sentences of their own; each gets what it would
    have got alone."""

    def ask(seed):
        source = rows((9, 5), seed=seed)
        target = targets((6, 6), seed=seed + 100)
        trace = Trace()
        with torch.no_grad():  # grad mode belongs to a thread
            whole = model(source, target, trace)
            cache = model.start(source)
            steps = [model.step(target[:, at : at + 1], cache) for at in range(6)]
        maps = [
            p
            for record in (trace.encoder_self, trace.decoder_self, trace.cross)
            for p in record.probabilities
        ]
        return [whole, *steps, *maps]

    alone = [ask(seed) for seed in range(24)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, range(24)))
    for one, other in zip(alone, together, strict=True):
        assert len(one) == len(other) == 1 + 6 + 3 * 2
        for a, b in zip(one, other, strict=True):
            near(a, b, 1e-6)


# Embeddings and positions


def test_sinusoids_follow_the_formula():
    position = np.arange(100)[:, None]
    pair = np.arange(16)[None, :]
    angle = position / 10000 ** (2 * pair / 32)
    table = sinusoids(100, 32).numpy()
    np.testing.assert_allclose(table[:, 0::2], np.sin(angle), atol=1e-6)
    np.testing.assert_allclose(table[:, 1::2], np.cos(angle), atol=1e-6)


def test_wavelengths_grow_from_2_pi_to_the_base():
    """A whole wavelength along, every pair of dimensions is back where it was: 2 pi
    base^(2i / d_model) positions."""
    base = 16.0
    d_model = 8
    for i in range(d_model // 2):
        wavelength = 2 * math.pi * base ** (2 * i / d_model)
        turns = np.unwrap(
            np.arctan2(*sinusoids(200, d_model, base)[:, 2 * i : 2 * i + 2].numpy().T)
        )
        assert (turns[-1] - turns[0]) / 199 == pytest.approx(
            2 * math.pi / wavelength, rel=1e-4
        )


def test_embeddings_are_scaled_and_moved_to_their_position(config):
    embedding = Embedding(config).eval()
    nn.init.normal_(embedding.weight)
    tokens = torch.tensor([[5, 9]])
    want = embedding.weight[[5, 9]] * 32**0.5 + sinusoids(64, 32)[10:12]
    near(embedding(tokens, offset=10)[0], want)


@torch.no_grad()
def test_logits_share_the_matrix_of_embeddings(model):
    x = torch.randn(2, 3, 32)
    near(model.logits(x), x @ model.embedding.weight.T)
    assert sum(p.shape == (50, 32) for p in model.parameters()) == 1


def test_a_sequence_longer_than_the_positions_is_refused(model):
    longest = torch.full((1, 64), 5)
    model(longest, longest)
    for ask in (
        lambda: model.encode(torch.full((1, 65), 5)),
        lambda: model(longest, torch.full((1, 65), 5)),
    ):
        with pytest.raises(
            ValueError,
            match=r"65 pieces is longer than the 64 positions of this model; shorten it",
        ):
            ask()


@torch.no_grad()
def test_steps_past_the_last_position_are_refused(model):
    cache = model.start(rows())
    model.step(torch.full((3, 64), 5), cache)
    with pytest.raises(ValueError, match="65 pieces is longer than the 64 positions"):
        model.step(torch.full((3, 1), 5), cache)


# Configuration


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"vocab_size": 0}, "vocab_size is 0; it must be a whole number of at least 1"),
        ({"d_model": -2}, "d_model is -2; it must be a whole number of at least 1"),
        ({"n_heads": 2.0}, "n_heads is 2.0; it must be a whole number of at least 1"),
        (
            {"n_layers": True},
            "n_layers is True; it must be a whole number of at least 1",
        ),
        ({"d_ff": "64"}, "d_ff is '64'; it must be a whole number of at least 1"),
        ({"max_length": 0}, "max_length is 0; it must be a whole number of at least 1"),
        (
            {"n_decoder_layers": -1},
            "n_decoder_layers is -1; it must be 0 (as n_layers) or more",
        ),
        (
            {"n_heads": 5},
            "d_model is 32, which 5 heads cannot share equally; choose n_heads that divides d_model",
        ),
        (
            {"d_model": 33, "n_heads": 3},
            "d_model is 33; sinusoidal positions need an even number",
        ),
        ({"norm": "both"}, "norm is 'both'; choose one of pre, post"),
        (
            {"source": "German"},
            "source is 'German'; it must be a language's code of two or three small letters, as en",
        ),
        (
            {"target": ["es"]},
            "target is ['es']; it must be a language's code of two or three small letters, as en",
        ),
        ({"dropout": 1.0}, "dropout is 1.0; it must be at least 0 and below 1"),
        ({"dropout": -0.1}, "dropout is -0.1; it must be at least 0 and below 1"),
        (
            {"position_base": 1},
            "position_base is 1; it must be a number greater than 1",
        ),
        (
            {"position_base": math.inf},
            "position_base is inf; it must be a number greater than 1",
        ),
        (
            {"position_base": math.nan},
            "position_base is nan; it must be a number greater than 1",
        ),
    ],
)
def test_a_wrong_configuration_is_refused(change, text):
    with pytest.raises(ValueError) as error:
        Config(**{**SHAPE, **change})
    assert str(error.value) == text


def test_a_configuration_survives_its_dictionary(config):
    assert Config(**config.to_dict()) == config


def test_the_decoder_may_have_layers_of_its_own():
    model = Transformer(Config(**{**SHAPE, "n_layers": 3, "n_decoder_layers": 1}))
    assert (len(model.encoder.layers), len(model.decoder.layers)) == (3, 1)
    assert len(Transformer(Config(**SHAPE)).decoder.layers) == 2


def test_the_number_of_parameters_is_that_of_the_formula(config):
    attention = 4 * 32 * 32 + 4 * 32
    feed = 2 * 32 * 64 + 64 + 32
    norm = 2 * 32
    d = 32
    layers = 2 * (attention + feed + 2 * norm) + 2 * (2 * attention + feed + 3 * norm)
    want = 50 * d + layers + (2 * norm if config.norm == "pre" else 0)
    assert Transformer(config).parameter_count() == want


# Dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_mean_and_drops_its_share(p):
    torch.manual_seed(0)
    ones = torch.ones(400_001)  # no multiple of the eight bytes drawn at a time
    y = dropout(ones, p, training=True)
    share = round(p * 256) / 256
    assert sorted(set(y.tolist())) == pytest.approx([0, 1 / (1 - share)])
    spread = (share * (1 - share) / len(ones)) ** 0.5
    assert float((y == 0).float().mean()) == pytest.approx(share, abs=4 * spread)
    assert float(y.mean()) == pytest.approx(1, abs=4 * spread / (1 - share))


def test_dropout_drops_neighbours_independently():
    torch.manual_seed(0)
    dropped = (dropout(torch.ones(200_000), 0.5, training=True) == 0).double().numpy()
    for distance in range(1, 17):
        assert (
            abs(np.corrcoef(dropped[distance:], dropped[:-distance])[0, 1])
            < 5 / len(dropped) ** 0.5
        )


def test_dropout_is_drawn_anew_each_time_and_repeats_with_the_seed():
    x = torch.ones(5, 7, 13)
    torch.manual_seed(0)
    first = dropout(x, 0.5, True)
    second = dropout(x, 0.5, True)
    torch.manual_seed(0)
    assert torch.equal(dropout(x, 0.5, True), first)
    assert first.shape == x.shape and not torch.equal(first, second)


def test_dropout_is_nothing_in_evaluation():
    x = torch.randn(100)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x


@pytest.mark.parametrize("p", [0.999, 0.9999999])
def test_the_largest_dropout_leaves_finite_numbers(p):
    assert dropout(torch.ones(10_000), p, training=True).isfinite().all()


def test_dropout_passes_the_gradient_of_what_it_kept():
    torch.manual_seed(0)
    x = torch.ones(1000, requires_grad=True)
    y = dropout(x, 0.25, training=True)
    y.sum().backward()
    near(x.grad, y.detach())


def test_a_model_drops_in_training_only():
    torch.manual_seed(0)
    model = Transformer(Config(**{**SHAPE, "dropout": 0.3})).train()
    assert not torch.equal(model(rows(), targets()), model(rows(), targets()))
    model.eval()
    assert torch.equal(model(rows(), targets()), model(rows(), targets()))


# Learning


def test_training_writes_nothing_on_the_modules(model):
    before = (
        set(model.state_dict()),
        {name: set(vars(module)) for name, module in model.named_modules()},
    )
    model.train()(rows(), targets(), Trace()).sum().backward()
    model.eval().step(torch.tensor([[BOS]] * 3), model.start(rows()))
    assert (
        set(model.state_dict()),
        {name: set(vars(m)) for name, m in model.named_modules()},
    ) == before


def test_every_parameter_gets_a_gradient(model):
    model.train()(rows(), targets()).square().mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.abs().max() > 1e-6, name


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
def test_two_sentence_pairs_are_learned_by_heart(norm, learn):
    torch.manual_seed(0)
    model = Transformer(Config(norm=norm, **SHAPE))
    pairs = [([10, 11, 12], [20, 21, 22, 23]), ([11, 10, 12], [30, 21, 31])]
    assert learn(model, pairs, steps=80) < 0.05
    for source, wanted in pairs:
        target = [BOS]
        while target[-1] != EOS and len(target) < 10:
            target.append(
                int(
                    model(torch.tensor([[*source, EOS]]), torch.tensor([target]))[
                        0, -1
                    ].argmax()
                )
            )
        assert target == [BOS, *wanted, EOS]


def test_a_cache_belongs_to_its_caller(model):
    first = model.start(rows())
    second = model.start(rows())
    model.step(torch.tensor([[BOS]] * 3), first)
    assert isinstance(first, Cache) and (first.length, second.length) == (1, 0)
    assert second.pasts[0].tensor is None
