"""A key-value store to play with: titles are keys, texts are values, and a query is answered by attention over them."""

from __future__ import annotations

import numpy as np

from xformer.results import Message, UserError

Records = tuple[tuple[str, str], ...]  # title and text of each
MOST_RECORDS = 12
MOST_CHARACTERS = 200  # of a line
BETA = 8.0  # of the softmax over cosines, where the slider begins


def read(lines: str) -> Records:
    """Records from lines "title: text", empty lines passed over. Raises UserError, which names the line."""
    found = []
    for number, line in enumerate(lines.splitlines(), 1):
        title, colon, value = (part.strip() for part in line.partition(":"))
        if not line.strip():
            continue
        if not (title and colon and value):
            raise UserError(Message.of("store_error_line", number=number, line=line.strip()[:40]))
        if len(line) > MOST_CHARACTERS:
            raise UserError(Message.of("store_error_long", number=number, characters=len(line),
                                       limit=MOST_CHARACTERS))
        found.append((title, value))
    if not 2 <= len(found) <= MOST_RECORDS:
        raise UserError(Message.of("store_error_count", count=len(found), limit=MOST_RECORDS))
    return tuple(found)


def likeness(keys: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Cosine of a query (D,) with keys (K, D), all measured from the keys' mean -> (K,).

    What all keys have in common says nothing about which of them is meant.
    """
    centre = keys.mean(axis=0)
    k, q = keys - centre, query - centre
    return k @ q / np.maximum(np.linalg.norm(k, axis=1) * np.linalg.norm(q), 1e-12)
