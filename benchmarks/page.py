"""How soon the first page is there, in Chromium: milliseconds from navigation to a
sentence that can be typed, and to the first translation on the screen; and what was
fetched for it.

Each first visit has an empty cache, each second one what the first left there. The
clock is the browser's own, from the start of the navigation to the second animation
frame after what is waited for is in the document. Typing counts as possible when the
field of the sentence has the focus, which the page gives it when it is ready.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.harness import median, table
from benchmarks.pictures import HEIGHT, PATIENCE, WIDTH, served
from tests.chromium import CHROMIUM, FLAGS

VISITS = ("first visit, empty cache", "second visit")
WATCH = """
  window.seen = {};
  const wanted = {typing: () => document.activeElement?.matches('textarea, input[type=text]'),
                  translation: () => document.querySelector('.translation .piece')};
  const look = () => {
    for (const [name, there] of Object.entries(wanted))
      if (!(name in window.seen) && there()) {
        window.seen[name] = null;
        requestAnimationFrame(() => requestAnimationFrame(() => window.seen[name] = performance.now()));
      }
    if (Object.keys(window.seen).length < 2) requestAnimationFrame(look);
  };
  look();
"""


def visit(page: Page, address: str) -> dict[str, float]:
    """Milliseconds to `typing` and to `translation`, kB and requests until then."""
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    fetched: list[float] = []
    asked: list[Any] = []
    network.on(
        "Network.loadingFinished",
        lambda event: fetched.append(event["encodedDataLength"]),
    )
    network.on("Network.requestWillBeSent", lambda event: asked.append(event))
    page.goto(address)
    page.wait_for_function(
        "window.seen?.typing && window.seen?.translation", polling=50
    )
    seen: dict[str, float] = page.evaluate("window.seen")
    network.detach()
    return {**seen, "kB": sum(fetched) / 1000, "requests": len(asked)}


def run(folder: Path, rounds: int) -> str:
    """Markdown: a kind of visit a row; the first round of each is not counted."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in VISITS}
    with served(folder) as address, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        version = browser.version
        for _ in range(rounds + 1):
            context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
            for name in VISITS:
                page = context.new_page()
                page.set_default_timeout(1000 * PATIENCE)
                page.add_init_script(WATCH)
                found[name].append(visit(page, address))
                page.close()
            context.close()
        browser.close()
    rows = []
    for name, every in found.items():
        counted = every[1:]

        def of(what: str, counted: list[dict[str, float]] = counted) -> list[float]:
            return [one[what] for one in counted]

        rows.append(
            [
                name,
                *(
                    f"{median(of(what)):,.0f} ({max(of(what)):,.0f})"
                    for what in ("typing", "translation")
                ),
                f"{median(of('kB')):,.0f}",
                f"{median(of('requests')):,.0f}",
            ]
        )
    return (
        f"Milliseconds from navigation in headless Chromium {version}: median of {rounds} visits each (and the "
        f"slowest).\n\n"
        + table(
            ["", "a sentence can be typed", "first translation", "kB", "requests"], rows
        )
    )
