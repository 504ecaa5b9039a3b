"""Many users at once: sentences a second and seconds to the answer, over HTTP, through
Gradio's queue.

Each user is a session that asks `/translate` at beam 5, reads the answer, and asks
again. The server is a process of its own, the users are one more; both share the
machine. Beside it the same server that decodes one request after the other. Then ten
users with short sentences, alone and beside one who keeps asking for 40 words at beam
8.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import ssl
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import httpx

from benchmarks.harness import table

USERS = (1, 10, 50, 100)
PATIENCE = 120  # seconds for one answer
SENTENCES = (
    Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines()
)
LONG = " ".join(" ".join(SENTENCES).replace(".", ",").split()[:40]) + "."
Asked = tuple[float, bool]  # seconds to the answer, and whether it was one


def _serve(connection: Connection, checkpoint: Path, batched: bool) -> None:
    from xformer.serve import batching
    from xformer.serve.pool import Models
    from xformer.serve.study import Study
    from xformer.serve.translation import Service
    from xformer.ui import create, launch

    if not batched:
        batching.BATCH_ROWS = 1  # nobody shares a batch, and nobody takes turns
    connection.send(
        launch(
            create(Models(Service.open(checkpoint)), Study()), "127.0.0.1", wait=False
        )
    )
    connection.recv()


@contextmanager
def serving(checkpoint: Path, batched: bool) -> Iterator[str]:
    """The address of a server in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(
        target=_serve, args=(theirs, checkpoint, batched), daemon=True
    )
    process.start()
    theirs.close()
    yield ours.recv()
    process.terminate()
    process.join()


async def _ask(client: httpx.AsyncClient, text: str, beam: int) -> bool:
    try:
        began = await client.post(
            "gradio_api/call/translate", json={"data": [text, beam, 1]}
        )
        answer = await client.get(
            f"gradio_api/call/translate/{began.json()['event_id']}"
        )
        event, data = answer.text.strip().rsplit("event: ", 1)[1].split("\ndata: ", 1)
        return event == "complete" and bool(json.loads(data)[0]["text"])
    except (httpx.HTTPError, KeyError, IndexError, ValueError):
        return False


async def _use(
    client: httpx.AsyncClient, texts: list[str], beam: int, seconds: float
) -> list[Asked]:
    """What one user sees who asks again and again for so long, beginning somewhere in
    the first second."""
    asked = []
    await asyncio.sleep(random.random() * min(1.0, seconds / 10))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        good = await _ask(client, random.choice(texts), beam)
        asked.append((time.perf_counter() - began, good))
    return asked


def users(
    address: str, groups: list[tuple[int, list[str], int]], seconds: float
) -> list[list[Asked]]:
    """What each group of users sees; a group is how many, what they ask, and their
    beam."""

    async def together() -> list[list[Asked]]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=address, timeout=PATIENCE, limits=limits
        ) as client:
            every = [
                [_use(client, texts, beam, seconds) for _ in range(count)]
                for count, texts, beam in groups
            ]
            found = await asyncio.gather(*(asyncio.gather(*group) for group in every))
        return [[one for user in group for one in user] for group in found]

    return asyncio.run(together())


def run_against(address: str, people: int, seconds: float) -> str:
    """A Markdown table of a page that runs already. Each user is a visitor of its own,
    who keeps a proxy's cookie."""

    async def visitors(people: int, seconds: float) -> list[Asked]:
        safe = ssl.create_default_context()  # made once: it takes as long as a sentence

        async def one() -> list[Asked]:
            async with httpx.AsyncClient(
                base_url=address, timeout=PATIENCE, verify=safe
            ) as client:
                return await _use(client, SENTENCES, 5, seconds)

        return [
            asked
            for found in await asyncio.gather(*(one() for _ in range(people)))
            for asked in found
        ]

    random.seed(0)
    asyncio.run(visitors(2, min(5.0, seconds)))  # not counted
    found = _row(asyncio.run(visitors(people, seconds)), seconds)
    return table(
        ["users", "sentences/s", "median s", "95 % s", "failed"],
        [[str(people), *found]],
    )


def _row(asked: list[Asked], seconds: float) -> list[str]:
    taken = sorted(taken for taken, good in asked if good)
    if not taken:
        return ["–", "–", "–", str(len(asked))]
    late = taken[int(0.95 * (len(taken) - 1))]
    return [
        f"{len(taken) / seconds:.1f}",
        f"{statistics.median(taken):.2f}",
        f"{late:.2f}",
        str(len(asked) - len(taken)),
    ]


def run(checkpoint: Path, counts: tuple[int, ...], seconds: float) -> str:
    """Two Markdown tables."""
    random.seed(0)
    rows: dict[int, list[str]] = {count: [str(count)] for count in counts}
    fair = []
    for batched in (True, False):
        with serving(checkpoint, batched) as address:
            users(address, [(2, SENTENCES, 5)], min(5.0, seconds))  # not counted
            for count in counts:
                (asked,) = users(address, [(count, SENTENCES, 5)], seconds)
                rows[count] += _row(asked, seconds)
            if batched:
                short = [
                    sentence for sentence in SENTENCES if len(sentence.split()) <= 8
                ]
                (alone,) = users(address, [(10, short, 5)], seconds)
                beside, long = users(address, [(10, short, 5), (1, [LONG], 8)], seconds)
                fair = [
                    ["10 users, short sentences, alone", *_row(alone, seconds)],
                    [
                        "10 users, short sentences, beside one with a long one",
                        *_row(beside, seconds),
                    ],
                    ["that one, 40 words at beam 8", *_row(long, seconds)],
                ]
    each = ["sentences/s", "median s", "95 % s", "failed"]
    return "\n\n".join(
        (
            table(
                ["users", *each, *(f"unbatched: {name}" for name in each)],
                list(rows.values()),
            ),
            table(["who", *each], fair),
        )
    )
