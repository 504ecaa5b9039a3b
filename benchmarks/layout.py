"""Where the pictures stand on the page and how soon they are there, in Chromium, on a desktop's window and a phone's.
(From a small map to its picture: the benchmark `pictures`.)

All clocks are the browser's own, from the key or the click to the second animation frame after what is waited for.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.harness import median, table
from benchmarks.pictures import PATIENCE, served
from tests.browser.acts import PICTURES, contrasts, open_tab
from tests.chromium import CHROMIUM, FLAGS
from tests.harness import ROOT

SIZES = {"1280 × 800": (1280, 800), "375 × 812": (375, 812)}
WANTED = {"1280 × 800": 200, "375 × 812": 380}  # pixels, at which a main picture begins at the latest
SENTENCES = ("The children play in the garden.", "We want to buy a house.", "My sister reads a good book.")
SCRIPT = """
  window.shown = selector => [...document.querySelectorAll(selector)].find(
      one => one.checkVisibility() && one.getBoundingClientRect().height > 2);
  window.panel = () => [...document.querySelectorAll('[role=tabpanel]')].find(one => one.checkVisibility());
  // Notes in window.took the milliseconds until `there()`, in the second frame after it.
  window.clock = (name, there) => {
    const began = performance.now();
    const look = () => there() ? requestAnimationFrame(() => requestAnimationFrame(
        () => window.took[name] = performance.now() - began)) : requestAnimationFrame(look);
    look();
  };
  window.took = {};
"""
OPEN = """([id, selector]) => {
  window.took = {};
  const before = window.panel();
  document.querySelector(`[role=tab][data-tab-id="${id}"]`).click();
  window.clock('something', () => window.panel() && window.panel() !== before && window.panel().innerText.trim());
  window.clock('picture', () => window.panel() !== before && window.shown(selector));
}"""
ENTER = """() => {
  window.took = {};
  const shown = () => document.querySelector('.translation').textContent, before = shown();
  document.addEventListener('keydown', () => window.clock('translation', () => shown() !== before),
                            {once: true, capture: true});
}"""
PLACES = """selector => {
  const picture = window.shown(selector).getBoundingClientRect();
  const content = window.panel().firstElementChild.getBoundingClientRect().top + scrollY;
  const seen = Math.max(0, Math.min(innerHeight, picture.bottom) - Math.max(0, picture.top));
  return {top: picture.top + scrollY, content: 100 * (innerHeight - content) / innerHeight, seen};
}"""


def opened(browser: Browser, address: str, size: tuple[int, int], theme: str = "light", tab: str = "translate"
           ) -> Page:
    """A page that has arrived, with its first translation."""
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce").new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.add_init_script(SCRIPT)
    page.goto(f"{address}/?__theme={theme}&tab={tab}")
    page.locator(".translation .piece").first.wait_for(state="attached")
    page.wait_for_timeout(500)
    return page


def took(page: Page, *names: str) -> list[float]:
    """Milliseconds that `clock` noted, by name."""
    noted = "names => names.every(name => name in window.took) && names.map(name => window.took[name])"
    return list(page.wait_for_function(noted, arg=list(names), polling=20).json_value())


def layout(browser: Browser, address: str) -> tuple[list[list[str]], float]:
    """Rows of the table of places, a tab each; and the lowest contrast of all."""
    rows, least = {tab: [tab] for tab in PICTURES}, []
    for size in SIZES.values():
        for tab, selector in PICTURES.items():
            page = opened(browser, address, size, tab=tab)
            page.wait_for_function("selector => window.shown(selector)", arg=selector, polling=100)
            found: dict[str, float] = page.evaluate(PLACES, selector)
            rows[tab] += [f"{found['top']:,.0f}", f"{found['content']:.0f} %"]
            page.context.close()
    for theme in ("light", "dark"):
        page = opened(browser, address, SIZES["1280 × 800"], theme)
        for tab in PICTURES:
            open_tab(page, tab)
            least.append(contrasts(page)[0]["ratio"])
            rows[tab].append(f"{least[-1]:.2f}")
        page.context.close()
    return list(rows.values()), min(least)


def speeds(browser: Browser, address: str, rounds: int) -> list[list[str]]:
    """Rows of the table of times."""
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for tab, selector in PICTURES.items():
            if tab == "translate":
                continue
            page = opened(browser, address, SIZES["1280 × 800"])
            page.evaluate(OPEN, [tab, selector])
            something, picture = took(page, "something", "picture")
            times.setdefault(f"first opening of {tab}: something", []).append(something)
            times.setdefault(f"first opening of {tab}: its picture", []).append(picture)
            page.context.close()
    page = opened(browser, address, SIZES["1280 × 800"])
    for turn in range(rounds + 1):
        page.get_by_label("English sentence").fill(SENTENCES[turn % len(SENTENCES)])
        page.evaluate(ENTER)
        page.keyboard.press("Enter")
        times.setdefault("Enter to translation", []).append(took(page, "translation")[0])
        page.wait_for_timeout(1000)
    times["Enter to translation"].pop(0)
    page.context.close()
    return [[what, f"{median(values):,.0f}", f"{max(values):,.0f}"] for what, values in times.items()]


def run(folder: Path, rounds: int, checkout: Path = ROOT) -> str:
    """Markdown: prints the places, and gives the times. checkout: of this project, whose page is measured."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=checkout, text=True, capture_output=True,
                            check=False).stdout.strip() or "?"
    with served(folder, checkout) as address, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        version = browser.version
        places, least = layout(browser, address)
        columns = ("picture begins at", "content on the first screen")
        head = ["tab", *(f"{what}, {size}" for size in SIZES for what in columns), "lowest contrast, light", "dark"]
        wanted = " and ".join(f"{pixels} at {size}" for size, pixels in WANTED.items())
        said = (f"The page of commit {commit} in headless Chromium {version}; pixels from the top of the page (wanted: "
                f"under {wanted}), and of every text the contrast to what lies behind it (wanted: 4.5; least: "
                f"{least:.2f}).\n\n{table(head, places)}\n")
        print(said, flush=True)
        times = speeds(browser, address, rounds)
        browser.close()
    return (f"Milliseconds, median of {rounds} and the slowest; of a first opening, each in a page of its own.\n\n"
            f"{table(['', 'median', 'slowest'], times)}")
