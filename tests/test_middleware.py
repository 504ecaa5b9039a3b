"""What stands before Gradio, asked by handlers alone: what one request may leave behind, and hold."""

from collections import Counter
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

from tests.pages import run
from xformer.ui.server import gradio_private, middleware, sessions

LISTEN = gradio_private.LISTEN


@pytest.fixture
def app():
    """What the gate asks of an app: nobody is served yet, and no password is asked for."""
    queue = SimpleNamespace(pending_messages_per_session={}, pending_event_ids_session={}, event_ids_to_events={})
    state = SimpleNamespace(listeners=Counter(), ended=Counter(), clients={})
    holder = SimpleNamespace(session_data={}, time_last_used={})
    return SimpleNamespace(auth=None, cookie_id="", tokens={}, state=state, state_holder=holder, queue=queue,
                           get_blocks=lambda: SimpleNamespace(_queue=queue))


def request(app, path, names=(), method="GET", address="10.0.0.1"):
    """The scope of a request that names sessions in its query."""
    query = urlencode([("session_hash", name) for name in names]).encode()
    return {"type": "http", "method": method, "path": path, "query_string": query, "headers": [], "app": app,
            "client": (address, 1)}


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


@pytest.mark.parametrize("names", [["one", "two"], ["one"] * 2, [str(number) for number in range(2_800)]])
def test_a_request_names_one_session(app, names):
    app.queue.pending_messages_per_session = dict.fromkeys(names)
    code, said = answered(middleware.Gate(ends), request(app, LISTEN, names))
    assert code == 400 and b"one session at most" in said and not app.state.ended
    assert answered(middleware.Gate(ends), request(app, "/gradio_api/heartbeat/three", names[:1]))[0] == 400


def test_a_call_that_was_dropped_while_it_was_computed_is_none_any_more(app):
    app.queue.event_ids_to_events["call"] = None  # until its handler ends
    app.queue.pending_event_ids_session["owner"] = {"call", "other"}
    app.queue.pending_messages_per_session["owner"] = None
    path, gate = "/gradio_api/call/translate/call", middleware.Gate(ends)
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
    """A request that Gradio refuses leaves no session, whose name would be noted for good."""
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 3)
    app.state_holder.session_data["page"] = SimpleNamespace(state_data={})
    app.state.clients.update({"page": "10.0.0.1", **{f"stranger{number}": "10.0.0.2" for number in range(3)}})
    sessions.make_room(app)
    assert app.state.clients == {"page": "10.0.0.1"}
