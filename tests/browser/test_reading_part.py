"""The maps of the classifier and of the language model as a person goes through
them."""

import json
import re

from playwright.sync_api import expect

from tests.browser.acts import saved, type_into
from xformer.hub.checkpoint import examine
from xformer.strings import ENGLISH

say = ENGLISH.say


def test_heads_of_both_models_are_shown_and_compared(
    visit, tiny_writer, measured_classifier
):
    page = visit("/?tab=sentiment&review_part=maps&review=A+dull+film")
    title = page.locator(".prose.reading-view .title")
    expect(title).to_have_text(
        f"{say('maps_name_classifier')} · layer 2 of 2 · head 1 of 4"
    )
    page.locator(".reading .heads canvas").focus()
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text(
        f"{say('maps_name_classifier')} · layer 2 of 2 · head 2 of 4"
    )
    page.wait_for_url(re.compile("[?&]maps_head=2(&|$)"))
    page.locator(".reading label").get_by_text(
        say("maps_of_writer"), exact=True
    ).click()
    expect(title).to_have_text(
        f"{say('maps_name_writer')} · layer 2 of 2 · head 2 of 4"
    )
    page.get_by_role("button", name=say("maps_compare")).click()
    expect(page.locator(".moved-heads td[aria-current]")).to_have_count(1)
    page.locator(".parts label:visible").first.click()
    type_into(page.get_by_role("textbox", name=say("review")), "A wonderful film")
    page.locator(".parts label:visible").nth(1).click()
    expect(page.locator(".prose.reading-view .line.row")).to_contain_text("film")
    difference = page.locator(".picture.maps-difference[data-drawn]").first
    expect(difference).to_be_visible()
    kept = json.loads(
        saved(page, difference.get_by_role("button", name="Save as JSON").click)[0]
    )
    names = [examine(folder).identity for folder in (tiny_writer, measured_classifier)]
    assert kept["checkpoint"] == {
        "name": "tiny-lm → measured",
        "identity": " → ".join(names),
    }
