"""Milliseconds for 1, 32 and 64 sentences: this engine, itself without a cache, and
what one would use instead.

What makes it fair: all get the same pieces of the same sentences, work in float32
(those called int8 apart, which have 8-bit weights), and do not tokenise. This engine,
`nn.Transformer` and CTranslate2 hold the same weights, and their outputs are compared.
Marian normalises after each sub-layer and so cannot hold these weights: it has random
ones of the same shape, and is made to write as many pieces as this engine wrote, on
average of the batch, so that it has at most as much to do. Beams have the same width,
rule of stopping, penalty of length (EOS counts) and limit of length; Marian's end at
the length that it is held to. The rule is CTranslate2's: a beam ends when as many
hypotheses have finished as it is wide. This engine's own goes on until nothing is
likely to become better; what that takes, and how often it changes the output, has a row
of its own ("to its own end"; there each sentence has a limit of its own, as in the
app). Greedy search is the same with both. Libraries that thrive on few threads are
measured on one and on two.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.harness import Contender, Ring, median, table
from xformer.device import prepare
from xformer.hub import checkpoint
from xformer.model import Config, Transformer, sinusoids
from xformer.pieces import BOS, EOS, PAD
from xformer.search import Options, search
from xformer.tokenizer import Tokenizer
from xformer.translator import pad, translate_ids

# sentences translated one after the other where the time of one is measured
SINGLES = 16
BEAM = 5
OURS = "this engine"
OURS_TO_ITS_END = "this engine, to its own end"
UNCACHED = "this engine, no cache"
OURS_INT8 = "this engine int8"
TORCH = "nn.Transformer, no cache"
MARIAN = "Marian, transformers"
CT2 = "CTranslate2 float32"
CT2_INT8 = "CTranslate2 int8"


@dataclass(frozen=True)
class Request:
    """Sentences to translate in calls of `size`, and how many pieces (with EOS) Marian
    shall write of each."""

    sources: list[list[int]]  # pieces, without EOS
    size: int
    beam: int
    lengths: list[int]

    def calls(self) -> list[slice]:
        return [slice(i, i + self.size) for i in range(0, len(self.sources), self.size)]

    @property
    def title(self) -> str:
        return f"{self.size}, {'greedy' if self.beam == 1 else f'beam {self.beam}'}"


Answer = list[list[int]]  # of each sentence its best translation: pieces, without EOS


def limit(sources: Sequence[Sequence[int]]) -> int:
    """The most pieces, EOS included, that a call may write for each of its sentences;
    the same for all contenders."""
    return 2 * max(map(len, sources)) + 18


def without_eos(tokens: Sequence[int]) -> list[int]:
    return list(tokens[:-1] if tokens and tokens[-1] == EOS else tokens)


class Ours:
    def __init__(self, folder: Path, stop: str, precision: str, threads: int) -> None:
        self.model = checkpoint.load(folder).model
        self.stop = stop
        prepare(self.model, "cpu", precision)

    def options(self, request: Request) -> Options:
        return Options(beam=request.beam, stop=self.stop, alternatives=0)

    def __call__(self, request: Request) -> Answer:
        options = self.options(request)
        answer = []
        for call in request.calls():
            sources = request.sources[call]
            limits = (
                [limit(sources)] * len(sources) if self.stop == "k_finished" else None
            )
            translations = translate_ids(
                self.model, sources, options, max_lengths=limits
            )
            answer += [without_eos(hypotheses[0].tokens) for hypotheses in translations]
        return answer


class UncachedScorer:
    """A `search.Scorer` that works out the whole prefix of each hypothesis again at
    each step."""

    def __init__(self, model: Transformer, source: Tensor) -> None:
        self.model = model
        self.memory, self.mask = model.encode(source)
        self.prefix = torch.empty(0, 0, dtype=torch.int64)  # [N, T]

    def __call__(self, tokens: Tensor) -> Tensor:
        self.prefix = (
            torch.cat((self.prefix, tokens), dim=1) if self.prefix.numel() else tokens
        )
        return self.model.decode(self.prefix, self.memory, self.mask)[:, -1].clone()

    def select(self, hypotheses: Tensor, sentences: Tensor | None) -> None:
        self.prefix = self.prefix[hypotheses]
        if sentences is not None:
            self.memory = self.memory[sentences]
            self.mask = self.mask[sentences]


class Uncached(Ours):
    @torch.inference_mode()
    def __call__(self, request: Request) -> Answer:
        answer = []
        for call in request.calls():
            sources = request.sources[call]
            scorer = UncachedScorer(self.model, pad([[*s, EOS] for s in sources]))
            translations = search(
                scorer, [limit(sources)] * len(sources), self.options(request)
            )
            answer += [without_eos(hypotheses[0].tokens) for hypotheses in translations]
        return answer


class TorchModel(nn.Module):
    """`nn.Transformer` of a given shape, with shared embeddings and sinusoidal
    positions, as tutorials write it."""

    def __init__(self, config: Config, dropout: float = 0.0) -> None:
        super().__init__()
        self.scale = config.d_model**0.5
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.register_buffer(
            "positions",
            sinusoids(config.max_length, config.d_model, config.position_base),
        )
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(
            config.d_model,
            config.n_heads,
            config.n_layers,
            config.decoder_layers,
            config.d_ff,
            dropout,
            norm_first=config.norm == "pre",
            batch_first=True,
        )
        if config.norm == "post":
            self.transformer.encoder.norm = self.transformer.decoder.norm = None

    def embed(self, tokens: Tensor) -> Tensor:
        return self.dropout(
            self.embedding(tokens) * self.scale + self.positions[: tokens.shape[1]]
        )

    def encode(self, source: Tensor) -> Tensor:
        return self.transformer.encoder(
            self.embed(source), src_key_padding_mask=source == PAD
        )

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """-> [B, T, D]"""
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        return self.transformer.decoder(
            self.embed(target),
            memory,
            tgt_mask=future,
            tgt_is_causal=True,
            memory_key_padding_mask=source == PAD,
        )

    def logits(self, x: Tensor) -> Tensor:
        return x @ self.embedding.weight.T

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.logits(self.decode(target, self.encode(source), source))

    def copy(self, model: Transformer) -> None:
        """Take over the weights of one of our models."""
        self.embedding.weight = model.embedding.weight
        ours = model
        theirs = self.transformer
        for a, b in zip(
            [*theirs.encoder.layers, *theirs.decoder.layers],
            [*ours.encoder.layers, *ours.decoder.layers],
            strict=True,
        ):
            _copy(a.norm1, b.self_residual.norm)
            _copy(a.linear1, b.feed_forward.inner)
            _copy(a.linear2, b.feed_forward.outer)
            _copy_attention(a.self_attn, b.self_attention)
            if hasattr(a, "multihead_attn"):
                _copy_attention(a.multihead_attn, b.cross_attention)
                _copy(a.norm2, b.cross_residual.norm)
                _copy(a.norm3, b.feed_residual.norm)
            else:
                _copy(a.norm2, b.feed_residual.norm)
        if theirs.encoder.norm is not None:
            _copy(theirs.encoder.norm, ours.encoder.norm)
            _copy(theirs.decoder.norm, ours.decoder.norm)


def _copy(to: nn.Module, of: nn.Module) -> None:
    to.load_state_dict(of.state_dict())


def _copy_attention(to: nn.MultiheadAttention, of: nn.Module) -> None:
    state = {
        name.replace("in_proj.", "in_proj_"): tensor
        for name, tensor in of.state_dict().items()
    }
    to.load_state_dict(state)


class TorchLoop:
    """The greedy loop that goes with `nn.Transformer`: encode once, decode the whole
    prefix for each new piece."""

    def __init__(self, folder: Path, threads: int) -> None:
        ours = checkpoint.load(folder).model
        self.model = TorchModel(ours.config).eval()
        self.model.copy(ours)

    @torch.inference_mode()
    def __call__(self, request: Request) -> Answer:
        answer = []
        for call in request.calls():
            source = pad([[*s, EOS] for s in request.sources[call]])
            memory = self.model.encode(source)
            target = torch.full((len(source), 1), BOS)
            done = torch.zeros(len(source), dtype=torch.bool)
            while not done.all() and target.shape[1] <= limit(request.sources[call]):
                logits = self.model.logits(
                    self.model.decode(target, memory, source)[:, -1]
                )
                logits[:, [PAD, BOS]] = -torch.inf
                new = logits.argmax(dim=1).masked_fill(done, PAD)
                target = torch.cat((target, new[:, None]), dim=1)
                done |= new == EOS
            answer += [
                without_eos([t for t in row if t != PAD])
                for row in target[:, 1:].tolist()
            ]
        return answer


def marian(config: Config) -> Any:
    """`MarianMTModel` of the same shape and random weights; it drops where this
    project's model drops."""
    import transformers

    torch.manual_seed(0)
    return transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=config.vocab_size,
            d_model=config.d_model,
            max_position_embeddings=config.max_length,
            encoder_layers=config.n_layers,
            decoder_layers=config.decoder_layers,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            encoder_attention_heads=config.n_heads,
            decoder_attention_heads=config.n_heads,
            activation_function="relu",
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
            dropout=config.dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
        )
    )


class Marian:
    def __init__(self, folder: Path, threads: int) -> None:
        self.model = marian(checkpoint.load(folder).model.config).eval()

    @torch.inference_mode()
    def __call__(self, request: Request) -> Answer:
        for call in request.calls():
            source = pad([[*s, EOS] for s in request.sources[call]])
            pieces = round(sum(request.lengths[call]) / len(source))
            written = self.model.generate(
                source,
                attention_mask=(source != PAD).long(),
                num_beams=request.beam,
                do_sample=False,
                min_new_tokens=pieces,
                max_new_tokens=pieces,
            )
            if written.shape[1] != 1 + pieces:
                raise RuntimeError(
                    f"Marian wrote {written.shape[1] - 1} pieces where {pieces} were asked for"
                )
        return []


def convert(model: Transformer, tokenizer: Tokenizer, folder: Path) -> None:
    """Write one of our models as a CTranslate2 model."""
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.common_spec import Activation

    config = model.config
    spec = TransformerSpec.from_config(
        (config.n_layers, config.decoder_layers),
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation=Activation[config.activation.upper()],
    )
    d = config.d_model
    embeddings = _numbers(model.embedding.weight)
    positions = _numbers(model.embedding.positions)
    for stack, ours in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        (
            stack.embeddings[0]
            if isinstance(stack.embeddings, list)
            else stack.embeddings
        ).weight = embeddings
        stack.position_encodings.encodings = positions
        if config.norm == "pre":
            _norm(stack.layer_norm, ours.norm)
        for to, layer in zip(stack.layer, ours.layers, strict=True):
            _norm(to.self_attention.layer_norm, layer.self_residual.norm)
            _linear(to.self_attention.linear[0], layer.self_attention.in_proj)
            _linear(to.self_attention.linear[1], layer.self_attention.out_proj)
            if stack is spec.decoder:
                _norm(to.attention.layer_norm, layer.cross_residual.norm)
                _linear(
                    to.attention.linear[0], layer.cross_attention.in_proj, slice(0, d)
                )
                _linear(
                    to.attention.linear[1],
                    layer.cross_attention.in_proj,
                    slice(d, 3 * d),
                )
                _linear(to.attention.linear[2], layer.cross_attention.out_proj)
            _norm(to.ffn.layer_norm, layer.feed_residual.norm)
            _linear(to.ffn.linear_0, layer.feed_forward.inner)
            _linear(to.ffn.linear_1, layer.feed_forward.outer)
    spec.decoder.projection.weight = embeddings
    if config.output_bias:
        spec.decoder.projection.bias = _numbers(model.output_bias)
    pieces = tokenizer.pieces(range(config.vocab_size))
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.bos_token = "<s>"
    spec.config.eos_token = "</s>"
    spec.config.unk_token = "<unk>"
    spec.config.decoder_start_token = "<s>"
    spec.config.layer_norm_epsilon = 1e-5
    spec.validate()
    spec.optimize()
    spec.save(str(folder))


def _numbers(tensor: Tensor) -> Any:
    return tensor.detach().float().contiguous().numpy()


def _norm(to: Any, of: nn.Module) -> None:
    to.gamma = _numbers(of.weight)
    to.beta = _numbers(of.bias)


def _linear(to: Any, of: nn.Module, rows: slice = slice(None)) -> None:
    to.weight = _numbers(of.weight[rows])
    to.bias = _numbers(of.bias[rows])


class CTranslate2:
    def __init__(self, folder: Path, kind: str, threads: int) -> None:
        import ctranslate2

        loaded = checkpoint.load(folder)
        self.pieces = loaded.tokenizer.pieces(range(len(loaded.tokenizer)))
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        with tempfile.TemporaryDirectory() as place:
            convert(loaded.model, loaded.tokenizer, Path(place))
            self.translator = ctranslate2.Translator(
                place,
                device="cpu",
                compute_type=kind,
                inter_threads=1,
                intra_threads=threads,
            )

    def __call__(self, request: Request) -> Answer:
        answer = []
        for call in request.calls():
            sources = [
                [*(self.pieces[i] for i in s), "</s>"] for s in request.sources[call]
            ]
            results = self.translator.translate_batch(
                sources,
                beam_size=request.beam,
                length_penalty=1.0,
                max_decoding_length=self.limit(request.sources[call]),
            )
            answer += [
                [self.ids[piece] for piece in result.hypotheses[0]]
                for result in results
            ]
        return answer

    def limit(self, sources: Sequence[Sequence[int]]) -> int:
        """The most pieces of a translation of these sources."""
        return limit(sources)


def contenders(folder: Path) -> list[Contender]:
    many = max(1, torch.get_num_threads())
    counts = sorted({1, many})
    return [
        *(Contender(OURS, Ours, (folder, "k_finished", "float32"), n) for n in counts),
        *(
            Contender(OURS_INT8, Ours, (folder, "k_finished", "int8"), n)
            for n in counts
        ),
        *(
            Contender(OURS_TO_ITS_END, Ours, (folder, "lookahead", "float32"), n)
            for n in counts
        ),
        Contender(UNCACHED, Uncached, (folder, "k_finished", "float32"), many),
        Contender(TORCH, TorchLoop, (folder,), many),
        *(Contender(MARIAN, Marian, (folder,), n) for n in counts),
        *(Contender(CT2, CTranslate2, (folder, "float32"), n) for n in counts),
        *(Contender(CT2_INT8, CTranslate2, (folder, "int8"), n) for n in counts),
    ]


def fits(contender: Contender, request: Request) -> bool:
    """Whether a contender takes part; people write `nn.Transformer`'s loop for greedy
    search only."""
    return (
        request.beam == 1
        if contender.name == TORCH
        else request.beam > 1 or contender.name != OURS_TO_ITS_END
    )


def run(folder: Path, rounds: int, sizes: Sequence[int]) -> str:
    """Markdown: times, how often the outputs are equal, and how this engine
    compares."""
    tokenizer = checkpoint.load(folder).tokenizer
    lines = (
        Path(__file__)
        .with_name("sentences.txt")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    sources = [tokenizer.encode(line) for line in lines]
    with closing(Ring(contenders(folder))) as ring:
        first = ring.contenders[0]
        requests = []
        for size in sizes:
            for beam in (1, BEAM):
                some = sources[: SINGLES if size == 1 else size]
                _, answer = ring.run(first, Request(some, size, beam, []))
                requests.append(
                    Request(some, size, beam, [len(tokens) + 1 for tokens in answer])
                )
        checks = [Request(sources, len(sources), beam, []) for beam in (1, BEAM)]
        wanted = [ring.run(first, check)[1] for check in checks]
        equal = []
        for contender in ring.contenders[1:]:
            if contender.name != MARIAN:
                shares = [
                    _share(ring.run(contender, check)[1], answer)
                    if fits(contender, check)
                    else "–"
                    for check, answer in zip(checks, wanted, strict=True)
                ]
                equal.append([contender.title, *shares])
        seconds = ring.race(requests, rounds, fits)

    calls = [len(request.calls()) for request in requests]

    def times(title: str, i: int) -> list[float]:
        """Milliseconds of one call in each round."""
        return [1000 * s / calls[i] for s in seconds.get((title, i), [])]

    rows = [
        [c.title, *(_spread(times(c.title, i)) for i in range(len(requests)))]
        for c in ring.contenders
    ]

    def best(name: str, i: int) -> float:
        """The median of a contender with the number of threads that suits it; 0 where
        it did not take part."""
        return min(
            (
                median(taken)
                for c in ring.contenders
                if c.name == name and (taken := times(c.title, i))
            ),
            default=0.0,
        )

    pairs = [
        *((OURS, name) for name in (OURS_TO_ITS_END, UNCACHED, TORCH, MARIAN, CT2)),
        *((OURS_INT8, name) for name in (OURS, CT2_INT8)),
    ]
    ratios = [
        [
            f"{ours}, than {name}",
            *(
                f"{taken / best(ours, i):.2f}" if (taken := best(name, i)) else "–"
                for i in range(len(requests))
            ),
        ]
        for ours, name in pairs
    ]
    heads = [request.title for request in requests]
    mean = sum(map(len, wanted[0])) / len(sources)
    text = (
        f"Milliseconds a call for so many sentences: median of {rounds} rounds (and the fastest). The sentences "
        f"have {sum(map(len, sources)) / len(sources):.1f} pieces on average, their translations {mean:.1f}."
    )
    return "\n\n".join(
        (
            text,
            table(["milliseconds a call", *heads], rows),
            "With CTranslate2's rule of stopping, so many times as fast, both with "
            "the number of threads that suits them:",
            table(["times as fast", *heads], ratios),
            "Outputs equal to this engine's with CTranslate2's rule of stopping, "
            f"{len(sources)} sentences in one batch:",
            table(["equal outputs", "greedy", f"beam {BEAM}"], equal),
        )
    )


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):.1f} ({min(values):.1f})" if values else "–"


def _share(answer: Answer, wanted: Answer) -> str:
    return (
        f"{sum(a == b for a, b in zip(answer, wanted, strict=True))} of {len(wanted)}"
    )
