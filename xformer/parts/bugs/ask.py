"""Models broken on purpose, made from the weights of a healthy one, and the numbers of
a pass that give them away.

Axes as in `model.py`. Nothing is stored on the healthy model: a patient is handed its
mistake with each pass, or is a model of its own that shares the weights.
"""

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xformer.device import use_threads
from xformer.explain.passes import (
    UNCHANGED,
    Intervention,
    Pair,
    Pause,
    intervene,
    trace,
)
from xformer.explain.weighing import WholePrefix, over_queries, scaled_after, weighed
from xformer.fast import plain
from xformer.model import Attention, Heads, Record, Transformer, Weigh, scores
from xformer.model import Trace as Recording
from xformer.results import (
    BUGS,
    GREEDY,
    STACKS,
    Examine,
    Examined,
    Message,
    Positions,
    Trace,
    UserError,
)
from xformer.search import search
from xformer.serve.answers import Answers, of_pair
from xformer.tokenizer import Tokenizer
from xformer.translator import target_limit

# pieces by which a patient's translation may be longer than the target of the pair
MOST_MORE = 10
WEIGHED: dict[str, Weigh] = {
    "after": scaled_after,
    "queries": over_queries,
    # whatever the mask hides
    "future": lambda q, k, mask: scores(q, k).softmax(dim=-1),
    # The values of what is hidden are added too; in `weighing.zeroed` they are 0.
    "zeroed": lambda q, k, mask: (
        scores(q, k, mask).nan_to_num(neginf=0.0).softmax(dim=-1)
    ),
}


def make(model: Transformer, bug: str) -> tuple[Transformer, Intervention]:
    """Make the patient with one of BUGS: a model, and what its passes are handed; for
    "" a healthy one. Raises UserError for another bug."""
    if not bug:
        return model, UNCHANGED
    if bug == "positions":
        return model, intervene(model, positions=Positions("none"))
    if bug == "unmixed":
        return _unmixed(model), UNCHANGED
    if bug not in WEIGHED:
        raise UserError(
            Message.of("bugs_error_kind", bug=bug[:40], bugs=", ".join(BUGS))
        )
    stacks = ("decoder_self",) if bug == "future" else STACKS
    return model, Intervention(heads=weighed(model, WEIGHED[bug], stacks))


def _unmixed(model: Transformer) -> Transformer:
    """A copy that shares all weights but W_O, which is the identity: the heads' answers
    stay side by side."""
    patient = plain(model)
    for module in patient.modules():
        if isinstance(module, Attention):
            own = module.out_proj
            own.weight = nn.Parameter(
                torch.eye(len(own.weight)).to(own.weight), requires_grad=False
            )
            own.bias = nn.Parameter(torch.zeros_like(own.bias), requires_grad=False)
    return patient


@torch.inference_mode()
def examine(
    model: Transformer,
    tokenizer: Tokenizer,
    pair: Pair,
    bug: str,
    pause: Pause = lambda: None,
) -> Examined:
    """Answer `results.Examine`. Raises UserError for a bug that is neither one of BUGS
    nor "".

    Each step of the search is a pass over all pieces so far: a cache would hide what a
    wrong mask does.
    """
    use_threads(1)
    one, change = make(model, bug)
    source = torch.tensor([pair.source], device=model.device)
    most = min(
        target_limit(len(pair.source), model.config.max_length),
        len(pair.given) + MOST_MORE,
    )
    [[best, *_]] = search(
        WholePrefix(one, source, change.heads, change.table),
        [most],
        GREEDY,
        device=source.device,
    )
    pause()
    seen = trace(one, tokenizer, pair, "", change)
    return Examined(
        tokenizer.decode(best.tokens) + ("" if best.finished else " …"),
        seen,
        signs(one, pair, seen, change),
    )


@torch.inference_mode()
def signs(
    model: Transformer, pair: Pair, seen: Trace, change: Intervention = UNCHANGED
) -> dict[str, float | str]:
    """Measure what would give each bug away, by name. seen: the pass of this model over
    the pair with this change."""

    def encoded(source: Tensor, *off: tuple[str, int, int]) -> tuple[Tensor, Tensor]:
        recorded = Recording(Record(calls=[]))
        heads = Heads.without(model.config, off, source.device)
        weigh = change.heads.weigh if change.heads else {}
        states, _ = model.encode(
            source, recorded, replace(heads, weigh=weigh), change.table
        )
        return states[0].float(), (recorded.encoder_self.calls or [])[0].answer[
            0
        ].float()

    maps = [seen.of(stack).probabilities for stack in STACKS]
    rows, columns = (
        np.concatenate([one.sum(axis=axis).ravel() for one in maps])
        for axis in (-1, -2)
    )
    # Of the rows that hide two pieces or more: whether these have one weight is what
    # tells zeros from no mask.
    later = np.triu(seen.decoder_self, 1)[..., : max(1, len(pair.given) - 2), :]
    layer, head, row = (
        int(one)
        for one in np.unravel_index(later.sum(axis=-1).argmax(), later.shape[:-1])
    )
    each = later[layer, head, row, row + 1 :] if len(pair.given) > 1 else np.zeros(1)
    source = torch.tensor([pair.source], device=model.device)
    (states, answer), (backwards, _) = encoded(source), encoded(source.flip(1))
    # by the first head of the first layer
    added = answer - encoded(source, ("encoder_self", 1, 1))[1]
    width = model.config.d_model // model.config.n_heads
    # sums of rows
    return {
        "least": float(rows.min()),
        "most": float(rows.max()),
        "scale": width**-0.5,
        # sums of columns
        "lowest": float(columns.min()),
        "highest": float(columns.max()),
        "layer": layer + 1,
        "head": head + 1,
        "piece": seen.target[row],
        "later": float(each.sum()),
        # on one of the later pieces
        "faintest": float(each.min()),
        "strongest": float(each.max()),
        "cosine": float(F.cosine_similarity(states, backwards.flip(0), dim=-1).min()),
        "share": float(added[:, :width].square().sum() / added.square().sum()),
        "width": width,
    }


ANSWERS: Answers = {Examine: of_pair(examine)}
