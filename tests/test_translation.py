"""The service: limits and warnings in words, batches of strangers kept apart, traces
that belong to their sentence."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.questions import one_of_each
from xformer import results
from xformer.hub import checkpoint
from xformer.model import Config, Transformer
from xformer.pieces import EOS
from xformer.results import (
    EmbedSource,
    GrowTree,
    Head,
    Move,
    NearestPairs,
    Occlude,
    Options,
    Positions,
    RankHeads,
    UserError,
    WalkHead,
    questions,
)
from xformer.results.questions import Question
from xformer.serve import wire
from xformer.serve.text import MAX_CHARACTERS, clean
from xformer.serve.translation import ANSWERS, Service
from xformer.strings import SPANISH
from xformer.translator import translate_ids


def test_translates_what_it_knows_by_heart(running, learned_pairs):
    for english, spanish in learned_pairs:
        assert running.translate(english).best.text == spanish


def test_a_result_holds_pieces_log_probabilities_and_rivals_that_belong_together(
    running, learned_pairs
):
    found = running.translate(learned_pairs[0][0], Options(beam=4, n_best=3))
    assert len(found.n_best) == 3
    assert [c.score for c in found.n_best] == sorted(
        (c.score for c in found.n_best), reverse=True
    )
    for candidate in found.n_best:
        assert (
            len(candidate.pieces)
            == len(candidate.log_probs)
            == len(candidate.alternatives)
        )
        assert candidate.pieces[-1] == "</s>"
        assert candidate.score == pytest.approx(
            sum(candidate.log_probs) / len(candidate.pieces), abs=1e-5
        )
    best = found.best
    for piece, log_prob, rivals in zip(
        best.pieces, best.log_probs, best.alternatives, strict=True
    ):
        assert dict(rivals)[piece] == pytest.approx(log_prob, abs=1e-5)


def test_a_trace_gives_every_piece_the_log_probability_that_decoding_gave_it(
    running, learned_pairs
):
    found = running.translate(learned_pairs[1][0])
    trace = running.trace(found.source, found.best.tokens)
    assert trace.predicted == found.best.pieces
    np.testing.assert_allclose(trace.log_probs, found.best.log_probs, atol=1e-4)
    layers = running.info.n_layers
    heads = running.info.n_heads
    source = len(trace.source)
    target = len(trace.target)
    assert trace.encoder_self.shape == (layers, heads, source, source)
    assert trace.decoder_self.shape == (layers, heads, target, target)
    assert trace.cross.shape == (layers, heads, target, source)
    for stack in results.STACKS:
        maps = getattr(trace, stack)
        assert maps.dtype == np.float32
        np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)
        assert getattr(trace, f"{stack}_norms").shape == (
            *maps.shape[:2],
            maps.shape[-1],
        )
        assert (getattr(trace, f"{stack}_norms") > 0).all()
    assert trace.text == found.source and (*trace.tokens, EOS) == found.best.tokens
    assert np.triu(trace.decoder_self, k=1).max() == 0, "a position looks at its future"


def test_a_trace_of_a_typed_translation_is_that_of_its_pieces(running, learned_pairs):
    english, spanish = learned_pairs[2]
    typed = running.trace(english, spanish)
    searched = running.trace(english, running.tokenizer.encode(spanish))
    assert typed.predicted == searched.predicted
    np.testing.assert_array_equal(typed.cross, searched.cross)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "\n\t ", "\x00\x07", "\u200b", "\ufffd", "\u2581", "\ufffd \u2581"],
)
def test_nothing_to_translate(running, text):
    with pytest.raises(
        UserError, match="There is nothing to translate: type a sentence in English"
    ):
        running.translate(text)


@pytest.mark.parametrize("blank", ["\ufffd", "\u2581"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda service, text: service.translate_and_trace(text),
        lambda service, text: service.explain(text),
        lambda service, text: service.translate_many(["The cat sleeps.", text]),
        lambda service, text: service.trace(text, "El gato."),
        lambda service, text: service.ask(Occlude(text, (5,))),
        lambda service, text: service.ask(RankHeads(text, (5,))),
        lambda service, text: service.ask(WalkHead(text, (5,), Head("cross", 1, 1))),
        lambda service, text: service.embed(["The cat sleeps.", text]),
        lambda service, text: service.ask(EmbedSource(text)),
        lambda service, text: service.ask(Move(text, (5,), Positions("none"))),
    ],
)
def test_a_source_that_makes_no_piece_is_refused_by_all(running, ask, blank):
    with pytest.raises(
        UserError, match="There is nothing to translate: type a sentence in English"
    ):
        ask(running, blank)


def test_ten_thousand_words_are_refused_with_their_number_and_the_limit(running):
    with pytest.raises(UserError) as told:
        running.translate("word " * 10_000)
    assert "50,000 characters (10,000 words)" in str(told.value)
    assert f"at most {MAX_CHARACTERS:,} characters" in str(told.value)
    assert "shorten it" in str(told.value)
    assert "50\u202f000" in told.value.say(SPANISH)


def test_more_pieces_than_the_model_has_positions_are_refused(running):
    with pytest.raises(
        UserError,
        match=r"The text has 200 words, which make \d+ pieces; .* at most 128 pieces",
    ):
        running.translate("cat " * 200)


@pytest.mark.parametrize("text", ["🙂🙂", "你好吗", "Привет"])
def test_a_text_of_unknown_characters_only_is_refused_by_naming_them(running, text):
    with pytest.raises(UserError, match=f"never seen these characters: {text}"):
        running.translate(text)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (" ", "nothing to look into: type a translation into Spanish"),
        ("\ufffd", "nothing to look into: type a translation into Spanish"),
        ("\u2581", "nothing to look into: type a translation into Spanish"),
        ("漢字", "seen these characters: 漢字. It writes Spanish"),
    ],
)
def test_spanish_that_cannot_be_read_is_refused_as_spanish(running, typed, said):
    with pytest.raises(UserError, match=said):
        running.trace("The cat sleeps.", typed)


def test_unknown_characters_among_known_ones_are_warned_of(running):
    found = running.translate("The cat 🙂 sleeps.")
    assert [w.say() for w in found.warnings if w.key == "warning_unknown"] == [
        "The model has never seen 🙂; it leaves these out or guesses."
    ]


def test_control_characters_are_left_out_and_said(running, learned_pairs):
    english, spanish = learned_pairs[0]
    found = running.translate(english[:5] + "\x07\x00" + english[5:])
    assert (found.source, found.best.text) == (english, spanish)
    assert [w.say() for w in found.warnings] == ["2 control characters were left out."]


def test_markup_is_text(running):
    found = running.translate("<script>alert(1)</script> The cat sleeps.")
    assert found.source.startswith("<script>")
    assert "warning_markup" in [w.key for w in found.warnings]


def test_a_comparison_is_not_taken_for_markup(running):
    warnings = running.translate("The cat <sleeps and sleeps> the cat.").warnings
    assert [w.key for w in warnings] == ["warning_unknown"], (
        "< and > are not in this vocabulary, and that is all"
    )


def test_a_sign_read_as_a_space_is_said(running):
    assert [w.key for w in running.translate("The cat\ufffd sleeps.").warnings] == [
        "warning_blank"
    ]


def test_a_text_in_capitals_is_read_in_the_form_of_which_the_model_is_surer(
    running, learned_pairs
):
    english, spanish = learned_pairs[0]
    found, plain = running.translate_many([english.upper(), english])
    assert (found.source, found.best.text) == (
        english,
        spanish,
    ) and found.source_tokens == plain.source_tokens
    assert [w.say() for w in found.warnings] == [
        f"Read as “{english}”: the model is surer of this form than of the one with capitals."
    ]
    _, trace = running.translate_and_trace(english.upper())
    assert trace.text == english


@pytest.mark.parametrize(
    "how",
    [
        {"off": [Head("cross", 1, 1)]},
        {"positions": Positions("none")},
        {"prefix": [9]},
        {"options": Options(temperature=1)},
        {"options": Options(beam=1)},
    ],
)
def test_a_changed_pass_and_a_draw_read_it_as_the_translation_does(
    running, learned_pairs, how
):
    english = learned_pairs[0][0]
    told = []
    (found,) = running.translate_many(
        [english.upper()],
        progress=told.append,
        **{
            {"prefix": "prefixes"}.get(key, key): [value] if key == "prefix" else value
            for key, value in how.items()
        },
    )
    assert (found.source, found.source_tokens) == (
        english,
        running.translate(english).source_tokens,
    ) and told == [1]


def test_every_question_reads_a_text_as_the_translation_does(running, learned_pairs):
    """A text in capitals is answered for like the same text without: it is the form
    that `translate` chooses."""
    english = learned_pairs[0][0]
    best = running.translate(english.upper()).best
    assert best.tokens == running.translate(english).best.tokens
    pairs = zip(
        *(
            one_of_each(text, best.tokens, best.pieces[0])
            for text in (english.upper(), english)
        ),
        strict=True,
    )
    for capitals, plain in pairs:
        if isinstance(plain, NearestPairs):  # counts words whatever their case
            continue
        answers = [running.ask(one) for one in (capitals, plain)]
        said = [
            wire.dumps(
                replace(
                    one, translation=replace(one.translation, seconds=0.0, warnings=())
                )
                if isinstance(one, results.BeamTree | results.Moved | results.Reweighed)
                else one
            )
            for one in answers
        ]
        assert said[0] == said[1], type(plain)
    traces = [running.trace(text, best.tokens) for text in (english.upper(), english)]
    assert traces[0].text == english and traces[0].log_probs == traces[1].log_probs


def test_a_translation_that_met_its_limit_says_so(running, learned_pairs):
    found = running.translate(learned_pairs[0][0], max_length=2)
    assert not found.best.finished
    assert len(found.best.pieces) == 2
    assert "cut off at 2 pieces" in [w.say() for w in found.warnings][-1]


def test_translations_that_read_the_same_are_one_and_as_many_others_are_found(
    running, learned_pairs, monkeypatch
):
    whole = type(running.tokenizer).decode
    monkeypatch.setattr(
        type(running.tokenizer), "decode", lambda self, tokens: whole(self, tokens)[:4]
    )
    options = Options(beam=12, n_best=4)
    joined = 0
    for english, _ in learned_pairs:
        found = running.translate(english, options)
        (hypotheses,) = translate_ids(
            running.model,
            [running.tokenizer.encode(english)],
            replace(options, n_best=12),
        )
        texts = [running.tokenizer.decode(one.tokens) for one in hypotheses]
        joined += len({*texts[:4]}) < 4
        assert [one.text for one in found.n_best] == [*dict.fromkeys(texts)][:4]
        scores = [hypotheses[texts.index(one.text)].score for one in found.n_best]
        assert [one.score for one in found.n_best] == pytest.approx(scores, abs=1e-5)
        assert [one["text"] for one in found.to_json()["n_best"]] == [
            one.text for one in found.n_best
        ]
        assert found.options == options
    assert joined, (
        "no sentence had two hypotheses that read the same, so nothing was tested"
    )


def test_samples_that_read_the_same_are_all_listed(running, learned_pairs):
    found = running.translate(learned_pairs[0][0], Options(temperature=0.1, n_best=5))
    assert len(found.n_best) == 5 and len({one.text for one in found.n_best}) == 1


def test_a_prefix_begins_the_translation(running, learned_pairs):
    prefix = running.tokenizer.encode("Los perros")
    found = running.translate(learned_pairs[0][0], prefix=prefix)
    assert found.best.text.startswith("Los perros")


def test_a_prefix_is_no_longer_than_a_translation_may_be(running, learned_pairs):
    """16 pieces more than twice the source and its </s>."""
    english = learned_pairs[0][0]
    longest = 2 * (len(running.tokenizer.encode(english)) + 1) + 16
    prefix = running.tokenizer.encode("Los perros") * longest
    assert running.translate(english, prefix=prefix[:longest]).best.tokens[
        :longest
    ] == tuple(prefix[:longest])
    said = f"The beginning that is given has {longest + 1} pieces; .* {longest} at most"
    for ask in (
        lambda **more: running.translate(english, **more),
        lambda **more: running.ask(GrowTree(english, **more)),
    ):
        with pytest.raises(UserError, match=said):
            ask(prefix=prefix[: longest + 1])


@pytest.mark.parametrize(
    ("prefix", "text"),
    [
        (
            [9999],
            "A translation cannot begin like this: the prefix [9999] holds 9999, which is no piece; "
            "pieces are 0 to 149.",
        ),
        (
            [0],
            "A translation cannot begin like this: the prefix [0] holds <pad> or <s>, which no target has; "
            "leave them out.",
        ),
    ],
)
def test_a_wrong_prefix_is_refused_and_nobody_else(
    running, learned_pairs, prefix, text
):
    together = threading.Barrier(8)

    def ask(number):
        together.wait()
        return running.translate(
            learned_pairs[0][0], prefix=prefix if number == 3 else ()
        )

    with ThreadPoolExecutor(8) as people:
        answers = [people.submit(ask, number) for number in range(8)]
    assert str(answers.pop(3).exception()) == text
    assert {answer.result().best.text for answer in answers} == {learned_pairs[0][1]}


def test_a_trace_of_a_piece_that_is_not_there_is_refused(running, learned_pairs):
    with pytest.raises(
        UserError, match="holds 9999, which is no piece; pieces are 0 to 149"
    ):
        running.trace(learned_pairs[0][0], [9999])


def test_samples_do_not_depend_on_what_is_translated_with_them(running, learned_pairs):
    texts = [english for english, _ in learned_pairs]
    options = Options(temperature=3.0, n_best=3, seed=3)
    together = running.translate_many(texts, options, max_length=8)
    alone = [running.translate(text, options, max_length=8) for text in texts]
    assert [[one.tokens for one in t.n_best] for t in together] == [
        [one.tokens for one in t.n_best] for t in alone
    ]
    assert len({one.tokens for one in together[0].n_best}) > 1


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.text(max_size=80))
@pytest.mark.slow
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
        self.sentencepiece = sentencepiece
        self.cut = []

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


@pytest.mark.parametrize(
    "ask",
    [
        lambda service, text: service.translate(text),
        lambda service, text: service.translate_and_trace(text),
        lambda service, text: service.explain(text),
        lambda service, text: service.embed([text]),
        lambda service, text: service.trace(text, [5, 6]),
        lambda service, text: service.ask(RankHeads(text, [5], ["cross"])),
        lambda service, text: service.ask(Move(text, [5, 6], Positions("none"))),
    ],
)
def test_a_source_is_cut_into_pieces_once(running, counted, ask):
    running._recent.clear()  # what was asked for before is not cut again
    ask(running, "The cat sleeps.")
    assert counted.cut == ["The cat sleeps."]


def test_a_translation_is_traced_by_the_pieces_that_it_carries(
    running, learned_pairs, counted
):
    english, spanish = learned_pairs[1]
    translation, trace = running.translate_and_trace(
        english, Options(beam=2), max_length=30
    )
    assert (
        translation.best.text == spanish
        and translation.options == Options(beam=2)
        and translation.max_length == 30
    )
    again = running.trace(translation, translation.best.tokens)
    assert counted.cut == [english] and again.text == english
    alone = running.trace(english, translation.best.tokens)
    for one in (trace, again):
        assert (
            one.source == alone.source
            and one.predicted == alone.predicted == translation.best.pieces
        )
        np.testing.assert_array_equal(one.cross, alone.cross)


def test_a_spanish_text_is_cut_into_pieces_once(running, counted):
    running.trace("The cat sleeps.", "El gato")
    assert counted.cut == ["The cat sleeps.", "El gato"]


def test_a_beam_tells_all_that_it_thought_of(running, learned_pairs):
    english, spanish = learned_pairs[4]
    tree = running.ask(GrowTree(english, Options(beam=3, n_best=3)))
    wanted = running.translate(english, Options(beam=3, n_best=3))
    assert [c.text for c in tree.translation.n_best] == [c.text for c in wanted.n_best]
    assert tree.translation.best.text == spanish
    at = max(
        (i for i, branch in enumerate(tree.branches) if branch.fate == "ended"),
        key=lambda i: tree.branches[i].score,
    )
    tokens = []
    while at is not None:
        tokens.append(tree.branches[at].token)
        at = tree.branches[at].parent
    assert tuple(tokens[::-1]) == tree.translation.best.tokens
    again = running.ask(GrowTree(tree.translation, Options(beam=3, n_best=3)))
    assert again.branches == tree.branches, "from a translation, whose pieces are known"
    dropped = next(
        branch
        for branch in tree.branches
        if branch.fate == "dropped" and branch.step == 0
    )
    assert (
        running.ask(GrowTree(english, prefix=[dropped.token])).translation.best.tokens[
            0
        ]
        == dropped.token
    )
    with pytest.raises(UserError, match="set the temperature to 0"):
        running.ask(GrowTree(english, Options(temperature=1.0)))


def test_every_question_has_an_answer_and_there_is_no_other():
    kinds = {
        kind
        for kind in vars(questions).values()
        if isinstance(kind, type) and issubclass(kind, Question)
    }
    assert ANSWERS.keys() == kinds - {Question, questions.OfPair, questions.OfRival}
    assert {kind.__name__: kind for kind in ANSWERS}.items() <= wire.RECORDS.items(), (
        "and travels"
    )


def test_a_question_that_the_service_does_not_know_is_refused_in_one_sentence(running):
    class Weigh(Question[int]):
        pass

    for question in (Weigh(), questions.OfPair("The cat.", "El gato."), "What?", None):
        with pytest.raises(UserError) as refused:
            running.ask(question)
        said = str(refused.value)
        assert said.startswith(
            f"A translation model is not asked {type(question).__name__}; ask one of WalkHead, "
        )
        assert said.count(".") == 1 and said.endswith(f"{[*ANSWERS][-1].__name__}.")


def test_a_translation_that_was_cut_at_the_last_position_is_looked_into(
    tokenizer, tmp_path
):
    """Random weights write no </s>: the pass over what they wrote has all positions
    that there are."""
    torch.manual_seed(0)
    model = Transformer(
        Config(
            vocab_size=len(tokenizer),
            d_model=16,
            n_heads=2,
            n_layers=1,
            d_ff=16,
            max_length=40,
        )
    )
    checkpoint.save(tmp_path / "endless", model.eval(), tokenizer, {})
    service = Service.open(tmp_path / "endless", "cpu")
    try:
        translation, trace = service.translate_and_trace(
            "The cat sleeps and the dog eats.", Options(beam=1)
        )
        assert not translation.best.finished and len(trace.target) == 40
    finally:
        service.close()
