"""Sessions: those of closed pages are forgotten after a while, and the oldest where all
hold too much."""

import asyncio
import datetime
import subprocess
import sys
import threading
from collections import Counter
from types import SimpleNamespace

import gradio as gr
import pytest
from gradio.state_holder import StateHolder

from tests.pages import run
from xformer.ui.server import gradio_private, sessions


def app_of(holder, queue, **ended):
    """What the sessions of an app need of it. ended: of each session, how many streams
    of answers have ended."""
    return SimpleNamespace(
        state_holder=holder,
        state=SimpleNamespace(ended=Counter(ended)),
        get_blocks=lambda: SimpleNamespace(_queue=queue),
    )


def test_a_page_that_was_closed_is_forgotten_after_a_while():
    now = datetime.datetime.now()
    pages = {
        "open": (False, 9_000),
        "just closed": (True, 5),
        "closed": (True, sessions.KEPT + 5),
        "call": (False, 9_000),
        "running call": (False, 9_000),
        "new call": (False, 5),
    }
    holder = SimpleNamespace(
        session_data={
            name: SimpleNamespace(is_closed=closed, state_data={})
            for name, (closed, _) in pages.items()
        },
        time_last_used={
            name: now - datetime.timedelta(seconds=ago)
            for name, (_, ago) in pages.items()
        },
    )
    pending = {
        "open": {"one"},
        "closed": set(),
        **{name: {name} for name in pages if "call" in name},
    }
    queue = SimpleNamespace(
        pending_event_ids_session=pending,
        event_ids_to_events={"running call": 1},
        pending_messages_per_session={"closed": 1, "call": 1},
    )
    app = app_of(holder, queue, open=3, closed=5)
    sessions.sweep(app)
    assert app.state.ended == {"open": 3}
    assert (
        set(holder.session_data)
        == set(holder.time_last_used)
        == {"open", "just closed", "running call", "new call"}
    )
    assert (
        set(pending) == {"open", "running call", "new call"}
        and not queue.pending_messages_per_session
    )


@pytest.mark.parametrize("comes", [True, False])
def test_who_comes_to_listen_after_the_server_stood_still_is_heard(monkeypatch, comes):
    """It stood still for a minute, and at its first look nobody listens yet."""
    looks = []
    dropped = []

    async def look(seconds):
        looks.append(seconds)
        if comes and len(looks) == 3:
            app.state.listeners["page"] = 1
        if len(looks) > 2 * sessions.LOOKS:
            raise asyncio.CancelledError

    async def drop(_, job, heard, refusal):
        dropped.append(len(looks))

    app = SimpleNamespace(state=SimpleNamespace(listeners={}))
    monkeypatch.setattr(sessions, "asyncio", SimpleNamespace(sleep=look))
    monkeypatch.setattr(
        gradio_private, "jobs", lambda _: [gradio_private.Job("one", "page", 60.0, 0)]
    )
    monkeypatch.setattr(gradio_private, "drop", drop)
    with pytest.raises(asyncio.CancelledError):
        # nothing in it waits, and a browser of these tests may have a loop of its own
        sessions._drop(app).send(None)
    assert dropped[:1] == ([] if comes else [sessions.LOOKS])


@pytest.mark.parametrize("comes", ["before", "meanwhile", "never"])
def test_who_comes_to_listen_while_an_answer_is_dropped_is_not_broken_off(comes):
    """The answers of one call, of which Gradio's stream fails where its messages are
    taken away under it."""
    here = {comes == "before"}
    job = gradio_private.Job("call", "call", 60.0, 0)

    async def clean_events(event_id):
        here.add(comes == "meanwhile")
        cleaned.append(event_id)

    messages = asyncio.Queue()
    cleaned = []
    queue = SimpleNamespace(
        clean_events=clean_events,
        pending_event_ids_session={"call": {"call"}},
        pending_messages_per_session={"call": messages},
    )
    app = SimpleNamespace(get_blocks=lambda: SimpleNamespace(_queue=queue))
    run(gradio_private.drop(app, job, lambda: True in here, "It was given up."))
    assert cleaned == ([] if comes == "before" else ["call"])
    assert ("call" in queue.pending_messages_per_session) == (comes != "never")
    said = [] if messages.empty() else [messages.get_nowait()]
    assert [(one.event_id, one.success, one.output) for one in said] == (
        [("call", False, {"error": "It was given up."})] if comes == "meanwhile" else []
    )


def test_of_what_is_more_than_may_be_kept_the_oldest_is_forgotten(
    running, learned_pairs, monkeypatch
):
    trace = running.trace(*learned_pairs[0])
    size = sessions.weight({1: trace, 2: (trace, ["four"]), 3: None})
    arrays = sum(
        value.nbytes for value in vars(trace).values() if hasattr(value, "nbytes")
    )
    assert arrays < size < arrays + 1_000  # what stands in it twice counts once
    holder = SimpleNamespace(
        time_last_used={},
        session_data={
            name: SimpleNamespace(is_closed=False, state_data={1: trace})
            for name in "abcd"
        },
    )
    queue = SimpleNamespace(
        pending_event_ids_session={},
        event_ids_to_events={},
        pending_messages_per_session={},
    )
    monkeypatch.setattr(
        sessions, "MOST_KEPT", 2 * (sessions.PAGE + sessions.weight(trace))
    )
    sessions.sweep(app_of(holder, queue))
    assert list(holder.session_data) == ["c", "d"]


def test_what_a_handler_changes_while_it_is_weighed_counts_as_it_was():
    made = {}

    class Slow(list):
        def __iter__(self):
            made["later"] = "a picture"
            return super().__iter__()

    made |= {"first": Slow(["abc"]), "second": "de"}
    assert sessions.weight(made) == len("abcde")


def test_pages_that_were_only_opened_count_too():
    pages = [
        f"page {number}" for number in range(sessions.MOST_KEPT // sessions.PAGE + 3)
    ]
    holder = SimpleNamespace(
        time_last_used={},
        session_data={
            name: SimpleNamespace(is_closed=False, state_data={}) for name in pages
        },
    )
    queue = SimpleNamespace(
        pending_event_ids_session={},
        event_ids_to_events={},
        pending_messages_per_session={},
    )
    sessions.sweep(app_of(holder, queue))
    assert list(holder.session_data) == pages[3:]


def test_gradio_notes_no_picture_of_a_page():
    async def draw():
        with gr.Blocks(analytics_enabled=False) as demo:
            button = gr.Button()
            picture = gr.HTML()
            menu = gr.Dropdown(["one"])
            button.click(lambda: None, None, [picture, menu])
        app = SimpleNamespace(state_holder=StateHolder(), get_blocks=lambda: demo)
        gradio_private.keep_little(app)
        session = app.state_holder["page"]
        (listener,) = demo.fns.values()
        sent = await demo.postprocess_data(
            listener, ["a large picture", gr.update(choices=["two"])], session
        )
        return sent, session, menu._id

    sent, session, menu = run(draw())
    assert sent[0] == "a large picture" and session[menu].choices == [("two", "two")]
    assert "a large picture" not in str([vars(session), list(session.components)])


def test_a_page_that_nobody_uses_looks_for_requests_fifty_times_a_second(monkeypatch):
    asked = []

    async def instant(seconds):
        asked.append(seconds)
        queue.stopped = len(asked) == 50

    async def look():
        nonlocal queue
        with gr.Blocks(analytics_enabled=False) as demo:
            gr.Button().click(lambda: None)
        demo.queue()
        queue = demo._queue
        gradio_private.look_less_often(SimpleNamespace(get_blocks=lambda: demo))
        monkeypatch.setattr(asyncio, "sleep", instant)
        await queue.start_processing()

    queue = None
    run(look())
    assert sum(asked) == pytest.approx(1)


FREED = """
import os
from pathlib import Path
from xformer.serve.memory import give_back

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

blocks = [bytes(bytearray(b"a" * 100_000)) for _ in range(2_000)]
del blocks[:-1]  # the last of them keeps the heap from shrinking by itself
before = held()
give_back()
print(before - held())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_that_was_freed_is_given_back():
    ran = subprocess.run(
        [sys.executable, "-c", FREED], capture_output=True, text=True, check=True
    )
    assert float(ran.stdout) > 150  # MB


def test_it_is_given_back_again_and_again_while_the_page_is_served(monkeypatch):
    given = threading.Semaphore(0)
    monkeypatch.setattr(sessions, "TRIM", 0)
    monkeypatch.setattr(sessions, "give_back", given.release)
    queue = SimpleNamespace(event_ids_to_events={}, push=None)
    app = SimpleNamespace(
        state=SimpleNamespace(),
        state_holder=SimpleNamespace(),
        get_blocks=lambda: SimpleNamespace(_queue=queue, default_config=None),
    )

    async def serve():
        async with sessions.sessions(app):
            for _ in range(2):
                await asyncio.to_thread(given.acquire)

    run(serve())
