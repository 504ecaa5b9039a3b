"""Links between texts and translations for other programs: what they count, two
directions joined. No torch."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence, Set
from itertools import accumulate

from xformer.explain.alignment import Link
from xformer.pieces import BYTES, SPECIAL, UNK, WORD_START, words

# words as `alignment.split` makes them, what stands between spaces, pieces
UNITS = ("words", "tokens", "pieces")
# the neighbours of a link
BESIDE = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def parts(text: str, pieces: Sequence[str], unit: str = UNITS[0]) -> list[list[int]]:
    """Say of which pieces, </s> left out, each part of a text, one of UNITS, is made.

    Words are those of the text as it is written: "..." is three, and may be one piece,
    which is of the first of them.

    >>> parts("¿Qué? ...", ["▁¿", "Qu", "é", "?", "▁..."])
    [[0], [1, 2], [3], [4], [], []]
    """
    if unit == "pieces":
        return [[i] for i in range(len(pieces))]
    letters = [
        c if i else WORD_START + c
        for token in unicodedata.normalize("NFC", text).split()
        for i, c in enumerate(token)
    ]
    tokens = _tokens(letters)
    spaced = _tokens(pieces)
    groups = tokens if unit == "tokens" else words(letters)
    owner = {i: number for number, group in enumerate(groups) for i in group}
    # a sign that the vocabulary reads as a space, or leaves out
    if len(tokens) != len(spaced):
        tokens = [[*range(len(letters))]]
        spaced = [[*range(len(pieces))]]
    made: list[list[int]] = [[] for _ in groups]
    for token, cut in zip(tokens, spaced, strict=True):
        owners = [
            owner[i]
            for i in token
            for _ in unicodedata.normalize("NFKC", letters[i].replace(WORD_START, ""))
        ]
        # The characters of each piece; of one in several bytes the first counts. A
        # piece is of the part it begins in.
        sizes = [
            int(piece[3] not in "89AB")
            if piece in BYTES
            else 1
            if piece == SPECIAL[UNK]
            else len(piece.removeprefix(WORD_START))
            for piece in (pieces[i] for i in cut)
        ]
        for i, size, at in zip(cut, sizes, accumulate(sizes), strict=True):
            made[
                owners[max(0, at - max(1, size)) * len(owners) // max(1, sum(sizes))]
            ].append(i)
    return made


def _tokens(pieces: Sequence[str]) -> list[list[int]]:
    """Group the numbers of pieces by what stands between spaces."""
    starts = [
        i for i, piece in enumerate(pieces) if i == 0 or piece.startswith(WORD_START)
    ]
    return [
        [*range(i, j)] for i, j in zip(starts, [*starts[1:], len(pieces)], strict=False)
    ]


def joined(there: Set[Link], back: Set[Link]) -> frozenset[Link]:
    """Join the links of a model with those of one of the other direction by
    grow-diag-final-and, both (source, target).

    Koehn et al. (2005, IWSLT) after Och and Ney (2003): what both have; then
    neighbours, also across, that one has and of which a word has no link yet; then what
    `there`, and after it `back`, has between two words that have none.
    """
    union = sorted(there | back)
    kept = set(there & back)
    before = -1

    def take(link: Link, which: Callable[[Iterable[bool]], bool]) -> None:
        if which(all(one[side] != link[side] for one in kept) for side in range(2)):
            kept.add(link)

    while before < len(kept):
        before = len(kept)
        for i, j in (link for link in union if link in kept):
            for link in ((i + di, j + dj) for di, dj in BESIDE):
                if link in there or link in back:
                    take(link, any)
    for link in (*sorted(there), *sorted(back)):
        take(link, all)
    return frozenset(kept)
