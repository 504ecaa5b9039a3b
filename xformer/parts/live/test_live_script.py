"""The figures of a training that is watched, as assets/plot.js draws them."""

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, named, unreadable
from xformer.parts.live import part as live
from xformer.parts.live.test_live import VALUES
from xformer.serve.study import Study
from xformer.strings import ENGLISH
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


def test_a_page_that_is_sent_figures_faster_than_it_draws_leaves_some_out_and_ends_with_the_newest(
    bench,
):
    plot = bench.mount("live-progress")
    drawn = bench.page.evaluate(FASTER_THAN_DRAWN, plot.number)
    assert drawn[0] == 0 and drawn == sorted(drawn) and len(drawn) < 20


def test_each_run_is_named_at_its_curves_and_what_is_planned_too(bench, runs):
    plot = bench.plotted("live-progress", runs["progress"])
    names = named(bench.page, "live-progress").filter(has_text=" · ")
    expect(names).to_contain_text(["1 · pre-norm", "2 · post-norm"])
    pace = bench.plotted(
        "live-pace", live.plan(Study(), ENGLISH, runs=(), **VALUES)["pace"]
    )
    expect(
        named(bench.page, "live-pace").filter(has_text=ENGLISH.say("live_planned"))
    ).to_have_count(1)
    bench.plotted("live-map", runs["attention"])
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
        bench.plotted(name, runs[key])
    expect_fits(bench.page, 375)
    assert not unreadable(bench.page)
