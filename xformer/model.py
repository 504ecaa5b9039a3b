"""The encoder-decoder transformer of Vaswani et al., "Attention Is All You Need" (2017), read top to bottom.

Axes, used in the shape comments: B batch, S source length, T target length, Q queries, K keys, H heads, D d_model,
d = D / H (the paper's d_k = d_v), V vocabulary. Masks are True where attention is allowed; they broadcast to
[B, H, Q, K].

Nothing that belongs to a request is stored on a module: a trace of the attention maps and the key-value cache of
step-by-step decoding are made by the caller and handed in, so that many threads can share one model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from xformer import products
from xformer.pieces import PAD
from xformer.products import Product

NORMS = ("pre", "post")


@dataclass(frozen=True)
class Config:
    """Everything that fixes the shape of a model; saved beside its weights as config.json."""

    vocab_size: int = 8000
    d_model: int = 256
    n_heads: int = 8
    n_layers: int = 6  # of the encoder, and of the decoder where n_decoder_layers is 0
    n_decoder_layers: int = 0
    d_ff: int = 1024
    norm: str = "pre"  # "post": Vaswani et al. 2017; "pre": Xiong et al. 2020
    dropout: float = 0.1
    position_base: float = 10000.0
    max_length: int = 512  # positions, in pieces

    def __post_init__(self) -> None:
        for name in ("vocab_size", "d_model", "n_heads", "n_layers", "d_ff", "max_length"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} is {value!r}; it must be a whole number of at least 1")
        if not isinstance(self.n_decoder_layers, int) or self.n_decoder_layers < 0:
            raise ValueError(f"n_decoder_layers is {self.n_decoder_layers!r}; it must be 0 (as n_layers) or more")
        if self.d_model % self.n_heads:
            raise ValueError(f"d_model is {self.d_model}, which {self.n_heads} heads cannot share equally; "
                             f"choose n_heads that divides d_model")
        if self.d_model % 2:
            raise ValueError(f"d_model is {self.d_model}; sinusoidal positions need an even number")
        if self.norm not in NORMS:
            raise ValueError(f"norm is {self.norm!r}; choose one of {', '.join(NORMS)}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout!r}; it must be at least 0 and below 1")
        if not 1 < self.position_base < math.inf:
            raise ValueError(f"position_base is {self.position_base!r}; it must be a number greater than 1")

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
    """What one layer's attention read, and its queries, keys, values, mask and answer in one pass."""

    x: Tensor  # [B, Q, D], that W_Q is multiplied with: normalised where the order is "pre"
    q: Tensor  # [B, H, Q, d]
    k: Tensor  # [B, H, K, d]
    v: Tensor  # [B, H, K, d]
    mask: Tensor | None  # broadcasts to [B, H, Q, K]
    answer: Tensor  # [B, Q, D]: all heads together, after the output projection


@dataclass
class Record:
    """What the attention of one stack did in one pass, layer by layer."""

    probabilities: list[Tensor] = field(default_factory=list)  # [B, H, Q, K] each
    value_norms: list[Tensor] = field(default_factory=list)  # [B, H, K] each, see `Attention.value_norms`
    calls: list[AttentionCall] | None = None  # kept where there is a list to keep them in


@dataclass
class Trace:
    """What every head did in one pass, filled in by the pass that it is handed to."""

    encoder_self: Record = field(default_factory=Record)  # Q = K = S
    decoder_self: Record = field(default_factory=Record)  # Q = K = T
    cross: Record = field(default_factory=Record)  # Q = T, K = S


# Makes weights [B, H, Q, K] of queries [B, H, Q, d], keys [B, H, K, d] and a mask, where equation 1 does not.
Weigh = Callable[[Tensor, Tensor, Tensor | None], Tensor]


class LayerHeads(NamedTuple):
    """How the heads of one layer take part in a pass."""

    keep: Tensor  # [H] factors on what each head answers
    weigh: Weigh | None = None  # how they weigh what they look at, where otherwise than in equation 1


@dataclass(frozen=True)
class Heads:
    """Which heads take part in a pass, and how much: factors [layers, H] on what each head answers, 0 to switch it off.

    Handed to a pass like a trace, so that nobody else's pass is touched (Michel et al. 2019).
    """

    encoder_self: Tensor
    decoder_self: Tensor
    cross: Tensor
    weigh: Mapping[tuple[str, int], Weigh] = field(default_factory=dict)  # of some layers, by stack and layer from 1

    def of(self, stack: str, layer: int) -> LayerHeads:
        """The heads of a layer, counted from 1."""
        return LayerHeads(getattr(self, stack)[layer - 1], self.weigh.get((stack, layer)))

    @classmethod
    def without(cls, config: Config, off: Iterable[tuple[str, int, int]], device: torch.device | None = None) -> Heads:
        """All heads but those named (stack, layer, head), layer and head counted from 1; ValueError if there is none.
        """
        layers = {"encoder_self": config.n_layers, "decoder_self": config.decoder_layers,
                  "cross": config.decoder_layers}
        factors = {stack: torch.ones(count, config.n_heads, device=device) for stack, count in layers.items()}
        for stack, layer, head in off:
            if stack not in layers:
                raise ValueError(f"the stack is {stack!r}; choose one of {', '.join(layers)}")
            if not (1 <= layer <= layers[stack] and 1 <= head <= config.n_heads):
                raise ValueError(f"there is no head {head} in layer {layer} of {stack}; this model has {layers[stack]} "
                                 f"layers of {config.n_heads} heads there")
            factors[stack][layer - 1, head - 1] = 0
        return cls(factors["encoder_self"], factors["decoder_self"], factors["cross"])


def sinusoids(length: int, d_model: int, base: float = 10000.0, first: int = 0) -> Tensor:
    """Positional encodings [length, d_model] of section 3.5: sine in the even dimensions, cosine in the odd ones.

    Dimensions 2i and 2i + 1 turn together with wavelength 2 pi base^(2i / d_model). `first`: position of the first row.
    """
    position = torch.arange(first, first + length, dtype=torch.float64)[:, None]
    angle = position * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # [length, D / 2]
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()


def padding_mask(tokens: Tensor) -> Tensor:
    """tokens [B, K] -> mask [B, 1, 1, K]: nobody looks at padding."""
    return (tokens != PAD)[:, None, None, :]


def future_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Mask [length, length], lower triangular: position q looks at positions 0 to q."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Inverted dropout. On a CPU the mask is made of random bytes, so p is rounded to a multiple of 1/256.

    `F.dropout` draws a Bernoulli variable for each number there, which takes a fifth of a training step; drawing eight
    bytes at a time makes the mask nearly free.
    """
    if not training or p == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    dropped = min(255, round(p * 256))
    words = torch.randint(-(2**63), 2**63 - 1, (-(-x.numel() // 8),), dtype=torch.int64)
    kept = words.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped
    return x * kept.to(x.dtype).mul_(256 / (256 - dropped))


def scores(q: Tensor, k: Tensor, mask: Tensor | None = None, scale: float | Tensor | None = None) -> Tensor:
    """q k^T times `scale`, or where none is given 1 / sqrt(d); minus infinity where the mask is False. [B, H, Q, K]"""
    found = (q * (q.shape[-1] ** -0.5 if scale is None else scale)) @ k.transpose(-2, -1)
    return found if mask is None else found.masked_fill(~mask, -math.inf)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, fused: bool, weigh: Weigh | None = None
           ) -> tuple[Tensor, Tensor | None]:
    """softmax(q k^T / sqrt(d)) v, equation 1: q [B, H, Q, d], k and v [B, H, K, d] -> [B, H, Q, d].

    Fused, the probabilities are never written down; otherwise they come back as [B, H, Q, K]. weigh: makes them in
    another way.
    """
    if fused and weigh is None:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask), None
    probabilities = scores(q, k, mask).softmax(dim=-1) if weigh is None else weigh(q, k, mask)
    return probabilities.to(v.dtype) @ v, probabilities


class Linear(nn.Linear):
    """`nn.Linear` of which one may ask for some rows of W only, and which can be made ready for inference."""

    products: dict[tuple[int, int | None], Product] | None = None  # by first and last row, once it is packed
    quantised = False

    def forward(self, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """x [..., in] -> [..., last - first]"""
        weight: Tensor = self.weight
        bias: Tensor = self.bias
        if first or last:  # a slice of the whole would make its backward pass copy the whole gradient
            weight, bias = weight[first:last], bias[first:last]
        if self.products is None or not products.usable():
            return F.linear(x, weight, bias)
        if (first, last) not in self.products:
            self.products[first, last] = Product(weight, bias, self.quantised)
        return self.products[first, last](x)

    def pack(self, quantised: bool) -> None:
        """Make inference faster, see `Network.pack`."""
        self.products, self.quantised = {(0, None): Product(self.weight, self.bias, quantised)}, quantised
        self.products[0, None].measure()


class PastKeyValues:
    """Keys and values [2, N, H, T, d] that one self-attention has computed so far for N hypotheses."""

    def __init__(self) -> None:
        self.tensor: Tensor | None = None

    def extend(self, new: Tensor) -> Tensor:
        self.tensor = new if self.tensor is None else torch.cat((self.tensor, new), dim=3)
        return self.tensor

    def select(self, rows: Tensor) -> None:
        if self.tensor is not None:
            self.tensor = self.tensor.index_select(1, rows)

    def head(self, length: int, rows: int) -> PastKeyValues:
        """The first `length` keys and values of a single hypothesis, shared by so many."""
        found = PastKeyValues()
        if self.tensor is not None:
            found.tensor = self.tensor[..., :length, :].expand(-1, rows, -1, -1, -1)
        return found


class Absorbed(NamedTuple):
    """What cross-attention looks at, with the projections of its queries and of its answers multiplied in.

    q_h . k_hs = x . (W_Q,h^T k_hs) + b_Q,h . k_hs, and head h adds the sum over s of p_hs (W_O,h v_hs). Of one short
    sentence these are fewer numbers than W_Q and W_O, which each step would read (as in section 2.1.2 of DeepSeek-V2,
    2024).
    """

    keys: Tensor  # [D, H S], divided by sqrt(d)
    bias: Tensor  # [H S]
    values: Tensor  # [H S, D]


class Attention(nn.Module):
    """Multi-head attention, section 3.2.2; one class serves self-attention and cross-attention.

    The projections of queries, keys and values are stacked in one matrix, the layout of `nn.MultiheadAttention`.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.d_model = config.d_model
        self.in_proj = Linear(config.d_model, 3 * config.d_model)
        self.out_proj = Linear(config.d_model, config.d_model)

    def split(self, x: Tensor) -> Tensor:
        """[B, L, n D] -> [n, B, H, L, d]"""
        batch, length, _ = x.shape
        return x.view(batch, length, -1, self.n_heads, self.d_model // self.n_heads).permute(2, 0, 3, 1, 4)

    def keys_values(self, memory: Tensor) -> Tensor:
        """What cross-attention looks at: memory [B, S, D] -> keys and values [2, B, H, S, d]."""
        return self.split(self.in_proj(memory, first=self.d_model))

    def absorb(self, memory: Tensor) -> Absorbed:
        """The `keys_values` [2, 1, H, S, d] of one sentence, made ready for `ask`."""
        k, v = memory[:, 0]  # [H, S, d]
        by_head = (self.n_heads, self.d_model // self.n_heads, -1)
        w_q, w_o = self.in_proj.weight[:self.d_model].view(by_head), self.out_proj.weight.t().reshape(by_head)
        b_q = self.in_proj.bias[:self.d_model].view(by_head)
        k = k * k.shape[-1] ** -0.5
        return Absorbed((k @ w_q).flatten(0, 1).t().contiguous(), (k @ b_q).flatten(), (v @ w_o).flatten(0, 1))

    def ask(self, x: Tensor, memory: Absorbed, keep: Tensor | None = None) -> Tensor:
        """What `forward` answers: x [N, Q, D] -> [N, Q, D], all of them hypotheses of one sentence."""
        found = torch.addmm(memory.bias, x.flatten(0, 1), memory.keys)  # [N Q, H S]
        probabilities = found.unflatten(1, (self.n_heads, -1)).softmax(dim=-1)
        if keep is not None:
            probabilities = probabilities * keep[:, None]
        return torch.addmm(self.out_proj.bias, probabilities.flatten(1), memory.values).view(x.shape)

    def shares(self, y: Tensor) -> Tensor:
        """What each head adds to the answer: y [B, H, L, d] times its columns of W_O -> [B, H, L, D].

        The answer is the sum over heads, plus the bias.
        """
        out = self.out_proj.weight.view(self.d_model, self.n_heads, -1)  # [D, H, d]
        return torch.einsum("bhld,ehd->bhle", y, out)

    def value_norms(self, v: Tensor) -> Tensor:
        """Length of what each head takes along from a position, values v [B, H, K, d] -> ||v W_O|| [B, H, K].

        Times the attention to that position, it is the norm of what is added (Kobayashi et al. 2020, equation 5).
        """
        return self.shares(v).norm(dim=-1)

    def forward(self, x: Tensor, mask: Tensor | None = None, memory: Tensor | None = None,
                past: PastKeyValues | None = None, record: Record | None = None, heads: LayerHeads | None = None
                ) -> Tensor:
        """x [B, Q, D] asks and is answered [B, Q, D].

        It looks at itself (and at its `past`), or at `memory`, the `keys_values` of another sequence; several
        hypotheses may share one row of memory: x [B n, Q, D] with memory [2, B, H, S, d]. What the heads did is
        appended to `record` if there is one. `heads` says how they take part.
        """
        if memory is None:
            projected = self.split(self.in_proj(x))  # [3, B, H, Q, d]
            q, new = projected[0], projected[1:]
            k, v = past.extend(new) if past is not None else new
        else:
            shared = x.view(memory.shape[1], -1, self.d_model)  # [B, n Q, D]: their queries do not see each other
            q = self.split(self.in_proj(shared, last=self.d_model))[0]
            k, v = memory
        # The CPU's fused kernel is made for long sequences: its backward pass is slower than writing the maps down.
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


class FeedForward(nn.Module):
    """Position-wise feed-forward network, equation 2: max(0, x W1 + b1) W2 + b2."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.inner = Linear(config.d_model, config.d_ff)
        self.outer = Linear(config.d_ff, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(F.relu(self.inner(x)))


class Residual(nn.Module):
    """Wraps every sub-layer, and is the only place that knows the order of normalisation.

    post: LayerNorm(x + Sublayer(x)), Vaswani et al. 2017; pre: x + Sublayer(LayerNorm(x)), Xiong et al. 2020.
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
        self.self_attention, self.self_residual = Attention(config), Residual(config)
        self.feed_forward, self.feed_residual = FeedForward(config), Residual(config)

    def forward(self, x: Tensor, mask: Tensor | None, trace: Trace | None = None, heads: LayerHeads | None = None,
                past: PastKeyValues | None = None) -> Tensor:
        record = trace.encoder_self if trace else None
        x = self.self_residual(x, lambda y: self.self_attention(y, mask, past=past, record=record, heads=heads))
        return self.feed_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Right half of figure 1: masked self-attention, cross-attention to the encoder's output, feed-forward network."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self_attention, self.self_residual = Attention(config), Residual(config)
        self.cross_attention, self.cross_residual = Attention(config), Residual(config)
        self.feed_forward, self.feed_residual = FeedForward(config), Residual(config)

    def forward(self, x: Tensor, mask: Tensor | None, memory: Tensor | Absorbed, memory_mask: Tensor | None,
                past: PastKeyValues | None = None, trace: Trace | None = None,
                heads: tuple[LayerHeads, LayerHeads] | None = None) -> Tensor:
        """x [B, T, D]; `memory` is this layer's `cross_attention.keys_values` of the encoder's output.

        heads: of its self-attention and of its cross-attention.
        """
        record, record_cross = (trace.decoder_self, trace.cross) if trace else (None, None)
        own, across = heads or (None, None)
        x = self.self_residual(x, lambda y: self.self_attention(y, mask, past=past, record=record, heads=own))
        x = self.cross_residual(x, lambda y: self.cross_attention.ask(y, memory, across.keep if across else None)
                                if isinstance(memory, Absorbed) else
                                self.cross_attention(y, memory_mask, memory, record=record_cross, heads=across))
        return self.feed_residual(x, self.feed_forward)


def final_norm(config: Config) -> nn.Module:
    """The normalisation that the residual stream of a pre-norm stack still needs at its end."""
    return nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()


class Encoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))
        self.norm = final_norm(config)

    def forward(self, x: Tensor, mask: Tensor | None, trace: Trace | None = None, heads: Heads | None = None,
                pasts: list[PastKeyValues] | None = None) -> Tensor:
        """x [B, S, D] embedded tokens -> memory [B, S, D]; with a causal mask they may go on after their `pasts`"""
        for i, layer in enumerate(self.layers):
            x = layer(x, mask, trace, heads.of("encoder_self", i + 1) if heads else None, pasts[i] if pasts else None)
        return self.norm(x)


class Decoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.norm = final_norm(config)

    def keys_values(self, memory: Tensor) -> list[Tensor]:
        """memory [B, S, D] -> what each layer's cross-attention looks at, [2, B, H, S, d]"""
        return [layer.cross_attention.keys_values(memory) for layer in self.layers]  # type: ignore[operator,union-attr]

    def absorb(self, memories: list[Tensor]) -> list[Absorbed]:
        """The `keys_values` of one sentence, made ready for many steps."""
        return [layer.cross_attention.absorb(memory)  # type: ignore[operator,union-attr]
                for layer, memory in zip(self.layers, memories, strict=True)]

    def forward(self, x: Tensor, mask: Tensor | None, memories: Sequence[Tensor | Absorbed],
                memory_mask: Tensor | None, pasts: list[PastKeyValues] | None = None, trace: Trace | None = None,
                heads: Heads | None = None) -> Tensor:
        """x [B, T, D] embedded tokens -> [B, T, D]"""
        for i, layer in enumerate(self.layers):
            own = (heads.of("decoder_self", i + 1), heads.of("cross", i + 1)) if heads else None
            x = layer(x, mask, memories[i], memory_mask, pasts[i] if pasts else None, trace, own)
        return self.norm(x)


class Embedding(nn.Module):
    """Tokens to vectors, scaled by sqrt(d_model), plus sinusoidal positions (sections 3.4 and 3.5)."""

    positions: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.empty(config.vocab_size, config.d_model))
        table = sinusoids(config.max_length, config.d_model, config.position_base)
        self.register_buffer("positions", table, persistent=False)

    def forward(self, tokens: Tensor, offset: int = 0, positions: Tensor | None = None) -> Tensor:
        """tokens [B, L], the first of them at position `offset` -> [B, L, D]

        positions [length, D]: what to add instead of the model's own table.
        """
        end, table = offset + tokens.shape[1], self.positions if positions is None else positions
        if end > len(table):
            raise ValueError(f"a sequence of {end} pieces is longer than the {len(table)} positions "
                             f"of this model; shorten it")
        x = F.embedding(tokens, self.weight) * math.sqrt(self.config.d_model) + table[offset:end]
        return dropout(x, self.config.dropout, self.training)


class Cache:
    """What step-by-step decoding keeps between steps, for N = B n hypotheses of B sentences; owned by the caller."""

    def __init__(self, memories: Sequence[Tensor | Absorbed], memory_mask: Tensor, heads: Heads | None = None,
                 positions: Tensor | None = None) -> None:
        self.heads = heads
        self.positions = positions  # [length, D] instead of the model's own
        self.memories = memories  # one a layer: [2, B, H, S, d], or what it has absorbed of a single sentence
        self.memory_mask = memory_mask  # [B, 1, 1, S]
        self.pasts = [PastKeyValues() for _ in memories]  # one [2, N, H, T, d] a layer
        self.length = 0  # T, steps taken so far

    def select(self, hypotheses: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows of the N hypotheses (repeats allowed), and of the B sentences if some are done."""
        for past in self.pasts:
            past.select(hypotheses)
        if sentences is not None:
            self.memories = [memory if isinstance(memory, Absorbed) else memory.index_select(1, sentences)
                             for memory in self.memories]
            self.memory_mask = self.memory_mask.index_select(0, sentences)


class Seeded(TorchFunctionMode):
    """Within it, the weights of modules that this thread makes are drawn from a generator of its own.

    `torch.nn.init` draws from the one generator that all threads share, so that what a seed gives would depend on what
    others draw meanwhile. They are the numbers that follow `torch.manual_seed(seed)` in a thread that is alone.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return func(*args, **({**kwargs, "generator": self.generator} if "generator" in kwargs else kwargs))


class Network(nn.Module):
    """A model whose output shares the matrix of its embeddings (section 3.4): the base of all models."""

    embedding: Embedding | nn.Embedding  # made by each model

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.output: Product | None = None  # of `logits`, once the model is packed

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
        if self.output is None or not products.usable():
            return F.linear(x, self.embedding.weight)
        return self.output(x)

    def pack(self, quantised: bool = False) -> None:
        """Make inference in float32 on a CPU faster, for the price of copies of the weights, see `products.py`.

        Call it last: the copies do not follow when the weights change or move. Elsewhere than in float32 on a CPU the
        model stays as it is. Results differ in the last bits; with `quantised`, in 8 bits, by 0.015 nats a
        piece of a translation on average, and 0.13 in one of a hundred.
        """
        weight = self.embedding.weight
        if weight.device.type != "cpu" or weight.dtype != torch.float32:
            return
        self.output = Product(weight, quantised=quantised)
        self.output.measure()
        for module in self.modules():
            if isinstance(module, Linear):
                module.pack(quantised)

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.parameters())


class EncoderStack(Network):
    """Embeddings with positions, and an encoder: what a transformer, a classifier and a language model begin with."""

    embedding: Embedding

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.embedding = Embedding(config)
        self.encoder = Encoder(config)


ENCODED = 16  # rows that a CPU encodes at a time, for a search


class Transformer(EncoderStack):
    """Figure 1. Source, target and output share one matrix of embeddings (section 3.4).

    A pass may be handed a table of `positions` [length, D] in place of the model's own, for source and target.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.decoder = Decoder(config)
        self.initialise()

    def encode(self, source: Tensor, trace: Trace | None = None, heads: Heads | None = None,
               positions: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """source [B, S] -> memory [B, S, D] and its padding mask [B, 1, 1, S]"""
        mask = padding_mask(source)
        return self.encoder(self.embedding(source, positions=positions), mask, trace, heads), mask

    def decode(self, target: Tensor, memory: Tensor, memory_mask: Tensor, trace: Trace | None = None,
               heads: Heads | None = None, positions: Tensor | None = None) -> Tensor:
        """Teacher forcing: target [B, T] beginning with BOS -> logits [B, T, V] of the piece that follows each."""
        # Padding stands at the end of a target, where the future mask already hides it from every real position.
        mask = future_mask(target.shape[1], target.device)
        memories = self.decoder.keys_values(memory)
        x = self.embedding(target, positions=positions)
        x = self.decoder(x, mask, memories, memory_mask, trace=trace, heads=heads)
        return self.logits(x)

    def forward(self, source: Tensor, target: Tensor, trace: Trace | None = None, heads: Heads | None = None,
                positions: Tensor | None = None) -> Tensor:
        """source [B, S], target [B, T] beginning with BOS -> logits [B, T, V]"""
        memory, mask = self.encode(source, trace, heads, positions)
        return self.decode(target, memory, mask, trace, heads, positions)

    @products.decodes
    def start(self, source: Tensor, heads: Heads | None = None, positions: Tensor | None = None) -> Cache:
        """Encode source [B, S] once, for `step`."""
        mask = padding_mask(source)
        # A CPU multiplies padding too: of rows sorted by length a few at a time need only as much as their longest.
        size = ENCODED if source.device.type == "cpu" else len(source)
        memory = self.embedding.weight.new_zeros(*source.shape, self.config.d_model)
        for first in range(0, len(source), size):
            rows = source[first:first + size]
            longest = int((rows != PAD).sum(dim=1).max())
            memory[first:first + size, :longest] = self.encode(rows[:, :longest], heads=heads, positions=positions)[0]
        memories = self.decoder.keys_values(memory)
        few = len(source) == 1 and source.shape[1] * self.config.n_heads <= self.config.d_model
        equation_1 = heads is None or not heads.weigh  # which alone is what `absorb` computes
        if few and equation_1 and self.output is not None and products.usable():
            return Cache(self.decoder.absorb(memories), mask, heads, positions)
        return Cache(memories, mask, heads, positions)

    @products.decodes
    def step(self, tokens: Tensor, cache: Cache) -> Tensor:
        """The next tokens [N, t] of each hypothesis -> logits [N, V] after the last; the cache grows by t."""
        # A single new token may look at all of its past; several at once (a forced prefix) need the future mask.
        steps = tokens.shape[1]
        mask = None if steps == 1 else future_mask(cache.length + steps, tokens.device)[cache.length:]
        x = self.embedding(tokens, offset=cache.length, positions=cache.positions)
        cache.length += steps
        x = self.decoder(x, mask, cache.memories, cache.memory_mask, cache.pasts, heads=cache.heads)
        return self.logits(x[:, -1])
