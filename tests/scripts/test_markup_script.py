"""Markup in a sentence, in the name of a checkpoint and in its pieces stays text in
what scripts draw of it."""

from contextlib import closing

import gradio as gr
import pytest

from tests.browser.test_markup_in_fields import IMG, MADE, PIECE, spiked
from tests.pages import laid_out, shown
from xformer.search import Options
from xformer.serve.translation import Service


@pytest.fixture(scope="module")
def hostile(tokenizer, tmp_path_factory):
    with closing(
        Service.open(spiked(tmp_path_factory.mktemp("hostile"), tokenizer), "cpu")
    ) as service:
        yield service


def drawn(service):
    """Every picture of the page that a script or HTML makes of a pass, with its
    component."""
    made = laid_out(service)
    translation, trace = service.translate_and_trace(
        f"The cat {PIECE} sees {IMG}", Options(beam=2), 12
    )
    for pictures in made.pictures.values():
        if pictures.ask is not made.ask or pictures is made.pictures["whole"]:
            # of another model; or what needs the column around it, which a journey
            # opens
            continue
        there = {name: component.value for name, component in pictures.inputs.items()}
        given = {
            **there,
            **dict.fromkeys(pictures.flags, True),
            "trace": trace,
            "translation": translation,
        }
        for late in (False, True):
            for name, value in shown(pictures, service, late=late, **given).items():
                component = (
                    pictures.pictures[name].component
                    if name in pictures.pictures
                    else None
                )
                value = (
                    value.get("value")
                    if isinstance(value, dict) and "__type__" in value
                    else value
                )
                if isinstance(component, gr.HTML) and value:
                    yield component, value


def test_no_element_comes_of_it(bench, hostile):
    """And no dialog opens: Playwright would send it away, so the page notes it."""
    bench.open()
    bench.page.evaluate(
        "() => { window.dialogs = []; window.alert = said => dialogs.push(said); }"
    )
    seen = 0
    for component, value in drawn(hostile):
        mounted = bench.mount(component, value)
        assert bench.page.evaluate(MADE) == [], component.elem_classes
        seen += PIECE in mounted.element.inner_text()
    assert seen > 5 and bench.page.evaluate("dialogs") == []
