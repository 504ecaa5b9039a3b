"""What rests on private parts of Gradio stands in one file, and was tried on the
installed version."""

import re
from pathlib import Path

import gradio as gr
import httpx
import pytest
from gradio import http_server
from packaging.requirements import Requirement
from packaging.version import Version

import xformer.ui
from tests.harness import ROOT
from tests.pages import run
from xformer.ui.server import gradio_private

PRIVATE = re.compile(
    r"LocalContext|\._queue|state_holder|_api_info|get_function_description|session_data|"
    r"event_ids_to_events|\.fns\b|get_api_info|GRADIO_ANALYTICS|gradio_api/|\.default_config|\._id\b"
)


def test_gradio_is_a_version_that_the_private_parts_were_tried_on():
    oldest, newest = gradio_private.TRIED
    assert (
        Version(oldest).release[:2]
        <= Version(gr.__version__).release[:2]
        <= Version(newest).release[:2]
    ), (
        f"Gradio {gr.__version__} is installed, and xformer/ui/server/gradio_private.py was tried on {oldest} to "
        f"{newest} only. Run all tests on it, compare what each function there rests on, then widen TRIED."
    )


def test_the_requirements_take_the_versions_that_were_tried_and_no_others():
    wanted = next(
        Requirement(line.partition("#")[0])
        for line in (ROOT / "requirements.txt").read_text().splitlines()
        if line.startswith("gradio")
    )
    oldest = gradio_private.TRIED[0]
    major, minor = Version(gradio_private.TRIED[1]).release
    assert (
        wanted.specifier
        == Requirement(f"gradio>={oldest},<{major}.{minor + 1}").specifier
    )


def test_ten_journeys_are_made_on_the_newest_gradio():
    workflow = (ROOT / ".github" / "workflows" / "night.yml").read_text(
        encoding="utf-8"
    )
    named = re.findall(r"(tests/browser/\S+)::(\w+)", workflow)
    assert len(set(named)) == 10
    assert all(
        f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
        for path, name in named
    )


def test_only_one_file_knows_private_parts():
    paths = sorted(Path(xformer.ui.__file__).parent.rglob("*.py"))
    assert [
        path.name for path in paths if PRIVATE.search(path.read_text(encoding="utf-8"))
    ] == ["gradio_private.py"]


def test_gradio_ends_an_app_whose_page_is_long_in_coming_and_this_one_goes_on(
    monkeypatch,
):
    def late(*_, **__):
        raise httpx.ReadTimeout("timed out")

    async def launch(**more):
        with gr.Blocks(analytics_enabled=False) as demo:
            gr.HTML("here")
        demo.launch(prevent_thread_lock=True, quiet=True, **more)

    started = "127.0.0.1", 7860, "http://127.0.0.1:7860/", None
    monkeypatch.setattr(http_server, "start_server", lambda **how: started)
    monkeypatch.setattr(httpx, "get", lambda *_, **__: httpx.Response(200))
    monkeypatch.setattr(httpx, "head", late)
    with pytest.raises(ValueError, match="localhost is not accessible"):
        run(launch())
    run(launch(**gradio_private.UNASKED))


def test_gradios_scripts_are_changed_in_a_few_places_and_nothing_else_in_them_is_touched():
    """So many characters fewer, and more."""
    imports = (
        'import {$gradio_answers, $gradio_tree} from "../first.js";'
        "const {attend} = $gradio_answers, {eventsOf, lookUp} = $gradio_tree;"
    )
    scripts = gradio_private.quick_scripts("..")
    (
        (tree, text),
        (listeners, alone),
        (html, as_it_is),
        (client, copies),
        (status, stops),
        (texts, named),
        (dropdown, closes),
    ) = scripts.items()
    own, event, compiles, shares, runs_on, looks, fails = (
        (gradio_private.SCRIPTS / name).read_text(encoding="utf-8") for name in scripts
    )
    assert text.startswith(imports) and "=attend(" in text
    assert (
        0 < len(own) - len(text.removeprefix(imports)) < 200
        and text.count("await this.#m(e.id,e),this.#p(e)") == 1
    )
    assert listeners.startswith("Blocks") and len(alone) - len(event) == len(
        "if(r.trigger_modes===`always_last`&&r.functions.backend&&"
        "await this.client.joins(r.id,this.submissions,this.queue))continue;"
        "{type:`fn`,fn_index:r.id,event_data:e.event_data,target_id:e.target_id}&&"
        "if(!Object.keys(t).length)return()=>{};parent!==window&&this.client.news"
    ) - len("e,Object.entries")
    assert html.startswith("HTML") and len(as_it_is) - len(compiles) == len(
        "if(e==='${value}')return String(t.value);"
        r"if(!/[`\\]|\{\{|\${/.test(e))return e;"
    )
    assert client.startswith("index") and len(copies) - len(shares) == len(
        "e=t.length?structuredClone(e):e,"
    )
    assert status.startswith("statustracker") and len(stops) - len(runs_on) == len(
        "setTimeoutU&&,100"
    ) - len("mev(),")
    assert texts.startswith("runtime") and len(named) - len(looks) == len(
        "getCanonicalLocales"
    ) - len("NumberFormat.supportedLocalesOf")
    assert (
        dropdown.startswith("Index")
        and len(closes) - len(fails) == 4 + 3 * len(",o.on_input?.()")
        and "aria-posinset" in closes
    )
    assert len(gradio_private.quick_page("..")) == 7


def test_another_script_of_gradio_is_served_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(gradio_private, "SCRIPTS", tmp_path)
    with pytest.raises(LookupError, match=r"There is no core-\*\.js"):
        gradio_private.quick_scripts(".")
    (tmp_path / "core-1.js").write_text("function Z(e,t){return null}")
    with pytest.raises(LookupError, match=r"There is no core-\*\.js"):
        gradio_private.quick_scripts(".")
    assert gradio_private.quick_page(".") == []
