"""What a failed journey leaves: it says what a page waited for, and is left out where a
page does not answer."""

import json
from types import SimpleNamespace

import pytest

from tests.browser import evidence

STATE = "export const state = {settled: true, waiting: {requests: new Map([[7, 'translate']]), scripts: 1}};"


@pytest.fixture
def page(chromium):
    """A page that has nothing but a state."""
    page = evidence.trace(chromium.new_context()).new_page()
    page.route(
        "**/*",
        lambda route: route.fulfill(body="<p>Here</p>", content_type="text/html"),
    )
    page.route(
        "**/state.js",
        lambda route: route.fulfill(body=STATE, content_type="text/javascript"),
    )
    page.goto("http://127.0.0.1/")
    yield page
    page.context.close()


def test_it_is_a_picture_a_trace_and_what_the_page_waits_for(page, tmp_path):
    for folder in (tmp_path / "first", tmp_path / "second"):
        evidence.leave(SimpleNamespace(contexts=[page.context]), folder)
        assert {path.name for path in folder.iterdir()} == {
            "page-1.json",
            "page-1.png",
            "trace-1.zip",
        }
        waits = json.loads((folder / "page-1.json").read_text())
        assert waits == {"settled": True, "requests": ["translate"], "scripts": 1}
        evidence.begin(SimpleNamespace(contexts=[page.context]))


def test_of_a_page_that_hangs_the_trace_is_left(page, tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "MOMENT", 200)
    page.evaluate("setTimeout(() => { for (;;); }, 0), 0")
    evidence.leave(SimpleNamespace(contexts=[page.context]), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"trace-1.zip"}
