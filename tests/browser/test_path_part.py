"""The path between two words, in the Training tab: words are chosen by click and by key, and all is saved."""

import csv
import io

from playwright.sync_api import expect

from tests.browser.acts import contrasts, expect_fits, idle, saved, steady


def test_two_words_are_chosen_by_click_and_by_key(visit):
    page = visit("/?tab=training&part=path&text=The+dog+eats+the+bread.")
    words = page.locator(".path-between .word")
    expect(words.first).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".path-between .measured td:not(.said)")).to_have_count(4 * 4)
    expect(page.locator(".path-curves[data-drawn] svg.main-svg").first).to_be_visible()
    words.nth(2).click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".prose.path-between")).to_have_attribute("data-drawn", "2 3")
    expect(words.nth(3)).to_be_focused()
    idle(page)
    assert "path_from=3" in page.url and "path_to=4" in page.url
    content, _ = saved(page, page.locator(".block.path-between").get_by_role("button", name="Save as CSV").click)
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert [row[2] for row in rows if row[1] == "between them"] == ["2", "1", "1", "1"]
    count = words.count()
    assert [row[2] for row in rows if row[1] == "at most"][::3] == [str(count), "1"]
    assert not [one for one in contrasts(page) if one["ratio"] < 4.5]


def test_who_leaves_the_part_finds_the_path_again(visit):
    page = visit("/?tab=training&part=path&path_from=1&path_to=4&text=The+dog+eats+the+bread.")
    drawing, parts = page.locator(".block.path-between"), page.locator(".tabitem:visible .parts label:visible")
    expect(page.locator(".path-between .measured td:not(.said)")).to_have_count(4 * 4)
    path = next(i for i in range(parts.count()) if "selected" in parts.nth(i).get_attribute("class"))
    parts.nth(path - 1).click()
    idle(page)
    expect(drawing).to_be_hidden()
    parts.nth(path).click()
    idle(page)  # it measures again, where there is nothing left to measure
    page.locator(".path-kernel input[type=number]").fill("4")
    page.keyboard.press("Enter")
    expect(drawing.locator(".of h3").nth(1)).to_contain_text("k = 4")
    expect(page.locator(".prose.path-between")).to_have_attribute("data-drawn", "0 3")
    idle(page)
    assert "path_kernel=4" in page.url and "path_from=1&path_to=4" in page.url


def test_a_page_that_changes_while_an_answer_is_awaited_shows_the_last_one_whole(visit):
    page = visit("/?tab=training&part=path&path_from=1&path_to=4&text=The+dog+eats+the+bread.")
    drawing = page.locator(".prose.path-between")
    expect(drawing).to_have_attribute("data-drawn", "0 3")
    expect(page.locator(".path-between .measured td:not(.said)")).to_have_count(4 * 4)
    expect(page.locator(".path-curves[data-drawn] svg.main-svg").first).to_be_visible()
    held = []
    page.route("**/queue/join*", lambda route: held.append(route))
    with page.expect_request("**/queue/join*"):
        page.locator(".path-between .word").nth(1).click()
    expect(page.locator('.path-between .word[aria-pressed="true"]').first).to_have_attribute("data-piece", "1")
    before = page.locator(".path-between .kinds svg").first.get_attribute("width")
    page.set_viewport_size({"width": 800, "height": 900})
    steady(page, len(held))
    expect(page.locator(".path-between .kinds svg").first).not_to_have_attribute("width", before)
    expect(drawing).to_have_attribute("data-drawn", "0 3")
    expect(page.locator('.path-between .word[aria-pressed="true"]').first).to_have_attribute("data-piece", "1")
    for route in held:
        route.continue_()
    page.unroute("**/queue/join*")
    expect(drawing).to_have_attribute("data-drawn", "3 1")


def test_on_a_phone_the_words_scroll_and_the_page_does_not(visit):
    page = visit("/?tab=training&part=path&path_from=2&path_to=5&path_kernel=2&text=The+dog+eats+the+bread.", width=375)
    expect(page.locator(".prose.path-between")).to_have_attribute("data-drawn", "1 4")
    expect(page.locator(".path-between .of h3").nth(1)).to_contain_text("k = 2")
    expect_fits(page, 375)
