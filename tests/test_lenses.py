"""Readings between the layers, against models that are cut off there, and losses
against PyTorch's."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from xformer.__main__ import main
from xformer.explain import lenses
from xformer.explain.passes import Pair
from xformer.hub import checkpoint
from xformer.model import Config, Transformer
from xformer.pieces import BOS, EOS
from xformer.results import Force, Options, ReadDecoder, TranslateByLayer, UserError
from xformer.serve.translation import Service
from xformer.translator import translate_ids

SOURCE = [10, 11, 12, 13]
TARGET = [40, 41, 42]


@pytest.mark.parametrize(("name", "others"), [("pre-norm", 0), ("post-norm", 1)])
def test_before_layer_1_the_shipped_models_read_what_was_given(name, others):
    """As the page says: always in pre-norm; in post-norm not for <s>."""
    service = Service.open(Path("checkpoints", name), "cpu")
    found = service.ask(
        ReadDecoder(
            "I was waiting for Tom.",
            service.translate("I was waiting for Tom.").best.tokens,
        )
    )
    wrong = [
        i
        for i, (given, read) in enumerate(
            zip(found.given, found.pieces[0], strict=True)
        )
        if given != read
    ]
    assert wrong == [0] * others


def shortened(model, encoder_layers, decoder_layers):
    """A model of the first layers only, with the same weights."""
    config = dataclasses.replace(
        model.config,
        n_layers=max(1, encoder_layers),
        n_decoder_layers=max(1, decoder_layers),
    )
    short = Transformer(config)
    short.load_state_dict(
        {
            name: value
            for name, value in model.state_dict().items()
            if name in short.state_dict()
        }
    )
    if encoder_layers == 0:
        short.encoder.layers = torch.nn.ModuleList()
    if decoder_layers == 0:
        short.decoder.layers = torch.nn.ModuleList()
    return short.eval()


def test_translations_by_layer_are_those_of_models_with_fewer_layers(tiny_model):
    options = Options(beam=3)
    found = lenses.translate_by_layer(tiny_model, SOURCE, options)
    assert len(found) == tiny_model.config.n_layers + 1
    for layers, hypothesis in enumerate(found):
        ((wanted,),) = translate_ids(
            shortened(tiny_model, layers, 2), [SOURCE], options
        )
        assert hypothesis.tokens == wanted.tokens
        assert hypothesis.log_probs == pytest.approx(wanted.log_probs, abs=1e-4)


def test_the_last_layer_gives_the_translation(tiny_checkpoint, learned_pairs):
    loaded = checkpoint.load(tiny_checkpoint)
    english, spanish = learned_pairs[4]
    *_, last = lenses.translate_by_layer(loaded.model, loaded.tokenizer.encode(english))
    assert loaded.tokenizer.decode(last.tokens) == spanish


def test_readings_of_the_decoder_are_the_answers_of_models_with_fewer_layers(
    tiny_model, tokenizer
):
    pair = Pair.of(SOURCE, TARGET)
    readings = lenses.decoder_readings(tiny_model, tokenizer, pair)
    assert readings.given == tuple(tokenizer.pieces([BOS, *TARGET]))
    for layers in range(3):
        short = shortened(tiny_model, 2, layers)
        with torch.no_grad():
            p = (
                short(torch.tensor([pair.source]), torch.tensor([pair.given]))[0]
                .softmax(dim=-1)
                .numpy()
            )
        own = p[range(4), pair.predicted]
        np.testing.assert_allclose(readings.probabilities[layers], own, atol=1e-6)
        np.testing.assert_allclose(
            readings.likeliest[layers], p.max(axis=-1), atol=1e-6
        )
        assert readings.pieces[layers] == tuple(
            tokenizer.pieces(p.argmax(axis=-1).tolist())
        )
        assert (
            readings.ranks[layers].tolist()
            == (1 + (p > own[:, None]).sum(axis=-1)).tolist()
        )


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_losses_of_a_given_target_are_those_of_pytorch(
    tiny_model, tokenizer, smoothing
):
    pair = Pair.of(SOURCE, TARGET)
    forced = lenses.teacher_forcing(tiny_model, tokenizer, pair, smoothing)
    with torch.no_grad():
        logits = tiny_model(torch.tensor([pair.source]), torch.tensor([pair.given]))[0]
    # the smoothed target, written down
    q = torch.full_like(logits, smoothing / logits.shape[1])
    q[range(4), pair.predicted] += 1 - smoothing
    assert forced.losses == pytest.approx(
        (-q * logits.log_softmax(-1)).sum(-1).tolist(), abs=1e-5
    )
    whole = F.cross_entropy(
        logits, torch.tensor(pair.predicted), reduction="sum", label_smoothing=smoothing
    )
    assert sum(forced.losses) == pytest.approx(float(whole), abs=1e-4)
    assert forced.log_probs == pytest.approx(
        logits.log_softmax(-1)[range(4), pair.predicted].tolist(), abs=1e-5
    )
    assert forced.vocabulary == logits.shape[1] and forced.predicted[-1] == "</s>"
    for step, listed in enumerate(forced.alternatives):
        values = [value for _, value in listed]
        assert len(listed) == lenses.LIKELIEST and values == sorted(
            values, reverse=True
        )
        assert values[0] == pytest.approx(
            float(logits.log_softmax(-1)[step].max()), abs=1e-5
        )


def test_an_encoder_of_nothing_is_the_embedding(tokenizer):
    model = Transformer(
        Config(
            vocab_size=len(tokenizer),
            d_model=8,
            n_heads=2,
            n_layers=1,
            d_ff=8,
            norm="post",
        )
    )
    source = torch.tensor([[5, 6, EOS]])
    with torch.no_grad():
        first, last = lenses.encoder_states(model.eval(), source)
        torch.testing.assert_close(first[None], model.embedding(source))
        torch.testing.assert_close(last[None], model.encode(source)[0])


def test_a_service_reads_between_the_layers(running, learned_pairs):
    english, spanish = learned_pairs[3]
    by_layer = running.ask(TranslateByLayer(english))
    assert (
        len(by_layer) == 3
        and by_layer[-1].text == spanish == running.translate(english).best.text
    )
    readings = running.ask(ReadDecoder(english, by_layer[-1].tokens))
    assert (
        readings.ranks.shape == (3, len(readings.predicted))
        and (readings.ranks[-1] == 1).all()
    )
    forced = running.ask(Force(english, spanish, 0.0))
    assert forced.losses == pytest.approx(
        [-value for value in forced.log_probs], abs=1e-5
    )
    assert sum(forced.log_probs) == pytest.approx(
        sum(running.trace(english, spanish).log_probs), abs=1e-4
    )
    for wrong in (1.0, -0.1, float("nan")):
        with pytest.raises(UserError, match="it must be at least 0 and below 1"):
            running.ask(Force(english, spanish, wrong))


def test_a_target_that_ends_too_early_is_not_what_the_model_would_say(
    running, learned_pairs
):
    english, spanish = learned_pairs[3]
    forced = running.ask(Force(english, spanish.split()[0]))
    assert min(forced.log_probs) == forced.log_probs[-1] < -1, (
        "the end is not expected there"
    )


def test_the_command_prints_what_each_layer_makes_of_a_text(
    tiny_checkpoint, learned_pairs, capsys
):
    english, spanish = learned_pairs[3]
    assert (
        main(
            [
                "explain",
                english,
                "--layers",
                "--checkpoint",
                str(tiny_checkpoint),
                "--device",
                "cpu",
            ]
        )
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == f"encoder, layer 2: {spanish}" and lines[3].startswith(
        "predicted: "
    )
    assert [line.split(":")[0] for line in lines] == [
        *(f"encoder, layer {layer}" for layer in range(3)),
        "predicted",
        *(f"decoder, layer {layer}" for layer in range(3)),
    ]
    assert lines[-1].count("(1)") == len(lines[3].split()) - 1
    with pytest.raises(SystemExit):
        main(["explain", english])
    assert "one of the arguments --out --layers is required" in capsys.readouterr().err
