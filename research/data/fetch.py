"""Download public sentence pairs and put them into the form that training reads."""

from __future__ import annotations

import hashlib
import lzma
import os
import tempfile
import time
import unicodedata
import urllib.request
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError, URLError

from tqdm import tqdm

from research.options import TranslationDownload
from xformer import __version__
from xformer.parts.learned.ask import WRITTEN
from xformer.results import UserError, refusing
from xformer.training.data.corpora import (
    IN_TEST,
    Pair,
    key,
    read_marked_pairs,
    read_pairs,
    without,
)

# manythings.org answers HTTP 406 to programs that do not say who they are
AGENT = f"xformer/{__version__}"
TIMEOUT = 30.0  # seconds without a byte
LARGEST = 500_000_000  # bytes of a download, and of a file inside an archive
PIECE = 1 << 16  # bytes read at a time
DEV = 2000  # English sentences held out, or 2 % of them where that is less
FILES = ("train.tsv.xz", "dev.tsv", "written.tsv.xz")
CREDITS = "ATTRIBUTION.txt"  # beside them
BY_HAND = "or download it in a browser and give that file with --url file:///PATH"
OTHER = "look at the address in a browser, and give the right one with --url"


def fetch_file(url: str, path: Path, timeout: float = TIMEOUT) -> str:
    """Download `url` (http, https or file) into `path`; return its size and digest, to
    be told. timeout: seconds without a byte. Raises UserError with one sentence on what
    went wrong, and OSError where `path` cannot be written.
    """
    sha = hashlib.sha256()
    with path.open("wb") as file:
        for piece in _received(url, timeout):
            file.write(piece)
            sha.update(piece)
    return f"{path.stat().st_size} bytes, SHA-256 {sha.hexdigest()}"


def _received(url: str, timeout: float) -> Iterator[bytes]:
    """Yield the bytes of an address in pieces, under a bar of progress."""
    with _open(url, timeout) as response:
        length = response.headers.get("Content-Length", "")
        name = PurePosixPath(url).name
        total = int(length) if length.isdecimal() else None
        done = 0
        try:
            with tqdm(
                total=total,
                unit="B",
                unit_scale=True,
                desc=name,
                dynamic_ncols=True,
                disable=None,
            ) as bar:
                while piece := response.read(PIECE):
                    done += len(piece)
                    if max(done, total or 0) > LARGEST:
                        raise UserError(
                            f"What {url} sends is larger than the {LARGEST:,} bytes that are read; "
                            f"{OTHER}."
                        )
                    bar.update(len(piece))
                    yield piece
            if done < (total or 0):
                raise HTTPException("it ended early")
        except (OSError, HTTPException) as error:
            of = "" if total is None else f" of {total:,}"
            raise UserError(
                f"The connection to {url} broke off after {done:,}{of} bytes; run the command again."
            ) from error


def _open(url: str, timeout: float) -> HTTPResponse:
    try:
        request = urllib.request.Request(url, headers={"User-Agent": AGENT})
        return urllib.request.urlopen(request, timeout=timeout)
    except HTTPError as error:
        error.close()
        raise UserError(_answered(url, error.code)) from error
    except TimeoutError as error:
        raise UserError(
            f"{url} was reached, but no answer came for {timeout:g} s; try again later, {BY_HAND}."
        ) from error
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise UserError(
            f"{url} cannot be reached ({reason}); check the connection and the address, {BY_HAND}."
        ) from error
    except ValueError as error:
        raise UserError(
            f"“{url}” is not an address ({error}); give one that begins with https:// or, for a file of "
            f"this computer, with file:///."
        ) from error


def _answered(url: str, code: int) -> str:
    if code in (404, 410):
        return f"There is no {url} any more (HTTP {code}); {OTHER}."
    if code == 429 or code >= 500:
        return f"The server of {url} is overloaded or out of order (HTTP {code}); try again later, {BY_HAND}."
    return f"The server of {url} refuses to hand it out (HTTP {code}); check the address, {BY_HAND}."


def unzip(archive: Path, name: str, source: str) -> str:
    """Return the text of the file called `name`, in any folder of a zip archive that
    was downloaded from `source`. Raises UserError where the file is missing, is
    damaged, is no UTF-8, or it is larger than LARGEST bytes."""
    if not zipfile.is_zipfile(archive):
        raise UserError(
            f"What {source} sent is not a zip archive, or not the whole of one; {OTHER}."
        )
    with (
        refusing(
            (
                zipfile.BadZipFile,
                zlib.error,
                EOFError,
                OSError,
                RuntimeError,
                UnicodeDecodeError,
            ),
            lambda error: (
                f"{name} in the archive from {source} is damaged or packed in an "
                f"unknown way ({error}); run the command again, {BY_HAND}."
            ),
        ),
        zipfile.ZipFile(archive) as opened,
    ):
        member = next(
            (m for m in opened.infolist() if PurePosixPath(m.filename).name == name),
            None,
        )
        if member is None:
            raise UserError(f"The archive from {source} holds no {name}; {OTHER}.")
        if member.file_size > LARGEST:
            raise UserError(
                f"{name} in the archive from {source} would be {member.file_size:,} bytes large, more than "
                f"the {LARGEST:,} that are read; {OTHER}."
            )
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # its memory has no bound
            raise NotImplementedError(f"compression method {member.compress_type}")
        with opened.open(member) as file:
            # never more than announced, then the checksum
            content = file.read(member.file_size)
    with refusing(
        UnicodeDecodeError,
        lambda error: (
            f"{name} in the archive from {source} is not UTF-8 text ({error.reason} at byte {error.start:,}); "
            f"{OTHER}."
        ),
    ):
        return content.decode("utf-8-sig")


@contextmanager
def staged(out: Path, files: Sequence[str]) -> Iterator[Path]:
    """Make a folder; when the block is done, these of its files and CREDITS move to
    `out`, and an error in it leaves `out` as it was. Raises UserError where `out`
    cannot be written to, or has an older file that would be mixed in."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for old in (
            out / (name.removesuffix(".xz") if name.endswith(".xz") else f"{name}.xz")
            for name in files
        ):
            if old.exists():
                raise UserError(
                    f"{old} is there already, and training would mix it with the new files; move it away, "
                    f"or give another folder with --out."
                )
        with tempfile.TemporaryDirectory(prefix=".new-", dir=out) as folder:
            yield Path(folder)
            # all the old go first: train and dev of two days would share sentences
            for name in (*files, CREDITS):
                (out / name).unlink(missing_ok=True)
            for name in (*files, CREDITS):
                os.replace(Path(folder, name), out / name)
    except (FileExistsError, NotADirectoryError) as error:
        raise UserError(
            f"{out} is a file, or lies beneath one; give a folder with --out."
        ) from error
    except OSError as error:
        raise UserError(
            f"The folder {out} cannot be written to ({error.strerror or error}); make room, or give "
            f"another one with --out."
        ) from error


def parse_anki(text: str) -> tuple[list[Pair], int]:
    """Read the pairs of an anki export, in NFC and with single spaces, and count the
    lines that are none."""
    rows = [line.split("\t") for line in text.split("\n") if line.strip()]
    cleaned = [
        [" ".join(unicodedata.normalize("NFC", column).split()) for column in row[:2]]
        for row in rows
    ]
    pairs = [(row[0], row[1]) for row in cleaned if len(row) == 2 and all(row)]
    return pairs, len(rows) - len(pairs)


def hold_out(
    pairs: Sequence[Pair], sentences: int, seed: int
) -> tuple[list[Pair], list[Pair]]:
    """Split pairs into (train, dev): dev has all pairs of `sentences` English
    sentences, train those that share no sentence with dev.

    Each sentence is ranked by a hash of itself, so that next year's archive gives
    nearly the same dev. Dev is in the order of the ranks, which is random to a reader:
    its first thousand pairs stand for the whole.
    """
    keys = [key(english) for english, _ in pairs]
    rank = {k: hashlib.sha256(f"{seed} {k}".encode()).digest() for k in keys}
    chosen = set(sorted(rank, key=lambda k: rank[k])[:sentences])
    dev = [pair for k, pair in zip(keys, pairs, strict=True) if k in chosen]
    return without(pairs, dev), sorted(dev, key=lambda pair: rank[key(pair[0])])


@dataclass(frozen=True)
class FetchedPairs:
    """What `fetch_translation` read, left out and wrote, counted in pairs."""

    bytes: int  # of the archive
    archived: int  # pairs in the archive
    unreadable: int  # lines of the archive that are no pairs
    duplicates: int
    in_tests: int  # left out because they share a sentence with test pairs
    in_dev: int  # left out because they share a sentence with dev
    train: int
    dev: int
    held_out: int  # English sentences of dev
    written: int  # pairs written for this project


def fetch_translation(download: TranslationDownload) -> FetchedPairs:
    """Download an archive of pairs; write train.tsv.xz, dev.tsv and ATTRIBUTION.txt to
    `download.out`, and beside them written.tsv.xz, the pairs that come with the
    program. Raises UserError; the folder is then as it was."""
    out = download.out
    url = download.url
    excluded = [pair for name in download.exclude for pair in excluded_pairs(name)]
    with staged(out, FILES) as new:
        archive = new / "archive.zip"
        digest = fetch_file(url, archive)
        size = archive.stat().st_size
        archived, unreadable = parse_anki(unzip(archive, "spa.txt", url))
        if not archived:
            raise UserError(
                f"spa.txt in the archive from {url} has no line of English, a tab, Spanish; {OTHER}."
            )
        distinct = list(dict.fromkeys(archived))
        pairs = without(distinct, excluded)
        sentences = len({key(english) for english, _ in pairs})
        if 2 * download.dev > sentences > 1:
            raise UserError(
                f"--dev {download.dev:,} is more than half of the {sentences:,} English sentences there "
                f"are; give at most {sentences // 2:,}."
            )
        held_out = download.dev or min(DEV, max(1, sentences // 50))
        train, dev = hold_out(pairs, held_out, download.seed)
        if not train:
            raise UserError(
                f"The archive from {url} has too few sentences to hold any out, {len(pairs):,} pairs "
                f"beside the excluded ones; exclude less, or give another address with --url."
            )
        written = _written_pairs(dev, excluded)
        write_files(
            new,
            dict(zip(FILES, (train, dev, written), strict=True)),
            "credits_pairs.txt",
            url=url,
            digest=digest,
            archived=len(archived),
            train=len(train),
            dev=len(dev),
            written=len(written),
            tests=len(download.exclude),
            seed=download.seed,
        )
    return FetchedPairs(
        bytes=size,
        archived=len(archived),
        unreadable=unreadable,
        duplicates=len(archived) - len(distinct),
        in_tests=len(distinct) - len(pairs),
        in_dev=len(pairs) - len(train) - len(dev),
        train=len(train),
        dev=len(dev),
        held_out=held_out,
        written=len(written),
    )


def _written_pairs(
    dev: Sequence[Pair], excluded: Sequence[Pair]
) -> list[tuple[str, ...]]:
    """Read the pairs that come with the program, with their mark, but for those that
    share a sentence with dev or, unless they are marked as such, with test pairs."""
    rows = [row for file in WRITTEN for row in read_marked_pairs(file)]
    apart = set(without([row[:2] for row in rows], dev))
    new = set(without([row[:2] for row in rows], excluded))
    return [
        row
        for row in rows
        if row[:2] in apart and (row[2] == IN_TEST or row[:2] in new)
    ]


def excluded_pairs(name: str) -> list[Pair]:
    """Read the test pairs that nothing to train on may share a sentence with. Raises
    UserError."""
    with refusing(
        (OSError, ValueError),
        lambda error: (
            f"The test pairs {name} cannot be excluded: {getattr(error, 'strerror', error)}; give --exclude a .tsv "
            f"file of English, a tab, Spanish."
        ),
    ):
        return read_pairs(Path(name))


def write_files(
    folder: Path,
    files: Mapping[str, Iterable[tuple[object, ...]]],
    credits: str,
    **values: object,
) -> None:
    """Write files of rows, packed if their names end in .xz, and CREDITS, which says
    whose they are: the text `credits` beside this module, with values filled in."""
    for name, rows in files.items():
        content = lines_of(rows)
        (folder / name).write_bytes(
            lzma.compress(content) if name.endswith(".xz") else content
        )
    template = Path(__file__).with_name(credits).read_text(encoding="utf-8")
    written = template.format(date=time.strftime("%Y-%m-%d", time.gmtime()), **values)
    (folder / CREDITS).write_bytes(written.encode())


def lines_of(rows: Iterable[tuple[object, ...]]) -> bytes:
    """Write rows as the lines of a file of theirs, with tabs between the columns."""
    return "".join("\t".join(map(str, row)) + "\n" for row in rows).encode()
