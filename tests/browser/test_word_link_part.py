"""Two words in all heads, in Chromium: one click from the picture, and another noun in
the place of one."""

import re

from playwright.sync_api import expect

from tests.browser.acts import idle, type_into
from xformer.strings import ENGLISH

say = ENGLISH.say


def test_two_locked_words_are_one_click_from_all_heads_and_one_is_replaced_or_left_out(
    visit, learned_pairs
):
    page = visit(
        "/?tab=attention&stack=encoder_self&text=The+dog+eats+the+bread.&lock=en2-en1"
    )
    idle(page)
    page.locator(".locked-word").get_by_role("button", name=say("link_open")).click()
    captions = page.locator(".word-link figcaption")
    both = page.locator(".drawer .contrasted")
    expect(captions).to_have_text(["eats → dog", "dog → eats"])
    page.locator(".word-link").get_by_role(
        "button", name=say("finder_where", layer=2, head=3)
    ).first.click()
    page.wait_for_url(re.compile("[?&]head=3(&|$)"))
    expect(page.locator(".view .title")).to_contain_text("layer 2 of 2 · head 3 of 4")
    page.get_by_label(say("link_asks")).click()
    page.get_by_role("option", name="EN · bread").click()
    expect(captions).to_have_text(["bread → dog", "dog → bread"])
    expect(page.locator(".locked-word h3")).not_to_have_text("eats → dog")
    type_into(page.get_by_label(say("link_other")), "cat")
    page.get_by_role("button", name=say("link_replace")).click()
    expect(captions).to_have_count(6)
    expect(both.locator(".source mark").last).to_have_text("cat")
    page.get_by_role("button", name=say("link_leave")).click()
    expect(both.locator(".source mark").last).not_to_have_text("cat")
    expect(both.locator("section")).to_have_count(2)
