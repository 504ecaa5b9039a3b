"""The service: limits and warnings in words, batches of strangers kept apart, traces that belong to their sentence."""

import math
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import endless
from xformer import results
from xformer.explain import passes
from xformer.model import Heads
from xformer.pieces import EOS
from xformer.results import Head, Options, Positions, UserError
from xformer.serve import batching
from xformer.serve.bleu import bleu
from xformer.serve.text import MAX_CHARACTERS, clean, repeats
from xformer.serve.translation import Service
from xformer.strings import ENGLISH, SPANISH
from xformer.ui import attention


def test_translates_what_it_knows_by_heart(running, learned_pairs):
    for english, spanish in learned_pairs:
        assert running.translate(english).best.text == spanish


def test_a_result_holds_pieces_log_probabilities_and_rivals_that_belong_together(running, learned_pairs):
    found = running.translate(learned_pairs[0][0], Options(beam=4, n_best=3))
    assert len(found.n_best) == 3
    assert [c.score for c in found.n_best] == sorted((c.score for c in found.n_best), reverse=True)
    for candidate in found.n_best:
        assert len(candidate.pieces) == len(candidate.log_probs) == len(candidate.alternatives)
        assert candidate.pieces[-1] == "</s>"
        assert candidate.score == pytest.approx(sum(candidate.log_probs) / len(candidate.pieces), abs=1e-5)
    best = found.best
    for piece, log_prob, rivals in zip(best.pieces, best.log_probs, best.alternatives, strict=True):
        assert dict(rivals)[piece] == pytest.approx(log_prob, abs=1e-5)


def test_a_trace_gives_every_piece_the_log_probability_that_decoding_gave_it(running, learned_pairs):
    found = running.translate(learned_pairs[1][0])
    trace = running.trace(found.source, found.best.tokens)
    assert trace.predicted == found.best.pieces
    np.testing.assert_allclose(trace.log_probs, found.best.log_probs, atol=1e-4)
    layers, heads = running.info.n_layers, running.info.n_heads
    source, target = len(trace.source), len(trace.target)
    assert trace.encoder_self.shape == (layers, heads, source, source)
    assert trace.decoder_self.shape == (layers, heads, target, target)
    assert trace.cross.shape == (layers, heads, target, source)
    for stack in results.STACKS:
        maps = getattr(trace, stack)
        assert maps.dtype == np.float32
        np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)
        assert getattr(trace, f"{stack}_norms").shape == (*maps.shape[:2], maps.shape[-1])
        assert (getattr(trace, f"{stack}_norms") > 0).all()
    assert trace.text == found.source and (*trace.tokens, EOS) == found.best.tokens
    assert np.triu(trace.decoder_self, k=1).max() == 0, "a position looks at its future"


def test_a_trace_of_a_typed_translation_is_that_of_its_pieces(running, learned_pairs):
    english, spanish = learned_pairs[2]
    typed = running.trace(english, spanish)
    searched = running.trace(english, running.tokenizer.encode(spanish))
    assert typed.predicted == searched.predicted
    np.testing.assert_array_equal(typed.cross, searched.cross)


def test_requests_of_many_threads_share_batches_and_never_see_each_other(running, learned_pairs, monkeypatch):
    batches = []
    decode = batching.translating

    def counted(model, sources, *rest):
        batches.append(len(sources))
        return decode(model, sources, *rest)

    monkeypatch.setattr(batching, "translating", counted)
    alone = {english: running.trace(english, spanish) for english, spanish in learned_pairs}
    together = threading.Barrier(len(learned_pairs) * 2)
    wrong = []

    def person(english, spanish, options):
        together.wait()
        for _ in range(6):
            found = running.translate(english, options)
            trace = running.trace(found.source, found.best.tokens)
            same = all(np.allclose(getattr(trace, s), getattr(alone[english], s), atol=1e-5) for s in results.STACKS)
            if found.best.text != spanish or found.source != english or not same:
                wrong.append((english, found.best.text))

    people = [threading.Thread(target=person, args=(*pair, Options(beam=beam)))
              for pair in learned_pairs for beam in (1, 3)]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert not wrong
    assert sum(batches) == len(people) * 6
    assert max(batches) > 1, "nothing that arrived together was decoded together"


def test_one_bad_batch_is_told_to_those_in_it_and_the_others_are_served(running, learned_pairs, monkeypatch):
    def broken(*_):
        yield
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(batching, "translating", broken)
        with pytest.raises(RuntimeError, match="out of memory"):
            running.translate(learned_pairs[0][0])
    assert running.translate(learned_pairs[0][0]).best.text == learned_pairs[0][1]


def test_nobody_waits_for_the_end_of_somebody_elses_long_sentence(running, learned_pairs, monkeypatch):
    (long, spanish), (short, quick) = learned_pairs[:2]
    decode, begun, answered, steps = batching.translating, threading.Event(), threading.Event(), []

    def slow(model, sources, *rest):
        if sources == [running.tokenizer.encode(long)]:
            while not answered.is_set() and len(steps) < 100_000:
                steps.append(None)
                begun.set()
                yield
        return (yield from decode(model, sources, *rest))

    monkeypatch.setattr(batching, "translating", slow)
    found = []
    other = threading.Thread(target=lambda: found.append(running.translate(long)))
    other.start()
    assert begun.wait(60)
    assert running.translate(short).best.text == quick
    assert not found and len(steps) >= batching.PATIENCE, "the long one was not in the middle of its search"
    answered.set()
    other.join()
    assert found[0].best.text == spanish


def test_a_search_that_nobody_waits_for_any_longer_stops(running, learned_pairs, monkeypatch):
    stopped = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(batching, "translating", endless(stopped))
        with pytest.raises(UserError, match="took longer than 0 seconds and was given up"):
            running.translate(learned_pairs[0][0], timeout=0.1)
        assert stopped.wait(10)
    assert running.translate(learned_pairs[0][0], timeout=60).best.text == learned_pairs[0][1]


def test_closing_answers_what_was_asked_before(tiny_checkpoint, learned_pairs):
    short_lived = Service.open(tiny_checkpoint, "cpu")
    found = short_lived.translate(learned_pairs[0][0])
    short_lived.close()
    assert found.best.text == learned_pairs[0][1]


@pytest.mark.parametrize("text", ["", "   ", "\n\t ", "\x00\x07", "\u200b"])
def test_nothing_to_translate(running, text):
    with pytest.raises(UserError, match="There is nothing to translate: type an English sentence"):
        running.translate(text)


def test_ten_thousand_words_are_refused_with_their_number_and_the_limit(running):
    with pytest.raises(UserError) as told:
        running.translate("word " * 10_000)
    assert "50,000 characters (10,000 words)" in str(told.value)
    assert f"at most {MAX_CHARACTERS:,} characters" in str(told.value)
    assert "shorten it" in str(told.value)
    assert "50\u202f000" in told.value.say(SPANISH)


def test_more_pieces_than_the_model_has_positions_are_refused(running):
    with pytest.raises(UserError, match=r"The text has 200 words, which make \d+ pieces; .* at most 128 pieces"):
        running.translate("cat " * 200)


@pytest.mark.parametrize("text", ["🙂🙂", "你好吗", "Привет"])
def test_a_text_of_unknown_characters_only_is_refused_by_naming_them(running, text):
    with pytest.raises(UserError, match=f"never seen these characters: {text}"):
        running.translate(text)


@pytest.mark.parametrize(("typed", "said"), [
    (" ", "nothing to look into: type a Spanish translation"),
    ("漢字", "seen these characters: 漢字. It writes Spanish")])
def test_spanish_that_cannot_be_read_is_refused_as_spanish(running, typed, said):
    with pytest.raises(UserError, match=said):
        running.trace("The cat sleeps.", typed)


def test_unknown_characters_in_typed_spanish_are_warned_of(running):
    found = running.translate("The cat sleeps.")
    said = attention.inspect(running, ENGLISH, translation=found, target="El 漢 gato.")
    assert "has never seen 漢" in said["problem"] and "<unk>" in said["trace"].predicted
    assert said["spanish"] == "El 漢 gato."
    assert attention.inspect(running, ENGLISH, translation=found, target=found.best.text)["problem"] == ""


def test_unknown_characters_among_known_ones_are_warned_of(running):
    found = running.translate("The cat 🙂 sleeps.")
    assert [w.say() for w in found.warnings if w.key == "warning_unknown"] == [
        "The model has never seen 🙂; it leaves these out or guesses."]


def test_control_characters_are_left_out_and_said(running, learned_pairs):
    english, spanish = learned_pairs[0]
    found = running.translate(english[:5] + "\x07\x00" + english[5:])
    assert (found.source, found.best.text) == (english, spanish)
    assert [w.say() for w in found.warnings] == ["2 control characters were left out."]


def test_markup_is_text(running):
    found = running.translate("<script>alert(1)</script> The cat sleeps.")
    assert found.source.startswith("<script>")
    assert "warning_markup" in [w.key for w in found.warnings]


def test_a_translation_that_met_its_limit_says_so(running, learned_pairs):
    found = running.translate(learned_pairs[0][0], max_length=2)
    assert not found.best.finished
    assert len(found.best.pieces) == 2
    assert "cut off at 2 pieces" in [w.say() for w in found.warnings][-1]


def test_a_prefix_begins_the_translation(running, learned_pairs):
    prefix = running.tokenizer.encode("Los perros")
    found = running.translate(learned_pairs[0][0], prefix=prefix)
    assert found.best.text.startswith("Los perros")


@pytest.mark.parametrize(("tokens", "loop"), [
    ([5, 6, 7, 8, 9], False), ([5, 5, 5], False), ([5, 5, 5, 5], True), ([4, 5, 6, 5, 6, 5, 6, 5, 6, 9], True),
    ([5, 6, 5, 6, 5, 7], False), ([], False)])
def test_repetition_is_a_run_of_pieces_four_times_in_a_row(tokens, loop):
    assert repeats(tokens) is loop


def test_a_device_that_is_not_there_is_named(tiny_checkpoint):
    with pytest.raises(UserError, match="The device cuda:99 is not to be had on this machine; choose cuda, mps or cpu"):
        Service.open(tiny_checkpoint, "cuda:99")
    with pytest.raises(UserError, match="The device toaster is not to be had"):
        Service.open(tiny_checkpoint, "toaster")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_any_text_gets_a_translation_or_one_sentence(running, text):
    try:
        found = running.translate(text, Options(beam=1), max_length=12)
    except UserError as refusal:
        assert str(refusal).endswith(".") and "\n" not in str(refusal)
    else:
        assert found.source == clean(text)[0]
        assert all(math.isfinite(p) and p <= 0 for p in found.best.log_probs)


class Counted:
    """SentencePiece, which notes the texts that it is asked to cut into pieces."""

    def __init__(self, sentencepiece):
        self.sentencepiece, self.cut = sentencepiece, []

    def __getattr__(self, name):
        return getattr(self.sentencepiece, name)

    def encode(self, text, **more):
        self.cut.append(text)
        return self.sentencepiece.encode(text, **more)


@pytest.fixture
def counted(running, monkeypatch):
    """SentencePiece, counted, in the vocabulary of `running`."""
    counted = Counted(running.tokenizer._sp)
    monkeypatch.setattr(running.tokenizer, "_sp", counted)
    return counted


@pytest.mark.parametrize("ask", [
    lambda service, text: service.translate(text), lambda service, text: service.translate_and_trace(text),
    lambda service, text: service.explain(text), lambda service, text: service.embed([text]),
    lambda service, text: service.trace(text, [5, 6]), lambda service, text: service.head_effects(text, [5], ["cross"]),
    lambda service, text: service.with_positions(text, [5, 6], Positions("none"))])
def test_a_source_is_cut_into_pieces_once(running, counted, ask):
    ask(running, "The cat sleeps.")
    assert counted.cut == ["The cat sleeps."]


def test_a_translation_is_traced_by_the_pieces_that_it_carries(running, learned_pairs, counted):
    english, spanish = learned_pairs[1]
    translation, trace = running.translate_and_trace(english, Options(beam=2), max_length=30)
    assert translation.best.text == spanish and translation.options == Options(beam=2) and translation.max_length == 30
    again = running.trace(translation, translation.best.tokens)
    assert counted.cut == [english] and again.text == english
    alone = running.trace(english, translation.best.tokens)
    for one in (trace, again):
        assert one.source == alone.source and one.predicted == alone.predicted == translation.best.pieces
        np.testing.assert_array_equal(one.cross, alone.cross)


def test_a_spanish_text_is_cut_into_pieces_once(running, counted):
    running.trace("The cat sleeps.", "El gato")
    assert counted.cut == ["The cat sleeps.", "El gato"]


@pytest.mark.parametrize("ask", [
    lambda service: service.translate("The cat sleeps.", off=[Head("cross", 1, 2)], positions=Positions("shift", 3)),
    lambda service: service.trace("The cat sleeps.", [5], [Head("cross", 1, 2)], Positions("shift", 3))])
def test_what_a_request_changes_is_made_into_tensors_once(running, monkeypatch, ask):
    made, without, table = [], Heads.without, passes.sinusoids
    monkeypatch.setattr(Heads, "without", lambda *args: made.append("heads") or without(*args))
    monkeypatch.setattr(passes, "sinusoids", lambda *args: made.append("positions") or table(*args))
    ask(running)
    assert made == ["heads", "positions"]


def test_bleu_of_the_papers_example():
    """Papineni et al. (2002), section 2.1: "the" seven times has a modified unigram precision of 2/7."""
    parts = bleu("the the the the the the the", "the cat is on the mat")
    assert (parts.matches[0], parts.totals[0]) == (2, 7)
    assert parts.score == 0 and parts.brevity_penalty == 1


def test_bleu_multiplies_to_its_score_with_the_brevity_penalty():
    parts = bleu("El gato duerme en la mesa", "El gato duerme en la mesa grande de hoy")
    assert parts.brevity_penalty == pytest.approx(math.exp(1 - 9 / 6))
    assert parts.score == pytest.approx(100 * parts.brevity_penalty), "all precisions are 1"
    with pytest.raises(UserError):
        bleu("El gato", " ")
