"""The recorded runs, as assets/plot.js draws them, and what a click on one tells."""

import pytest
from playwright.sync_api import expect

from tests.browser.acts import unreadable
from xformer.parts.recorded import part as recorded
from xformer.serve.study import Study
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask


def answered(language, question, run=""):
    return Ask.always(Study(), language).answer(
        recorded.draw, recorded_question=question, recorded_run=run
    )


def test_a_click_on_a_curve_tells_which_run_it_is(bench):
    """Plotly tells of the click: which of its curves a place belongs to is its own
    work."""
    plot = bench.plotted("recorded-runs", answered(ENGLISH, "break")["picture"])
    plot.locator(".plot").evaluate(
        "box => box.emit('plotly_click', {points: [{data: box.data[0]}]})"
    )
    ((name, data),) = plot.told
    assert name == "pick" and data["curve"].startswith("post-")
    plot.show(answered(ENGLISH, "break", data["curve"])["picture"])
    expect(plot.element).to_have_attribute("data-drawn", "2")
    plot.locator(".plot").evaluate(
        "box => box.emit('plotly_click', {points: [{data: {customdata: ['last']}}]})"
    )
    assert [told["curve"] for _, told in plot.told] == [data["curve"], "last"], (
        "each click is told once"
    )


@pytest.mark.parametrize("question", ["break", "parts"])
def test_recorded_runs_can_be_read_on_the_dark_page(bench, question):
    answer = answered(SPANISH, question, "pre-600-0.03-0")
    bench.open(theme="dark", language="es")
    bench.mount("recorded-said", answer["said"])
    bench.mount("tables", answer["table"])
    bench.plotted("recorded-runs", answer["picture"])
    bench.plotted("recorded-depths", answer["depths"])
    expect(bench.page.locator("tr.chosen")).to_have_count(int(question == "break"))
    assert not unreadable(bench.page)
