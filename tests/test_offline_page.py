"""A pass as one page of HTML: in a notebook, in the browser, and in a file, always the
same and with no server."""

import dataclasses
import html
import re
import sys
import types
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import pytest

from tests.offline import asks_for_nothing, data_of, maps_of
from xformer import offline_page
from xformer.results import STACKS, Head, UserError
from xformer.strings import SPANISH


@pytest.fixture(scope="module")
def trace(running, learned_pairs):
    return running.explain(learned_pairs[0][0])


def test_the_page_holds_every_head_and_names_the_model(trace, running):
    data = data_of(trace.page())
    for stack in STACKS:
        np.testing.assert_array_equal(
            maps_of(trace.page(), stack), trace.of(stack).probabilities
        )
    assert data["start"] == {
        "stack": "cross",
        "layer": running.best_head.layer - 1,
        "head": running.best_head.head - 1,
    }
    assert (
        data["model"] == running.info.line() and running.info.identity in data["model"]
    )
    assert data["given"] == sorted(map(str, trace.origin.given))


@pytest.mark.parametrize("head", ["encoder_self.2.3", Head("encoder_self", 2, 3)])
def test_the_page_opens_on_a_head_and_in_a_language(trace, head):
    page = trace.page(head, SPANISH)
    assert (
        data_of(page)["start"] == {"stack": "encoder_self", "layer": 1, "head": 2}
        and '<html lang="es">' in page
    )
    assert data_of(trace.page("cross.9.9"))["start"] == {
        "stack": "cross",
        "layer": 1,
        "head": 3,
    }, "the nearest"
    with pytest.raises(ValueError, match="names no attention head"):
        trace.page("nonsense")


def test_a_notebook_shows_the_page_in_a_frame_that_asks_for_nothing(running):
    trace = running.trace("The cat </script><script>alert(1)</script>", "El gato")
    shown = trace._repr_html_()
    (source,) = re.findall(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts"', shown)
    assert html.unescape(source) == trace.page()
    assert asks_for_nothing(html.unescape(source))
    assert shown.count("<") == 2, "nothing of a sentence gets out of the frame"


def test_outside_a_notebook_the_page_is_opened_in_the_browser(
    trace, monkeypatch, tmp_path
):
    opened = []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setitem(sys.modules, "IPython", None)
    trace.show("cross.1.2")
    (address,) = opened
    path = Path(unquote(urlparse(address).path))
    assert path.parent == tmp_path and path.read_text(encoding="utf-8") == trace.page(
        "cross.1.2"
    )


def test_in_a_notebook_show_displays_the_frame(trace, monkeypatch):
    displayed = []
    display = types.SimpleNamespace(HTML=str, display=displayed.append)
    monkeypatch.setitem(
        sys.modules, "IPython", types.SimpleNamespace(get_ipython=object)
    )
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    trace.show()
    assert displayed == [offline_page.frame(trace.page())]


def lacking(trace, *stacks):
    """The same pass of a model that lacks some stacks, as a recurrent one does."""
    return dataclasses.replace(
        trace, **{stack: getattr(trace, stack)[:0] for stack in stacks}
    )


def test_a_model_without_some_stacks_opens_on_one_that_it_has_and_one_without_any_says_so(
    trace,
):
    page = lacking(trace, "encoder_self", "decoder_self").page("encoder_self.2.1")
    assert (
        data_of(page)["start"]["stack"] == "cross"
        and maps_of(page, "encoder_self").size == 0
    )
    none = lacking(trace, *STACKS)
    with pytest.raises(UserError, match="has no attention heads to show"):
        none.page()
    assert none._repr_html_().startswith(
        "<p>The model tiny-en-es has no attention heads"
    )
