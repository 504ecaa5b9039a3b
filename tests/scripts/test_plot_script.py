"""Plotly's figures: assets/plot.js on figures of the Positions tab."""

import csv
import io
import json
import math

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved
from tests.pages import shown
from xformer.strings import ENGLISH, SPANISH


@pytest.fixture
def drawn(pages, models, learned_pairs):
    """`drawn(name, language)`: a figure of the tab, as the part answers it."""
    service = models.default

    def draw(name, language=ENGLISH):
        pictures = pages[language.code].pictures
        if name == "sentence":
            translation = service.translate(learned_pairs[0][0])
            return shown(pictures["positions.sentence"], service, language, translation=translation,
                         sentence_open=True, lengths_open=False)["sentence"]
        kinds = {"table": "table", "curves": "curves", "noise": "confusion"}
        now = shown(pictures["positions"], service, language, table_open=True, **SIZE)
        late = shown(pictures["positions"], service, language, table_open=True, late=True, **SIZE)
        return {**now, **late}[kinds[name]]
    return draw


SIZE = {"length": 64, "d_model": 32, "base_power": 4, "dimensions": [0, 1, 8, 9], "pair": 8, "position": 2, "steps": 3}


def test_a_table_is_saved_as_its_numbers_and_as_a_picture(bench, drawn, models):
    plot = bench.mount("pos-table", drawn("table"))
    expect(plot.element).to_have_attribute("data-drawn", "1")
    content, name = saved(bench.page, plot.save("CSV"))
    assert name == "Positions-0-to-63-in-32-dimensions-base-10-000.csv"
    first, *rows = csv.reader(io.StringIO(content.decode()))
    info = models.default.info
    assert first == [f"Positions 0 to 63 in 32 dimensions, base 10\u202f000 · {info.name} {info.identity}", "dimension",
                     "position", "value"] and len(rows) == 64 * 32
    numbers = {(int(row[2]), int(row[1])): float(row[3]) for row in rows}
    assert abs(numbers[5, 2] - math.sin(5 / 10_000 ** (2 / 32))) < 1e-6
    assert abs(numbers[63, 31] - math.cos(63 / 10_000 ** (30 / 32))) < 1e-6
    found = json.loads(saved(bench.page, plot.save("JSON"))[0])
    assert found["title"].startswith("Positions 0 to 63") and found["address"].startswith(bench.address)
    assert [list(map(str, row)) for row in found["rows"]] == rows and found["model"].startswith("tiny")
    assert found["checkpoint"] == {"name": info.name, "identity": info.identity}
    content, name = saved(bench.page, plot.save("SVG"))
    assert content.startswith(b"<svg") and b"Positions 0 to 63" in content and name.endswith(".svg")
    content, _ = saved(bench.page, plot.save("PNG"))
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_the_parts_of_a_sentence_that_are_saved_add_up(bench, drawn):
    plot = bench.mount("pos-sentence", drawn("sentence"))
    expect(plot.element).to_have_attribute("data-drawn", "1")
    found = json.loads(saved(bench.page, plot.save("JSON"))[0])
    value = {(part, piece, dimension): number for part, dimension, piece, number in found["rows"]}
    assert {part for part, *_ in value} == {"embeddings", "positions", "sum"}
    for (part, piece, dimension), number in value.items():
        if part == "sum":
            parts_of_it = value["embeddings", piece, dimension] + value["positions", piece, dimension]
            assert abs(parts_of_it - number) < 1e-5


def test_a_colour_bar_keeps_its_colours_when_the_address_changes(bench, drawn):
    """Its gradient is named without the page's address."""
    plot = bench.mount("pos-table", drawn("table"))
    assert 'url("#' in plot.locator(".cbfill").get_attribute("style")


# Whether each title of an axis, name in a legend and heading is inside the plot.
WHOLE = """element => {
    const whole = element.querySelector('.plot').getBoundingClientRect();
    const texts = element.querySelectorAll(':is(.xtitle, .ytitle, .legendtext, .annotation-text)');
    return texts.length > 0 && [...texts].every(text => {
        const box = text.getBoundingClientRect();
        return box.left >= whole.left - 1 && box.right <= whole.right + 1 && box.bottom <= whole.bottom + 1;
    });
}"""


@pytest.mark.parametrize("language", [ENGLISH, SPANISH])
@pytest.mark.parametrize("name", ["table", "curves", "noise", "sentence"])
def test_on_a_phone_nothing_that_is_written_is_cut(bench, drawn, name, language):
    plot = bench.mount(f"pos-{name}", drawn(name, language), width=375, language=language.code)
    expect(plot.element).to_have_attribute("data-drawn", "1")
    expect_fits(bench.page, 375)
    assert plot.locator(".main-svg").first.bounding_box()["width"] <= 375
    assert plot.element.evaluate(WHOLE)
