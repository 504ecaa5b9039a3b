"""Sessions: those of closed pages are forgotten after a while, and the oldest where all hold too much."""

import asyncio
import datetime
import subprocess
import sys
import threading
from types import SimpleNamespace

import gradio as gr
import pytest

from tests.pages import run
from xformer.ui import gradio_private, sessions


def test_a_page_that_was_closed_is_forgotten_after_a_while():
    now = datetime.datetime.now()
    pages = {"open": (False, 9_000), "just closed": (True, 5), "closed": (True, sessions.KEPT + 5),
             "call": (False, 9_000), "running call": (False, 9_000), "new call": (False, 5)}
    holder = SimpleNamespace(session_data={name: SimpleNamespace(is_closed=closed, state_data={})
                                           for name, (closed, _) in pages.items()},
                             time_last_used={name: now - datetime.timedelta(seconds=ago)
                                             for name, (_, ago) in pages.items()})
    pending = {"open": {"one"}, "closed": set(), **{name: {name} for name in pages if "call" in name}}
    queue = SimpleNamespace(pending_event_ids_session=pending, event_ids_to_events={"running call": 1},
                            pending_messages_per_session={"closed": 1, "call": 1})
    sessions.sweep(SimpleNamespace(state_holder=holder, get_blocks=lambda: SimpleNamespace(_queue=queue)))
    assert set(holder.session_data) == set(holder.time_last_used) == {"open", "just closed", "running call", "new call"}
    assert set(pending) == {"open", "running call", "new call"} and not queue.pending_messages_per_session


def test_of_what_is_more_than_may_be_kept_the_oldest_is_forgotten(running, learned_pairs, monkeypatch):
    trace = running.trace(*learned_pairs[0])
    size = sessions.weight({1: trace, 2: (trace, ["four"]), 3: None})
    arrays = sum(value.nbytes for value in vars(trace).values() if hasattr(value, "nbytes"))
    assert 2 * arrays < size < 2 * arrays + 1_000
    holder = SimpleNamespace(time_last_used={}, session_data={
        name: SimpleNamespace(is_closed=False, state_data={1: trace}) for name in "abcd"})
    queue = SimpleNamespace(pending_event_ids_session={}, event_ids_to_events={}, pending_messages_per_session={})
    monkeypatch.setattr(sessions, "MOST_KEPT", 2 * sessions.weight(trace))
    sessions.sweep(SimpleNamespace(state_holder=holder, get_blocks=lambda: SimpleNamespace(_queue=queue)))
    assert list(holder.session_data) == ["c", "d"]


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
    ran = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True)
    assert float(ran.stdout) > 150  # MB


def test_it_is_given_back_again_and_again_while_the_page_is_served(monkeypatch):
    given = threading.Semaphore(0)
    monkeypatch.setattr(sessions, "TRIM", 0)
    monkeypatch.setattr(sessions, "give_back", given.release)
    queue = SimpleNamespace(event_ids_to_events={}, push=None)
    app = SimpleNamespace(state=SimpleNamespace(), state_holder=SimpleNamespace(),
                          get_blocks=lambda: SimpleNamespace(_queue=queue, default_config=None))

    async def serve():
        async with sessions.sessions(app):
            for _ in range(2):
                await asyncio.to_thread(given.acquire)
    run(serve())


def test_an_idle_page_looks_for_work_a_hundred_times_a_second():
    async def make():  # where no event loop is running, Gradio makes some that it never closes
        return gr.Blocks(analytics_enabled=False)
    demo = run(make())
    assert demo._queue.sleep_when_free < 0.01, "more often, if Gradio has not mended it"
    gradio_private.look_for_work(SimpleNamespace(get_blocks=lambda: demo))
    assert demo._queue.sleep_when_free == 0.01
