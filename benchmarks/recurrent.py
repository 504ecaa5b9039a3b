"""Target pieces a second of the GRU translator with attention, in training and decoding: this project's, and the same
model as one would write it with `nn.GRU`.

What makes it fair: both hold the same weights and see the same batches without padding; in training the same optimizer,
bfloat16 autocast, label smoothing, no dropout, clipped gradients (this project's step also keeps its moving average);
in decoding float32 and greedy search, which ends where every sentence has ended, and both must write the same. The
encoder of the other is one call of `nn.GRU`; its decoder, whose input depends on its last state, one call a step, as
in PyTorch's tutorial. Nobody caches logits or shares hypotheses there.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.harness import Contender, Ring, median, table
from benchmarks.training import OPTIONS, SMOOTHING, Batch, Request, Usual
from xformer.pieces import BOS, EOS
from xformer.recurrent import GRU, RecurrentConfig, RecurrentTranslator
from xformer.search import Options
from xformer.training import loop
from xformer.training.tasks import TranslationTask
from xformer.translator import pad, translate_ids

PAIRS, LENGTH = 100, 12  # of a batch; in pieces, without BOS and EOS
SENTENCES = (1, 32)  # decoded at a time
LONGEST = 20  # pieces that decoding writes at most
CONFIG = RecurrentConfig(vocab_size=8000, d_model=256, dropout=0.0)
OURS, TORCH = "this project", "nn.GRU"


def model() -> RecurrentTranslator:
    torch.manual_seed(0)
    return RecurrentTranslator(CONFIG)


def with_weights_of(layer: nn.GRU, gru: GRU, suffix: str = "") -> None:
    for name, linear in (("ih", gru.of_input), ("hh", gru.of_state)):
        getattr(layer, f"weight_{name}_l0{suffix}").data.copy_(linear.weight.data)
        getattr(layer, f"bias_{name}_l0{suffix}").data.copy_(linear.bias.data)


class TorchModel(nn.Module):
    """The same translator with PyTorch's layers."""

    def __init__(self) -> None:
        super().__init__()
        like, width = model(), CONFIG.d_model
        self.embedding, self.first = like.embedding, like.first_states[0]
        self.query, self.key = like.attention.of_query, like.attention.of_key
        self.weight, self.readout = like.attention.weight, like.readout
        self.encoder = nn.GRU(width, width // 2, bidirectional=True, batch_first=True)
        self.decoder = nn.GRU(2 * width, width, batch_first=True)
        with_weights_of(self.encoder, like.encoder.forwards[0])
        with_weights_of(self.encoder, like.encoder.backwards[0], "_reverse")
        with_weights_of(self.decoder, like.layers[0])

    def embed(self, tokens: Tensor) -> Tensor:
        return self.embedding(tokens) * CONFIG.d_model ** 0.5

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        memory, last = self.encoder(self.embed(source))
        return memory, self.key(memory), torch.tanh(self.first(torch.cat((last[0], last[1]), dim=-1)))

    def step(self, x: Tensor, memory: Tensor, keys: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.weight(torch.tanh(self.query(state)[:, None] + keys)).squeeze(-1)
        context = (scores.softmax(dim=-1)[:, None] @ memory).squeeze(1)
        _, state = self.decoder(torch.cat((x, context), dim=-1)[:, None], state[None])
        return torch.tanh(self.readout(torch.cat((state[0], context, x), dim=-1))), state[0]

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory, keys, state = self.encode(source)
        x, read = self.embed(target), []
        for i in range(x.shape[1]):
            one, state = self.step(x[:, i], memory, keys, state)
            read.append(one)
        return F.linear(torch.stack(read, dim=1), self.embedding.weight)

    @torch.inference_mode()
    def greedy(self, source: Tensor) -> list[list[int]]:
        memory, keys, state = self.encode(source)
        tokens, written = source.new_full((len(source),), BOS), []
        ended = torch.zeros(len(source), dtype=torch.bool)
        while len(written) < LONGEST and not ended.all():
            read, state = self.step(self.embed(tokens), memory, keys, state)
            tokens = F.linear(read, self.embedding.weight).argmax(dim=-1)
            written.append(tokens)
            ended |= tokens == EOS
        return [row[:row.index(EOS)] if EOS in row else row for row in torch.stack(written, dim=1).tolist()]


class OurTraining:
    def __init__(self, threads: int) -> None:
        task = TranslationTask(model(), None, None, (), SMOOTHING)
        with tempfile.TemporaryDirectory() as nothing:
            self.trainer = loop.Trainer(task, Path(nothing), OPTIONS, torch.device("cpu"))

    def __call__(self, request: Request) -> None:
        for batch in request:
            self.trainer._learn(batch, done=0.5)


def usual_training(threads: int) -> Usual:
    other = TorchModel()
    return Usual(other, other)


class OurDecoding:
    def __init__(self, threads: int) -> None:
        self.model = model().eval()
        self.model.pack()

    def __call__(self, sources: Sequence[list[int]]) -> list[list[int]]:
        greedy = Options(beam=1, alternatives=0)
        found = translate_ids(self.model, sources, greedy, max_lengths=[LONGEST] * len(sources))
        return [[token for token in best.tokens if token != EOS] for best, *_ in found]


class TorchDecoding:
    def __init__(self, threads: int) -> None:
        self.model = TorchModel().eval()

    def __call__(self, sources: Sequence[list[int]]) -> list[list[int]]:
        return self.model.greedy(pad([[*source, EOS] for source in sources]))


def pieces(rng: random.Random) -> list[int]:
    return rng.choices(range(4, CONFIG.vocab_size), k=LENGTH)


def batches(steps: int) -> Request:
    rng = random.Random(0)
    made: list[Batch] = [[(pieces(rng), pieces(rng)) for _ in range(PAIRS)] for _ in range(steps)]
    return made


def run(rounds: int, steps: int) -> str:
    """Markdown: target pieces a second in training, milliseconds in decoding. Raises RuntimeError where both models
    write differently."""
    rng, rows = random.Random(1), []
    ways = [Contender(name, build, (), 1) for name, build in ((OURS, OurTraining), (TORCH, usual_training))]
    with closing(Ring(ways)) as ring:
        seconds = ring.race([batches(steps)], rounds, lambda *_: True)
    count = steps * PAIRS * (LENGTH + 1)
    speed = {c.name: count / median(seconds[c.title, 0]) for c in ways}
    rows.append(["training, target pieces a second", *(f"{speed[name]:,.0f}" for name in (OURS, TORCH)),
                 f"{speed[OURS] / speed[TORCH]:.2f}"])
    requests = [[pieces(rng) for _ in range(size)] for size in SENTENCES]
    ways = [Contender(name, build, (), 1) for name, build in ((OURS, OurDecoding), (TORCH, TorchDecoding))]
    with closing(Ring(ways)) as ring:
        for request in requests:
            ours, theirs = (ring.run(way, request)[1] for way in ways)
            if ours != theirs:
                raise RuntimeError(f"{OURS} and {TORCH} hold the same weights, but write differently")
        seconds = ring.race(requests, rounds, lambda *_: True)
    for i, size in enumerate(SENTENCES):
        took = {way.name: 1000 * median(seconds[way.title, i]) for way in ways}
        rows.append([f"decoding of {size}, ms", *(f"{took[name]:.1f}" for name in (OURS, TORCH)),
                     f"{took[TORCH] / took[OURS]:.2f}"])
    head = ["GRU with attention", OURS, TORCH, "this project is so many times as fast"]
    text = (f"GRU with additive attention, d_model {CONFIG.d_model}, {CONFIG.vocab_size} pieces, one thread; training "
            f"in bfloat16 with batches of {PAIRS} pairs of {LENGTH} + {LENGTH} pieces; greedy decoding; median of "
            f"{rounds} rounds:")
    return f"{text}\n\n{table(head, rows)}"
