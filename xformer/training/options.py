"""Records of options: of the training loop and of each kind of training run.

An option is declared once, by `option`: its default, and the text and the limits that
the command line gives it, which `commands.arguments.add_options` makes flags of. The
records load no torch, so that --help is quick.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

SCHEDULES = ("noam", "cosine")
PRECISIONS = ("float32", "bfloat16")
# section 5.3 of Vaswani et al.
NOAM_PEAK = 1.0
NOAM_WARMUP = 4_000
LARGEST_SEED = 2**63 - 1
MOST_MOMENTS = 20
MOST_POSITIONS = 1 << 16  # pieces; a checkpoint of more is not loaded

T = TypeVar("T")
# what may be declared of a number
BOUNDS = {
    "least": ("at least", operator.ge),
    "above": ("above", operator.gt),
    "most": ("at most", operator.le),
    "below": ("below", operator.lt),
}


def option(
    default: T, help: str | None = None, group: str | None = None, **more: Any
) -> T:
    """Declare a field of a record that is an option of the command line too.

    help: its text there. group: the heading that it stands under. more: `least`,
    `most`, `above` and `below`, the limits of a number; what `add_argument` takes, as
    `choices` and `metavar`; `flag`, where it is not the field's name.
    """
    return field(default=default, metadata={"help": help, "group": group, **more})


def required(help: str, **more: Any) -> Any:
    """Declare an option that has no default, as `option` does the others."""
    return field(metadata={"help": help, "group": None, "required": True, **more})


MODEL = "model"
LENGTH = "length of training; the learning rate falls until its end"
PACE = "optimisation"
REST = "the rest"
BATCHES = "batches"


def outside(value: float, said: Mapping[str, Any]) -> str:
    """The limits that are declared of a number, in words, where it is outside of them
    or not finite; else ""."""
    bounds = [(said[name], *bound) for name, bound in BOUNDS.items() if name in said]
    kept = math.isfinite(value) and all(
        keeps(value, limit) for limit, _, keeps in bounds
    )
    return (
        "" if kept else " and ".join(f"{word} {limit:,}" for limit, word, _ in bounds)
    )


def check(record: Any) -> None:
    """Raise ValueError where a field of a record is outside its limits, or none of its
    choices."""
    for one in fields(record):
        value = getattr(record, one.name)
        choices = one.metadata.get("choices")
        if choices and value is not None and value not in choices:
            raise ValueError(
                f"{one.name} is {value!r}; choose one of {', '.join(choices)}"
            )
        if isinstance(value, (int, float)) and (limits := outside(value, one.metadata)):
            raise ValueError(f"{one.name} is {value}; it must be {limits}")


@dataclass(frozen=True)
class Pace:
    """How long and how fast a model is trained. None: what is usual for its norm and
    the kind of training."""

    minutes: float = option(
        0.0, "minutes of training time; 0: no limit", LENGTH, least=0
    )
    steps: int = option(0, "steps of training; 0: no limit", LENGTH, least=0)
    schedule: str | None = option(
        None,
        "of the learning rate; if not given, noam for post-norm, else cosine",
        PACE,
        choices=SCHEDULES,
    )
    peak: float | None = option(
        None,
        "highest learning rate (cosine), or factor on the paper's formula (noam: 1)",
        PACE,
        least=0,
    )
    warmup: int | None = option(
        None, "steps in which the learning rate rises (noam: 4000)", PACE, least=0
    )
    weight_decay: float = option(0.01, group=PACE, least=0)
    average: float = option(
        0.999, "decay of the moving average of the weights", PACE, least=0, below=1
    )
    seed: int = option(0, group=PACE, least=0, most=LARGEST_SEED)
    evaluate_minutes: float = option(5.0, group=REST, least=0)
    save_minutes: float = option(3.0, group=REST, least=0)
    precision: str = option(
        "auto",
        "auto: bfloat16 on CUDA; on a CPU the quicker one, by trial steps at the start of the run",
        REST,
        choices=("auto", *PRECISIONS),
    )
    accumulate: int = option(
        1,
        "learn each batch in N parts, one after the other: this takes less memory and gives the same gradient",
        REST,
        least=1,
        most=4096,
        metavar="N",
    )
    compile: bool = option(
        False,
        "use torch.compile if it makes trial steps at the start of the run quicker; needs a C++ compiler, on "
        "CUDA Triton",
        REST,
    )


@dataclass(frozen=True)
class TrainingOptions(Pace):
    """What the loop trains by. It ends after `steps`, `minutes` of training or examples
    of `weight`, whichever comes first."""

    schedule: str = option("cosine", choices=SCHEDULES)
    # learning rate at its highest; with "noam" a factor on the paper's formula
    peak: float = option(1.5e-3, least=0)
    warmup: int = option(200, least=0)  # steps
    # of the examples learned from (of translation: target pieces); 0: no limit
    weight: int = 0
    clip: float = 1.0  # largest norm of the gradient

    def __post_init__(self) -> None:
        if self.steps <= 0 and self.minutes <= 0 and self.weight <= 0:
            raise ValueError(
                "the length of training is 0; give a number of steps or of minutes"
            )
        check(self)


@dataclass(frozen=True)
class Beginning:
    """Where a run reads and writes, and what it begins with. Of a model to begin with,
    and of an interrupted run, the shape stays as it is."""

    data: Path = required("folder of the training data")
    out: Path = required(
        "folder of the checkpoint; a run that was interrupted there continues"
    )
    start: str | None = option(
        None, "begin with the weights of this checkpoint", flag="--from", metavar="NAME"
    )
    # where layers are normalised
    norm: str = option("pre", group=MODEL, choices=("pre", "post"))
    d_model: int = option(256, group=MODEL, least=1)
    n_heads: int = option(8, group=MODEL, least=1)
    n_layers: int = option(6, group=MODEL, least=1)
    d_ff: int = option(1024, group=MODEL, least=1)
    vocab_size: int = option(8000, group=MODEL, least=1)
    dropout: float = option(0.1, group=MODEL, least=0, below=1)


@dataclass(frozen=True)
class Run(Pace, Beginning):
    """Options that every training run has. They are checked when the run starts."""

    dry_run: bool = option(
        False,
        "make a few trial steps and say how many steps, pieces, minutes and megabytes the run would take; "
        "write nothing",
        REST,
    )
    device: str | None = option(
        None, "cuda, mps or cpu; the best there is if not given", REST
    )
    threads: int | None = option(None, "threads of the CPU", REST, least=1, most=1024)

    @property
    def usual_peak(self) -> float:
        """The highest learning rate of the cosine schedule, where none is asked for."""
        return TrainingOptions.peak

    def training_options(self) -> TrainingOptions:
        """Fill in what was left open; raises ValueError for wrong options."""
        check(self)
        schedule = self.schedule or ("noam" if self.norm == "post" else "cosine")
        peak, warmup = (
            (NOAM_PEAK, NOAM_WARMUP)
            if schedule == "noam"
            else (self.usual_peak, TrainingOptions.warmup)
        )
        usual = {"schedule": schedule, "peak": peak, "warmup": warmup}
        asked = {
            one.name: value
            for one in fields(Pace)
            if (value := getattr(self, one.name)) is not None
        }
        return TrainingOptions(
            **{**usual, **asked, "weight": getattr(self, "target_pieces", 0)}
        )


ARCHITECTURES = ("transformer", "gru", "gru-attention")


@dataclass(frozen=True)
class BatchOptions:
    """What an epoch of sentence pairs is made of, and how it is packed into batches."""

    # padding included
    batch_tokens: int = option(
        4000, "source and target pieces in a batch", BATCHES, least=1
    )
    max_pieces: int = option(
        128, "most pieces of a sentence; longer ones are left out", BATCHES, least=1
    )
    extra_weight: float = option(
        1.0,
        "share of extra.tsv and extra2.tsv used in each epoch",
        BATCHES,
        least=0,
        most=1,
    )
    written_weight: float = option(
        3.0,
        "how often each epoch uses a pair of written.tsv",
        BATCHES,
        least=0,
        most=1000,
        metavar="N",
    )
    phrase_weight: float = option(
        10.0,
        "the same for its phrases, of at most 5 English words",
        BATCHES,
        least=0,
        most=1000,
        metavar="N",
    )
    entry_weight: float = option(
        1.0,
        "the same for its entries of a dictionary",
        BATCHES,
        least=0,
        most=1000,
        metavar="N",
    )
    copied: float = option(
        0.0,
        "pairs of copied.tsv in each epoch, as a share of all others; “python -m research data copied” makes it, of "
        "names, numbers, addresses and codes to copy",
        BATCHES,
        least=0,
        most=1,
        metavar="SHARE",
    )
    names: float = option(
        0.5,
        "share of pairs in which names of people and places are exchanged, the same way on both sides",
        BATCHES,
        least=0,
        most=1,
        metavar="SHARE",
    )
    sampled: float = option(
        0.3,
        "share of sentences that are split into pieces at random",
        BATCHES,
        least=0,
        most=1,
    )
    reverse: bool = option(
        False,
        "learn to translate from the second column, Spanish, into the first",
        BATCHES,
    )
    workers: int = option(
        0,
        "processes that make batches, where a thread is too slow for a GPU; 0: a thread",
        BATCHES,
        least=0,
        most=256,
        metavar="N",
    )


@dataclass(frozen=True)
class TranslationRun(BatchOptions, Run):
    """Options of training a translation model."""

    data: Path = required(
        "folder with train.tsv[.xz], dev.tsv and, if wanted, nearest.tsv[.xz], extra.tsv[.xz], "
        "extra2.tsv[.xz], written.tsv[.xz] and copied.tsv[.xz]"
    )
    architecture: str = option(
        "transformer",
        "gru: without attention; gru-attention: with additive attention; both have as many layers in "
        "the encoder as in the decoder, and neither heads nor feed-forward networks",
        MODEL,
        choices=ARCHITECTURES,
    )
    n_decoder_layers: int = option(
        0, "layers of the decoder; 0: as many as the encoder has", MODEL, least=0
    )
    vocabulary: str | None = option(
        None,
        "use the vocabulary of this checkpoint; if not given, one is learned from the pairs",
        MODEL,
        metavar="NAME",
    )
    target_pieces: int = option(  # </s> included
        0,
        "end after N target pieces, counted over all epochs; 0: no limit",
        LENGTH,
        least=0,
        metavar="N",
    )
    moments: int = option(
        0,
        "keep the translations and attention maps of a few sentences at N moments of the run; each moment is "
        "twice as far into the run as the one before; 0: none",
        least=0,
        most=MOST_MOMENTS,
        metavar="N",
    )
    film: bool = option(
        False,
        "keep the weights at these moments too, of which `checkpoint film` makes what the page plays",
    )
    smoothing: float = option(0.1, "label smoothing", least=0, below=1)  # section 5.4
    risk: float = option(
        0.0,
        "minimum risk training: weight of the expected cost of the hypotheses in ranked.tsv, which “python -m "
        "research data nearest --ranked” makes, beside the loss of a piece; 20 did well",
        least=0,
        metavar="WEIGHT",
    )
    capitals: float = option(
        0.03,
        "share of short pairs that are written in capitals on both sides",
        BATCHES,
        least=0,
        most=1,
        metavar="SHARE",
    )
    roughening: bool = option(
        True,
        "do not roughen sentences: no lower-casing, no slips of the finger, no joined pairs",
        BATCHES,
        flag="--no-roughening",
    )
    dev_limit: int = option(
        1000, "sentences of dev to score during training", BATCHES, least=1
    )


@dataclass(frozen=True)
class ReviewsRun(Run):
    """Options that the runs on reviews share."""

    start: str | None = option(
        None,
        "begin with the weights and vocabulary of this language model",
        flag="--from",
        metavar="NAME",
    )
    n_layers: int = option(4, group=MODEL, least=1)


@dataclass(frozen=True)
class LanguageModelRun(ReviewsRun):
    """Options of pre-training a language model on reviews."""

    data: Path = required(
        "folder with imdb-unlabelled.txt[.xz], imdb-validation.tsv[.xz] and, if wanted, "
        "imdb-train.tsv[.xz] and sst2-train-phrases.tsv[.xz]"
    )
    dropout: float = option(0.0, group=MODEL, least=0, below=1)
    max_length: int = option(
        512, "pieces in a window of text", MODEL, least=1, most=MOST_POSITIONS
    )
    batch_pieces: int = option(8192, "pieces in a batch of windows", BATCHES, least=1)
    dev_pieces: int = option(
        100_000, "held-out pieces to score during training", BATCHES, least=1
    )


@dataclass(frozen=True)
class SentimentRun(ReviewsRun):
    """Options of training a classifier of reviews."""

    data: Path = required(
        "folder with imdb-train, imdb-validation, sst2-train-phrases and sst2-validation, each .tsv "
        "or .tsv.xz"
    )
    max_length: int = option(
        512,
        "most pieces of a text; of a longer one, a quarter of them are its first pieces and the rest its last",
        MODEL,
        least=3,
        most=MOST_POSITIONS,
    )
    mask: str | None = option(
        None,
        "causal: a piece sees only the pieces before it; full: all; if not given, causal with --from, else full",
        MODEL,
        choices=("causal", "full"),
    )
    pooling: str = option(
        "attention",
        "how the vectors of all pieces become one: by learned weights, as their mean, or as the largest "
        "number of each dimension",
        MODEL,
        choices=("attention", "mean", "max"),
    )
    auxiliary: float = option(
        0.0,
        "weight of the language model's loss beside the loss of the labels; 0.5 in the paper",
        least=0,
        metavar="WEIGHT",
    )
    label_share: float = option(
        1.0,
        "share of the labelled texts to learn from, equally many of each label; drawn with the seed",
        flag="--labels",
        above=0,
        most=1,
        metavar="SHARE",
    )
    blank: float = option(
        0.0,
        "share of pieces that are hidden in training",
        least=0,
        below=1,
        metavar="SHARE",
    )
    batch_pieces: int = option(6000, "most pieces in a batch", BATCHES, least=1)
    batch_rows: int = option(128, "most texts in a batch", BATCHES, least=1)
    reviews: float = option(
        1.0, "how much of imdb-train each epoch uses", BATCHES, least=0, most=1000
    )
    phrases: float = option(
        1.0,
        "how much of sst2-train-phrases each epoch uses",
        BATCHES,
        least=0,
        most=1000,
    )
    dev_limit: int = option(
        0, "texts of each validation set to score; 0: all", BATCHES, least=0
    )

    @property
    def usual_peak(self) -> float:
        return 4e-4 if self.start else 1e-3

    @property
    def causal(self) -> bool:
        return self.mask == "causal" if self.mask else bool(self.start)
