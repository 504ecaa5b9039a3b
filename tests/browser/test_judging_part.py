"""A review judged, explained and edited, and a pair compared, in Chromium, by a
classifier that knows twelve."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import idle, open_tab, saved, type_into
from xformer.figures.labels import percent
from xformer.serve.reviews import SentimentService
from xformer.strings import ENGLISH, SPANISH

GOOD = "I loved every minute of it!"
BAD = "I hated every minute of it!"
ASKED = re.compile("/gradio_api/(run|queue/join)")
say = ENGLISH.say


@pytest.fixture(scope="module")
def reader(measured_classifier):
    return SentimentService.open(measured_classifier, "cpu")


def expect_words(page, text):
    """Wait until the explained text, as the model reads it, is this one."""
    expect(page.locator(".block.effects .review")).to_have_text(text.lower())


def unfold(page, key):
    """Open a part that is closed at first."""
    page.get_by_role("button", name=say(key)).click()


def test_a_review_is_judged_typed_on_and_explained_and_a_pair_is_read(visit, reader):
    page = visit()
    open_tab(page, "sentiment")
    box = page.get_by_label(say("review"))
    verdict = page.locator(".block.judged .verdict")
    moved = page.locator(".block.moves")
    stale = page.locator(".block.stale .notice")
    words = page.locator(".block.effects .review .word")
    # of the example
    expect(words.first).to_have_attribute("title", re.compile(r": [+−]\d\.\d\d nats$"))

    type_into(box, GOOD)  # the first own text is no edit of the example
    before, after = (
        one.probabilities["positive"] for one in reader.classify([GOOD, BAD])
    )
    expect(verdict).to_have_text(f"{say('label_positive')} {percent(before)}")
    expect(stale).to_contain_text(say("review_stale"))
    idle(page)
    expect(moved).to_be_hidden()
    box.press("Control+Enter")
    expect_words(page, GOOD)
    idle(page)
    expect(stale).to_be_hidden()
    expect(box).to_have_value(GOOD)  # the keys that explain break no line
    assert "review=I+loved" in page.url

    found = reader.attribute(GOOD)
    loved = found.words.index("▁loved")
    expect(words.nth(loved)).to_have_attribute(
        "title", f"loved: {found.effect[loved]:+.2f} nats"
    )
    unfold(page, "fold_trust")
    expect(page.locator(".block.looked .agree")).to_contain_text("Spearman")
    page.get_by_text(say("review_view_head")).click()
    expect(page.locator(".block.looked .note")).to_contain_text("Layer 2, head 1:")
    expect(page.locator(".block.looked .review .word").nth(loved)).to_have_attribute(
        "title", f"loved: {percent(found.heads[1, 0, loved])}"
    )

    box.fill(BAD)  # as pasting does, which presses no key
    expect(moved.locator("del")).to_have_text("loved")
    expect(moved.locator("ins")).to_have_text("hated")
    expect(verdict).to_have_text(f"negative {percent(1 - after)}")
    idle(page)
    box.press("Backspace")
    expect(moved.locator("ins").last).to_have_text("it")
    idle(page)
    # the explanation stays that of the last reading, and says so
    expect_words(page, GOOD)
    expect(stale).to_be_visible()
    assert (
        page.locator(".block.effects").evaluate(
            "element => getComputedStyle(element).opacity"
        )
        < "1"
    )
    box.fill("")
    expect(moved.get_by_role("alert")).to_have_text(say("error_review_empty"))
    idle(page)
    expect(verdict).to_have_count(0)
    page.locator(".examples").get_by_role("button").nth(1).click()
    expect(verdict).to_have_count(1)
    idle(page)
    expect(stale).to_be_hidden()
    expect(moved).to_be_hidden()
    expect(box).not_to_have_value("")

    page.get_by_text("Negation", exact=True).click()
    for side, one in enumerate(
        reader.classify(["The film is good.", "The film is not good."])
    ):
        section = page.locator(".block.pair section").nth(side)
        expect(section.locator(".verdict")).to_have_text(
            f"{one.label} {percent(one.probability)}"
        )
    figure = page.locator(".picture.calibration[data-drawn]")
    expect(figure.locator(".js-plotly-plot .xtitle")).to_have_text(
        say("calibration_confidence")
    )
    found = json.loads(
        saved(page, figure.get_by_role("button", name="Save as JSON").click)[0]
    )
    assert found["checkpoint"] == {
        "name": reader.info.name,
        "identity": reader.info.identity,
    }, "not the page's model"
    assert found["model"].startswith("measured · pre-norm · 2 layers × 4 heads")
    expect(
        page.locator(".block.shares .js-plotly-plot .annotation-text").first
    ).to_have_text(say("shares_accuracy"))


def test_a_review_that_is_typed_while_the_first_is_judged_stays_and_a_link_opens_it(
    visit,
):
    page = visit()
    held = []
    page.route(ASKED, lambda route: held.append(route))
    page.locator("[role=tab][data-tab-id=sentiment]").click()
    field = page.get_by_label(say("review"))
    type_into(field, BAD)
    assert held
    for route in held:
        route.continue_()
    page.unroute(ASKED)
    idle(page)
    expect(field).to_have_value(BAD)
    page.get_by_role("button", name=say("review_run")).click()
    expect_words(page, BAD)
    idle(page)

    again = visit("/es" + page.url[page.url.index("?") :])
    expect_words(again, BAD)
    expect(again.get_by_label(SPANISH.say("review"))).to_have_value(BAD)
    expect(again.locator(".verdict").first).to_contain_text("negativa")
