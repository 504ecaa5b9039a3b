"""The maps of the classifier and of the language model in Chromium."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import contrasts, expect_fits, saved, type_into
from xformer.hub.checkpoint import examine


def title(page):
    return page.locator(".prose.reading-view .title")


def test_heads_of_both_models_are_shown_and_compared(visit, tiny_writer, measured_classifier):
    page = visit("/?tab=sentiment&review_part=maps&review=A+dull+film")
    expect(title(page)).to_have_text("Classifier, self-attention · layer 2 of 2 · head 1 of 4")
    grid = page.locator(".reading .heads canvas")
    grid.focus()
    page.keyboard.press("ArrowRight")
    expect(title(page)).to_have_text("Classifier, self-attention · layer 2 of 2 · head 2 of 4")
    page.wait_for_url(re.compile("[?&]maps_head=2(&|$)"))
    page.locator(".reading label").get_by_text("Language model", exact=True).click()
    expect(title(page)).to_have_text("Language model, self-attention · layer 2 of 2 · head 2 of 4")
    page.get_by_role("button", name="The same head before and after fine-tuning").click()
    expect(page.locator(".moved-heads td[aria-current]")).to_have_count(1)
    page.locator(".parts label:visible").first.click()
    type_into(page.get_by_role("textbox", name="Review, in English"), "A wonderful film")
    page.locator(".parts label:visible").nth(1).click()
    expect(page.locator(".prose.reading-view .line.row")).to_contain_text("film")
    difference = page.locator(".picture.maps-difference[data-drawn]").first
    expect(difference).to_be_visible()
    kept = json.loads(saved(page, difference.get_by_role("button", name="Save as JSON").click)[0])
    names = [examine(folder).identity for folder in (tiny_writer, measured_classifier)]
    assert kept["checkpoint"] == {"name": "tiny-lm → measured", "identity": " → ".join(names)}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_maps_fit_a_phone_and_can_be_read(visit, theme):
    page = visit(f"/es?tab=sentiment&review_part=maps&review=A+dull+film&__theme={theme}", 375)
    title(page).wait_for()
    expect_fits(page, 375)
    assert contrasts(page)[0]["ratio"] >= 4.5
