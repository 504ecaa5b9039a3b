"""The small maps of all heads: assets/head_grid.js on answers of the Attention tab,
beside the map of one head."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.acts import choose_map, expect_fits, saved
from xformer.hub.checkpoint import examine
from xformer.parts.attention import part as tab
from xformer.strings import ENGLISH

say = ENGLISH.say


def click(told):
    """The action of the tab that answers what the small maps told."""
    name, data = told
    assert name == "choose"
    return {"action": tab.choose, "event": SimpleNamespace(**data)}


def chosen(layer, head, add=False):
    return "choose", {"layer": layer, "head": head, "add": add}


def shown_heads(*heads):
    """The end of the description of the small maps, where these are marked."""
    named = ", ".join(
        say("finder_where", layer=layer, head=head) for layer, head in heads
    )
    return re.compile(rf" {re.escape(named)}\.$")


def is_drawing(page, text):
    return page.evaluate(
        """text => !new DOMParser().parseFromString(text, 'image/svg+xml')
        .querySelector('parsererror')""",
        text,
    )


@pytest.fixture
def maps(bench, attention):
    return bench.mount("heads", attention()["grid"])


def test_a_click_and_the_arrow_keys_choose_a_head(bench, maps):
    small = maps.locator("canvas")
    choose_map(bench.page, 1, 3)
    # beyond the last head there is none
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp"):
        small.press(key)
    assert maps.told == [
        chosen(*place) for place in ((1, 3), (2, 3), (2, 4), (2, 4), (1, 4))
    ]


def test_the_answer_says_which_head_is_marked_and_sends_no_maps(bench, maps, attention):
    expect(maps.locator("canvas")).to_have_attribute("aria-label", shown_heads((2, 1)))
    choose_map(bench.page, 1, 3)
    answer = attention(**click(maps.told[-1]))["grid"]
    assert "data" not in answer
    maps.show(answer)
    expect(maps.locator("canvas")).to_have_attribute("aria-label", shown_heads((1, 3)))


def test_of_two_heads_clicked_one_after_the_other_the_second_stays(
    bench, maps, attention
):
    """The answer to the first click is long in coming: the page asks again for what is
    chosen."""
    opened = attention()["grid"]
    assert bench.call("askAgain", opened, "", *opened["about"][1:]) == ""
    choose_map(bench.page, 1, 2)
    choose_map(bench.page, 1, 3)
    first, second = (attention(**click(told))["grid"] for told in maps.told)
    maps.show(second)
    assert bench.call("askAgain", second, "", "cross", 1, 3) == ""
    maps.show(first)
    asked = bench.call("askAgain", first, "", "cross", 1, 3)
    assert asked.endswith(",cross,1,3")
    again = attention(layer=1, head=3, again=asked)["grid"]
    maps.show(again)
    expect(maps.locator("canvas")).to_have_attribute("aria-label", shown_heads((1, 3)))
    assert bench.call("askAgain", again, asked, "cross", 1, 3) == asked, (
        "and does not ask for ever"
    )


def test_maps_of_a_sentence_before_are_asked_for_again(bench, attention):
    older, newer = (
        attention(text)["grid"] for text in ("The dog eats the bread.", "Good morning!")
    )
    if older["about"][0] > newer["about"][0]:
        older, newer = newer, older
    assert bench.call("askAgain", newer, "", *newer["about"][1:]) == ""
    assert bench.call("askAgain", older, "", *older["about"][1:]).startswith(
        f"{newer['about'][0]},"
    )


def test_a_mark_in_other_maps_than_those_that_came_has_the_maps_asked_for(
    bench, attention
):
    """The answer with the maps of another stack came after a head was chosen, and was
    left out."""
    bench.open()
    before = attention()["grid"]
    assert bench.call("askAgain", before, "", *before["about"][1:]) == ""
    marked = attention(stack="encoder_self", **click(chosen(1, 2)))["grid"]
    asked = bench.call("askAgain", marked, "", *marked["about"][1:])
    assert asked.endswith(",encoder_self,1,2")
    again = attention(stack="encoder_self", layer=1, head=2, again=asked)["grid"]
    assert bench.call("askAgain", again, asked, *again["about"][1:]) == asked


@pytest.fixture
def together(bench, attention):
    """`together(**values)`: the small maps, the map of one head and what the page has
    of all heads, as the controls' values have them drawn."""

    def mount(**values):
        drawn = attention(**values) | attention(late=True, **values)
        grid, view = (
            bench.mount(name, drawn[key])
            for name, key in (("heads", "grid"), ("view", "picture"))
        )
        return grid, view, bench.mount("all-heads", drawn["others"])

    return mount


def looked_at(view):
    """What a map is of, and its numbers with their labels, as they are saved."""
    rows = json.loads(saved(view.page, view.save("JSON"))[0])
    numbers = [row[1:] for row in rows["rows"]]
    labels = rows["columns"], [row[0] for row in rows["rows"]]
    return view.locator(".title").text_content(), labels, numbers


@pytest.mark.parametrize(
    "values", [{}, {"words": True, "hide": True}, {"show": "mean", "weigh": True}]
)
def test_the_map_of_another_head_is_drawn_without_a_request(
    bench, attention, together, values
):
    """And is that of the answer, which may come late, to five digits."""
    grid, view, _ = together(**values)
    asked = []
    bench.page.on("request", lambda request: asked.append(request.url))
    choose_map(bench.page, 1, 3)
    assert not asked
    title, labels, numbers = looked_at(view)
    assert title.endswith("layer 1 of 2 · head 3 of 4")
    assert bench.call("chosenHead") == [1, 3, "head"]
    view.show(attention(**values, **click(grid.told[-1]))["picture"])
    assert looked_at(view)[:2] == (title, labels)
    np.testing.assert_allclose(numbers, looked_at(view)[2], atol=1e-5)
    grid.locator("canvas").press("ArrowRight")
    assert view.locator(".title").text_content().endswith("head 4 of 4")


def test_a_head_of_the_locked_words_is_drawn_and_marked_without_a_request(
    bench, attention, together
):
    grid, view, _ = together()
    word = bench.mount("locked-word", attention(late=True, lock="es2-en1")["word"])
    link = word.locator(".links button[aria-pressed=false]").first
    layer, head = (int(link.get_attribute(f"data-{one}")) for one in ("layer", "head"))
    link.click()
    title = f"layer {layer} of 2 · head {head} of 4"
    expect(view.locator(".title")).to_have_text(re.compile(f"{title}$"))
    marked = grid.locator("canvas")
    expect(marked).to_have_attribute("data-layer", str(layer))
    expect(marked).to_have_attribute("data-head", str(head))


def test_heads_of_other_maps_than_the_picture_are_left_to_the_answer(
    bench, attention, together
):
    """As those of a sentence before; and the heads that Shift joins."""
    _, view, others = together()
    title = view.locator(".title").text_content()
    choose_map(bench.page, 1, 3, modifiers=["Shift"])
    assert bench.call("chosenHead") == []
    others.show(attention("Good morning!", late=True)["others"])
    choose_map(bench.page, 1, 2)
    assert view.locator(".title").text_content() == title


def test_heads_are_joined_by_shift(bench, maps, attention):
    choose_map(bench.page, 1, 2, modifiers=["Shift"])
    assert maps.told == [chosen(1, 2, add=True)]
    joined = attention(heads=["cross.2.4"], show="mean", **click(maps.told[-1]))
    assert joined["heads"]["value"] == ["cross.2.4", "cross.1.2"]
    maps.show(joined["grid"])
    expect(maps.locator("canvas")).to_have_attribute(
        "aria-label", shown_heads((2, 4), (1, 2))
    )
    maps.locator("canvas").press("Shift+Enter")
    assert maps.told[-1] == chosen(1, 2, add=True)


def test_rollout_marks_no_head_that_it_does_not_use(bench, attention):
    maps = bench.mount("heads", attention(stack="encoder_self", show="rollout")["grid"])
    expect(maps.locator("canvas")).to_have_attribute(
        "aria-label", re.compile(rf"{say('grid_all')}\.$")
    )


def test_a_word_that_is_locked_in_one_map_is_marked_in_all(bench, attention):
    maps = bench.mount("heads", attention()["grid"])
    view = bench.mount("view", attention()["picture"])
    locked = maps.locator("canvas")
    expect(locked).to_have_attribute("data-locked", "[]")
    view.locator(".token[data-row='0']").click()
    expect(locked).not_to_have_attribute("data-locked", "[]")
    ((left, above, wide, high),) = bench.page.evaluate(
        "JSON.parse(document.querySelector('canvas').dataset.locked)"
    )
    assert (left, above) == (0, 0) and wide > 3 * high, "a row, from side to side"


def test_all_heads_are_saved_as_a_picture(bench, maps, tiny_checkpoint):
    expect(maps.locator("[data-save]")).to_have_count(2)
    content, name = saved(bench.page, maps.save("SVG"))
    drawing = content.decode()
    assert (
        name == "All-heads-Cross-attention-Spanish-looks-at-English.svg"
        and drawing.count("<image") == 2 * 4
    )
    assert (
        f"tiny-en-es {examine(tiny_checkpoint).identity}" in drawing
        and ">H4<" in drawing
        and ">L2<" in drawing
    )
    assert is_drawing(bench.page, drawing)
    content, name = saved(bench.page, maps.save("PNG"))
    assert (
        name.endswith(".png")
        and content.startswith(b"\x89PNG")
        and len(content) > 5_000
    )


def test_on_a_phone_they_stand_in_a_strip_of_which_each_is_chosen(bench, attention):
    maps = bench.mount("heads", attention()["grid"], width=375)
    assert maps.locator(".maps").evaluate(
        "strip => strip.scrollWidth > strip.clientWidth && strip.clientHeight < 120"
    )
    choose_map(bench.page, 1, 3)
    choose_map(bench.page, 2, 4)
    assert maps.told == [chosen(1, 3), chosen(2, 4)]
    expect_fits(bench.page, 375)


def test_a_picture_out_of_sight_is_brought_into_sight_when_a_head_is_chosen(
    bench, attention
):
    view = bench.mount("view", attention()["picture"], height=500)
    bench.page.evaluate("document.body.style.paddingBottom = '3000px'")
    bench.page.mouse.wheel(0, 2000)
    expect(view.locator(".title")).not_to_be_in_viewport()
    bench.call("showPicture")
    expect(view.locator(".title")).to_be_in_viewport()
