"""Three answers to "which English word made this Spanish one?", side by side. Numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xformer.explain import maps
from xformer.pieces import words
from xformer.results import Occlusion, Trace


@dataclass(frozen=True, eq=False)
class Answers:
    """A number for each word of the source; the last word is </s>, which cannot be left out (nan).

    given: whether attention is that of the rows that were given the target word, not of those that predict it.
    """

    words: tuple[str, ...]
    raw: np.ndarray  # (W,) attention of one head, sums to 1
    weighed: np.ndarray  # (W,) the same times the norm of what it lets through, sums to 1 (Kobayashi et al. 2020)
    effect: np.ndarray  # (W,) nats by which the target word's log-probability falls without it (Li et al. 2016)
    given: bool = False


def answers(trace: Trace, occlusion: Occlusion, layer: int, head: int, target: Sequence[int], given: bool = False
            ) -> Answers:
    """For the target word made of the predicted pieces `target`, and a head of the cross-attention, counted from 1.

    Attention is summed over the pieces of a source word and averaged over those of the target word; the fall of
    log-probability is summed over the pieces of the target word. Both must be of the same source and target.

    given: the head aligns the pieces that its rows were given, so the word's rows are those one later; </s> is given to
    no row, and is read where it is predicted.
    """
    given = given and target[-1] + 1 < len(trace.predicted)
    rows = [i + given for i in target]
    groups = words(trace.source)
    chosen = trace.cross[layer - 1, head - 1]
    raw, weighed = (maps.by_words(one, [rows], groups)[0]
                    for one in (chosen, maps.weigh(chosen, trace.cross_norms[layer - 1, head - 1])))
    effect = np.append(occlusion.effect[list(target)].sum(axis=0), np.nan)
    return Answers(tuple("".join(trace.source[i] for i in group) for group in groups), raw, weighed, effect,
                   given)
