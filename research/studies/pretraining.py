"""What pre-training is worth: classifiers of reviews that differ in what they begin
with, and in nothing else: nothing, a language model of reviews without labels (Radford
et al. 2018), or an autoencoder of them (Erhan et al. 2010). Beside these, which learn
P(Y | X), two language models, one of each label, classify by Bayes' rule: P(X, Y).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from research.options import PretrainingRuns
from research.studies.runs import check_options
from xformer.classifier import (
    ClassifierConfig,
    LanguageModel,
    LanguageModelConfig,
    Pooling,
    TransformerClassifier,
)
from xformer.explain import recorded
from xformer.model import Encoder, EncoderStack, future_mask
from xformer.pieces import PAD
from xformer.results import LABELS, write_whole
from xformer.results.reviews import BEGINNINGS, GENERATIVE, PretrainingRun
from xformer.serve.reviews import read
from xformer.tokenizer import Tokenizer
from xformer.training.data.reviews import (
    Example,
    Labelled,
    ReviewBatches,
    encode_rows,
    learn_vocabulary,
)
from xformer.training.data.reviews import share as drawn
from xformer.training.loop import Learner, Task, keep_memory
from xformer.training.options import TrainingOptions
from xformer.training.tasks import (
    LanguageModelTask,
    SentimentTask,
    SmoothedCrossEntropy,
)
from xformer.translator import pad

CPU = torch.device("cpu")
GRID = tuple(
    (part, seed, kind)
    for part, seed in (  # the most telling first
        (0.01, 0),
        (1.0, 0),
        (0.1, 0),
        (0.01, 1),
        (0.01, 2),
        (0.1, 1),
        (0.1, 2),
        (1.0, 1),
        (1.0, 2),
    )
    for kind in (*BEGINNINGS, *GENERATIVE)
)


class Autoencoder(EncoderStack):
    """Reads a text, as a classifier does, into the mean of its pieces' vectors, and
    writes each piece from that and its position alone, by a further layer."""

    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__(config)
        self.pooling = Pooling(config)
        self.writer = Encoder(replace(config, n_layers=1))
        self.initialise()

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens [B, S] beginning with BOS -> logits [B, S, V] of the piece that
        follows each, in the text read"""
        states = self.encoder(self.embedding(tokens), future_mask(tokens.shape[1]))
        text, _ = self.pooling(states, tokens != PAD)
        return self.logits(
            self.writer(
                text[:, None] + self.embedding.positions[: tokens.shape[1]], None
            )
        )


class GenerationTask(LanguageModelTask):
    """The `loop.Task` of a language model or an autoencoder of whole reviews, whose
    labels it does not look at."""

    def weight(self, batch: Any) -> int:
        return sum(len(pieces) - 1 for _, pieces in batch)

    def loss(self, model: nn.Module, batch: Any, device: torch.device) -> Tensor:
        tokens = pad([pieces.tolist() for _, pieces in batch], device)
        return SmoothedCrossEntropy.apply(
            model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten(), 0.0
        )


@torch.inference_mode()
def log_likelihoods(model: LanguageModel, examples: Sequence[Example]) -> Tensor:
    """The log-probability [N] of each text, in nats: the sum over its pieces, </s>
    included."""
    found = []
    for first in range(0, len(examples), 32):
        tokens = pad(
            [pieces.tolist() for _, pieces in examples[first : first + 32]], CPU
        )
        logits = model(tokens[:, :-1]).flatten(0, 1)
        wanted = tokens[:, 1:]
        costs = F.cross_entropy(
            logits, wanted.flatten(), ignore_index=PAD, reduction="none"
        )
        found.append(-costs.view(wanted.shape).sum(1))
    return torch.cat(found)


def bayes(likelihoods: Tensor, counts: Tensor) -> Tensor:
    """P(Y | X) [N, C] by Bayes' rule, of log P(X | Y) [N, C] and of how often each
    label comes [C]."""
    return (likelihoods.double() + counts.double().log()).softmax(1)


class Study:
    """What all runs have in common; what is learned without labels is kept in a
    folder."""

    def __init__(
        self,
        options: PretrainingRuns,
        texts: Sequence[str],
        train: Sequence[Labelled],
        held_out: Sequence[Labelled],
        folder: Path,
    ) -> None:
        self.options = options
        known = folder / "tokenizer.model"
        if not known.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(
                known, learn_vocabulary(texts[:4_000], options.vocabulary, 0).model
            )
        self.tokenizer = Tokenizer.load(known)
        self.train, self.held_out = (
            encode_rows(self.tokenizer, rows, options.length)
            for rows in (
                drawn(train, min(1.0, options.reviews / len(train)), 0),
                held_out,
            )
        )
        self.learned = dict[str, dict[str, Any]]()
        unlabelled = list[Example]()
        for kind in ("language", "autoencoder"):
            if not (path := folder / f"{kind}.pt").is_file():
                unlabelled = unlabelled or encode_rows(
                    self.tokenizer, [(0, text) for text in texts], options.length
                )
                began = time.process_time()
                model, loss = self.fit(kind, unlabelled, options.pretraining, 0)
                seconds = round(time.process_time() - began, 1)
                torch.save(
                    {"weights": model.state_dict(), "loss": loss, "seconds": seconds},
                    path.with_suffix(".new"),
                )
                path.with_suffix(".new").replace(path)
            self.learned[kind] = torch.load(path, weights_only=True)

    def fit(
        self,
        kind: str,
        examples: Sequence[Example],
        steps: int,
        seed: int,
        begun: str = "",
    ) -> tuple[Any, float]:
        """Train a "classifier", a "language" model or an "autoencoder" whose weights
        are drawn by the seed, but for those that `begun` has learned; -> it, its
        weights averaged, and its last loss, in nats a text or a piece."""
        how = self.options
        rows = self.options.rows
        shape: dict[str, Any] = {
            "vocab_size": len(self.tokenizer),
            "d_model": how.d_model,
            "n_heads": 4,
            "n_layers": how.layers,
            "d_ff": 4 * how.d_model,
            "dropout": 0.1,
            "max_length": how.length,
        }
        reader = ClassifierConfig(**shape, pooling="mean", causal=True)
        torch.manual_seed(seed)
        model: Any = (
            LanguageModel(LanguageModelConfig(**shape))
            if kind == "language"
            else Autoencoder(reader)
            if kind == "autoencoder"
            else TransformerClassifier(reader)
        )
        if begun:
            model.load_state_dict(
                {
                    name: weight
                    for name, weight in self.learned[begun]["weights"].items()
                    if name.startswith(("embedding.", "encoder."))
                },
                strict=False,
            )
        batches = ReviewBatches(
            [(examples, 1.0)],
            batch_pieces=rows * how.length,
            batch_rows=rows,
            seed=seed,
        )
        task: Task = (
            SentimentTask(model, self.tokenizer, batches, {})
            if kind == "classifier"
            else GenerationTask(model, self.tokenizer, cast(Any, batches), ())
        )
        learner = Learner(
            task,
            TrainingOptions(
                steps=steps, peak=how.peak, warmup=50, precision=how.precision
            ),
            CPU,
        )
        torch.manual_seed(seed)
        last = [made.loss for made in learner.steps()][-max(1, steps // 10) :]
        learner.average.swap()
        return model.eval(), round(sum(last) / len(last), 4)

    def run(self, kind: str, share: float, seed: int) -> PretrainingRun:
        """Learn from a share of the labels, and judge the held-out reviews."""
        began = time.process_time()
        examples = drawn(self.train, share, seed)
        steps = self.options.steps
        if kind in BEGINNINGS:
            model, loss = self.fit(
                "classifier", examples, steps, seed, "" if kind == "nothing" else kind
            )
            judged, _ = read(model, [pieces.tolist() for _, pieces in self.held_out])
        else:
            of_labels = [
                [one for one in examples if one[0] == label]
                for label in range(len(LABELS))
            ]
            models, losses = zip(
                *(
                    self.fit(
                        "language",
                        own,
                        steps // 2,
                        seed,
                        "language" if kind != "two" else "",
                    )
                    for own in of_labels
                ),
                strict=True,
            )
            loss = sum(losses) / len(losses)
            judged = bayes(
                torch.stack(
                    [log_likelihoods(model, self.held_out) for model in models], 1
                ),
                torch.tensor([*map(len, of_labels)]),
            )
        right = judged.argmax(1) == torch.tensor([label for label, _ in self.held_out])
        return PretrainingRun(
            kind,
            share,
            seed,
            len(examples),
            round(float(right.double().mean()), 4),
            round(loss, 4),
            round(time.process_time() - began, 1),
        )


def record(
    options: PretrainingRuns,
    texts: Sequence[str],
    train: Sequence[Labelled],
    held_out: Sequence[Labelled],
    out: Path,
) -> Iterator[PretrainingRun]:
    """Make every run of GRID that the file `out` does not hold already, and write it
    there as it comes; yield it. Raises UserError where the file holds something else.
    """
    asked = {**vars(options), "held_out": len(held_out)}
    kept = recorded.read_pretraining(out) if out.is_file() else None
    if kept:
        check_options(out, kept.about, asked)
    keep_memory()
    texts = texts[: options.pretraining * options.rows]
    study = Study(options, texts, train, held_out, out.with_suffix(""))
    done = list(kept.runs if kept else ())
    about = {
        **asked,
        "all_labels": len(study.train),
        "unlabelled": len(texts),
        "pretrained": {
            kind: {name: found[name] for name in ("loss", "seconds")}
            for kind, found in study.learned.items()
        },
    }
    for share, seed, kind in GRID:
        if not any(
            (one.share, one.seed, one.kind) == (share, seed, kind) for one in done
        ):
            done.append(study.run(kind, share, seed))
            write_whole(out, recorded.to_json(about, done).encode())
            yield done[-1]
