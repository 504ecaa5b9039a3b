"""What strangers send over HTTP: markup stays text, paths lead nowhere, failures tell
nothing, and nothing is kept."""

import http.client
import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

import gradio as gr
import pytest

from tests.harness import ROOT
from tests.pages import laid_out
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.page import open_at

MARKER = "xyzzymarker"
# Ways to a script that the page could fall for, short enough for the small model, and
# two records for the store.
MARKUP = f'cat: <img src=x onerror=alert(1)> {MARKER}\ndog: "><svg onload=alert(2)><script>alert(3)</script>'


def _whole(answer):
    """What is sent, also of a stream that the server breaks off."""
    try:
        return answer.read()
    except http.client.IncompleteRead as error:
        return error.partial


def batched(values, most):
    """Lists of at most so many values, one after the other."""
    values = list(values)
    return (values[i : i + most] for i in range(0, len(values), most))


class Visitor:
    """Somebody who talks to a started app over HTTP, as the page does and otherwise."""

    def __init__(self, app):
        self.server = app
        self.address = app.address
        self.session = "visitor"
        self.config = json.loads(self.get("/config")[1])
        self.components = {one["id"]: one for one in self.config["components"]}

    def get(self, path, data=None, kind="application/json"):
        """Status, body as text, headers."""
        headers = {"Content-Type": kind} if data is not None else {}
        try:
            with urllib.request.urlopen(
                urllib.request.Request(self.address + path, data, headers)
            ) as answer:
                return (
                    answer.status,
                    _whole(answer).decode("utf-8", "replace"),
                    answer.headers,
                )
        except urllib.error.HTTPError as error:
            with error:
                return (
                    error.code,
                    error.read().decode("utf-8", "replace"),
                    error.headers,
                )

    def call(self, endpoint, *values):
        """The whole stream that the API answers with."""
        _, body, _ = self.get(
            f"/gradio_api/call/{endpoint}", json.dumps({"data": values}).encode()
        )
        return self.get(f"/gradio_api/call/{endpoint}/{json.loads(body)['event_id']}")[
            1
        ]

    def handle(self, dependency, values):
        """What a handler of the page answers: the message with which it ends, and the
        stream."""
        [answered] = self.handle_all([(dependency, values)])
        return answered

    def handle_all(self, calls):
        """The same for many calls, some of which are under way at the same time."""
        for some in batched(calls, 16):
            events = []
            for dependency, values in some:
                asked = {
                    "fn_index": dependency["id"],
                    "data": values,
                    "session_hash": self.session,
                    "event_data": None,
                    "trigger_id": None,
                }
                status, body, _ = self.get(
                    "/gradio_api/queue/join", json.dumps(asked).encode()
                )
                assert status == 200, body
                events.append(json.loads(body)["event_id"])
            _, stream, _ = self.get(
                f"/gradio_api/queue/data?session_hash={self.session}"
            )
            messages = [
                json.loads(line.removeprefix("data: "))
                for line in stream.splitlines()
                if line
            ]
            ended = {
                one["event_id"]: one
                for one in messages
                if one["msg"] == "process_completed"
            }
            yield from ((ended[event], stream) for event in events)

    def handlers(self):
        """Every handler of the English page that asks the server."""
        mine = set(self.config["page"][""]["dependencies"])
        return [
            one
            for one in self.config["dependencies"]
            if one["id"] in mine and one["backend_fn"]
        ]

    def fields(self, dependency, text, hidden=None):
        """Values for a handler: a text in each text field, another in those that nobody
        sees, all else as the page begins, but for a training, which is short."""

        def value(component):
            if component["props"].get("label") == "Steps":
                return component["props"]["minimum"]
            if component["type"] != "textbox":
                return component["props"].get("value")
            return (
                text
                if hidden is None or component["props"].get("visible", True)
                else hidden
            )

        return [value(self.components[i]) for i in dependency["inputs"]]

    def titled(self, *words):
        """The handler that begins with the component of this label or text."""
        for one in self.handlers():
            for target, event in one["targets"]:
                props = (
                    self.components[target]["props"]
                    if target in self.components
                    else {}
                )
                if (props.get("label") or props.get("value"), event) == words:
                    return one
        raise LookupError(words)


@pytest.fixture(scope="module")
def app(served):
    return Visitor(served)


@pytest.fixture(scope="module")
def failing(start, tiny_checkpoint, tiny_classifier):
    """The app whose models fail at everything, and which forgets uploads when it is
    told to."""
    return Visitor(start(tiny_checkpoint, tiny_classifier, program="failing"))


class Elements(HTMLParser):
    """The elements of a piece of HTML, and their attributes."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def harmless(html):
    """Raise AssertionError where HTML holds an element or an attribute that came from
    MARKUP."""
    for tag, attributes in Elements(html).found:
        assert tag not in ("script", "svg", "img") or "class" in attributes, html
        assert not {
            "onerror",
            "onload",
        } & attributes.keys() and "javascript:" not in attributes.get("href", ""), html


def upload(app, name, content):
    """Send a file as the page does; where the server put it."""
    body = (
        (
            f'--edge\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n'
            "Content-Type: text/csv\r\n\r\n"
        ).encode()
        + content
        + b"\r\n--edge--\r\n"
    )
    status, said, _ = app.get(
        "/gradio_api/upload", body, "multipart/form-data; boundary=edge"
    )
    assert status == 200, said
    return json.loads(said)[0]


def stays_text(app, hidden):
    """Send markup in every text field to every handler, and look at the HTML that comes
    of it; hidden: what the fields hold that nobody sees, or None, as those that are
    seen."""
    handlers = app.handlers()
    assert len(handlers) > 40, "the page has more handlers than that"
    first = app.titled("English sentence", "submit")
    assert app.handle(first, app.fields(first, MARKUP))[0]["success"]
    seen = set()
    calls = [(one, app.fields(one, MARKUP, hidden)) for one in handlers]
    for (dependency, _), (ended, stream) in zip(
        calls, app.handle_all(calls), strict=True
    ):
        assert "Traceback" not in stream
        for place, value in zip(
            dependency["outputs"], ended["output"].get("data") or [], strict=False
        ):
            value = (
                value.get("value")
                if isinstance(value, dict) and "__type__" in value
                else value
            )
            if app.components[place]["type"] == "html" and isinstance(value, str):
                harmless(value)
                if "alert" in value:
                    seen.add(place)
    assert len(seen) > 3, (
        "the markup was shown nowhere, so nothing was seen to be harmless"
    )


@pytest.mark.full
def test_markup_in_every_text_field_that_is_seen_stays_text(app):
    stays_text(app, "principles")


def test_markup_in_a_query_string_comes_back_in_no_page(app):
    held = (str(one["props"].get("value")) for one in app.config["components"])
    keys = {
        *next(
            json.loads(value)["left_out"]
            for value in held
            if value.startswith('{"longest": ')
        )
    }
    assert {"text", "spanish", "review", "records", "heads"} <= keys
    for path in ("/", "/es"):
        query = urllib.parse.urlencode(
            {key: MARKUP for key in [*keys, "deep_link", "view", "__theme", "nonsense"]}
        )
        status, body, _ = app.get(f"{path}?{query}")
        assert status == 200 and MARKER not in body


@pytest.fixture(scope="module", params=[ENGLISH, SPANISH])
def page(request, running, reader):
    return laid_out(running, reader, request.param)


@pytest.mark.parametrize("tab", ["principles", "attention", "sentiment", MARKUP])
def test_markup_in_every_key_of_an_address_is_no_element_of_what_opens(page, tab):
    said, updates = open_at(page, {**dict.fromkeys(page.controls, MARKUP), "tab": tab})
    harmless(said)
    assert "alert" in said, "nothing was refused"
    for component, update in updates.items():
        value = update.get("value") if isinstance(update, dict) else update
        if isinstance(component, gr.HTML) and isinstance(value, str):
            harmless(value)


@pytest.mark.parametrize(
    "name",
    [
        "../../../evil.csv",
        "..\\\\..\\\\evil.csv",
        "/etc/evil.csv",
        "%2e%2e%2fevil.csv",
        "evil.csv\\u0000.html",
    ],
)
def test_an_uploads_name_is_no_path(app, name):
    before = {
        path for path in app.server.folder.rglob("*") if "temporary" not in path.parts
    }
    path = Path(upload(app, name, b"text\nGood.\n"))
    assert path.resolve().is_relative_to(
        (app.server.folder / "temporary" / "gradio").resolve()
    )
    assert {
        path for path in app.server.folder.rglob("*") if "temporary" not in path.parts
    } == before
    assert not Path("/etc/evil.csv").exists()
    path.unlink()


def test_an_upload_that_nobody_reads_is_deleted(failing):
    path = Path(upload(failing, "left.csv", b"text\nGood.\n"))
    assert path.read_bytes() == b"text\nGood.\n"
    failing.server.say("forget")
    looks = 0
    while path.exists() and looks < 20:
        failing.server.wait_for("looked for uploads")
        looks += 1
    assert not path.exists()


def test_an_uploaded_page_is_not_opened_as_one(app):
    path = upload(app, "evil.html", f"<script>alert(1)</script>{MARKER}".encode())
    status, _, headers = app.get(f"/gradio_api/file={path}")
    assert status == 200 and headers["Content-Disposition"].startswith("attachment")
    assert (
        headers["Content-Type"] == "application/octet-stream"
        and headers["X-Content-Type-Options"] == "nosniff"
    )
    Path(path).unlink()


OUTSIDE = [
    "/etc/passwd",
    "../../../../../../etc/passwd",
    "..%2f..%2f..%2f..%2f..%2fetc/passwd",
    "%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "%252e%252e/%252e%252e/etc/passwd",
    "//etc/passwd",
    "/proc/self/environ",
    "/proc/self/cwd",
    "....//....//etc/passwd",
    "~/.bashrc",
    "/dev/null",
    "",
    "file:///etc/passwd",
    "\\\\host\\share",
    "/etc/passwd%00.png",
    "http://127.0.0.1:{port}/config",
    "https://example.com/",
    "HTTP://example.com",
    "//example.com/",
]


@pytest.mark.parametrize(
    "before",
    [
        "/gradio_api/file=",
        "/gradio_api/file/",
        "/static/",
        "/assets/",
        "/svelte/",
        "/gradio_api/proxy=",
        "/gradio_api/custom_component/1/client/component/",
    ],
)
def test_no_path_leads_out(app, before):
    for outside in OUTSIDE:
        path = before + outside.replace("{port}", app.address.rsplit(":", 1)[1])
        status, body, _ = app.get(urllib.parse.quote(path, "/%=:?~\\"))
        assert status in (400, 403, 404), (path, status)
        assert (
            "root:" not in body and "PATH=" not in body and "Traceback" not in body
        ), path


def test_no_file_of_the_project_is_served(app):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        text=True,
        capture_output=True,
    )
    names = (
        listed.stdout.split("\n")
        if listed.returncode == 0
        else [
            path.relative_to(ROOT).as_posix()
            for path in ROOT.rglob("*")
            if ".venv" not in path.parts
        ]
    )
    files = [
        ROOT / name
        for name in [*names, ".git/config", ".git/HEAD"]
        if name and (ROOT / name).is_file()
    ]
    assert len(files) > 100
    allowed = [
        path
        for path in files
        for asked in (path.as_posix(), path.relative_to(ROOT).as_posix())
        if app.get("/gradio_api/file=" + urllib.parse.quote(asked))[0] != 403
    ]
    assert not allowed
    assert app.get(f"/gradio_api/file={app.server.folder / 'work'}")[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/monitoring",
        "/monitoring/",
        "/monitoring/summary",
        "/monitoring/x",
        "/gradio_api/monitoring",
        "/gradio_api/monitoring/summary",
        "/gradio_api/runs",
        "/gradio_api/run-history/buckets",
        "/gradio_api/profiling/traces",
        "/gradio_api/deep_link?session_hash=visitor",
        "/gradio_api/vibe-code/",
        "/gradio_api/dev/reload",
        "/openapi.json",
        "/docs",
        "/redoc",
        "/gradio_api/token",
    ],
)
def test_nobody_is_watched_and_no_tool_stands_open(app, path):
    assert app.get(path)[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/process_recording",
        "/gradio_api/vibe-edit/",
        "/gradio_api/stream/x",
        "/gradio_api/component_server",
        "/gradio_api/run/translate",
        "/gradio_api/api/translate",
    ],
)
def test_there_is_no_other_way_in(app, path):
    status, body, _ = app.get(path, b'{"data": ["a", 5, 1]}')
    assert status in (404, 405), body


def test_the_page_calls_nobody_and_counts_nobody(app):
    assert app.config["analytics_enabled"] is False and app.config["enable_queue"]
    assert "googletagmanager" not in app.get("/")[1].casefold()


@pytest.mark.parametrize(
    ("path", "most"), [("call/translate", 12_000_000), ("cancel", 32_000_000)]
)
def test_a_request_without_end_is_not_received(app, path, most):
    status, body, _ = app.get(
        f"/gradio_api/{path}", b'{"data": ["' + b"a" * most + b'", 5, 1]}'
    )
    assert (
        status == 413
        and f"A request may have {most:,} bytes at most; send it in parts." in body
    )


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/gradio_api/call/nothing", b'{"data": []}'),
        ("/gradio_api/call/translate", b"no json"),
        ("/gradio_api/call/translate", b'{"data": 5}'),
        ("/gradio_api/call/translate", b"[" * 100_000),
        (
            "/gradio_api/queue/join",
            b'{"fn_index": 99999, "data": [], "session_hash": "a"}',
        ),
        (
            "/gradio_api/queue/join",
            b'{"fn_index": "a", "data": {}, "session_hash": []}',
        ),
        ("/gradio_api/call/translate/nonsense", None),
        ("/gradio_api/queue/data?session_hash=nonsense", None),
    ],
)
def test_nonsense_is_answered_without_a_stack_trace(app, path, data):
    _, body, _ = app.get(path, data)
    assert (
        "Traceback" not in body
        and "site-packages" not in body
        and str(ROOT) not in body
    )


def test_what_fails_inside_is_told_to_nobody_outside(failing):
    said = [
        failing.call("translate", "The cat sleeps.", 5, 1),
        failing.call("classify", "Bad."),
        failing.call("explain", "The cat sleeps.", "El gato duerme.", "cross", 0, 0),
    ]
    assert all("Something went wrong" in one for one in said)
    said += {
        stream
        for _, stream in failing.handle_all(
            (one, failing.fields(one, "The cat sleeps.")) for one in failing.handlers()
        )
    }
    for one in said:
        assert (
            "secret" not in one and "Traceback" not in one and "RuntimeError" not in one
        )
        assert "site-packages" not in one and str(ROOT) not in one
    assert "a secret of this machine" in failing.server.log, (
        "those who run it must know"
    )
    assert MARKER not in failing.server.log


def test_markup_that_is_typed_stays_text_and_is_neither_logged_nor_kept(app):
    """After all of the above, and as much again."""
    app.session = "another"
    for endpoint, more in (
        ("translate", (5, 1)),
        ("explain", ("", "cross", 0, 0)),
        ("classify", ()),
    ):
        app.call(endpoint, f"The cat {MARKER} sleeps.", *more)
        app.call(endpoint, f"{MARKER} " * 4_000, *more)
        app.call(endpoint, [MARKER], *more)
    app.call("explain", "The cat sleeps.", f"El gato {MARKER}", MARKER, 0, 0)
    stays_text(app, None)
    app.get(f"/?text={MARKER}&review={MARKER}&head={MARKER}")
    app.get(f"/gradio_api/deep_link?session_hash={app.session}")
    assert MARKER not in app.server.log
    for path in app.server.folder.rglob("*"):
        assert MARKER not in path.name and (
            not path.is_file() or MARKER.encode() not in path.read_bytes()
        ), path
