"""Words and vectors: splits of a text, the pieces nearest to one, and the states
nearest to one in other sentences."""

import math
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch

from xformer.figures.labels import percent
from xformer.parts.vocabulary import draw as figures
from xformer.parts.vocabulary import part
from xformer.parts.vocabulary.ask import Contexts, nearest_pieces
from xformer.pieces import EOS, SPECIAL
from xformer.results import NearestContexts, NearestPieces, UserError
from xformer.strings import ENGLISH, SPANISH

SENTENCES = ["The cat sleeps.", "The dog is big.", "A house is big."]


def test_the_split_of_a_text_is_the_likeliest_of_all(running):
    [own] = running.split("The cat sleeps.")
    ways = running.split("The cat sleeps.", 20)
    assert ways[0].pieces == own.pieces and len(ways) > 1
    assert [way.log_prob for way in ways] == sorted(
        (way.log_prob for way in ways), reverse=True
    )
    for way in ways:
        assert "".join(way.pieces).replace("▁", " ").strip() == "The cat sleeps."
        assert way.log_prob == pytest.approx(sum(way.log_probs))


def test_the_nearest_pieces_have_the_greatest_cosines(running):
    model = running.model
    tokenizer = running.tokenizer
    weight = model.embedding.weight.detach().numpy().astype(float)
    weight = weight - weight.mean(axis=0)
    token = tokenizer.encode("cat")[0]
    cosines = (
        weight
        @ weight[token]
        / np.linalg.norm(weight, axis=1)
        / np.linalg.norm(weight[token])
    )
    expected = [
        int(i) for i in np.argsort(-cosines) if i != token and i not in SPECIAL
    ][:5]
    found = nearest_pieces(model, tokenizer, tokenizer.pieces([token])[0], 5)
    assert [piece for piece, _ in found] == tokenizer.pieces(expected)
    assert [cosine for _, cosine in found] == pytest.approx(
        cosines[expected].tolist(), abs=1e-5
    )
    assert running.ask(NearestPieces(tokenizer.pieces([token])[0], 5)) == found


def states(model, tokenizer, sentence, layer):
    """As the encoder computes them for one sentence alone, read by its last
    normalisation."""
    tokens = torch.tensor([[*tokenizer.encode(sentence), EOS]])
    x = model.embedding(tokens)
    mask = torch.ones(1, 1, 1, tokens.shape[1], dtype=torch.bool)
    for one in model.encoder.layers[:layer]:
        x = one(x, mask)
    return model.encoder.norm(x)[0, :-1]


@pytest.mark.parametrize("layer", [0, 1, 2])
@torch.inference_mode()
def test_the_nearest_states_are_those_of_passes_one_by_one(running, layer):
    model = running.model
    tokenizer = running.tokenizer
    contexts = Contexts(model, tokenizer, SENTENCES)
    asked = tokenizer.encode("The house sleeps.")
    all_states = [states(model, tokenizer, sentence, layer) for sentence in SENTENCES]
    mean = torch.cat(all_states).mean(dim=0)
    wanted = states(model, tokenizer, "The house sleeps.", layer)[1] - mean
    best = {}
    for sentence, found in zip(SENTENCES, all_states, strict=True):
        cosines = torch.nn.functional.cosine_similarity(found - mean, wanted[None])
        best[sentence] = (float(cosines.max()), int(cosines.argmax()))
    neighbours = contexts.nearest(asked, 1, layer, 10)
    assert len(neighbours) == len(SENTENCES)  # one of each
    for one in neighbours:
        similarity, position = best[
            tokenizer.decode([tokenizer.id_of(piece) for piece in one.pieces])
        ]
        assert (
            one.similarity == pytest.approx(similarity, abs=2e-3)
            and one.position == position
        )
    assert [one.similarity for one in neighbours] == sorted(
        (one.similarity for one in neighbours), reverse=True
    )


def test_the_sentence_itself_is_no_neighbour(running):
    contexts = Contexts(running.model, running.tokenizer, SENTENCES)
    found = contexts.nearest(running.tokenizer.encode(SENTENCES[0]), 1, 1, 10)
    assert len(found) == len(SENTENCES) - 1


@pytest.mark.parametrize(("position", "layer"), [(-1, 0), (99, 0), (0, 3), (0, -1)])
def test_a_piece_or_layer_that_is_not_there_is_refused(running, position, layer):
    with pytest.raises(UserError, match="There is no piece"):
        running.ask(NearestContexts("The cat sleeps.", position, layer))


def test_a_piece_that_the_vocabulary_lacks_is_refused(running):
    with pytest.raises(UserError, match="“zzzzqq” is not a piece"):
        running.ask(NearestPieces("zzzzqq"))


def test_the_part_takes_the_sentence_apart(running, learned_pairs):
    drawn = part.draw(
        running,
        ENGLISH,
        translation=running.translate(learned_pairs[0][0]),
        vocab_piece=0,
        vocab_layer=1,
    )
    [own] = running.split(learned_pairs[0][0])
    # as typed, and otherwise
    assert unescape(drawn["splits"]).count('class="unit"') >= 2 * len(own.pieces)
    assert "after layer 1" in drawn["contexts"]
    chosen = drawn["vocab_piece"]["value"]
    piece = own.pieces[chosen - 1]
    assert figures.readable(piece) in drawn["nearest"]
    other, cosine = re.search(
        "<th scope=row>(.*?)</th>.*?>(-?[0-9.]+)</td>", drawn["nearest"]
    ).groups()
    assert (
        f"Your sentence is {len(own.pieces)} pieces long, and of all pieces that the model knows, "
        f"“{unescape(other)}” has the vector most like that of “{figures.readable(piece)}”: the cosine is {cosine}."
    ) in unescape(drawn["found"])


def test_a_text_in_capitals_is_taken_apart_as_the_model_reads_it(
    running, learned_pairs
):
    """Of the service itself a split is asked for as typed, and the split of the source
    of a translation is what was read."""
    capitals = learned_pairs[0][0].upper()
    found = running.translate(capitals)
    read = running.split(found.source)[0]
    typed = running.split(capitals)[0]
    assert (
        read.pieces
        == tuple(running.tokenizer.pieces(found.source_tokens))
        != typed.pieces
    )
    assert typed.text == capitals and found.source == learned_pairs[0][0]
    (how, shown), *_ = part._ways(running, read, ENGLISH)
    assert (how, shown) == ("as the model reads it", read)
    splits = unescape(
        part.draw(running, ENGLISH, translation=found, vocab_piece=0, vocab_layer=1)[
            "splits"
        ]
    )
    assert how in splits and learned_pairs[0][0] in splits and capitals not in splits


def test_what_was_found_changes_with_the_piece(running, learned_pairs):
    translation = running.translate(learned_pairs[0][0])
    said = [
        part.draw(
            running, ENGLISH, translation=translation, vocab_piece=number, vocab_layer=1
        )["found"]
        for number in (1, 2)
    ]
    [own] = running.split(learned_pairs[0][0])
    for piece, one in zip(own.pieces, said, strict=False):
        other, cosine = nearest_pieces(running.model, running.tokenizer, piece, 1)[0]
        assert (
            f"that of “{figures.readable(piece)}”: the cosine is {cosine:.2f}"
            in unescape(one)
        )
        assert f"“{figures.readable(other)}” has the vector most like" in unescape(one)
    assert figures.found(own, own.pieces[0], [], SPANISH) == ""


def test_probabilities_of_splits_sum_to_one(running):
    ways = running.split("sleeps", part.WAYS)
    drawn = figures.others("sleeps", ways, 3, ENGLISH)
    shares = [math.exp(way.log_prob) for way in ways]
    assert percent(shares[0] / sum(shares)) in drawn and len(
        re.findall("<tr><td>", drawn)
    ) == min(3, len(ways))


def test_text_is_text(running):
    for drawn in (
        figures.splits([("<b>", running.split("<img src=x>")[0])]),
        figures.others("<img>", running.split("<img>", 3), 3),
        figures.nearest("<i>", [("<u>", 0.5)]),
        figures.found(running.split("<i>")[0], "<i>", [("<u>", 0.5)]),
    ):
        assert not re.search("<(img|b|i|u)>", drawn)


def test_a_slip_changes_two_letters_in_the_middle():
    assert part.slip("reliably") == "relaibly" and part.slip("to") == "to"


def test_the_example_sentences_are_short_and_each_is_there_once():
    lines = (
        Path(__file__)
        .with_name("contexts.txt")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    assert (
        len(set(lines)) == len(lines) > 200
        and max(len(line.split()) for line in lines) <= 12
    )
