"""What stands before Gradio, asked by handlers alone: what one request may leave
behind, and hold."""

import asyncio
import itertools
from collections import Counter
from contextlib import suppress
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
import uvicorn
from gradio import http_server
from starlette.exceptions import HTTPException

from tests.harness import free_port
from tests.pages import run
from xformer.__main__ import main
from xformer.serve import connections, engine
from xformer.ui.server import gradio_private, middleware, sessions

LISTEN = gradio_private.LISTEN


@pytest.fixture
def app():
    """What the gate asks of an app: nobody is served yet, and no password is asked
    for."""
    queue = SimpleNamespace(
        pending_messages_per_session={},
        pending_event_ids_session={},
        event_ids_to_events={},
    )
    state = SimpleNamespace(listeners=Counter(), ended=Counter(), clients={})
    holder = SimpleNamespace(session_data={}, time_last_used={})
    return SimpleNamespace(
        auth=None,
        cookie_id="",
        tokens={},
        state=state,
        state_holder=holder,
        queue=queue,
        get_blocks=lambda: SimpleNamespace(_queue=queue),
    )


def request(app, path, names=(), method="GET", address="10.0.0.1"):
    """The scope of a request that names sessions in its query."""
    query = urlencode([("session_hash", name) for name in names]).encode()
    return {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query,
        "headers": [],
        "app": app,
        "client": (address, 1),
    }


async def ends(scope, receive, send):
    """An app that ends a stream of answers at once."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": gradio_private.END + b"}\n\n"})


def answered(gate, scope):
    """-> status and body of what is answered to a request without a body."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        sent.append(message)

    run(gate(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


@pytest.mark.parametrize(
    "names", [["one", "two"], ["one"] * 2, [str(number) for number in range(2_800)]]
)
def test_a_request_names_one_session(app, names):
    app.queue.pending_messages_per_session = dict.fromkeys(names)
    code, said = answered(middleware.Gate(ends), request(app, LISTEN, names))
    assert code == 400 and b"one session at most" in said and not app.state.ended
    assert (
        answered(
            middleware.Gate(ends),
            request(app, "/gradio_api/heartbeat/three", names[:1]),
        )[0]
        == 400
    )


def test_a_call_that_was_dropped_while_it_was_computed_is_none_any_more(app):
    app.queue.event_ids_to_events["call"] = None  # until its handler ends
    app.queue.pending_event_ids_session["owner"] = {"call", "other"}
    app.queue.pending_messages_per_session["owner"] = None
    path = "/gradio_api/call/translate/call"
    gate = middleware.Gate(ends)
    assert answered(gate, request(app, path))[0] == 200
    app.queue.pending_event_ids_session["owner"] = {"other"}
    assert answered(gate, request(app, path))[0] == 404
    app.queue.pending_event_ids_session["owner"] = {"call"}
    app.queue.pending_messages_per_session.clear()
    assert answered(gate, request(app, path))[0] == 404


def test_ended_streams_are_counted_of_so_many_sessions_at_most(app, monkeypatch):
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 3)
    gate = middleware.Gate(ends)
    for name in ("page", "a", "b", "page", "c", "page", "d"):
        app.queue.pending_messages_per_session[name] = None
        assert answered(gate, request(app, LISTEN, [name]))[0] == 200
    assert app.state.ended == {"c": 1, "page": 3, "d": 1}


def test_addresses_are_noted_of_so_many_sessions_at_most(app, monkeypatch):
    """A request that Gradio refuses leaves no session, whose name would be noted for
    good."""
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 3)
    app.state_holder.session_data["page"] = SimpleNamespace(state_data={})
    app.state.clients.update(
        {"page": "10.0.0.1", **{f"stranger{number}": "10.0.0.2" for number in range(3)}}
    )
    sessions.make_room(app)
    assert app.state.clients == {"page": "10.0.0.1"}


def sending(app, size, address="10.0.0.1", more=True):
    """Send a body of this size that never ends, or does, to be computed; -> an app that
    reads it, which notes that in its scope, and what it is called with."""
    pieces = [{"type": "http.request", "body": b"a" * size, "more_body": more}]

    async def receive():
        return pieces.pop() if pieces else await asyncio.Event().wait()

    async def reads(scope, take, send):
        while (await take()).get("more_body"):
            scope["read"].set()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        pass

    scope = request(app, "/gradio_api/queue/join", method="POST", address=address) | {
        "read": asyncio.Event()
    }
    return reads, scope, receive, send


async def unfinished(gate, app, sizes, address="10.0.0.1"):
    """Leave bodies of these sizes unfinished; -> their tasks, once all of them were
    read as far as they go."""
    begun = []
    for size in sizes:
        gate.app, scope, *rest = sending(app, size, address)
        begun.append(asyncio.create_task(gate(scope, *rest)))
        await scope["read"].wait()
    return begun


def test_one_address_holds_a_part_of_what_may_wait(app, monkeypatch):
    monkeypatch.setattr(gradio_private, "jobs", lambda app: [])
    gate = middleware.Gate(ends)

    async def send():
        held = await unfinished(gate, app, [middleware.MOST_OF_ONE // 3] * 3)
        codes = {}
        for address in ("10.0.0.1", "10.0.0.2"):
            gate.app, *asked = sending(app, 150_000, address, more=False)
            try:
                codes[address] = await gate(*asked)
            except HTTPException as refused:
                codes[address] = refused.status_code, refused.detail
        for one in held:
            one.cancel()
        await asyncio.gather(*held, return_exceptions=True)
        return codes

    codes = run(send())
    assert codes["10.0.0.2"] is None
    assert codes["10.0.0.1"] == (
        503,
        "More than 30,000,000 bytes of your address wait to be computed already; try "
        "again in a minute.",
    )
    assert not gate._receiving


@pytest.mark.parametrize("path", ["/gradio_api/queue/join", "/gradio_api/upload"])
def test_a_body_that_stands_still_is_given_up(app, monkeypatch, path):
    monkeypatch.setattr(connections, "WINDOW", 0.0)
    gate = middleware.Gate(ends)
    gate.app, scope, *rest = sending(app, 1)
    with pytest.raises(
        HTTPException,
        match="A request must bring 64,000 bytes in 0 seconds, or its end",
    ) as refused:
        run(gate({**scope, "path": path}, *rest))
    assert refused.value.status_code == 408 and not gate._receiving


@pytest.mark.parametrize(
    ("size", "taken"), [(connections.PIECE, 6), (connections.PIECE // 6, 5)]
)
def test_a_body_must_bring_so_much_in_each_while(monkeypatch, size, taken):
    """A clock that goes on by a fifth of the while with each piece, and a body that
    never ends."""
    clock = itertools.count(1, connections.WINDOW / 5)
    now = [next(clock)]
    got = []
    monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=lambda: now[0]))

    async def receive():
        await asyncio.to_thread(int)
        now[0] = next(clock)
        return {"type": "http.request", "body": b"a" * size, "more_body": True}

    async def read():
        take = connections.patient(receive)
        for _ in range(6):
            got.append(await take())

    with suppress(HTTPException):
        run(read())
    assert len(got) == taken


class Wire(asyncio.Transport):
    """A connection that nothing is behind."""

    def __init__(self):
        super().__init__()
        self.closed = False
        self.protocol = None
        self.written = b""

    def get_protocol(self):
        return self.protocol

    def is_closing(self):
        return self.closed

    def close(self):
        self.closed = True

    def write(self, data):
        self.written += data


@pytest.mark.parametrize(
    ("said", "closes"),
    [
        (b"", True),
        (b"GET / HTTP/1.1\r\nHost: a\r\n", True),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", False),
    ],
)
def test_a_connection_that_brings_no_whole_head_is_closed(said, closes):
    async def app(scope, receive, send):
        await asyncio.Event().wait()

    async def connect():
        config = uvicorn.Config(app, log_level="critical")
        config.load()
        server = uvicorn.Server(config)
        wire = Wire()
        wire.protocol = one = connections.Patient(config, server.server_state, {})
        one.connection_made(wire)
        late = one._late
        if said:
            one.data_received(said)
        assert (one._late is None) == (not closes) and late.cancelled() == (not closes)
        assert late.when() - one.loop.time() == pytest.approx(connections.HEAD, abs=5)
        one._close()
        closed = wire.closed
        one.connection_lost(None)
        for task in server.server_state.tasks:
            task.cancel()
        return closed

    assert run(connect()) == closes


def test_the_page_and_the_engine_are_served_so(monkeypatch):
    ran = []
    monkeypatch.setattr(connections.Server, "run", lambda server: ran.append(server))
    monkeypatch.setattr(engine.Setup, "start", lambda setup: None)
    main(["serve"])
    config = uvicorn.Config(
        ends, port=free_port(), log_level="critical", lifespan="off"
    )
    server = http_server.Server(config)
    server.run_in_thread()
    server.close()
    for one in (ran[0].config, config):
        assert (one.http, one.timeout_graceful_shutdown) == (
            connections.Patient,
            connections.GRACE,
        )
