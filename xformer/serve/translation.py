"""The service of a translation model: text in, results out, with limits and warnings.

Everything that belongs to a request is an argument or a result. The model is shared and never written to.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from xformer.device import prepare as prepare_model
from xformer.explain import lenses, passes, stream, weighing
from xformer.explain.alignment import given_heads
from xformer.explain.doubts import LEAST, sureness
from xformer.explain.passes import Intervention, Pair, intervene
from xformer.explain.positions import shuffle
from xformer.explain.vocabulary import Contexts, nearest_pieces
from xformer.hub import checkpoint, recorded
from xformer.hub.pretrained import Pretrained
from xformer.model import Transformer
from xformer.pieces import BOS, EOS, PAD, UNK
from xformer.results import (
    OWN,
    STACKS,
    BeamTree,
    Block,
    Candidate,
    Comparison,
    DecoderReadings,
    Embedded,
    Forced,
    Head,
    HeadEffect,
    History,
    LengthScore,
    Message,
    Moments,
    Moved,
    Neighbour,
    Occlusion,
    Options,
    Origin,
    Pieced,
    Positions,
    Reweighed,
    Stream,
    Trace,
    Translation,
    UserError,
    Walk,
    Weighing,
)
from xformer.search import Hypothesis, check_prefix
from xformer.serve.batching import Decoder, Request
from xformer.serve.limits import Guard, Wait, computes
from xformer.serve.memory import give_back
from xformer.serve.protocol import Source, Target
from xformer.serve.text import Prepared, one_line, prepare, repeats
from xformer.strings import ASSETS
from xformer.translator import Translator, grow_tree, target_limit

MAX_PIECES = 256  # of a source sentence, </s> included
MOST_MORE = 10  # pieces by which a translation with changed attention weights may be longer than the original


class Service(Pretrained):
    """A loaded translation model, and the thread that decodes for all clients; fits `protocol.TranslationService`."""

    def __init__(self, loaded: checkpoint.Checkpoint[Translator], device: str | None = None, precision: str = "auto"
                 ) -> None:
        self.device, answers_in = prepare_model(loaded.model, device, precision)
        self.info = loaded.info(self.device, answers_in)
        self.model, self.tokenizer, self.metrics, self.folder = (
            loaded.model, loaded.tokenizer, loaded.metrics, loaded.folder)
        self.max_pieces = min(MAX_PIECES, self.model.config.max_length)
        self.guard = Guard()
        self._decoder = Decoder(self.model)
        self._contexts: Contexts | None = None
        self._making_contexts = threading.Lock()

    @classmethod
    def open(cls, folder: str | Path, device: str | None = None, precision: str = "auto") -> Service:
        """Load a checkpoint folder. Raises UserError if it cannot be used. precision: see `device.prepare`."""
        return cls(checkpoint.load_translator(folder), device, precision)

    def close(self) -> None:
        """Answer the queued requests, stop the decoding thread, and give the memory back."""
        self._decoder.close()
        del self.model, self._contexts
        if self.device.type != "cpu":
            getattr(torch, self.device.type).empty_cache()
        give_back()  # it returned 200 MB after ten models

    # What was measured of the model

    @property
    def best_head(self) -> Head:
        """The head of the cross-attention that aligns words best, as `evaluate alignment --save` measured it; if it did
        not, the first head of the last layer. For a model without attention, this is a head that does not exist."""
        try:
            best = self.metrics["alignment"]["best"]
            layer, head = int(best["layer"]), int(best["head"])
        except (KeyError, TypeError, ValueError, OverflowError):
            layer, head = 0, 0
        layers = self.info.layers("cross")
        known = 1 <= layer <= layers and 1 <= head <= self.info.n_heads
        return Head("cross", layer, head) if known else Head("cross", max(1, layers), 1)

    def alignment_errors(self, head: Head) -> tuple[float, float] | None:
        """Alignment error rates of a head, for the piece it predicts and the piece it was given; None if they were not
        measured, as for every head outside the cross-attention."""
        if head.stack != "cross":
            return None
        try:
            rates = self.metrics["alignment"]["alignment_error_rate"]
            predicted, given = (float(rates[name][head.layer - 1][head.head - 1]) for name in ("predicted", "given"))
            return predicted, given
        except (KeyError, TypeError, ValueError, IndexError):
            return None

    @property
    def length_scores(self) -> list[LengthScore]:
        """Quality by length of sentence, as `evaluate lengths --save` measured it; [] if it did not."""
        try:
            return [LengthScore(**bucket) for bucket in self.metrics["lengths"]["buckets"]]
        except (KeyError, TypeError):
            return []

    @property
    def guess_bound(self) -> float:
        """The mean log-probability of a piece below which a translation counts as a guess, as `evaluate guesses --save`
        fitted it; LEAST if it did not."""
        try:
            return float(self.metrics["guesses"]["bound"])
        except (KeyError, TypeError, ValueError):
            return LEAST

    @property
    def history(self) -> History | None:
        """The course of the training, if the checkpoint has it. Raises UserError if the file is broken."""
        return recorded.read_history(self.folder)

    @property
    def moments(self) -> Moments | None:
        """Moments of the training, if the checkpoint has them. Raises UserError if the file is broken."""
        return recorded.read_moments(self.folder)

    def blocks(self) -> list[Block]:
        """List the boxes of the model, in the order of its parameters; each parameter is in one of them."""
        return passes.blocks(self.model)

    @property
    def _transformer(self) -> Transformer:
        """The model, for methods that need a transformer. Raises UserError if it is another kind."""
        if not isinstance(self.model, Transformer):
            raise UserError(Message.of("error_recurrent", model=self.info.name))
        return self.model

    def _intervention(self, off: Iterable[Head] = (), positions: Positions = OWN) -> Intervention:
        """The change to a pass that leaves out some heads or takes other positions. Raises UserError."""
        missing = frozenset(off)
        return intervene(self._transformer, missing, positions) if missing or positions != OWN else passes.UNCHANGED

    # Translation

    @computes
    def translate(self, text: str, options: Options | None = None, prefix: Sequence[int] = (),
                  max_length: int | None = None, off: Iterable[Head] = (), positions: Positions = OWN,
                  timeout: float | None = None) -> Translation:
        """Translate one text; it is decoded in a batch with other waiting requests.

        prefix: target pieces to begin with. max_length: the most target pieces, </s> included. off: heads to leave
        out. positions: what is added to the embeddings. timeout: seconds after which the search is given up; None: the
        guard's limit. Raises UserError.
        """
        return self.translate_many([text], options, [prefix] if prefix else None, max_length, off=off,
                                   positions=positions, timeout=timeout)[0]

    @computes
    def translate_many(self, texts: Sequence[str], options: Options | None = None,
                       prefixes: Sequence[Sequence[int]] | None = None, max_length: int | None = None,
                       progress: Callable[[int], object] | None = None, off: Iterable[Head] = (),
                       positions: Positions = OWN, timeout: float | None = None) -> list[Translation]:
        """Translate texts in order. `progress` is called with the number newly done. Raises UserError at the first that
        cannot be translated."""
        change = self._intervention(off, positions)
        with self.guard.enter(timeout) as wait:
            sources = [self._prepare(text) for text in texts]
            return self._translated(wait, sources, options, prefixes, max_length, progress, change)

    @computes
    def translate_and_trace(self, text: str, options: Options | None = None, max_length: int | None = None
                            ) -> tuple[Translation, Trace]:
        """Translate a text and trace the pass over it and the best translation, as one request. Raises UserError."""
        with self.guard.enter() as wait:
            (translation,) = self._translated(wait, [self._prepare(text)], options, max_length=max_length)
            return translation, self._traced(self._pair(translation, translation.best.tokens), translation.source)

    @computes
    def choose(self, source: str, candidate: Candidate, step: int, piece: str, options: Options | None = None,
               max_length: int | None = None) -> Translation:
        """Translate again: the candidate's pieces before a step (the first is 0), then `piece`, then a new search.

        piece: as in `Candidate.alternatives`; </s> ends the translation. options and max_length: as for `translate`.
        Raises UserError if there is no such step, or if the model cannot write the piece.
        """
        if not 0 <= step < len(candidate.tokens):
            raise UserError(Message.of("error_step", step=step + 1, steps=len(candidate.tokens)))
        token = self.tokenizer.id_of(piece)
        if token is None or token in (PAD, BOS):
            raise UserError(Message.of("error_piece", piece=one_line(piece)[0][:40]))
        prefix = [*candidate.tokens[:step], token]
        return self.translate(source, options, prefix, len(prefix) if token == EOS else max_length)

    def typed(self, target: str) -> tuple[list[int], list[Message]]:
        """Split a typed translation into pieces, without EOS; also return the warnings about it. Raises UserError."""
        _, tokens, warnings = prepare(self.tokenizer, target, None, "error_target_empty", "error_target_unknown")
        return tokens, warnings

    def _prepare(self, text: str) -> Prepared:
        return prepare(self.tokenizer, text, self.max_pieces)

    def _translated(self, wait: Wait, sources: Sequence[Prepared], options: Options | None = None,
                    prefixes: Sequence[Sequence[int]] | None = None, max_length: int | None = None,
                    progress: Callable[[int], object] | None = None, change: Intervention = passes.UNCHANGED
                    ) -> list[Translation]:
        """Queue sources and wait for their translations. Arguments as of `translate_many`."""
        began, options, requests = time.perf_counter(), options or Options(), list[Request]()
        for i, (_, tokens, _) in enumerate(sources):
            prefix = list(prefixes[i]) if prefixes is not None else []
            limit = self._limit(tokens, max_length, prefix)
            self._check(prefix, limit)  # a bad prefix would make the whole batch fail
            requests.append(Request(tokens, options, prefix, limit, change))
            if progress is not None:
                requests[-1].answer.add_done_callback(lambda _: progress(1))
        self._decoder.submit(requests)
        answers = []
        try:
            for request in requests:
                wait.until(request.answered)
                answers.append(request.answer.result())
        finally:
            for request in requests:  # if one failed or the client has gone, the rest need no answer
                request.answer.cancel()
        seconds = time.perf_counter() - began
        return [self._translation(source, hypotheses, seconds, options, max_length, prefixes is None)
                for source, hypotheses in zip(sources, answers, strict=True)]

    def _limit(self, source: Sequence[int], max_length: int | None, prefix: Sequence[int] = ()) -> int:
        """The most pieces of a translation, EOS included. source: without EOS. max_length: the caller's limit."""
        # A translation that is cut off lacks </s>, and the traced pass over it needs one more position, for <s>.
        most = self.model.config.max_length
        longest = min(target_limit(len(source) + 1, most), most - 1)
        return max(min(longest, max_length or longest), min(len(prefix) + 1, most))

    def _translation(self, source: Prepared, hypotheses: Sequence[Hypothesis], seconds: float, options: Options,
                     max_length: int | None, free: bool = True) -> Translation:
        """Make the record of a search's result. free: no prefix was given (one can make the best result improbable)."""
        best, warnings = hypotheses[0], [*source.warnings]
        if not best.finished:
            warnings.append(Message.of("warning_cut", pieces=len(best.tokens)))
        if repeats(best.tokens):
            warnings.append(Message.of("warning_repetition"))
        elif free and not options.sampling and sureness(best.log_probs) < self.guess_bound:
            warnings.append(Message.of("warning_guess", percent=f"{100 * math.exp(sum(best.log_probs)):.2g}"))
        return Translation(source.text, tuple(map(self._candidate, hypotheses)), tuple(warnings), seconds, options,
                           max_length, tuple(source.tokens))

    def _candidate(self, hypothesis: Hypothesis) -> Candidate:
        pieces = self.tokenizer.pieces
        alternatives = tuple(tuple(zip(pieces([token for token, _ in step]), [p for _, p in step], strict=True))
                             for step in hypothesis.alternatives)
        return Candidate(self.tokenizer.decode(hypothesis.tokens), hypothesis.score, tuple(hypothesis.tokens),
                         tuple(pieces(hypothesis.tokens)), tuple(hypothesis.log_probs), alternatives,
                         hypothesis.finished)

    # Looking inside

    @computes
    def trace(self, source: Source, target: Target, off: Iterable[Head] = (), positions: Positions = OWN) -> Trace:
        """Record all attention maps of one pass over a source and a target.

        off: heads to leave out. positions: what is added to the embeddings. Raises UserError if source or target is
        empty or too long.
        """
        pair, text = self._pair(source, target), source if isinstance(source, str) else source.source
        return self._traced(pair, text, self._intervention(off, positions))

    @computes
    def explain(self, source: str, target: str | None = None, options: Options | None = None) -> Trace:
        """Record all attention maps for a source and a target; without a target, for the model's own translation."""
        return self.translate_and_trace(source, options)[1] if target is None else self.trace(source, target)

    @computes
    def compare(self, first: Source, second: Source, options: Options | None = None, max_length: int | None = None
                ) -> Comparison:
        """Translate two texts, trace both passes, and score each translation after both texts. Raises UserError.

        A `Translation` that is given in place of a text is not searched for again.
        """
        with self.guard.enter() as wait:
            sources = [self._prepare(text) for text in (first, second) if isinstance(text, str)]
            new = iter(self._translated(wait, sources, options, max_length=max_length) if sources else [])
            one, other = (next(new) if isinstance(text, str) else text for text in (first, second))
            pairs = [self._pair(translation, translation.best.tokens) for translation in (one, other)]
            traces = self._traced(pairs[0], one.source), self._traced(pairs[1], other.source)
            with self.guard.work():
                crossed = [passes.score(self.model, pairs[i].source, pairs[1 - i]) for i in range(2)]
        return Comparison((one, other), traces, ((traces[0].log_probs, tuple(crossed[0])),
                                                 (tuple(crossed[1]), traces[1].log_probs)))

    @computes
    def with_positions(self, source: str, target: Target, positions: Positions, seed: int | None = None,
                       options: Options | None = None, max_length: int | None = None) -> Moved:
        """Translate with other positions, and trace what they change in `target`, made with the model's own positions.

        seed: shuffles the words of the source; None leaves them in order. options and max_length: as for `translate`.
        Raises UserError.
        """
        original = self._prepare(source)
        changed = original if seed is None else self._prepare(shuffle(original.text, seed))
        tokens = self._target(target)
        before, after = (Pair.of(one.tokens, tokens) for one in (original, changed))
        change = self._intervention(positions=positions)
        with self.guard.enter() as wait:
            (translation,) = self._translated(wait, [changed], options, max_length=max_length, change=change)
            return Moved(changed.text, translation, self._traced(before, original.text),
                         self._traced(after, changed.text, change))

    @computes
    def reweigh(self, source: Source, target: Target, change: Weighing, options: Options | None = None,
                max_length: int | None = None) -> Reweighed:
        """Translate with changed attention weights, and trace what they change in `target`, made without the change.

        options and max_length: as for `translate`. The new translation is at most MOST_MORE pieces longer than the
        target, since with wrong weights a search often finds no end. Raises UserError.
        """
        prepared, tokens = self._source(source), self._target(target)
        pair, options = Pair.of(prepared.tokens, tokens), options or Options()
        longest = min(target_limit(len(pair.source), self.model.config.max_length), self.model.config.max_length - 1,
                      len(tokens) + MOST_MORE)
        with self.guard.work():
            began, heads = time.perf_counter(), weighing.heads(self._transformer, change, len(pair.given))
            hypotheses = weighing.translate(self._transformer, pair.source, options,
                                            min(longest, max_length or longest), heads, change)
            translation = self._translation(prepared, hypotheses, time.perf_counter() - began, options, max_length)
        return Reweighed(translation, self._traced(pair, prepared.text),
                         self._traced(pair, prepared.text, Intervention(heads=heads)))

    @computes
    def sweep_beta(self, source: Source, target: Target) -> dict[str, tuple[float, ...]]:
        """Compute the log-probability of a target for each of `walkthrough.BETAS` in each of STACKS. Raises UserError.
        """
        pair = self._pair(source, target)
        with self.guard.work() as pause:
            return weighing.sweep(self._transformer, pair, pause)

    @computes
    def walk(self, source: Source, target: Target, head: Head, padding: int = 0) -> Walk:
        """Record every number of one head in a pass over a source and a target, from q, k and v to its output.

        padding: <pad> pieces after the source, as in a batch with a longer sentence. Raises UserError.
        """
        pair = self._pair(source, target)
        with self.guard.work():
            return passes.walk(self._transformer, self.tokenizer, pair, head, padding)

    @computes
    def follow(self, source: Source, target: Target, side: str) -> Stream:
        """Follow the states of all pieces through the "encoder" or the "decoder", sub-layer by sub-layer.

        Raises UserError.
        """
        pair = self._pair(source, target)
        with self.guard.work():
            return stream.follow(self._transformer, self.tokenizer, pair, side)

    @computes
    def occlude(self, source: Source, target: Target) -> Occlusion:
        """Leave out each word of the source in turn, to see how much likelier it made each target piece.

        Raises UserError.
        """
        pair = self._pair(source, target)
        with self.guard.work() as pause:
            return passes.occlude(self.model, self.tokenizer, pair, pause)

    @computes
    def head_effects(self, source: Source, target: Target, stacks: Sequence[str] = STACKS,
                     progress: Callable[[int, int], object] | None = None) -> list[HeadEffect]:
        """Switch off each head in turn; the one whose loss costs the translation most log-probability comes first.

        `progress` is called with the number of passes done and of all passes. Raises UserError.
        """
        pair = self._pair(source, target)
        with self.guard.work() as pause:
            return passes.head_effects(self._transformer, pair, stacks, pause, progress)

    @computes
    def grow_tree(self, source: Source, options: Options | None = None, prefix: Sequence[int] = (),
                  max_length: int | None = None) -> BeamTree:
        """Translate by beam, and record what was kept and dropped at each step; the best is that of `translate`.

        Arguments as of `translate`. Raises UserError, also for samples.
        """
        options = options or Options()
        if options.sampling:
            raise UserError(Message.of("error_tree_sampling"))
        prepared = self._source(source)
        limit = self._limit(prepared.tokens, max_length, prefix)
        self._check(prefix, limit)
        with self.guard.work():
            began = time.perf_counter()
            hypotheses, branches = grow_tree(self.model, prepared.tokens, options, prefix, limit)
            translation = self._translation(prepared, hypotheses, time.perf_counter() - began, options, max_length)
        pieces = self.tokenizer.pieces([branch.token for branch in branches])
        return BeamTree(translation, tuple(branches), tuple(pieces))

    @computes
    def translate_by_layer(self, source: Source, options: Options | None = None, max_length: int | None = None
                           ) -> tuple[Candidate, ...]:
        """Translate from the encoder's state after each number of layers, 0 to all; the last is the usual translation.

        options and max_length: as for `translate`. Raises UserError.
        """
        tokens = self._source(source).tokens
        with self.guard.work():
            return tuple(map(self._candidate, lenses.translate_by_layer(self._transformer, tokens, options,
                                                                        self._limit(tokens, max_length))))

    @computes
    def read_decoder(self, source: Source, target: Target) -> DecoderReadings:
        """Read the decoder's state after each layer as if it were the last. Raises UserError."""
        pair = self._pair(source, target)
        with self.guard.work():
            return lenses.decoder_readings(self._transformer, self.tokenizer, pair)

    @computes
    def force(self, source: Source, target: Target, smoothing: float = 0.1) -> Forced:
        """Give the model a target piece by piece, and record the probability of each (teacher forcing).

        smoothing: of the labels, 0 to below 1. Raises UserError.
        """
        if not 0 <= smoothing < 1:
            raise UserError(Message.of("error_smoothing", value=f"{smoothing:g}"))
        pair = self._pair(source, target)
        with self.guard.work():
            return lenses.teacher_forcing(self.model, self.tokenizer, pair, smoothing)

    @computes
    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Compute one vector a text, (texts, D): the mean of the encoder's output over its pieces. Raises UserError."""
        sources = [self._prepare(text).tokens for text in texts]
        with self.guard.work():
            return passes.embed(self._transformer, sources)

    @computes
    def embedded(self, source: str) -> Embedded:
        """Compute the encoder's input vectors, embeddings and positions apart. Raises UserError."""
        return passes.embedded(self._transformer, self.tokenizer, self._prepare(source).tokens)

    def split(self, text: str, count: int = 1) -> list[Pieced]:
        """Split a text into pieces in its `count` likeliest ways, the likeliest first. Raises UserError."""
        if count == 1:
            return [self._pieced(text, self._prepare(text).tokens)]
        self._prepare(text)
        return [self._pieced(text, tokens) for tokens in self.tokenizer.splits(text, count)]

    def _pieced(self, text: str, tokens: Sequence[int]) -> Pieced:
        return Pieced(text, tuple(self.tokenizer.pieces(tokens)), tuple(self.tokenizer.log_probs(tokens)))

    @computes
    def nearest_pieces(self, piece: str, count: int = 12) -> list[tuple[str, float]]:
        """List the pieces whose embeddings are most like that of `piece`, with their cosines. Raises UserError."""
        token = self.tokenizer.id_of(piece)
        if token is None:
            raise UserError(Message.of("error_piece_unknown", piece=piece))
        return nearest_pieces(self._transformer, self.tokenizer, token, count)

    @computes
    def nearest_contexts(self, source: Source, position: int, layer: int, count: int = 10) -> list[Neighbour]:
        """Find the pieces in assets/contexts.txt whose state after an encoder layer is most like that of a piece.

        position: of the piece in the source, from 0. layer: 0, the embedding, to N. Raises UserError.
        """
        tokens, model = self._source(source).tokens, self._transformer
        if not (0 <= position < len(tokens) and 0 <= layer <= self.info.n_layers):
            raise UserError(Message.of("error_context", position=position + 1, pieces=len(tokens), layer=layer,
                                       layers=self.info.n_layers))
        with self.guard.work() as pause, self._making_contexts:
            if self._contexts is None:  # made once, in half a second
                sentences = (ASSETS / "contexts.txt").read_text(encoding="utf-8").splitlines()
                self._contexts = Contexts(model, self.tokenizer, sentences, pause)
            return self._contexts.nearest(tokens, position, layer, count)

    def _pair(self, source: Source, target: Target) -> Pair:
        """The tokens of a pass over a source and a target. Raises UserError."""
        return Pair.of(self._source(source).tokens, self._target(target))

    def _source(self, source: Source) -> Prepared:
        """A text as the model reads it; a `Translation` brings its pieces along. Raises UserError."""
        if isinstance(source, str):
            return self._prepare(source)
        tokens, limit = list(source.source_tokens), self.max_pieces
        if not tokens:
            raise UserError(Message.of("error_empty"))
        if len(tokens) + 1 > limit:
            raise UserError(Message.of("error_pieces", words=len(source.source.split()), pieces=len(tokens) + 1,
                                       limit=limit))
        if not all(EOS < token < self.model.config.vocab_size for token in tokens if token != UNK):
            raise UserError("The pieces of this source are not in this model's vocabulary; translate it with this one.")
        return Prepared(source.source, tokens, [])

    def _target(self, target: Target) -> list[int]:
        """The tokens of a target, without EOS. Raises UserError."""
        tokens = self.typed(target)[0] if isinstance(target, str) else [token for token in target if token != EOS]
        limit = self.model.config.max_length
        if len(tokens) + 1 > limit:
            raise UserError(Message.of("error_pieces", words=len(tokens), pieces=len(tokens) + 1, limit=limit))
        self._check(tokens, limit)
        return tokens

    def _check(self, target: Sequence[int], limit: int) -> None:
        """Raise UserError for target tokens that the model cannot have written."""
        try:
            check_prefix(target, limit, self.model.config.vocab_size)
        except ValueError as error:
            raise UserError(f"A translation cannot begin like this: {error}.") from error

    def _traced(self, pair: Pair, text: str, change: Intervention = passes.UNCHANGED) -> Trace:
        with self.guard.work():
            trace = passes.trace(self.model, self.tokenizer, pair, text, change)
        origin = Origin(self.info, self.best_head, given_heads(self.info, self.alignment_errors))
        return replace(trace, origin=origin)
