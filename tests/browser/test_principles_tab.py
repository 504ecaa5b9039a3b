"""The First principles and Model tabs as a person uses them, in Chromium, on a model that knows eight sentences."""

import csv
import io
import json
import re
import struct
from urllib.parse import parse_qs, quote, urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, expect_spanish, idle, saved, translate, type_into
from xformer.hub.checkpoint import examine

MARGIN = 16  # pixels around a saved picture, by assets/html_picture.js


def open_principles(page, learned_pairs):
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    page.get_by_role("tab", name="First principles").click()
    expect(page.locator(".first-scores .caption")).to_have_text(
        re.compile(r"^after El → predicts gato · q Kᵀ step by step \(1 × \d+\), d_k = 8$"))
    idle(page)


def show_vectors(page):
    page.get_by_role("button", name="Vectors").click()
    expect(page.locator(".first-vectors .caption")).to_have_text(re.compile(r": q \(1 × 8\) and K \(\d+ × 8\)$"))


def switched(page):
    """The name of the last column: the rule and its temperature."""
    return page.locator(".first-scores thead th").last


def test_the_equation_is_walked_and_changed(visit, learned_pairs):
    page = visit()
    open_principles(page, learned_pairs)
    assert page.locator(".first-scores tbody th").all_text_contents()[-1] == "</s>", "no padding at first"
    padding = page.get_by_label("number input for Padding after the sentence")
    type_into(padding, "2")
    padding.press("Enter")
    expect(page.locator(".first-scores tbody th").last).to_have_text("<pad>")
    expect(page.locator(".first-scores td.masked")).to_have_text(["−∞", "−∞"])
    expect(switched(page)).to_have_text("Scaled dot product · β = 0.354 = 1/√dₖ")
    slider = page.get_by_role("slider", name="Inverse temperature β, in powers of two of its own value").first
    slider.focus()
    page.keyboard.press("End")
    expect(switched(page)).to_contain_text("β → ∞")
    expect(page.locator(".first-scores .weight").filter(has_text="1.00")).to_have_count(1)
    page.keyboard.press("Home")
    expect(switched(page)).to_contain_text("β = 0")
    page.get_by_text("Gaussian kernel", exact=True).click()
    expect(switched(page)).to_contain_text("Gaussian kernel · β = 0")


def test_the_vectors_are_drawn_where_somebody_asks_for_them(visit, learned_pairs):
    page = visit()
    open_principles(page, learned_pairs)
    assert page.locator(".first-vectors .js-plotly-plot").count() == 0
    show_vectors(page)
    expect(page.locator(".first-values .caption")).to_contain_text("and the weighted sum a (1 × 8)")
    expect(page.locator(".first-output .caption")).to_contain_text("a W_O (1 × 32)")
    expect(page.locator(".first-vectors .scatterlayer .point")).to_have_count(8)  # the largest products
    query = page.get_by_role("combobox", name="Who asks")
    query.click()
    page.get_by_role("option").filter(has_text=re.compile(r"^\W*1 · after <s> → predicts")).click()
    expect(page.locator(".first-vectors .caption")).to_contain_text("after <s> → predicts El: q")


@pytest.mark.parametrize("width", [1280, 375])
def test_the_trained_additive_attention_is_walked_piece_by_piece(visit, learned_pairs, width):
    page = visit(f"/?text={quote(learned_pairs[0][0])}&tab=principles&additive_step=1", width=width)
    expect(switched(page)).to_contain_text("Scaled dot product")
    picture = page.locator(".first-additive")
    steps, keys = picture.locator("[data-step]"), picture.locator("[data-key]")
    expect(picture.locator(".title")).to_contain_text("after <s> → predicts")
    expect(picture.locator("img.numbers").first).to_be_visible()
    steps.first.press("ArrowRight")
    expect(steps.nth(1)).to_be_focused()
    expect(steps.nth(1)).to_have_attribute("aria-pressed", "true")
    idle(page)
    assert "additive_step" not in page.url, "the second step is the one without a name"
    weights = [float(one) for one in picture.locator(".share").all_text_contents()]
    assert sum(weights) == pytest.approx(1, abs=0.01 * len(weights))
    keys.last.click()
    expect(picture.locator(".of-score")).to_contain_text("</s> has")
    idle(page)
    numbers = [float(one.replace("−", "-")) for one in
               picture.locator(".products tr td:last-child").all_text_contents()]
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=0.005), "the lifts add up"
    expect_fits(page, width)
    content, name = saved(page, picture.get_by_role("button", name="Save as CSV").click)
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert "gru-attention" in rows[0][0] and len(rows) == 1 + keys.count() * (16 + 1)
    first = [row for row in rows[1:] if row[0] == rows[1][0]]
    total = sum(float(row[6]) for row in first[:16])
    assert float(first[-1][6]) - total == pytest.approx(float(rows[-1][6]) - sum(
        float(row[6]) for row in rows[1:] if row[0] == rows[-1][0] and row[2]), abs=1e-4), "one bias for all keys"
    assert name.startswith("after-")


def test_a_slice_of_x_and_the_beginning_are_drawn_where_somebody_asks(visit, learned_pairs):
    page = visit(f"/?text={quote(learned_pairs[0][0])}&tab=principles")
    expect(switched(page)).to_contain_text("Scaled dot product")
    page.get_by_role("button", name="A slice of x, or all of it").click()
    expect(page.locator(".first-slices .caption")).to_contain_text("what each slice of x gives to q (1 × 8)")
    expect(page.get_by_text("All slices and b_Q add up to")).to_be_visible()
    page.get_by_role("button", name="Before training").click()
    expect(page.locator(".first-initial tbody tr")).to_have_count(12)


@pytest.mark.parametrize("width", [1280, 375])
def test_what_follows_the_head_is_drawn_for_the_piece_that_asks(visit, learned_pairs, width):
    page = visit(f"/?text={quote(learned_pairs[0][0])}&tab=principles", width=width)
    expect(switched(page)).to_contain_text("Scaled dot product")
    page.get_by_role("button", name="After W_O").click()
    expect(page.locator(".rest-strips .caption")).to_contain_text("El, layer 2: the state (1 × 32)")
    expect(page.locator(".stream-sums tbody tr")).to_have_count(3)
    expect(page.locator(".rest-units .caption")).to_contain_text("units that fire most on El")
    expect(page.get_by_text(re.compile(r"^Of 64 units, \d+ fire on El"))).to_be_visible()
    expect(page.locator(".rest-course .scatterlayer .js-line")).to_have_count(10)
    page.get_by_role("button", name="The reshape").click()
    expect(page.locator(".first-reshape .caption")).to_have_text(re.compile(r"Queries \d × 32, cut into 4 × \d × 8"))
    show_vectors(page)
    expect(page.get_by_text(re.compile("Multiplied out with all 32 numbers, and b_Q added"))).to_be_visible()
    idle(page)
    expect_fits(page, width)
    found = json.loads(saved(page, page.locator(".rest-sums").get_by_role("button", name="Save as JSON").click)[0])
    assert [row[0] for row in found["rows"]] == ["self-attention", "cross-attention", "feed-forward"]


@pytest.mark.parametrize(("width", "height", "most"), [(1280, 800, 100), (375, 812, 200)])
def test_the_scores_stand_in_the_first_screen(visit, learned_pairs, width, height, most):
    page = visit(f"/?text={quote(learned_pairs[0][0])}&tab=principles", width=width)
    page.set_viewport_size({"width": width, "height": height})
    idle(page)
    table = page.locator(".first-scores tbody")
    top = page.get_by_role("tabpanel").bounding_box()["y"]
    assert page.locator(".first-scores table").bounding_box()["y"] - top < most
    box = table.bounding_box()
    assert box["y"] + box["height"] - top < height - 100 and box["x"] + box["width"] <= width


def test_a_number_is_said_where_the_pointer_rests(visit, learned_pairs):
    page = visit()
    open_principles(page, learned_pairs)
    show_vectors(page)
    idle(page)
    drawn = page.locator(".first-output .nsewdrag").first
    box = drawn.bounding_box()
    said = page.locator(".first-output .hovertext")
    for column, row, label in ((2, 1, "this head: a W_O"), (31, 2, "all heads + bias")):  # 31 has a label, 2 has none
        drawn.hover(position={"x": box["width"] * (column - 0.5) / 32, "y": box["height"] * (row - 0.5) / 2})
        expect(said).to_have_text(re.compile(rf"^{re.escape(label)}, dimension {column}: [+-]\d\.\d{{4}}$"))


def test_the_future_mask_is_lifted_and_another_query_asks(visit, learned_pairs):
    page = visit()
    open_principles(page, learned_pairs)
    panel = page.get_by_role("tabpanel").filter(has=page.locator(".first-scores"))
    panel.get_by_text("Decoder self", exact=True).click()
    expect(panel.get_by_role("radio", name="Padding and future")).to_be_checked()
    panel.get_by_text("None", exact=True).click()
    expect(panel).to_contain_text(re.compile(r"Without the future mask, .+ % of the look goes to pieces"))
    panel.get_by_role("button", name="All queries at once").click()
    expect(page.locator(".first-map .caption")).to_contain_text("None · β = 0.354")
    panel.get_by_text("Padding and future", exact=True).click()
    expect(page.locator(".first-map .caption")).to_contain_text("Padding and future")
    query = panel.get_by_role("combobox", name="Who asks")
    query.click()
    page.get_by_role("option").filter(has_text=re.compile(r"^\W*1 · after <s> → predicts")).click()
    expect(page.locator(".first-scores .caption")).to_contain_text("after <s> → predicts")
    panel.get_by_role("button", name="Why divide by √d_k").click()
    expect(page.locator(".block.first-variance")).to_contain_text("this model: 8")
    panel.get_by_role("button", name="One head or several").click()
    expect(page.locator(".first-split g.ytick text")).to_have_count(15)


def test_the_store_retrieves_and_blends_and_says_what_it_cannot_read(visit, learned_pairs):
    page = visit()
    open_principles(page, learned_pairs)
    page.get_by_role("button", name="A key–value store").click()
    records, table = page.get_by_label("Records, one “title: text” per line"), page.locator(".block.store")
    type_into(records, "The cat: it <b>purrs\nThe bread: it is eaten\nThe house: it stands")
    query = page.get_by_label("Query, in English")
    type_into(query, "The cat")
    query.press("Enter")
    expect(table).to_contain_text("The softmax blends; the largest share")
    expect(table.locator("tbody tr")).to_have_count(3)
    expect(table.locator("tr.chosen")).to_contain_text("The cat")
    expect(table.locator("p.large")).to_have_text("it <b>purrs")
    page.get_by_role("slider", name="Inverse temperature β").last.focus()
    page.keyboard.press("End")
    expect(table).to_contain_text("The argmax retrieves one record, “The cat”, with weight 100 %")
    records.fill("no colon here")
    page.get_by_role("button", name="Look up", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="Line 1, “no colon here”, is no record")).to_be_visible()


def test_points_that_are_being_moved_are_fitted_and_forgotten_where_they_are_put(visit):
    page = visit("/?tab=principles")
    page.get_by_role("button", name="Kernel regression").click()
    point = page.locator(".kernel-curve.block .point").nth(3)
    expect(point).to_be_visible()
    first, said = point.get_attribute("aria-label"), page.get_by_text(re.compile("The descent took 40 steps"))

    def while_a_move_is_drawn(button):
        held = []
        page.route("**/run/predict*", lambda route: held.append(route))
        point.focus()
        with page.expect_request("**/run/predict*"):
            page.keyboard.press("ArrowUp")
        moved = point.get_attribute("aria-label")
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("button", name=button)).to_be_focused()
        for route in held:
            route.continue_()
        page.unroute("**/run/predict*")
        return moved

    moved = while_a_move_is_drawn("Fit h by gradient descent")
    expect(said).to_be_visible()
    idle(page)
    assert point.get_attribute("aria-label") == moved != first
    while_a_move_is_drawn("First points")
    idle(page)
    expect(said).to_be_hidden()
    expect(point).to_have_attribute("aria-label", first)
    assert "kernel_power" in page.url and "kernel_points" not in page.url


def test_a_point_of_the_regression_is_moved_and_the_bandwidth_fitted(visit):
    page = visit("/?tab=principles")
    page.get_by_role("button", name="Kernel regression").click()
    curve = page.locator(".kernel-curve.block")
    expect(curve.locator(".caption")).to_have_text("Kernel regression, h = 0.5")
    expect(curve.locator(".point")).to_have_count(14)
    drawn = curve.locator(".curve").get_attribute("d")
    curve.locator(".point").nth(3).focus()
    page.keyboard.press("ArrowUp")
    idle(page)
    expect(curve.locator(".curve")).not_to_have_attribute("d", drawn)
    expect(curve.locator(".point").nth(3)).to_be_focused()
    other = curve.locator(".point").nth(5)
    before, box = other.get_attribute("aria-label"), other.bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 8, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(other).not_to_have_attribute("aria-label", before)
    put = re.findall(r"-?\d+\.\d+", other.get_attribute("aria-label"))
    page.get_by_role("button", name="Fit h by gradient descent").click()
    expect(page.get_by_text(re.compile("The descent took 40 steps"))).to_be_visible()
    expect(page.locator(".kernel-errors .scatterlayer .trace")).to_have_count(2)
    idle(page)
    address = parse_qs(urlparse(page.url).query)
    assert [float(one) for one in address["kernel_points"][0].split()[5].split(",")] == [float(one) for one in put]
    assert "kernel_power" in address
    caption = curve.locator(".caption").text_content()
    again = visit("/" + page.url.split("/", 3)[3])
    expect(again.locator(".kernel-curve .caption")).to_have_text(caption)
    found = json.loads(saved(page, curve.get_by_role("button", name="Save as JSON").click)[0])
    assert len(found["rows"]) == 14 + 201
    content, _ = saved(page, curve.get_by_role("button", name="Save as SVG").click)
    assert b".kernel-curve .point" in content and content.count(b"<circle") == 14
    slider = page.get_by_role("slider", name="Bandwidth h")
    slider.focus()
    page.keyboard.press("Home")
    expect(curve.locator(".caption")).to_contain_text("the nearest neighbour")


@pytest.mark.parametrize(("path", "tab", "box", "title"), [
    ("/?model_part=architecture", "Model", "Self-attention", "Encoder self-attention · layer 1 of 2 · head 1 of 4"),
    ("/es?model_part=architecture", "Modelo", "Autoatención", "capa 1 de 2 · cabeza 1 de 4")])
def test_a_block_of_the_model_opens_its_heads(visit, path, tab, box, title):
    page = visit(path)
    page.get_by_role("tab", name=tab, exact=True).click()
    block = page.locator(".architecture button[data-stack=encoder_self][data-layer='1']")
    expect(block).to_contain_text(box)
    expect(block).to_contain_text(re.compile(r"4 × \d+ × \d+"))  # of the sentence on the page
    page.evaluate("scrollTo(0, 300)")
    block.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".view .title")).to_contain_text(title)
    idle(page)
    assert page.evaluate("scrollY") == 0, "the tab is opened where it begins"
    page.wait_for_url("**tab=attention**stack=encoder_self&layer=1**")


def test_one_layer_is_drawn_and_the_others_are_opened(visit):
    page = visit("/?tab=model&model_part=architecture")
    second = page.locator(".architecture button[data-stack=encoder_self][data-layer='2']")
    expect(page.locator(".architecture .times").first).to_have_text("× 2")
    expect(second).to_be_hidden()
    page.get_by_text("1 more of the same").first.press("Enter")
    expect(second).to_be_visible()
    idle(page)
    top = page.get_by_role("tabpanel").bounding_box()["y"]
    assert page.locator(".architecture .towers").first.bounding_box()["y"] - top < 240, "as every main picture"


def test_a_link_opens_the_tab_on_a_phone_without_overflow(visit, learned_pairs):
    page = visit(f"/?text={quote(learned_pairs[0][0])}&tab=principles", width=375)
    expect(switched(page)).to_contain_text("Scaled dot product")
    expect_fits(page, 375)


def test_a_copied_link_opens_the_same_walk_and_the_same_store(visit, learned_pairs):
    page = visit("/?tab=principles")
    open_principles(page, learned_pairs)
    panel = page.get_by_role("tabpanel").filter(has=page.locator(".first-scores"))
    panel.get_by_text("Decoder self", exact=True).click()
    expect(panel.get_by_role("radio", name="Padding and future")).to_be_checked()
    panel.get_by_text("Gaussian kernel", exact=True).click()
    page.get_by_role("slider", name="Inverse temperature β").first.focus()
    page.keyboard.press("End")
    expect(switched(page)).to_have_text("Gaussian kernel · β → ∞")
    page.get_by_role("button", name="A key–value store").click()
    type_into(page.get_by_label("Query, in English"), "The cat")
    page.wait_for_url("**first_stack=decoder_self&beta_power=6&scoring=gaussian&mask=future&store_query=The+cat")
    again = visit("/" + page.url.split("/", 3)[3] + "&query=1&padding=99")
    expect(switched(again)).to_have_text("Gaussian kernel · β → ∞")
    expect(again.locator(".first-scores .caption")).to_contain_text("after <s>")
    expect(again.get_by_role("radio", name="Padding and future")).to_be_checked()
    expect(again.locator(".block.store")).to_contain_text("The softmax blends")
    expect(again.get_by_text("In the address, padding is “99”; it must be a whole number from 0 to 4")).to_be_visible()


def test_the_numbers_of_a_step_are_saved(visit, learned_pairs):
    page = visit()
    open_principles(page, learned_pairs)
    step = page.locator(".first-scores.block")
    found = json.loads(saved(page, step.get_by_role("button", name="Save as JSON").click)[0])
    assert found["columns"][1:] == ["is looked at (key)", "step", "score"]
    shares = [row[3] for row in found["rows"] if row[2] == "softmax"]
    assert abs(sum(shares) - 1) < 1e-4 and {row[2] for row in found["rows"]} == {
        "q·k", "q·k / √dₖ", "after the mask", "softmax", "Scaled dot product · β = 0.354 = 1/√dₖ"}
    assert {row[0] for row in found["rows"]} == {"after El → predicts gato"}
    content, name = saved(page, step.get_by_role("button", name="Save as SVG").click)
    assert name.startswith("after-El-predicts-gato") and b".first-scores td" in content and b"softmax" in content
    content, _ = saved(page, step.get_by_role("button", name="Save as PNG").click)
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_the_architecture_is_saved_as_a_picture_and_as_its_numbers(visit, tiny_checkpoint):
    page = visit("/?tab=model&model_part=architecture")
    figure = page.locator(".block.architecture").first
    content, _ = saved(page, figure.get_by_role("button", name="Save as CSV").click)
    (corner, *columns), *rows = csv.reader(io.StringIO(content.decode()))
    assert corner.endswith(f" · tower · tiny-en-es {examine(tiny_checkpoint).identity}")
    assert columns == ["layer", "block", "output", "parameters", "weights"]
    assert len(rows) == figure.locator(".box").count() and ["Encoder", "Layer 1"] in [row[:2] for row in rows]
    content, name = saved(page, figure.get_by_role("button", name="Save as SVG").click)
    assert name.startswith("tiny") and b"<foreignObject" in content and b".architecture .box" in content
    content, name = saved(page, figure.get_by_role("button", name="Save as PNG").click)
    width, height = struct.unpack(">II", content[16:24])
    box = figure.locator(".towers").bounding_box()
    assert width == 2 * (round(box["width"]) + 2 * MARGIN)
    assert 0 <= height / 2 - box["height"] - 2 * MARGIN < 0.1 * box["height"] + 30  # and a line below


def test_both_orders_of_normalisation_are_saved_as_a_picture(visit):
    page = visit("/?tab=model&model_part=architecture#orders")
    figure = page.locator(".at-orders .block.architecture")
    expect(figure).to_be_visible()
    content, name = saved(page, figure.get_by_role("button", name="Save as SVG").click)
    assert name == "Post-norm-and-pre-norm.svg" and "LayerNorm" in content.decode()
    content, name = saved(page, figure.get_by_role("button", name="Save as PNG").click)
    assert name == "Post-norm-and-pre-norm.png" and content.startswith(b"\x89PNG") and len(content) > 10_000


def test_the_classifier_is_saved_under_its_own_name(visit, measured_classifier):
    page = visit("/?tab=model&model_part=architecture#reader")
    figure = page.locator(".at-reader .block.architecture")
    expect(figure).to_be_visible()
    content, name = saved(page, figure.get_by_role("button", name="CSV").click)
    about = examine(measured_classifier)
    assert name == f"The-classifier-of-reviews-{about.name}.csv"
    assert content.decode().split(",")[0].endswith(f" · tower · {about.name} {about.identity}")
