"""The door of the page and the API: for how many at once, for how long, and whether somebody still waits there."""

from __future__ import annotations

from collections.abc import Callable

from gradio.context import LocalContext

from xformer.guard import MOST_SECONDS, Guard, most_people


def door() -> Guard:
    """One for all models of a page; raises UserError where the environment says nonsense."""
    return Guard(most_people(), MOST_SECONDS, still_there)


def still_there() -> Callable[[], bool]:
    """In the thread of a handler: how to find out whether whoever asked has closed the page or hung up since.

    Gradio marks the event of a connection that is gone, but lets its handler run on to the end.
    """
    blocks, event_id = LocalContext.blocks.get(None), LocalContext.event_id.get(None)
    event = blocks._queue.event_ids_to_events.get(event_id) if blocks is not None and event_id is not None else None
    return lambda: event is None or event.alive
