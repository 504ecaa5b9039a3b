"""The whole pass as a person goes through it, played, with a layer opened; and the Model
tab: the code, sizes, neighbours."""

from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.acts import idle, said, translate
from xformer.strings import ENGLISH

say = ENGLISH.say


def part(page, name):
    page.get_by_test_id(f"{say(name)}-radio-label").click()


def test_the_pass_is_played_and_looked_into_and_the_other_parts_follow_the_sentence(
    visit, learned_pairs
):
    english, spanish = learned_pairs[0]
    page = visit(f"/?text={quote(english)}")
    picture = page.locator(".block.whole-pass")
    panel = page.locator(".whole-panel")
    expect(picture.locator(".of-encoder [data-piece]").last).to_have_attribute(
        "aria-label", "</s>"
    )
    slider = picture.get_by_role("slider", name=say("play_step"))
    expect(slider).to_have_value("1")
    picture.locator(".toggle").click()
    expect(picture.locator(".toggle")).to_have_text(say("play_stop"))
    # it has come to the end by itself
    expect(picture.locator(".toggle")).to_have_text(say("play_start"))
    idle(page)
    written = picture.locator(".of-decoder text[lang=es]").evaluate_all(
        "all => all.map(one => one.textContent)"
    )
    assert "".join(written[written.index("→ </s>") + 1 :]).replace(
        " ", ""
    ) == spanish.replace(" ", "")
    assert "whole_step=" in page.url
    picture.locator("[data-piece='1']").focus()
    page.keyboard.press("ArrowLeft")
    before = int(slider.input_value())
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "lock=-en1" in url and f"whole_step={before}" in url)
    layer = picture.get_by_role("button", name=said("whole_layer_name")).first
    layer.click()
    expect(panel).to_be_focused()
    expect(layer).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    idle(page)
    expect(panel).to_be_hidden()
    assert "whole_block" not in page.url
    picture.get_by_role("button", name="Open: decoder, layer 1").click()
    panel.get_by_role("button", name=say("whole_open_attention")).last.click()
    expect(page.locator(".view .title")).to_contain_text(
        "Cross-attention (Spanish looks at English) · layer 1 of 2"
    )

    page.locator("[role=tab][data-tab-id=model]").click()
    part(page, "part_architecture")
    panel = page.locator(".code-of").first
    towers = page.locator(".architecture.block .towers").first
    page.get_by_role(
        "button", name=said("arch_code", name=say("arch_cross"))
    ).first.click()
    expect(panel).to_contain_text("def attend(")
    idle(page)
    drawn = towers.text_content()
    translate(page, learned_pairs[1][0])
    idle(page)
    expect(towers).not_to_have_text(drawn)
    expect(panel).to_contain_text("def attend(")
    page.get_by_test_id("Kak-radio-label").click()
    expect(page.locator(".architecture .frame > .group").first).to_contain_text(
        "Master"
    )
    page.wait_for_url(lambda url: "teacher=kak" in url)
    panel.locator(".close").click()  # it covers what stands at the lower edge
    page.locator(".at-blocks button.label-wrap").click()
    heads = page.get_by_role("spinbutton", name=say("sizes_n_heads"))
    problem = page.get_by_text(said("sizes_heads", heads=7))
    heads.fill("7")
    heads.press("Enter")
    expect(problem).to_be_visible()
    heads.fill("16")
    heads.press("Enter")
    idle(page)
    expect(problem).to_be_hidden()
    assert "size_heads=16" in page.url
    part(page, "part_vocabulary")
    page.get_by_role("slider", name=say("vocab_layer")).focus()
    page.keyboard.press("ArrowLeft")
    expect(
        page.locator(".pieces-of:visible h3", has_text="after layer 1")
    ).to_have_count(1)
    page.wait_for_url(lambda url: "vocab_layer=1" in url)
