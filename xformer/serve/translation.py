"""Text in, results out: device, limits, warnings, and one batch for the requests that arrive together.

Everything that belongs to a request is an argument or a result. The model is shared and never written to.
"""

from __future__ import annotations

import ctypes
import queue
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent import futures
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from xformer import results
from xformer.explain.positions import shuffle
from xformer.hub import checkpoint
from xformer.hub.pretrained import Pretrained
from xformer.model import Attention, Heads, Record, Trace, Transformer, scores, sinusoids
from xformer.pieces import BOS, EOS, PAD, words
from xformer.results import (
    BASES,
    MOST_SHIFT,
    OWN,
    POSITION_KINDS,
    Candidate,
    LengthScore,
    Message,
    ModelInfo,
    Options,
    Positions,
    Translation,
    UserError,
)
from xformer.search import Hypothesis
from xformer.serve.limits import Guard, Wait
from xformer.serve.text import clean, one_line, repeats, unknown_characters
from xformer.translator import pad, target_limit, translating

MAX_PIECES = 256  # of a source sentence, </s> included
BATCH_ROWS = 320  # hypotheses decoded at once, over all requests in a batch
Head = tuple[str, int, int]  # stack, layer, head, as in `results.STACKS`, counted from 1
PATIENCE = 16  # steps that a batch is decoded alone; a longer one takes turns with those that come after it
SHORT = 31  # pieces up to which sentences share a batch; a longer one does with those not twice as long or half
FEW_ROWS = 16  # sequences up to which one CPU thread is quicker than several that wait for each other
THREADS = torch.get_num_threads()
OCCLUDED_PIECES = 2_048  # of targets scored at once: as many rows of logits over the whole vocabulary


def use_threads(rows: int) -> None:
    """Let this thread compute with as many CPU threads as so many sequences at once are worth."""
    torch.set_num_threads(1 if rows <= FEW_ROWS else THREADS)


@dataclass(frozen=True)
class _Request:
    """One sentence on its way through the queue; requests with the same options may share a batch."""

    tokens: list[int]
    options: Options
    prefix: list[int]
    max_length: int
    off: frozenset[Head]
    positions: Positions
    answer: Future[list[Hypothesis]]


@dataclass
class _Batch:
    """Requests with the same options on their way through a search."""

    requests: list[_Request]
    search: Generator[None, None, list[list[Hypothesis]]]
    rows: int  # hypotheses decoded at once
    steps: int = 0

    def step(self) -> bool:
        """Take one step; False where it was the last: all have their answer, a reason why not, or nobody waits."""
        self.steps += 1
        use_threads(self.rows)
        try:
            if any(not request.answer.cancelled() for request in self.requests):
                next(self.search)
                return True
            self.search.close()
        except StopIteration as end:
            for request, hypotheses in zip(self.requests, end.value, strict=True):
                _answer(request, hypotheses)
        except Exception as error:  # whoever asked is told; the thread lives on for the others
            for request in self.requests:
                _answer(request, error)
        return False


def _answer(request: _Request, answer: list[Hypothesis] | Exception) -> None:
    if not request.answer.set_running_or_notify_cancel():  # nobody waits any more
        return
    if isinstance(answer, Exception):
        request.answer.set_exception(answer)
    else:
        request.answer.set_result(answer)


def _answered(request: _Request, seconds: float) -> bool:
    """Whether a request is answered, or failed, within so many seconds."""
    return bool(futures.wait([request.answer], seconds).done)


def choose_device(name: str | None = None) -> torch.device:
    """The device asked for, or the best there is; raises UserError where it is not to be had."""
    if name in (None, "", "auto"):
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UserError(Message.of("error_device", device=str(name))) from error
    return device


def prepare(loaded: checkpoint.Checkpoint[Any], device: str | None) -> tuple[torch.device, torch.dtype, ModelInfo]:
    """Move a loaded model to the device asked for, in the precision that suits it, ready to answer; and describe it."""
    chosen = choose_device(device)
    dtype = torch.float16 if chosen.type == "cuda" else torch.float32
    loaded.model.to(chosen, dtype).pack()
    config = loaded.model.config
    return chosen, dtype, ModelInfo(
        loaded.name, loaded.identity, loaded.model.parameter_count(), config.norm, config.n_layers,
        config.decoder_layers, config.n_heads, config.d_model, str(chosen), str(dtype).removeprefix("torch."),
        config.position_base)


class Service(Pretrained):
    """A loaded model and the thread that decodes for everybody."""

    def __init__(self, loaded: checkpoint.Checkpoint[Transformer], device: str | None = None) -> None:
        self.device, self.dtype, self.info = prepare(loaded, device)
        self.model, self.tokenizer, self.metrics, self.folder = (
            loaded.model, loaded.tokenizer, loaded.metrics, loaded.folder)
        self.max_pieces = min(MAX_PIECES, self.model.config.max_length)
        self.guard = Guard()
        self._queue: queue.Queue[_Request | None] = queue.Queue()
        self._worker = threading.Thread(target=self._decode_for_everybody, name="decoder", daemon=True)
        self._worker.start()

    @classmethod
    def open(cls, folder: str | Path, device: str | None = None) -> Service:
        """A service on a checkpoint folder; raises UserError where it cannot be used."""
        return cls(checkpoint.load(folder), device)

    def close(self) -> None:
        """Answer what is queued, then stop the decoding thread, and give the memory back."""
        self._queue.put(None)
        self._worker.join()
        del self.model
        if self.device.type != "cpu":
            getattr(torch, self.device.type).empty_cache()
        if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
            trim(0)  # glibc would keep it for later: 200 MB after ten models

    @property
    def best_head(self) -> tuple[int, int]:
        """Layer and head of the cross-attention that aligns words best, where `evaluate alignment --save` found out;
        else the first of the last layer."""
        try:
            best = self.metrics["alignment"]["best"]
            layer, head = int(best["layer"]), int(best["head"])
        except (KeyError, TypeError, ValueError):
            layer, head = 0, 0
        known = 1 <= layer <= self.info.n_decoder_layers and 1 <= head <= self.info.n_heads
        return (layer, head) if known else (self.info.n_decoder_layers, 1)

    def alignment_errors(self, layer: int, head: int) -> tuple[float, float] | None:
        """Alignment error rates of a cross-attention head, for the piece it predicts and the piece it was given."""
        try:
            rates = self.metrics["alignment"]["alignment_error_rate"]
            return (float(rates["predicted"][layer - 1][head - 1]), float(rates["given"][layer - 1][head - 1]))
        except (KeyError, TypeError, ValueError, IndexError):
            return None

    @property
    def length_scores(self) -> list[LengthScore]:
        """Quality by length of sentence, where `evaluate lengths --save` measured it."""
        try:
            return [LengthScore(**bucket) for bucket in self.metrics["lengths"]["buckets"]]
        except (KeyError, TypeError):
            return []

    # Translation

    def translate(self, text: str, options: Options | None = None, prefix: Sequence[int] = (),
                  max_length: int | None = None, off: Iterable[Head] = (), positions: Positions = OWN,
                  timeout: float | None = None) -> Translation:
        """Translate one text, decoded together with whatever else is waiting.

        prefix: target pieces to begin with. max_length: the most target pieces, </s> included. off: heads to do
        without. positions: those to add to the embeddings. timeout: seconds after which the search is given up; None:
        as many as the guard gives. Raises UserError.
        """
        return self.translate_many([text], options, [prefix], max_length, off=off, positions=positions,
                                   timeout=timeout)[0]

    def translate_many(self, texts: Sequence[str], options: Options | None = None,
                       prefixes: Sequence[Sequence[int]] | None = None, max_length: int | None = None,
                       progress: Callable[[int], object] | None = None, off: Iterable[Head] = (),
                       positions: Positions = OWN, timeout: float | None = None) -> list[Translation]:
        """Translate texts in order; `progress` is told how many more are done. Raises UserError on the first bad one.
        """
        options, missing = options or Options(), frozenset(off)
        self._heads(missing)  # refuses heads that the model lacks, before anything is queued
        self._table(positions)
        with self.guard.enter(timeout) as wait:
            return self._searched(wait, texts, options, prefixes, max_length, progress, missing, positions)

    def _searched(self, wait: Wait, texts: Sequence[str], options: Options, prefixes: Sequence[Sequence[int]] | None,
                  max_length: int | None, progress: Callable[[int], object] | None, missing: frozenset[Head],
                  positions: Positions) -> list[Translation]:
        began = time.perf_counter()
        prepared = [self._prepare(text) for text in texts]
        requests = []
        for i, (_, tokens, _) in enumerate(prepared):
            longest = target_limit(len(tokens) + 1, self.model.config.max_length)
            prefix = list(prefixes[i]) if prefixes is not None else []
            limit = max(min(longest, max_length or longest), min(len(prefix) + 1, self.model.config.max_length))
            requests.append(_Request(tokens, options, prefix, limit, missing, positions, Future()))
        for request in sorted(requests, key=lambda r: -len(r.tokens)):  # neighbours in the queue share a batch
            if progress is not None:
                request.answer.add_done_callback(lambda _: progress(1))
            self._queue.put(request)
        found = []
        try:
            for request in requests:
                wait.until(partial(_answered, request))
                found.append(request.answer.result())
        finally:
            for request in requests:  # of an answer that failed, or is no longer waited for, the others are dropped
                request.answer.cancel()
        seconds = time.perf_counter() - began
        return [self._translation(source, hypotheses, warnings, seconds, options, max_length)
                for (source, _, warnings), hypotheses in zip(prepared, found, strict=True)]

    def choose(self, source: str, found: Candidate, step: int, piece: str, options: Options | None = None,
               max_length: int | None = None) -> Translation:
        """The translation that is `found` before a step (the first is 0), has `piece` there, and is searched for after.

        piece: as in `Candidate.alternatives`; </s> ends the translation. options and max_length: as for `translate`.
        Raises UserError where there is no such step or where the model cannot write the piece.
        """
        if not 0 <= step < len(found.tokens):
            raise UserError(Message.of("error_step", step=step + 1, steps=len(found.tokens)))
        token = self.tokenizer.id_of(piece)
        if token is None or token in (PAD, BOS):
            raise UserError(Message.of("error_piece", piece=one_line(piece)[0][:40]))
        prefix = [*found.tokens[:step], token]
        return self.translate(source, options, prefix, len(prefix) if token == EOS else max_length)

    def _prepare(self, text: str) -> tuple[str, list[int], list[Message]]:
        source, warnings = clean(text)
        tokens = self.tokenizer.encode(source)
        if len(tokens) + 1 > self.max_pieces:
            raise UserError(Message.of("error_pieces", words=len(source.split()), pieces=len(tokens) + 1,
                                       limit=self.max_pieces))
        return source, tokens, [*warnings, *unknown_characters(self.tokenizer, source)]

    def typed(self, target: str) -> tuple[list[int], list[Message]]:
        """The pieces of a translation that somebody wrote, without EOS, and what to say about it. Raises UserError."""
        text, warnings = clean(target, "error_target_empty")
        return self.tokenizer.encode(text), [
            *warnings, *unknown_characters(self.tokenizer, text, "error_target_unknown")]

    def _translation(self, source: str, hypotheses: Sequence[Hypothesis], warnings: Sequence[Message],
                     seconds: float, options: Options, max_length: int | None) -> Translation:
        more = []
        if not hypotheses[0].finished:
            more.append(Message.of("warning_cut", pieces=len(hypotheses[0].tokens)))
        if repeats(hypotheses[0].tokens):
            more.append(Message.of("warning_repetition"))
        return Translation(source, tuple(map(self._candidate, hypotheses)), (*warnings, *more), seconds,
                           options, max_length)

    def _candidate(self, found: Hypothesis) -> Candidate:
        pieces = self.tokenizer.pieces
        alternatives = tuple(tuple(zip(pieces([token for token, _ in step]), [p for _, p in step], strict=True))
                             for step in found.alternatives)
        return Candidate(self.tokenizer.decode(found.tokens), found.score, tuple(found.tokens),
                         tuple(pieces(found.tokens)), tuple(found.log_probs), alternatives, found.finished)

    def _decode_for_everybody(self) -> None:
        """Answer what waits, in batches, until None comes; the thread's whole life.

        While short batches are decoded, what comes in the meantime is gathered for the next one. A batch that takes
        more than PATIENCE steps lets it begin, and they go on in turns: nobody waits for somebody else's long sentence.
        """
        running, batches = True, list[_Batch]()
        while running or batches:
            room = BATCH_ROWS - sum(batch.rows for batch in batches)
            if running and room > 0 and all(batch.steps >= PATIENCE for batch in batches):
                waiting = self._waiting(block=not batches)
                running = None not in waiting
                batches += self._batches([request for request in waiting if request is not None])
            batches = [batch for batch in batches if batch.step()]

    def _waiting(self, block: bool) -> list[_Request | None]:
        """What is in the queue, at most BATCH_ROWS requests; at least one if it is to `block` until there is one."""
        waiting = [self._queue.get()] if block else []
        while len(waiting) < BATCH_ROWS:
            try:
                waiting.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return waiting

    def _batches(self, waiting: Sequence[_Request]) -> list[_Batch]:
        groups: dict[tuple[Options, frozenset[Head], Positions, int], list[_Request]] = {}
        for request in waiting:
            size = max(SHORT, len(request.tokens)).bit_length()  # in a batch, all wait for the longest sentence
            groups.setdefault((request.options, request.off, request.positions, size), []).append(request)
        batches = []
        for (options, off, positions, _), group in groups.items():
            try:
                search = translating(self.model, [r.tokens for r in group], options, [r.prefix for r in group],
                                     [r.max_length for r in group], BATCH_ROWS, self._heads(off),
                                     self._table(positions))
            except Exception as error:
                for request in group:
                    _answer(request, error)
                continue
            rows = min(BATCH_ROWS, len(group) * (options.n_best if options.sampling else options.beam))
            batches.append(_Batch(group, search, rows))
        return batches

    def _heads(self, off: Iterable[Head]) -> Heads | None:
        """All heads but these, for a pass; None where none is to be missing."""
        off = list(off)
        try:
            return Heads.without(self.model.config, off, self.device) if off else None
        except ValueError as error:
            raise UserError(f"A head cannot be switched off: {error}.") from error

    def _table(self, positions: Positions) -> torch.Tensor | None:
        """The positions [max_length, d_model] of a pass; None for the model's own. Raises UserError."""
        config, kind, value = self.model.config, positions.kind, positions.value
        if kind not in POSITION_KINDS:
            raise UserError(Message.of("pos_error_kind", kind=kind, options=", ".join(POSITION_KINDS)))
        if kind == "own":
            return None
        if kind == "shift" and not (0 <= value <= MOST_SHIFT and value == int(value)):
            raise UserError(Message.of("pos_error_shift", value=f"{value:g}", most=MOST_SHIFT))
        if kind == "base" and not BASES[0] <= value <= BASES[1]:
            raise UserError(Message.of("pos_error_base", value=f"{value:g}", least=int(BASES[0]), most=int(BASES[1])))
        table = sinusoids(config.max_length, config.d_model, value if kind == "base" else config.position_base,
                          int(value) if kind == "shift" else 0)
        return (torch.zeros_like(table) if kind == "none" else table).to(self.device, self.dtype)

    # Looking inside

    @torch.inference_mode()
    def trace(self, source: str, target: str | Sequence[int], off: Iterable[Head] = (), positions: Positions = OWN
              ) -> results.Trace:
        """All attention maps of one pass over a source and a target: a text, or the tokens of a `Candidate`.

        off: heads to do without. positions: those to add to the embeddings. Raises UserError where source or target is
        empty or too long.
        """
        source_tokens, given, wanted = self._pair(source, target)
        seen, heads, table = Trace(), self._heads(off), self._table(positions)
        with self.guard.work():
            log_probs = self._log_probs([[*source_tokens, EOS]], given, wanted, seen, heads, table)[0].tolist()
        arrays = {}
        for stack in results.STACKS:
            record: Record = getattr(seen, stack)
            for name, layers in ((stack, record.probabilities), (f"{stack}_norms", record.value_norms)):
                arrays[name] = torch.stack(layers)[:, 0].float().cpu().numpy()
        pieces = self.tokenizer.pieces
        return results.Trace(tuple(pieces([*source_tokens, EOS])), tuple(pieces(given)), tuple(pieces(wanted)),
                             tuple(log_probs), **arrays, text=source, tokens=tuple(given[1:]))

    @torch.inference_mode()
    def walk(self, source: str, target: str | Sequence[int], stack: str, layer: int, head: int, padding: int = 0
             ) -> results.Walk:
        """Every number of one head in a pass over a source and a target, from q, k and v to what it adds.

        layer, head: from 1. padding: pieces after the source, as in a batch with a longer sentence. Raises UserError.
        """
        info, limit = self.info, self.model.config.max_length
        layers = info.layers(stack)
        if stack not in results.STACKS or not (1 <= layer <= layers and 1 <= head <= info.n_heads):
            raise UserError(Message.of("first_error_head", stack=stack, layer=layer, head=head, layers=layers,
                                       heads=info.n_heads, stacks=", ".join(results.STACKS)))
        source_tokens, given, wanted = self._pair(source, target)
        sources = [*source_tokens, EOS]
        if not 0 <= padding <= limit - len(sources):
            raise UserError(Message.of("first_error_padding", padding=padding, pieces=len(sources), limit=limit))
        seen = Trace(*(Record(calls=[]) for _ in results.STACKS))
        padded = [*sources, *[PAD] * padding]
        with self.guard.work():
            self._log_probs([padded], given, wanted, seen)
        module = self.model.encoder.layers if stack == "encoder_self" else self.model.decoder.layers
        attention: Attention = getattr(module[layer - 1], "cross_attention" if stack == "cross" else "self_attention")
        q, k, v, mask, output = getattr(seen, stack).calls[layer - 1]
        masked = scores(q, k, mask)
        probabilities = masked.softmax(dim=-1)
        answers = probabilities.to(v.dtype) @ v
        queries, keys = sources if stack == "encoder_self" else given, given if stack == "decoder_self" else padded
        asked = slice(len(queries))  # padding does not ask

        def of_head(x: torch.Tensor, rows: slice = asked) -> np.ndarray:
            return x[0, head - 1, rows].float().cpu().numpy()

        pieces = self.tokenizer.pieces
        return results.Walk(
            stack, layer, head, tuple(pieces(queries)), tuple(pieces(wanted)) if stack != "encoder_self" else (),
            tuple(pieces(keys)), of_head(q), of_head(k, slice(None)), of_head(v, slice(None)),
            of_head(masked) > -np.inf, of_head(scores(q, k, scale=1.0)), of_head(scores(q, k)), of_head(masked),
            of_head(probabilities), of_head(answers), of_head(attention.shares(answers)),
            output[0, asked].float().cpu().numpy())

    def blocks(self) -> list[results.Block]:
        """The model box by box, in the order of its parameters, each of which is in one of them."""
        found: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
        for name, parameter in self.model.named_parameters():
            parts = name.split(".")
            place = 4 if "layers" in parts else len(parts) - 1  # encoder.layers.0.self_attention | .in_proj.weight
            found.setdefault(".".join(parts[:place]), []).append((".".join(parts[place:]), tuple(parameter.shape)))
        return [results.Block(name, tuple(weights)) for name, weights in found.items()]

    @torch.inference_mode()
    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """One vector a text, (texts, D): the mean of the encoder's output over its pieces, </s> included.

        The encoder was trained to be translated from, not to compare sentences. Raises UserError.
        """
        tokens = [[*self._prepare(text)[1], EOS] for text in texts]
        with self.guard.work():
            use_threads(len(texts))
            memory, mask = self.model.encode(pad(tokens, self.device))
        real = mask[:, 0, 0, :, None]
        return ((memory.float() * real).sum(dim=1) / real.sum(dim=1)).cpu().numpy()

    def explain(self, source: str, target: str | None = None, options: Options | None = None) -> results.Trace:
        """All attention maps for a source and a target; where none is given, for the model's own translation."""
        if target is not None:
            return self.trace(source, target)
        found = self.translate(source, options)
        return self.trace(found.source, found.best.tokens)

    def with_positions(self, source: str, target: str | Sequence[int], positions: Positions, seed: int | None = None,
                       options: Options | None = None, max_length: int | None = None) -> results.Moved:
        """Translate with other positions, and see what they do to a translation that was made with the model's own.

        seed: of the order in which the words of the source are read; None for the order they stand in. options and
        max_length: as for `translate`. Raises UserError.
        """
        text = clean(source)[0]
        changed = text if seed is None else shuffle(text, seed)
        after = self.trace(changed, target, positions=positions)
        found = self.translate(changed, options, max_length=max_length, positions=positions)
        return results.Moved(changed, found, self.trace(text, target), after)

    @torch.inference_mode()
    def embedded(self, source: str) -> results.Embedded:
        """The vectors that the encoder is given, before they are added up. Raises UserError."""
        tokens = [*self._prepare(source)[1], EOS]
        nowhere = self._table(Positions("none"))
        vectors = self.model.embedding(torch.tensor([tokens], device=self.device), positions=nowhere)[0]
        return results.Embedded(tuple(self.tokenizer.pieces(tokens)), vectors.float().cpu().numpy(),
                                self.model.embedding.positions[:len(tokens)].float().cpu().numpy())

    def _pair(self, source: str, target: str | Sequence[int]) -> tuple[list[int], list[int], list[int]]:
        """Source pieces without EOS, what the decoder is given, and what it is asked to predict. Raises UserError."""
        source_tokens = self._prepare(source)[1]
        tokens = self.typed(target)[0] if isinstance(target, str) else [t for t in target if t != EOS]
        if len(tokens) + 1 > self.model.config.max_length:
            raise UserError(Message.of("error_pieces", words=len(tokens), pieces=len(tokens) + 1,
                                       limit=self.model.config.max_length))
        return source_tokens, [BOS, *tokens], [*tokens, EOS]

    def _log_probs(self, sources: Sequence[Sequence[int]], given: list[int], wanted: list[int],
                   trace: Trace | None = None, heads: Heads | None = None, positions: torch.Tensor | None = None
                   ) -> torch.Tensor:
        """Log-probabilities [B, T] of one target after each of B sources, in one pass with teacher forcing."""
        use_threads(len(sources))
        source = pad(sources, self.device)
        target = torch.tensor([given], device=self.device).expand(len(sources), -1)
        logits = self.model(source, target, trace, heads, positions).float()
        return logits.log_softmax(dim=-1)[:, range(len(wanted)), wanted]

    @torch.inference_mode()
    def occlude(self, source: str, target: str | Sequence[int]) -> results.Occlusion:
        """Leave out each word of the source in turn, and see how much likelier each target piece was with it.

        Leave-one-out occlusion (Li et al. 2016), in few batches. Raises UserError.
        """
        source_tokens, given, wanted = self._pair(source, target)
        pieces = self.tokenizer.pieces(source_tokens)
        groups = words(pieces)
        without = [[t for i, t in enumerate(source_tokens) if i not in group] + [EOS] for group in groups]
        sources, found = [[*source_tokens, EOS], *without], []
        size = max(1, OCCLUDED_PIECES // len(given))
        with self.guard.work() as pause:
            for first in range(0, len(sources), size):
                found.append(self._log_probs(sources[first:first + size], given, wanted))
                pause()
        log_probs = torch.cat(found)
        effect = (log_probs[:1] - log_probs[1:]).T.cpu().numpy()
        return results.Occlusion(tuple("".join(pieces[i] for i in group) for group in groups),
                                 tuple(self.tokenizer.pieces(wanted)), tuple(log_probs[0].tolist()), effect)

    @torch.inference_mode()
    def head_effects(self, source: str, target: str | Sequence[int], stacks: Sequence[str] = results.STACKS,
                     progress: Callable[[int, int], object] | None = None) -> list[results.HeadEffect]:
        """What each head is worth to a translation: its log-probability with all heads, minus that without this one.

        The heads whose loss hurts most come first. `progress` is told how many passes are done and how many there are.
        """
        source_tokens, given, wanted = self._pair(source, target)
        sources = [[*source_tokens, EOS]]
        every = [(stack, layer, head) for stack in stacks for layer in range(1, self.info.layers(stack) + 1)
                 for head in range(1, self.info.n_heads + 1)]
        found = []
        with self.guard.work() as pause:
            whole = float(self._log_probs(sources, given, wanted).sum())
            for done, head in enumerate(every, 1):
                without = float(self._log_probs(sources, given, wanted, heads=self._heads([head])).sum())
                found.append(results.HeadEffect(*head, whole - without))
                pause()
                if progress is not None:
                    progress(done, len(every))
        return sorted(found, key=lambda effect: -effect.effect)
