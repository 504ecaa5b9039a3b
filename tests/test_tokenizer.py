"""Text to pieces and back, and pieces grouped into words."""

import io
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from xformer.pieces import BOS, EOS, PAD, SPECIAL, UNK, WORD_START, words
from xformer.tokenizer import Tokenizer

PIECES = st.one_of(
    st.sampled_from(
        [
            "▁",
            "▁gat",
            "o",
            "s",
            ".",
            "▁.",
            ",",
            "¿",
            "▁¿",
            "▁(",
            "3",
            "▁1",
            "'",
            "",
            *SPECIAL.values(),
        ]
    ),
    st.text(max_size=4),
)


@pytest.fixture(scope="module")
def extended(tokenizer):
    return tokenizer.extended()


# Every character


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=40))
def test_an_extended_vocabulary_knows_every_text(extended, text):
    ids = extended.encode(text)
    assert UNK not in ids and extended.unknown(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Müller",
        "john@example.com",
        "C++",
        "2 + 2 = 4",
        "#tag_1",
        "€5",
        "20 °C",
        "Łódź",
        "ÁRBOL",
        "Nguyễn",
        "x^2 < {y}",
        "日本 東京",
        "привет",
        "😀👍",
        "‘hi’ — “ho”",
        "https://a.io/~b?c=1&d=%20",
    ],
)
def test_what_the_vocabulary_lacks_comes_back_spelled_out(extended, text):
    assert extended.decode(extended.encode(text)) == text
    assert all(
        extended.decode(extended.encode(text, sampling=0.2)) == text for _ in range(5)
    )


def test_letters_and_signs_of_latin_scripts_are_pieces_of_their_own(
    tokenizer, extended
):
    assert (
        tokenizer.unknown("Müller") == ["ü"]
        and extended.pieces(extended.encode("ü"))[-1] == "ü"
    )
    assert extended.pieces(extended.encode("猫"))[-3:] == ["<0xE7>", "<0x8C>", "<0xAB>"]
    assert all(
        len(extended.encode(sign)) <= 2 for sign in "@#=_€£°ßñøçÑÉ" + "ąćęłńóśźż"
    )


def test_extending_changes_no_piece_and_no_split(tokenizer, extended, pairs):
    ids = range(len(tokenizer))
    assert extended.pieces(ids) == tokenizer.pieces(ids) and extended.log_probs(
        ids
    ) == tokenizer.log_probs(ids)
    assert len(extended) > len(tokenizer) + 256
    for text in (text for pair in pairs for text in pair):
        assert extended.encode(text) == tokenizer.encode(text)
    assert extended.extended() is extended


# Text and ids


def test_text_comes_back(tokenizer, pairs):
    for sentence in (sentence for pair in pairs for sentence in pair):
        ids = tokenizer.encode(sentence)
        assert tokenizer.decode(ids) == sentence
        assert not set(ids) & set(SPECIAL)
        assert (
            "".join(tokenizer.pieces(ids)).replace(WORD_START, " ").strip() == sentence
        )


@settings(max_examples=200)
@given(text=st.text(alphabet="abcdeghiklmnoprstuyíéó¿?¡!.,:0123 ", max_size=60))
@pytest.mark.slow
def test_any_text_of_known_characters_comes_back(tokenizer, text):
    """But for spaces, of which one between words is left."""
    assert tokenizer.decode(tokenizer.encode(text)) == " ".join(text.split())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("El ﬁn", "El fin"),
        ("Ｔｈｅ ｃａｔ", "The cat"),
        ("Mari\u0301a", "María"),
        ("10\u00a0euros", "10 euros"),
        ("The cat…", "The cat..."),
        ("  The\tcat\nsleeps. ", "The cat sleeps."),
    ],
)
def test_unicode_is_normalised(tokenizer, typed, meant):
    assert tokenizer.encode(typed) == tokenizer.encode(meant)
    assert (
        tokenizer.decode(tokenizer.encode(typed))
        == meant
        == unicodedata.normalize("NFKC", meant)
    )


def test_nothing_is_no_pieces(tokenizer):
    assert tokenizer.encode("") == tokenizer.encode(" \n ") == []
    assert tokenizer.decode([]) == ""


def test_digits_stand_alone(pairs):
    """So that every number can be written with ten pieces, however often 1987 is in the
    text."""
    often = Tokenizer.train(
        [f"{text} 1987" for pair in pairs for text in pair], vocab_size=150, threads=1
    )
    assert often.pieces(often.encode("in 1987"))[-4:] == ["1", "9", "8", "7"]


def test_special_pieces_have_the_ids_that_models_expect(tokenizer):
    assert (PAD, UNK, BOS, EOS) == (0, 1, 2, 3)
    assert tokenizer.pieces([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]


def test_special_pieces_leave_nothing_in_the_text(tokenizer):
    ids = tokenizer.encode("The cat sleeps.")
    assert (
        tokenizer.decode([BOS, ids[0], UNK, *ids[1:], EOS, PAD, PAD])
        == "The cat sleeps."
    )


def test_names_of_special_pieces_in_a_text_are_only_text(tokenizer):
    """Nobody can end a sentence by typing </s>."""
    assert not {PAD, BOS, EOS} & set(tokenizer.encode("</s> <s> <pad>"))


def test_a_vocabulary_has_the_size_asked_for(tokenizer):
    assert len(tokenizer) == 150
    assert len(set(tokenizer.pieces(range(150)))) == 150


def test_drawn_splits_differ_and_spell_the_same(tokenizer):
    text = "The girl's name is María."
    splits = {tuple(tokenizer.encode(text, sampling=0.2)) for _ in range(50)}
    assert len(splits) > 5
    assert {tokenizer.decode(ids) for ids in splits} == {text}


def test_without_sampling_the_split_is_always_the_same(tokenizer, pairs):
    assert all(
        tokenizer.encode(text) == tokenizer.encode(text, sampling=0.0)
        for text, _ in pairs
    )


def test_threads_share_a_tokenizer(tokenizer, pairs):
    texts = [sentence for pair in pairs for sentence in pair] * 20
    with ThreadPoolExecutor(8) as pool:
        assert (
            list(pool.map(lambda text: tokenizer.decode(tokenizer.encode(text)), texts))
            == texts
        )


# Characters that the vocabulary lacks


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("The cat sleeps.", []),
        ("The cat 😀 sleeps.", ["😀"]),
        ("The 猫 sleeps 😀.", ["猫", "😀"]),
        ("猫 and 猫", ["猫"]),
        ("😀猫", ["😀猫"]),
        ("", []),
    ],
)
def test_unknown_characters_are_named_once_and_in_order(tokenizer, text, unknown):
    assert tokenizer.unknown(text) == unknown
    assert (UNK in tokenizer.encode(text)) == bool(unknown)


# Vocabularies that are none


@pytest.mark.parametrize("content", [b"nonsense", bytes(100), b"\xff" * 20])
def test_bytes_that_are_no_model_are_refused(content):
    with pytest.raises(ValueError, match="^it is not a SentencePiece model$"):
        Tokenizer(content)


def test_an_empty_file_is_refused():
    with pytest.raises(ValueError, match="special pieces|not a SentencePiece model"):
        Tokenizer(b"")


def test_a_truncated_model_is_refused(tokenizer):
    with pytest.raises(ValueError):
        Tokenizer(tokenizer.model[: len(tokenizer.model) // 2])


def test_a_vocabulary_with_other_special_ids_is_refused(pairs):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text for pair in pairs for text in pair]),
        model_writer=model,
        vocab_size=120,
        minloglevel=2,
    )
    with pytest.raises(
        ValueError,
        match=r"unk, bos, eos are \(-1, 0, 1, 2\); they must be \(0, 1, 2, 3\)",
    ):
        Tokenizer(model.getvalue())


@pytest.mark.parametrize(
    ("sentences", "size"), [(["One.", "Two."], 500), (["One.", "Two."], 5), ([], 10)]
)
def test_a_vocabulary_that_cannot_be_learned_says_so(sentences, size):
    with pytest.raises(
        ValueError,
        match=f"^a vocabulary of {size} pieces cannot be learned from this text; choose",
    ):
        Tokenizer.train(sentences, vocab_size=size, threads=1)


def test_a_saved_vocabulary_is_the_same(tokenizer, tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(tokenizer.model)
    again = Tokenizer.load(tmp_path / "tokenizer.model")
    assert again.pieces(range(150)) == tokenizer.pieces(range(150))


# Words


@pytest.mark.parametrize(
    ("pieces", "groups"),
    [
        ([], []),
        (["▁gat", "o", "s", ".", "</s>"], [[0, 1, 2], [3], [4]]),
        (["<s>", "▁El", "▁gat", "o"], [[0], [1], [2, 3]]),
        (["▁", "M", "i", "▁herman", "o"], [[0, 1, 2], [3, 4]]),
        (["▁¿", "D", "ónde", "?"], [[0], [1, 2], [3]]),
        (["▁¿", "▁Qué", "?", "!", "</s>"], [[0], [1], [2], [3], [4]]),
        (["▁10", ":", "4", "5"], [[0], [1], [2, 3]]),
        (["▁", "3", ",", "2", "0", "0"], [[0, 1], [2], [3, 4, 5]]),
        (["▁girl", "'", "s"], [[0, 1, 2]]),
        (["▁dog", "▁dog"], [[0], [1]]),
        (["▁a", "<unk>", "b", "</s>", "c"], [[0], [1], [2], [3], [4]]),
        (["o", "s"], [[0, 1]]),
        (["猫", "▁", "▁"], [[0], [1], [2]]),
        (["<s>", "<s>"], [[0], [1]]),
    ],
)
def test_pieces_are_grouped_into_words(pieces, groups):
    assert words(pieces) == groups


@given(st.lists(PIECES, max_size=30))
def test_words_hold_every_piece_once_and_in_order(pieces):
    groups = words(pieces)
    assert [i for group in groups for i in group] == list(range(len(pieces)))
    assert all(groups)
    for group in groups:
        assert not any(pieces[i].startswith(WORD_START) for i in group[1:])
        assert len(group) == 1 or not any(pieces[i] in SPECIAL.values() for i in group)


def test_words_of_a_sentence_are_its_words(tokenizer, pairs):
    """Where no punctuation stands inside, what spaces separate is what `words`
    finds."""
    for text, _ in pairs:
        bare = "".join(c for c in text if c.isalnum() or c == " ")
        pieces = tokenizer.pieces(tokenizer.encode(bare))
        spelled = [
            "".join(pieces[i] for i in group).removeprefix(WORD_START)
            for group in words(pieces)
        ]
        assert spelled == bare.split()
