"""Hard, soft and wrong attention in Chromium: opened by a click, drawn again by every
control, and opened by a link."""

import re

from playwright.sync_api import expect

from tests.browser.acts import idle
from xformer.strings import ENGLISH

say = ENGLISH.say


def test_the_sentence_is_translated_with_other_weights_as_each_control_says(
    visit, learned_pairs
):
    page = visit("/?tab=attention&text=The+dog+eats+the+bread.")
    named = page.locator(".weigh-result .what")
    idle(page)
    page.get_by_role("tab", name=say("drawer_ablation")).click()
    expect(named).to_have_text("β → ∞ · Cross, all layers")
    expect(page.locator(".weigh-result .large").first).to_have_text(learned_pairs[1][1])
    expect(page.locator(".weigh-after .title")).to_contain_text(
        "β → ∞ · Cross, all layers"
    )
    expect(page.locator(".weigh-curve .scatterlayer .js-line")).to_have_count(3)
    part = (
        page.get_by_role("tabpanel")
        .filter(has=page.locator(".block.weigh-result"))
        .last
    )
    part.get_by_text(say("weigh_scope_head"), exact=True).click()
    expect(named).to_have_text("β → ∞ · Cross, layer 2, head 1")
    part.get_by_role("slider").focus()
    page.keyboard.press("Home")
    expect(named).to_have_text("β = 0 · Cross, layer 2, head 1")
    part.get_by_text(say("weigh_kind_queries"), exact=True).click()
    expect(named).to_have_text(f"{say('weigh_kind_queries')} · Cross, layer 2, head 1")
    idle(page)
    expect(part.get_by_role("slider")).to_be_hidden()
    page.locator(".stacks").get_by_text(say("stack_decoder_self"), exact=True).click()
    part.get_by_role("button", name=say("weigh_this")).click()
    expect(named).to_contain_text(f"{say('weigh_kind_queries')} · Decoder self")
    part.get_by_text(say("weigh_kind_zeroed"), exact=True).click()
    expect(named).to_contain_text(f"{say('weigh_kind_zeroed')} · Decoder self")
    page.wait_for_url(
        re.compile(
            r"weigh_head=decoder_self\.\d\.\d&weigh_scope=head&weigh_kind=zeroed"
        )
    )
    text = named.text_content()
    # which opens the part, as the address asks something of it
    other = visit("/" + page.url.split("/", 3)[3])
    expect(other.locator(".weigh-result .what")).to_have_text(text)
