"""Ten thousand requests against one process of the app: its memory, threads and open files must not grow.

Sentences, maps, reviews, what cannot be answered, and requests whose asker hangs up, from several users at once. Once
the process is warm, what it holds is written down now and then; the end is compared with that.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.benchmarks.harness import table
from tests.benchmarks.load import SENTENCES

REQUESTS, USERS, WARM, LOOKS = 10_000, 8, 2_000, 10
MOST_MB, MOST_MORE = 40, 3  # memory, and threads or files, by which the end may be above the warm process
ROOT = Path(__file__).resolve().parent.parent.parent
SHORT = [sentence for sentence in SENTENCES if len(sentence.split()) <= 8]
LONG = " ".join(" ".join(SENTENCES).replace(".", ",").split()[:40]) + "."
KINDS = {"translate": 50, "explain": 20, "classify": 15, "refused": 10, "abandoned": 5}  # how many of a hundred


class Grown(Exception):
    """The process holds more than it may."""


@dataclass(frozen=True)
class Held:
    """What a process holds."""

    megabytes: float
    threads: int
    files: int

    @classmethod
    def by(cls, process: int) -> Held:
        status = Path(f"/proc/{process}/status").read_text()
        memory, threads = (int(re.findall(rf"{name}:\s+(\d+)", status)[0]) for name in ("VmRSS", "Threads"))
        return cls(memory / 1024, threads, len(os.listdir(f"/proc/{process}/fd")))


def _asked(kind: str) -> tuple[str, list[object]]:
    """An endpoint and what to ask of it."""
    text = random.choice(SHORT)
    return {"translate": ("translate", [text, random.choice((1, 5)), 1]),
            "explain": ("explain", [text, "", random.choice(("cross", "encoder_self")), 0, 0]),
            "classify": ("classify", [text]), "abandoned": ("translate", [LONG, 8, 1]),
            "refused": random.choice([("translate", ["", 5, 1]), ("translate", ["word " * 2_000, 5, 1]),
                                      ("translate", [text, 99, 1]), ("classify", ["你好"]),
                                      ("explain", [text, "", "sideways", 0, 0])])}[kind]


async def _one(client: httpx.AsyncClient, kind: str) -> str:
    """Ask for one thing, and say what became of it."""
    endpoint, values = _asked(kind)
    began = await client.post(f"gradio_api/call/{endpoint}", json={"data": values})
    where = f"gradio_api/call/{endpoint}/{began.json()['event_id']}"
    if kind == "abandoned":
        async with client.stream("GET", where):
            await asyncio.sleep(0.05)
        return kind
    answer = (await client.get(where)).text
    event, data = answer.strip().rsplit("event: ", 1)[1].split("\ndata: ", 1)
    good = event == "error" and json.loads(data)["error"] if kind == "refused" else event == "complete"
    return kind if good else f"{kind} failed"


async def _soak(address: str, process: int, requests: int) -> tuple[Counter[str], list[tuple[int, Held]]]:
    left, became, seen = iter(range(requests)), Counter[str](), []
    kinds, weights = list(KINDS), list(KINDS.values())

    async def user() -> None:
        for number in left:
            if number % (requests // LOOKS) == 0:
                seen.append((number, Held.by(process)))
                print(f"{number:,} requests, {seen[-1][1].megabytes:,.0f} MB", file=sys.stderr, flush=True)
            became[await _one(client, random.choices(kinds, weights)[0])] += 1

    async with httpx.AsyncClient(base_url=address, timeout=120) as client:
        await asyncio.gather(*(user() for _ in range(USERS)))
    await asyncio.sleep(10)  # idle threads end, and connections are closed
    return became, [*seen, (requests, Held.by(process))]


def run(checkpoint: Path, sentiment: Path, requests: int = REQUESTS) -> str:
    """A Markdown table; raises Grown where the process holds more at its end than when it was warm."""
    random.seed(0)
    flags = ["--checkpoint", str(checkpoint), "--sentiment", str(sentiment)]
    with tempfile.TemporaryFile("w+") as said:
        app = subprocess.Popen([sys.executable, "-u", "app.py", *flags], cwd=ROOT, stdout=said,
                               stderr=subprocess.STDOUT)
        try:
            address = _address(said.fileno(), app)
            began = time.perf_counter()
            became, seen = asyncio.run(_soak(address, app.pid, requests))
            minutes = (time.perf_counter() - began) / 60
        finally:
            app.terminate()
            app.wait()
    rows = [[f"{number:,}", f"{held.megabytes:,.0f}", str(held.threads), str(held.files)] for number, held in seen]
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in became.most_common())
    text = (f"{requests:,} requests of {USERS} users in {minutes:.1f} minutes: {kinds}.\n\n"
            + table(["requests", "memory, MB", "threads", "open files"], rows))
    warm = [held for number, held in seen if WARM <= number < requests]
    last = seen[-1][1]
    grown = [f"{name} {now:,.0f} instead of {most:,.0f}" for name, now, most in (
        ("memory in MB", last.megabytes, warm[0].megabytes + MOST_MB),
        ("threads", last.threads, max(held.threads for held in warm) + MOST_MORE),
        ("open files", last.files, max(held.files for held in warm) + MOST_MORE)) if now > most]
    failed = [kind for kind in became if kind.endswith("failed")]
    if grown or failed:
        raise Grown(f"{text}\n\nAt the end: {'; '.join([*grown, *failed])}.")
    return text


def _address(said: int, app: subprocess.Popen[bytes]) -> str:
    """Where the app serves, once it says so."""
    while True:
        text = os.pread(said, 100_000, 0).decode()
        if found := re.search(r"Running on local URL:\s+(\S+)", text):
            return found[1]
        if app.poll() is not None:
            raise Grown(f"The app ended without serving: {text}")
        time.sleep(0.1)
