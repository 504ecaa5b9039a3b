"""Locked words: how they are written, where they stand in each stack, and which heads
link them."""

import numpy as np
import pytest

from xformer.figures.attention import Choice, all_maps, picture
from xformer.figures.locked_word import Lock, links, locked_target, payload
from xformer.results import Head, Trace, UserError
from xformer.strings import ENGLISH, SPANISH


@pytest.fixture
def trace():
    """Two layers of two heads over "the cat sleeps" and its translation."""
    source = ("▁the", "▁cat", "▁sleep", "s", "</s>")
    target = ("<s>", "▁el", "▁gato", "▁duerme")
    predicted = ("▁el", "▁gato", "▁duerme", "</s>")
    rng = np.random.default_rng(0)

    def maps(queries, keys):
        raw = rng.random((2, 2, queries, keys)).astype(np.float32)
        return raw / raw.sum(axis=-1, keepdims=True)

    return Trace(
        source,
        target,
        predicted,
        (-0.1,) * 4,
        maps(5, 5),
        maps(4, 4),
        maps(4, 5),
        *(1 + rng.random((2, 2, keys)).astype(np.float32) for keys in (5, 4, 5)),
        "the cat sleeps",
        (7, 8, 9),
    )


def told(trace, choice, lock, given=(), language=ENGLISH):
    maps = all_maps(trace, choice.stack, choice.weigh)
    seen = picture(trace, choice, language, maps, given)
    return payload(
        trace, choice, Lock.parse(lock) if lock else Lock(), seen, maps, given, language
    )


@pytest.mark.parametrize(
    ("text", "asks", "seen"),
    [
        ("es4-en3", ("target", 4), ("source", 3)),
        ("es4", ("target", 4), None),
        ("-en3", None, ("source", 3)),
    ],
)
def test_a_lock_is_read(text, asks, seen):
    assert Lock.parse(text) == Lock(asks, seen)


@pytest.mark.parametrize(
    "text", ["", "-", "es", "4", "fr1", "es-1", "es12345", "es1-en2-en3", "<b>", "es٣"]
)
def test_what_is_no_lock_is_refused(text):
    with pytest.raises(
        UserError,
        match="locks no words; write es4-en3, es4 or -en3: language and position.",
    ):
        Lock.parse(text)


@pytest.mark.parametrize(
    ("text", "stack", "placed"),
    [
        ("es2", "cross", "es2"),
        ("es2", "decoder_self", "es2"),
        ("es2", "encoder_self", ""),
        ("-en1", "encoder_self", "-en1"),
        ("en1", "cross", "-en1"),
        ("-es2", "cross", "es2"),
        ("es2-en1", "cross", "es2-en1"),
        ("es2-en1", "encoder_self", "-en1"),
        ("en3-en1", "cross", "-en1"),
    ],
)
def test_a_lock_stands_in_another_stack_where_its_words_do(text, stack, placed):
    assert Lock.parse(text).placed(stack) == (Lock.parse(placed) if placed else Lock())


def test_the_piece_of_the_translation_that_is_locked_counts_from_the_first_that_was_written():
    assert [
        locked_target(lock) for lock in ("", "es0", "es1", "es3-en1", "-es2", "en3-en1")
    ] == [None, None, 0, 2, 1, None]


def test_all_heads_that_link_two_words_are_listed_best_first(trace):
    found = links(
        trace, Choice("encoder_self"), Lock.parse("en1-en0"), trace.encoder_self
    )
    expected = sorted(
        (
            (float(trace.encoder_self[i, j, 1, 0]), Head("encoder_self", i + 1, j + 1))
            for i in range(2)
            for j in range(2)
        ),
        reverse=True,
    )
    assert [(link.probability, link.head) for link in found] == expected
    assert {(link.asks, link.seen) for link in found} == {("cat", "the")}


def test_each_head_is_read_by_the_word_that_it_aligns(trace):
    """gato is predicted in row 1, and given in row 2."""
    given = {Head("cross", 1, 2)}
    found = {
        link.head: link.probability
        for link in links(
            trace, Choice("cross"), Lock.parse("es2-en1"), trace.cross, given
        )
    }
    assert found.pop(Head("cross", 1, 2)) == trace.cross[0, 1, 2, 1]
    assert found == {
        Head("cross", i + 1, j + 1): trace.cross[i, j, 1, 1]
        for i, j in ((0, 0), (1, 0), (1, 1))
    }


def test_one_word_is_linked_with_the_other_that_it_looks_at_most_but_for_itself_and_sinks(
    trace,
):
    for link in links(
        trace, Choice("encoder_self"), Lock.parse("en1"), trace.encoder_self
    ):
        row = trace.encoder_self[link.head.layer - 1, link.head.head - 1, 1].copy()
        row[[1, 4]] = 0
        assert (link.probability, link.seen) == (
            row.max(),
            ["the", "cat", "sleep", "…s"][row.argmax()],
        )
    for link in links(
        trace, Choice("encoder_self"), Lock.parse("-en1"), trace.encoder_self
    ):
        assert link.seen == "cat" and link.asks != "cat"


def test_numbers_are_those_of_the_picture_with_words_joined_and_sinks_hidden(trace):
    choice = Choice("cross", 2, 1, words=True, hide=True)
    best = links(trace, choice, Lock.parse("es2-en3"), trace.cross)
    value = next(link.probability for link in best if link.head == choice.chosen)
    shown = picture(trace, choice)
    assert shown.keys == ("the", "cat", "sleeps") and shown.line == (
        "el",
        "gato",
        "duerme",
    )
    assert value == pytest.approx(float(shown.values[1, 2])), (
        "piece 3 belongs to sleeps"
    )


def test_the_panel_says_what_a_word_looks_at_and_who_looks_at_it(trace):
    said = told(trace, Choice("encoder_self", 1, 1), "en1")
    assert said["title"] == "cat" and [one["title"] for one in said["lists"]] == [
        "cat looks at",
        "cat is looked at by",
    ]
    row = trace.encoder_self[0, 0, 1]
    column = trace.encoder_self[0, 0, :, 1]
    assert said["lists"][0]["words"][0]["value"] == round(float(row.max()), 3)
    assert said["lists"][1]["words"][0]["value"] == round(float(column.max()), 3)
    assert (
        said["others"] == ["the", "cat", "sleep", "…s", "</s>"]
        and said["axis"] == "column"
    )
    assert said["locks"] == {
        "own": "en1",
        "others": ["en0", "en1", "en2", "en3", "en4"],
    }
    assert [link["here"] for link in said["links"]].count(True) == 1
    assert told(trace, Choice("cross"), "es2-en1", language=SPANISH)[
        "question"
    ].startswith("Cabezas de esta pila")
    assert told(trace, Choice("cross"), "es2-en1")["title"] == "gato → cat"
    assert told(trace, Choice("cross"), "-en1")["locks"]["others"][0] == "es1", (
        "the first row predicts el"
    )


def test_nothing_locked_and_a_word_that_is_not_here_are_said(trace):
    assert told(trace, Choice("cross"), "")["hint"].startswith("Click a word")
    for lock in ("es99", "-en99"):
        assert (
            told(trace, Choice("cross"), lock)["hint"]
            == "The locked word is not in this picture."
        )
