"""Answer a text of the command line, or each line of standard input, by one line of output."""

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from xformer.results import BeamTree, Sentiment, Translation, UserError, refusing

Result = TypeVar("Result", Translation, Sentiment, BeamTree)
BLOCK = 64  # lines that are computed at once


def answer(words: Sequence[str], compute: Callable[[list[str]], Sequence[Result]], plain: Callable[[Result], str],
           as_json: bool) -> int:
    """Print a result for the text of these words or, if there are none, for each line of standard input.

    A bad line of standard input is answered by an empty line (in JSON by {"error"}) and a sentence on standard error;
    the others come as ever, and the exit status that is returned is 2. A bad text in `words` raises UserError.
    """
    if words:
        _print(compute([" ".join(words)]), plain, as_json)
        return 0
    status = number = 0
    for block in _blocks():
        try:
            _print(compute(block), plain, as_json)
        except UserError:  # of one line or more: each is computed by itself
            for i, line in enumerate(block, number + 1):
                try:
                    _print(compute([line]), plain, as_json)
                except UserError as error:
                    status = 2
                    print(json.dumps({"error": str(error)}, ensure_ascii=False) if as_json else "", flush=True)
                    print(f"Line {i}: {error}", file=sys.stderr)
        number += len(block)
    return status


def _print(results: Sequence[Result], plain: Callable[[Result], str], as_json: bool) -> None:
    """Print a line for each result: JSON, or `plain` with the warnings on standard error."""
    for result in results:
        if as_json:
            print(json.dumps(result.to_json(), ensure_ascii=False))
            continue
        for warning in result.warnings:
            print(warning.say(), file=sys.stderr)
        print(plain(result))
    sys.stdout.flush()


def _blocks() -> Iterator[list[str]]:
    """Yield lines of standard input, many at a time from a file or pipe, one by one where a person types."""
    if isinstance(sys.stdin, io.TextIOWrapper):  # in the C locale, Python would take any bytes
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    with refusing(UnicodeDecodeError, lambda error: (
            f"Standard input is not UTF-8 text ({error.reason}); convert it first.")):
        while block := [*islice(sys.stdin, 1 if sys.stdin.isatty() else BLOCK)]:
            yield block
