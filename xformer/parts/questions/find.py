"""Questions made from one sentence and its translation, with the numbers that answer
them: all from the pass and the search that made the translation, so that the model is
asked nothing more. Numpy only."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from xformer.explain.maps import by_words
from xformer.figures.labels import bare, shown
from xformer.pieces import BYTES, SPECIAL, WORD_START, joined, spelled, words
from xformer.results import Head, Trace, Translation

MOST = 3  # questions
# The share of its attention that a head must give a word for it to be said to look
# there: a quarter, where a word of a sentence of nine would get a ninth by chance.
# Measured with the weights that ship on the sentences of the dev set in which Tom or
# Mary stands before a pronoun that may mean them, 73 such pronouns in English and 63 in
# Spanish: some head gives a noun before it as much for 82 % and 94 % of them, and it is
# the one that is meant for 72 % and 92 % of these. At 0.15 it is said of 96 % and all,
# right for 73 % and 89 %; at 0.4 of 51 % and 83 %, right for 65 % and 94 %: a share says
# how far a head looks at one word, not whether the word is the right one.
BOUND = 0.25
UNLIKELY = 0.01  # the probability of a rival that is none
LEAST = 0.005  # the least share that is said
FAR = 4  # words from one to the other, for a link that is long
# By language: words that only join others ("short"), words after which a noun comes,
# pronouns of a person, of a thing and of many, words that say no, and pairs of words
# of either gender.
WORDS: Mapping[str, Mapping[str, frozenset[str]]] = {
    code: {kind: frozenset(listed.split()) for kind, listed in kinds.items()}
    for code, kinds in json.loads(
        Path(__file__).with_name("words.json").read_text(encoding="utf-8")
    ).items()
}
# Endings of two words of which one is of the other gender.
ENDINGS = (
    ("o", "a"),
    ("os", "as"),
    *((f"{c}", f"{c}a") for c in "lnrsz"),
    ("es", "as"),
)
# What a Spanish word ends with; a piece that ends otherwise is the beginning of one.
SPANISH_END = re.compile(r"[aeiouáéíóú][djlnrsxyz]?$")


@dataclass(frozen=True)
class Question:
    """A question and its answer: the texts "ask_" and "said_" with their keys, filled
    with `values`; and the address that shows it."""

    asks: str
    said: str
    values: Mapping[str, Any]
    address: Mapping[str, Any]


@dataclass(frozen=True)
class Side:
    """The words of one sentence of a pair."""

    pieces: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]  # the pieces of each word
    texts: tuple[str, ...]  # of each, as it is read
    code: str  # of the language

    @classmethod
    def of(cls, pieces: Sequence[str], code: str) -> Side:
        """Read a sentence."""
        groups = words(pieces)
        texts = [bare(spelled(text)) for text in joined(pieces, groups)]
        return cls(tuple(pieces), tuple(map(tuple, groups)), tuple(texts), code)

    def known(self, kind: str) -> frozenset[str]:
        """The words of a kind in its language; none of a language without lists."""
        return WORDS.get(self.code, {}).get(kind, frozenset())

    def of_kind(self, *kinds: str) -> list[int]:
        """The words that are of one of these kinds."""
        named = frozenset[str]().union(*map(self.known, kinds))
        return [i for i, text in enumerate(self.texts) if text.lower() in named]

    @cached_property
    def are_words(self) -> tuple[bool, ...]:
        """Whether each is made of letters or digits."""
        return tuple(
            self.pieces[group[0]] not in SPECIAL.values()
            and any(c.isalnum() for c in text)
            for group, text in zip(self.groups, self.texts, strict=True)
        )

    @cached_property
    def content(self) -> list[int]:
        """The words that say something: all but marks, pieces that are special, and
        words that only join others."""
        short = {*self.of_kind("short")}
        return [
            i for i, is_word in enumerate(self.are_words) if is_word and i not in short
        ]

    def begins(self, word: int) -> bool:
        """Whether a sentence begins with a word, where a capital letter says
        nothing."""
        return not any(self.are_words[:word]) or self.texts[word - 1] in (*'.!?¿¡:"“«',)


@dataclass(frozen=True, eq=False)
class Pair:
    """A sentence and its translation, word by word.

    aligns: the head of the cross-attention that aligns best; given: whether its rows
    stand for the piece that was given, rather than the one to predict.
    """

    translation: Translation
    trace: Trace
    source: Side
    target: Side
    aligns: Head
    given: bool

    @cached_property
    def encoder(self) -> np.ndarray:
        """The self-attention of the encoder (layers, heads, words, words)."""
        maps = self.trace.encoder_self
        groups = self.source.groups
        return by_words(maps, groups, groups) if maps.size else maps

    @cached_property
    def alignment(self) -> np.ndarray:
        """How much each word of the translation looks at each of the sentence, in the
        head that aligns best (words, words); empty where there is none."""
        maps = self.trace.cross
        if not maps.size:
            return np.zeros((0, 0))
        rows = maps[self.aligns.at][int(self.given) :]
        return by_words(rows, self.asking, self.source.groups)

    @cached_property
    def asking(self) -> list[list[int]]:
        """The rows of each word of the translation that has any."""
        least = len(self.trace.target) - int(self.given)
        kept = [[i for i in group if i < least] for group in self.target.groups]
        return [group for group in kept if group]


def questions(
    translation: Translation,
    trace: Trace,
    languages: tuple[str, str],
    aligns: Head,
    given: bool,
) -> list[Question]:
    """Make three questions about a translation: about what a word of the sentence looks
    at, about a choice of the search, and about a link between the languages; for each
    that there is nothing to ask of, another. Fewer where the translation is too short
    for any more.

    languages: the codes of those that the model reads and writes. aligns, given: as in
    `Pair`.
    """
    source, target = (
        Side.of(pieces, code)
        for pieces, code in zip((trace.source, trace.predicted), languages, strict=True)
    )
    pair = Pair(translation, trace, source, target, aligns, given)
    found = list[Question]()

    def take(*kinds: Callable[[Pair], Iterator[Question]], most: int = 1) -> None:
        for one in (one for kind in kinds for one in kind(pair)):
            if most and len(found) < MOST and not _is_in(one, found):
                found.append(one)
                most -= 1

    take(refers, became)
    take(rivals)
    take(made)
    take(genders, became, links, reads, rivals, made, begins, ends, second, most=MOST)
    return found


def _is_in(one: Question, found: Collection[Question]) -> bool:
    """Whether a question is asked already, or one of the same kind and place."""
    return any(
        one.asks == other.asks and one.address == other.address for other in found
    )


# Of the sentence alone


def refers(pair: Pair) -> Iterator[Question]:
    """Ask what a pronoun of a third person looks at: a noun that stands before it. The
    pronoun comes first that is answered most clearly; where none is, the last.

    Heads are ranked by what they give such a noun, where no other word that says
    something gets more; </s>, the word itself and its neighbours do not count.
    """
    side = pair.source
    if not pair.encoder.size:
        return
    nouns = [*_nouns(pair)]
    names = {noun for noun, is_name in nouns if is_name}
    things = {*side.of_kind("things")}
    asked = list[tuple[float, Question]]()
    for word in side.of_kind("people", "things", "many"):
        before = [
            noun
            for noun, _ in nouns
            if noun < word - 1 and not (word in things and noun in names)
        ]
        if before and not _is_article(side, word):
            asked.append(_refers(pair, word, before))
    for _, one in sorted(reversed(asked), key=lambda one: -one[0]):
        yield one


def _refers(pair: Pair, word: int, before: list[int]) -> tuple[float, Question]:
    """How much a head that looks at one of the nouns more than at other words gives it,
    0 where none does; and the question."""
    side = pair.source
    shares = pair.encoder[:, :, word]  # (layers, heads, words)
    others = [i for i in side.content if abs(i - word) > 1]
    leads = shares[..., before].max(axis=-1) >= shares[..., others].max(axis=-1)
    of_nouns = shares[..., before]
    led = np.where(leads[..., None], of_nouns, 0)
    is_said = led.max() >= BOUND
    ranked = led if is_said else of_nouns
    layer, head, best = map(int, np.unravel_index(ranked.argmax(), ranked.shape))
    share = float(of_nouns[layer, head, best])
    seen = before[best]
    place = Head("encoder_self", layer + 1, head + 1)
    values: dict[str, Any] = {
        "word": side.texts[word],
        "seen": side.texts[seen],
        "share": share,
        "head": place,
    }
    rest = [i for i in others if side.texts[i] != side.texts[seen]]
    second = max(rest, key=lambda i: shares[layer, head, i], default=seen)
    other = float(shares[layer, head, second])
    said = "refer_alone" if is_said else "refer_none"
    if second != seen and (other >= LEAST if is_said else share >= BOUND):
        said = "refer" if is_said else "refer_led"
        values |= {"next": side.texts[second], "other": other}
    if is_said and _is_common(pair, place, word, seen):
        said = "refer_common"
    address = _in_head(pair, place, word, seen)
    return share * is_said, Question("refer", said, values, address)


def _is_common(pair: Pair, head: Head, word: int, seen: int) -> bool:
    """Whether more than half of the other words look most at the word that is seen,
    too: then the head says little of this one."""
    looks = pair.encoder[head.at].argmax(axis=-1) == seen
    others = [i for i, is_word in enumerate(pair.source.are_words) if is_word]
    asking = [i for i in others if i not in (word, seen)]
    return bool(asking) and bool(looks[asking].mean() > 0.5)


def _nouns(pair: Pair) -> Iterator[tuple[int, bool]]:
    """List the words of a sentence that can be nouns, each with whether it is a name.

    There is no tagger: they are names, words with a capital letter inside a sentence,
    or at its beginning where the translation has the name too; and what follows an
    article or the like, up to the next short word, in Spanish the next word alone.
    """
    side = pair.source
    content = {*side.content}
    starters = {*side.of_kind("before_nouns")}
    kept = {
        text[:3]
        for text, is_word in zip(pair.target.texts, pair.target.are_words, strict=True)
        if is_word and text[:1].isupper()
    }
    follows = False
    for i, text in enumerate(side.texts):
        if i in content:
            is_name = text[0].isupper() and (not side.begins(i) or text[:3] in kept)
            if is_name or follows:
                yield i, is_name
        follows = i in starters or (follows and i in content and side.code != "es")


def _is_article(side: Side, word: int) -> bool:
    """Whether "lo" is no pronoun: lo que, lo mejor."""
    after = side.texts[word + 1 : word + 2]
    return side.texts[word].lower() == "lo" and (
        not after or after[0].lower() in side.known("short") | {"mejor", "peor"}
    )


def links(pair: Pair) -> Iterator[Question]:
    """Ask what links two words far apart: the farthest of which one looks at the
    other."""
    side = pair.source
    if not pair.encoder.size:
        return
    most = pair.encoder.max(axis=(0, 1))
    far = [
        (abs(word - seen), float(most[word, seen]), word, seen)
        for word in side.content
        for seen in side.content
        if abs(word - seen) >= FAR and most[word, seen] >= 2 * BOUND
    ]
    if not far:
        return
    apart, share, word, seen = max(far)
    maps = pair.encoder[:, :, word, seen]
    head_of = Head.highest("encoder_self", maps)
    values = {
        "word": side.texts[word],
        "seen": side.texts[seen],
        "apart": apart,
        "share": share,
        "head": head_of,
    }
    yield Question("link", "link", values, _in_head(pair, head_of, word, seen))


def reads(pair: Pair) -> Iterator[Question]:
    """Ask how a word is read that is read in pieces: the one of most."""
    side = pair.source
    pieces = {
        i: [side.pieces[k] for k in side.groups[i] if side.pieces[k] != WORD_START]
        for i in side.content
    }
    word = max(pieces, key=lambda i: (len(pieces[i]), -i), default=None)
    if word is None or len(pieces[word]) < 2:
        return
    values = {
        "word": side.texts[word],
        "count": len(pieces[word]),
        "pieces": [
            shown(piece) if piece in BYTES else bare(piece) for piece in pieces[word]
        ],
    }
    first = side.groups[word][0]
    address = {
        "tab": "model",
        "model_part": "vocabulary",
        "vocab_piece": first + 1,
        "lock": f"en{first}",
    }
    yield Question("read", "read", values, address)


# Of the search


@dataclass(frozen=True)
class Choice:
    """A step at which the search wrote a word, or the end of one, and might have
    written another."""

    step: int  # from 0
    word: str
    rival: str
    piece: str  # of the rival
    p: float
    p_rival: float


def _choices(pair: Pair) -> list[Choice]:
    """List the steps at which a word was ended, each with the likeliest other word: the
    same word with another last piece, or another word."""
    best = pair.translation.best
    found = list[Choice]()
    for word, group in enumerate(pair.target.groups):
        step = group[-1]
        if not pair.target.are_words[word] or step >= len(best.alternatives):
            continue
        for piece, log_prob in best.alternatives[step]:
            text = _other(pair.target, word, piece)
            if text:
                own = math.exp(best.log_probs[step])
                rival = math.exp(log_prob)
                named = pair.target.texts[word]
                found.append(Choice(step, named, text, piece, own, rival))
                break
    return found


def _other(side: Side, word: int, piece: str) -> str:
    """The word that another last piece would make of a word; "" where it makes none
    that a reader knows: the same one, a mark, or a beginning alone."""
    group = side.groups[word]
    own = side.texts[word].lower()
    is_start = piece.startswith(WORD_START)
    if piece in SPECIAL.values() or is_start != side.pieces[group[-1]].startswith(
        WORD_START
    ):
        return ""
    text = bare(spelled("".join(side.pieces[i] for i in group[:-1]) + piece))
    low = text.lower()
    is_short = low in side.known("short")
    is_whole = side.code != "es" or SPANISH_END.search(low)
    is_other = not (own.startswith(low) if is_start else own == low)
    return (
        text
        if text.isalpha() and is_other and (is_short or len(text) > 3 and is_whole)
        else ""
    )


def rivals(pair: Pair) -> Iterator[Question]:
    """Ask why the least sure word stands there and not the likeliest other one; last,
    where that one was next to impossible."""
    for one in sorted(_choices(pair), key=lambda one: (one.p_rival < UNLIKELY, one.p)):
        yield _rival(pair, one)


def genders(pair: Pair) -> Iterator[Question]:
    """Ask why a word is not of the other gender, where that is its rival; the least
    sure first."""
    for one in sorted(_choices(pair), key=lambda one: one.p):
        if _are_genders(pair.target, one.word.lower(), one.rival.lower()):
            yield _rival(pair, one)


def _are_genders(side: Side, one: str, other: str) -> bool:
    """Whether two words differ in their gender alone."""
    known = {f"{one}/{other}", f"{other}/{one}"} & side.known("genders")
    return bool(known) or any(
        one.endswith(ends)
        and other.endswith(with_)
        and len(stem := one.removesuffix(ends)) > 2
        and stem == other.removesuffix(with_)
        for a, b in ENDINGS
        for ends, with_ in ((a, b), (b, a))
    )


def _rival(pair: Pair, one: Choice) -> Question:
    drawn = pair.translation.options.sampling
    said = (
        "rival"
        if one.p >= one.p_rival
        else "rival_drawn"
        if drawn
        else "rival_likelier"
    )
    values = {
        "word": one.word,
        "rival": one.rival,
        "p": one.p,
        "other": one.p_rival,
    }
    address = {
        "tab": "translate",
        "translate_part": "decoding",
        "decode": "why",
        "step": one.step + 1,
        "rival": one.piece,
        "twin": None,
        "spanish": None,
        "lock": f"es{one.step + 1}",
    }
    return Question("rival", said, values, address)


def ends(pair: Pair) -> Iterator[Question]:
    """Ask how it was known where to stop, with what else might have come."""
    best = pair.translation.best
    last = len(best.pieces) - 1
    if best.finished and last > 0:
        before = next(
            i for i, group in enumerate(pair.target.groups) if last - 1 in group
        )
        yield from _at_step(pair, "end", last, pair.target.texts[before])


def begins(pair: Pair) -> Iterator[Question]:
    """Ask how else the translation could have begun, where it begins with a whole
    word."""
    group = pair.target.groups[0]
    if len(group) == 1 and pair.target.are_words[0]:
        yield from _at_step(pair, "begin", 0, pair.target.texts[0])


def _at_step(pair: Pair, key: str, step: int, word: str) -> Iterator[Question]:
    """Ask something of a step, from 0, at which another piece might have come: one that
    is seen, and is no beginning of what came."""
    best = pair.translation.best
    own = bare(best.pieces[step]).lower()
    for piece, log_prob in best.alternatives[step]:
        text = bare(spelled(piece))
        if text == "␣" or "�" in text or own.startswith(text.lower()):
            continue
        values = {
            "word": word,
            "p": math.exp(best.log_probs[step]),
            "rival": text,
            "other": math.exp(log_prob),
        }
        yield Question(key, key, values, _of_step(step))
        return


def second(pair: Pair) -> Iterator[Question]:
    """Ask which translation came second, with the probability of each."""
    best, *others = pair.translation.n_best
    for other in others:
        if other.text.strip() and other.text != best.text:
            values = {
                "word": best.text,
                "p": math.exp(sum(best.log_probs)),
                "rival": other.text,
                "other": math.exp(sum(other.log_probs)),
            }
            yield Question("second", "second", values, _of_step(0))
            return


def _of_step(step: int) -> dict[str, Any]:
    """The address of a step, from 0, with its piece locked."""
    return {
        "tab": "translate",
        "translate_part": "decoding",
        "decode": "steps",
        "step": step + 1,
        "spanish": None,
        "lock": f"es{step + 1}",
    }


# Of both languages


def made(pair: Pair) -> Iterator[Question]:
    """Ask which word made one of the translation, in the head that aligns best: one
    that no word made; else one whose link crosses most others; else the one whose place
    changed most."""
    shares = pair.alignment
    seen = [i for i, is_word in enumerate(pair.source.are_words) if is_word]
    # a short word where there is no other
    asked = [i for i in pair.target.content if i < len(shares)] or [
        i
        for i, is_word in enumerate(pair.target.are_words)
        if is_word and i < len(shares)
    ]
    if not seen or not asked:
        return
    best = {i: seen[int(shares[i, seen].argmax())] for i in asked}
    linked = [i for i in asked if shares[i, best[i]] >= BOUND]
    crossed = {
        i: sum((i - j) * (best[i] - best[j]) < 0 for j in linked) for i in linked
    }

    def rank(i: int) -> tuple[bool, int, int, int]:
        """Words without a link first, then those that cross most, then long ones."""
        return i in crossed, -crossed.get(i, 0), -len(pair.target.texts[i]), i

    for i in sorted(asked, key=rank):
        values = {
            "word": pair.target.texts[i],
            "seen": pair.source.texts[best[i]],
            "share": float(shares[i, best[i]]),
            "head": pair.aligns,
            "count": crossed.get(i, 0),
        }
        said = "made_none" if i not in crossed else "made"
        if crossed.get(i):
            said = "made_crosses" if crossed[i] > 1 else "made_crosses_one"
        yield Question("made", said, values, _in_cross(pair, i, best[i]))


def became(pair: Pair) -> Iterator[Question]:
    """Ask what became of a word that says no, in the head that aligns best."""
    shares = pair.alignment
    asked = [
        i
        for i, is_word in enumerate(pair.target.are_words)
        if is_word and i < len(shares)
    ]
    if not asked:
        return
    for word in pair.source.of_kind("no"):
        best = max(asked, key=lambda i: shares[i, word])
        share = float(shares[best, word])
        values = {
            "word": pair.source.texts[word],
            "made": pair.target.texts[best],
            "share": share,
            "head": pair.aligns,
        }
        said = "became" if share >= BOUND else "became_none"
        yield Question("became", said, values, _in_cross(pair, best, word))


# Addresses


def _in_head(pair: Pair, head: Head, word: int, seen: int) -> dict[str, Any]:
    """The address of a head of the encoder with two words locked."""
    groups = pair.source.groups
    return {
        **_of_head(head, len(groups[word]) > 1 or len(groups[seen]) > 1),
        "lock": f"en{groups[word][0]}-en{groups[seen][0]}",
    }


def _in_cross(pair: Pair, word: int, seen: int) -> dict[str, Any]:
    """The address of the head that aligns best with a word of the translation and one
    of the sentence locked. In a lock, <s> is the first piece of a translation."""
    own = pair.target.groups[word]
    other = pair.source.groups[seen]
    return {
        **_of_head(pair.aligns, len(own) > 1 or len(other) > 1),
        "lock": f"es{own[0] + 1}-en{other[0]}",
    }


def _of_head(head: Head, by_word: bool) -> dict[str, Any]:
    """The address of the map of a head, with nothing chosen that changes its numbers.
    by_word: whether its pieces are joined into words."""
    return {
        "tab": "attention",
        "stack": head.stack,
        "layer": head.layer,
        "head": head.head,
        "show": "head",
        "heads": None,
        "words": 1 if by_word else None,
        "rows": None,
        "hide": None,
        "weigh": None,
        "spanish": None,
    }
