"""Another word chosen on the page, in Chromium: the rest is translated again, and the heads are compared."""

import re

from playwright.sync_api import expect

from tests.browser.acts import expect_spanish, idle, translate

PART = "Another word"


def translate_to(page, text, spanish):
    translate(page, text)
    expect_spanish(page, spanish)


def open_part(page, learned_pairs):
    translate_to(page, *learned_pairs[0])
    page.get_by_role("tab", name="Attention").click()
    page.get_by_role("tab", name=PART).click()
    step = page.get_by_role("combobox", name="Step")
    expect(step).to_have_value(re.compile(r"^\d+ · after .+ → .+ %$"))
    return step


def choose_step(page, step, name):
    step.click()
    page.get_by_role("option").filter(has_text=name).click()


def test_a_rival_is_chosen_and_both_translations_and_their_heads_are_compared(visit, learned_pairs):
    page = visit()
    step = open_part(page, learned_pairs)
    choose_step(page, step, re.compile(r"^\W*1 · after <s> → "))
    first = page.locator(".piece").first.locator(".rivals li:not(.chosen) b").first.text_content()
    offered = page.get_by_role("group").filter(has_text="Rival at this step").locator("label")
    expect(offered.first).to_have_text(re.compile(rf"^\s*{re.escape(first)} · .+ %\s*$"))
    expect(offered).to_have_count(4)
    page.get_by_role("button", name="Translate on from there", exact=True).click()
    result = page.locator(".block.another-word")
    expect(result).to_contain_text(f"With “{first}” at step 1")
    expect(result.locator("[lang=es].large").first).to_have_text(learned_pairs[0][1])
    expect(result.locator("[lang=es].large").last.locator("ins").first).to_be_visible()
    expect(result).to_contain_text("The heads that changed most")
    expect(page.locator(".picture .caption").filter(has_text=f"Cross-attention after “{first}” minus after")
           ).to_be_visible()
    expect(page.locator(".picture g.ytick text").filter(has_text=re.compile(r"layer 2, head 4 · \d\.\d\d"))
           ).to_be_visible()


def test_steps_and_results_follow_the_translation(visit, learned_pairs):
    page = visit()
    step = open_part(page, learned_pairs)
    offered = page.get_by_role("group").filter(has_text="Rival at this step").locator("label")
    idle(page)
    before = offered.all_text_contents()
    choose_step(page, step, "→ </s>")
    idle(page)
    expect(offered).not_to_have_text(before)
    page.get_by_role("button", name="Translate on from there", exact=True).click()
    expect(page.locator(".block.another-word")).to_contain_text("One of the two translations ends with this choice")
    translate_to(page, *learned_pairs[1])
    idle(page)
    expect(page.locator(".block.another-word")).not_to_contain_text("With")
    expect(step).to_have_value(re.compile(r"^\d+ · after "))


def test_a_shorter_translation_comes_while_the_list_of_steps_is_open(visit, learned_pairs):
    by_length = sorted(learned_pairs, key=lambda pair: len(pair[1]))
    page = visit()
    step = open_part(page, by_length[::-1])
    page.evaluate("""sentence => {  // from where the focus is not taken
        const field = document.querySelector('.bar textarea');
        field.value = sentence;
        field.dispatchEvent(new Event('input'));
    }""", by_length[0][0])
    step.click()
    idle(page)
    steps = page.get_by_role("option")
    before = steps.count()
    page.evaluate("document.querySelector('.bar .field button').click()")
    idle(page)
    assert steps.count() < before
    expect(step).to_have_attribute("aria-expanded", "true")
