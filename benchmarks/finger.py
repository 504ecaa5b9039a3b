"""How the page feels under the finger, in Chromium: what is pushed aside while it opens
and is used, and how soon a picture follows a slider, a head, and Enter.

A layout shift is what browsers count (the part of the window that moves, times how
far): by a link all of it; by a click on a tab or a part all of it too; by a click on
what is folded only what comes later than half a second, as what stands below makes
room. The clock of an act starts when a script in the page does it, and stops in the
second animation frame after the last change of a picture that is seen.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.harness import median, table
from benchmarks.opening import spent
from benchmarks.pictures import page_of
from tests.browser.acts import idle, watch
from tests.chromium import CHROMIUM, FLAGS, counting
from xformer.ui.places import Place, places

WIDTHS = (1280, 375)
HEIGHT = 800
PATIENCE = 120  # seconds for a page to come to rest
SCRIPT = Path(__file__).with_suffix(".js")
PICTURES = ".block.framed"
SENTENCES = Path(__file__).with_name("sentences.txt")


def address(tab: str, place: Place) -> str:
    """What of the page's address opens a part."""
    query = urlencode({"tab": tab, **place.address})
    return f"?{query}{f'#{place.key}' if place.folded else ''}"


def all_places() -> Iterator[tuple[str, Place]]:
    """All parts, each with its tab."""
    for tab, those in places().items():
        for place in those:
            yield tab, place


def opened(browser: Browser, width: int, where: str) -> Page:
    """A page of its own that has come to rest."""
    # still: or the clock would stop when cells have become others, 200 ms later
    size: Any = {"width": width, "height": HEIGHT}
    context = counting(browser.new_context(viewport=size, reduced_motion="reduce"))
    context.add_init_script(path=SCRIPT)
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    watch(page)
    page.goto(where)
    idle(page)
    return page


def shifted(page: Page, recent: bool = True) -> float:
    """How much was pushed aside since the last time. recent: soon after an act too."""
    found = page.evaluate("window.shifts.splice(0)")
    for value, soon, name in found:
        if value > 0.004 and "XFORMER_SHIFTS" in os.environ:
            print(f"    {value:.3f} {'soon ' if soon else ''}{name}")
    return sum(value for value, soon, _ in found if recent or not soon)


def by_link(
    browser: Browser, ours: str, width: int
) -> Iterator[tuple[str, float, float]]:
    """By the name of a part: how much is pushed aside while a link opens it, and
    milliseconds from the first paint to a frame."""
    ways = [("first view", "")]
    ways += [
        (f"{tab}: {place.key}", address(tab, place)) for tab, place in all_places()
    ]
    for name, where in ways:
        page = opened(browser, width, f"{ours}/{where}")
        yield name, shifted(page), page.evaluate("window.framed ?? NaN")
        page.context.close()


def by_click(browser: Browser, ours: str, width: int) -> Iterator[tuple[str, float]]:
    """By the name of a part: how much is pushed aside when clicks open it."""
    page = opened(browser, width, ours)
    shifted(page)
    for tab, those in places().items():
        page.locator(f'.tab-container [role=tab][data-tab-id="{tab}"]').first.click()
        idle(page)
        yield tab, shifted(page)
        for place in those:
            recent = True
            for value in place.address.values():
                chosen = f'input[value="{value}"]:not(:checked)'
                found = page.locator(f"[role=tabpanel] label:has({chosen}):visible")
                if found.count():
                    found.first.click()
            if place.folded:
                fold = page.locator(f".block.at-{place.key} > button:not(.open)")
                if not fold.locator("visible=true").count():
                    continue
                fold.first.scroll_into_view_if_needed()
                box = fold.first.bounding_box()
                if box:
                    page.mouse.click(box["x"] + 20, box["y"] + box["height"] / 2)
                recent = False
            idle(page)
            yield f"{tab}: {place.key}", shifted(page, recent)
    page.context.close()


class Clock:
    """What acts took: milliseconds until the picture, of processors, and shifts, by
    their names."""

    def __init__(self, browser: Browser, server: int) -> None:
        self.browser = browser
        self.server = server
        self.found: dict[str, list[tuple[float, float, float]]] = {}

    def used(self) -> float:
        """Seconds of processors that the renderers and the server have taken."""
        session = self.browser.new_browser_cdp_session()
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        session.detach()
        drawn = sum(one["cpuTime"] for one in processes if one["type"] == "renderer")
        return drawn + spent(self.server)

    def time(self, page: Page, name: str, *act: Any) -> None:
        """Do something, and note what it took; nothing where no picture changes."""
        shifted(page)
        before = self.used()
        page.evaluate("given => act(given)", [*act])
        idle(page)
        took = page.evaluate("window.took")
        if took is not None:
            cost = 1000 * (self.used() - before)
            self.found.setdefault(name, []).append((took, cost, shifted(page)))

    def rows(self) -> list[list[str]]:
        """By the name of an act, the median and 90th percentile, processors, and the
        largest shift."""
        rows = []
        for name, every in self.found.items():
            times = sorted(took for took, *_ in every[1:])  # the first warms up
            if len(times) < 2:
                continue
            ninth = statistics.quantiles(times, n=10, method="inclusive")[8]
            cost = median([one for _, one, _ in every[1:]])
            most = max(shift for *_, shift in every[1:])
            numbers = f"{median(times):,.0f}", f"{ninth:,.0f}", f"{cost:,.0f}"
            rows.append([name, *numbers, f"{most:.3f}"])
        return rows


def use(browser: Browser, ours: str, server: int, rounds: int) -> list[list[str]]:
    """What sliders, heads and Enter take."""
    clock = Clock(browser, server)
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    page = opened(browser, WIDTHS[0], ours)
    for turn in range(rounds + 1):
        page.evaluate("text => type(text)", lines[turn % len(lines)])
        clock.time(page, "Enter to translation", "enter", ".block.spanish")
    page.context.close()
    page = opened(browser, WIDTHS[0], f"{ours}/?tab=attention")
    for turn in range(rounds + 1):
        clock.time(page, "head to picture", "head", ".block.view", turn)
    page.context.close()
    known = set[str]()
    for tab, place in all_places():
        page = opened(browser, WIDTHS[0], f"{ours}/{address(tab, place)}")
        for number, label in enumerate(page.evaluate("sliders()")):
            if (name := f"slider: {label}") in known:
                continue
            known.add(name)
            page.evaluate("number => toSight(number)", number)
            for turn in range(rounds + 1):
                clock.time(page, name, "slider", PICTURES, turn, number)
        page.context.close()
    return clock.rows()


def run(folder: Path, rounds: int, widths: tuple[int, ...] = WIDTHS) -> str:
    """Markdown: what acts took; then layout shifts by journey."""
    load = os.getloadavg()[0]
    with page_of(folder) as (ours, server), sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        rows = use(browser, ours, server, rounds)
        shifts: dict[str, list[str]] = {}
        slowest = 0.0
        for width in widths:
            links = list(by_link(browser, ours, width))
            slowest = max(slowest, *(frame for *_, frame in links))
            found = {name: (shift,) for name, shift, _ in links}
            for name, shift in by_click(browser, ours, width):
                found[name] = (*found.get(name, ()), shift)
            for name, both in found.items():
                cells = (f"{both[0]:.3f}", f"{both[1]:.3f}" if both[1:] else "–")
                shifts.setdefault(name, []).extend(cells)
        version = browser.version
        browser.close()
    head = ["", "median, ms", "90 %, ms", "processors, ms", "largest shift"]
    ways = [f"{how}, {width}" for width in widths for how in ("by link", "by click")]
    return (
        f"Headless Chromium {version}, {rounds} of each; load of the machine {load:.1f} at the "
        f"beginning, {os.getloadavg()[0]:.1f} at the end.\n\n{table(head, rows)}\n\n"
        f"Layout shift by journey; a frame stands at most {slowest:.0f} ms after the first paint:\n\n"
        f"{table(['', *ways], [[name, *cells] for name, cells in shifts.items()])}"
    )
