"""The Model tab: the whole pass in one picture, the lines behind a block, and the calculator."""

import json
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, idle, open_tab, saved, translate
from xformer.figures.whole_pass import flows


def whole_pass(page):
    """The picture of the pass, when it is drawn."""
    picture = page.locator(".block.whole-pass")
    expect(picture.locator("svg.pass")).to_be_visible()
    expect(picture.locator(".of-encoder [data-piece]").last).to_have_attribute("aria-label", "</s>")
    return picture


def test_the_tab_opens_with_the_whole_pass_and_play_writes_the_translation(visit, learned_pairs):
    english, spanish = learned_pairs[0]
    page = visit(f"/?tab=model&text={quote(english)}")
    picture = whole_pass(page)
    expect(page.locator("p.asks", has_text="What happens between the sentence")).to_be_visible()
    expect(picture.get_by_role("slider", name="Step")).to_have_value("1")
    picture.get_by_role("button", name="Play").click()
    expect(picture.get_by_role("button", name="Pause")).to_be_visible()
    expect(picture.get_by_role("button", name="Play")).to_be_visible()  # it has come to the end by itself
    said = picture.locator(".said")
    expect(said).to_contain_text("To write “</s>”, the decoder looked most at")
    idle(page)
    written = picture.locator(".of-decoder text[lang=es]").evaluate_all("all => all.map(one => one.textContent)")
    assert "".join(written[written.index("→ </s>") + 1:]).replace(" ", "") == spanish.replace(" ", "")
    assert "whole_step=" in page.url


def test_keys_go_from_step_to_step_follow_a_piece_and_open_a_layer(visit, learned_pairs):
    page = visit(f"/?tab=model&text={quote(learned_pairs[0][0])}")
    picture, panel = whole_pass(page), page.locator(".whole-panel")
    piece = picture.locator("[data-piece='1']")
    picture.locator("[data-piece='0']").focus()
    page.keyboard.press("ArrowDown")
    expect(piece).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(picture.get_by_role("slider", name="Step")).to_have_value("2")
    page.keyboard.press("Enter")
    expect(piece).to_have_attribute("aria-pressed", "true")
    expect(piece).to_be_focused()
    page.wait_for_url(lambda url: "lock=-en1" in url and "whole_step=2" in url)
    layer = picture.get_by_role("button", name="Open: encoder, layer 2")
    layer.focus()
    page.keyboard.press("Enter")
    expect(panel).to_be_focused()
    expect(panel).to_contain_text(f"Encoder, layer 2 · {piece.get_attribute('aria-label')}")
    expect(layer).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    idle(page)
    expect(panel).to_be_hidden()
    expect(layer).to_be_focused()
    assert "whole_block" not in page.url
    picture.get_by_role("button", name="Open: decoder, layer 1").click()
    panel.get_by_role("button", name="See this head").last.click()
    expect(page.locator(".view .title")).to_contain_text("Cross-attention (Spanish looks at English) · layer 1 of 2")


def test_the_whole_pass_fits_a_phone_and_is_saved(visit, learned_pairs, running):
    english, spanish = learned_pairs[0]
    page = visit(f"/?tab=model&text={quote(english)}", width=375)
    picture = whole_pass(page)
    expect_fits(page, 375)
    assert page.evaluate("document.documentElement.scrollHeight") <= 2400
    page.set_viewport_size({"width": 1280, "height": 900})
    idle(page)
    content, name = saved(page, picture.get_by_role("button", name="Save as SVG").click)
    text = content.decode()
    assert name.startswith("One-pass-") and english in text and spanish in text and "tiny-en-es" in text
    assert "<foreignObject" not in text and text.count("<image") >= 10
    content, _ = saved(page, picture.get_by_role("button", name="Save as PNG").click)
    assert content.startswith(b"\x89PNG") and len(content) > 20_000
    content, _ = saved(page, picture.get_by_role("button", name="Save as JSON").click)
    trace = running.trace(english, spanish)
    mean, _ = flows(trace.cross, "mean")
    found = [weight for part, *_, weight in json.loads(content)["rows"] if part == "cross.2"]
    assert found == pytest.approx([float(p) for p in mean[1, 0] if p >= 0.03], abs=1e-4)  # four digits are saved


def test_braces_show_the_lines_that_compute_a_block_and_escape_closes_them(same_page, learned_pairs):
    page = same_page
    open_tab(page, "model")
    page.get_by_test_id("This model-radio-label").click()
    panel, braces = page.locator(".code-of").first, page.get_by_role("button", name="Code of: Cross-attention").first
    braces.click()
    expect(panel).to_be_in_viewport()
    expect(panel).to_contain_text("def attend(q: Tensor")
    idle(page)
    drawn = page.locator(".architecture.block .towers").first.text_content()
    translate(page, learned_pairs[1][0])
    idle(page)
    expect(page.locator(".architecture.block .towers").first).not_to_have_text(drawn)
    expect(panel).to_be_in_viewport()
    expect(panel).to_contain_text("def attend(q: Tensor")
    page.get_by_role("button", name="Code of: Feed-forward").first.click()
    expect(panel).to_contain_text("class FeedForward")
    idle(page)
    expect(panel.get_by_text("def attend")).to_be_hidden()
    page.keyboard.press("Escape")
    idle(page)
    expect(panel).to_be_hidden()
    expect(page.locator("[role=tab][aria-selected=true]")).to_have_text("Model")


@pytest.mark.parametrize("width", [1280, 375])
def test_the_figure_in_a_teachers_words_is_framed_tabulated_and_saved(visit, learned_pairs, width):
    page = visit(f"/?tab=model&model_part=architecture&teacher=canziani&text={quote(learned_pairs[0][0])}", width=width)
    figure = page.locator(".block.architecture").first
    decoder = figure.locator("[data-side=decoder]")
    expect(decoder.locator("h3")).to_have_text("y, the target sentence")
    expect(decoder.locator(".frame > .group:visible")).to_have_text(
        ["Encoder, after the unit delay", "Predictor → hidden representation h", "Decoder → ỹ, h^Dec"])
    predictor = decoder.locator(".frame:has(> .group:has-text('Predictor'))").first
    expect(predictor.locator("[data-box=cross] b")).to_have_text("Cross-attention")
    assert predictor.locator("[data-box=feed_forward]").count() == 0, "that is the decoder's"
    expect(decoder.locator(".none:visible")).to_have_text(
        ["Latent variable: none enters here", "E: energy between ỹ and y"])
    table = figure.locator(".terms")
    expect(table.locator("tr", has_text="DecoderLayer").first).to_contain_text("predictor module, then decoder module")
    table.get_by_role("button", name="Code of: DecoderLayer").click()
    expect(figure.locator(".code-of")).to_contain_text("class DecoderLayer")
    page.keyboard.press("Escape")
    idle(page)
    expect_fits(page, width)
    assert page.evaluate("document.body.scrollHeight") <= {1280: 1400, 375: 2400}[width]
    page.get_by_test_id("Kak-radio-label").click()
    expect(figure.locator(".frame > .group").first).to_contain_text("Master")
    page.wait_for_url(lambda url: "teacher=kak" in url)
    if width == 1280:
        content, _ = saved(page, figure.get_by_role("button", name="Save as SVG").click)
        text = content.decode()
        assert "MasterDecoderWithMasking" in text and "Number of layers" in text and "data-taught" not in text
        content, _ = saved(page, figure.get_by_role("button", name="Save as CSV").click)
        assert "SelfAttention" in content.decode()
        page.get_by_test_id("this project-radio-label").click()
        idle(page)
        expect(table).to_have_count(0)
        page.get_by_role("button", name="What teachers call it").click()
        expect(page.locator(".at-terms .terms tbody tr")).to_have_count(29)


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
    idle(page)
    expect(page.get_by_text("which 7 heads cannot share equally")).to_be_hidden()
    assert "size_heads=16" in page.url
    page.set_viewport_size({"width": 375, "height": 812})
    idle(page)
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
    idle(page)
    expect_fits(page, 375)
