"""The Training tab as a person uses it, in Chromium."""

import re
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import expect

from tests.browser.acts import idle, named
from xformer.strings import ENGLISH

SHORT = "tab=training&part=live&live_task=copy&live_layers=1&live_steps=20&live_seed=7"
ENDED = "(Not there yet|Stalled|Learned): "
say = ENGLISH.say


def open_part(page, key):
    page.get_by_test_id(f"{say(key)}-radio-label").click()


def asked(page):
    """What the address of an idle page asks for, by key."""
    idle(page)
    return {
        key: values[0] for key, values in parse_qs(urlparse(page.url).query).items()
    }


def test_a_transformer_is_trained_stopped_and_compared_and_its_beginning_is_drawn(
    visit,
):
    page = visit(f"/?{SHORT}")
    runs = page.locator(".runs li")
    controls = page.locator(".controls")

    def press(key, **values):
        page.get_by_role("button", name=say(key, **values), exact=True).click()

    def order(key):
        controls.get_by_text(say(key), exact=True).locator("visible=true").click()

    def number(key):
        return page.get_by_label(f"number input for {say(key)}", exact=True).locator(
            "visible=true"
        )

    # A second run is laid over the first.
    expect(named(page, "live-pace").filter(has_text=say("live_planned"))).to_have_count(
        1
    )
    press("live_run")
    expect(runs).to_have_text([re.compile(f"1 · pre-norm, 1 \\+ 1 layers.*{ENDED}")])
    expect(page.locator(".answers tbody tr")).to_have_count(4)
    expect(page.locator(".live-map .caption")).to_contain_text("at step 20: layer 1")
    order("train_order_post")
    page.wait_for_url("**live_order=post**")
    press("live_run")
    expect(runs).to_have_text(
        [re.compile("^ *1 · pre-norm"), re.compile(f"2 · post-norm.*{ENDED}")]
    )
    expect(
        named(page, "live-progress").filter(has_text=re.compile("^[12] · (pre|post)"))
    ).to_have_count(2)

    # A preset sets what is folded away too; the fold was open, as the address asked for
    # a seed.
    seed = page.get_by_label(say("train_seed")).locator("visible=true")
    fold = page.locator(".at-settings > button")
    expect(seed).to_have_value("7")
    fold.click()
    idle(page)
    expect(seed).to_have_count(0)
    press("live_try_warm")
    said = asked(page)
    assert (said["live_order"], said["live_warmup"]) == (
        "post",
        "100",
    ) and "live_seed" not in said
    fold.click()
    expect(seed).to_have_value("1")

    # A run that would take longer than a click is stopped; then all are taken away.
    for key, value in (("train_layers", "8"), ("live_steps", "1000")):
        number(key).fill(value)
        page.keyboard.press("Enter")
    assert asked(page)["live_steps"] == "1000"
    press("live_run")
    expect(runs.nth(2)).to_contain_text(re.compile("Step [1-9]"))
    press("live_stop")
    expect(runs.nth(2)).to_contain_text("Stopped after")
    expect(page.get_by_role("button", name=say("live_run"), exact=True)).to_be_enabled()
    press("live_clear")
    idle(page)
    expect(runs).to_have_count(0)

    # Of the recorded runs one is chosen from the menu, and one by a click on its curve,
    # which Plotly tells of.
    open_part(page, "part_recorded")
    rows = page.locator(".tables tbody tr").locator("visible=true")
    chosen = page.locator("tr.chosen")
    expect(named(page, "recorded-runs").first).to_be_visible()
    expect(rows).to_have_count(3)
    page.get_by_role("combobox", name=say("recorded_run"), exact=True).locator(
        "visible=true"
    ).click()
    page.get_by_role("option").nth(1).click()
    expect(chosen).to_have_count(1)
    page.wait_for_url("**recorded_run=**")
    idle(page)
    page.locator(".recorded-runs .plot").evaluate(
        "box => box.emit('plotly_click', {points: [{data: {customdata: ['pre-600-0.03-0']}}]})"
    )
    page.wait_for_url("**recorded_run=pre-600-0.03-0**")
    expect(chosen).to_contain_text("pre-norm")
    page.locator("label").filter(has_text=say("recorded_question_parts")).click()
    page.get_by_text(say("recorded_numbers"), exact=True).click()
    expect(rows).to_have_count(2 * 13)  # the second table is by length

    # The first part follows its controls.
    open_part(page, "part_beginning")
    caption = page.locator(".train-gradients .caption")
    expect(caption).to_contain_text("6 + 6 layers")
    order("train_order_post")
    number("train_layers").fill("3")
    page.keyboard.press("Enter")
    expect(caption).to_contain_text("3 + 3 layers")
    said = asked(page)
    assert (said["grad_layers"], said["grad_order"]) == ("3", "post")
