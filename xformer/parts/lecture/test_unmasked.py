"""The lecture's run made small: what its models are, what they see, write and score."""

import html
import json
import re
from statistics import mean

import numpy as np
import pytest
import torch

from tests.pages import shown
from xformer.explain import whole_sentences
from xformer.parts.lecture import ask, unmasked
from xformer.parts.lecture import part as tab
from xformer.results import Unmask, UserError
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import REFUSAL
from xformer.whole_sentence import EOS, Config, Head, WholeSentence

LEARNED = tab.EXAMPLE


@pytest.fixture(scope="module")
def kept():
    return ask.kept(ask.FILE)


@pytest.fixture(scope="module")
def found(running):
    return running.ask(Unmask(*LEARNED))


def test_with_the_lectures_sizes_it_has_its_parameters_and_layers(monkeypatch):
    """Slide 74: 124583936, 128, 149886015, 234."""
    for kind in (torch.nn.Linear, torch.nn.Embedding):
        monkeypatch.setattr(kind, "reset_parameters", lambda self: None)
    with torch.device("meta"):
        model = WholeSentence(Config(11258, 21823, False, d_model=256, n_layers=4))
    encoder = [*model.encoder.parameters()]
    decoder = [*model.decoder.parameters(), *model.out.parameters()]
    assert (sum(one.numel() for one in encoder), len(encoder)) == (124583936, 128)
    assert (sum(one.numel() for one in decoder), len(decoder)) == (149886015, 234)
    assert ask.tensors(model) == (128, 234)


def test_a_head_multiplies_all_words_at_once_and_divides_after_the_softmax():
    torch.manual_seed(0)
    head = Head(Config(5, 5, False, words=3, d_model=8))
    x, seen = torch.randn(2, 1, 3, 2).unbind()
    answer, weights = head(x, seen)
    q, k, v = (
        (one.weight.detach() @ given.flatten() + one.bias.detach()).view(3, 2).tolist()
        for one, given in ((head.q, x), (head.k, seen), (head.v, seen))
    )
    powers = [[np.exp(np.dot(a, b)) for b in k] for a in q]
    columns = np.sum(powers, axis=0)
    wanted = np.array(powers) / columns / np.sqrt(2)
    np.testing.assert_allclose(weights[0].detach(), wanted, rtol=1e-4)
    np.testing.assert_allclose(answer[0].detach(), wanted @ np.array(v), rtol=1e-3)


def test_only_masks_hide_a_word_from_the_place_that_writes_it(found):
    bare, masked = (found.passes[kind].reliance for kind in unmasked.KINDS)
    later = np.triu(np.ones_like(masked), 1).astype(bool)
    assert not masked[later].any() and np.abs(masked[~later]).max() > 1
    own = found.target.index("EOS", 1) - 1
    for i in range(own):
        assert bare[i].argmax() == i + 1, "each word hangs most on itself"
    for one in found.passes.values():
        np.testing.assert_allclose(one.looks.sum(axis=1), 1, rtol=1e-4)


def test_reliance_is_what_a_changed_word_takes_away(kept, found):
    model = kept.models["unmasked"]
    vocabulary = kept.vocabulary
    source, target = (
        torch.tensor([vocabulary.numbers(side, text.split(), 10)])
        for side, text in zip(("source", "target"), LEARNED, strict=True)
    )
    changed = target.clone()
    changed[0, 2] = EOS
    with torch.inference_mode():
        before, after = (
            model(source, one)[0, 1].log_softmax(-1)[target[0, 2]]
            for one in (target, changed)
        )
    assert found.passes["unmasked"].reliance[1, 2] == pytest.approx(
        float(before - after), abs=1e-3
    )


def test_without_masks_it_copies_what_it_is_given_and_can_not_write_it(found):
    own = found.target[1:]
    bare, masked = (found.passes[kind] for kind in unmasked.KINDS)
    assert bare.given == masked.given == masked.turn == own
    assert bare.turn != own and bare.once != own


def test_a_word_is_written_from_those_written_before(kept, found):
    """By full passes over ever longer beginnings."""
    model = kept.models["masked"]
    vocabulary = kept.vocabulary
    source = torch.tensor([vocabulary.numbers("source", LEARNED[0].split(), 10)])
    words = model.stub(1)
    with torch.inference_mode():
        for place in range(1, 10):
            words[0, place] = model(source, words)[0, place - 1].argmax()
    assert tuple(vocabulary.target[i] for i in words[0, 1:]) == (
        found.passes["masked"].turn
    )


def test_the_examples_are_what_was_learned_and_what_was_not(kept):
    for name, pairs in tab.PAIRS.items():
        assert {*pairs.items()} <= {tuple(one) for one in kept.about["tried"][name]}


def test_words_that_are_not_known_are_counted_and_left_out(running):
    text = "My overparameterized grandmother has a Zwieback."
    found = running.ask(Unmask(text, ""))
    assert found.rare == ("overparameterized", "zwieback")
    assert {*found.rare} <= {*found.unknown} and not found.is_own
    assert found.target[1:] == found.passes["masked"].turn
    assert found.taken == len(running.tokenizer.encode(text))
    said, rare, pieces = unmasked.known(found)
    assert f"Of your 6 words these models lack {len(found.unknown)}: “" in said
    assert "lacks 2 of them: “overparameterized”, “zwieback”" in rare
    assert f"{found.taken} of its" in pieces
    long = running.ask(Unmask("i want a cup of tea and i want to see you", ""))
    assert long.cut == 4 and "the first 8 known words" in unmasked.known(long)[-1]


def test_a_text_without_a_known_word_is_refused(running, made):
    with pytest.raises(UserError, match="None of the words of “漢字” is among the"):
        running.ask(Unmask("漢字", ""))
    pictures = made.pictures[f"{tab.ID}.unmasked"]
    drawn = shown(pictures, running, unmasked_open=True, unmasked_text=" ")
    assert [*drawn] == [REFUSAL] and "None of the words of “”" in drawn[REFUSAL]


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
def test_the_scores_are_those_of_the_runs(found, language):
    drawn = unmasked.scores(found, language)
    table = json.loads(html.unescape(re.search('data-table="([^"]*)"', drawn)[1]))
    cells = {row[0]: row[1:] for row in table["rows"]}
    runs = [run for run in found.runs if run["masked"]]
    shares = [100 * run["own"]["exact_turn"] for run in runs]
    assert len(runs) == 3
    assert cells[language.say("unmasked_score_exact_turn")][2] == " ".join(
        f"{one:.1f}" for one in (mean(shares), min(shares), max(shares))
    )
    assert "128" in drawn and "234" in drawn


def test_what_the_page_says_of_the_scores_holds(found):
    for run in found.runs:
        own, new = run["own"], run["new"]
        assert own["given"] > 0.99 and new["turn"] < 0.3
        if run["masked"]:
            assert own["exact_turn"] > 0.95 > 0.5 > own["once"]
        else:
            assert own["exact_turn"] < 0.05 and own["turn"] < 0.3


def test_the_part_draws_both_models(running, made):
    pictures = made.pictures[f"{tab.ID}.unmasked"]
    for name in unmasked.MAPS:
        drawn = shown(pictures, running, unmasked_open=True, unmasked_map=name)
        assert {*drawn} >= {"said", "unmasked", "masked", "scores"}
        for kind in unmasked.KINDS:
            title = ENGLISH.say(f"unmasked_map_{name}_{kind}")
            assert title in drawn[kind]["figure"]
    assert "mary llevaba una minifalda blanca EOS" in drawn["said"]
    chosen = tab.choose(running, ENGLISH, example="the concert was a success")
    assert [*chosen.values()] == [
        "the concert was a success",
        "el concierto fue un éxito",
    ]


def test_a_damaged_file_is_said_in_one_sentence(tmp_path):
    path = tmp_path / "unmasked.npz"
    path.write_bytes(b"no")
    with pytest.raises(UserError) as refused:
        whole_sentences.load(path)
    assert str(refused.value) == ENGLISH.say(
        "whole_sentence_missing", file="unmasked.npz"
    )
