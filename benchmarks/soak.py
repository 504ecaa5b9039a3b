"""Ten thousand requests against one process of the app: its memory, threads and open files must not grow.

Sentences, maps, reviews, what cannot be answered, and requests whose asker hangs up, from several users at once. Once
the process is warm, what it holds is written down now and then; the end is compared with that.

With `--minutes`, 20 people ask for so long at their own pace, and open pages too.
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

from benchmarks.harness import table
from benchmarks.load import SENTENCES
from xformer.ui.server.sessions import PAGE, SESSIONS

REQUESTS, USERS, WARM, LOOKS = 10_000, 8, 2_000, 10
MOST_MB, MOST_MORE = 40, 3  # memory, and threads or files, by which the end may be above the warm process
ROOT = Path(__file__).resolve().parent.parent
SHORT = [sentence for sentence in SENTENCES if len(sentence.split()) <= 8]
LONG = " ".join(" ".join(SENTENCES).replace(".", ",").split()[:40]) + "."
KINDS = {"translate": 50, "explain": 20, "classify": 15, "refused": 10, "abandoned": 5}  # how many of a hundred
PEOPLE, PACE, VISITS = 20, (5.0, 8.0), 5  # at their own pace: seconds from request to request, visits beside KINDS


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


async def _visit(client: httpx.AsyncClient, load: int) -> str:
    """Open a page, as its script does, close it, and say what became of it. load: the number of what it begins with."""
    session = f"{random.getrandbits(60):x}"
    async with client.stream("GET", f"gradio_api/heartbeat/{session}"):  # as long as a page is open
        await client.post("gradio_api/queue/join", json={"data": [], "fn_index": load, "session_hash": session})
        answer = (await client.get("gradio_api/queue/data", params={"session_hash": session})).text
    return "visit" if '"success":true' in answer else "visit failed"


async def _soak(address: str, process: int, requests: int, looks: int, people: int, pace: tuple[float, float]
                ) -> tuple[Counter[str], list[tuple[int, Held]]]:
    """Have people ask, each `pace` seconds (at least, and at most) after their last request began; (0, 0) and without
    visits where that is no time."""
    left, became, seen = iter(range(requests)), Counter[str](), []
    kinds = {**KINDS, "visit": VISITS} if any(pace) else KINDS
    began = time.perf_counter()

    async def user(load: int) -> None:
        for number in left:
            if number % (requests // looks) == 0:
                seen.append((number, Held.by(process)))
                print(f"{(time.perf_counter() - began) / 60:.1f} minutes, {number:,} requests, "
                      f"{seen[-1][1].megabytes:,.0f} MB, {seen[-1][1].threads} threads, {seen[-1][1].files} open files",
                      file=sys.stderr, flush=True)
            until = time.perf_counter() + random.uniform(*pace)
            kind = random.choices([*kinds], [*kinds.values()])[0]
            became[await (_visit(client, load) if kind == "visit" else _one(client, kind))] += 1
            await asyncio.sleep(max(0.0, until - time.perf_counter()))

    limits = httpx.Limits(keepalive_expiry=2)  # the server closes a connection after 5 seconds
    async with httpx.AsyncClient(base_url=address, timeout=120, limits=limits) as client:
        listeners = (await client.get("config")).json()["dependencies"]
        load = next(one["id"] for one in listeners
                    if one["backend_fn"] and [event for _, event in one["targets"]] == ["load"])
        await asyncio.gather(*(user(load) for _ in range(people)))
    await asyncio.sleep(10)  # idle threads end, and connections are closed
    return became, [*seen, (requests, Held.by(process))]


def run(checkpoint: Path, sentiment: Path, requests: int = REQUESTS, minutes: int = 0) -> str:
    """A Markdown table; raises Grown where the process holds more at its end than when it was warm.

    minutes: for about how long PEOPLE ask at their own pace; 0 has USERS make so many requests, each after the other.
    """
    random.seed(0)
    users, looks, pace = (PEOPLE, minutes, PACE) if minutes else (USERS, LOOKS, (0.0, 0.0))
    if minutes:
        requests = round(minutes * 60 * users / (sum(pace) / 2))
    flags = ["--checkpoint", str(checkpoint), "--sentiment", str(sentiment)]
    with tempfile.TemporaryFile("w+") as said:
        app = subprocess.Popen([sys.executable, "-u", "app.py", *flags], cwd=ROOT, stdout=said,
                               stderr=subprocess.STDOUT)
        try:
            address = _address(said.fileno(), app)
            began = time.perf_counter()
            became, seen = asyncio.run(_soak(address, app.pid, requests, looks, users, pace))
            took = (time.perf_counter() - began) / 60
        finally:
            app.terminate()
            app.wait()
    rows = [[f"{number:,}", f"{held.megabytes:,.0f}", str(held.threads), str(held.files)] for number, held in seen]
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in became.most_common())
    text = (f"{requests:,} requests of {users} users in {took:.1f} minutes: {kinds}.\n\n"
            + table(["requests", "memory, MB", "threads", "open files"], rows))
    pages = PAGE / 1e6 * min(SESSIONS, became["visit"])  # MB that may be kept of pages
    warm = [held for number, held in seen if WARM <= number < requests]
    last = seen[-1][1]
    grown = [f"{name} {now:,.0f} instead of {most:,.0f}" for name, now, most in (
        ("memory in MB", last.megabytes, warm[0].megabytes + MOST_MB + pages),
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
