"""The Compare tab in Chromium: two sentences, the BLEU laboratory, the lecture's sentences; on a phone too."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.acts import choose_map, expect_fits, idle, open_tab, saved, type_into


@pytest.fixture(scope="module")
def page(same_page):
    return same_page


def part(page, name):
    open_tab(page, "pairs")
    page.locator(".parts").get_by_text(name, exact=True).click()
    idle(page)


def test_two_sentences_are_compared_and_the_address_keeps_them(page, learned_pairs):
    part(page, "Two sentences")
    type_into(page.get_by_label("Sentence A"), learned_pairs[0][0])
    second = page.get_by_label("Sentence B")
    type_into(second, learned_pairs[1][0])
    second.press("Enter")
    shown = page.locator(".contrasted")
    expect(shown.locator("section").first.locator(".said mark").first).to_have_text("gato")
    expect(shown.locator("section").last.locator(".said mark").first).to_have_text("perro")
    expect(page.locator(".pair-difference .caption")).to_have_text(re.compile(r"^B − A · (Cross|Encoder|Decoder)"))
    idle(page)
    assert "pair_b=The+dog" in page.url
    table, name = saved(page, page.locator(".compared").get_by_role("button", name="Save as CSV").click)
    rows = list(csv.reader(io.StringIO(table.decode())))
    assert rows[1][:2] == ["A", "El"] and name.endswith(".csv")
    picture, _ = saved(page, page.locator(".compared").get_by_role("button", name="Save as SVG").click)
    assert b"gato" in picture and b".contrasted" in picture


def test_one_menu_saves_a_picture_and_is_used_from_the_keyboard(page):
    part(page, "Two sentences")
    figure = page.locator(".picture.pair-difference")
    menu, png = figure.locator("details.save-menu"), figure.get_by_role("button", name="Save as PNG")
    menu.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(png).to_be_visible()
    page.keyboard.press("Escape")
    idle(page)
    expect(png).to_be_hidden()
    expect(menu.locator("summary")).to_be_focused()
    page.keyboard.press("Enter")
    page.mouse.click(5, 5)
    idle(page)
    expect(png).to_be_hidden()  # a click elsewhere closes it too
    menu.locator("summary").focus()
    page.keyboard.press("Enter")
    idle(page)
    on_top = png.evaluate("""button => {
        const box = button.getBoundingClientRect();
        return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === button; }""")
    assert on_top, "something lies over the menu"
    page.keyboard.press("Tab")
    expect(png).to_be_focused()
    with page.expect_download() as offered:
        page.keyboard.press("Enter")
    assert offered.value.suggested_filename.endswith(".png")
    assert Path(offered.value.path()).read_bytes().startswith(b"\x89PNG")
    idle(page)
    expect(png).to_be_hidden()
    expect(menu.locator("summary")).to_be_focused()


def test_the_address_is_copied_beside_every_picture(page):
    part(page, "Two sentences")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    figure = page.locator(".picture.pair-difference")
    figure.get_by_role("button", name="Copy link").click()
    expect(figure.locator(".copied")).to_have_text("Link copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.evaluate("location.href")
    figure.locator("summary").focus()
    idle(page)
    expect(figure.locator(".copied")).to_have_text("")


def test_a_saved_map_names_both_sentences_and_their_translations(page):
    part(page, "Two sentences")
    figure = page.locator(".picture.pair-difference")
    content, _ = saved(page, figure.get_by_role("button", name="Save as JSON").click)
    found = json.loads(content)
    assert len(found["pair"]) == 2 and all(" / " in text for text in found["pair"])
    drawing = saved(page, figure.get_by_role("button", name="Save as SVG").click)[0].decode()
    words = " ".join(re.findall(r">([^<>]+)<", drawing))
    assert found["title"] in words and found["pair"][0].split()[0] in words and found["checkpoint"]["identity"] in words


def test_two_models_stand_side_by_side_and_the_address_keeps_them(visit, learned_pairs):
    page = visit()
    page.locator(".bar").get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Compare with another model").click()
    rows = page.locator(".two-rows tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("A · tiny-en-es")
    expect(rows.last).to_contain_text("B · other-shape")
    sentence = page.get_by_label("Sentence", exact=True)
    type_into(sentence, learned_pairs[0][0])
    sentence.press("Enter")
    expect(rows.first.locator(".said")).to_have_text(learned_pairs[0][1])
    choose_map(page, 1, 3, within=".two-grids .column:last-child .heads")
    page.get_by_role("button", name="The chosen heads").click()
    expect(page.locator(".model-map .caption").last).to_have_text("B · other-shape · layer 1, head 3")
    idle(page)
    assert "models_second=cross.1.3" in page.url
    again = visit("/" + page.url.split("/", 3)[3])
    again.get_by_role("button", name="The chosen heads").click()
    expect(again.locator(".model-map .caption").last).to_have_text("B · other-shape · layer 1, head 3")
    expect(again.locator(".two-rows tbody tr .said").first).to_have_text(learned_pairs[0][1])


@pytest.mark.parametrize("name", ["models", "lecture", "bleu"])
def test_a_part_that_an_address_opens_asks_once(visit, name):
    asked = []

    def note(request):
        if re.search("/gradio_api/(run|queue/join)", request.url):
            asked.append(json.loads(request.post_data)["fn_index"])

    visit(f"/?tab=pairs&pairs_part={name}", before=lambda page: page.on("request", note))
    assert len(asked) <= len(set(asked)) + 1  # a part that opens with its tab may be told of it twice


def test_the_laboratory_follows_what_is_typed(page):
    part(page, "BLEU laboratory")
    lab = page.locator(".bleu-parts")
    expect(lab).to_contain_text("Without clipping 7 of 7 (100.0 %); clipped 2 of 7 (28.6 %)")
    type_into(page.get_by_label("Translation (any text)"), "the cat is")
    expect(lab).to_contain_text("Without clipping 3 of 3")
    page.get_by_role("button", name="The brevity penalty").click()
    expect(page.locator(".brevity .caption")).to_contain_text("c = 3, r = 6, so 0.368")
    expect(page.locator(".brevity .js-plotly-plot .scatterlayer path").first).to_be_visible()
    expect(page.locator(".bleu-scores")).to_contain_text("too few tokens for n-grams of 4")
    page.wait_for_url("**bleu_said=the+cat+is**")


def test_the_lectures_sentences_are_translated_and_open(page):
    part(page, "The lecture’s sentences")
    table = page.locator(".lecture-table")
    expect(page.locator(".block.summary").filter(has_text="by the corpus formula")).to_be_visible()
    expect(table.locator("tbody tr")).to_have_count(20)
    table.get_by_role("button", name="i was waiting for tom", exact=True).click()
    expect(page.get_by_label("English sentence")).to_have_value("i was waiting for tom")
    expect(page.locator(".translation .piece").first).to_be_visible()


@pytest.mark.parametrize("name", ["sentences", "models", "bleu", "lecture"])
def test_every_part_fits_a_phone(visit, name):
    page = visit(f"/es?tab=pairs&pairs_part={name}", width=375)
    expect(page.locator({"sentences": ".contrasted .word", "models": ".two-rows .said", "bleu": ".bleu-parts .ngram",
                         "lecture": ".lecture-table td"}[name]).first).to_be_visible()
    expect_fits(page, 375)


def test_maps_of_both_sentences_fit_a_phone_with_their_colours(visit):
    page = visit("/?tab=pairs", width=375)
    for name in ("first", "second"):
        expect(page.locator(f".pair-{name}[data-drawn] .main-svg").first).to_be_visible()
        assert page.locator(f".pair-{name} .plot").evaluate("plot => plot.scrollWidth <= plot.clientWidth")
