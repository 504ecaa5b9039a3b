"""Another word chosen on the page, in Chromium: the rest is translated again, and the
heads are compared."""

import re

from playwright.sync_api import expect

from tests.browser.acts import expect_spanish, idle, open_tab
from xformer.strings import ENGLISH

say = ENGLISH.say


def choose_step(page, step, name):
    step.click()
    page.get_by_role("option").filter(has_text=name).click()


def test_a_rival_is_chosen_and_compared_until_another_translation_comes(
    visit, learned_pairs
):
    """The other translation is shorter, and comes while the list of steps is open."""
    shortest, *_, (english, spanish) = sorted(
        learned_pairs, key=lambda pair: len(pair[1])
    )
    page = visit(f"/?text={english.replace(' ', '+')}")
    expect_spanish(page, spanish)
    open_tab(page, "attention")
    page.get_by_role("tab", name=say("drawer_ablation"), exact=True).click()
    step = page.get_by_role("combobox", name=say("rivals_step"))
    expect(step).to_have_value(re.compile(r"^\d+ · after .+ → .+\s%$"))
    choose_step(page, step, re.compile(r"^\W*1 · after <s> → "))
    first = (
        page.locator(".piece")
        .first.locator(".rivals li:not(.chosen) b")
        .first.text_content()
    )
    offered = (
        page.get_by_role("group").filter(has_text=say("rivals_piece")).locator("label")
    )
    expect(offered.first).to_have_text(
        re.compile(rf"^\s*{re.escape(first)} · .+\s%\s*$")
    )
    expect(offered).to_have_count(4)
    run = page.get_by_role("button", name=say("rivals_run"), exact=True)
    result = page.locator(".block.another-word")
    run.click()
    expect(result).to_contain_text(f"With “{first}” at step 1")
    expect(result.locator("[lang=es].large").first).to_have_text(spanish)
    expect(page.locator(".difference .caption")).to_contain_text(
        f"after “{first}” minus after"
    )
    before = offered.all_text_contents()
    choose_step(page, step, "→ </s>")
    idle(page)
    expect(offered).not_to_have_text(before)
    run.click()
    expect(result).to_contain_text("One of the two translations ends with this choice")

    page.evaluate(
        """sentence => {  // from where the focus is not taken
        const field = document.querySelector('.bar textarea');
        field.value = sentence;
        field.dispatchEvent(new Event('input'));
    }""",
        shortest[0],
    )
    step.click()
    idle(page)
    steps = page.get_by_role("option")
    before = steps.count()
    page.evaluate("document.querySelector('.bar .field button').click()")
    idle(page)
    assert steps.count() < before
    expect(step).to_have_attribute("aria-expanded", "true")
    expect(step).to_have_value(re.compile(r"^\d+ · after "))
    expect(result).to_have_text("")
