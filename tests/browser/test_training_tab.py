"""The Training tab as a person uses it, in Chromium."""

import csv
import io
import re

from playwright.sync_api import expect

from tests.browser.acts import contrasts, expect_fits, idle, named, saved
from xformer.ui.components import VERSION

SHORT = "tab=training&part=live&live_task=copy&live_layers=1&live_steps=20"


def runs(page):
    return page.locator(".runs li")


def test_the_first_part_follows_its_controls_and_is_in_the_address(visit):
    page = visit("/?tab=training&part=beginning")
    caption = page.locator(".train-gradients .caption")
    expect(caption).to_contain_text("6 + 6 layers")
    expect(named(page, "train-gradients").filter(has_text="feed-forward").first).to_be_visible()
    page.get_by_text("post-norm", exact=True).first.click()
    page.get_by_label("number input for Layers in encoder and in decoder").first.fill("3")
    page.keyboard.press("Enter")
    expect(caption).to_contain_text("3 + 3 layers")
    idle(page)
    assert "grad_layers=3" in page.url and "grad_order=post" in page.url
    content, _ = saved(page, page.locator(".train-gradients").get_by_role("button", name="Save as CSV").click)
    rows = [row for row in csv.reader(io.StringIO(content.decode())) if "feed-forward" in row[0]]
    assert [row[1] for row in rows] == ["1", "2", "3"] * 2 and all(float(row[2]) > 0 for row in rows)


def test_a_second_run_is_laid_over_the_first_and_both_are_told(visit):
    page = visit(f"/?{SHORT}")
    expect(named(page, "live-pace").filter(has_text="planned")).to_have_count(1)
    page.get_by_role("button", name="Train", exact=True).click()
    expect(runs(page)).to_have_text([re.compile("1 · pre-norm, 1 \\+ 1 layers.*(Not there yet|Stalled|Learned): ")])
    expect(page.locator(".answers tbody tr")).to_have_count(4)
    expect(page.locator(".live-map .caption")).to_contain_text("at step 20: layer 1")
    page.locator(".controls").get_by_text("post-norm", exact=True).locator("visible=true").click()
    page.wait_for_url("**live_order=post**")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(runs(page)).to_have_text([re.compile("^ *1 · pre-norm"), re.compile(
        "2 · post-norm.*(Not there yet|Stalled|Learned): ")])
    expect(named(page, "live-progress").filter(has_text=re.compile("^[12] · (pre|post)"))).to_have_count(2)
    page.get_by_role("button", name="Clear", exact=True).click()
    idle(page)
    expect(runs(page)).to_have_count(0)


def test_a_run_stops_at_once_and_the_presets_set_the_controls(visit):
    page = visit("/?tab=training&part=live&live_layers=8&live_steps=1000", width=375)  # which takes longer than a click
    page.get_by_role("button", name="Train", exact=True).click()
    expect(runs(page)).to_contain_text(re.compile("Step [1-9]"))
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(runs(page)).to_contain_text("Stopped after")
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_enabled()
    page.get_by_role("button", name="Post-norm with warm-up").click()
    idle(page)
    assert "live_order=post" in page.url and "live_warmup=" in page.url
    expect_fits(page, 375)


def test_a_page_that_is_sent_figures_faster_than_it_draws_leaves_some_out_and_ends_with_the_newest(visit):
    page = visit()
    drawn = page.evaluate("""async version => {
        const {default: start} = await import(
            new URL(`./scripts/${version}/plot.js?alone`, document.baseURI)), drawn = [];
        let end;
        const ended = new Promise(done => { end = done; });
        window.Plotly = {react: (box, data) => {  // which takes 20 ms
            for (const begun = performance.now(); performance.now() < begun + 20;);
            drawn.push(data[0].y[0]);
            box.on = () => {};
            if (drawn.at(-1) === 39) end();
        }};
        const element = document.body.appendChild(document.createElement('div')), props = {value: null};
        element.innerHTML = '<p class="caption"></p><div class="plot"></div>';
        element.style = 'position: fixed; inset: 0';  // in the window
        let changed;
        start({element, props, trigger() {}, watch(name, then) { changed = then; }});
        const {port1, port2} = new MessageChannel();
        port1.onmessage = ({data: number}) => {
            props.value = {figure: JSON.stringify({data: [{x: [0], y: [number]}], layout: {height: 200, margin: {}}})};
            changed();
        };
        for (let number = 0; number < 40; number++) port2.postMessage(number);
        await ended;
        return drawn;
    }""", VERSION)
    assert drawn[0] == 0 and drawn == sorted(drawn) and len(drawn) < 20


def test_a_preset_sets_what_is_folded_away_too(visit):
    page = visit("/?tab=training&part=live&live_seed=7")
    seed, fold = page.get_by_label("Seed").locator("visible=true"), page.get_by_role("button", name="More settings")
    expect(seed).to_have_value("7")
    fold.click()
    idle(page)
    expect(seed).to_have_count(0)
    page.get_by_role("button", name="Post-norm with warm-up").click()
    idle(page)
    assert "live_warmup=" in page.url and "live_seed=" not in page.url
    fold.click()
    expect(seed).to_have_value("1")


def test_recorded_runs_are_compared_and_one_is_chosen(visit):
    page = visit("/es?tab=training&part=recorded&__theme=dark")
    expect(named(page, "recorded-runs").first).to_be_visible()
    expect(page.locator(".tables tbody tr").locator("visible=true")).to_have_count(3)
    page.get_by_role("combobox", name="Entrenamiento", exact=True).locator("visible=true").click()
    page.get_by_role("option").nth(1).click()
    expect(page.locator("tr.chosen")).to_have_count(1)
    page.wait_for_url("**recorded_run=**")
    # A click on a curve, which Plotly tells of.
    page.evaluate("""document.querySelector('.recorded-runs .plot').emit(
        'plotly_click', {points: [{data: {customdata: ['pre-600-0.03-0']}}]})""")
    page.wait_for_url("**recorded_run=pre-600-0.03-0**")
    expect(page.locator("tr.chosen")).to_contain_text("pre-norm")
    page.locator("label").filter(has_text="Quitar una parte").click()
    expect(page.locator(".tables tbody tr").locator("visible=true")).to_have_count(10)
    assert [text for text in contrasts(page) if text["ratio"] < 4.5] == []
