"""`python -m xformer train translation`: from a folder of sentence pairs to a checkpoint."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from xformer import checkpoint
from xformer.model import Config, Transformer
from xformer.results import UserError
from xformer.tokenizer import Tokenizer
from xformer.training import loop
from xformer.training.corpora import Roughening, TranslationBatches, find, read_pairs
from xformer.training.translation import TranslationTask, vocabulary

Options = TypeVar("Options")


def given(args: Namespace, kind: type[Options], **more: Any) -> Options:
    """An options record made of those of its fields that the command line has."""
    values = {f.name: getattr(args, f.name) for f in fields(kind)  # type: ignore[arg-type]
              if getattr(args, f.name, None) is not None}
    return kind(**{**values, **more})


def train_translation(args: Namespace) -> dict[str, float]:
    """Train, or go on with, the run in `args.out`; returns the last scores on dev."""
    data, out = Path(args.data), Path(args.out)
    files = {name: find(data, name) for name in ("train", "dev", "extra")}
    for name in ("train", "dev"):
        if files[name] is None:
            raise UserError(f"There is no {name}.tsv or {name}.tsv.xz in {data}; make them with “python -m xformer "
                            f"data translation --out {data}”, or write English, a tab, Spanish on each line.")
    try:
        pairs = {name: read_pairs(path) if path else [] for name, path in files.items()}
        options = given(args, loop.Options, schedule=args.schedule or ("noam" if args.norm == "post" else "cosine"))
        roughening = Roughening(*[0.0] * 6) if args.no_roughening else Roughening()
        distributed = "WORLD_SIZE" in os.environ and int(os.environ["WORLD_SIZE"]) > 1
        device = torch.device(args.device) if args.device else loop.best_device()
        if args.threads:
            torch.set_num_threads(args.threads)
        out.mkdir(parents=True, exist_ok=True)
        if distributed:
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
            if device.type == "cuda":
                torch.cuda.set_device(device)
        torch.manual_seed(options.seed)
        model, tokenizer = _beginning(args, out, [*pairs["train"], *pairs["extra"]], distributed)
        batches = TranslationBatches(tokenizer, pairs["train"], pairs["extra"], extra_weight=args.extra_weight,
                                     batch_tokens=args.batch_tokens, max_pieces=args.max_pieces,
                                     roughening=roughening, sampled=args.sampled, seed=options.seed)
        task = TranslationTask(model, tokenizer, batches, pairs["dev"][:args.dev_limit], args.smoothing)
    except ValueError as error:
        raise error if isinstance(error, UserError) else UserError(f"Training cannot start: {error}.") from error
    trainer = loop.Trainer(task, out, options, device)
    if trainer.rank == 0:
        print(f"{model.parameter_count():,} parameters on {device}, {trainer.processes} process(es), "
              f"{len(pairs['train']):,} pairs and {len(pairs['extra']):,} extra, from step {trainer.step}", flush=True)
    try:
        return trainer.train()
    finally:
        if distributed:
            dist.destroy_process_group()


def _beginning(args: Namespace, out: Path, pairs: list[tuple[str, str]], distributed: bool
               ) -> tuple[Transformer, Tokenizer]:
    """The model to train: that of an interrupted run, of the checkpoint `--from`, or a new one."""
    if (out / "state.pt").is_file():
        config = Config(**json.loads((out / "config.json").read_text(encoding="utf-8")))
        return Transformer(config), Tokenizer.load(out / "tokenizer.model")
    if args.start:
        start = checkpoint.load(args.start)
        config = Config(**{**start.model.config.to_dict(), "dropout": args.dropout})
        model, tokenizer = Transformer(config), start.tokenizer
        model.load_state_dict(start.model.state_dict())
    else:
        if not distributed or dist.get_rank() == 0:
            checkpoint.write(out / "tokenizer.model", vocabulary(pairs, args.vocab_size).model)
        if distributed:
            dist.barrier()
        tokenizer = Tokenizer.load(out / "tokenizer.model")
        model = Transformer(given(args, Config, vocab_size=len(tokenizer)))
    if not distributed or dist.get_rank() == 0:
        checkpoint.write(out / "tokenizer.model", tokenizer.model)
        checkpoint.write(out / "config.json", (json.dumps(model.config.to_dict(), indent=2) + "\n").encode())
    return model, tokenizer
