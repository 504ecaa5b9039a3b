"""Answer a text of the command line, or each line of standard input, by one line of
output."""

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from xformer.results import BeamTree, Sentiment, Translation, UserError, refusing

Result = TypeVar("Result", Translation, Sentiment, BeamTree)
BLOCK = 64  # lines that are computed at once


def answer(
    words: Sequence[str],
    compute: Callable[[list[str]], Sequence[Result]],
    plain: Callable[[Result], str],
    as_json: bool,
) -> int:
    """Print a result for the text of these words or, if there are none, for each line
    of standard input.

    A bad line of standard input is answered by an empty line (in JSON by {"error"}) and
    a sentence on standard error; the others come as ever, and the exit status that is
    returned is 2. A bad text in `words` raises UserError.
    """
    if words:
        _print(compute([" ".join(words)]), plain, as_json)
        return 0
    status = 0
    results = (found for block in _blocks() for found in one_by_one(compute, block))
    for number, found in enumerate(results, 1):
        if isinstance(found, UserError):
            status = 2
            print(
                json.dumps({"error": str(found)}, ensure_ascii=False)
                if as_json
                else "",
                flush=True,
            )
            print(f"Line {number}: {found}", file=sys.stderr)
        else:
            _print([found], plain, as_json)
    return status


def one_by_one(
    compute: Callable[[list[str]], Sequence[Result]], texts: Sequence[str]
) -> Iterator[Result | UserError]:
    """Yield the result of each text, or why it has none; the texts are computed a block
    at once."""
    for first in range(0, len(texts), BLOCK):
        block = list(texts[first : first + BLOCK])
        try:
            found = compute(block)
        except UserError as error:  # of one text or more: each is computed by itself
            if len(block) == 1:
                yield error
            else:
                for text in block:
                    yield from one_by_one(compute, [text])
            continue
        yield from found


def _print(
    results: Sequence[Result], plain: Callable[[Result], str], as_json: bool
) -> None:
    """Print a line for each result: JSON, or `plain` with the warnings on standard
    error."""
    for result in results:
        if as_json:
            print(json.dumps(result.to_json(), ensure_ascii=False))
            continue
        for warning in result.warnings:
            print(warning.say(), file=sys.stderr)
        print(plain(result))
    sys.stdout.flush()


def _blocks() -> Iterator[list[str]]:
    """Yield lines of standard input, many at a time from a file or pipe, one by one
    where a person types."""
    # in the C locale, Python would take any bytes
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    with refusing(
        UnicodeDecodeError,
        lambda error: (
            f"Standard input is not UTF-8 text ({error.reason}); convert it first."
        ),
    ):
        while block := [*islice(sys.stdin, 1 if sys.stdin.isatty() else BLOCK)]:
            yield block
