"""Everything that rests on private parts of Gradio, which its next version may change:
tried on the versions `TRIED`.

A test fails on any other version. Then read what each function here says it rests on,
run all tests, and widen `TRIED`. Nothing else in this package uses a name that Gradio
does not document. tests/test_plain_gradio.py sees each fault that something here is
for, and fails where Gradio has mended it; docs/upstream/ has patches to send.
"""

import asyncio
import datetime
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import gradio as gr
import uvicorn
from annotated_types import MaxLen
from gradio import http_server, route_utils, routes, state_holder
from gradio.components import _Keywords
from gradio.context import LocalContext
from gradio.data_classes import PredictBody, PredictBodyInternal, SimplePredictBody
from gradio.server_messages import ProcessCompletedMessage, UnexpectedErrorMessage
from gradio.utils import get_function_description
from starlette.responses import Response
from starlette.routing import Route

from xformer.serve.connections import GRACE, Patient, handle_exit
from xformer.strings import ENGLISH

# Of what types the values of components can be; of others, Gradio's own check is
# enough.
KINDS: dict[type, Any] = {
    gr.Textbox: (str, int, float),
    gr.Checkbox: bool,
    gr.Number: (int, float),
    gr.Slider: (int, float),
    gr.Dataset: int,
}
# number of a component: beyond it JavaScript has no whole numbers, and JSON as Gradio
# writes it none
LARGEST = 2**53
log = logging.getLogger(__name__)
# the oldest and the newest minor version; requirements.txt takes no other
TRIED = ("6.31", "6.31")
# Routes of Gradio that this page has no use for: sessions written to the disk, other
# servers' files fetched for any client that asks, recordings, an editor, a monitor.
CLOSED = re.compile(
    r"/(monitoring|openapi\.json|gradio_api/(deep_link|vibe-|undo-vibe|proxy=|file[=/]+https?:|stream/|"
    r"process_recording|custom_component|component_server|dev/|token|runs|run-history|profiling))",
    re.IGNORECASE,
)
# in place of an answer, where a generator has ended
FINISHED = _Keywords.FINISHED_ITERATING
# an answer of the API: the id of the call
CALL = re.compile(r"/gradio_api/call/(?:v2/)?[^/]+/(\w+)/?")
# something to be computed, as JSON
JOIN = re.compile(r"/gradio_api/(queue/join|(call|run|api)/(v2/)?[^/]+)/?")
# of a request of a page: its number, in the order in which the page asks
ASKED = "X-Asked"
LISTEN = "/gradio_api/queue/data"  # answers of a page: its session is in the query
# a page that is open: its session
SESSION = re.compile(r"/gradio_api/heartbeat/([^/]*)/?")
# what ends others' requests, and Gradio lets all do
ENDING = re.compile(r"/gradio_api/(heartbeat/.*|cancel|reset)/?")
# characters of the name of a session; Gradio's own have 11, those of its clients 36
LONGEST_NAME = 64
# seconds after which a server that is to end refuses what is still computed
LATE = GRACE - 1
# seconds between two looks for requests in the queue, and for how far they are
PAUSES = 0.02, 0.1
# answers that wait for a connection to take them: half a minute of a run that is
# watched
MOST_UNREAD = 64
# how the last event of a stream of a page's answers begins
END = b'data: {"msg":"close_stream"'
# in the scope of a request: the list whose sum is the bytes of its body
RECEIVED = "xformer.received"
# in the scope of a request whose values its listener cannot read
REFUSED = "xformer.refused"
# in the scope of a request that has joined the queue: its session
JOINED = "xformer.joined"
# Gradio's scripts; and by the beginning of one's name what `quick_scripts` replaces in
# it:
# - in the tree of components two searches, of which one visited 64,252 components for
#   a click that sets 250 and 1,007,002 for one that sets 1000 (now 1,001 and 4,001;
#   docs/upstream/lookup.md); what components tell their events; that those which come
#   into sight keep what was done with them since: a part of First principles that was
#   opened with its tab was shut again, in three of three tries; and that what comes
#   later is made ready as what comes first is, or all that is folded in it were drawn,
#   and nothing in it would know which events are listened to;
# - in what answers events, that a listener asks once for all that changes in a moment: an
#   address that sets three controls and opens their part had it ask five times within
#   three milliseconds, as each found that nothing was asked yet; and that a listener
#   that waited runs alone: all listeners of its event ran, and where two of them waited,
#   each had the other wait again, for ever (docs/upstream/event_data.md);
# - in what answers events too, that components are asked only for what a listener wants
#   to know of them: each that it listens to was asked, 320 when the page is opened and
#   150 when its address is written, for nothing;
# - in what answers events too, that a component is told its status when it is another: at
#   each step of each answer all were told that ever had one, and what each holds was
#   copied before that, a fifth of the scripts' time while all tabs and parts are opened
#   (docs/upstream/status.md);
# - that a page which no other holds does not wait, for 60 frames, for what would tell
#   that other its height: each frame was made anew for that;
# - in HTML, that a template without anything to fill in, or of the value alone, is taken
#   as it is: each was compiled twice, as two kinds of template;
# - in the client, that what a step of an answer changes is changed in a copy: on a busy
#   machine the step before, which nobody had looked at yet, lost what only it set, in 3
#   of 10 tries at a load of 10;
# - that what a page is made of is made once: it was made again, and each component set
#   again, as soon as it was there;
# - in a status, the clock, which tells tenths of a second: it ran in each frame, and for
#   ever where the status was taken away, a tenth of a core; and the squares, which move:
#   where thirty opened the page together, each drew two thousand frames of the two,
#   which kept all from getting on;
# - in what writes texts, that all languages are looked for which the browser knows, ten
#   milliseconds, where one is named;
# - in a dropdown, the labels of choices: an error where fewer come while its list is
#   open; and that it tells an input where something is chosen or typed, and not whenever
#   it loses the focus, where a choice was asked for twice, and who only left it was
#   answered (docs/upstream/dropdown.md).
SCRIPTS = Path(gr.__file__).parent / "templates" / "frontend" / "assets"
REPLACED = {
    "core": (
        (
            re.compile(
                r"(function (\w+)\((\w),(\w)\)\{)if\(\3\.id===\4\)return \3;if\(\3\.children\)for\(let (\w) of "
                r"\3\.children\)\{let \3=\2\(\5,\4\);if\(\3\)return \3\}return null\}"
            ),
            r"\1return lookUp(\3,\4)}",
        ),
        (
            re.compile(
                r"(find_attached_events\((\w),(\w)\)\{let \w=)\3\.filter\((\w)=>\4\.targets\.find\(.{,120}?"
                r"\.filter\(Boolean\);"
            ),
            r"\1eventsOf(\2.id,\3);",
        ),
        (
            re.compile(
                r"(constructor\(\w,\w,(\w),\w,(\w),\w,(\w)\)\{)(this\.ready=new Promise)"
            ),
            r"\1\4=attend(\3,\4,\2);\5",
        ),
        (
            re.compile(
                r"(postprocess\((\w)\)\{this\.root=this\.traverse\(\2,(\[[^\]]*\])\)\}.*?let \w=this\.traverse\(\w,)"
                r"\w=>\w+\(\w,this\.initial_tabs\)(\),\w=)",
                re.DOTALL,
            ),
            r"\1\3\4",
        ),
        (
            re.compile(
                r"(async(#\w)\(\w,\w\)\{let \w=this\.#\w\.get\(\w\);if\(!\w\)return;let \w=await \w\(\);.*?"
                r"render_previously_invisible_children\(.*?for\(let (\w) of \w\))(this\.#\w\(\3\))",
                re.DOTALL,
            ),
            r"\1await this.\2(\3.id,\3),\4",
        ),
    ),
    "Blocks": (
        (
            re.compile(
                r"(===`defer`\)\{this\.queue\.add\((\w)\.id\);continue\})(?=\2\.functions\.backend)"
            ),
            r"\1if(\2.trigger_modes===`always_last`&&\2.functions.backend"
            r"&&await this.client.joins(\2.id,this.submissions,this.queue))continue;",
        ),
        (
            re.compile(
                r"(this\.queue\.has\((\w)\.id\)&&\(this\.queue\.delete\(\2\.id\),this\.dispatch\()(\w)(\)\)\}\}catch)"
            ),
            r"\1{type:`fn`,fn_index:\2.id,event_data:\3.event_data,target_id:\3.target_id}\4",
        ),
        (
            re.compile(
                r"(\w+\(\(\)=>\{\w\(\)),(\w+\(\(\)=>\{\w\.reload\(\w\.components,)"
            ),
            r"\1&&\2",
        ),
        (
            re.compile(r"(async set_event_args\(\w,(\w)\)\{)(let \w=\{\},)"),
            r"\1if(!Object.keys(\2).length)return()=>{};\3",
        ),
        (
            re.compile(
                r"(update_loading_stati_state\(\)\{await Promise\.all\()"
                r"Object\.entries(\(this\.loading_stati\.current\))"
            ),
            r"\1this.client.news\2",
        ),
        (
            re.compile(r"(\w\+\+<60&&)(\(\w=requestAnimationFrame\(\w\)\))"),
            r"\1parent!==window&&\2",
        ),
    ),
    "HTML": (
        (
            re.compile(r"(function .{1,2}\((\w),(\w),\w=`html`\)\{try\{)(let \w=)"),
            r"\1if(\2==='${value}')return String(\3.value);"
            r"if(!/[`\\\\]|\{\{|\${/.test(\2))return \2;\4",
        ),
    ),
    "index": (
        (
            re.compile(
                r"(function \w+\((\w),(\w)\)\{return )(\3\.forEach\(\(\[\w,\w,\w\]\)=>\{\2=)"
            ),
            r"\1\2=\3.length?structuredClone(\2):\2,\4",
        ),
    ),
    "statustracker": (
        (
            re.compile(
                r"(,(\w+),(\w+)=!1,.*?function (\w+)\(\)\{)\w+"
                r"(\(\(\)=>\{\w\(\w+,\(performance\.now\(\)-[^)]*\)\)/1e3\),\3&&)\4\(\)\}\)\}",
                re.DOTALL,
            ),
            r"\1setTimeout\5\2&&\4()},100)}",
        ),
        (
            re.compile(
                r"(async function (\w)\(\)\{await Promise\.all\(\[\w\.set\(\[125,0\]\),"
                r"\w\.set\(\[-125,0\]\)\]\),\w\(\)\}\w\(\(\)=>\()\2\(\),"
            ),
            r"\1",
        ),
    ),
    "runtime": (
        (
            re.compile(
                r"Intl\.NumberFormat\.supportedLocalesOf(\(\w\);return \w\.length>0)"
            ),
            r"Intl.getCanonicalLocales\1",
        ),
    ),
    "Index": (
        (
            re.compile(
                r"(\w\.choices\[\w\(\w\)\])(\[0\]\).{,400}?\$\{\1)(\[0\]\?\?)",
                re.DOTALL,
            ),
            r"\1?.\2?.\3",
        ),
        (
            re.compile(
                r"(!==\w&&\(\w\(\w\)\.includes\(\w\(\w\)\)\?.{,80}?\):\(\w\(\w\(\w\)\),\w\(\w,null\)\))(\):"
                r".{,160}?\.on_blur\?\.\(\)),(\w\.on_input\?\.\(\))(.{,1400}?`Enter`&&\(.{,120}?)(\w\.blur\(\))"
                r"(.{,90}?)\5(.{,90}?)\5",
                re.DOTALL,
            ),
            r"\1,\3\2\4\3,\5\6\3,\5\7\3,\5",
        ),
    ),
}

# Gradio counts each call in a table and computes the whole table again after each call:
# 11 ms of a core with 100 calls in it, 23 with 10,000. It serves only the monitoring
# page, which is off.
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "1")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000000")

# Gradio's own middleware lets pages of all sites ask a server that is not on localhost,
# with any header, and read what it answers. serve/hosts.py refuses them; but on a Space
# it takes the headers of proxies as they come, so a page of another site that sends
# X-Gradio-Server with its own name was answered, 200 in place of 403. Without leave to
# send that header, the browser does not send it.
routes.CustomCORSMiddleware = lambda app, **_: app  # type: ignore[assignment, misc]

# Refuse longer names of sessions wherever Gradio reads one from a body: each is the key
# of what it keeps. The limit of a body's size is not enough: of twenty requests with
# names of 10 MB seven were taken, and 15 seconds later, answered or not, their 70 MB
# were kept still (the process had grown by 104).
for _model in (PredictBody, SimplePredictBody, PredictBodyInternal):
    _model.model_fields["session_hash"].metadata.append(MaxLen(LONGEST_NAME))
    _model.model_rebuild(force=True)


# Do not note what every component of a page was set to, its pictures among them: only
# deep links read that, which `CLOSED` closes. Gradio has no public way to leave it:
# `deep_link` is an option of gr.Interface only. An opened page keeps 4.2 MB without
# this and `keep_little`, 1.6 without this, and 0.7 with both.
state_holder.SessionState.config_values = property(
    lambda state: {}, lambda state, values: None
)  # type: ignore
for _note in ("_update_config", "_update_value_in_config"):
    setattr(state_holder.SessionState, _note, lambda *what: None)

# For `launch`: Gradio has just waited for an answer of this server. It asks again, for
# the page, and ends the app where that takes 3 seconds: of six apps that were started
# at once on one core, five ended so.
UNASKED: dict[str, Any] = {"_frontend": False}

_start = http_server.Server.run_in_thread


def _strange(block: Any, value: Any, choices: Any = ()) -> bool:
    """Whether a value cannot come from a component. Of what can, Gradio compares the
    size and the choice.

    choices: those that it has at present, where it is a menu.
    """
    is_menu = isinstance(block, gr.Dropdown)
    if value is None:  # a number that was emptied, or nothing chosen yet
        stays = (
            isinstance(block, gr.Radio)
            or is_menu
            and choices
            or (isinstance(block, gr.Number) and not block.visible)
        )
        return isinstance(block, gr.Dataset) or bool(stays) and block.value is not None
    kinds = next(
        (kinds for kind, kinds in KINDS.items() if isinstance(block, kind)), object
    )
    if is_menu:
        kinds = (
            list
            if block.multiselect
            else str
            if block.allow_custom_value
            else (str, int, float)
        )
    return (
        not isinstance(value, kinds)
        or isinstance(value, (int, float))
        and not abs(value) <= LARGEST
    )


def _whole(value: Any) -> Any:
    """A text without halves of characters, which Gradio cannot send back; any other
    value as it is."""
    return (
        value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if isinstance(value, str)
        else value
    )


class Refused(gr.Error):
    """What a listener was called with is nothing that it can be called with."""


async def _preprocess(
    blocks: gr.Blocks, block_fn: Any, inputs: list[Any], state: Any, *more: Any
) -> Any:
    """Have Gradio read the inputs of a listener. What cannot be read is refused in a
    sentence, with one line in the log in place of dozens."""
    try:
        for block, value in zip(block_fn.inputs, inputs, strict=False):
            now = (
                state[block._id] if state is not None and block._id in state else block
            )
            if not block.stateful and _strange(
                block, value, getattr(now, "choices", ())
            ):
                raise TypeError
        given = [
            "" if value is None and isinstance(block, gr.Textbox) else _whole(value)
            for block, value in zip(block_fn.inputs, inputs, strict=False)
        ]
        return await _read(blocks, block_fn, given, state, *more)
    except Exception as error:
        log.warning(
            "listener %s was called with what it cannot read: %s",
            block_fn._id,
            type(error).__name__,
        )
        raise Refused(
            ENGLISH.html("error_inputs", values=str(inputs)[:40]), print_exception=False
        ) from None


async def _call(app: Any, body: PredictBodyInternal, *more: Any, **named: Any) -> Any:
    """Have Gradio answer a request. An event brings a dictionary of data, of which
    Gradio makes sure nowhere."""
    if not isinstance(body.event_data, dict):
        body.event_data = {}
    # which Gradio notes for the thread of the handler only
    LocalContext.event_id.set(body.event_id)
    try:
        return await _answer(app, body, *more, **named)
    except Refused:
        if body.request is not None:
            body.request.scope[REFUSED] = True
        raise


class Shown:
    """What a page shows of one handler: of each output, when the answer that it shows
    was asked for; and the turn of the answer that is taken up."""

    def __init__(self, outputs: int) -> None:
        self.asked = [0.0] * outputs
        self.turn = asyncio.Lock()


async def _postprocess(
    blocks: gr.Blocks, block_fn: Any, predictions: Any, state: Any
) -> list[Any]:
    """Have Gradio take up an answer of a listener of ours, which it then sends at once;
    but of each output nothing that was asked for before what the page shows there by
    the same handler.

    One is taken up after the other: it takes a thread for each output, and a small
    answer overtook a large one, which was sent last and stayed. What the small one
    leaves alone the large one still shows: a picture that is drawn is not drawn again.
    `tells` of a handler's function: of which outputs an answer says something.
    """
    tells = getattr(block_fn.fn, "tells", None)
    event = _event()
    # of the last
    if (
        tells is None
        or event is None
        or predictions is FINISHED
        or isinstance(predictions, tuple)
    ):
        return await _take_up(blocks, block_fn, predictions, state)
    count = len(block_fn.outputs)
    shown = _shown.setdefault(state, {}).setdefault(block_fn.fn, Shown(count))
    asked = _asked(event)
    async with shown.turn:
        told = tells(predictions)
        each = [predictions] if count == 1 else [*predictions]
        for i, before in enumerate(shown.asked):
            if asked < before:
                each[i] = gr.skip()
            elif told[i]:
                shown.asked[i] = asked
        return await _take_up(blocks, block_fn, each[0] if count == 1 else each, state)


def _asked(event: Any) -> float:
    """When an event was asked for, as its page counts (assets/gradio_answers.js): of
    two requests, the later one may come first."""
    told = event.request.headers.get(ASKED, "")
    return (
        float(told)
        if told.isascii() and told.isdigit() and len(told) < 16
        else event.enqueue_time
    )


def _in_steps(
    blocks: gr.Blocks, block_fn: Any, data: list[Any], *, final: bool, **more: Any
) -> list[Any]:
    """Have Gradio send a step of an answer as what differs from the step before. At the
    end it sends the last one once more, for clients of the API: on a page that would
    undo what another answer has shown since."""
    sent = _differences(blocks, block_fn, data, final=final, **more)
    return (
        [gr.skip() for _ in sent]
        if final and block_fn.api_visibility == "private"
        else sent
    )


# by the session of a page, and by the function of a handler
_shown = WeakKeyDictionary[Any, dict[Any, Shown]]()
_read = gr.Blocks.preprocess_data
_take_up = gr.Blocks.postprocess_data
_answer = route_utils.call_process_api
_differences = gr.Blocks.handle_streaming_diffs
gr.Blocks.preprocess_data = _preprocess  # type: ignore[method-assign, assignment]
gr.Blocks.postprocess_data = _postprocess  # type: ignore[method-assign, assignment]
gr.Blocks.handle_streaming_diffs = _in_steps  # type: ignore[method-assign, assignment]
route_utils.call_process_api = _call


def _run_in_thread(server: Any) -> None:
    """Start a server whose connections have a time to say what they want
    (serve/connections.py), and which finishes what is under way when it is ended;
    `launch` has no option for uvicorn's protocol, and uvicorn has none for that time.
    Gradio's own wait, of five seconds, is enough: of six MCP servers that were started
    at once on one core none needed more than 0.41."""
    server.config.http = Patient
    server.config.timeout_graceful_shutdown = GRACE
    _start(server)


async def _shutdown(server: Any, sockets: Any = None) -> None:
    """End a server when what is under way is answered, as uvicorn does, with what
    `_end` does meanwhile."""
    ending = asyncio.create_task(_end(server.running_app))
    await uvicorn.Server.shutdown(server, sockets)
    ending.cancel()


async def _end(app: Any) -> None:
    """End the streams that tell that a page is open, refuse what waits in the queue,
    and after `LATE` seconds what is still computed, which would be broken off."""
    if not isinstance(app, routes.App):
        return
    app.stop_event.set()
    queue = app.get_blocks()._queue
    waiting = {
        event._id
        for one in queue.event_queue_per_concurrency_id.values()
        for event in one.queue
    }
    for seconds in (0, LATE):
        await asyncio.sleep(seconds)
        for job in jobs(app):
            if seconds or job.id in waiting:
                await queue.clean_events(event_id=job.id)
                _tell(app, job, ENGLISH.say("error_ending"))


http_server.Server.run_in_thread = _run_in_thread  # type: ignore[method-assign]
http_server.Server.shutdown = _shutdown  # type: ignore[method-assign, assignment]
http_server.Server.handle_exit = handle_exit  # type: ignore[method-assign, assignment]


def _event() -> Any:
    """In the thread of a handler: the event of Gradio that it answers; None outside an
    event."""
    blocks = LocalContext.blocks.get(None)
    event_id = LocalContext.event_id.get(None)
    return (
        blocks._queue.event_ids_to_events.get(event_id)
        if blocks is not None and event_id is not None
        else None
    )


def still_there() -> Callable[[], bool]:
    """In the thread of a handler: make a function that tells later whether the client
    has closed the page or hung up.

    Gradio marks the event of a connection that is gone as not alive, but lets its
    handler run on to the end; and what a slow connection does not take it keeps.
    Whoever takes none of MOST_UNREAD answers is not there either.
    """
    blocks = LocalContext.blocks.get(None)
    event = _event()
    if blocks is None or event is None:
        return lambda: True

    def there() -> bool:
        messages = blocks._queue.pending_messages_per_session.get(event.session_hash)
        return event.alive and (messages is None or messages.qsize() < MOST_UNREAD)

    return there


def visitor() -> str:
    """In the thread of a handler: the address of the client; empty outside an event.
    Gradio tells it only to a handler with an argument for it, and the guard of the
    models is asked deep below handlers."""
    event = _event()
    client = None if event is None else event.request.client
    return "" if client is None else client.host


def logged_in(app: Any, cookies: Mapping[str, str]) -> bool:
    """Whether a request with these cookies may see the page: it asks for no password,
    or was given it. Gradio looks in its own routes only, and in none of `ENDING`."""
    return app.auth is None or user(app, cookies) is not None


def user(app: Any, cookies: Mapping[str, str]) -> str | None:
    """The name that a request with these cookies has logged in with; None on a page
    that asks for no password."""
    tokens = (
        cookies.get(f"{name}-{app.cookie_id}")
        for name in ("access-token", "access-token-unsecure")
    )
    return next((app.tokens[token] for token in tokens if token in app.tokens), None)


def pages(scope: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths of the pages of an app that a request is for; none where Gradio's
    scripts are not as they were tried, so that they could not fetch what a page is sent
    without."""
    app = scope["app"]
    return (
        tuple(f"/{path}" for path, *_ in app.get_blocks().pages)
        if quick_scripts_fit()
        else ()
    )


def served_at(app: Any) -> list[str]:
    """The addresses at which a page is served: its own, and that of a public link,
    which is not known before it is served. serve/hosts.py refuses all other names."""
    blocks = app.get_blocks()
    return [
        address
        for address in (getattr(blocks, "local_url", None), blocks.share_url)
        if address
    ]


def is_call(app: Any, name: str) -> bool:
    """Whether this is the id of a call of the API that has not been answered, and not
    the name of a session.

    One that was dropped is none any more, though it may be computed still: Gradio's
    stream of its answers would fail.
    """
    queue = app.get_blocks()._queue
    return any(
        name in calls and session in queue.pending_messages_per_session
        for session, calls in list(queue.pending_event_ids_session.items())
    )


def lost(app: Any, session: str) -> str | None:
    """What a stream of the answers of a session says that waits for none; None for one
    that waits for some.

    Gradio says the same, and then fails: seventy lines in the log for each such
    request.
    """
    if session in app.get_blocks()._queue.pending_messages_per_session:
        return None
    message = UnexpectedErrorMessage(message="404: Not Found", session_not_found=True)
    return f"data: {message.model_dump_json()}\n\n"


def note_clients(app: Any, note: Callable[[str, str], None]) -> None:
    """Call `note` with the session and the address of each request that joins Gradio's
    queue; its scope has `JOINED` from then on. Without it a visitor who opens hundreds
    of pages takes the sessions of others: Gradio forgets the session that was used
    longest ago, and does not look at which address has most."""
    queue = app.get_blocks()._queue
    push = queue.push

    async def noting(body: Any, request: Any, username: str | None) -> Any:
        if body.session_hash is not None and request.client is not None:
            note(body.session_hash, request.client.host)
        pushed = await push(body=body, request=request, username=username)
        request.scope[JOINED] = body.session_hash
        return pushed

    queue.push = noting


class Job(NamedTuple):
    """A request that waits in the queue or is computed."""

    id: str
    session: str
    seconds: float  # since it came
    size: int  # bytes of its body, which is kept until it is answered
    address: str = ""  # of its client


def number_of(component: gr.blocks.Block) -> int:
    """Return the number by which the page's scripts are told of a component."""
    return int(component._id)


def stay(demo: gr.Blocks) -> None:
    """Serve until a signal ends it; called in the main thread."""
    server: Any = demo.server
    with suppress(KeyboardInterrupt), server.capture_signals():
        while server.thread.is_alive():
            server.thread.join(0.1)


def jobs(app: Any) -> list[Job]:
    """List the requests that wait in Gradio's queue or are computed. Gradio limits
    their number, not their bytes, and computes those too that nobody listens to."""
    return [
        Job(
            event._id,
            event.session_hash,
            time.monotonic() - event.enqueue_time,
            sum(event.request.scope.get(RECEIVED, ())),
            "" if event.request.client is None else event.request.client.host,
        )
        for event in list(app.get_blocks()._queue.event_ids_to_events.values())
    ]


async def drop(app: Any, job: Job, heard: Callable[[], bool], refusal: str) -> None:
    """Take a request out of Gradio's queue, or mark it as abandoned, as Gradio does
    when a stream of answers is closed; a client that asks for its answer later is told
    that there is none.

    heard: tells whether somebody listens by now: a stream that began meanwhile ends
    with `refusal`, as Gradio itself would break it off.
    """
    queue = app.get_blocks()._queue
    if heard():
        return
    await queue.clean_events(event_id=job.id)
    if heard() and _tell(app, job, refusal):
        return
    pending = queue.pending_event_ids_session.get(job.session, set())
    pending.discard(job.id)
    if not pending:
        queue.pending_event_ids_session.pop(job.session, None)
        queue.pending_messages_per_session.pop(job.session, None)


def _tell(app: Any, job: Job, refusal: str) -> bool:
    """End a request: send a refusal as its answer. Return False where no stream can
    carry it."""
    messages = app.get_blocks()._queue.pending_messages_per_session.get(job.session)
    if messages is None:
        return False
    messages.put_nowait(
        ProcessCompletedMessage(
            event_id=job.id, output={"error": refusal}, success=False
        )
    )
    return True


def look_less_often(app: Any) -> None:
    """Have Gradio look fifty times a second for requests, and ten times for how far
    they are.

    It looks a thousand times and a hundred times, which takes a twentieth of a core
    from an app that nobody uses (docs/upstream/poll.md).
    """
    queue = app.get_blocks()._queue
    queue.sleep_when_free, queue.progress_update_sleep_when_free = PAUSES


def keep_little(app: Any) -> None:
    """Stop Gradio from noting every component of the page for each session, even for
    one call of the API.

    That is 190 ms of a core here, for a page of 2,150 components, and only for deep
    links, which `CLOSED` closes. Told that a page has no components, it notes only what
    changes, in 0.2 ms.
    """
    app.state_holder.blocks = SimpleNamespace(
        default_config=app.get_blocks().default_config, blocks={}
    )


def sessions(app: Any) -> Iterator[tuple[str, Any]]:
    """The sessions that are kept and the values of their States, the one that was used
    longest ago first."""
    for session, state in list(app.state_holder.session_data.items()):
        yield session, state.state_data


def ended(app: Any, before: datetime.datetime) -> list[str]:
    """Sessions that no page needs any more and that were last used before a time: pages
    that were closed, and calls of the API, each a session named by its call, whose
    answer was fetched or never asked for.

    Gradio keeps them until there are too many of all: at least 0.7 MB of each page.
    """
    holder = app.state_holder
    queue = app.get_blocks()._queue

    def over(session: str, state: Any) -> bool:
        called = session in queue.pending_event_ids_session.get(session, ())
        return state.is_closed or (called and session not in queue.event_ids_to_events)

    return [
        session
        for session, state in list(holder.session_data.items())
        if over(session, state) and holder.time_last_used.get(session, before) <= before
    ]


def forget(app: Any, session: str) -> None:
    """Keep nothing of a session."""
    app.state_holder.session_data.pop(session, None)
    app.state_holder.time_last_used.pop(session, None)
    queue = app.get_blocks()._queue
    queue.pending_event_ids_session.pop(session, None)
    queue.pending_messages_per_session.pop(session, None)


def _changed(begins: str) -> tuple[str, str]:
    """The script of Gradio whose name begins so and in which all that is in `REPLACED`
    stands once: its name, and its text with that replaced. Raises LookupError where
    there is none."""
    for path in SCRIPTS.glob(f"{begins}-*.js"):
        text = path.read_text(encoding="utf-8")
        counts = set[int]()
        for search, replacement in REPLACED[begins]:
            text, count = search.subn(replacement, text)
            counts.add(count)
        if counts == {1}:
            return path.name, text
    raise LookupError(f"There is no {begins}-*.js in {SCRIPTS} as it was tried")


def quick_scripts(scripts: str) -> dict[str, str]:
    """Return Gradio's patched bundles by file name:

    - the tree of components, which looks them up by assets/gradio_tree.js, shows
      answers by assets/gradio_answers.js and begins with assets/gradio_stream.js (all
      three in one file with the page's other first scripts, ui/components.py);
    - the listeners, of which one that waited runs alone;
    - the client, in which a step of an answer leaves the step before it as it was;
    - the status of a component, whose timer ends;
    - texts, and the dropdown, which tells a choice once.

    scripts: the folder of those in assets/, seen from Gradio's.

    Gradio looks through all components of the page, each behind a proxy, for every
    input and output of every event, and for every component through all events: here
    most of the time from a click to the picture. Raises LookupError where a script of
    Gradio is not as it was tried.
    """
    changed = dict(map(_changed, REPLACED))
    tree = next(iter(changed))
    imports = (
        f'import {{$gradio_answers, $gradio_tree}} from "{scripts}/first.js";'
        "const {attend} = $gradio_answers, {eventsOf, lookUp} = $gradio_tree;"
    )
    return changed | {tree: imports + changed[tree]}


@cache
def quick_scripts_fit() -> bool:
    """Whether Gradio's scripts are as they were tried."""
    with suppress(LookupError):
        return bool(quick_scripts("") and first_files(()))
    return False


def quick_page(scripts: str) -> list[Route]:
    """Serve `quick_scripts` in place of Gradio's; a version of Gradio that has others
    keeps its own."""

    def route(name: str, text: str) -> Route:
        return Route(
            f"/assets/{name}",
            lambda request: Response(
                text,
                media_type="text/javascript",
                headers={"Cache-Control": "max-age=86400"},
            ),
        )

    try:
        return [route(*one) for one in quick_scripts(scripts).items()]
    except LookupError:
        return []


@contextmanager
def laid_out_once() -> Iterator[None]:
    """While this lasts, Gradio makes no server of Blocks; they get it from `queue`.

    It describes all components and makes a server when Blocks are begun, and twice at
    the end of each page that is laid out: 0.9 of the 2.0 processor seconds of `create`.
    """
    make = routes.App.create_app
    describe = gr.Blocks.get_config_file
    routes.App.create_app = staticmethod(lambda *_, **__: None)  # type: ignore
    gr.Blocks.get_config_file = lambda blocks: {}  # type: ignore
    try:
        yield
    finally:
        routes.App.create_app = staticmethod(make)  # type: ignore[method-assign]
        gr.Blocks.get_config_file = describe  # type: ignore[method-assign]


def first_files(kinds: Iterable[str]) -> tuple[list[str], list[str]]:
    """The names of Gradio's files that a page with components of such kinds fetches,
    each once: those that begin it, and those that come with what it is made of.

    Its page learns of them in four waves, and asks for each style by itself: 27 of 91
    requests were such. Raises LookupError where its scripts are not as they were tried.
    """
    begin, frame, tree = (
        next(SCRIPTS.glob(f"{name}-*.js"), Path()).name
        for name in ("index", "Blocks", "core")
    )
    page, *fetched = _fetched(begin, r"import\(`\./(?=Index-)")
    body = _fetched(page, rf"import\(`\./(?={re.escape(frame)})")
    for kind in kinds:
        body += _fetched(
            tree, rf"[{{,]{kind}:\{{[^}}]*?component:\(\)=>\w+\(\(\)=>import\(`\./"
        )
    first = [f"{begin[:-3]}.css", page, *fetched]
    begun = [name for name in dict.fromkeys(first) if (SCRIPTS / name).is_file()]
    return begun, [name for name in dict.fromkeys(body) if name not in (*begun, begin)]


def _fetched(script: str, found: str) -> list[str]:
    """What a script of Gradio fetches where it imports another, that other first."""
    text = (SCRIPTS / script).read_text(encoding="utf-8")
    listed = re.search(r"m\.f=(\[[^\]]*\])", text)
    needs = re.search(
        rf"{found}([\w-]+\.js)`\)(?:(?!import\().)*?__vite__mapDeps\(\[([\d,]*)\]\)",
        text,
        re.DOTALL,
    )
    if listed is None or needs is None:
        raise LookupError(f"{SCRIPTS / script} is not as it was tried")
    names = json.loads(listed[1])
    numbers = map(int, needs[2].split(","))
    return [needs[1], *(names[one].removeprefix("./") for one in numbers)]


def scoped_style(text: str) -> str:
    """A style of ours as Gradio's page has it: each rule once more for what stands in
    the page, so that it prevails over Gradio's own; those within a condition for that
    alone; of other rules with an @, only movements.

    Gradio's page makes that of a style in the browser: it parses 127 kB twice and writes
    309 kB, which takes 40 milliseconds of each visit.
    """
    page = f".gradio-container.gradio-container-{gr.__version__.replace('.', '-')} .contain "

    def scoped(selector: str, rule: str) -> str:
        dark = ".dark" if ".dark" in rule else ""
        parts = selector.replace(".dark", "", 1).split(",")
        return ",".join(f"{dark} {page} {part.strip()} " for part in parts)

    written = []
    for selector, body in _rules(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)):
        if selector.startswith("@media"):
            inside = "".join(
                f"{scoped(one, one + what)}{{{what}}}" for one, what in _rules(body)
            )
            written.append(f"{selector}{{{inside}}}")
        elif selector.startswith("@keyframes"):
            written.append(f"{selector}{{{body}}}")
        elif not selector.startswith("@"):
            written.append(f"{selector},{scoped(selector, selector + body)}{{{body}}}")
    return "\n".join(written)


def _rules(text: str) -> Iterator[tuple[str, str]]:
    """The rules of a style without comments: what stands before the braces of each, and
    in them."""
    depth = begun = inside = 0
    for found in re.finditer(r"[{}]", text):
        depth += 1 if found[0] == "{" else -1
        if depth == 1 and found[0] == "{":
            inside = found.end()
        elif depth == 0:
            selector = " ".join(text[begun : inside - 1].split())
            yield selector, text[inside : found.start()].strip()
            begun = found.end()


def hide_endpoints(demo: gr.Blocks) -> None:
    """Leave the description of the endpoints out of the page that asks for a password:
    Gradio would put it there."""
    describe = demo.get_api_info
    demo.get_api_info = (  # type: ignore[method-assign]
        lambda all_endpoints=False, page=None: describe(
            all_endpoints, None if page is None else "none"
        )
    )


def publish(
    demo: gr.Blocks, described: Callable[..., Any], called: Callable[..., Any]
) -> None:
    """Offer a function as an endpoint named like it, called inside the Blocks; its
    docstring tells what it takes.

    described: the function with its docstring. called: what is called for it. Gradio
    itself tells only clients of MCP what the docstring says of each argument; here all
    are told (docs/upstream/api.md).
    """
    description, arguments, returns = get_function_description(described)
    gr.api(
        called,
        api_name=described.__name__,
        api_visibility="public",
        api_description=f"{description} Returns {' '.join(returns)}",
    )
    *_, published = demo.fns.values()
    for component, said in zip(published.inputs, arguments.values(), strict=True):
        vars(component)["_api_info"]["additional_description"] = said
