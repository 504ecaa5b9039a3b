"""Classify many texts at once: rows from a pasted block or a file, and a table of their labels.

A row that cannot be read gets a reason in place of a label; the others are read. What makes a whole file unreadable
(its size, its encoding, an open quotation mark) raises UserError.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, islice
from pathlib import Path
from typing import NamedTuple

from xformer.results import LABELS, Judged, Message, UserError
from xformer.serve.protocol import ReviewService
from xformer.strings import ENGLISH, Language

MAX_BYTES = 5_000_000  # of a file or a pasted block; more has to be sent in parts
MAX_ROWS = 10_000
MAX_COLUMNS = 1_000
MOST_READ = MAX_ROWS + 2  # rows, of which one is a header and one too many
KINDS = (".csv", ".tsv", ".txt")
CHUNK = 60_000  # characters that are read between two reports of progress: about 2 batches of the model
ROW = 20  # characters that a row costs besides its text
TEXT_NAMES = ("text", "review", "sentence", "comment", "content", "phrase", "body", "message", "tweet")
LABEL_NAMES = ("label", "sentiment", "polarity", "class", "target", "gold", "given")
CONTAINERS = {b"PK\x03\x04": "XLSX, ODS, ZIP", b"\xd0\xcf\x11\xe0": "XLS", b"%PDF": "PDF", b"\x1f\x8b": "GZIP"}

csv.field_size_limit(MAX_BYTES)  # for the whole process; beyond its own limit of 131,072 the csv module gives up


class Row(NamedTuple):
    """A text to classify, or the problem that prevents it."""

    text: str
    given: str | None  # the label in its row, if that is one of LABELS
    problem: Message | None = None


@dataclass(frozen=True)
class Sheet:
    """A pasted block or an uploaded file as rows of cells, and which columns hold the texts and their labels."""

    name: str  # of the file; "" if the texts were pasted
    columns: tuple[str, ...]  # their names, or "1", "2" … if the file has none
    rows: tuple[tuple[str, ...], ...]
    text: int  # column, from 0
    label: int | None  # column, from 0; None without labels

    def texts(self, column: int | None = None) -> list[Row]:
        """The text and the label of each row; `column`: where to take the texts from instead of `text`."""
        place, count = self.text if column is None else column, len(self.columns)
        label = None if self.label == place else self.label
        return [Row(cells[place], known_label(cells[label]) if label is not None and label < len(cells) else None)
                if place < len(cells) <= count else
                Row(" | ".join(cells), None, Message.of("error_texts_cells", cells=len(cells), columns=count))
                for cells in self.rows]


def known_label(cell: str) -> str | None:
    """Recognise the label in a cell: its name, its first three letters, or its number; else None.

    >>> known_label("Pos"), known_label("0"), known_label("5 stars")
    ('positive', 'negative', None)
    """
    names = {name: label for i, label in enumerate(LABELS) for name in (label, label[:3], str(i))}
    return names.get(cell.strip().casefold())


def paste(block: str) -> Sheet:
    """Read a block of one text a line, leaving out empty lines. Raises UserError if it is empty or too large."""
    _check_size("", len(block.encode("utf-8", "replace")))
    return _lines("", block)


def load(path: Path) -> Sheet:
    """Read a .csv, .tsv or .txt file; its size is checked first. Raises UserError if it cannot be read."""
    _check_size(path.name, path.stat().st_size)
    return parse(path.name, path.read_bytes())


def parse(name: str, data: bytes) -> Sheet:
    """Read a file's content: one text a line in .txt, a table in .csv and .tsv. Raises UserError if it cannot be read.
    """
    _check_size(name, len(data))
    kind = Path(name).suffix.casefold()
    if kind not in KINDS:
        raise UserError(Message.of("error_texts_kind", name=name, kinds=", ".join(KINDS)))
    text = _decode(name, data)
    if kind == ".txt":
        return _lines(name, text)
    delimiter = "\t" if kind == ".tsv" else _delimiter(text)
    return _sheet(name, _checked(name, _table(name, text, delimiter), header=1), delimiter)


def _check_size(name: str, size: int) -> None:
    if size > MAX_BYTES:
        raise UserError(_message("size", name, size=f"{size / 1e6:.1f}", limit=MAX_BYTES // 1_000_000))


def _message(key: str, name: str, **values: object) -> Message:
    """The message about a file, or about a pasted block."""
    return Message.of(f"error_texts_{key}_{'file' if name else 'pasted'}", name=name, **values)


def _decode(name: str, data: bytes) -> str:
    """Decode UTF-8 with or without a byte order mark. Raises UserError for anything else."""
    for start, kind in CONTAINERS.items():
        if data.startswith(start):
            raise UserError(Message.of("error_texts_container", name=name, kind=kind))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError(Message.of("error_texts_encoding", name=name, position=1))
    if b"\0" in data:
        raise UserError(Message.of("error_texts_binary", name=name, position=data.index(b"\0") + 1))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:  # its position does not count a byte order mark
        position = error.start + 1 + 3 * data.startswith(b"\xef\xbb\xbf")
        raise UserError(Message.of("error_texts_encoding", name=name, position=position)) from error


def _lines(name: str, text: str) -> Sheet:
    return Sheet(name, ("1",), tuple(_checked(name, [(line,) for line in _split(text)])), 0, None)


def _split(text: str) -> Iterator[str]:
    """The lines that are not blank, as far as they can matter."""
    lines = (line.rstrip("\n") for line in io.StringIO(text, newline=None) if line.strip())
    return islice(lines, MOST_READ)


def _checked(name: str, rows: list[tuple[str, ...]], header: int = 0) -> list[tuple[str, ...]]:
    """Return rows. Raises UserError for none, for too many besides the header, and for too many cells in one."""
    if not rows:
        raise UserError(_message("empty", name))
    for number, row in enumerate(rows, 1):
        if len(row) > MAX_COLUMNS:
            raise UserError(Message.of("error_texts_columns", name=name, row=number, limit=MAX_COLUMNS))
    if len(rows) > MAX_ROWS + header:
        raise UserError(_message("rows", name, limit=MAX_ROWS))
    return rows


def _delimiter(text: str) -> str:
    """Guess the separator of a .csv file: the comma, semicolon or tab that its first line has most often outside
    quotation marks."""
    first = re.sub(r'"[^"]*"', "", next(_split(text), ""))
    return max(",;\t", key=first.count)


def _table(name: str, text: str, delimiter: str) -> list[tuple[str, ...]]:
    """Parse the rows that are not blank, with quotation marks as in RFC 4180.

    In a file that breaks this rule, quotation marks are text. One that stays open to the end raises UserError.
    """
    if delimiter == "\t":  # tools that write tabs rarely quote, and a review often begins with a quotation mark
        plain = [tuple(line.split("\t", MAX_COLUMNS)) for line in _split(text)]
        if len({len(row) for row in plain}) <= 1:
            return [tuple(map(_unquoted, row)) for row in plain]
    try:
        return [*islice(_parsed(name, text, delimiter, strict=True), MOST_READ)]
    except csv.Error:
        return plain if delimiter == "\t" else [*islice(_parsed(name, text, delimiter, strict=False), MOST_READ)]


def _parsed(name: str, text: str, delimiter: str, strict: bool) -> Iterator[tuple[str, ...]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict)
    begins = 1  # the line at which the next row begins
    try:
        for row in reader:
            begins = reader.line_num + 1
            if any(cell.strip() for cell in row):
                yield tuple(row)
    except csv.Error as error:
        if delimiter == "\t" or "unexpected end" not in str(error):
            raise
        raise UserError(Message.of("error_texts_quote", name=name, line=begins)) from error


def _unquoted(cell: str) -> str:
    """Take the quotation marks off a cell that a spreadsheet put into them."""
    inner = cell[1:-1].replace('""', "")
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner else cell


def _sheet(name: str, rows: list[tuple[str, ...]], delimiter: str) -> Sheet:
    """Find the header, the column of texts and that of labels."""
    names = _header(rows)
    body = rows[1:] if names else rows
    width = len(names) or Counter(len(row) for row in rows).most_common(1)[0][0]
    columns = tuple(called or str(i + 1) for i, called in enumerate(names or [""] * width))
    # Empty cells at the end do not count; with one column, the separator belongs to the text.
    body = [(delimiter.join(row),) if width == 1 else row[:width] if not any(row[width:]) else row for row in body]
    label = _label_column(columns, body, bool(names))
    return Sheet(name, columns, tuple(_checked(name, body)), _text_column(columns, body, label), label)


def _header(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The names of the columns, or [] if the first row is data.

    The row holds names if one of them is in TEXT_NAMES or LABEL_NAMES, or if all are single words and none is a label.
    """
    first = [cell.strip() for cell in rows[0]]
    if len(rows) == 1 or any(known_label(cell) for cell in first):
        return []
    known = {*TEXT_NAMES, *LABEL_NAMES}
    if len(first) == 1:
        return first if first[0].casefold() in known else []
    if not all(len(cell) <= 30 and re.fullmatch(r"(?:[^\W\d][\w.-]*(?: [\w.-]+){0,2})?", cell) for cell in first):
        return []
    words = {word for cell in first for word in re.split(r"[\W_]+", cell.casefold())}
    return first if words & known or all(first) and not any(" " in cell for cell in first) else []


def _label_column(columns: Sequence[str], rows: Sequence[tuple[str, ...]], named: bool) -> int | None:
    """Find the column whose cells are all labels or empty; a column of numbers must be named as one of labels.

    Rows with too many cells do not count: their labels stand in another column.
    """
    candidates = []
    for i, name in enumerate(columns):
        cells = [row[i].strip() for row in rows if i < len(row) <= len(columns) and row[i].strip()]
        if cells and len(columns) > 1 and all(map(known_label, cells)):
            called = name.casefold() in LABEL_NAMES
            if called or not named or not any(cell.isdigit() for cell in cells):
                candidates.append((not called, i))
    return min(candidates)[1] if candidates else None


def _text_column(columns: Sequence[str], rows: Sequence[tuple[str, ...]], label: int | None) -> int:
    """Find the column named as one of texts, else the one with the longest cells."""
    names = [name.casefold() for name in columns]
    others = [i for i in range(len(columns)) if i != label]
    for wanted in TEXT_NAMES:
        for i in others:
            if names[i] == wanted or wanted in re.split(r"[\W_]+", names[i]):
                return i
    return max(others, key=lambda i: sum(len(row[i]) for row in rows if i < len(row)))


def judge(reader: ReviewService, rows: Sequence[Row]) -> Iterator[tuple[int, list[Judged]]]:
    """Classify rows in chunks; after each chunk, yield how many rows are done, and all results in order.

    Rows that are not done yet have no label, and a note that says so. The shortest texts are read first: a chunk's
    texts are then about equally long and need little padding.
    """
    judged = [Judged(row.text, row.given, None, None, (Message.of("texts_waits"),)) for row in rows]
    done = 0
    for chunk in _chunks(rows):
        problems = {i: problem for i in chunk if (problem := rows[i].problem or _unreadable(reader, rows[i].text))}
        readable = [i for i in chunk if i not in problems]
        for i, problem in problems.items():
            judged[i] = replace(judged[i], notes=(problem,))
        for i, one in zip(readable, reader.classify([rows[i].text for i in readable]), strict=True):
            judged[i] = replace(judged[i], label=one.label, probability=one.probability, notes=one.warnings)
        done += len(chunk)
        yield done, list(judged)


def _chunks(rows: Sequence[Row]) -> Iterator[list[int]]:
    """Split the indices of rows, shortest text first, into chunks of about `CHUNK` characters."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].text))
    ends = accumulate(len(rows[i].text) + ROW for i in order)
    for _, chunk in groupby(zip(ends, order, strict=True), key=lambda one: one[0] // CHUNK):
        yield [i for _, i in chunk]


def _unreadable(reader: ReviewService, text: str) -> Message | None:
    """Why a text cannot be read, or None if it can."""
    try:
        reader.clean(text)
    except UserError as error:
        return error.message if isinstance(error.message, Message) else Message.of("error_unexpected")
    return None


# Spreadsheets take a cell that begins so for a formula; some read the full-width signs too.
FORMULA = (*"=+-@＝＋－＠", "\t", "\r")


def safe(cell: str) -> str:
    """Put an apostrophe before a cell that a spreadsheet would take for a formula, which could do harm; and write NUL,
    which csv refuses on Python 3.10, as an unknown character."""
    cell = cell.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return f"'{cell}" if cell[:1] in FORMULA else cell


def as_csv(judged: Sequence[Judged], language: Language = ENGLISH) -> bytes:
    """Write results as a CSV file for spreadsheets, in UTF-8 with a byte order mark, which Excel needs.

    Cells that begin like a formula (= + - @, also full-width, a tab or a return) get an apostrophe.
    """
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\r\n")
    table.writerow(("row", "text", "label", "probability", "given", "note"))
    for number, row in enumerate(judged, 1):
        probability = "" if row.probability is None else f"{row.probability:.4f}"
        notes = " ".join(note.say(language) for note in row.notes)
        table.writerow((number, safe(row.text), safe(row.label or ""), probability, row.given or "", safe(notes)))
    return out.getvalue().encode("utf-8-sig", "replace")
