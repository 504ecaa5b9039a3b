"""Text on its way to a model: what is left of it, what is warned of, and loops in what
comes out."""

import time
import timeit

import pytest

from xformer.pieces import repeats
from xformer.results import UserError
from xformer.serve.text import MARKUP, clean, in_small_letters, one_line, prepare
from xformer.strings import ENGLISH, SPANISH


@pytest.mark.parametrize(
    ("text", "line", "dropped"),
    [
        ("a  b\tc\n", "a b c", 0),
        ("a\x00b\x07", "ab", 2),
        ("a\u200bb", "ab", 0),
        ("\u2028a", "a", 0),
        ("", "", 0),
    ],
)
def test_a_text_is_put_on_one_line(text, line, dropped):
    assert one_line(text) == (line, dropped)


def test_a_text_is_cleaned_once_and_cut_with_its_warnings(tokenizer):
    text, tokens, warnings = prepare(tokenizer, " The cat\n\x00sleeps 漢. ")
    assert text == "The cat sleeps 漢." and tokens == tokenizer.encode(text)
    assert [warning.key for warning in warnings] == [
        "warning_control",
        "warning_unknown",
    ]
    assert clean(" The cat\n\x00sleeps 漢. ")[0] == text


@pytest.mark.parametrize(
    ("line", "small"),
    [
        ("Cat", "cat"),
        ("Cat.", "cat."),
        ("CAT", "cat"),
        ("Machine Learning", "machine learning"),
        ("Good morning", "good morning"),
        ("GOOD MORNING", "good morning"),
        ("STOP!", "Stop!"),
        ("WHERE ARE YOU NOW?", "Where are you now?"),
        ("¿QUÉ?", "¿qué?"),
        ("cat", None),
        ("I am.", None),
        ("Stop!", None),
        ("It is a good morning", None),
        ("McDonald", None),
        ("A1", None),
        ("12/03", None),
        ("C++", None),
        ("E = mc^2", None),
        ("Dr. Smith", None),
        ("A. 1", None),
        ("?", None),
    ],
)
def test_words_with_capitals_have_a_form_in_small_letters(line, small):
    assert in_small_letters(line) == small


@pytest.mark.parametrize("text", ["\ufffd", "\u2581", " \ufffd \u2581\n\ufffd\x00"])
@pytest.mark.parametrize(
    "empty", ["error_empty", "error_target_empty", "error_review_empty"]
)
def test_a_text_of_no_piece_is_refused_as_an_empty_one(tokenizer, text, empty):
    assert tokenizer.encode(one_line(text)[0]) == []
    with pytest.raises(UserError) as refused:
        prepare(tokenizer, text, empty=empty)
    for language in (ENGLISH, SPANISH):
        assert refused.value.say(language) == language.say(empty)


def test_what_is_read_as_a_space_is_named(tokenizer):
    text, tokens, warnings = prepare(tokenizer, "The\ufffdcat\u2581sleeps\ufffd.")
    assert (text, tokens) == (
        "The\ufffdcat\u2581sleeps\ufffd.",
        tokenizer.encode("The cat sleeps ."),
    )
    (warning,) = warnings
    assert (
        warning.say()
        == "These signs are read as spaces: \ufffd \u2581. Type what belongs in their place."
    )
    assert warning.say(SPANISH).startswith(
        "Estos signos se leen como espacios: \ufffd \u2581. Escribe "
    )
    assert prepare(tokenizer, "The cat sleeps.").warnings == []


@pytest.mark.parametrize(
    "tag",
    [
        "<br />",
        "<br/>",
        "<br>",
        "<b>",
        "</p>",
        "</p >",
        "<H1>",
        '<a href="https://example.com/?a=1&b=2">',
        "<a href='x y'>",
        "<td align=left width=3>",
        '<a href="a>b" class=c>',
        '<script async src="x.js">',
        "<my-tag>",
        '<input value="x" disabled>',
        "<svg:g>",
        "<!-- a comment -->",
        "<!--<b-->",
        "<!DOCTYPE html>",
        "<![CDATA[x]]>",
    ],
)
def test_tags_and_comments_are_markup(tag):
    for text in (tag, f"The cat {tag} sleeps.", f"1 < 2{tag}3 > 2"):
        assert MARKUP.search(text), text


@pytest.mark.parametrize(
    "text",
    [
        "x <y and y> z",
        "a<b and b>c",
        "I <3 you, and you> me",
        "2 < 3 and 5 > 4",
        "a < b > c",
        "a <= b => c",
        "<- here ->",
        "<john@example.com>",
        "<https://example.com>",
        "if x <y or z = 3> 1",
        "<>",
        "</>",
        "< b >",
        "if a <b and c",
        "a<!b>c",
        "</ p>",
    ],
)
def test_comparisons_arrows_and_addresses_are_not(text):
    assert not MARKUP.search(text)


@pytest.mark.parametrize(
    "part",
    [
        "<",
        "<a ",
        "<a b",
        '<a ="',
        "<a b=",
        "<a b='",
        "<a b=c ",
        " a=b",
        "</a",
        "<!-",
        "=",
        '="',
    ],
)
def test_markup_is_looked_for_in_a_time_that_grows_as_the_text(part):
    # the longest review; a search of quadratic time takes seconds
    text = ("<a " + part * 30_000)[:30_000]
    best = min(
        timeit.repeat(
            lambda: MARKUP.search(text), number=1, repeat=3, timer=time.process_time
        )
    )
    assert best < 0.25


def test_a_limit_counts_the_end_of_the_sentence(tokenizer):
    count = len(tokenizer.encode("The cat sleeps."))
    assert prepare(tokenizer, "The cat sleeps.", count + 1).text == "The cat sleeps."
    with pytest.raises(
        UserError,
        match=f"The text has 3 words, which make {count + 1} pieces; .* at most {count} ",
    ):
        prepare(tokenizer, "The cat sleeps.", count)


@pytest.mark.parametrize(
    ("tokens", "loop"),
    [
        ([5, 6, 7, 8, 9], False),
        ([5, 5, 5], False),
        ([5, 5, 5, 5], True),
        ([4, 5, 6, 5, 6, 5, 6, 5, 6, 9], True),
        ([5, 6, 5, 6, 5, 7], False),
        ([], False),
    ],
)
def test_repetition_is_a_run_of_pieces_four_times_in_a_row(tokens, loop):
    assert repeats(tokens) is loop
