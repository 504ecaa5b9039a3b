"""`python -m xformer data …`: public training data, downloaded and put into the form that training reads."""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import tempfile
import time
import unicodedata
import urllib.request
import zipfile
import zlib
from argparse import Namespace
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError, URLError

from tqdm import tqdm

from xformer import __version__
from xformer.results import UserError
from xformer.training.corpora import Pair, read_pairs

AGENT = f"xformer/{__version__}"  # manythings.org answers HTTP 406 to programs that do not say who they are
TIMEOUT = 30.0  # seconds without a byte
LARGEST = 500_000_000  # bytes of a download, and of a file inside an archive
PIECE = 1 << 16  # bytes read at a time
DEV = 2000  # English sentences held out, or 2 % of them where that is less
BY_HAND = "or download it in a browser and give that file with --url file:///PATH"
OTHER = "look at the address in a browser, and give the right one with --url"


def download(url: str, path: Path, timeout: float = TIMEOUT) -> None:
    """Fetch `url` (http, https or file) into `path`, whole or not at all. timeout: seconds without a byte.

    Raises UserError with one sentence on what went wrong on the way, and OSError where `path` cannot be written.
    """
    new = path.with_name(path.name + ".new")
    try:
        with closing(_received(url, timeout)) as pieces, new.open("wb") as file:
            for piece in pieces:
                file.write(piece)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def _received(url: str, timeout: float) -> Generator[bytes, None, None]:
    with _open(url, timeout) as response:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        name, done = PurePosixPath(url).name, 0
        if total is not None and total > LARGEST:
            raise UserError(_too_large(url))
        try:
            with tqdm(total=total, unit="B", unit_scale=True, desc=name, dynamic_ncols=True, disable=None) as bar:
                while piece := response.read(PIECE):
                    done += len(piece)
                    bar.update(len(piece))
                    if done > LARGEST:
                        raise UserError(_too_large(url))
                    yield piece
        except (OSError, HTTPException) as error:
            raise UserError(_broken_off(url, done, total)) from error
        if total is not None and done < total:
            raise UserError(_broken_off(url, done, total))


def _open(url: str, timeout: float) -> HTTPResponse:
    try:
        request = urllib.request.Request(url, headers={"User-Agent": AGENT})
        return urllib.request.urlopen(request, timeout=timeout)
    except HTTPError as error:
        error.close()
        raise UserError(_answered(url, error.code)) from error
    except TimeoutError as error:
        raise UserError(f"{url} was reached, but no answer came for {timeout:g} s; try again later, {BY_HAND}."
                        ) from error
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise UserError(f"{url} cannot be reached ({reason}); check the connection and the address, {BY_HAND}."
                        ) from error
    except ValueError as error:
        raise UserError(f"“{url}” is not an address ({error}); give one that begins with https:// or, for a file of "
                        f"this computer, with file:///.") from error


def _answered(url: str, code: int) -> str:
    if code in (404, 410):
        return f"There is no {url} any more (HTTP {code}); {OTHER}."
    if code == 429 or code >= 500:
        return f"The server of {url} is overloaded or out of order (HTTP {code}); try again later, {BY_HAND}."
    return f"The server of {url} refuses to hand it out (HTTP {code}); check the address, {BY_HAND}."


def _broken_off(url: str, done: int, total: int | None) -> str:
    of = "" if total is None else f" of {total:,}"
    return f"The connection to {url} broke off after {done:,}{of} bytes; run the command again."


def _too_large(url: str) -> str:
    return f"What {url} sends is larger than the {LARGEST:,} bytes that are read; {OTHER}."


def unzip(archive: Path, name: str, source: str) -> bytes:
    """The content of the file called `name`, in whatever folder of a zip archive that was downloaded from `source`.

    Raises UserError where there is none, it is damaged, or it is larger than LARGEST bytes.
    """
    if not zipfile.is_zipfile(archive):
        raise UserError(f"What {source} sent is not a zip archive, or not the whole of one; {OTHER}.")
    try:
        with zipfile.ZipFile(archive) as opened:
            found = [m for m in opened.infolist() if PurePosixPath(m.filename).name == name]
            if not found:
                raise UserError(f"The archive from {source} holds no {name}; {OTHER}.")
            if found[0].file_size > LARGEST:
                raise UserError(f"{name} in the archive from {source} would be {found[0].file_size:,} bytes large, "
                                f"more than the {LARGEST:,} that are read; {OTHER}.")
            if found[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise NotImplementedError(f"compression method {found[0].compress_type}")  # its memory has no bound
            with opened.open(found[0]) as file:
                return file.read(found[0].file_size)  # never more than announced, then the checksum
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, UnicodeDecodeError) as error:
        raise UserError(f"{name} in the archive from {source} is damaged or packed in an unknown way ({error}); run "
                        f"the command again, {BY_HAND}.") from error


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """An empty folder whose files move to `out` when the block is done; an error in the block leaves `out` as it was.

    Raises UserError where `out` cannot be written to.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=out) as folder:
            yield Path(folder)
            new = sorted(Path(folder).iterdir())
            for path in new:  # all the old go first: a train of today beside a dev of yesterday would share sentences
                (out / path.name).unlink(missing_ok=True)
            for path in new:
                os.replace(path, out / path.name)
    except (FileExistsError, NotADirectoryError) as error:
        raise UserError(f"{out} is a file, or lies beneath one; give a folder with --out.") from error
    except OSError as error:
        raise UserError(f"The folder {out} cannot be written to ({error.strerror or error}); make room, or give "
                        f"another one with --out.") from error


def parse(text: str) -> tuple[list[Pair], int]:
    """Pairs of an anki export, in NFC and with single spaces, and the number of lines that are none."""
    rows = [line.split("\t") for line in text.split("\n") if line.strip()]
    cleaned = [[" ".join(unicodedata.normalize("NFC", column).split()) for column in row[:2]] for row in rows]
    pairs = [(row[0], row[1]) for row in cleaned if len(row) == 2 and all(row)]
    return pairs, len(rows) - len(pairs)


def key(sentence: str) -> str:
    """What two sentences have in common that differ in case, punctuation and spaces alone."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", sentence).casefold()) or sentence


def without(pairs: Sequence[Pair], excluded: Sequence[Pair]) -> list[Pair]:
    """The pairs that share neither their English nor their Spanish with `excluded`."""
    english, spanish = {key(pair[0]) for pair in excluded}, {key(pair[1]) for pair in excluded}
    return [pair for pair in pairs if key(pair[0]) not in english and key(pair[1]) not in spanish]


def hold_out(pairs: Sequence[Pair], sentences: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """(train, dev): dev has all pairs of so many English sentences, train those that share no sentence with dev.

    Each sentence has a rank of its own, by a hash, so that next year's archive gives nearly the same dev. Dev is in
    that order, which is no order to a reader: its first thousand stand for the whole.
    """
    keys = [key(english) for english, _ in pairs]
    rank = {k: hashlib.sha256(f"{seed} {k}".encode()).digest() for k in keys}
    chosen = set(sorted(rank, key=lambda k: rank[k])[:sentences])
    dev = [pair for k, pair in zip(keys, pairs, strict=True) if k in chosen]
    return without(pairs, dev), sorted(dev, key=lambda pair: rank[key(pair[0])])


def fetch_translation(args: Namespace) -> None:
    """Download `args.url` and write train.tsv.xz, dev.tsv and ATTRIBUTION.txt to `args.out`."""
    out = Path(args.out)
    if args.dev < 0:
        raise UserError(f"--dev {args.dev} is no number of sentences; give 1 or more, or 0 for the usual number.")
    excluded = [pair for name in args.exclude for pair in _test_pairs(name)]
    with staged(out) as new:
        for old in (out / "train.tsv", out / "dev.tsv.xz"):
            if old.exists():
                raise UserError(f"{old} is there already, and training would mix it with the new files; move it away, "
                                f"or give another folder with --out.")
        archive = new / "archive.zip"
        download(args.url, archive)
        found, unreadable = _archived_pairs(archive, args.url)
        size, digest = archive.stat().st_size, hashlib.sha256(archive.read_bytes()).hexdigest()
        archive.unlink()
        distinct = list(dict.fromkeys(found))
        pairs = without(distinct, excluded)
        sentences = len({key(english) for english, _ in pairs})
        if 2 * args.dev > sentences > 1:
            raise UserError(f"--dev {args.dev:,} is more than half of the {sentences:,} English sentences there are; "
                            f"give at most {sentences // 2:,}.")
        held = args.dev or min(DEV, max(1, sentences // 50))
        train, dev = hold_out(pairs, held, args.seed)
        if not train:
            raise UserError(f"The archive from {args.url} has too few sentences to hold any out, {len(pairs):,} pairs "
                            f"beside the excluded ones; exclude less, or give another address with --url.")
        (new / "train.tsv.xz").write_bytes(lzma.compress(_lines(train)))
        (new / "dev.tsv").write_bytes(_lines(dev))
        (new / "ATTRIBUTION.txt").write_text(
            f"English-Spanish sentence pairs from Tatoeba, https://tatoeba.org, as put together by\n"
            f"https://www.manythings.org/anki/\n\n"
            f"Downloaded:  {time.strftime('%Y-%m-%d', time.gmtime())} (UTC) from {args.url}\n"
            f"Archive:     {size} bytes, SHA-256 {digest}\n"
            f"Licence:     CC-BY 2.0 FR, https://creativecommons.org/licenses/by/2.0/fr/\n"
            f"Authors:     named sentence by sentence in the third column of spa.txt in that archive\n"
            f"Pairs:       {len(found)} in the archive; {len(train)} in train.tsv.xz, {len(dev)} in dev.tsv\n"
            f"Changes:     Unicode NFC, single spaces, no duplicates; pairs left out that share a sentence with dev\n"
            f"             or with test sets ({len(args.exclude)} given); dev drawn with seed {args.seed}\n",
            encoding="utf-8", newline="\n")
    print(f"{args.url}: {len(found):,} pairs in {size:,} bytes\n"
          f"left out: {unreadable:,} lines that are no pairs, {len(found) - len(distinct):,} duplicates, "
          f"{len(distinct) - len(pairs):,} pairs that share a sentence with test pairs, "
          f"{len(pairs) - len(train) - len(dev):,} with dev\n"
          f"{out / 'train.tsv.xz'}: {len(train):,} pairs\n"
          f"{out / 'dev.tsv'}: {len(dev):,} pairs of {held:,} English sentences\n"
          f"{out / 'ATTRIBUTION.txt'}: source and licence, to be handed on with the data", flush=True)


def _archived_pairs(archive: Path, source: str) -> tuple[list[Pair], int]:
    try:
        pairs, unreadable = parse(unzip(archive, "spa.txt", source).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UserError(f"spa.txt in the archive from {source} is not UTF-8 text ({error.reason} at byte "
                        f"{error.start:,}); {OTHER}.") from error
    if not pairs:
        raise UserError(f"spa.txt in the archive from {source} has no line of English, a tab, Spanish; {OTHER}.")
    return pairs, unreadable


def _test_pairs(name: str) -> list[Pair]:
    try:
        return read_pairs(Path(name))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"The test pairs {name} cannot be excluded: {reason}; give --exclude a .tsv file of English, "
                        f"a tab, Spanish.") from error


def _lines(pairs: Sequence[Pair]) -> bytes:
    return "".join(f"{english}\t{spanish}\n" for english, spanish in pairs).encode()
