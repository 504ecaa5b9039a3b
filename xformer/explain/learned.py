"""The training pairs that ship, and those nearest to a text by its words. Numpy only.

The vector of a text has, for each word w, tf(w) · ln((N + 1) / (n(w) + 1)): how often the text has it, and how few of
all N pairs, n(w), have it on that side. How near two texts are is the cosine of their vectors, 0 to 1 (tf-idf: Salton
and Buckley 1988, the logarithm smoothed, so that a word that no pair has counts in a text too).
"""

import lzma
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from xformer.results import Learned, Message, NearPair, UserError
from xformer.strings import ASSETS, PACKAGE

FILES = ASSETS / "learned.tsv.xz", PACKAGE / "training" / "data" / "written.tsv.xz"  # English, Spanish, a mark
SIDES = {("en", "es"): 0, ("es", "en"): 1}  # the column that a model reads, by its languages
ORIGINS = {"written": "written", "in-test": "written", "entry": "entry", "pivot": "pivot"}  # by mark; others: tatoeba
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
TOKEN = re.compile(rf"{WORD.pattern}|\n")
BLOCK, CANDIDATES, LEAST = 4_096, 300, 0.005  # pairs read at a time; pairs that are looked at; the least cosine
LOCK, KEPT = threading.Lock(), dict[int, "Index"]()  # one for each side, made when it is first asked


def plain(text: str) -> str:
    """A text as its words are compared: in small letters, with straight apostrophes."""
    return text.lower().replace("’", "'")


@cache
def shipped() -> bytes:
    """The pairs that ship, one a line. Raises UserError where a file is missing or broken."""
    try:
        return b"".join(lzma.decompress(path.read_bytes()) for path in FILES)
    except (OSError, lzma.LZMAError) as error:
        raise UserError(Message.of("learned_missing", files=" + ".join(path.name for path in FILES))) from error


class Index:
    """One side of N pairs as rows of words, each word with its share of the row's vector of length 1."""

    def __init__(self, pairs: bytes, side: int, pause: Callable[[], object] = lambda: None,
                 tell: Callable[[int, int], object] | None = None) -> None:
        """pairs: as `shipped`. pause: called between blocks. tell: told of the pairs that are read, and of all."""
        self.pairs, self.side = pairs, side
        self.ends = np.flatnonzero(np.frombuffer(pairs, np.uint8) == ord("\n")).astype(np.int32) + 1
        ids, count, found = defaultdict[str, int](), len(self.ends), list[tuple[np.ndarray, ...]]()
        ids.default_factory = ids.__len__
        ids["\n"] = 0  # before each text, so that none is empty; as all have it, it counts for nothing
        for first in range(0, count, BLOCK):
            last = min(first + BLOCK, count)
            text = "".join(f"\n{line[side]}" for line in self._lines(first, last))
            tokens = TOKEN.findall(plain(text))
            words = np.fromiter(map(ids.__getitem__, tokens), np.int64, len(tokens))
            keys, tf = np.unique((np.cumsum(words == 0) - 1) << 32 | words, return_counts=True)
            found.append(((keys & 0xffffffff).astype(np.int32), tf.astype(np.uint16), np.bincount(keys >> 32)))
            pause()
            if tell is not None:
                tell(last, count)
        self.words, tf, lengths = (np.concatenate(parts) for parts in zip(*found, strict=True))
        self.ids, self.starts, self.met = dict(ids), np.cumsum(lengths) - lengths, np.bincount(self.words)
        self.idf = np.log((count + 1) / (self.met + 1)).astype(np.float32)
        self.weights = tf * self.idf[self.words]
        norms = np.sqrt(np.add.reduceat(self.weights ** 2, self.starts))
        self.weights /= np.repeat(np.maximum(norms, 1e-9), lengths)

    def _lines(self, first: int, last: int) -> list[list[str]]:
        text = self.pairs[self.ends[first - 1] if first else 0:self.ends[last - 1]].decode()
        return [line.split("\t") for line in text.split("\n")[:-1]]

    def nearest(self, text: str, count: int) -> Learned:
        """Answer `results.NearestPairs`."""
        typed, vector, squares = WORD.findall(text), np.zeros_like(self.idf), 0.0
        own = [plain(word) for word in typed]
        for word, tf in Counter(own).items():
            at = self.ids.get(word)
            weight = tf * float(np.log(len(self.ends) + 1) if at is None else self.idf[at])
            squares += weight ** 2
            if at is not None:
                vector[at] = weight
        similar = np.add.reduceat(vector[self.words] * self.weights, self.starts) / (squares ** 0.5 or 1.0)
        ranked, groups = list[tuple[float, bool, bool, int, list[str]]](), dict[str, list[NearPair]]()
        for i in np.argpartition(-similar, min(CANDIDATES, len(similar)) - 1)[:CANDIDATES].tolist():
            (line,) = self._lines(i, i + 1)
            ranked.append((-min(1.0, round(float(similar[i]), 5)), WORD.findall(plain(line[self.side])) != own,
                           line[2] == "pivot", i, line))
        for minus, *_, line in sorted(ranked):  # of equals: those of the same order, those that were not joined
            if -minus >= LEAST:
                source, target = line[self.side], line[1 - self.side]
                groups.setdefault(plain(source), []).append(
                    NearPair(source, target, ORIGINS.get(line[2], "tatoeba"), -minus))
        near = tuple(replace(group[0], more=len(group) - 1) for group in groups.values())[:count]
        first = dict(zip(reversed(own), reversed(typed), strict=True))
        return Learned(tuple((first[word], int(self.met[self.ids[word]]) if word in self.ids else 0)
                             for word in dict.fromkeys(own)), near,
                       bool(near) and WORD.findall(plain(near[0].source)) == own, len(self.ends))
