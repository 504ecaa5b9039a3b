"""The Step by step tab as a person uses it, in Chromium: its four parts, by mouse, by
keyboard, and from an address."""

import re
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.acts import (
    expect_spanish,
    idle,
    open_menu,
    open_tab,
    translate,
    type_into,
)
from xformer.strings import ENGLISH

say = ENGLISH.say
RING = """label => {
  const ring = getComputedStyle(label.querySelector('span'), '::after');
  return [ring.outlineStyle, -parseFloat(ring.top)];
}"""


def part(page, name):
    page.locator(".decoding .parts").get_by_text(
        say(f"decode_{name}"), exact=True
    ).click()


def test_a_translation_is_followed_step_by_step_and_gone_on_with_from_a_hypothesis(
    visit, learned_pairs
):
    page = visit()
    translate(page, learned_pairs[1][0])
    expect_spanish(page, learned_pairs[1][1])
    open_tab(page, "decoding")
    idle(page)
    player, tree, why = (
        page.locator(f".block.{name}")
        for name in ("step-player", "beam-tree", "why-node")
    )
    count = player.locator(".written button").count()
    player.get_by_role("button", name=say("play_next")).click()
    player.locator(".written .now").press("ArrowRight")
    expect(player.locator("output")).to_have_text(say("play_of", step=3, steps=count))
    page.wait_for_url("**step=3**")
    again = visit("/" + page.url.split("/", 3)[3])
    expect(again.locator(".step-player output")).to_have_text(
        say("play_of", step=3, steps=count)
    )

    expect(why).to_contain_text("The winner")
    dropped = tree.locator(".node.dropped").first
    dropped.click()
    expect(why).to_contain_text("Dropped at step 1")
    page.keyboard.press("ArrowUp")
    expect(why).to_contain_text("Kept at step 1")
    page.wait_for_url("**tree_node=**")
    width = page.get_by_label(f"number input for {say('tree_width')}")
    type_into(width, "3")
    width.press("Enter")
    expect(tree.locator(".caption")).to_have_text(
        say("tree_title", width=3, text=learned_pairs[1][0])
    )
    dropped.click()
    expect(why).to_contain_text("Dropped at step 1")
    page.get_by_role("button", name=say("rivals_run")).first.click()
    expect(page.locator(".block.went")).to_contain_text(say("tree_went_into"))
    part(page, "yours")
    expect(page.locator(".looked-into")).to_contain_text(
        "not the model’s own translation"
    )
    page.get_by_role("button", name=say("decode_back")).click()
    idle(page)
    expect(page.locator(".looked-into")).to_be_hidden()
    part(page, "steps")
    expect(player.locator("output")).to_have_text(re.compile(f"of {count}$"))

    open_menu(again)
    warmth = again.get_by_label(f"number input for {say('temperature')}")
    type_into(warmth, "1")
    warmth.press("Enter")
    expect(again.get_by_label(f"number input for {say('beam')}").first).to_be_disabled()
    expect(again.get_by_label(f"number input for {say('top_k')}")).to_be_enabled()
    again.keyboard.press("Escape")
    translate(again, learned_pairs[1][0])
    expect(
        again.get_by_text("Samples are drawn one by one and make no tree")
    ).to_be_visible()
    open_tab(again, "translate")
    expect(again.locator(".draws section h3")).to_have_text(
        ["Draw with seed 1", "Draw with seed 2"]
    )
    again.locator(".draws + p").get_by_role("button", name=say("draw_again")).click()
    expect(again.locator(".draws section h3")).to_have_text(
        ["Draw with seed 3", "Draw with seed 4"]
    )
    again.wait_for_url("**draw_seed=3**")


def test_one_s_own_spanish_is_given_its_layers_are_read_and_it_is_asked_why(
    visit, learned_pairs
):
    page = visit(f"/?text={quote(learned_pairs[1][0])}&tab=decoding")
    part(page, "yours")
    field = page.get_by_label(say("force_field"), exact=True).last
    expect(field).to_have_value(learned_pairs[1][1])
    expect(page.locator(".block.free")).to_contain_text(say("force_same"))
    type_into(field, "El gato come.")
    field.press("Enter")
    expect(page.locator(".block.free")).to_contain_text("They part at step")
    page.wait_for_url("**spanish=El+gato+come.**")
    page.locator(".forced tr.wanted button").nth(1).click()
    expect(page.locator(".distribution .caption")).to_contain_text("Step 2, after")
    slider = page.get_by_label(f"number input for {say('force_smoothing')}")
    type_into(slider, "0")
    slider.press("Enter")
    expect(page.locator(".forced .sums")).to_contain_text("ε = 0:")

    chosen = page.locator(".decoding .parts label.selected")
    part(page, "yours")
    idle(page)
    assert chosen.evaluate(RING)[0] == "none"
    page.keyboard.press("ArrowRight")
    expect(chosen).to_have_text(say("decode_layers"))
    idle(page)
    style, offset = chosen.evaluate(RING)
    assert style == "solid" and offset <= -2, (
        "only keys show the ring, and what lies outside is cut off"
    )
    page.locator(".of-lens [data-step='3'][data-layer='1']").press("Enter")
    page.wait_for_url("**step=3**")

    part(page, "why")
    panel = page.locator(".block.why-panel")
    expect(panel.locator(".instead h3")).to_contain_text("At step 3 stands")
    rival = panel.locator(".instead button").nth(2)
    name = rival.locator("span").inner_text()
    rival.click()
    expect(panel.locator(".instead .found")).to_contain_text(
        f"less that of “{name}” is"
    )
    page.wait_for_url("**rival=**")
    twin = panel.get_by_label(say("why_twin_field"))
    type_into(twin, learned_pairs[1][0])
    twin.press("Enter")
    expect(panel.locator(".swapped table")).to_have_count(3)
    page.wait_for_url("**twin=**")
    panel.locator(".bars .now").press("ArrowRight")
    expect(panel.locator(".instead h3")).to_contain_text("At step 4 stands")
    expect(panel.locator(".bars .now")).to_be_focused()
    idle(page)
    assert "step=4" in page.url and "rival=" not in page.url
    again = visit("/" + page.url.split("/", 3)[3])
    expect(again.locator(".why-panel .swapped table")).to_have_count(3)
    expect(again.locator(".why-panel .instead h3")).to_contain_text("At step 4 stands")
