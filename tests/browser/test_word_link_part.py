"""Two words in all heads, in Chromium: one click from the picture, and another noun in the place of one."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, expect_spanish, idle, type_into

DOG = "/?tab=attention&stack=encoder_self&text=The+dog+eats+the+bread.&lock=en2-en1"


@pytest.mark.parametrize("width", [1280, 375])
def test_two_locked_words_are_one_click_from_all_heads_and_a_cell_opens_its_head(visit, width, learned_pairs):
    page = visit(DOG, width=width)
    page.locator(".locked-word").get_by_role("button", name="In all heads").click()
    grids = page.locator(".word-link")
    expect(grids.locator("figcaption")).to_have_count(2)
    expect(grids.locator("td button")).to_have_count(16)
    idle(page)
    expect_fits(page, width)
    grids.get_by_role("button", name="layer 2, head 3").first.click()
    page.wait_for_url(re.compile("[?&]head=3(&|$)"))
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


def test_a_drawing_that_comes_late_leaves_what_was_put_in_a_words_place(visit, learned_pairs):
    page, held = visit(DOG), []
    page.get_by_role("tab", name="From word to word").click()
    expect(page.locator(".word-link figcaption")).to_have_text(["eats → dog", "dog → eats"])
    drawing = page.evaluate("""() => {
        const {components, dependencies} = window.gradio_config;
        const {id} = components.find(one => one.props.label === "This word");
        return dependencies.find(one => one.outputs.includes(id) && one.targets.some(([, event]) => event === "change"))
            .id; }""")

    def draws(request):
        return "/run/predict" in request.url and request.post_data_json["fn_index"] == drawing

    page.route("**/run/predict*", lambda route: held.append(route) if draws(route.request) else route.continue_())
    page.get_by_label("This word").click()
    with page.expect_request(draws):
        page.get_by_role("option", name="EN · bread").click()
    type_into(page.get_by_label("Another word in its place"), "cat")
    page.get_by_role("button", name="Put it there").click()
    expect(page.locator(".word-link figcaption")).to_have_count(6)
    (late,) = held
    with page.expect_response(lambda answer: answer.request == late.request):
        late.continue_()
    idle(page)
    expect(page.locator(".word-link figcaption")).to_have_count(6)
