"""Milliseconds from a click to the picture, in Chromium: this page, and BertViz showing
the same attention maps.

What makes it fair: one browser, one size of window, tabs that work in turns, and the
same rule for all: the clock starts when a script in the page hands the click to the
control, and stops in the second animation frame after the new picture is in the
document. This page asks its server, on this machine; BertViz has all maps in its HTML
and asks nobody. Its model view draws all heads of a stack, and in detail the one that
is clicked; its head view draws the heads of a layer over each other. It wants as many
layers of every stack, so it gets only the first of the deeper one; clicks change
between the two stacks that are equally deep. What its pages fetch from the Internet
comes from npm, without delay; for jQuery 2.0.0, which npm lacks, 2.1.0.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import torch
from playwright.sync_api import Browser, Error, TimeoutError, sync_playwright

import xformer
from benchmarks.harness import median, table
from tests.chromium import CHROMIUM, FLAGS
from tests.harness import ROOT, free_port
from xformer.results import Trace
from xformer.serve.translation import Service

LENGTHS = (20, 40, 100)  # pieces on either side, about
PATIENCE = 60  # seconds, for a load or a click
LOADS = 3  # rounds of first loads, at most
WIDTH = 1280
HEIGHT = 900
CDN = "https://cdnjs.cloudflare.com/ajax/libs"
LIBRARIES = {
    f"{CDN}/require.js/2.3.6/require.min.js": ("requirejs@2.3.6", "require.js"),
    f"{CDN}/d3/5.7.0/d3.min.js": ("d3@5.7.0", "dist/d3.min.js"),
    f"{CDN}/jquery/2.0.0/jquery.min.js": ("jquery@2.1.0", "dist/jquery.min.js"),
}
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
GRID = "all heads of a stack"
HEAD = "one head"
LAYER = "all heads of a layer"
LOAD = "first load"
OURS = "this page"
MODEL_VIEW = "BertViz model_view"
HEAD_VIEW = "BertViz head_view"
Key = tuple[str, str]  # what is shown, and by whom
# what is seen, as the script calls it
FIRST = {OURS: "grid", MODEL_VIEW: "svg", HEAD_VIEW: "svg"}
CLICKS: dict[Key, tuple[str, str]] = {  # what is seen, and what is done for it
    (GRID, OURS): ("grid", "stack"),
    (GRID, MODEL_VIEW): ("svg", "filter"),
    (HEAD, OURS): ("head", "map"),
    (HEAD, MODEL_VIEW): ("detail", "thumbnail"),
    (LAYER, HEAD_VIEW): ("svg", "layer"),
}


class Tab:
    """A page in a context of its own, so that it has its own process, and nothing is
    cached."""

    def __init__(self, browser: Browser, see: str, files: dict[str, bytes]) -> None:
        self.page = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}
        ).new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.page.add_init_script(f"{SCRIPT}; loaded(seen.{see})")
        self.page.route(
            f"{CDN}/**",
            lambda route: route.fulfill(
                body=files[route.request.url], content_type="text/javascript"
            ),
        )
        self.received = 0  # bytes
        self.changed = 0.0  # when the last request came or went
        # bytes so far of each request that is not answered to its end
        self.waiting: dict[str, int] = {}

    def count(self) -> None:
        """Count bytes from now on, for `settle`."""
        session = self.page.context.new_cdp_session(self.page)

        def began(event: dict[str, Any]) -> None:
            url = event["request"]["url"]
            # a heartbeat ends with the page
            if not url.startswith("data:") and "/heartbeat/" not in url:
                self.waiting[event["requestId"]] = 0
                self.changed = time.monotonic()

        def came(event: dict[str, Any]) -> None:
            if event["requestId"] in self.waiting:
                self.waiting[event["requestId"]] += event["dataLength"]

        # Gradio breaks off a stream once it has what it asked for
        def ended(event: dict[str, Any]) -> None:
            if event["requestId"] in self.waiting:
                so_far = self.waiting.pop(event["requestId"])
                self.changed = time.monotonic()
                self.received += int(event.get("encodedDataLength", so_far))

        for name, note in (
            ("requestWillBeSent", began),
            ("dataReceived", came),
            ("loadingFinished", ended),
            ("loadingFailed", ended),
        ):
            session.on(f"Network.{name}", note)
        session.send("Network.enable")

    def settle(self) -> int:
        """Wait until the server has answered all that was asked; -> bytes received
        since the last time."""
        until = time.monotonic() + PATIENCE
        self.page.wait_for_timeout(100)
        while (
            self.waiting or time.monotonic() - self.changed < 0.5
        ) and time.monotonic() < until:
            self.page.wait_for_timeout(50)
        received = self.received
        self.received = 0
        return received

    def load(self, address: str) -> float:
        self.page.goto(address, wait_until="commit")
        return self._took()

    def click(self, *arguments: str | int) -> float:
        """arguments: what is seen, what is done, and which turn of how many layers and
        heads it is."""
        self.page.bring_to_front()
        self.page.evaluate("arguments => measure(arguments)", list(arguments))
        return self._took()

    def _took(self) -> float:
        """Milliseconds; raises RuntimeError where there is no picture."""
        took = self.page.wait_for_function("window.took", polling=50).json_value()
        if took == "blank":
            raise RuntimeError("blank")
        return float(took)


@contextmanager
def running(command: Sequence[str], folder: Path = ROOT) -> Iterator[tuple[str, int]]:
    """An app of Gradio in a process of its own; -> its address, and the process's
    number. folder: where it runs."""
    port = free_port()
    process = subprocess.Popen(
        command,
        cwd=folder,
        text=True,
        env={**os.environ, "GRADIO_SERVER_PORT": str(port)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        if not any("Running on local URL" in line for line in process.stdout):
            raise RuntimeError(
                f"{' '.join(command)} did not start; its error stands above"
            )
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def page_of(
    folder: Path, checkout: Path = ROOT
) -> AbstractContextManager[tuple[str, int]]:
    """This project's page, as `running` has it. checkout: of the project, maybe an
    older one."""
    return running(
        [sys.executable, "app.py", "--checkpoint", str(folder.resolve())], checkout
    )


@contextmanager
def served(folder: Path, checkout: Path = ROOT) -> Iterator[str]:
    """The address of this project's page, while it runs."""
    with page_of(folder, checkout) as (address, _):
        yield address


def libraries() -> dict[str, bytes]:
    """What BertViz' pages fetch, by address."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for address, (package, path) in LIBRARIES.items():
            subprocess.run(
                ["npm", "pack", "--silent", package],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            with tarfile.open(
                Path(folder, f"{package.replace('@', '-')}.tgz")
            ) as archive:
                member = archive.extractfile(f"package/{path}")
                assert member is not None
                found[address] = member.read()
    return found


def pair(service: Service, lines: Sequence[str], length: int) -> tuple[str, str, Trace]:
    """English and Spanish cut after as many words as come closest to `length` pieces,
    and the maps of the two."""

    def cut(text: str) -> str:
        words = text.split()

        def off(some: str) -> int:
            return abs(len(service.tokenizer.encode(some)) + 1 - length)

        return min(
            (" ".join(words[:n]) for n in range(1, len(words) + 1)),
            key=off,
        )

    source = cut(" ".join(lines))
    target = cut(" ".join(found.best.text for found in service.translate_many(lines)))
    return source, target, service.trace(source, target)


def bertviz(view: str, trace: Trace, layers: int) -> bytes:
    """The page that BertViz makes of the first layers of every stack."""
    import bertviz as theirs

    stacks = {
        f"{name}_attention": [torch.from_numpy(layer)[None] for layer in maps]
        for name, maps in (
            ("encoder", trace.encoder_self),
            ("decoder", trace.decoder_self),
            ("cross", trace.cross),
        )
    }
    page = getattr(theirs, view)(
        **stacks,
        encoder_tokens=list(trace.source),
        decoder_tokens=list(trace.target),
        include_layers=list(range(layers)),
        html_action="return",
    )
    return str(page.data).encode()


def measure(
    browser: Browser,
    ours: str,
    files: dict[str, bytes],
    found: tuple[str, str, Trace],
    rounds: int,
) -> tuple[dict[Key, str], dict[Key, str]]:
    """Milliseconds and kilobytes for one pair of sentences, as cells of tables."""
    source, target, trace = found
    layers = min(len(trace.encoder_self), len(trace.cross))
    heads = trace.cross.shape[1]
    times: dict[Key, list[float]] = {}
    sizes: dict[Key, list[int]] = {}
    failed: dict[Key, str] = {}
    tabs: dict[str, Tab] = {}

    def attempt(key: Key, action: Callable[..., float], *arguments: str | int) -> None:
        if (LOAD, key[1]) in failed:
            failed.setdefault(key, "–")
        if key not in failed:
            try:
                times.setdefault(key, []).append(action(*arguments))
            except TimeoutError:
                failed[key] = f"over {PATIENCE} s"
            except (Error, RuntimeError) as error:
                failed[key] = str(error).splitlines()[0].partition(" at ")[0]
        if key[1] == OURS:
            sizes.setdefault(key, []).append(tabs[OURS].settle())

    with tempfile.TemporaryDirectory() as folder:
        query = urlencode({"text": source, "spanish": target, "tab": "attention"})
        addresses = {OURS: f"{ours}/?{query}"}
        for name in (MODEL_VIEW, HEAD_VIEW):
            path = Path(folder, f"{name}.html")
            path.write_bytes(bertviz(name.split()[1], trace, layers))
            addresses[name] = path.as_uri()
            sizes[LOAD, name] = [path.stat().st_size]
        for _ in range(min(LOADS, rounds)):
            for name, address in addresses.items():
                if name in tabs:
                    tabs[name].page.context.close()
                tabs[name] = Tab(browser, FIRST[name], files)
                if name == OURS:
                    tabs[name].count()
                attempt((LOAD, name), tabs[name].load, address)
    for turn in range(rounds + 1):
        for (what, who), (see, act) in CLICKS.items():
            attempt((what, who), tabs[who].click, see, act, turn, layers, heads)
    for tab in tabs.values():
        tab.page.context.close()
    for key in CLICKS:  # the first click warms up
        times[key], sizes[key] = times.get(key, [])[1:], sizes.get(key, [])[1:]
    return (
        {
            key: failed.get(key) or f"{median(values):,.0f} ({min(values):,.0f})"
            for key, values in times.items()
        },
        {
            key: f"{median(values) / 1000:,.0f}"
            for key, values in sizes.items()
            if values and key not in failed
        },
    )


def run_offline(rounds: int) -> str:
    """Markdown: how long `xformer.view` takes to write a page of 96 heads × 100 pieces,
    and Chromium to show it."""
    maps = (
        np.random.default_rng(0)
        .dirichlet(np.ones(100), (12, 8, 100))
        .astype(np.float32)
    )
    pieces = [f"▁{i}" for i in range(100)]
    written = []
    seen = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        path = Path(folder, "maps.html")
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for _ in range(rounds + 1):
            began = time.perf_counter()
            text = xformer.view(maps, pieces).page()
            written.append(1000 * (time.perf_counter() - began))
            path.write_text(text, encoding="utf-8")
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(path.as_uri())
            seen.append(
                page.evaluate(
                    "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame("
                    "() => done(performance.now()))))"
                )
            )
            page.close()
        browser.close()
    # the first warms up
    written = written[1:]
    seen = seen[1:]
    return (
        f"`xformer.view` writes the page of 96 heads × 100 pieces, {len(text.encode()) / 1e6:.1f} MB, in "
        f"{median(written):,.0f} ms ({min(written):,.0f}), and Chromium shows it after {median(seen):,.0f} ms "
        f"({min(seen):,.0f}): median of {rounds} rounds (and the fastest)."
    )


def run(folder: Path, rounds: int, lengths: Sequence[int]) -> str:
    """Markdown: times and sizes."""
    files = libraries()
    lines = (
        Path(__file__)
        .with_name("sentences.txt")
        .read_text(encoding="utf-8")
        .splitlines()[:16]
    )
    with closing(Service.open(folder)) as service:
        pairs = [pair(service, lines, length) for length in lengths]
    with served(folder) as address, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        version = browser.version
        results = [measure(browser, address, files, found, rounds) for found in pairs]
        browser.close()
    heads = [
        f"{len(trace.source)} + {len(trace.target)} pieces" for _, _, trace in pairs
    ]
    keys = [*CLICKS, *((LOAD, name) for name in FIRST)]
    rows = [
        [f"{what}, {who}", *(times.get((what, who), "–") for times, _ in results)]
        for what, who in keys
    ]
    sent = [
        [f"{what}, {who}", *(sizes.get((what, who), "–") for _, sizes in results)]
        for what, who in keys
        if who == OURS or what == LOAD
    ]
    text = (
        f"Milliseconds from a click to its picture in headless Chromium {version}: median of {rounds} rounds (and "
        f"the fastest); for a first load, from an empty cache, of {min(LOADS, rounds)}."
    )
    return "\n\n".join(
        (
            text,
            table(["milliseconds", *heads], rows),
            "Kilobytes; of BertViz the HTML alone, and a click asks for nothing more:",
            table(["kB", *heads], sent),
        )
    )
