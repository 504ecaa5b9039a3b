"""Train a model: from a folder of data and a record of options to a checkpoint."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

# loaded while a group is open, its functions would hold that group open to the end
import torch.distributed.nn

from xformer.classifier import LanguageModel, TransformerClassifier
from xformer.explain.alignment import read_gold
from xformer.hub import checkpoint, repository
from xformer.hub.checkpoint import Model
from xformer.model import Transformer
from xformer.recurrent import RecurrentTranslator
from xformer.results import LABELS, UserError, refusing, write_whole
from xformer.tokenizer import Tokenizer
from xformer.training.data import corpora, reviews
from xformer.training.data.corpora import Pair
from xformer.training.data.reviews import Labelled
from xformer.training.loop import Learner, Task, Trainer, own_device
from xformer.training.moments import MomentsRecorder
from xformer.training.options import (
    PRECISIONS,
    LanguageModelRun,
    Run,
    SentimentRun,
    TrainingOptions,
    TranslationRun,
)
from xformer.training.tasks import (
    LanguageModelTask,
    SentimentTask,
    TranslationTask,
    learn_vocabulary,
)
from xformer.translator import Translator

# of pairs beside train, where they are there
CORPORA = ("nearest", "extra", "extra2", "written")
# which a run keeps
BEGUN_WITH = (
    "start", "vocabulary", "architecture", "norm", "d_model", "n_heads", "n_layers",
    "n_decoder_layers", "d_ff", "vocab_size", "dropout", "max_length", "mask",
    "pooling", "weight_decay", "reverse",
)  # fmt: skip
# timed steps per precision, after one warm-up step, from which the duration is estimated
TRIALS = 8
# float32 numbers kept for each parameter: itself, gradient, two of Adam, and the
# average
COPIES = 5
PAIRS = "English, a tab, Spanish"
# of reviews, and of phrases
LEARNED = ("imdb-train", "sst2-train-phrases")
VALIDATION = ("imdb-validation", "sst2-validation")
ROWS = "0 (negative) or 1 (positive), a tab, a text"


def train_translation(run: TranslationRun) -> dict[str, float]:
    """Train a translation model, or go on with the run in `run.out`; return the last
    scores on dev. Raises UserError."""
    corpus = _corpus(run)
    with _begun(run) as (out, options, device):
        with starting():
            kind, shape = _translator(run, out)
            learn = partial(_vocabulary, run, corpus)
            model, tokenizer = _model(run, out, kind, kind, learn, **shape)
            ranked = _ranked(run, model, tokenizer)
            batches = corpora.TranslationBatches(
                tokenizer,
                [*corpus.train, *corpus.nearest],
                corpus.extra,
                corpus.written,
                corpus.entries,
                ranked,
                corpus.copied,
                options=run,
                seed=run.seed,
                roughening=corpora.Roughening(capitals=run.capitals)
                if run.roughening
                else corpora.NO_ROUGHENING,
            )
            dev = corpora.turned(corpus.dev) if run.reverse else corpus.dev
            task = TranslationTask(
                model,
                tokenizer,
                batches,
                dev[: run.dev_limit],
                run.smoothing,
                run.risk,
            )
        return _trained(run, task, corpus.amounts(batches), out, options, device)


class Corpus(NamedTuple):
    """What there is to train a translator on; nothing but in the first process, which
    makes the batches of all."""

    train: list[Pair]
    dev: list[Pair]
    nearest: list[Pair]
    extra: list[Pair]
    written: list[Pair]
    entries: list[Pair]  # of a dictionary
    copied: list[Pair]  # with what a translation must copy

    def amounts(self, batches: corpora.TranslationBatches) -> str:
        """Say how much of each there is."""
        beside = {
            "nearest": len(self.nearest),
            f"written, {len(batches.phrases):,} of them phrases": len(self.written),
            "entries": len(self.entries),
            "sentences with ranked hypotheses": len(batches.ranked),
        }
        return " and ".join(
            [
                f"{len(self.train):,} pairs and {len(self.extra):,} extra",
                *(f"{count:,} {what}" for what, count in beside.items() if count),
            ]
        )


def _corpus(run: TranslationRun) -> Corpus:
    """Read the pairs in the folder of a run. Raises UserError where train or dev is not
    there, or a file is not readable."""
    if _rank():
        return Corpus([], [], [], [], [], [], [])
    train = corpora.needed_file(run.data, "train", "translation", PAIRS)
    dev = corpora.needed_file(run.data, "dev", "translation", PAIRS)
    copied = (
        corpora.needed_file(run.data, "copied", "copied", PAIRS) if run.copied else None
    )
    with starting():
        nearest, extra, more, written = (
            corpora.read_marked_pairs(path)
            if (path := corpora.data_file(run.data, name))
            else []
            for name in CORPORA
        )
        return Corpus(
            corpora.read_pairs(train),
            corpora.read_pairs(dev),
            corpora.unmarked(nearest),
            corpora.unmarked([*extra, *more]),
            corpora.unmarked(row for row in written if row[2] != corpora.ENTRY),
            corpora.unmarked(row for row in written if row[2] == corpora.ENTRY),
            corpora.read_pairs(copied) if copied else [],
        )


def _vocabulary(run: TranslationRun, corpus: Corpus) -> Tokenizer:
    """Take the vocabulary of another checkpoint, or learn one."""
    if run.vocabulary:
        return checkpoint.load_translator(repository.find(run.vocabulary)).tokenizer
    return learn_vocabulary(
        [*corpus.train, *corpus.extra, *corpus.written, *corpus.entries],
        run.vocab_size,
    )


def _translator(run: TranslationRun, out: Path) -> tuple[type[Any], dict[str, Any]]:
    """Return the type of model that a run trains, and what of its shape the options
    settle: the type is that of an interrupted run in `out`, or of the checkpoint that
    it begins with, or the one that is asked for."""
    source, target = ("es", "en") if run.reverse else ("en", "es")
    shape = {"dropout": run.dropout, "source": source, "target": target}
    if (out / "state.pt").is_file():
        return checkpoint.translator_type(out), shape
    if run.start:
        start = repository.find(run.start)
        checkpoint.require(start)
        return checkpoint.translator_type(start), shape
    if run.architecture == "transformer":
        return Transformer, shape
    return RecurrentTranslator, {
        **shape,
        "attention": "additive" if run.architecture == "gru-attention" else "none",
        "n_heads": 1,
        "d_ff": 1,
        "norm": "pre",
        "n_decoder_layers": 0,
    }


def _ranked(
    run: TranslationRun, model: Translator, tokenizer: Tokenizer
) -> list[corpora.Ranked]:
    """Read the ranked hypotheses that minimum risk training needs."""
    if not run.risk:
        return []
    path = corpora.data_file(run.data, "ranked")
    if path is None or isinstance(model, RecurrentTranslator):
        raise ValueError(
            "--risk is for transformers, and needs ranked.tsv or ranked.tsv.xz in --data; make it by "
            "“python -m research data nearest --ranked”, or leave out --risk"
        )
    return [] if _rank() else corpora.read_ranked(path, tokenizer)


def train_language_model(run: LanguageModelRun) -> dict[str, float]:
    """Pre-train on all texts there are, labels aside; return the last perplexity of the
    validation reviews. Raises UserError."""
    texts, held_out = _texts(run)
    with _begun(run) as (out, options, device):
        with starting():
            model, tokenizer = _model(
                run,
                out,
                LanguageModel,
                LanguageModel,
                partial(reviews.learn_vocabulary, texts, run.vocab_size, run.seed),
                dropout=run.dropout,
                max_length=run.max_length,
            )
            length = model.config.max_length
            encoded = reviews.encode_texts(tokenizer, texts)
            windows = reviews.Windows(encoded, length, run.batch_pieces, run.seed)
            validation = reviews.Windows(
                reviews.encode_texts(tokenizer, held_out), length, run.batch_pieces
            )
            # batches, rounded up
            count = -(-run.dev_pieces // (length * validation.size))
            scored = [] if _rank() else [*islice(validation.epoch(0), count)]
            if not (scored or _rank()):
                raise ValueError(
                    f"the validation reviews fill no window of {length} pieces; give more of them, a smaller "
                    f"--max-length, or --dev-pieces above 0"
                )
            task = LanguageModelTask(model, tokenizer, windows, scored)
        learned_from = f"{len(encoded):,} texts of {sum(map(len, encoded)):,} pieces"
        return _trained(run, task, learned_from, out, options, device)


def _texts(run: LanguageModelRun) -> tuple[list[str], list[str]]:
    """Read the texts to learn from, and those held out; none but in the first process,
    which makes the batches of all."""
    if _rank():
        return [], []
    unlabelled = corpora.needed_file(
        run.data, "imdb-unlabelled", "sentiment", "a text", "txt"
    )
    validation = corpora.needed_file(run.data, "imdb-validation", "sentiment", ROWS)
    with starting():
        lines = map(str.strip, corpora.read_lines(unlabelled))
        texts = [line for line in lines if line]
        for name in LEARNED:
            if path := corpora.data_file(run.data, name):
                texts += [text for _, text in reviews.read_rows(path)]
        return texts, [text for _, text in reviews.read_rows(validation)]


def train_sentiment(run: SentimentRun) -> dict[str, float]:
    """Fine-tune a language model, or train a classifier from nothing; return the last
    accuracies on validation data. Raises UserError."""
    rows = _rows(run)
    with _begun(run) as (out, options, device):
        with starting():
            texts = [text for name in LEARNED for _, text in rows[name]]
            model, tokenizer = _model(
                run,
                out,
                TransformerClassifier,
                LanguageModel,
                partial(reviews.learn_vocabulary, texts, run.vocab_size, run.seed),
                labels=LABELS,
                pooling=run.pooling,
                dropout=run.dropout,
                causal=run.causal,
                max_length=run.max_length,
            )
            examples = {
                name: reviews.encode_rows(tokenizer, of_name, model.config.max_length)
                for name, of_name in rows.items()
            }
            films, phrases = (examples[name] for name in LEARNED)
            batches = reviews.ReviewBatches(
                [(films, run.reviews), (phrases, run.phrases)],
                batch_pieces=run.batch_pieces,
                batch_rows=run.batch_rows,
                seed=run.seed,
            )
            task = SentimentTask(
                model,
                tokenizer,
                batches,
                {
                    "imdb": examples["imdb-validation"],
                    "sst2": examples["sst2-validation"],
                },
                run.auxiliary,
                run.blank,
                {
                    "pretrained": bool(run.start),
                    "share": run.label_share,
                    "labels": len(films) + len(phrases),
                },
            )
        learned_from = f"{len(films):,} reviews and {len(phrases):,} phrases"
        return _trained(run, task, learned_from, out, options, device)


def _rows(run: SentimentRun) -> dict[str, list[Labelled]]:
    """Read the labelled texts by the names of their files, as many as the run takes;
    none but in the first process, which makes the batches of all."""
    names = (*LEARNED, *VALIDATION)
    if _rank():
        return {name: [] for name in names}
    files = {
        name: corpora.needed_file(run.data, name, "sentiment", ROWS) for name in names
    }
    with starting():
        rows = {name: reviews.read_rows(path) for name, path in files.items()}
        for name in LEARNED:
            rows[name] = reviews.share(rows[name], run.label_share, run.seed)
    for name in VALIDATION:
        rows[name] = rows[name][: run.dev_limit or None]
    return rows


# What every run does


def starting() -> AbstractContextManager[None]:
    """Turn a ValueError that comes before the first step into a UserError."""
    return refusing(ValueError, lambda error: f"Training cannot start: {error}.")


def _rank() -> int:
    """Return the number of this process under torchrun, 0 for the first or only one."""
    return int(os.environ.get("RANK", "0"))


def _distributed() -> bool:
    """Tell whether torchrun has started this process with others."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def _model(
    run: Run,
    out: Path,
    model_type: type[Model],
    start_type: type[Any],
    learn: Callable[[], Tokenizer],
    **shape: Any,
) -> tuple[Model, Tokenizer]:
    """Make the model of an interrupted run in `out`, whose weights the trainer loads,
    or begin one.

    With --from, it takes the weights, vocabulary and shape of that checkpoint, which
    holds a `start_type`; `shape` overrides. Otherwise it takes the shape asked for, and
    the first process learns a vocabulary.
    """
    vocabulary = out / "tokenizer.model"
    config_type: type[Any] = checkpoint.kind_for(model_type).config
    if (out / "state.pt").is_file():
        return model_type(checkpoint.read_config(out, model_type)), Tokenizer.load(
            vocabulary
        )
    if run.start:
        start = checkpoint.load(repository.find(run.start), start_type)
        tokenizer = start.tokenizer
        config = config_type(**{**start.model.config.to_dict(), **shape})
    else:
        if not _rank():
            write_whole(vocabulary, learn().model)
        if dist.is_initialized():
            dist.barrier()
        tokenizer = Tokenizer.load(vocabulary)
        asked = {
            one.name: getattr(run, one.name)
            for one in fields(config_type)
            if hasattr(run, one.name)
        }
        config = config_type(**{**asked, **shape, "vocab_size": len(tokenizer)})
    model = model_type(config)
    if run.start:
        # what it lacks stays as it was drawn
        model.load_state_dict(start.model.state_dict(), strict=False)
    if not _rank():
        checkpoint.save_config(out, model, tokenizer)
    return model, tokenizer


@contextmanager
def _begun(run: Run) -> Iterator[tuple[Path, TrainingOptions, torch.device]]:
    """Begin this process's part of a run, on as many processes as torchrun has started,
    and end it; yields the folder to write to, which a dry run throws away, the options
    and the device."""
    try:
        with (
            tempfile.TemporaryDirectory()
            if run.dry_run
            else nullcontext(run.out) as folder
        ):
            out = Path(folder)
            with starting():
                options = run.training_options()
                device = own_device(run.device)
                if run.threads:
                    torch.set_num_threads(run.threads)
                if device.type == "cuda":
                    torch.cuda.set_device(device)
                out.mkdir(parents=True, exist_ok=True)
                if _distributed() and run.dry_run:
                    raise ValueError(
                        "a dry run takes one process; leave out torchrun, and divide the time by hand"
                    )
                if _distributed():
                    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
                torch.manual_seed(options.seed)
            yield out, options, device
    except RuntimeError as error:
        if _distributed() and (
            isinstance(error, dist.DistError) or "gloo" in str(error)
        ):
            raise UserError(
                "Another process of this run has ended, so this one ends too; the same command goes on "
                "from the state saved last."
            ) from error
        raise
    finally:
        # Only now, without a trainer: were its DistributedDataParallel the last to hold
        # the group, it would wait for gloo's threads with Python's lock in hand, which
        # they need to let go of their tensors.
        if dist.is_initialized():
            dist.destroy_process_group()


def _trained(
    run: Run,
    task: Task,
    learned_from: str,
    out: Path,
    options: TrainingOptions,
    device: torch.device,
) -> dict[str, float]:
    """Train; return the last scores. A dry run only says what it would take.

    learned_from: what the task learns from, in words.
    """
    with starting():
        if run.dry_run:
            print(forecast(task, options, device, learned_from))
            return {}
        recorder = (
            MomentsRecorder(
                out, task.model, task.tokenizer, read_gold(), run.moments, run.film
            )
            if isinstance(run, TranslationRun) and run.moments
            else None
        )
    asked = {name: getattr(run, name) for name in BEGUN_WITH if hasattr(run, name)}
    trainer = Trainer(task, out, options, device, asked, recorder)
    if trainer.rank == 0:
        _say_how_it_begins(trainer, asked, learned_from)
    return trainer.train()


def _say_how_it_begins(
    trainer: Trainer, asked: dict[str, Any], learned_from: str
) -> None:
    """Print what a run trains and from which step; and which options have no effect, as
    the run goes on as it was begun."""
    ignored = [
        f"--{'from' if name == 'start' else name.replace('_', '-')} {trainer.begun_with[name]} (not {value})"
        for name, value in asked.items()
        if trainer.begun_with[name] != value
    ]
    if ignored:
        print(
            f"The run in {trainer.folder} goes on as it was begun, with {', '.join(ignored)}; name another folder with "
            f"--out to begin a new run.",
            flush=True,
        )
    parameters = sum(p.numel() for p in trainer.task.model.parameters())
    print(
        f"{parameters:,} parameters on {trainer.device}, {trainer.processes} process(es), {learned_from}, "
        f"from step {trainer.step}",
        flush=True,
    )


# What a run would take


def forecast(
    task: Task, options: TrainingOptions, device: torch.device, learned_from: str
) -> str:
    """Make trial steps on the first batches of a run, and return what they imply, in a
    few lines.

    The model has changed afterwards. Raises ValueError where there is no batch.
    """
    sizes: list[int] = []
    first: list[list[Any]] = []
    for batch in task.batches(0, 0):
        sizes.append(task.weight(batch))
        first += [batch] if len(first) <= TRIALS else []
    if not first:
        raise ValueError(
            "an epoch has no batch; give more examples, or allow longer ones"
        )
    learner = Learner(task, options, device)
    usual = {"cuda": ["bfloat16"], "mps": ["float32"]}.get(device.type, PRECISIONS)
    tried = usual if options.precision == "auto" else [options.precision]
    speeds = {precision: _speed(learner, first, precision) for precision in tried}
    precision = max(speeds, key=lambda one: speeds[one])
    mean = sum(sizes) / len(sizes)
    speed = speeds[precision]
    limits = [
        limit
        for limit in (
            options.steps * mean,
            60 * options.minutes * speed,
            options.weight,
        )
        if limit
    ]
    seen = min(limits)
    parameters = sum(p.numel() for p in task.model.parameters())
    return "\n".join(
        (
            f"learned from   {learned_from}",
            f"an epoch       {len(sizes):,} steps of {mean:,.0f} pieces on average, {sum(sizes):,} pieces",
            "trial steps    "
            + ", ".join(
                f"{speeds[one]:,.0f} pieces a second in {one}" for one in speeds
            ),
            f"this run       {seen / mean:,.0f} steps, {seen:,.0f} pieces, {seen / sum(sizes):.2f} epochs, "
            f"{seen / speed / 60:,.1f} minutes in {precision}, scores on held-out data not counted",
            f"memory         {4 * COPIES * parameters / 1e6:,.0f} MB for "
            f"{parameters:,} parameters, their gradient, Adam and the average; "
            f"{_held(device):,.0f} MB held at most in the trial steps",
        )
    )


def _speed(learner: Learner, batches: list[list[Any]], precision: str) -> float:
    """Return pieces a second of steps in a precision; the first step is not counted."""
    learner.precision = precision
    seen = 0
    began = 0.0
    for number, batch in enumerate(islice([*batches, *batches], TRIALS + 1)):
        if number == 1:
            began = time.perf_counter()
        learner._learn(batch, 0.0)  # its numbers come back to the CPU, so it has ended
        seen += learner.task.weight(batch) if number else 0
    return seen / (time.perf_counter() - began)


def _held(device: torch.device) -> float:
    """Return the most megabytes that this process has held: of the GPU's memory, or
    else of the machine's."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e6
    if sys.platform == "win32":
        return float("nan")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1e6 if sys.platform == "darwin" else 1e3
    )
