"""An autoencoder of short sentences of film reviews, which the Model tab feeds, and its
denoising twin, which learns from spoiled ones."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from research.options import AutoencoderRun
from xformer.autoencoder import Autoencoder, AutoencoderConfig
from xformer.explain import archives, autoencoders
from xformer.pieces import BOS, EOS, distance
from xformer.results import UserError, write_whole
from xformer.serve.reviews import tidy
from xformer.tokenizer import Tokenizer
from xformer.training.data.reviews import Example, ReviewBatches, encode_texts
from xformer.training.loop import Task, Trainer
from xformer.training.options import TrainingOptions
from xformer.training.tasks import SmoothedCrossEntropy
from xformer.translator import pad

CPU = torch.device("cpu")
END = re.compile(r"(?<=[.!?])\s+")
PLAIN = re.compile(r"[A-Z][A-Za-z0-9 ',:;-]*[.!?]")  # of what a sentence is made
WORDS = (2, 12)  # the fewest and the most of a sentence
VOCABULARY_TEXTS = 60_000
SCORED = 200  # held-out sentences that are scored on the way


def sentences(reviews: Iterable[str]) -> list[str]:
    """The short plain sentences of reviews, each once, in the order of the alphabet."""
    found = set()
    for review in reviews:
        for part in review.split("<br />"):
            for one in END.split(part.strip()):
                if PLAIN.fullmatch(one) and WORDS[0] <= len(one.split()) <= WORDS[1]:
                    found.add(tidy(one))
    return sorted(found)


def spoiled(
    pieces: Sequence[int], drop: float, delay: float, chance: random.Random
) -> list[int]:
    """Leave out each piece with probability `drop`, but one; then let each change
    places with the next with probability `delay`, so that it comes a step late."""
    kept = [piece for piece in pieces if chance.random() >= drop] or [*pieces[:1]]
    at = 0
    while at < len(kept) - 1:
        if chance.random() < delay:
            kept[at : at + 2] = kept[at + 1], kept[at]
            at += 1
        at += 1
    return kept


def save(
    path: Path, model: Autoencoder, tokenizer: Tokenizer, metrics: dict[str, Any]
) -> None:
    """Write the file that `autoencoders.load` reads."""
    weights = {
        autoencoders.WEIGHT + name: tensor.detach().half().cpu().numpy()
        for name, tensor in model.state_dict().items()
    }
    archives.write(
        path,
        {"config": model.config.to_dict(), "metrics": metrics},
        {"vocabulary": tokenizer.model, **weights},
    )


def scores(
    model: Autoencoder,
    tokenizer: Tokenizer,
    texts: Sequence[Sequence[int]],
    drop: float,
    delay: float,
) -> dict[str, float]:
    """How well sentences, pieces without marks, come back: by width the share of them
    that is the same ("exact"), and the mean share of pieces that need not be changed
    ("pieces"); with the sentences as they are, and spoiled."""
    found = {}
    chance = random.Random(0)
    noisy = [spoiled(text, drop or 0.15, delay or 0.15, chance) for text in texts]
    for name, given in (("", texts), ("noisy_", noisy)):
        tokens = pad([[BOS, *text, EOS] for text in given])
        for width in model.config.widths:
            with torch.inference_mode():
                written = model.write(model.encode(tokens, width))
            pairs = [*zip(texts, written, strict=True)]
            exact = sum([*text] == own for text, own in pairs)
            kept = sum(
                1 - distance(text, own) / max(len(text), len(own))
                for text, own in pairs
            )
            found[f"{name}exact_{width}"] = round(exact / len(pairs), 4)
            found[f"{name}pieces_{width}"] = round(kept / len(pairs), 4)
    return found


class AutoencoderTask(Task):
    """The `loop.Task` of giving texts back: a width of the bottleneck is drawn for each
    batch."""

    score = "mean"

    def __init__(
        self,
        model: Autoencoder,
        tokenizer: Tokenizer,
        texts: Sequence[Example],
        held_out: Sequence[Sequence[int]],
        options: AutoencoderRun,
        out: Path,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.data = ReviewBatches(
            [(texts, 1.0)],
            batch_pieces=options.rows * options.length,
            batch_rows=options.rows,
            seed=options.seed,
        )
        self.held_out = held_out
        self.options = options
        self.out = out

    def weight(self, batch: Sequence[Example]) -> int:
        return sum(len(pieces) - 1 for _, pieces in batch)

    def loss(
        self, model: nn.Module, batch: Sequence[Example], device: torch.device
    ) -> Tensor:
        """Sum the cross-entropy of each piece, given the code and those before it, a
        share of which are hidden: what is written has to come from the code."""
        how = self.options
        read = model if isinstance(model, Autoencoder) else self.model
        chance = random.Random(int(torch.randint(1 << 30, ())))
        texts = [pieces.tolist() for _, pieces in batch]
        tokens = pad(texts, device)
        seen = tokens
        if how.drop or how.delay:
            seen = pad(
                [
                    [BOS, *spoiled(text[1:-1], how.drop, how.delay, chance), EOS]
                    for text in texts
                ],
                device,
            )
        given = tokens[:, :-1]
        hidden = (torch.rand(given.shape) < how.hidden) & (given > EOS)
        code = read.encode(seen, chance.choice(read.config.widths))
        logits = read.decode(code, given.masked_fill(hidden, 1))
        return SmoothedCrossEntropy.apply(
            logits.flatten(0, 1), tokens[:, 1:].flatten(), 0.0
        )

    def evaluate(self, precision: str = "float32") -> dict[str, float]:
        """Score held-out sentences, in full precision."""
        how = self.options
        found = scores(
            self.model, self.tokenizer, self.held_out[:SCORED], how.drop, how.delay
        )
        name = "noisy_pieces_" if how.drop or how.delay else "pieces_"
        own = [value for key, value in found.items() if key.startswith(name)]
        return {**found, "mean": round(sum(own) / len(own), 4)}

    def save(self, folder: Path, metrics: dict[str, Any]) -> None:
        save(self.out, self.model, self.tokenizer, metrics)


def _vocabulary(options: AutoencoderRun, texts: Sequence[str]) -> Tokenizer:
    """That which is asked for, or one learned from the texts and kept in `out`."""
    known = options.vocabulary or options.out / "tokenizer.model"
    if not known.is_file():
        some = random.Random(0).sample(texts, min(VOCABULARY_TEXTS, len(texts)))
        made = Tokenizer.train(some, options.pieces, threads=1, fold_case=True)
        write_whole(known, made.model)
    return Tokenizer.load(known)


def record(
    options: AutoencoderRun,
    reviews: Sequence[str],
    held_out: Sequence[str],
) -> Iterator[str]:
    """Train, or go on where it was stopped; yield what is to be said. The folder `out`
    gets the state of the run, and model.npz, what the page reads."""
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    texts = sentences(reviews)
    begun = autoencoders.load(options.start) if options.start else None
    tokenizer = begun.tokenizer if begun else _vocabulary(options, texts)
    short = [
        (0, pieces)
        for pieces in encode_texts(tokenizer, texts)
        if len(pieces) <= options.length
    ]
    seen = {*texts}
    other = [one for one in sentences(held_out) if one not in seen]
    random.Random(0).shuffle(other)
    apart = [
        pieces.tolist()[1:-1]
        for pieces in encode_texts(tokenizer, other)
        if len(pieces) <= options.length
    ][: options.held_out]
    if not apart:
        raise UserError(
            f"No sentence is held out: of the other reviews none has a short one of at "
            f"most {options.length} pieces that is not learned; give other reviews."
        )
    yield f"{len(short)} sentences to learn from, {len(apart)} held out"
    torch.manual_seed(options.seed)
    model = Autoencoder(
        AutoencoderConfig(
            vocab_size=len(tokenizer),
            d_model=options.d_model,
            n_heads=4,
            n_layers=options.layers,
            d_ff=options.d_ff,
            dropout=0.0,
            max_length=options.length,
        )
    )
    if begun:
        model.load_state_dict(begun.model.state_dict())
    task = AutoencoderTask(model, tokenizer, short, apart, options, out / "model.npz")
    training = TrainingOptions(
        steps=options.steps,
        peak=options.peak,
        seed=options.seed,
        precision=options.precision,
        evaluate_minutes=3,
        save_minutes=2,
    )
    Trainer(cast(Task, task), out, training, CPU).train()
    kept = autoencoders.load(task.out)
    found = scores(kept.model, kept.tokenizer, apart, options.drop, options.delay)
    metrics = {**kept.metrics, **found, "held_out": len(apart), "texts": len(short)}
    save(task.out, kept.model, kept.tokenizer, metrics)
    yield f"{model.parameter_count()} weights: {found}"
