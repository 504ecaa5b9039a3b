"""The figures of First principles: the table of scores, strips of numbers, and what is
saved of them."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved
from tests.pages import shown


@pytest.fixture(scope="module")
def drawn(made, models, learned_pairs):
    """`drawn(**values)`: what the tab draws of the first pair where its controls and
    folds have these values."""
    pictures = made.pictures["principles"]
    service = models.default
    trace = service.trace(*learned_pairs[0])
    closed = dict.fromkeys(pictures.flags, False)
    return lambda **values: shown(
        pictures, service, trace=trace, **{**closed, **values}
    )


def test_the_numbers_of_a_step_are_saved(bench, drawn):
    table = bench.mount("first-scores", drawn()["scores"])
    found = json.loads(saved(bench.page, table.save("JSON"))[0])
    assert found["columns"][1:] == ["is looked at (key)", "step", "score"]
    shares = [row[3] for row in found["rows"] if row[2] == "softmax"]
    assert abs(sum(shares) - 1) < 1e-4 and {row[2] for row in found["rows"]} == {
        "q·k",
        "q·k / √dₖ",
        "after the mask",
        "softmax",
        "Scaled dot product · β = 0.354 = 1/√dₖ",
    }
    assert {row[0] for row in found["rows"]} == {"after El → predicts gato"}


def test_what_is_masked_is_left_out_of_the_numbers(bench, drawn):
    """In the table it is −∞, which no file of numbers can hold."""
    table = bench.mount("first-scores", drawn(padding=2)["scores"])
    expect(table.locator("tbody th").last).to_have_text("<pad>")
    expect(table.locator("td.masked")).to_have_text(["−∞", "−∞"])
    rows = json.loads(saved(bench.page, table.save("JSON"))[0])["rows"]
    assert [row[2] for row in rows if row[1] == "<pad>"].count("after the mask") == 0
    assert [row[3] for row in rows if row[1] == "<pad>" and row[2] == "softmax"] == [
        0,
        0,
    ]


def test_the_scores_are_saved_as_a_picture(bench, drawn):
    table = bench.mount("first-scores", drawn()["scores"])
    content, name = saved(bench.page, table.save("SVG"))
    assert (
        name.startswith("after-El-predicts-gato")
        and b".first-scores td" in content
        and b"softmax" in content
    )
    content, _ = saved(bench.page, table.save("PNG"))
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_a_number_is_said_where_the_pointer_rests(bench, drawn):
    strips = bench.mount("first-output", drawn(vectors_open=True)["output"])
    rows = strips.locator(".nsewdrag").first
    said = strips.locator(".hovertext")
    box = rows.bounding_box()
    # 31 has a label, 2 has none
    for column, row, label in ((2, 1, "this head: a W_O"), (31, 2, "all heads + bias")):
        rows.hover(
            position={
                "x": box["width"] * (column - 0.5) / 32,
                "y": box["height"] * (row - 0.5) / 2,
            }
        )
        expect(said).to_have_text(
            re.compile(rf"^{re.escape(label)}, dimension {column}: [+-]\d\.\d{{4}}$")
        )


def test_the_largest_products_are_outlined(bench, drawn):
    strips = bench.mount("first-vectors", drawn(vectors_open=True)["vectors"])
    expect(strips.locator(".scatterlayer .point")).to_have_count(8)


def test_a_row_for_each_sub_layer_is_saved(bench, drawn):
    sums = bench.mount("rest-sums", drawn(rest_open=True)["sums"])
    expect(sums.locator("tbody tr")).to_have_count(3)
    found = json.loads(saved(bench.page, sums.save("JSON"))[0])
    assert [row[0] for row in found["rows"]] == [
        "self-attention",
        "cross-attention",
        "feed-forward",
    ]


def test_what_is_folded_fits_a_phone(bench, drawn):
    opened = drawn(
        vectors_open=True,
        reshape_open=True,
        rest_open=True,
        slice_open=True,
        split_open=True,
    )
    bench.open(width=375)
    for name, picture in {
        "first-inputs": "inputs",
        "first-vectors": "vectors",
        "first-output": "output",
        "first-reshape": "reshape",
        "rest-strips": "strips",
        "rest-sums": "sums",
        "rest-units": "units",
        "rest-course": "course",
        "first-slices": "slices",
        "first-split": "splits",
    }.items():
        mounted = bench.mount(name, opened[picture])
        expect(mounted.locator(".caption, table").first).to_be_visible()
    expect_fits(bench.page, 375)
