"""Two words in all heads, in Chromium: one click from the picture, and another noun in the place of one."""

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, expect_spanish, type_into

DOG = "/?tab=attention&stack=encoder_self&text=The+dog+eats+the+bread.&lock=en2-en1"


@pytest.mark.parametrize("width", [1280, 375])
def test_two_locked_words_are_one_click_from_all_heads_and_a_cell_opens_its_head(visit, width, learned_pairs):
    page = visit(DOG, width=width)
    page.locator(".locked-word").get_by_role("button", name="In all heads").click()
    grids = page.locator(".word-link")
    expect(grids.locator("figcaption")).to_have_count(2)
    expect(grids.locator("td button")).to_have_count(16)
    expect_fits(page, width)
    grids.get_by_role("button", name="layer 2, head 3").first.click()
    page.wait_for_function("() => new URLSearchParams(location.search).get('head') === '3'")
    expect(page.locator(".view .title")).to_contain_text("layer 2 of 2 · head 3 of 4")


def test_another_noun_in_its_place(visit, learned_pairs):
    page = visit(DOG)
    expect_spanish(page, learned_pairs[1][1])
    page.get_by_role("tab", name="From word to word").click()
    type_into(page.get_by_label("Another word in its place"), "cat")
    page.get_by_role("button", name="Put it there").click()
    expect(page.locator(".word-link figcaption")).to_have_count(6)
    expect(page.locator(".drawer .contrasted .source mark").last).to_be_visible()
    page.get_by_role("button", name="Leave the word out").click()
    expect(page.locator(".drawer .contrasted section")).to_have_count(2)
