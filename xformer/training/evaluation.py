"""Score a model through the service that the app uses: BLEU and chrF, alignment error rates, accuracy of verdicts."""

from __future__ import annotations

import math
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import sacrebleu
import torch
from sacrebleu.significance import PairedTest
from tqdm import tqdm

from xformer.explain import alignment, learned, quality
from xformer.explain.doubts import sureness
from xformer.hub.checkpoint import Summary
from xformer.results import Force, LengthScore, Options, PoolingScore, TellSides, Translation, UserError
from xformer.results.inside import MemoryScore
from xformer.serve.reviews import SentimentService, encode, read, tidy
from xformer.serve.translation import Service
from xformer.serve.two_models import check
from xformer.training.data.corpora import Pair, key, plain, read_marked_pairs, turned
from xformer.training.data.reviews import Labelled
from xformer.training.tasks import reliability

NEAR = (36.0, 5.0)  # a and b of the chrF, a + b ln(pieces), from which a translation counts as good
BANDS, PARTS = (1, 6, 9, 13, 25, 40), 10  # quality: pieces with which a group of tested begins; fits for testing
RESAMPLES, MOST_APART, MOST_COMPARED = 1_000, 10, 2_000  # of a bootstrap; sentences listed; pairs, seen and unseen
LENGTHS = (1, 6, 11, 16, 21, 26, 31, 41, 61)  # pieces of a source, </s> left out, with which a bucket may begin
FEWEST = 100  # sentences of a bucket: with fewer, BLEU is chance


def as_read(service: Service, pairs: Sequence[Pair]) -> list[Pair]:
    """Turn pairs of English and Spanish into those of what the model reads and what it writes."""
    return turned(pairs) if service.info.source == "es" else [*pairs]


# Translation


@dataclass(frozen=True)
class TranslationScores:
    """Scores of a service on sentence pairs, one reference each."""

    bleu: float  # 0 to 100, as chrf
    chrf: float
    sentences: int
    seconds: float
    sentences_per_second: float
    bleu_signature: str  # sacrebleu's, that says how it was computed
    chrf_signature: str
    beam: int


def evaluate_translation(service: Service, pairs: Sequence[Pair], options: Options, *, rough: bool = False,
                         lowercase: bool = False) -> TranslationScores:
    """Translate the English of pairs, or the Spanish, and score it with sacrebleu.

    rough: translate it in lower case and without punctuation at its ends. lowercase: score both sides in lower case.
    """
    return _evaluated(service, pairs, options, rough, lowercase)[0]


def _evaluated(service: Service, pairs: Sequence[Pair], options: Options, rough: bool, lowercase: bool
               ) -> tuple[TranslationScores, list[str]]:
    """Score a service as `evaluate_translation` does; also its translations."""
    pairs = as_read(service, pairs)
    sources = [plain(source) or source if rough else source for source, _ in pairs]
    began = time.perf_counter()
    translations = [translation.best.text for translation in _translate(service, sources, options)]
    seconds = time.perf_counter() - began
    return TranslationScores(
        **_scores(translations, [reference for _, reference in pairs], lowercase), sentences=len(pairs),
        seconds=round(seconds, 1), sentences_per_second=round(len(pairs) / seconds, 1), beam=options.beam), translations


def _scores(texts: Sequence[str], references: Sequence[str], lowercase: bool = False) -> dict[str, Any]:
    """Score texts, 0 to 100: "bleu" and "chrf", and the signature of each."""
    found: dict[str, Any] = {}
    for name, metric in (("bleu", sacrebleu.BLEU(lowercase=lowercase)), ("chrf", sacrebleu.CHRF(lowercase=lowercase))):
        found[name] = round(metric.corpus_score(texts, [references]).score, 2)
        found[f"{name}_signature"] = str(metric.get_signature())
    return found


def evaluate_against(first: Service, second: Service, pairs: Sequence[Pair], options: Options, *, rough: bool = False,
                     lowercase: bool = False) -> tuple[TranslationScores, dict[str, Any]]:
    """Score two services on the same pairs: the first one's scores, and how the second one's compare with them.

    Of each score, by sacrebleu's paired bootstrap (Koehn 2004): its mean over RESAMPLES in both, half of its interval
    of 95 %, and p, the probability of so large a difference if there were none. "apart" has the MOST_APART sentences
    whose chrF differs most, those first. Raises UserError where the two cannot be compared.
    """
    check(first.info, second.info)
    both = [_evaluated(service, pairs, options, rough, lowercase) for service in (first, second)]
    pairs, texts = as_read(first, pairs), [texts for _, texts in both]
    references, chrf = [reference for _, reference in pairs], sacrebleu.CHRF(lowercase=lowercase)
    tested, systems = {}, list[tuple[str, Sequence[str]]](zip("AB", texts, strict=True))
    for name, metric in (("BLEU", sacrebleu.BLEU(lowercase=lowercase)), ("chrF", sacrebleu.CHRF(lowercase=lowercase))):
        *_, column = PairedTest(systems, {name: metric}, [references], "bs", RESAMPLES)()[1].values()
        results = [one for one in column if not isinstance(one, str)]
        tested[name] = {"scores": [one.score for one in results], "means": [float(one.mean or 0) for one in results],
                        "intervals": [float(one.ci or 0) for one in results], "p": results[1].p_value}
    scored = [[chrf.sentence_score(text, [wanted]).score for text in said]
              for *said, wanted in zip(*texts, references, strict=True)]
    order = sorted(range(len(pairs)), key=lambda i: -abs(scored[i][0] - scored[i][1]))
    apart = [{"source": pairs[i][0], "reference": pairs[i][1], "translations": [one[i] for one in texts],
              "chrf": scored[i]} for i in order[:MOST_APART] if scored[i][0] != scored[i][1]]
    scores = {**asdict(both[1][0]), "checkpoint": second.info.name, "identity": second.info.identity}
    return both[0][0], {"scores": scores, "resamples": RESAMPLES, "tested": tested, "apart": apart}


def _translate(service: Service, sources: Sequence[str], options: Options) -> list[Translation]:
    """Translate under a bar of progress."""
    with tqdm(total=len(sources), unit="sentence", dynamic_ncols=True, leave=False) as bar:
        return service.translate_many(sources, options, progress=bar.update)


@dataclass(frozen=True)
class LengthScores:
    """Scores of a service on sentence pairs by the length of what it reads."""

    buckets: list[LengthScore]
    sentences: int
    beam: int
    bleu_signature: str
    chrf_signature: str


def evaluate_lengths(service: Service, pairs: Sequence[Pair], options: Options,
                     training: Sequence[Pair] | None = None) -> LengthScores:
    """Score pairs by the length of what the model reads, in pieces, as Koehn and Knowles (2017) do.

    Lengths of fewer than FEWEST sentences are joined to others.
    training: pairs that the model learned to translate, counted by length too.
    """
    pairs = as_read(service, pairs)
    translations = _translate(service, [source for source, _ in pairs], options)
    read = [len(translation.source_tokens) for translation in translations]
    learned = None if training is None else [len(service.tokenizer.encode(source)) for source, _ in tqdm(
        as_read(service, training), unit="sentence", dynamic_ncols=True, leave=False)]
    buckets, firsts = [], [1]
    for length in LENGTHS[1:]:
        if min(sum(firsts[-1] <= n < length for n in read), sum(n >= length for n in read)) >= FEWEST:
            firsts.append(length)
    for first, following in zip(firsts, (*firsts[1:], None), strict=True):
        inside = range(first, following or sys.maxsize)
        rows = [row for row, n in enumerate(read) if n in inside]
        found = _scores([translations[row].best.text for row in rows], [pairs[row][1] for row in rows])
        buckets.append(LengthScore(first, following and following - 1, len(rows), found["bleu"], found["chrf"],
                                   None if learned is None else sum(n in inside for n in learned)))
    whole = _scores([translation.best.text for translation in translations], [reference for _, reference in pairs])
    return LengthScores(buckets, len(pairs), options.beam, whole["bleu_signature"], whole["chrf_signature"])


# Guesses, and how far a translation can be trusted


@dataclass(frozen=True)
class GuessScores:
    """A bound on the mean log-probability of a translation's pieces, below which it is marked as a guess."""

    bound: float  # nats
    share: float  # of the translations that may be marked
    sentences: int
    marked: int
    wrong: int  # translations with a chrF below `least` to their nearest reference
    caught: int  # of the wrong ones, marked
    least: float
    beam: int
    identity: str  # of the weights


def evaluate_guesses(service: Service, pairs: Sequence[Pair], options: Options, share: float = 0.02,
                     least: float = 25.0) -> GuessScores:
    """Fit the bound so that less than a share of held-out sentences is marked, and count what it catches.

    A sentence that stands in several pairs is translated once and compared with each reference.
    """
    translations, chrf = _nearest(service, pairs, options)
    found, wrong = np.array([sureness(one.best.log_probs) for one in translations]), chrf < least
    allowed = max(0, math.ceil(share * len(found)) - 1)
    bound = math.floor(1000 * np.sort(found)[allowed]) / 1000
    marked = found < bound
    return GuessScores(bound, share, len(found), int(marked.sum()), int(wrong.sum()), int((marked & wrong).sum()),
                       least, options.beam, service.info.identity)


def _nearest(service: Service, pairs: Sequence[Pair], options: Options) -> tuple[list[Translation], np.ndarray]:
    """Translate each of N sentences once; return that, and the chrF (N,) to the nearest of its references."""
    references: dict[str, list[str]] = {}
    for source, reference in as_read(service, pairs):
        references.setdefault(source, []).append(reference)
    translations, chrf = _translate(service, [*references], options), sacrebleu.CHRF()
    return translations, np.array([max(chrf.sentence_score(one.best.text, [reference]).score for reference in those)
                                   for one, those in zip(translations, references.values(), strict=True)])


def evaluate_memory(service: Service, unseen: Sequence[Pair], options: Options) -> list[MemoryScore]:
    """Score pairs that a model never saw beside as many of Tatoeba that it learned from, whose sources have as many
    pieces; MOST_COMPARED of each at most, drawn at random."""
    draw, scores = random.Random(0), []
    seen = [pair[:2] for pair in read_marked_pairs(learned.FILES[0]) if pair[2] == "direct"]
    drawn = [draw.sample(pairs, len(pairs)) for pairs in (as_read(service, unseen), as_read(service, seen))]
    wanted = Counter(len(service.tokenizer.encode(source)) for source, _ in drawn[0][:MOST_COMPARED])
    for is_seen, pairs in enumerate(drawn):
        left, chosen = wanted.copy(), list[Pair]()
        for pair in pairs:
            if len(chosen) < MOST_COMPARED and left[length := len(service.tokenizer.encode(pair[0]))] > 0:
                left[length] -= 1
                chosen.append(pair)
        made = [one.best for one in _translate(service, [source for source, _ in chosen], options)]
        reference, own = (round(float(np.median([*map(sureness, those)])), 3) for those in (
            (service.ask(Force(*pair)).log_probs for pair in chosen), (one.log_probs for one in made)))
        scores.append(MemoryScore(bool(is_seen), len(chosen), reference, own, sum(
            key(one.text) == key(pair[1]) for one, pair in zip(made, chosen, strict=True))))
    return scores


def evaluate_quality(service: Service, sets: Mapping[str, Sequence[Pair]], options: Options) -> dict[str, Any]:
    """Fit on held-out sets how far a translation can be trusted; test it on each tenth by a fit to the other nine.

    One is good whose chrF to the nearest reference is a + b ln(pieces of the source) or more, a and b of NEAR, a proxy:
    docs/RESULTS.md. Returns weights and search, and by set and length how many sentences, which share (0 to 1) is good,
    what was said, the expected calibration error of ten bins (Guo et al. 2017), and "by chance" what this stays below
    in 95 of a hundred draws in which each is good as often as was said.
    """
    names, lengths, chrf, x = (np.array(column) for column in zip(*(
        (name, len(one.source_tokens), score, quality.features(len(one.source_tokens), one.best))
        for name, pairs in sets.items() for one, score in zip(*_nearest(service, pairs, options), strict=True)),
        strict=True))
    if len(names) < 2:
        raise ValueError("one sentence is too few: it is tested by a fit to others")
    good, parts, said = chrf >= NEAR[0] + NEAR[1] * np.log(lengths), np.arange(len(x)) % PARTS, np.zeros(len(x))
    for part in range(PARTS):
        said[parts == part] = quality.estimate(quality.fit(x[parts != part], good[parts != part]), x[parts == part])
    drawn = np.random.default_rng(0).random((RESAMPLES, len(x))) < said
    groups = {"all": lengths >= 0, **{name: names == name for name in sets}, **{
        f"from {first} pieces": np.digitize(lengths, BANDS) == i for i, first in enumerate(BANDS, 1)}}
    return {"weights": quality.fit(x, good).round(4).tolist(), "search": [options.beam, options.length_penalty],
            "near": list(NEAR), "identity": service.info.identity, "tested": {
                name: {"sentences": int(of.sum()), "good": round(float(good[of].mean()), 3),
                       "said": round(float(said[of].mean()), 3), "error": round(float(_apart(said[of], good[of])), 3),
                       "by chance": round(float(np.quantile(_apart(said[of], drawn[:, of]), 0.95)), 3)}
                for name, of in groups.items() if of.any()}}


def _apart(said: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Mean distance in ten bins of what was said (N,) from what was good (…, N): -> (…)."""
    bins = np.eye(10)[np.minimum((10 * said).astype(int), 9)]
    return abs((said - good) @ bins).sum(-1) / len(said)


# Alignment


@dataclass(frozen=True)
class AlignmentScores:
    """Alignment error rates of the cross-attention heads: 0 is best, 1 worst."""

    rates: dict[str, np.ndarray]  # for each of `alignment.READINGS` of a row: [layers, heads]
    reading: str  # of the best head
    layer: int  # of the best head, counted from 1
    head: int
    sentences: int
    sides: float | None = None  # of `results.TellSides`, for the piece predicted; None for a recurrent model

    @property
    def best(self) -> float:
        return float(self.rates[self.reading][self.layer - 1, self.head - 1])

    def to_json(self) -> dict[str, Any]:
        return {"alignment_error_rate": {reading: rates.round(4).tolist() for reading, rates in self.rates.items()},
                "best": {"layer": self.layer, "head": self.head, "of": self.reading}, "sentences": self.sentences,
                **({} if self.sides is None else {"sides": round(self.sides, 6)})}


def evaluate_alignment(service: Service, gold: Sequence[alignment.Gold]) -> AlignmentScores:
    """Compare where the cross-attention heads look, in passes over the pairs, with their links by hand. The pairs are
    turned around for a model that reads Spanish. Raises ValueError where the vocabulary cuts a pair into other words
    than its links count, and UserError for a model without attention."""
    if not service.info.layers("cross"):
        raise UserError(f"The model {service.info.name} has no attention, so there is nothing to align; name another "
                        f"with --checkpoint.")
    gold = [pair.turned() for pair in gold] if service.info.source == "es" else gold
    traces = [service.trace(pair.english, pair.spanish)
              for pair in tqdm(gold, unit="sentence", dynamic_ncols=True, leave=False)]
    rates, sides = np.stack([alignment.head_scores(traces, gold, reading) for reading in alignment.READINGS]), None
    if service.info.architecture == "transformer":
        shares = [service.ask(TellSides(pair.english, pair.spanish))[0] for pair in gold]
        sides = float(alignment.head_scores([replace(trace, cross=share[None, None]) for trace, share in
                                             zip(traces, shares, strict=True)], gold)[0, 0])
    reading, layer, head = (int(i) for i in np.unravel_index(np.argmin(rates), rates.shape))
    return AlignmentScores(dict(zip(alignment.READINGS, rates, strict=True)), alignment.READINGS[reading], layer + 1,
                           head + 1, len(gold), sides)


# Sentiment


@dataclass(frozen=True)
class SentimentScores:
    """Scores of a classifier on labelled texts."""

    accuracy: float  # 0 to 1
    rows: int
    seconds: float
    rows_per_second: float
    calibration_error: float  # expected, 0 to 1
    reliability: list[dict[str, float]]  # what the error is made of, as `sentiment.reliability` returns it
    cut: int  # texts too long to be read whole


def evaluate_sentiment(service: SentimentService, rows: Sequence[Labelled]) -> SentimentScores:
    """Classify labelled texts and compare with their labels."""
    began = time.perf_counter()
    texts, cuts = zip(*(encode(service.tokenizer, tidy(text), service.model.config.max_length) for _, text in rows),
                      strict=True)
    with tqdm(total=len(rows), unit="text", dynamic_ncols=True, leave=False) as bar:
        logits, _ = read(service.model, texts, bar.update)
    seconds = time.perf_counter() - began
    probabilities, labels = service.model.probabilities(logits), torch.tensor([label for label, _ in rows])
    error, bins = reliability(probabilities, labels)
    return SentimentScores(
        accuracy=round(float((probabilities.argmax(1) == labels).double().mean()), 4), rows=len(rows),
        seconds=round(seconds, 1), rows_per_second=round(len(rows) / seconds, 1), calibration_error=error,
        reliability=bins, cut=sum(cut > 0 for cut in cuts))


# Poolings


def pooling_scores(runs: Mapping[str, Summary]) -> list[PoolingScore]:
    """Gather from the checkpoints of runs, by name, how well classifiers do by their pooling and mask.

    Those that see both directions come first; of each mask the best. Raises ValueError naming a run that does not say.
    """
    scores = []
    for name, run in runs.items():
        config: Any = run.config
        try:
            origin = run.metrics["learned_from"]
            scores.append(PoolingScore(
                config.pooling, config.causal, float(run.metrics["imdb"]), float(run.metrics["sst2"]), config.n_layers,
                config.d_model, run.parameters, int(origin["labels"]), int(run.metrics["step"]),
                bool(origin["pretrained"])))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{name} does not say what it learned from and how well; name folders that “train "
                             f"sentiment” wrote") from error
    return sorted(scores, key=lambda score: (score.causal, -score.imdb))
