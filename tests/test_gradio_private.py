"""What rests on private parts of Gradio stands in one file, and was tried on the installed version."""

import itertools
import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
import uvicorn
from gradio import http_server
from packaging.requirements import Requirement
from packaging.version import Version

import xformer.ui
from tests.harness import ROOT, free_port
from xformer.ui.server import gradio_private

PRIVATE = re.compile(r"LocalContext|\._queue|state_holder|_api_info|get_function_description|session_data|"
                     r"event_ids_to_events|\.fns\b|get_api_info|GRADIO_ANALYTICS|gradio_api/|\.default_config|\._id\b")


def test_gradio_is_a_version_that_the_private_parts_were_tried_on():
    oldest, newest = gradio_private.TRIED
    assert Version(oldest).release[:2] <= Version(gr.__version__).release[:2] <= Version(newest).release[:2], (
        f"Gradio {gr.__version__} is installed, and xformer/ui/server/gradio_private.py was tried on {oldest} to "
        f"{newest} only. Run all tests on it, compare what each function there rests on, then widen TRIED.")


def test_the_requirements_take_the_versions_that_were_tried_and_no_others():
    wanted = next(Requirement(line.partition("#")[0]) for line in (ROOT / "requirements.txt").read_text().splitlines()
                  if line.startswith("gradio"))
    oldest, (major, minor) = gradio_private.TRIED[0], Version(gradio_private.TRIED[1]).release
    assert wanted.specifier == Requirement(f"gradio>={oldest},<{major}.{minor + 1}").specifier


def test_only_one_file_knows_private_parts():
    paths = sorted(Path(xformer.ui.__file__).parent.rglob("*.py"))
    assert [path.name for path in paths if PRIVATE.search(path.read_text(encoding="utf-8"))] == ["gradio_private.py"]


@pytest.fixture
def server():
    """`server(begins)`: one that serves nothing, and begins well or not."""
    made = []

    def make(begins):
        async def app(scope, receive, send):
            await receive()
            await send({"type": "lifespan.startup.complete" if begins else "lifespan.startup.failed"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
        made.append(http_server.Server(uvicorn.Config(app, port=free_port(), log_level="critical")))
        return made[-1]
    yield make
    for one in made:
        one.close()


def test_a_server_that_begins_slowly_is_waited_for(server, monkeypatch):
    """A clock by which each look comes ten seconds after the one before."""
    clock = SimpleNamespace(time=itertools.count(0, 10).__next__, sleep=time.sleep)
    monkeypatch.setattr(http_server, "time", clock)
    beginning = server(True)
    beginning.run_in_thread()
    assert beginning.started


def test_a_server_that_does_not_begin_is_not_waited_for(server):
    with pytest.raises(http_server.ServerFailedToStartError):
        server(False).run_in_thread()


SLOW = """
import httpx, gradio as gr
from xformer.ui.server import gradio_private
def late(*_, **__):
    raise httpx.ReadTimeout("timed out")
httpx.head = late
with gr.Blocks() as page:
    gr.HTML("here")
page.launch(prevent_thread_lock=True)
print("It is served")
"""


@pytest.mark.full
def test_a_page_that_is_long_in_coming_is_served(start):
    start(command=[sys.executable, "-c", SLOW], ready="It is served")


def test_gradios_scripts_are_changed_in_a_few_places_and_nothing_else_in_them_is_touched():
    """So many characters fewer, and more."""
    imports = ('import "../gradio_stream.js";import {attend} from "../gradio_answers.js";'
               'import {eventsOf, lookUp} from "../gradio_tree.js";')
    scripts = gradio_private.quick_scripts("..")
    (tree, text), (listeners, alone), (client, copies), (status, stops), (dropdown, closes) = scripts.items()
    own, event, shares, runs_on, fails = (
        (gradio_private.SCRIPTS / name).read_text(encoding="utf-8") for name in scripts)
    assert text.startswith(imports) and "=attend(" in text
    assert 80 < len(own) - len(text.removeprefix(imports)) < 230
    assert listeners.startswith("Blocks") and len(alone) - len(event) == len(
        "{type:`fn`,fn_index:r.id,event_data:e.event_data,target_id:e.target_id}") - len("e")
    assert client.startswith("index") and len(copies) - len(shares) == len("e=t.length?structuredClone(e):e,")
    assert status.startswith("statustracker") and 60 < len(stops) - len(runs_on) < 80
    assert dropdown.startswith("Index") and len(closes) - len(fails) == 4 and "aria-posinset" in closes
    assert len(gradio_private.quick_page("..")) == 5


def test_another_script_of_gradio_is_served_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(gradio_private, "SCRIPTS", tmp_path)
    with pytest.raises(LookupError, match=r"There is no core-\*\.js"):
        gradio_private.quick_scripts(".")
    (tmp_path / "core-1.js").write_text("function Z(e,t){return null}")
    with pytest.raises(LookupError, match=r"There is no core-\*\.js"):
        gradio_private.quick_scripts(".")
    assert gradio_private.quick_page(".") == []
