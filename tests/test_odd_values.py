"""What a stranger calls the page's listeners with: whatever it is, an answer or one
sentence, and no stack trace."""

import json
import random
from collections import Counter
from types import SimpleNamespace

import gradio as gr
import httpx
import pytest
from gradio.routes import App
from starlette.middleware import Middleware

from tests.pages import laid_out, run
from xformer.results import Head, UserError
from xformer.ui.server import gradio_private
from xformer.ui.server.middleware import Gate

ODD = (
    None,
    [],
    ["one", 3],
    {"a": 1},
    7,
    -1,
    1e300,
    float("nan"),
    float("inf"),
    True,
    "",
    "odd",
    "9" * 5_000,
    "a" * 40_000,
    "<b>{0}%s\ud800",
    "es4-en999",
    "cross.9.9",
    {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}},
)
EVENTS = (
    None,
    [3],
    "odd",
    5,
    {},
    {"index": []},
    {"layer": 1, "head": 1},
    {"place": "odd", "curve": "9" * 99, "stack": 5, "layer": float("nan")},
)
# Gradio's way to tell a page a refusal, of which outside its queue nothing comes.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def site(running, reader, writer):
    """The app of a page as it is served, and `call(listener, inputs, event)`, as of one
    visitor, outside the queue."""
    demo = laid_out(running, reader, writer=writer).demo

    async def make():
        demo.queue(api_open=True)
        app = App.create_app(demo, app_kwargs={"middleware": [Middleware(Gate)]})
        app.state.ended = Counter()
        app.state.listeners = Counter()
        app.state.clients = {}
        return app

    app = run(make())
    first = {one["id"]: one["props"].get("value") for one in demo.config["components"]}

    async def call(client, listener, inputs, event=None):
        asked = {
            "fn_index": listener._id,
            "data": inputs,
            "session_hash": "visitor",
            "event_data": event,
        }
        return await client.post(
            "/gradio_api/run/predict",
            content=json.dumps(asked),
            headers={"Content-Type": "application/json"},
        )

    site = SimpleNamespace(
        call=call,
        listeners=[one for one in demo.fns.values() if one.fn is not None],
        first=lambda listener: [first.get(one._id) for one in listener.inputs],
        client=lambda: httpx.AsyncClient(
            transport=httpx.ASGITransport(app, False), base_url="http://localhost"
        ),
    )

    async def begin():  # so that there is a translation to look into
        demo.create_limiter()
        async with site.client() as client:
            for listener in site.listeners:
                await call(client, listener, site.first(listener))

    run(begin())
    return site


def calls(site, listener):
    """All that is odd: too few inputs, each event, each value in the place of each
    input, and of all of them."""
    first = site.first(listener)
    yield first[:-1], None
    for event in EVENTS:
        yield first, event
    for value in ODD:
        yield [value] * len(first), {}
        for place, block in enumerate(listener.inputs):
            if not block.stateful:
                yield [*first[:place], value, *first[place + 1 :]], {}


def answered(site, asked, caplog, capsys):
    """Call listeners; -> how often there was an answer, how often a refusal, and what
    went wrong."""

    async def ask():
        async with site.client() as client:
            for listener, inputs, event in asked:
                answer = await site.call(client, listener, inputs, event)
                codes[answer.status_code] += 1
                own = [
                    one.getMessage()
                    for one in caplog.records
                    if one.name == gradio_private.__name__
                ]
                if (
                    answer.status_code not in (200, 422)
                    or "Traceback" in caplog.text + capsys.readouterr().err
                    or (any(len(line) > 120 or "odd" in line for line in own))
                    or (answer.status_code == 422)
                    != (
                        len(own) == 1
                        and answer.json()["error"].startswith("The page sent “")
                    )
                ):
                    wrong.append(
                        (
                            listener._id,
                            listener.fn.__name__,
                            str(inputs)[:300],
                            event,
                            answer.text[:200],
                            caplog.text[-900:],
                        )
                    )
                caplog.clear()

    codes = Counter()
    wrong = []
    run(ask())
    return codes, wrong


def test_every_listener_answers_an_odd_value_in_a_sentence(site, caplog, capsys):
    chosen = random.Random(0)
    asked = [(one, *chosen.choice([*calls(site, one)])) for one in site.listeners]
    codes, wrong = answered(site, asked, caplog, capsys)
    assert not wrong and codes[200] > 20 and codes[422] > 20


@pytest.mark.full
def test_every_listener_answers_every_odd_value_in_a_sentence(site, caplog, capsys):
    _, wrong = answered(
        site,
        [(one, *call) for one in site.listeners for call in calls(site, one)],
        caplog,
        capsys,
    )
    assert not wrong


@pytest.mark.parametrize(
    ("block", "fits", "odd"),
    [
        (gr.Textbox, ["a", 3, None], [[], {"a": 1}, float("nan")]),
        (gr.Checkbox, [True, None], [1, "true", []]),
        (lambda: gr.Slider(1, 9), [4, 4.5], ["4", [4], float("inf")]),
        (gr.Number, [4, None], ["4", float("nan"), 10**30]),
        (lambda: gr.Number(4, visible=False), [4], [None]),
        (lambda: gr.Radio(["a"], value="a"), ["a"], [None]),
        (lambda: gr.Radio(["a"], value=None), [None, "a"], []),
        (
            lambda: gr.Dropdown(["a"], value=[], multiselect=True),
            [[], ["a"]],
            [None, "a"],
        ),
        (lambda: gr.Dropdown(["a"], value="a"), ["a"], [None, []]),
        (lambda: gr.Dropdown([], value=None), [None], [[]]),
        (
            lambda: gr.Dropdown([], value=None, allow_custom_value=True),
            ["b", None],
            [7, ["b"]],
        ),
        (
            lambda: gr.Dataset(components=[gr.Textbox(visible=False)], samples=[["a"]]),
            [0],
            [None, "0", 0.5, []],
        ),
    ],
)
def test_what_can_come_from_a_component_fits_it(block, fits, odd):
    made = block()
    choices = getattr(made, "choices", ())
    assert not any(gradio_private._strange(made, value, choices) for value in fits)
    assert all(gradio_private._strange(made, value, choices) for value in odd)


@pytest.mark.parametrize(
    "name", ["", "odd", "cross.1", "cross.1.x", f"cross.{'9' * 5_000}.1"]
)
def test_what_names_no_head_is_refused_in_a_sentence(name):
    with pytest.raises(
        UserError,
        match="names no attention head; write one as cross.1.2: stack, layer, head.",
    ):
        Head.parse(name)
