"""Fits to held-out pairs, and tables that ship: scores by length, the bound of a guess,
how far a translation can be trusted, what was learned by heart, and what poolings
reach."""

from __future__ import annotations

import math
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sacrebleu
from tqdm import tqdm

from xformer.explain import quality
from xformer.explain.doubts import sureness
from xformer.hub.checkpoint import Summary
from xformer.parts.learned import ask as learned
from xformer.results import Force, LengthScore, Options, PoolingScore, Translation
from xformer.results.inside import MemoryScore
from xformer.serve.translation import Service
from xformer.training import evaluation
from xformer.training.data.corpora import Pair, key, read_marked_pairs

# a and b of the chrF, a + b ln(pieces), from which a translation counts as good
NEAR = (36.0, 5.0)
BANDS = (1, 6, 9, 13, 25, 40)  # pieces with which a group of tested sentences begins
RESAMPLES = 1_000  # of the calibration error that chance alone makes
FOLDS = 10  # of a register: each is said what a fit to the nine other folds says of it
MOST_COMPARED = 2_000  # pairs, seen and unseen
# pieces of a source, </s> left out, with which a bucket may begin
LENGTHS = (1, 6, 11, 16, 21, 26, 31, 41, 61)
FEWEST = 100  # sentences of a bucket: with fewer, BLEU is chance


# Lengths


@dataclass(frozen=True)
class LengthScores:
    """Scores of a service on sentence pairs by the length of what it reads."""

    buckets: list[LengthScore]
    sentences: int
    beam: int
    bleu_signature: str
    chrf_signature: str
    # the files of pairs that were counted as learned, and how many each has
    trained_on: list[tuple[str, int]]


def score_lengths(
    service: Service,
    pairs: Sequence[Pair],
    options: Options,
    training: Sequence[tuple[str, Sequence[Pair]]] = (),
) -> LengthScores:
    """Score pairs by the length of what the model reads, in pieces, as Koehn and
    Knowles (2017) do.

    Lengths of fewer than FEWEST sentences are joined to others.
    training: by the names of files, pairs that the model learned to translate, counted
    by length too.
    """
    pairs = evaluation.as_read(service, pairs)
    translations = evaluation.translated(
        service, [source for source, _ in pairs], options
    )
    read = [len(translation.source_tokens) for translation in translations]
    learned = [
        len(service.tokenizer.encode(source))
        for source, _ in tqdm(
            evaluation.as_read(
                service, [pair for _, some in training for pair in some]
            ),
            unit="sentence",
            dynamic_ncols=True,
            leave=False,
        )
    ]
    buckets = []
    firsts = [1]
    for length in LENGTHS[1:]:
        if (
            min(
                sum(firsts[-1] <= n < length for n in read),
                sum(n >= length for n in read),
            )
            >= FEWEST
        ):
            firsts.append(length)
    for first, following in zip(firsts, (*firsts[1:], None), strict=True):
        inside = range(first, following or sys.maxsize)
        rows = [row for row, n in enumerate(read) if n in inside]
        found = evaluation.scores_of(
            [translations[row].best.text for row in rows],
            [pairs[row][1] for row in rows],
        )
        buckets.append(
            LengthScore(
                first,
                following and following - 1,
                len(rows),
                found["bleu"],
                found["chrf"],
                sum(n in inside for n in learned) if training else None,
            )
        )
    said = [translation.best.text for translation in translations]
    whole = evaluation.scores_of(said, [reference for _, reference in pairs])
    return LengthScores(
        buckets,
        len(pairs),
        options.beam,
        whole["bleu_signature"],
        whole["chrf_signature"],
        [(name, len(some)) for name, some in training],
    )


# Guesses, and how far a translation can be trusted


@dataclass(frozen=True)
class GuessScores:
    """A bound on the mean log-probability of a translation's pieces, below which it is
    marked as a guess."""

    bound: float  # nats
    share: float  # of the translations that may be marked
    sentences: int
    marked: int
    wrong: int  # translations with a chrF below `least` to their nearest reference
    caught: int  # of the wrong ones, marked
    least: float
    beam: int
    identity: str  # of the weights


def fit_guesses(
    service: Service,
    pairs: Sequence[Pair],
    options: Options,
    share: float = 0.02,
    least: float = 25.0,
) -> GuessScores:
    """Fit the bound so that less than a share of held-out sentences is marked, and
    count what it catches.

    A sentence that stands in several pairs is translated once and compared with each
    reference.
    """
    translations, chrf = _nearest(service, pairs, options)
    found = np.array([sureness(one.best.log_probs) for one in translations])
    wrong = chrf < least
    allowed = max(0, math.ceil(share * len(found)) - 1)
    bound = math.floor(1000 * np.sort(found)[allowed]) / 1000
    marked = found < bound
    return GuessScores(
        bound,
        share,
        len(found),
        int(marked.sum()),
        int(wrong.sum()),
        int((marked & wrong).sum()),
        least,
        options.beam,
        service.info.identity,
    )


def _nearest(
    service: Service,
    pairs: Sequence[Pair],
    options: Options,
    most: int | None = None,
) -> tuple[list[Translation], np.ndarray]:
    """Translate each of N sentences once, at most so many, drawn at random; return
    that, and the chrF (N,) to the nearest of its references."""
    references: dict[str, list[str]] = {}
    for source, reference in evaluation.as_read(service, pairs):
        references.setdefault(source, []).append(reference)
    if most is not None:
        drawn = [*references]
        random.Random(7).shuffle(drawn)
        references = {source: references[source] for source in drawn[:most]}
    translations = evaluation.translated(service, [*references], options)
    chrf = sacrebleu.CHRF()
    return translations, np.array(
        [
            max(
                chrf.sentence_score(one.best.text, [reference]).score
                for reference in those
            )
            for one, those in zip(translations, references.values(), strict=True)
        ]
    )


def score_memory(
    service: Service, unseen: Sequence[Pair], options: Options
) -> list[MemoryScore]:
    """Score pairs that a model never saw beside as many of Tatoeba that it learned
    from, whose sources have as many pieces; MOST_COMPARED of each at most, drawn at
    random."""
    draw = random.Random(0)
    scores = []
    seen = [
        pair[:2] for pair in read_marked_pairs(learned.FILES[0]) if pair[2] == "direct"
    ]
    both = [evaluation.as_read(service, pairs) for pairs in (unseen, seen)]
    drawn = [draw.sample(pairs, len(pairs)) for pairs in both]
    wanted = Counter(
        len(service.tokenizer.encode(source)) for source, _ in drawn[0][:MOST_COMPARED]
    )
    for is_seen, pairs in enumerate(drawn):
        left = wanted.copy()
        chosen = list[Pair]()
        for pair in pairs:
            if (
                len(chosen) < MOST_COMPARED
                and left[length := len(service.tokenizer.encode(pair[0]))] > 0
            ):
                left[length] -= 1
                chosen.append(pair)
        made = [
            one.best
            for one in evaluation.translated(
                service, [source for source, _ in chosen], options
            )
        ]
        reference, own = (
            round(float(np.median([*map(sureness, those)])), 3)
            for those in (
                (service.ask(Force(*pair)).log_probs for pair in chosen),
                (one.log_probs for one in made),
            )
        )
        scores.append(
            MemoryScore(
                bool(is_seen),
                len(chosen),
                reference,
                own,
                sum(
                    key(one.text) == key(pair[1])
                    for one, pair in zip(made, chosen, strict=True)
                ),
            )
        )
    return scores


def fit(x: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Fit the weights (F,) of a logistic regression to features x (N, F) and labels
    good (N,), 0 or 1, by Newton's method; the slight ridge keeps them finite where x
    tells all labels apart."""
    weights = np.zeros(x.shape[1])
    for _ in range(30):
        said = quality.logistic(x @ weights)
        curvature = (x.T * said * (1 - said)) @ x + 0.1 * np.eye(len(weights))
        weights += np.linalg.solve(curvature, x.T @ (good - said) - 0.1 * weights)
    return weights


def fit_registers(
    x: np.ndarray, registers: Sequence[str], good: np.ndarray
) -> tuple[np.ndarray, dict[str, float]]:
    """Fit weights (F,) that all registers share, and what each of them adds, to
    features x (N, F), the register of each row and labels good (N,)."""
    names = [*dict.fromkeys(map(str, registers))]
    own = np.array([[one == name for name in names] for one in registers])
    weights = fit(np.hstack([x, own]), good)
    first = x.shape[1]
    return weights[:first], dict(zip(names, weights[first:].tolist(), strict=True))


def fit_quality(
    service: Service,
    sets: Mapping[str, Sequence[Pair]],
    options: Options,
    most: int | None = None,
) -> dict[str, Any]:
    """Fit on sets, each a register, how far a translation can be trusted; test it on
    each of them by a fit to the others, which has seen nothing of its kind, and by fits
    that know the kind and other sentences of it.

    most: sentences of a set, drawn at random. One is good whose chrF to the nearest
    reference is a + b ln(pieces of the source) or more, a and b of NEAR, a proxy:
    docs/RESULTS.md. Returns weights, what each register adds, and search, and by
    set and length how many sentences, which share (0 to 1) is good, the "least" and
    the "most" that were said, the calibration "error" of such ranges, "by chance" the
    95th percentile of that error if every least estimate were exactly right, the
    share of pairs in which a good one is "ranked" before a bad one, and the error where
    the kind is "known". Raises ValueError where there is one set.
    """
    if len(sets) < 2:
        raise ValueError("one set is too few: it is tested by a fit to others")
    names, lengths, chrf, x = (
        np.array(column)
        for column in zip(
            *(
                (
                    name,
                    len(one.source_tokens),
                    score,
                    quality.features(len(one.source_tokens), one.best),
                )
                for name, pairs in sets.items()
                for one, score in zip(
                    *_nearest(service, pairs, options, most), strict=True
                )
            ),
            strict=True,
        )
    )
    good = chrf >= NEAR[0] + NEAR[1] * np.log(lengths)
    said = np.zeros((2, len(x)))
    for name in sets:
        left = names == name
        weights, others = fit_registers(x[~left], [*names[~left]], good[~left])
        said[:, left] = quality.between(weights, [*others.values()], x[left])
    known = _known(x, names, good)
    drawn = np.random.default_rng(0).random((RESAMPLES, len(x))) < said[0]
    groups = {
        **{name: names == name for name in sets},
        **{
            f"from {first} pieces": np.digitize(lengths, BANDS) == i
            for i, first in enumerate(BANDS, 1)
        },
    }
    weights, registers = fit_registers(x, [*names], good)
    return {
        "weights": weights.round(4).tolist(),
        "registers": {name: round(added, 4) for name, added in registers.items()},
        "search": [options.beam, options.length_penalty],
        "near": list(NEAR),
        "identity": service.info.identity,
        "tested": {
            name: {
                "sentences": int(of.sum()),
                "good": round(float(good[of].mean()), 3),
                "least": round(float(said[0, of].mean()), 3),
                "most": round(float(said[1, of].mean()), 3),
                "error": round(float(_outside(said[:, of], good[of])), 3),
                "by chance": round(
                    float(np.quantile(_outside(said[:, of], drawn[:, of]), 0.95)), 3
                ),
                "ranked": round(_ranked(said.mean(0)[of], good[of]), 3),
                "known": round(float(_outside(known[:, of], good[of])), 3),
            }
            for name, of in groups.items()
            if of.any()
        },
    }


def _known(x: np.ndarray, names: np.ndarray, good: np.ndarray) -> np.ndarray:
    """What is said (2, N), both ends equal, of sentences of known registers by fits to
    the other folds of all registers."""
    folds = np.zeros(len(x), dtype=int)
    registers = [*dict.fromkeys(map(str, names))]
    for name in registers:
        of = names == name
        folds[of] = np.arange(of.sum()) % FOLDS
    said = np.zeros((2, len(x)))
    for fold in range(FOLDS):
        left = folds == fold
        weights, added = fit_registers(x[~left], [*names[~left]], good[~left])
        for name in registers:
            own = left & (names == name)
            said[:, own] = quality.between(weights, [added.get(name, 0)], x[own])
    return said


def _outside(said: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Mean distance in ten bins, by the middle of the range, of what was good (…, N)
    from the range that was said (2, N): -> (…)."""
    bins = np.eye(10)[np.minimum((10 * said.mean(0)).astype(int), 9)]
    least, most = said @ bins
    found = good @ bins
    return np.maximum(0, np.maximum(least - found, found - most)).sum(-1) / len(bins)


def _ranked(said: np.ndarray, good: np.ndarray) -> float:
    """In which share of pairs, of a good and a bad one, more was said of the good one;
    equal ones count half."""
    apart = np.sign(said[good][:, None] - said[~good])
    return float((1 + apart).mean() / 2) if apart.size else 1.0


# Poolings


def pooling_scores(runs: Mapping[str, Summary]) -> list[PoolingScore]:
    """Gather from the checkpoints of runs, by name, how well classifiers do by their
    pooling and mask.

    Those that see both directions come first; of each mask the best. Raises ValueError
    naming a run that does not say.
    """
    scores = []
    for name, run in runs.items():
        config: Any = run.config
        try:
            origin = run.metrics["learned_from"]
            scores.append(
                PoolingScore(
                    config.pooling,
                    config.causal,
                    float(run.metrics["imdb"]),
                    float(run.metrics["sst2"]),
                    config.n_layers,
                    config.d_model,
                    run.parameters,
                    int(origin["labels"]),
                    int(run.metrics["step"]),
                    bool(origin["pretrained"]),
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{name} does not say what it learned from and how well; name folders that “train "
                f"sentiment” wrote"
            ) from error
    return sorted(scores, key=lambda score: (score.causal, -score.imdb))
