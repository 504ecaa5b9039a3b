"""What every vocabulary here agrees on: the special pieces, the mark of a word's start,
and words made of pieces."""

import re
from collections.abc import Sequence
from itertools import groupby

PAD = 0
UNK = 1
BOS = 2
EOS = 3
SPECIAL = {PAD: "<pad>", UNK: "<unk>", BOS: "<s>", EOS: "</s>"}
WORD_START = "▁"  # SentencePiece's mark, U+2581
# SentencePiece's pieces for characters that have none
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
_BYTES = re.compile(r"(?:<0x[0-9A-F]{2}>)+")
# Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
APOSTROPHES = ("'", "’")  # inside a word they belong to it: "don't", "Tom's"


def words(pieces: Sequence[str]) -> list[list[int]]:
    """Group pieces into words: lists of indices, in order, that together hold every
    index once.

    A word begins at a piece that starts with "▁"; punctuation and special pieces are
    words of their own, but for an apostrophe between letters. Scripts that put no
    spaces between words have each piece for a word.

    >>> words(["▁gat", "o", "s", ".", "</s>"])
    [[0, 1, 2], [3], [4]]
    >>> words(["▁Tom", "'", "s", "▁cats", "'", "▁milk"])
    [[0, 1, 2], [3], [4], [5]]
    >>> words(["▁", "猫", "在", "睡觉"])
    [[0], [1], [2], [3]]
    """
    groups: list[list[int]] = []
    joins = False  # whether the next piece may continue the word before it
    for i, piece in enumerate(pieces):
        text = piece.removeprefix(WORD_START)
        is_word = piece not in SPECIAL.values() and (
            text == "" or any(c.isalnum() for c in text)
        )
        bare = bool(UNSPACED.match(text))
        # where a piece follows that begins with a letter, no word
        is_inside = (
            joins
            and piece in APOSTROPHES
            and any(
                after not in SPECIAL.values() and after[:1].isalnum()
                for after in pieces[i + 1 : i + 2]
            )
        )
        if (
            joins
            and not bare
            and (is_inside or is_word and not piece.startswith(WORD_START))
        ):
            groups[-1].append(i)
        else:
            groups.append([i])
        joins = (is_word or is_inside) and not bare
    return groups


def joined(
    pieces: Sequence[str], groups: Sequence[Sequence[int]] | None = None
) -> list[str]:
    """The words of pieces, or other groups of them, each as one piece."""
    return [
        "".join(pieces[i] for i in group)
        for group in (words(pieces) if groups is None else groups)
    ]


def characters(pieces: Sequence[str]) -> list[list[int]]:
    """Group pieces so that bytes in a row, which spell characters together, are one
    group; each other is its own.

    >>> characters(["▁", "<0xC3>", "<0xB1>", "u"])
    [[0], [1, 2], [3]]
    """
    return [
        group
        for is_bytes, run in groupby(range(len(pieces)), lambda i: pieces[i] in BYTES)
        for group in ([[*run]] if is_bytes else [[i] for i in run])
    ]


def spelled(text: str) -> str:
    """Write the characters that bytes among joined pieces stand for; "�" for bytes that
    are none.

    >>> spelled("▁<0xC3><0xB1>u")
    '▁ñu'
    """
    return _BYTES.sub(
        _spelled,
        text,
    )


def _spelled(run: re.Match[str]) -> str:
    return bytes.fromhex(re.sub("<0x|>", "", run[0])).decode("utf-8", "replace")


def repeats(tokens: Sequence[int]) -> bool:
    """Whether a sequence of 1 to 8 pieces stands at least four times in a row, as when
    the decoder is in a loop."""
    for size in range(1, 9):
        same = 0
        for i in range(size, len(tokens)):
            same = same + 1 if tokens[i] == tokens[i - size] else 0
            if same >= 3 * size:
                return True
    return False


def distance(a: Sequence[object], b: Sequence[object]) -> int:
    """How many pieces must be put in, left out or replaced to make one sequence of the
    other (Levenshtein 1966).

    >>> distance("kitten", "sitting")
    3
    """
    row = [*range(len(b) + 1)]
    for i, one in enumerate(a, 1):
        corner = row[0]
        row[0] = i
        for j, other in enumerate(b, 1):
            best = min(row[j] + 1, row[j - 1] + 1, corner + (one != other))
            corner = row[j]
            row[j] = best
    return row[-1]
