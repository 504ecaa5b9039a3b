"""How the page and the engine end by a signal: what is under way is answered, what
waits is told, and nothing more."""

import asyncio
import json
import os
import re
import signal
import socket
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import gradio as gr
import pytest
import uvicorn
import yaml
from gradio import http_server, routes

from tests.harness import ROOT, free_port, patience, wait_until
from tests.pages import run
from xformer.serve import connections, engine
from xformer.strings import ENGLISH
from xformer.ui.server import gradio_private

REFUSAL = ENGLISH.say("error_ending")


@contextmanager
def signals_kept():
    """Whatever happens to the handlers of signals, they are as they were."""
    before = {number: signal.getsignal(number) for number in connections.SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("kind", [connections.Server, http_server.Server])
@pytest.mark.parametrize("number", connections.SIGNALS)
def test_the_first_signal_ends_a_server_and_the_second_the_process(kind, number):
    server = kind(uvicorn.Config(None))
    with signals_kept():
        server.handle_exit(number, None)
        assert {signal.getsignal(one) for one in connections.SIGNALS} == {
            signal.SIG_DFL
        }
    assert server.should_exit and not server.force_exit


def test_a_page_is_served_until_a_signal_comes():
    told = []
    server = http_server.Server(uvicorn.Config(None))

    def serve():
        wait_until(lambda: signal.getsignal(signal.SIGTERM) == server.handle_exit)
        os.kill(os.getpid(), signal.SIGTERM)
        wait_until(lambda: server.should_exit)
        told.append("ended")

    with signals_kept():
        signal.signal(signal.SIGTERM, lambda *_: told.append("passed on"))
        server.thread = threading.Thread(target=serve)
        server.thread.start()
        gradio_private.stay(SimpleNamespace(server=server))
    assert told == ["ended", "passed on"]


@pytest.fixture
def page():
    """A page of one slow button that answers one at a time: its address, its server,
    what tells that it has begun, and what lets it answer."""
    began = threading.Event()
    go = threading.Event()

    def slow(text):
        began.set()
        go.wait()
        return text

    # where no event loop is running, Gradio makes some that it never closes
    async def launch():
        with gr.Blocks(analytics_enabled=False) as demo:
            gr.Button().click(
                slow, *[gr.Textbox() for _ in range(2)], concurrency_limit=1
            )
        return demo, demo.launch(
            prevent_thread_lock=True, quiet=True, server_port=free_port()
        )[1]

    demo, address = run(launch())
    yield SimpleNamespace(
        address=address.rstrip("/"), server=demo.server, began=began, go=go
    )
    go.set()
    demo.server.close()


def asked(page, session):
    """Press the button; -> the stream of answers."""
    body = json.dumps(
        {"fn_index": 0, "data": [session], "session_hash": session}
    ).encode()
    join = Request(
        f"{page.address}/gradio_api/queue/join",
        body,
        {"Content-Type": "application/json"},
    )
    urlopen(join).close()
    return urlopen(
        f"{page.address}/gradio_api/queue/data?session_hash={session}",
        timeout=patience(),
    )


def test_what_is_under_way_is_answered_and_what_waits_is_told(page):
    heartbeat = f"{page.address}/gradio_api/heartbeat/visitor"
    with (
        urlopen(heartbeat, timeout=patience()) as is_open,
        asked(page, "first") as first,
    ):
        page.began.wait()
        with asked(page, "second") as second:
            page.server.should_exit = True
            assert REFUSAL in second.read().decode()
        assert is_open.read() == b"data: ALIVE\n\n"
        page.go.set()
        assert '"output":{"data":["first"]' in first.read().decode()
    page.server.thread.join()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(urlsplit(page.address).netloc.split(":"))


def test_what_is_still_computed_late_is_told_before_it_is_broken_off(monkeypatch):
    monkeypatch.setattr(gradio_private, "LATE", 0.001)
    monkeypatch.setattr(routes, "App", SimpleNamespace)
    messages = asyncio.Queue()
    cleaned = []

    async def clean_events(event_id):
        cleaned.append(event_id)

    event = SimpleNamespace(
        _id="one",
        session_hash="page",
        enqueue_time=0.0,
        request=SimpleNamespace(scope={}, client=None),
    )
    queue = SimpleNamespace(
        clean_events=clean_events,
        pending_messages_per_session={"page": messages},
        event_ids_to_events={"one": event},
        event_queue_per_concurrency_id={},
    )
    app = SimpleNamespace(
        get_blocks=lambda: SimpleNamespace(_queue=queue), stop_event=asyncio.Event()
    )
    run(gradio_private._end(app))
    told = messages.get_nowait()
    assert cleaned == ["one"] and app.stop_event.is_set()
    assert (told.event_id, told.success, told.output) == (
        "one",
        False,
        {"error": REFUSAL},
    )


def test_a_call_of_an_engine_that_takes_too_long_is_told():
    sent = []
    begun = asyncio.Event()

    async def computes(scope, receive, send):
        begun.set()
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    async def ask():
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/translate",
            "headers": [(b"host", b"localhost")],
            "app": engine.api,
        }
        call = asyncio.create_task(engine.door(computes)(scope, None, send))
        await begun.wait()
        call.cancel()
        await call

    run(ask())
    assert [one.get("status") or one["body"] for one in sent] == [
        503,
        b"This engine ends; ask again in a minute.",
    ]


def test_what_hosts_wait_for_the_end_is_longer_than_it_takes():
    proxy = (ROOT / "hosting" / "haproxy.cfg").read_text(encoding="utf-8")
    longest = int(re.search(r"hard-stop-after (\d+)s", proxy)[1])
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))[
        "services"
    ]
    assert longest > connections.GRACE
    for one in services.values():
        assert int(one["stop_grace_period"].removesuffix("s")) > longest


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", ["page", "engine"])
def test_a_process_answers_what_it_has_begun_to_receive_and_ends(
    start, tiny_checkpoint, learned_pairs, kind
):
    english, spanish = learned_pairs[0]
    flags = ["--checkpoint", tiny_checkpoint, "--device", "cpu"]
    port = free_port()
    if kind == "engine":
        app = start(
            "serve",
            *flags,
            "--port",
            port,
            command=[sys.executable, "-m", "xformer"],
            ready="INFO:     Uvicorn running",
        )
        path = "/translate"
        body = {"text": english}
        wanted = spanish
    else:
        app = start(*flags)
        port = urlsplit(app.address).port
        path = "/gradio_api/call/translate"
        body = {"data": [english, 1, 1]}
        wanted = "event_id"
    body = json.dumps(body).encode()

    def caught():
        caught_signals = re.search(
            "SigCgt:\t(.*)", Path(f"/proc/{app.process.pid}/status").read_text()
        )[1]
        return int(caught_signals, 16) & 1 << signal.SIGTERM - 1

    def refused():
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            return True

    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(
            (
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
            ).encode()
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        wait_until(caught)  # Gradio says a while before that the page is served
        app.process.terminate()
        wait_until(refused)
        connection.sendall(body)
        said = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    assert said.startswith("HTTP/1.1 200") and wanted in said
    app.process.wait()
    assert "Traceback" not in app.log
