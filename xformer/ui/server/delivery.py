"""The page as it is sent: ready bytes with its frame and the first sheet of its first
tab; each further sheet when it is opened.

Gradio makes the page anew for each visitor, a tenth of a second of a core, and has the
browser lay all of it out, though one sheet is seen. Here it is made once for an
address, compressed, and split: assets/gradio_tabs.js fetches what a sheet holds, be it
a tab or a part of one that is marked as `frames.LATER`. The components
and their listeners are the server's own all the while; only what a browser is told of
them, and when, is another. Scripts and styles, which Gradio reads and compresses for
each visitor, are kept as they were sent first.
"""

import asyncio
import gzip
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from gradio.brotli_middleware import BrotliMiddleware
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xformer.parts import TABS, sheets
from xformer.strings import ASSETS
from xformer.ui.components import BUNDLE, WIRE, address
from xformer.ui.former import FORMER
from xformer.ui.frames import LATER, LAYING
from xformer.ui.server import gradio_private

Config = dict[str, Any]  # what Gradio tells a browser of a page
# in the HTML of a page
CONFIG = re.compile(r"window\.gradio_config = (\{.*?\});</script>", re.DOTALL)
# in the HTML of a page, Gradio's first style
STYLE = re.compile(r'<link rel="stylesheet" crossorigin href="\./assets/[^"]+">')
# in the HTML of a page, before what Gradio puts into it
BODY = re.compile(r"<body\b[^>]*>")
# addresses of before, as an attribute of HTML: each control, what it held, and what the
# address holds in its place
RENEWED = escape(json.dumps([[*one, now] for one, now in FORMER.items()]))
# the sheets that have a field of their own, and the tabs that have further sheets
OWN_FIELDS = " ".join(name for name, tab in TABS.items() if tab.own_field)
WITH_SHEETS = " ".join(name for name, own in sheets().items() if len(own) > 1)
# what stands there until the page does, at its first paint
OPENING = (
    f'<div class="opening" aria-hidden="true" data-former="{RENEWED}" '
    f'data-own="{OWN_FIELDS}" data-sheets="{WITH_SHEETS}"></div>'
    f"<script>{(ASSETS / 'opening.js').read_text('utf-8')}</script>"
)
# the address of what a sheet of a page holds, and of its style
REST = re.compile(r"(/(?:\w+/)?)(?:tab/(\w+)|style)-([0-9a-f]{12})\.(?:json|css)")
FILES = re.compile(r"/(assets|static|scripts)/[^?]*|/(theme\.css|plotly\.js)")
MOST_KEPT = 30_000_000  # bytes of all files that are kept
MOST_FILES = 1_000  # of them: one file may be asked for by more than one path
CODINGS = "br", "gzip"  # in which they are compressed, the better one first
# of brotli, 0 to 11: 7 % fewer bytes than Gradio's 4 for twice its time, once
QUALITY = 6
# headers that a page tells of
ASKED_BY = ("host", "x-forwarded-host", "x-forwarded-proto", "x-gradio-server")
MOST_PAGES = 16  # that are kept, the page in one language for one name of the host each
OF_API = "api"  # a component that is there for the API alone
# of what has another address when it changes
KEPT = "public, max-age=31536000, immutable"


def _listed(node: Mapping[str, Any]) -> Iterator[int]:
    """The ids of a node of a layout and of all below it."""
    yield node["id"]
    for child in node.get("children", ()):
        yield from _listed(child)


def _tabs(node: Config, components: Mapping[int, Any]) -> Config | None:
    """The node of the tabs of a page, the outermost that a layout has; None where it has
    none."""
    if components.get(node["id"], {}).get("type") == "tabs":
        return node
    return next(
        (
            found
            for child in node.get("children", [])
            if (found := _tabs(child, components))
        ),
        None,
    )


def _sheets(
    node: Config, components: Mapping[int, Any]
) -> Iterator[tuple[str, Config]]:
    """The nodes of the sheets below a node that come later, each with its id."""
    for child in node.get("children", ()):
        classes = components[child["id"]]["props"].get("elem_classes") or []
        for one in classes:
            if one.startswith(LATER):
                yield one.removeprefix(LATER), child
        yield from _sheets(child, components)


def _later(tabs: Config, components: Mapping[int, Any]) -> dict[str, Config]:
    """The nodes of what comes later, by the ids of their sheets: all tabs but the
    first, and in each tab all sheets but the first. tabs: the node that holds them."""
    found = dict[str, Config]()
    for number, tab in enumerate(tabs["children"]):
        if number:
            found[components[tab["id"]]["props"]["id"]] = tab
        found.update(_sheets(tab, components))
    return found


def _heads(dependencies: list[Config]) -> dict[int, Config]:
    """By the id of a listener, the one that its chain begins with: itself, or what it
    comes after."""
    heads: dict[int, Config] = {}
    for one in dependencies:
        heads[one["id"]] = heads.get(one["trigger_after"], one)
    return heads


def split(config: Config) -> tuple[Config, dict[str, Config]]:
    """Divide what a page is made of into what is told at once, and by the id of each
    further sheet what it holds. A sheet may stand in a tab that comes later too, and
    then comes after it.

    A listener comes with a sheet where only components of that sheet have its chain
    begin. Others are there from the beginning; of one that a component of a sheet has
    begin too, the sheet brings a copy.
    """
    components = {component["id"]: component for component in config["components"]}
    rests = dict[str, Config]()
    absent = dict[int, str]()
    tabs = _tabs(config["layout"], components)
    later = _later(tabs, components) if tabs else {}
    within = dict[str, str]()  # by a sheet, the tab that must be there before
    for name, node in later.items():
        if node["id"] in absent:
            within[name] = absent[node["id"]]
        absent |= {
            one: name
            for child in node["children"]
            if not _is_laying(components[child["id"]])
            for one in _listed(child)
        }
    for name, node in later.items():
        elsewhere = {one for one, where in absent.items() if where != name}
        children = [
            _without(one, elsewhere)
            for one in node["children"]
            if absent.get(one["id"]) == name
        ]
        rests[name] = {
            "layout": {"id": node["id"], "children": children},
            "components": [
                _holding(components[node["id"]]),
                *(components[one] for one, where in absent.items() if where == name),
            ],
            "dependencies": [],
        }
    inputs = {one for listener in config["dependencies"] for one in listener["inputs"]}
    outputs = {
        one for listener in config["dependencies"] for one in listener["outputs"]
    }
    heads = _heads(config["dependencies"])
    first = list[Config]()
    for listener in config["dependencies"]:
        head = heads[listener["id"]]
        # "": at the beginning
        begun = {absent.get(one, "") for one, _ in head["targets"]}
        for name in begun - {""}:
            targets = [
                target
                for target in listener["targets"]
                if listener is not head or absent.get(target[0]) == name
            ]
            rests[name]["dependencies"].append({**listener, "targets": targets})
        if len(begun) != 1 or begun == {""}:
            first.append(listener)
    asked = {
        name: {
            one
            for listener in (
                *first,
                *(
                    one
                    for other, rest in rests.items()
                    if other != name
                    for one in rest["dependencies"]
                ),
            )
            for one in listener["inputs"]
        }
        for name in rests
    }
    for rest in rests.values():
        rest["components"] = [
            _settled(one, inputs, outputs) for one in rest["components"]
        ]
    unseen = {
        one["id"]: one
        for one in config["components"]
        if one["id"] not in absent and _is_unseen(one)
    }
    layout = _without(config["layout"], {*absent, *unseen})
    empty = {one["id"] for one in _forms(layout, components) if not one["children"]}
    layout = _without(layout, empty)
    elsewhere = {*absent, *unseen, *empty}
    there = [one for one in config["components"] if one["id"] not in elsewhere]
    ids = {
        "components": [one["id"] for one in there],
        "dependencies": [one["id"] for one in first],
    }
    start = {
        **config,
        "layout": layout,
        "components": there,
        "dependencies": first,
        "page": {config.get("current_page", ""): {"layout": layout, **ids}},
        "tabs_of": tabs["id"] if tabs else None,
        "absent": {
            name: [
                _stand_in(components[one], asked[name])
                for one, where in absent.items()
                if where == name
            ]
            for name in rests
        },
        "within": within,
        "unseen": [_stand_in(one, {*unseen}) for one in unseen.values()],
    }
    return start, rests


def _holding(component: Config) -> Config:
    """What a sheet's content is taken up into; whether that is in sight, the page
    knows."""
    props = {key: one for key, one in component["props"].items() if key != "visible"}
    return {**component, "props": props}


def _settled(component: Config, inputs: set[int], outputs: set[int]) -> Config:
    """A component that knows whether it can be changed: Gradio's page finds that by all
    listeners, and a tab that comes later brings only its own."""
    props = component["props"]
    if props.get("interactive") is not None:
        return component
    free = component["id"] in inputs or (
        component["id"] not in outputs and not props.get("value")
    )
    return {**component, "props": {**props, "interactive": free}}


def _stand_in(component: Config, asked: set[int]) -> list[Any]:
    """What listeners may ask of a component that is not there yet: its id and type, its
    value where it is among those that are asked for, and whether it is open."""
    props = component["props"]
    return [
        component["id"],
        component["type"],
        props.get("value") if component["id"] in asked else None,
        props.get("open"),
    ]


def _is_laying(component: Config) -> bool:
    """Whether a component stands in a tab only until the tab comes."""
    return LAYING in (component["props"].get("elem_classes") or [])


def _is_unseen(component: Config) -> bool:
    """Whether a component is never on the page, and holds only what listeners ask of
    it: a browser need not lay it out."""
    classes = component["props"].get("elem_classes") or ()
    return component["type"] == OF_API or WIRE["elem_classes"] in classes


def _forms(node: Config, components: Mapping[int, Any]) -> Iterator[Config]:
    """The nodes of a layout that Gradio makes to hold fields."""
    for child in node.get("children", ()):
        if components[child["id"]]["type"] == "form":
            yield child
        yield from _forms(child, components)


def _without(node: Config, absent: Collection[int]) -> Config:
    """A layout without what is absent."""
    children = [
        _without(child, absent)
        for child in node.get("children", [])
        if child["id"] not in absent
    ]
    return {**node, "children": children} if "children" in node else node


@dataclass(frozen=True)
class Ready:
    """Something to be sent: compressed bytes, of what type, and the name of this
    version."""

    content: bytes
    kind: str
    version: str

    @classmethod
    def of(cls, text: str, kind: str) -> "Ready":
        content = text.encode()
        return cls(
            gzip.compress(content, mtime=0),
            kind,
            hashlib.sha256(content).hexdigest()[:12],
        )

    def response(self, asked: Headers, keep: str) -> Response:
        """Answer a request with it. keep: how long the browser may."""
        headers = {
            "Cache-Control": keep,
            "ETag": f'"{self.version}"',
            "Vary": "Accept-Encoding",
        }
        if self.version in asked.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" not in asked.get("accept-encoding", ""):
            return Response(
                gzip.decompress(self.content), media_type=self.kind, headers=headers
            )
        return Response(
            self.content,
            media_type=self.kind,
            headers={**headers, "Content-Encoding": "gzip"},
        )


@dataclass(frozen=True)
class Split:
    """A page; what its tabs hold, by their ids; and its style, by None."""

    page: Ready
    rests: Mapping[str | None, Ready]

    @classmethod
    def of(cls, html: str, path: str) -> "Split | None":
        """Split the page that Gradio has made for a path; None where it holds none, but
        asks for a password."""
        found = CONFIG.search(html)
        config = json.loads(found[1]) if found else {}
        if found is None or "components" not in config:
            return None
        start, rests = split(config)
        there = _files(start["components"])
        for rest in rests.values():
            rest["files"] = [
                one for one in _files(rest["components"]) if one not in there
            ]
        ready: dict[str | None, Ready] = {
            name: Ready.of(_json(rest), "application/json")
            for name, rest in rests.items()
        }
        place = f".{path.rstrip('/')}/"
        start["tabs"] = {
            name: f"{place}tab/{name}-{one.version}.json" for name, one in ready.items()
        }
        style = _style(start)
        ready[None] = Ready.of(style, "text/css")
        start["css"] = None  # it is in that style
        links = _links(f"{place}style-{ready[None].version}.css", there)
        text = f"{html[: found.start(1)]}{_json(start)}{html[found.end(1) :]}"
        # the first link is below what the page is made of
        text = STYLE.sub(lambda _: links, text, count=1)
        text = BODY.sub(lambda body: f"{body[0]}{OPENING}", text, count=1)
        return cls(Ready.of(text, "text/html; charset=utf-8"), ready)


def _kinds(components: list[Config]) -> list[str]:
    """The types of components, each once, of those that have scripts."""
    return [*dict.fromkeys(one["type"] for one in components if one["type"] != "api")]


def _files(components: list[Config]) -> list[str]:
    """The names of Gradio's files that a page with such components fetches."""
    begun, body = gradio_private.first_files(_kinds(components))
    return [*begun, *body]


def _style(config: Config) -> str:
    """All styles that a page begins with as one, in the order in which Gradio's page
    would fetch them."""
    begun, body = gradio_private.first_files(_kinds(config["components"]))

    def read(names: list[str]) -> list[str]:
        styles = (name for name in names if name.endswith(".css"))
        return [(gradio_private.SCRIPTS / name).read_text("utf-8") for name in styles]

    own = gradio_private.scoped_style(config["css"] or "")
    return "\n".join([*read(begun), own, *read(body)])


def _links(style: str, names: list[str]) -> str:
    """The HTML by which a page fetches its style, and its scripts at once; Gradio's
    page takes a style whose link is there, but disabled, for fetched."""
    links = [
        f'<link rel="stylesheet" href="{style}">',
        f'<link rel="modulepreload" href=".{address(BUNDLE)}">',
    ]
    for name in names:
        how = (
            'rel="stylesheet" disabled'
            if name.endswith(".css")
            else 'rel="modulepreload"'
        )
        links.append(f'<link {how} href="./assets/{name}">')
    return "".join(links)


def _json(value: Any) -> str:
    """JSON that may stand in a script of a page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&'\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


@dataclass(frozen=True)
class Answer:
    """What the app has answered, whole."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status,
                "headers": [*self.headers],
            }
        )
        await send({"type": "http.response.body", "body": self.body})


class Delivery:
    """ASGI middleware that sends pages split and ready, and files as they were sent
    first; all else passes through."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        # Gradio's own stands before this, and compresses what is not compressed yet
        # for each visitor
        self._compressing = BrotliMiddleware(app, quality=QUALITY)
        self._made: OrderedDict[tuple[str | None, ...], Split] = OrderedDict()
        self._making = asyncio.Lock()
        # by their paths and how they are compressed
        self._files: dict[tuple[str, str], Answer] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self.app
        if scope["type"] == "http" and scope["method"] == "GET":
            asked = Headers(scope=scope)
            path = scope["path"]
            if rest := REST.fullmatch(path):
                answer = await self._rest(scope, asked, rest)
            elif path in gradio_private.pages(scope):
                made = await self._split(scope, path)
                answer = made.page.response(asked, "no-cache") if made else self.app
            elif (
                FILES.fullmatch(path)
                and "range" not in asked
                and "if-none-match" not in asked
            ):
                answer = await self._file(scope, asked, path)
        await answer(scope, receive, send)

    async def _rest(self, scope: Scope, asked: Headers, rest: re.Match[str]) -> ASGIApp:
        """What a sheet of a page holds, or its style."""
        made = await self._split(scope, rest[1].rstrip("/") or "/")
        found = made.rests.get(rest[2]) if made else None
        if found is None or found.version != rest[3]:
            return PlainTextResponse(
                "There is no such tab, or the page has changed; load it again.", 404
            )
        return found.response(asked, KEPT)

    async def _file(self, scope: Scope, asked: Headers, path: str) -> ASGIApp:
        """A script, a style or a picture, as it was sent first; those for which there
        is no room are made anew."""
        coding = next(
            (one for one in CODINGS if one in asked.get("accept-encoding", "")), ""
        )
        if (path, coding) not in self._files:
            made = await self._ask(scope, self._compressing)
            size = len(made.body) + sum(len(one.body) for one in self._files.values())
            is_full = size > MOST_KEPT or len(self._files) >= MOST_FILES
            if made.status != 200 or is_full:
                return made
            self._files[path, coding] = made
        return self._files[path, coding]

    async def _split(self, scope: Scope, path: str) -> Split | None:
        """The page at a path, as it was made for such a request before, or is made now;
        None where there is none."""
        requested = HTTPConnection(scope)
        if path not in gradio_private.pages(scope) or not gradio_private.logged_in(
            scope["app"], requested.cookies
        ):
            return None
        user = gradio_private.user(scope["app"], requested.cookies)
        key = path, scope["scheme"], user, *map(requested.headers.get, ASKED_BY)
        async with self._making:
            if key not in self._made:
                page = await self._ask(
                    {
                        **scope,
                        "path": path,
                        "raw_path": path.encode(),
                        "query_string": b"",
                    }
                )
                made = (
                    await asyncio.to_thread(Split.of, page.body.decode(), path)
                    if page.status == 200
                    else None
                )
                if made is None:
                    return None
                self._made[key] = made
            self._made.move_to_end(key)
            while len(self._made) > MOST_PAGES:
                self._made.popitem(last=False)
            return self._made[key]

    async def _ask(self, scope: Scope, app: ASGIApp | None = None) -> Answer:
        """Have the app, or what stands before it, answer a request, of which it sees no
        body."""
        begun = list[Message]()
        body = list[bytes]()

        async def receive() -> Message:
            return await asyncio.get_running_loop().create_future()  # nothing comes

        async def take(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.append(message)
            else:
                body.append(message.get("body", b""))

        await (app or self.app)(scope, receive, take)
        return Answer(begun[0]["status"], [*begun[0]["headers"]], b"".join(body))
