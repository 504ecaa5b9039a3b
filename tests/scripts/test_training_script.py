"""The figures of the Training tab as assets/plot.js draws them, on answers of its
parts, and what they tell."""

import csv
import io

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, named, saved, unreadable
from tests.test_live import VALUES
from xformer.parts.beginning import part as beginning
from xformer.parts.live import part as live
from xformer.parts.recorded import part as recorded
from xformer.serve.study import Study
from xformer.strings import ENGLISH, SPANISH
from xformer.ui.handlers import Ask

# Shows figures as fast as messages come, with a Plotly that takes 20 ms for each; ->
# the ones that were drawn.
FASTER_THAN_DRAWN = """number => {
    const drawn = [], {port1, port2} = new MessageChannel();
    const ended = new Promise(done => {
        window.Plotly = {react: (box, data) => {
            for (const begun = performance.now(); performance.now() < begun + 20;);
            drawn.push(data[0].y[0]);
            box.on = () => {};
            if (drawn.at(-1) === 39) done(drawn);
        }};
    });
    port1.onmessage = ({data: y}) => mounted[number].show(
        {figure: JSON.stringify({data: [{x: [0], y: [y]}], layout: {height: 200, margin: {}}})});
    for (let y = 0; y < 40; y++) port2.postMessage(y);
    return ended;
}"""


@pytest.fixture(scope="module")
def runs():
    """What a page shows of a run of pre-norm and of one of post-norm after it, by the
    names of the components."""
    ask = Ask.always(Study(), ENGLISH)
    answer = {"runs": ()}
    for order in ("pre", "post"):
        for step in ask.answers(
            live.run, runs=answer["runs"], **VALUES | {"live_order": order}
        ):
            answer |= step
    return answer


def answered(language, question, run=""):
    return Ask.always(Study(), language).answer(
        recorded.draw, recorded_question=question, recorded_run=run
    )


def plotted(bench, name, value):
    """A figure that is drawn: the script that draws it comes after the page."""
    plot = bench.mount(name, value)
    expect(plot.element).to_have_attribute("data-drawn", "1")
    return plot


def test_a_page_that_is_sent_figures_faster_than_it_draws_leaves_some_out_and_ends_with_the_newest(
    bench,
):
    plot = bench.mount("live-progress")
    drawn = bench.page.evaluate(FASTER_THAN_DRAWN, plot.number)
    assert drawn[0] == 0 and drawn == sorted(drawn) and len(drawn) < 20


def test_the_gradients_of_one_order_are_named_and_saved_by_layer(bench):
    drawn = beginning.draw(
        Study(), ENGLISH, grad_order="post", grad_layers=3, grad_width=32, grad_seed=0
    )
    plot = plotted(bench, "train-gradients", drawn["picture"])
    expect(plot.locator(".caption")).to_contain_text("3 + 3 layers")
    names = named(bench.page, "train-gradients").filter(
        has_text=ENGLISH.say("train_feed_forward")
    )
    expect(names.first).to_be_visible()
    content, _ = saved(bench.page, plot.save("CSV"))
    rows = [
        row
        for row in csv.reader(io.StringIO(content.decode()))
        if "feed-forward" in row[0]
    ]
    assert [row[1] for row in rows] == ["1", "2", "3"] * 2 and all(
        float(row[2]) > 0 for row in rows
    )


def test_each_run_is_named_at_its_curves_and_what_is_planned_too(bench, runs):
    plot = plotted(bench, "live-progress", runs["progress"])
    names = named(bench.page, "live-progress").filter(has_text=" · ")
    expect(names).to_contain_text(["1 · pre-norm", "2 · post-norm"])
    pace = plotted(
        bench, "live-pace", live.plan(Study(), ENGLISH, runs=(), **VALUES)["pace"]
    )
    expect(
        named(bench.page, "live-pace").filter(has_text=ENGLISH.say("live_planned"))
    ).to_have_count(1)
    plotted(bench, "live-map", runs["attention"])
    expect(bench.page.locator(".live-map .caption")).to_contain_text(
        "at step 6: layer 1"
    )
    plot.show(None)
    expect(plot.element).to_have_attribute("data-empty", "true")
    expect(pace.element).to_have_attribute("data-empty", "false")


def test_what_is_told_of_two_runs_can_be_read_on_a_phone(bench, runs):
    told = bench.mount("live-told", runs["told"], width=375)
    expect(told.locator("li")).to_have_count(2)
    bench.mount("tables", runs["answers"])
    expect(bench.page.locator("tbody tr")).to_have_count(4)
    for name, key in (
        ("live-progress", "progress"),
        ("live-pace", "pace"),
        ("live-depth", "depth"),
    ):
        plotted(bench, name, runs[key])
    expect_fits(bench.page, 375)
    assert not unreadable(bench.page)


def test_a_click_on_a_curve_tells_which_run_it_is(bench):
    """Plotly tells of the click: which of its curves a place belongs to is its own
    work."""
    plot = plotted(bench, "recorded-runs", answered(ENGLISH, "break")["picture"])
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
    plotted(bench, "recorded-runs", answer["picture"])
    plotted(bench, "recorded-depths", answer["depths"])
    expect(bench.page.locator("tr.chosen")).to_have_count(int(question == "break"))
    assert not unreadable(bench.page)
