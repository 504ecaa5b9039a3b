"""Why this piece and not that one: a difference of two logits taken apart, and how much came from which side.

Functions of a model and the tokens of a pair, as in `passes.py`. Axes as in `model.py`; t is a step, D d_model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from xformer.explain.passes import Pair
from xformer.model import Attention, Heads, Record, Residual, Transformer, future_mask, padding_mask
from xformer.model import Trace as Recording
from xformer.results import STACKS, Head, Message, Share, Sides, UserError, Why
from xformer.tokenizer import Tokenizer

STEPS = 32  # of the path of integrated gradients


class Block(NamedTuple):
    """One attention of a pass over one pair, with the residual around it."""

    stack: str
    layer: int  # from 1
    attention: Attention
    residual: Residual
    before: Tensor  # [Q, D], the residual stream
    probabilities: Tensor  # [H, Q, K]
    v: Tensor  # [H, K, d]

    @property
    def answers(self) -> Tensor:
        """What each head answers, before the output projection: [H, Q, d]"""
        return self.probabilities @ self.v

    def parts(self, row: slice = slice(None)) -> Tensor:
        """What each key adds to each query, all heads together: [Q, K, D]; with the bias they sum to the answer."""
        return torch.einsum("hqk,hkd->qkd", self.probabilities[:, row], self.attention.shares(self.v[None])[0])


def blocks(model: Transformer, pair: Pair, stack: str = "decoder") -> Iterator[tuple[list[Block], Tensor]]:
    """Follow a pass through the encoder or the decoder: of each layer its attentions, and what the feed-forward network
    adds, [L, D]."""
    device, recorded = model.embedding.weight.device, Recording(*(Record(calls=[]) for _ in STACKS))
    source, given = (torch.tensor([tokens], device=device) for tokens in (pair.source, pair.given))
    model(source, given, recorded)
    decoder = stack == "decoder"
    x, layers = model.embedding(given if decoder else source)[0], (model.decoder if decoder else model.encoder).layers
    for i, one in enumerate(layers):
        layer: Any = one
        found = []
        for name, attention, residual in (
                ("decoder_self" if decoder else "encoder_self", layer.self_attention, layer.self_residual),
                *((("cross", layer.cross_attention, layer.cross_residual),) if decoder else ())):
            record: Record = getattr(recorded, name)
            call = (record.calls or [])[i]
            found.append(Block(name, i + 1, attention, residual, x, record.probabilities[i][0], call.v[0]))
            x = residual(x, lambda _, call=call: call.answer[0])
        added = layer.feed_forward(layer.feed_residual.norm(x) if model.config.norm == "pre" else x)
        x = layer.feed_residual(x, lambda _, added=added: added)
        yield found, added


def rivals(model: Transformer, pair: Pair, step: int, rival: int) -> Tensor:
    """The direction [D] in which the logit of the piece at a step grows against that of a rival."""
    return (model.embedding.weight[pair.predicted[step]] - model.embedding.weight[rival]).float()


@torch.inference_mode()
def shares(model: Transformer, pair: Pair, step: int, rival: int) -> list[Share]:
    """Take logit(piece) - logit(rival) at a step apart, exactly: what embedding, position, each head, each feed-forward
    network and the biases add. nostalgebraist 2020; Elhage et al. 2021, "direct logit attribution".

    The last normalisation divides by the standard deviation of the whole stream, which is taken as it is; then all
    terms are linear, and they sum to the difference. Raises UserError for a post-norm model, which has no such sum.
    """
    if model.config.norm != "pre":
        raise UserError(Message.of("why_needs_pre"))
    wanted, embedding = rivals(model, pair, step, rival), model.embedding
    token = torch.tensor(pair.given[step], device=wanted.device)
    terms: list[tuple[str, Head | int | None, Tensor]] = [
        ("embedding", None, embedding.weight[token] * model.config.d_model**0.5),
        ("position", None, embedding.positions[step])]
    for found, added in blocks(model, pair):
        for block in found:
            heads = block.attention.shares(block.answers[None, :, step:step + 1])[0, :, 0]  # [H, D]
            terms += [("head", Head(block.stack, block.layer, h + 1), one) for h, one in enumerate(heads)]
            terms.append(("bias", None, block.attention.out_proj.bias))
        terms.append(("feed_forward", block.layer, added[step]))
    stream = torch.stack([term.float() for _, _, term in terms])
    norm: Any = model.decoder.norm
    scale = wanted * norm.weight.float() / (stream.sum(dim=0).var(correction=0) + norm.eps).sqrt()
    values = (stream - stream.mean(dim=1, keepdim=True)) @ scale
    bias = float(wanted @ norm.bias.float())
    if model.config.output_bias:
        outputs: Any = model.output_bias
        bias += float(outputs[pair.predicted[step]] - outputs[rival])
    constant = bias + float(sum(value for (kind, *_), value in zip(terms, values.tolist(), strict=True)
                                if kind == "bias"))
    return [*(Share(kind, where if isinstance(where, Head) else None, where if isinstance(where, int) else 0, value)
              for (kind, where, _), value in zip(terms, values.tolist(), strict=True) if kind != "bias"),
            Share("bias", None, 0, constant)]


@torch.no_grad()
def gradients(model: Transformer, pair: Pair, step: int, rival: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Contrastive gradient x input of each source piece (S,) and each piece given (t + 1,): Yin and Neubig 2022.

    The third is how far integrated gradients (Sundararajan et al. 2017, STEPS steps from embeddings of 0), which
    should sum to the change of the logit difference along their path, miss it: a share of that change.
    """
    wanted = rivals(model, pair, step, rival)
    tokens = (pair.source, pair.given[:step + 1])
    own, at = [], []
    for row in tokens:
        rows = torch.tensor([row], device=wanted.device)
        position = model.embedding.positions[:len(row)]
        at.append(position)
        own.append(model.embedding(rows) - position)
    scales = torch.cat((torch.ones(1), (torch.arange(STEPS) + 0.5) / STEPS, torch.zeros(1))).to(wanted)
    with torch.enable_grad():
        inputs = [(scales[:, None, None] * one).requires_grad_() for one in own]
        mask = padding_mask(torch.tensor([pair.source], device=wanted.device))
        memory = model.encoder(inputs[0] + at[0], mask)
        x = model.decoder(inputs[1] + at[1], future_mask(step + 1, wanted.device), model.decoder.memories(memory, mask))
        differences = x[:, -1].float() @ wanted
        found = torch.autograd.grad(differences.sum(), inputs)
    plain = [(gradient[0] * one[0]).sum(dim=-1) for gradient, one in zip(found, own, strict=True)]
    along = sum(float((gradient[1:-1].mean(dim=0) * one[0]).sum()) for gradient, one in zip(found, own, strict=True))
    change = float(differences[0].detach() - differences[-1].detach())
    source, prefix = (one.detach().cpu().numpy() for one in plain)
    return source, prefix, abs(along - change) / max(1e-6, abs(change))


@torch.inference_mode()
def patched(model: Transformer, pair: Pair, twin: Sequence[int], step: int, rival: int
            ) -> tuple[dict[str, np.ndarray], float, float]:
    """Replace what each head answers by what it answers for a twin source, one head at a time, all in one batch.

    Returns the logit difference (layers, H) with each head so replaced, by stack, and that of the pair and of the twin
    (activation patching: Vig et al. 2020). Raises UserError for a twin of another number of pieces.
    """
    if len(twin) != len(pair.source):
        raise UserError(Message.of("why_twin", first=len(pair.source), second=len(twin)))
    config, wanted = model.config, rivals(model, pair, step, rival)
    begun = Pair(pair.source, pair.given[:step + 1], pair.predicted[:step + 1])
    theirs = [block for side in ("encoder", "decoder")
              for found, _ in blocks(model, begun._replace(source=[*twin]), side) for block in found]

    def put(first: int, answers: Tensor) -> Any:
        rows = torch.arange(config.n_heads, device=wanted.device)

        def replace(y: Tensor) -> Tensor:
            y = y.clone()
            y[first + rows, rows] = answers
            return y
        return replace

    heads = Heads.without(config, [], wanted.device)
    heads = Heads(heads.encoder_self, heads.decoder_self, heads.cross, put={
        (block.stack, block.layer): put(i * config.n_heads, block.answers) for i, block in enumerate(theirs)})
    count = len(theirs) * config.n_heads
    source = torch.tensor([pair.source], device=wanted.device)
    given = torch.tensor([begun.given], device=wanted.device)
    logits = model(source.expand(count, -1), given.expand(count, -1), heads=heads)[:, -1].float()
    both = model(torch.tensor([pair.source, [*twin]], device=wanted.device), given.expand(2, -1))[:, -1].float()
    values, (own, other) = ((one[:, pair.predicted[step]] - one[:, rival]).tolist() for one in (logits, both))
    grids = {stack: np.array(values).reshape(len(theirs), -1)[[one.stack == stack for one in theirs]]
             for stack in STACKS}
    return grids, own, other


def answer(model: Transformer, tokenizer: Tokenizer, pair: Pair, step: int, rival: int, twin: Sequence[int] = ()
           ) -> Why:
    """Answer `results.AskWhy`. twin: tokens of the other source, () for none. Raises UserError as `patched` does."""
    own = shares(model, pair, step, rival) if model.config.norm == "pre" else []
    by_source, by_prefix, missed = gradients(model, pair, step, rival)
    grids, difference, other = patched(model, pair, twin or pair.source, step, rival)
    piece, against = tokenizer.pieces([pair.predicted[step], rival])
    return Why(piece, against, difference, tuple(own), tuple(tokenizer.pieces(pair.source)),
               tuple(tokenizer.pieces(pair.given[:step + 1])), by_source, by_prefix, missed, grids if twin else {},
               other if twin else 0.0)


@torch.inference_mode()
def sides(model: Transformer, tokenizer: Tokenizer, pair: Pair) -> Sides:
    """Answer `results.TellSides`."""
    source, given, predicted = (tuple(tokenizer.pieces(tokens)) for tokens in pair)
    return Sides(source, given, predicted, *sources(model, pair))


@torch.inference_mode()
def sources(model: Transformer, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """How much of each predicted piece came from each source piece (T, S) and from each piece given (T, T): ALTI+.

    Each row of both together sums to 1. What a key adds to a query counts by how near it brings the result to itself,
    in the L1 norm, layer by layer, and the layers are multiplied out (Ferrando et al. 2022); feed-forward networks do
    not move anything between pieces.
    """
    mixed = torch.eye(len(pair.source))
    for (block,), _ in blocks(model, pair, "encoder"):
        mixed = _near(block, len(mixed)) @ mixed
    ours, target = torch.zeros(len(pair.given), len(pair.source)), torch.eye(len(pair.given))
    for (own, cross), _ in blocks(model, pair):
        weights = _near(own, len(target))
        ours, target = weights @ ours, weights @ target
        weights = _near(cross, 0)
        ours, target = weights[:, 1:] @ mixed + weights[:, :1] * ours, weights[:, :1] * target
    return ours.numpy(), target.numpy()


def _near(block: Block, own: int) -> Tensor:
    """How much each key gives to each query, rows sum to 1: [Q, K]. own: of self-attention, the number of pieces, whose
    residual counts with the key of the same place; 0: of cross-attention, whose residual is a column before all keys.
    """
    parts = block.parts()
    if own:
        parts = parts + torch.diag_embed(block.before.T).permute(1, 2, 0)
    else:
        parts = torch.cat((block.before[:, None], parts), dim=1)
    whole = parts.sum(dim=1) + block.attention.out_proj.bias
    if block.residual.order == "post":
        deviation = (whole.var(dim=-1, correction=0) + block.residual.norm.eps).sqrt()[:, None]
        scale = block.residual.norm.weight
        parts = (parts - parts.mean(dim=-1, keepdim=True)) * scale / deviation[..., None]
        whole = (whole - whole.mean(dim=-1, keepdim=True)) * scale / deviation
    near = (whole.abs().sum(dim=-1)[:, None] - (whole[:, None] - parts).abs().sum(dim=-1)).clamp(min=0)
    return (near / near.sum(dim=-1, keepdim=True).clamp(min=1e-9)).cpu()
