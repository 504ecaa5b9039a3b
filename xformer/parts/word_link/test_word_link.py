"""From one word to another: the share of two locked words in every head, and what a
replaced word changes."""

import dataclasses
import html
import json
import re

import numpy as np
import pytest

from tests.pages import laid_out
from xformer.figures import word_link as figures
from xformer.figures.locked_word import Lock
from xformer.parts.word_link import part as tab
from xformer.results import Head
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask


@pytest.fixture(scope="module")
def trace(running, learned_pairs):
    """The pass over "The dog eats the bread." and its translation."""
    return running.explain(learned_pairs[1][0])


def place(trace, text, side="source"):
    """Where the first piece of a word stands."""
    (found,) = [
        name
        for label, name in figures.choices(trace)
        if label == f"{'EN' if side == 'source' else 'ES'} · {text}"
    ]
    return side, int(found[2:])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("en1-en4", [("encoder_self", "en1-en4"), ("encoder_self", "en4-en1")]),
        ("es1-es4", [("decoder_self", "es4-es1")]),
        ("es4-es1", [("decoder_self", "es4-es1")]),
        ("en2-es3", [("cross", "es3-en2")]),
        ("es3-en2", [("cross", "es3-en2")]),
        ("es3", []),
        ("en1-en1", []),
    ],
)
def test_two_words_stand_in_these_stacks(text, wanted):
    assert figures.asked(Lock.parse(text)) == [
        (stack, Lock.parse(lock)) for stack, lock in wanted
    ]


def test_the_grid_holds_the_share_of_whole_words_in_every_head(trace):
    dog = place(trace, "dog")
    bread = place(trace, "bread")
    values = figures.grid(trace, "encoder_self", Lock(bread, dog))
    rows, columns = (figures.group_of(trace, word) for word in (bread, dog))
    wanted = trace.encoder_self[:, :, rows][:, :, :, columns].sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(values, wanted, atol=1e-6)
    assert values.shape == (2, 4)


def test_each_head_of_the_cross_attention_is_read_as_it_aligns(trace):
    perro = place(trace, "perro", "target")
    dog = place(trace, "dog")
    rows = figures.group_of(trace, perro)
    columns = figures.group_of(trace, dog)
    values = figures.grid(trace, "cross", Lock(perro, dog), [Head("cross", 1, 2)])
    of_head = trace.cross[..., columns].sum(axis=-1)
    assert values[0, 1] == pytest.approx(of_head[0, 1, rows].mean(), abs=1e-6)
    before = [row - 1 for row in rows]  # where its pieces are predicted
    assert values[1, 3] == pytest.approx(of_head[1, 3, before].mean(), abs=1e-6)


def test_a_word_of_the_source_is_replaced_or_left_out_where_it_stands(running):
    trace = running.trace("The cat sees the cat, the cats.", "El gato duerme.")
    first = place_of = [
        name for label, name in figures.choices(trace) if label == "EN · cat"
    ]
    assert len(place_of) == 2
    second = ("source", int(first[1][2:]))
    assert figures.without(trace, second, "dog") == "The cat sees the dog, the cats."
    assert figures.without(trace, second) == "The cat sees the , the cats."
    assert figures.without(trace, ("source", 99)) is None


@pytest.mark.parametrize(
    ("text", "pieces", "word", "wanted"),
    [
        (
            "I saw the dog and it's funny, so I like it.",
            "▁I ▁saw ▁the ▁dog ▁and ▁it ' s ▁funny , ▁so ▁I ▁like ▁it .",
            13,
            "I saw the dog and it's funny, so I like her.",
        ),
        (
            "I'll call you if I need you.",
            "▁I ' ll ▁call ▁you ▁if ▁I ▁need ▁you .",
            6,
            "I'll call you if her need you.",
        ),
        (
            "I’ll call you if I need you.",
            "▁I ' ll ▁call ▁you ▁if ▁I ▁need ▁you .",
            6,
            "I’ll call you if her need you.",
        ),
        (
            "I’ll call you if I need you.",
            "▁I ' ll ▁call ▁you ▁if ▁I ▁need ▁you .",
            0,
            "her call you if I need you.",
        ),
        (
            "He said 'it', and it.",
            "▁He ▁said ▁' it ', ▁and ▁it .",
            3,
            "He said 'her', and it.",
        ),
        (
            "The cats' milk, the cats.",
            "▁The ▁cats ' ▁milk , ▁the ▁cats .",
            6,
            "The cats' milk, the her.",
        ),
        (
            "The cats' milk, the cats.",
            "▁The ▁cats ' ▁milk , ▁the ▁cats .",
            1,
            "The her' milk, the cats.",
        ),
        (
            "I like кот, not кот.",
            "▁I ▁like ▁ <0xD0> <0xBA> <0xD0> <0xBE> <0xD1> <0x82> , ▁not ▁ <0xD0> <0xBA> <0xD0> "
            "<0xBE> <0xD1> <0x82> .",
            13,
            "I like кот, not her.",
        ),
        ("I 🙂 you.", "▁I ▁ <0xF0> <0x9F> <0x99> <0x82> ▁you .", 2, "I her you."),
    ],
)
def test_a_word_with_an_apostrophe_is_another_word(trace, text, pieces, word, wanted):
    trace = dataclasses.replace(trace, text=text, source=(*pieces.split(), "</s>"))
    assert figures.without(trace, ("source", word), "her") == wanted


def test_a_word_in_bytes_is_chosen_by_its_characters(trace):
    trace = dataclasses.replace(
        trace,
        text="A кот.",
        source=(
            "▁A",
            "▁",
            "<0xD0>",
            "<0xBA>",
            "<0xD0>",
            "<0xBE>",
            "<0xD1>",
            "<0x82>",
            ".",
            "</s>",
        ),
    )
    assert ("EN · кот", "en1") in figures.choices(trace) and figures.text_of(
        trace, ("source", 3)
    ) == "кот"


def test_a_word_is_found_again_in_another_pass(running, trace, learned_pairs):
    other = running.explain("The cat eats the bread.")
    dog = place(trace, "dog")
    bread = place(trace, "bread")
    assert figures.text_of(other, figures.moved(dog, trace, other)) == "cat"
    assert figures.text_of(other, figures.moved(bread, trace, other)) == "bread"
    assert figures.moved(("source", 99), trace, other) is None
    shorter = running.explain("The bread.")
    assert figures.moved(place(trace, "eats"), trace, shorter) is None


@pytest.fixture(scope="module")
def draw(running):
    """Draw the part as a listener of its page does."""
    pictures = laid_out(running).pictures[tab.ID]

    def draw(language=ENGLISH, made=None, **values):
        return Ask.always(running, language).answer(
            pictures.draw,
            **{"made": {} if made is None else made, "translation": None, **values},
        )

    return draw


def lock_of(trace, asks, seen):
    return f"en{place(trace, asks)[1]}-en{place(trace, seen)[1]}"


def test_the_part_shows_both_ways_of_two_english_words_and_each_cell_opens_its_head(
    draw, trace
):
    answer = draw(trace=trace, lock=lock_of(trace, "bread", "dog"))
    assert answer["asks"]["value"] == f"en{place(trace, 'bread')[1]}"
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", answer["shares"])
    assert (
        captions == ["bread → dog", "dog → bread"]
        and answer["shares"].count("<button") == 16
    )
    address = json.loads(
        html.unescape(re.search(r'data-address="(.*?)"', answer["shares"])[1])
    )
    assert address == {
        "tab": "attention",
        "stack": "encoder_self",
        "layer": 1,
        "head": 1,
        "show": "head",
    }
    table = json.loads(
        html.unescape(answer["shares"].split('data-table="')[1].split('"')[0])
    )
    assert len(table["rows"]) == 16 and table["rows"][0][:4] == [
        "encoder_self",
        "bread → dog",
        1,
        1,
    ]


def test_what_is_put_in_a_words_place_stays_when_the_same_pair_is_drawn_again(
    running, draw, trace
):
    made = {}
    lock = lock_of(trace, "bread", "dog")
    asked = {"trace": trace, "lock": lock, "made": made}
    first = draw(**asked)
    again = draw(**asked)
    assert (
        first["result"] is None
        and not {"shares", "result"} & {*again}
        and again["asks"] == first["asks"]
    )
    replaced = draw(**asked, other="cat", action=tab.replace)
    assert {"shares", "result"} <= {*replaced}
    assert not {"shares", "result"} & {*draw(**asked)}
    left_out = draw(**asked, other="", action=tab.leave_out)
    assert "result" in left_out and "shares" not in left_out
    for other in (
        {"trace": running.explain(trace.text), "lock": lock},
        {"trace": trace, "lock": "en1-en2"},
    ):
        assert {"shares", "result"} <= {*draw(**other, made=made)}
    gone = draw(trace=None, lock="", made=made)
    assert gone["shares"] is None and gone["result"] is None


def test_without_two_words_the_part_asks_for_them(running, draw, trace):
    ask = Ask.always(running, SPANISH)
    for lock in ("", "en1", "-es2"):
        said = draw(SPANISH, trace=trace, lock=lock)["shares"]
        assert "Elige aquí dos palabras" in said
    assert draw(trace=None, lock="")["shares"] is None
    assert draw(trace=trace, lock="en88-en99")["asks"]["value"] is None
    assert ask.answer(tab.choose, asks="en3", seen="es2")["lock"] == "en3-es2"
    assert ask.answer(tab.choose, asks=None, seen="es2")["lock"] == "-es2"


def test_another_word_in_its_place_gives_the_same_share_there_and_the_change(
    running, trace
):
    lock = lock_of(trace, "bread", "dog")
    answer = Ask.always(running, ENGLISH).answer(
        tab.replace, trace=trace, lock=lock, other=" cat ", translation=None
    )
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", answer["shares"])
    assert (
        captions[:3] == ["bread → dog", "bread → cat", "Change: bread → cat"]
        and len(captions) == 6
    )
    assert "The <mark>cat</mark> eats the bread." in answer["result"]
    other = running.compare(trace.text, "The cat eats the bread.").traces[1]
    values = figures.grid(
        other, "encoder_self", Lock(place(other, "bread"), place(other, "cat"))
    )
    table = json.loads(
        html.unescape(answer["shares"].split('data-table="')[1].split('"')[0])
    )
    shares = [row[4] for row in table["rows"] if row[1] == "bread → cat"]
    assert shares == pytest.approx(values.ravel().tolist(), abs=1e-3)


def test_the_word_left_out_is_compared_with_the_whole_sentence(running, trace):
    ask = Ask.always(running, ENGLISH)
    answer = ask.answer(
        tab.leave_out,
        trace=trace,
        lock=lock_of(trace, "bread", "dog"),
        translation=None,
    )
    assert (
        "The <mark>dog</mark> eats the bread." in answer["result"]
        and answer["problem"] == ""
    )


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        ("es1-es2", "No English word is chosen"),
        ("", "No English word is chosen"),
        ("en99", "is not found in the sentence"),
    ],
)
def test_what_cannot_be_replaced_is_said(running, trace, lock, said):
    ask = Ask.always(running, ENGLISH)
    assert (
        said
        in ask.answer(tab.leave_out, trace=trace, lock=lock, translation=None)[
            "problem"
        ]
    )
    assert (
        said
        in ask.answer(
            tab.replace, trace=trace, lock=lock, other="cat", translation=None
        )["problem"]
    )


def test_the_other_word_is_asked_for(running, trace):
    answer = Ask.always(running, ENGLISH).answer(
        tab.replace, trace=trace, lock="en1-en2", other=" ", translation=None
    )
    assert "No other word is there" in answer["problem"]


def test_a_model_without_the_stack_says_so(draw, trace):
    none = dataclasses.replace(trace, encoder_self=trace.encoder_self[:0])
    answer = draw(trace=none, lock=lock_of(trace, "bread", "dog"))
    assert "are not together in any stack of this model" in answer["shares"]
