"""The ways through the Attention tab, in Chromium, on a model that knows eight
sentences by heart."""

import json
import re
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.acts import (
    choose_map,
    choose_view,
    expect_fits,
    expect_spanish,
    idle,
    open_view,
    saved,
    sheet,
    translate,
    type_into,
)
from xformer.strings import ENGLISH, SPANISH

say = ENGLISH.say
INSPECTED = say("inspected")


def opened(visit, sentence, more="", **how):
    """The tab with a sentence, and the title of its picture."""
    page = visit(f"/?tab=attention&text={quote(sentence)}{more}", **how)
    return page, page.locator(".view .title:visible")


def again(visit, page):
    """Another page with the address of this one."""
    return visit("/" + page.url.split("/", 3)[3])


def title_of(layer, head, stack="cross", language=ENGLISH):
    return language.say(
        "picture_title",
        stack=language.say(stack),
        layer=layer,
        layers=2,
        head=head,
        heads=4,
    )


def click_two_heads(page):
    """Click the second head of the first layer and then the third, while the answer to
    the first click is held."""
    held = []

    def hold(route):
        held.append(
            route
        ) if '"head":2' in route.request.post_data and not held else route.continue_()

    address = re.compile("/gradio_api/(run|queue/join)")
    page.route(address, hold)
    with page.expect_request(lambda request: '"head":2' in (request.post_data or "")):
        choose_map(page, 1, 2)
    choose_map(page, 1, 3)
    held[0].continue_()
    idle(page)
    page.unroute(address)


def test_a_head_is_chosen_and_looked_at(visit, learned_pairs):
    """By small maps, keys, the menu and the finder."""
    page, title = opened(visit, learned_pairs[0][0])
    expect(title).to_have_text(title_of(2, 1))
    click_two_heads(page)
    expect(title).to_have_text(title_of(1, 3))
    page.locator(".heads canvas").press("ArrowDown")
    expect(title).to_have_text(title_of(2, 3))

    choose_view(page, say("words"))
    expect(page.locator(".rules")).to_contain_text(say("rule_words"))
    choose_view(page, say("show_rollout"))
    chips = page.locator(".view .chip")
    expect(chips).to_have_text([f"{say('show_rollout')} ×", f"{say('chip_words')} ×"])
    page.locator(".locked-word h3").click()  # elsewhere, and the menu closes
    expect(page.get_by_label(say("words"))).to_be_hidden()
    idle(page)
    page.get_by_role(
        "button", name=say("remove_choice", name=say("show_rollout"))
    ).click()
    expect(title).to_have_text(title_of(2, 3))
    expect(chips).to_have_text([f"{say('chip_words')} ×"])
    page.wait_for_url("**show=head**words=1**")
    open_view(page)
    expect(page.get_by_label(say("words"))).to_be_checked()
    expect(page.get_by_role("radio", name=say("show_head"))).to_be_checked()

    page.set_viewport_size({"width": 1280, "height": 500})
    idle(page)
    row = page.locator(".finder tbody tr").filter(has_text=say("role_aligned"))
    layer, head = re.search(r"layer (\d), head (\d)", row.inner_text()).groups()
    row.click()
    expect(title).to_have_text(title_of(layer, head))
    expect(title).to_be_in_viewport()
    page.set_viewport_size({"width": 1280, "height": 900})
    idle(page)

    for layer, head in ((1, 2), (2, 4)):
        choose_map(page, layer, head, modifiers=["Shift"])
        idle(page)
    joined = say("picture_title_mean_chosen", stack=say("cross"), heads=2)
    expect(title).to_have_text(joined)
    open_view(page)
    expect(page.locator(".joined")).to_contain_text(
        say("finder_where", layer=2, head=4)
    )
    idle(page)
    assert "heads=cross.1.2%2Ccross.2.4" in page.url
    page.locator(".view .save-menu summary").click()
    content, _ = saved(page, page.get_by_role("button", name=say("export_json")).click)
    assert {"cross", "encoder_self"} <= {*json.loads(content)}
    expect(again(visit, page).locator(".view .title:visible")).to_have_text(joined)


def test_a_link_opens_the_same_picture_names_its_nonsense_and_leads_to_spanish(
    visit, learned_pairs
):
    """With the word that is locked, which the whole page knows."""
    english, spanish = learned_pairs[1]
    page, title = opened(
        visit, english, "&stack=encoder_self&layer=1&head=3&show=sideways"
    )
    expect(title).to_have_text(title_of(1, 3, "encoder_self"))
    expect(
        page.get_by_text("In the address, show is “sideways”; it must be one of head")
    ).to_be_visible()
    page.locator(".stacks").get_by_text(say("stack_cross")).click()
    expect(title).to_have_text(title_of(1, 3))
    idle(page)
    assert "stack=cross" in page.url

    page.locator(".view .line.row .token").first.click()
    expect(page.locator(".locked-word h3")).to_have_text("El")
    page.get_by_role("tab", name=say("drawer_ablation"), exact=True).click()
    expect(page.get_by_role("combobox", name=say("rivals_step"))).to_have_value(
        re.compile("^1 · after <s> → ")
    )
    page.get_by_role("tab", name=say("drawer_link")).click()
    expect(page.get_by_label(say("compared_for"))).to_have_value("El")
    page.wait_for_url("**lock=es1**")
    sheet(page, "principles").click()
    expect(page.get_by_role("combobox", name=say("first_query"))).to_have_value(
        re.compile("^1 · after <s> → ")
    )
    sheet(page, "attention").click()
    # another head keeps it
    page.locator(".locked-word .links button[aria-pressed=false]").first.click()
    expect(title).not_to_have_text(title_of(1, 3))
    said = page.locator(".view .said:visible")
    expect(said).to_contain_text("after <s> → predicts El looks at")
    idle(page)

    other = again(visit, page)
    expect(other.locator(".view .title:visible")).to_have_text(title.text_content())
    expect(other.locator(".view .said:visible")).to_have_text(said.text_content())
    expect(other.locator(".locked-word h3")).to_have_text("El")
    other.get_by_role("link", name="Español").click()
    other.wait_for_url("**/es?text=**")
    expect(other.locator(".view .title:visible")).to_contain_text(
        SPANISH.say("html_cross")
    )
    expect(other.locator(".locked-word h3")).to_have_text("El")
    other.get_by_role("tab", name=SPANISH.say("tab_translate")).click()
    expect_spanish(other, spanish)


def test_a_translation_typed_by_hand_is_looked_into(visit, learned_pairs):
    page, title = opened(visit, learned_pairs[0][0])
    field = page.get_by_label(INSPECTED)
    stacks = page.locator(".stacks")
    expect(field).to_have_value(learned_pairs[0][1])
    assert field.evaluate("""field => {
        const arrow = field.parentElement.querySelector('.icon-wrap').getBoundingClientRect();
        return field.getBoundingClientRect().right - parseFloat(getComputedStyle(field).paddingRight) <= arrow.left;
    }"""), "the list ends before its arrow"
    stacks.get_by_text(say("stack_encoder_self")).click()
    expect(field).to_be_disabled()
    stacks.get_by_text(say("stack_cross")).click()
    expect(field).to_be_enabled()
    type_into(field, "El perro duerme.")
    field.press("Enter")
    rows = page.locator(".view svg.left text")
    expect(rows.nth(1)).to_have_text(say("row_target", given="El", wanted="perro"))
    idle(page)
    assert "spanish=El+perro+duerme." in page.url
    # the link opens what was typed, not the model's translation
    other = again(visit, page)
    expect(other.get_by_label(INSPECTED)).to_have_value("El perro duerme.")
    expect(other.locator(".view svg.left text").nth(1)).to_have_text(
        rows.nth(1).text_content()
    )
    other.locator(".view .line.row .token").first.click()
    idle(other)
    assert "lock=es1" in other.url
    # a new sentence begins with its own translation, and no word of it is locked
    translate(other, learned_pairs[1][0])
    expect(other.get_by_label(INSPECTED)).to_have_value(learned_pairs[1][1])
    expect(other.locator(".locked-word .sub").first).to_have_text(say("lock_hint"))
    idle(other)
    assert "spanish" not in other.url and "lock=" not in other.url


def test_on_a_phone_heads_are_switched_off_and_words_left_out_and_compared(
    visit, learned_pairs
):
    page, _ = opened(visit, learned_pairs[0][0], width=375)
    ablation = page.locator(".block.ablation").first
    run = page.get_by_role("button", name=say("ablation_run"))
    tab = page.get_by_role("tab", name=say("drawer_ablation"))
    for is_open in (True, False, True):  # from below, and down again
        tab.click()
        idle(page)
        expect(run).to_be_visible(visible=is_open)
    run.click()
    expect(page.get_by_text(say("ablation_none"))).to_be_visible()
    page.get_by_role("button", name=say("ablation_add_layer")).click()
    off = page.locator(".block", has=page.get_by_label(say("ablation_off")))
    expect(off.locator(".token")).to_have_count(4)
    run.click()
    expect(ablation.locator("table.changes tbody tr")).to_have_count(5)
    expect(ablation.locator("[lang=es].large").first).to_have_text(learned_pairs[0][1])
    page.get_by_role("button", name=say("ablation_rank")).click()
    expect(ablation.locator("tbody tr")).to_have_count(8)
    page.get_by_role("tab", name=say("drawer_link")).click()
    page.get_by_role("button", name=say("occlusion_run")).click()
    table = page.locator(".compared table")
    expect(table.locator("caption")).to_contain_text("“gato”")
    expect(table.locator("tbody tr")).to_have_count(5)  # The cat sleeps . </s>
    expect(page.locator(".occluded .caption")).to_have_text(say("occlusion_title"))
    page.get_by_label(say("compared_for")).click()
    page.get_by_role("option", name="duerme").click()
    expect(table.locator("caption")).to_contain_text("“duerme”")
    idle(page)
    expect_fits(page, 375)
