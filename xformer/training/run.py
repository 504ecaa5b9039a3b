"""`python -m xformer train …`: from a folder of data to a checkpoint."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from xformer.classifier import ClassifierConfig, LanguageModel, LanguageModelConfig, TransformerClassifier
from xformer.hub import checkpoint, repository
from xformer.hub.checkpoint import Model
from xformer.model import Config, Transformer
from xformer.results import LABELS, UserError
from xformer.tokenizer import Tokenizer
from xformer.training import loop, reviews, translation
from xformer.training.corpora import Roughening, TranslationBatches, find, read_lines, read_pairs
from xformer.training.language_model import LanguageModelTask
from xformer.training.sentiment import SentimentTask
from xformer.training.translation import TranslationTask

Options = TypeVar("Options")
PAIRS = "English, a tab, Spanish"
ROWS = "0 (negative) or 1 (positive), a tab, a text"


def given(args: Namespace, kind: type[Options], **more: Any) -> Options:
    """An options record made of those of its fields that the command line has."""
    values = {f.name: getattr(args, f.name) for f in fields(kind)  # type: ignore[arg-type]
              if getattr(args, f.name, None) is not None}
    return kind(**{**values, **more})


@contextmanager
def starting() -> Iterator[None]:
    """What stands in the way of the first step becomes a UserError."""
    try:
        yield
    except ValueError as error:
        raise error if isinstance(error, UserError) else UserError(f"Training cannot start: {error}.") from error


def train_translation(args: Namespace) -> dict[str, float]:
    """Train, or go on with, the run in `args.out`; returns the last scores on dev."""
    data, out = Path(args.data), Path(args.out)
    files = {name: _needed(data, name, "translation", PAIRS) for name in ("train", "dev")}
    if extra := find(data, "extra"):
        files["extra"] = extra
    with starting():
        pairs = {"extra": [], **{name: read_pairs(path) for name, path in files.items()}}
    roughening = Roughening(*[0.0] * 6) if args.no_roughening else Roughening()

    def begin() -> tuple[Transformer, Tokenizer]:
        if args.start:
            start = checkpoint.load(repository.find(args.start), Transformer)
            model = Transformer(Config(**{**start.model.config.to_dict(), "dropout": args.dropout}))
            model.load_state_dict(start.model.state_dict())
            return model, start.tokenizer
        tokenizer = _new_vocabulary(out, lambda: translation.vocabulary([*pairs["train"], *pairs["extra"]],
                                                                        args.vocab_size))
        return Transformer(given(args, Config, vocab_size=len(tokenizer))), tokenizer

    def prepare(options: loop.Options) -> tuple[loop.Task, str]:
        model, tokenizer = _beginning(out, Transformer, begin)
        batches = TranslationBatches(tokenizer, pairs["train"], pairs["extra"], extra_weight=args.extra_weight,
                                     batch_tokens=args.batch_tokens, max_pieces=args.max_pieces,
                                     roughening=roughening, sampled=args.sampled, seed=options.seed)
        return (TranslationTask(model, tokenizer, batches, pairs["dev"][:args.dev_limit], args.smoothing),
                f"{len(pairs['train']):,} pairs and {len(pairs['extra']):,} extra")
    return _run(args, out, prepare)


def train_language_model(args: Namespace) -> dict[str, float]:
    """Pre-train on all texts there are, labels aside; returns the last perplexity of the validation reviews."""
    data, out = Path(args.data), Path(args.out)
    unlabelled = _needed(data, "imdb-unlabelled", "sentiment", "a text", "txt")
    validation = _needed(data, "imdb-validation", "sentiment", ROWS)
    more = [path for name in ("imdb-train", "sst2-train-phrases") if (path := find(data, name))]
    with starting():
        texts = [text for line in read_lines(unlabelled) if (text := line.strip())]
        texts += [text for path in more for _, text in reviews.read_rows(path)]
        held_out = [text for _, text in reviews.read_rows(validation)]

    def begin() -> tuple[LanguageModel, Tokenizer]:
        if args.start:
            start = checkpoint.load(repository.find(args.start), LanguageModel)
            shape = {"dropout": args.dropout, "max_length": args.max_length}
            model = LanguageModel(LanguageModelConfig(**{**start.model.config.to_dict(), **shape}))
            model.load_state_dict(start.model.state_dict())
            return model, start.tokenizer
        tokenizer = _new_vocabulary(out, lambda: reviews.vocabulary(texts, args.vocab_size, args.seed))
        return LanguageModel(given(args, LanguageModelConfig, vocab_size=len(tokenizer))), tokenizer

    def prepare(options: loop.Options) -> tuple[loop.Task, str]:
        model, tokenizer = _beginning(out, LanguageModel, begin)
        length = model.config.max_length
        rows = reviews.encode_texts(tokenizer, texts)
        windows = reviews.Windows(rows, length, args.batch_pieces, options.seed)
        kept = reviews.Windows(reviews.encode_texts(tokenizer, held_out), length, args.batch_pieces)
        wanted = -(-args.dev_pieces // (length * kept.size))  # batches
        looked_at = [batch for batch, _ in zip(kept.epoch(0), range(wanted), strict=False)]
        if not looked_at:
            raise ValueError(f"the validation reviews fill no window of {length} pieces; give more of them, a smaller "
                             f"--max-length, or --dev-pieces above 0")
        return (LanguageModelTask(model, tokenizer, windows, looked_at),
                f"{len(rows):,} texts of {sum(map(len, rows)):,} pieces")
    return _run(args, out, prepare)


def train_sentiment(args: Namespace) -> dict[str, float]:
    """Fine-tune a language model, or train from nothing; returns the last accuracies on the validation data."""
    data, out = Path(args.data), Path(args.out)
    names = ("imdb-train", "sst2-train-phrases", "imdb-validation", "sst2-validation")
    files = {name: _needed(data, name, "sentiment", ROWS) for name in names}
    with starting():
        rows = {name: reviews.read_rows(path) for name, path in files.items()}
        for name in names[:2]:
            rows[name] = reviews.share(rows[name], args.label_share, args.seed)
    shape = {"labels": LABELS, "pooling": args.pooling, "dropout": args.dropout,
             "causal": args.mask == "causal" if args.mask else bool(args.start), "max_length": args.max_length}

    def begin() -> tuple[TransformerClassifier, Tokenizer]:
        if args.start:
            start = checkpoint.load(repository.find(args.start), LanguageModel)
            model = TransformerClassifier(ClassifierConfig(**{**start.model.config.to_dict(), **shape}))
            model.begin_with(start.model)
            return model, start.tokenizer
        texts = [text for name in names[:2] for _, text in rows[name]]
        tokenizer = _new_vocabulary(out, lambda: reviews.vocabulary(texts, args.vocab_size, args.seed))
        return TransformerClassifier(given(args, ClassifierConfig, vocab_size=len(tokenizer), **shape)), tokenizer

    def prepare(options: loop.Options) -> tuple[loop.Task, str]:
        model, tokenizer = _beginning(out, TransformerClassifier, begin)
        examples = {name: reviews.encode_rows(tokenizer, of_name[:args.dev_limit or None] if "validation" in name
                                              else of_name, model.config.max_length) for name, of_name in rows.items()}
        batches = reviews.ReviewBatches([(examples["imdb-train"], args.reviews),
                                         (examples["sst2-train-phrases"], args.phrases)],
                                        batch_pieces=args.batch_pieces, batch_rows=args.batch_rows, seed=options.seed)
        validation = {"imdb": examples["imdb-validation"], "sst2": examples["sst2-validation"]}
        learned_from = {"pretrained": bool(args.start), "share": args.label_share,
                        "labels": sum(len(examples[name]) for name in names[:2])}
        return (SentimentTask(model, tokenizer, batches, validation, args.auxiliary, args.blank, learned_from),
                f"{len(examples['imdb-train']):,} reviews and {len(examples['sst2-train-phrases']):,} phrases")
    return _run(args, out, prepare, peak=4e-4 if args.start else 1e-3)


def _needed(folder: Path, name: str, data: str, line: str, kind: str = "tsv") -> Path:
    """A file of training data; raises UserError where it is not there."""
    path = find(folder, name, kind)
    if path is None:
        raise UserError(f"There is no {name}.{kind} or {name}.{kind}.xz in {folder}; make them with “python -m xformer "
                        f"data {data} --out {folder}”, or write {line} on each line.")
    return path


def _first() -> bool:
    """Whether this process is the only one, or the one that writes."""
    return not dist.is_initialized() or dist.get_rank() == 0


def _new_vocabulary(out: Path, learn: Callable[[], Tokenizer]) -> Tokenizer:
    """Learned by one process, for all."""
    if _first():
        checkpoint.write(out / "tokenizer.model", learn().model)
    if dist.is_initialized():
        dist.barrier()
    return Tokenizer.load(out / "tokenizer.model")


def _beginning(out: Path, model_type: type[Model], begin: Callable[[], tuple[Model, Tokenizer]]
               ) -> tuple[Model, Tokenizer]:
    """The model to train: that of an interrupted run, or what `begin` makes."""
    if (out / "state.pt").is_file():
        return model_type(checkpoint.read_config(out, model_type)), Tokenizer.load(out / "tokenizer.model")
    model, tokenizer = begin()
    if _first():
        checkpoint.save_config(out, model, tokenizer)
    return model, tokenizer


def _run(args: Namespace, out: Path, prepare: Callable[[loop.Options], tuple[loop.Task, str]],
         peak: float | None = None) -> dict[str, float]:
    """Train the task that `prepare` makes, and says what of, on as many processes as torchrun has started. peak: of the
    cosine schedule, where none is asked for."""
    distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    with starting():
        schedule = args.schedule or ("noam" if args.norm == "post" else "cosine")
        pace = {"peak": loop.NOAM_PEAK, "warmup": loop.NOAM_WARMUP} if schedule == "noam" else {"peak": peak}
        options = given(args, loop.Options, schedule=schedule, **{
            name: value for name, value in pace.items() if value is not None and getattr(args, name) is None})
        device = loop.own_device(args.device)
        if args.threads:
            torch.set_num_threads(args.threads)
        out.mkdir(parents=True, exist_ok=True)
        if distributed:
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
            if device.type == "cuda":
                torch.cuda.set_device(device)
        torch.manual_seed(options.seed)
        task, told = prepare(options)
    trainer = loop.Trainer(task, out, options, device)
    if trainer.rank == 0:
        print(f"{sum(p.numel() for p in task.model.parameters()):,} parameters on {device}, {trainer.processes} "
              f"process(es), {told}, from step {trainer.step}", flush=True)
    try:
        return trainer.train()
    finally:
        if distributed:
            dist.destroy_process_group()
