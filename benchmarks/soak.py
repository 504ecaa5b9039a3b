"""Ten thousand requests against one process of the app: its memory, threads and open
files must not grow.

Sentences, maps, reviews, what cannot be answered, and requests whose asker hangs up,
from several users at once. Once the process is warm, what it holds is written down now
and then; the end is compared with that. Every answer is compared with what the models
say of that text alone, and at the end 200 people ask at once, each of a sentence of
their own.

With `--minutes`, people ask for so long at their own pace, and open pages too: there
they translate, look at pictures, and leave before an answer is there.
"""

from __future__ import annotations

import asyncio
import html
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.harness import table
from benchmarks.load import SENTENCES
from xformer.results import Options
from xformer.serve.reviews import SentimentService
from xformer.serve.translation import Service
from xformer.strings import ENGLISH
from xformer.ui.server.sessions import PAGE, SESSIONS

REQUESTS = 10_000
USERS = 8
WARM = 2_000
LOOKS = 10
# memory, and threads or files, by which the end may be above the warm process
MOST_MB = 40
MOST_MORE = 3
ROOT = Path(__file__).resolve().parent.parent
SHORT = [sentence for sentence in SENTENCES if len(sentence.split()) <= 8]
LONG = " ".join(" ".join(SENTENCES).replace(".", ",").split()[:40]) + "."
# how many of a hundred
KINDS = {"translate": 50, "explain": 20, "classify": 15, "refused": 10, "abandoned": 5}
# at their own pace: seconds from request to request
PEOPLE = 20
PACE = (5.0, 8.0)
PAGES = {"visit": 5, "page": 10, "left": 5}  # what these do beside KINDS
# seconds from look to look of these, and rows of the table that is made of them
EVERY = 30
ROWS = 6
# which draw the sentence
TABS = ("attention", "decoding", "positions", "principles", "model")
CROWD = [
    f"{who} {what}."
    for who, what in product(
        (
            "My brother",
            "My sister",
            "The teacher",
            "The doctor",
            "Your mother",
            "His father",
            "The old man",
            "A nurse",
            "The little girl",
            "Our neighbour",
            "The cat",
            "The dog",
            "A horse",
            "The king",
            "The driver",
            "Her friend",
            "The boy",
            "Nobody",
            "Everybody",
            "The student",
        ),
        (
            "is in the garden",
            "was very tired",
            "does not want to eat",
            "came home yesterday",
            "lives near the river",
            "saw the red car",
            "can hear the music",
            "will wait for the train",
            "likes the cold water",
            "slept until noon",
        ),
    )
]


class Grown(Exception):
    """The process holds more than it may, or has not answered as it should."""


@dataclass(frozen=True)
class Held:
    """What a process holds."""

    megabytes: float
    threads: int
    files: int

    @classmethod
    def by(cls, process: int) -> Held:
        status = Path(f"/proc/{process}/status").read_text()
        memory, threads = (
            int(re.findall(rf"{name}:\s+(\d+)", status)[0])
            for name in ("VmRSS", "Threads")
        )
        return cls(memory / 1024, threads, len(os.listdir(f"/proc/{process}/fd")))


@dataclass(frozen=True)
class Alone:
    """What the models say of each text that is asked, when nobody else asks: each
    text's translation by its beam, its pieces, and its label."""

    translations: dict[tuple[str, int], str]
    pieces: dict[str, list[str]]
    labels: dict[str, str]

    @classmethod
    def by(cls, checkpoint: Path, sentiment: Path) -> Alone:
        service = Service.open(checkpoint, "cpu")
        reader = SentimentService.open(sentiment, "cpu")
        asked = [*product(SHORT, (1, 5)), *((text, 5) for text in CROWD)]
        return cls(
            {
                (text, beam): service.translate(text, Options(beam=beam)).best.text
                for text, beam in asked
            },
            {text: list(service.explain(text).source) for text in SHORT},
            {text: reader.classify([text])[0].label for text in SHORT},
        )


def _asked(kind: str) -> tuple[str, list[Any]]:
    """An endpoint and what to ask of it."""
    text = random.choice(SHORT)
    return {
        "translate": ("translate", [text, random.choice((1, 5)), 1]),
        "explain": (
            "explain",
            [text, "", random.choice(("cross", "encoder_self")), 0, 0],
        ),
        "classify": ("classify", [text]),
        "abandoned": ("translate", [LONG, 8, 1]),
        "refused": random.choice(
            [
                ("translate", ["", 5, 1]),
                ("translate", ["word " * 2_000, 5, 1]),
                ("translate", [text, 99, 1]),
                ("classify", ["你好"]),
                ("explain", [text, "", "sideways", 0, 0]),
            ]
        ),
    }[kind]


def _right(alone: Alone, endpoint: str, values: list[Any], answer: Any) -> bool:
    """Whether an answer is of the text that was asked."""
    text = values[0]
    return {
        "translate": lambda: answer["text"] == alone.translations[text, values[1]],
        "explain": lambda: answer["keys"] == alone.pieces[text],
        "classify": lambda: answer["label"] == alone.labels[text],
    }[endpoint]()


async def _one(
    client: httpx.AsyncClient,
    kind: str,
    alone: Alone | None = None,
    asked: tuple[str, list[Any]] | None = None,
) -> str:
    """Ask for one thing, and say what became of it. alone: what to compare the answer
    with, if anything."""
    endpoint, values = asked or _asked(kind)
    began = await client.post(f"gradio_api/call/{endpoint}", json={"data": values})
    where = f"gradio_api/call/{endpoint}/{began.json()['event_id']}"
    if kind == "abandoned":
        async with client.stream("GET", where):
            await asyncio.sleep(0.05)
        return kind
    answer = await client.get(where)
    if answer.status_code != 200:  # it was dropped, as nobody listened for too long
        return f"{kind} failed"
    event, data = answer.text.strip().rsplit("event: ", 1)[1].split("\ndata: ", 1)
    good = (
        event == "error" and json.loads(data)["error"]
        if kind == "refused"
        else event == "complete"
    )
    if (
        good
        and alone
        and kind != "refused"
        and not _right(alone, endpoint, values, json.loads(data)[0])
    ):
        return f"{kind} of another text"
    return kind if good else f"{kind} failed"


class Page:
    """An open page, as its script uses it: a session, and what its fields hold."""

    def __init__(self, client: httpx.AsyncClient, config: dict[str, Any]) -> None:
        self.client = client
        self.session = f"{random.getrandbits(60):x}"
        self.parts = {one["id"]: one for one in config["components"]}
        self.values = {
            number: one["props"].get("value") for number, one in self.parts.items()
        }
        self.listeners = [one for one in config["dependencies"] if one["backend_fn"]]
        self.load = self.of("load", 0)[0]
        button = next(
            number
            for number, value in self.values.items()
            if value == ENGLISH.say("translate")
        )
        self.translate = self.of("click", button)[0]
        self.sentence = next(
            number
            for number in self.translate["inputs"]
            if self.parts[number]["props"].get("elem_id") == "sentence-en"
        )
        states = [
            number
            for number in self.translate["outputs"]
            if self.parts[number]["type"] == "state"
        ]
        self.pictures = [one for state in states for one in self.of("change", state)]
        self.tab = next(
            number
            for one in self.pictures
            for number in one["inputs"]
            if self.values[number] == "translate"
        )

    def of(self, event: str, part: int) -> list[dict[str, Any]]:
        """The listeners of an event of a part; 0: of the page."""
        return [one for one in self.listeners if [part, event] in one["targets"]]

    async def ask(
        self, listener: dict[str, Any], leave: bool = False
    ) -> dict[str, Any]:
        """Ask a listener; -> its last message, with what all before it brought.

        leave: go before it is there.
        """
        held = [
            None if self.parts[number]["type"] == "state" else self.values[number]
            for number in listener["inputs"]
        ]
        await self.client.post(
            "gradio_api/queue/join",
            json={
                "data": held,
                "fn_index": listener["id"],
                "session_hash": self.session,
            },
        )
        where = "gradio_api/queue/data"
        session = {"session_hash": self.session}
        if leave:
            async with self.client.stream("GET", where, params=session):
                return {}
        said = (await self.client.get(where, params=session)).text
        messages = [
            json.loads(line.removeprefix("data: "))
            for line in said.split("\n\n")
            if line
        ]
        # none of what was dropped
        ends = [one for one in messages if one["msg"] == "process_completed"]
        data = [
            one
            for message in messages
            for one in message.get("output", {}).get("data", [])
        ]
        said = ends[0] if ends else {"success": False}
        return {**said, "output": {"data": data}}

    async def translated(self, text: str, alone: Alone) -> str:
        """Translate a text at the page's own settings, and say what became of it."""
        self.values[self.sentence] = text
        said = await self.ask(self.translate)
        shown = " ".join(
            one for one in said["output"].get("data", []) if isinstance(one, str)
        )
        best = re.search(r'<td>1</td>.*?<td lang="es">(.*?)</td>', shown)
        if not best:
            return "page failed"
        return (
            "page"
            if html.unescape(best[1]) == alone.translations[text, 5]
            else "page of another text"
        )


async def _page(
    client: httpx.AsyncClient, config: dict[str, Any], kind: str, alone: Alone
) -> str:
    """Open a page, close it, and say what became of it.

    "visit": only that; "page": translate in it, and look at pictures in some tabs;
    "left": go before that is there.
    """
    page = Page(client, config)
    # as long as a page is open
    async with client.stream("GET", f"gradio_api/heartbeat/{page.session}"):
        if not (await page.ask(page.load))["success"]:
            return "visit failed"
        if kind == "left":
            await page.ask(page.translate, leave=True)
        if kind == "page":
            kind = await page.translated(random.choice(SHORT), alone)
            for picture in random.sample(page.pictures, 4):
                page.values[page.sheet] = random.choice(TABS)
                if not (await page.ask(picture))["success"]:
                    return "picture failed"
    return kind


async def at_once(
    client: httpx.AsyncClient, texts: Sequence[str], alone: Alone
) -> Counter[str]:
    """Have texts translated at once, every second one by a page that is open, each in a
    session of its own; -> how many "translate" and "page" were answered as `alone`
    says, and what became of the others."""
    config = (await client.get("config")).json()
    pages = [Page(client, config) for _ in texts[1::2]]
    asked = [
        *(
            _one(client, "translate", alone, ("translate", [text, 5, 1]))
            for text in texts[::2]
        ),
        *(
            page.translated(text, alone)
            for page, text in zip(pages, texts[1::2], strict=True)
        ),
    ]
    said = await asyncio.gather(*asked, return_exceptions=True)
    return Counter(
        one if isinstance(one, str) else f"{type(one).__name__} failed" for one in said
    )


@dataclass(frozen=True)
class Look:
    """What a process held, so long after the first request and after so many."""

    minutes: float
    requests: int
    held: Held


async def _soak(
    address: str, process: int, alone: Alone, requests: int, minutes: int, people: int
) -> tuple[Counter[str], list[Look], Counter[str]]:
    """Have people ask; -> what became of it, looks at the process, and what became of
    CROWD.

    minutes: for how long they ask at their own pace; 0: so many requests, each after
    the other.
    """
    became = Counter[str]()
    seen = list[Look]()
    began = time.perf_counter()
    kinds = {**KINDS, **PAGES} if minutes else KINDS

    def look() -> None:
        passed = (time.perf_counter() - began) / 60
        seen.append(Look(passed, became.total(), Held.by(process)))
        held = seen[-1].held
        print(
            f"{passed:.1f} minutes, {became.total():,} requests, {held.megabytes:,.0f} MB, {held.threads} threads, "
            f"{held.files} open files",
            file=sys.stderr,
            flush=True,
        )

    async def watch() -> None:
        while True:
            look()
            await asyncio.sleep(EVERY)

    async def user() -> None:
        for number in left:
            if not minutes and number % (requests // LOOKS) == 0:
                look()
            until = time.perf_counter() + (random.uniform(*PACE) if minutes else 0)
            kind = random.choices([*kinds], [*kinds.values()])[0]
            became[
                await (
                    _page(client, config, kind, alone)
                    if kind in PAGES
                    else _one(client, kind, alone)
                )
            ] += 1
            await asyncio.sleep(max(0.0, until - time.perf_counter()))
            if minutes and time.perf_counter() - began > minutes * 60:
                return

    left = iter(count() if minutes else range(requests))
    # the server closes a connection after 5 seconds
    limits = httpx.Limits(max_connections=None, keepalive_expiry=2)
    async with httpx.AsyncClient(
        base_url=address, timeout=120, limits=limits
    ) as client:
        config = (await client.get("config")).json()
        watching = asyncio.create_task(watch()) if minutes else None
        await asyncio.gather(*(user() for _ in range(people)))
        if watching:
            watching.cancel()
        await asyncio.sleep(10)  # idle threads end, and connections are closed
        look()
        return became, seen, await at_once(client, CROWD, alone)


def run(
    checkpoint: Path,
    sentiment: Path,
    requests: int = REQUESTS,
    minutes: int = 0,
    people: int = PEOPLE,
) -> str:
    """A Markdown table; raises Grown where the process holds more at its end than when
    it was warm, or where an answer is none or of another text.

    minutes: for how long so many people ask at their own pace; 0 has USERS make so many
    requests, each after the other.
    """
    random.seed(0)
    alone = Alone.by(checkpoint, sentiment)
    flags = ["--checkpoint", str(checkpoint), "--sentiment", str(sentiment)]
    with tempfile.TemporaryFile("w+") as said:
        app = subprocess.Popen(
            [sys.executable, "-u", "app.py", *flags],
            cwd=ROOT,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            address = _address(said.fileno(), app)
            became, seen, crowd = asyncio.run(
                _soak(
                    address,
                    app.pid,
                    alone,
                    requests,
                    minutes,
                    people if minutes else USERS,
                )
            )
        finally:
            app.terminate()
            app.wait()
        said.seek(0)
        errors = said.read().count("Traceback (most recent call last)")
    last = seen[-1]
    every = max(1, (len(seen) - 2) // ROWS) if minutes else 1
    rows = [
        [
            f"{one.minutes:.1f}",
            f"{one.requests:,}",
            f"{one.held.megabytes:,.0f}",
            str(one.held.threads),
            str(one.held.files),
        ]
        for one in [*seen[:-1:every], last]
    ]
    text = (
        f"{became.total():,} requests of {people if minutes else USERS} users in {last.minutes:.1f} minutes: "
        f"{_told(became)}. {errors} errors in the log. "
        + (
            f"{_slope(seen[:-1]):+.2f} MB a minute after the first quarter. "
            if minutes
            else ""
        )
        + f"Then {len(CROWD)} at once: {_told(crowd)}.\n\n"
        + table(["minutes", "requests", "memory, MB", "threads", "open files"], rows)
    )
    # MB that may be kept of pages
    pages = PAGE / 1e6 * min(SESSIONS, sum(became[kind] for kind in PAGES))
    warm = [
        one.held
        for one in seen[:-1]
        if one.requests >= (last.requests // 4 if minutes else WARM)
    ]
    grown = [
        f"{name} {now:,.0f} instead of {most:,.0f}"
        for name, now, most in (
            ("memory in MB", last.held.megabytes, warm[0].megabytes + MOST_MB + pages),
            (
                "threads",
                last.held.threads,
                max(held.threads for held in warm) + MOST_MORE,
            ),
            (
                "open files",
                last.held.files,
                max(held.files for held in warm) + MOST_MORE,
            ),
        )
        if now > most
    ]
    wrong = [kind for kind in became if kind.endswith(("failed", "of another text"))]
    # some of so many may be asked to come again
    mixed = [kind for kind in crowd if kind.endswith("of another text")]
    if grown or wrong or mixed or errors:
        raise Grown(
            f"{text}\n\nAt the end: {'; '.join([*grown, *wrong, *mixed, f'{errors} errors in the log'])}."
        )
    return text


def _told(became: Counter[str]) -> str:
    return ", ".join(f"{times:,} {kind}" for kind, times in became.most_common())


def _slope(seen: list[Look]) -> float:
    """The megabytes a minute, by least squares, after the first quarter of the time."""
    late = [one for one in seen if one.minutes >= seen[-1].minutes / 4]
    return float(
        np.polyfit(
            [one.minutes for one in late], [one.held.megabytes for one in late], 1
        )[0]
    )


def _address(said: int, app: subprocess.Popen[bytes]) -> str:
    """Where the app serves, once it says so."""
    while True:
        text = os.pread(said, 100_000, 0).decode()
        if found := re.search(r"Running on local URL:\s+(\S+)", text):
            return found[1]
        if app.poll() is not None:
            raise Grown(f"The app ended without serving: {text}")
        time.sleep(0.1)
