"""The models that ship: they fit their limits, their cards are true to their files, and
they do what people ask."""

import base64
import json
import lzma
import re
from pathlib import Path

import numpy as np
import pytest

from research.options import PretrainingRuns
from tests.pages import laid_out, shown
from xformer.__main__ import main
from xformer.figures.attention import Choice, picture
from xformer.figures.head_payload import payload
from xformer.parts.architecture.part import heading_of
from xformer.parts.attribution_methods import part as attribution_methods
from xformer.results import STACKS, Occlude
from xformer.results.reviews import BEGINNINGS, GENERATIVE
from xformer.serve.reviews import SentimentService
from xformer.serve.study import Study
from xformer.strings import ENGLISH
from xformer.training.data.corpora import key, read_pairs
from xformer.ui.tabs import EXAMPLES

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "checkpoints" / "en-es"
WRITTEN = ROOT / "xformer" / "training" / "data" / "written.tsv.xz"


@pytest.mark.parametrize(
    "folder", sorted((ROOT / "checkpoints").iterdir()), ids=lambda folder: folder.name
)
@pytest.mark.slow
def test_it_is_small_enough_to_ship_and_its_card_is_true(folder, capsys):
    assert all(path.stat().st_size < 40_000_000 for path in folder.iterdir())
    assert main(["checkpoint", "verify", str(folder)]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", ["en-es", "es-en"])
def test_what_it_learned_from_is_counted_by_length_and_by_file(name):
    metrics = json.loads(FOLDER.with_name(name).joinpath("metrics.json").read_bytes())
    found = metrics["lengths"]
    files = dict(found["trained_on"])
    assert sum(one["training"] for one in found["buckets"]) == sum(files.values())
    assert len(read_pairs(WRITTEN.with_name("words.tsv.xz"))) == files["words.tsv.xz"]
    assert {"train.tsv.xz", "extra.tsv.xz", "extra2.tsv.xz", WRITTEN.name} <= {*files}


def test_the_translation_model_is_small(shipped):
    assert shipped.info.parameters <= 20_000_000


def test_its_card_names_data_licence_command_and_scores(shipped):
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"{shipped.info.parameters:,} parameters" in card
    assert (
        "CC-BY 2.0 FR" in card
        and "python -m xformer train translation" in card
        and "BLEU" in card
    )
    assert (
        json.loads((FOLDER / "metrics.json").read_text(encoding="utf-8"))["scores"][0][
            "bleu"
        ]
        > 0
    )


@pytest.mark.parametrize(
    ("english", "wanted"),
    [
        ("I was waiting for Tom.", {"Tom", "esperando", "esperaba"}),
        ("i was waiting for tom", {"Tom", "esperando", "esperaba"}),
        ("Where do you live?", {"¿Dónde", "vives?", "vive?"}),
        ("where do you live", {"¿Dónde", "vives?", "vive?"}),
        ("She is my sister.", {"hermana."}),
        ("Good night.", {"noches."}),
        ("Thank you very much.", {"gracias."}),
        ("The cat is black.", {"gato", "negro."}),
    ],
)
def test_it_translates_what_people_type(shipped, english, wanted):
    found = shipped.translate(english)
    assert wanted & set(found.best.text.split()), found.best.text
    assert not found.warnings


def test_nonsense_is_marked_as_a_guess_and_a_plain_sentence_is_not(shipped):
    """By the bound that was fitted to these weights; the Model tab says how much it
    catches."""
    assert any(
        one.key == "warning_guess"
        for one in shipped.translate("blorp frindle").warnings
    )
    assert not shipped.translate("The cat sleeps.").warnings
    found = json.loads((FOLDER / "metrics.json").read_text(encoding="utf-8"))["guesses"]
    assert found["identity"] == shipped.info.identity, (
        "give `research evaluate guesses --save` for these weights"
    )
    assert (
        f"on {found['caught']} of the {found['wrong']} there that are wrong"
        in heading_of(shipped, ENGLISH)
    )


def rows_of(name):
    """English, a tab, and what counts as right, in a file of this folder."""
    return [
        line.split("\t")
        for line in (ROOT / "tests" / name).read_text(encoding="utf-8").splitlines()
    ]


def test_it_keeps_the_everyday_sentences_that_it_knows(shipped):
    """Greetings, phrases, idioms, pronouns, rare words, names: English, a tab, and
    translations that count as right."""
    rows = rows_of("everyday.tsv")
    assert len(rows) >= 94
    found = [
        one.best.text
        for one in shipped.translate_many([english for english, _ in rows])
    ]
    lost = {
        english: text
        for (english, wanted), text in zip(rows, found, strict=True)
        if text not in wanted.split("|")
    }
    assert not lost


def test_words_and_phrases_come_out_as_a_dictionary_has_them(shipped):
    """English words and phrases, a tab, and translations that count as right: bare,
    with no sign that was not typed."""
    rows = rows_of("words.tsv")
    assert len(rows) >= 200
    found = [
        one.best.text
        for one in shipped.translate_many([english for english, _ in rows])
    ]
    wrong = [
        (english, text)
        for (english, wanted), text in zip(rows, found, strict=True)
        if text not in wanted.split("|")
        and (english.islower() or text.lower() not in wanted.lower().split("|"))
    ]
    assert len(wrong) <= 0.08 * len(rows), wrong
    assert not [text for text in found if "¡" in text]
    with lzma.open(WRITTEN, "rt", encoding="utf-8") as file:
        learned = {key(line.split("\t")[0]) for line in file}
    seen = [key(english) in learned for english, _ in rows]
    right = [english not in dict(wrong) for english, _ in rows]
    both = sum(map(all, zip(seen, right, strict=True)))
    made = [
        len(rows),
        sum(right),
        both,
        sum(seen),
        sum(right) - both,
        len(rows) - sum(seen),
    ]
    assert made[-1] >= 50, "rows that no written pair has"
    for path in (FOLDER / "README.md", ROOT / "docs" / "RESULTS.md"):
        said = re.search(
            r"Of (\d+) common words and phrases .*? (\d+) come out .*? (\d+) of the (\d+) that stand in "
            r"the pairs it was trained on .*? (\d+) of the (\d+) that do not",
            " ".join(path.read_text(encoding="utf-8").split()),
        )
        assert [int(one) for one in said.groups()] == pytest.approx(made, abs=2), (
            f"{path.name} should say {made}"
        )


@pytest.mark.parametrize(
    "dress",
    [
        pytest.param("{}.".format, id="full stop", marks=pytest.mark.full),
        pytest.param(str.capitalize, id="capital", marks=pytest.mark.full),
        pytest.param(lambda text: f"{text.capitalize()}.", id="capital and full stop"),
        pytest.param(str.upper, id="capitals", marks=pytest.mark.full),
    ],
)
def test_what_is_typed_with_capitals_or_a_full_stop_is_the_same_word(shipped, dress):
    """But for the case of its letters, since the model may read it in small ones."""
    rows = [
        row for row in rows_of("words.tsv") if row[0].islower() and row[0][-1].isalpha()
    ]
    found = [
        one.best.text
        for one in shipped.translate_many([dress(english) for english, _ in rows])
    ]
    wrong = [
        (english, text)
        for (english, wanted), text in zip(rows, found, strict=True)
        if text.lower().removesuffix(".") not in wanted.lower().split("|")
    ]
    assert len(wrong) <= 0.08 * len(rows), wrong
    assert not [text for text in found if "¡" in text]


def test_names_numbers_addresses_and_signs_are_copied(shipped):
    """English sentences, a tab, and what of each, as Spanish writes it, must stand in
    its translation."""
    rows = rows_of("copied.tsv")
    assert len(rows) >= 60
    found = [
        one.best.text
        for one in shipped.translate_many([english for english, _ in rows])
    ]
    lost = [
        (english, text)
        for (english, wanted), text in zip(rows, found, strict=True)
        if not all(part in text for part in wanted.split("|"))
    ]
    assert len(lost) <= 0.1 * len(rows), lost


def test_the_first_examples_are_a_word_a_phrase_a_question_and_a_name_with_a_number():
    """Beside sentences; the page offers them in this order."""
    _, word, phrase, question, named, *_ = EXAMPLES
    assert word.isalpha() and word.islower()
    assert len(phrase.split()) == 2 and phrase.replace(" ", "").isalpha()
    assert question.endswith("?") and question[0].isupper()
    assert re.search(r"\d", named) and re.search(r" [A-Z][a-zü]+ ", named)


@pytest.fixture(scope="module")
def page(shipped):
    return laid_out(shipped)


def test_a_bare_word_has_a_picture_of_its_attention(page, shipped):
    """Of a row for each piece of "gato" and of </s>, over "cat" and </s>."""
    trace = shipped.explain("cat")
    for stack in STACKS:
        choice = Choice(stack)
        sent = payload(picture(trace, choice), choice, shipped.info.identity)
        values = np.frombuffer(base64.b64decode(sent["data"]), dtype="<f4").reshape(
            len(sent["queries"]), -1
        )
        assert (
            len(values) >= 1 and values.shape[1] == len(sent["keys"]) and sent["title"]
        )
        np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-4)
        drawn = shown(
            page.pictures["attention"],
            shipped,
            trace=trace,
            stack=stack,
            layer=1,
            head=1,
        )
        assert drawn["about"], "the page shows it too"


def test_a_long_sentence_is_translated_to_its_end(shipped):
    found = shipped.translate(
        json.loads((ROOT / "assets" / "examples.json").read_text("utf-8"))[
            "translation"
        ][0]
    )
    words = set(found.best.text.lower().replace(".", "").split())
    assert (
        "amigo" in words and words & {"coche", "auto", "carro"} and len(words) >= 12
    ), found.best.text


def test_the_head_that_the_page_opens_on_is_read_where_a_word_was_given(page, shipped):
    trace = shipped.trace(
        "My friend bought a red car.", "Mi amigo compró un coche rojo."
    )
    _, layer, head = shipped.best_head
    occlusion = shipped.ask(Occlude(trace.text, trace.tokens))
    html = attribution_methods.compare(
        shipped,
        ENGLISH,
        trace=trace,
        result=occlusion,
        word=1,
        head=f"cross.{layer}.{head}",
    )
    assert (
        "For “amigo” the head looks most at friend, takes most along from friend"
        in html
    )
    assert "Attention is read where “amigo” was given" in html
    drawn = shown(
        page.pictures["attention"],
        shipped,
        trace=trace,
        stack="cross",
        layer=layer,
        head=head,
    )
    assert "So its rows are named by the piece given." in drawn["about"]


@pytest.fixture(scope="module")
def reader():
    return SentimentService.open(ROOT / "checkpoints" / "sentiment", "cpu")


def test_the_classifier_says_what_it_scored(reader):
    scores = {score["set"]: score["accuracy"] for score in reader.metrics["scores"]}
    assert scores["imdb-test"] >= 0.88 and scores["sst2-validation"] >= 0.84
    assert reader.calibration is not None and reader.calibration.error < 0.03


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("I loved it.", "positive"),
        ("I hated it.", "negative"),
        ("It is not good.", "negative"),
        ("A wonderful film, funny and moving.", "positive"),
        ("A dull film, long and boring.", "negative"),
        ("The acting was good but the story was a mess.", "negative"),
    ],
)
def test_it_judges_what_people_type(reader, text, label):
    (found,) = reader.classify([text])
    assert found.label == label and found.probability > 0.6


def test_what_pre_training_is_worth_was_measured_at_three_shares_with_three_seeds_at_the_smallest():
    study = Study().pretraining()
    assert study.shares == [0.01, 0.1, 1]
    for kind in (*BEGINNINGS, *GENERATIVE):
        assert [one.seed for one in study.of(kind, 0.01)] == [0, 1, 2]
        assert all(study.of(kind, share) for share in study.shares), kind
    asked = vars(PretrainingRuns())
    assert {name: study.about[name] for name in asked} == asked, (
        "made with what the command has as its defaults"
    )
    assert len({(one.kind, one.share, one.seed) for one in study.runs}) == len(
        study.runs
    )
