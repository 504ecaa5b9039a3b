"""Records of options of a study, and of training data to make; declared as
`xformer.training.options` says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xformer.explain.recorded import QUESTIONS
from xformer.results import GENERATIONS
from xformer.training.options import LARGEST_SEED, PRECISIONS, option, required

# of the models of studies
MOST_LAYERS = 48
MOST_WIDTH = 1024


@dataclass(frozen=True)
class CopiedPairs:
    """Options of `research.data.copied`."""

    out: Path = required("folder, made if it is not there")
    pairs: int = option(200_000, "how many to draw", least=1)
    seed: int = option(0, least=0, most=LARGEST_SEED)


@dataclass(frozen=True)
class RegisterPairs:
    """Options of `research.data.registers`."""

    data: Path = required("folder with extra.tsv and extra2.tsv")
    out: Path = required("folder, made if it is not there")
    seed: int = option(5, least=0, most=LARGEST_SEED)


@dataclass(frozen=True)
class StudyRuns:
    """Options of the runs of `research.studies.runs`."""

    seed: int = option(
        0,
        "of the runs; those of the same file may have others",
        least=0,
        most=LARGEST_SEED,
    )
    seeds: int = option(
        1, "how many, one after the other, from --seed on", least=1, most=99
    )
    only: str | None = option(
        None, "make the runs of one question alone", choices=tuple(QUESTIONS)
    )
    steps: int = option(1_200, "steps of each run", least=1)
    layers: int = option(3, flag="--n-layers", least=1, most=MOST_LAYERS)
    d_model: int = option(
        96, "a multiple of 4; d_ff is four times as wide", least=8, most=MOST_WIDTH
    )
    vocabulary: int = option(2_000, "pieces of the vocabulary", least=300)
    words: int = option(5, "most words of an English sentence", least=1)
    pairs: int = option(60_000, "most pairs to learn from", least=1)
    dev: int = option(200, "most pairs to score", least=1)
    scored: int = option(6, "times in a run that the model is scored", least=1)
    batch_tokens: int = option(1_200, "source and target pieces in a batch", least=1)
    precision: str = option(
        "float32", "of training; scores are computed in float32", choices=PRECISIONS
    )
    device: str | None = option(None, "cuda, mps or cpu; cpu if not given")

    def __post_init__(self) -> None:
        most = LARGEST_SEED + 1 - self.seeds
        if self.seed > most:
            raise ValueError(
                f"--seed is {self.seed}; with --seeds {self.seeds} it must be at most {most}"
            )


@dataclass(frozen=True)
class PretrainingRuns:
    """Options of the runs of `research.studies.pretraining`."""

    steps: int = option(
        500, "steps of each classifier, and of two language models together", least=2
    )
    pretraining: int = option(
        1_500, "steps of each pre-training; no review is read twice", least=1
    )
    layers: int = option(2, flag="--n-layers", least=1, most=MOST_LAYERS)
    d_model: int = option(
        128, "a multiple of 4; d_ff is four times as wide", least=8, most=MOST_WIDTH
    )
    vocabulary: int = 4_000
    length: int = option(
        128,
        "most pieces of a review; of a longer one its beginning and its end",
        least=3,
    )
    rows: int = option(32, "reviews of a batch", least=1)
    reviews: int = option(
        16_000, "reviews with labels, at most: 100 %% of the labels", least=2
    )
    peak: float = option(1.5e-3, "highest learning rate", above=0)
    precision: str = option(
        "bfloat16", "of training; scores are computed in float32", choices=PRECISIONS
    )


@dataclass(frozen=True)
class UnmaskedRuns:
    """Options of the runs of `research.studies.unmasked`."""

    out: Path = required(
        "folder of the runs; those that are there are left as they are"
    )
    pairs: int = option(2_000, "pairs to learn from", least=1)
    steps: int = option(1_600, "steps of each run", least=1)
    rows: int = option(50, "pairs of a batch", least=1)
    d_model: int = option(
        32, "a multiple of 4; a head has a quarter", least=4, most=MOST_WIDTH
    )
    seeds: int = option(3, "runs of each kind", least=1, most=9)
    peak: float = option(1e-3, "highest learning rate", above=0)


@dataclass(frozen=True)
class AutoencoderRun:
    """Options of `research.studies.autoencoder`."""

    out: Path = required("folder of the run; one that was interrupted there goes on")
    vocabulary: Path | None = option(
        None, "use this vocabulary; if not given, one is learned"
    )
    start: Path | None = option(
        None, "begin with the weights and the vocabulary of this .npz", flag="--from"
    )
    drop: float = option(
        0.0, "share of pieces left out of what is read", least=0, below=1
    )
    delay: float = option(
        0.0, "share of pieces that change places with the next", least=0, below=1
    )
    hidden: float = option(
        0.2, "share of pieces that are hidden from the decoder", least=0, below=1
    )
    steps: int = option(5_000, "steps of training", least=1)
    rows: int = option(192, "sentences of a batch", least=1)
    length: int = option(16, "most pieces of a sentence, its marks counted", least=3)
    pieces: int = option(2_000, "of the vocabulary", least=300)
    layers: int = option(2, flag="--n-layers", least=1, most=MOST_LAYERS)
    d_model: int = option(128, "a multiple of 4", least=8, most=MOST_WIDTH)
    d_ff: int = option(320, least=8, most=4 * MOST_WIDTH)
    held_out: int = option(2_000, "most sentences to score", least=1)
    peak: float = option(2e-3, "highest learning rate", above=0)
    seed: int = option(0, least=0, most=LARGEST_SEED)
    precision: str = option(
        "auto",
        "of training; scores are computed in float32",
        choices=("auto", *PRECISIONS),
    )


@dataclass(frozen=True)
class GenerationRuns:
    """Options of `research.studies.generations`; those that `TranslationRun` has too
    are its runs'."""

    data: Path = required(
        "folder with train.tsv[.xz], dev.tsv and, if wanted, written.tsv[.xz]"
    )
    out: Path = required(
        "folder of the runs, a folder each; those that are there go on, or are left as they are"
    )
    vocabulary: str = required("use the vocabulary of this checkpoint", metavar="NAME")
    only: str | None = option(
        None,
        "make the runs of one generation, where others are made at the same time",
        choices=GENERATIONS,
    )
    rates: tuple[float, ...] = option(
        (1.2e-3, 2.4e-3, 4.8e-3),
        "learning rates to try; the one with the lowest loss on dev is kept",
        above=0,
        nargs="+",
        metavar="RATE",
    )
    trial_pieces: int = option(
        1_500_000, "target pieces of a run that tries a rate", least=1, metavar="N"
    )
    pieces: int = option(
        10_000_000, "target pieces of a run with the best rate", least=1, metavar="N"
    )
    seeds: int = option(2, "runs with the best rate", least=1, most=9)
    batch_tokens: int = option(2000, "source and target pieces in a batch", least=1)
    warmup: int = option(800, "steps in which the learning rate rises", least=0)
    precision: str = option(
        "auto", "of training, see train translation", choices=("auto", *PRECISIONS)
    )
    threads: int | None = option(None, "threads of the CPU", least=1, most=1024)


OUT_HELP = "folder to write to; earlier results are replaced"
EXCLUDE_HELP = "file of pairs to test with later: pairs that share a sentence with it are left out; may be repeated"


@dataclass(frozen=True)
class TranslationDownload:
    """Options of downloading sentence pairs."""

    out: Path = required(OUT_HELP, metavar="DIR")
    url: str = option(
        "https://www.manythings.org/anki/spa-eng.zip", "zip archive with a spa.txt"
    )
    seed: int = option(
        0, "of the choice of sentences to hold out", least=0, most=LARGEST_SEED
    )
    dev: int = option(
        0,
        "English sentences to hold out; 0: 2,000, or 2 %% of a small archive",
        least=0,
        metavar="N",
    )
    exclude: Sequence[str] = option((), EXCLUDE_HELP, action="append", metavar="FILE")


@dataclass(frozen=True)
class NearestRun:
    """How the translations that a model finds itself, nearest to the references, are
    made."""

    data: Path = required("folder with train.tsv[.xz]", metavar="DIR")
    checkpoint: str = required(
        "translation model: folder or owner/name", metavar="NAME"
    )
    beam: int = option(10, "hypotheses of each sentence", least=2, most=32)
    ranked: bool = option(
        False,
        "write ranked.tsv.xz instead, for train translation --risk: the first four hypotheses "
        "of each sentence, and how near each is",
    )
    least: float = option(
        35.0,
        "leave out sentences whose nearness, 0 to 100, is below N",
        least=0,
        most=100,
        metavar="N",
    )
    exclude: Sequence[str] = option((), EXCLUDE_HELP, action="append", metavar="FILE")
    device: str | None = None  # cuda, mps or cpu; None: the best there is
    precision: str = "auto"  # one of results.ANSWERS_IN


@dataclass(frozen=True)
class SentimentDownload:
    """Options of downloading reviews and phrases."""

    out: Path = required(OUT_HELP, metavar="DIR")
    urls: Sequence[str] = option(
        (
            "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
        ),
        "tar archive of reviews, and zip archive of trees",
        flag="--url",
        nargs=2,
        metavar=("IMDB", "SST"),
    )
    seed: int = option(
        0, "of the choice of films to hold out", least=0, most=LARGEST_SEED
    )
