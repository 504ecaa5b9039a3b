"""Milliseconds for 1 and 32 sentences on a model of the size of opus-mt: this engine with the imported model, Marian in
transformers with the same weights, and CTranslate2 float32.

The weights are random, as no weights of others come with this project, and </s> is made so unlikely that every one
writes PIECES pieces of each sentence: all have the same to do. The outputs are compared. The vocabulary is filled up to
V pieces with words that no sentence has.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import torch

from benchmarks import translation
from benchmarks.harness import Contender, Ring, median, table
from benchmarks.translation import BEAM, CT2, MARIAN, OURS, Answer, Request
from xformer.device import prepare
from xformer.hub import checkpoint, imported
from xformer.pieces import EOS, PAD
from xformer.results import Options
from xformer.tokenizer import listed
from xformer.translator import pad, translate_ids

V, PIECES, SINGLES = 65_000, 25, 4


def write(folder: Path, tokenizer: bytes) -> None:
    """Write a model of transformers with random weights, in the shape of opus-mt."""
    import transformers

    pieces = ["</s>", "<unk>", *listed(tokenizer)[4:]]
    pieces += [*(f"▁unheard{i}" for i in range(V - len(pieces) - 1)), "<pad>"]
    torch.manual_seed(0)
    model = transformers.MarianMTModel(transformers.MarianConfig(
        vocab_size=V, d_model=512, encoder_attention_heads=8, decoder_attention_heads=8, encoder_layers=6,
        decoder_layers=6, encoder_ffn_dim=2048, decoder_ffn_dim=2048, activation_function="swish",
        max_position_embeddings=512, scale_embedding=True, pad_token_id=V - 1, eos_token_id=0, bos_token_id=None,
        forced_eos_token_id=None, decoder_start_token_id=V - 1)).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and "embed_positions" not in name:
            torch.nn.init.normal_(parameter, std=0.06)
    model.model.shared.weight.data[V - 1] = 0
    model.final_logits_bias.normal_()
    model.final_logits_bias[0, 0] = -1e3
    model.save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps({piece: row for row, piece in enumerate(pieces)}))
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(tokenizer)


class Ours:
    def __init__(self, folder: Path, threads: int) -> None:
        loaded = checkpoint.load(folder / "ours")
        prepare(loaded.model, "cpu")
        self.model = loaded.model

    def __call__(self, request: Request) -> Answer:
        options, answer = Options(beam=request.beam, stop="bound", alternatives=0), []
        for call in request.calls():
            found = translate_ids(self.model, request.sources[call], options,
                                  max_lengths=[PIECES] * len(request.sources[call]))
            answer += [hypotheses[0].tokens for hypotheses in found]
        return answer


class Marian:
    def __init__(self, folder: Path, threads: int) -> None:
        import transformers

        self.model = transformers.MarianMTModel.from_pretrained(folder / "theirs").eval()
        pieces = json.loads((folder / "theirs" / "vocab.json").read_text())
        ours = checkpoint.load(folder / "ours").tokenizer
        self.rows = [pieces[piece] for piece in ours.pieces(range(len(ours))) if piece in pieces]
        self.rows.insert(2, V - 1)  # <s>
        self.back = {row: i for i, row in reversed([*enumerate(self.rows)])}

    @torch.inference_mode()
    def __call__(self, request: Request) -> Answer:
        answer = []
        for call in request.calls():
            source = pad([[*s, EOS] for s in request.sources[call]])
            written = self.model.generate(
                torch.tensor(self.rows)[source], attention_mask=(source != PAD).long(), num_beams=request.beam,
                do_sample=False, max_new_tokens=PIECES, bad_words_ids=[[V - 1]],
                early_stopping="never" if request.beam > 1 else False)
            answer += [[self.back[row] for row in one] for one in written[:, 1:].tolist()]
        return answer


class CTranslate2(translation.CTranslate2):
    def __init__(self, folder: Path, threads: int) -> None:
        super().__init__(folder / "ours", "float32", threads)

    def limit(self, sources: Sequence[Sequence[int]]) -> int:
        return PIECES


def run(folder: Path, rounds: int, sizes: Sequence[int]) -> str:
    """Markdown: times, ratios, how often the outputs are equal, and how long all maps of a long sentence take."""
    lines = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines()
    tokenizer = (folder / "tokenizer.model").read_bytes()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        write(place / "theirs", tokenizer)
        one_of_theirs = imported.convert(place / "theirs", "en", "es")
        imported.write(place / "ours", one_of_theirs, place / "theirs", "random", "", False)
        one = checkpoint.load(place / "ours")
        sources = [one.tokenizer.encode(line) for line in lines]
        kinds: list[tuple[str, Any]] = [(OURS, Ours), (MARIAN, Marian), (CT2, CTranslate2)]
        counts = sorted({1, max(1, torch.get_num_threads())})
        with closing(Ring([Contender(title, kind, (place,), n) for title, kind in kinds for n in counts])) as ring:
            requests = [Request(sources[:SINGLES if size == 1 else size], size, beam, []) for size in sizes
                        for beam in (1, BEAM)]
            checks = [Request(sources[:32], 32, beam, []) for beam in (1, BEAM)]
            wanted = [ring.run(ring.contenders[0], check)[1] for check in checks]
            equal = [[c.title, *(f"{sum(a == b for a, b in zip(ring.run(c, check)[1], answer, strict=True))} of 32"
                                 for check, answer in zip(checks, wanted, strict=True))] for c in ring.contenders[1:]]
            seconds = ring.race(requests, rounds, lambda *_: True)
        drawn = _maps(one, sources)
    times = {key: 1000 * median(taken) / len(requests[key[1]].calls()) for key, taken in seconds.items()}
    rows = [[c.title, *(f"{times[c.title, i]:.0f}" for i in range(len(requests)))] for c in ring.contenders]

    def best(name: str, i: int) -> float:
        return min(times[c.title, i] for c in ring.contenders if c.name == name)

    ratios = [[f"than {name}", *(f"{best(name, i) / best(OURS, i):.2f}" for i in range(len(requests)))]
              for name in (MARIAN, CT2)]
    heads = [request.title for request in requests]
    return "\n\n".join((
        f"A model of opus-mt's shape ({one.model.parameter_count() / 1e6:.1f} million parameters, random weights), "
        f"{PIECES} pieces a sentence: milliseconds a call, median of {rounds} rounds.",
        table(["milliseconds a call", *heads], rows), table(["this engine, times as fast", *heads], ratios),
        table(["equal outputs", "greedy", f"beam {BEAM}"], equal), drawn))


def _maps(one: checkpoint.Checkpoint[Any], sources: Sequence[Sequence[int]]) -> str:
    """How long all maps of a sentence of 60 pieces take, and the memory of the process that holds the model."""
    from xformer.explain.passes import Pair, trace

    long = [piece for source in sources for piece in source][:59]
    prepare(one.model, "cpu")
    taken = []
    for _ in range(4):
        began = time.perf_counter()
        trace(one.model, one.tokenizer, Pair.of(long, long), "")
        taken.append(time.perf_counter() - began)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (f"All maps of a sentence of 60 pieces and a translation as long: {1000 * min(taken):.0f} ms. At most "
            f"{most:,.0f} MB of memory in the process that imported the model and holds it.")
