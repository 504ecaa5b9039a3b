"""The training pairs that ship, and those nearest to a text by its words. Numpy only.

Component w of a text's vector is tf(w) · ln((N + 1) / (n(w) + 1)): how often it has a
word, and how few of all N pairs, n(w), do. How near texts are is the cosine of these
(tf-idf: Salton and Buckley 1988, smoothed for words of no pair).
"""

import lzma
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from xformer.results import (
    Learned,
    MemoryScore,
    Message,
    NearestPairs,
    NearPair,
    UserError,
    refusing,
)
from xformer.serve.answers import Answers
from xformer.serve.memory import give_back
from xformer.serve.protocol import Progress
from xformer.strings import PACKAGE

# Pairs written for this project, CC0; `research data translation` writes them too.
WRITTEN = tuple(
    PACKAGE / "training" / "data" / f"{name}.tsv.xz"
    for name in ("written", "words", "prose", "texts")
)
# pairs by pattern, whose mark has after it what a pronoun links
PATTERNS = PACKAGE / "training" / "data" / "patterns.tsv.xz"
# of English, Spanish and a mark
FILES = (Path(__file__).with_name("learned.tsv.xz"), *WRITTEN, PATTERNS)
ONLY_ENGLISH = 1  # the last of these files: es-en learned its pronouns alone
# the column that a model reads, by its languages
SIDES = {("en", "es"): 0, ("es", "en"): 1}
# by mark; others: tatoeba
ORIGINS = {
    "written": "written",
    "in-test": "written",
    "pattern": "written",
    "entry": "entry",
    "pivot": "pivot",
}
# a line feed stands for the beginning of a pair's text
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|\n")
# pairs: read at a time, looked at, shown; least cosine
BLOCK = 4_096
CANDIDATES = 300
NEAREST = 10
LEAST = 0.005
# one for each side, made when it is first asked
LOCK = threading.Lock()
KEPT = dict[int, "Index"]()


def plain(text: str) -> str:
    """A text as its words are compared: in small letters, with straight apostrophes."""
    return text.lower().replace("’", "'")


@cache
def _read() -> tuple[bytes, int]:
    """Read the pairs that ship, one a line, and count the bytes, from the first, of
    those that es-en has learned from too."""
    files = " + ".join(path.name for path in FILES)
    with refusing(
        (OSError, lzma.LZMAError), Message.of("learned_missing", files=files)
    ):
        texts = [lzma.decompress(path.read_bytes()) for path in FILES]
    return b"".join(texts), sum(map(len, texts[:-ONLY_ENGLISH]))


def shipped() -> bytes:
    """The pairs that ship, one a line. Raises UserError where a file is missing or
    broken."""
    return _read()[0]


def known(side: int) -> memoryview:
    """Those of `shipped` that the model which reads this side has learned from, not
    copied."""
    pairs, of_both = _read()
    return memoryview(pairs)[: of_both if side else None]


class Index:
    """One side of N pairs as rows of words, each word with its share of the row's
    vector of length 1."""

    def __init__(
        self,
        pairs: bytes | memoryview,
        side: int,
        tell: Callable[[int, int], object] = lambda done, of: None,
    ) -> None:
        """pairs: as `shipped`. tell: told after each block of the pairs that are read,
        and of all."""
        self.pairs = pairs
        self.side = side
        self.ends = np.flatnonzero(np.frombuffer(pairs, np.uint8) == ord("\n")) + 1
        count = len(self.ends)
        found = list[tuple[np.ndarray, ...]]()
        # 0: all have it
        ids: defaultdict[str, int] = defaultdict(lambda: len(ids), {"\n": 0})
        for first in range(0, count, BLOCK):
            last = min(first + BLOCK, count)
            tokens = WORD.findall(
                plain("".join(f"\n{line[side]}" for line in self.lines(first, last)))
            )
            words = np.fromiter(map(ids.__getitem__, tokens), np.int64, len(tokens))
            keys, tf = np.unique(
                (np.cumsum(words == 0) - 1) << 32 | words, return_counts=True
            )
            found.append(
                (
                    (keys & 0xFFFFFFFF).astype(np.int32),
                    tf.astype(np.uint16),
                    np.bincount(keys >> 32),
                )
            )
            tell(last, count)
        self.words, tf, lengths = (
            np.concatenate(parts) for parts in zip(*found, strict=True)
        )
        self.ids = dict(ids)
        self.starts = np.cumsum(lengths) - lengths
        # the last: of all words that no pair has
        self.met = np.bincount(self.words, minlength=len(ids) + 1)
        self.idf = np.log((count + 1) / (self.met + 1)).astype(np.float32)
        self.weights = tf * self.idf[self.words]
        self.weights /= np.repeat(
            np.sqrt(np.add.reduceat(self.weights**2, self.starts)).clip(1e-9), lengths
        )

    def lines(self, first: int, last: int) -> list[list[str]]:
        """Read pairs, each English, Spanish and its mark."""
        text = str(
            self.pairs[self.ends[first - 1] if first else 0 : self.ends[last - 1]],
            "utf-8",
        )
        return [line.split("\t") for line in text.split("\n")[:-1]]

    def similarities(self, text: str) -> np.ndarray:
        """How near each pair is to a text, (N,), 0 to 1."""
        vector = np.zeros_like(self.idf)
        for word, tf in Counter(WORD.findall(plain(text))).items():
            at = self.ids.get(word, -1)
            vector[at] = np.hypot(vector[at], tf * self.idf[at])
        similar: np.ndarray = np.add.reduceat(
            vector[self.words] * self.weights, self.starts
        )
        return similar / (np.linalg.norm(vector) or 1)

    def nearest(self, text: str, count: int = NEAREST) -> Learned:
        """Answer `results.NearestPairs`."""
        typed = WORD.findall(text)
        own = [plain(word) for word in typed]
        similar = self.similarities(text)
        ranked = list[tuple[float, bool, bool, int, list[str]]]()
        near = dict[str, NearPair]()
        for i in np.argpartition(-similar, min(CANDIDATES, len(similar)) - 1)[
            :CANDIDATES
        ].tolist():
            if similar[i] >= LEAST:
                (line,) = self.lines(i, i + 1)
                other = WORD.findall(plain(line[self.side])) != own
                ranked.append(
                    (-round(float(similar[i]), 5), other, line[2] == "pivot", i, line)
                )
        # of equals first those of the same order, then those not joined
        for minus, *_, line in sorted(ranked):
            known = near.get(source := plain(line[self.side]))
            near[source] = (
                replace(known, more=known.more + 1)
                if known
                else NearPair(
                    line[self.side],
                    line[1 - self.side],
                    ORIGINS.get(line[2].partition(" ")[0], "tatoeba"),
                    -minus,
                )
            )
        words = {
            word: (as_typed, int(self.met[self.ids.get(word, -1)]))
            for word, as_typed in zip(reversed(own), reversed(typed), strict=True)
        }
        return Learned(
            tuple(words[word] for word in dict.fromkeys(own)),
            tuple(near.values())[:count],
            not all(one[1] for one in ranked),
            len(self.ends),
        )


def nearest_pairs(service: Any, asked: NearestPairs, tell: Progress | None) -> Learned:
    """Answer `results.NearestPairs`. Raises UserError for a model of other
    languages."""
    if (side := SIDES.get((service.info.source, service.info.target))) is None:
        raise UserError(Message.of("learned_language", model=service.info.name))
    none = list[MemoryScore]()
    text = service.read(asked.text).text
    scores = service.measured(_memory_scores, none)
    with LOCK, service.guard.work() as pause:
        if side not in KEPT:

            def noted(*now: int) -> None:
                pause()
                if tell:
                    tell(*now)

            KEPT[side] = Index(known(side), side, noted)
            give_back()  # 30 MB
        return replace(KEPT[side].nearest(text), scores=tuple(scores))


def _memory_scores(found: dict[str, Any]) -> list[MemoryScore]:
    return [MemoryScore(**one) for one in found["memory"]["scores"]]


ANSWERS: Answers = {NearestPairs: nearest_pairs}
