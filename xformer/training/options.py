"""Records of options: of the training loop, of each kind of training run, and of downloads of training data.

They load no torch, so that the command line can take its defaults from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SCHEDULES = ("noam", "cosine")
PRECISIONS = ("float32", "bfloat16")
NOAM_PEAK, NOAM_WARMUP = 1.0, 4_000  # section 5.3 of Vaswani et al.


@dataclass(frozen=True)
class TrainingOptions:
    """How long and how fast the loop trains. It ends after `steps`, `minutes` of training or examples of `weight`,
    whichever comes first."""

    steps: int = 0  # 0: no limit
    minutes: float = 0.0  # 0: no limit
    weight: int = 0  # of the examples learned from (of translation: target pieces); 0: no limit
    schedule: str = "cosine"
    peak: float = 1.5e-3  # learning rate at its highest; with "noam" a factor on the paper's formula
    warmup: int = 200  # steps
    weight_decay: float = 0.01
    clip: float = 1.0  # largest norm of the gradient
    average: float = 0.999  # decay of the exponential moving average of the weights
    evaluate_minutes: float = 5.0
    save_minutes: float = 3.0
    precision: str = "auto"  # one of PRECISIONS; auto: the quicker one on this machine
    seed: int = 0
    accumulate: int = 1  # parts that each process learns its share of a batch in, one after the other
    compile: bool = False  # train the model compiled by torch.compile, where trial steps are quicker so

    def __post_init__(self) -> None:
        for name in ("minutes", "peak", "weight_decay", "evaluate_minutes", "save_minutes"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} is {getattr(self, name)}; it must be a finite number")
        if self.steps <= 0 and self.minutes <= 0 and self.weight <= 0:
            raise ValueError("the length of training is 0; give a number of steps or of minutes")
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule is {self.schedule!r}; choose one of {', '.join(SCHEDULES)}")
        if self.precision not in ("auto", *PRECISIONS):
            raise ValueError(f"precision is {self.precision!r}; choose one of auto, {', '.join(PRECISIONS)}")
        if not 0 <= self.average < 1:
            raise ValueError(f"average is {self.average}; it must be at least 0 and below 1")


@dataclass(frozen=True)
class Run:
    """Options that every training run has. They are checked when the run starts."""

    data: Path  # folder of the training data
    out: Path  # folder of the checkpoint; an interrupted run in it is gone on with
    start: str | None = None  # checkpoint whose weights and vocabulary to begin with: folder or owner/name[@revision]

    # The model; of one to begin with, and of an interrupted run, the shape stays as it is
    norm: str = "pre"  # where layers are normalised: pre or post
    d_model: int = 256
    n_heads: int = 8
    n_layers: int = 6
    d_ff: int = 1024
    vocab_size: int = 8000
    dropout: float = 0.1

    # Length and pace, as in TrainingOptions; None: what is usual for the norm and the kind of training
    minutes: float = TrainingOptions.minutes
    steps: int = TrainingOptions.steps
    schedule: str | None = None
    peak: float | None = None
    warmup: int | None = None
    weight_decay: float = TrainingOptions.weight_decay
    average: float = TrainingOptions.average
    seed: int = TrainingOptions.seed
    evaluate_minutes: float = TrainingOptions.evaluate_minutes
    save_minutes: float = TrainingOptions.save_minutes
    precision: str = TrainingOptions.precision
    accumulate: int = TrainingOptions.accumulate
    compile: bool = TrainingOptions.compile
    dry_run: bool = False  # make trial steps and say what the run would take; write nothing

    device: str | None = None  # cuda, mps or cpu; None: the best there is
    threads: int | None = None  # of the CPU; None: as PyTorch chooses

    @property
    def usual_peak(self) -> float:
        """The highest learning rate of the cosine schedule, where none is asked for."""
        return TrainingOptions.peak

    @property
    def most_weight(self) -> int:
        """The weight of examples after which a run ends; 0: no limit."""
        return 0

    def training_options(self) -> TrainingOptions:
        """Fill in what was left open; raises ValueError for wrong options."""
        schedule = self.schedule or ("noam" if self.norm == "post" else "cosine")
        peak, warmup = ((NOAM_PEAK, NOAM_WARMUP) if schedule == "noam" else (self.usual_peak, TrainingOptions.warmup))
        return TrainingOptions(
            steps=self.steps, minutes=self.minutes, weight=self.most_weight, schedule=schedule,
            peak=peak if self.peak is None else self.peak, warmup=warmup if self.warmup is None else self.warmup,
            weight_decay=self.weight_decay, average=self.average, evaluate_minutes=self.evaluate_minutes,
            save_minutes=self.save_minutes, precision=self.precision, seed=self.seed, accumulate=self.accumulate,
            compile=self.compile)


ARCHITECTURES = ("transformer", "gru", "gru-attention")


@dataclass(frozen=True)
class TranslationRun(Run):
    """Options of training a translation model."""

    architecture: str = "transformer"  # of ARCHITECTURES
    n_decoder_layers: int = 0  # 0: as many as the encoder
    vocabulary: str | None = None  # checkpoint (folder or owner/name[@revision]) whose to use; None: one is learned
    target_pieces: int = 0  # learned from, </s> included, after which the run ends; 0: no limit
    moments: int = 0  # of the run that are kept, with translations and maps; 0: none
    smoothing: float = 0.1  # of the labels, section 5.4
    batch_tokens: int = 4000  # source and target pieces of a batch, padding included
    max_pieces: int = 128  # longer sentences are left out
    extra_weight: float = 1.0  # share (0 to 1) of extra.tsv and extra2.tsv drawn for each epoch
    written_weight: float = 3.0  # how often each epoch has a pair of written.tsv
    phrase_weight: float = 10.0  # the same for its phrases of at most 5 English words
    entry_weight: float = 1.0  # the same for its entries of a dictionary
    copied: float = 0.0  # share of pairs made up of names, numbers, addresses and codes, on top of all others
    names: float = 0.5  # share of pairs whose names of people and places are exchanged for others
    sampled: float = 0.3  # share of sentences whose split into pieces is drawn
    roughening: bool = True  # lower-case, misspell and join English sentences, as people type
    dev_limit: int = 1000  # sentences of dev that are scored on the way

    @property
    def most_weight(self) -> int:
        return self.target_pieces


@dataclass(frozen=True)
class LanguageModelRun(Run):
    """Options of pre-training a language model on reviews."""

    n_layers: int = 4
    dropout: float = 0.0
    max_length: int = 512  # pieces in a window of text
    batch_pieces: int = 8192  # of a batch of windows
    dev_pieces: int = 100_000  # held-out pieces that are scored on the way


@dataclass(frozen=True)
class SentimentRun(Run):
    """Options of training a classifier of reviews."""

    n_layers: int = 4
    max_length: int = 512  # pieces of a text; of a longer one the first quarter and the last three quarters are read
    mask: str | None = None  # causal (pieces see those before them only) or full; None: causal with a start, else full
    pooling: str = "attention"  # or mean, max
    auxiliary: float = 0.0  # weight of the language model's loss beside that of the labels
    label_share: float = 1.0  # share of the labelled texts to learn from, as many of each label
    blank: float = 0.0  # share of pieces that training does not show
    batch_pieces: int = 6000  # most pieces in a batch
    batch_rows: int = 128  # most texts in a batch
    reviews: float = 1.0  # how much of imdb-train each epoch uses
    phrases: float = 1.0  # how much of sst2-train-phrases each epoch uses
    dev_limit: int = 0  # texts of each validation set that are scored; 0: all

    @property
    def usual_peak(self) -> float:
        return 4e-4 if self.start else 1e-3

    @property
    def causal(self) -> bool:
        return self.mask == "causal" if self.mask else bool(self.start)


@dataclass(frozen=True)
class TranslationDownload:
    """Options of downloading sentence pairs."""

    out: Path  # folder to write to; earlier results are replaced
    url: str = "https://www.manythings.org/anki/spa-eng.zip"  # zip archive with a spa.txt
    seed: int = 0  # of the choice of sentences to hold out
    dev: int = 0  # English sentences to hold out; 0: 2,000, or 2 % of a small archive
    exclude: Sequence[str] = ()  # files of pairs to test with later: what shares a sentence with them is left out


@dataclass(frozen=True)
class NearestRun:
    """How the translations that a model finds itself, nearest to the references, are made."""

    data: Path  # folder with train.tsv or train.tsv.xz
    checkpoint: str  # of a translation model: folder or owner/name[@revision]
    beam: int = 10  # hypotheses of each sentence
    least: float = 35.0  # nearness, 0 to 100, below which a sentence is left out
    exclude: Sequence[str] = ()  # files of test pairs; what shares a sentence with them, or with dev, is left out
    device: str | None = None  # cuda, mps or cpu; None: the best there is
    precision: str = "auto"  # one of results.ANSWERS_IN


@dataclass(frozen=True)
class SentimentDownload:
    """Options of downloading reviews and phrases."""

    out: Path  # folder to write to; earlier results are replaced
    imdb: str = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"  # tar archive of reviews
    sst: str = "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip"  # zip archive of trees
    seed: int = 0  # of the choice of films to hold out
