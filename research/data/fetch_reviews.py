"""Download film reviews and labelled phrases and put them into the form that training
reads."""

from __future__ import annotations

import gzip
import hashlib
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from tqdm import tqdm

from research.data.fetch import (
    BY_HAND,
    LARGEST,
    OTHER,
    fetch_file,
    staged,
    unzip,
    write_files,
)
from research.options import SentimentDownload
from xformer.results import UserError, refusing
from xformer.serve.reviews import tidy
from xformer.training.data.corpora import key
from xformer.training.data.reviews import Labelled

Item = TypeVar("Item", str, Labelled)
REVIEW = re.compile(r"(?:\./)?aclImdb/(train|test)/(pos|neg|unsup)/(\d+)_\d+\.txt")
FILMS = re.compile(r"(?:\./)?aclImdb/train/urls_(pos|neg)\.txt")
LARGEST_FILE = 10_000_000  # bytes of one that is read
FOLDERS = (
    ("train", "pos"),
    ("train", "neg"),
    ("train", "unsup"),
    ("test", "pos"),
    ("test", "neg"),
)
HELD_OUT = 0.1  # of the films
BRACKETS = {"-LRB-": "(", "-RRB-": ")"}
FILES = (
    "imdb-train.tsv.xz",
    "imdb-validation.tsv.xz",
    "imdb-test.tsv.xz",
    "imdb-unlabelled.txt.xz",
    "sst2-train-phrases.tsv",
    "sst2-validation.tsv",
)


class Reviews(NamedTuple):
    """The reviews of an archive, and the films they are about."""

    # for each of FOLDERS the texts by their number
    texts: dict[tuple[str, str], dict[int, str]]
    # for "pos" and "neg" of train the addresses of the films, in the order of the
    # numbers
    films: dict[str, list[str]]


def read_archive(archive: Path, source: str) -> Reviews:
    """Read the reviews in an aclImdb_v1.tar.gz that was downloaded from `source`.
    Raises UserError.

    Nothing is extracted: only members of a known name and a bounded size are read, and
    where the archive would put them does not matter.
    """
    reviews = Reviews({folder: {} for folder in FOLDERS}, {})
    unpacked = 0
    with (
        refusing(
            (tarfile.TarError, EOFError, OSError, zlib.error, UnicodeDecodeError),
            lambda error: (
                f"What {source} sent is no tar.gz archive of UTF-8 texts, or not the whole of one ({error}); run the "
                f"command again, {BY_HAND}."
            ),
        ),
        gzip.open(archive) as stream,
        tarfile.open(fileobj=stream, mode="r:") as opened,
        tqdm(opened, unit="file", dynamic_ncols=True, disable=None) as members,
    ):
        for member in members:
            if member.size < 0:
                raise tarfile.ReadError(f"{member.name} has {member.size} bytes")
            unpacked += member.size
            if unpacked > LARGEST:
                raise UserError(
                    f"The archive from {source} would unpack to more than the {LARGEST:,} bytes that are "
                    f"read; {OTHER}."
                )
            if (review := REVIEW.fullmatch(member.name)) and (
                review[1],
                review[2],
            ) in reviews.texts:
                if text := " ".join(_content(opened, member).split()):
                    reviews.texts[review[1], review[2]][int(review[3])] = text
            elif films := FILMS.fullmatch(member.name):
                reviews.films[films[1]] = _content(opened, member).split("\n")
        # tarfile stops at a damaged header as at the end; the checksum of the whole
        # comes after the zeros there.
        if stream.read(LARGEST).strip(b"\0"):
            raise tarfile.ReadError("a header is damaged")
    for half, label in FOLDERS:
        if not reviews.texts[half, label]:
            raise UserError(
                f"The archive from {source} holds no reviews in aclImdb/{half}/{label}; {OTHER}."
            )
    return reviews


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    # a link could lead anywhere
    file = archive.extractfile(member) if member.isfile() else None
    if file is None or member.size > LARGEST_FILE:
        raise tarfile.ReadError(
            f"{member.name} is no file of at most {LARGEST_FILE:,} bytes"
        )
    return file.read().decode("utf-8")


def review_key(text: str) -> str:
    """Reduce a text to a key: equal for texts that differ in case, punctuation and
    markup alone."""
    return key(tidy(text))


def hash_rank(text: str, seed: int) -> int:
    """Hash a text to 0 … 2^64 - 1, so that next year's archive is put in nearly the
    same order, and split alike."""
    return int.from_bytes(hashlib.sha256(f"{seed} {text}".encode()).digest()[:8], "big")


def shuffled(items: Iterable[Item], seed: int) -> list[Item]:
    """Sort by hash, which is random to a reader."""

    def rank(item: Item) -> tuple[int, Item]:
        return hash_rank(str(item), seed), item

    return sorted(items, key=rank)


def split_reviews(
    reviews: Reviews, seed: int
) -> tuple[list[Labelled], list[Labelled], list[Labelled], list[str]]:
    """Split the reviews of an archive into those to train on, to validate with, to test
    with, and those without labels.

    Validation has all reviews of a tenth of the films of the archive's train half; test
    is its test half. No text of these two stands in another part, none twice in train.
    """
    test = [
        (label, text)
        for label, name in enumerate(("neg", "pos"))
        for text in reviews.texts["test", name].values()
    ]
    taken = {review_key(text) for _, text in test}
    train: list[Labelled] = []
    validation: list[Labelled] = []
    for label, name in enumerate(("neg", "pos")):
        films = reviews.films.get(name, [])
        for number, text in sorted(reviews.texts["train", name].items()):
            if review_key(text) not in taken:
                taken.add(review_key(text))
                film = films[number] if number < len(films) else text
                (
                    validation if hash_rank(film, seed) < HELD_OUT * 2**64 else train
                ).append((label, text))
    taken -= {review_key(text) for _, text in train}
    unlabelled = {
        text
        for text in reviews.texts["train", "unsup"].values()
        if review_key(text) not in taken
    }
    return (
        shuffled(train, seed),
        shuffled(validation, seed),
        shuffled(test, seed),
        shuffled(unlabelled, seed),
    )


def phrases(tree: str) -> Iterator[Labelled]:
    """Yield every phrase of a tree of the Stanford Sentiment Treebank with its label, 0
    to 4, the whole sentence last.

    >>> list(phrases("(3 (2 It) (4 (2 's) (4 great)))"))
    [(2, 'It'), (2, "'s"), (4, 'great'), (4, "'s great"), (3, "It 's great")]
    """
    begun: list[tuple[int, list[str]]] = []
    for label, word, end in re.findall(r"\((\d)|([^\s()]+)|(\))", tree):
        if label:
            begun.append((int(label), []))
        elif word and begun:
            begun[-1][1].append(
                BRACKETS.get(word, word.replace("\\/", "/").replace("\\*", "*"))
            )
        elif end and begun:
            sentiment, words = begun.pop()
            yield sentiment, " ".join(words)
            if begun:
                begun[-1][1].extend(words)


def read_treebank(archive: Path, source: str) -> tuple[list[Labelled], list[Labelled]]:
    """Read (train, validation): the phrases of the train trees and the sentences of the
    dev trees, as SST-2 has them.

    Negative are the labels 0 and 1, positive 3 and 4; the neutral are left out, and of
    train the phrases that are sentences of dev. Raises UserError.
    """
    learned, judged = (
        [
            rows
            for line in unzip(archive, name, source).split("\n")
            if (rows := list(phrases(line)))
        ]
        for name in ("train.txt", "dev.txt")
    )
    dev = [rows[-1] for rows in judged]
    held_out = {review_key(text) for _, text in dev}
    train = {
        text: label
        for rows in learned
        for label, text in rows
        if review_key(text) not in held_out
    }
    kept = [(label // 3, text) for text, label in train.items() if label != 2]
    validation = [(label // 3, text) for label, text in dev if label != 2]
    if not (kept and validation):
        raise UserError(
            f"The archive from {source} holds no labelled trees in train.txt and dev.txt; {OTHER}."
        )
    return kept, validation


def fetch_sentiment(download: SentimentDownload) -> dict[str, int]:
    """Download the two archives and write FILES and ATTRIBUTION.txt to `download.out`;
    return how many texts each has. Raises UserError; the folder is then as it was."""
    out = download.out
    imdb, sst = download.urls
    seed = download.seed
    with staged(out, FILES) as new:
        digests = [fetch_file(imdb, new / "imdb"), fetch_file(sst, new / "sst")]
        train, validation, test, unlabelled = split_reviews(
            read_archive(new / "imdb", imdb), seed
        )
        if not (train and validation):
            raise UserError(
                f"The archive from {imdb} has too few films to hold any out, {len(train):,} reviews to "
                f"learn from and {len(validation):,} to validate with; {OTHER}."
            )
        parts: list[Sequence[tuple[object, ...]]] = [
            train,
            validation,
            test,
            [(text,) for text in unlabelled],
        ]
        parts += [shuffled(part, seed) for part in read_treebank(new / "sst", sst)]
        rows = dict(zip(FILES, parts, strict=True))
        write_files(
            new,
            rows,
            "credits_reviews.txt",
            imdb=imdb,
            sst=sst,
            of_imdb=digests[0],
            of_sst=digests[1],
            seed=seed,
        )
    return {name: len(of_file) for name, of_file in rows.items()}
