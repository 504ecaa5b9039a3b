"""Limits that keep one request from slowing the others: people at once, seconds for
each, turns at long computations, places for training runs. A request is ended when its
client has gone."""

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from xformer.results import Message, UserError

# served at once, unless XFORMER_MOST_PEOPLE says otherwise; others are asked to try
# again
MOST_PEOPLE = 128
MOST_SECONDS = 60.0  # that one request may take on the page and in the API
# long computations at the same time, besides translating; each may take hundreds of MB
AT_WORK = 2
COMPUTING = 8  # threads of requests that compute, rather than wait, at the same time
LOOK = 0.5  # seconds between two checks that the client is still there
PLACES = 2  # training runs at the same time
# runs that have a place or wait for one; each holds a thread, and 15 MB once it has
# begun
MOST_RUNS = 32
MOST_OF_ONE = 24  # of them, of one address, behind which a class may sit


def most_people() -> int:
    """Read from the environment how many people may be served at once. Raises UserError
    for nonsense."""
    wanted = os.environ.get("XFORMER_MOST_PEOPLE", str(MOST_PEOPLE))
    if not (wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= 10_000):
        raise UserError(
            f"XFORMER_MOST_PEOPLE is {wanted!r}; it must be a whole number from 1 to 10,000."
        )
    return int(wanted)


class Turns:
    """Lets few threads of requests compute at the same time.

    Python runs one thread at a time. Where two hundred requests are drawn at once, the
    loop that takes up connections waits among them for each of its steps, and clients
    have no answer for many seconds.
    """

    def __init__(self, most: int) -> None:
        self._free = threading.Semaphore(most)
        self._here = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Compute in a turn; a thread that has one keeps it."""
        if getattr(self._here, "has", False):
            yield
            return
        with self._free:
            self._here.has = True
            try:
                yield
            finally:
                self._here.has = False

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """Let another thread have the turn of this one, which waits for something else
        meanwhile."""
        if not getattr(self._here, "has", False):
            yield
            return
        self._here.has = False
        self._free.release()
        try:
            yield
        finally:
            self._free.acquire()
            self._here.has = True


TURNS = Turns(COMPUTING)  # of this process


@dataclass(frozen=True)
class Wait:
    """A person's wait for an answer."""

    seconds: float | None  # that the answer may take; None: no limit
    there: Callable[[], bool]  # tells whether the person is still there
    began: float  # by time.perf_counter
    late: Message | None = None  # the error after `seconds`; None: the usual one

    def check(self) -> None:
        """Raise UserError if the answer has taken too long or the person has gone."""
        if not self.there():
            raise UserError(Message.of("error_left"))
        if (
            self.seconds is not None
            and time.perf_counter() - self.began >= self.seconds
        ):
            raise UserError(
                self.late or Message.of("error_timeout", seconds=round(self.seconds))
            )

    def until_done(self, answer: Future[Any]) -> None:
        """Wait until there is an answer, or a failure. Raises UserError as `check`
        does."""
        most = math.inf if self.seconds is None else self.seconds
        with TURNS.given_up():
            while not futures.wait(
                [answer], max(0.0, min(LOOK, self.began + most - time.perf_counter()))
            ).done:
                self.check()


class _Served(threading.local):
    """State of the request that a thread is serving."""

    wait: Wait | None = None
    pause: Callable[[], None] | None = None


class Guard:
    """Admits requests to the services that share it; a thread that is inside may enter
    again.

    people: most requests inside at once. seconds: the most that each may take. asker:
    called in the thread of a request, returns a function that tells whether its client
    is still there. visitor: called in the same thread, returns the client's address.
    """

    def __init__(
        self,
        people: int = MOST_PEOPLE,
        seconds: float | None = None,
        asker: Callable[[], Callable[[], bool]] = lambda: lambda: True,
        visitor: Callable[[], str] = str,
    ) -> None:
        self.people = people
        self.seconds = seconds
        self.asker = asker
        self.visitor = visitor
        self.inside = 0
        self._lock = threading.Lock()
        self._served = _Served()
        # for a turn, in the order of arrival; the first AT_WORK have one
        self._line = deque[Future[None]]()

    @contextmanager
    def enter(self, seconds: float | None = None) -> Iterator[Wait]:
        """Enter for one request, for `seconds` or the guard's own limit. Raises
        UserError at once if it is full."""
        served = self._served
        outer = self._served.wait
        wait = (
            outer
            if outer is not None and seconds is None
            else Wait(
                self.seconds if seconds is None else seconds,
                self.asker(),
                time.perf_counter(),
            )
        )
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
        """Enter for a long computation. It should often call the function that it is
        given, which lets others have a turn, and raises UserError if the computation
        has taken too long or its client has gone."""
        served = self._served
        if served.pause is not None:
            yield served.pause
            return
        with self.enter() as wait, ExitStack() as turn:

            def pause() -> None:
                turn.close()
                wait.check()
                turn.enter_context(self._turn(wait))

            turn.enter_context(self._turn(wait))
            served.pause = pause
            try:
                yield pause
            finally:
                served.pause = None

    @contextmanager
    def _turn(self, wait: Wait) -> Iterator[None]:
        """Wait for a turn, and give it to the next at the end."""
        mine = Future[None]()
        self._move(lambda: self._line.append(mine))
        try:
            wait.until_done(mine)
            yield
        finally:
            self._move(lambda: self._line.remove(mine))

    def _move(self, change: Callable[[], None]) -> None:
        """Change the line, and give the turns to its first."""
        with self._lock:
            change()
            for first in [one for one in islice(self._line, AT_WORK) if not one.done()]:
                first.set_result(None)


@dataclass(eq=False)
class Run:
    """A training run of a visitor's address, which has a place or waits for one."""

    address: str


class Places:
    """A few places for training runs, in the order in which they came."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._runs: list[Run] = []  # the first have a place

    def join(self, address: str) -> Run:
        """Take a place, or stand in line for one. Raises UserError if there are
        MOST_RUNS runs, or MOST_OF_ONE of this address."""
        with self._changed:
            of_address = sum(run.address == address for run in self._runs)
            if len(self._runs) >= MOST_RUNS or of_address >= MOST_OF_ONE:
                raise UserError(Message.of("live_error_full", runs=len(self._runs)))
            run = Run(address)
            self._runs.append(run)
            return run

    def leave(self, run: Run) -> None:
        """End a run, wherever it is."""
        with self._changed:
            if run in self._runs:
                self._runs.remove(run)
            self._changed.notify_all()

    def wait(self, run: Run, seconds: float) -> bool:
        """Wait for a place, this long at most. Return whether the run has one."""
        with self._changed:
            return self._changed.wait_for(lambda: run in self._runs[:PLACES], seconds)

    def before(self, run: Run) -> int | None:
        """Return how many runs stand in line before this one; None if it has a
        place."""
        with self._changed:
            waiting = self._runs[PLACES:]
            return waiting.index(run) if run in waiting else None
