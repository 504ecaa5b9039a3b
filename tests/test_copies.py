"""Several copies of the page behind HAProxy, and the compose.yaml that starts them."""

import re
import socket
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPException
from http.cookiejar import CookieJar

import pytest
import yaml
from gradio_client import Client

from tests import endpoints
from tests.harness import (
    PROXY,
    ROOT,
    Copies,
    asked,
    free_port,
    proxied,
    wait_until,
)

pytestmark = pytest.mark.full

WITH_PROXY = pytest.mark.skipif(
    PROXY is None, reason="HAProxy is not installed: apt-get install haproxy"
)
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
CONFIGURATION = (ROOT / "hosting" / "haproxy.cfg").read_text(encoding="utf-8")


class Visitor:
    """A browser: it keeps its cookie, and holds the stream open that tells the page it
    is still there."""

    def __init__(self, address):
        self.address = address
        self.jar = CookieJar()
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self.jar)
        )
        self.stream = self.opener.open(f"{address}/gradio_api/heartbeat/{id(self)}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()

    @property
    def copy(self):
        (cookie,) = self.jar
        return cookie.value

    def ask(self, text):
        return endpoints.ask(self.address, "translate", text, opener=self.opener)[
            "text"
        ]


@pytest.fixture(scope="module")
def copies(tiny_checkpoint, tmp_path_factory):
    with Copies(
        tmp_path_factory.mktemp("copies"),
        "--checkpoint",
        tiny_checkpoint,
        "--device",
        "cpu",
    ) as running:
        yield running


@WITH_PROXY
@pytest.mark.server
def test_a_visitor_stays_with_a_copy_and_another_comes_to_the_other(
    copies, learned_pairs
):
    with Visitor(copies.address) as one, Visitor(copies.address) as other:
        names = (one.copy, other.copy)
        assert len({*names}) == 2  # two visitors of one address
        for english, spanish in learned_pairs[:4]:
            assert one.ask(english) == other.ask(english) == spanish
        assert (one.copy, other.copy) == names


@WITH_PROXY
@pytest.mark.server
def test_clients_of_gradio_keep_the_cookie_by_themselves(copies, learned_pairs):
    with ExitStack() as opened:
        clients = [
            Client(copies.address, verbose=False, download_files=False)
            for _ in range(2)
        ]
        for client in clients:
            opened.callback(client.close)
        assert {client.cookies["copy"] for client in clients} == {"copy1", "copy2"}
        for english, spanish in learned_pairs[:4]:
            for client in clients:
                assert client.predict(english, api_name="/translate")["text"] == spanish


@WITH_PROXY
@pytest.mark.server
def test_an_answer_is_passed_on_as_it_comes(copies):
    host, port = copies.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(
            f"GET /gradio_api/heartbeat/abc HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
        )
        said = b""
        while b"ALIVE" not in said:  # the stream has no end
            part = connection.recv(4096)
            assert part, said
            said += part


@WITH_PROXY
@pytest.mark.server
def test_the_proxy_says_who_asks_and_drops_what_visitors_say_of_it(copies):
    request = urllib.request.Request(
        f"{copies.address}/robots.txt", headers={"X-Forwarded-Host": "evil.example.org"}
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(
            urllib.request.Request(
                f"{copies.address}/robots.txt",
                # what it waits for before it looks at a request
                data=bytes(16_384),
                headers={"Content-Length": "99000000"},
            )
        )
    refused.value.close()
    assert refused.value.code == 413


@WITH_PROXY
@pytest.mark.server
def test_when_a_copy_is_killed_its_visitors_go_on_and_nobody_else_notices(
    copies, learned_pairs
):
    visitors = [Visitor(copies.address) for _ in range(6)]
    before = [visitor.copy for visitor in visitors]
    assert {*before} == {"copy1", "copy2"}
    english, spanish = learned_pairs[0]
    killed = threading.Event()
    ended = threading.Event()
    failures = {visitor: 0 for visitor in visitors}
    answers = {visitor: 0 for visitor in visitors}  # since the copy was killed

    def use(visitor):
        while not ended.is_set():
            try:
                assert visitor.ask(english) == spanish
                answers[visitor] += killed.is_set()
            except (OSError, ValueError, KeyError, HTTPException):
                # an answer that broke off, too
                failures[visitor] += 1

    with ExitStack() as streams, ThreadPoolExecutor(len(visitors)) as pool:
        for visitor in visitors:
            streams.enter_context(visitor)
        running = [pool.submit(use, visitor) for visitor in visitors]
        try:
            copies.kill("copy1")
            killed.set()
            wait_until(lambda: all(answers.values()))
        finally:
            ended.set()
        for one in running:
            one.result()
    after = [visitor.copy for visitor in visitors]
    assert {*after} == {"copy2"}  # its own visitors stayed, and the others came to it
    for visitor, was in zip(visitors, before, strict=True):
        assert answers[visitor] and failures[visitor] <= (0 if was == "copy2" else 5), (
            was,
            failures[visitor],
        )


def before_nobody(folder, **changes):
    """The proxy, changed so, before a copy that is not there."""
    return proxied(folder, {"copy1": free_port()}, **changes)


@WITH_PROXY
def test_a_body_that_does_not_come_waits_at_the_proxy(tmp_path):
    patience = ("timeout http-request 30s", "timeout http-request 200ms")
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"
    with before_nobody(tmp_path, patience=patience) as port:
        assert b" 503 " in asked(port, head + b"whole")
        assert b" 408 " in asked(port, head)


@WITH_PROXY
def test_an_address_has_so_many_connections_at_most(tmp_path):
    whole = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    most = ("conn_cur gt 2000", "conn_cur gt 3")
    with before_nobody(tmp_path, most=most) as port:
        with ExitStack() as opened:
            for _ in range(3):
                opened.enter_context(socket.create_connection(("127.0.0.1", port)))
            assert asked(port, whole) == b""
        assert wait_until(lambda: asked(port, whole)).startswith(b"HTTP/1.1 503")


def test_compose_starts_what_the_proxy_looks_for():
    proxy = COMPOSE["services"]["proxy"]
    page = COMPOSE["services"]["page"]
    assert "page:7860" in CONFIGURATION and page["expose"] == ["7860"]
    assert {*re.findall(r"\$\{(XFORMER_\w+)\}", CONFIGURATION)} == {
        *proxy["environment"]
    }
    for volume in proxy["volumes"]:
        assert (ROOT / volume.split(":")[0]).is_file()
    assert page["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}
    assert "--no-any-model" in page["command"]
    for one in (proxy, page):
        assert (
            one["read_only"]
            and one["cap_drop"] == ["ALL"]
            and one["security_opt"] == ["no-new-privileges:true"]
        )
    assert (
        "cookie copy insert" in CONFIGURATION and "balance source" not in CONFIGURATION
    )
