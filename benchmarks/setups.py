"""The two set-ups for many users, in use for minutes: copies of the page behind their proxy, and the engine apart.

Users ask for sentences, maps, reviews, and what cannot be answered; what the processes hold is written down once they
are warm, and after each half. A page's users each keep the proxy's cookie.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from benchmarks.harness import table
from benchmarks.load import PATIENCE
from benchmarks.soak import KINDS, SHORT, Held, _one
from tests.harness import App, Copies, free_port

WARM = 30.0  # seconds that are not counted
PEOPLE = 20
ENGINE_KINDS = {kind: share for kind, share in KINDS.items() if kind != "abandoned"}
Ask = Callable[[httpx.AsyncClient], Awaitable[bool]]


async def ask_page(client: httpx.AsyncClient) -> bool:
    """Ask a page for something; whether it was answered as it should be."""
    return not (await _one(client, random.choices([*KINDS], [*KINDS.values()])[0])).endswith("failed")


async def ask_engine(client: httpx.AsyncClient) -> bool:
    """Ask an engine for something; whether it was answered as it should be."""
    (kind,), text = random.choices([*ENGINE_KINDS], [*ENGINE_KINDS.values()]), random.choice(SHORT)
    asked = {"translate": ("translate", {"text": text, "beam": random.choice((1, 5))}),
             "explain": ("explain", {"text": text}), "classify": ("classify", {"texts": [text]}),
             "refused": ("translate", {"text": random.choice(("", "word " * 2_000))})}[kind]
    answer = await client.post(asked[0], json=asked[1])
    return answer.status_code == (422 if kind == "refused" else 200)


def use(address: str, ask: Ask, people: int, seconds: float) -> Counter[bool]:
    """Let so many users ask again and again for so long; how often they were answered as they should be, or not."""
    became, until, safe = Counter[bool](), time.monotonic() + seconds, ssl.create_default_context()

    async def user() -> None:
        async with httpx.AsyncClient(base_url=address, timeout=PATIENCE, verify=safe) as client:
            while time.monotonic() < until:
                try:
                    became[await ask(client)] += 1
                except (httpx.HTTPError, KeyError, IndexError, ValueError):
                    became[False] += 1

    async def together() -> None:
        await asyncio.gather(*(user() for _ in range(people)))
    asyncio.run(together())
    return became


def _rows(name: str, address: str, ask: Ask, processes: list[int], people: int, seconds: float) -> list[list[str]]:
    rows = []
    for passed in (WARM, seconds / 2, seconds / 2):
        became = use(address, ask, people, passed)
        held = [Held.by(process) for process in processes]
        rows.append([name, f"{passed:.0f} s" + (" (warming)" if passed == WARM else ""), f"{became.total():,}",
                     str(became[False]), *(" + ".join(f"{getattr(one, what):,.0f}" for one in held)
                                           for what in ("megabytes", "threads", "files"))])
        print(*rows[-1], file=sys.stderr, flush=True)
    return rows


def run(checkpoint: Path, sentiment: Path, people: int, seconds: float) -> str:
    """A Markdown table, three rows for each set-up."""
    random.seed(0)
    models = ["--checkpoint", checkpoint.resolve(), "--sentiment", sentiment.resolve()]
    with tempfile.TemporaryDirectory() as folder:
        with Copies(Path(folder) / "copies", *models, count=2) as copies:
            numbers = [copies.number(name) for name in ("copy1", "copy2")]
            rows = _rows("two copies behind HAProxy", copies.address, ask_page, numbers, people, seconds)
        port = free_port()
        with App(Path(folder) / "engine", "serve", "--port", port, *models, command=[sys.executable, "-m", "xformer"],
                 ready="INFO:     Uvicorn running") as engine:
            rows += _rows("`xformer serve`", f"http://127.0.0.1:{port}", ask_engine, [engine.process.pid], people,
                          seconds)
    return f"{people} users:\n\n" + table(["", "for", "requests", "failed", "MB", "threads", "open files"], rows)
