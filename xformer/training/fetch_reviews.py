"""`python -m xformer data sentiment`: film reviews and labelled phrases, in the form that training reads."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import re
import tarfile
import time
import zlib
from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from tqdm import tqdm

from xformer.results import UserError
from xformer.serve.reviews import tidy
from xformer.training.fetch import BY_HAND, LARGEST, OTHER, download, key, staged, unzip
from xformer.training.reviews import Row

Item = TypeVar("Item", str, Row)
REVIEW = re.compile(r"(?:\./)?aclImdb/(train|test)/(pos|neg|unsup)/(\d+)_\d+\.txt")
FILMS = re.compile(r"(?:\./)?aclImdb/train/urls_(pos|neg)\.txt")
LARGEST_FILE = 10_000_000  # bytes of one that is read
FOLDERS = (("train", "pos"), ("train", "neg"), ("train", "unsup"), ("test", "pos"), ("test", "neg"))
HELD_OUT = 0.1  # of the films
BRACKETS = {"-LRB-": "(", "-RRB-": ")"}
FILES = ("imdb-train.tsv.xz", "imdb-validation.tsv.xz", "imdb-test.tsv.xz", "imdb-unlabelled.txt.xz",
         "sst2-train-phrases.tsv", "sst2-validation.tsv")


class Reviews(NamedTuple):
    """What an archive holds."""

    texts: dict[tuple[str, str], dict[int, str]]  # for each of FOLDERS the texts by their number
    films: dict[str, list[str]]  # for "pos" and "neg" of train the addresses of the films, in the order of the numbers


def read_archive(archive: Path, source: str) -> Reviews:
    """The reviews in an aclImdb_v1.tar.gz that was downloaded from `source`.

    Nothing is extracted: what is read has a known name and a bounded size, and where the archive would put it does not
    matter. Raises UserError.
    """
    found, unpacked = Reviews({folder: {} for folder in FOLDERS}, {}), 0
    try:
        with (gzip.open(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as opened,
              tqdm(opened, unit="file", dynamic_ncols=True, disable=None) as members):
            for member in members:
                if member.size < 0:
                    raise tarfile.ReadError(f"{member.name} has {member.size} bytes")
                unpacked += member.size
                if unpacked > LARGEST:
                    raise UserError(f"The archive from {source} would unpack to more than the {LARGEST:,} bytes that "
                                    f"are read; {OTHER}.")
                if (review := REVIEW.fullmatch(member.name)) and (review[1], review[2]) in found.texts:
                    text = " ".join(_content(opened, member).split())
                    if text:
                        found.texts[review[1], review[2]][int(review[3])] = text
                elif films := FILMS.fullmatch(member.name):
                    found.films[films[1]] = _content(opened, member).split("\n")
            # tarfile stops at a damaged header as at the end; the checksum of the whole comes after the zeros there.
            if stream.read(LARGEST).strip(b"\0"):
                raise tarfile.ReadError("a header is damaged")
    except (tarfile.TarError, EOFError, OSError, zlib.error, UnicodeDecodeError) as error:
        raise UserError(f"What {source} sent is no tar.gz archive of UTF-8 texts, or not the whole of one ({error}); "
                        f"run the command again, {BY_HAND}.") from error
    for half, label in FOLDERS:
        if not found.texts[half, label]:
            raise UserError(f"The archive from {source} holds no reviews in aclImdb/{half}/{label}; {OTHER}.")
    return found


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    file = archive.extractfile(member) if member.isfile() else None  # a link could lead anywhere
    if file is None or member.size > LARGEST_FILE:
        raise tarfile.ReadError(f"{member.name} is no file of at most {LARGEST_FILE:,} bytes")
    return file.read().decode("utf-8")


def same(text: str) -> str:
    """What two texts have in common that differ in case, punctuation and markup alone."""
    return key(tidy(text))


def rank(text: str, seed: int) -> int:
    """0 to 2^64 - 1 by a hash, so that next year's archive is put in nearly the same order, and split alike."""
    return int.from_bytes(hashlib.sha256(f"{seed} {text}".encode()).digest()[:8], "big")


def mixed(items: Iterable[Item], seed: int) -> list[Item]:
    """In an order that is none to a reader."""
    return sorted(items, key=lambda item: (rank(str(item), seed), item))


def split(found: Reviews, seed: int) -> tuple[list[Row], list[Row], list[Row], list[str]]:
    """(train, validation, test, unlabelled): test is the original test half; validation has all reviews of a tenth of
    the films of the train half. No other text stands in test or validation, or twice."""
    test = [(label, text) for label, name in enumerate(("neg", "pos")) for text in found.texts["test", name].values()]
    taken = {same(text) for _, text in test}
    train: list[Row] = []
    validation: list[Row] = []
    for label, name in enumerate(("neg", "pos")):
        films = found.films.get(name, [])
        for number, text in sorted(found.texts["train", name].items()):
            if same(text) not in taken:
                taken.add(same(text))
                film = films[number] if number < len(films) else text
                (validation if rank(film, seed) < HELD_OUT * 2**64 else train).append((label, text))
    taken -= {same(text) for _, text in train}
    unlabelled = {text for text in found.texts["train", "unsup"].values() if same(text) not in taken}
    return mixed(train, seed), mixed(validation, seed), mixed(test, seed), mixed(unlabelled, seed)


def phrases(tree: str) -> Iterator[Row]:
    """Every phrase of a tree of the Stanford Sentiment Treebank with its label, 0 to 4, the whole sentence last.

    >>> list(phrases("(3 (2 It) (4 (2 's) (4 great)))"))
    [(2, 'It'), (2, "'s"), (4, 'great'), (4, "'s great"), (3, "It 's great")]
    """
    begun: list[tuple[int, list[str]]] = []
    for label, word, end in re.findall(r"\((\d)|([^\s()]+)|(\))", tree):
        if label:
            begun.append((int(label), []))
        elif word and begun:
            begun[-1][1].append(BRACKETS.get(word, word.replace("\\/", "/").replace("\\*", "*")))
        elif end and begun:
            sentiment, words = begun.pop()
            yield sentiment, " ".join(words)
            if begun:
                begun[-1][1].extend(words)


def treebank(archive: Path, source: str) -> tuple[list[Row], list[Row]]:
    """(train, validation): the phrases of the train trees, and the sentences of the dev trees, that are negative (0 or
    1) or positive (3 or 4), as SST-2 has them. No phrase of train is a sentence of dev. Raises UserError."""
    found = {}
    for name in ("train.txt", "dev.txt"):
        try:
            trees = unzip(archive, name, source).decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            raise UserError(f"{name} in the archive from {source} is not UTF-8 text ({error.reason}); {OTHER}."
                            ) from error
        found[name] = [rows for tree in trees if (rows := list(phrases(tree)))]
    dev = [rows[-1] for rows in found["dev.txt"]]
    held_out = {same(text) for _, text in dev}
    train = {text: label for rows in found["train.txt"] for label, text in rows if same(text) not in held_out}
    kept = [(label // 3, text) for text, label in train.items() if label != 2]
    validation = [(label // 3, text) for label, text in dev if label != 2]
    if not (kept and validation):
        raise UserError(f"The archive from {source} holds no labelled trees in train.txt and dev.txt; {OTHER}.")
    return kept, validation


def fetch_sentiment(args: Namespace) -> None:
    """Download the two archives of `args.url` and write what training and evaluation read to `args.out`."""
    out, (imdb, sst) = Path(args.out), args.url
    with staged(out) as new:
        for name in FILES:
            old = out / (name.removesuffix(".xz") if name.endswith(".xz") else f"{name}.xz")
            if old.exists():
                raise UserError(f"{old} is there already, and training would mix it with the new files; move it away, "
                                f"or give another folder with --out.")
        archives = {imdb: new / "imdb", sst: new / "sst"}
        for url, archive in archives.items():
            download(url, archive)
        train, validation, test, unlabelled = split(read_archive(archives[imdb], imdb), args.seed)
        if not (train and validation):
            raise UserError(f"The archive from {imdb} has too few films to hold any out, {len(train):,} reviews to "
                            f"learn from and {len(validation):,} to validate with; {OTHER}.")
        kept, sentences = treebank(archives[sst], sst)
        origin = {url: f"from {url}, {archive.stat().st_size} bytes, SHA-256 "
                       f"{hashlib.sha256(archive.read_bytes()).hexdigest()}" for url, archive in archives.items()}
        for archive in archives.values():
            archive.unlink()
        labelled = (train, validation, test, mixed(kept, args.seed), mixed(sentences, args.seed))
        lines = [[f"{label}\t{text}" for label, text in rows] for rows in labelled]
        lines.insert(FILES.index("imdb-unlabelled.txt.xz"), unlabelled)
        for name, of_file in zip(FILES, lines, strict=True):
            content = "".join(f"{line}\n" for line in of_file).encode()
            (new / name).write_bytes(lzma.compress(content) if name.endswith(".xz") else content)
        (new / "ATTRIBUTION.txt").write_text(
            f"imdb: Large Movie Review Dataset, https://ai.stanford.edu/~amaas/data/sentiment/\n"
            f"      Maas et al. 2011, Learning Word Vectors for Sentiment Analysis\n"
            f"      {origin[imdb]}\n"
            f"sst2: Stanford Sentiment Treebank, https://nlp.stanford.edu/sentiment/\n"
            f"      Socher et al. 2013, Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank\n"
            f"      {origin[sst]}\n\n"
            f"Downloaded: {time.strftime('%Y-%m-%d', time.gmtime())} (UTC)\n"
            f"Terms:      for research, with citation; not to be handed on\n"
            f"Changes:    one text a line; validation has all reviews of a tenth of the films of imdb's train half,\n"
            f"            drawn with seed {args.seed}; texts left out that stand twice, and neutral phrases\n",
            encoding="utf-8", newline="\n")
    print("\n".join(f"{out / name}: {len(of_file):,} texts" for name, of_file in zip(FILES, lines, strict=True)),
          flush=True)
