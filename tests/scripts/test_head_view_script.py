"""One attention map in detail: assets/head_view.js and head_map.js on answers of the
Attention tab."""

import csv
import io
import json
import re
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved, steady, unreadable
from xformer.hub.checkpoint import examine
from xformer.strings import ENGLISH
from xformer.ui import lessons

say = ENGLISH.say
CAT = "The cat sleeps."
DOG = "The dog eats the bread."
LONG = "The cat sleeps, and the dog eats the bread. " * 4
GATO = say("row_target", given="El", wanted="gato")  # the second row of CAT
LEAVE = say("projector_leave")


@pytest.fixture
def cross(traced):
    """The maps of CAT that are looked at first, as (layers, heads, queries, keys)."""
    return traced(CAT).cross


def file_of(view, kind):
    """The text of the file that the picture is saved as."""
    return saved(view.page, view.save(kind))[0].decode()


def is_drawing(page, text):
    return page.evaluate(
        """text => !new DOMParser().parseFromString(text, 'image/svg+xml')
        .querySelector('parsererror')""",
        text,
    )


# What is drawn


def test_rows_columns_axes_and_colours_are_named(bench, attention):
    view = bench.mount("view", attention()["picture"])
    expect(view.locator(".title")).to_have_text(
        say("picture_title", stack=say("cross"), layer=2, layers=2, head=1, heads=4)
    )
    expect(view.locator("svg.left text").nth(1)).to_have_text(GATO)
    expect(view.locator("svg.top text")).to_have_count(
        len(attention()["picture"]["keys"])
    )
    expect(view.locator(".seen")).to_contain_text(say("axis_seen_source_piece"))
    expect(view.locator("svg.colours text").filter(has_text="0.25")).to_be_visible()


def test_in_self_attention_the_sentence_stands_on_both_sides(bench, attention):
    view = bench.mount("view", attention(stack="encoder_self")["picture"])
    expect(view.locator("svg.top text")).to_have_text(
        view.locator("svg.left text").all_text_contents()
    )


def test_joined_words_and_hidden_sinks_leave_no_empty_rows_or_columns(bench, attention):
    view = bench.mount("view", attention()["picture"])
    view.show(attention(words=True)["picture"])
    expect(view.locator("svg.top text")).to_have_text(
        ["The", "cat", "sleeps", ".", "</s>"]
    )
    expect(view.locator(".seen")).to_contain_text(say("axis_seen_source_word"))
    view.show(attention(words=True, hide=True)["picture"])
    expect(view.locator("svg.top text")).to_have_text(["The", "cat", "sleeps"])
    expect(view.locator("svg.left text")).to_have_text(
        [
            say("row_target", given=given, wanted=wanted)
            for given, wanted in (("<s>", "El"), ("El", "gato"), ("gato", "duerme"))
        ]
    )


def test_arcs_are_those_above_the_threshold_as_thick_as_probable(
    bench, attention, cross
):
    view = bench.mount("view", attention(view="arcs")["picture"])
    arcs = view.locator("svg.arcs path")
    expect(arcs).to_have_count(int((cross[1, 0] >= 0.05).sum()))
    view.show(attention(view="arcs", threshold=30)["picture"])
    rows, columns = np.nonzero(cross[1, 0] >= 0.30)
    expect(arcs).to_have_count(len(rows))
    expect(view.locator(".hint")).to_contain_text(
        say("arcs_drawn", drawn=len(rows), all=cross[1, 0].size, threshold=30)
    )
    drawn = {
        (int(row), int(column)): float(width)
        for row, column, width in arcs.evaluate_all(
            "arcs => arcs.map(arc => [arc.dataset.row, arc.dataset.column, arc.getAttribute('stroke-width')])"
        )
    }
    assert set(drawn) == set(zip(rows.tolist(), columns.tolist(), strict=True))
    widths = [drawn[at] for at in sorted(drawn, key=lambda at: cross[1, 0][at])]
    assert widths == sorted(widths)


def test_colours_are_those_that_were_chosen(bench, attention):
    view = bench.mount("view", attention(palette="viridis")["picture"])
    most = view.locator("svg.colours rect").first
    expect(most).to_have_attribute("fill", re.compile(r"rgba\(2\d\d,2\d\d,"))
    view.show(attention()["picture"])
    expect(most).to_have_attribute("fill", re.compile(r"rgba\(43,122,246,"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_can_be_read(bench, attention, theme):
    bench.mount("view", attention(words=True)["picture"], theme=theme)
    assert not unreadable(bench.page)


def test_markup_in_a_sentence_stays_text_in_every_view(bench, attention):
    text = "The cat <img src=x onerror=alert(1)>"
    view = bench.mount("view", attention(text, view="arcs")["picture"])
    expect(view.locator("svg.arcs")).to_be_visible()
    expect(view.locator("img")).to_have_count(0)
    view.show(attention(text, view="heatmap")["picture"])
    expect(view.locator("svg.cells")).to_be_visible()
    expect(view.locator("img")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 1440, 1920])
def test_a_long_sentence_scrolls_inside_beside_its_colour_bar_and_says_so(
    bench, attention, width
):
    drawn = attention(LONG, stack="encoder_self")["picture"]
    view = bench.mount("view", drawn, width=width, height=800)
    expect(view.locator(".more")).to_have_text(
        say("more_rows", rows=len(drawn["queries"]), columns=len(drawn["keys"]))
    )
    assert view.locator(".scroll").evaluate(
        "pane => pane.scrollHeight > pane.clientHeight"
    )
    assert view.block.evaluate("""block => {
        const right = selector => block.querySelector(selector).getBoundingClientRect().right;
        const bar = block.querySelector('svg.colours').getBoundingClientRect();
        return right('.scroll') <= bar.left && bar.right <= block.getBoundingClientRect().right + 1;
    }""")


def test_on_a_phone_arcs_are_drawn_and_fit(bench, attention):
    view = bench.mount("view", attention()["picture"], width=375)
    expect(view.locator("svg.arcs")).to_be_visible()
    expect_fits(bench.page, 375)


# What is pointed at, and what is locked


def test_pointing_at_a_cell_says_its_value_and_lights_both_words(
    bench, attention, cross
):
    view = bench.mount("view", attention()["picture"])
    cells = view.locator("svg.cells")
    size = cells.bounding_box()["width"] / cross.shape[-1]
    cells.hover(position={"x": 1.5 * size, "y": 0.5 * size})
    expect(view.locator(".said")).to_have_text(
        re.compile(rf"^after <s> → predicts El looks at .+ {cross[1, 0, 0, 1]:.3f}\.$")
    )
    expect(view.locator(".token.chosen")).to_have_count(2)
    expect(view.locator(".token[data-column='1']")).to_have_class("token chosen")


def test_a_word_that_is_pointed_at_is_let_go_where_a_shorter_sentence_lacks_its_place(
    bench, attention
):
    view = bench.mount("view", attention("She reads a book, and he sings.")["picture"])
    labels = view.locator("svg.left text")
    labels.last.hover()
    expect(view.locator(".said")).to_contain_text(labels.last.text_content())
    before = labels.count()
    view.show(attention("Good morning!")["picture"])
    assert labels.count() < before
    expect(view.locator(".said")).to_have_text("")


def test_a_word_is_locked_by_a_click_and_stays_in_every_view(bench, attention, cross):
    view = bench.mount("view", attention()["picture"])
    said = view.locator(".said")
    most = cross[1, 0, :, 0].max()
    view.locator(".token[data-column='0']").click()
    assert view.told == [("lock", {})]
    assert bench.call("lockedWords") == "-en0"
    expect(said).to_have_text(
        re.compile(rf"The is looked at by .*{most:.3f}.*{say('view_locked')}$")
    )
    bench.page.mouse.move(0, 0)
    expect(said).to_contain_text(say("view_locked"))
    view.locator(".token[data-column='1']").hover()  # another is not what is locked
    expect(said).not_to_contain_text(say("view_locked"))
    bench.page.mouse.move(0, 0)
    view.show(attention(view="arcs")["picture"])
    expect(view.locator("svg.arcs")).to_be_visible()
    expect(said).to_have_text(
        re.compile(rf"The is looked at by .*{most:.3f}.*{say('view_locked')}$")
    )


def test_keys_go_through_the_cells_lock_one_and_let_it_go(bench, attention, cross):
    view = bench.mount("view", attention()["picture"])
    said = view.locator(".said")
    keys = bench.page.keyboard
    view.locator(".scroll").focus()
    keys.press("ArrowDown")
    expect(said).to_have_text(
        re.compile(rf"^after <s> → predicts El looks at The {cross[1, 0, 0, 0]:.3f}\.$")
    )
    keys.press("ArrowDown")
    expect(said).to_contain_text(GATO)
    keys.press("Enter")
    expect(said).to_contain_text(say("view_locked"))
    assert bench.call("lockedWords") == "es2-en0"
    keys.press("Escape")
    expect(said).to_have_text("")
    assert bench.call("lockedWords") == ""


def test_the_place_of_the_keys_is_kept_where_another_head_comes(bench, attention):
    view = bench.mount("view", attention()["picture"])
    view.locator(".scroll").focus()
    for _ in range(2):
        bench.page.keyboard.press("ArrowDown")
    view.show(attention(head=3)["picture"])
    expect(view.locator(".scroll")).to_be_focused()
    bench.page.keyboard.press("ArrowRight")
    expect(view.locator(".said")).to_contain_text(GATO)


def test_the_words_of_an_address_are_locked_and_those_of_another_sentence_are_let_go(
    bench, attention
):
    view = bench.mount("view")
    bench.call("lockWords", "es2-en1")
    view.show(attention()["picture"])
    expect(view.locator(".said")).to_contain_text(f"{GATO} looks at")
    view.show(attention(head=2)["picture"])  # another head keeps them
    expect(view.locator(".said")).to_contain_text(f"{GATO} looks at")
    view.show(attention(DOG)["picture"])
    expect(view.locator(".said")).to_have_text("")
    assert bench.call("lockedWords") == "" and view.told


# Hands a picture to the script while the page moves to the address of a sentence.
MOVING = """([text, value]) => {
    pageState.settled = false;
    history.pushState(null, '', '?text=' + encodeURIComponent(text));
    mounted.at(-1).show(value);
    return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
ARRIVE = "pageState.settled = true; tell('settled')"


def test_while_the_page_moves_a_former_pair_is_not_drawn_and_lets_no_words_go(
    bench, attention
):
    view = bench.mount("view")
    bench.call("lockWords", "es2-en1")
    # as a tab asks that is opened for the first time
    bench.page.evaluate(MOVING, [DOG, attention(CAT)["picture"]])
    expect(view.locator("svg.left")).to_have_count(0)
    bench.page.evaluate(MOVING, [DOG, attention(DOG)["picture"]])
    bench.page.evaluate(ARRIVE)
    expect(view.locator(".said")).to_contain_text("looks at")
    assert bench.call("lockedWords") == "es2-en1" and not view.told


def test_a_pair_that_the_page_does_not_leave_after_all_is_drawn(bench, attention):
    view = bench.mount("view")
    bench.page.evaluate(
        MOVING, ["What nobody can translate", attention(CAT)["picture"]]
    )
    expect(view.locator("svg.left")).to_have_count(0)
    bench.page.evaluate(ARRIVE)
    expect(view.locator("svg.left")).to_have_count(1)


PAINTED = """drawing => {  // the middle of every cell, as a browser paints it, from the SVG of the page or of a file
    const place = document.body.appendChild(document.createElement('div'));
    place.style = 'position: fixed; inset: 0; z-index: 5000';
    place.innerHTML = drawing;
    const fills = [...place.querySelectorAll('rect[fill^="rgba"]')].map(cell => {
        const {left, top, width, height} = cell.getBoundingClientRect();
        return [cell.getAttribute('fill'), document.elementsFromPoint(left + width / 2, top + height / 2)
            .filter(one => place.contains(one) && one.tagName === 'rect' && one.getAttribute('fill') !== 'none')
            .length];
    });
    place.remove();
    return fills;
}"""


def test_a_lock_changes_no_colour_of_the_map_on_the_page_or_in_a_file(bench, attention):
    view = bench.mount("view", attention(view="heatmap")["picture"])
    cells = view.locator("svg.cells")
    labels = view.locator("svg.left text")

    def painted():
        drawings = cells.evaluate("svg => svg.outerHTML"), file_of(view, "SVG")
        return [bench.page.evaluate(PAINTED, drawing) for drawing in drawings]

    before = painted()
    view.locator(".token[data-row='1']").click()
    view.locator(".token[data-column='2']").click()
    expect(view.locator(".marks rect")).to_have_count(2)
    assert painted() == before and all(before)
    expect(labels.nth(1)).to_have_attribute("font-weight", "600")
    grey = labels.evaluate_all(
        "labels => labels.map(label => getComputedStyle(label).fill)"
    )
    assert grey[0] == grey[2] != grey[1], "what is not locked is grey, in its label"


# What it tells the page


def test_a_chip_names_each_choice_and_tells_which_is_taken_back(bench, attention):
    view = bench.mount("view", attention()["picture"])
    chips = view.locator(".chip")
    expect(chips).to_have_count(0)
    view.show(attention(show="rollout", words=True)["picture"])
    expect(chips).to_have_text([f"{say('show_rollout')} ×", f"{say('chip_words')} ×"])
    view.block.get_by_role(
        "button", name=say("remove_choice", name=say("show_rollout"))
    ).click()
    assert view.told == [("undo", {"key": "show"})]


def test_each_file_of_all_heads_is_asked_for_by_its_kind(bench, attention):
    view = bench.mount("view", attention()["picture"])
    for kind in ("json", "npz", "html"):
        view.locator(".save-menu summary").click()
        view.block.get_by_role("button", name=say(f"export_{kind}")).click()
    assert view.told == [("export", {"kind": kind}) for kind in ("json", "npz", "html")]


@pytest.mark.parametrize("width", [1280, 375])
def test_the_link_that_is_copied_leaves_out_what_lets_others_in(
    bench, attention, width
):
    view = bench.mount("view", attention()["picture"], width=width)
    page = bench.page
    copy = view.block.get_by_role("button", name=say("copy_link"))
    page.evaluate(
        "navigator.clipboard.writeText = async text => { window.copied = text; }"
    )
    page.evaluate("history.replaceState(null, '', '?text=a+b&lock=es2')")
    copy.click()
    expect(
        view.block.get_by_role("status").filter(has_text=say("copied"))
    ).to_be_visible()
    assert page.evaluate("window.copied === location.href")
    page.evaluate("history.replaceState(null, '', `${location.href}&__sign=secret`)")
    copy.click()
    page.wait_for_function("window.copied !== location.href")
    shown, copied = (
        parse_qs(urlparse(page.evaluate(what)).query)
        for what in ("location.href", "window.copied")
    )
    assert shown == {**copied, "__sign": ["secret"]} and "__sign" not in copied


# What is saved


def test_the_numbers_are_saved_with_their_labels_rules_and_checkpoint(
    bench, attention, traced, tiny_checkpoint
):
    view = bench.mount("view", attention(weigh=True)["picture"])
    content, name = saved(bench.page, view.save("CSV"))
    table = list(csv.reader(io.StringIO(content.decode())))
    weighed = traced(CAT).cross[1, 0] * traced(CAT).cross_norms[1, 0]
    weighed /= weighed.sum(axis=1, keepdims=True)
    assert name.endswith("head-1-of-4.csv") and "Kobayashi" in table[0][0]
    assert table[0][0].endswith(f"tiny-en-es {examine(tiny_checkpoint).identity}")
    np.testing.assert_allclose(
        [[float(p) for p in row[1:]] for row in table[1:]], weighed, atol=2e-6
    )
    found = json.loads(file_of(view, "JSON"))
    assert [row[1:] for row in found["rows"]] == [
        list(map(float, row[1:])) for row in table[1:]
    ]
    assert [row[0] for row in found["rows"]] == [row[0] for row in table[1:]] and found[
        "columns"
    ][1:] == table[0][1:]


def test_the_picture_is_saved_as_it_is_seen(bench, attention):
    view = bench.mount("view", attention(weigh=True)["picture"])
    content, name = saved(bench.page, view.save("SVG"))
    drawing = content.decode()
    assert (
        name.endswith("head-1-of-4.svg")
        and "after &#60;s&#62; → predicts" in drawing
        and "tiny-en-es" in drawing
    )
    assert "Kobayashi" in drawing and is_drawing(bench.page, drawing)
    picture, _ = saved(bench.page, view.save("PNG"))
    assert picture[:8] == b"\x89PNG\r\n\x1a\n" and len(picture) > 5_000


def test_a_saved_picture_holds_both_sentences_and_what_is_locked_and_nothing_lies_over_another(
    bench, attention
):
    view = bench.mount("view")
    bench.call("lockWords", "en1")
    view.show(attention(stack="encoder_self")["picture"])
    expect(view.locator(".said")).to_contain_text(say("view_locked"))
    drawing = file_of(view, "SVG")
    for text in (
        CAT,
        "El gato duerme.",
        "head 1 of 4",
        say("axis_asks_source_piece"),
        say("axis_seen_source_piece"),
    ):
        assert f">{text}" in drawing or text in drawing, text
    assert "looks at" in drawing and "#d97706" in drawing, (
        "the locked row, in words and framed"
    )
    overlaps = bench.page.evaluate(
        """drawing => {
        const place = document.body.appendChild(document.createElement('div'));
        place.style = 'position: absolute; left: 0; top: 0';
        place.innerHTML = drawing;
        const svg = place.querySelector('svg'), box = element => element.getBoundingClientRect();
        const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent, box(text)]);
        const outside = texts.filter(([, b]) => b.left < box(svg).left || b.right > box(svg).right + 1);
        const meet = (a, b) => a.left < b.right - 2 && b.left < a.right - 2 &&
            a.top < b.bottom - 5 && b.top < a.bottom - 5;
        const over = texts.flatMap(([one, a], i) => texts.slice(i + 1).filter(([, b]) => meet(a, b))
            .map(([other]) => `${one} | ${other}`));
        place.remove();
        return [...outside.map(([text]) => text), ...over];
    }""",
        drawing,
    )
    assert not overlaps


# Alone in the window


@pytest.fixture
def alone(bench, attention):
    """`alone(value, **how)`: the picture in the projector view, as an address asks for
    it."""

    def project(value=None, **how):
        bench.open(**how)
        bench.page.evaluate("history.replaceState(null, '', '?projector=1')")
        bench.mount("lessons", lessons.value("", ENGLISH))
        view = bench.mount("view", value)
        bench.page.evaluate(
            "document.getElementById('bench').classList.add('attention-picture')"
        )
        bench.call("project", True)
        steady(bench.page)
        return view

    return project


def test_the_picture_is_alone_and_larger_and_escape_leaves_it_and_lets_nothing_go(
    bench, attention, alone
):
    view = alone(attention()["picture"])
    bench.call("lockWords", "es2")
    expect(view.locator(".said")).to_contain_text(GATO)
    box = view.block.bounding_box()
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 1280, 900)
    expect(view.block.get_by_role("button", name=say("copy_link"))).to_be_hidden()
    place = view.locator(".place").bounding_box()
    line = view.locator(".line").first.bounding_box()
    assert line["x"] >= place["x"] + place["width"], (
        "the sentences stand beside the map"
    )
    assert view.locator(".scroll").bounding_box()["width"] > 600, (
        "the map is large, with the labels beside it"
    )
    large = view.locator("svg.cells").bounding_box()["width"]
    bench.page.keyboard.press("Escape")
    assert view.told == [("project", {})]
    bench.call("project", False)
    steady(bench.page)
    expect(view.block.get_by_role("button", name=say("copy_link"))).to_be_visible()
    assert view.locator("svg.cells").bounding_box()["width"] < large
    expect(view.locator(".said")).to_contain_text(GATO)


@pytest.mark.parametrize("width", [1280, 375])
def test_a_button_leaves_it_at_any_size(bench, attention, alone, width):
    view = alone(attention()["picture"], width=width)
    leave = bench.page.get_by_role("button", name=LEAVE)
    expect(leave).to_be_in_viewport(ratio=1)
    leave.click()
    assert view.told == [("project", {})]
    bench.call("project", False)
    expect(leave).to_be_hidden()


def test_it_is_left_before_its_picture_is_there(bench, attention, alone):
    view = alone()
    bench.page.get_by_role("button", name=LEAVE).click()
    assert view.told == [("project", {})]
    bench.call("project", False)
    expect(bench.page.get_by_role("button", name=LEAVE)).to_be_hidden()
    expect(view.locator("svg.cells")).to_have_count(0)
    view.show(attention()["picture"])
    expect(view.locator("svg.cells")).to_be_visible()
