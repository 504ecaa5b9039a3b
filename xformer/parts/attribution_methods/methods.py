"""Compare three attribution methods on "which English word made this Spanish one?".
Numpy only."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xformer.explain import maps
from xformer.pieces import joined, words
from xformer.results import Head, Occlusion, Trace


@dataclass(frozen=True, eq=False)
class Answers:
    """Three attributions of one target word to W source words.

    The last word is </s>; its effect is nan, because it cannot be left out.
    """

    words: tuple[str, ...]
    raw: np.ndarray  # (W,) attention of one head, sums to 1
    # (W,) attention times the norm of the value vector, sums to 1 (Kobayashi et al.
    # 2020)
    weighed: np.ndarray
    # (W,) nats by which the target word's log-probability falls without it (Li et al.
    # 2016)
    effect: np.ndarray
    # attention is read in the rows that were given the target word, not in those that
    # predict it
    given: bool = False


def answers(
    trace: Trace,
    occlusion: Occlusion,
    head: Head,
    target: Sequence[int],
    given: bool = False,
) -> Answers:
    """Attribute the target word made of the predicted pieces `target` to the words of
    the source.

    Attention is summed over the pieces of a source word and averaged over the pieces of
    the target word; the fall of log-probability is summed over the pieces of the target
    word. Trace and occlusion must be of one source and target.

    head: of the cross-attention. given: read the rows that were given the target word,
    which come one after the rows that predict it; </s> is given to no row, so the row
    that predicts it is read.
    """
    given = given and target[-1] + 1 < len(trace.predicted)
    rows = [i + given for i in target]
    groups = words(trace.source)
    attention = trace.cross[head.at]
    norms = trace.cross_norms[head.at]
    raw, weighed = (
        maps.by_words(one, [rows], groups)[0]
        for one in (attention, maps.weigh(attention, norms))
    )
    effect = np.append(occlusion.effect[list(target)].sum(axis=0), np.nan)
    return Answers(tuple(joined(trace.source, groups)), raw, weighed, effect, given)
