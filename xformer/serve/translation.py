"""The service of a translation model: text in, results out, with limits and warnings.

Everything that belongs to a request is an argument or a result. The model is shared and
never written to.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import torch

from xformer.explain import lenses, passes, quality, stream, weighing
from xformer.explain.alignment import given_heads
from xformer.explain.doubts import (
    LEAST,
    LEAST_PIECES,
    SHORT,
    looks_foreign,
    lost,
    no_sentence,
    sureness,
)
from xformer.explain.meanings import reverse
from xformer.explain.passes import Intervention, Pair, intervene
from xformer.explain.positions import shuffle
from xformer.hub import checkpoint, recorded
from xformer.model import Transformer
from xformer.pieces import BOS, BYTES, EOS, PAD, SPECIAL, UNK, repeats
from xformer.results import questions
from xformer.results.attention import Origin, Trace
from xformer.results.changes import Comparison, Moved, Reweighed
from xformer.results.messages import Message, UserError, refusing
from xformer.results.models import Head
from xformer.results.options import OWN, Options, Positions
from xformer.results.questions import Answer, Question, Source, Target
from xformer.results.training import History, Moments
from xformer.results.translation import (
    BeamTree,
    Candidate,
    LengthScore,
    Pieced,
    Translation,
)
from xformer.search import Hypothesis, check_prefix
from xformer.serve.answers import Answers, of_pair
from xformer.serve.batching import Decoder, Request
from xformer.serve.limits import Wait
from xformer.serve.loaded import ModelService
from xformer.serve.memory import give_back
from xformer.serve.protocol import Progress, TranslationService
from xformer.serve.text import Prepared, in_small_letters, one_line, prepare
from xformer.strings import of_parts
from xformer.translator import Translator, grow_tree, target_limit

MAX_PIECES = 256  # of a source sentence, </s> included
# stands in a translation for bytes that spell no character
BROKEN = "\N{REPLACEMENT CHARACTER}"
# nats by which the translation of a text in small letters must be likelier, for it to
# be read so
SURER = 0.7
# translations, with their passes, that are kept for those who ask for the same: a
# class, a first visit
MOST_RECENT = 8
# pieces by which a translation with changed attention weights may be longer than the
# original
MOST_MORE = 10


class Service(ModelService[Translator], TranslationService):
    """A loaded translation model, and the thread that decodes for all clients."""

    _load = staticmethod(checkpoint.load_translator)

    def __init__(
        self,
        loaded: checkpoint.Checkpoint[Translator],
        device: str | None = None,
        precision: str = "auto",
    ) -> None:
        super().__init__(loaded, device, precision)
        self.max_pieces = min(MAX_PIECES, self.model.config.max_length)
        self._decoder = Decoder(self.model)
        # what answers make of the model once, by names of their own
        self.kept: dict[Any, Any] = {}
        self._locks: dict[str, threading.Lock] = {}
        # by what was asked for, the oldest first
        self._recent: dict[Any, tuple[Translation, Trace]] = {}
        self._keeping = threading.Lock()

    def close(self) -> None:
        """Answer the queued requests, stop the decoding thread, and give the memory
        back."""
        self._decoder.close()
        del self.model, self.kept
        if self.device.type != "cpu":
            getattr(torch, self.device.type).empty_cache()
        give_back()  # it returned 200 MB after ten models

    # What was measured of the model

    @property
    def best_head(self) -> Head:
        layer, head = self.measured(
            _best_head,
            [0, 0],
        )
        layers = self.info.layers("cross")
        known = 1 <= layer <= layers and 1 <= head <= self.info.n_heads
        return Head("cross", layer, head) if known else Head("cross", max(1, layers), 1)

    def alignment_errors(self, head: Head) -> tuple[float, float] | None:
        def read(found: dict[str, Any]) -> tuple[float, float]:
            rates = found["alignment"]["alignment_error_rate"]
            predicted, given = (
                float(rates[name][head.layer - 1][head.head - 1])
                for name in ("predicted", "given")
            )
            return predicted, given

        return self.measured(read, None) if head.stack == "cross" else None

    @property
    def length_scores(self) -> list[LengthScore]:
        return self.measured(
            _length_scores,
            [],
        )

    @property
    def guess_bound(self) -> float:
        """The mean log-probability of a piece below which a translation counts as a
        guess, as `research evaluate guesses --save` fitted it; LEAST if it did not."""
        return self.measured(lambda found: float(found["guesses"]["bound"]), LEAST)

    @property
    def history(self) -> History | None:
        return recorded.read_history(self.folder)

    @cached_property
    def moments(self) -> Moments | None:
        return recorded.read_moments(self.folder)

    @property
    def transformer(self) -> Transformer:
        """The model, for methods that need a transformer. Raises UserError if it is
        another kind."""
        if not isinstance(self.model, Transformer):
            raise UserError(Message.of("error_recurrent", model=self.info.name))
        return self.model

    def _intervention(
        self, off: Iterable[Head] = (), positions: Positions = OWN
    ) -> Intervention:
        """The change to a pass that leaves out some heads or takes other positions.
        Raises UserError."""
        missing = frozenset(off)
        return (
            intervene(self.transformer, missing, positions)
            if missing or positions != OWN
            else passes.UNCHANGED
        )

    # Translation

    def translate(
        self,
        text: str,
        options: Options | None = None,
        prefix: Sequence[int] = (),
        max_length: int | None = None,
        off: Iterable[Head] = (),
        positions: Positions = OWN,
        timeout: float | None = None,
    ) -> Translation:
        return self.translate_many(
            [text],
            options,
            [prefix] if prefix else None,
            max_length,
            off=off,
            positions=positions,
            timeout=timeout,
        )[0]

    def translate_many(
        self,
        texts: Sequence[str],
        options: Options | None = None,
        prefixes: Sequence[Sequence[int]] | None = None,
        max_length: int | None = None,
        progress: Callable[[int], object] | None = None,
        off: Iterable[Head] = (),
        positions: Positions = OWN,
        timeout: float | None = None,
    ) -> list[Translation]:
        change = self._intervention(off, positions)
        with self.guard.enter(timeout) as wait:
            sources = [self._prepare(text) for text in texts]
            return self._translated(
                wait, sources, options, prefixes, max_length, progress, change
            )

    def translate_and_trace(
        self, text: str, options: Options | None = None, max_length: int | None = None
    ) -> tuple[Translation, Trace]:
        began = time.perf_counter()
        asked = (text, options, max_length)
        found = self._recent.get(asked)
        if found is None:
            with self.guard.enter() as wait:
                (translation,) = self._translated(
                    wait, [self._prepare(text)], options, max_length=max_length
                )
                found = translation, self.trace(translation, translation.best.tokens)
        with self._keeping:
            self._recent.pop(asked, None)
            if not (options and options.sampling):
                self._recent[asked] = found  # the last now
            while len(self._recent) > MOST_RECENT:
                del self._recent[next(iter(self._recent))]
        # Another trace with the same maps: a page draws again what it has got again.
        return replace(found[0], seconds=time.perf_counter() - began), replace(found[1])

    def choose(
        self,
        source: str,
        candidate: Candidate,
        step: int,
        piece: str,
        options: Options | None = None,
        max_length: int | None = None,
    ) -> Translation:
        if not 0 <= step < len(candidate.tokens):
            raise UserError(
                Message.of("error_step", step=step + 1, steps=len(candidate.tokens))
            )
        token = self.tokenizer.id_of(piece)
        if token is None or token in (PAD, BOS):
            raise UserError(Message.of("error_piece", piece=one_line(piece)[0][:40]))
        prefix = [*candidate.tokens[:step], token]
        return self.translate(
            source, options, prefix, len(prefix) if token == EOS else max_length
        )

    def typed(self, target: str) -> tuple[list[int], list[Message]]:
        line = prepare(
            self.tokenizer,
            target,
            None,
            "error_target_empty",
            "error_target_unknown",
            target=True,
        )
        return [*self.tokenizer.forced(""), *line.tokens], line.warnings

    def _prepare(self, text: str) -> Prepared:
        return prepare(self.tokenizer, text, self.max_pieces)

    def _translated(
        self,
        wait: Wait,
        sources: Sequence[Prepared],
        options: Options | None = None,
        prefixes: Sequence[Sequence[int]] | None = None,
        max_length: int | None = None,
        progress: Callable[[int], object] | None = None,
        change: Intervention = passes.UNCHANGED,
    ) -> list[Translation]:
        """Queue sources and wait for their translations. Arguments as of
        `translate_many`."""
        began = time.perf_counter()
        options = options or Options()
        # Of several hypotheses some may be one text in other pieces, and are joined:
        # search for all that the beam has.
        several = options.n_best > 1 and not options.sampling
        searched = replace(
            options, n_best=options.beam if several else options.n_best, quality=False
        )
        if prefixes is None and change == passes.UNCHANGED and not options.sampling:
            found = self._read(wait, sources, searched, max_length, progress)
        else:
            sources = self._as_read(sources, options, max_length)
            answers = self._searched(
                wait, sources, searched, prefixes, max_length, progress, change
            )
            found = [*zip(sources, answers, strict=True)]
        return [
            self._translation(
                source, hypotheses, began, options, max_length, prefixes is None
            )
            for source, hypotheses in found
        ]

    def _read(
        self,
        wait: Wait,
        sources: Sequence[Prepared],
        options: Options,
        max_length: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> list[tuple[Prepared, list[Hypothesis]]]:
        """Each source in the form that is read, as typed or in small letters, and what
        the search finds for it."""
        others = self._in_small_letters(sources)
        answers = self._searched(
            wait, sources, options, None, max_length, progress, more=[*others.values()]
        )
        found = [*zip(sources, answers, strict=False)]
        for (i, other), hypotheses in zip(
            others.items(), answers[len(sources) :], strict=True
        ):
            if sum(hypotheses[0].log_probs) > sum(found[i][1][0].log_probs) + SURER:
                found[i] = other, hypotheses
        return found

    def _as_read(
        self,
        sources: Sequence[Prepared],
        options: Options | None,
        max_length: int | None,
    ) -> list[Prepared]:
        """The sources in the forms in which a translation reads them; options: of its
        search, if it draws nothing."""
        found = [*sources]
        usual = Options() if options is None or options.sampling else options
        if several := [*self._in_small_letters(sources)]:
            with self.guard.enter() as wait:
                read = self._read(
                    wait,
                    [sources[i] for i in several],
                    replace(usual, n_best=1, quality=False),
                    max_length,
                )
            for i, (source, _) in zip(several, read, strict=True):
                found[i] = source
        return found

    def _searched(
        self,
        wait: Wait,
        sources: Sequence[Prepared],
        options: Options,
        prefixes: Sequence[Sequence[int]] | None,
        max_length: int | None,
        progress: Callable[[int], object] | None,
        change: Intervention = passes.UNCHANGED,
        more: Sequence[Prepared] = (),
    ) -> list[list[Hypothesis]]:
        """Queue sources as they are and wait for their hypotheses. Arguments as of
        `translate_many`; progress is not told of the sources in `more`."""
        requests = list[Request]()
        for i, (text, tokens, _) in enumerate([*sources, *more]):
            prefix = list(
                prefixes[i] if prefixes is not None else self.tokenizer.forced(text)
            )
            requests.append(
                Request(
                    tokens,
                    options,
                    prefix,
                    self._limit(tokens, max_length, prefix),
                    change,
                )
            )
            if progress is not None and i < len(sources):
                requests[-1].answer.add_done_callback(lambda _: progress(1))
        self._decoder.submit(requests)
        try:
            for request in requests:
                wait.until_done(request.answer)
            return [request.answer.result() for request in requests]
        finally:
            # if one failed or the client has gone, the rest need no answer
            for request in requests:
                request.answer.cancel()

    def _in_small_letters(self, sources: Sequence[Prepared]) -> dict[int, Prepared]:
        """The sources, by their index, that may be read in small letters too, so
        read."""
        forms = dict[int, Prepared]()
        for i, source in enumerate(sources):
            if (form := in_small_letters(source.text)) is not None:
                dropped = [
                    one for one in source.warnings if one.key == "warning_control"
                ]
                text, tokens, warnings = self._prepare(form)
                forms[i] = Prepared(
                    text,
                    tokens,
                    [*dropped, *warnings, Message.of("read_as", text=text)],
                )
        return forms

    def _limit(
        self, source: Sequence[int], max_length: int | None, prefix: Sequence[int] = ()
    ) -> int:
        """The most pieces of a translation, EOS included; source without. Raises
        UserError for an impossible prefix."""
        # A translation that is cut off lacks </s>, and the traced pass over it needs
        # one more position, for <s>.
        most = self.model.config.max_length
        longest = min(target_limit(len(source) + 1, most), most - 1)
        limit = max(min(longest, max_length or longest), min(len(prefix) + 1, most))
        self._check(prefix, limit)
        if len(prefix) > longest:
            raise UserError(
                Message.of("error_prefix", pieces=len(prefix), limit=longest)
            )
        return limit

    def _translation(
        self,
        source: Prepared,
        hypotheses: Sequence[Hypothesis],
        began: float,
        options: Options,
        max_length: int | None,
        free: bool = True,
        joined: bool = True,
    ) -> Translation:
        """Make the record of a search's result. free: no prefix was given (one can make
        the best result improbable).

        joined: of hypotheses that read the same, in other pieces, the best alone is
        listed. Samples are all listed: how often a text was drawn says something.
        """
        best = hypotheses[0]
        warnings = [*source.warnings]
        candidates = [*map(self._candidate, hypotheses)]
        unsure = (
            free
            and not options.sampling
            and (
                sureness(best.log_probs) < self.guess_bound
                or BROKEN in candidates[0].text
            )
        )
        foreign = looks_foreign(source.text, self.model.config.source)
        reasons = list[Message]()
        # of which the limits were measured
        if {self.model.config.source, self.model.config.target} <= {*SHORT}:
            is_known = self.model.config.vocab_size >= LEAST_PIECES and not (
                unsure and foreign
            )
            reasons += no_sentence(
                source.text, self.tokenizer.pieces(source.tokens) if is_known else []
            )
            reasons += (
                lost(source.text, candidates[0].text) if free and best.finished else []
            )
        warnings += reasons
        if not best.finished:
            warnings.append(Message.of("warning_cut", pieces=len(best.tokens)))
        if repeats(best.tokens):
            warnings.append(Message.of("warning_repetition"))
        elif unsure and not reasons:
            warnings.append(
                Message.of(
                    "warning_guess_foreign" if foreign else "warning_guess",
                    percent=round(100 * math.exp(sureness(best.log_probs))),
                )
            )
        # it was fitted to what has none of them
        asked = free and joined and options.quality and not reasons
        good = self._quality(source, candidates[0], options) if asked else None
        if joined and not options.sampling:
            texts = [candidate.text for candidate in candidates]
            candidates = [
                one for i, one in enumerate(candidates) if one.text not in texts[:i]
            ][: options.n_best]
        return Translation(
            source.text,
            tuple(candidates),
            tuple(warnings),
            time.perf_counter() - began,
            options,
            max_length,
            tuple(source.tokens),
            good,
        )

    def _quality(
        self, source: Prepared, best: Candidate, options: Options
    ) -> tuple[float, float] | None:
        """Reckon how far a translation can be trusted, as `research evaluate quality
        --save` fitted it; None if it did not, for another search, and for what it saw
        none of: foreign texts, rare signs, translations cut off or in loops."""
        pieces = self.tokenizer.pieces(source.tokens)
        if (
            options.sampling
            or {SPECIAL[UNK], *BYTES}.intersection(pieces)
            or repeats(best.tokens)
            or not best.finished
            or looks_foreign(source.text, self.model.config.source)
        ):
            return None

        def reckon(found: dict[str, Any]) -> tuple[float, float] | None:
            fitted = found["quality"]
            search = [self.info.identity, options.beam, options.length_penalty]
            if [fitted["identity"], *fitted["search"]] != search:
                return None
            shares = quality.between(
                fitted["weights"],
                [*fitted["registers"].values()],
                quality.features(len(pieces), best),
            )
            # nothing is certain
            least, most = np.clip(shares, 0.01, 0.99).round(3).tolist()
            return least, most

        return self.measured(reckon, None)

    def _candidate(self, hypothesis: Hypothesis) -> Candidate:
        pieces = self.tokenizer.pieces
        alternatives = tuple(
            tuple(
                zip(
                    pieces([token for token, _ in step]),
                    [p for _, p in step],
                    strict=True,
                )
            )
            for step in hypothesis.alternatives
        )
        return Candidate(
            self.tokenizer.decode(hypothesis.tokens),
            hypothesis.score,
            tuple(hypothesis.tokens),
            tuple(pieces(hypothesis.tokens)),
            tuple(hypothesis.log_probs),
            alternatives,
            hypothesis.finished,
        )

    # Looking inside

    def trace(
        self,
        source: Source,
        target: Target,
        off: Iterable[Head] = (),
        positions: Positions = OWN,
    ) -> Trace:
        return self._traced(
            self.read(source), self._target(target), self._intervention(off, positions)
        )

    def explain(
        self, source: str, target: str | None = None, options: Options | None = None
    ) -> Trace:
        return (
            self.translate_and_trace(source, options)[1]
            if target is None
            else self.trace(source, target)
        )

    def compare(
        self,
        first: Source,
        second: Source,
        options: Options | None = None,
        max_length: int | None = None,
    ) -> Comparison:
        with self.guard.enter() as wait:
            sources = [
                self._prepare(text) for text in (first, second) if isinstance(text, str)
            ]
            new = iter(
                self._translated(wait, sources, options, max_length=max_length)
                if sources
                else []
            )
            one, other = (
                next(new) if isinstance(text, str) else text for text in (first, second)
            )
            pairs = [
                self.pair(translation, translation.best.tokens)
                for translation in (one, other)
            ]
            traces = (
                self.trace(one, one.best.tokens),
                self.trace(other, other.best.tokens),
            )
            with self.guard.work(), torch.inference_mode():
                crossed = [
                    tuple(
                        passes.log_probs(self.model, [pairs[i].source], pairs[1 - i])[
                            0
                        ].tolist()
                    )
                    for i in range(2)
                ]
        return Comparison(
            (one, other),
            traces,
            ((traces[0].log_probs, crossed[0]), (crossed[1], traces[1].log_probs)),
        )

    def ask(
        self, question: Question[Answer], progress: Progress | None = None
    ) -> Answer:
        if type(question) not in ANSWERS:
            raise UserError(
                f"A translation model is not asked {type(question).__name__}; ask one of "
                f"{', '.join(kind.__name__ for kind in ANSWERS)}."
            )
        return ANSWERS[type(question)](self, question, progress)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        sources = [self._prepare(text).tokens for text in texts]
        with self.guard.work():
            return passes.embed(self.transformer, sources)

    def split(self, text: str, count: int = 1) -> list[Pieced]:
        usual = self._prepare(text).tokens
        return [
            Pieced(
                text,
                tuple(self.tokenizer.pieces(tokens)),
                tuple(self.tokenizer.log_probs(tokens)),
            )
            for tokens in (
                [usual] if count == 1 else self.tokenizer.splits(text, count)
            )
        ]

    # Answers that need more than passes over a pair

    def _move(self, asked: questions.Move) -> Moved:
        original = self.read(asked.source, asked.options, asked.max_length)
        changed = (
            original
            if asked.seed is None
            else self._prepare(shuffle(original.text, asked.seed))
        )
        target = self._target(asked.target)
        change = self._intervention(positions=asked.positions)
        with self.guard.enter() as wait:
            (found,) = self._translated(
                wait,
                [changed],
                asked.options,
                max_length=asked.max_length,
                change=change,
            )
            return Moved(
                found,
                self._traced(original, target),
                self._traced(changed, target, change),
                changed.text,
            )

    def _reweigh(self, asked: questions.Reweigh) -> Reweighed:
        source = self.read(asked.source, asked.options, asked.max_length)
        target = self._target(asked.target)
        options = asked.options or Options()
        longest = min(
            self._limit(source.tokens, asked.max_length), len(target) + MOST_MORE
        )
        with self.guard.work():
            began = time.perf_counter()
            heads = weighing.heads(self.transformer, asked.change, len(target) + 1)
            hypotheses = weighing.translate(
                self.transformer,
                [*source.tokens, EOS],
                options,
                longest,
                heads,
                asked.change,
            )
            found = self._translation(
                source, hypotheses, began, options, asked.max_length
            )
        return Reweighed(
            found,
            self._traced(source, target),
            self._traced(source, target, Intervention(heads=heads)),
        )

    def _grow_tree(self, asked: questions.GrowTree) -> BeamTree:
        options = asked.options or Options()
        if options.sampling:
            raise UserError(Message.of("error_tree_sampling"))
        source = self.read(asked.source, options, asked.max_length)
        limit = self._limit(source.tokens, asked.max_length, asked.prefix)
        with self.guard.work():
            began = time.perf_counter()
            hypotheses, branches = grow_tree(
                self.model, source.tokens, options, asked.prefix, limit
            )
            found = self._translation(
                source, hypotheses, began, options, asked.max_length, joined=False
            )
        return BeamTree(
            found,
            tuple(branches),
            tuple(self.tokenizer.pieces([branch.token for branch in branches])),
        )

    def _translate_by_layer(
        self, asked: questions.TranslateByLayer
    ) -> tuple[Candidate, ...]:
        tokens = self.read(asked.source, asked.options, asked.max_length).tokens
        limit = self._limit(tokens, asked.max_length)
        with self.guard.work():
            found = lenses.translate_by_layer(
                self.transformer, tokens, asked.options, limit
            )
        return tuple(map(self._candidate, found))

    # What answers are made of

    def lock(self, name: str) -> threading.Lock:
        """Return the lock under which something is made and put into `kept`."""
        return self._locks.setdefault(name, threading.Lock())

    def pair(self, source: Source, target: Target) -> Pair:
        """The tokens of a pass over a source and a target. Raises UserError."""
        return Pair.of(self.read(source).tokens, self._target(target))

    def read(
        self,
        source: Source,
        options: Options | None = None,
        max_length: int | None = None,
    ) -> Prepared:
        """A text in the form in which a translation with such options reads it; a
        `Translation` brings its pieces. Raises UserError."""
        if isinstance(source, str):
            return self._as_read([self._prepare(source)], options, max_length)[0]
        tokens = list(source.source_tokens)
        limit = self.max_pieces
        if not tokens:
            raise UserError(Message.of("error_empty"))
        if len(tokens) + 1 > limit:
            raise UserError(
                Message.of(
                    "error_pieces",
                    words=len(source.source.split()),
                    pieces=len(tokens) + 1,
                    limit=limit,
                )
            )
        if not all(
            EOS < token < self.model.config.vocab_size
            for token in tokens
            if token != UNK
        ):
            raise UserError(
                "The pieces of this source are not in this model's vocabulary; translate it with this one."
            )
        return Prepared(source.source, tokens, [])

    def _target(self, target: Target) -> list[int]:
        """The tokens of a target, without EOS. Raises UserError."""
        tokens = (
            self.typed(target)[0]
            if isinstance(target, str)
            else [token for token in target if token != EOS]
        )
        limit = self.model.config.max_length
        if len(tokens) + 1 > limit:
            raise UserError(
                Message.of(
                    "error_pieces",
                    words=len(tokens),
                    pieces=len(tokens) + 1,
                    limit=limit,
                )
            )
        self._check(tokens, limit)
        return tokens

    def _check(self, target: Sequence[int], limit: int) -> None:
        """Raise UserError for target tokens that the model cannot have written."""
        with refusing(
            ValueError, lambda error: f"A translation cannot begin like this: {error}."
        ):
            check_prefix(target, limit, self.model.config.vocab_size)

    def _traced(
        self,
        source: Prepared,
        target: Sequence[int],
        change: Intervention = passes.UNCHANGED,
    ) -> Trace:
        with self.guard.work():
            trace = passes.trace(
                self.model,
                self.tokenizer,
                Pair.of(source.tokens, target),
                source.text,
                change,
            )
        origin = Origin(
            self.info, self.best_head, given_heads(self.info, self.alignment_errors)
        )
        return replace(trace, origin=origin)


def _best_head(found: dict[str, Any]) -> list[int]:
    return [int(found["alignment"]["best"][of]) for of in ("layer", "head")]


def _length_scores(found: dict[str, Any]) -> list[LengthScore]:
    return [
        LengthScore(**bucket)
        for bucket in found["lengths"]["buckets"]
        if bucket["bleu"] is not None
    ]


def _of_parts() -> Answers:
    """Gather the answers of the parts of the page: ANSWERS of each ask.py."""
    found: Answers = {}
    for path in of_parts("ask.py"):
        found |= import_module(f"xformer.parts.{path.parent.name}.ask").ANSWERS
    return found


# The answer to each question, chosen by its type: what a service makes of it, telling
# of its progress.
ANSWERS: Answers = {
    questions.WalkHead: of_pair(passes.walk),
    questions.Begin: of_pair(passes.begin),
    questions.WalkAdditive: of_pair(passes.walk_additive, any_model=True),
    questions.Follow: of_pair(stream.follow),
    questions.Occlude: of_pair(passes.occlude, any_model=True),
    questions.RankHeads: of_pair(passes.head_effects),
    questions.ReadDecoder: of_pair(lenses.decoder_readings),
    questions.Force: of_pair(lenses.teacher_forcing, any_model=True),
    questions.SweepBeta: of_pair(weighing.sweep),
    questions.Reweigh: lambda service, q, _: service._reweigh(q),
    questions.Move: lambda service, q, _: service._move(q),
    questions.GrowTree: lambda service, q, _: service._grow_tree(q),
    questions.TranslateByLayer: lambda service, q, _: service._translate_by_layer(q),
    questions.EmbedSource: lambda service, q, _: passes.embedded(
        service.transformer, service.tokenizer, service.read(q.source).tokens
    ),
    questions.Reverse: lambda service, q, _: reverse(
        service.transformer, service.read(q.source).tokens
    ),
    **_of_parts(),
}
