"""Sessions: how many people are served at once, and what is kept of each page and call,
and for how long."""

import asyncio
import datetime
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

from xformer.serve.limits import MOST_SECONDS, Guard, most_people
from xformer.serve.memory import give_back
from xformer.serve.wire import weight
from xformer.strings import ENGLISH
from xformer.ui.server import gradio_private
from xformer.ui.server.gradio_private import forget

# for requests beyond those that are served: their clients are told at once that there
# is no place
ROOM = 64
# requests in Gradio's own queue, which refuses in English only; ours refuses long
# before
BACKSTOP = 5_000
SESSIONS = 512  # open pages whose sentences and maps are kept; see `make_room`
# after which Gradio itself forgets those that were not used for longest
MOST_SESSIONS = 8 * SESSIONS
# seconds that they are kept when their page is closed: a phone may have been asleep
KEPT = 600
# seconds after which the process gives back what was freed: 190 MB after a hundred
# people at once
TRIM = 60
# bytes of a page besides: what Gradio notes of the components that a page sets when it
# is opened
PAGE = 600_000
# bytes of them all, maps mostly: those of 500 pieces have 50 MB, of a usual sentence
# 0.2
MOST_KEPT = 400_000_000
# seconds without a listener, and looks for one, after which a request is dropped
UNHEARD = 10.0
LOOKS = 10
# seconds between two looks for uploads that no handler has read and deleted, and how
# old these are
UPLOADS = (60, 300)


def door() -> Guard:
    """Make the guard that all models of a page share; raises UserError where the
    environment says nonsense."""
    return Guard(
        most_people(), MOST_SECONDS, gradio_private.still_there, gradio_private.visitor
    )


def at_once() -> int:
    """Count the requests that are worked on at the same time; most of them wait for the
    same batch."""
    return most_people() + ROOM


@asynccontextmanager
async def sessions(app: Any) -> AsyncIterator[None]:
    """Keep little of each session while the server runs, and nothing of those that
    ended a while ago."""
    gradio_private.look_less_often(app)
    gradio_private.keep_little(app)
    # of each call and session: how many streams of answers are open
    app.state.listeners = Counter()
    # of each session: how many streams of answers the server has ended
    app.state.ended = Counter()
    # the address that each session was last used from
    app.state.clients = dict[str, str]()
    gradio_private.note_clients(app, app.state.clients.__setitem__)
    tasks = [asyncio.create_task(task) for task in (_sweep(app), _drop(app), _trim())]
    yield
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _sweep(app: Any) -> None:
    while True:
        await asyncio.sleep(KEPT / 60)
        sweep(app)


async def _trim() -> None:
    while True:
        await asyncio.sleep(TRIM)
        await asyncio.to_thread(give_back)


async def _drop(app: Any) -> None:
    """Drop the requests whose client has not listened for `UNHEARD` seconds and has no
    page open."""
    # in a row that found nobody; a server that stood still has not looked
    looks = Counter[str]()
    refusal = ENGLISH.say("error_unheard", seconds=round(UNHEARD))

    def heard(job: gradio_private.Job) -> bool:
        return bool({job.id, job.session} & app.state.listeners.keys())

    while True:
        await asyncio.sleep(UNHEARD / LOOKS)
        unheard = [job for job in gradio_private.jobs(app) if not heard(job)]
        looks = Counter({job.id: looks[job.id] + 1 for job in unheard})
        for job in unheard:
            if looks[job.id] >= LOOKS:
                await gradio_private.drop(app, job, partial(heard, job), refusal)


@contextmanager
def listening(app: Any, name: str) -> Iterator[None]:
    """Note, as long as it is open, that a stream of the answers of a session or of one
    call is listened to."""
    app.state.listeners[name] += 1
    try:
        yield
    finally:
        app.state.listeners[name] -= 1
        if not app.state.listeners[name]:
            del app.state.listeners[name]


def count_end(app: Any, session: str) -> None:
    """Count a stream of the answers of a session that the server has ended. Of more
    than `MOST_SESSIONS` sessions, the one whose stream ended longest ago is counted no
    more: its page may then take one reply too early."""
    ended = app.state.ended
    ended[session] = ended.pop(session, 0) + 1  # now the last in the order
    if len(ended) > MOST_SESSIONS:
        del ended[next(iter(ended))]


def sweep(app: Any) -> None:
    """Forget sessions that ended and were not used for `KEPT` seconds; then, while all
    others hold more than `MOST_KEPT` bytes, the one that was used longest ago."""
    for session in gradio_private.ended(
        app, datetime.datetime.now() - datetime.timedelta(seconds=KEPT)
    ):
        _forget(app, session)
    sizes = {
        session: PAGE + weight(values)
        for session, values in gradio_private.sessions(app)
    }
    surplus = sum(sizes.values()) - MOST_KEPT
    for session, size in sizes.items():
        if surplus <= 0:
            break
        _forget(app, session)
        surplus -= size


def _forget(app: Any, session: str) -> None:
    forget(app, session)
    del app.state.ended[session]


def make_room(app: Any) -> None:
    """While more than `SESSIONS` sessions are kept, forget one: of the client that has
    most, the one that was used longest ago. So a client that opens hundreds takes no
    session from another."""
    kept = [session for session, _ in gradio_private.sessions(app)]
    if len(kept) <= SESSIONS and len(app.state.clients) <= MOST_SESSIONS:
        return
    clients = {session: app.state.clients.get(session, "") for session in kept}
    app.state.clients.clear()
    app.state.clients.update(clients)
    counts = Counter(clients.values())
    for _ in range(len(kept) - SESSIONS):
        most = max(counts, key=counts.__getitem__)
        session = next(session for session in kept if clients[session] == most)
        kept.remove(session)
        counts[most] -= 1
        _forget(app, session)
