"""A review judged, explained and edited, and a pair compared, in Chromium, by a classifier that knows twelve."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, idle, saved, type_into
from xformer.serve.reviews import SentimentService

GOOD, BAD = "I loved every minute of it!", "I hated every minute of it!"


@pytest.fixture(scope="module")
def reader(measured_classifier):
    return SentimentService.open(measured_classifier, "cpu")


def open_tab(page, name="Sentiment"):
    """Open the tab and wait for the picture that it opens on."""
    page.get_by_role("tab", name=name).click()
    page.locator(".strongest tbody tr").first.wait_for()


def judge(page, text):
    type_into(page.get_by_label("Review, in English"), text)
    page.get_by_role("button", name="Explain every word").click()


def expect_words(page, text):
    """Wait until the explained text, as the model reads it, is this one."""
    expect(page.locator(".block.effects .review")).to_have_text(text.lower())


def share(value):
    return f"{100 * value:.1f} %"


def test_the_tab_opens_on_an_example_that_is_explained(visit):
    page = visit()
    open_tab(page)
    first = page.locator(".block.effects .review .word").first
    expect(first).to_have_attribute("title", re.compile(r": [+-]\d\.\d\d nats$"))
    page.get_by_role("button", name="Where did the model look?").click()
    expect(page.locator(".block.looked .agree")).to_contain_text("Spearman")


def test_a_review_is_judged_and_every_word_says_what_it_did(visit, reader):
    page = visit()
    open_tab(page)
    judge(page, GOOD)
    expect_words(page, GOOD)
    found = reader.attribute(GOOD)
    expect(page.locator(".verdict").first).to_have_text(f"positive {share(found.sentiment.probability)}")
    words = page.locator(".block.effects .review .word")
    expect(words).to_have_count(len(found.words))
    loved = found.words.index("▁loved")
    expect(words.nth(loved)).to_have_attribute("title", f"loved: {found.effect[loved]:+.2f} nats")
    expect(words.nth(loved)).to_have_class("word for")
    expect(page.locator(".strongest tbody tr").first.locator("td").first).to_have_text(
        found.words[abs(found.effect).argmax()].replace("▁", ""))
    page.get_by_role("button", name="Where did the model look?").click()
    page.get_by_text("What a head looks at").click()
    expect(page.locator(".block.looked .note")).to_contain_text("Layer 2, head 1:")
    expect(page.locator(".block.looked .review .word").nth(loved)).to_have_attribute(
        "title", f"loved: {share(found.heads[1, 0, loved])}")
    page.wait_for_url("**review=I+loved**")


def test_the_verdict_follows_what_is_typed_and_the_explanation_says_what_it_is_of(visit, reader):
    page = visit()
    open_tab(page)
    box, verdict = page.get_by_label("Review, in English"), page.locator(".block.judged .verdict")
    moved, stale = page.locator(".block.moves"), page.locator(".block.stale")
    type_into(box, GOOD)  # the first own text is no edit of the example
    before, after = (one.probabilities["positive"] for one in reader.classify([GOOD, BAD]))
    expect(verdict).to_have_text(f"positive {share(before)}")
    expect(stale).to_contain_text("not as it is now")
    idle(page)
    expect(moved).to_be_hidden()
    box.press("Control+Enter")
    expect_words(page, GOOD)
    idle(page)
    expect(stale).to_be_hidden()
    assert box.input_value() == GOOD, "the keys that explain break no line"
    box.fill(BAD)  # as pasting does, which presses no key
    expect(moved.locator(".moved")).to_have_text(
        f"The probability of “positive” goes from {share(before)} to {share(after)} ({100 * (after - before):+.1f} "
        f"points) since the last explanation.")
    expect(moved.locator("del")).to_have_text("loved")
    expect(moved.locator("ins")).to_have_text("hated")
    expect(verdict).to_have_text(f"negative {share(1 - after)}")
    idle(page)
    expect(page.locator(".verdict")).to_have_count(1)
    box.press("Backspace")
    expect(moved.locator("ins").last).to_have_text("it")
    idle(page)
    expect_words(page, GOOD)  # the explanation stays that of the last reading, and says so
    expect(stale).to_be_visible()
    assert page.locator(".block.effects").evaluate("element => getComputedStyle(element).opacity") < "1"
    box.fill("")
    expect(moved.get_by_role("alert")).to_have_text("There is nothing to judge: type or paste an English review.")
    idle(page)
    expect(verdict).to_have_count(0)
    judge(page, BAD)
    expect_words(page, BAD)
    idle(page)
    expect(moved).to_be_hidden()
    expect(stale).to_be_hidden()


@pytest.mark.parametrize(("text", "said"), [
    ("", "There is nothing to judge"), ("🙂", "never seen these characters: 🙂"),
    ("word " * 6001, "at most 30,000 characters")])
def test_bad_input_gets_one_sentence_and_nothing_is_lost(visit, text, said):
    page = visit()
    open_tab(page)
    judge(page, GOOD)
    expect_words(page, GOOD)
    judge(page, text)
    expect(page.locator(".moves").get_by_role("alert").filter(has_text=said)).to_be_visible()
    idle(page)
    expect_words(page, GOOD)
    assert page.get_by_label("Review, in English").input_value() == text


def test_markup_is_shown_as_text_and_runs_nothing(visit):
    page = visit()
    open_tab(page)
    text = "A <img src=x onerror=alert(1)> great <b>film</b>."
    judge(page, text)
    judged = page.locator(".block.sentiment:not(.moves) .notice")  # until it is, the text as it is now says so too
    expect(judged.filter(has_text="The text looks like HTML")).to_be_visible()
    type_into(page.get_by_label("Review, in English"), text + " <script>alert(2)</script>")
    expect(page.locator(".block.moves ins")).to_have_text("<script>alert(2)</script>")
    idle(page)
    assert page.locator(".sentiment img, .sentiment .review b, .sentiment script").count() == 0


def test_two_thousand_words_are_read_and_what_is_cut_is_said(visit):
    page = visit()
    open_tab(page)
    judge(page, "a great film and a story " * 333 + "not bad")
    judged = page.locator(".block.sentiment:not(.moves)")
    expect(judged.get_by_text("The text is longer than the model reads")).to_be_visible()
    expect(page.locator(".block.effects .cut")).to_contain_text("pieces left out here")


def test_a_pair_is_read_side_by_side(visit, reader):
    page = visit()
    open_tab(page)
    page.get_by_role("button", name="Minimal pairs").click()
    page.get_by_text("Negation", exact=True).click()
    pair = page.locator(".block.pair")
    expect(pair).to_contain_text("What to look for.")
    found = reader.classify(["The film is good.", "The film is not good."])
    for side, one, wanted in zip((0, 1), found, ("positive", "negative"), strict=True):
        section = pair.locator("section").nth(side)
        expect(section.locator(".review")).to_have_text(one.text.lower())
        expect(section.locator(".verdict")).to_have_text(f"{one.label} {share(one.probability)}")
        expect(section).to_contain_text("The model gets this right." if one.label == wanted else
                                        f"The model gets this wrong: it should be {wanted}.")
    expect(pair).to_contain_text(re.compile(r"Of the 16 texts of all pairs, the model gets \d+ right\."))


def test_what_was_measured_is_drawn_and_saved_with_the_name_of_the_classifier(visit, reader):
    page = visit()
    open_tab(page)
    page.get_by_role("button", name="Can the probability be trusted?").click()
    expect(page.get_by_text("On 100 validation texts the expected calibration error is 3.1 %")).to_be_visible()
    expect(page.locator(".block.calibration .js-plotly-plot .xtitle")).to_have_text("confidence (%)")
    surest = max(reader.calibration.bins, key=lambda one: one.confidence)
    expect(page.get_by_text(f"Of the {surest.count} texts that the model is surest of")).to_be_visible()
    page.get_by_role("button", name="What pre-training is worth").click()
    expect(page.locator(".block.shares .js-plotly-plot .annotation-text").first).to_have_text("accuracy (%)")
    figure = page.locator(".picture.calibration[data-drawn]")
    found = json.loads(saved(page, figure.get_by_role("button", name="Save as JSON").click)[0])
    assert found["checkpoint"] == {"name": reader.info.name, "identity": reader.info.identity}, "not the page's model"
    assert found["model"].startswith("measured · pre-norm · 2 layers × 4 heads")


def test_a_link_opens_the_review(visit):
    page = visit(f"/es?tab=sentiment&review={BAD.replace(' ', '+')}")
    expect_words(page, BAD)
    expect(page.get_by_label("Reseña, en inglés")).to_have_value(BAD)
    expect(page.locator(".verdict").first).to_contain_text("negativa")


def test_a_phone_shows_the_tab_without_scrolling_sideways(visit):
    page = visit("/?tab=sentiment", width=375)
    type_into(page.get_by_label("Review, in English"), GOOD)
    page.get_by_role("button", name="Explain every word").click()
    expect_words(page, GOOD)
    type_into(page.get_by_label("Review, in English"), BAD)
    page.locator(".block.moves .moved").wait_for()
    page.get_by_role("button", name="Minimal pairs").click()
    page.get_by_text("Negation", exact=True).click()
    page.locator(".block.pair section").first.wait_for()
    idle(page)
    expect_fits(page, 375)


@pytest.mark.parametrize(("width", "height", "most"), [(1280, 800, 100), (375, 812, 290)])
def test_the_verdict_and_the_words_stand_in_the_first_screen(visit, width, height, most):
    page = visit("/?tab=sentiment", width=width)
    page.set_viewport_size({"width": width, "height": height})
    idle(page)
    top = page.get_by_role("tabpanel").bounding_box()["y"]
    assert page.locator(".judged .verdict").bounding_box()["y"] - top < most
    if width > 1000:
        words = page.locator(".block.effects .review").bounding_box()
        assert words["y"] + words["height"] - top < height - 100


def test_a_review_that_is_typed_while_the_first_is_judged_stays(visit):
    page, held = visit(), []
    page.route(re.compile("/gradio_api/(run|queue/join)"), lambda route: held.append(route))
    page.locator("[role=tab][data-tab-id=sentiment]").click()
    field = page.get_by_label("Review, in English")
    type_into(field, "The actors are great.")
    assert held
    for route in held:
        route.continue_()
    page.unroute(re.compile("/gradio_api/(run|queue/join)"))
    idle(page)
    expect(field).to_have_value("The actors are great.")
