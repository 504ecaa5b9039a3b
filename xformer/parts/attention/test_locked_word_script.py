"""The panel of the locked words: locked_word.js on answers of the Attention tab, beside
the map of one head."""

import re

import pytest
from playwright.sync_api import expect

from xformer.strings import ENGLISH

say = ENGLISH.say
CAT = "The cat sleeps."


@pytest.fixture
def panel(bench, attention):
    """`panel(lock, **values)`: the panel, as the page answers a lock; shown once more,
    if it is there."""
    mounted = []

    def show(lock="", **values):
        word = attention(late=True, lock=lock, **values)["word"]
        if not mounted:
            mounted.append(bench.mount("locked-word"))
        return mounted[0].show(word)

    return show


def test_without_a_word_it_says_how_one_is_locked(panel):
    word = panel()
    expect(word.locator(".sub").first).to_have_text(say("lock_hint"))
    expect(word.block.get_by_role("button", name=say("lock_let_go"))).to_be_hidden()
    expect(word.block.get_by_role("button", name=say("link_open"))).to_be_hidden()


def test_a_word_of_the_picture_is_named_with_what_it_looks_at(
    bench, attention, panel, traced
):
    panel()
    view = bench.mount("view", attention()["picture"])
    first = view.locator(".line.row .token").first
    first.click()
    word = panel(bench.call("lockedWords"))
    expect(word.locator("h3")).to_have_text(first.text_content())
    row = traced(CAT).cross[1, 0, 0]
    expect(word.locator("ul li .number").first).to_have_text(f"{row.max():.3f}")


def test_the_heads_that_link_two_words_are_listed_best_first_and_a_click_opens_one(
    bench, attention, panel, traced
):
    panel(stack="encoder_self")
    view = bench.mount("view", attention(stack="encoder_self")["picture"])
    view.locator(".line.row .token").nth(1).click()
    view.locator(".line.column .token").nth(0).click()  # a word of each line
    word = panel(bench.call("lockedWords"), stack="encoder_self")
    links = word.locator(".links button")
    expect(word.locator("h3")).to_have_text("cat → The")
    maps = traced(CAT).encoder_self
    heads = sorted(
        ((float(maps[i, j, 1, 0]), i + 1, j + 1) for i in range(2) for j in range(4)),
        reverse=True,
    )[:6]
    expect(links).to_have_text(
        [
            re.compile(rf"{say('finder_where', layer=layer, head=head)}\s*{p:.3f}$")
            for p, layer, head in heads
        ]
    )
    links.nth(1).click()
    assert word.told == [
        ("choose", {"layer": heads[1][1], "head": heads[1][2], "add": False})
    ]


def test_another_word_is_locked_from_the_list_and_both_are_let_go(
    bench, attention, panel
):
    word = panel("en1", stack="encoder_self")
    view = bench.mount("view", attention(stack="encoder_self")["picture"])
    bench.call("lockWords", "en1")
    expect(view.locator(".said")).to_contain_text(say("view_locked"))
    others = word.block.get_by_label(say("lock_other"))
    others.select_option(index=3)
    assert word.told == [("lock", {})] and bench.call("lockedWords") == "en1-en2"
    panel("en1-en2", stack="encoder_self")
    expect(word.locator("h3")).to_have_text(
        f"cat → {others.locator('option').nth(3).text_content()}"
    )
    word.block.get_by_role("button", name=say("lock_let_go")).click()
    assert bench.call("lockedWords") == ""
    expect(view.locator(".said")).to_have_text("")


def test_who_is_looked_at_may_be_locked_first(bench, panel):
    word = panel("-en1", stack="encoder_self")
    bench.call("lockWords", "-en1")
    word.block.get_by_label(say("lock_other")).select_option(index=1)
    assert bench.call("lockedWords") == "en0-en1"


def test_the_list_keeps_the_focus_when_the_answer_comes(bench, panel):
    word = panel("en1", stack="encoder_self")
    others = word.block.get_by_label(say("lock_other"))
    others.focus()
    others.select_option(index=1)
    panel("en1-en0", stack="encoder_self")
    expect(others).to_be_focused()


def test_a_phone_has_all_of_it(bench, attention):
    word = bench.mount(
        "locked-word", attention(late=True, lock="es2-en1")["word"], width=375
    )
    expect(word.locator("h3")).to_have_text("gato → cat")
    assert word.element.evaluate("one => one.scrollWidth <= one.clientWidth")
