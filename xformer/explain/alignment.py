"""Measure how well cross-attention heads align words: alignment error rate against
pairs aligned by hand. No torch.

Och and Ney (2003), "A systematic comparison of various statistical alignment models",
Computational Linguistics 29(1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xformer.explain.maps import by_words
from xformer.pieces import EOS, SPECIAL, WORD_START, words
from xformer.results import Head, ModelInfo, Trace, refusing
from xformer.strings import ASSETS

# by the language that a model reads
GOLD = {"en": ASSETS / "alignments.tsv", "es": ASSETS / "alignments_es.tsv"}
LINK = re.compile(r"(\d+)([-?])(\d+)", re.ASCII)
Link = tuple[int, int]  # the numbers of an English and a Spanish word, from 0
READINGS = ("predicted", "given")  # which piece a row of a decoder's map stands for


@dataclass(frozen=True)
class Gold:
    """A sentence pair aligned by hand."""

    english: str
    spanish: str
    sure: frozenset[Link]
    possible: frozenset[Link]  # includes the sure links

    @property
    def source(self) -> tuple[str, ...]:
        """The words of the English sentence."""
        return split(self.english)

    @property
    def target(self) -> tuple[str, ...]:
        """The words of the Spanish sentence."""
        return split(self.spanish)

    def turned(self) -> Gold:
        """The pair as a model from Spanish into English reads it: its sides
        exchanged."""
        sure, possible = (
            frozenset((j, i) for i, j in links) for links in (self.sure, self.possible)
        )
        return Gold(self.spanish, self.english, sure, possible)


def grouped(pieces: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Group pieces into words (text, indices of the pieces), without </s>; a lone "▁"
    belongs to the mark after it.

    >>> grouped(["▁gat", "o", "s", "▁", "...", "</s>"])
    [('gatos', [0, 1, 2]), ('...', [3, 4])]
    """
    named = []
    before: list[int] = []  # a lone "▁"
    for group in words(pieces):
        text = "".join(pieces[i] for i in group).removeprefix(WORD_START)
        if text == "":
            before = group
        elif text != SPECIAL[EOS]:
            named.append((text, before + group))
            before = []
    return named


def split(text: str) -> tuple[str, ...]:
    """Split a sentence into words by the rule of `grouped`, with a piece for every
    character.

    >>> split("¿Dónde está?")
    ('¿', 'Dónde', 'está', '?')
    """
    pieces = [
        c if i else WORD_START + c for word in text.split() for i, c in enumerate(word)
    ]
    return tuple(word for word, _ in grouped(pieces))


def read_gold(path: Path = GOLD["en"]) -> list[Gold]:
    """Read pairs aligned by hand: English TAB Spanish TAB links; `i-j` is a sure link,
    `i?j` a possible one.

    i counts the words of the English and j those of the Spanish, as `split` makes them,
    from 0. Raises FileNotFoundError, or ValueError naming the first line that is wrong.

    In the files that ship, a word has a sure link to its translation. Words without a
    translation of their own (subjects left out, articles, "do", particles of verbs, "¿"
    with "?") have a possible link to the word that carries their meaning. Every word
    that a model writes has a link and at most one sure link, so that a head could reach
    an error of 0. The sentences have no apostrophes: like all punctuation they are
    words, and "don't" would be three.
    """
    with refusing(
        UnicodeDecodeError,
        lambda error: ValueError(
            f"{path} is not readable as UTF-8 text ({error}); write it again"
        ),
    ):
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    gold = [
        _read_pair(line.rstrip("\r"), f"line {number} of {path}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not gold:
        raise ValueError(
            f"{path} holds no aligned pairs; write one a line: English, a tab, Spanish, a tab, links"
        )
    return gold


def _read_pair(line: str, where: str) -> Gold:
    """Read one line. where: its place, for error messages."""
    columns = [column.strip() for column in line.split("\t")]
    if len(columns) != 3 or not all(columns):
        raise ValueError(
            f"{where} is no aligned pair; write English, a tab, Spanish, a tab, links: {line[:60]!r}"
        )
    english, spanish, written = columns
    last = len(split(english)) - 1, len(split(spanish)) - 1
    kinds: dict[Link, str] = {}
    for text in written.split():
        matched = LINK.fullmatch(text)
        if not matched:
            raise ValueError(
                f"{where} has {text!r} for a link; write i-j (sure) or i?j (possible)"
            )
        link = int(matched[1]), int(matched[3])
        if link[0] > last[0] or link[1] > last[1]:
            raise ValueError(
                f"{where} has the link {text}, but its last words are {last[0]} and {last[1]}; "
                f"count from 0, punctuation too"
            )
        if link in kinds:
            raise ValueError(
                f"{where} has the link {text} twice; write it once, as sure or as possible"
            )
        kinds[link] = matched[2]
    sure = frozenset(link for link, kind in kinds.items() if kind == "-")
    if not sure:
        raise ValueError(f"{where} has no sure link; write at least one i-j")
    return Gold(english, spanish, sure, frozenset(kinds))


def alignment(
    attention: np.ndarray, source: Sequence[str], predicted: Sequence[str]
) -> frozenset[Link]:
    """Link each target word with the source word that a head looks at most: (source
    word, target word).

    attention (T, S), as in a `Trace`: row t stands for the piece `predicted[t]`. Pieces
    are joined into words by `by_words`; </s> is left out on both sides, even if a row
    looks at nothing else.
    """
    queries, keys = (
        [group for _, group in grouped(pieces)] for pieces in (predicted, source)
    )
    return linked(attention, queries, keys)


def linked(
    attention: np.ndarray,
    queries: Sequence[Sequence[int]],
    keys: Sequence[Sequence[int]],
) -> frozenset[Link]:
    """Link each part of a target, `queries`, with the part of the source, `keys`, that
    a map (T, S) looks at most; the parts are lists of pieces, and an empty one has no
    link."""
    asking, seen = (
        [i for i, group in enumerate(parts) if group] for parts in (queries, keys)
    )
    if not asking or not seen:
        return frozenset()
    rows = by_words(attention, [queries[i] for i in asking], [keys[i] for i in seen])
    return frozenset((seen[int(row.argmax())], asking[t]) for t, row in enumerate(rows))


def alignment_error_rate(
    links: Set[tuple[int, ...]],
    sure: Set[tuple[int, ...]],
    possible: Set[tuple[int, ...]],
) -> float:
    """Compute 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), for links A, sure links S and
    possible links P, which include S.

    0: all of S, and nothing outside P; 1: nothing in P. Raises ValueError if S is not
    in P, or A and S are empty.
    """
    if not sure <= possible:
        raise ValueError(
            f"{len(sure - possible)} sure links are not among the possible ones; add them there"
        )
    if not links and not sure:
        raise ValueError(
            "there are neither links nor sure links; give at least one to compare"
        )
    return 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))


def reading(errors: tuple[float, float] | None) -> str:
    """Name the reading in which a head aligns better, one of READINGS, by its error
    rates; the first if unknown."""
    return READINGS[0] if errors is None or errors[0] <= errors[1] else READINGS[1]


def given_heads(
    info: ModelInfo, errors_of: Callable[[Head], tuple[float, float] | None]
) -> frozenset[Head]:
    """List the cross-attention heads that align the piece they were given better than
    the piece they predict.

    errors_of: returns the error rates of a head in both readings, or None if they were
    not measured.
    """
    return frozenset(
        head
        for head in Head.every("cross", info.layers("cross"), info.n_heads)
        if reading(errors_of(head)) == "given"
    )


def best_of(rates: np.ndarray) -> tuple[Head, str]:
    """The head of the cross-attention with the lowest error rate, and in which reading.
    rates: (2, layers, H), in the order of READINGS."""
    reading = int(rates.min(axis=(1, 2)).argmin())
    return Head.highest("cross", -rates[reading]), READINGS[reading]


def head_scores(
    traces: Sequence[Trace], gold: Sequence[Gold], reading: str = "predicted"
) -> np.ndarray:
    """Compute the alignment error rate of every cross-attention head: float64 (layers,
    heads).

    traces[n] is the pass over gold[n].english and gold[n].spanish. Links are counted
    over the whole set, not averaged sentence by sentence. reading: whether a row stands
    for the piece that its position predicts or for the piece that it was given; some
    heads align the latter (Chen et al. (2020), "Accurate Word Alignment Induction from
    Neural Machine Translation"). Raises ValueError if the pieces of a trace do not make
    the words of its pair.
    """
    if len(traces) != len(gold) or not gold:
        raise ValueError(
            f"there are {len(traces)} traces for {len(gold)} aligned pairs; give one for each"
        )
    for number, (trace, pair) in enumerate(zip(traces, gold, strict=True), 1):
        for pieces, wanted in (
            (trace.source, pair.source),
            (trace.predicted, pair.target),
        ):
            made = tuple(word for word, _ in grouped(pieces))
            if made != wanted:
                raise ValueError(
                    f"pair {number} has the words {' '.join(wanted)!r}, but the model's vocabulary makes "
                    f"{' '.join(made)!r} of them; write the pair without the characters that differ"
                )
    sure = {(n, *link) for n, pair in enumerate(gold) for link in pair.sure}
    possible = {(n, *link) for n, pair in enumerate(gold) for link in pair.possible}
    scores = np.empty(traces[0].cross.shape[:2])
    first = READINGS.index(reading)
    for layer, head in np.ndindex(scores.shape):
        links = {
            (n, *link)
            for n, trace in enumerate(traces)
            for link in alignment(
                trace.cross[layer, head, first:],
                trace.source,
                trace.predicted[: len(trace.predicted) - first],
            )
        }
        scores[layer, head] = alignment_error_rate(links, sure, possible)
    return scores
