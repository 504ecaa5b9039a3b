"""Which of the sentences that the page offers by itself were written for, in training:
assets/taught.json.

The measure is that of "What it learned from" (`xformer.parts.learned.ask`), the cosine
of tf · idf, to the pairs written for this project alone: sentences, and entries of the
dictionary. Short texts are near to something always, so the bound is one of texts of as
many words: 95 of 100 sentences of dev, which nobody aimed at, lie below it.

| words | en: sentence, entry | es: sentence, entry |
|---|---|---|
| up to 3 | 0.793, 0.931 | 0.752, 0.892 |
| 4, 5 | 0.720, 0.855 | 0.686, 0.815 |
| 6, 7 | 0.691, 0.769 | 0.623, 0.744 |
| 8 to 10 | 0.628, 0.711 | 0.585, 0.686 |
| 11 to 13 | 0.620, 0.625 | 0.490, 0.600 |
| more | 0.518, 0.579 | 0.434, 0.562 |

A sentence was aimed at where its nearest pair of either kind reaches the bound; or by a
word that at most SELDOM pairs of Tatoeba have and at least AIMED of the file that was
written for rare words. Of the 2,003 English sentences of dev 9.5 % are near, 6.0 % have
such a word, and 15.2 % either (of the 2,331 Spanish ones 9.4, 7.5 and 16.2 %): so many
marks are chance, as nobody aimed at dev.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xformer.figures.taught import PATH, Taught
from xformer.lessons.files import read
from xformer.parts.learned.ask import FILES, SIDES, WORD, Index, known, plain
from xformer.parts.lecture.draw import read as lecture
from xformer.strings import ASSETS, PACKAGE

# for words that other data seldom have
(FOR_WORDS,) = (path for path in FILES if path.name == "words.tsv.xz")
KINDS = ("written", "entry")  # what was written here: sentences, and a dictionary
READS = {reads: side for (reads, _), side in SIDES.items()}
SHARE = 0.95  # of sentences that nobody aimed at, below the bound
LENGTHS = (3, 5, 7, 10, 13, 1_000)  # most words of the texts of a bound
SELDOM = 12  # most pairs of Tatoeba with a word that others were written for
SAME = 0.9999  # nearness of the same words
AIMED = 4  # fewest of these


class Offered(NamedTuple):
    """A sentence that the page offers by itself, and its language."""

    reads: str
    text: str


@dataclass(frozen=True)
class Bound:
    """The nearness from which a text counts as taught by pairs of a kind."""

    reads: str
    origin: str  # one of KINDS
    words: int  # most of the text
    bound: float
    of: int  # sentences it was measured on


def offered() -> list[Offered]:
    """The sentences of examples, minimal pairs, the lecture, lessons, doors and
    demonstrations, each once."""
    examples = _json("examples")
    found = [
        *(("en", text) for text in examples["translation"]),
        *(("es", text) for text in examples["translation_es"]),
        *((reads, text) for reads in READS for text in examples[f"meanings_{reads}"]),
        *(
            (one.get("reads", "en"), text)
            for one in _json("minimal_pairs", PACKAGE / "parts" / "sentences")
            for text in one["texts"]
        ),
        *(("en", one.english) for one in lecture()),
        *(("en", text) for text in _of_lessons()),
        *(
            (one["reads"], text)
            for one in _json("demonstrations")
            for text in one["texts"][: 1 if one["kind"] == "likelier" else None]
        ),
    ]
    return [Offered(*one) for one in dict.fromkeys(found) if one[0] in READS and one[1]]


def _json(name: str, folder: Path = ASSETS) -> Any:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def _of_lessons() -> Iterator[str]:
    """The English sentences that lessons open the page with; the doors', too."""
    for path in sorted((ASSETS / "lessons").glob("*.json")):
        for step in read(path).steps:
            if text := step.address.get("text"):
                yield text


class Files:
    """One side of what a model learned from and ships: what was written here, apart."""

    def __init__(self, reads: str) -> None:
        self.reads = reads
        self.side = READS[reads]
        pairs = known(self.side)
        self.index = Index(pairs, self.side)
        marks = [line.rpartition(b"\t")[2] for line in bytes(pairs).splitlines()]
        entries = np.array([mark == b"entry" for mark in marks])
        lengths = [lzma.decompress(file.read_bytes()).count(b"\n") for file in FILES]
        of_file = np.repeat(np.arange(len(FILES)), lengths)[: len(marks)]
        self.rows = {"written": (of_file > 0) & ~entries, "entry": entries}
        # how many pairs have each word: of Tatoeba, and of those for rare words
        of_pair = np.diff(self.index.starts, append=len(self.index.words))
        self.tatoeba, self.rare = (
            np.bincount(
                self.index.words[np.repeat(rows, of_pair)],
                minlength=len(self.index.met),
            )
            for rows in (of_file == 0, of_file == FILES.index(FOR_WORDS))
        )

    def aimed(self, text: str) -> list[str]:
        """The words of a text, as typed, for which sentences were written."""
        found = []
        for word in WORD.findall(text):
            at = self.index.ids.get(plain(word), -1)
            if self.tatoeba[at] <= SELDOM and self.rare[at] >= AIMED:
                found.append(word)
        return [*dict.fromkeys(found)]

    def bounds(self, texts: Sequence[str]) -> list[Bound]:
        """Measure the bounds on sentences that nobody aimed at."""
        nearest = {kind: list[float]() for kind in KINDS}
        for text in texts:
            similar = self.index.similarities(text)
            for kind, rows in self.rows.items():
                nearest[kind].append(float((similar * rows).max()))
        counts = np.array([len(WORD.findall(text)) for text in texts])
        found = []
        for kind in KINDS:
            for fewest, most in zip((0, *LENGTHS), LENGTHS, strict=False):
                chosen = (counts > fewest) & (counts <= most)
                if not chosen.any():
                    raise ValueError(
                        f"no sentence of {fewest + 1} to {most} words is among the pairs"
                    )
                bound = np.quantile(np.array(nearest[kind])[chosen], SHARE)
                found.append(
                    Bound(
                        self.reads,
                        kind,
                        most,
                        round(float(bound), 3),
                        int(chosen.sum()),
                    )
                )
        return found

    def taught(self, text: str, bounds: Sequence[Bound]) -> Taught:
        """Look for what was written for a text: the nearest sentence or the nearest
        entry, whichever is further above its bound, or less below it."""
        similar = self.index.similarities(text)
        words = WORD.findall(plain(text))
        aimed = tuple(self.aimed(text))
        seen = any(
            WORD.findall(plain(source)) == words
            for source in self._sources(similar > SAME)
        )
        found = []
        for kind in KINDS:
            bound = next(
                one.bound
                for one in bounds
                if one.origin == kind and len(words) <= one.words
            )
            nearness = similar * self.rows[kind]
            best = int(nearness.argmax())
            near = {*map(plain, self._sources(nearness >= bound))}
            (pair,) = self.index.lines(best, best + 1)
            found.append(
                Taught(
                    self.reads,
                    text,
                    kind,
                    pair[self.side],
                    pair[1 - self.side],
                    round(float(nearness[best]), 3),
                    bound,
                    len(near),
                    aimed,
                    seen,
                )
            )
        return max(found, key=lambda one: one.nearness - one.bound)

    def _sources(self, rows: np.ndarray) -> list[str]:
        """The texts of some pairs, (N,) of bool, on this side."""
        return [
            self.index.lines(i, i + 1)[0][self.side]
            for i in np.flatnonzero(rows).tolist()
        ]


def kept(reads: str) -> list[Bound]:
    """The bounds that ship, of a language."""
    return [Bound(**one) for one in _json("taught")["bounds"] if one["reads"] == reads]


def write(bounds: Sequence[Bound], rows: Sequence[Taught], path: Path = PATH) -> None:
    """Write what was found, a line each."""
    lines = {
        name: ",\n".join(
            f"  {json.dumps(asdict(one), ensure_ascii=False)}" for one in of
        )
        for name, of in (("bounds", bounds), ("sentences", rows))
    }
    path.write_text(
        "{\n"
        + ",\n".join(f'"{name}": [\n{text}\n]' for name, text in lines.items())
        + "\n}\n",
        encoding="utf-8",
    )
