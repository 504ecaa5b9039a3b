"""How the page feels under the finger, in Chromium: how soon a picture follows a
slider, a head, and Enter, beside an empty page of Gradio; and what is pushed aside
while the page opens and is used.

The clock of an act starts when a script in the page does it, and stops in the second
animation frame after the last change of a picture that is seen. The empty page has a
text box, a slider, and a line of HTML that shows what they hold: what Gradio itself
takes. A layout shift is what browsers count (the part of the window that moves, times
how far): by a link all of it; by a click on a tab or a part all of it too; by a click
on what is folded only what comes later than half a second, as what stands below makes
room.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.harness import median, table
from benchmarks.opening import spent
from benchmarks.pictures import page_of, running
from tests.browser.acts import idle, watch
from tests.chromium import CHROMIUM, FLAGS, counting
from xformer.ui.places import Place, places

WIDTHS = (1280, 375)
HEIGHT = 800
PATIENCE = 120  # seconds for a page to come to rest
SCRIPT = Path(__file__).with_suffix(".js")
PICTURES = ".block.framed"
SENTENCES = Path(__file__).with_name("sentences.txt")
REST = 200  # milliseconds that an empty page is left to itself after an act
EMPTY = """import gradio as gr
with gr.Blocks(analytics_enabled=False) as demo:
    text = gr.Textbox()
    number = gr.Slider(1, 100, step=1)
    shown = gr.HTML(elem_classes="answer")
    text.submit(lambda text: text, text, shown)
    number.input(lambda number: str(number), number, shown)
demo.launch()
"""


def address(tab: str, place: Place) -> str:
    """What of the page's address opens a part."""
    query = urlencode({"tab": tab, **place.address})
    return f"?{query}{f'#{place.key}' if place.folded else ''}"


def all_places() -> Iterator[tuple[str, Place]]:
    """All parts, each with its tab."""
    for tab, those in places().items():
        for place in those:
            yield tab, place


def visited(browser: Browser, width: int, where: str) -> Page:
    """A page of its own on its way to an address."""
    # still: or the clock would stop when cells have become others, 200 ms later
    size: Any = {"width": width, "height": HEIGHT}
    context = counting(browser.new_context(viewport=size, reduced_motion="reduce"))
    context.add_init_script(path=SCRIPT)
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    watch(page)
    page.goto(where)
    return page


def opened(browser: Browser, width: int, where: str) -> Page:
    """A page of its own that has come to rest."""
    page = visited(browser, width, where)
    idle(page)
    return page


def rested(page: Page) -> None:
    """Wait for the answer of an empty page of Gradio."""
    page.wait_for_function("window.took !== null")
    page.wait_for_timeout(REST)


def with_sliders(ours: str) -> Iterator[tuple[str, Place]]:
    """The parts where sliders may be: all that are not folded, each address once, and
    of those that are folded the ones that hold one."""
    with urlopen(f"{ours}/config") as reply:
        config = json.load(reply)
    components = {one["id"]: one for one in config["components"]}
    holding = set[str]()

    def look(node: dict[str, Any], within: tuple[str, ...]) -> None:
        one = components.get(node["id"], {"type": "", "props": {}})
        names = " ".join(one["props"].get("elem_classes") or []).split()
        if one["type"] == "slider":
            holding.update(within)
        for child in node.get("children", ()):
            look(child, (*within, *names))

    look(config["layout"], ())
    known = set[str]()
    for tab, place in all_places():
        where = address(tab, place)
        if where not in known and (not place.folded or f"at-{place.key}" in holding):
            known.add(where)
            yield tab, place


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
                    idle(page)  # a fold comes with its part
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
    """What acts took: milliseconds until the picture, of the renderer's processor and
    the server's, and shifts, by their names."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.found: dict[str, list[tuple[float, ...]]] = {}

    def drawn(self) -> float:
        """Seconds of processors that the renderers have taken."""
        session = self.browser.new_browser_cdp_session()
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        session.detach()
        return sum(one["cpuTime"] for one in processes if one["type"] == "renderer")

    def time(
        self,
        page: Page,
        server: int,
        name: str,
        *act: Any,
        rest: Callable[[Page], None] = idle,
    ) -> None:
        """Do something, and note what it took; nothing where no picture changes."""
        shifted(page)
        drawn = self.drawn()
        served = spent(server)
        page.evaluate("given => act(given)", [*act])
        rest(page)
        took = page.evaluate("window.took")
        if took is not None:
            costs = (1000 * (self.drawn() - drawn), 1000 * (spent(server) - served))
            found = self.found.setdefault(name, [])
            found.append((took, *costs, shifted(page)))

    def rows(self) -> list[list[str]]:
        """By the name of an act, the median and 90th percentile, processors, and the
        largest shift."""
        rows = []
        for name, every in self.found.items():
            if len(every) < 3:  # the first warms up
                continue
            times, drawn, served, shifts = zip(*every[1:], strict=True)
            ninth = statistics.quantiles(times, n=10, method="inclusive")[8]
            numbers = (median(times), ninth, median(drawn), median(served))
            shift = f"{max(shifts):.3f}"
            rows.append([name, *(f"{one:,.0f}" for one in numbers), shift])
        return rows


def use_empty(clock: Clock, where: str, server: int, rounds: int) -> None:
    """What Enter and a slider take in an empty page of Gradio."""
    page = visited(clock.browser, WIDTHS[0], where)
    page.wait_for_selector("textarea, input[type=text]")
    for turn in range(rounds + 1):
        page.evaluate("text => type(text)", f"A sentence, number {turn}.")
        act = ("enter", ".block.answer")
        clock.time(page, server, "empty page: Enter", *act, rest=rested)
    for turn in range(rounds + 1):
        act = ("slider", ".block.answer", turn, 0)
        clock.time(page, server, "empty page: slider", *act, rest=rested)
    page.context.close()


def use(clock: Clock, ours: str, server: int, rounds: int) -> None:
    """What sliders, heads and Enter take in this page."""
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    page = opened(clock.browser, WIDTHS[0], ours)
    for turn in range(rounds + 1):
        page.evaluate("text => type(text)", lines[turn % len(lines)])
        clock.time(page, server, "Enter to translation", "enter", ".block.spanish")
    page.context.close()
    page = opened(clock.browser, WIDTHS[0], f"{ours}/?tab=attention")
    for turn in range(rounds + 1):
        clock.time(page, server, "head to picture", "head", ".block.view", turn)
    page.context.close()
    known = set[str]()
    for tab, place in with_sliders(ours):
        page = opened(clock.browser, WIDTHS[0], f"{ours}/{address(tab, place)}")
        for number, label in enumerate(page.evaluate("sliders()")):
            if (name := f"slider: {label}") in known:
                continue
            known.add(name)
            page.evaluate("number => toSight(number)", number)
            for turn in range(rounds + 1):
                clock.time(page, server, name, "slider", PICTURES, turn, number)
        page.context.close()


HEAD = [
    "",
    "median, ms",
    "90 %, ms",
    "renderer, processor ms",
    "server, processor ms",
    "largest shift",
]


def run(folder: Path, rounds: int) -> str:
    """Markdown: what acts took, beside an empty page."""
    load = os.getloadavg()[0]
    began = time.monotonic()
    with ExitStack() as stack:
        empty = Path(stack.enter_context(tempfile.TemporaryDirectory()), "empty.py")
        empty.write_text(EMPTY)
        plain = stack.enter_context(running([sys.executable, str(empty)]))
        ours = stack.enter_context(page_of(folder))
        p = stack.enter_context(sync_playwright())
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        clock = Clock(browser)
        use_empty(clock, *plain, rounds)
        use(clock, *ours, rounds)
        version = browser.version
        browser.close()
    return (
        f"Headless Chromium {version}, {rounds} of each in {time.monotonic() - began:.0f} s; load of the machine "
        f"{load:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end. Wanted at the 90th percentile: 200 ms from "
        "Enter, 60 from a head, 100 from a slider. Waited for is the last change that is seen: of the translation, of "
        f"the head's map, of any picture.\n\n{table(HEAD, clock.rows())}"
    )


def run_shifts(folder: Path, widths: tuple[int, ...] = WIDTHS) -> str:
    """Markdown: layout shifts by journey."""
    load = os.getloadavg()[0]
    with page_of(folder) as (ours, _), sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        shifts: dict[str, list[str]] = {}
        slowest = 0.0
        for width in widths:
            links = list(by_link(browser, ours, width))
            slowest = max(slowest, *(frame for *_, frame in links))
            linked = {name: shift for name, shift, _ in links}
            clicked = dict(by_click(browser, ours, width))
            for name in dict.fromkeys((*linked, *clicked)):
                for found in (linked, clicked):
                    cell = f"{found[name]:.3f}" if name in found else "–"
                    shifts.setdefault(name, []).append(cell)
        version = browser.version
        browser.close()
    ways = [f"{how}, {width}" for width in widths for how in ("by link", "by click")]
    return (
        f"Layout shift by journey, headless Chromium {version}; load of the machine {load:.1f} at the beginning, "
        f"{os.getloadavg()[0]:.1f} at the end; a frame stands at most {slowest:.0f} ms after the first paint:\n\n"
        f"{table(['', *ways], [[name, *cells] for name, cells in shifts.items()])}"
    )
