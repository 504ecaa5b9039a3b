"""Text on its way to a model: what is left of it, what is warned of, and loops in what comes out."""

import pytest

from xformer.results import UserError
from xformer.serve.text import clean, one_line, prepare, repeats


@pytest.mark.parametrize(("text", "line", "dropped"), [
    ("a  b\tc\n", "a b c", 0), ("a\x00b\x07", "ab", 2), ("a\u200bb", "ab", 0), ("\u2028a", "a", 0), ("", "", 0)])
def test_a_text_is_put_on_one_line(text, line, dropped):
    assert one_line(text) == (line, dropped)


def test_a_text_is_cleaned_once_and_cut_with_its_warnings(tokenizer):
    text, tokens, warnings = prepare(tokenizer, " The cat\n\x00sleeps 漢. ")
    assert text == "The cat sleeps 漢." and tokens == tokenizer.encode(text)
    assert [warning.key for warning in warnings] == ["warning_control", "warning_unknown"]
    assert clean(" The cat\n\x00sleeps 漢. ")[0] == text


def test_a_limit_counts_the_end_of_the_sentence(tokenizer):
    count = len(tokenizer.encode("The cat sleeps."))
    assert prepare(tokenizer, "The cat sleeps.", count + 1).text == "The cat sleeps."
    with pytest.raises(UserError, match=f"The text has 3 words, which make {count + 1} pieces; .* at most {count} "):
        prepare(tokenizer, "The cat sleeps.", count)


@pytest.mark.parametrize(("tokens", "loop"), [
    ([5, 6, 7, 8, 9], False), ([5, 5, 5], False), ([5, 5, 5, 5], True), ([4, 5, 6, 5, 6, 5, 6, 5, 6, 9], True),
    ([5, 6, 5, 6, 5, 7], False), ([], False)])
def test_repetition_is_a_run_of_pieces_four_times_in_a_row(tokens, loop):
    assert repeats(tokens) is loop
