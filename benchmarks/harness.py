"""Contenders in processes of their own, run in turns, and Markdown tables of what they
took.

Why each has its own process: libraries bring their own thread pools, whose idle threads
go on spinning for a while, and `loop.keep_memory` changes the allocator of a whole
process; neither may slow down or help somebody else. Why in turns: whatever else the
machine does then hits all of them alike, so that the ratios can be trusted where the
times cannot. Only one process works at a time.
"""

from __future__ import annotations

import multiprocessing
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

# Linux's names
INSTRUCTIONS = (
    "avx2",
    "avx512f",
    "avx512_bf16",
    "avx_vnni",
    "avx512_vnni",
    "amx_bf16",
    "amx_int8",
)

# a request, of a kind that the contenders of a benchmark share, to its answer
Runner = Callable[[Any], Any]


@dataclass(frozen=True)
class Contender:
    """One row of a table. `build` is called in the contender's own process, so it must
    be a function of a module."""

    name: str
    build: Callable[..., Runner]
    arguments: tuple[Any, ...]
    threads: int

    @property
    def title(self) -> str:
        return f"{self.name}, {self.threads} thread{'s' * (self.threads > 1)}"


def _serve(connection: Connection, contender: Contender) -> None:
    warnings.simplefilter("ignore")  # what other libraries have to say about themselves
    torch.set_num_threads(contender.threads)
    runner = contender.build(*contender.arguments, contender.threads)
    while (request := connection.recv()) is not None:
        began = time.perf_counter()
        answer = runner(request)
        connection.send((time.perf_counter() - began, answer))


class Ring:
    """The contenders of one benchmark, each loaded in its process; `close` ends
    them."""

    def __init__(self, contenders: Sequence[Contender]) -> None:
        self.contenders = list(contenders)
        spawn = multiprocessing.get_context("spawn")
        self._connections: dict[str, Connection] = {}
        self._processes = []
        for contender in self.contenders:
            ours, theirs = spawn.Pipe()
            process = spawn.Process(
                target=_serve, args=(theirs, contender), daemon=True
            )
            process.start()
            theirs.close()
            self._connections[contender.title] = ours
            self._processes.append(process)

    def close(self) -> None:
        for connection in self._connections.values():
            with suppress(OSError):  # it may have ended already
                connection.send(None)
        for process in self._processes:
            process.join(timeout=10)

    def run(self, contender: Contender, request: Any) -> tuple[float, Any]:
        """Seconds that a contender took for a request, and its answer."""
        connection = self._connections[contender.title]
        connection.send(request)
        try:
            return connection.recv()
        except EOFError as error:
            raise RuntimeError(
                f"{contender.title} broke down; its error stands above"
            ) from error

    def race(
        self,
        requests: Sequence[Any],
        rounds: int,
        fits: Callable[[Contender, Any], bool],
    ) -> dict[tuple[str, int], list[float]]:
        """Seconds of each round by contender's title and number of the request, after
        one round that is not counted."""
        seconds: dict[tuple[str, int], list[float]] = {}
        for turn in range(rounds + 1):
            for i, request in enumerate(requests):
                for contender in self.contenders:
                    if fits(contender, request):
                        taken, _ = self.run(contender, request)
                        if turn:
                            seconds.setdefault((contender.title, i), []).append(taken)
        return seconds


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, all columns but the first flush right."""
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def machine() -> str:
    """What the numbers were measured on, in one line."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [
        line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
    ]
    name = names[0] if names else platform.processor() or platform.machine()
    flags = next(
        (line.split(":", 1)[1].split() for line in lines if line.startswith("flags")),
        [],
    )
    known = (
        ", ".join(flag for flag in INSTRUCTIONS if flag in flags)
        or "no instructions known"
    )
    cores = multiprocessing.cpu_count()
    return (
        f"{name} ({known}), {cores} cores; {platform.system()}, Python {platform.python_version()}, "
        f"torch {torch.__version__}"
    )
