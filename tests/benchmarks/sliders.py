"""Milliseconds from moving a slider of the Positions and First principles tabs to its pictures, in Chromium.

The clock starts when a script in the page hands the new value to the slider, and stops in the second animation frame
after the last of its pictures was drawn. The server's time is that of the handler alone, from the answer that it makes
to the same values when it is called here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.harness import median, table
from tests.benchmarks.pictures import HEIGHT, PATIENCE, WIDTH, served
from tests.browser.conftest import CHROMIUM, FLAGS
from xformer.service import Service
from xformer.ui import positions, principles

SENTENCE = "I was talking to my friend about his old car to find out if it was still running reliably."
WANTED = 150  # milliseconds
# The control as the address calls it, the slider by its label, values to move it between, and the pictures that follow.
SLIDERS = {
    "positions": (
        ("length", "Positions", (48, 64, 96), ("table", "curves", "waves", "distance", "rotation", "noise")),
        ("d_model", "d_model", (256, 320, 300), ("table", "curves", "waves", "distance", "rotation", "noise")),
        ("base_power", "Base as a power of 10", (3.5, 4, 2.5), ("table", "curves", "waves", "distance", "rotation")),
        ("pair", "pair of dimensions", (4, 8, 12), ("rotation",)),
        ("position", "From position p", (1, 2, 6), ("rotation",)),
        ("steps", "Steps k", (2, 3, 7), ("rotation",))),
    "principles": (
        ("padding", "Padding after the sentence", (0, 2, 3), ("vectors", "scores", "values", "bars")),
        ("beta_power", "Inverse temperature β, in powers of two of its own value", (-1, 1, 3), ("bars",)))}
# (What padding leaves as it is, the output, is not drawn again.)
# Moves a slider as a hand does, and waits for the pictures to be drawn anew.
MEASURE = """([label, value, names]) => {
  const input = [...document.querySelectorAll('input[type=range]')].find(
      one => one.getAttribute('aria-label')?.endsWith(label) && one.offsetParent);
  const pictures = names.map(name => document.querySelector(`.${name} .plot`).parentElement.closest('[data-drawn]'));
  const before = pictures.map(one => one.dataset.drawn), began = performance.now();
  window.took = null;
  const look = new MutationObserver(() => {
    if (pictures.some((one, i) => one.dataset.drawn === before[i])) return;
    look.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => window.took = performance.now() - began));
  });
  for (const one of pictures) look.observe(one, {attributes: true, attributeFilter: ['data-drawn']});
  input.value = value;
  input.dispatchEvent(new Event('input', {bubbles: true}));
}"""


def handlers(service: Service) -> dict[str, Callable[[str, float], object]]:
    """For each tab what its listener does when one control has another value, all else being drawn already."""
    trace = service.explain(SENTENCE)

    def of(draw: Callable[..., list[Any]], first: Any, names: Sequence[str], values: dict[str, Any],
           between: Sequence[Any], last: Sequence[Any] = ()) -> Callable[[str, float], object]:
        drawn = draw(first, *between, *values.values(), *last)[0]

        def move(name: str, value: float) -> object:
            return draw(drawn, *between, *{**values, name: value}.values(), *last)
        return move

    own = {name: kind.default for name, kind in positions.kinds(service).items()}
    walked = {name: kind.default for name, kind in principles.kinds(service).items()}
    table_of = {name: own[name] for name in list(own)[:7]}
    head = {name: walked[name] for name in list(walked)[:8]}
    return {"positions": of(lambda *values: positions.draw("en", *values), {}, list(table_of), table_of,
                            [positions.TAB]),
            "principles": of(lambda *values: principles.draw(service, "en", *values), principles.Drawn(), list(head),
                             head, [principles.TAB, trace], [False])}


def measure(page: Page, tab: str, rounds: int, answer: Callable[[str, float], object]) -> list[list[str]]:
    """Rows of the table: a slider each. The first move warms up."""
    rows = []
    for name, label, values, pictures in SLIDERS[tab]:
        classes = [f"{'pos' if tab == 'positions' else 'first'}-{picture}" for picture in pictures]
        times, answers = [], []
        for turn in range(rounds + 1):
            value = values[turn % len(values)]
            page.evaluate(MEASURE, [label, str(value), classes])
            times.append(float(page.wait_for_function("window.took", polling=20).json_value()))
            began = time.perf_counter()
            answer(name, value)
            answers.append(1000 * (time.perf_counter() - began))
        del times[0], answers[0]
        rows.append([label, str(len(pictures)), f"{median(times):,.0f}", f"{max(times):,.0f}",
                     f"{median(answers):,.0f}", f"{sum(t < WANTED for t in times)} of {rounds}"])
    return rows


def run(folder: Path, rounds: int) -> str:
    """Markdown: a slider a row."""
    rows = []
    with closing(Service.open(folder)) as service:
        answers = handlers(service)
        with served(folder) as address, sync_playwright() as p:
            browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            version = browser.version
            for tab, sliders in SLIDERS.items():
                page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
                page.set_default_timeout(1000 * PATIENCE)
                page.goto(f"{address}/?{urlencode({'text': SENTENCE, 'tab': tab})}")
                pictures = len({picture for *_, names in sliders for picture in names})
                page.wait_for_function("count => document.querySelectorAll('.picture[data-drawn]').length >= count",
                                       arg=pictures, polling=100)
                page.wait_for_timeout(1000)
                rows += measure(page, tab, rounds, answers[tab])
                page.context.close()
            browser.close()
    text = (f"Milliseconds from moving a slider to all its pictures in headless Chromium {version}, {rounds} moves "
            f"each; wanted: under {WANTED}.")
    return f"{text}\n\n" + table(["slider", "pictures", "median", "slowest", "of it the handler", f"under {WANTED}"],
                                 rows)
