"""Two parts of the Training tab: generations beside each other, and a training watched moment by moment."""

import re
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import expect

from tests.browser.acts import expect_fits, idle, open_tab, translate


def test_the_sentence_of_the_bar_goes_through_the_generations(same_page, learned_pairs):
    page = same_page
    open_tab(page, "training")
    rows = page.locator(".generations:visible .said")
    expect(rows).to_have_count(4)
    expect(page.locator(".gen-pre-norm .title")).to_contain_text("alignment error 0.250")
    expect(page.locator(".gen-gru-attention .title")).to_contain_text("alignment error 0.300")
    translate(page, learned_pairs[3][0])
    expect(page.locator(".block.gen-pre-norm")).to_contain_text(learned_pairs[3][0].split()[1])
    expect(rows).to_have_count(4)
    page.get_by_role("button", name="What was measured").click()
    page.locator(".gen-curves[data-drawn] .plot svg").first.wait_for()
    page.get_by_role("button", name="Why attention replaced recurrence").click()
    page.locator(".gen-times[data-drawn] .plot svg").first.wait_for()
    page.get_by_test_id("Loss per piece-radio-label").click()
    expect(page.get_by_role("img", name="Loss while they learn")).to_be_visible()
    page.wait_for_url(lambda url: parse_qs(urlparse(url).query).get("gen_curve") == ["loss"])


def test_a_training_is_watched_from_babble_to_its_end(same_page):
    page = same_page
    open_tab(page, "training")
    page.get_by_test_id("Watch it form-radio-label").click()
    now = page.locator(".course tr.now")
    expect(now).to_contain_text("step 10")
    slider = page.get_by_role("slider", name=re.compile("Moment of the training"))
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(now).to_contain_text("step 5")
    expect(page.locator(".form-view .title")).to_contain_text("step 5")
    page.get_by_role("button", name="Alignment error of the heads").click()
    page.locator(".form-errors[data-drawn] .plot svg").first.wait_for()
    page.locator(".form-controls, .controls").get_by_text("GRU (2014)", exact=True).locator("visible=true").click()
    expect(page.get_by_text("This model has no attention").locator("visible=true").first).to_be_visible()
    idle(page)
    expect(page.locator(".form-view")).to_be_hidden()
    expect(page.locator(".heads:visible")).to_have_count(0)
    page.set_viewport_size({"width": 375, "height": 800})
    idle(page)
    expect_fits(page, 375)
    page.set_viewport_size({"width": 1280, "height": 900})


def test_an_address_opens_a_moment(visit):
    page = visit("/?tab=training&part=forming&form_model=pre-norm&form_moment=1&form_stack=encoder_self")
    expect(page.locator(".course tr.now")).to_contain_text("step 0")
    expect(page.locator(".form-view .title")).to_contain_text("step 0")
    expect(page.locator(".form-view .title")).to_contain_text("Encoder")


def test_an_address_opens_all_generations(visit):
    page = visit("/?tab=training")
    for name in ("gru-attention", "post-norm", "pre-norm"):
        expect(page.locator(f".gen-{name} .title")).to_be_visible()
