"""One copy of the page and several behind a proxy: sentences a second and seconds to the answer of many users at once.

Each user is a visitor of its own, who keeps the proxy's cookie, asks `/translate` at beam 5, reads the answer, and asks
again. Then one of two copies is killed under them. With `--address` a page that runs already is asked, anywhere;
without it, copies are started on this machine as hosting/copies.py does, which needs HAProxy.
"""

from __future__ import annotations

import asyncio
import os
import random
import ssl
import tempfile
import time
from pathlib import Path

import httpx

from benchmarks.harness import table
from benchmarks.load import PATIENCE, SENTENCES, Asked, _ask, _row, _use
from tests.harness import Copies

COPIES = (1, 2, 4)
PEOPLE, FEW = 100, 12  # users of the copies, and where one is killed
HEAD = ["sentences/s", "median s", "95 % s", "failed"]


def visitors(address: str, people: int, seconds: float) -> list[Asked]:
    """What so many visitors see who ask again and again for so long."""
    async def together() -> list[Asked]:
        safe = ssl.create_default_context()  # made once: it takes as long as a sentence

        async def one() -> list[Asked]:
            async with httpx.AsyncClient(base_url=address, timeout=PATIENCE, verify=safe) as client:
                return await _use(client, SENTENCES, 5, seconds)

        return [asked for found in await asyncio.gather(*(one() for _ in range(people))) for asked in found]
    return asyncio.run(together())


def run_against(address: str, people: int, seconds: float) -> str:
    """A Markdown table of a page that runs already."""
    random.seed(0)
    visitors(address, 2, min(5.0, seconds))  # not counted
    return table(["users", *HEAD], [[str(people), *_row(visitors(address, people, seconds), seconds)]])


def run(checkpoint: Path, counts: tuple[int, ...], people: int, seconds: float) -> str:
    """A Markdown table, a row for each number of copies on this machine."""
    random.seed(0)
    rows = []
    for count in counts:
        with tempfile.TemporaryDirectory() as folder, \
                Copies(Path(folder) / "copies", "--checkpoint", checkpoint.resolve(), count=count) as copies:
            visitors(copies.address, 2 * count, min(5.0, seconds))  # not counted
            asked = visitors(copies.address, people, seconds)
            memory = [_megabytes(copies.number(f"copy{number + 1}")) for number in range(count)]
            rows.append([str(count), *_row(asked, seconds), f"{max(memory):,.0f}"])
    cores = len(os.sched_getaffinity(0))
    return f"{people} users for {seconds:.0f} s, on {cores} core(s) with the users:\n\n" + table(
        ["copies", *HEAD, "MB of the largest copy"], rows)


def run_killed(checkpoint: Path, people: int, seconds: float) -> str:
    """A Markdown table of two copies, one of which is killed (SIGKILL) in the middle of the time, under visitors."""
    random.seed(0)
    asked = list[tuple[float, bool]]()  # when each request ended, and whether it was answered

    async def person(address: str, until: float) -> None:
        async with httpx.AsyncClient(base_url=address, timeout=PATIENCE, verify=False) as client:
            while time.perf_counter() < until:
                good = await _ask(client, random.choice(SENTENCES), 5)
                asked.append((time.perf_counter(), good))
                await asyncio.sleep(0 if good else 1)

    async def together(copies: Copies) -> float:
        began = time.perf_counter()
        visiting = [asyncio.create_task(person(copies.address, began + seconds)) for _ in range(people)]
        await asyncio.sleep(seconds / 2)
        copies.kill("copy1")
        killed = time.perf_counter()
        await asyncio.gather(*visiting)
        return killed

    with tempfile.TemporaryDirectory() as folder, \
            Copies(Path(folder) / "copies", "--checkpoint", checkpoint.resolve(), count=2) as copies:
        visitors(copies.address, 4, min(5.0, seconds))  # not counted
        killed = asyncio.run(together(copies))
    lost = [at - killed for at, good in asked if not good]
    before, after = ([at - killed for at, good in asked if good and (at < killed) == early] for early in (True, False))
    return table(["users", "answered before", "answered after", "lost", "the last of them, s after it was killed"],
                 [[str(people), str(len(before)), str(len(after)), str(len(lost)), f"{max(lost, default=0):.1f}"]])


def _megabytes(process: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1000

