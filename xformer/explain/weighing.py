"""Other ways than equation 1 to make weights from scores: hard and soft attention, and
common mistakes of lectures.

Axes as in `model.py`. A pass is handed such a way in its `Heads`; nothing is stored on
the model.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from xformer.device import use_threads
from xformer.explain.passes import (
    OCCLUDED_PIECES,
    Intervention,
    Pair,
    Pause,
    check_head,
    log_probs,
)
from xformer.explain.principles import BETAS
from xformer.model import Heads, Memory, Transformer, Weigh, future_mask, scores
from xformer.results import (
    SCOPES,
    STACKS,
    WEIGHINGS,
    Message,
    Options,
    UserError,
    Weighing,
    decimal,
)
from xformer.search import Hypothesis, finish, search
from xformer.translator import translating


def by_beta(beta: Tensor) -> Weigh:
    """softmax(beta q k^T / sqrt(d)), beta [..., 1, 1, 1]. With 0 the weights are
    uniform over the visible keys; with infinity the largest score takes all (ties
    share): hard attention."""

    def weigh(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
        is_hard = beta.isinf()
        soft = scores(
            q, k, mask, beta.masked_fill(is_hard, 1.0).to(q.dtype) * q.shape[-1] ** -0.5
        ).softmax(dim=-1)
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
    """Softmax down the columns of q k^T / sqrt(d): the weights of each key sum to 1
    over the queries."""
    # a key that is hidden from all queries has weight 0
    return scores(q, k, mask).softmax(dim=-2).nan_to_num(0.0)


def zeroed(length: int) -> Weigh:
    """Softmax with 0 in place of -infinity for masked keys, whose values are 0: rows
    sum to less than 1.

    length: of the whole sequence; a step of decoding has only its beginning.
    """

    def weigh(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
        found = scores(q, k, mask)
        seen = (
            torch.full((1, 1), k.shape[-2], device=k.device)
            if mask is None
            else mask.sum(dim=-1, keepdim=True)
        )
        # each adds exp(0) to the sum
        hidden = (length - seen).clamp(min=0).to(found.dtype).log()
        return (
            found - torch.logaddexp(found.logsumexp(dim=-1, keepdim=True), hidden)
        ).exp()

    return weigh


def weighed(model: Transformer, weigh: Weigh, stacks: Iterable[str] = STACKS) -> Heads:
    """Make the `Heads` with which all heads of some stacks weigh in this way."""
    every = Heads.without(model.config, [], model.device)
    return replace(
        every,
        weigh={
            (stack, layer): weigh
            for stack in stacks
            for layer in range(1, len(getattr(every, stack)) + 1)
        },
    )


def heads(model: Transformer, change: Weighing, length: int) -> Heads:
    """Make the `Heads` with which a pass weighs as `change` says. length: of the
    decoder's input, BOS included.

    Raises UserError if there is no such head or the change is not valid.
    """
    check_head(model, change.head)
    stack, layer, number = change.head
    if change.scope not in SCOPES or change.kind not in WEIGHINGS:
        raise UserError(
            Message.of(
                "weigh_error_kind",
                kind=f"{change.kind}, {change.scope}",
                kinds=", ".join(WEIGHINGS),
                scopes=", ".join(SCOPES),
            )
        )
    if not change.beta >= 0:
        raise UserError(Message.of("weigh_error_beta", value=decimal(change.beta, 6)))
    device = model.device
    beta = torch.tensor(change.beta, device=device)[None, None, None]
    weigh = {
        "beta": by_beta(beta),
        "unscaled": unscaled,
        "after": scaled_after,
        "queries": over_queries,
        "zeroed": zeroed(length if stack == "decoder_self" else 0),
    }[change.kind]
    chosen = (
        torch.arange(model.config.n_heads, device=device)[:, None, None] == number - 1
    )

    def of_one(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
        return torch.where(
            chosen, weigh(q, k, mask), scores(q, k, mask).softmax(dim=-1)
        )

    found = weighed(model, of_one if change.scope == "head" else weigh, [stack])
    return (
        found
        if change.scope == "stack"
        else replace(found, weigh={(stack, layer): found.weigh[stack, layer]})
    )


class WholePrefix:
    """Scores the next tokens of one source by a pass over the whole prefix: a
    `search.Scorer`.

    A softmax over queries cannot use a cache: a new query changes the weights of all
    earlier ones.
    """

    def __init__(
        self,
        model: Transformer,
        source: Tensor,
        heads: Heads | None,
        positions: Tensor | None = None,
    ) -> None:
        """positions [length, D]: in place of the model's own."""
        self.model = model
        self.heads = heads
        self.positions = positions
        self.memories = model.decoder.memories(
            *model.encode(source, heads=heads, positions=positions)
        )
        self.prefix = source.new_empty((1, 0))

    def __call__(self, tokens: Tensor) -> Tensor:
        """The newest tokens [N, t] -> logits [N, V]"""
        self.prefix = torch.cat((self.prefix.expand(len(tokens), -1), tokens), dim=1)
        # A row each: in a softmax over queries, hypotheses that share one would share
        # its keys out.
        rows = [
            Memory(one.keys_values.expand(-1, len(tokens), -1, -1, -1), one.mask)
            for one in self.memories
        ]
        x = self.model.decoder(
            self.model.embedding(self.prefix, positions=self.positions),
            future_mask(self.prefix.shape[1], tokens.device),
            rows,
            heads=self.heads,
        )
        return self.model.logits(x[:, -1])

    def select(self, hypotheses: Tensor, sentences: Tensor | None) -> None:
        self.prefix = self.prefix.index_select(0, hypotheses)


@torch.inference_mode()
def translate(
    model: Transformer,
    source: Sequence[int],
    options: Options,
    max_length: int,
    heads: Heads,
    change: Weighing,
) -> list[Hypothesis]:
    """Translate one source (EOS included) with the `heads` of a change, best hypothesis
    first.

    With a softmax over the decoder's queries a beam has width 1, since nothing can be
    cached.
    """
    use_threads(1)
    if change.kind == "queries" and change.head.stack != "encoder_self":
        tokens = torch.tensor([source], device=model.device)
        if not options.sampling:
            options = replace(options, beam=1, n_best=1)
        return search(
            WholePrefix(model, tokens, heads),
            [max_length],
            options,
            device=tokens.device,
        )[0]
    return finish(
        translating(
            model, [source[:-1]], options, max_lengths=[max_length], heads=heads
        )
    )[0]


@torch.inference_mode()
def sweep(
    model: Transformer, pair: Pair, pause: Pause = lambda: None
) -> dict[str, tuple[float, ...]]:
    """Compute a target's log-probability with each of BETAS in all heads of one stack;
    -> by stack."""
    size = max(1, OCCLUDED_PIECES // len(pair.given))
    found = dict[str, tuple[float, ...]]()
    for stack in STACKS:
        sums = list[float]()
        for first in range(0, len(BETAS), size):
            beta = torch.tensor(BETAS[first : first + size], device=model.device)[
                :, None, None, None
            ]
            change = Intervention(heads=weighed(model, by_beta(beta), [stack]))
            sums += (
                log_probs(model, [pair.source] * len(beta), pair, change=change)
                .sum(dim=-1)
                .tolist()
            )
            pause()
        found[stack] = tuple(sums)
    return found
