"""Text in, results out: device, limits, warnings, and one batch for the requests that arrive together.

Everything that belongs to a request is an argument or a result. The model is shared and never written to.
"""

from __future__ import annotations

import queue
import re
import threading
import time
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import sacrebleu
import torch

from xformer import checkpoint, results
from xformer.model import Trace
from xformer.pieces import BOS, EOS
from xformer.results import Bleu, Candidate, Message, ModelInfo, Translation, UserError
from xformer.search import Hypothesis, Options
from xformer.tokenizer import Tokenizer
from xformer.translator import pad, target_limit, translate_ids

MAX_CHARACTERS = 5_000  # looked at before anything is computed
MAX_PIECES = 256  # of a source sentence, </s> included
BATCH_ROWS = 320  # hypotheses decoded at once, over all requests in a batch
MARKUP = re.compile(r"<[a-zA-Z/!][^<>]*>")


@dataclass(frozen=True)
class _Request:
    """One sentence on its way through the queue; requests with the same options may share a batch."""

    tokens: list[int]
    options: Options
    prefix: list[int]
    max_length: int
    answer: Future[list[Hypothesis]]


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


def clean(text: str) -> tuple[str, list[Message]]:
    """A text on one line without control characters, and what to say about it; raises UserError where none is left."""
    if len(text) > MAX_CHARACTERS:
        raise UserError(Message.of("error_characters", characters=len(text), words=len(text.split()),
                                   limit=MAX_CHARACTERS))
    kept = "".join(" " if c.isspace() else c for c in text
                   if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co"))
    one_line = " ".join(kept.split())
    if not one_line:
        raise UserError(Message.of("error_empty"))
    warnings = []
    dropped = sum(not c.isspace() and unicodedata.category(c) in ("Cc", "Cs", "Co") for c in text)
    if dropped:
        warnings.append(Message.of("warning_control", count=dropped))
    if MARKUP.search(one_line):
        warnings.append(Message.of("warning_markup"))
    return one_line, warnings


def repeats(tokens: Sequence[int]) -> bool:
    """Whether a run of 1 to 8 pieces stands four times or more in a row, as in a loop the decoder cannot leave."""
    for size in range(1, 9):
        same = 0
        for i in range(size, len(tokens)):
            same = same + 1 if tokens[i] == tokens[i - size] else 0
            if same >= 3 * size:
                return True
    return False


class Service:
    """A loaded model and the thread that decodes for everybody."""

    def __init__(self, loaded: checkpoint.Checkpoint, device: str | None = None) -> None:
        self.device = choose_device(device)
        self.dtype = torch.float16 if self.device.type == "cuda" else torch.float32
        self.model = loaded.model.to(self.device, self.dtype)
        self.model.pack()
        self.tokenizer: Tokenizer = loaded.tokenizer
        self.metrics = loaded.metrics
        config = self.model.config
        self.max_pieces = min(MAX_PIECES, config.max_length)
        self.info = ModelInfo(loaded.name, loaded.identity, self.model.parameter_count(), config.norm, config.n_layers,
                              config.decoder_layers, config.n_heads, config.d_model, str(self.device),
                              str(self.dtype).removeprefix("torch."))
        self._queue: queue.Queue[_Request | None] = queue.Queue()
        self._worker = threading.Thread(target=self._decode_for_everybody, name="decoder", daemon=True)
        self._worker.start()

    @classmethod
    def open(cls, folder: str | Path, device: str | None = None) -> Service:
        """A service on a checkpoint folder; raises UserError where it cannot be used."""
        return cls(checkpoint.load(folder), device)

    def close(self) -> None:
        """Answer what is queued, then stop the decoding thread."""
        self._queue.put(None)
        self._worker.join()

    # Translation

    def translate(self, text: str, options: Options | None = None, prefix: Sequence[int] = (),
                  max_length: int | None = None) -> Translation:
        """Translate one text, decoded together with whatever else is waiting.

        prefix: target pieces to begin with. max_length: the most target pieces, </s> included. Raises UserError.
        """
        return self.translate_many([text], options, [prefix], max_length)[0]

    def translate_many(self, texts: Sequence[str], options: Options | None = None,
                       prefixes: Sequence[Sequence[int]] | None = None, max_length: int | None = None,
                       progress: Callable[[int], object] | None = None) -> list[Translation]:
        """Translate texts in order; `progress` is told how many more are done. Raises UserError on the first bad one.
        """
        options = options or Options()
        began = time.perf_counter()
        prepared = [self._prepare(text) for text in texts]
        requests = []
        for i, (_, tokens, _) in enumerate(prepared):
            longest = target_limit(len(tokens) + 1, self.model.config.max_length)
            prefix = list(prefixes[i]) if prefixes is not None else []
            limit = max(min(longest, max_length or longest), min(len(prefix) + 1, self.model.config.max_length))
            requests.append(_Request(tokens, options, prefix, limit, Future()))
        for request in sorted(requests, key=lambda r: -len(r.tokens)):  # neighbours in the queue share a batch
            if progress is not None:
                request.answer.add_done_callback(lambda _: progress(1))
            self._queue.put(request)
        found = [request.answer.result() for request in requests]
        seconds = time.perf_counter() - began
        return [self._translation(source, hypotheses, warnings, seconds)
                for (source, _, warnings), hypotheses in zip(prepared, found, strict=True)]

    def _prepare(self, text: str) -> tuple[str, list[int], list[Message]]:
        source, warnings = clean(text)
        tokens = self.tokenizer.encode(source)
        if len(tokens) + 1 > self.max_pieces:
            raise UserError(Message.of("error_pieces", words=len(source.split()), pieces=len(tokens) + 1,
                                       limit=self.max_pieces))
        unknown = self.tokenizer.unknown(source)
        if unknown:
            shown = " ".join(unknown)[:40]
            if not any(c.isalnum() for c in self.tokenizer.decode([t for t in tokens if t > EOS])):
                raise UserError(Message.of("error_unknown", characters=shown))
            warnings.append(Message.of("warning_unknown", characters=shown))
        return source, tokens, warnings

    def _translation(self, source: str, hypotheses: Sequence[Hypothesis], warnings: Sequence[Message],
                     seconds: float) -> Translation:
        more = []
        if not hypotheses[0].finished:
            more.append(Message.of("warning_cut", pieces=len(hypotheses[0].tokens)))
        if repeats(hypotheses[0].tokens):
            more.append(Message.of("warning_repetition"))
        return Translation(source, tuple(map(self._candidate, hypotheses)), (*warnings, *more), seconds)

    def _candidate(self, found: Hypothesis) -> Candidate:
        pieces = self.tokenizer.pieces
        alternatives = tuple(tuple(zip(pieces([token for token, _ in step]), [p for _, p in step], strict=True))
                             for step in found.rivals)
        return Candidate(self.tokenizer.decode(found.tokens), found.score, tuple(found.tokens),
                         tuple(pieces(found.tokens)), tuple(found.log_probs), alternatives, found.finished)

    def _decode_for_everybody(self) -> None:
        """Take whatever waits, decode what has the same options as one batch, answer each; the thread's whole life."""
        running = True
        while running:
            first = self._queue.get()
            waiting = [first]
            while len(waiting) < BATCH_ROWS:
                try:
                    waiting.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            running = None not in waiting
            groups: dict[Options, list[_Request]] = {}
            for request in waiting:
                if request is not None and request.answer.set_running_or_notify_cancel():
                    groups.setdefault(request.options, []).append(request)
            for options, group in groups.items():
                try:
                    found = translate_ids(self.model, [r.tokens for r in group], options, [r.prefix for r in group],
                                          [r.max_length for r in group], BATCH_ROWS)
                except Exception as error:  # whoever asked is told; the thread lives on for the others
                    for request in group:
                        request.answer.set_exception(error)
                    continue
                for request, hypotheses in zip(group, found, strict=True):
                    request.answer.set_result(hypotheses)

    # Looking inside

    @torch.inference_mode()
    def trace(self, source: str, target: str | Sequence[int]) -> results.Trace:
        """All attention maps of one pass over a source and a target: a text, or the tokens of a `Candidate`.

        Raises UserError where either is empty or too long.
        """
        _, source_tokens, _ = self._prepare(source)
        tokens = self._prepare(target)[1] if isinstance(target, str) else [t for t in target if t != EOS]
        given, wanted = [BOS, *tokens], [*tokens, EOS]
        if len(given) > self.model.config.max_length:
            raise UserError(Message.of("error_pieces", words=len(given), pieces=len(given),
                                       limit=self.model.config.max_length))
        seen = Trace()
        logits = self.model(pad([[*source_tokens, EOS]], self.device), pad([given], self.device), seen)[0].float()
        log_probs = logits.log_softmax(dim=-1)[range(len(wanted)), wanted].tolist()
        maps = {stack: torch.stack(getattr(seen, stack))[:, 0].float().cpu().numpy() for stack in results.STACKS}
        pieces = self.tokenizer.pieces
        return results.Trace(tuple(pieces([*source_tokens, EOS])), tuple(pieces(given)), tuple(pieces(wanted)),
                             tuple(log_probs), **maps)


def bleu(translation: str, reference: str) -> Bleu:
    """BLEU of one translation against one reference, taken apart; raises UserError where the reference is empty."""
    reference, _ = clean(reference)
    plain = sacrebleu.BLEU(smooth_method="none").corpus_score([translation], [[reference]])
    smoothed = sacrebleu.BLEU(effective_order=True).sentence_score(translation, [reference])
    return Bleu(plain.score, smoothed.score, tuple(plain.counts), tuple(plain.totals), plain.bp,
                plain.sys_len, plain.ref_len)
