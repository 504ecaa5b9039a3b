"""The tasks that the loop trains, with their loss: translation, a language model of
reviews, a classifier of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sacrebleu
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xformer.classifier import LanguageModel, TransformerClassifier
from xformer.pieces import BOS, EOS, PAD, UNK
from xformer.results import Options
from xformer.serve.reviews import read
from xformer.tokenizer import Tokenizer
from xformer.training.data.corpora import Ids, Pair, Ranked, TranslationBatches, plain
from xformer.training.data.reviews import Example, ReviewBatches, Windows
from xformer.training.loop import Task, autocast
from xformer.translator import Translator, pad, translate_ids

SHARPNESS = 10  # of the probabilities among hypotheses
MOST = 200  # pieces of a sentence of dev whose loss is taken
BINS = 10  # of a classifier's confidence


class SmoothedCrossEntropy(torch.autograd.Function):
    """Sum label-smoothed cross-entropies: logits [N, V], wanted [N] (PAD: not counted)
    -> a scalar.

    Equals `F.cross_entropy(…, ignore_index=PAD, reduction="sum",
    label_smoothing=smoothing)`, but makes the gradient, softmax(logits) minus the
    smoothed target, already in the forward pass, in one array instead of five.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, wanted: Tensor, smoothing: float) -> Tensor:
        real = wanted != PAD
        p = logits.softmax(dim=1, dtype=torch.float32)
        # log of the sum of exponentials
        log_total = logits.amax(1).float() - p.amax(1).log()
        likelihood = (1 - smoothing) * logits.gather(1, wanted[:, None])[:, 0].float()
        likelihood += smoothing * logits.mean(1, dtype=torch.float32)
        p -= smoothing / logits.shape[1]
        p.scatter_add_(1, wanted[:, None], p.new_full((len(wanted), 1), smoothing - 1))
        p *= real[:, None]
        ctx.save_for_backward(p.to(logits.dtype))
        return ((log_total - likelihood) * real).sum()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (p,) = ctx.saved_tensors
        return p * gradients[0], None, None


def guess(targets: Sequence[Sequence[int]], vocabulary: int, smoothing: float) -> float:
    """The loss, label smoothing included, of who knows only how often each target piece
    comes, EOS too."""
    counts = Counter(piece for target in targets for piece in (*target, EOS))
    total = sum(counts.values())
    shares = [
        (1 - smoothing) * counts[piece] / total + smoothing / vocabulary
        for piece in range(vocabulary)
    ]
    return -sum(share * math.log(share) for share in shares if share)


# Translation


def learn_vocabulary(pairs: Sequence[Pair], size: int) -> Tokenizer:
    """Learn a joint vocabulary from both languages, and from the English in lower case
    too, as many people type it."""
    return Tokenizer.train(
        (
            text
            for english, spanish in pairs
            for text in (english, spanish, plain(english))
        ),
        size,
    )


def forced(
    model: Callable[..., Tensor],
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    device: torch.device,
) -> tuple[Tensor, Tensor]:
    """Teacher forcing: B sources and B n targets, in pieces -> logits [B n, T, V], and
    what they should be [B n, T], with EOS, then PAD. n targets that follow each other
    share a source; only a transformer takes more than one."""
    logits = model(
        pad([[*source, EOS] for source in sources], device),
        pad([[BOS, *t] for t in targets], device),
    )
    return logits, pad([[*target, EOS] for target in targets], device)


def expected_cost(
    model: nn.Module, ranked: Sequence[Ranked], device: torch.device
) -> Tensor:
    """Return the expected cost of the hypotheses of a sentence, a mean over sentences:
    minimum risk training (Shen et al. 2016), here over those of a beam (Edunov et al.
    2018, "Classical Structured Prediction Losses").

    How probable a hypothesis is beside the others is the softmax of SHARPNESS times its
    log-probability a piece.
    """
    logits, wanted = forced(
        model,
        [one.source for one in ranked],
        [row for one in ranked for row in one.hypotheses],
        device,
    )
    lost = F.cross_entropy(
        logits.flatten(0, 1).float(),
        wanted.flatten(),
        ignore_index=PAD,
        reduction="none",
    )
    mean = lost.view_as(wanted).sum(1) / (wanted != PAD).sum(1)
    probabilities = (-SHARPNESS * mean.view(len(ranked), -1)).softmax(1)
    return (
        (probabilities * torch.tensor([one.costs for one in ranked], device=device))
        .sum(1)
        .mean()
    )


def bleu(said: Sequence[str], wanted: Sequence[str], rough: bool = False) -> float:
    """Score translations against one reference each, 0 to 100. rough: whatever the
    case."""
    found = sacrebleu.corpus_bleu([*said], [[*wanted]], lowercase=rough)
    return round(found.score, 2)


class TranslationTask(Task):
    """The `loop.Task` of translation. The best weights are those with the highest BLEU
    on dev, decoded greedily."""

    score = "bleu"
    data: Any

    def __init__(
        self,
        model: Translator,
        tokenizer: Tokenizer,
        data: TranslationBatches,
        dev: Sequence[Pair],
        smoothing: float = 0.1,
        risk: float = 0.0,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.data = data
        self.dev = dev
        self.smoothing = smoothing
        self.risk = risk

    def weight(self, batch: Sequence[Ids | Ranked]) -> int:
        return sum(len(one[1]) + 1 for one in batch if not isinstance(one, Ranked))

    def loss(
        self, model: nn.Module, batch: Sequence[Ids | Ranked], device: torch.device
    ) -> Tensor:
        """Sum the cross-entropy with label smoothing (section 5.4) over the target
        pieces and their EOS; for each of them the expected cost of the ranked is added,
        times `risk`."""
        loss = torch.zeros((), device=device)
        if pairs := [one for one in batch if not isinstance(one, Ranked)]:
            logits, wanted = forced(
                model,
                [source for source, _ in pairs],
                [target for _, target in pairs],
                device,
            )
            loss = SmoothedCrossEntropy.apply(
                logits.flatten(0, 1), wanted.flatten(), self.smoothing
            )
        if ranked := [one for one in batch if isinstance(one, Ranked)]:
            loss = loss + self.risk * self.weight(batch) * expected_cost(
                model, ranked, device
            )
        return loss

    def save(self, folder: Path, metrics: dict[str, Any]) -> None:
        pairs = len([*self.data.pairs, *self.data.written, *self.data.phrases])
        super().save(folder, {**metrics, "learned_from": {"pairs": pairs}})

    def evaluate(self, precision: str = "float32") -> dict[str, float]:
        """Score dev as it stands, and in lower case without final punctuation: BLEU,
        decoded in full precision; and its loss a piece, which is smoothed as that of
        training."""
        return {
            "bleu": self.bleu(),
            "bleu_plain": self.bleu(rough=True),
            "dev_loss": round(self.dev_loss(), 4),
        }

    def translations(self, rough: bool = False) -> list[str]:
        """Translate dev greedily. rough: in lower case and without final
        punctuation."""
        sources = [
            self.tokenizer.encode(plain(english) if rough else english)
            for english, _ in self.dev
        ]
        found = translate_ids(self.model, sources, Options(beam=1, alternatives=0))
        return [self.tokenizer.decode(best.tokens) for best, *_ in found]

    def bleu(self, rough: bool = False) -> float:
        """Score greedy translations of dev, 0 to 100. rough: in lower case and without
        final punctuation."""
        return bleu(
            self.translations(rough), [spanish for _, spanish in self.dev], rough
        )

    @torch.inference_mode()
    def dev_loss(self) -> float:
        """The mean loss of a piece of dev, smoothed as that of training."""
        pairs = sorted(
            (
                (self.tokenizer.encode(of)[:MOST], self.tokenizer.encode(to)[:MOST])
                for of, to in self.dev
            ),
            key=lambda pair: len(pair[1]),
        )
        batches = [pairs[i : i + 64] for i in range(0, len(pairs), 64)]
        device = next(self.model.parameters()).device
        return sum(
            float(self.loss(self.model, batch, device)) for batch in batches
        ) / sum(map(self.weight, batches))


# Language model


class LanguageModelTask(Task):
    """The `loop.Task` of generative pre-training (Radford et al. 2018, equation 1).

    The best weights are those with the lowest perplexity on held-out text.
    """

    score = "log_likelihood"

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Tokenizer,
        data: Windows,
        held_out: Sequence[Sequence[np.ndarray]],
    ) -> None:
        """Take the model, its training windows, and batches of held-out windows [length
        + 1]."""
        self.model = model
        self.tokenizer = tokenizer
        self.data = data
        self.held_out = held_out

    def weight(self, batch: Sequence[np.ndarray]) -> int:
        return sum(len(window) - 1 for window in batch)

    def loss(
        self, model: nn.Module, batch: Sequence[np.ndarray], device: torch.device
    ) -> Tensor:
        """Sum the cross-entropy of each piece given those before it in its window."""
        windows = torch.from_numpy(np.stack(batch)).long().to(device)
        logits = model(windows[:, :-1])
        return SmoothedCrossEntropy.apply(
            logits.flatten(0, 1), windows[:, 1:].flatten(), 0.0
        )

    @torch.inference_mode()
    def evaluate(self, precision: str = "float32") -> dict[str, float]:
        """Score held-out text, in full precision: the mean log-likelihood of a piece in
        nats, and the perplexity, which is e to minus that."""
        device = self.model.device
        total = sum(
            float(self.loss(self.model, batch, device)) for batch in self.held_out
        )
        mean = total / sum(map(self.weight, self.held_out))
        return {
            "log_likelihood": round(-mean, 4),
            "perplexity": round(math.exp(min(mean, 700.0)), 2),
        }


# Classification


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """Fit the temperature (0.05 to 20) at which softmax(logits / temperature) makes the
    labels likeliest.

    logits [N, C], labels [N]; Guo et al. 2017, "On Calibration of Modern Neural
    Networks". The likelihood has a single peak, so ternary search finds it.
    """
    low = math.log(0.05)
    high = math.log(20)
    for _ in range(60):
        left = low + (high - low) / 3
        right = high - (high - low) / 3
        losses = [
            float(F.cross_entropy(logits.double() / math.exp(t), labels))
            for t in (left, right)
        ]
        low, high = (low, right) if losses[0] <= losses[1] else (left, high)
    return math.exp((low + high) / 2)


def reliability(
    probabilities: Tensor, labels: Tensor
) -> tuple[float, list[dict[str, float]]]:
    """Compute the expected calibration error, and the bins that it is made of: count,
    mean confidence, accuracy.

    probabilities [N, C], labels [N]. The confidence is the highest probability of a
    text; the bins are equally wide, from 1 / C to 1. The error is the mean over texts
    of the distance between accuracy and confidence of their bin.
    """
    confidence, best = probabilities.max(dim=1)
    right = (best == labels).double()
    lowest = 1 / probabilities.shape[1]
    place = ((confidence - lowest) / (1 - lowest) * BINS).long().clamp(0, BINS - 1)
    bins = [
        {
            "count": int(inside.sum()),
            "confidence": round(float(confidence[inside].mean()), 4),
            "accuracy": round(float(right[inside].mean()), 4),
        }
        for i in range(BINS)
        if (inside := place == i).any()
    ]
    error = sum(b["count"] * abs(b["accuracy"] - b["confidence"]) for b in bins) / len(
        labels
    )
    return round(error, 4), bins


class SentimentTask(Task):
    """The `loop.Task` of classification. The best weights are those with the highest
    mean of the accuracies."""

    score = "accuracy"

    def __init__(
        self,
        model: TransformerClassifier,
        tokenizer: Tokenizer,
        data: ReviewBatches,
        validation: Mapping[str, Sequence[Example]],
        auxiliary: float = 0.0,
        blank: float = 0.0,
        learned_from: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a model, its batches, and validation sets by name.

        auxiliary: weight of the language model's loss. blank: share of pieces that
        training does not show.
        learned_from: a description of the data, kept with the weights. Raises
        ValueError for wrong weights.
        """
        if auxiliary and not model.config.causal:
            raise ValueError(
                f"the auxiliary weight is {auxiliary}, but where pieces see those after them there is "
                f"nothing to predict; choose --mask causal, or --auxiliary 0"
            )
        self.model = model
        self.tokenizer = tokenizer
        self.data = data
        self.validation = validation
        self.auxiliary = auxiliary
        self.blank = blank
        self.learned_from = dict(learned_from or {})
        self.calibration: dict[str, Any] = {}  # of the last evaluation

    def weight(self, batch: Sequence[Example]) -> int:
        return len(batch)

    def loss(
        self, model: nn.Module, batch: Sequence[Example], device: torch.device
    ) -> Tensor:
        """Sum the cross-entropy of the labels over the texts.

        To each text `auxiliary` times the mean cross-entropy of a piece of the batch is
        added (Radford et al. 2018, equation 5).
        """
        tokens = pad([pieces.tolist() for _, pieces in batch], device)
        labels = torch.tensor([label for label, _ in batch], device=device)
        shown = tokens
        if self.blank:  # word dropout (Iyyer et al. 2015)
            shown = tokens.masked_fill(
                (torch.rand(tokens.shape, device=device) < self.blank) & (tokens > EOS),
                UNK,
            )
        reading = model(shown)
        loss = F.cross_entropy(reading.logits.float(), labels, reduction="sum")
        if self.auxiliary:
            real = tokens[:, 1:] != PAD
            logits = self.model.logits(reading.states[:, :-1][real])
            wanted = tokens[:, 1:][real]
            loss = loss + self.auxiliary * len(batch) / len(
                wanted
            ) * SmoothedCrossEntropy.apply(logits, wanted, 0.0)
        return loss

    def evaluate(self, precision: str = "float32") -> dict[str, float]:
        """Fit the temperature on all validation sets; return the accuracy (0 to 1) on
        each, and their mean."""
        everything = []
        labels = []
        scores = {}
        for name, examples in self.validation.items():
            # as it is trained
            with autocast(self.model.device, precision):
                logits, _ = read(
                    self.model, [pieces.tolist() for _, pieces in examples]
                )
            wanted = torch.tensor([label for label, _ in examples])
            scores[name] = round(float((logits.argmax(1) == wanted).double().mean()), 4)
            everything.append(logits)
            labels.append(wanted)
        logits = torch.cat(everything)
        wanted = torch.cat(labels)
        self.model.config = replace(
            self.model.config, temperature=round(fit_temperature(logits, wanted), 4)
        )
        error, bins = reliability(self.model.probabilities(logits), wanted)
        before, _ = reliability(logits.softmax(dim=1), wanted)
        self.calibration = {
            "temperature": self.model.config.temperature,
            "error": error,
            "error_before": before,
            "bins": bins,
        }
        return {
            "accuracy": round(sum(scores.values()) / len(scores), 4),
            **scores,
            "calibration_error": error,
        }

    def save(self, folder: Path, metrics: dict[str, Any]) -> None:
        super().save(
            folder,
            {
                **metrics,
                "calibration": self.calibration,
                "learned_from": self.learned_from,
            },
        )
