"""Components that a script draws, of assets/ or of a part, and the functions that run
in the browser."""

import base64
import hashlib
import json
import re
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr
import plotly
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from xformer.figures.templates import fill
from xformer.strings import ASSETS, Language, of_parts

# Python's brings the script that draws
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
SCRIPTS = {path.name: path for path in (*ASSETS.glob("*.js"), *of_parts("*.js"))}
# what the first tab wants, with what they import: one file, BUNDLE
FIRST = (
    "gradio_stream.js",
    "gradio_answers.js",
    "page.js",
    "bar.js",
    "places.js",
    "lesson.js",
    "invitation.js",
    "whole_pass.js",
)
BUNDLE = "first.js"
IMPORT = re.compile(r"^import \{([^}]*)\} from '[^']*?(\w+\.js)';", re.MULTILINE)
EXPORT = re.compile(
    r"^export (default )?((?:async )?function|const) (\w+)", re.MULTILINE
)
STYLES = [ASSETS / "scale.css", ASSETS / "style.css", *of_parts("*.css")]
# of the scripts and of how they are sent, which this module says
VERSION = hashlib.sha256(
    b"".join(
        path.read_bytes()
        for path in [Path(__file__), *(SCRIPTS[name] for name in sorted(SCRIPTS))]
    )
).hexdigest()[:12]
FUNCTIONS = re.findall(
    r"^export (?:async )?function (\w+)",
    SCRIPTS["page.js"].read_text(encoding="utf-8"),
    re.MULTILINE,
)
PICTURES = ("png", "svg")
FILES = (*PICTURES, "csv", "json")
# of a component that nobody sees, which listeners set and ask: a browser is told of it,
# and lays it out nowhere
WIRE: Any = {"visible": False, "elem_classes": "wire"}
# of `canvas`: buttons, a picture
TRANSPORT = '<div class="transport" role="group"></div><div class="drawing"></div>'


def script(name: str, *first: Any) -> str:
    """Call a function that assets/page.js exports, as the `js` of a listener.

    It gets the values `first`, which JSON can write, and then those of the listener's
    inputs. Raises LookupError where there is no such function.
    """
    if name not in FUNCTIONS:
        raise LookupError(f"assets/page.js exports no function {name}")
    given = "".join(f"{json.dumps(value)}, " for value in first)
    return f"async (...values) => (await {_module('page.js')}).{name}({given}...values)"


def canvas(
    script: str,
    template: str,
    name: str,
    value: Any = None,
    save: Language | None = None,
    files: Sequence[str] = FILES,
    frame: str = "",
) -> gr.HTML:
    """A component that one of SCRIPTS draws from its value, and that may trigger events
    of its own.

    save: the language of the toolbar above it, which saves it from the browser, by
        assets/save.js, as each of `files`, and copies the page's address; None for
        none.
    frame: the form of what stands there until it is drawn, as in ui/frames.py, where
        none of its classes says it.
    (A function rather than a subclass: gradio writes a .pyi file beside the source of
    every subclass.)
    """
    if save is not None:
        template = fill("toolbar.tools", save, files=files) + template
    return gr.HTML(
        value,
        html_template=template,
        elem_classes=[*name.split(), *([f"frame-{frame}"] if frame else [])],
        js_on_load=_loader(script),
    )


def _loader(script: str) -> str:
    """What Gradio runs, with the names in braces given, when the element is there: it
    loads the script and starts it.

    Gradio gives the component those events that this text names.
    """
    events = sorted(
        set(
            re.findall(
                r"\btrigger\(('\w+')", SCRIPTS[script].read_text(encoding="utf-8")
            )
        )
    )
    begun = (
        f"Promise.all([{_module(script)}, {_module('shared.js')}])"
        ".then(([module, {latest}]) => module.default({element, props, trigger: latest(trigger), watch}))"
    )
    return f"/* events: {' '.join(events)} */ {_module('state.js')}.then(({{loading}}) => loading({begun}))"


def _module(script: str) -> str:
    """Import a script of assets/ in the browser. A page has one copy of each script,
    however often it is imported."""
    if script in bundled():
        return f"{_module(BUNDLE)}.then(all => all.{_held(script)})"
    return f"import(new URL('.{address(script)}', document.baseURI))"


def _held(script: str) -> str:
    """By what name BUNDLE holds a script."""
    return f"${script.removesuffix('.js')}"


@cache
def bundled() -> tuple[str, ...]:
    """The scripts that are sent as one, each after those that it imports."""
    found = dict[str, None]()

    def add(script: str) -> None:
        for _, imported in IMPORT.findall(SCRIPTS[script].read_text(encoding="utf-8")):
            add(imported)
        found[script] = None

    for script in FIRST:
        if script in SCRIPTS:  # a part may be taken out
            add(script)
    return tuple(found)


@cache
def sent(script: str) -> str:
    """The text of a script as a browser is sent it. One of `bundled` is part of BUNDLE,
    and hands on what that has; others import from there what they import of it."""
    if script == BUNDLE:
        return "\n".join(map(_wrapped, bundled()))
    text = SCRIPTS[script].read_text(encoding="utf-8")
    place = "./" if SCRIPTS[script].parent == ASSETS else "../../../assets/"

    def held(other: str) -> str:
        return f"import {{{_held(other)}}} from '{place}{BUNDLE}';"

    def taken(imported: re.Match[str]) -> str:
        is_held = imported[2] in bundled()
        return f"{held(imported[2])} {_taken(imported)}" if is_held else imported[0]

    if script not in bundled():
        return IMPORT.sub(taken, text)
    own = _held(script)
    names = [name for default, _, name in EXPORT.findall(text) if not default]
    return (
        f"{held(script)}\nexport const {{{', '.join(names)}}} = {own};\n"
        f"export default {own}.default;\n"
    )


def _wrapped(script: str) -> str:
    """A script as one value: what it exports, by name."""
    text = SCRIPTS[script].read_text(encoding="utf-8")
    exported = [
        f"default: {name}" if default else name
        for default, _, name in EXPORT.findall(text)
    ]
    body = EXPORT.sub(r"\2 \3", IMPORT.sub(_taken, text))
    return f"export const {_held(script)} = (() => {{\n{body}\nreturn {{{', '.join(exported)}}};\n}})();"


def _taken(imported: re.Match[str]) -> str:
    """What takes from BUNDLE what a line imports of a script."""
    return f"const {{{imported[1].replace(' as ', ': ')}}} = {_held(imported[2])};"


def address(script: str) -> str:
    """Return where one of SCRIPTS is served. Its folder is that of a clone, so that
    scripts import each other alike there and here."""
    folder = ASSETS if script == BUNDLE else SCRIPTS[script].parent
    return f"/scripts/{VERSION}/{'assets' if folder == ASSETS else f'xformer/parts/{folder.name}'}/{script}"


def small_maps(language: Language, below: str = "") -> gr.HTML:
    """The small maps of all heads, of which one is chosen. below: what stands under
    them; HTML."""
    name = language.html("grid_title")
    maps = f'<div class="maps"><canvas tabindex="0" role="img" aria-label="{name}"></canvas></div>'
    return canvas(
        "head_grid.js",
        maps + below,
        "heads",
        save=language,
        files=PICTURES,
        frame="map",
    )


def download(name: str, content: bytes) -> dict[str, Any]:
    """A file for assets/download.js. The same file twice is a new value, so it is
    offered again."""
    return {
        "name": name,
        "data": base64.b64encode(content).decode("ascii"),
        "made": time.time(),
    }


def plotly_script(request: Request) -> FileResponse:
    """Plotly's script, for assets/plot.js; the address does not tell its folder on this
    machine."""
    return FileResponse(
        PLOTLY, media_type="text/javascript", headers={"Cache-Control": "max-age=86400"}
    )


def component_script(request: Request) -> Response:
    """One of SCRIPTS, or BUNDLE. A browser keeps it for a day; other versions have other
    addresses."""
    folder = request.path_params["folder"]
    name = request.path_params["name"]
    is_there = name == BUNDLE or name in SCRIPTS
    if not is_there or address(name) != f"/scripts/{VERSION}/{folder}/{name}":
        raise HTTPException(404)
    return Response(
        sent(name),
        media_type="text/javascript",
        headers={"Cache-Control": "max-age=86400"},
    )


ROUTES = [
    Route("/plotly.js", plotly_script),
    Route("/scripts/{version}/{folder:path}/{name}", component_script),
]


def figure(drawn: Any) -> dict[str, str] | None:
    """A Plotly figure, with its size and margins, as assets/plot.js draws it; None for
    none."""
    return None if drawn is None else {"figure": drawn.to_json(validate=False)}
