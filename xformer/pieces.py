"""What every vocabulary here agrees on: the special pieces, the mark of a word's start, and words made of pieces."""

from __future__ import annotations

from collections.abc import Sequence

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIAL = {PAD: "<pad>", UNK: "<unk>", BOS: "<s>", EOS: "</s>"}
WORD_START = "▁"  # SentencePiece's mark, U+2581


def words(pieces: Sequence[str]) -> list[list[int]]:
    """Group pieces into words: lists of indices, in order, that together hold every index once.

    A word begins at a piece that starts with "▁"; punctuation and special pieces are words of their own.

    >>> words(["▁gat", "o", "s", ".", "</s>"])
    [[0, 1, 2], [3], [4]]
    """
    groups: list[list[int]] = []
    joins = False  # whether the next piece may continue the word before it
    for i, piece in enumerate(pieces):
        text = piece.removeprefix(WORD_START)
        is_word = piece not in SPECIAL.values() and (text == "" or any(c.isalnum() for c in text))
        if joins and is_word and not piece.startswith(WORD_START):
            groups[-1].append(i)
        else:
            groups.append([i])
        joins = is_word
    return groups
