"""The Positions tab as a person goes through it: positions taken away, pictures that
follow, and a link."""

import re

from playwright.sync_api import expect

from tests.browser.acts import idle, named, said, translate, type_into
from xformer.strings import ENGLISH

say = ENGLISH.say


def set_number(page, key, value):
    field = page.get_by_label(f"number input for {say(key)}")
    type_into(field, value)
    field.press("Enter")


def expect_table(page, d_model, base):
    """Wait for the table of 64 positions; its title has a line of its own for what does
    not fit on a phone."""
    expect(page.locator(".pos-table .caption")).to_have_text(
        re.compile(rf"^Positions 0 to 63 in {d_model} dimensions,\s*base\s*{base}\s*$")
    )


def test_positions_are_changed_and_pictures_follow_their_controls(visit, learned_pairs):
    page = visit("/?tab=positions")
    translate(page, learned_pairs[0][0])
    idle(page)
    result = page.locator(".block.pos-result")
    after = page.locator(".pos-after .title")
    expect(result.locator("[lang=es].large").first).to_have_text(learned_pairs[0][1])
    idle(page)
    assert page.locator(".js-plotly-plot").count() == 0, (
        "nothing is drawn before somebody looks"
    )
    page.get_by_label(say("pos_shuffle")).check()
    page.get_by_role("button", name=say("pos_run"), exact=True).click()
    expect(after).to_contain_text("none, words shuffled")
    expect(page.locator(".pos-before .title")).to_contain_text(
        "head 1 of 4 · positions: as in training"
    )
    idle(page)
    expect(page.locator(".pos-before svg.top text")).not_to_have_text(
        page.locator(".pos-after svg.top text").all_text_contents()
    )
    # another sentence is made again in the same way
    translate(page, learned_pairs[1][0])
    expect(result.locator("[lang=es].large").first).to_have_text(learned_pairs[1][1])
    expect(after).to_contain_text("none, words shuffled")
    # what is chosen is done
    page.get_by_text(say("pos_kind_shift"), exact=True).click()
    expect(after).to_contain_text("shifted (5)")
    page.get_by_role("button", name=say("fold_positions")).click()
    expect_table(page, 32, "10,000")
    for name in ("curves", "waves", "distance", "rotation", "noise", "sentence"):
        expect(page.locator(f".pos-{name} .caption")).to_be_attached()
    idle(page)
    assert "length=" not in page.url, "defaults stay out of the address"
    set_number(page, "pos_power", "2")
    expect_table(page, 32, "100")
    set_number(page, "pos_width", "8")
    expect_table(page, 8, "100")
    # the last that there is now
    expect(
        page.get_by_label(f"number input for {say('pos_pair_label')}")
    ).to_have_value("3")
    shown = named(page, "pos-curves").filter(has_text=re.compile("^dimension "))
    expect(shown).to_have_count(2)
    for dimension in (0, 1):  # they stand in the order of the curves' ends
        expect(
            shown.filter(has_text=re.compile(f"^dimension {dimension} "))
        ).to_be_visible()
    expect(page.locator(".pos-rotation .caption")).to_contain_text("Pair 3")
    expect(page.get_by_text(said("pos_checked"))).to_be_visible()
    turned = [
        page.get_by_label(f"range slider for {say(key)}").bounding_box()
        for key in ("pos_pair_label", "pos_from", "pos_steps")
    ]
    assert len({round(one["y"]) for one in turned}) == 1, "they stand in one line"
    set_number(page, "pos_steps", "5")
    idle(page)
    assert all(
        part in page.url
        for part in ("d_model=8&base_power=2", "pair=3&steps=5", "positions=shift")
    )
    again = visit("/" + page.url.split("/", 3)[3] + "&length=9000")
    expect(again.locator(".pos-after .title")).to_contain_text("shifted (5)")
    expect_table(again, 8, "100")
    expect(again.locator(".pos-rotation .caption")).to_contain_text(
        "Pair 3: from position 2 to 7"
    )
    expect(
        again.get_by_text(said("address_number", key="length", value="9000"))
    ).to_be_visible()
