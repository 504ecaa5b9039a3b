"""The page of `xformer.view`, opened as a file with the network off: numbers, words,
arcs, a search."""

import json
from pathlib import Path

import axe_playwright_python
import numpy as np
import pytest
from playwright.sync_api import expect

import xformer
from tests.chromium import patience
from tests.fixtures import PAIRS
from xformer.figures.attention import Choice, picture
from xformer.pieces import words
from xformer.strings import ENGLISH, SPANISH

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
SOURCE = ("▁I", "▁was", "▁wait", "ing", "▁for", "▁Tom", "'", "s", "▁cat", ".", "</s>")
TARGET = ("<s>", "▁Esper", "aba", "▁al", "▁gato", "▁de", "▁Tom", ".")
WORDPIECE = ("[CLS]", "play", "##ing", "tom", ".", "[SEP]")


def maps(layers, heads, queries, keys, causal=False):
    chance = np.random.default_rng(queries).random((layers, heads, queries, keys)) ** 4
    chance = np.tril(chance) if causal else chance
    return (chance / chance.sum(axis=-1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def trace():
    return xformer.view(
        {
            "encoder_self": maps(2, 4, 11, 11),
            "decoder_self": maps(3, 4, 8, 8, causal=True),
            "cross": maps(3, 4, 8, 11),
        },
        SOURCE,
        TARGET,
    )


@pytest.fixture
def opened(chromium, tmp_path):
    """`opened(trace)` opens its page as a file, where there is no network; nothing may
    be asked for or go wrong."""
    contexts = []
    wrong = []

    def open_page(trace, width=1280, scheme="light", language=ENGLISH):
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(patience())
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text))
        page.on(
            "request",
            lambda request: (
                request.url.startswith("file:") or wrong.append(request.url)
            ),
        )
        path = tmp_path / "maps.html"
        path.write_text(trace.page(language=language), encoding="utf-8")
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong


def drawn(page):
    """The picture that stands on the page: labels of rows and columns, and its
    numbers."""
    rows, columns, values = page.evaluate(
        "[map.queries, map.keys, [...map.probabilities]]"
    )
    return (
        rows,
        columns,
        np.array(values, dtype=np.float32).reshape(len(rows), len(columns)),
    )


@pytest.mark.parametrize("stack", ["encoder_self", "decoder_self", "cross"])
def test_words_and_sinks_are_those_of_the_page_in_python(opened, trace, stack):
    page = opened(trace)
    page.select_option("#stack", stack)
    page.locator("#heads button").nth(4 + 2).click()
    for joined, hidden in ((False, False), (True, False), (True, True), (False, True)):
        page.set_checked("#words", joined)
        page.set_checked("#sinks", hidden)
        wanted = picture(
            trace, Choice(stack=stack, layer=2, head=3, words=joined, hide=hidden)
        )
        rows, columns, values = drawn(page)
        assert (rows, columns) == (list(wanted.queries), list(wanted.keys))
        np.testing.assert_allclose(values, wanted.values, atol=1e-6)
        assert page.inner_text("#rules") == " ".join(wanted.rules)


def test_a_row_to_come_is_named_by_both_pieces(opened, trace):
    own = xformer.view(
        {
            "cross": trace.cross,
            "predicted": [*TARGET[1:], "</s>"],
            "source": SOURCE,
            "target": TARGET,
        }
    )
    page = opened(own)
    for joined in (False, True):
        page.set_checked("#words", joined)
        wanted = picture(own, Choice(words=joined))
        rows, _, values = drawn(page)
        assert rows == list(wanted.queries) and np.allclose(
            values, wanted.values, atol=1e-6
        )


def test_a_cell_says_the_number_of_the_tensor(opened, trace):
    page = opened(trace)
    box = page.locator("svg.cells").bounding_box()
    cell = page.evaluate("cell")
    for row, column in ((0, 0), (4, 5), (7, 10)):
        page.mouse.move(box["x"] + (column + 0.5) * cell, box["y"] + (row + 0.5) * cell)
        expect(page.locator("#said")).to_contain_text(
            f"{trace.cross[0, 0, row, column]:.3f}."
        )


def test_a_word_is_found_in_the_picture_and_in_every_small_map(opened, trace):
    page = opened(trace)
    page.fill("#search", "waiting")  # of two pieces
    expect(page.locator("#place text.found")).to_have_text(["wait", "…ing"])
    found = page.locator("#heads button").evaluate_all(
        "all => all.map(one => one.dataset.found)"
    )
    assert found == ["[[],[2,3]]"] * 12
    assert page.locator("svg.cells .marks rect").count() == 2
    expect(page.locator("#said")).to_contain_text(
        "Rows where it asks: 0; columns where it is looked at: 2."
    )
    page.fill("#search", "TOM")  # a word of the rows, and part of one of the columns
    expect(page.locator("#place text.found")).to_have_text(["Tom", "'", "…s", "Tom"])
    page.fill("#search", "esperabá")
    page.check("#words")
    expect(page.locator("#place text.found")).to_have_text("Esperaba")
    assert page.evaluate(
        "JSON.parse(document.querySelector('#heads button').dataset.found)"
    ) == [[1], []]
    page.check("#arcs")
    shown = page.locator("path[data-row]").evaluate_all(
        "all => all.filter(one => one.getAttribute('stroke-opacity') === '1').map(one => one.dataset.row)"
    )
    assert shown and set(shown) == {"1"}
    page.fill("#search", "nobody")
    expect(page.locator("#said")).to_have_text(
        "“nobody” is in none of the words shown."
    )


def test_arcs_are_the_cells_of_at_least_a_twentieth(opened, trace):
    page = opened(trace)
    page.check("#arcs")
    lines = page.locator("path[data-row]").evaluate_all(
        "all => all.map(one => [one.dataset.row, one.dataset.column])"
    )
    wanted = np.argwhere(trace.cross[0, 0] >= np.float32(0.05))
    assert sorted((int(row), int(column)) for row, column in lines) == list(
        map(tuple, wanted)
    )
    expect(page.locator("#hint")).to_contain_text(
        f"{len(wanted)} of 88 lines are drawn"
    )
    page.check("#heatmap")
    expect(page.locator("svg.cells")).to_be_visible()


def test_all_is_done_with_the_keyboard(opened, trace):
    page = opened(trace)
    page.locator("#heads button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#title")).to_have_text(
        "Cross-attention · layer 2 of 3 · head 2 of 4"
    )
    assert (
        page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    )
    assert page.locator("#heads button[tabindex='0']").count() == 1
    page.keyboard.press("Tab")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    said = f"Esper looks at was {trace.cross[1, 1, 1, 1]:.3f}."
    expect(page.locator("#said")).to_have_text(said)
    page.keyboard.press("Escape")
    expect(page.locator("#said")).to_have_text("")


@pytest.mark.parametrize(
    ("width", "scheme"), [(375, "light"), (375, "dark"), (1280, "dark")]
)
def test_a_phone_and_the_dark_have_all_of_it(opened, trace, width, scheme):
    page = opened(trace, width, scheme, SPANISH)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("isDark()") is (scheme == "dark")
    expect(page.locator("#arcs" if width == 375 else "#heatmap")).to_be_checked()
    expect(page.locator("h1")).to_have_text(SPANISH.say("html_title_any"))
    page.fill("#search", "tom")
    page.check("#heatmap")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.add_script_tag(path=AXE)
    found = page.evaluate("""async () => (await axe.run(document, {resultTypes: ['violations']})).violations
        .filter(({impact}) => ['serious', 'critical'].includes(impact)).map(({nodes, id}) => id + nodes[0].html)""")
    assert not found


def test_pieces_of_every_vocabulary_are_words(opened, trace):
    page = opened(trace)
    said = "(pieces => wordsOf(marked(pieces)).map(group => shown(group.map(i => marked(pieces)[i]).join(''))))"
    for pieces, wanted in [
        (WORDPIECE, ["[CLS]", "playing", "tom", ".", "[SEP]"]),
        (
            ["<s>", "Wait", "ing", "Ġfor", "ĠMar", "ÃŃa", "Ċ", ".", "</s>"],
            ["<s>", "Waiting", "for", "María", "⏎", ".", "</s>"],
        ),
        (["ĠæĹ", "¥"], ["日"]),
        (["un", "do</w>", "it</w>"], ["undo", "it"]),
        (["▁ma", "<0xC3>", "<0xB1>", "ana"], ["mañana"]),
        (["the", "cat"], ["the", "cat"]),
        (["<|endoftext|>", "A", "ĠÐ", "¶"], ["<|endoftext|>", "A", "ж"]),
    ]:
        assert page.evaluate(said, list(pieces)) == wanted
    assert page.evaluate("shown(marked(['ĠæĹ', '¥'])[1])") == "byte A5"
    for pieces in (
        SOURCE,
        TARGET,
        ["▁", "猫", "在", "睡觉"],
        ["▁don", "'", "t", "'", "▁x"],
        ["▁a", "<pad>", "b", "’"],
        *(["▁" + word for one in pair for word in one.split()] for pair in PAIRS),
    ):
        assert page.evaluate("wordsOf", json.loads(json.dumps(pieces))) == words(pieces)


def test_an_encoder_alone_and_one_without_pieces_are_shown(opened):
    page = opened(xformer.view(maps(2, 3, 6, 6), WORDPIECE))
    expect(page.locator("#title")).to_have_text(
        "Encoder self-attention · layer 1 of 2 · head 1 of 3"
    )
    expect(page.locator("#source")).to_have_text("playing tom .")
    expect(page.locator("#stack")).to_be_hidden()
    page.check("#words")
    assert drawn(page)[0] == ["[CLS]", "playing", "tom", ".", "[SEP]"]
    page.check("#sinks")
    assert drawn(page)[1] == ["playing", "tom"]
    page = opened(xformer.view(maps(2, 3, 6, 6)))
    assert drawn(page)[0] == list("123456")
    expect(page.locator("#source")).to_have_text("")
