"""The Positions tab as a person goes through it, in Chromium, on a model that knows eight sentences by heart."""

import re
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.acts import idle, translate, type_into
from xformer.strings import ENGLISH, SPANISH

say = ENGLISH.say


def set_number(page, key, value):
    field = page.get_by_label(f"number input for {say(key)}")
    type_into(field, value)
    field.press("Enter")


def unfold(page, key, language=ENGLISH):
    """Open a part that is closed at first."""
    page.get_by_role("button", name=language.say(key)).click()


def expect_table(page, d_model, base, language=ENGLISH):
    """Wait for the table of 64 positions; its title has a line of its own for what does not fit on a phone."""
    wanted = language.say("pos_plot_table", last=63, d_model=d_model, base=base)
    expect(page.locator(".pos-table .caption")).to_have_text(re.compile(wanted.replace(" ", r"\s*")))


def test_a_sentence_loses_its_positions_the_table_is_changed_and_a_link_opens_both(visit, learned_pairs):
    page = visit(f"/?tab=positions&text={quote(learned_pairs[0][0])}")
    result, before, after = (page.locator(f".pos-{name}") for name in ("result.block", "before", "after"))
    expect(result.locator("[lang=es].large").first).to_have_text(learned_pairs[0][1])
    expect(after.locator(".title")).to_contain_text(f"· {say('pos_kind_none')}")
    idle(page)
    expect(page.locator(".js-plotly-plot")).to_have_count(0)  # nothing is drawn before somebody looks

    page.get_by_label(say("pos_shuffle")).check()
    page.get_by_role("button", name=say("pos_run"), exact=True).click()
    expect(before.locator(".title")).to_contain_text(f"head 1 of 4 · {say('pos_kind_own')}")
    expect(after.locator(".title")).to_contain_text("none, words shuffled")
    translate(page, learned_pairs[1][0])  # another sentence is made again in the same way
    expect(result.locator("[lang=es].large").first).to_have_text(learned_pairs[1][1])
    expect(after.locator(".title")).to_contain_text("none, words shuffled")
    page.get_by_label(say("pos_shuffle")).uncheck()
    page.get_by_text(say("pos_kind_shift"), exact=True).click()
    expect(after.locator(".title")).to_contain_text("shifted (5)")
    page.get_by_role("listbox", name=say("pos_head")).or_(page.get_by_label(say("pos_head"))).first.click()
    page.get_by_role("option").nth(1).click()
    expect(before.locator(".title")).to_contain_text("head 2 of 4")

    unfold(page, "pos_part_table")
    expect_table(page, 32, "10\u202f000")
    idle(page)
    assert "length=" not in page.url, "defaults stay out of the address"
    set_number(page, "pos_power", "2")
    expect_table(page, 32, "100")
    set_number(page, "pos_width", "8")
    expect_table(page, 8, "100")
    # the last that there is now
    expect(page.get_by_label(f"number input for {say('pos_pair_label')}")).to_have_value("3")
    set_number(page, "pos_steps", "5")
    set_number(page, "pos_pair_label", "2")
    expect(page.locator(".pos-rotation .caption")).to_contain_text("Pair 2: from position 2 to 7")
    unfold(page, "pos_title_sentence")
    expect(page.locator(".pos-sentence .plot")).to_have_attribute("aria-label", say("pos_plot_sentence"))
    idle(page)
    assert re.search("d_model=8&base_power=2&.*pair=2&steps=5", page.url) and "positions=shift" in page.url

    again = visit(f"/es{page.url[page.url.index('?'):]}&length=9000")
    expect(again.locator(".pos-after .title")).to_contain_text(f"{SPANISH.say('pos_kind_shift')} (5)")
    expect_table(again, 8, "100", SPANISH)
    expect(again.locator(".pos-rotation .caption")).to_contain_text("2")
    expect(again.get_by_text("En la dirección, length es «9000»")).to_be_visible()
    unfold(again, "pos_title_lengths", SPANISH)
    expect(again.get_by_text("Este modelo todavía no se ha medido por longitudes")).to_be_visible()
