"""What many requests of a stranger, or large ones, keep from others: nothing for
long."""

import asyncio
import http.client
import json
import time
import urllib.error
from collections import Counter
from contextlib import ExitStack, closing
from types import SimpleNamespace
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from starlette.exceptions import HTTPException

from tests.harness import wait_until
from tests.pages import run
from xformer.ui.server import gradio_private, middleware, sessions

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def app(start, tiny_checkpoint, tiny_classifier):
    """The app, whose readings wait at their beginning until it is told to let them
    go."""
    return start(tiny_checkpoint, tiny_classifier, program="steered")


def send(app, path, body, headers=None):
    """-> status, and what is said."""
    asked = Request(
        app.address + path,
        body,
        {"Content-Type": "application/json", **(headers or {})},
    )
    try:
        with urlopen(asked, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.fixture(scope="module")
def judging(app):
    """The number of the listener that classifies a review."""
    with urlopen(f"{app.address}/config") as answer:
        return next(
            one["id"]
            for one in json.load(answer)["dependencies"]
            if one["api_name"] == "classify"
        )


def judge(app, judging, session, review):
    return send(
        app,
        "/gradio_api/queue/join",
        json.dumps(
            {"fn_index": judging, "data": [review], "session_hash": session}
        ).encode(),
    )


def inside(app):
    return int(app.say("hold").split()[0])


def test_a_review_that_nobody_waits_for_is_read_no_further(app, judging):
    app.say("hold")
    for session in ("stranger1", "stranger2"):
        assert judge(app, judging, session, "A film.\n" * 100)[0] == 200
    for _ in range(2):
        app.wait_for("began")
    for _ in range(2):
        app.wait_for("stopped")
    wait_until(lambda: not inside(app))  # their threads notice it later
    app.say("go")
    assert judge(app, judging, "visitor", "A film.\nAnother film.")[0] == 200
    with urlopen(
        f"{app.address}/gradio_api/queue/data?session_hash=visitor", timeout=60
    ) as stream:
        assert "probabilities" in stream.read().decode()


def test_a_body_to_compute_with_is_small(app, judging):
    code, said = judge(app, judging, "stranger", "a" * middleware.MOST_JOINED)
    assert code == 413 and f"{middleware.MOST_JOINED:,} bytes at most" in said


def received(sizes, path="/gradio_api/queue/join"):
    """Send a body of pieces of these sizes through the gate; -> how many of its bytes
    were taken."""
    pieces = [{"type": "http.request", "body": b"a" * size} for size in sizes]
    taken = []

    async def read(scope, receive, send):
        for _ in sizes:
            taken.append(len((await receive())["body"]))

    async def receive():
        return pieces.pop(0)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [],
        "client": None,
        "app": SimpleNamespace(auth=None, cookie_id="", tokens={}),
    }
    run(middleware.Gate(read)(scope, receive, None))
    return sum(taken)


def test_what_waits_is_bounded_and_what_is_small_still_taken(monkeypatch):
    size = middleware.SMALL
    waiting = [
        gradio_private.Job(
            str(number),
            "stranger",
            1.0,
            middleware.MOST_WAITING // 10,
            f"10.0.0.{number}",
        )
        for number in range(10)
    ]
    monkeypatch.setattr(middleware, "make_room", lambda app: None)
    monkeypatch.setattr(gradio_private, "jobs", lambda app: waiting)
    assert received([size]) == size
    with pytest.raises(
        HTTPException,
        match="Too much waits to be computed already; try again in a minute",
    ):
        received([size, 1])
    assert received([size, 1], "/gradio_api/upload") == size + 1
    waiting.pop()
    assert received([size, 1]) == size + 1


def test_the_body_of_what_waits_is_counted(app, judging):
    app.say("hold")
    block = "A film.\n" * 3_000
    assert judge(app, judging, "weighed", block)[0] == 200
    app.wait_for("began")
    assert len(block) < int(app.say("size")) < 2 * len(block)
    app.wait_for("stopped")
    wait_until(lambda: app.say("size") == "0")  # its thread notices it later
    app.say("go")


def test_an_answer_is_waited_for_that_somebody_listens_for_or_whose_page_is_open(
    app, judging
):
    """A page that draws for more than `UNHEARD` seconds asks for its answers only
    then."""
    app.say("hold")
    with ExitStack() as opened:

        def get(path):
            connection = http.client.HTTPConnection(
                urlsplit(app.address).netloc, timeout=60
            )
            opened.enter_context(closing(connection))
            connection.request("GET", f"/gradio_api/{path}")
            return connection.getresponse()

        get("heartbeat/busy")
        assert judge(app, judging, "busy", "A film.\nAnother film.")[0] == 200
        code, said = send(app, "/gradio_api/call/classify", b'{"data": ["A film."]}')
        for _ in range(2):
            app.wait_for("began")
        answer = get(f"call/classify/{json.loads(said)['event_id']}")
        # both have waited for longer than an answer waits for a listener
        app.wait_for("overdue")
        app.say("go")
        assert "event: complete" in answer.read().decode()
        assert "probabilities" in get("queue/data?session_hash=busy").read().decode()


def test_a_long_name_of_a_session_is_refused(app):
    app.say("go")
    longest = gradio_private.LONGEST_NAME
    for path, more in (
        ("/gradio_api/queue/join", {"fn_index": 0}),
        ("/gradio_api/call/translate", {}),
        ("/gradio_api/run/predict", {"fn_index": 0}),
    ):
        body = {"data": ["", 5, 1], "session_hash": "a" * (longest + 1), **more}
        assert send(app, path, json.dumps(body).encode())[0] == 422
    assert send(app, f"/gradio_api/heartbeat/{'a' * (longest + 1)}", None)[0] == 400
    assert (
        send(app, f"/gradio_api/queue/data?session_hash={'a' * (longest + 1)}", None)[0]
        == 400
    )


def test_nobody_asks_for_a_session_as_if_it_were_a_call(app):
    app.say("hold")
    body = {"data": ["The cat sleeps.", 5, 1], "session_hash": "owner"}
    code, said = send(app, "/gradio_api/call/translate", json.dumps(body).encode())
    app.wait_for("began")
    assert code == 200 and send(app, "/gradio_api/call/anything/owner", None)[0] == 404
    app.say("go")
    code, said = send(
        app, f"/gradio_api/call/translate/{json.loads(said)['event_id']}", None
    )
    assert code == 200 and "event: complete" in said


def test_a_session_that_waits_for_nothing_is_told_so_and_fills_no_log(app):
    code, said = send(app, "/gradio_api/queue/data?session_hash=nobody", None)
    message = json.loads(said.removeprefix("data: "))
    assert (
        code == 200
        and message["msg"] == "unexpected_error"
        and message["session_not_found"]
    )
    assert not message["success"] and "Traceback" not in app.log


def test_before_a_login_nothing_of_a_session_is_ended(guarded):
    for path, body in (
        (
            "/gradio_api/cancel",
            b'{"session_hash": "owner", "fn_index": 1, "event_id": "a"}',
        ),
        ("/gradio_api/call/anything/owner", None),
        ("/gradio_api/heartbeat/owner", None),
    ):
        assert send(guarded, path, body)[0] == 401


def test_a_proxy_on_this_machine_is_believed_for_whom_it_asks(app):
    app.say("go")
    # the last is who spoke to the proxy
    for forwarded in ("203.0.113.7", "198.51.100.1, 203.0.113.8"):
        body = json.dumps(
            {"data": ["A film."], "session_hash": forwarded[-5:]}
        ).encode()
        assert (
            send(
                app, "/gradio_api/call/classify", body, {"X-Forwarded-For": forwarded}
            )[0]
            == 200
        )
    assert {"203.0.113.7", "203.0.113.8"} <= {*app.say("clients").split()}


def test_who_opens_hundreds_of_sessions_loses_their_own(monkeypatch):
    monkeypatch.setattr(sessions, "SESSIONS", 5)
    names = ["visitor", *(f"stranger{number}" for number in range(7))]
    holder = SimpleNamespace(
        session_data={name: SimpleNamespace(state_data={}) for name in names},
        time_last_used={},
    )
    queue = SimpleNamespace(
        pending_event_ids_session={}, pending_messages_per_session={}
    )
    clients = {
        name: "10.0.0.1" if name == "visitor" else "10.0.0.2"
        for name in [*names, "long gone"]
    }
    sessions.make_room(
        SimpleNamespace(
            state_holder=holder,
            state=SimpleNamespace(clients=clients, ended=Counter()),
            get_blocks=lambda: SimpleNamespace(_queue=queue),
        )
    )
    assert [*holder.session_data] == [
        "visitor",
        *(f"stranger{number}" for number in range(3, 7)),
    ]
    assert "long gone" not in clients


def test_passwords_are_tried_slowly(monkeypatch):
    monkeypatch.setattr(middleware, "WRONG", 0.05)

    async def login(scope, receive, send):
        code = 200 if scope["password"] == "right" else 400
        await send({"type": "http.response.start", "status": code, "headers": []})

    async def attempt(password, address):
        async def send(message):
            if message["type"] == "http.response.start":
                codes.append(message["status"])

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/login",
            "client": (address, 1),
            "password": password,
        }
        began = time.perf_counter()
        await keeper(scope, None, send)
        return time.perf_counter() - began

    async def attempts(count):
        return await asyncio.gather(
            *(attempt("wrong", "10.0.0.1") for _ in range(count)),
            attempt("right", "10.0.0.2"),
        )

    keeper = middleware.Doorkeeper(login)
    codes = []
    *wrong, right = run(attempts(4))
    assert codes == [200, 400, 400, 400, 400] and max(wrong) > 4 * 0.05 > right
    codes.clear()
    run(attempts(middleware.MOST_TRIES + 5))
    assert codes.count(429) == 5 and codes.count(400) == middleware.MOST_TRIES
    assert not keeper._lines
