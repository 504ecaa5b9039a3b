"""The toolbar of a figure: assets/save.js, menus.js, part.js and plot.js on two
sentences that are compared."""

import csv
import io
import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect
from starlette.requests import Request

from tests.browser.acts import saved, unreadable
from xformer.figures import pairs as figures
from xformer.results import Head
from xformer.strings import ENGLISH
from xformer.ui.components import figure
from xformer.ui.server.sharing import FRAMES, share

say = ENGLISH.say
ON_TOP = """button => {
  const box = button.getBoundingClientRect();
  return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === button; }"""


@pytest.fixture(scope="module")
def compared(models, learned_pairs):
    return models.default.compare(learned_pairs[0][0], learned_pairs[1][0])


@pytest.fixture(scope="module")
def maps(compared):
    return figures.head_maps(compared, Head("cross", 2, 1))


@pytest.fixture
def plot(bench, maps):
    """The difference of a head in both sentences, drawn."""
    drawn = bench.mount("pair-difference", figure(maps.difference))
    expect(drawn.locator(".main-svg").first).to_be_visible()
    return drawn


def test_one_menu_saves_a_picture_and_is_used_from_the_keyboard(bench, plot):
    page = bench.page
    menu = plot.locator("details.save-menu summary")
    png = plot.block.get_by_role("button", name=say("save_as", kind="PNG"))
    menu.focus()
    page.keyboard.press("Enter")
    expect(png).to_be_visible()
    page.keyboard.press("Escape")
    expect(png).to_be_hidden()
    expect(menu).to_be_focused()
    page.keyboard.press("Enter")
    expect(png).to_be_visible()
    page.mouse.click(5, 5)
    expect(png).to_be_hidden()  # a click elsewhere closes it too
    menu.focus()
    page.keyboard.press("Enter")
    expect(png).to_be_visible()
    assert png.evaluate(ON_TOP), "something lies over the menu"
    page.keyboard.press("Tab")
    expect(png).to_be_focused()
    with page.expect_download() as offered:
        page.keyboard.press("Enter")
    assert offered.value.suggested_filename.endswith(".png")
    assert Path(offered.value.path()).read_bytes().startswith(b"\x89PNG")
    expect(png).to_be_hidden()
    expect(menu).to_be_focused()


def test_the_address_is_copied_and_that_is_said_until_the_button_is_left(bench, plot):
    bench.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    # as a private Space adds it
    bench.page.evaluate("history.replaceState(null, '', '/?tab=pairs&__sign=secret')")
    plot.block.get_by_role("button", name=say("copy_link")).click()
    expect(plot.locator(".copied")).to_have_text(say("copied"))
    assert (
        bench.page.evaluate("navigator.clipboard.readText()")
        == f"{bench.address}/?tab=pairs"
    )
    plot.locator("summary").focus()
    expect(plot.locator(".copied")).to_have_text("")


def test_a_saved_map_names_both_sentences_and_their_translations(
    bench, plot, models, learned_pairs
):
    found = json.loads(saved(bench.page, plot.save("JSON"))[0])
    assert found["pair"] == [
        " / ".join(texts) for texts in zip(*learned_pairs[:2], strict=True)
    ]
    assert found["checkpoint"]["identity"] == models.default.info.identity
    drawing = saved(bench.page, plot.save("SVG"))[0].decode()
    words = " ".join(re.findall(r">([^<>]+)<", drawing))
    assert (
        found["title"] in words
        and found["pair"][0].split()[0] in words
        and found["checkpoint"]["identity"] in words
    )


def test_both_translations_are_saved_as_numbers_and_as_a_picture(bench, compared):
    table = bench.mount("main", figures.translations(compared))
    content, name = saved(bench.page, table.save("CSV"))
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert rows[1][:2] == ["A", "El"] and name.endswith(".csv")
    picture, _ = saved(bench.page, table.save("SVG"))
    assert b"gato" in picture and b".contrasted" in picture


@pytest.mark.parametrize("side", ["first", "second"])
def test_a_map_of_a_sentence_fits_a_phone_with_its_colours(bench, maps, side):
    drawn = bench.mount(f"pair-{side}", figure(getattr(maps, side)), width=375)
    expect(drawn.locator(".main-svg").first).to_be_visible()
    expect(drawn.locator(".cbfills, .cbfill").first).to_be_attached()
    assert drawn.locator(".plot").evaluate(
        "plot => plot.scrollWidth <= plot.clientWidth"
    )


def test_the_title_of_a_colour_bar_stands_beside_its_numbers(plot):
    numbers = plot.locator(".cbaxis text").evaluate_all(
        "texts => texts.map(one => one.getBoundingClientRect().right)"
    )
    (name,) = (
        plot.locator(".annotation-text").filter(has_text=say("pairs_change")).all()
    )
    box = name.bounding_box()
    edge = plot.locator(".main-svg").first.bounding_box()
    assert len(numbers) == 5 and max(numbers) < box["x"] < max(numbers) + 12
    assert box["height"] > box["width"], "it stands upright"
    assert box["x"] + box["width"] <= edge["x"] + edge["width"]


def test_a_picture_is_passed_on_exactly(bench, plot):
    """Its link names the fold in which it stands, and the picture; the sheet comes when asked for."""
    asked = []

    def answer(route):
        asked.append(parse_qs(urlsplit(route.request.url).query))
        request = Request(
            {"type": "http", "query_string": urlsplit(route.request.url).query.encode()}
        )
        route.fulfill(body=share(request, FRAMES).body, content_type="text/html")

    bench.page.evaluate("""() => {
        history.replaceState(null, '', '/?tab=training#other');
        document.querySelector('#bench').classList.add('section', 'at-curves');
        navigator.clipboard.writeText = async text => { window.copiedText = text; };
    }""")
    bench.page.route("**/share?*", answer)
    menu = plot.locator(".save-menu summary")
    menu.click()
    plot.block.get_by_role("button", name=say("share_open")).click()
    dialog = bench.page.get_by_role("dialog")
    expect(dialog.locator(".code svg")).to_be_visible()
    link = dialog.get_by_role("textbox", name=say("share_link")).input_value()
    assert link.endswith("/?tab=training#curves:pair-difference")
    assert asked == [{"language": ["en"], "address": [link]}]
    dialog.get_by_role("button", name=say("share_copy")).last.click()
    expect(dialog.locator(".reply")).to_have_text(say("share_copied"))
    assert bench.page.evaluate("copiedText").startswith("<iframe ")
    assert not unreadable(bench.page)
    bench.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(menu).to_be_focused()
    bench.page.unroute("**/share?*")


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_menu_of_a_picture_lies_within_a_phone(bench, maps, language):
    drawn = bench.mount(
        "pair-difference", figure(maps.difference), width=375, language=language
    )
    drawn.locator("details.save-menu > summary").click()
    box = drawn.locator("details.save-menu > div").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 375
