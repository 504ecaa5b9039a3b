"""A lecture's translator made small, without masks and with them: what it scores on the
sentences that it learned from, and on new ones."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from research.options import UnmaskedRuns
from xformer.explain import archives, whole_sentences
from xformer.explain.whole_sentences import Vocabulary, text_of, words
from xformer.results import UserError
from xformer.serve.bleu import bleu, corpus_bleu
from xformer.training.data.corpora import Pair
from xformer.whole_sentence import EOS, Config, WholeSentence

KINDS = {"unmasked": False, "masked": True}
MARKED = 2  # SOS and EOS stand in the ten words of a sentence
WARMUP = 200  # steps
SCORED = 500  # sentences, of those that were learned and of new ones
TRIED = 40  # pairs of each, from which the page takes some to try
LEVELS = 127  # of a weight of 8 bits, on either side of 0
Words = tuple[tuple[str, ...], tuple[str, ...]]


def short(pairs: Sequence[Pair], most: int) -> list[Words]:
    """The pairs of at most `most` words in either language, each English sentence once,
    in an order by chance."""
    found = dict[tuple[str, ...], tuple[str, ...]]()
    for english, spanish in pairs:
        one, other = tuple(words(english)), tuple(words(spanish))
        if 0 < len(one) <= most and 0 < len(other) <= most:
            found.setdefault(one, other)
    kept = [*found.items()]
    random.Random(0).shuffle(kept)
    return kept


def vocabulary_of(pairs: Sequence[Words]) -> Vocabulary:
    """The words of some pairs, in the order of the alphabet after the marks."""
    return Vocabulary(
        *(
            (
                *whole_sentences.MARKS,
                *sorted({word for pair in pairs for word in pair[side]}),
            )
            for side in (0, 1)
        )
    )


def tensors(
    pairs: Sequence[Words], vocabulary: Vocabulary, length: int
) -> tuple[Tensor, Tensor]:
    """Numbers [pairs, length] of both sides."""
    known = [vocabulary.known(side) for side in ("source", "target")]
    found = torch.full((2, len(pairs), length), EOS)
    found[:, :, 0] = 0
    for row, pair in enumerate(pairs):
        for side in (0, 1):
            numbers = [known[side][word] for word in pair[side]]
            found[side, row, 1 : len(numbers) + 1] = torch.tensor(numbers)
    return found[0], found[1]


def _coarse(tensor: Tensor) -> dict[str, np.ndarray]:
    """A matrix in 8 bits with a scale for each row, anything else in half precision."""
    values = tensor.detach().float().cpu().numpy()
    if values.ndim < 2:
        return {"": values.astype(np.float16)}
    scale = np.abs(values).max(axis=1, keepdims=True).clip(1e-8) / LEVELS
    scale = scale.astype(np.float16).astype(np.float32)
    rounded = np.rint(values / scale).clip(-LEVELS, LEVELS)
    return {"": rounded.astype(np.int8), "/scale": scale.astype(np.float16)}


def save(
    path: Path,
    models: Mapping[str, WholeSentence],
    vocabulary: Vocabulary,
    about: Mapping[str, Any],
) -> None:
    """Write the file that `whole_sentences.load` reads."""
    arrays = dict[str, Any]()
    for side in whole_sentences.SIDES:
        arrays[side] = "\n".join(getattr(vocabulary, side)).encode()
    for name, model in models.items():
        for key, tensor in model.state_dict().items():
            for part, array in _coarse(tensor).items():
                arrays[f"{name}:{key}{part}"] = array
    configs = {name: model.config.to_dict() for name, model in models.items()}
    archives.write(path, {**about, "configs": configs}, arrays)


def scores(
    model: WholeSentence, pairs: Sequence[Words], vocabulary: Vocabulary
) -> dict[str, float]:
    """How well pairs are translated. "given": share of right words where the decoder is
    given the translation, the first EOS counted. For "turn", each word given before
    the next, and "once", all from a stub: the share of right words in their places, of
    sentences without a fault ("exact_"), and BLEU ("bleu_")."""
    source, target = tensors(pairs, vocabulary, model.config.words)
    wanted = target[:, 1:]
    counted = F.pad(wanted[:, :-1] != EOS, (1, 0), value=True)
    with torch.inference_mode():
        given = model(source, target).argmax(-1)
    ways = {
        "given": given,
        "turn": model.write_in_turn(source)[:, 1:],
        "once": model.write_at_once(source)[:, 1:],
    }
    found = {}
    for name, written in ways.items():
        right = (written == wanted) & counted
        found[name] = round(float(right.sum() / counted.sum()), 4)
        if name == "given":
            continue
        exact = (written == wanted).all(dim=1).float().mean()
        found[f"exact_{name}"] = round(float(exact), 4)
        found[f"bleu_{name}"] = round(
            corpus_bleu(
                [
                    bleu(text_of(row, vocabulary.target), " ".join(pair[1]))
                    for row, pair in zip(written.tolist(), pairs, strict=True)
                ]
            ),
            2,
        )
    return found


def train(
    model: WholeSentence, source: Tensor, target: Tensor, options: UnmaskedRuns
) -> float:
    """Train a model; -> the loss of the last batch. Each pair is seen once an epoch."""
    optimizer = torch.optim.Adam(model.parameters(), options.peak, betas=(0.9, 0.98))
    chance = torch.Generator().manual_seed(0)
    order = torch.empty(0, dtype=torch.long)
    loss = torch.tensor(math.inf)
    for step in range(options.steps):
        rate = min((step + 1) / WARMUP, 1) * options.peak
        optimizer.param_groups[0]["lr"] = rate * (
            0.5 + 0.5 * math.cos(math.pi * step / options.steps)
        )
        if not len(order):
            order = torch.randperm(len(source), generator=chance)
        rows = order[: options.rows]
        order = order[options.rows :]
        logits = model(source[rows], target[rows])
        loss = F.cross_entropy(logits.flatten(0, 1), target[rows, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return round(float(loss.detach()), 4)


def unknown(pairs: Sequence[Words], vocabulary: Vocabulary) -> dict[str, float]:
    """Shares of English words, and of sentences with at least one, that are not in the
    vocabulary."""
    known = {*vocabulary.source}
    missing = [[word not in known for word in english] for english, _ in pairs]
    return {
        "words": round(sum(map(sum, missing)) / sum(map(len, missing)), 4),
        "sentences": round(sum(map(any, missing)) / len(missing), 4),
    }


def record(
    options: UnmaskedRuns, train_pairs: Sequence[Pair], out: Path
) -> Iterator[str]:
    """Make every run that the folder `out` does not hold yet, a file each; at the end
    write unmasked.npz, what the page reads: the models of the first seed, and what all
    scored. Yields what is to be said."""
    out.mkdir(parents=True, exist_ok=True)
    length = Config(0, 0, False).words
    pairs = short(train_pairs, length - MARKED)
    learned = pairs[: options.pairs]
    rest = pairs[options.pairs :]
    vocabulary = vocabulary_of(learned)
    known = [{*vocabulary.source}, {*vocabulary.target}]
    new = [
        *islice(
            (pair for pair in rest if all(map(set.issuperset, known, map(set, pair)))),
            SCORED,
        )
    ]
    if not new:
        raise UserError(
            "No pair is left to score with: give more pairs in --data, or learn from fewer with --pairs."
        )
    yield f"{len(learned)} pairs to learn from, {len(new)} new ones"
    runs = []
    for seed in range(options.seeds):
        for kind, masked in KINDS.items():
            path = out / f"{kind}-{seed}.npz"
            if not path.is_file():
                _make(options, learned, new, vocabulary, masked, seed, path)
            kept = whole_sentences.load(path)
            runs.append(kept.about["run"])
            yield f"{kind}, seed {seed}: {runs[-1]}"
    firsts = {
        kind: whole_sentences.load(out / f"{kind}-0.npz").models[kind] for kind in KINDS
    }
    save(
        out / "unmasked.npz",
        firsts,
        replace(vocabulary, wide=vocabulary_of(pairs).source),
        {
            "all_pairs": len(pairs),
            "runs": runs,
            "pairs": len(learned),
            "new": len(new),
            "unknown": unknown(rest[:5_000], vocabulary),
            "options": {
                name: getattr(options, name)
                for name in ("steps", "rows", "peak", "d_model")
            },
            "tried": {"own": _tried(learned), "new": _tried(new)},
        },
    )


def _make(
    options: UnmaskedRuns,
    learned: Sequence[Words],
    new: Sequence[Words],
    vocabulary: Vocabulary,
    masked: bool,
    seed: int,
    path: Path,
) -> None:
    """Train one model and write it; scored is what the file holds."""
    torch.manual_seed(seed)
    model = WholeSentence(
        Config(
            len(vocabulary.source),
            len(vocabulary.target),
            masked,
            d_model=options.d_model,
        )
    )
    began = time.monotonic()
    source, target = tensors(learned, vocabulary, model.config.words)
    run: dict[str, Any] = {
        "masked": masked,
        "seed": seed,
        "loss": train(model, source, target, options),
        "seconds": round(time.monotonic() - began),
        "weights": sum(one.numel() for one in model.parameters()),
    }
    kind = next(name for name, is_masked in KINDS.items() if is_masked == masked)
    save(path, {kind: model}, vocabulary, {"run": run})
    kept: Mapping[str, WholeSentence] = whole_sentences.load(path).models
    run["own"] = scores(kept[kind], learned[:SCORED], vocabulary)
    run["new"] = scores(kept[kind], new, vocabulary)
    save(path, {kind: model}, vocabulary, {"run": run})


def _tried(pairs: Sequence[Words]) -> list[list[str]]:
    """Some pairs that are neither very short nor the longest."""
    middle = (pair for pair in pairs if 4 <= len(pair[0]) <= 7 and len(pair[1]) >= 4)
    return [[" ".join(side) for side in pair] for pair in islice(middle, TRIED)]
