"""Why a text was judged so: the fast way against the readable one, effects one by one,
ranks on hand-worked cases."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from xformer.classifier import POOLINGS, ClassifierConfig, TransformerClassifier
from xformer.explain import attribution
from xformer.fast import pack
from xformer.hub import checkpoint
from xformer.model import NORMS, Trace
from xformer.pieces import BOS, EOS, UNK
from xformer.results import Bin, Calibration, UserError
from xformer.serve.reviews import SentimentService, encode, read

TEXT = "I loved every minute of it!"


@pytest.fixture(scope="module")
def running(tiny_classifier):
    return SentimentService.open(tiny_classifier, "cpu")


def classifier(tokenizer, **more):
    torch.manual_seed(3)
    shape = {
        "d_model": 32,
        "n_heads": 4,
        "n_layers": 2,
        "d_ff": 64,
        "dropout": 0.0,
        "max_length": 64,
        **more,
    }
    model = TransformerClassifier(ClassifierConfig(vocab_size=len(tokenizer), **shape))
    # the pooling's query begins at 0, where its weights are equal
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += 0.3 * torch.randn_like(parameter)
    return model.eval()


# Leaving words out


def test_a_word_left_out_is_unknown_and_nothing_moves():
    assert attribution.without([BOS, 7, 8, 9, EOS], [1, 2]) == [BOS, UNK, UNK, 9, EOS]


def test_words_are_all_pieces_but_the_marks():
    row = [BOS, 7, 8, UNK, 9, EOS]
    pieces = ["<s>", "▁mov", "ing", "<unk>", ".", "</s>"]
    assert attribution.word_groups(row, pieces) == [[1, 2], [3], [4]]


def test_a_word_ends_where_pieces_were_left_out():
    row = [BOS, 7, 8, 9, 7, 8, EOS]
    pieces = ["<s>", "▁anti", "dis", "cali", "docious", "▁so", "</s>"]
    assert attribution.word_groups(row, pieces) == [[1, 2, 3, 4], [5]]
    assert attribution.word_groups(row, pieces, 3) == [[1, 2], [3, 4], [5]]
    assert attribution.word_groups(row, pieces, 5) == [[1, 2, 3, 4], [5]]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("budget", [1, 40, 10_000])
def test_the_fast_way_reads_what_the_readable_way_reads(
    review_tokenizer, reviews, monkeypatch, norm, pooling, budget
):
    monkeypatch.setattr(attribution, "BATCH_PIECES", budget)
    monkeypatch.setattr(attribution, "halves", lambda: False)
    model = classifier(review_tokenizer, norm=norm, pooling=pooling, causal=True)
    row, _ = encode(review_tokenizer, " ".join(text for _, text in reviews[:3]), 64)
    groups = attribution.word_groups(row, review_tokenizer.pieces(row))
    slow, _ = read(model, [row, *(attribution.without(row, group) for group in groups)])
    told = []
    fast = attribution.read_without(model, row, groups, told.append)
    assert len(groups) > 10 and fast.shape == (1 + len(groups), 2)
    torch.testing.assert_close(fast, slow, atol=1e-5, rtol=0)
    assert (fast[1:] - fast[0]).abs().max() > 0.01, (
        "leaving words out changes nothing: the test would not notice"
    )
    assert sum(told) == len(groups) and (len(told) > 1) == (budget < 10_000)


@pytest.mark.parametrize("norm", NORMS)
def test_in_bfloat16_the_fast_way_differs_by_rounding_only(
    review_tokenizer, reviews, monkeypatch, norm
):
    # slower where the CPU cannot, but right
    monkeypatch.setattr(attribution, "halves", lambda: True)
    model = classifier(review_tokenizer, norm=norm, causal=True)
    pack(model)
    row, _ = encode(review_tokenizer, " ".join(text for _, text in reviews[:3]), 64)
    groups = attribution.word_groups(row, review_tokenizer.pieces(row))
    exact, _ = read(
        model, [row, *(attribution.without(row, group) for group in groups)]
    )
    rounded = attribution.read_without(model, row, groups)
    assert rounded.dtype == torch.float32
    assert 0 < (rounded - exact).abs().max() < 0.02 < (exact[1:] - exact[0]).abs().max()


def test_a_model_in_half_precision_as_on_a_gpu_reads_so_too(
    review_tokenizer, reviews, monkeypatch
):
    monkeypatch.setattr(attribution, "halves", lambda: False)
    model = classifier(review_tokenizer, causal=True).to(torch.float16)
    row, _ = encode(review_tokenizer, reviews[0][1], 64)
    groups = attribution.word_groups(row, review_tokenizer.pieces(row))
    slow, _ = read(model, [row, *(attribution.without(row, group) for group in groups)])
    torch.testing.assert_close(
        attribution.read_without(model, row, groups), slow, atol=0.01, rtol=0
    )


def test_a_pytorch_that_does_not_know_the_cpu_multiplies_in_float32(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert attribution.halves() is False


def test_where_pieces_see_those_after_them_the_fast_way_is_refused(review_tokenizer):
    model = classifier(review_tokenizer)
    with pytest.raises(ValueError, match="not causal"):
        attribution.read_without(model, [BOS, 7, EOS], [[1]])


@pytest.mark.parametrize(
    ("logits", "label", "odds"),
    [
        ([0.0, math.log(3)], 1, math.log(3)),
        ([0.0, math.log(3)], 0, -math.log(3)),
        ([0.0, 0.0, 0.0], 2, -math.log(2)),
        ([math.log(1), math.log(2), math.log(5)], 2, math.log(5 / 3)),
    ],
)
def test_log_odds_by_hand(logits, label, odds):
    assert float(attribution.log_odds(torch.tensor(logits), label)) == pytest.approx(
        odds, abs=1e-6
    )


@torch.inference_mode()
def odds_of(model, row):
    """log(p / (1 - p)) of "positive", from one row on its own."""
    p = float(model.probabilities(model(torch.tensor([row])).logits)[0, 1].double())
    return math.log(p / (1 - p))


@pytest.mark.parametrize("causal", [False, True])
def test_effects_are_those_of_one_word_after_another(
    review_tokenizer, reviews, learn_reviews, tmp_path, monkeypatch, causal
):
    monkeypatch.setattr(attribution, "halves", lambda: False)
    model = classifier(review_tokenizer, causal=causal, temperature=1.5)
    learn_reviews(model, review_tokenizer, reviews, 30)
    checkpoint.save(tmp_path / "one", model, review_tokenizer, {})
    found = SentimentService.open(tmp_path / "one", "cpu").attribute(TEXT)
    row, _ = encode(review_tokenizer, TEXT, 64)
    groups = attribution.word_groups(row, review_tokenizer.pieces(row))
    wanted = [
        odds_of(model, row) - odds_of(model, attribution.without(row, group))
        for group in groups
    ]
    assert found.toward == "positive" and found.effect.dtype == np.float32
    np.testing.assert_allclose(found.effect, wanted, atol=1e-3)
    assert "".join(found.words).replace("▁", " ").strip() == TEXT.lower()


def test_a_word_that_decides_speaks_for_its_label(running):
    for text, word, sign in (
        (TEXT, "▁loved", 1),
        ("I hated every minute of it!", "▁hated", -1),
    ):
        found = running.attribute(text)
        assert (
            sign * found.effect[found.words.index(word)]
            == max(sign * found.effect)
            > 0.5
        )


def test_of_three_labels_the_one_found_is_asked_about(review_tokenizer, tmp_path):
    model = classifier(review_tokenizer, labels=("bad", "so", "good"), causal=True)
    checkpoint.save(tmp_path / "three", model, review_tokenizer, {})
    found = SentimentService.open(tmp_path / "three", "cpu").attribute(TEXT)
    assert (
        found.toward == found.sentiment.label in ("bad", "so", "good")
        and np.isfinite(found.effect).all()
    )


@pytest.mark.parametrize("norm", NORMS)
def test_a_maximum_is_taken_apart_into_words_and_dimensions_that_sum_to_the_log_odds(
    review_tokenizer, tmp_path, norm
):
    model = classifier(review_tokenizer, pooling="max", norm=norm, temperature=1.5)
    checkpoint.save(tmp_path / "one", model, review_tokenizer, {})
    service = SentimentService.open(tmp_path / "one", "cpu")
    answer = service.attribute(TEXT)
    found = answer.maximum
    row, _ = encode(review_tokenizer, TEXT, 64)
    assert found.words == ("<s>", *answer.words, "</s>") and found.values.shape == (
        len(found.words),
        32,
    )
    assert float(found.adds.sum()) + found.bias == pytest.approx(
        odds_of(service.model, row), abs=1e-4
    )
    assert found.against == "negative"
    with torch.inference_mode():
        states = service.model(torch.tensor([row])).states[0]
    pieces = review_tokenizer.pieces(row)
    places = states.argmax(dim=0).tolist()
    word_of = [-1] * len(row)
    for word, group in enumerate(
        [[0], *attribution.word_groups(row, pieces), [len(row) - 1]]
    ):
        for i in group:
            word_of[i] = word
    assert found.givers.tolist() == [word_of[i] for i in places]
    shares = np.bincount(found.givers, minlength=len(found.words)) / 32
    assert shares[1:-1] == pytest.approx(answer.pooling), "as the pooling has it"


def test_another_pooling_has_no_maximum_to_take_apart(running):
    assert running.attribute(TEXT).maximum is None


@pytest.fixture(params=[False, True], ids=["both sides", "causal"])
def any_mask(request, review_tokenizer, reviews, learn_reviews, tmp_path, monkeypatch):
    """A service on a classifier with either mask, multiplying in float32."""
    monkeypatch.setattr(attribution, "halves", lambda: False)
    model = classifier(review_tokenizer, causal=request.param, temperature=1.5)
    learn_reviews(model, review_tokenizer, reviews, 30)
    checkpoint.save(tmp_path / "one", model, review_tokenizer, {})
    return SentimentService.open(tmp_path / "one", "cpu")


def test_a_review_is_read_once_with_a_trace_and_once_beside_its_words(
    any_mask, monkeypatch
):
    """The encoder sees the whole row twice: for the label and what is looked at, and as
    what words are compared with."""
    model = any_mask.model
    passes = []
    row, _ = encode(any_mask.tokenizer, TEXT, 64)
    read_all = model.encoder.forward

    def watched(x, mask, trace=None, heads=None, pasts=None):
        if x.shape[1] == len(row):
            passes.append((x.shape[0], trace is not None))
        return read_all(x, mask, trace, heads, pasts)

    monkeypatch.setattr(model.encoder, "forward", watched)
    words = len(any_mask.attribute(TEXT).words)
    assert passes == [
        (1, True),
        (1, False) if model.config.causal else (1 + words, False),
    ]


def test_the_traced_pass_gives_what_reading_without_a_trace_gives(any_mask):
    explained = any_mask.attribute(TEXT).sentiment
    (sentiment,) = any_mask.classify([TEXT])
    assert (
        explained.text,
        explained.label,
        explained.pieces,
        explained.cut,
        explained.warnings,
    ) == (
        sentiment.text,
        sentiment.label,
        sentiment.pieces,
        sentiment.cut,
        sentiment.warnings,
    )
    assert explained.probabilities == pytest.approx(sentiment.probabilities, abs=1e-6)
    np.testing.assert_allclose(explained.weights, sentiment.weights, atol=1e-6)


def test_a_review_is_cut_into_pieces_once(running, monkeypatch):
    cut = []
    encode_text = running.tokenizer._sp.encode
    monkeypatch.setattr(
        running.tokenizer,
        "_sp",
        SimpleNamespace(
            encode=lambda text, **more: cut.append(text) or encode_text(text, **more),
            id_to_piece=running.tokenizer._sp.id_to_piece,
            decode=running.tokenizer._sp.decode,
        ),
    )
    for ask in (
        lambda: running.classify([TEXT]),
        lambda: running.attribute(TEXT),
        lambda: running.clean(TEXT),
    ):
        ask()
        assert cut == [TEXT]
        cut.clear()


# What is looked at


def test_what_is_looked_at_sums_to_one_with_the_marks(running):
    found = running.attribute(TEXT)
    weights = found.sentiment.weights
    assert found.pooling.sum() == pytest.approx(1 - weights[0] - weights[-1], abs=1e-5)
    assert (
        found.heads.shape == (2, 4, len(found.words))
        and found.heads.dtype == np.float32
    )
    heads = attribution.look(
        running.model, encode(running.tokenizer, TEXT, 24)[0]
    ).heads
    np.testing.assert_allclose(heads.sum(axis=-1), 1, atol=1e-5)


def test_where_all_pieces_are_pooled_alike_a_heads_look_is_the_mean_of_its_rows(
    review_tokenizer,
):
    model = classifier(review_tokenizer, pooling="mean", causal=True)
    row, _ = encode(review_tokenizer, TEXT, 64)
    trace = Trace()
    with torch.inference_mode():
        model(torch.tensor([row]), trace)
    found = attribution.look(model, row)
    weights = found.pooling
    heads = found.heads
    np.testing.assert_allclose(weights, 1 / len(row), atol=1e-6)
    np.testing.assert_allclose(
        heads[1, 3], trace.encoder_self.probabilities[1][0, 3].mean(dim=0), atol=1e-6
    )


def test_a_word_is_looked_at_as_much_as_its_pieces_together():
    values = np.array([[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(
        attribution.of_words(values, [[1, 2], [3]]), [[0.5, 0.4], [0, 0]]
    )


# Texts of every kind


def test_a_cut_text_says_where(running):
    found = running.attribute("The best film of the year. " * 20)
    assert found.sentiment.cut and len(found.sentiment.pieces) == 24
    kept = "".join(found.words[: found.cut]).replace("▁", " ").strip()
    assert (
        kept
        and "the best film of".startswith(kept)
        and found.sentiment.warnings[0].key == "warning_review_cut"
    )
    assert running.attribute(TEXT).cut is None


def test_two_words_are_not_joined_across_the_cut(running):
    """Neither part of what the cut left of two words is shown as a word that nobody
    wrote."""
    text = " ".join(["wonderfulactors", "boringminute"] * 10)
    attribution = running.attribute(text)
    pieces = attribution.sentiment.pieces  # 22 pieces are read
    first = 5  # a quarter of them stands before the cut
    assert "".join(attribution.words[: attribution.cut]) == "".join(
        pieces[1 : 1 + first]
    )
    assert "".join(attribution.words[attribution.cut :]) == "".join(
        pieces[1 + first : -1]
    )
    assert not pieces[1 + first].startswith("▁"), (
        "the cut goes through no word, so the test tells nothing"
    )
    for word in attribution.words:
        assert word.removeprefix("▁") in text
    assert (
        len(attribution.effect)
        == len(attribution.pooling)
        == attribution.heads.shape[-1]
        == len(attribution.words)
    )


@pytest.mark.slow
def test_two_thousand_words_are_explained_and_progress_is_told(
    review_tokenizer, tmp_path
):
    model = classifier(review_tokenizer, causal=True, max_length=512)
    checkpoint.save(tmp_path / "long", model, review_tokenizer, {})
    told = []
    found = SentimentService.open(tmp_path / "long", "cpu").attribute(
        "the film is not bad " * 400, lambda *done: told.append(done)
    )
    assert len(found.sentiment.pieces) == 512 and found.sentiment.cut > 0
    assert len(found.words) == len(found.effect) == found.heads.shape[-1] > 100
    assert (
        len(told) > 1 and told == sorted(told) and told[-1] == (len(found.words),) * 2
    )


def test_a_single_word_and_unknown_characters_are_no_trouble(running):
    assert running.attribute("great").words == ("▁great",)
    found = running.attribute("A great film 🙂")
    assert found.effect[found.words.index("<unk>")] == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "There is nothing to judge"),
        ("word " * 6001, "30,005 characters"),
        ("🙂", "never seen these characters: 🙂"),
    ],
)
def test_bad_text_is_refused_in_a_sentence(running, text, said):
    with pytest.raises(UserError, match=said):
        running.attribute(text)


# What was measured


def test_measurements_are_read_and_nonsense_is_as_if_not_there(running, monkeypatch):
    measured = {
        "temperature": 1.2,
        "error": 0.02,
        "error_before": 0.05,
        "bins": [{"count": 3, "confidence": 0.75, "accuracy": 0.7}],
    }
    monkeypatch.setattr(running, "metrics", {"calibration": measured})
    assert running.calibration == Calibration(1.2, 0.02, 0.05, (Bin(3, 0.75, 0.7),))
    for nonsense in ({}, {"calibration": {"bins": 3}}, {"calibration": 3}):
        monkeypatch.setattr(running, "metrics", nonsense)
        assert running.calibration is None
