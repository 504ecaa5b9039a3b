"""The translators that came before the transformer: a GRU encoder and decoder, without
and with attention.

Without attention the decoder knows one vector of the sentence, however long it is: the
last states of the encoder (Sutskever et al., "Sequence to Sequence Learning with Neural
Networks", 2014; Cho et al., "Learning Phrase Representations using RNN
Encoder-Decoder", 2014). With additive attention it looks at the encoder's state of
every piece again at each step (Bahdanau et al., "Neural Machine Translation by Jointly
Learning to Align and Translate",
2015). Nothing else differs between the two.

Axes as in `model.py`: B batch, S source length, T target length, N hypotheses of B
sentences, D d_model, V vocabulary. Masks are True where there is a piece.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from xformer.model import Config, Heads, Network, Record, Trace, dropout
from xformer.pieces import PAD

ATTENTIONS = ("additive", "none")


@dataclass(frozen=True)
class RecurrentConfig(Config):
    """The shape of a recurrent translator; what only a transformer has is 1, or is
    ignored."""

    # of embeddings and states; half of it in each direction of the encoder
    d_model: int = 320
    n_heads: int = 1
    n_layers: int = 1  # of the encoder and of the decoder
    d_ff: int = 1
    attention: str = "additive"

    @property
    def architecture(self) -> str:
        return "gru-attention" if self.attention == "additive" else "gru"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attention not in ATTENTIONS:
            raise ValueError(
                f"attention is {self.attention!r}; choose one of {', '.join(ATTENTIONS)}"
            )
        if self.n_heads != 1:
            raise ValueError(f"n_heads is {self.n_heads}; additive attention has 1")
        if self.n_decoder_layers not in (0, self.n_layers):
            raise ValueError(
                f"n_decoder_layers is {self.n_decoder_layers}; each layer of the decoder begins with the "
                f"last state of that of the encoder, so there are as many: {self.n_layers}"
            )


class GRU(nn.Module):
    """Gated recurrent unit, Cho et al. 2014, in the form of cuDNN and `torch.nn.GRU`:

    r, z = sigmoid(W x + U h);  n = tanh(W_n x + r * U_n h);  h' = (1 - z) n + z h
    """

    def __init__(self, width: int, states: int) -> None:
        """width: of an input. states: H, of a state."""
        super().__init__()
        self.states = states
        # rows of r, z, n
        self.of_input = nn.Linear(width, 3 * states)
        self.of_state = nn.Linear(states, 3 * states)

    def step(self, projected: Tensor, state: Tensor) -> Tensor:
        """of_input(x) [..., 3 H] and the state [..., H] -> the next state [..., H]"""
        h_r, h_z, h_n = self.of_state(state).chunk(3, dim=-1)
        x_r, x_z, x_n = projected.chunk(3, dim=-1)
        reset = torch.sigmoid(x_r + h_r)
        kept = torch.sigmoid(x_z + h_z)
        new = torch.tanh(x_n + reset * h_n)
        return new + kept * (state - new)

    def forward(
        self, x: Tensor, mask: Tensor, backward: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Read x [B, S, D] from one end to the other -> the states [B, S, H] and the
        last [B, H]; padding changes none. mask [B, S]. backward: from the last piece to
        the first."""
        projected = self.of_input(x)
        state = projected.new_zeros(len(x), self.states)
        states: list[Tensor] = []
        for i in reversed(range(x.shape[1])) if backward else range(x.shape[1]):
            state = torch.where(
                mask[:, i, None], self.step(projected[:, i], state), state
            )
            states.append(state)
        return torch.stack(states[::-1] if backward else states, dim=1), state


class RecurrentEncoder(nn.Module):
    """Layers of two GRUs each, one for each direction, so that a state knows what
    stands on both sides of its piece (Schuster and Paliwal 1997; Bahdanau et al.,
    section 3.2)."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        half = config.d_model // 2
        self.forwards = nn.ModuleList(
            GRU(config.d_model, half) for _ in range(config.n_layers)
        )
        self.backwards = nn.ModuleList(
            GRU(config.d_model, half) for _ in range(config.n_layers)
        )
        self.p = config.dropout

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
        """x [B, S, D] -> the states of the last layer [B, S, D], and each layer's last
        states [B, D]"""
        last = []
        for i, (there, back) in enumerate(
            zip(self.forwards, self.backwards, strict=True)
        ):
            x = dropout(x, self.p, self.training) if i else x
            left, at_end = there(x, mask)
            right, at_start = back(x, mask, backward=True)
            x = torch.cat((left, right), dim=-1)
            last.append(torch.cat((at_end, at_start), dim=-1))
        return x, last


class AdditiveAttention(nn.Module):
    """softmax(w^T tanh(W_q q + W_k k)) over the pieces of the source, Bahdanau et al.
    2015, section A.1.2."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.of_query = nn.Linear(config.d_model, config.d_model)
        self.of_key = nn.Linear(config.d_model, config.d_model)
        # its bias is the same for all keys, so softmax takes it out
        self.weight = nn.Linear(config.d_model, 1)

    def forward(
        self, query: Tensor, keys: Tensor, memory: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """query [B, n, D], keys of_key(memory) [B, S, D], memory [B, S, D], mask [B, S]
        -> the weighted mean of the memory [B, n, D], and the weights [B, n, S]"""
        summed = self.of_query(query)[:, :, None] + keys[:, None]  # [B, n, S, D]
        scores = self.weight(torch.tanh(summed)).squeeze(-1)
        weights = scores.masked_fill(~mask[:, None], -math.inf).softmax(dim=-1)
        return weights.to(memory.dtype) @ memory, weights


@dataclass
class State:
    """What decoding keeps between steps, for N = B n hypotheses of B sentences; owned
    by the caller."""

    memory: Tensor  # [B, S, D], the encoder's states
    mask: Tensor  # [B, S]
    keys: Tensor | None  # [B, S, D] where there is attention
    summary: Tensor  # [N, D], the last state of the encoder
    states: list[Tensor]  # [N, D], one a layer of the decoder
    length: int = 0  # steps taken so far

    def select(self, hypotheses: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows of the N hypotheses (repeats allowed), and of the B sentences
        if some are done."""
        self.summary = self.summary.index_select(0, hypotheses)
        self.states = [state.index_select(0, hypotheses) for state in self.states]
        if sentences is not None:
            self.memory = self.memory.index_select(0, sentences)
            self.mask = self.mask.index_select(0, sentences)
            self.keys = (
                None if self.keys is None else self.keys.index_select(0, sentences)
            )


class RecurrentTranslator(Network):
    """Encoder and decoder of GRUs; reads and searches as a `Transformer` does, through
    `start` and `step`."""

    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config)
        width = config.d_model
        self.embedding = nn.Embedding(config.vocab_size, width)
        self.encoder = RecurrentEncoder(config)
        self.first_states = nn.ModuleList(
            nn.Linear(width, width) for _ in range(config.n_layers)
        )
        self.attention = (
            AdditiveAttention(config) if config.attention == "additive" else None
        )
        self.layers = nn.ModuleList(
            GRU(width if i else 2 * width, width) for i in range(config.n_layers)
        )
        self.readout = nn.Linear(3 * width, width)
        self.initialise()

    def encode(self, source: Tensor) -> State:
        """Read source [B, S] -> the beginning of the target of each sentence"""
        mask = source != PAD
        memory, last = self.encoder(self.embed(source), mask)
        states = [
            torch.tanh(first(state))
            for first, state in zip(self.first_states, last, strict=True)
        ]
        keys = self.attention.of_key(memory) if self.attention else None
        return State(memory, mask, keys, last[-1], states)

    def embed(self, tokens: Tensor) -> Tensor:
        """tokens [B, L] -> [B, L, D], of the size that the output's shared matrix is
        not"""
        x: Tensor = self.embedding(tokens) * math.sqrt(self.config.d_model)
        return dropout(x, self.config.dropout, self.training)

    def advance(self, x: Tensor, at: State, record: Record | None = None) -> Tensor:
        """Take a step with the embedded token x [N, D] of each hypothesis -> [N, D],
        ready for `logits`.

        Without attention what the sentence says is the same at each step (Cho et al.
        2014, equation 8), with it the mean that the last layer's state asks for
        (Bahdanau et al., equation 5).
        """
        context = at.summary
        if self.attention and at.keys is not None:
            # hypotheses share their sentence
            query = at.states[-1].view(len(at.memory), -1, self.config.d_model)
            answer, weights = self.attention(query, at.keys, at.memory, at.mask)
            context = answer.reshape(x.shape)
            if record is not None:
                record.probabilities.append(weights[:, None])  # [B, 1, n, S]
        states = []
        below = torch.cat((x, context), dim=-1)
        for i, (layer, state) in enumerate(zip(self.layers, at.states, strict=True)):
            below = dropout(below, self.config.dropout, self.training) if i else below
            below = layer.step(layer.of_input(below), state)  # type: ignore[operator]
            states.append(below)
        at.states = states
        at.length = at.length + 1
        read = torch.tanh(self.readout(torch.cat((below, context, x), dim=-1)))
        return dropout(read, self.config.dropout, self.training)

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        trace: Trace | None = None,
        heads: Heads | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Teacher forcing: source [B, S], target [B, T] beginning with BOS -> logits
        [B, T, V]. Raises ValueError where heads or positions are given: there are none
        to switch off or to replace."""
        refuse(heads, positions)
        at = self.encode(source)
        x = self.embed(target)
        record = Record() if trace else None
        read = torch.stack(
            [self.advance(x[:, i], at, record) for i in range(x.shape[1])], dim=1
        )
        if trace and record and record.probabilities:
            # [B, 1, T, S]
            trace.cross.probabilities.append(torch.cat(record.probabilities, dim=2))
            trace.cross.value_norms.append(at.memory.norm(dim=-1)[:, None])  # [B, 1, S]
        return self.logits(read)

    def start(
        self,
        source: Tensor,
        heads: Heads | None = None,
        positions: Tensor | None = None,
    ) -> State:
        """Encode source [B, S] once, for `step`. Raises ValueError as a pass does."""
        refuse(heads, positions)
        return self.encode(source)

    def step(self, tokens: Tensor, cache: State) -> Tensor:
        """The next tokens [N, t] of each hypothesis -> logits [N, V] after the last"""
        x = self.embed(tokens)
        for i in range(x.shape[1]):
            read = self.advance(x[:, i], cache)
        return self.logits(read)


def refuse(heads: Heads | None, positions: Tensor | None) -> None:
    """Raise ValueError where a change is asked for that only a transformer knows."""
    if heads is not None or positions is not None:
        raise ValueError(
            "a recurrent model has no heads to switch off and no positions to replace"
        )
