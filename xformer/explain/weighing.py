"""Make weights of scores otherwise than equation 1 does: hard and soft attention, and the slips of lectures.

Axes as in `model.py`. What is made here is handed to a pass in its `Heads`, and never stored on the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from xformer.device import use_threads
from xformer.explain.passes import OCCLUDED_PIECES, Pair
from xformer.explain.walkthrough import BETAS
from xformer.model import Heads, Transformer, Weigh, future_mask, scores
from xformer.results import SCOPES, STACKS, WEIGHINGS, Message, Options, UserError, Weighing
from xformer.search import Hypothesis, finish, search
from xformer.translator import translating


def by_beta(beta: Tensor) -> Weigh:
    """softmax(beta q k^T / sqrt(d)), beta [..., 1, 1, 1]: 0 is uniform over what may be seen; where it is infinite the
    largest score takes all (ties share): hard attention."""
    def weigh(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
        is_hard = beta.isinf()
        soft = scores(q, k, mask, beta.masked_fill(is_hard, 1.0).to(q.dtype) * q.shape[-1] ** -0.5).softmax(dim=-1)
        if not is_hard.any():
            return soft
        plain = scores(q, k, mask)
        hard = (plain == plain.amax(dim=-1, keepdim=True)).to(soft.dtype)
        return torch.where(is_hard, hard / hard.sum(dim=-1, keepdim=True), soft)
    return weigh


def unscaled(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(q k^T): beta is sqrt(d)."""
    return scores(q, k, mask, 1.0).softmax(dim=-1)


def scaled_after(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(q k^T) / sqrt(d): rows sum to 1 / sqrt(d)."""
    return unscaled(q, k, mask) * q.shape[-1] ** -0.5


def over_queries(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax down the columns of q k^T / sqrt(d): each key shares itself out among those that ask."""
    return scores(q, k, mask).softmax(dim=-2).nan_to_num(0.0)  # a key that nobody may see has nothing to share


def zeroed(length: int) -> Weigh:
    """Leave what is masked in the softmax with a score of 0, where its value is 0: rows sum to less than 1.

    length: of the whole sequence, of which a step of decoding has only the beginning.
    """
    def weigh(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
        found = scores(q, k, mask)
        seen = torch.full((1, 1), k.shape[-2], device=k.device) if mask is None else mask.sum(dim=-1, keepdim=True)
        hidden = (length - seen).clamp(min=0).to(found.dtype).log()  # each adds exp(0) to the sum
        return (found - torch.logaddexp(found.logsumexp(dim=-1, keepdim=True), hidden)).exp()
    return weigh


def heads(model: Transformer, change: Weighing, length: int) -> Heads:
    """Make what a pass is handed to weigh so. length: of the target that the decoder is given, BOS included.

    Raises UserError where there is no such head, or where the change makes no sense.
    """
    config, (stack, layer, number) = model.config, change.head
    depth = config.n_layers if stack == "encoder_self" else config.decoder_layers
    if stack not in STACKS or not (1 <= layer <= depth and 1 <= number <= config.n_heads):
        raise UserError(Message.of("first_error_head", stack=stack, layer=layer, head=number, layers=depth,
                                   heads=config.n_heads, stacks=", ".join(STACKS)))
    if change.scope not in SCOPES or change.kind not in WEIGHINGS:
        raise UserError(Message.of("weigh_error_kind", kind=f"{change.kind}, {change.scope}",
                                   kinds=", ".join(WEIGHINGS), scopes=", ".join(SCOPES)))
    if not change.beta >= 0:
        raise UserError(Message.of("weigh_error_beta", value=f"{change.beta:g}"))
    device = model.embedding.weight.device
    beta = torch.tensor(change.beta, device=device)[None, None, None]
    weigh = {"beta": by_beta(beta), "unscaled": unscaled, "after": scaled_after, "queries": over_queries,
             "zeroed": zeroed(length if stack == "decoder_self" else 0)}[change.kind]
    if change.scope == "head":
        weigh = _only(weigh, torch.arange(config.n_heads, device=device)[:, None, None] == number - 1)
    layers = range(1, depth + 1) if change.scope == "stack" else [layer]
    return replace(Heads.without(config, [], device), weigh={(stack, one): weigh for one in layers})


def _only(changed: Weigh, chosen: Tensor) -> Weigh:
    """Weigh so in some heads [H, 1, 1], and as equation 1 has it in the others."""
    def weigh(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
        return torch.where(chosen, changed(q, k, mask), scores(q, k, mask).softmax(dim=-1))
    return weigh


class WholePrefix:
    """Scores the next tokens of one source by a pass over all that was written so far: a `search.Scorer`.

    A softmax over queries needs them all again, as a new one takes its share from those before.
    """

    def __init__(self, model: Transformer, source: Tensor, heads: Heads) -> None:
        self.model, self.heads = model, heads
        memory, self.mask = model.encode(source, heads=heads)
        self.memories = model.decoder.keys_values(memory)  # [2, 1, H, S, d] each
        self.prefix = source.new_empty((1, 0))

    def __call__(self, tokens: Tensor) -> Tensor:
        """The newest tokens [N, t] -> logits [N, V]"""
        self.prefix = torch.cat((self.prefix.expand(len(tokens), -1), tokens), dim=1)
        memories = [memory.expand(-1, len(tokens), -1, -1, -1) for memory in self.memories]
        x = self.model.decoder(self.model.embedding(self.prefix), future_mask(self.prefix.shape[1], tokens.device),
                               memories, self.mask, heads=self.heads)
        return self.model.logits(x[:, -1])

    def select(self, hypotheses: Tensor, sentences: Tensor | None) -> None:
        self.prefix = self.prefix.index_select(0, hypotheses)


@torch.inference_mode()
def translate(model: Transformer, source: Sequence[int], options: Options, max_length: int, heads: Heads,
              change: Weighing) -> list[Hypothesis]:
    """Translate one source (EOS included) with `heads` made for a change, best hypothesis first.

    A softmax over the decoder's queries is searched for greedily: nothing that was computed can be kept for a beam.
    """
    use_threads(1)
    if change.kind == "queries" and change.head.stack != "encoder_self":
        tokens = torch.tensor([source], device=model.embedding.weight.device)
        if not options.sampling:
            options = replace(options, beam=1, n_best=1)
        return search(WholePrefix(model, tokens, heads), [max_length], options, device=tokens.device)[0]
    return finish(translating(model, [source[:-1]], options, max_lengths=[max_length], heads=heads))[0]


@torch.inference_mode()
def sweep(model: Transformer, pair: Pair, pause: Callable[[], object] = lambda: None) -> dict[str, tuple[float, ...]]:
    """Compute the log-probability of the target of a pair by stack, for each of BETAS in all heads of that stack."""
    device = model.embedding.weight.device
    source, given = (torch.tensor([tokens], device=device) for tokens in (pair.source, pair.given))
    (own, mask), every = model.encode(source), Heads.without(model.config, [], device)
    size, found = max(1, OCCLUDED_PIECES // len(pair.given)), dict[str, tuple[float, ...]]()
    for stack in STACKS:
        depth, sums = (model.config.n_layers if stack == "encoder_self" else model.config.decoder_layers), list[float]()
        for first in range(0, len(BETAS), size):
            beta = torch.tensor(BETAS[first:first + size], device=device)[:, None, None, None]
            use_threads(len(beta))
            swept = replace(every, weigh={(stack, layer): by_beta(beta) for layer in range(1, depth + 1)})
            memory = (model.encode(source.expand(len(beta), -1), heads=swept)[0] if stack == "encoder_self" else
                      own.expand(len(beta), -1, -1))
            logits = model.decode(given.expand(len(beta), -1), memory, mask, heads=swept).float()
            values = logits.log_softmax(dim=-1)[:, range(len(pair.predicted)), pair.predicted]
            sums += values.sum(dim=-1).tolist()
            pause()
        found[stack] = tuple(sums)
    return found

