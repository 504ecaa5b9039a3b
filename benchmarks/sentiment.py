"""Reviews a second, beside BERT and `nn.TransformerEncoder`; and what each word did, beside a loop over the words.

What makes it fair: the same random pieces, all texts of a batch equally long, so that nothing is spent on padding;
batches of the same size, float32, no tokeniser. `nn.TransformerEncoder` holds the same weights, and its logits are
compared; it is measured with both masks, the causal one of a model that was a language model first, and the full one.
BERT knows the full one only and normalises after each sub-layer: it has random weights of the same shape, and ReLU in
place of GELU. All are measured on one thread and on as many as PyTorch takes. The loop leaves out one word after the
other as the project does, one pass of the same packed model for each.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.harness import Contender, Ring, median, table
from benchmarks.translation import _copy, _copy_attention
from xformer.classifier import ClassifierConfig, TransformerClassifier
from xformer.hub import checkpoint
from xformer.model import sinusoids
from xformer.pieces import BOS, EOS, PAD, UNK, words
from xformer.serve import reviews
from xformer.serve.reviews import CPU_BATCH_PIECES, SentimentService
from xformer.tokenizer import Tokenizer
from xformer.translator import pad

LENGTHS = (64, 256, 512)  # pieces of a text
BATCHES = 4  # in a request
WORDS = 200  # of the review whose words are left out
SHAPE = ClassifierConfig(vocab_size=8000, d_model=256, n_heads=4, n_layers=4, d_ff=1024, max_length=512, causal=True)
CAUSAL, FULL = "causal mask", "full mask"
OURS, TORCH, BERT = "this project", "nn.TransformerEncoder", "BERT, transformers"
ATTRIBUTE, LOOP = "this project", "one pass a word"


@dataclass(frozen=True)
class Request:
    """Texts to classify in batches of `size`."""

    rows: list[list[int]]
    size: int

    def batches(self) -> list[Tensor]:
        return [pad(self.rows[i:i + self.size]) for i in range(0, len(self.rows), self.size)]


def with_mask(folder: Path, causal: bool) -> TransformerClassifier:
    """The classifier of a checkpoint, its mask changed."""
    found = checkpoint.load(folder, TransformerClassifier).model
    model = TransformerClassifier(replace(found.config, causal=causal)).eval()
    model.load_state_dict(found.state_dict())
    return model


class Ours:
    def __init__(self, folder: Path, causal: bool, threads: int) -> None:
        self.model = with_mask(folder, causal)
        self.model.pack()

    def __call__(self, request: Request) -> list[list[float]]:
        return reviews.read(self.model, request.rows)[0].tolist()


class Torch:
    """`nn.TransformerEncoder` with the weights of one of our models, and its pooling and head."""

    def __init__(self, folder: Path, causal: bool, threads: int) -> None:
        ours = with_mask(folder, causal)
        config = ours.config
        layer = nn.TransformerEncoderLayer(config.d_model, config.n_heads, config.d_ff, 0.0, batch_first=True,
                                           norm_first=config.norm == "pre")
        self.encoder = nn.TransformerEncoder(layer, config.n_layers,
                                             nn.LayerNorm(config.d_model) if config.norm == "pre" else None).eval()
        for a, b in zip(self.encoder.layers, ours.encoder.layers, strict=True):
            _copy(a.norm1, b.self_residual.norm)
            _copy(a.norm2, b.feed_residual.norm)
            _copy(a.linear1, b.feed_forward.inner)
            _copy(a.linear2, b.feed_forward.outer)
            _copy_attention(a.self_attn, b.self_attention)
        if self.encoder.norm is not None:
            _copy(self.encoder.norm, ours.encoder.norm)
        self.weight, self.scale = ours.embedding.weight, config.d_model**0.5
        self.positions = sinusoids(config.max_length, config.d_model, config.position_base)
        self.pooling, self.head, self.causal = ours.pooling, ours.head, causal

    def masks(self, tokens: Tensor) -> dict[str, Any]:
        if self.causal:  # which hides padding as well, as it stands at the end
            length = tokens.shape[1]
            return {"mask": torch.ones(length, length, dtype=torch.bool).triu(1), "is_causal": True}
        return {"src_key_padding_mask": tokens == PAD}

    @torch.inference_mode()
    def __call__(self, request: Request) -> list[list[float]]:
        logits = []
        for tokens in request.batches():
            x = nn.functional.embedding(tokens, self.weight) * self.scale + self.positions[: tokens.shape[1]]
            text, _ = self.pooling(self.encoder(x, **self.masks(tokens)), tokens != PAD)
            logits += self.head(text).tolist()
        return logits


class Bert:
    def __init__(self, folder: Path, threads: int) -> None:
        import transformers

        config = checkpoint.load(folder, TransformerClassifier).model.config
        self.model = transformers.BertForSequenceClassification(transformers.BertConfig(
            vocab_size=config.vocab_size, hidden_size=config.d_model, num_hidden_layers=config.n_layers,
            num_attention_heads=config.n_heads, intermediate_size=config.d_ff, hidden_act="relu",
            max_position_embeddings=config.max_length, num_labels=len(config.labels), pad_token_id=PAD)).eval()

    @torch.inference_mode()
    def __call__(self, request: Request) -> list[list[float]]:
        return [row for tokens in request.batches()
                for row in self.model(input_ids=tokens, attention_mask=(tokens != PAD).long()).logits.tolist()]


class Attribute:
    def __init__(self, folder: Path, threads: int) -> None:
        self.reader = SentimentService.open(folder, "cpu")

    def __call__(self, text: str) -> list[float]:
        return self.reader.attribute(text).effect.tolist()


class Loop(Attribute):
    @torch.inference_mode()
    def __call__(self, text: str) -> list[float]:
        model, tokenizer = self.reader.model, self.reader.tokenizer
        row, _ = reviews.encode(tokenizer, text, model.config.max_length)
        groups = [group for group in words(tokenizer.pieces(row)) if row[group[0]] not in (BOS, EOS)]

        def odds(pieces: Sequence[int]) -> float:
            negative, positive = (model(torch.tensor([pieces])).logits[0] / model.config.temperature).tolist()
            return positive - negative

        whole = odds(row)
        return [whole - odds([UNK if i in group else piece for i, piece in enumerate(row)]) for group in groups]


def checkpoint_of_shape(folder: Path, tokenizer: Tokenizer) -> Path:
    """A checkpoint of `SHAPE` with random weights, for who has no trained one."""
    torch.manual_seed(0)
    model = TransformerClassifier(replace(SHAPE, vocab_size=len(tokenizer)))
    with torch.no_grad():  # it begins at 0, where all pieces weigh the same
        if model.pooling.query is not None:
            model.pooling.query.normal_(std=0.1)
    checkpoint.save(folder, model, tokenizer, {})
    return folder


def contenders(folder: Path) -> list[Contender]:
    counts = sorted({1, max(1, torch.get_num_threads())})
    return [Contender(f"{name}, {mask}", build, arguments, n)
            for name, mask, build, arguments in (
                (OURS, CAUSAL, Ours, (folder, True)), (TORCH, CAUSAL, Torch, (folder, True)),
                (OURS, FULL, Ours, (folder, False)), (TORCH, FULL, Torch, (folder, False)),
                (BERT, FULL, Bert, (folder,)))
            for n in counts]


def run(folder: Path, tokenizer: Tokenizer, rounds: int, lengths: Sequence[int], text: str) -> str:
    """Markdown: reviews a second, and seconds for what each word of a text did. tokenizer: for random weights."""
    with tempfile.TemporaryDirectory() as temporary:
        trained = folder.is_dir()
        place = folder if trained else checkpoint_of_shape(Path(temporary, "random"), tokenizer)
        found = checkpoint.load(place, TransformerClassifier)
        config = found.model.config
        weights = f"the weights of {folder}" if trained else "random weights"
        pieces = len(reviews.encode(found.tokenizer, text, config.max_length)[0])
        about = (f"The classifier: {found.model.parameter_count() / 1e6:.1f} million parameters, d_model "
                 f"{config.d_model}, {config.n_layers} layers, {config.n_heads} heads, d_ff {config.d_ff}, "
                 f"{config.vocab_size} pieces, {config.norm}-norm, {weights}, float32.")
        return "\n\n".join((about, throughput(place, config, rounds, lengths),
                            attributions(place, config, rounds, text, pieces)))


def throughput(folder: Path, config: ClassifierConfig, rounds: int, lengths: Sequence[int]) -> str:
    rng = random.Random(0)
    lengths = [length for length in lengths if length <= config.max_length]
    requests = []
    for length in lengths:
        size = max(1, CPU_BATCH_PIECES // length)  # which `reviews.read` keeps to by itself
        requests.append(Request([[BOS, *rng.choices(range(4, config.vocab_size), k=length - 2), EOS]
                                 for _ in range(BATCHES * size)], size))
    with closing(Ring(contenders(folder))) as ring:
        apart = max(_apart(ring, mask, request) for mask in (CAUSAL, FULL) for request in requests)
        seconds = ring.race(requests, rounds, lambda *_: True)

    def speeds(title: str, i: int) -> list[float]:
        return [len(requests[i].rows) / s for s in seconds[title, i]]

    def best(name: str, mask: str, i: int) -> float:
        return max(median(speeds(c.title, i)) for c in ring.contenders if c.name == f"{name}, {mask}")

    heads = [f"{length} pieces, {request.size} at once" for length, request in zip(lengths, requests, strict=True)]
    rows = [[c.title, *(f"{median(speeds(c.title, i)):.1f} ({max(speeds(c.title, i)):.1f})"
                        for i in range(len(requests)))] for c in ring.contenders]
    ratios = [[f"than {name}, {mask}", *(f"{best(OURS, mask, i) / best(name, mask, i):.2f}"
                                         for i in range(len(requests)))]
              for name, mask in ((TORCH, CAUSAL), (TORCH, FULL), (BERT, FULL))]
    text = (f"Reviews a second: median of {rounds} rounds (and the fastest). The logits of {TORCH} and of this project "
            f"are nowhere more than {apart:.0e} apart.")
    return "\n\n".join((text, table(["reviews a second", *heads], rows),
                        "This project is so many times as fast with the same mask, both with the number of threads "
                        "that suits them:", table(["times as fast", *heads], ratios)))


def _apart(ring: Ring, mask: str, request: Request) -> float:
    """The largest difference between our logits and those of `nn.TransformerEncoder`."""
    ours, theirs = (torch.tensor(ring.run(next(c for c in ring.contenders if c.name == f"{name}, {mask}"), request)[1])
                    for name in (OURS, TORCH))
    return float((ours - theirs).abs().max())


def attributions(folder: Path, config: ClassifierConfig, rounds: int, text: str, pieces: int) -> str:
    threads = max(1, torch.get_num_threads())
    ways = [Contender(ATTRIBUTE, Attribute, (folder,), threads), Contender(LOOP, Loop, (folder,), threads)]
    with closing(Ring(ways)) as ring:
        ours, theirs = (torch.tensor(ring.run(way, text)[1]) for way in ways)
        seconds = ring.race([text], rounds, lambda *_: True)
    taken = {way.name: seconds[way.title, 0] for way in ways}
    rows = [[way.title, f"{median(taken[way.name]):.2f} ({min(taken[way.name]):.2f})",
             f"{median(taken[LOOP]) / median(taken[way.name]):.1f}"] for way in ways]
    mask = CAUSAL if config.causal else FULL
    said = (f"What each of {len(ours)} words and marks did for the verdict on a review of {len(text.split())} words "
            f"({pieces} pieces, {mask}): median of {rounds} rounds (and the fastest). The effects are nowhere more "
            f"than {float((ours - theirs).abs().max()):.0e} apart.")
    return f"{said}\n\n{table(['attributions', 'seconds', 'times as fast as one pass a word'], rows)}"
