"""The figures of Positions: maps before and after a change, the table and its curves,
saved and on a phone."""

import csv
import io
import json
import math
import re

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, named, saved
from tests.pages import shown
from xformer.hub.checkpoint import examine
from xformer.parts.positions import part as tab
from xformer.strings import ENGLISH, SPANISH

say = ENGLISH.say
SIZE = {"length": 64, "d_model": 32, "base_power": 4.0, "dimensions": [0, 1, 16, 17]}
TURN = {"pair": 8, "position": 2, "steps": 3}
# Whether every title of an axis and every name of a curve stands within its picture.
WHOLE = """plot => {
    const whole = plot.getBoundingClientRect();
    const texts = [...plot.querySelectorAll(':is(.xtitle, .ytitle, .legendtext, .annotation-text)')];
    return texts.length > 0 && texts.every(text => {
        const box = text.getBoundingClientRect();
        return box.left >= whole.left - 1 && box.right <= whole.right + 1 && box.bottom <= whole.bottom + 1;
    });
}"""


@pytest.fixture
def table(made, models):
    """`table(**values)`: the figures of the table that stands in the paper, or with
    other values."""

    def draw(language=ENGLISH, **values):
        given = {"table_open": True, **SIZE, **TURN, **values}
        first, others = (
            made.pictures["positions"].draw(models, language, {}, late=late, **given)
            for late in (False, True)
        )
        return {**first, **others}

    return draw


@pytest.fixture
def sentence(made, models, learned_pairs):
    """`sentence()`: the figure of what the encoder is given for the first sentence."""
    return lambda language=ENGLISH: shown(
        made.pictures["positions.sentence"],
        models.default,
        language,
        sentence_open=True,
        lengths_open=False,
        translation=models.default.translate(learned_pairs[0][0]),
    )["sentence"]


@pytest.fixture
def maps(made, models, learned_pairs):
    """The maps of the first sentence before and after it lost its positions, its words
    shuffled too."""
    return shown(
        made.pictures["positions.change"],
        models.default,
        change=None,
        shuffle=True,
        translation=models.default.translate(learned_pairs[0][0]),
        action=tab.ask_for,
    )


def test_both_maps_of_a_change_have_their_own_words(bench, maps):
    before, after = (
        bench.mount(f"pos-{name}", maps[name]) for name in ("before", "after")
    )
    expect(before.locator(".title")).to_contain_text(
        "head 1 of 4 · positions: as in training"
    )
    expect(after.locator(".title")).to_contain_text("none, words shuffled")
    expect(before.locator("svg.top text")).not_to_have_text(
        after.locator("svg.top text").all_text_contents()
    )


@pytest.mark.parametrize(
    ("name", "kind"), [("before", "as in training"), ("after", "none, words shuffled")]
)
def test_a_map_of_a_change_is_saved_with_its_numbers(
    bench, maps, tiny_checkpoint, name, kind
):
    view = bench.mount(f"pos-{name}", maps[name])
    content, _ = saved(bench.page, view.save("CSV"))
    (corner, *keys), *rows = csv.reader(io.StringIO(content.decode()))
    assert (
        f"head 1 of 4 · positions: {kind} · tiny-en-es {examine(tiny_checkpoint).identity}"
        in corner
    )
    assert keys == view.locator("svg.top text").all_text_contents()
    assert [row[0] for row in rows] == view.locator("svg.left text").all_text_contents()
    numbers = [list(map(float, row[1:])) for row in rows]
    assert all(abs(sum(row) - 1) < 1e-5 for row in numbers)
    found = json.loads(saved(bench.page, view.save("JSON"))[0])
    assert [row[1:] for row in found["rows"]] == numbers and found["title"].endswith(
        kind
    )


def test_the_table_is_drawn_with_its_colours_and_named_by_its_size(bench, table):
    drawn = bench.mount("pos-table", table()["table"])
    expect(drawn.locator(".caption")).to_have_text(
        re.compile(r"^Positions 0 to 63 in 32 dimensions,\s*base\s*10,000$")
    )
    expect(drawn.locator(".cbfill")).to_have_attribute("style", re.compile(r'url\("#'))
    drawn.show(table(d_model=8, base_power=2.0)["table"])
    expect(drawn.locator(".caption")).to_have_text(
        re.compile(r"^Positions 0 to 63 in 8 dimensions,\s*base\s*100$")
    )


def test_curves_are_named_at_their_ends(bench, table):
    bench.mount("pos-curves", table(d_model=8, dimensions=[0, 1])["curves"], width=1280)
    shown_names = named(bench.page, "pos-curves").filter(
        has_text=re.compile("^dimension ")
    )
    expect(shown_names).to_have_count(2)
    for dimension in (0, 1):  # they stand in the order of the curves' ends
        expect(
            shown_names.filter(has_text=re.compile(f"^dimension {dimension} "))
        ).to_be_visible()


def test_a_narrower_table_keeps_the_dimensions_and_the_pair_that_it_has(bench):
    """The browser answers, so that a late answer of the server cannot undo another
    choice."""
    bench.open()
    dimensions, pair = bench.call("fitWidth", 8, [0, 1, 16, 17], 8)
    assert (dimensions["value"], len(dimensions["choices"])) == ([0, 1], 8)
    assert (pair["value"], pair["maximum"]) == (3, 3)
    dimensions, pair = bench.call("fitWidth", 64, [40], 3)
    assert (dimensions["value"], pair["value"], pair["maximum"]) == ([40], 3, 31)
    assert bench.call("fitWidth", 8, [16, 17], 0)[0]["value"] == [0, 1], (
        "in place of those that are gone"
    )


def test_the_table_is_saved_as_its_numbers(bench, table, tiny_checkpoint):
    figure = bench.mount("pos-table", table()["table"])
    content, name = saved(bench.page, figure.save("CSV"))
    assert name == "Positions-0-to-63-in-32-dimensions-base-10-000.csv"
    first, *rows = csv.reader(io.StringIO(content.decode()))
    identity = examine(tiny_checkpoint).identity
    assert (
        first
        == [
            f"Positions 0 to 63 in 32 dimensions, base 10,000 · tiny-en-es {identity}",
            "dimension",
            "position",
            "value",
        ]
        and len(rows) == 64 * 32
    )
    numbers = {(int(row[2]), int(row[1])): float(row[3]) for row in rows}
    assert abs(numbers[5, 2] - math.sin(5 / 10_000 ** (2 / 32))) < 1e-6
    assert abs(numbers[63, 31] - math.cos(63 / 10_000 ** (30 / 32))) < 1e-6
    found = json.loads(saved(bench.page, figure.save("JSON"))[0])
    assert found["title"].startswith("Positions 0 to 63")
    assert [list(map(str, row)) for row in found["rows"]] == rows and found[
        "model"
    ].startswith("tiny")
    assert found["checkpoint"] == {"name": "tiny-en-es", "identity": identity}


def test_the_table_is_saved_as_a_picture(bench, table):
    figure = bench.mount("pos-table", table()["table"])
    content, name = saved(bench.page, figure.save("SVG"))
    assert (
        content.startswith(b"<svg")
        and b"Positions 0 to 63" in content
        and name.endswith(".svg")
    )
    content, _ = saved(bench.page, figure.save("PNG"))
    assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_the_parts_of_a_sentence_are_saved_and_add_up(bench, sentence):
    parts = bench.mount("pos-sentence", sentence())
    found = json.loads(saved(bench.page, parts.save("JSON"))[0])
    value = {
        (part, piece, dimension): number
        for part, dimension, piece, number in found["rows"]
    }
    assert {part for part, *_ in value} == {"embeddings", "positions", "sum"}
    for (part, piece, dimension), number in value.items():
        if part == "sum":
            both = (
                value["embeddings", piece, dimension]
                + value["positions", piece, dimension]
            )
            assert abs(both - number) < 1e-5


def test_a_figure_is_told_to_a_screen_reader_by_its_title(bench, sentence):
    bench.open(language="es").mount("pos-sentence", sentence(SPANISH))
    expect(
        bench.page.get_by_role("img", name=SPANISH.say("pos_plot_sentence"))
    ).to_be_visible()


@pytest.mark.parametrize("name", ["curves", "noise", "sentence", "table"])
def test_on_a_phone_no_name_is_cut(bench, table, sentence, name):
    drawn = table()
    value = {"noise": drawn["confusion"], "sentence": sentence(), **drawn}[name]
    figure = bench.mount(f"pos-{name}", value, width=375)
    assert figure.locator(".plot").evaluate(WHOLE)
    assert figure.locator(".main-svg").first.bounding_box()["width"] <= 375
    expect_fits(bench.page, 375)
