"""Read sentence pairs, roughen them as people type, and pack them into batches of
similar length."""

from __future__ import annotations

import json
import lzma
import multiprocessing
import random
import re
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from xformer.results import UserError, refusing
from xformer.tokenizer import Tokenizer
from xformer.training.options import BatchOptions, check

Pair = tuple[str, str]  # English, Spanish
Ids = tuple[list[int], list[int]]  # source and target pieces, without BOS and EOS


class Ranked(NamedTuple):
    """A source with RANKED hypotheses of a model, in pieces without BOS and EOS, and
    what each costs: 0 what says the same as the references, 1 what has nothing of them.
    """

    source: list[int]
    hypotheses: list[list[int]]
    costs: list[float]


Item = TypeVar("Item")
# pairs that are shuffled, split into pieces and sorted by length at a time
WINDOW = 20_000
MOST_CAPITALS = 60  # characters of a sentence that is written in capitals
PHRASE_WORDS = 5  # English words up to which a pair of written.tsv is a phrase
WORD = re.compile(r"[^\W\d_]+")
# surnames, syllables of others, and what people shorten
LISTS: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("lists.json").read_text(encoding="utf-8")
)
# times that a name is written small, to one that it stands on both sides of a pair
SELDOM = 0.02
# the mark of a pair that is kept though it shares a sentence with a test
IN_TEST = "in-test"
# hypotheses of a beam, the first; those that follow are seldom probable, and cost as
# much
RANKED = 4
# the mark of a pair that is no sentence: a word as a dictionary has it, a phrase, a
# title
ENTRY = "entry"


def read_lines(path: Path) -> list[str]:
    """Read the lines of a UTF-8 text file, packed if its name ends in .xz; raises
    FileNotFoundError and ValueError."""
    with refusing(
        (lzma.LZMAError, UnicodeDecodeError),
        lambda error: ValueError(
            f"{path} is not readable as UTF-8 text ({error}); fetch or write it again"
        ),
    ):
        content = (
            lzma.decompress(path.read_bytes())
            if path.suffix == ".xz"
            else path.read_bytes()
        )
        return content.decode("utf-8-sig").split("\n")


def read_columns(
    path: Path, first: str, one: str, many: str, form: str
) -> list[list[str]]:
    """Read the columns of a .tsv or .tsv.xz file, two at least, none of these two
    empty.

    first: a pattern of the first column. one, many, form: what a line holds, for the
    messages. Raises FileNotFoundError, or ValueError naming the first line that is of
    another form.
    """
    rows = []
    for number, line in enumerate(read_lines(path), 1):
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) >= 2 and re.fullmatch(first, columns[0]) and columns[1]:
            rows.append(columns)
        elif line.strip():
            raise ValueError(
                f"line {number} of {path} is not {one}; write {form}: {line[:60]!r}"
            )
    if not rows:
        raise ValueError(f"{path} holds no {many}; write one a line: {form}")
    return rows


def read_marked_pairs(path: Path) -> list[tuple[str, str, str]]:
    """Read sentence pairs, English TAB Spanish, with their third column, which is empty
    where a line has none. Raises as `read_columns` does."""
    rows = read_columns(
        path, ".+", "a pair", "sentence pairs", "English, a tab, Spanish"
    )
    return [
        (english, spanish, mark)
        for english, spanish, mark, *_ in ((*row, "") for row in rows)
    ]


def read_pairs(path: Path) -> list[Pair]:
    """Read sentence pairs without further columns. Raises as `read_columns` does."""
    return unmarked(read_marked_pairs(path))


def unmarked(rows: Iterable[tuple[str, str, str]]) -> list[Pair]:
    """Leave out the third column of pairs."""
    return [row[:2] for row in rows]


def read_ranked(path: Path, tokenizer: Tokenizer) -> list[Ranked]:
    """Read hypotheses: source TAB hypothesis TAB nearness, 0 to 100, RANKED lines one
    after the other for each source. Those of one source that all cost the same are left
    out. Raises as `read_columns` does, and ValueError where a line has no nearness or
    none are left."""
    rows = read_columns(
        path,
        ".+",
        "a hypothesis",
        "hypotheses",
        "a sentence, a tab, a translation, a tab, 0 to 100",
    )
    groups = (
        [*islice(group, RANKED)] for _, group in groupby(rows, key=lambda row: row[0])
    )
    with refusing(
        (IndexError, ValueError),
        lambda error: ValueError(
            f"{path} has a line without its nearness, 0 to 100; make it by “python -m research data nearest "
            "--ranked”"
        ),
    ):
        ranked = [
            (group, [1 - float(row[2]) / 100 for row in group])
            for group in groups
            if len(group) == RANKED
        ]
        if not all(0 <= cost <= 1 for _, costs in ranked for cost in costs):
            raise ValueError
    found = [
        Ranked(
            tokenizer.encode(group[0][0]),
            [tokenizer.encode(row[1]) for row in group],
            costs,
        )
        for group, costs in ranked
        if max(costs) > min(costs)
    ]
    if not found:
        raise ValueError(
            f"{path} has no sentence with {RANKED} hypotheses of unlike nearness; make it of more text"
        )
    return found


def data_file(folder: Path, name: str, kind: str = "tsv") -> Path | None:
    """Return the path of `name`.tsv or `name`.tsv.xz in a folder; None if neither is
    there."""
    return next(
        (
            p
            for p in (folder / f"{name}.{kind}", folder / f"{name}.{kind}.xz")
            if p.is_file()
        ),
        None,
    )


def needed_file(
    folder: Path, name: str, data: str, line: str, kind: str = "tsv"
) -> Path:
    """Return the path of a file of training data; raises UserError where it is not
    there.

    data: the command that fetches it, python -m research data … line: the form of its
    lines, for the message.
    """
    path = data_file(folder, name, kind)
    if path is None:
        raise UserError(
            f"There is no {name}.{kind} or {name}.{kind}.xz in {folder}; make them with “python -m "
            f"research data {data} --out {folder}”, or write {line} on each line."
        )
    return path


def key(sentence: str) -> str:
    """Reduce a sentence to its letters and digits without case: equal for sentences
    that differ in nothing else."""
    return (
        re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", sentence).casefold())
        or sentence
    )


def without(pairs: Sequence[Pair], excluded: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that share neither their English nor their Spanish with
    `excluded`, by `key`."""
    english = {key(pair[0]) for pair in excluded}
    spanish = {key(pair[1]) for pair in excluded}
    return [
        pair
        for pair in pairs
        if key(pair[0]) not in english and key(pair[1]) not in spanish
    ]


def turned(pairs: Iterable[Pair]) -> list[Pair]:
    """Exchange the sides of pairs, as a model from Spanish into English reads them."""
    return [(spanish, english) for english, spanish in pairs]


@dataclass(frozen=True)
class Roughening:
    """How often (0 to 1) a sentence is changed as if typed in haste; its translation
    stays as it is, but for capitals."""

    lower: float = 0.25  # all in lower case
    no_stop: float = 0.25  # punctuation at its ends left out
    no_apostrophe: float = 0.08  # dont, im; in Spanish accents: esta, tu
    # "I am" to "I'm" and the other way round; in Spanish ¿ and ¡ left out
    contraction: float = 0.15
    slip: float = 0.05  # one letter swapped, doubled or lost
    join: float = 0.15  # two or three pairs in a row become one, for length
    capitals: float = 0.03  # all in capitals, and so is the translation


NO_ROUGHENING = Roughening(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
SHORTENED = [both.split("|") for both in LISTS["shortened"]]
CONTRACTIONS = [(re.compile(rf"\b{full}\b", re.I), short) for full, short in SHORTENED]
EXPANSIONS = [
    (re.compile(rf"\b{short}\b", re.I), full)
    for full, short in SHORTENED
    if short in LISTS["expanded"]
]
OPENED = str.maketrans("", "", "¿¡")  # which many people do not type
UNACCENTED = str.maketrans("áéíóúÁÉÍÓÚ", "aeiouAEIOU")


def _substitute(rules: Sequence[tuple[re.Pattern[str], str]], text: str) -> str:
    """Apply rules of replacement, with a capital where the text has one."""
    for pattern, new in rules:
        text = pattern.sub(partial(_like, new), text)
    return text


def _like(new: str, old: re.Match[str]) -> str:
    return new[0].upper() + new[1:] if old[0][0].isupper() else new


def slip(text: str, rng: random.Random) -> str:
    """Make one slip of the finger inside a word: two letters swapped, one lost, or one
    doubled."""
    inner = [i for i in range(1, len(text) - 1) if text[i - 1 : i + 2].isalpha()]
    if not inner:
        return text
    i = rng.choice(inner)
    return rng.choice(
        (
            text[:i] + text[i + 1] + text[i] + text[i + 2 :],
            text[:i] + text[i + 1 :],
            text[:i] + text[i] + text[i:],
        )
    )


def plain(text: str) -> str:
    """Write a text as many people type: in lower case, without punctuation at its
    ends."""
    return text.lower().rstrip(" .!?…").lstrip("¿¡")


def roughen(
    text: str, how: Roughening, rng: random.Random, spanish: bool = False
) -> str:
    """Change a sentence as somebody may type it, by chance."""
    if rng.random() < how.contraction:
        text = (
            text.translate(OPENED)
            if spanish
            else _substitute(EXPANSIONS if "'" in text else CONTRACTIONS, text)
        )
    if rng.random() < how.no_apostrophe:
        text = (
            text.translate(UNACCENTED)
            if spanish
            else text.replace("'", "").replace("’", "")
        )
    if rng.random() < how.slip:
        text = slip(text, rng)
    if rng.random() < how.no_stop:
        text = text.rstrip(" .!?…").lstrip("¿¡") or text
    if rng.random() < how.lower:
        text = text.lower()
    return text


def join(
    pairs: Sequence[Pair], how: Roughening, rng: random.Random, longest: int = 300
) -> Iterator[Pair]:
    """Yield pairs, some joined two or three in one; no joined English gets longer than
    `longest` characters."""
    waiting = iter(pairs)
    for english, spanish in waiting:
        if rng.random() < how.join:
            for _ in range(rng.choice((1, 1, 2))):
                more = next(waiting, None)
                if more is None:
                    break
                if len(english) + 1 + len(more[0]) > longest:
                    yield english, spanish
                    english, spanish = more
                    break
                english = f"{english} {more[0]}"
                spanish = f"{spanish} {more[1]}"
        yield english, spanish


def dress(entry: Pair, rng: random.Random) -> Pair:
    """Write an entry of a dictionary as people type it: bare, with a capital, with a
    full stop, in capitals; alike on both sides. One that has signs or capitals of its
    own mostly stays as it is."""
    english, spanish = entry
    chance = rng.random()
    if chance < 0.2:
        return english.upper(), spanish.upper()
    if not english[0].islower() or not english[-1].isalnum():
        if chance > 0.3 or not english[-1].isalnum() or not spanish[1:].islower():
            return entry
        # a title, or Spain
        return (
            english.lower(),
            spanish.lower() if " " in english and " " in spanish else spanish,
        )
    if chance < 0.65:
        english, spanish = (side[0].upper() + side[1:] for side in entry)
    if 0.45 < chance < 0.75:
        english = english + "."
        spanish = spanish + "."
    return english, spanish


def repeat(items: Sequence[Item], times: float, rng: random.Random) -> list[Item]:
    """Return each item as many times as the whole part of `times` says; the rest is a
    share of them, drawn."""
    whole, rest = divmod(round(times * len(items)), max(1, len(items)))
    return [*items] * whole + rng.sample(items, rest)


def packed(
    rows: Iterable[Item],
    most: int,
    lengths: Callable[[Item], tuple[int, int]],
    rng: random.Random,
) -> list[list[Item]]:
    """Pack rows of similar length into batches of at most `most` pieces, padding
    included, in an order that is drawn.
    lengths: the pieces of a row's source, and of its target or of all its targets."""
    batches: list[list[Item]] = []
    # pieces of the longest source so far; the rows come with ever longer targets
    sources = 0
    for row in sorted(rows, key=lambda row: lengths(row)[::-1]):
        source, target = lengths(row)
        sources = max(sources, source)
        if not batches or (sources + target) * (len(batches[-1]) + 1) > most:
            batches.append([])
            sources = source
        batches[-1].append(row)
    rng.shuffle(batches)
    return batches


def surname(rng: random.Random) -> str:
    """Draw a surname, a quarter of them made of syllables; a few are double, or begin
    with O' or Mc."""
    if rng.random() < 0.25:
        count = rng.choice((2, 3))
        name = "".join(rng.choice(LISTS["syllables"]) for _ in range(count))
        name = name.capitalize()
    else:
        name = rng.choice(LISTS["surnames"])
    chance = rng.random()
    if chance < 0.06:
        return f"{name}-{rng.choice(LISTS['surnames'])}"
    if chance < 0.14 and "'" not in name and not name.startswith(("Mc", "Mac")):
        return rng.choice(("O'", "Mc", "Mac", "D'", "De", "Van ")) + name
    return name


def _lengths(row: Ids) -> tuple[int, int]:
    source, target = row
    return len(source) + 1, len(target) + 1


def _ranked_lengths(one: Ranked) -> tuple[int, int]:
    longest = max(map(len, one.hypotheses))
    return len(one.source) + 1, RANKED * (longest + 1)


class Names:
    """Names of people and places that pairs hold, alike on both sides, to be exchanged
    for one another.

    Most pairs of Tatoeba that have a name have Tom. A model that has seen a few
    thousand, and more that are made of halves of them, learns to copy those that it has
    never seen.
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        """Find the names: words of a capital and two small letters or more that stand
        on both sides of a pair and are seldom written small."""
        alike: Counter[str] = Counter()
        small: Counter[str] = Counter()
        for english, spanish in pairs:
            words = {*WORD.findall(english)}
            alike.update(
                word
                for word in words.intersection(WORD.findall(spanish))
                if len(word) > 2 and word[0].isupper() and word[1:].islower()
            )
            small.update(word for word in words if word.islower())
        self.names = sorted(
            name
            for name, times in alike.items()
            if small[name.lower()] <= SELDOM * times
        )
        self._known = {*self.names}
        self._in_a = [name for name in self.names if name.endswith("a")]

    def draw(self, name: str, rng: random.Random) -> str:
        """Draw a name in place of another, half of them made of two, and some from
        names of many languages. What ends in -a is exchanged for the like, so that
        adjectives mostly go on agreeing."""
        new = rng.choice(self._in_a if name.endswith("a") else self.names)
        chance = rng.random()
        if 0.5 <= chance < 0.65 and not name.endswith("a"):
            return surname(rng)
        if chance < 0.5:
            other = rng.choice(self.names)
            new = (
                other[: rng.randint(2, len(other))]
                + new[rng.randint(1, len(new) - 1) :]
            )
        return new

    def exchange(self, pair: Pair, rng: random.Random) -> Pair:
        """Put other names in the place of those that a pair has on both sides, the same
        on both."""
        on_both = self._known.intersection(*map(WORD.findall, pair))
        new = {name: self.draw(name, rng) for name in sorted(on_both)}
        if not new:
            return pair
        english, spanish = (
            WORD.sub(lambda word: new.get(word[0], word[0]), sentence)
            for sentence in pair
        )
        return english, spanish


@dataclass(frozen=True)
class Packer:
    """Make batches of pairs: what there is to know for it, so that other processes can
    do it too."""

    tokenizer: Tokenizer
    names: Names
    options: BatchOptions
    roughening: Roughening

    def __call__(
        self, pairs: Sequence[Pair], finished: Sequence[Pair], seed: str
    ) -> list[list[Ids]]:
        """Roughen and join pairs, not those that are `finished`, split them all into
        pieces, and pack those of similar length together."""
        rng = random.Random(seed)
        reverse = self.options.reverse
        rows = []
        if self.options.names:
            pairs = [
                self.names.exchange(pair, rng)
                if rng.random() < self.options.names
                else pair
                for pair in pairs
            ]
        if reverse:
            pairs = turned(pairs)
            finished = turned(finished)
        joined = (
            (roughen(source, self.roughening, rng, reverse), target)
            for source, target in join(pairs, self.roughening, rng)
        )
        in_capitals = (
            (source.upper(), target.upper())
            if rng.random() < self.roughening.capitals and len(source) <= MOST_CAPITALS
            else (source, target)
            for source, target in joined
        )
        for pair in chain(in_capitals, finished):
            source, target = (
                self.tokenizer.encode(
                    side, sampling=0.2 if rng.random() < self.options.sampled else 0.0
                )
                for side in pair
            )
            if (
                source
                and target
                and max(len(source), len(target)) < self.options.max_pieces
            ):
                rows.append((source, target))
        return packed(
            rows,
            self.options.batch_tokens,
            _lengths,
            rng,
        )


class TranslationBatches:
    """Make batches of pieces for each epoch: the same sentences in the same order for
    the same seed and epoch.

    (SentencePiece's choice of splits cannot be repeated: it takes no seed.)
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        pairs: Sequence[Pair],
        extra: Sequence[Pair] = (),
        written: Sequence[Pair] = (),
        entries: Sequence[Pair] = (),
        ranked: Sequence[Ranked] = (),
        to_copy: Sequence[Pair] = (),
        *,
        options: BatchOptions,
        roughening: Roughening | None = None,
        seed: int = 0,
    ) -> None:
        """Take pairs that each epoch has once, pairs to draw from, pairs written for
        training, and entries of a dictionary, which are dressed by chance and neither
        roughened nor joined. Of the ranked, if there are any, each batch has some
        beside its pairs, as many pieces again. Of pairs with what is `to_copy`, a share is
        drawn for each epoch, and stays as it is. Raises ValueError for wrong
        options.
        """
        check(options)
        self.pairs = pairs
        self.extra = extra
        self.entries = entries
        self.to_copy = to_copy
        self.options = options
        self.seed = seed
        self.ranked = [
            one
            for one in ranked
            if max(map(len, (one.source, *one.hypotheses))) < options.max_pieces
        ]
        self.phrases = [
            pair for pair in written if len(pair[0].split()) <= PHRASE_WORDS
        ]
        self.written = [pair for pair in written if len(pair[0].split()) > PHRASE_WORDS]
        names = Names([*pairs, *extra, *written] if options.names else ())
        self.pack = Packer(tokenizer, names, options, roughening or Roughening())
        # makes the next windows ready while one is trained on
        self.ahead: Executor = ThreadPoolExecutor(1)
        if options.workers:
            self.ahead = ProcessPoolExecutor(
                options.workers, multiprocessing.get_context("spawn")
            )

    def _ranked(self, rng: random.Random) -> Iterator[list[Ranked]]:
        """Yield the ranked of similar length, batch by batch, without end."""
        while True:
            order = rng.sample(self.ranked, len(self.ranked))
            for first in range(0, len(order), WINDOW):
                yield from packed(
                    order[first : first + WINDOW],
                    self.options.batch_tokens,
                    _ranked_lengths,
                    rng,
                )

    def epoch(self, number: int, skip: int = 0) -> Iterator[list[Ids | Ranked]]:
        """Yield the batches of one epoch without the first `skip`: `Ids`, and after
        them some of the ranked."""
        ranked = islice(
            self._ranked(random.Random(f"{self.seed} {number} ranked")), skip, None
        )
        rng = random.Random(f"{self.seed} {number}")
        how = self.options
        pairs = [
            *self.pairs,
            *rng.sample(self.extra, round(how.extra_weight * len(self.extra))),
            *repeat(self.written, how.written_weight, rng),
            *repeat(self.phrases, how.phrase_weight, rng),
        ]
        rng.shuffle(pairs)
        finished = [
            dress(entry, rng) for entry in repeat(self.entries, how.entry_weight, rng)
        ]
        if self.to_copy:
            finished += rng.choices(self.to_copy, k=round(how.copied * len(pairs)))
        rng.shuffle(finished)
        count = -(-len(pairs) // WINDOW)
        windows = [
            (pairs[i * WINDOW : (i + 1) * WINDOW], finished[i::count])
            for i in range(count)
        ]
        ready = (
            self.ahead.submit(self.pack, *window, f"{self.seed} {number} {i}")
            for i, window in enumerate(windows)
        )
        coming = deque(islice(ready, 1 + how.workers))
        while coming:
            batches = coming.popleft().result()
            coming.extend(islice(ready, 1))
            for batch in batches[skip:]:
                yield [*batch, *(next(ranked) if self.ranked else ())]
            skip = max(0, skip - len(batches))
