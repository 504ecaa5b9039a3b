"""Train a model: from a folder of data and a record of options to a checkpoint."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

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
from xformer.results import LABELS, UserError, refusing
from xformer.tokenizer import Tokenizer
from xformer.training.data import corpora, reviews
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

# of pairs beside train, where they are there
CORPORA = ("nearest", "extra", "extra2", "written")
# which a run keeps
BEGUN_WITH = (
    "start", "vocabulary", "architecture", "norm", "d_model", "n_heads", "n_layers",
    "n_decoder_layers", "d_ff", "vocab_size", "dropout", "max_length", "mask",
    "pooling", "weight_decay", "reverse",
)  # fmt: skip
# steps in each precision, after one that is not counted, from which it is reckoned what
# a run would take
TRIALS = 8
# float32 numbers kept for each parameter: itself, gradient, two of Adam, and the
# average
COPIES = 5
PAIRS = "English, a tab, Spanish"
ROWS = "0 (negative) or 1 (positive), a tab, a text"


def train_translation(run: TranslationRun) -> dict[str, float]:
    """Train a translation model, or go on with the run in `run.out`; return the last
    scores on dev. Raises UserError."""
    files: dict[str, Path] = {}
    if not _rank():  # it makes the batches of all
        files = {
            name: corpora.needed_file(run.data, name, "translation", PAIRS)
            for name in ("train", "dev")
        }
        files |= {
            name: path
            for name in CORPORA
            if (path := corpora.data_file(run.data, name))
        }
    with starting():
        pairs = {
            name: corpora.read_pairs(path)
            for name, path in files.items()
            if name != "written"
        }
        marked = (
            corpora.read_marked_pairs(files["written"]) if "written" in files else []
        )
    train, nearest, dev = (pairs.get(name, []) for name in ("train", "nearest", "dev"))
    written = [
        (english, spanish) for english, spanish, mark in marked if mark != corpora.ENTRY
    ]
    entries = [
        (english, spanish) for english, spanish, mark in marked if mark == corpora.ENTRY
    ]
    extra = [*pairs.get("extra", []), *pairs.get("extra2", [])]
    path = corpora.data_file(run.data, "ranked")
    shape: dict[str, Any] = {"dropout": run.dropout, "source": "en", "target": "es"}
    if run.reverse:
        shape = {**shape, "source": "es", "target": "en"}
        dev = corpora.turned(dev)

    def learn() -> Tokenizer:
        if run.vocabulary:
            return checkpoint.load_translator(repository.find(run.vocabulary)).tokenizer
        return learn_vocabulary([*train, *extra, *written, *entries], run.vocab_size)

    def prepare(out: Path) -> tuple[Task, str]:
        known = (
            out
            if (out / "state.pt").is_file()
            else repository.find(run.start)
            if run.start
            else None
        )
        if known and known != out:
            checkpoint.require(known)
        model_type: type[Any] = (
            checkpoint.translator_type(known) if known else Transformer
        )
        if not known and run.architecture != "transformer":
            model_type = RecurrentTranslator
            attention = "additive" if run.architecture == "gru-attention" else "none"
            shape.update(
                attention=attention, n_heads=1, d_ff=1, norm="pre", n_decoder_layers=0
            )
        model, tokenizer = _model(run, out, model_type, model_type, learn, **shape)
        if run.risk and (path is None or isinstance(model, RecurrentTranslator)):
            raise ValueError(
                "--risk is for transformers, and needs ranked.tsv or ranked.tsv.xz in --data; make it by "
                "“python -m research data nearest --ranked”, or leave out --risk"
            )
        ranked = (
            corpora.read_ranked(path, tokenizer)
            if run.risk and path and not _rank()
            else []
        )
        batches = corpora.TranslationBatches(
            tokenizer,
            [*train, *nearest],
            extra,
            written,
            entries,
            ranked,
            options=run,
            seed=run.seed,
            roughening=corpora.Roughening(capitals=run.capitals)
            if run.roughening
            else corpora.NO_ROUGHENING,
        )
        learned_from = " and ".join(
            (
                f"{len(train):,} pairs and {len(extra):,} extra",
                *([f"{len(nearest):,} nearest"] if nearest else []),
                *(
                    [
                        f"{len(written):,} written, {len(batches.phrases):,} of them phrases"
                    ]
                    if written
                    else []
                ),
                *([f"{len(entries):,} entries"] if entries else []),
                *(
                    [f"{len(ranked):,} sentences with ranked hypotheses"]
                    if ranked
                    else []
                ),
            )
        )
        return TranslationTask(
            model, tokenizer, batches, dev[: run.dev_limit], run.smoothing, run.risk
        ), learned_from

    return _train(run, prepare)


def train_language_model(run: LanguageModelRun) -> dict[str, float]:
    """Pre-train on all texts there are, labels aside; return the last perplexity of the
    validation reviews. Raises UserError."""
    texts = list[str]()
    held_out = list[str]()
    if not _rank():  # it makes the batches of all
        unlabelled = corpora.needed_file(
            run.data, "imdb-unlabelled", "sentiment", "a text", "txt"
        )
        validation = corpora.needed_file(run.data, "imdb-validation", "sentiment", ROWS)
        labelled = (
            corpora.data_file(run.data, name)
            for name in ("imdb-train", "sst2-train-phrases")
        )
        with starting():
            texts = [
                text
                for line in corpora.read_lines(unlabelled)
                if (text := line.strip())
            ]
            texts += [
                text for path in labelled if path for _, text in reviews.read_rows(path)
            ]
            held_out = [text for _, text in reviews.read_rows(validation)]

    def prepare(out: Path) -> tuple[Task, str]:
        learn = partial(reviews.learn_vocabulary, texts, run.vocab_size, run.seed)
        model, tokenizer = _model(
            run,
            out,
            LanguageModel,
            LanguageModel,
            learn,
            dropout=run.dropout,
            max_length=run.max_length,
        )
        length = model.config.max_length
        encoded = reviews.encode_texts(tokenizer, texts)
        windows = reviews.Windows(encoded, length, run.batch_pieces, run.seed)
        validation_windows = reviews.Windows(
            reviews.encode_texts(tokenizer, held_out), length, run.batch_pieces
        )
        # batches, rounded up
        count = -(-run.dev_pieces // (length * validation_windows.size))
        scored = [] if _rank() else [*islice(validation_windows.epoch(0), count)]
        if not (scored or _rank()):
            raise ValueError(
                f"the validation reviews fill no window of {length} pieces; give more of them, a smaller "
                f"--max-length, or --dev-pieces above 0"
            )
        return (
            LanguageModelTask(model, tokenizer, windows, scored),
            f"{len(encoded):,} texts of {sum(map(len, encoded)):,} pieces",
        )

    return _train(run, prepare)


def train_sentiment(run: SentimentRun) -> dict[str, float]:
    """Fine-tune a language model, or train a classifier from nothing; return the last
    accuracies on validation data. Raises UserError."""
    learned = ("imdb-train", "sst2-train-phrases")
    validation = ("imdb-validation", "sst2-validation")
    # read by the first process, which makes the batches of all
    names = (*learned, *validation)
    files = {
        name: corpora.needed_file(run.data, name, "sentiment", ROWS)
        for name in names
        if not _rank()
    }
    with starting():
        rows = {name: reviews.read_rows(files[name]) if files else [] for name in names}
        for name in learned:
            rows[name] = reviews.share(rows[name], run.label_share, run.seed)
    for name in validation:
        rows[name] = rows[name][: run.dev_limit or None]

    def prepare(out: Path) -> tuple[Task, str]:
        texts = [text for name in learned for _, text in rows[name]]
        learn = partial(reviews.learn_vocabulary, texts, run.vocab_size, run.seed)
        model, tokenizer = _model(
            run,
            out,
            TransformerClassifier,
            LanguageModel,
            learn,
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
        films, phrases = (examples[name] for name in learned)
        batches = reviews.ReviewBatches(
            [(films, run.reviews), (phrases, run.phrases)],
            batch_pieces=run.batch_pieces,
            batch_rows=run.batch_rows,
            seed=run.seed,
        )
        scored = {
            "imdb": examples["imdb-validation"],
            "sst2": examples["sst2-validation"],
        }
        learned_from = {
            "pretrained": bool(run.start),
            "share": run.label_share,
            "labels": len(films) + len(phrases),
        }
        return (
            SentimentTask(
                model,
                tokenizer,
                batches,
                scored,
                run.auxiliary,
                run.blank,
                learned_from,
            ),
            f"{len(films):,} reviews and {len(phrases):,} phrases",
        )

    return _train(run, prepare)


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

    It begins with the checkpoint of a `start_type` that the run names, whose shape it
    has but for what is given here; or with the shape that is asked for and the
    vocabulary that `learn` returns, which the first process calls.
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
            checkpoint.write(vocabulary, learn().model)
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


def _train(run: Run, prepare: Callable[[Path], tuple[Task, str]]) -> dict[str, float]:
    """Train on as many processes as torchrun has started; return the last scores. A dry
    run only says what it would take.

    prepare: make the task of a folder, and say what it learns from.
    """
    try:
        with (
            tempfile.TemporaryDirectory()
            if run.dry_run
            else nullcontext(run.out) as out
        ):
            return _train_here(run, prepare, Path(out))
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


def _train_here(
    run: Run, prepare: Callable[[Path], tuple[Task, str]], out: Path
) -> dict[str, float]:
    """Do this process's part of `_train`, and leave the process group open."""
    with starting():
        options = run.training_options()
        device = own_device(run.device)
        if run.threads:
            torch.set_num_threads(run.threads)
        if device.type == "cuda":
            torch.cuda.set_device(device)
        out.mkdir(parents=True, exist_ok=True)
        if _distributed():
            if run.dry_run:
                raise ValueError(
                    "a dry run takes one process; leave out torchrun, and divide the time by hand"
                )
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        torch.manual_seed(options.seed)
        task, learned_from = prepare(out)
        if run.dry_run:
            print(forecast(task, options, device, learned_from))
            return {}
        recorder = (
            MomentsRecorder(out, task.model, task.tokenizer, read_gold(), run.moments)
            if isinstance(run, TranslationRun) and run.moments
            else None
        )
    asked = {name: getattr(run, name) for name in BEGUN_WITH if hasattr(run, name)}
    trainer = Trainer(task, out, options, device, asked, recorder)
    if trainer.rank == 0:
        ignored = [
            f"--{'from' if name == 'start' else name.replace('_', '-')} {trainer.begun_with[name]} (not {value})"
            for name, value in asked.items()
            if trainer.begun_with[name] != value
        ]
        if ignored:
            print(
                f"The run in {out} goes on as it was begun, with {', '.join(ignored)}; name another folder with "
                f"--out to begin a new run.",
                flush=True,
            )
        print(
            f"{sum(p.numel() for p in task.model.parameters()):,} parameters on {device}, {trainer.processes} "
            f"process(es), {learned_from}, from step {trainer.step}",
            flush=True,
        )
    return trainer.train()


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
