"""Why this piece and not that one: a difference of two logits taken apart, and how much
came from which side.

Functions of a model and the tokens of a pair, as in `passes.py`. Axes as in `model.py`;
steps count from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xformer.device import use_threads
from xformer.explain.passes import Pair, Pause
from xformer.explain.stream import SIDES, Step, steps
from xformer.model import Transformer, future_mask
from xformer.pieces import BOS, PAD
from xformer.results import (
    STACKS,
    AskWhy,
    Message,
    SwapHeads,
    TellSides,
    UserError,
    Why,
)
from xformer.serve.answers import Answers, of_pair
from xformer.serve.protocol import Progress
from xformer.tokenizer import Tokenizer

PIECES = 2_560  # in a batch of passes along the way of integrated gradients
# stretches of that way at first, and passes along it at most
FIRST = 16
MOST = 512
# it is long enough in steps when the sum misses by at most this share, or by these nats
NEAR = 0.02
NATS = 0.01


def toward(
    model: Transformer, pair: Pair, step: int, rival: int
) -> tuple[Tensor, float]:
    """Return w [D] and b such that logit(piece) − logit(rival) = state · w + b, for the
    piece at a step and the decoder's last state."""
    piece = pair.predicted[step]
    bias = getattr(model, "output_bias", None)
    wanted = (model.embedding.weight[piece] - model.embedding.weight[rival]).float()
    return wanted, 0.0 if bias is None else float(bias[piece] - bias[rival])


def _answers(one: Step) -> Tensor:
    """What each head of an attention answers, before W_O: [H, Q, d]"""
    [call] = one.record.calls or []
    return (one.record.probabilities[0].to(call.v.dtype) @ call.v)[0]


@torch.inference_mode()
def shares(
    model: Transformer, pair: Pair, step: int, rival: int
) -> tuple[np.ndarray, tuple[float, float, float]]:
    """Take logit(piece) - logit(rival) at a step apart, exactly: what each head and
    each feed-forward network adds, as in `results.Why.adds`, and what the embedding,
    the position and the biases do. nostalgebraist 2020; Elhage et al. 2021, "direct
    logit attribution".

    Each normalisation that the stream goes through (one at the end of a pre-norm
    decoder, one after each sub-layer of a post-norm one) divides by the standard
    deviation that it has in this pass; then all terms are linear.
    """
    done = [*steps(model, pair, "decoder")]
    wanted, constant = toward(model, pair, step, rival)
    found = list[Tensor]()

    def before(norm: Any, x: Tensor) -> None:
        """Go back through a normalisation of x [1, T, D]."""
        nonlocal wanted, constant
        constant += float(wanted @ norm.bias.float())
        wanted = (
            wanted
            * norm.weight.float()
            / (x[0, step].float().var(correction=0) + norm.eps).sqrt()
        )
        wanted = wanted - wanted.mean()

    if model.config.norm == "pre":
        before(model.decoder.norm, done[-1].after)
    for one in reversed(done):
        if model.config.norm == "post":
            before(one.residual.norm, one.state + one.added)
        if one.name == "feed_forward":
            found.append(one.added[0, step : step + 1].float() @ wanted)
        else:
            found.append(
                one.sublayer.shares(_answers(one)[None, :, step : step + 1])[
                    0, :, 0
                ].float()
                @ wanted
            )
            constant += float(wanted @ one.sublayer.out_proj.bias.float())
    place = model.embedding.positions[step].float()
    adds = torch.cat(found[::-1]).view(model.config.decoder_layers, -1).cpu().numpy()
    return adds, (
        float((done[0].state[0, step].float() - place) @ wanted),
        float(place @ wanted),
        constant,
    )


@torch.no_grad()
def gradients(
    model: Transformer, pair: Pair, step: int, rival: int, pause: Pause = lambda: None
) -> tuple[np.ndarray, np.ndarray, float]:
    """What each source piece (2, S) and each piece given (2, step + 1) does for the
    difference of two logits.

    The first row is contrastive gradient x input (Yin and Neubig 2022), which holds for
    small changes. The second is integrated gradients (Sundararajan et al. 2017) on the
    way from average pieces, between the same <s> and </s>; they should sum to what the
    difference changes by along it, which is returned too. So how far a stretch of the
    way is off is known, and by Simpson's rule those that are far off are halved, until
    all together miss by little.
    """
    wanted, _ = toward(model, pair, step, rival)
    rows = (pair.source, pair.given[: step + 1])
    at = [model.embedding.positions[: len(row)] for row in rows]
    own = [
        model.embedding(torch.tensor([row], device=place.device))[0] - place
        for row, place in zip(rows, at, strict=True)
    ]
    average = model.embedding.weight.mean(dim=0) * model.config.d_model**0.5
    # from average pieces to these
    ways = [
        (one - average).index_fill(0, torch.tensor(kept, device=one.device), 0.0)
        for one, kept in zip(own, (len(rows[0]) - 1, 0), strict=True)
    ]

    def passes(scales: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The differences at parts of the way, and their slopes [N, L, D] by both
        sides' embeddings."""
        every = list[tuple[Tensor, ...]]()
        differences = list[Tensor]()
        for some in scales.to(own[0]).split(max(1, PIECES // len(rows[0] + rows[1]))):
            with torch.enable_grad():
                inputs = [
                    (one - (1 - some[:, None, None]) * way).requires_grad_()
                    for one, way in zip(own, ways, strict=True)
                ]
                memories = model.decoder.memories(
                    model.encoder(inputs[0] + at[0], None), None
                )
                states = model.decoder(
                    inputs[1] + at[1],
                    future_mask(len(rows[1]), wanted.device),
                    memories,
                )
                found = states[:, -1].float() @ wanted
                every.append(torch.autograd.grad(found.sum(), inputs))
            differences.append(found.detach())
            pause()
        return torch.cat(differences), [
            torch.cat(slopes) for slopes in zip(*every, strict=True)
        ]

    def along(scales: Tensor) -> tuple[Tensor, Tensor]:
        """The differences there, and how each piece moves them, [N, S + step + 1]."""
        differences, slopes = passes(scales)
        moves = [
            (slope * way).float().sum(dim=-1)
            for slope, way in zip(slopes, ways, strict=True)
        ]
        return differences.double().cpu(), torch.cat(moves, dim=1).double().cpu()

    # The pieces move it most, and in the sharpest turns, where they are near the
    # average.
    ends = (torch.arange(FIRST + 1, dtype=torch.float64) / FIRST) ** 2
    scales = torch.cat((ends, (ends[1:] + ends[:-1]) / 2)).sort().values
    differences, moves = along(scales)
    while True:  # a stretch is an odd row, in its middle, between two even ones
        change = differences[-1] - differences[0]
        sizes = (scales[2::2] - scales[:-1:2])[:, None]
        parts = sizes * (moves[:-1:2] + 4 * moves[1::2] + moves[2::2]) / 6
        missed = parts.sum(dim=1) - (differences[2::2] - differences[:-1:2])
        bound = max(NATS, NEAR * abs(float(change)))
        if (abs(missed.sum()) <= bound and missed.norm() <= bound) or len(
            scales
        ) >= MOST:
            break
        far = torch.minimum(
            missed.abs().max(), torch.tensor(bound / len(missed) ** 0.5)
        )
        halved = (missed.abs() >= far).repeat_interleave(2)
        new = ((scales[1:] + scales[:-1]) / 2)[halved]
        more = along(new)
        scales, order = torch.cat((scales, new)).sort()
        differences, moves = (
            torch.cat(both)[order]
            for both in ((differences, more[0]), (moves, more[1]))
        )
    integrated = parts.sum(dim=0).float().split([len(row) for row in rows])
    small = [
        (slope[0] * one).float().sum(dim=-1).cpu()
        for slope, one in zip(passes(torch.ones(1))[1], own, strict=True)
    ]
    by_source, by_given = (
        torch.stack(both).numpy() for both in zip(small, integrated, strict=True)
    )
    return by_source, by_given, float(change)


@torch.inference_mode()
def swapped(
    model: Transformer,
    pair: Pair,
    step: int,
    rival: int,
    twin: Sequence[int],
    pause: Pause = lambda: None,
) -> tuple[dict[str, np.ndarray], float]:
    """Answer `results.SwapHeads` (activation patching: Vig et al. 2020). twin: tokens
    of the other source.

    All heads are replaced in one batch, which grows by the heads of a layer where they
    answer. Raises UserError for a twin of another number of pieces.
    """
    if len(twin) != len(pair.source):
        raise UserError(
            Message.of("why_twin", first=len(pair.source), second=len(twin))
        )
    wanted, bias = toward(model, pair, step, rival)
    heads = model.config.n_heads
    memory = torch.empty(0)
    pairs = [
        Pair([*source], pair.given[: step + 1], pair.predicted[: step + 1])
        for source in (pair.source, twin)
    ]
    use_threads(heads)
    for side in SIDES:
        # of: the row of the encoder's result that each row reads
        of = [0]
        x = torch.empty(0)
        last = torch.empty(0)
        mask = future_mask(step + 1, wanted.device) if side == "decoder" else None
        for own, other in zip(*(steps(model, one, side) for one in pairs), strict=True):
            if own.layer == 1 and own.name == "self_attention":
                of = [*range(max(1, len(memory)))]
                x = own.state.expand(len(of), -1, -1)
            read = own.residual.norm(x) if own.residual.order == "pre" else x
            if own.name == "feed_forward":
                added = own.sublayer(read)
            else:
                looked_at = (
                    own.sublayer.keys_values(memory)[:, of]
                    if own.name == "cross_attention"
                    else None
                )
                added = own.sublayer(
                    read, mask if looked_at is None else None, looked_at
                )
                # [H, Q, D]
                theirs = (
                    added[:1]
                    + own.sublayer.shares((_answers(other) - _answers(own))[None])[0]
                )
                x = torch.cat((x, x[:1].expand(heads, -1, -1)))
                added = torch.cat((added, theirs))
                of += [0] * heads
            x = own.residual(x, lambda _, added=added: added)
            last = other.after
            pause()
        memory, end = (getattr(model, side).norm(one) for one in (x, last))
    values = (memory[1:, -1].float() @ wanted + bias).view(-1, heads).cpu().numpy()
    of_encoder, of_decoder = np.split(values, [model.config.n_layers])
    return (
        dict(zip(STACKS, (of_encoder, of_decoder[::2], of_decoder[1::2]), strict=True)),
        float(end[0, -1].float() @ wanted) + bias,
    )


def rival_of(tokenizer: Tokenizer, pair: Pair, step: int, piece: str) -> int:
    """The token of a piece that might stand at a step. Raises UserError if there is no
    such step or piece."""
    token = tokenizer.id_of(piece)
    if not 0 <= step < len(pair.predicted):
        raise UserError(
            Message.of("error_step", step=step + 1, steps=len(pair.predicted))
        )
    if token is None or token in (PAD, BOS):
        raise UserError(Message.of("error_piece", piece=" ".join(piece.split())[:40]))
    if token == pair.predicted[step]:
        raise UserError(Message.of("why_same", piece=piece[:40]))
    return token


def answer(
    model: Transformer,
    tokenizer: Tokenizer,
    pair: Pair,
    step: int,
    rival: str,
    pause: Pause = lambda: None,
) -> Why:
    """Answer `results.AskWhy`. Raises UserError."""
    against = rival_of(tokenizer, pair, step, rival)
    use_threads(FIRST)
    by_source, by_given, change = gradients(model, pair, step, against, pause)
    return Why(*shares(model, pair, step, against), by_source, by_given, change)


@torch.inference_mode()
def sources(model: Transformer, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Answer `results.TellSides` by ALTI+: (T, S) and (T, T).

    What a key adds to a query counts by how near it brings the result to itself, in the
    L1 norm, layer by layer, and the layers are multiplied out (Ferrando et al. 2022);
    feed-forward networks do not move anything between pieces.
    """
    mixed = torch.eye(len(pair.source))
    for one in steps(model, pair, "encoder"):
        if one.name == "self_attention":
            mixed = near(one) @ mixed
    ours = torch.zeros(len(pair.given), len(pair.source))
    target = torch.eye(len(pair.given))
    for one in steps(model, pair, "decoder"):
        if one.name == "self_attention":
            weights = near(one)
            ours = weights @ ours
            target = weights @ target
        elif one.name == "cross_attention":
            weights = near(one)
            ours = weights[:, 1:] @ mixed + weights[:, :1] * ours
            target = weights[:, :1] * target
    return ours.numpy(), target.numpy()


def near(one: Step) -> Tensor:
    """How much each key of an attention gives to each query, rows sum to 1: [Q, K], and
    [Q, 1 + K] of cross-attention, whose residual is a column before all keys. In
    self-attention it counts with the key of the same place."""
    [call] = one.record.calls or []
    residual = one.residual
    state = one.state[0].float()
    parts = torch.einsum(
        "hqk,hkd->qkd",
        one.record.probabilities[0][0].float(),
        one.sublayer.shares(call.v)[0].float(),
    )
    if one.name == "self_attention":
        parts = parts + torch.diag_embed(state.T).permute(1, 2, 0)
    else:
        parts = torch.cat((state[:, None], parts), dim=1)
    whole = parts.sum(dim=1) + one.sublayer.out_proj.bias.float()
    if residual.order == "post":
        norm: Any = residual.norm
        scale = (
            norm.weight.float()
            / (whole.var(dim=-1, correction=0) + norm.eps).sqrt()[:, None]
        )
        parts = (parts - parts.mean(dim=-1, keepdim=True)) * scale[:, None]
        # the biases are in it alone
        whole = (whole - whole.mean(dim=-1, keepdim=True)) * scale + norm.bias.float()
    gains = (
        whole.norm(p=1, dim=-1)[:, None] - torch.cdist(whole[:, None], parts, p=1)[:, 0]
    ).clamp(min=0)
    return (gains / gains.sum(dim=-1, keepdim=True).clamp(min=1e-9)).cpu()


def swap_heads(service: Any, asked: SwapHeads, tell: Progress | None) -> Any:
    """Answer `results.SwapHeads`."""

    def of_twin(
        model: Transformer, tokenizer: Tokenizer, pair: Pair, pause: Callable[[], None]
    ) -> Any:
        rival = rival_of(tokenizer, pair, asked.step, asked.rival)
        return swapped(
            model,
            pair,
            asked.step,
            rival,
            service.pair(asked.twin, asked.target).source,
            pause,
        )

    return of_pair(of_twin)(service, asked, tell)


ANSWERS: Answers = {
    AskWhy: of_pair(answer),
    SwapHeads: swap_heads,
    TellSides: of_pair(sources),
}
