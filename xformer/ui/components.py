"""Components that a script draws, of assets/ or of a part, and the functions that run
in the browser."""

import base64
import hashlib
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr
import plotly
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route

from xformer.figures.templates import fill
from xformer.strings import ASSETS, Language, of_parts

# Python's brings the script that draws
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
SCRIPTS = {path.name: path for path in (*ASSETS.glob("*.js"), *of_parts("*.js"))}
STYLES = [ASSETS / "style.css", *of_parts("*.css")]
VERSION = hashlib.sha256(
    b"".join(path.read_bytes() for _, path in sorted(SCRIPTS.items()))
).hexdigest()[:12]
FUNCTIONS = re.findall(
    r"^export (?:async )?function (\w+)",
    SCRIPTS["page.js"].read_text(encoding="utf-8"),
    re.MULTILINE,
)
PICTURES = ("png", "svg")
FILES = (*PICTURES, "csv", "json")
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
    return f"import(new URL('.{address(script)}', document.baseURI))"


def address(script: str) -> str:
    """Return where one of SCRIPTS is served. Its folder is that of a clone, so that
    scripts import each other alike there and here."""
    folder = SCRIPTS[script].parent
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


def component_script(request: Request) -> FileResponse:
    """One of SCRIPTS. A browser keeps it for a day; other versions have other
    addresses."""
    folder = request.path_params["folder"]
    name = request.path_params["name"]
    path = SCRIPTS.get(name)
    if path is None or address(name) != f"/scripts/{VERSION}/{folder}/{name}":
        raise HTTPException(404)
    return FileResponse(
        path, media_type="text/javascript", headers={"Cache-Control": "max-age=86400"}
    )


ROUTES = [
    Route("/plotly.js", plotly_script),
    Route("/scripts/{version}/{folder:path}/{name}", component_script),
]


def figure(drawn: Any) -> dict[str, str] | None:
    """A Plotly figure, with its size and margins, as assets/plot.js draws it; None for
    none."""
    return None if drawn is None else {"figure": drawn.to_json(validate=False)}
