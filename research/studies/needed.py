"""Which input does an output need, and does a model read it there? The gradient of the
log-probability of each translated word by the inputs, on pairs aligned by hand.

The length of a path in an architecture says what can be carried, not what is: this
measures how much of the gradient lies on the word that is translated.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from xformer.explain.alignment import Gold, grouped, read_gold
from xformer.hub import checkpoint
from xformer.model import Transformer, padding_mask
from xformer.pieces import BOS, EOS, PAD
from xformer.recurrent import RecurrentTranslator, State
from xformer.results import GENERATIONS
from xformer.tokenizer import Tokenizer
from xformer.translator import Translator

JOINED = (1, 2, 3, 4)  # sentences that are read as one


def gradients(
    model: Translator, source: Sequence[int], target: Sequence[int]
) -> Tensor:
    """-> (T, S), ‖d ln P(target[t] | source, target before t) / d x[s]‖, x the embedded
    pieces of a source that ends with EOS.

    The source is read T times at once, one row a piece of the target, so that one pass
    backwards is enough.
    """
    rows = len(target)
    tokens = torch.tensor([source]).expand(rows, -1)
    given = torch.tensor([[BOS, *target[:-1]]]).expand(rows, -1)
    if isinstance(model, Transformer):
        x = model.embedding(tokens).detach().requires_grad_()
        mask = padding_mask(tokens)
        logits = model.decode(given, model.encoder(x, mask), mask)
    else:
        x = model.embed(tokens).detach().requires_grad_()
        logits = _recurrent(model, x, tokens, given)
    each = torch.arange(rows)
    wanted = logits[each, each].log_softmax(-1)[each, torch.tensor(target)]
    (moved,) = torch.autograd.grad(wanted.sum(), x)
    return moved.norm(dim=-1)


def _recurrent(
    model: RecurrentTranslator, x: Tensor, tokens: Tensor, given: Tensor
) -> Tensor:
    """`RecurrentTranslator.forward` from embedded pieces x [B, S, D]."""
    mask = tokens != PAD
    memory, last = model.encoder(x, mask)
    states = [
        torch.tanh(first(state))
        for first, state in zip(model.first_states, last, strict=True)
    ]
    keys = model.attention.of_key(memory) if model.attention else None
    at = State(memory, mask, keys, last[-1], states)
    y = model.embed(given)
    read = [model.advance(y[:, i], at) for i in range(y.shape[1])]
    return model.logits(torch.stack(read, dim=1))


def joined(
    pairs: Sequence[Gold], tokenizer: Tokenizer
) -> tuple[list[int], list[int], dict[int, set[int]]]:
    """Join pairs into one -> the pieces of both sides, and for the first piece of each
    word of the target with sure links the places in the source of what it translates."""
    source: list[int] = []
    target: list[int] = []
    needed: dict[int, set[int]] = {}
    for pair in pairs:
        sides = [tokenizer.encode(text) for text in (pair.english, pair.spanish)]
        words, translated = ([*grouped(tokenizer.pieces(side))] for side in sides)
        for i, j in pair.sure:
            places = {len(source) + place for place in words[i][1]}
            needed.setdefault(len(target) + translated[j][1][0], set()).update(places)
        source += sides[0]
        target += sides[1]
    return source, target, needed


def measure(folder: Path, gold: Sequence[Gold], count: int) -> dict[str, float]:
    """Measure a checkpoint on `count` sentences read as one, again and again -> means
    over the words: the `share` of the gradient on what a word translates, without EOS,
    what it would be by `chance`, how often the largest is there (`first`), ln P, and
    the number of `words` and of source `pieces`."""
    loaded = checkpoint.load_translator(folder)
    model = loaded.model.eval()
    rows = list[tuple[float, ...]]()
    for at in range(0, len(gold) - count + 1, count):
        source, target, needed = joined(gold[at : at + count], loaded.tokenizer)
        norms = gradients(model, [*source, EOS], target)[:, :-1]
        for word, places in needed.items():
            own = norms[word]
            there = own[sorted(places)].sum() / own.sum()
            rows.append(
                (
                    float(there),
                    len(places) / len(source),
                    float(int(own.argmax()) in places),
                    len(source),
                )
            )
    share, chance, first, pieces = (
        sum(column) / len(rows) for column in zip(*rows, strict=True)
    )
    return {
        "share": round(share, 4),
        "chance": round(chance, 4),
        "first": round(first, 4),
        "words": len(rows),
        "pieces": round(pieces, 1),
    }


def record(checkpoints: Path, out: Path) -> Iterator[str]:
    """Measure the four generations, the quickest first, and write them to a file -> a
    line for each."""
    gold = read_gold()
    found: dict[str, list[dict[str, float]]] = {}
    for name in reversed(GENERATIONS):
        found[name] = []
        for count in JOINED:
            one = measure(checkpoints / name, gold, count)
            found[name].append({"sentences": count, **one})
            yield f"{name:14}{count} " + " ".join(f"{k} {v}" for k, v in one.items())
    ordered = {name: found[name] for name in GENERATIONS}
    out.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
