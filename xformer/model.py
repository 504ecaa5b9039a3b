"""The encoder-decoder transformer of Vaswani et al., "Attention Is All You Need"
(2017), read top to bottom.

Axes, used in the shape comments: B batch, S source length, T target length, Q queries,
K keys, H heads, D d_model, d = D / H (the paper's d_k = d_v), V vocabulary. Masks are
True where attention is allowed; they broadcast to [B, H, Q, K].

Nothing that belongs to a request is stored on a module: a trace of the attention maps
and the key-value cache of step-by-step decoding are made by the caller and handed in,
so that many threads can share one model.

What makes a model quick stands in `fast/`, and changes nothing here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from xformer.pieces import PAD

NORMS = ("pre", "post")
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "swish": F.silu,
}
LANGUAGE = re.compile("[a-z]{2,3}")  # a code of ISO 639


@dataclass(frozen=True)
class Config:
    """Everything that fixes the shape of a model; saved beside its weights as
    config.json."""

    vocab_size: int = 8000
    d_model: int = 256
    n_heads: int = 8
    n_layers: int = 6  # of the encoder, and of the decoder where n_decoder_layers is 0
    n_decoder_layers: int = 0
    d_ff: int = 1024
    norm: str = "pre"  # "post": Vaswani et al. 2017; "pre": Xiong et al. 2020
    dropout: float = 0.1
    activation: str = "relu"  # of the feed-forward network
    # one number a piece, added to the logits and never trained here
    output_bias: bool = False
    position_base: float = 10000.0
    first_position: int = 0  # of the first piece
    max_length: int = 512  # positions, in pieces
    # code of the language that a translator reads, "mul" of one for many
    source: str = "en"
    target: str = "es"  # and of that which it writes

    def __post_init__(self) -> None:
        for name in (
            "vocab_size",
            "d_model",
            "n_heads",
            "n_layers",
            "d_ff",
            "max_length",
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(
                    f"{name} is {value!r}; it must be a whole number of at least 1"
                )
        if not isinstance(self.n_decoder_layers, int) or self.n_decoder_layers < 0:
            raise ValueError(
                f"n_decoder_layers is {self.n_decoder_layers!r}; it must be 0 (as n_layers) or more"
            )
        if self.d_model % self.n_heads:
            raise ValueError(
                f"d_model is {self.d_model}, which {self.n_heads} heads cannot share equally; "
                f"choose n_heads that divides d_model"
            )
        if self.d_model % 2:
            raise ValueError(
                f"d_model is {self.d_model}; sinusoidal positions need an even number"
            )
        if self.norm not in NORMS:
            raise ValueError(f"norm is {self.norm!r}; choose one of {', '.join(NORMS)}")
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"activation is {self.activation!r}; choose one of {', '.join(ACTIVATIONS)}"
            )
        for name in ("source", "target"):
            if not LANGUAGE.fullmatch(str(getattr(self, name))):
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; it must be a language's code of two or three "
                    f"small letters, as en"
                )
        if not 0 <= self.dropout < 1:
            raise ValueError(
                f"dropout is {self.dropout!r}; it must be at least 0 and below 1"
            )
        if (
            not isinstance(self.first_position, int)
            or not 0 <= self.first_position <= self.max_length
        ):
            raise ValueError(
                f"first_position is {self.first_position!r}; it must be a whole number from 0 to "
                f"max_length"
            )
        if not 1 < self.position_base < math.inf:
            raise ValueError(
                f"position_base is {self.position_base!r}; it must be a number greater than 1"
            )

    @property
    def decoder_layers(self) -> int:
        return self.n_decoder_layers or self.n_layers

    @property
    def architecture(self) -> str:
        """The name of the model's kind on the command line."""
        return "transformer"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class AttentionCall(NamedTuple):
    """What one layer's attention read, and its queries, keys, values, mask and answer
    in one pass."""

    # [B, Q, D], that W_Q is multiplied with: normalised where the order is "pre"
    x: Tensor
    q: Tensor  # [B, H, Q, d]
    k: Tensor  # [B, H, K, d]
    v: Tensor  # [B, H, K, d]
    mask: Tensor | None  # broadcasts to [B, H, Q, K]
    answer: Tensor  # [B, Q, D]: all heads together, after the output projection


@dataclass
class Record:
    """What the attention of one stack did in one pass, layer by layer."""

    probabilities: list[Tensor] = field(default_factory=list)  # [B, H, Q, K] each
    # [B, H, K] each, see `Attention.value_norms`
    value_norms: list[Tensor] = field(default_factory=list)
    # kept where there is a list to keep them in
    calls: list[AttentionCall] | None = None


@dataclass
class Trace:
    """What every head did in one pass, filled in by the pass that it is handed to."""

    encoder_self: Record = field(default_factory=Record)  # Q = K = S
    decoder_self: Record = field(default_factory=Record)  # Q = K = T
    cross: Record = field(default_factory=Record)  # Q = T, K = S


# Makes weights [B, H, Q, K] of queries [B, H, Q, d], keys [B, H, K, d] and a mask,
# where equation 1 does not.
Weigh = Callable[[Tensor, Tensor, Tensor | None], Tensor]


class LayerHeads(NamedTuple):
    """How the heads of one layer take part in a pass."""

    keep: Tensor  # [H] factors on what each head answers
    # how they weigh what they look at, where otherwise than in equation 1
    weigh: Weigh | None = None


@dataclass(frozen=True)
class Heads:
    """Which heads take part in a pass, and how much: factors [layers, H] on what each
    head answers, 0 to switch it off.

    Handed to a pass like a trace, so that no other pass is touched (Michel et al.
    2019).
    """

    encoder_self: Tensor
    decoder_self: Tensor
    cross: Tensor
    # of some layers, by stack and layer from 1
    weigh: Mapping[tuple[str, int], Weigh] = field(default_factory=dict)

    def of(self, stack: str, layer: int) -> LayerHeads:
        """The heads of a layer, counted from 1."""
        return LayerHeads(
            getattr(self, stack)[layer - 1], self.weigh.get((stack, layer))
        )

    @classmethod
    def without(
        cls,
        config: Config,
        off: Iterable[tuple[str, int, int]],
        device: torch.device | None = None,
    ) -> Heads:
        """All heads but those named (stack, layer, head), layer and head counted from
        1; ValueError if there is none."""
        layers = {
            "encoder_self": config.n_layers,
            "decoder_self": config.decoder_layers,
            "cross": config.decoder_layers,
        }
        factors = {
            stack: torch.ones(count, config.n_heads, device=device)
            for stack, count in layers.items()
        }
        for stack, layer, head in off:
            if stack not in layers:
                raise ValueError(
                    f"the stack is {stack!r}; choose one of {', '.join(layers)}"
                )
            if not (1 <= layer <= layers[stack] and 1 <= head <= config.n_heads):
                raise ValueError(
                    f"there is no head {head} in layer {layer} of {stack}; this model has {layers[stack]} "
                    f"layers of {config.n_heads} heads there"
                )
            factors[stack][layer - 1, head - 1] = 0
        return cls(factors["encoder_self"], factors["decoder_self"], factors["cross"])


def sinusoids(
    length: int, d_model: int, base: float = 10000.0, first: int = 0
) -> Tensor:
    """Positional encodings [length, d_model] of section 3.5: sine in the even
    dimensions, cosine in the odd ones.

    Dimensions 2i and 2i + 1 turn together with wavelength 2 pi base^(2i / d_model).
    `first`: position of the first row.
    """
    position = torch.arange(first, first + length, dtype=torch.float64)[:, None]
    # [length, D / 2]
    angle = position * base ** (
        -torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    )
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()


def padding_mask(tokens: Tensor) -> Tensor:
    """tokens [B, K] -> mask [B, 1, 1, K]: no piece looks at padding."""
    return (tokens != PAD)[:, None, None, :]


def needed(mask: Tensor) -> Tensor | None:
    """None for a mask that hides nothing: without one attention takes half of the
    time."""
    return None if mask.all() else mask


def future_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Mask [length, length], lower triangular: position q looks at positions 0 to q."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Inverted dropout. On a CPU the mask is made of random bytes, so p is rounded to a
    multiple of 1/256.

    `F.dropout` draws a Bernoulli variable for each number there, which takes a fifth of
    a training step; drawing eight bytes at a time makes the mask nearly free.
    """
    if not training or p == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    dropped = min(255, round(p * 256))
    words = torch.randint(-(2**63), 2**63 - 1, (-(-x.numel() // 8),), dtype=torch.int64)
    kept = words.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped
    return x * kept.to(x.dtype).mul_(256 / (256 - dropped))


def scores(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    scale: float | Tensor | None = None,
) -> Tensor:
    """q k^T times `scale`, or where none is given 1 / sqrt(d); minus infinity where the
    mask is False. [B, H, Q, K]"""
    unmasked = (q * (q.shape[-1] ** -0.5 if scale is None else scale)) @ k.transpose(
        -2, -1
    )
    return unmasked if mask is None else unmasked.masked_fill(~mask, -math.inf)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    fused: bool,
    weigh: Weigh | None = None,
) -> tuple[Tensor, Tensor | None]:
    """softmax(q k^T / sqrt(d)) v, equation 1: q [B, H, Q, d], k and v [B, H, K, d] ->
    [B, H, Q, d].

    Fused, the probabilities are never written down; otherwise they come back as [B, H,
    Q, K]. weigh: makes them in another way.
    """
    if fused and weigh is None:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask), None
    probabilities = (
        scores(q, k, mask).softmax(dim=-1) if weigh is None else weigh(q, k, mask)
    )
    return probabilities.to(v.dtype) @ v, probabilities


class PastKeyValues:
    """Keys and values [2, N, H, T, d] that one self-attention has computed so far for N
    hypotheses."""

    def __init__(self) -> None:
        self.tensor: Tensor | None = None

    def extend(self, new: Tensor) -> Tensor:
        self.tensor = (
            new if self.tensor is None else torch.cat((self.tensor, new), dim=3)
        )
        return self.tensor

    def select(self, rows: Tensor) -> None:
        if self.tensor is not None:
            self.tensor = self.tensor.index_select(1, rows)

    def head(self, length: int, rows: int) -> PastKeyValues:
        """The first `length` keys and values of a single hypothesis, shared by `rows`
        hypotheses."""
        beginning = PastKeyValues()
        if self.tensor is not None:
            beginning.tensor = self.tensor[..., :length, :].expand(-1, rows, -1, -1, -1)
        return beginning


class Attention(nn.Module):
    """Multi-head attention, section 3.2.2; one class serves self-attention and
    cross-attention.

    The projections of queries, keys and values are stacked in one matrix, the layout of
    `nn.MultiheadAttention`.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.d_model = config.d_model
        self.in_proj = nn.Linear(config.d_model, 3 * config.d_model)
        self.out_proj = nn.Linear(config.d_model, config.d_model)

    def split(self, x: Tensor) -> Tensor:
        """[B, L, n D] -> [n, B, H, L, d]"""
        batch, length, _ = x.shape
        return x.view(
            batch, length, -1, self.n_heads, self.d_model // self.n_heads
        ).permute(2, 0, 3, 1, 4)

    def project(self, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """x [..., D] times these rows of the stacked projections -> [..., last -
        first]"""
        return F.linear(
            x, self.in_proj.weight[first:last], self.in_proj.bias[first:last]
        )

    def keys_values(self, memory: Tensor) -> Tensor:
        """What cross-attention looks at: memory [B, S, D] -> keys and values [2, B, H,
        S, d]."""
        return self.split(self.project(memory, first=self.d_model))

    def shares(self, y: Tensor) -> Tensor:
        """What each head adds to the answer: y [B, H, L, d] times its columns of W_O ->
        [B, H, L, D].

        The answer is the sum over heads, plus the bias.
        """
        out = self.out_proj.weight.view(self.d_model, self.n_heads, -1)  # [D, H, d]
        return torch.einsum("bhld,ehd->bhle", y, out)

    def value_norms(self, v: Tensor) -> Tensor:
        """Length of what each head takes along from a position, values v [B, H, K, d]
        -> ||v W_O|| [B, H, K].

        Times the attention to that position, it is the norm of what is added (Kobayashi
        et al. 2020, equation 5).
        """
        return self.shares(v).norm(dim=-1)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        memory: Tensor | None = None,
        past: PastKeyValues | None = None,
        record: Record | None = None,
        heads: LayerHeads | None = None,
    ) -> Tensor:
        """x [B, Q, D] asks and is answered [B, Q, D].

        It looks at itself (and at its `past`), or at `memory`, the `keys_values` of
        another sequence; several hypotheses may share one row of memory: x [B n, Q, D]
        with memory [2, B, H, S, d]. What the heads did is appended to `record` if there
        is one. `heads` says how they take part.
        """
        if memory is None:
            projected = self.split(self.in_proj(x))  # [3, B, H, Q, d]
            q = projected[0]
            new = projected[1:]
            k, v = past.extend(new) if past is not None else new
        else:
            # [B, n Q, D]: their queries do not see each other
            shared = x.view(memory.shape[1], -1, self.d_model)
            q = self.split(self.project(shared, last=self.d_model))[0]
            k, v = memory
        # The CPU's fused kernel is made for long sequences: its backward pass is slower
        # than writing the maps down.
        fused = record is None and not (self.training and x.device.type == "cpu")
        y, probabilities = attend(q, k, v, mask, fused, heads.weigh if heads else None)
        if record is not None and probabilities is not None:
            record.probabilities.append(probabilities)
            record.value_norms.append(self.value_norms(v))
        if heads is not None:
            y = y * heads.keep.to(y.dtype)[:, None, None]
        answer: Tensor = self.out_proj(y.transpose(1, 2).reshape(x.shape))
        if record is not None and record.calls is not None:
            record.calls.append(AttentionCall(x, q, k, v, mask, answer))
        return answer


class Memory(NamedTuple):
    """What the cross-attention of one layer looks at: the encoder's output as its keys
    and values."""

    keys_values: Tensor  # [2, B, H, S, d]
    mask: Tensor | None  # [B, 1, 1, S]

    def attend(
        self,
        attention: Attention,
        x: Tensor,
        record: Record | None = None,
        heads: LayerHeads | None = None,
    ) -> Tensor:
        """What the attention answers x [B n, Q, D], n hypotheses of each sentence: [B
        n, Q, D]."""
        answer: Tensor = attention(
            x, self.mask, self.keys_values, record=record, heads=heads
        )
        return answer

    def select(self, sentences: Tensor) -> Memory:
        """That of these of the B sentences."""
        return Memory(
            self.keys_values.index_select(1, sentences),
            None if self.mask is None else self.mask.index_select(0, sentences),
        )


class FeedForward(nn.Module):
    """Position-wise feed-forward network, equation 2: max(0, x W1 + b1) W2 + b2, or
    with another activation."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.activation(self.inner(x)))


class Residual(nn.Module):
    """Wraps every sub-layer, and is the only place that knows the order of
    normalisation.

    post: LayerNorm(x + Sublayer(x)), Vaswani et al. 2017; pre: x +
    Sublayer(LayerNorm(x)), Xiong et al. 2020.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.order = config.norm
        self.p = config.dropout

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.order == "pre":
            return x + dropout(sublayer(self.norm(x)), self.p, self.training)
        return self.norm(x + dropout(sublayer(x), self.p, self.training))


class EncoderLayer(nn.Module):
    """Left half of figure 1: self-attention, then the feed-forward network."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self_attention = Attention(config)
        self.self_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_residual = Residual(config)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        past: PastKeyValues | None = None,
        record: Record | None = None,
        heads: LayerHeads | None = None,
    ) -> Tensor:
        """x [B, S, D] -> [B, S, D]; what else is handed in is of its self-attention."""
        x = self.self_residual(
            x, lambda y: self.self_attention(y, mask, None, past, record, heads)
        )
        return self.feed_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Right half of figure 1: masked self-attention, cross-attention to the encoder's
    output, feed-forward network."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self_attention = Attention(config)
        self.self_residual = Residual(config)
        self.cross_attention = Attention(config)
        self.cross_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_residual = Residual(config)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        memory: Memory,
        past: PastKeyValues | None = None,
        records: tuple[Record | None, Record | None] = (None, None),
        heads: tuple[LayerHeads | None, LayerHeads | None] = (None, None),
    ) -> Tensor:
        """x [B, T, D] -> [B, T, D]; `records` and `heads` are of its self-attention and
        of its cross-attention."""
        x = self.self_residual(
            x, lambda y: self.self_attention(y, mask, None, past, records[0], heads[0])
        )
        x = self.cross_residual(
            x, lambda y: memory.attend(self.cross_attention, y, records[1], heads[1])
        )
        return self.feed_residual(x, self.feed_forward)


def final_norm(config: Config) -> nn.Module:
    """The normalisation that the residual stream of a pre-norm stack still needs at its
    end."""
    return nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()


class Encoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(config) for _ in range(config.n_layers)
        )
        self.norm = final_norm(config)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        trace: Trace | None = None,
        heads: Heads | None = None,
        pasts: list[PastKeyValues] | None = None,
    ) -> Tensor:
        """x [B, S, D] embedded tokens -> memory [B, S, D]; with a causal mask they may
        go on after their `pasts`"""
        record = trace.encoder_self if trace else None
        for i, layer in enumerate(self.layers):
            x = layer(
                x,
                mask,
                pasts[i] if pasts else None,
                record,
                heads.of("encoder_self", i + 1) if heads else None,
            )
        return self.norm(x)


class Decoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(config) for _ in range(config.decoder_layers)
        )
        self.norm = final_norm(config)

    def memories(self, memory: Tensor, mask: Tensor | None) -> list[Memory]:
        """memory [B, S, D] and its padding mask [B, 1, 1, S] -> what the
        cross-attention of each layer looks at"""
        attentions: list[Attention] = [layer.cross_attention for layer in self.layers]  # type: ignore[misc]
        return [Memory(attention.keys_values(memory), mask) for attention in attentions]

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        memories: Sequence[Memory],
        pasts: list[PastKeyValues] | None = None,
        trace: Trace | None = None,
        heads: Heads | None = None,
    ) -> Tensor:
        """x [B, T, D] embedded tokens -> [B, T, D]"""
        records = (trace.decoder_self, trace.cross) if trace else (None, None)
        for i, layer in enumerate(self.layers):
            taking_part = (
                (heads.of("decoder_self", i + 1), heads.of("cross", i + 1))
                if heads
                else (None, None)
            )
            x = layer(
                x, mask, memories[i], pasts[i] if pasts else None, records, taking_part
            )
        return self.norm(x)


class Embedding(nn.Module):
    """Tokens to vectors, scaled by sqrt(d_model), plus sinusoidal positions (sections
    3.4 and 3.5)."""

    positions: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.empty(config.vocab_size, config.d_model))
        table = sinusoids(
            config.max_length,
            config.d_model,
            config.position_base,
            config.first_position,
        )
        self.register_buffer("positions", table, persistent=False)

    def forward(
        self, tokens: Tensor, offset: int = 0, positions: Tensor | None = None
    ) -> Tensor:
        """tokens [B, L], the first of them at position `offset` -> [B, L, D]

        positions [length, D]: what to add instead of the model's own table.
        """
        end = offset + tokens.shape[1]
        table = self.positions if positions is None else positions
        if end > len(table):
            raise ValueError(
                f"a sequence of {end} pieces is longer than the {len(table)} positions "
                f"of this model; shorten it"
            )
        x = (
            F.embedding(tokens, self.weight) * math.sqrt(self.config.d_model)
            + table[offset:end]
        )
        return dropout(x, self.config.dropout, self.training)


class Cache:
    """What step-by-step decoding keeps between steps, for N = B n hypotheses of B
    sentences; owned by the caller."""

    def __init__(
        self,
        memories: Sequence[Memory],
        heads: Heads | None = None,
        positions: Tensor | None = None,
    ) -> None:
        self.heads = heads
        self.positions = positions  # [length, D] instead of the model's own
        self.memories = memories  # one a layer
        self.pasts = [PastKeyValues() for _ in memories]  # one [2, N, H, T, d] a layer
        self.length = 0  # T, steps taken so far

    def select(self, hypotheses: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows of the N hypotheses (repeats allowed), and of the B sentences
        if some are done."""
        for past in self.pasts:
            past.select(hypotheses)
        if sentences is not None:
            self.memories = [memory.select(sentences) for memory in self.memories]


class Seeded(TorchFunctionMode):
    """Within it, the weights of modules that this thread makes are drawn from a
    generator of its own.

    `torch.nn.init` draws from the one generator that all threads share, so that what a
    seed gives would depend on what others draw meanwhile. They are the numbers that
    follow `torch.manual_seed(seed)` in a thread that is alone.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        return func(
            *args,
            **(
                {**kwargs, "generator": self.generator}
                if "generator" in kwargs
                else kwargs
            ),
        )


class Network(nn.Module):
    """A model whose output shares the matrix of its embeddings (section 3.4): the base
    of all models."""

    embedding: Embedding | nn.Embedding  # made by each model

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        if config.output_bias:
            self.register_buffer("output_bias", torch.zeros(config.vocab_size))

    def initialise(self) -> None:
        """Draw all weights; the last thing a model does when it is made."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
        nn.init.normal_(self.embedding.weight, std=self.config.d_model**-0.5)

    def logits(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., V]"""
        return F.linear(x, self.embedding.weight, getattr(self, "output_bias", None))

    @property
    def device(self) -> torch.device:
        """Where its weights lie."""
        return self.embedding.weight.device

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.parameters())


class EncoderStack(Network):
    """Embeddings with positions, and an encoder: what a transformer, a classifier and a
    language model begin with."""

    embedding: Embedding

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.embedding = Embedding(config)
        self.encoder = Encoder(config)


class Transformer(EncoderStack):
    """Figure 1. Source, target and output share one matrix of embeddings (section 3.4).

    A pass may be handed a table of `positions` [length, D] in place of the model's own,
    for source and target.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.decoder = Decoder(config)
        self.initialise()

    def encode(
        self,
        source: Tensor,
        trace: Trace | None = None,
        heads: Heads | None = None,
        positions: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """source [B, S] -> memory [B, S, D] and its padding mask [B, 1, 1, S]"""
        mask = padding_mask(source)
        return self.encoder(
            self.embedding(source, positions=positions), mask, trace, heads
        ), mask

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        memory_mask: Tensor,
        trace: Trace | None = None,
        heads: Heads | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Teacher forcing: target [B, T] beginning with BOS -> logits [B, T, V] of the
        piece that follows each."""
        # Padding stands at the end of a target, where the future mask already hides it
        # from every real position.
        mask = future_mask(target.shape[1], target.device)
        memories = self.decoder.memories(memory, memory_mask)
        x = self.embedding(target, positions=positions)
        x = self.decoder(x, mask, memories, trace=trace, heads=heads)
        return self.logits(x)

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        trace: Trace | None = None,
        heads: Heads | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """source [B, S], target [B, T] beginning with BOS -> logits [B, T, V]"""
        memory, mask = self.encode(source, trace, heads, positions)
        return self.decode(target, memory, mask, trace, heads, positions)

    def start(
        self,
        source: Tensor,
        heads: Heads | None = None,
        positions: Tensor | None = None,
    ) -> Cache:
        """Encode source [B, S] once, for `step`."""
        memory, mask = self.encode(source, heads=heads, positions=positions)
        return Cache(self.decoder.memories(memory, needed(mask)), heads, positions)

    def step(self, tokens: Tensor, cache: Cache) -> Tensor:
        """The next tokens [N, t] of each hypothesis -> logits [N, V] after the last;
        the cache grows by t."""
        # A single new token may look at all of its past; several at once (a forced
        # prefix) need the future mask.
        steps = tokens.shape[1]
        mask = (
            None
            if steps == 1
            else future_mask(cache.length + steps, tokens.device)[cache.length :]
        )
        x = self.embedding(tokens, offset=cache.length, positions=cache.positions)
        cache.length += steps
        x = self.decoder(x, mask, cache.memories, cache.pasts, heads=cache.heads)
        return self.logits(x[:, -1])
