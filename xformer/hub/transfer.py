"""An end to fetches that do not come forward: of a Hub that stalls, sends a byte now and then, or breaks off each time.

The Hub's client gives up only a connection that is silent, and begins anew for ever where each one brought something.
Here a fetch runs in a thread of its own and its new bytes are counted; whoever waits for it gives it up where a minute
brings too few, and it ends at its next byte.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Future
from importlib.util import find_spec
from typing import Any, TypeVar

from huggingface_hub import constants, get_session, set_client_factory
from huggingface_hub.utils import httpx, tqdm
from huggingface_hub.utils._http import default_client_factory

T = TypeVar("T")
PATIENCE = 60.0  # seconds without a byte after which a transfer is given up; the client by itself waits for ever
WINDOW = 60.0  # seconds in each of which a fetch must bring
LEAST = 300_000  # bytes that it did not have before: 5 kB a second
LARGE = 100_000_000  # bytes from which on a file comes by the Hub's newer storage, Xet, in parts at the same time
MOST = 32  # fetches at the same time, with those that were given up and still hang on a connection
_running = threading.BoundedSemaphore(MOST)
_mine = threading.local()  # `progress`: of the fetch that runs in a thread


class Stalled(Exception):
    """A fetch brought too few bytes that were new."""

    def __init__(self, brought: int) -> None:
        self.brought = brought
        super().__init__(f"{brought} bytes")


class TooMany(Exception):
    """As many fetches run or hang as may."""


class _Progress:
    """The new bytes of a fetch: those beyond the farthest place that was reached in each file before."""

    def __init__(self) -> None:
        self.stopped = False
        self.by_storage = False  # whether its files come by Xet, whose bytes only its progress bars tell
        self.counted = True  # not where a program has set another maker of clients since
        self._farthest: dict[str, int] = defaultdict(int)

    @property
    def new(self) -> int:
        return sum(list(self._farthest.values()))

    def note(self, file: str, place: int) -> None:
        """Note that a file has come as far as this; raises Stalled where nobody waits for it any more."""
        if self.stopped:
            raise Stalled(self.new)
        self._farthest[file] = max(self._farthest[file], place)


class _Counted(httpx.SyncByteStream):
    """The body of an answer, whose bytes are noted as they come."""

    def __init__(self, stream: Any, progress: _Progress, file: str, place: int) -> None:
        self._stream, self._progress, self._file, self._place = stream, progress, file, place

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            self._place += len(part)
            self._progress.note(self._file, self._place)
            yield part

    def close(self) -> None:
        self._stream.close()


def watched(work: Callable[[], T]) -> T:
    """Do work that fetches by the Hub's client, in a thread of its own; return what it returns.

    Raises Stalled where it does not come forward, and TooMany where it cannot begin.
    """
    running, progress, result = _running, _Progress(), Future[T]()
    if not running.acquire(blocking=False):
        raise TooMany

    def run() -> None:
        _mine.progress = progress
        try:
            progress.counted = _begin in get_session().event_hooks["request"]
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)
        finally:
            running.release()

    threading.Thread(target=run, name="fetch", daemon=True).start()
    before = 0
    try:
        while not futures.wait([result], WINDOW).done:
            brought = progress.new - before
            if progress.counted and brought < LEAST:
                raise Stalled(brought)
            before += brought
    finally:
        progress.stopped = True
    return result.result()


def _client() -> httpx.Client:
    """Make the session that all requests to the Hub share: as its client does, but patient only so long, and one that
    counts what comes."""
    made = default_client_factory()
    made.timeout = PATIENCE
    made.event_hooks = {"request": [*made.event_hooks["request"], _begin],
                        "response": [*made.event_hooks["response"], _wrap]}
    return made


def _begin(request: httpx.Request) -> None:
    """Let a fetch that was given up ask for nothing more."""
    if progress := getattr(_mine, "progress", None):
        progress.note("", 0)


def _wrap(response: httpx.Response) -> None:
    """Count the body of an answer, where it belongs to a fetch."""
    progress = getattr(_mine, "progress", None)
    if progress is None:
        return
    # Without its name there a file is fetched by plain HTTP, which ends at the next byte when it is given up.
    size = response.headers.get("X-Linked-Size", "")
    if not size.isdecimal() or int(size) < LARGE or constants.HF_HUB_DISABLE_XET or find_spec("hf_xet") is None:
        response.headers.pop(constants.HUGGINGFACE_HEADER_X_XET_HASH, None)
    elif constants.HUGGINGFACE_HEADER_X_XET_HASH in response.headers:
        progress.by_storage = True
    begins = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    place = int(begins) if response.status_code == 206 and begins.isdecimal() else 0
    response.stream = _Counted(response.stream, progress, response.request.url.path, place)


def bars() -> type[tqdm]:
    """The progress bars of the fetch that runs in this thread, which count what comes by Xet, shown or not.

    It has one for bytes that came and one for bytes written, and calls them from threads of its own, where nothing may
    be raised: what was given up ends by itself.
    """
    progress = _mine.progress

    class Bar(tqdm):
        taken = 0

        def update(self, n: float | None = 1) -> bool | None:
            self.taken += int(n or 0)
            if progress.by_storage and not progress.stopped:
                progress.note("Xet", self.taken)
            return super().update(n)

    return Bar


set_client_factory(_client)
