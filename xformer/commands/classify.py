"""Tell the sentiment of a review, of each line of standard input, or of each row of a
file."""

import argparse
import csv
import io
import sys
from contextlib import suppress
from pathlib import Path

from xformer.commands.arguments import add_model, add_texts
from xformer.commands.lines import answer, one_by_one
from xformer.hub.shipped import SENTIMENT
from xformer.results import UserError, refusing
from xformer.serve.protocol import ReviewService

MOST_BYTES = 5_000_000  # of a file
# spreadsheets take a cell that begins so for a formula, some the wide ones too
FORMULA = (*"=+-@＝＋－＠", "\t", "\r")


class Sniffer(csv.Sniffer):
    """What tells, by the beginning of a table, its separator and whether its first row
    names the columns."""

    def sniff(self, sample: str, delimiters: str | None = ",;\t") -> type[csv.Dialect]:
        return super().sniff(sample, delimiters)


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.description = (
        "Tell whether TEXT, or each line of standard input, is positive or negative; one result a line. "
        "With --file, write a table of each row, text, label and probability as CSV."
    )
    add_texts(p)
    add_model(p, SENTIMENT)
    p.add_argument("--json", action="store_true", help="one JSON object a line")
    p.add_argument(
        "--file",
        type=Path,
        metavar="FILE",
        help=".csv or .tsv in UTF-8, or .txt of a text a line",
    )
    p.add_argument(
        "--column",
        metavar="NAME",
        help="the column of the texts, as the first row names it",
    )


def run(args: argparse.Namespace) -> int:
    from xformer.serve.reviews import SentimentService

    if (
        args.file is None
        and args.column is not None
        or args.file is not None
        and (args.text or args.json)
    ):
        raise UserError(
            "--file names a file of texts, --column a column of it; neither goes with TEXT or --json."
        )
    texts = None if args.file is None else read(args.file, args.column)
    if texts == []:
        raise UserError(f"{args.file} holds no text; write one in each row.")
    service = SentimentService.open(SENTIMENT.find(args.checkpoint), args.device)
    if texts is not None:
        return write(service, texts)
    return answer(
        args.text,
        service.classify,
        lambda sentiment: f"{sentiment.label}\t{sentiment.probability:.3f}",
        args.json,
    )


def read(path: Path, column: str | None = None) -> list[str]:
    """Read the texts of a table's column, or the lines of a .txt file. Raises
    UserError."""
    kind = path.suffix.casefold()
    if kind not in (".csv", ".tsv", ".txt"):
        raise UserError(
            f"{path} is of a kind that is not read; save it as .csv, .tsv or .txt, in UTF-8."
        )
    if (size := path.stat().st_size) > MOST_BYTES:
        raise UserError(
            f"{path} has {size:,} bytes; at most {MOST_BYTES:,} are read: split it."
        )
    with refusing(
        UnicodeDecodeError,
        lambda error: (
            f"{path} is not in UTF-8: its byte {error.start + 1} does not belong there; save it in UTF-8."
        ),
    ):
        content = io.StringIO(
            path.read_bytes().decode("utf-8-sig"),
            newline=None if kind == ".txt" else "",
        )
    if kind == ".txt" and column is None:
        return [line.rstrip("\n") for line in content if line.strip()]
    header = False
    delimiter = "\t" if kind == ".tsv" else ","
    sample = content.getvalue()[:10_000]
    with suppress(csv.Error):  # of one column, which nothing separates
        delimiter = Sniffer().sniff(sample).delimiter
        header = Sniffer().has_header(sample)
    table = csv.reader(content, delimiter=delimiter, strict=True)
    with refusing(
        csv.Error,
        lambda error: (
            f"{path} is no table: {error} in line {table.line_num}; put quotation "
            "marks around a cell that has some, and double those inside."
        ),
    ):
        rows = [row for row in table if any(cell.strip() for cell in row)]
    first = rows[0] if rows else [""]
    named = {str(i + 1): i for i in range(len(first))} | {
        name: first.index(name) for name in first
    }
    if column not in (*named, *([None] if len(first) == 1 else [])):
        wanted = "several columns" if column is None else f"no column {column}"
        raise UserError(
            f"{path} has {wanted}; name one by --column, or its number: {', '.join(first)[:200]}."
        )
    place = named.get(column or "1", 0)
    return [
        row[place] if place < len(row) else ""
        for row in rows[header or column in first :]
    ]


def write(reader: ReviewService, texts: list[str]) -> int:
    """Write each row, text, label and probability; -> 2 where a row has none: standard
    error says why."""
    table = csv.writer(sys.stdout, lineterminator="\n")
    status = 0
    table.writerow(("row", "text", "label", "probability"))
    for i, (text, found) in enumerate(
        zip(texts, one_by_one(reader.classify, texts), strict=True), 1
    ):
        if isinstance(found, UserError):
            status = 2
            print(f"Row {i}: {found}", file=sys.stderr)
        judged = (
            ("", "")
            if isinstance(found, UserError)
            else (found.label, f"{found.probability:.4f}")
        )
        table.writerow((i, safe(text), *judged))
    return status


def safe(cell: str) -> str:
    """Put an apostrophe before a cell that a spreadsheet would take for a formula,
    which could do harm; and write NUL, which csv refuses on Python 3.10, as an unknown
    character."""
    cell = cell.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return f"'{cell}" if cell[:1] in FORMULA else cell
