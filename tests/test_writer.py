"""The language model that serves, held against the model's own pass and PyTorch's
losses."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from xformer.pieces import BOS, EOS, PAD, UNK
from xformer.results import GREEDY, Options, UserError
from xformer.search import drawn_with
from xformer.serve.reviews import MAX_CHARACTERS
from xformer.serve.writer import chances, draw

TEXT = "A dull film, long and boring."


def logits(writer, tokens):
    """The readable way: logits [N + 1, V] of one pass."""
    with torch.inference_mode():
        return writer.model(torch.tensor([[BOS, *tokens]]))[0]


def test_a_text_is_scored_as_pytorch_scores_it(writer):
    text = writer.read(TEXT, whole=True)
    assert (
        text.tokens == (*writer.tokenizer.encode(TEXT), EOS)
        and text.pieces[-1] == "</s>"
        and text.finished
    )
    losses = F.cross_entropy(
        logits(writer, text.tokens)[:-1], torch.tensor(text.tokens), reduction="none"
    )
    assert text.log_probs == pytest.approx((-losses).tolist(), abs=1e-5)
    assert text.total == pytest.approx(-float(losses.sum()), abs=1e-4)
    assert text.perplexity == pytest.approx(float(losses.mean().exp()), rel=1e-4)


def test_each_place_has_its_likeliest_pieces_and_its_entropy(writer):
    text = writer.read(TEXT)
    of_places = torch.distributions.Categorical(logits=logits(writer, text.tokens))
    assert text.entropies == pytest.approx(of_places.entropy().tolist(), abs=1e-4)
    assert (
        len(text.likeliest) == len(text.tokens) + 1 == len(text.pieces) + 1
        and not text.finished
    )
    for place, listed in enumerate(text.likeliest):
        wanted = of_places.logits[place].topk(10)
        assert [one.token for one in listed] == wanted.indices.tolist()
        assert [one.log_prob for one in listed] == pytest.approx(
            wanted.values.tolist(), abs=1e-5
        )
        assert [one.piece for one in listed] == writer.tokenizer.pieces(
            [one.token for one in listed]
        )


def test_nothing_before_a_place_changes_with_what_follows_it(writer):
    short = writer.read("A dull film")
    long = writer.read(TEXT)
    count = len(short.tokens)
    assert long.tokens[:count] == short.tokens
    assert long.log_probs[:count] == pytest.approx(short.log_probs, abs=1e-5)


def test_what_was_learned_by_heart_is_written_again(writer):
    text = writer.read("A dull")
    while not text.finished:
        text = writer.write(text, GREEDY)
    # the capital is the visitor's own, the rest the model's
    assert text.text == TEXT and text.tokens[-1] == EOS
    assert text == writer.read(TEXT, whole=True)
    with pytest.raises(UserError, match="the text has ended"):
        writer.write(text)


def test_an_empty_beginning_shows_how_texts_begin(writer):
    text = writer.read(" ")
    assert (text.text, text.tokens, text.perplexity) == ("", (), None) and len(
        text.likeliest
    ) == 1
    assert writer.write(text).tokens == (text.likeliest[0][0].token,)


def test_a_rival_takes_a_place_and_drops_what_follows(writer):
    text = writer.read(TEXT)
    rival = text.likeliest[2][1]
    chosen = writer.choose(text, 2, rival.token)
    assert chosen.tokens == (*text.tokens[:2], rival.token)
    assert chosen.log_probs[2] == pytest.approx(rival.log_prob, abs=1e-5)
    assert writer.choose(text, 3).tokens == text.tokens[:3]
    for place, token in (
        (-1, None),
        (len(text.tokens) + 1, None),
        (0, PAD),
        (0, BOS),
        (0, 10_000),
    ):
        with pytest.raises(UserError, match="There is no place"):
            writer.choose(text, place, token)


@pytest.mark.parametrize(
    "options",
    [
        GREEDY,
        Options(temperature=0.7),
        Options(temperature=2.0, top_k=3),
        Options(temperature=1.0, top_p=0.6),
        Options(temperature=1.5, top_k=20, top_p=0.8),
    ],
)
def test_chances_are_those_of_a_readable_computation(options):
    torch.manual_seed(0)
    scores = (3 * torch.randn(40)).log_softmax(0)
    wanted = {}
    for token, value in enumerate(scores.tolist()):
        if token not in (PAD, BOS, UNK):
            wanted[token] = (
                math.exp(value / options.temperature)
                if options.sampling
                else math.exp(value)
            )
    order = sorted(wanted, key=lambda token: -wanted[token])
    kept = order[:1] if not options.sampling else order[: options.top_k or None]
    total = sum(wanted[token] for token in kept)
    nucleus = []
    for token in kept:
        if not nucleus or sum(wanted[one] for one in nucleus) / total < options.top_p:
            nucleus.append(token)
    expected = np.zeros(40)
    expected[nucleus] = [
        wanted[token] / sum(wanted[one] for one in nucleus) for token in nucleus
    ]
    assert chances(scores, options).numpy() == pytest.approx(expected, abs=1e-6)


def test_draws_are_as_frequent_as_likely_and_the_same_for_the_same_seed():
    probabilities = torch.tensor([0.0, 0.5, 0.3, 0.2])
    drawn = [
        draw(probabilities, seed, place) for seed in range(40) for place in range(50)
    ]
    assert np.bincount(drawn, minlength=4) / len(drawn) == pytest.approx(
        probabilities.numpy(), abs=0.04
    )
    assert drawn == [
        draw(probabilities, seed, place) for seed in range(40) for place in range(50)
    ]


def test_at_temperature_0_the_likeliest_is_certain():
    scores = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]]).log()
    assert drawn_with(scores, GREEDY).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_a_text_that_is_too_long_is_refused(writer):
    with pytest.raises(
        UserError, match=r"makes \d+ pieces; this language model reads at most 47"
    ):
        writer.read("boring " * 40)
    with pytest.raises(UserError, match=f"at most {MAX_CHARACTERS:,} characters"):
        writer.read("x" * (MAX_CHARACTERS + 1))
    text = writer.read("film " * 3)
    while not text.finished:
        text = writer.choose(text, len(text.tokens), text.likeliest[-1][-1].token)
    assert len(text.tokens) <= 47


def test_its_maps_are_causal_and_those_of_its_pass(writer):
    trace = writer.trace(TEXT)
    assert trace.source == (
        "<s>",
        *writer.tokenizer.pieces(writer.tokenizer.encode(TEXT)),
        "</s>",
    )
    maps = trace.encoder_self
    assert (
        maps.shape == (2, 4, len(trace.source), len(trace.source))
        and not trace.cross.size
    )
    assert (
        maps.sum(axis=-1) == pytest.approx(1, abs=1e-5) and not np.triu(maps, 1).any()
    )
    # of the first layer, by hand
    attention = writer.model.encoder.layers[0].self_attention
    with torch.inference_mode():
        row = torch.tensor([[BOS, *writer.tokenizer.encode(TEXT), EOS]])
        x = writer.model.encoder.layers[0].self_residual.norm(
            writer.model.embedding(row)
        )
        q, k, _ = attention.split(
            F.linear(x, attention.in_proj.weight, attention.in_proj.bias)
        )
        scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(
            torch.ones(row.shape[1], row.shape[1]).triu(1).bool(), -math.inf
        )
    assert maps[0] == pytest.approx(scores.softmax(-1)[0].numpy(), abs=1e-5)
