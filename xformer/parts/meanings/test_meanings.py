"""The map of meanings: states of words, their plane and neighbours, and an attention
layer with its inputs reversed."""

import base64
import lzma
import re
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.fixtures import random_model
from tests.harness import ROOT
from tests.pages import laid_out, shown
from xformer.explain.meanings import (
    NEAREST,
    SENTENCES,
    Meanings,
    reverse,
    shipped,
    stack_states,
)
from xformer.explain.passes import Pair
from xformer.hub import checkpoint
from xformer.model import NORMS, Config
from xformer.parts.meanings import draw as figures
from xformer.parts.meanings import part
from xformer.pieces import EOS, words
from xformer.recurrent import RecurrentConfig, RecurrentTranslator
from xformer.results import GREEDY, Follow, MapMeanings, Reverse, UserError
from xformer.serve.translation import Service
from xformer.strings import ASSETS, ENGLISH, SPANISH
from xformer.ui.tabs import ALL_EXAMPLES

TEXTS = [
    "The cat sleeps.",
    "The dog is big.",
    "A house is big.",
    "The cat is in the house.",
]
STACKS = pytest.mark.parametrize("stack", ["encoder", "decoder"])


def known_of(running, stack="encoder", texts=TEXTS):
    encode = running.tokenizer.encode
    return Meanings(
        running.model,
        running.tokenizer,
        [Pair.of(encode(one), encode(one)) for one in texts],
        stack,
    )


def as_asked(found):
    """The words of a map, as they stand in their sentences."""
    return [found.sentences[sentence][place] for sentence, place in found.places]


@STACKS
def test_a_words_state_is_the_mean_of_its_pieces_in_a_pass_of_its_own(running, stack):
    known = known_of(running, stack)
    at = 0
    norm = getattr(running.model, stack).norm
    for number, text in enumerate(TEXTS):
        found = running.ask(Follow(text, running.tokenizer.encode(text), stack))
        ends = "feed_forward" if stack == "encoder" else "cross_attention"
        states = [
            found.sublayers[0].state,
            *(one.after for one in found.sublayers if one.name == ends),
        ]
        with torch.inference_mode():
            wanted = norm(torch.tensor(np.stack(states))).numpy()
        groups = [
            group
            for group in words(found.pieces)
            if found.pieces[group[0]] not in ("<s>", "</s>", ".", "▁.")
        ]
        for group in groups:
            assert known.places[at].tolist()[0] == number
            assert known.states[:, at].float().numpy() == pytest.approx(
                wanted[:, group].mean(axis=1), abs=5e-3
            )
            at += 1
        assert "".join(known.sentences[number]).replace("▁", " ").strip() == text
    assert at == len(known.places) == known.states.shape[1]
    assert len(known.states) == 1 + len(getattr(running.model, stack).layers)


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_the_plane_is_that_of_the_singular_value_decomposition(running, layer):
    known = known_of(running)
    x = known.states[layer].float().numpy().astype(float)
    x = x - x.mean(axis=0)
    _, singular, rows = np.linalg.svd(x, full_matrices=False)
    axes, shares = known.plane(layer)
    assert np.abs(np.sum(axes.numpy() * rows[:2].T, axis=0)) == pytest.approx(
        [1, 1], abs=1e-4
    )
    assert shares == pytest.approx(
        (singular[:2] ** 2 / np.sum(singular**2)).tolist(), abs=1e-5
    )
    assert all(axis[np.abs(axis).argmax()] > 0 for axis in axes.numpy().T)
    assert known.plane(layer)[0] is axes, "it is computed once"


@pytest.mark.parametrize("word", [0, 1, 3, 5, 12])
def test_neighbours_are_those_of_brute_force_over_the_whole_state(running, word):
    known = known_of(running)
    own = known_of(running, texts=["The house sleeps."])
    found = known.map(own, 2, word)
    layer = 2
    assert (
        found.word == word
        and found.own == 3
        and len(found.places) == 3 + len(known.places)
    )
    mean = known.states[layer].float().numpy().mean(axis=0)
    states = (
        np.concatenate([own.states[layer], known.states[layer]]).astype(np.float32)
        - mean
    )
    states = states / np.linalg.norm(states, axis=1, keepdims=True)
    best = {}
    for i in range(found.own, len(states)):
        sentence = int(found.places[i, 0])
        cosine = float(states[i] @ states[word])
        if (
            sentence != found.places[word, 0]
            and cosine > best.get(sentence, (0, -2))[1]
        ):
            best[sentence] = (i, cosine)
    wanted = sorted(best.values(), key=lambda one: -one[1])[:NEAREST]
    assert [i for i, _ in found.nearest] == [i for i, _ in wanted]
    assert [cosine for _, cosine in found.nearest] == pytest.approx(
        [cosine for _, cosine in wanted], abs=1e-4
    )
    assert found.alike[layer] == pytest.approx(states[:3] @ states[:3].T, abs=1e-4)
    assert found.plane == pytest.approx(
        (np.concatenate([own.states[layer], known.states[layer]]) - mean)
        @ known.plane(layer)[0].numpy(),
        abs=1e-3,
    )


def test_the_sentence_itself_is_no_neighbour(running):
    found = known_of(running).map(known_of(running, texts=TEXTS[:1]), 1, 1)
    assert len(found.nearest) == len(TEXTS) - 1
    assert all(
        found.sentences[found.places[i, 0]] != found.sentences[0]
        for i, _ in found.nearest
    )


@pytest.mark.parametrize(
    ("name", "senses", "failed"),
    [
        (
            "en-es",
            ("vio", "sierra"),
            ["I wrote a letter.", "The word has one letter."],
        ),
        (
            "es-en",
            ("wine", "came"),
            ["El banco del parque es verde.", "El banco nos presta dinero."],
        ),
    ],
)
def test_the_word_on_the_map_at_first_has_two_meanings_for_the_model_and_the_one_named_has_one(
    name, senses, failed
):
    """Its states come apart, layer by layer, and its translations are two words."""
    with closing(Service.open(ROOT / "checkpoints" / name, "cpu")) as service:
        model = service.model
        tokenizer = service.tokenizer
        known = Meanings(
            model,
            tokenizer,
            shipped(model, tokenizer, "encoder", SENTENCES[0])[::10],
            "encoder",
        )
        for texts, apart in (
            (ALL_EXAMPLES[f"meanings_{name[:2]}"], True),
            (failed, False),
        ):
            said = service.translate_many(texts, GREEDY)
            pairs = [
                Pair.of(tokenizer.encode(one.source), one.best.tokens) for one in said
            ]
            found = known.map(Meanings(model, tokenizer, pairs, "encoder"), 6)
            words = [
                found.sentences[sentence][at]
                for sentence, at in found.places[: found.own]
            ]
            first, second = (
                at for at, word in enumerate(words) if word == words[found.word]
            )
            assert (
                all(
                    sense in one.best.text.lower()
                    for sense, one in zip(senses, said, strict=True)
                )
                is apart
            )
            assert (found.alike[-1][first, second] < 0.8) == apart and found.alike[0][
                first, second
            ] > 0.9
    assert "“letter” or “banco”" in ENGLISH.say("mean_look")


def test_the_word_that_two_own_sentences_have_is_chosen_first(running):
    known = known_of(running)
    own = known_of(running, texts=["A cat sleeps.", "The house sleeps.", "The dog."])
    assert as_asked(known.map(own, 1))[known.map(own, 1).word] == "▁sleeps"
    alone = known.map(known_of(running, texts=["A house is big."]), 1)
    assert as_asked(alone)[alone.word] == "▁house"


def test_only_own_signs_make_a_map_without_own_words(running):
    found = known_of(running).map(known_of(running, texts=["."]), 1)
    assert found.own == 0 and found.alike.shape == (3, 0, 0) and found.word == 0


@pytest.mark.parametrize("norm", NORMS)
def test_attention_alone_knows_no_order_and_positions_tell_it(tokenizer, norm):
    """By PyTorch's own attention, with the same weights."""
    model = random_model(norm, tokenizer)
    source = tokenizer.encode("The cat is in the house.")
    layer = model.encoder.layers[0]
    tokens = torch.tensor([[*source, EOS]])
    ours = layer.self_attention
    theirs = torch.nn.MultiheadAttention(ours.d_model, ours.n_heads, batch_first=True)
    with torch.inference_mode():
        theirs.in_proj_weight.copy_(ours.in_proj.weight)
        theirs.in_proj_bias.copy_(ours.in_proj.bias)
        theirs.out_proj.weight.copy_(ours.out_proj.weight)
        theirs.out_proj.bias.copy_(ours.out_proj.bias)

        def answer(tokens, scale):
            x = model.embedding(tokens, positions=scale * model.embedding.positions)
            x = layer.self_residual.norm(x) if norm == "pre" else x
            return theirs(x, x, x, need_weights=False)[0]

        changes = [
            float(
                (answer(tokens.flip(1), scale) - answer(tokens, scale).flip(1))
                .abs()
                .max()
            )
            for scale in (0, 1)
        ]
        largest = float(answer(tokens, 0).abs().max())
    bare, placed, most = reverse(model, source)
    assert bare < 1e-5 and changes[0] < 1e-5
    assert placed == pytest.approx(changes[1], rel=1e-3) and placed > 0.05 * most
    assert most == pytest.approx(largest, rel=1e-4)


@STACKS
def test_a_service_reads_the_sentences_once_and_tells_of_it(
    tiny_checkpoint, learned_pairs, stack
):
    told = []
    with closing(Service.open(tiny_checkpoint, "cpu")) as service:
        asked = MapMeanings([learned_pairs[0]], stack, 1, SENTENCES[0])
        found = service.ask(asked, lambda done, of: told.append((done, of)))
        key = ("meanings", stack, SENTENCES[0])
        kept = service.kept[key]
        again = service.ask(
            replace(asked, pairs=[learned_pairs[1]], layer=2, word=4),
            lambda *_: told.append((0, 0)),
        )
        assert [*service.kept] == [key] and service.kept[key] is kept
        assert (
            told[-1][0] == told[-1][1] == len(kept.sentences) <= SENTENCES[0]
            and len(told) > 1
        )
    assert [*found.sentences[1:]] == [*again.sentences[1:]] == kept.sentences, (
        "of requests nothing is kept"
    )
    assert (
        "".join(found.sentences[0]).replace("▁", " ").strip()
        == learned_pairs[0][stack == "decoder"]
    )
    assert 0 < sum(found.shares) <= 1 and again.word == 4


@pytest.mark.parametrize(
    "change",
    [{"layer": 3}, {"layer": -1}, {"stack": "cross"}, {"sentences": 7}, {"pairs": []}],
)
def test_a_map_that_there_is_not_is_refused_in_a_sentence(
    running, learned_pairs, change
):
    with pytest.raises(
        UserError,
        match=r"^There is no map of [\d,]+ sentences and \d own ones after layer",
    ):
        running.ask(
            replace(
                MapMeanings([learned_pairs[0]], "encoder", 1, SENTENCES[0]), **change
            )
        )


@pytest.mark.parametrize(
    ("config", "stack", "key"),
    [
        ({"source": "fr"}, "encoder", "mean_error_language"),
        ({"target": "de"}, "decoder", "mean_error_language"),
        ({"d_model": 2048, "n_layers": 4}, "encoder", "mean_error_large"),
    ],
)
def test_a_model_of_another_language_or_a_large_one_has_no_map(
    tokenizer, config, stack, key
):
    model = SimpleNamespace(config=Config(vocab_size=len(tokenizer), **config))
    with pytest.raises(UserError) as refused:
        shipped(model, tokenizer, stack, SENTENCES[1])
    assert (
        refused.value.message.key == key and refused.value.say(SPANISH).count(".") == 1
    )


def test_another_target_leaves_the_encoder_its_map_and_spanish_is_read_from_its_own_column(
    tokenizer,
):
    of = {
        codes: shipped(
            SimpleNamespace(
                config=Config(
                    vocab_size=len(tokenizer), source=codes[:2], target=codes[2:]
                )
            ),
            tokenizer,
            "encoder",
            5,
        )
        for codes in ("ende", "enes", "esen")
    }
    assert [pair.source for pair in of["ende"]] == [pair.source for pair in of["enes"]]
    assert [(pair.source[:-1], pair.predicted) for pair in of["esen"]] == [
        (pair.given[1:], pair.source) for pair in of["enes"]
    ]


def test_sentences_that_are_too_long_for_a_model_are_left_out(tokenizer):
    short = shipped(
        SimpleNamespace(config=Config(vocab_size=len(tokenizer), max_length=16)),
        tokenizer,
        "encoder",
        50,
    )
    assert (
        0 < len(short) < 50 and max(len(part) for pair in short for part in pair) <= 16
    )


def test_padding_changes_no_state(running):
    pairs = [
        Pair.of(running.tokenizer.encode(text), running.tokenizer.encode(text))
        for text in TEXTS
    ]
    for stack in ("encoder", "decoder"):
        together = stack_states(running.model, pairs, stack)
        for row, pair in enumerate(pairs):
            alone = stack_states(running.model, [pair], stack)[:, 0]
            assert torch.allclose(together[:, row, : alone.shape[1]], alone, atol=1e-4)


def test_the_sentences_are_pairs_that_ship_and_each_is_there_once():
    lines = (ASSETS / "meanings.tsv").read_text(encoding="utf-8").splitlines()
    with lzma.open(
        ROOT / "xformer/training/data/written.tsv.xz", "rt", encoding="utf-8"
    ) as file:
        written = {line.rsplit("\t", 1)[0] for line in file}
    assert (
        len(lines) == len({line.split("\t")[0] for line in lines}) == SENTENCES[1]
        and {*lines} <= written
    )
    assert max(len(line.split("\t")[0].split()) for line in lines) <= 12
    assert sum("bank" in line.split("\t")[0] for line in lines[: SENTENCES[0]]) > 10


def test_the_payload_holds_the_words_in_their_order_and_their_places(running):
    known = known_of(running)
    own = known_of(running, texts=["The house sleeps."])
    found = known.map(own, 1)
    asked = MapMeanings([], "encoder", 1, 220)
    drawn = figures.payload(
        found, asked, (1e-6, 2.0, 3.0), ["encoder.0", "encoder.1"], (220,), ENGLISH
    )
    units = re.findall("[\t\n][^\t\n]*", "".join(drawn["sentences"]))
    assert [unit[1:] for unit in units if unit[0] == "\t"] == as_asked(found)
    assert ["".join(re.split("[\t\n]", text)) for text in drawn["sentences"]] == [
        "".join(units) for units in found.sentences
    ]
    levels = np.frombuffer(base64.b64decode(drawn["plane"]), "<u2").reshape(-1, 2)
    assert levels * drawn["step"] + drawn["least"] == pytest.approx(
        found.plane, abs=1e-3
    )
    assert (
        drawn["at"] == "encoder.1" and drawn["both"] and "mean_title" in drawn["texts"]
    )
    assert figures.chosen(found) == {
        "word": found.word,
        "near": [[i, round(c, 3)] for i, c in found.nearest],
    }


def test_the_part_sends_the_map_once_and_then_what_is_chosen(running, learned_pairs):
    pictures = laid_out(running).pictures[part.ID]
    made = {}
    translation, trace = running.translate_and_trace(learned_pairs[0][0])
    values = {
        "trace": trace,
        "translation": translation,
        "mean_beside": "The cat sleeps. / The dog is big.",
    }
    first = shown(pictures, running, made=made, **values)["map"]
    texts = [
        "".join(text.translate({9: "", 10: ""})).replace("▁", " ").strip()
        for text in first["sentences"][:3]
    ]
    assert texts == [learned_pairs[0][0], "The cat sleeps.", "The dog is big."]
    assert first["at"] == "encoder.2" and first["order"] == running.ask(
        Reverse(trace.text)
    )
    second = shown(pictures, running, made=made, **values, mean_word=4)["map"]
    assert (
        second["word"] == 3
        and {*second} == {"word", "near"}
        and len(second["near"]) == NEAREST
    )
    third = shown(
        pictures, running, made=made, **values, mean_word=4, mean_at="decoder.0"
    )["map"]
    assert third["at"] == "decoder.0" and third["plane"]
    fourth = shown(
        pictures,
        running,
        made=made,
        **{**values, "mean_beside": ""},
        mean_word=4,
        mean_at="decoder.0",
    )
    assert fourth["mean_word"] == 0, "its word was that of other sentences"


def test_a_recurrent_model_says_in_a_sentence_that_it_has_none(
    tmp_path, tokenizer, learned_pairs
):
    model = RecurrentTranslator(
        RecurrentConfig(vocab_size=len(tokenizer), d_model=32, max_length=64)
    ).eval()
    checkpoint.save(tmp_path / "gru", model, tokenizer, {})
    with closing(Service.open(tmp_path / "gru", "cpu")) as service:
        pictures = laid_out(service).pictures[part.ID]
        translation, trace = service.translate_and_trace(learned_pairs[0][0])
        drawn = shown(pictures, service, trace=trace, translation=translation)
    assert drawn["map"] == {} and "is a recurrent model" in drawn["refusal"]


def test_the_largest_map_is_within_the_memory_that_is_meant_for_it():
    config = Config(vocab_size=8, d_model=320, n_layers=6)
    assert (
        len(
            shipped(
                SimpleNamespace(config=config),
                SimpleNamespace(encode=lambda text, target=False: [4]),
                "encoder",
                SENTENCES[1],
            )
        )
        == SENTENCES[1]
    )
