"""Decoding for all clients: requests that arrive together share a batch; long batches
take turns with new ones."""

import queue
import threading
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

from xformer.device import use_threads
from xformer.explain.passes import Intervention
from xformer.results import Options
from xformer.search import Hypothesis
from xformer.translator import Translator, translating

BATCH_ROWS = 320  # hypotheses decoded at once, over all batches
# steps that a batch is decoded alone; a longer one takes turns with later batches
PATIENCE = 16
# sentences of at most this many pieces share a batch; a longer one joins those of about
# its length
SHORT = 31


@dataclass(frozen=True)
class Request:
    """One sentence on its way through the queue; requests with the same options and
    changes may share a batch."""

    tokens: Sequence[int]  # of the source, without EOS
    options: Options
    prefix: Sequence[int]  # tokens that the target begins with
    max_length: int  # of the target, EOS included
    change: Intervention
    answer: Future[list[Hypothesis]] = field(default_factory=Future)

    def finish(self, answer: list[Hypothesis] | Exception) -> None:
        """Pass on the answer or the error, unless the request was cancelled."""
        if self.answer.set_running_or_notify_cancel():
            if isinstance(answer, Exception):
                self.answer.set_exception(answer)
            else:
                self.answer.set_result(answer)


@dataclass
class Batch:
    """Requests with the same options on their way through one search."""

    requests: list[Request]
    search: Generator[None, None, list[list[Hypothesis]]]
    rows: int  # hypotheses decoded at once
    steps: int = 0

    def step(self) -> bool:
        """Take one step. Return False if it was the last: every request is answered,
        failed or cancelled."""
        self.steps += 1
        use_threads(self.rows)
        try:
            if any(not request.answer.cancelled() for request in self.requests):
                next(self.search)
                return True
            self.search.close()
        except StopIteration as end:
            for request, hypotheses in zip(self.requests, end.value, strict=True):
                request.finish(hypotheses)
        except Exception as error:
            # it goes to the callers; the thread lives on for other batches
            for request in self.requests:
                request.finish(error)
        return False


def form_batches(model: Translator, requests: Iterable[Request]) -> list[Batch]:
    """Make a search for each group of requests that may be decoded together; it begins
    with its first step."""
    groups: dict[tuple[Options, Intervention, int], list[Request]] = {}
    for request in requests:
        # every sentence of a batch waits for the longest one
        size = max(SHORT, len(request.tokens)).bit_length()
        groups.setdefault((request.options, request.change, size), []).append(request)
    batches = []
    for (options, change, _), group in groups.items():
        search = translating(
            model,
            [r.tokens for r in group],
            options,
            [r.prefix for r in group],
            [r.max_length for r in group],
            BATCH_ROWS,
            change.heads,
            change.table,
        )
        rows = min(
            BATCH_ROWS,
            len(group) * (options.n_best if options.sampling else options.beam),
        )
        batches.append(Batch(group, search, rows))
    return batches


class Decoder:
    """A thread that decodes what is put into its queue."""

    def __init__(self, model: Translator) -> None:
        self._model = model
        self._queue: queue.Queue[Request | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="decoder", daemon=True)
        self._thread.start()

    def submit(self, requests: Iterable[Request]) -> None:
        """Queue requests; each is answered through its `answer`."""
        # sentences of similar length share a batch
        for request in sorted(requests, key=lambda r: -len(r.tokens)):
            self._queue.put(request)

    def close(self) -> None:
        """Answer what is queued, then stop the thread and let go of the model."""
        self._queue.put(None)
        self._thread.join()
        del self._model

    def _run(self) -> None:
        """Answer the queued requests in batches until None comes; this is the thread's
        whole life.

        Requests that come while a short batch is decoded are gathered for the next one.
        After PATIENCE steps of a batch, the next one begins too and the two take turns:
        a short sentence does not wait for a long one.
        """
        running = True
        batches = list[Batch]()
        while running or batches:
            room = BATCH_ROWS - sum(batch.rows for batch in batches)
            if (
                running
                and room > 0
                and all(batch.steps >= PATIENCE for batch in batches)
            ):
                waiting = self._waiting(block=not batches)
                running = None not in waiting
                batches += form_batches(
                    self._model, (request for request in waiting if request is not None)
                )
            batches = [batch for batch in batches if batch.step()]

    def _waiting(self, block: bool) -> list[Request | None]:
        """Take what is in the queue, at most BATCH_ROWS requests; with `block`, wait
        for the first."""
        waiting = [self._queue.get()] if block else []
        with suppress(queue.Empty):
            while len(waiting) < BATCH_ROWS:
                waiting.append(self._queue.get_nowait())
        return waiting
