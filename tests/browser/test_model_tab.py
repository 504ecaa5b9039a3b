"""The Model tab: the lines behind a block, and the calculator."""

from playwright.sync_api import expect

from tests.browser.acts import expect_fits, open_tab


def test_braces_show_the_lines_that_compute_a_block_and_escape_closes_them(same_page):
    page = same_page
    open_tab(page, "model")
    panel, braces = page.locator(".code-of").first, page.get_by_role("button", name="Code of: Cross-attention").first
    braces.click()
    expect(panel).to_be_in_viewport()
    expect(panel).to_contain_text("def attend(q: Tensor")
    page.get_by_role("button", name="Code of: Feed-forward").first.click()
    expect(panel).to_contain_text("class FeedForward")
    expect(panel.get_by_text("def attend")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator("[role=tab][aria-selected=true]")).to_have_text("Model")


def test_a_preset_sets_every_size_and_the_picture_follows(same_page):
    page = same_page
    open_tab(page, "model")
    page.get_by_test_id("Build your own-radio-label").click()
    page.get_by_role("button", name="The paper’s base").click()
    expect(page.get_by_role("spinbutton", name="Hidden units, d_ff")).to_have_value("2048")
    expect(page.get_by_role("img", name="63,082,496 parameters")).to_be_visible()
    heads = page.get_by_role("spinbutton", name="Heads")
    heads.fill("7")
    heads.press("Enter")
    expect(page.get_by_text("which 7 heads cannot share equally")).to_be_visible()
    heads.fill("16")
    heads.press("Enter")
    expect(page.get_by_text("which 7 heads cannot share equally")).to_be_hidden()
    page.wait_for_url(lambda url: "size_heads=16" in url)
    page.set_viewport_size({"width": 375, "height": 812})
    expect_fits(page, 375)


def test_neighbours_follow_the_piece_and_the_layer(same_page):
    page = same_page
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_test_id("Words and vectors-radio-label").click()
    contexts = page.locator(".pieces-of:visible h3", has_text="state most like that of")
    expect(contexts).to_have_count(1)
    slider = page.get_by_role("slider", name="After this many encoder layers")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".pieces-of:visible h3", has_text="after layer 1")).to_have_count(1)
    page.wait_for_url(lambda url: "vocab_layer=1" in url)
    page.set_viewport_size({"width": 375, "height": 812})
    expect_fits(page, 375)
