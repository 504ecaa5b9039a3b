"""The GRU translators: equal to PyTorch's own layers, blind to padding, the same step
by step as in one pass."""

import dataclasses
import json
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from tests.fixtures import learn_by_heart
from tests.pages import laid_out, shown
from xformer.__main__ import main
from xformer.figures.attention import Choice, units
from xformer.figures.labels import percent
from xformer.hub import checkpoint
from xformer.model import Config, Trace, Transformer
from xformer.parts.attention import part as tab
from xformer.parts.attribution_methods import part as attribution_methods
from xformer.parts.counterfactual import draw as counterfactual_figures
from xformer.parts.counterfactual import part as counterfactual
from xformer.pieces import BOS, EOS, PAD
from xformer.recurrent import (
    ATTENTIONS,
    GRU,
    AdditiveAttention,
    RecurrentConfig,
    RecurrentTranslator,
)
from xformer.results import (
    OWN,
    EmbedSource,
    Head,
    Occlude,
    Options,
    RankHeads,
    UserError,
    WalkAdditive,
    WalkHead,
)
from xformer.serve.pool import Models, offered
from xformer.serve.translation import Service
from xformer.strings import ENGLISH
from xformer.translator import pad, translate_ids
from xformer.ui.handlers import Ask
from xformer.ui.page import open_at

SHIPPED = Path(__file__).resolve().parent.parent / "checkpoints" / "gru-attention"
SOURCES = [[10, 11, 12, 13, 14], [20], [30, 31, 32], [10, 11, 12, 13, 14, 15, 16, 17]]


def random_translator(attention, **more):
    torch.manual_seed(0)
    shape = {
        "vocab_size": 150,
        "d_model": 32,
        "dropout": 0.0,
        "max_length": 64,
        "n_layers": 2,
        **more,
    }
    return RecurrentTranslator(RecurrentConfig(attention=attention, **shape)).eval()


@pytest.fixture(params=ATTENTIONS)
def translator(request):
    """A translator of two layers with random weights, with attention or without."""
    return random_translator(request.param)


@pytest.fixture(scope="module", params=ATTENTIONS)
def recurrent_checkpoint(request, tmp_path_factory, tokenizer, learned_pairs):
    """Folder of a checkpoint that knows the pairs by heart."""
    torch.manual_seed(1)
    model = RecurrentTranslator(
        RecurrentConfig(
            vocab_size=len(tokenizer),
            d_model=48,
            dropout=0.0,
            max_length=128,
            attention=request.param,
        )
    )
    ids = [
        (tokenizer.encode(english), tokenizer.encode(spanish))
        for english, spanish in learned_pairs
    ]
    loss = learn_by_heart(model, ids, steps=80, rate=0.01)
    assert loss < 0.1, (
        f"the sentences are not known by heart: a loss of {loss:.3f} a piece"
    )
    folder = tmp_path_factory.mktemp("checkpoints") / f"recurrent-{request.param}"
    checkpoint.save(folder, model.eval(), tokenizer, {})
    return folder


def of_torch(gru, bidirectional_with=None):
    """PyTorch's own layer with the weights of one GRU, or of two, one for each
    direction."""
    own = nn.GRU(
        gru.of_input.in_features,
        gru.states,
        batch_first=True,
        bidirectional=bidirectional_with is not None,
    )
    for mine, suffix in ((gru, ""), (bidirectional_with, "_reverse")):
        if mine is not None:
            for name, linear in (("ih", mine.of_input), ("hh", mine.of_state)):
                getattr(own, f"weight_{name}_l0{suffix}").data = linear.weight.data
                getattr(own, f"bias_{name}_l0{suffix}").data = linear.bias.data
    return own


def test_a_gru_equals_that_of_torch():
    torch.manual_seed(0)
    gru = GRU(6, 5)
    x = torch.randn(3, 7, 6)
    nn.init.normal_(gru.of_input.bias)
    nn.init.normal_(gru.of_state.bias)
    states, last = gru(x, torch.ones(3, 7, dtype=torch.bool))
    wanted, wanted_last = of_torch(gru)(x)
    torch.testing.assert_close(states, wanted)
    torch.testing.assert_close(last, wanted_last[0])


def test_the_encoder_equals_that_of_torch_on_sentences_of_unequal_length(translator):
    encoder = translator.encoder
    lengths = torch.tensor([7, 2, 5])
    x = torch.randn(3, 7, 32)
    mask = torch.arange(7) < lengths[:, None]
    memory, last = encoder(x, mask)
    for i, (there, back) in enumerate(
        zip(encoder.forwards, encoder.backwards, strict=True)
    ):
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        states, ends = of_torch(there, back)(packed)
        x, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
        torch.testing.assert_close(last[i], torch.cat((ends[0], ends[1]), dim=-1))
    torch.testing.assert_close(memory * mask[..., None], x)


@torch.no_grad()
def test_additive_attention_equals_its_formula():
    torch.manual_seed(0)
    attention = AdditiveAttention(RecurrentConfig(vocab_size=9, d_model=4))
    query = torch.randn(1, 2, 4)
    memory = torch.randn(1, 3, 4)
    mask = torch.tensor([[True, True, False]])
    answer, weights = attention(query, attention.of_key(memory), memory, mask)
    for n in range(2):
        # the third is padding
        raw = [
            attention.weight(
                torch.tanh(
                    attention.of_query(query[0, n]) + attention.of_key(memory[0, s])
                )
            )
            for s in range(2)
        ]
        wanted = torch.cat(raw).softmax(dim=0)
        torch.testing.assert_close(weights[0, n], torch.tensor([*wanted, 0.0]))
        torch.testing.assert_close(answer[0, n], wanted @ memory[0, :2])


def test_padding_and_neighbours_change_nothing(translator):
    target = pad([[BOS, 40, 41], [BOS, 50, 51]])
    together = translator(pad([[*SOURCES[0], EOS], [*SOURCES[1], EOS]]), target)
    alone = translator(torch.tensor([[*SOURCES[1], EOS]]), target[1:])
    torch.testing.assert_close(together[1:], alone)


def test_steps_give_what_one_pass_gives(translator):
    source = torch.tensor([[*SOURCES[0], EOS]])
    target = torch.tensor([[BOS, 40, 41, 42]])
    wanted = translator(source, target)
    cache = translator.start(source)
    for i in range(4):
        torch.testing.assert_close(
            translator.step(target[:, i : i + 1], cache), wanted[:, i]
        )
    assert cache.length == 4
    torch.testing.assert_close(
        translator.step(target, translator.start(source)),
        wanted[:, -1],
        msg="a forced prefix",
    )


@pytest.mark.parametrize(
    "options", [Options(beam=1), Options(beam=4, n_best=3)], ids=["greedy", "beam"]
)
def test_a_batch_of_unequal_sentences_equals_each_alone(translator, options):
    limits = [9] * len(SOURCES)
    together = translate_ids(translator, SOURCES, options, max_lengths=limits)
    for source, hypotheses in zip(SOURCES, together, strict=True):
        (alone,) = translate_ids(translator, [source], options, max_lengths=[9])
        assert [h.tokens for h in hypotheses] == [h.tokens for h in alone]
        for hypothesis in hypotheses:
            logits = translator(
                torch.tensor([[*source, EOS]]),
                torch.tensor([[BOS, *hypothesis.tokens[:-1]]]),
            )
            own = logits[0].log_softmax(dim=-1)[
                range(len(hypothesis.tokens)), hypothesis.tokens
            ]
            assert hypothesis.log_probs == pytest.approx(own.tolist(), abs=1e-4)


def test_the_map_is_that_of_each_step_and_skips_padding():
    translator = random_translator("additive")
    trace = Trace()
    translator(
        pad([[*SOURCES[0], EOS], [20, EOS]]), pad([[BOS, 40, 41], [BOS, 50, 51]]), trace
    )
    (weights,) = trace.cross.probabilities
    (norms,) = trace.cross.value_norms
    assert weights.shape == (2, 1, 3, 6) and norms.shape == (2, 1, 6)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 1, 3))
    assert weights[1, 0, :, 2:].eq(0).all()
    assert not trace.encoder_self.probabilities and not trace.decoder_self.probabilities


def test_without_attention_the_decoder_sees_the_sentence_through_one_vector():
    translator = random_translator("none")
    at = translator.encode(torch.tensor([[*SOURCES[0], EOS]]))
    x = torch.randn(1, 32)
    states = [*at.states]
    said = translator.advance(x, at)
    at.states, at.memory = states, torch.randn_like(at.memory)
    torch.testing.assert_close(translator.advance(x, at), said)
    at.states, at.summary = states, torch.randn_like(at.summary)
    assert not torch.allclose(translator.advance(x, at), said)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"attention": "dot"}, "attention is 'dot'; choose one of additive, none"),
        ({"n_heads": 2}, "n_heads is 2; additive attention has 1"),
        ({"n_layers": 2, "n_decoder_layers": 1}, "there are as many: 2"),
        ({"d_model": 5}, "d_model is 5"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        RecurrentConfig(**wrong)


def test_heads_and_positions_are_refused(translator):
    source = torch.tensor([[5, EOS]])
    target = torch.tensor([[BOS]])
    for call in (
        lambda: translator(source, target, positions=torch.zeros(9, 32)),
        lambda: translator.start(source, positions=torch.zeros(9, 32)),
    ):
        with pytest.raises(
            ValueError, match="no heads to switch off and no positions to replace"
        ):
            call()


@pytest.mark.slow
def test_a_checkpoint_translates_traces_and_says_what_it_lacks(
    recurrent_checkpoint, learned_pairs
):
    loaded = checkpoint.load_translator(recurrent_checkpoint)
    assert type(loaded.model) is RecurrentTranslator
    with_attention = loaded.model.attention is not None
    service = Service(loaded, "cpu")
    assert service.info.architecture == ("gru-attention" if with_attention else "gru")
    english, spanish = learned_pairs[3]
    for beam in (1, 5):
        assert [
            service.translate(e, Options(beam=beam)).best.text for e, _ in learned_pairs
        ] == [s for _, s in learned_pairs]
    trace = service.explain(english)
    assert trace.cross.shape == (
        int(with_attention),
        1,
        len(trace.predicted),
        len(trace.source),
    )
    assert trace.encoder_self.shape[0] == trace.decoder_self.shape[0] == 0
    assert (
        service.info.layers("cross") == int(with_attention)
        and service.info.layers("encoder_self") == 0
    )
    assert service.ask(Occlude(english, spanish)).effect.shape[1] > 3
    assert (
        sum(block.parameters for block in service.blocks()) == service.info.parameters
    )
    assert service.best_head == Head("cross", 1, 1)
    for ask in (
        lambda: service.ask(WalkHead(english, spanish, Head("cross", 1, 1))),
        lambda: service.ask(EmbedSource(english)),
        lambda: service.ask(RankHeads(english, spanish)),
        lambda: service.translate(
            english, positions=dataclasses.replace(OWN, kind="none")
        ),
    ):
        with pytest.raises(
            UserError, match="is a recurrent model, without heads, layers or positions"
        ):
            ask()
    service.close()


@pytest.fixture(params=ATTENTIONS)
def recurrent_service(request, tmp_path, tokenizer):
    """A service of an untrained translator of two layers."""
    checkpoint.save(
        tmp_path / "recurrent",
        random_translator(request.param, vocab_size=len(tokenizer)),
        tokenizer,
        {},
    )
    with closing(Service.open(tmp_path / "recurrent", "cpu")) as service:
        yield service


def test_the_pool_offers_recurrent_models_and_the_page_opens_with_them(
    recurrent_service, tiny_checkpoint, tmp_path
):
    folders = offered(tiny_checkpoint, (), tmp_path)
    assert [*folders] == ["recurrent"]
    with closing(Models(Service.open(tiny_checkpoint, "cpu"), folders, "cpu")) as pool:
        page = laid_out(pool)
        said, updates = open_at(
            page, {"model": "recurrent", "stack": "cross", "layer": "1", "head": "1"}
        )
        assert said == ""
        about = updates[page.views["about"].component]
        attention = recurrent_service.info.architecture == "gru-attention"
        assert (
            "GRU with additive attention" if attention else "GRU without attention"
        ) in about
        towers = updates[page.views["model.architecture.towers"].component]
        assert (
            "GRU, from both ends" in towers
            and ("Additive attention" in towers) == attention
        )
        grus = sum(
            weight.numel()
            for name, weight in recurrent_service.model.named_parameters()
            if name.startswith(("encoder.", "layers."))
        )
        rows = "S" if attention else "1"  # all states, or the last one
        assert (
            f"The GRUs hold {percent(grus / recurrent_service.info.parameters)} of the parameters; the encoder "
            f"hands {rows} × {recurrent_service.info.d_model} numbers on to the decoder."
        ) in towers
        said, _ = open_at(
            page, {"model": "recurrent", "stack": "encoder_self", "layer": "2"}
        )
        assert "layer" in said and "2" in said


def test_what_a_page_draws_of_a_pass_is_drawn_or_said_to_be_lacking(
    recurrent_service, pairs
):
    service = recurrent_service
    ask = Ask.always(recurrent_service, ENGLISH)
    translation, trace = service.translate_and_trace(pairs[0][0], Options(beam=2))
    attention = service.info.architecture == "gru-attention"
    lacking = ENGLISH.say("no_maps_model")
    pictures = laid_out(service).pictures["attention"]
    said = shown(pictures, service, trace=trace, stack="cross", layer=1, head=1)
    assert (said["grid"] is not None) == attention and (
        lacking in said["below"]
    ) != attention
    said = shown(pictures, service, trace=trace, stack="encoder_self", layer=1, head=1)
    assert (
        said["picture"] is None
        and (ENGLISH.html("no_maps_stack") if attention else lacking) in said["below"]
    )
    piece = translation.best.alternatives[0][1][0]
    said = ask.answer(counterfactual.run, translation=translation, step=0, piece=piece)
    assert not said["problem"] and (lacking in said["result"]) != attention
    occlusion = service.ask(Occlude(trace.text, trace.tokens))
    said = attribution_methods.compare(
        service, ENGLISH, trace, occlusion, 0, "cross.1.1"
    )
    assert (lacking in said) != attention
    for kind in ("json", "npz", "html"):
        said = ask.answer(
            tab.save,
            trace=trace,
            stack="cross",
            layer=1,
            head=1,
            event=SimpleNamespace(kind=kind),
        )
        if kind == "html" and not attention:
            # that file would be an empty page
            assert "has no attention heads to show" in said["problem"]
        else:
            assert not said["problem"] and said["file"]["data"]


def readable_additive(attention, state, memory):
    """w^T tanh(W_q q + W_k k) of each piece, and its softmax, as the paper writes
    them."""
    q = attention.of_query
    k = attention.of_key
    w = attention.weight
    scores = torch.stack(
        [
            w.weight[0]
            @ torch.tanh(q.weight @ state + q.bias + k.weight @ one + k.bias)
            + w.bias[0]
            for one in memory
        ]
    )
    return scores, scores.softmax(dim=0)


@torch.no_grad()
def test_a_walk_of_additive_attention_is_the_models_own(recurrent_service):
    service = recurrent_service
    english = "The cat eats the bread."
    spanish = "El gato come."
    if service.info.architecture == "gru":
        with pytest.raises(
            UserError,
            match="has no additive attention; ask one of the kind gru-attention",
        ):
            service.ask(WalkAdditive(english, spanish))
        return
    trace = service.trace(english, spanish)
    walk = service.ask(WalkAdditive(english, spanish))
    assert (walk.queries, walk.predicted, walk.keys) == (
        trace.target,
        trace.predicted,
        trace.source,
    )
    np.testing.assert_allclose(walk.probabilities, trace.cross[0, 0], atol=1e-5)
    np.testing.assert_allclose(
        np.tanh(walk.q[:, None] + walk.k) @ walk.w - walk.scores,
        -float(service.model.attention.weight.bias),
        atol=1e-5,
    )
    at = service.model.encode(torch.tensor([[*service.tokenizer.encode(english), EOS]]))
    scores, weights = readable_additive(
        service.model.attention, at.states[-1][0], at.memory[0]
    )
    np.testing.assert_allclose(walk.scores[0], scores, atol=1e-5)
    np.testing.assert_allclose(walk.probabilities[0], weights, atol=1e-6)


def test_the_walk_of_the_checkpoint_that_ships_ends_at_its_map():
    with closing(Service.open(SHIPPED, "cpu")) as service:
        trace = service.explain("The dog eats the bread.")
        walk = service.ask(WalkAdditive(trace.text, trace.tokens))
        assert walk.q.shape == (
            len(trace.predicted),
            service.info.d_model,
        ) and walk.k.shape[0] == len(trace.source)
        np.testing.assert_allclose(walk.probabilities, trace.cross[0, 0], atol=1e-5)
        assert (walk.keys[walk.probabilities[1].argmax()], walk.predicted[1]) == (
            "▁dog",
            "▁perro",
        )


def test_another_word_moves_the_attention_once_it_was_read(recurrent_service):
    """The state asks before it reads: the row of the next piece is the same, the one
    after it is not."""
    service = recurrent_service
    if service.info.architecture == "gru":
        return
    old, new = (
        service.trace("The cat eats the bread.", text)
        for text in ("El gato come.", "El perro come pan.")
    )
    step = next(
        i
        for i, (a, b) in enumerate(zip(old.predicted, new.predicted, strict=False))
        if a != b
    )
    np.testing.assert_allclose(
        new.cross[:, :, : step + 2], old.cross[:, :, : step + 2], atol=1e-6
    )
    drawn = counterfactual_figures.difference(old, new, step).data[0].z
    np.testing.assert_allclose(
        drawn, (new.cross[:, :, step + 2] - old.cross[:, :, step + 2])[0], atol=1e-6
    )
    assert np.abs(drawn).max() > 1e-5
    assert "or with the piece after it" in counterfactual_figures.summary(
        old, old, len(old.predicted) - 2
    )
    rows = units(old.cross[0, 0], old.of("cross"), Choice("cross"), True).queries
    assert rows[0].startswith("before <s> is read → predicts ")
    assert "before {given} is read" in old.page() and "after {given}" not in old.page()


def test_alignment_is_evaluated_where_there_is_attention(
    recurrent_service, tmp_path, capsys
):
    command = [
        "evaluate",
        "alignment",
        "--checkpoint",
        str(tmp_path / "recurrent"),
        "--gold",
        str(tmp_path / "gold.tsv"),
    ]
    (tmp_path / "gold.tsv").write_text(
        "Do not run!\t¡No corras!\t0?1 1-1 2-2 3-3\n", encoding="utf-8"
    )
    status = main([*command, "--save", "--device", "cpu"])
    if recurrent_service.info.architecture == "gru":
        assert (
            status == 2
            and "has no attention, so there is nothing to align"
            in capsys.readouterr().err
        )
        return
    best = json.loads((tmp_path / "recurrent" / "metrics.json").read_text())[
        "alignment"
    ]["best"]
    assert status == 0 and (best["layer"], best["head"]) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["gru", "gru-attention"])
def test_the_command_trains_one_and_goes_on_with_it(
    tmp_path, pairs, capsys, architecture
):
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text(
            "".join(f"{e}\t{s}\n" for e, s in pairs), encoding="utf-8"
        )
    command = [
        "train",
        "translation",
        "--architecture",
        architecture,
        "--data",
        str(tmp_path),
        "--out",
        str(tmp_path / "run"),
        "--d-model",
        "16",
        "--n-layers",
        "1",
        "--vocab-size",
        "150",
        "--threads",
        "1",
        "--device",
        "cpu",
        "--precision",
        "float32",
        "--dev-limit",
        "2",
    ]
    assert main([*command, "--steps", "3"]) == 0
    loaded = checkpoint.load_translator(tmp_path / "run")
    assert (
        loaded.model.config.architecture == architecture and loaded.metrics["step"] == 3
    )
    assert main([*command, "--steps", "5"]) == 0
    assert "from step 3" in capsys.readouterr().out
    assert (
        json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])[
            "step"
        ]
        == 5
    )
    with pytest.raises(
        UserError,
        match="holds a recurrent translation model, but a translation model is needed",
    ):
        checkpoint.load(tmp_path / "run", Transformer)


def test_a_transformer_is_one_still(tmp_path, tokenizer):
    model = Transformer(
        Config(vocab_size=len(tokenizer), d_model=8, n_heads=2, n_layers=1, d_ff=8)
    )
    checkpoint.save(tmp_path / "t", model, tokenizer, {})
    loaded = checkpoint.load_translator(tmp_path / "t")
    assert (
        type(loaded.model) is Transformer
        and loaded.model.config.architecture == "transformer"
    )
    assert PAD == 0
