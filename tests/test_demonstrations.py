"""What lectures show with a translator, measured: each kind on a small model, what is
refused, and what ships."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from xformer.__main__ import main
from xformer.pieces import WORD_START
from xformer.results import Head, UserError, questions
from xformer.serve.translation import Service
from xformer.training.demonstrations import KINDS, Demonstration, evaluate, read

CHECKPOINTS = Path(__file__).resolve().parent.parent / "checkpoints"
DOG = "The dog eats the bread."
WORDS = re.compile(r"\w+")


@pytest.fixture(scope="module")
def service(tiny_checkpoint):
    service = Service.open(tiny_checkpoint, "cpu")
    yield service
    service.close()


def measured(service, kind, texts, *words):
    (found,) = evaluate(
        service, [Demonstration("one", "en", "", kind, texts, words, 0.5)]
    )
    assert found.passed == (found.measured >= 0.5)
    return found.measured


def places(pieces, word):
    """The positions of all pieces of a word."""
    text = ""
    first = 0
    for i, piece in enumerate((*pieces, WORD_START)):
        if piece.startswith(WORD_START) or not piece[0].isalnum():
            if text == word:
                return [*range(first, i)]
            text = ""
            first = i
        text += piece.removeprefix(WORD_START)
    raise AssertionError(f"no {word} in {pieces}")


def looks(maps, asks, seen):
    """A word's share, its pieces' mean, of another, its pieces' sum: in each head."""
    return maps[:, :, asks][..., seen].sum(-1).mean(-1)


def test_the_share_is_that_of_the_head_that_links_two_words_best(service):
    trace = service.translate_and_trace(DOG)[1]
    one = looks(
        trace.encoder_self, places(trace.source, "bread"), places(trace.source, "dog")
    ).max()
    other = looks(
        trace.encoder_self, places(trace.source, "bread"), places(trace.source, "eats")
    ).max()
    assert measured(service, "share", (DOG,), "bread", "dog") == pytest.approx(
        one, abs=1e-3
    )
    assert measured(service, "rather", (DOG,), "bread", "dog", "eats") == pytest.approx(
        one - other, abs=1e-3
    )
    assert measured(
        service, "rather", (DOG,), "bread", "dog", "eats", "dog"
    ) == pytest.approx(min(one - other, 0), abs=1e-3), (
        "the largest of the others counts"
    )


def test_a_word_costs_more_than_a_head_by_what_the_translation_loses(service):
    trace = service.translate_and_trace(DOG)[1]
    heads = looks(
        trace.encoder_self, places(trace.source, "bread"), places(trace.source, "dog")
    )
    layer, head = (int(i) + 1 for i in np.unravel_index(heads.argmax(), heads.shape))
    whole = sum(trace.log_probs)
    off = sum(
        service.trace(
            DOG, trace.tokens, off=[Head("encoder_self", layer, head)]
        ).log_probs
    )
    left = sum(service.trace("The eats the bread.", trace.tokens).log_probs)
    assert measured(service, "costs", (DOG,), "bread", "dog") == pytest.approx(
        (whole - left) - (whole - off), abs=2e-3
    )


def test_what_is_aligned_is_so_in_the_head_that_aligns_best(service):
    trace = service.translate_and_trace(DOG)[1]
    head = service.best_head
    # of the piece to come: nothing was measured of this model
    rows = [i - 1 for i in places(trace.target, "pan")]
    share = looks(trace.cross, rows, places(trace.source, "bread"))[
        head.layer - 1, head.head - 1
    ]
    assert measured(service, "aligned", (DOG,), "pan", "bread") == pytest.approx(
        share, abs=1e-3
    )


def test_a_word_is_apart_from_itself_by_nothing_and_the_same_both_ways(service):
    other = "We want the bread."
    assert measured(service, "apart", (DOG, DOG), "bread") == pytest.approx(0, abs=1e-3)
    both = [
        measured(service, "apart", texts, "bread")
        for texts in ((DOG, other), (other, DOG))
    ]
    assert 0.01 < both[0] <= 2 and both[0] == pytest.approx(both[1], abs=1e-3)
    traces = [service.translate_and_trace(text)[1] for text in (DOG, other)]
    found = service.ask(
        questions.MapMeanings(
            [(one.text, one.tokens) for one in traces], "encoder", 1, 220
        )
    )
    assert both[0] == pytest.approx(1 - found.alike[2, 4, 5 + 3], abs=2e-3), (
        "words 4 and 3 from 0, after layer 2 of 2"
    )
    assert both[0] != pytest.approx(1 - found.alike[0, 4, 5 + 3], abs=2e-3)


def test_what_it_says_is_the_share_of_the_words_that_the_translation_has(service):
    """El perro come el pan."""
    assert measured(service, "says", (DOG,), "perro", "bebe|come", "Pan") == 1
    assert measured(service, "says", (DOG,), "perro", "per", "gato|leche") == 0.333


def test_likelier_is_the_distance_of_two_log_probabilities(service):
    right = "El perro come el pan."
    wrong = "El gato come el pan."
    logs = [sum(service.explain(DOG, text).log_probs) for text in (right, wrong)]
    assert measured(
        service, "likelier", (DOG, right, wrong), "perro", "gato"
    ) == pytest.approx(logs[0] - logs[1], abs=1e-3)
    assert logs[0] > logs[1]


@pytest.mark.parametrize(
    ("kind", "texts", "words", "text"),
    [
        (
            "share",
            (DOG,),
            ("bread", "cat"),
            "“one” is about the word “cat”, which is not in “The dog eats the bread.”",
        ),
        ("rather", (DOG,), ("dog", "bread", "do"), "the word “do”, which is not in"),
        (
            "aligned",
            (DOG,),
            ("gato", "bread"),
            "the word “gato”, which is not in “El perro come el pan.”",
        ),
        (
            "apart",
            (DOG, "The cat sleeps."),
            ("dog",),
            "the word “dog”, which is not in “The cat sleeps.”",
        ),
        (
            "likelier",
            (DOG, "El perro.", "El gato."),
            ("perro", "pan"),
            "the word “pan”, which is not in “El gato.”",
        ),
    ],
)
def test_a_word_that_is_not_there_is_refused_in_one_sentence(
    service, kind, texts, words, text
):
    with pytest.raises(UserError) as refused:
        evaluate(service, [Demonstration("one", "en", "", kind, texts, words, 0.5)])
    assert text in str(refused.value) and str(refused.value).endswith(".")


ROW = {
    "name": "one",
    "reads": "en",
    "shows": "",
    "kind": "says",
    "texts": [DOG],
    "words": ["pan"],
    "least": 1,
}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "cannot be read"),
        ("[", "is no list of demonstrations"),
        ("[3]", "is no list of demonstrations"),
        (json.dumps([{"name": "one"}]), "is no list of demonstrations"),
        (
            json.dumps([{**ROW, "kind": "sings"}]),
            "The kind of “one” is 'sings'; it must be one of share, rather",
        ),
        (
            json.dumps([{**ROW, "texts": []}]),
            "“one” has 0 texts and 1 words; its kind, says, takes 1 and at least 1",
        ),
        (
            json.dumps([{**ROW, "kind": "share"}]),
            "“one” has 1 texts and 1 words; its kind, share, takes 1 and at least 2",
        ),
        (
            json.dumps([{**ROW, "reads": "es"}]),
            "reads 'en', and none of the 1 demonstrations does",
        ),
        ("[]", "none of the 0 demonstrations"),
    ],
)
def test_rows_that_are_none_are_refused_in_one_sentence(
    tiny_checkpoint, tmp_path, capsys, content, text
):
    path = tmp_path / "rows.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    command = [
        "evaluate",
        "demonstrations",
        "--checkpoint",
        str(tiny_checkpoint),
        "--device",
        "cpu",
    ]
    assert main([*command, "--rows", str(path)]) == 2
    *_, error = capsys.readouterr().err.strip().splitlines()
    assert text in error and error.endswith(".")


def test_the_command_prints_a_table_or_json(tiny_checkpoint, tmp_path, capsys):
    path = tmp_path / "rows.json"
    path.write_text(
        json.dumps([ROW, {**ROW, "name": "another", "words": ["gato"]}]),
        encoding="utf-8",
    )
    command = [
        "evaluate",
        "demonstrations",
        "--checkpoint",
        str(tiny_checkpoint),
        "--device",
        "cpu",
    ]
    assert main([*command, "--rows", str(path)]) == 0
    _, first, second, last = capsys.readouterr().out.splitlines()
    assert first.split() == ["one", "says", "1.000", "1.00", "yes"]
    assert second.split() == ["another", "says", "0.000", "1.00", "no"]
    assert last.startswith("1 of 2 shown, checkpoint tiny-en-es")
    assert main([*command, "--rows", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["shown"], found["of"], [row["passed"] for row in found["rows"]]) == (
        1,
        2,
        [True, False],
    )


def test_what_ships_is_forty_rows_of_every_kind_whose_words_stand_in_their_texts():
    rows = read()
    assert len(rows) == len({one.name for one in rows}) == 40
    assert {one.kind for one in rows} == {*KINDS}
    assert all(one.shows.endswith(".") and one.least > 0 for one in rows)
    for one in rows:
        if one.kind in ("share", "rather", "costs", "apart"):
            texts = one.texts * len(one.words) if one.kind == "apart" else one.texts
            assert all(
                {*map(str.lower, one.words)} <= {*WORDS.findall(text.lower())}
                for text in texts
            ), one.name


@pytest.mark.full
@pytest.mark.parametrize("name", ["en-es", "es-en"])
def test_what_the_page_shows_works_and_what_it_says_fails_fails(name):
    service = Service.open(CHECKPOINTS / name, "cpu")
    found = {one.name: one.passed for one in evaluate(service, read())}
    fails = {one.name for one in read() if one.fails}
    service.close()
    assert found == {one: one not in fails for one in found}
