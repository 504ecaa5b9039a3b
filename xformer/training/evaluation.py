"""Score a model through the service that the app uses: BLEU and chrF, alignment error
rates, accuracy of verdicts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import sacrebleu
import torch
from sacrebleu.significance import PairedTest
from tqdm import tqdm

from xformer.explain import alignment
from xformer.results import Options, TellSides, Translation, UserError
from xformer.serve.reviews import SentimentService, encode, read, tidy
from xformer.serve.translation import Service
from xformer.serve.two_models import check
from xformer.training.data.corpora import Pair, plain, turned
from xformer.training.data.reviews import Labelled
from xformer.training.tasks import reliability

RESAMPLES = 1_000  # of a bootstrap
MOST_APART = 10  # sentences listed


def as_read(service: Service, pairs: Sequence[Pair]) -> list[Pair]:
    """Turn pairs of English and Spanish into those of what the model reads and what it
    writes."""
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


def evaluate_translation(
    service: Service,
    pairs: Sequence[Pair],
    options: Options,
    *,
    rough: bool = False,
    lowercase: bool = False,
) -> TranslationScores:
    """Translate the English of pairs, or the Spanish, and score it with sacrebleu.

    rough: translate it in lower case and without punctuation at its ends. lowercase:
    score both sides in lower case.
    """
    return _evaluated(service, pairs, options, rough, lowercase)[0]


def _evaluated(
    service: Service,
    pairs: Sequence[Pair],
    options: Options,
    rough: bool,
    lowercase: bool,
) -> tuple[TranslationScores, list[str]]:
    """Score a service as `evaluate_translation` does; also its translations."""
    pairs = as_read(service, pairs)
    sources = [plain(source) or source if rough else source for source, _ in pairs]
    began = time.perf_counter()
    translations = [
        translation.best.text for translation in translated(service, sources, options)
    ]
    seconds = time.perf_counter() - began
    return TranslationScores(
        **scores_of(translations, [reference for _, reference in pairs], lowercase),
        sentences=len(pairs),
        seconds=round(seconds, 1),
        sentences_per_second=round(len(pairs) / seconds, 1),
        beam=options.beam,
    ), translations


def scores_of(
    texts: Sequence[str], references: Sequence[str], lowercase: bool = False
) -> dict[str, Any]:
    """Score texts, 0 to 100: "bleu" and "chrf", and the signature of each."""
    found: dict[str, Any] = {}
    for name, metric in (
        ("bleu", sacrebleu.BLEU(lowercase=lowercase)),
        ("chrf", sacrebleu.CHRF(lowercase=lowercase)),
    ):
        found[name] = round(metric.corpus_score(texts, [references]).score, 2)
        found[f"{name}_signature"] = str(metric.get_signature())
    return found


def evaluate_against(
    first: Service,
    second: Service,
    pairs: Sequence[Pair],
    options: Options,
    *,
    rough: bool = False,
    lowercase: bool = False,
) -> tuple[TranslationScores, dict[str, Any]]:
    """Score two services on the same pairs: the first one's scores, and how the second
    one's compare with them.

    Of each score, by sacrebleu's paired bootstrap (Koehn 2004): its mean over RESAMPLES
    in both, half of its interval of 95 %, and p, the probability of so large a
    difference if there were none. "apart" has the MOST_APART sentences whose chrF
    differs most, those first. Raises UserError where the two cannot be compared.
    """
    check(first.info, second.info)
    both = [
        _evaluated(service, pairs, options, rough, lowercase)
        for service in (first, second)
    ]
    pairs = as_read(first, pairs)
    texts = [texts for _, texts in both]
    references = [reference for _, reference in pairs]
    chrf = sacrebleu.CHRF(lowercase=lowercase)
    tested = {}
    systems = list[tuple[str, Sequence[str]]](zip("AB", texts, strict=True))
    for name, metric in (
        ("BLEU", sacrebleu.BLEU(lowercase=lowercase)),
        ("chrF", sacrebleu.CHRF(lowercase=lowercase)),
    ):
        *_, column = PairedTest(
            systems, {name: metric}, [references], "bs", RESAMPLES
        )()[1].values()
        results = [one for one in column if not isinstance(one, str)]
        tested[name] = {
            "scores": [one.score for one in results],
            "means": [float(one.mean or 0) for one in results],
            "intervals": [float(one.ci or 0) for one in results],
            "p": results[1].p_value,
        }
    scored = [
        [chrf.sentence_score(text, [wanted]).score for text in said]
        for *said, wanted in zip(*texts, references, strict=True)
    ]

    def difference(i: int) -> float:
        one, other = scored[i]
        return abs(one - other)

    order = sorted(range(len(pairs)), key=difference, reverse=True)
    apart = [
        {
            "source": pairs[i][0],
            "reference": pairs[i][1],
            "translations": [one[i] for one in texts],
            "chrf": scored[i],
        }
        for i in order[:MOST_APART]
        if scored[i][0] != scored[i][1]
    ]
    scores = {
        **asdict(both[1][0]),
        "checkpoint": second.info.name,
        "identity": second.info.identity,
    }
    return both[0][0], {
        "scores": scores,
        "resamples": RESAMPLES,
        "tested": tested,
        "apart": apart,
    }


def translated(
    service: Service, sources: Sequence[str], options: Options
) -> list[Translation]:
    """Translate under a bar of progress."""
    with tqdm(
        total=len(sources), unit="sentence", dynamic_ncols=True, leave=False
    ) as bar:
        return service.translate_many(sources, options, progress=bar.update)


# Alignment


@dataclass(frozen=True)
class AlignmentScores:
    """Alignment error rates of the cross-attention heads: 0 is best, 1 worst."""

    # for each of `alignment.READINGS` of a row: [layers, heads]
    rates: dict[str, np.ndarray]
    reading: str  # of the best head
    layer: int  # of the best head, counted from 1
    head: int
    sentences: int
    # of `results.TellSides`, for the piece predicted; None for a recurrent model
    sides: float | None = None

    @property
    def best(self) -> float:
        return float(self.rates[self.reading][self.layer - 1, self.head - 1])

    def to_json(self) -> dict[str, Any]:
        return {
            "alignment_error_rate": {
                reading: rates.round(4).tolist()
                for reading, rates in self.rates.items()
            },
            "best": {"layer": self.layer, "head": self.head, "of": self.reading},
            "sentences": self.sentences,
            **({} if self.sides is None else {"sides": round(self.sides, 6)}),
        }


def evaluate_alignment(
    service: Service, gold: Sequence[alignment.Gold]
) -> AlignmentScores:
    """Compare where the cross-attention heads look, in passes over the pairs, with
    their links by hand. The pairs are turned around for a model that reads Spanish.
    Raises ValueError where the vocabulary cuts a pair into other words than its links
    count, and UserError for a model without attention."""
    if not service.info.layers("cross"):
        raise UserError(
            f"The model {service.info.name} has no attention, so there is nothing to align; name another "
            f"with --checkpoint."
        )
    gold = [pair.turned() for pair in gold] if service.info.source == "es" else gold
    traces = [
        service.trace(pair.english, pair.spanish)
        for pair in tqdm(gold, unit="sentence", dynamic_ncols=True, leave=False)
    ]
    rates = np.stack(
        [alignment.head_scores(traces, gold, reading) for reading in alignment.READINGS]
    )
    sides = None
    if service.info.architecture == "transformer":
        shares = [
            service.ask(TellSides(pair.english, pair.spanish))[0] for pair in gold
        ]
        sides = float(
            alignment.head_scores(
                [
                    replace(trace, cross=share[None, None])
                    for trace, share in zip(traces, shares, strict=True)
                ],
                gold,
            )[0, 0]
        )
    head, reading = alignment.best_of(rates)
    return AlignmentScores(
        dict(zip(alignment.READINGS, rates, strict=True)),
        reading,
        head.layer,
        head.head,
        len(gold),
        sides,
    )


# Sentiment


@dataclass(frozen=True)
class SentimentScores:
    """Scores of a classifier on labelled texts."""

    accuracy: float  # 0 to 1
    rows: int
    seconds: float
    rows_per_second: float
    calibration_error: float  # expected, 0 to 1
    # what the error is made of, as `sentiment.reliability` returns it
    reliability: list[dict[str, float]]
    cut: int  # texts too long to be read whole


def evaluate_sentiment(
    service: SentimentService, rows: Sequence[Labelled]
) -> SentimentScores:
    """Classify labelled texts and compare with their labels."""
    began = time.perf_counter()
    texts, cuts = zip(
        *(
            encode(service.tokenizer, tidy(text), service.model.config.max_length)
            for _, text in rows
        ),
        strict=True,
    )
    with tqdm(total=len(rows), unit="text", dynamic_ncols=True, leave=False) as bar:
        logits, _ = read(service.model, texts, bar.update)
    seconds = time.perf_counter() - began
    probabilities = service.model.probabilities(logits)
    labels = torch.tensor([label for label, _ in rows])
    error, bins = reliability(probabilities, labels)
    return SentimentScores(
        accuracy=round(float((probabilities.argmax(1) == labels).double().mean()), 4),
        rows=len(rows),
        seconds=round(seconds, 1),
        rows_per_second=round(len(rows) / seconds, 1),
        calibration_error=error,
        reliability=bins,
        cut=sum(cut > 0 for cut in cuts),
    )
