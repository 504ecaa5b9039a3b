"""What it costs to open the page, beside an empty page of Gradio, in one run and in
turns, in Chromium: processor seconds of the browser's renderer and of the server, what
is fetched, and how soon something stands there; for one visitor at a time, and for
thirty who come within ten seconds.

A first visit has an empty cache, a second what the first left there. The seconds of the
processor are those until two seconds after the first translation (or the field of the
empty page) stands there; what is fetched is counted until it does.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, async_playwright

from benchmarks.harness import median, table
from benchmarks.pictures import HEIGHT, WIDTH, page_of, running
from tests.chromium import CHROMIUM, FLAGS

EMPTY = """import gradio as gr
with gr.Blocks(analytics_enabled=False) as demo:
    text = gr.Textbox("Hello")
    gr.Button("Go").click(lambda text: text, text, gr.HTML())
demo.launch()
"""
OURS = "this page"
PLAIN = "an empty page of Gradio"
SEEN = {
    OURS: "document.querySelector('.translation .piece')",
    PLAIN: "document.querySelector('textarea, input')",
}
AFTER = 2.0  # seconds for what a page does when its first picture stands there
# visitors, and the seconds in which they come
LONGEST = 300.0  # seconds for a page to show something among many
LOOK = 100  # milliseconds between two looks whether something stands there
PEOPLE = 30
WITHIN = 10.0


def spent(process: int) -> float:
    """Seconds of the processor that a process has taken; it must be one of this Linux
    machine."""
    times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


async def rendered(browser: Browser) -> float:
    """Seconds of the processor that the renderers of a browser have taken."""
    session = await browser.new_browser_cdp_session()
    found = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
    await session.detach()
    return sum(one["cpuTime"] for one in found if one["type"] == "renderer")


async def visit(
    context: BrowserContext,
    address: str,
    seen: str,
    noted: Callable[[str, float], None] | None = None,
) -> None:
    """Open a page and wait until it shows something. noted: is told of requests, and of
    the kB of answers."""
    page = await context.new_page()
    page.set_default_timeout(1000 * LONGEST)
    if noted is not None:
        network = await context.new_cdp_session(page)
        await network.send("Network.enable")

        def note_request(event: dict[str, Any]) -> None:
            noted("requests", not event["request"]["url"].startswith("data:"))

        network.on(
            "Network.requestWillBeSent",
            note_request,
        )

        def note_bytes(event: dict[str, Any]) -> None:
            noted("kB", event["encodedDataLength"] / 1000)

        network.on(
            "Network.loadingFinished",
            note_bytes,
        )
    await page.goto(address)
    await page.wait_for_function(seen, polling=LOOK)


async def one_visitor(
    browser: Browser, name: str, address: str, server: int
) -> list[dict[str, float]]:
    """What a first and a second visit take."""
    context = await browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    found = list[dict[str, float]]()
    for _ in range(2):
        fetched = Counter[str]()
        drawn = await rendered(browser)
        served = spent(server)
        began = time.perf_counter()
        await visit(
            context,
            address,
            SEEN[name],
            lambda what, more, fetched=fetched: fetched.update({what: more}),
        )
        costs = {**fetched, "seconds": time.perf_counter() - began}
        await asyncio.sleep(AFTER)
        costs |= {
            "renderer": await rendered(browser) - drawn,
            "server": spent(server) - served,
        }
        for page in context.pages:
            await page.close()
        found.append(costs)
    await context.close()
    return found


async def crowd(
    browser: Browser, name: str, address: str, people: int
) -> dict[str, float]:
    """What it takes until all of some visitors, who come one after the other within
    WITHIN seconds, see something."""
    contexts = [
        await browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
        for _ in range(people)
    ]
    waits = list[float]()
    began = time.perf_counter()

    async def come(number: int, context: BrowserContext) -> None:
        await asyncio.sleep(number * WITHIN / people)
        came = time.perf_counter()
        await visit(context, address, SEEN[name])
        waits.append(time.perf_counter() - came)
        # what a page does afterwards would slow down the others
        await context.close()

    await asyncio.gather(
        *(come(number, context) for number, context in enumerate(contexts))
    )
    took = time.perf_counter() - began
    return {"all": took, "median": median(waits), "longest": max(waits)}


async def measure(
    pages: dict[str, tuple[str, int]], rounds: int, people: int
) -> tuple[str, Any, Any]:
    """The version of the browser; what visits took, by page a list of rounds, of which
    the first is not counted; and what crowds took, by page."""
    found: dict[str, list[list[dict[str, float]]]] = {name: [] for name in pages}
    async with async_playwright() as p:
        browser = await p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for _ in range(rounds + 1):
            for name, (address, server) in pages.items():
                found[name].append(await one_visitor(browser, name, address, server))
        crowds = {
            name: await crowd(browser, name, address, people)
            for name, (address, _) in pages.items()
        }
        version = browser.version
        await browser.close()
    return version, found, crowds


def run(folder: Path, rounds: int, people: int = PEOPLE) -> str:
    """Markdown: a kind of visit a row; then what a crowd waits for."""
    with ExitStack() as stack:
        empty = Path(stack.enter_context(tempfile.TemporaryDirectory()), "empty.py")
        empty.write_text(EMPTY)
        pages = {
            PLAIN: stack.enter_context(running([sys.executable, str(empty)])),
            OURS: stack.enter_context(page_of(folder)),
        }
        version, found, crowds = asyncio.run(measure(pages, rounds, people))
    rows = []
    for name, every in found.items():
        for number, which in enumerate(("first", "second")):

            def of(
                what: str,
                every: list[list[dict[str, float]]] = every,
                number: int = number,
            ) -> float:
                return median([visits[number][what] for visits in every[1:]])

            rows.append(
                [
                    f"{name}, {which} visit",
                    *(f"{of(what):.2f}" for what in ("renderer", "server", "seconds")),
                    f"{of('kB'):,.0f}",
                    f"{of('requests'):,.0f}",
                ]
            )
    together = [
        [name, *(f"{taken[what]:.1f}" for what in ("all", "median", "longest"))]
        for name, taken in crowds.items()
    ]
    head = [
        "",
        "renderer, processor s",
        "server, processor s",
        "seconds until it stands there",
        "kB",
        "requests",
    ]
    return (
        f"Headless Chromium {version}; median of {rounds} visits each.\n\n{table(head, rows)}\n\n"
        f"{people} visitors who come within {WITHIN:.0f} seconds, all on this machine; seconds until each sees "
        f"something:\n\n{table(['', 'until all do', 'median', 'longest'], together)}"
    )
