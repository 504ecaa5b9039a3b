"""Train a model: from a folder of data and a record of options to a checkpoint."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
import torch.distributed.nn  # loaded while a group is open, its functions would hold that group open to the end

from xformer.classifier import ClassifierConfig, LanguageModel, LanguageModelConfig, TransformerClassifier
from xformer.explain.alignment import read_gold
from xformer.hub import checkpoint, repository
from xformer.hub.checkpoint import Model
from xformer.model import Config, Transformer
from xformer.recurrent import RecurrentConfig, RecurrentTranslator
from xformer.results import LABELS, UserError
from xformer.tokenizer import Tokenizer
from xformer.training import translation
from xformer.training.data import reviews
from xformer.training.data.corpora import (
    ENTRY,
    NO_ROUGHENING,
    Roughening,
    TranslationBatches,
    data_file,
    read_lines,
    read_marked_pairs,
    read_pairs,
    turned,
)
from xformer.training.forecast import forecast
from xformer.training.language_model import LanguageModelTask
from xformer.training.loop import Task, Trainer, own_device
from xformer.training.moments import MomentsRecorder
from xformer.training.options import LanguageModelRun, Run, SentimentRun, TranslationRun
from xformer.training.sentiment import SentimentTask
from xformer.training.translation import TranslationTask
from xformer.translator import Translator

AnyConfig = TypeVar("AnyConfig", bound=Config)
CORPORA = ("nearest", "extra", "extra2", "written")  # of pairs beside train, where they are there
BEGUN_WITH = ("start", "vocabulary", "architecture", "norm", "d_model", "n_heads", "n_layers", "n_decoder_layers",
              "d_ff", "vocab_size", "dropout", "max_length", "mask", "pooling", "weight_decay",
              "reverse")  # which a run keeps
PAIRS = "English, a tab, Spanish"
ROWS = "0 (negative) or 1 (positive), a tab, a text"


def train_translation(run: TranslationRun) -> dict[str, float]:
    """Train a translation model, or go on with the run in `run.out`; return the last scores on dev. Raises UserError.
    """
    files = {name: _needed(run.data, name, "translation", PAIRS) for name in ("train", "dev") if _rank() == 0}
    files |= {name: path for name in CORPORA if (path := data_file(run.data, name))}
    with starting():  # the first process of several makes the batches of all, so that the others need not read
        pairs = {name: read_pairs(path) if _rank() == 0 else [] for name, path in files.items() if name != "written"}
        marked = read_marked_pairs(files["written"]) if "written" in files and _rank() == 0 else []
    train, nearest, dev = (pairs.get(name, []) for name in ("train", "nearest", "dev"))
    written = [(english, spanish) for english, spanish, mark in marked if mark != ENTRY]
    entries = [(english, spanish) for english, spanish, mark in marked if mark == ENTRY]
    extra = [*pairs.get("extra", []), *pairs.get("extra2", [])]
    languages: dict[str, Any] = {"source": "en", "target": "es"}
    if run.reverse:
        languages, dev = {"source": "es", "target": "en"}, turned(dev)

    def begin(out: Path) -> tuple[Translator, Tokenizer]:
        if run.start:
            start = checkpoint.load_translator(repository.find(run.start))
            model: Translator = type(start.model)(replace(start.model.config, dropout=run.dropout, **languages))
            model.load_state_dict(start.model.state_dict())
            return model, start.tokenizer
        tokenizer = _shared_vocabulary(out, lambda: checkpoint.load_translator(
            repository.find(run.vocabulary)).tokenizer if run.vocabulary else translation.learn_vocabulary(
                [*train, *extra, *written, *entries], run.vocab_size))
        if run.architecture == "transformer":
            return Transformer(_config(run, Config, vocab_size=len(tokenizer), **languages)), tokenizer
        attention = "additive" if run.architecture == "gru-attention" else "none"
        return RecurrentTranslator(RecurrentConfig(
            vocab_size=len(tokenizer), d_model=run.d_model, n_layers=run.n_layers, dropout=run.dropout,
            attention=attention, **languages)), tokenizer

    def prepare(out: Path) -> tuple[Task, str]:
        begun = (out / "state.pt").is_file()
        model, tokenizer = _model(out, checkpoint.translator_type(out) if begun else Transformer, begin)
        batches = TranslationBatches(
            tokenizer, [*train, *nearest], extra, written, entries, options=run, seed=run.seed,
            roughening=Roughening(capitals=run.capitals) if run.roughening else NO_ROUGHENING)
        learned_from = f"{len(train):,} pairs and {len(extra):,} extra"
        if nearest:
            learned_from += f" and {len(nearest):,} nearest"
        if written:
            learned_from += f" and {len(written):,} written, {len(batches.phrases):,} of them phrases"
        if entries:
            learned_from += f" and {len(entries):,} entries"
        return TranslationTask(model, tokenizer, batches, dev[:run.dev_limit], run.smoothing), learned_from

    return _train(run, prepare, run.moments)


def train_language_model(run: LanguageModelRun) -> dict[str, float]:
    """Pre-train on all texts there are, labels aside; return the last perplexity of the validation reviews.

    Raises UserError.
    """
    texts, held_out = list[str](), list[str]()
    if _rank() == 0:  # it makes the batches of all
        unlabelled = _needed(run.data, "imdb-unlabelled", "sentiment", "a text", "txt")
        validation = _needed(run.data, "imdb-validation", "sentiment", ROWS)
        labelled = [path for name in ("imdb-train", "sst2-train-phrases") if (path := data_file(run.data, name))]
        with starting():
            texts = [text for line in read_lines(unlabelled) if (text := line.strip())]
            texts += [text for path in labelled for _, text in reviews.read_rows(path)]
            held_out = [text for _, text in reviews.read_rows(validation)]

    def begin(out: Path) -> tuple[LanguageModel, Tokenizer]:
        if run.start:
            start = checkpoint.load(repository.find(run.start), LanguageModel)
            shape = {"dropout": run.dropout, "max_length": run.max_length}
            model = LanguageModel(LanguageModelConfig(**{**start.model.config.to_dict(), **shape}))
            model.load_state_dict(start.model.state_dict())
            return model, start.tokenizer
        tokenizer = _shared_vocabulary(out, lambda: reviews.learn_vocabulary(texts, run.vocab_size, run.seed))
        return LanguageModel(_config(run, LanguageModelConfig, vocab_size=len(tokenizer))), tokenizer

    def prepare(out: Path) -> tuple[Task, str]:
        model, tokenizer = _model(out, LanguageModel, begin)
        length = model.config.max_length
        encoded = reviews.encode_texts(tokenizer, texts)
        windows = reviews.Windows(encoded, length, run.batch_pieces, run.seed)
        if _rank():
            return LanguageModelTask(model, tokenizer, windows, []), ""
        validation_windows = reviews.Windows(reviews.encode_texts(tokenizer, held_out), length, run.batch_pieces)
        count = -(-run.dev_pieces // (length * validation_windows.size))  # batches, rounded up
        scored = [batch for batch, _ in zip(validation_windows.epoch(0), range(count), strict=False)]
        if not scored:
            raise ValueError(f"the validation reviews fill no window of {length} pieces; give more of them, a smaller "
                             f"--max-length, or --dev-pieces above 0")
        return (LanguageModelTask(model, tokenizer, windows, scored),
                f"{len(encoded):,} texts of {sum(map(len, encoded)):,} pieces")

    return _train(run, prepare)


def train_sentiment(run: SentimentRun) -> dict[str, float]:
    """Fine-tune a language model, or train a classifier from nothing; return the last accuracies on validation data.

    Raises UserError.
    """
    learned, validation = ("imdb-train", "sst2-train-phrases"), ("imdb-validation", "sst2-validation")
    names = (*learned, *validation)  # read by the first process, which makes the batches of all
    files = {name: _needed(run.data, name, "sentiment", ROWS) for name in names if _rank() == 0}
    with starting():
        rows = {name: reviews.read_rows(files[name]) if files else [] for name in names}
        for name in learned:
            rows[name] = reviews.share(rows[name], run.label_share, run.seed)
    for name in validation:
        rows[name] = rows[name][:run.dev_limit or None]
    shape = {"labels": LABELS, "pooling": run.pooling, "dropout": run.dropout, "causal": run.causal,
             "max_length": run.max_length}

    def begin(out: Path) -> tuple[TransformerClassifier, Tokenizer]:
        if run.start:
            start = checkpoint.load(repository.find(run.start), LanguageModel)
            model = TransformerClassifier(ClassifierConfig(**{**start.model.config.to_dict(), **shape}))
            model.begin_with(start.model)
            return model, start.tokenizer
        texts = [text for name in learned for _, text in rows[name]]
        tokenizer = _shared_vocabulary(out, lambda: reviews.learn_vocabulary(texts, run.vocab_size, run.seed))
        return TransformerClassifier(_config(run, ClassifierConfig, vocab_size=len(tokenizer), **shape)), tokenizer

    def prepare(out: Path) -> tuple[Task, str]:
        model, tokenizer = _model(out, TransformerClassifier, begin)
        examples = {name: reviews.encode_rows(tokenizer, of_name, model.config.max_length)
                    for name, of_name in rows.items()}
        films, phrases = (examples[name] for name in learned)
        batches = reviews.ReviewBatches([(films, run.reviews), (phrases, run.phrases)], batch_pieces=run.batch_pieces,
                                        batch_rows=run.batch_rows, seed=run.seed)
        scored = {"imdb": examples["imdb-validation"], "sst2": examples["sst2-validation"]}
        learned_from = {"pretrained": bool(run.start), "share": run.label_share, "labels": len(films) + len(phrases)}
        return (SentimentTask(model, tokenizer, batches, scored, run.auxiliary, run.blank, learned_from),
                f"{len(films):,} reviews and {len(phrases):,} phrases")

    return _train(run, prepare)


@contextmanager
def starting() -> Iterator[None]:
    """Turn a ValueError that comes before the first step into a UserError."""
    try:
        yield
    except ValueError as error:
        raise error if isinstance(error, UserError) else UserError(f"Training cannot start: {error}.") from error


def _needed(folder: Path, name: str, data: str, line: str, kind: str = "tsv") -> Path:
    """Return the path of a file of training data; raises UserError where it is not there.

    data: the command that fetches it, python -m xformer data … line: the form of its lines, for the message.
    """
    path = data_file(folder, name, kind)
    if path is None:
        raise UserError(f"There is no {name}.{kind} or {name}.{kind}.xz in {folder}; make them with “python -m xformer "
                        f"data {data} --out {folder}”, or write {line} on each line.")
    return path


def _config(run: Run, kind: type[AnyConfig], **more: Any) -> AnyConfig:
    """Make a model's configuration of the options that have the names of its fields."""
    return kind(**{**{f.name: getattr(run, f.name) for f in fields(kind) if hasattr(run, f.name)}, **more})


def _rank() -> int:
    """Return the number of this process under torchrun, 0 for the first or only one."""
    return int(os.environ.get("RANK", "0"))


def _distributed() -> bool:
    """Tell whether torchrun has started this process with others."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def _first() -> bool:
    """Tell whether this process is the only one, or the one of several that writes."""
    return not dist.is_initialized() or dist.get_rank() == 0


def _shared_vocabulary(out: Path, learn: Callable[[], Tokenizer]) -> Tokenizer:
    """Learn a vocabulary in the first process, and load it in all."""
    if _first():
        checkpoint.write(out / "tokenizer.model", learn().model)
    if dist.is_initialized():
        dist.barrier()
    return Tokenizer.load(out / "tokenizer.model")


def _model(out: Path, model_type: type[Model], begin: Callable[[Path], tuple[Model, Tokenizer]]
           ) -> tuple[Model, Tokenizer]:
    """Make the model of an interrupted run in `out`, whose weights the trainer loads, or call `begin` for a new one."""
    if (out / "state.pt").is_file():
        return model_type(checkpoint.read_config(out, model_type)), Tokenizer.load(out / "tokenizer.model")
    model, tokenizer = begin(out)
    if _first():
        checkpoint.save_config(out, model, tokenizer)
    return model, tokenizer


def _flag(name: str) -> str:
    """Return the flag of the command line that sets an option of a run."""
    return "--from" if name == "start" else f"--{name.replace('_', '-')}"


def _train(run: Run, prepare: Callable[[Path], tuple[Task, str]], moments: int = 0) -> dict[str, float]:
    """Train on as many processes as torchrun has started; return the last scores.

    prepare: make the task of a folder, and say what it learns from. moments: to be kept, of the training of a
    translation model.
    """
    if run.dry_run:
        with tempfile.TemporaryDirectory() as folder, starting():
            if _distributed():
                raise ValueError("a dry run takes one process; leave out torchrun, and divide the time by hand")
            if run.threads:
                torch.set_num_threads(run.threads)
            torch.manual_seed(run.seed)
            task, learned_from = prepare(Path(folder))
            print(forecast(task, run.training_options(), own_device(run.device), learned_from))
        return {}
    try:
        return _train_here(run, prepare, moments)
    except RuntimeError as error:
        if _distributed() and (isinstance(error, dist.DistError) or "gloo" in str(error)):
            raise UserError("Another process of this run has ended, so this one ends too; the same command goes on "
                            "from the state saved last.") from error
        raise
    finally:
        # Only now, without a trainer: were its DistributedDataParallel the last to hold the group, it would wait for
        # gloo's threads with Python's lock in hand, which they need to let go of their tensors.
        if dist.is_initialized():
            dist.destroy_process_group()


def _train_here(run: Run, prepare: Callable[[Path], tuple[Task, str]], moments: int) -> dict[str, float]:
    """Do this process's part of `_train`, and leave the process group open."""
    with starting():
        options = run.training_options()
        device = own_device(run.device)
        if run.threads:
            torch.set_num_threads(run.threads)
        run.out.mkdir(parents=True, exist_ok=True)
        if _distributed():
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
            if device.type == "cuda":
                torch.cuda.set_device(device)
        torch.manual_seed(options.seed)
        task, learned_from = prepare(run.out)
        recorder = (MomentsRecorder(run.out, task.model, task.tokenizer, read_gold(), moments)
                    if moments and isinstance(task, TranslationTask) else None)
    asked = {name: getattr(run, name) for name in BEGUN_WITH if hasattr(run, name)}
    trainer = Trainer(task, run.out, options, device, asked, recorder)
    if trainer.rank == 0:
        ignored = [f"{_flag(name)} {trainer.begun_with[name]} (not {value})" for name, value in asked.items()
                   if trainer.begun_with[name] != value]
        if ignored:
            print(f"The run in {run.out} goes on as it was begun, with {', '.join(ignored)}; name another folder with "
                  f"--out to begin a new run.", flush=True)
        print(f"{sum(p.numel() for p in task.model.parameters()):,} parameters on {device}, {trainer.processes} "
              f"process(es), {learned_from}, from step {trainer.step}", flush=True)
    return trainer.train()
