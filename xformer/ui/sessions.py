"""Who is on the page or calls its API: for how many at once there is room, whether somebody still waits for an answer,
and what is kept of them, and how long."""

from __future__ import annotations

import asyncio
import datetime
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from gradio.context import LocalContext

from xformer.serve.limits import MOST_SECONDS, Guard, most_people

ROOM = 64  # for requests besides those that are served, so that whoever is not served is told so at once
BACKSTOP = 5_000  # requests in Gradio's own queue, which refuses in English only; ours refuses long before
SESSIONS = 512  # open pages whose sentences and maps are kept; then those that were not used for longest are forgotten
KEPT = 600  # seconds that they are kept when their page is closed: a phone may have been asleep
MOST_KEPT = 1_000_000_000  # bytes of them all, maps mostly: those of 500 pieces have 50 MB, of a usual sentence 0.2
UPLOADS = (60, 300)  # seconds between two looks for uploads that no handler has read and deleted, and how old these are

# Gradio counts each call in a table, and works the table out anew after each: for its monitoring page, which is off.
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "1")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000000")


def door() -> Guard:
    """One for all models of a page; raises UserError where the environment says nonsense."""
    return Guard(most_people(), MOST_SECONDS, still_there)


def at_once() -> int:
    """Requests worked on at the same time, most of them waiting for the same batch."""
    return most_people() + ROOM


def still_there() -> Callable[[], bool]:
    """In the thread of a handler: how to find out whether whoever asked has closed the page or hung up since.

    Gradio marks the event of a connection that is gone, but lets its handler run on to the end.
    """
    blocks, event_id = LocalContext.blocks.get(None), LocalContext.event_id.get(None)
    event = blocks._queue.event_ids_to_events.get(event_id) if blocks is not None and event_id is not None else None
    return lambda: event is None or event.alive


@asynccontextmanager
async def sessions(app: Any) -> AsyncIterator[None]:
    """While the server runs: little is kept of each session, and nothing of those that ended a while ago."""
    # For each session, even one call of the API, Gradio would write down every component of the page anew: 55 ms and
    # 1 MB here, and only for deep links, which headers.py closes. Told that there are none, it notes what changes.
    app.state_holder.blocks = SimpleNamespace(default_config=app.get_blocks().default_config, blocks={})
    sweeping = asyncio.create_task(_sweep(app))
    yield
    sweeping.cancel()
    with suppress(asyncio.CancelledError):
        await sweeping


async def _sweep(app: Any) -> None:
    while True:
        await asyncio.sleep(KEPT / 60)
        sweep(app)


def sweep(app: Any) -> None:
    """Forget the pages that were closed, and the calls of the API whose answer nobody came for, when they were not used
    for as long as they are kept; then, of what is more than may be kept, what was not used for longest."""
    holder, queue = app.state_holder, app.get_blocks()._queue
    ended = datetime.datetime.now() - datetime.timedelta(seconds=KEPT)
    for session, state in list(holder.session_data.items()):
        called = session in queue.pending_event_ids_session.get(session, ())  # Gradio names such a session by its call
        if ((state.is_closed or (called and session not in queue.event_ids_to_events))
                and holder.time_last_used.get(session, ended) <= ended):
            forget(app, session)
    sizes = {session: weight(state.state_data) for session, state in list(holder.session_data.items())}
    surplus = sum(sizes.values()) - MOST_KEPT
    for session, size in sizes.items():  # in the order of their last use
        if surplus <= 0:
            break
        forget(app, session)
        surplus -= size


def weight(value: Any) -> int:
    """The bytes of the arrays in a value, however deep in records, lists, and dictionaries; of texts, their length."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(weight, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(weight, value))
    return sum(weight(getattr(value, field.name)) for field in fields(value)) if is_dataclass(value) else 0


def forget(app: Any, session: str) -> None:
    """Keep nothing of a session."""
    app.state_holder.session_data.pop(session, None)
    app.state_holder.time_last_used.pop(session, None)
    queue = app.get_blocks()._queue
    queue.pending_event_ids_session.pop(session, None)
    queue.pending_messages_per_session.pop(session, None)
