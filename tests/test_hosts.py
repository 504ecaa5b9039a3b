"""By what names a page may be reached, and that other sites' pages may not use it."""

import json
import socket
import sys
import urllib.error
from types import SimpleNamespace
from urllib.request import Request, urlopen

import pytest
from starlette.responses import PlainTextResponse

from tests.pages import run
from xformer.commands import app
from xformer.results import UserError
from xformer.serve.hosts import Hosts, allowed_name
from xformer.ui.server.gradio_private import served_at

EVIL = "evil.example"
OWN = socket.gethostname().lower()


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    for name in ("SPACE_ID", "SPACE_HOST", "GRADIO_ROOT_PATH"):
        monkeypatch.delenv(name, raising=False)


def answer(allowed=(), share_url=None, local_url="http://127.0.0.1:7860/", **headers):
    """-> status of a request with these headers, and what is said."""
    said = []

    async def send(message):
        said.append(message)

    blocks = SimpleNamespace(local_url=local_url, share_url=share_url)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "app": SimpleNamespace(get_blocks=lambda: blocks),
        "headers": [
            (name.replace("_", "-").encode(), value.encode())
            for name, value in headers.items()
        ],
    }
    run(Hosts(PlainTextResponse("served"), allowed, served_at)(scope, None, send))
    return said[0]["status"], said[1]["body"].decode()


SERVED = (200, "served")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:7860",
        "LOCALHOST.",
        "page.localhost:7860",
        "127.0.0.1:7860",
        "127.0.0.1",
        "[::1]:7860",
        "[::1]",
        "0.0.0.0:7860",
        "192.168.0.2:80",
        "[fe80::1]",
        OWN,
        f"{OWN}.local:7860",
    ],
)
def test_digits_localhost_and_the_machines_own_name_need_no_flag(host):
    assert answer(host=host) == answer(host=host, origin=f"http://{host}") == SERVED


@pytest.mark.parametrize(
    "host",
    [
        EVIL,
        f"{EVIL}:7860",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil-localhost",
        "127.0.0.1@evil.example",
        "",
        "[::1",
        "a" * 500,
    ],
)
def test_a_name_that_could_lead_anywhere_is_refused(host):
    status, said = answer(host=host)
    assert status == 403 and "is not served under the name" in said and len(said) < 400
    assert answer(host="127.0.0.1", x_forwarded_host=host)[0] == 403
    assert answer(host="127.0.0.1", x_forwarded_host=f"127.0.0.1, {host}")[0] == 403


def test_gradio_is_not_told_of_another_server():
    assert answer(host="127.0.0.1", x_gradio_server=f"http://{EVIL}/")[0] == 403
    assert answer(host="127.0.0.1", x_gradio_server="http://127.0.0.1:7860/") == SERVED


def test_names_that_are_allowed_are_served_and_only_those():
    allowed = ["page.example.org", "*.example.net"]
    for host in ("page.example.org", "PAGE.example.org:443", "a.example.net"):
        assert (
            answer(allowed, host=host)
            == answer(allowed, host="127.0.0.1", x_forwarded_host=host)
            == SERVED
        )
        assert answer(allowed, host=host, origin=f"https://{host}") == SERVED
        assert answer(allowed, host="127.0.0.1", origin=f"https://{host}") == SERVED, (
            "a proxy that sets Host anew"
        )
    for host in (
        "example.org",
        "a.page.example.org",
        "example.net",
        "a.b.example.net",
        "aexample.net",
        EVIL,
    ):
        assert answer(allowed, host=host)[0] == 403
        assert f"--allow-host {host}." in answer(allowed, host=host)[1]


@pytest.mark.parametrize(
    "origin",
    [
        f"http://{EVIL}",
        f"https://{EVIL}:7860",
        "null",
        "file://",
        "http://127.0.0.2",
        "http://localhost",
        "http://127.0.0.1.evil.example",
        "nonsense",
        "http://[",
        "",
    ],
)
def test_pages_of_other_sites_may_not_use_it(origin):
    status, said = answer(host="127.0.0.1:7860", origin=origin)
    assert (
        status == 403 and "may not use this page; open it in a tab of its own" in said
    )
    assert (
        answer(host="127.0.0.1:7860", origin=origin, sec_fetch_site="cross-site")[0]
        == 403
    )


@pytest.mark.parametrize(
    ("host", "origin", "served"),
    [
        ("127.0.0.1:7860", "http://127.0.0.1:8000", False),
        ("127.0.0.1:7860", "http://127.0.0.1:7860", True),
        ("127.0.0.1:7860", "http://127.0.0.1", False),
        ("127.0.0.1", "http://127.0.0.1:8000", False),
        ("127.0.0.1", "http://127.0.0.1", True),
        ("127.0.0.1", "https://127.0.0.1", True),
        ("127.0.0.1:443", "https://127.0.0.1", True),
        ("[::1]:7860", "http://[::1]:8000", False),
        ("page.example.org:7860", "http://page.example.org:8000", False),
        ("page.example.org:7860", "http://page.example.org:7860", True),
        # a proxy that leaves the port out
        ("page.example.org", "https://page.example.org:8443", True),
        ("127.0.0.1:7860", "https://page.example.org:8443", True),
    ],
)
def test_a_page_at_another_port_of_the_same_host_is_another_site(host, origin, served):
    status, said = answer(["page.example.org"], host=host, origin=origin)
    assert status == (200 if served else 403) and (
        served or f"Pages of {origin!r} may not use this page" in said
    )


def test_a_browser_that_says_it_is_the_same_page_is_believed_and_so_are_programs():
    assert (
        answer(
            host="127.0.0.1:7860",
            origin="https://page.example.org",
            sec_fetch_site="same-origin",
        )
        == SERVED
    )
    assert (
        answer(host=EVIL, origin=f"http://{EVIL}", sec_fetch_site="same-origin")[0]
        == 403
    )
    assert answer(host="127.0.0.1:7860") == answer() == SERVED


def test_a_public_link_and_the_name_it_is_served_under_are_known():
    link = "https://0123456789abcdef.gradio.live"
    host = link.removeprefix("https://")
    assert answer(share_url=link, host=host, origin=link) == SERVED
    assert answer(share_url=link, host="another.gradio.live")[0] == 403
    assert (
        answer(share_url=link, host=host, origin="https://another.gradio.live")[0]
        == 403
    )
    assert answer(local_url="http://box.lan:7860/", host="box.lan:7860") == SERVED


def test_a_space_is_reached_by_the_names_that_hugging_face_gives_it(monkeypatch):
    monkeypatch.setenv("SPACE_ID", "me/page")
    monkeypatch.setenv("SPACE_HOST", "me-page.hf.space,page.example.org")
    for host in ("me-page.hf.space", "page.example.org", "10.0.0.1:7860", "inside"):
        assert answer(host=host) == SERVED
    assert answer(host="inside", origin="https://page.example.org") == SERVED
    assert answer(host="inside", origin=f"https://{EVIL}")[0] == 403


def test_gradios_own_variable_for_an_address_is_read(monkeypatch):
    monkeypatch.setenv("GRADIO_ROOT_PATH", "https://page.example.org/translate")
    assert answer(host="page.example.org") == SERVED


@pytest.mark.parametrize(
    "given",
    ["https://page.example.org", "page.example.org:443", "", "*", "*.", "a b", "a..b"],
)
def test_a_name_that_is_none_is_refused(given):
    with pytest.raises(
        UserError, match="which is no host name; write one like page.example.org or"
    ):
        allowed_name(given)


def test_names_come_from_the_command_line(monkeypatch, capsys):
    served = {}
    monkeypatch.setattr(app, "models", lambda *_: None)
    monkeypatch.setattr(app, "reader", lambda *_: None)
    monkeypatch.setattr("xformer.ui.create", lambda *_: None)
    monkeypatch.setattr("xformer.ui.warm_up", lambda models: None)
    monkeypatch.setattr("xformer.ui.launch", lambda *_, **given: served.update(given))
    monkeypatch.setattr(
        sys,
        "argv",
        [
            *("app.py", "--allow-host", "Page.example.org"),
            *("--allow-host", "*.español.org", "--allow-frame", "https://m.org"),
        ],
    )
    assert app.main() == 0 and served["hosts"] == [
        "page.example.org",
        "*.xn--espaol-zwa.org",
    ]
    assert served["frames"] == ["https://m.org"]
    monkeypatch.setattr(sys, "argv", ["app.py", "--allow-host", "http://a"])
    assert (
        app.main() == 2
        and "--allow-host is 'http://a', which is no host name"
        in capsys.readouterr().err
    )


# A started page

UPLOAD = (
    b'--edge\r\nContent-Disposition: form-data; name="files"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n'
    b"text\r\n--edge--\r\n"
)
CALL = json.dumps({"data": ["Hello.", 5, 1]}).encode()
LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
PATHS = [
    ("/", None, ""),
    ("/config", None, ""),
    ("/theme.css", None, ""),
    ("/gradio_api/info", None, ""),
    ("/gradio_api/upload", UPLOAD, "multipart/form-data; boundary=edge"),
    ("/gradio_api/call/translate", CALL, "application/json"),
    ("/gradio_api/mcp/", LIST, "application/json"),
]


def ask(address, path, body, kind, method=None, **headers):
    """-> status and headers."""
    headers = {
        "Content-Type": kind,
        "Accept": "application/json, text/event-stream",
        **headers,
    }
    asked = Request(
        address + path,
        body,
        {name: value for name, value in headers.items() if value},
        method=method,
    )
    try:
        with urlopen(asked, timeout=60) as answered:
            return answered.status, answered.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers


@pytest.mark.parametrize(("path", "body", "kind"), PATHS)
def test_everything_is_refused_to_other_sites_and_served_to_its_own_pages_and_programs(
    public, path, body, kind
):
    for headers in (
        {"Host": EVIL},
        {"Host": EVIL, "Origin": f"http://{EVIL}"},
        {"Origin": f"http://{EVIL}"},
        {"Origin": "null"},
        {"X-Forwarded-Host": EVIL},
    ):
        code, said = ask(public, path, body, kind, **headers)
        assert code == 403 and "Access-Control-Allow-Origin" not in said, headers
        assert said["X-Content-Type-Options"] == "nosniff"
    port = public.rsplit(":", 1)[1]
    for headers in (
        {},
        {"Origin": public},
        {"Host": f"192.168.0.2:{port}", "Origin": f"http://192.168.0.2:{port}"},
    ):
        code, said = ask(public, path, body, kind, **headers)
        assert code == 200 and "Access-Control-Allow-Origin" not in said, headers


@pytest.mark.parametrize("origin", [f"http://{EVIL}", "http://192.168.0.2:7860"])
def test_no_other_site_is_told_that_it_may_ask(public, origin):
    for host in (None, "192.168.0.2:7860"):
        _, said = ask(
            public,
            "/gradio_api/upload",
            None,
            "",
            "OPTIONS",
            Origin=origin,
            Host=host,
            **{
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "x",
            },
        )
        assert not [name for name in said if name.lower().startswith("access-control")]
