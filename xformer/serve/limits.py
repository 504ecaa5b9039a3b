"""Limits that keep one request from costing the others too much: people at once, seconds for each, turns at long
computations, and an end to requests that nobody waits for any more."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from xformer.results import Message, UserError

MOST_PEOPLE = 128  # served at once, unless XFORMER_MOST_PEOPLE says otherwise; more are asked to try again
MOST_SECONDS = 60.0  # that the page and the API let one request take
AT_WORK = 2  # long computations at the same time, besides translating; each may take hundreds of MB
LOOK = 0.5  # seconds between two checks that somebody still waits


def most_people() -> int:
    """Read from the environment how many people may be served at once; raises UserError for nonsense."""
    wanted = os.environ.get("XFORMER_MOST_PEOPLE", str(MOST_PEOPLE))
    if not (wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= 10_000):
        raise UserError(f"XFORMER_MOST_PEOPLE is {wanted!r}; it must be a whole number from 1 to 10,000.")
    return int(wanted)


@dataclass(frozen=True)
class Wait:
    """A person's wait for an answer."""

    seconds: float | None  # that the answer may take; None: no limit
    there: Callable[[], bool]  # tells whether the person is still there
    began: float  # of time.perf_counter
    late: Message | None = None  # what is said after so many seconds

    def check(self) -> None:
        """Raise UserError where the answer has taken too long, or the person is gone."""
        if not self.there():
            raise UserError(Message.of("error_left"))
        if self.seconds is not None and time.perf_counter() - self.began >= self.seconds:
            raise UserError(self.late or Message.of("error_timeout", seconds=round(self.seconds)))

    def until(self, done: Callable[[float], bool]) -> None:
        """Call `done` until it is true, with the seconds that it may wait itself. Raises UserError as `check` does."""
        while not done(LOOK if self.seconds is None else
                       max(0.0, min(LOOK, self.began + self.seconds - time.perf_counter()))):
            self.check()


def _somebody() -> Callable[[], bool]:
    return lambda: True


class _Served(threading.local):
    """State of the request that a thread is serving."""

    wait: Wait | None = None
    pause: Callable[[], None] | None = None


class Guard:
    """Admits requests to one or more services that share it; a thread that is inside may enter again.

    people: most requests inside at once. seconds: the most that each may take. asker: called in the thread of a
    request, returns a function that tells later whether the person who asked is still there.
    """

    def __init__(self, people: int = MOST_PEOPLE, seconds: float | None = None,
                 asker: Callable[[], Callable[[], bool]] = _somebody) -> None:
        self.people, self.seconds, self.asker = people, seconds, asker
        self.inside = 0
        self._lock, self._served = threading.Lock(), _Served()
        self._free, self._line = AT_WORK, deque[Future[None]]()  # free turns, and those who wait for one, in order

    @contextmanager
    def enter(self, seconds: float | None = None) -> Iterator[Wait]:
        """Enter for one request, for `seconds` or the guard's own limit. Raises UserError at once where it is full."""
        served, outer = self._served, self._served.wait
        if outer is not None and seconds is None:
            yield outer
            return
        wait = Wait(self.seconds if seconds is None else seconds, self.asker(), time.perf_counter())
        if outer is not None:
            yield wait
            return
        with self._lock:
            if self.inside >= self.people:
                raise UserError(Message.of("error_busy", people=self.inside))
            self.inside += 1
        served.wait = wait
        try:
            yield wait
        finally:
            served.wait = None
            with self._lock:
                self.inside -= 1

    @contextmanager
    def work(self) -> Iterator[Callable[[], None]]:
        """Enter for a long computation, which calls the function that it is given now and then, to let others have a
        turn; that raises UserError where it has taken too long, or nobody waits for it any more."""
        served = self._served
        if served.pause is not None:
            yield served.pause
            return
        with self.enter() as wait, ExitStack() as turn:
            def take() -> None:
                self._take(wait)
                turn.callback(self._give)

            def pause() -> None:
                turn.close()
                wait.check()
                take()
            take()
            served.pause = pause
            try:
                yield pause
            finally:
                served.pause = None

    def _take(self, wait: Wait) -> None:
        """Wait for a turn, after all who came before."""
        mine: Future[None] = Future()
        with self._lock:
            if self._free:
                self._free -= 1
                mine.set_result(None)
            else:
                self._line.append(mine)
        try:
            wait.until(lambda seconds: bool(futures.wait([mine], seconds).done))
        except UserError:
            if not mine.cancel():  # it came at this very moment
                self._give()
            raise

    def _give(self) -> None:
        with self._lock:
            while self._line:
                following = self._line.popleft()
                if following.set_running_or_notify_cancel():
                    following.set_result(None)
                    return
            self._free += 1
