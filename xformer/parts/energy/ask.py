"""The energy of translations: E(x, y) = −ln P(y | x), by one pass over all of them; and
texts that come back out of an autoencoder.

LeCun et al., "A tutorial on energy-based learning" (2006). Axes as in `model.py`.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from xformer.explain import autoencoders
from xformer.explain.autoencoders import Kept
from xformer.model import Transformer, future_mask
from xformer.pieces import BOS, EOS, PAD, distance
from xformer.results import (
    Energies,
    Energy,
    EnergySource,
    GiveBack,
    GivenBack,
    MeasureEnergies,
    Message,
    UserError,
)
from xformer.serve.answers import Answers
from xformer.serve.protocol import Progress
from xformer.serve.reviews import tidy
from xformer.translator import pad

FILE = Path(__file__).with_name("autoencoder.npz")  # `research study autoencoder`
SCORES = ("exact", "pieces")
kept = cache(autoencoders.load)


def passed(
    model: Any, source: Tensor, given: Tensor
) -> tuple[Tensor, Tensor, Tensor | None]:
    """source [1, S] and what the decoder is given [N, T] -> logits [N, T, V], the
    encoder's states [1, S, D], and the decoder's [N, T, D]: None for a recurrent
    model."""
    if not isinstance(model, Transformer):
        logits = model(source.expand(len(given), -1), given)
        return logits, model.encode(source).memory, None
    memory, mask = model.encode(source)
    states = model.decoder(
        model.embedding(given),
        future_mask(given.shape[1], given.device),
        model.decoder.memories(memory, mask),
    )
    return model.logits(states), memory, states


@torch.inference_mode()
def measure(
    service: Any, asked: MeasureEnergies, progress: Progress | None = None
) -> Energies:
    """Answer `results.MeasureEnergies`. Raises UserError for too many targets."""
    if not 1 <= len(asked.targets) <= asked.MOST:
        raise UserError(
            Message.of("energy_error_count", count=len(asked.targets), most=asked.MOST)
        )
    pairs = [service.pair(asked.source, target) for target in asked.targets]
    model = service.model
    tokenizer = service.tokenizer
    device = model.device
    with service.guard.work():
        source = torch.tensor([pairs[0].source], device=device)
        given = pad([pair.given for pair in pairs], device)
        wanted = pad([pair.predicted for pair in pairs], device)
        logits, memory, states = passed(model, source, given)
        parts = -logits.float().log_softmax(-1).gather(-1, wanted[..., None])[..., 0]
        lengths = None if states is None else states.float().norm(dim=-1)
    real = wanted != PAD
    return Energies(
        EnergySource(
            tuple(tokenizer.pieces(pairs[0].source)),
            logits.shape[-1],
            float(memory.float().norm(dim=-1).mean()),
        ),
        tuple(
            Energy(
                tokenizer.decode(pair.predicted[:-1]),
                tuple(tokenizer.pieces(pair.predicted)),
                tuple(parts[i, real[i]].tolist()),
                None if lengths is None else float(lengths[i, real[i]].mean()),
            )
            for i, pair in enumerate(pairs)
        ),
    )


def read(one: Kept, text: str) -> list[int]:
    """The pieces of a text, without marks. Raises UserError where there are none, too
    many, or some that the autoencoder does not know."""
    pieces = one.tokenizer.encode(tidy(text))
    if unknown := one.tokenizer.unknown(tidy(text)):
        raise UserError(
            Message.of("autoencoder_error_unknown", pieces=" ".join(unknown)[:40])
        )
    most = one.model.config.max_length - 2
    if not pieces:
        raise UserError(Message.of("autoencoder_error_empty"))
    if len(pieces) > most:
        raise UserError(
            Message.of("autoencoder_error_long", pieces=len(pieces), most=most)
        )
    return pieces


def codes(one: Kept, texts: Sequence[Sequence[int]], width: int) -> Tensor:
    """The codes [B, C] of texts, pieces without marks."""
    device = one.model.device
    return one.model.encode(pad([[BOS, *text, EOS] for text in texts], device), width)


@torch.inference_mode()
def give_back(
    service: Any, asked: GiveBack, progress: Progress | None = None
) -> GivenBack:
    """Answer `results.GiveBack`. Raises UserError for a text that it cannot read, and
    for another width than those that it was trained in."""
    one = kept(FILE)
    widths = one.model.config.widths
    if asked.width not in widths:
        raise UserError(
            Message.of(
                "autoencoder_error_width",
                width=asked.width,
                widths=", ".join(map(str, widths)),
            )
        )
    text = read(one, asked.text)
    other = read(one, asked.other) if asked.other.strip() else []
    with service.guard.work():
        written = [one.model.write(codes(one, [text], width))[0] for width in widths]
        line = _line(one, text, other, asked) if other else ()
        code = codes(one, [text], max(widths))[0]
    names = ["held_out", *(f"{score}_{width}" for score in SCORES for width in widths)]
    return GivenBack(
        one.tokenizer.decode(text),
        widths,
        tuple(map(one.tokenizer.decode, written)),
        tuple(1 - distance(text, own) / max(len(text), len(own)) for own in written),
        {name: one.metrics[name] for name in names},
        tuple(code.tolist()),
        line,
    )


def _line(
    one: Kept, text: Sequence[int], other: Sequence[int], asked: GiveBack
) -> tuple[tuple[float, str], ...]:
    """Texts at equal steps on the straight line between two codes."""
    ends = codes(one, [text, other], asked.width)
    shares = torch.linspace(0, 1, asked.STEPS)[:, None]
    written = one.model.write(torch.lerp(ends[:1], ends[1:], shares))
    return tuple(
        (round(share, 4), one.tokenizer.decode(own))
        for share, own in zip(shares[:, 0].tolist(), written, strict=True)
    )


ANSWERS: Answers = {MeasureEnergies: measure, GiveBack: give_back}
