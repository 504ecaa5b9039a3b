"""How good a model is, through the same service as the app: BLEU and chrF of pairs, accuracy of labelled texts."""

from __future__ import annotations

import time
from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import sacrebleu
import torch
from tqdm import tqdm

from xformer.explain import alignment
from xformer.results import LabelShare
from xformer.search import Options
from xformer.serve.reviews import SentimentService, encode, read, tidy
from xformer.serve.translation import Service
from xformer.training.corpora import Pair, plain
from xformer.training.reviews import Row
from xformer.training.sentiment import reliability

LENGTHS = (1, 6, 11, 16, 21, 26, 31, 41, 61)  # pieces of a source, </s> left out, with which a bucket begins


def evaluate_translation(service: Service, pairs: Sequence[Pair], options: Options, *, rough: bool = False,
                         lowercase: bool = False) -> dict[str, Any]:
    """Scores of a service on pairs, by sacrebleu with its signatures.

    rough: the English in lower case and without final punctuation. lowercase: both sides are scored in lower case.
    """
    sources = [plain(english) or english if rough else english for english, _ in pairs]
    references = [spanish for _, spanish in pairs]
    began = time.perf_counter()
    with tqdm(total=len(sources), unit="sentence", dynamic_ncols=True, leave=False) as bar:
        found = service.translate_many(sources, options, progress=bar.update)
    seconds = time.perf_counter() - began
    translations = [t.best.text for t in found]
    bleu, chrf = sacrebleu.BLEU(lowercase=lowercase), sacrebleu.CHRF(lowercase=lowercase)
    scores = bleu.corpus_score(translations, [references]), chrf.corpus_score(translations, [references])
    return {"bleu": round(scores[0].score, 2), "chrf": round(scores[1].score, 2), "sentences": len(pairs),
            "seconds": round(seconds, 1), "sentences_per_second": round(len(pairs) / seconds, 1),
            "bleu_signature": str(bleu.get_signature()), "chrf_signature": str(chrf.get_signature()),
            "checkpoint": service.info.name, "identity": service.info.identity, "beam": options.beam,
            "device": service.info.device}


def evaluate_lengths(service: Service, pairs: Sequence[Pair], options: Options,
                     training: Sequence[str] | None = None) -> dict[str, Any]:
    """BLEU and chrF of pairs by the length of their English, in pieces, as Koehn and Knowles (2017) do.

    training: English sentences that the model learned from, counted by length too.
    """
    texts = [english for english, _ in pairs]
    with tqdm(total=len(pairs), unit="sentence", dynamic_ncols=True, leave=False) as bar:
        found = service.translate_many(texts, options, progress=bar.update)
    lengths = [len(service.tokenizer.encode(found_one.source)) for found_one in found]
    bleu, chrf, buckets = sacrebleu.BLEU(), sacrebleu.CHRF(), []
    counted = None if training is None else Counter(
        bisect(LENGTHS, len(service.tokenizer.encode(english)))
        for english in tqdm(training, unit="sentence", dynamic_ncols=True, leave=False))
    for i, first in enumerate(LENGTHS, 1):
        rows = [row for row, length in enumerate(lengths) if bisect(LENGTHS, length) == i]
        translations, references = [found[row].best.text for row in rows], [[pairs[row][1] for row in rows]]
        buckets.append({"first": first, "last": LENGTHS[i] - 1 if i < len(LENGTHS) else None, "sentences": len(rows),
                        "bleu": round(bleu.corpus_score(translations, references).score, 2) if rows else None,
                        "chrf": round(chrf.corpus_score(translations, references).score, 2) if rows else None,
                        "training": None if counted is None else counted[i]})
    return {"buckets": buckets, "sentences": len(pairs), "beam": options.beam,
            "bleu_signature": str(bleu.get_signature()), "chrf_signature": str(chrf.get_signature())}


@dataclass(frozen=True)
class AlignmentScores:
    """Alignment error rates of the cross-attention heads: 0 is best, 1 worst."""

    rates: dict[str, np.ndarray]  # for each of `alignment.READINGS` of a row: [layers, heads]
    reading: str  # of the best head
    layer: int  # of the best head, counted from 1
    head: int
    sentences: int

    @property
    def best(self) -> float:
        return float(self.rates[self.reading][self.layer - 1, self.head - 1])

    def to_json(self) -> dict[str, Any]:
        return {"alignment_error_rate": {reading: rates.round(4).tolist() for reading, rates in self.rates.items()},
                "best": {"layer": self.layer, "head": self.head, "of": self.reading}, "sentences": self.sentences}


def evaluate_alignment(service: Service, gold: Sequence[alignment.Gold]) -> AlignmentScores:
    """Compare what the heads of a service look at with sentence pairs aligned by hand, whatever it would translate.

    Raises ValueError where the vocabulary cuts a pair into other words than its links count.
    """
    traces = [service.trace(pair.english, pair.spanish)
              for pair in tqdm(gold, unit="sentence", dynamic_ncols=True, leave=False)]
    rates = np.stack([alignment.head_scores(traces, gold, reading) for reading in alignment.READINGS])
    reading, layer, head = (int(i) for i in np.unravel_index(rates.argmin(), rates.shape))
    return AlignmentScores(dict(zip(alignment.READINGS, rates, strict=True)), alignment.READINGS[reading], layer + 1,
                           head + 1, len(gold))


def evaluate_sentiment(service: SentimentService, rows: Sequence[Row]) -> dict[str, Any]:
    """Accuracy (0 to 1) and expected calibration error of a service on labelled texts."""
    began = time.perf_counter()
    texts, cuts = zip(*(encode(service.tokenizer, tidy(text), service.model.config.max_length) for _, text in rows),
                      strict=True)
    with tqdm(total=len(rows), unit="text", dynamic_ncols=True, leave=False) as bar:
        logits, _ = read(service.model, texts, bar.update)
    seconds = time.perf_counter() - began
    probabilities, labels = service.model.probabilities(logits), torch.tensor([label for label, _ in rows])
    error, bins = reliability(probabilities, labels)
    return {"accuracy": round(float((probabilities.argmax(1) == labels).double().mean()), 4), "rows": len(rows),
            "seconds": round(seconds, 1), "rows_per_second": round(len(rows) / seconds, 1), "calibration_error": error,
            "reliability": bins, "cut": sum(cut > 0 for cut in cuts), "checkpoint": service.info.name,
            "identity": service.info.identity, "device": service.info.device}


def label_shares(runs: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What classifiers learned from shares of the labels, begun as a language model and from nothing, scored on the
    validation sets, in the order of `LabelShare`; from the metrics of their runs, by name.

    Raises ValueError naming a run that does not say.
    """
    found = []
    for name, metrics in runs.items():
        try:
            learned = metrics["learned_from"]
            share = LabelShare(bool(learned["pretrained"]), float(learned["share"]), float(metrics["imdb"]),
                               float(metrics["sst2"]), int(learned["labels"]), int(metrics["step"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{name} does not say what it learned from and how well; name folders that “train "
                             f"sentiment” wrote") from error
        found.append(asdict(share))
    return sorted(found, key=lambda one: (not one["pretrained"], -one["share"]))
