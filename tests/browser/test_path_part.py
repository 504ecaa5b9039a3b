"""The path between two words as a person goes it: words chosen, the part left and found
again, another kernel."""

from playwright.sync_api import expect

from tests.browser.acts import idle


def test_two_words_are_chosen_and_found_again_by_who_leaves_the_part(visit):
    page = visit("/?tab=training&part=path&text=The+dog+eats+the+bread.")
    drawing = page.locator(".block.path-between")
    words = page.locator(".path-between .word")
    parts = page.locator(".tabitem:visible .parts label:visible")
    drawn = page.locator(".prose.path-between")
    expect(page.locator(".path-between .measured td:not(.said)")).to_have_count(4 * 4)
    expect(page.locator(".path-curves[data-drawn] svg.main-svg").first).to_be_visible()
    words.nth(2).click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(drawn).to_have_attribute("data-drawn", "2 3")
    expect(words.nth(3)).to_be_focused()
    idle(page)
    assert "path_from=3" in page.url and "path_to=4" in page.url
    path = next(
        i
        for i in range(parts.count())
        if "selected" in parts.nth(i).get_attribute("class")
    )
    parts.nth(path - 1).click()
    idle(page)
    expect(drawing).to_be_hidden()
    parts.nth(path).click()
    idle(page)  # it measures again, where there is nothing left to measure
    page.locator(".path-kernel input[type=number]").fill("4")
    page.keyboard.press("Enter")
    expect(drawing.locator(".of h3").nth(1)).to_contain_text("k = 4")
    expect(drawn).to_have_attribute("data-drawn", "2 3")
    idle(page)
    assert "path_kernel=4" in page.url and "path_from=3&path_to=4" in page.url
