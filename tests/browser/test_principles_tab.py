"""The First principles tab as a person goes through it, in Chromium, on a model that
knows eight sentences."""

import re
from urllib.parse import parse_qs, quote, urlparse

from playwright.sync_api import expect

from tests.browser.acts import idle, sheet, type_into
from xformer.strings import ENGLISH

say = ENGLISH.say


def switched(page):
    """The name of the last column: the rule and its temperature."""
    return page.locator(".first-scores thead th").last


def unfold(page, key):
    """Open a part that is closed at first."""
    page.get_by_role("button", name=say(key)).click()


def slider(page, key):
    return page.get_by_role("slider", name=say(key))


def ask_as(page, number):
    """Choose a query by its number."""
    page.get_by_role("combobox", name=say("first_query")).click()
    page.get_by_role("option").filter(has_text=re.compile(rf"^\W*{number} · ")).click()


def move_and_press(page, point, button):
    """Move a point of the curve by a key, and press a button before the curve through
    it comes; -> where it was put."""
    held = []
    page.route("**/run/predict*", lambda route: held.append(route))
    point.focus()
    with page.expect_request("**/run/predict*"):
        page.keyboard.press("ArrowUp")
    moved = point.get_attribute("aria-label")
    pressed = page.get_by_role("button", name=say(button))
    pressed.click()
    expect(pressed).to_be_focused()
    for route in held:
        route.continue_()
    page.unroute("**/run/predict*")
    return moved


def test_the_equation_is_walked_and_a_block_of_the_model_opens_its_heads(
    visit, learned_pairs
):
    page = visit(
        f"/?tab=model&model_part=architecture&text={quote(learned_pairs[0][0])}"
    )
    page.locator(".architecture button[data-stack=encoder_self][data-layer='1']").press(
        "Enter"
    )
    expect(page.locator(".view .title")).to_contain_text(
        f"{say('encoder_self')} · layer 1 of 2 · head 1 of 4"
    )
    page.wait_for_url("**tab=attention**stack=encoder_self&layer=1**")

    sheet(page, "principles").click()
    expect(page.locator(".first-scores .caption")).to_contain_text(
        "after El → predicts gato"
    )
    expect(page.locator(".first-scores tbody th").last).to_have_text("</s>")
    padding = page.get_by_label(f"number input for {say('first_padding')}")
    type_into(padding, "2")
    padding.press("Enter")
    expect(page.locator(".first-scores td.masked")).to_have_text(["−∞", "−∞"])
    expect(switched(page)).to_have_text(
        f"{say('first_rule_scaled')} · β = 0.354 = 1/√dₖ"
    )
    slider(page, "first_power").first.press("End")
    expect(switched(page)).to_contain_text("β → ∞")
    expect(page.locator(".first-scores .weight").filter(has_text="1.00")).to_have_count(
        1
    )
    page.get_by_text(say("first_rule_gaussian"), exact=True).click()
    expect(switched(page)).to_contain_text(say("first_rule_gaussian"))

    unfold(page, "fold_numbers")
    expect(page.locator(".first-vectors .caption")).to_contain_text(
        "after El → predicts gato: q (1 × 8) and K ("
    )
    unfold(page, "first_every_query")
    expect(page.locator(".first-map .caption")).to_contain_text(
        say("first_mask_padding")
    )
    panel = page.get_by_role("tabpanel").filter(has=page.locator(".first-scores"))
    panel.get_by_text(say("stack_decoder_self"), exact=True).click()
    expect(panel.get_by_role("radio", name=say("first_mask_future"))).to_be_checked()
    panel.get_by_text(say("first_mask_none"), exact=True).click()
    expect(panel).to_contain_text(
        re.compile(r"Without the future mask, .+\s% of the look goes to pieces")
    )
    expect(page.locator(".first-map .caption")).to_contain_text(say("first_mask_none"))
    ask_as(page, 1)
    expect(page.locator(".first-scores .caption")).to_contain_text(
        "after <s> → predicts"
    )
    expect(page.locator(".first-vectors .caption")).to_contain_text(
        "after <s> → predicts El: q"
    )

    unfold(page, "fold_before")
    steps = page.locator(".first-additive [data-step]")
    steps.nth(1).press("ArrowRight")
    expect(steps.nth(2)).to_be_focused()
    page.wait_for_url("**additive_step=3**")


def test_a_copied_link_opens_the_same_walk_store_and_kernel_regression(
    visit, learned_pairs
):
    page = visit(f"/?tab=principles&text={quote(learned_pairs[0][0])}")
    panel = page.get_by_role("tabpanel").filter(has=page.locator(".first-scores"))
    panel.get_by_text(say("stack_decoder_self"), exact=True).click()
    expect(panel.get_by_role("radio", name=say("first_mask_future"))).to_be_checked()
    panel.get_by_text(say("first_rule_gaussian"), exact=True).click()
    slider(page, "first_power").first.press("End")
    expect(switched(page)).to_have_text(f"{say('first_rule_gaussian')} · β → ∞")

    unfold(page, "fold_before")
    records = page.get_by_label(say("store_records"))
    query = page.get_by_label(say("store_query"))
    table = page.locator(".block.store")
    type_into(records, "no colon here")
    page.get_by_role("button", name=say("store_run"), exact=True).click()
    expect(
        page.get_by_role("alert").filter(
            has_text="Line 1, “no colon here”, is no record"
        )
    ).to_be_visible()
    records.fill("The cat: it <b>purrs\nThe bread: it is eaten\nThe house: it stands")
    type_into(query, "The cat")
    query.press("Enter")
    expect(table.locator("p.large")).to_have_text("it <b>purrs")
    slider(page, "first_power").last.press("End")
    expect(table).to_contain_text(
        "The argmax retrieves one record, “The cat”, with weight 100 %"
    )

    curve = page.locator(".kernel-curve.block")
    point = curve.locator(".point").nth(3)
    other = curve.locator(".point").nth(5)
    expect(other).to_be_visible()
    first = point.get_attribute("aria-label")
    box = other.bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 8, box["y"] + 60, steps=4)
    page.mouse.up()
    idle(page)
    put = re.findall(r"-?\d+\.\d+", other.get_attribute("aria-label"))
    moved = move_and_press(page, point, "kernel_fit")
    said = page.get_by_text("The descent took 40 steps")
    expect(said).to_be_visible()
    idle(page)
    expect(point).to_have_attribute("aria-label", moved)
    address = parse_qs(urlparse(page.url).query)
    assert [
        float(one) for one in address["kernel_points"][0].split()[5].split(",")
    ] == [float(one) for one in put]
    assert {"kernel_power", "records"} < {*address} and address["store_query"] == [
        "The cat"
    ]

    again = visit("/" + page.url.split("/", 3)[3] + "&query=1&padding=99")
    expect(switched(again)).to_have_text(f"{say('first_rule_gaussian')} · β → ∞")
    expect(again.locator(".first-scores .caption")).to_contain_text("after <s>")
    expect(again.get_by_role("radio", name=say("first_mask_future"))).to_be_checked()
    expect(again.locator(".block.store")).to_contain_text(
        "The argmax retrieves one record, “The cat”"
    )
    expect(again.locator(".kernel-curve .caption")).to_have_text(
        curve.locator(".caption").text_content()
    )
    expect(again.locator(".kernel-curve .point").nth(3)).to_have_attribute(
        "aria-label", moved
    )
    expect(
        again.get_by_text(
            "In the address, padding is “99”; it must be a whole number from 0 to 4"
        )
    ).to_be_visible()

    move_and_press(page, point, "kernel_reset")
    expect(point).to_have_attribute("aria-label", first)
    expect(said).to_be_hidden()
    slider(page, "kernel_power").press("Home")
    expect(curve.locator(".caption")).to_contain_text(say("kernel_nearest"))
    idle(page)
    assert "kernel_power" in page.url and "kernel_points" not in page.url
