"""A key-value store read by attention: titles are keys, texts are values, and a query
is compared with every key."""

import numpy as np

from xformer.results import Message, UserError

Records = tuple[tuple[str, str], ...]  # (title, text)
MOST_RECORDS = 12
MOST_CHARACTERS = 200  # of a line
BETA = 8.0  # factor of the cosines in the softmax, at the beginning


def read(lines: str) -> Records:
    """Read records from lines "title: text", skipping empty lines. Raises UserError,
    which names the line."""
    records = []
    for number, line in enumerate(lines.splitlines(), 1):
        title, colon, value = (part.strip() for part in line.partition(":"))
        if not line.strip():
            continue
        if not (title and colon and value):
            raise UserError(
                Message.of("store_error_line", number=number, line=line.strip()[:40])
            )
        if len(line) > MOST_CHARACTERS:
            raise UserError(
                Message.of(
                    "store_error_long",
                    number=number,
                    characters=len(line),
                    limit=MOST_CHARACTERS,
                )
            )
        records.append((title, value))
    if not 2 <= len(records) <= MOST_RECORDS:
        raise UserError(
            Message.of("store_error_count", count=len(records), limit=MOST_RECORDS)
        )
    return tuple(records)


def line_of(lines: str, title: str) -> int:
    """Return the number of the first line with a record of this title."""
    return next(
        number
        for number, line in enumerate(lines.splitlines(), 1)
        if line.partition(":")[0].strip() == title
    )


def likeness(keys: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Cosine similarities (K,) of a query (D,) and keys (K, D), after the keys' mean is
    subtracted from all.

    All keys have the mean in common, so it does not help to choose among them.
    """
    centre = keys.mean(axis=0)
    k = keys - centre
    q = query - centre
    return k @ q / np.maximum(np.linalg.norm(k, axis=1) * np.linalg.norm(q), 1e-12)
