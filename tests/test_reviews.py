"""Reviews in, sentiments out: cleaning, cutting, batches, the service, and its
commands."""

import io
import json
import lzma
import shutil

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from xformer.__main__ import main
from xformer.classifier import TransformerClassifier
from xformer.hub import checkpoint
from xformer.pieces import BOS, EOS
from xformer.results import UserError
from xformer.serve import reviews as sentiment
from xformer.serve.reviews import SentimentService, encode, fit, read, tidy


@pytest.fixture(scope="module")
def running(tiny_classifier):
    return SentimentService.open(tiny_classifier, "cpu")


def run(capsys, *argv):
    status = main([str(a) for a in argv])
    out, err = capsys.readouterr()
    return status, out, err


# Cleaning and cutting


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("One.<br /><br />Two.<BR>Three.<br/>", "One. Two. Three."),
        ("Do n't go , it 's bad .", "Don't go, it's bad."),
        ("`` Frailty '' offers", '"Frailty" offers'),
        ("a -LRB- good -RRB- film", "a (good) film"),
        ("What ? No ... yes !", "What? No... yes!"),
        ("It's fine, really.", "It's fine, really."),
        ("  a \n b\t", "a b"),
        ("good :) and 100 % ; so : yes", "good :) and 100%; so: yes"),
        ("they 'll , I 'd", "they'll, I'd"),
        ("<br />", ""),
    ],
)
def test_texts_are_tidied(text, plain):
    assert tidy(text) == plain


@given(st.text())
def test_a_tidy_text_is_on_one_line(text):
    plain = tidy(text)
    assert "\n" not in plain and "  " not in plain and plain == plain.strip()


def test_what_fits_is_whole():
    assert fit(range(8), 8) == (list(range(8)), 0)
    assert fit([], 8) == ([], 0)


def test_of_what_does_not_fit_a_quarter_of_the_head_and_the_tail_stay():
    assert fit(range(100), 8) == ([0, 1, 94, 95, 96, 97, 98, 99], 92)


@given(st.integers(0, 60), st.integers(1, 30))
def test_nothing_is_read_twice_and_all_that_is_lost_is_counted(length, limit):
    kept, cut = fit(range(length), limit)
    assert (
        len(kept) == min(length, limit)
        and len(kept) + cut == length
        and sorted(set(kept)) == kept
    )


def test_pieces_begin_and_end_with_their_marks(review_tokenizer):
    row, cut = encode(review_tokenizer, "A wonderful film, funny and moving.", 10)
    whole = review_tokenizer.encode("a wonderful film, funny and moving.")
    assert (row[0], row[-1], len(row)) == (BOS, EOS, 10)
    assert row[1:3] == whole[:2] and row[3:-1] == whole[-6:] and cut == len(whole) - 8


def test_capitals_make_no_difference(review_tokenizer):
    assert review_tokenizer.encode("THE BEST Film") == review_tokenizer.encode(
        "the best film"
    )


# Reading


def test_texts_are_read_in_batches_as_they_are_alone(
    tiny_classifier, review_tokenizer, reviews, monkeypatch
):
    model = checkpoint.load(tiny_classifier, TransformerClassifier).model
    rows = [encode(review_tokenizer, text, 24)[0] for _, text in reviews]
    monkeypatch.setattr(sentiment, "CPU_BATCH_PIECES", 60)
    done = []
    logits, weights = read(model, rows, done.append)
    assert sum(done) == 12 and len(done) > 3
    for i, row in enumerate(rows):
        alone = model(torch.tensor([row]))
        torch.testing.assert_close(logits[i], alone.logits[0], rtol=0, atol=1e-5)
        torch.testing.assert_close(weights[i], alone.weights[0], rtol=0, atol=1e-5)


def test_no_texts_are_no_texts(running):
    assert running.classify([]) == []


# The service


def test_what_was_learned_by_heart_is_told(running, reviews):
    found = running.classify([text for _, text in reviews])
    assert [s.label for s in found] == [
        ("negative", "positive")[label] for label, _ in reviews
    ]
    for s, (_, text) in zip(found, reviews, strict=True):
        assert s.text == text and s.cut == 0 and s.warnings == ()
        assert s.probability == max(s.probabilities.values()) > 0.5
        assert sum(s.probabilities.values()) == pytest.approx(1, abs=1e-5)
        assert (
            s.pieces[0] == "<s>"
            and s.pieces[-1] == "</s>"
            and s.weights.shape == (len(s.pieces),)
        )
        assert s.weights.dtype == np.float32 and s.weights.sum() == pytest.approx(
            1, abs=1e-5
        )


def test_probabilities_are_calibrated(running, tiny_classifier):
    loaded = checkpoint.load(tiny_classifier, TransformerClassifier)
    row, _ = encode(loaded.tokenizer, "I loved every minute of it!", 24)
    logits = loaded.model(torch.tensor([row])).logits[0]
    assert running.classify(["I loved every minute of it!"])[0].probabilities[
        "positive"
    ] == pytest.approx(float((logits / 2.0).softmax(0)[1]), abs=1e-5)


def test_line_breaks_of_html_are_no_matter(running):
    (one, two) = running.classify(
        ["The actors<br />are great.", "The actors are great."]
    )
    assert (
        one.text == two.text
        and one.probability == pytest.approx(two.probability, abs=1e-5)
        and not one.warnings
    )


def test_a_long_text_is_cut_and_says_so(running):
    (found,) = running.classify(["The best film of the year. " * 20])
    assert len(found.pieces) == 24 and found.cut > 100
    assert found.warnings[0].say() == (
        f"The text is longer than the model reads: {found.cut:,} of its "
        f"{found.cut + 22:,} pieces were left out, after the first 5."
    )


def test_two_thousand_words_work(running):
    assert running.classify(["wonderful film " * 1000])[0].label in (
        "negative",
        "positive",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "There is nothing to judge"),
        (" \n\x07", "There is nothing to judge"),
        ("<br /><br />", "nothing to judge"),
        ("\ufffd", "nothing to judge"),
        ("\u2581 \ufffd", "nothing to judge"),
        ("<br />\u2581", "nothing to judge"),
        (
            "word " * 6001,
            "The text has 30,005 characters (6,001 words); at most 30,000 characters",
        ),
        ("🙂", "never seen these characters: 🙂"),
        ("你好", "never seen these characters: 你好"),
    ],
)
def test_bad_text_is_refused_in_a_sentence(running, text, said):
    with pytest.raises(UserError) as error:
        running.classify(["The best film.", text])
    assert said in str(error.value) and str(error.value).endswith(".")


def test_what_is_odd_is_said(running):
    (found,) = running.classify(["A <b>great</b>\x07 film 🙂"])
    assert [warning.key for warning in found.warnings] == [
        "warning_control",
        "warning_review_markup",
        "warning_unknown",
    ]


def test_a_sign_read_as_a_space_is_said_and_a_comparison_is_no_markup(running):
    (damaged, compared) = running.classify(
        ["A great\ufffd film.", "A film <great and great> good."]
    )
    assert [warning.key for warning in damaged.warnings] == ["warning_blank"]
    # < and >, in this vocabulary
    assert [warning.key for warning in compared.warnings] == ["warning_unknown"]


# Commands


def test_classifies_a_text(capsys, tiny_classifier):
    status, out, err = run(
        capsys,
        "classify",
        "I loved every minute of it!",
        "--checkpoint",
        tiny_classifier,
    )
    label, probability = out.strip().split("\t")
    assert (status, label, err) == (0, "positive", "") and 0.5 < float(probability) <= 1


def test_json_has_the_promised_keys(capsys, tiny_classifier):
    status, out, _ = run(
        capsys,
        "classify",
        "I hated every minute of it!",
        "--checkpoint",
        tiny_classifier,
        "--json",
    )
    found = json.loads(out)
    assert status == 0 and out.count("\n") == 1
    assert list(found) == [
        "label",
        "probability",
        "probabilities",
        "pieces",
        "weights",
        "cut",
        "warnings",
    ]
    assert (
        found["label"] == "negative"
        and found["probability"] == found["probabilities"]["negative"]
    )
    assert len(found["pieces"]) == len(found["weights"])


def test_a_bad_line_keeps_its_place_and_the_others_are_classified(
    capsys, tiny_classifier, monkeypatch
):
    monkeypatch.setattr(
        "sys.stdin",
        io.StringIO("I loved every minute of it!\n\nI hated every minute of it!\n"),
    )
    status, out, err = run(capsys, "classify", "--checkpoint", tiny_classifier)
    assert status == 2 and [line.split("\t")[0] for line in out.split("\n")[:3]] == [
        "positive",
        "",
        "negative",
    ]
    assert (
        err == "Line 2: There is nothing to judge: type or paste an English review.\n"
    )


@pytest.mark.parametrize("command", [["classify", "Good."], ["evaluate", "sentiment"]])
def test_a_missing_checkpoint_gets_one_sentence(capsys, tmp_path, monkeypatch, command):
    monkeypatch.setattr("xformer.hub.shipped.ROOT", tmp_path)
    (tmp_path / "rows.tsv").write_text("1\tGood.\n")
    more = ["--rows", tmp_path / "rows.tsv"] if command[0] == "evaluate" else []
    status, out, err = run(capsys, *command, *more)
    assert (status, out) == (2, "") and err == (
        f"No checkpoint is named, and there is none at {tmp_path / 'checkpoints' / 'sentiment'}: name a folder, or "
        "owner/name on the Hub, with --checkpoint or in XFORMER_SENTIMENT; a clone of the repository has one.\n"
    )


def test_a_checkpoint_of_another_kind_gets_one_sentence(
    capsys, tiny_checkpoint, tiny_classifier
):
    for command, folder in (
        ("classify", tiny_checkpoint),
        ("translate", tiny_classifier),
    ):
        status, out, err = run(capsys, command, "Good.", "--checkpoint", folder)
        assert (
            (status, out) == (2, "")
            and "is needed; name another folder" in err
            and err.count("\n") == 1
        )


@pytest.mark.parametrize("name", ["rows.tsv", "rows.tsv.xz"])
def test_evaluate_counts_what_is_right(
    capsys, tiny_classifier, reviews, tmp_path, name
):
    """One label of twelve is turned round."""
    rows = [(1 - reviews[0][0], reviews[0][1]), *reviews[1:]]
    content = "".join(f"{label}\t{text}\n" for label, text in rows).encode()
    (tmp_path / name).write_bytes(
        lzma.compress(content) if name.endswith("xz") else content
    )
    command = [
        "evaluate",
        "sentiment",
        "--rows",
        tmp_path / name,
        "--checkpoint",
        tiny_classifier,
    ]
    status, out, _ = run(capsys, *command, "--json")
    scores = json.loads(out)
    assert status == 0 and (scores["rows"], scores["cut"]) == (12, 0)
    assert scores["accuracy"] == pytest.approx(11 / 12, abs=1e-4)
    assert (
        scores["seconds"] >= 0
        and 0 <= scores["calibration_error"] <= 1
        and scores["checkpoint"] == "tiny-sentiment"
    )
    assert sum(b["count"] for b in scores["reliability"]) == 12
    status, out, _ = run(capsys, *command, "--limit", 1)
    assert (
        status == 0
        and out.startswith("accuracy 0.0000, expected calibration error ")
        and "1 texts" in out
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "There is no file"),
        ("", "holds no texts"),
        ("2\tGood.\n", "line 1 of"),
        ("1\tGood.\n1\t \n", "line 2 of"),
        ("Good.\n", "write 0 (negative) or 1 (positive), a tab, a text"),
    ],
)
def test_a_bad_file_of_rows_gets_one_sentence(
    capsys, tiny_classifier, tmp_path, content, said
):
    file = tmp_path / "rows.tsv"
    if content is not None:
        file.write_text(content)
    status, out, err = run(
        capsys, "evaluate", "sentiment", "--rows", file, "--checkpoint", tiny_classifier
    )
    assert (status, out) == (2, "") and said in err and err.count("\n") == 1


def test_a_broken_classifier_gets_one_sentence(capsys, tiny_classifier, tmp_path):
    folder = shutil.copytree(tiny_classifier, tmp_path / "broken")
    (folder / "config.json").write_text(
        (folder / "config.json").read_text().replace('"attention"', '"mean"')
    )
    status, _, err = run(capsys, "classify", "Good.", "--checkpoint", folder)
    assert status == 2 and "pooling.query is (32,), wanted nothing of that name" in err
