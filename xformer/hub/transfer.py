"""Give up downloads that stall: from a Hub that is silent, sends a byte now and then,
or breaks off again and again.

The Hub's client gives up a silent connection only, and retries for ever if each
connection brings something. Here a download runs in a thread of its own, and its bars
of progress count its new bytes. If a minute brings too few, the caller gets an error,
and the thread ends at its next byte; one of Xet, the Hub's newer storage, ends by
itself.
"""

import threading
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from typing import TypeVar

from huggingface_hub import constants
from huggingface_hub.utils import tqdm

T = TypeVar("T")
WINDOW = 60.0  # seconds over which new bytes are counted
LEAST = 300_000  # new bytes that a download must bring in each WINDOW: 5 kB a second
# downloads at the same time, including those that were given up and still hang on a
# connection
MOST = 32
# The client's bars move with what comes, in place of 10 MB at a time, for which a slow
# one needs many a WINDOW.
constants.DOWNLOAD_CHUNK_SIZE = None  # type: ignore[assignment]
_running = threading.BoundedSemaphore(MOST)


class Stalled(Exception):
    """A download brought too few new bytes."""

    def __init__(self, brought: int) -> None:
        self.brought = brought
        super().__init__(f"{brought} bytes")


class TooMany(Exception):
    """MOST downloads run or hang already."""


def watched(work: Callable[[type[tqdm]], T]) -> T:
    """Run `work`, which downloads under bars of the class that it is given, in a thread
    of its own; return its result. Raises Stalled if it brings too few new bytes, and
    TooMany if it cannot begin."""
    running = _running
    result = Future[T]()
    given_up = threading.Event()
    farthest: dict[tqdm, int] = {}
    if not running.acquire(blocking=False):
        raise TooMany

    class Bar(tqdm):
        """Counts, shown or not, the bytes beyond the farthest place so far: the client
        moves it back to begin again."""

        place = 0

        def update(self, n: float | None = 1) -> bool | None:
            # hf-xet updates its two progress bars from worker threads, where an
            # exception would be lost
            if given_up.is_set() and threading.current_thread() is thread:
                raise Stalled(0)
            self.place += int(n or 0)
            farthest[self] = max(farthest.get(self, 0), self.place)
            return super().update(n)

    def run() -> None:
        try:
            result.set_result(work(Bar))
        except BaseException as error:
            result.set_exception(error)
        finally:
            running.release()

    thread = threading.Thread(target=run, name="fetch", daemon=True)
    thread.start()
    before = 0
    try:
        while not futures.wait([result], WINDOW).done:
            new = sum([*farthest.values()]) - before
            if new < LEAST:
                raise Stalled(new)
            before += new
    finally:
        given_up.set()
    return result.result()
