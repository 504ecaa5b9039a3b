"""A bench for one script of assets/: a bare page in Chromium with the real component,
which is given real answers.

It stands in for Gradio's page: `mount` makes the element of a component of the app, by
its class, and starts its script; `show` gives it an answer; `told` lists the events
that it has triggered. A test has a document of its own, so nothing of another test is
left in it.
"""

import json
import mimetypes
import re
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import gradio as gr
from playwright.sync_api import expect

from tests.harness import patience
from xformer.ui.components import (
    BUNDLE,
    PLOTLY,
    SCRIPTS,
    STYLES,
    VERSION,
    address,
    sent,
)
from xformer.ui.page import THEME

FRONTEND = Path(gr.__file__).parent / "templates" / "frontend"
# What Gradio's page looks like around its components: its own rules for all elements,
# and for its HTML.
GLOBAL = re.search(
    r"assets/index-[\w-]+\.css", (FRONTEND / "index.html").read_text(encoding="utf-8")
)[0]
GRADIO = [
    GLOBAL,
    *(
        path.relative_to(FRONTEND).as_posix()
        for path in sorted(FRONTEND.glob("assets/Index-*.css"))
        if ".html-container" in path.read_text(encoding="utf-8")
    ),
]
CONTAINER = re.search(
    r"gradio-container-[\d-]*\d", (FRONTEND / GLOBAL).read_text(encoding="utf-8")
)[0]

PAGE = f"""<!DOCTYPE html><html lang="%s"><head><meta charset="utf-8"><title>Bench</title>
<link rel="icon" href="data:,">
{"".join(f'<link rel="stylesheet" href="/{style}">' for style in GRADIO)}
<link rel="stylesheet" href="/theme.css"><link rel="stylesheet" href="/style.css">
<style>body {{ background: var(--body-background-fill); color: var(--body-text-color); }}
#bench {{ display: flex; flex-direction: column; }}
.block {{ position: relative; padding: var(--block-padding); }}</style></head>
<body class="%s"><div class="gradio-container {CONTAINER}"><main class="main app">
<h1 class="sr-only">Bench</h1><div class="bar"></div>
<div class="tabitem" role="tabpanel"><div class="column" id="bench"></div></div>
</main></div>
<script type="module">
import {{state, tell}} from './scripts/{VERSION}/assets/state.js';
import * as page from './scripts/{VERSION}/assets/page.js';
state.settled = true;
Object.assign(window, {{pageState: state, tell, ofPage: page, mounted: []}});

// An element as Gradio's HTML makes it: its template filled, and its script started with props that tell of changes.
window.mount = ({{id, classes, template, code, value}}) => {{
  const block = document.createElement('div'), told = [], watchers = [];
  block.className = `block ${{classes}}`;
  if (id) block.id = id;
  block.innerHTML = `<div class="html-container"><div class="prose gradio-style ${{classes}}"></div></div>`;
  document.getElementById('bench').append(block);
  const element = block.querySelector('.prose'), props = {{value}}, first = {{}};
  const written = () => Function('value', `return \\`${{template}}\\``)(props.value);
  let before = element.innerHTML = written();
  const show = value => {{
    props.value = value;
    const now = written();
    if (now !== before) element.innerHTML = before = now;
    for (const [names, call] of watchers) if (names.includes('value')) call();
  }};
  const trigger = (name, data = {{}}) => {{
    first[name] ??= data;
    told.push([name, JSON.parse(JSON.stringify(data))]);
  }};
  const watch = (names, call) => watchers.push([[names].flat(), call]);
  Function('element', 'trigger', 'props', 'watch', code ?? '')(element, trigger, props, watch);
  return window.mounted.push({{show, told, first}}) - 1;
}};
document.body.dataset.ready = true;
</script></body></html>"""

FILES = {"/plotly.js": PLOTLY}


class Files(BaseHTTPRequestHandler):
    """Serves what the bench asks for; Chromium keeps all but the page."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/":
            language = query.split("&")[0]
            theme = "dark" if "dark" in query.split("&") else ""
            self.answer((PAGE % (language, theme)).encode(), "text/html", "no-store")
        elif path == "/style.css":
            self.answer(
                "\n".join(
                    style.read_text(encoding="utf-8") for style in STYLES
                ).encode(),
                "text/css",
            )
        elif path == "/theme.css":
            self.answer(THEME._get_theme_css().encode(), "text/css")
        elif path.startswith("/scripts/") and Path(path).name in (BUNDLE, *SCRIPTS):
            self.answer(sent(Path(path).name).encode(), "text/javascript")
        else:
            name = path.rpartition("/")[2]
            file = FILES.get(path) or FRONTEND / "assets" / name
            if file.is_file():
                self.answer(
                    file.read_bytes(), mimetypes.guess_type(name)[0] or "text/plain"
                )
            else:
                self.send_error(404)

    def answer(self, content, kind, keep="max-age=86400"):
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", keep)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Mounted:
    """A component on the bench."""

    def __init__(self, page, number):
        self.page = page
        self.number = number
        self.block = page.locator("#bench > .block").nth(number)
        self.element = self.block.locator(".prose").first

    def locator(self, selector):
        return self.block.locator(selector)

    def show(self, value):
        """Give the script an answer; -> this, when the page is steady."""
        self.page.evaluate(
            "([number, value]) => mounted[number].show(value)",
            [self.number, plain(value)],
        )
        settle(self.page)
        return self

    def save(self, kind):
        """What clicks the button that saves a file of this kind: "CSV", "PNG", …"""
        return self.block.get_by_role("button", name=f"Save as {kind}").click

    @property
    def told(self):
        """The events that it has triggered so far, and their data."""
        return [
            (name, data)
            for name, data in self.page.evaluate(f"mounted[{self.number}].told")
        ]

    def sent_late(self, name):
        """What Gradio sends of the last of several events of a name, if it waited for
        an answer to those before: the data that came with the first."""
        return self.page.evaluate(
            "([number, name]) => mounted[number].first[name]", [self.number, name]
        )


class Bench:
    """Where scripts are mounted. components: by language, the components of a page, as
    `named` gives them."""

    def __init__(self, page, address, components):
        self.page = page
        self.address = address
        self.components = components
        self.language = None

    def open(self, width=1280, theme="light", height=900, language="en"):
        """Begin with an empty page."""
        self.language = language
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto(f"{self.address}/?{language}&{theme}")
        # its scripts have run by now; a locator would load Playwright's first
        assert self.page.evaluate("document.body.dataset.ready")
        self.page.fetching = set()
        self.mount("about", self.components[language]["about"].value)
        return self

    def mount(self, name, value=None, **how):
        """Mount the component of this class, or this component, with a value, on this
        page, or on a new one of this width and theme."""
        if how or self.language is None:
            self.open(**how)
        component = (
            self.components[self.language][name] if isinstance(name, str) else name
        )
        number = self.page.evaluate(
            "given => mount(given)",
            {
                "id": component.elem_id,
                "classes": " ".join(component.elem_classes),
                "template": component.html_template,
                "code": component.js_on_load,
                "value": plain(value),
            },
        )
        settle(self.page)
        return Mounted(self.page, number)

    def plotted(self, name, value):
        """Mount a figure; -> it, when it is drawn: the script that draws it comes after
        the page."""
        plot = self.mount(name, value)
        expect(plot.element).to_have_attribute("data-drawn", "1")
        return plot

    def resize(self, width, height=900):
        """Give the window another size."""
        self.page.set_viewport_size({"width": width, "height": height})
        settle(self.page)

    def run(self, script, function, *values):
        """Call a function that a script of assets/ exports, as others that stand on the
        page do."""
        self.page.evaluate(
            "([path, name, values]) => import(path).then(script => script[name](...values))",
            [address(script), function, plain(values)],
        )
        steady(self.page)

    def call(self, function, *values):
        """What a function of assets/page.js returns for these values."""
        return self.page.evaluate(
            "([name, values]) => ofPage[name](...values)", [function, plain(values)]
        )


def steady(page):
    """Wait until a page waits for nothing, without what Playwright loads into a page to
    wait there, which takes longer than most that is tested here."""
    waits = page.evaluate("most => untilIdle(pageState, most)", 1000 * patience(60, 4))
    assert waits is None, f"the page is not idle: it waits for {waits}"


def settle(page):
    """Wait until a page is steady, with the script of Plotly where a figure has begun
    to fetch it."""
    steady(page)
    if page.evaluate(
        "!window.Plotly && !!document.querySelector('script[src$=\"plotly.js\"]')"
    ):
        page.wait_for_function("window.Plotly")
        steady(page)


def plain(value):
    """A value as it comes out of JSON."""
    return json.loads(
        json.dumps(
            value,
            default=lambda one: one.item() if hasattr(one, "item") else one.tolist(),
        )
    )


def named(demo):
    """The components of a page that scripts draw, and other HTML, by each of their
    classes: "view", and where several have it, the others as "view 2", "view 3", …"""
    found = {}
    counts = Counter()
    for block in demo.blocks.values():
        if isinstance(block, gr.HTML):
            for name in " ".join(block.elem_classes).split():  # several may be one text
                counts[name] += 1
                found[name if counts[name] == 1 else f"{name} {counts[name]}"] = block
    return found


def serve():
    """Serve the files of the bench on this machine; -> the server and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"
