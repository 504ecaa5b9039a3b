"""Milliseconds from moving a slider of the Positions and First principles tabs to its pictures, in Chromium.

The clock starts when a script in the page hands the new value to the slider, and stops in the second animation frame
after the last picture was drawn: of those that can be seen beside the slider, and of all that follow it.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from benchmarks.harness import median, table
from benchmarks.pictures import HEIGHT, PATIENCE, WIDTH, served
from tests.chromium import CHROMIUM, FLAGS

SENTENCE = "I was talking to my friend about his old car to find out if it was still running reliably."
WANTED = 150  # milliseconds
# The slider by its label, values to move it between, and the pictures that follow.
SLIDERS = {
    "positions": (
        ("Positions", (48, 64, 96), ("table", "curves", "waves", "distance", "rotation", "noise")),
        ("Dimensions (d_model)", (256, 320, 300), ("table", "curves", "waves", "distance", "rotation", "noise")),
        ("Base, as a power of 10", (3.5, 4, 2.5), ("table", "curves", "waves", "distance", "rotation")),
        ("Pair of dimensions i", (4, 8, 12), ("rotation",)),
        ("From position p", (1, 2, 6), ("rotation",)),
        ("Steps k", (2, 3, 7), ("rotation",))),
    "principles": (
        ("Padding after the sentence", (2, 3, 0), ("vectors", "values")),)}
PARTS = {"positions": "The table of positions", "principles": "Vectors"}  # that hold the pictures
# (What padding leaves as it is, the output, is not drawn again.)
# Moves a slider as a hand does, and waits for the pictures to be drawn anew.
MEASURE = """([label, value, names]) => {
  const input = [...document.querySelectorAll('input[type=range]')].find(
      one => one.getAttribute('aria-label')?.endsWith(label) && one.offsetParent);
  input.scrollIntoView({block: 'center', behavior: 'instant'});
  const pictures = names.map(name => document.querySelector(`.${name} .plot`).closest('[data-drawn]'));
  const box = one => one.getBoundingClientRect();
  const seen = pictures.filter(one => box(one).top < innerHeight && box(one).bottom > 0);
  const before = new Map(pictures.map(one => [one, one.dataset.drawn])), began = performance.now();
  const drawn = some => some.every(one => one.dataset.drawn !== before.get(one));
  window.took = {};
  const stop = name => requestAnimationFrame(() => requestAnimationFrame(
      () => window.took[name] = performance.now() - began));
  const look = new MutationObserver(() => {
    if (!window.took.noted && drawn(seen)) { window.took.noted = true; stop('seen'); }
    if (drawn(pictures)) { look.disconnect(); stop('all'); }
  });
  for (const one of pictures) look.observe(one, {attributes: true, attributeFilter: ['data-drawn']});
  input.value = value;
  input.dispatchEvent(new Event('input', {bubbles: true}));
}"""


def measure(page: Page, tab: str, rounds: int) -> list[list[str]]:
    """Rows of the table: a slider each. The first move warms up."""
    rows = []
    for label, values, pictures in SLIDERS[tab]:
        classes = [f"{'pos' if tab == 'positions' else 'first'}-{picture}" for picture in pictures]
        times = []
        for turn in range(rounds + 1):
            page.evaluate(MEASURE, [label, str(values[turn % len(values)]), classes])
            took = page.wait_for_function("window.took.seen && window.took.all && window.took", polling=20).json_value()
            times.append((float(took["seen"]), float(took["all"])))
        seen, every = zip(*times[1:], strict=True)
        rows.append([label, f"{median(seen):,.0f}", f"{max(seen):,.0f}", f"{sum(t < WANTED for t in seen)} of {rounds}",
                     str(len(pictures)), f"{median(every):,.0f}"])
    return rows


def run(folder: Path, rounds: int) -> str:
    """Markdown: a slider a row."""
    rows = []
    with served(folder) as address, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        version = browser.version
        for tab, sliders in SLIDERS.items():
            page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
            page.set_default_timeout(1000 * PATIENCE)
            page.goto(f"{address}/?{urlencode({'text': SENTENCE, 'tab': tab})}")
            page.get_by_role("button", name=PARTS[tab]).click()
            pictures = len({picture for *_, names in sliders for picture in names})
            page.wait_for_function("count => document.querySelectorAll('.picture[data-drawn]').length >= count",
                                   arg=pictures, polling=100)
            page.wait_for_timeout(1000)
            rows += measure(page, tab, rounds)
            page.context.close()
        browser.close()
    text = (f"Milliseconds from moving a slider to its pictures in headless Chromium {version}, a window of {WIDTH} × "
            f"{HEIGHT}, {rounds} moves each; wanted for those that are seen: under {WANTED}.")
    return f"{text}\n\n" + table(["slider", "those seen", "slowest", f"under {WANTED}", "pictures in all",
                                 "all of them"], rows)
