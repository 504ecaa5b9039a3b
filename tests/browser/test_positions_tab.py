"""The Positions tab as a person uses it, in Chromium, on a model that knows eight sentences by heart."""

import csv
import io
import json
import math
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, expect_spanish, idle, named, saved, translate, type_into
from xformer.hub.checkpoint import examine

TABLE, SENTENCE = "The table of positions", "The table on your sentence"


def open_positions(page, learned_pairs):
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    page.get_by_role("tab", name="Positions").click()
    expect(page.locator(".block.pos-result [lang=es].large").first).to_have_text(learned_pairs[0][1])


def show_table(page):
    page.get_by_role("button", name=TABLE).click()
    expect_table(page, 32, "10\u202f000")


def set_number(page, name, value):
    field = page.get_by_label(f"number input for {name}")
    type_into(field, value)
    field.press("Enter")


def expect_table(page, d_model, base):
    """Wait for the table of 64 positions; its title has a line of its own for what does not fit on a phone."""
    expect(page.locator(".pos-table .caption")).to_have_text(
        re.compile(rf"^Positions 0 to 63 in {d_model} dimensions,\s*base\s*{base}\s*$"))


def test_pictures_are_drawn_when_the_tab_is_opened_and_follow_its_controls(visit, learned_pairs):
    page = visit()
    open_positions(page, learned_pairs)
    idle(page)
    assert page.locator(".js-plotly-plot").count() == 0, "nothing is drawn before somebody looks"
    page.get_by_role("button", name=SENTENCE).click()
    show_table(page)
    for name in ("curves", "waves", "distance", "rotation", "noise", "sentence"):
        expect(page.locator(f".pos-{name} .caption")).to_be_attached()
    expect(page.locator(".pos-table .cbfill")).to_have_attribute("style", re.compile(r'url\("#'))
    set_number(page, "Base, as a power of 10", "2")
    expect_table(page, 32, "100")
    set_number(page, "Dimensions (d_model)", "8")
    expect_table(page, 8, "100")
    # the last that there is now
    expect(page.get_by_label("number input for Pair of dimensions i")).to_have_value("3")
    shown = named(page, "pos-curves").filter(has_text=re.compile("^dimension "))
    expect(shown).to_have_count(2)
    for dimension in (0, 1):  # they stand in the order of the curves' ends
        expect(shown.filter(has_text=re.compile(f"^dimension {dimension} "))).to_be_visible()
    expect(page.locator(".pos-rotation .caption")).to_contain_text("Pair 3")
    checked = re.compile(r"checked for \d+ positions, the largest error is \d\.\de-0[789]")
    expect(page.get_by_text(checked)).to_be_visible()


def test_positions_are_taken_away_and_both_maps_are_shown_and_saved(visit, learned_pairs, tiny_checkpoint):
    page = visit()
    open_positions(page, learned_pairs)
    page.get_by_label("Shuffle the words").check()
    page.get_by_role("button", name="Translate again", exact=True).click()
    result = page.locator(".block.pos-result")
    expect(result).to_contain_text("Log-probability of the first translation:")
    expect(result.locator("[lang=es].large").first).to_have_text(learned_pairs[0][1])
    expect(page.locator(".pos-before .title")).to_contain_text("head 1 of 4 · as in training")
    expect(page.locator(".pos-after .title")).to_contain_text("none, words shuffled")
    idle(page)
    expect(page.locator(".pos-before svg.top text")).not_to_have_text(
        page.locator(".pos-after svg.top text").all_text_contents())
    for name, kind in (("before", "as in training"), ("after", "none, words shuffled")):
        view = page.locator(f".pos-{name}.view")
        content, _ = saved(page, view.get_by_role("button", name="Save as CSV").click)
        (corner, *keys), *rows = csv.reader(io.StringIO(content.decode()))
        assert f"head 1 of 4 · {kind} · tiny-en-es {examine(tiny_checkpoint).identity}" in corner
        assert keys == view.locator("svg.top text").all_text_contents()
        assert [row[0] for row in rows] == view.locator("svg.left text").all_text_contents()
        numbers = [list(map(float, row[1:])) for row in rows]
        assert all(abs(sum(row) - 1) < 1e-5 for row in numbers)
        found = json.loads(saved(page, view.get_by_role("button", name="Save as JSON").click)[0])
        assert [row[1:] for row in found["rows"]] == numbers and found["title"].endswith(kind)
    translate(page, learned_pairs[1][0])  # another sentence is made again in the same way
    expect(result.locator("[lang=es].large").first).to_have_text(learned_pairs[1][1])
    expect(page.locator(".pos-after .title")).to_contain_text("none, words shuffled")


@pytest.mark.parametrize(("width", "height", "most"), [(1280, 800, 100), (375, 812, 200)])
def test_ones_own_sentence_without_its_positions_stands_in_the_first_screen(visit, learned_pairs, width, height, most):
    page = visit(f"/?text={quote(learned_pairs[0][0])}&tab=positions", width=width)
    page.set_viewport_size({"width": width, "height": height})
    texts = page.locator(".block.pos-result [lang=es].large")
    expect(texts.first).to_have_text(learned_pairs[0][1])
    idle(page)
    top = page.get_by_role("tabpanel").bounding_box()["y"]
    first, last = texts.first.bounding_box(), texts.last.bounding_box()
    assert first["y"] - top < most and last["y"] + last["height"] - top < height - 100
    expect(page.locator(".pos-after .title")).to_contain_text("· none")
    page.get_by_text("shifted", exact=True).click()  # and what is chosen is done
    expect(page.locator(".pos-after .title")).to_contain_text("shifted (5)")


def test_a_phone_shows_the_tab_without_scrolling_sideways(visit):
    page = visit("/?tab=positions", width=375)
    page.get_by_role("button", name=SENTENCE).click()
    show_table(page)
    expect(page.locator(".pos-sentence .caption")).to_be_attached()
    idle(page)
    expect_fits(page, 375)
    assert page.locator(".pos-table .main-svg").first.bounding_box()["width"] <= 375
    # No title of an axis, no name in a legend and no heading is cut.
    for name in ("curves", "noise", "sentence"):
        page.locator(f".pos-{name}[data-drawn]").first.scroll_into_view_if_needed()
        idle(page)
        assert page.evaluate("""name => {
            const whole = document.querySelector(`.pos-${name} .plot`).getBoundingClientRect();
            const texts = document.querySelectorAll(
                `.pos-${name} :is(.xtitle, .ytitle, .legendtext, .annotation-text)`);
            return texts.length && [...texts].every(text => {
                const box = text.getBoundingClientRect();
                return box.left >= whole.left - 1 && box.right <= whole.right + 1 && box.bottom <= whole.bottom + 1;
            });
        }""", name)


def test_an_address_opens_the_tab_with_its_pictures_in_spanish(visit):
    page = visit("/es?tab=positions")
    for name in ("La tabla de las posiciones", "La tabla en tu oración", "Hasta dónde llega"):
        page.get_by_role("button", name=name).click()
    expect(page.locator(".pos-table .caption")).to_contain_text("Posiciones de 0 a 63")
    page.locator(".pos-sentence .caption").scroll_into_view_if_needed()  # what is out of sight is drawn later
    expect(page.get_by_role("img", name="Tu oración: embeddings, posiciones y su suma")).to_be_visible()
    expect(page.get_by_text("Este modelo todavía no se ha medido por longitudes")).to_be_visible()


def test_a_copied_link_opens_the_same_pictures(visit, learned_pairs):
    page = visit("/?tab=positions")
    show_table(page)
    idle(page)
    assert "length=" not in page.url, "defaults stay out of the address"
    for name, value in (("Base, as a power of 10", "2"), ("Dimensions (d_model)", "16"), ("Steps k", "5"),
                        ("Pair of dimensions i", "2")):
        set_number(page, name, value)
    idle(page)
    assert re.search("d_model=16&base_power=2&.*pair=2&steps=5", page.url)
    again = visit("/" + page.url.split("/", 3)[3] + "&length=9000")
    expect_table(again, 16, "100")
    expect(again.locator(".pos-rotation .caption")).to_contain_text("Pair 2: from position 2 to 7")
    expect(again.get_by_label("number input for Base, as a power of 10")).to_have_value("2")
    said = "In the address, length is “9000”; it must be a whole number from 8 to 200"
    expect(again.get_by_text(said)).to_be_visible()


def test_a_link_makes_the_change_again_that_it_shows(visit, learned_pairs):
    page = visit("/?tab=positions")
    open_positions(page, learned_pairs)
    page.get_by_text("shifted", exact=True).click()
    expect(page.locator(".pos-after .title")).to_contain_text("shifted (5)")
    idle(page)
    assert page.url.endswith("positions=shift")
    again = visit("/" + page.url.split("/", 3)[3])
    expect(again.locator(".pos-after .title")).to_contain_text("shifted (5)")


def test_a_figure_is_saved_as_a_picture_and_as_its_numbers(visit, tiny_checkpoint):
    page = visit("/?tab=positions")
    page.get_by_role("button", name=SENTENCE).click()
    show_table(page)
    idle(page)
    figure = page.locator(".picture.pos-table[data-drawn]")
    content, name = saved(page, figure.get_by_role("button", name="Save as CSV").click)
    assert name == "Positions-0-to-63-in-32-dimensions-base-10-000.csv"
    first, *rows = csv.reader(io.StringIO(content.decode()))
    identity = examine(tiny_checkpoint).identity
    assert first == [f"Positions 0 to 63 in 32 dimensions, base 10\u202f000 · tiny-en-es {identity}", "dimension",
                     "position", "value"] and len(rows) == 64 * 32
    numbers = {(int(row[2]), int(row[1])): float(row[3]) for row in rows}
    assert abs(numbers[5, 2] - math.sin(5 / 10_000 ** (2 / 32))) < 1e-6
    assert abs(numbers[63, 31] - math.cos(63 / 10_000 ** (30 / 32))) < 1e-6
    found = json.loads(saved(page, figure.get_by_role("button", name="Save as JSON").click)[0])
    assert found["title"].startswith("Positions 0 to 63") and "tab=positions" in found["address"]
    assert [list(map(str, row)) for row in found["rows"]] == rows and found["model"].startswith("tiny")
    assert found["checkpoint"] == {"name": "tiny-en-es", "identity": identity}
    content, name = saved(page, figure.get_by_role("button", name="Save as SVG").click)
    assert content.startswith(b"<svg") and b"Positions 0 to 63" in content and name.endswith(".svg")
    content, name = saved(page, figure.get_by_role("button", name="Save as PNG").click)
    assert content.startswith(b"\x89PNG") and len(content) > 10_000
    parts = page.locator(".picture.pos-sentence[data-drawn]")
    found = json.loads(saved(page, parts.get_by_role("button", name="Save as JSON").click)[0])
    value = {(part, piece, dimension): number for part, dimension, piece, number in found["rows"]}
    assert {part for part, *_ in value} == {"embeddings", "positions", "sum"}
    for (part, piece, dimension), number in value.items():
        if part == "sum":
            parts_of_it = value["embeddings", piece, dimension] + value["positions", piece, dimension]
            assert abs(parts_of_it - number) < 1e-5
