"""Read texts with and without labels, draw a share of the labels, and pack texts into
batches or windows."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from xformer.results import LABELS
from xformer.serve.reviews import encode, tidy
from xformer.tokenizer import Tokenizer
from xformer.training.data.corpora import read_columns, repeat

Labelled = tuple[int, str]  # label (0: negative, 1: positive), text
Example = tuple[int, np.ndarray]  # label, pieces from BOS to EOS
T = TypeVar("T")  # a text, or its pieces
# texts from which a vocabulary is learned; more change little
VOCABULARY_TEXTS = 20_000


def read_rows(path: Path) -> list[Labelled]:
    """Read labels and texts: label TAB text. Raises as `read_columns` does."""
    rows = read_columns(
        path,
        "[01]",
        "a label and a text",
        "texts",
        "0 (negative) or 1 (positive), a tab, a text",
    )
    return [(int(label), "\t".join(text)) for label, *text in rows]


def share(rows: Sequence[tuple[int, T]], part: float, seed: int) -> list[tuple[int, T]]:
    """Draw a part (0 to 1) of the rows, as many of each label; a smaller part of the
    same seed is in a larger one."""
    if not 0 < part <= 1:
        raise ValueError(
            f"the share of labels is {part}; it must be above 0 and at most 1"
        )
    if part == 1:
        return list(rows)
    each = max(1, round(part * len(rows) / len(LABELS)))
    drawn = []
    for label in range(len(LABELS)):
        of_label = [row for row in rows if row[0] == label]
        random.Random(f"{seed} {label}").shuffle(of_label)
        drawn += of_label[:each]
    return drawn


def learn_vocabulary(texts: Sequence[str], size: int, seed: int) -> Tokenizer:
    """Learn a vocabulary without capitals from some of the texts."""
    some = random.Random(seed).sample(texts, min(VOCABULARY_TEXTS, len(texts)))
    return Tokenizer.train((tidy(text) for text in some), size, fold_case=True)


def encode_rows(
    tokenizer: Tokenizer, rows: Sequence[Labelled], max_length: int
) -> list[Example]:
    """Split labelled texts into pieces, from BOS to EOS; of texts too long the
    beginning and the end are kept."""
    return [
        (label, np.array(encode(tokenizer, tidy(text), max_length)[0], dtype=np.int32))
        for label, text in rows
    ]


def encode_texts(tokenizer: Tokenizer, texts: Sequence[str]) -> list[np.ndarray]:
    """Split whole texts into pieces, from BOS to EOS, for `Windows`."""
    return [
        np.array(encode(tokenizer, tidy(text), 1 << 30)[0], dtype=np.int32)
        for text in texts
    ]


class ReviewBatches:
    """Make batches of examples of similar length for each epoch, the same for the same
    seed and epoch."""

    def __init__(
        self,
        sources: Sequence[tuple[Sequence[Example], float]],
        *,
        batch_pieces: int = 6000,
        batch_rows: int = 128,
        seed: int = 0,
    ) -> None:
        """Take examples, each with the share of them used in an epoch, which may be
        above 1.

        batch_pieces: of a batch, padding included. Raises ValueError for a negative
        share.
        """
        if any(part < 0 for _, part in sources):
            raise ValueError(
                f"the shares of the data are {[part for _, part in sources]}; they must be 0 or more"
            )
        self.sources = sources
        self.batch_pieces = batch_pieces
        self.batch_rows = batch_rows
        self.seed = seed

    def epoch(self, number: int, skip: int = 0) -> Iterator[list[Example]]:
        """Yield the batches of one epoch without the first `skip`."""
        rng = random.Random(f"{self.seed} {number}")
        chosen: list[Example] = []
        for examples, part in self.sources:
            chosen += repeat(examples, part, rng)
        rng.shuffle(chosen)
        chosen.sort(key=lambda example: len(example[1]))
        batches: list[list[Example]] = [[]]
        for example in chosen:  # none is shorter than the one before
            size = len(batches[-1]) + 1
            if size > 1 and (
                size * len(example[1]) > self.batch_pieces or size > self.batch_rows
            ):
                batches.append([])
            batches[-1].append(example)
        rng.shuffle(batches)
        yield from (batch for batch in batches[skip:] if batch)


class Windows:
    """Put texts one after the other and cut them into windows of equal length, in
    another order in each epoch."""

    def __init__(
        self,
        texts: Sequence[np.ndarray],
        length: int,
        batch_pieces: int = 8192,
        seed: int = 0,
    ) -> None:
        self.texts = texts
        self.length = length
        self.seed = seed
        self.size = max(1, batch_pieces // length)  # windows in a batch

    def epoch(self, number: int, skip: int = 0) -> Iterator[list[np.ndarray]]:
        """Yield the batches of windows [length + 1] of one epoch without the first
        `skip`.

        A window begins with the piece that the one before ends with. Pieces at the end
        that fill no window are left out.
        """
        order = list(range(len(self.texts)))
        random.Random(f"{self.seed} {number}").shuffle(order)
        stream = np.concatenate([self.texts[i] for i in order])
        windows = [
            stream[i : i + self.length + 1]
            for i in range(0, len(stream) - self.length, self.length)
        ]
        for first in range(skip * self.size, len(windows), self.size):
            yield windows[first : first + self.size]
