"""Give up downloads that stall: from a Hub that is silent, sends a byte now and then, or breaks off again and again.

The Hub's client gives up a silent connection only, and retries for ever if each connection brings something. Here a
download runs in a thread of its own, and its new bytes are counted. If a minute brings too few, the caller gets an
error, and the thread ends at its next byte.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Future
from importlib.util import find_spec
from typing import Any, TypeVar

from huggingface_hub import constants, get_session, set_client_factory
from huggingface_hub.utils import _http, httpx, tqdm

T = TypeVar("T")
PATIENCE = 60.0  # seconds without a byte after which a connection is given up; the client's default is to wait for ever
WINDOW = 60.0  # seconds over which new bytes are counted
LEAST = 300_000  # new bytes that a download must bring in each WINDOW: 5 kB a second
LARGE = 100_000_000  # bytes from which a file comes by the Hub's newer storage, Xet, several parts at a time
MOST = 32  # downloads at the same time, including those that were given up and still hang on a connection
_running = threading.BoundedSemaphore(MOST)
_mine = threading.local()  # `progress`: of the download that runs in this thread


class Stalled(Exception):
    """A download brought too few new bytes."""

    def __init__(self, brought: int) -> None:
        self.brought = brought
        super().__init__(f"{brought} bytes")


class TooMany(Exception):
    """MOST downloads run or hang already."""


class _Progress:
    """Counts the new bytes of a download: in each file, only bytes beyond the farthest place so far."""

    def __init__(self) -> None:
        self.stopped = False
        self.by_storage = False  # whether its files come by Xet, whose bytes only the progress bars report
        self.counted = True  # False if a program has set another factory of clients since
        self._farthest: dict[str, int] = defaultdict(int)

    @property
    def new(self) -> int:
        return sum(list(self._farthest.values()))

    def note(self, file: str, place: int) -> None:
        """Note the place that a file has reached. Raises Stalled if the download was given up."""
        if self.stopped:
            raise Stalled(self.new)
        self._farthest[file] = max(self._farthest[file], place)


class _Counted(httpx.SyncByteStream):
    """The body of a response; it notes its bytes as they come."""

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
    """Run `work`, which downloads with the Hub's client, in a thread of its own; return its result.

    Raises Stalled if it brings too few new bytes, and TooMany if it cannot begin.
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
    """Make the session that all requests to the Hub share: the client's own, with a timeout and with counted bytes."""
    made = _http.default_client_factory()  # private: tests/test_transfer.py says what to do when it is gone
    made.timeout = PATIENCE
    made.event_hooks = {"request": [*made.event_hooks["request"], _begin],
                        "response": [*made.event_hooks["response"], _wrap]}
    return made


def _begin(request: httpx.Request) -> None:
    """Stop a download that was given up from making another request."""
    if progress := getattr(_mine, "progress", None):
        progress.note("", 0)


def _wrap(response: httpx.Response) -> None:
    """Count the body of a response if it belongs to a download."""
    progress = getattr(_mine, "progress", None)
    if progress is None:
        return
    # Without this header the client loads a file by plain HTTP, which ends at the next byte when it is given up.
    size = response.headers.get("X-Linked-Size", "")
    if not size.isdecimal() or int(size) < LARGE or constants.HF_HUB_DISABLE_XET or find_spec("hf_xet") is None:
        response.headers.pop(constants.HUGGINGFACE_HEADER_X_XET_HASH, None)
    elif constants.HUGGINGFACE_HEADER_X_XET_HASH in response.headers:
        progress.by_storage = True
    begins = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    place = int(begins) if response.status_code == 206 and begins.isdecimal() else 0
    response.stream = _Counted(response.stream, progress, response.request.url.path, place)


def bars() -> type[tqdm]:
    """The progress bars of the download that runs in this thread; shown or not, they count the bytes that come by Xet.

    Xet has a bar for bytes received and one for bytes written, and calls both from threads of its own, in which nothing
    may be raised: a download that was given up ends by itself.
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
