"""Two parts of the Training tab: generations beside each other, and a training watched
moment by moment."""

import re
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import expect

from tests.browser.acts import choose_map, idle, translate
from xformer.figures.generation import label
from xformer.strings import ENGLISH

say = ENGLISH.say


def drawn(page, name):
    return page.locator(f".{name}[data-drawn] .plot svg").first


def test_the_sentence_of_the_bar_goes_through_the_generations_whose_training_is_watched(
    visit, learned_pairs
):
    page = visit(
        "/?tab=training&form_model=pre-norm&form_moment=1&form_stack=encoder_self"
    )
    rows = page.locator(".generations:visible .said")
    expect(rows).to_have_count(4)
    for name, title in (
        ("gru-attention", "alignment error 0.300"),
        ("post-norm", ""),
        ("pre-norm", "alignment error 0.250"),
    ):
        expect(page.locator(f".gen-{name} .title")).to_be_visible()
        expect(page.locator(f".gen-{name} .title")).to_contain_text(title)
    translate(page, learned_pairs[3][0])
    expect(page.locator(".block.gen-pre-norm")).to_contain_text(
        learned_pairs[3][0].split()[1]
    )
    expect(rows).to_have_count(4)
    page.locator(".at-scores > button").click()
    drawn(page, "gen-curves").wait_for()
    drawn(page, "gen-times").wait_for()
    page.get_by_test_id(f"{say('gen_curve_loss')}-radio-label").click()
    expect(page.get_by_role("img", name=say("gen_plot_loss"))).to_be_visible()
    page.wait_for_url(
        lambda url: parse_qs(urlparse(url).query).get("gen_curve") == ["loss"]
    )

    # The other part plays a film of the sentence, whose frame the address keeps; below
    # it, it opens at the recorded moment of the address, and goes through the others.
    page.get_by_test_id(f"{say('part_forming')}-radio-label").click()
    film = page.locator(".prose.forming-film")
    expect(film).to_have_attribute("data-frame", "12")
    expect(film.locator(".wanted")).to_contain_text(learned_pairs[3][1])
    film.get_by_role("button", name=say("play_previous")).click()
    expect(film).to_have_attribute("data-frame", "11")
    page.wait_for_url(
        lambda url: parse_qs(urlparse(url).query).get("film_moment") == ["11"]
    )
    now = page.locator(".course tr.now")
    title = page.locator(".form-view .title")
    grid = page.locator(".heads:visible")
    expect(now).to_contain_text("step 0")
    expect(title).to_contain_text(
        re.compile("^Encoder self-attention · layer 1 of 2 · head 1 of 2.*step 0")
    )
    page.get_by_role("slider", name=re.compile(re.escape(say("form_moment")))).focus()
    page.keyboard.press("ArrowRight")
    expect(now).to_contain_text("step 5")
    expect(title).to_contain_text("step 5")
    idle(page)
    choose_map(page, 2, 2, ".heads:visible")
    expect(title).to_contain_text("layer 2 of 2 · head 2 of 2")
    story = page.locator(".block.form-story")
    before = story.text_content()
    page.get_by_role("combobox", name=say("form_sentence")).locator(
        "visible=true"
    ).click()
    page.get_by_role("option").nth(1).click()
    expect(story).not_to_have_text(before)
    drawn(page, "form-errors").wait_for()

    # A model without attention has no map to show.
    page.locator(".controls").get_by_text(label("gru"), exact=True).locator(
        "visible=true"
    ).click()
    expect(
        page.get_by_text(say("no_maps_model")).locator("visible=true").first
    ).to_be_visible()
    idle(page)
    expect(page.locator(".form-view")).to_be_hidden()
    expect(grid).to_have_count(0)
