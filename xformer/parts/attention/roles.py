"""Score the roles of attention heads on one sentence, from 0 to 1, from their maps
alone. Numpy only.

A role names keys for each row, for example the previous piece. Its score is the share
of attention on these keys, averaged over the rows for which it names any; 1 means that
the head does nothing else. A role that names no key for any row has no score: "same
word", for example, if no word stands twice. Roles after Voita et al. (2019) and Clark
et al. (2019).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from xformer.pieces import SPECIAL, WORD_START
from xformer.results import Head

SELF_ROLES = ("previous", "next", "itself", "first", "last", "separator", "same_word")
# others name hidden keys
ROLES = {
    "encoder_self": SELF_ROLES,
    "cross": ("aligned", "first", "last", "separator"),
    "decoder_self": ("previous", "itself", "first", "separator", "same_word"),
}


@dataclass(frozen=True)
class Role:
    """The fit of a head to a role on this sentence."""

    head: Head
    role: str
    score: float  # 0 to 1


def targets(role: str, queries: Sequence[str], keys: Sequence[str]) -> list[set[int]]:
    """List the keys that the role names for each query; an empty set if it names none.

    previous, next: one position before or after. itself: the same position. first,
    last: that key. separator: special pieces and punctuation. same_word: another
    position that holds the same piece (whether or not it starts a word). Raises
    ValueError for an unknown role.
    """
    marks = {k for k, piece in enumerate(keys) if _is_separator(piece)}
    bare = [piece.removeprefix(WORD_START).lower() for piece in keys]
    named: dict[str, Callable[[int], set[int]]] = {
        "previous": lambda q: {q - 1},
        "next": lambda q: {q + 1},
        "itself": lambda q: {q},
        "first": lambda q: {0},
        "last": lambda q: {len(keys) - 1},
        "separator": lambda q: marks,
        "same_word": lambda q: (
            {k for k, one in enumerate(bare) if one == bare[q]} - {q} - marks
        ),
    }
    if role not in named:
        raise ValueError(f"the role is {role!r}; choose one of {', '.join(SELF_ROLES)}")
    return [named[role](q) & {*range(len(keys))} for q in range(len(queries))]


def _is_separator(piece: str) -> bool:
    return piece in SPECIAL.values() or not any(c.isalnum() for c in piece)


def score(
    attention: np.ndarray,
    role: str,
    queries: Sequence[str],
    keys: Sequence[str],
    causal: bool = False,
) -> float | None:
    """Average, over the rows of attention (queries, keys), the share on the role's
    keys; None if it names none.

    causal: keys after the query are masked, so the role cannot name them; a row that
    can see only the role's keys, as the first row does, is not counted.
    """
    shares = []
    for q, wanted in enumerate(targets(role, queries, keys)):
        reachable = set(range(q + 1)) if causal else set(range(len(keys)))
        wanted = wanted & reachable
        if wanted and wanted != reachable:
            shares.append(float(attention[q, sorted(wanted)].sum()))
    return float(np.mean(shares)) if shares else None


def alignedness(attention: np.ndarray, own: Sequence[bool]) -> float | None:
    """Measure how far a cross-attention map (T, S) looks like a word alignment, without
    knowing the right one.

    own: True for the pieces that are no separators. The measure is the mean over rows
    of the largest share on such a piece, times the number of different pieces on which
    rows have their largest share, divided by the most that this number could be. None
    if every piece is a separator.
    """
    columns = [k for k, is_own in enumerate(own) if is_own]
    if not columns:
        return None
    inside = attention[:, columns]
    favourites = {int(row.argmax()) for row in inside if row.max() > 0}
    return float(
        inside.max(axis=1).mean() * len(favourites) / min(len(columns), len(attention))
    )


def of_head(
    head: Head, maps: np.ndarray, queries: Sequence[str], keys: Sequence[str]
) -> list[Role]:
    """Score one head of its stack's maps (layers, heads, queries, keys) in every role
    of the stack, best first.

    Roles without a score on this sentence are left out; [] if the maps have no such
    head.
    """
    layers, heads = maps.shape[:2]
    if head.layer > layers or head.head > heads:
        return []
    attention = maps[head.at]
    roles = []
    for role in ROLES[head.stack]:
        value = (
            alignedness(attention, [not _is_separator(piece) for piece in keys])
            if role == "aligned"
            else score(
                attention, role, queries, keys, causal=head.stack == "decoder_self"
            )
        )
        if value is not None:
            roles.append(Role(head, role, value))
    return sorted(roles, key=lambda one: -one.score)


def rank(
    stack: str, maps: np.ndarray, queries: Sequence[str], keys: Sequence[str]
) -> list[Role]:
    """Score every head of maps (layers, heads, queries, keys) in every role of its
    stack, best first.

    The decoder's self-attention has no roles "next" and "last": no row can look at the
    next key, and only the last row at the last key, which is itself.
    """
    roles = [
        role
        for head in Head.every(stack, *maps.shape[:2])
        for role in of_head(head, maps, queries, keys)
    ]
    return sorted(roles, key=lambda one: -one.score)
