"""What every vocabulary here agrees on: the special pieces, the mark of a word's start, and words made of pieces."""

import re
from collections.abc import Sequence

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIAL = {PAD: "<pad>", UNK: "<unk>", BOS: "<s>", EOS: "</s>"}
WORD_START = "▁"  # SentencePiece's mark, U+2581
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))  # SentencePiece's pieces for characters that have none
_BYTES = re.compile(r"(?:<0x[0-9A-F]{2}>)+")
APOSTROPHES = ("'", "’")  # inside a word they belong to it: "don't", "Tom's"


def words(pieces: Sequence[str]) -> list[list[int]]:
    """Group pieces into words: lists of indices, in order, that together hold every index once.

    A word begins at a piece that starts with "▁"; punctuation and special pieces are words of their own, but for an
    apostrophe between letters.

    >>> words(["▁gat", "o", "s", ".", "</s>"])
    [[0, 1, 2], [3], [4]]
    >>> words(["▁Tom", "'", "s", "▁cats", "'", "▁milk"])
    [[0, 1, 2], [3], [4], [5]]
    """
    groups: list[list[int]] = []
    joins = False  # whether the next piece may continue the word before it
    for i, piece in enumerate(pieces):
        text = piece.removeprefix(WORD_START)
        is_word = piece not in SPECIAL.values() and (text == "" or any(c.isalnum() for c in text))
        is_inside = joins and piece in APOSTROPHES and _goes_on(pieces[i + 1:i + 2])
        if joins and (is_inside or is_word and not piece.startswith(WORD_START)):
            groups[-1].append(i)
        else:
            groups.append([i])
        joins = is_word or is_inside
    return groups


def spelled(text: str) -> str:
    """Write the characters that bytes among joined pieces stand for; "�" for bytes that are none.

    >>> spelled("▁<0xC3><0xB1>u")
    '▁ñu'
    """
    return _BYTES.sub(lambda run: bytes.fromhex(re.sub("<0x|>", "", run[0])).decode("utf-8", "replace"), text)


def _goes_on(following: Sequence[str]) -> bool:
    """Whether a piece follows that begins with a letter and begins no word."""
    return any(piece not in SPECIAL.values() and piece[:1].isalnum() for piece in following)
