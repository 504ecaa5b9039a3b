"""What Gradio does by itself. Each test names the hook of gradio_private.py that is
there for it.

Where one fails, Gradio has mended it, and the hook can go.
"""

import asyncio
import importlib.util
import inspect
import platform
import re
import sys
import threading
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import gradio as gr
import pandas
import pytest
import uvicorn
from gradio import component_meta, data_classes, route_utils, routes, state_holder
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from tests.pages import run
from xformer.ui.server import gradio_private, loading

LONG = "a" * (gradio_private.LONGEST_NAME + 1)


@pytest.fixture
def plain(monkeypatch):
    """`plain(module)`: a module of Gradio as it is, of which gradio_private.py has
    changed the one that is loaded."""

    def load(module):
        found = importlib.util.spec_from_file_location(
            f"plain_{module.__name__.rpartition('.')[2]}", module.__file__
        )
        loaded = importlib.util.module_from_spec(found)
        monkeypatch.setitem(sys.modules, found.name, loaded)
        found.loader.exec_module(loaded)
        return loaded

    return load


def made(*laid_out, auth=None):
    """A page with what these functions lay out, and its app."""

    # where no event loop is running, Gradio makes some that it never closes
    async def make():
        with gr.Blocks(analytics_enabled=False) as demo:
            for lay_out in laid_out:
                lay_out()
        demo.auth = auth
        demo.auth_message = None
        return demo, routes.App.create_app(demo)

    return run(make())


@contextmanager
def served(*laid_out, auth=None):
    """`(client, demo)`, of a page that is served."""
    demo, app = made(*laid_out, auth=auth)
    with TestClient(app) as client:
        client.get("/gradio_api/startup-events")
        yield client, demo


def test_the_source_of_each_component_is_read_to_write_a_file_beside_it():
    """xformer/ui/server/loading.py: `without_stubs`."""
    asked = inspect.getsource(component_meta.create_or_modify_pyi)
    assert "inspect.getfile(component_class)" in asked
    declares = inspect.getsource(component_meta.ComponentMeta.__new__)
    assert "create_or_modify_pyi(" in declares
    with loading.without_stubs():
        with pytest.raises(OSError, match="Textbox needs no .pyi file"):
            inspect.getfile(gr.Textbox)
        assert inspect.getfile(loading) == loading.__file__
    assert inspect.getfile(gr.Textbox).endswith("textbox.py")


def test_all_components_are_described_again_and_again_while_a_page_is_laid_out(
    monkeypatch,
):
    """`laid_out_once`."""
    described = []
    describe = gr.Blocks.get_config_file

    def counted(blocks):
        described.append(blocks)
        return describe(blocks)

    async def lay_out(once):
        with once:
            with gr.Blocks(analytics_enabled=False) as demo:
                gr.Textbox()
            with demo.route("Other", "/other"):
                gr.Textbox()
        counts = [len(described)]
        demo.queue()
        return demo, [*counts, len(described)]

    monkeypatch.setattr(gr.Blocks, "get_config_file", counted)
    assert run(lay_out(nullcontext()))[1] == [5, 6]
    described.clear()
    demo, counts = run(lay_out(gradio_private.laid_out_once()))
    assert counts == [0, 1]
    # two texts, each in a form of its own
    assert len(demo.config["components"]) == 4 and demo.app.get_blocks() is demo


def test_the_whole_table_of_calls_is_computed_after_each(monkeypatch):
    """GRADIO_ANALYTICS_*"""
    for name in ("MAX_EVENTS", "CACHE_FREQUENCY"):
        monkeypatch.delenv(f"GRADIO_ANALYTICS_{name}")
    computed = []

    def counted(records):
        computed.append(len(records))
        return pandas.DataFrame(records)

    demo, _ = made(gr.Button)
    queue = demo._queue
    assert queue.ANAYLTICS_CACHE_FREQUENCY == 1
    monkeypatch.setattr(queue, "_get_df", counted)
    records = []
    for _ in range(3):
        records.append({"function": "draw", "status": "success", "process_time": 0.1})
        queue.events_recorded += 1
        queue.compute_analytics_summary(records)
    assert computed == [1, 2, 3]


def test_a_page_tells_of_all_its_tabs_at_once_and_is_sent_whole_each_time():
    """pages; delivery.py"""

    def lay_out():
        with gr.Tabs():
            for name in ("first", "second"):
                with gr.Tab(name):
                    gr.Textbox(f"in the {name}")

    with served(lay_out) as (client, demo):
        demo.config["body_css"] = {}  # which `launch` sets
        pages = [
            client.get("/", headers={"If-None-Match": "*", "Accept-Encoding": "gzip"})
            for _ in range(2)
        ]
        script = client.get(
            f"/assets/{next(gradio_private.SCRIPTS.glob('core-*.js')).name}"
        )
    for page in pages:
        assert page.status_code == 200 and "in the second" in page.text
        assert not {"etag", "content-encoding"} & {*page.headers}
    rendered = re.search(r"rerender\(.*?\}\#", script.text, re.DOTALL)[0]
    assert "find_attached_events" not in rendered, (
        "what comes later is made ready as what comes first"
    )


def test_a_page_of_another_site_may_ask_and_read(monkeypatch):
    """CustomCORSMiddleware"""
    app = Starlette(routes=[Route("/", lambda request: PlainTextResponse("read"))])
    app.add_middleware(route_utils.CustomCORSMiddleware, strict_cors=True)
    asks = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "x-gradio-server",
    }
    with TestClient(app, base_url="https://page.example.org") as client:
        assert (
            client.options("/", headers=asks).headers["Access-Control-Allow-Headers"]
            == "x-gradio-server"
        )
        assert (
            client.get("/", headers=asks).headers["Access-Control-Allow-Origin"]
            == "https://evil.example"
        )


@pytest.mark.parametrize(
    "name", ["PredictBody", "SimplePredictBody", "PredictBodyInternal"]
)
def test_the_name_of_a_session_may_be_of_any_length(plain, name):
    """MaxLen"""
    assert (
        getattr(plain(data_classes), name)(data=[], session_hash=LONG).session_hash
        == LONG
    )
    with pytest.raises(ValueError, match="at most 64"):
        getattr(data_classes, name)(data=[], session_hash=LONG)


def test_a_session_notes_all_components_and_the_pictures_that_they_were_set_to(plain):
    """config_values, keep_little"""
    demo, _ = made(gr.HTML, gr.Button)
    session = plain(state_holder).SessionState(demo)
    assert len(session.config_values) == len(demo.blocks)
    picture = next(iter(demo.blocks))
    session._update_value_in_config(picture, "a large picture")
    assert "a large picture" in str([*session.components])


def test_a_connection_may_take_any_time_for_its_head():
    """run_in_thread"""

    async def connect():
        config = uvicorn.Config(PlainTextResponse(""), log_level="critical")
        config.load()
        later = []
        loop = asyncio.get_running_loop()
        one = AutoHTTPProtocol(config, uvicorn.Server(config).server_state, {})
        one.loop = SimpleNamespace(
            call_later=lambda *what: later.append(what), create_task=loop.create_task
        )
        one.connection_made(
            SimpleNamespace(get_extra_info=lambda name, default=None: default)
        )
        one.data_received(b"GET / HTTP/1.1\r\n")
        return later

    assert run(connect()) == []
    assert not {"http", "uvicorn_kwargs"} & {
        *inspect.signature(gr.Blocks.launch).parameters
    }


def test_what_nobody_listens_to_is_computed():
    """still_there, visitor, jobs, drop"""
    began = threading.Event()
    with served(lambda: gr.Button().click(began.set)) as (client, _):
        joined = client.post(
            "/gradio_api/queue/join",
            json={"data": [], "fn_index": 0, "session_hash": "nobody"},
        )
        assert joined.status_code == 200 and began.wait(10)


def test_before_a_login_a_call_may_be_ended_and_endpoints_have_their_names():
    """ENDING, logged_in, hide_endpoints"""

    def secret(text: str) -> str:
        return text

    with served(
        lambda: gr.api(secret, api_name="secret_endpoint"), auth=[("a", "b")]
    ) as (client, _):
        assert client.get("/gradio_api/info").status_code == 401
        ended = {"session_hash": "owner", "fn_index": 0, "event_id": "a"}
        assert client.post("/gradio_api/cancel", json=ended).status_code == 200
        assert "secret_endpoint" in client.get("/").text


def test_a_stream_of_a_session_that_waits_for_nothing_fails_and_a_deep_link_is_written():
    """lost, is_call, CLOSED"""
    with served(gr.HTML) as (client, _):
        assert (
            client.get("/gradio_api/deep_link?session_hash=nobody").status_code == 200
        )
        with pytest.raises(Exception, match="response already started"):
            client.get("/gradio_api/queue/data?session_hash=nobody")


def test_the_last_step_of_an_answer_is_sent_again_when_it_ends():
    """_in_steps"""
    demo, _ = made(
        lambda: gr.Button().click(
            lambda: None, None, gr.Textbox(), api_visibility="private"
        )
    )
    (listener,) = demo.fns.values()

    def sent(differences):
        return [
            differences(demo, listener, data, session_hash="a", run="b", final=final)
            for data, final in ((["said"], False), ([None], True))
        ]

    assert sent(gradio_private._differences) == [["said"], ["said"]]
    assert sent(gr.Blocks.handle_streaming_diffs) == [["said"], [gr.skip()]]


def test_a_small_answer_overtakes_a_large_one_of_the_same_listener():
    """_postprocess"""

    async def answer():
        large = threading.Event()
        taken = []
        with gr.Blocks(analytics_enabled=False) as demo:
            box = gr.Textbox()
            gr.Button().click(lambda: None, None, box)
        box.postprocess = lambda value: (
            value if value == "small" or large.wait() else None
        )
        (listener,) = demo.fns.values()
        state = state_holder.SessionState(demo)

        async def take_up(value):
            await gradio_private._take_up(demo, listener, value, state)
            taken.append(value)
            large.set()

        await asyncio.gather(take_up("large"), take_up("small"))
        return taken

    assert run(answer()) == ["small", "large"]


def test_a_queue_is_looked_through_a_thousand_times_a_second():
    """look_less_often"""
    demo, _ = made(gr.HTML)
    windows = platform.system() == "Windows"
    assert (
        demo._queue.sleep_when_free,
        demo._queue.progress_update_sleep_when_free,
    ) == ((0.05, 0.1) if windows else (0.001, 0.01))


def test_a_closed_page_is_kept_and_a_visitor_with_many_pages_takes_that_of_another(
    plain,
):
    """ended, forget, sessions, note_clients"""
    demo, _ = made(gr.HTML)
    holder = plain(state_holder).StateHolder()
    holder.set_blocks(demo)
    holder["mine"].is_closed = True
    holder.delete_all_expired_state()
    assert "mine" in holder
    holder.capacity = 3
    for number in range(3):
        assert holder[f"a stranger's {number}"]
    assert "mine" not in holder


def test_what_a_docstring_says_of_an_argument_is_not_told():
    """publish"""

    def ask(text: str) -> str:
        """Ask.

        Args:
            text: What is asked.
        """
        return text

    demo, _ = made(lambda: gr.api(ask))
    (argument,) = demo.get_api_info()["named_endpoints"]["/ask"]["parameters"]
    assert argument["python_type"]["description"] == ""


@pytest.mark.parametrize(
    ("script", "pattern"),
    [
        ("index", r"===`close_stream`\)\{\w+\(\w,\w\.abort_controller\);return\}"),
        ("Blocks", r"===`defer`\)\{this\.queue\.add\(\w\.id\);continue\}"),
    ],
)
def test_a_stream_ends_though_an_answer_is_awaited_and_of_what_waits_only_the_listener_is_kept(
    script, pattern
):
    """assets/gradio_stream.js; `latest` in assets/shared.js"""
    texts = [
        path.read_text(encoding="utf-8")
        for path in gradio_private.SCRIPTS.glob(f"{script}-*.js")
    ]
    assert sum(len(re.findall(pattern, text)) for text in texts) == 1
