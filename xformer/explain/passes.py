"""Run passes that show the inside of a model: all maps, all numbers of one head, words
and heads left out.

Functions of a model, its tokenizer and tokens. Axes as in `model.py`. Nothing is stored
on the model, so threads may share it. Long computations call `pause` between passes, so
that other requests get their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from xformer.classifier import LanguageModel, TransformerClassifier
from xformer.device import use_threads
from xformer.explain import pharaoh
from xformer.explain.alignment import Link, linked
from xformer.model import (
    Attention,
    EncoderStack,
    Heads,
    Record,
    Seeded,
    Transformer,
    future_mask,
    scores,
    sinusoids,
)
from xformer.model import Trace as Recording
from xformer.pieces import BOS, EOS, PAD, joined, words
from xformer.recurrent import RecurrentTranslator
from xformer.results import (
    SIDES,
    STACKS,
    Block,
    Embedded,
    Head,
    HeadEffect,
    Message,
    Occlusion,
    Trace,
    UserError,
    Walk,
    decimal,
)
from xformer.results.attention import AdditiveWalk
from xformer.results.messages import refusing
from xformer.results.options import BASES, MOST_SHIFT, OWN, POSITION_KINDS, Positions
from xformer.tokenizer import Tokenizer
from xformer.translator import Translator, pad

# pairs that are sorted by length to be aligned, and of these, pairs in a pass
ALIGNED = 2_048
ALIGNED_ROWS = 16
# parameters of a model that is made again to see its beginning
MOST_BEGUN = 100_000_000
Pause = Callable[[], object]  # is called between passes of a long computation
# target pieces scored at once; each needs a row of logits over the whole vocabulary
OCCLUDED_PIECES = 2_048


class Pair(NamedTuple):
    """Tokens of a teacher-forced pass over a source and a target."""

    source: list[int]  # S tokens; the last is EOS
    given: list[int]  # T tokens that the decoder is given; the first is BOS
    predicted: list[int]  # T tokens that it should predict; the last is EOS

    @classmethod
    def of(cls, source: Sequence[int], target: Sequence[int]) -> Pair:
        """A pair of sentences without special tokens."""
        return cls([*source, EOS], [BOS, *target], [*target, EOS])


@dataclass(frozen=True)
class Intervention:
    """A change to a pass, heads switched off or other positions, with the tensors for
    it.

    Two interventions are equal if they switch off the same heads and take the same
    positions.
    """

    off: frozenset[Head] = frozenset()
    positions: Positions = OWN
    heads: Heads | None = field(default=None, compare=False)  # None: all heads
    # [max_length, D] in place of the model's own positions
    table: Tensor | None = field(default=None, compare=False)


UNCHANGED = Intervention()


def intervene(
    model: Transformer, off: Iterable[Head] = (), positions: Positions = OWN
) -> Intervention:
    """Make the tensors for a pass without some heads and with other positions. Raises
    UserError."""
    missing = frozenset(off)
    if not missing and positions == OWN:
        return UNCHANGED
    with refusing(ValueError, lambda error: f"A head cannot be switched off: {error}."):
        heads = Heads.without(model.config, missing, model.device) if missing else None
    return Intervention(missing, positions, heads, _position_table(model, positions))


def _position_table(model: Transformer, positions: Positions) -> Tensor | None:
    """Make the positions [max_length, D] to add to the embeddings; None for the model's
    own."""
    config = model.config
    kind = positions.kind
    value = positions.value
    if kind not in POSITION_KINDS:
        raise UserError(
            Message.of("pos_error_kind", kind=kind, options=", ".join(POSITION_KINDS))
        )
    if kind == "own":
        return None
    if kind == "shift" and not (0 <= value <= MOST_SHIFT and value == int(value)):
        raise UserError(
            Message.of("pos_error_shift", value=decimal(value, 6), most=MOST_SHIFT)
        )
    if kind == "base" and not BASES[0] <= value <= BASES[1]:
        raise UserError(
            Message.of(
                "pos_error_base",
                value=decimal(value, 6),
                least=int(BASES[0]),
                most=int(BASES[1]),
            )
        )
    if kind == "none":
        return torch.zeros_like(model.embedding.positions)
    return sinusoids(
        config.max_length,
        config.d_model,
        value if kind == "base" else config.position_base,
        config.first_position + (int(value) if kind == "shift" else 0),
    ).to(model.embedding.positions)


def log_probs(
    model: Translator,
    sources: Sequence[Sequence[int]],
    pair: Pair,
    recorded: Recording | None = None,
    change: Intervention = UNCHANGED,
) -> Tensor:
    """Compute log-probabilities [B, T] of the target of a pair after each of B sources,
    in one teacher-forced pass.

    recorded: filled in by the pass.
    """
    use_threads(len(sources))
    source = pad(sources, model.device)
    target = torch.tensor([pair.given], device=source.device).expand(len(sources), -1)
    logits = model(source, target, recorded, change.heads, change.table).float()
    return logits.log_softmax(dim=-1)[:, range(len(pair.predicted)), pair.predicted]


@torch.inference_mode()
def trace(
    model: Translator,
    tokenizer: Tokenizer,
    pair: Pair,
    text: str,
    change: Intervention = UNCHANGED,
) -> Trace:
    """Record all attention maps of one pass. text: from which the source was made."""
    recorded = Recording()
    values = log_probs(model, [pair.source], pair, recorded, change)[0].tolist()
    return _trace(tokenizer, pair, recorded, text, tuple(values))


@torch.inference_mode()
def trace_reader(
    model: TransformerClassifier | LanguageModel,
    tokenizer: Tokenizer,
    row: Sequence[int],
    text: str,
) -> Trace:
    """Record all attention maps of one pass of a model without a decoder over a row of
    pieces.

    text: from which the row was made. The decoder's stacks are empty.
    """
    use_threads(len(row) // 32)
    recorded = Recording()
    model(torch.tensor([row], device=model.device), recorded)
    return _trace(tokenizer, Pair([*row], [], []), recorded, text)


def _trace(
    tokenizer: Tokenizer,
    pair: Pair,
    recorded: Recording,
    text: str,
    values: tuple[float, ...] = (),
) -> Trace:
    """The record of a pass over a pair; a stack that the model lacks has no layers in
    it."""
    arrays: dict[str, Any] = {}
    for stack in STACKS:
        record: Record = getattr(recorded, stack)
        asking, seen = (
            len({"source": pair.source, "target": pair.given}[side])
            for side in SIDES[stack]
        )
        for name, layers, none in (
            (stack, record.probabilities, (0, 1, asking, seen)),
            (f"{stack}_norms", record.value_norms, (0, 1, seen)),
        ):
            kept = [layer[0].float() for layer in layers]
            arrays[name] = (
                torch.stack(kept).cpu() if kept else torch.zeros(none)
            ).numpy()
    source, given, predicted = (tuple(tokenizer.pieces(tokens)) for tokens in pair)
    return Trace(
        source,
        given,
        predicted,
        values,
        **arrays,
        text=text,
        tokens=tuple(pair.given[1:]),
    )


@torch.inference_mode()
def cross_maps(
    model: Translator, pairs: Sequence[Pair], head: Head
) -> list[np.ndarray]:
    """Compute where a head of the cross-attention looks in passes over N pairs, as far
    as its layer: (T, S) each."""
    use_threads(len(pairs))
    device = model.device
    source = pad([pair.source for pair in pairs], device)
    target = pad([pair.given for pair in pairs], device)
    recorded = Recording()
    if isinstance(model, Transformer):
        memory, mask = model.encode(source)
        x = model.embedding(target)
        future = future_mask(target.shape[1], device)
        memories = model.decoder.memories(memory, mask)[: head.layer]
        for layer, looked_at in zip(model.decoder.layers, memories, strict=False):
            x = layer(x, future, looked_at, None, (None, recorded.cross))
    else:
        model(source, target, recorded)
    maps = (
        recorded.cross.probabilities[head.layer - 1][:, head.head - 1]
        .float()
        .cpu()
        .numpy()
    )
    return [
        one[: len(pair.given), : len(pair.source)]
        for one, pair in zip(maps, pairs, strict=True)
    ]


def align(
    model: Translator,
    tokenizer: Tokenizer,
    pairs: Sequence[Sequence[str]],
    head: Head,
    given: bool = False,
    unit: str = pharaoh.UNITS[0],
) -> Iterator[frozenset[Link]]:
    """Link the parts (`pharaoh.UNITS`) of pairs (source, target), each of a target with
    the one that a head looks at most; if `given`, its rows stand for the pieces they
    were given. Raises UserError, before the first is done, that names the line of a
    pair with more pieces than the model has positions."""
    cut = [
        [tokenizer.encode(line, target=side == 1) for side, line in enumerate(pair)]
        for pair in pairs
    ]
    limit = model.config.max_length
    for number, one in enumerate(cut, 1):
        if (pieces := max(map(len, one)) + 1) > limit:
            raise UserError(
                f"Line {number} has {pieces:,} pieces, of {limit:,} that can be aligned; split it."
            )
    for start in range(0, len(cut), ALIGNED):
        block = range(start, min(start + ALIGNED, len(cut)))
        found = dict[int, frozenset[Link]]()

        def lengths(i: int) -> list[int]:
            return [len(tokens) for tokens in cut[i]]

        full = sorted(
            (i for i in block if all(cut[i])),
            key=lengths,
        )
        for at in range(0, len(full), ALIGNED_ROWS):
            rows = full[at : at + ALIGNED_ROWS]
            for i, attention in zip(
                rows,
                cross_maps(model, [Pair.of(*cut[i]) for i in rows], head),
                strict=True,
            ):
                keys, queries = (
                    pharaoh.parts(line, tokenizer.pieces(tokens), unit)
                    for line, tokens in zip(pairs[i], cut[i], strict=True)
                )
                found[i] = linked(attention[int(given) :], queries, keys)
        yield from (found.get(i, frozenset()) for i in block)


def check_head(model: Transformer, head: Head) -> None:
    """Raise UserError if the model has no such head."""
    config = model.config
    stack, layer, number = head
    depth = config.n_layers if stack == "encoder_self" else config.decoder_layers
    if stack not in STACKS or not (
        1 <= layer <= depth and 1 <= number <= config.n_heads
    ):
        raise UserError(
            Message.of(
                "first_error_head",
                stack=stack,
                layer=layer,
                head=number,
                layers=depth,
                heads=config.n_heads,
                stacks=", ".join(STACKS),
            )
        )


@torch.inference_mode()
def walk(
    model: Transformer, tokenizer: Tokenizer, pair: Pair, head: Head, padding: int = 0
) -> Walk:
    """Answer `results.WalkHead`. Raises UserError if there is no such head, or too much
    padding."""
    check_head(model, head)
    config = model.config
    stack, layer, number = head
    if not 0 <= padding <= config.max_length - len(pair.source):
        raise UserError(
            Message.of(
                "first_error_padding",
                padding=padding,
                pieces=len(pair.source),
                limit=config.max_length,
            )
        )
    padded = [*pair.source, *[PAD] * padding]
    recorded = Recording(*(Record(calls=[]) for _ in STACKS))
    use_threads(1)
    memory, memory_mask = model.encode(pad([padded], model.device), recorded)
    if stack != "encoder_self":
        # as `model.decode`, without the logits, which nobody is shown
        model.decoder(
            model.embedding(torch.tensor([pair.given], device=memory.device)),
            future_mask(len(pair.given), memory.device),
            model.decoder.memories(memory, memory_mask),
            trace=recorded,
        )
    layers = model.encoder.layers if stack == "encoder_self" else model.decoder.layers
    attention: Attention = getattr(
        layers[layer - 1], "cross_attention" if stack == "cross" else "self_attention"
    )
    x, q, k, v, mask, output = getattr(recorded, stack).calls[layer - 1]
    y = memory if stack == "cross" else x
    block = slice((number - 1) * q.shape[-1], number * q.shape[-1])
    masked = scores(q, k, mask)
    probabilities = masked.softmax(dim=-1)
    answers = probabilities.to(v.dtype) @ v
    queries = pair.source if stack == "encoder_self" else pair.given
    keys = pair.given if stack == "decoder_self" else padded
    real = slice(len(queries))  # padding makes no queries

    def of_head(x: Tensor, rows: slice = real) -> np.ndarray:
        return x[0, number - 1, rows].float().cpu().numpy()

    predicted = () if stack == "encoder_self" else pair.predicted
    asking, asked_for, seen = (
        tuple(tokenizer.pieces(tokens)) for tokens in (queries, predicted, keys)
    )
    return Walk(
        head,
        asking,
        asked_for,
        seen,
        of_head(q),
        of_head(k, slice(None)),
        of_head(v, slice(None)),
        of_head(masked) > -np.inf,
        of_head(scores(q, k, scale=1.0)),
        of_head(scores(q, k)),
        of_head(masked),
        of_head(probabilities),
        of_head(answers),
        of_head(attention.shares(answers)),
        *(
            numbers.float().cpu().numpy()
            for numbers in (
                output[0, real],
                x[0, real],
                y[0],
                attention.in_proj.weight[block].t(),
                attention.in_proj.bias[block],
                q[0, :, real].transpose(0, 1).flatten(1),
            )
        ),
    )


@torch.inference_mode()
def begin(
    model: Transformer, tokenizer: Tokenizer, pair: Pair, head: Head
) -> tuple[Walk, dict[str, tuple[float, float]]]:
    """Answer `results.Begin`. Raises UserError if there is no such head, or the model
    is too large to be made again."""
    check_head(model, head)
    if model.parameter_count() > MOST_BEGUN:
        raise UserError(
            Message.of(
                "initial_error_size",
                parameters=model.parameter_count(),
                limit=MOST_BEGUN,
            )
        )
    with Seeded(0):
        fresh = Transformer(model.config).to(model.device).eval()
    then, now = (
        (one.encoder if head.stack == "encoder_self" else one.decoder).layers[
            head.layer - 1
        ]
        for one in (fresh, model)
    )
    return walk(fresh, tokenizer, pair, head), {
        name: (float(matrix.std()), float(now.get_parameter(name).float().std()))
        for name, matrix in then.named_parameters()
        if matrix.dim() > 1
    }


@torch.inference_mode()
def walk_additive(model: Translator, tokenizer: Tokenizer, pair: Pair) -> AdditiveWalk:
    """Answer `results.WalkAdditive`, step by step as the model decodes. Raises
    UserError for another kind of model."""
    if not isinstance(model, RecurrentTranslator) or model.attention is None:
        raise UserError(
            "This model has no additive attention; ask one of the kind gru-attention."
        )
    use_threads(1)
    at = model.encode(pad([pair.source], model.device))
    asked = []
    layer = model.attention
    for x in model.embed(torch.tensor(pair.given, device=at.memory.device)).split(1):
        asked.append(at.states[-1])
        model.advance(x, at)
    q = layer.of_query(torch.cat(asked))
    k = layer.of_key(at.memory[0])
    w = layer.weight.weight[0]
    scored = torch.tanh(q[:, None] + k) @ w + layer.weight.bias
    given, predicted, keys = (
        tuple(tokenizer.pieces(tokens))
        for tokens in (pair.given, pair.predicted, pair.source)
    )
    arrays = (
        one.float().cpu().numpy() for one in (q, k, w, scored, scored.softmax(dim=-1))
    )
    return AdditiveWalk(given, predicted, keys, *arrays)


@torch.inference_mode()
def occlude(
    model: Translator, tokenizer: Tokenizer, pair: Pair, pause: Pause = lambda: None
) -> Occlusion:
    """Answer `results.Occlude` by leave-one-out occlusion (Li et al. 2016), in few
    batches."""
    pieces = tokenizer.pieces(pair.source[:-1])
    groups = words(pieces)
    without = [
        [token for i, token in enumerate(pair.source) if i not in group]
        for group in groups
    ]
    sources = [pair.source, *without]
    scored = []
    size = max(1, OCCLUDED_PIECES // len(pair.given))
    for first in range(0, len(sources), size):
        scored.append(log_probs(model, sources[first : first + size], pair))
        pause()
    values = torch.cat(scored)  # [1 + W, T]
    effect = (values[:1] - values[1:]).T.cpu().numpy()
    return Occlusion(
        tuple(joined(pieces, groups)),
        tuple(tokenizer.pieces(pair.predicted)),
        tuple(values[0].tolist()),
        effect,
    )


@torch.inference_mode()
def head_effects(
    model: Transformer,
    pair: Pair,
    stacks: Sequence[str] = STACKS,
    pause: Pause = lambda: None,
    progress: Callable[[int, int], object] | None = None,
) -> list[HeadEffect]:
    """Answer `results.RankHeads`: the log-probability of the target with all heads,
    minus that without each."""
    heads = Heads.without(model.config, [])
    every = [
        head
        for stack in stacks
        for head in Head.every(stack, *getattr(heads, stack).shape)
    ]
    whole = float(log_probs(model, [pair.source], pair).sum())
    effects = []
    for done, head in enumerate(every, 1):
        without = float(
            log_probs(model, [pair.source], pair, change=intervene(model, [head])).sum()
        )
        effects.append(HeadEffect(head, whole - without))
        pause()
        if progress is not None:
            progress(done, len(every))
    return sorted(effects, key=lambda effect: -effect.effect)


@torch.inference_mode()
def embed(model: Transformer, sources: Sequence[Sequence[int]]) -> np.ndarray:
    """Compute one vector for each of N sources, (N, D): the mean of the encoder's
    output over its pieces, EOS included.

    The encoder was trained for translation, not to compare sentences.
    """
    use_threads(len(sources))
    memory, mask = model.encode(
        pad([[*tokens, EOS] for tokens in sources], model.device)
    )
    real = mask[:, 0, 0, :, None]
    return ((memory.float() * real).sum(dim=1) / real.sum(dim=1)).cpu().numpy()


@torch.inference_mode()
def embedded(
    model: Transformer, tokenizer: Tokenizer, source: Sequence[int]
) -> Embedded:
    """Compute the encoder's input vectors, embeddings and positions apart."""
    tokens = [*source, EOS]
    embedding = model.embedding
    vectors = embedding(
        torch.tensor([tokens], device=embedding.weight.device),
        positions=torch.zeros_like(embedding.positions),
    )[0]
    return Embedded(
        tuple(tokenizer.pieces(tokens)),
        vectors.float().cpu().numpy(),
        embedding.positions[: len(tokens)].float().cpu().numpy(),
    )


def blocks(model: nn.Module) -> list[Block]:
    """List the boxes of a model, in the order of its parameters; each parameter is in
    one box."""
    weights: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    for name, parameter in model.named_parameters():
        parts = name.split(".")
        if isinstance(model, EncoderStack):
            # encoder.layers.0.self_attention | .in_proj.weight
            place = 4 if "layers" in parts else len(parts) - 1
        else:  # encoder.forwards.0 | .of_input.weight; attention | .of_key.weight
            place = next((i + 1 for i, part in enumerate(parts) if part.isdecimal()), 1)
        weights.setdefault(".".join(parts[:place]), []).append(
            (".".join(parts[place:]), tuple(parameter.shape))
        )
    return [Block(name, tuple(shapes)) for name, shapes in weights.items()]
