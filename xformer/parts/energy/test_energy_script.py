"""What energy.js and widths.js draw of answers of their part, tell and save."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved, unreadable
from tests.pages import shown
from xformer.parts.energy import part
from xformer.results import Options
from xformer.strings import ENGLISH

say = ENGLISH.say
OWN = "El gato come."


@pytest.fixture(scope="module")
def view(models, made):
    """What the part answers, with a translation of the visitor's own that is looked
    at."""
    translation, trace = models.default.translate_and_trace(
        "The cat sleeps.", Options(beam=3)
    )
    return shown(
        made.pictures[part.ID],
        models.default,
        translation=translation,
        trace=trace,
        energy_own=OWN,
        energy_beam=3,
        energy_item=4,
    )["view"]


@pytest.fixture
def matrices(models):
    return lambda *sizes: part.draw_widths(
        models.default, *(sizes or (6, 4, 9, 3, 8)), ENGLISH
    )


def test_the_figure_has_the_numbers_of_what_is_chosen(bench, view):
    drawn = bench.mount("energy-view", view)
    own = view["items"][3]
    energy = drawn.locator(".box.of-energy")
    expect(energy).to_contain_text("E(x, y)")
    expect(energy).to_contain_text(f"{own['total']:.2f} nats")
    expect(drawn.locator(".sum span")).to_have_count(len(own["pieces"]))
    expect(drawn.locator(".box")).to_have_count(9)
    expect(drawn.locator(".told")).to_have_text(view["told"])


def test_a_translation_that_is_clicked_is_looked_at_and_told(bench, view):
    drawn = bench.mount("energy-view", view)
    drawn.locator(".items button").nth(1).click()
    assert drawn.told == [("choose", {"item": 1})]
    expect(drawn.locator(".box.of-z")).to_contain_text(say("energy_z_of", z=2, count=3))
    expect(drawn.locator(".box.of-energy")).to_contain_text(
        f"{view['items'][1]['total']:.2f} nats"
    )
    expect(drawn.locator(".items button[aria-pressed=true]")).to_have_count(1)


def test_the_landscape_is_walked_by_keys(bench, view):
    drawn = bench.mount("energy-view", view)
    drawn.locator(".point[aria-pressed=true]").focus()
    bench.page.keyboard.press("ArrowRight")
    assert drawn.told == [("choose", {"item": 4})]
    point = drawn.locator(".point[data-item='4']")
    expect(point).to_be_focused()
    expect(point).to_have_attribute("aria-pressed", "true")
    assert point.get_attribute("aria-label").startswith(say("energy_spoiled"))


def test_lower_energies_stand_lower(bench, view):
    drawn = bench.mount("energy-view", view)
    places = drawn.locator(".landscape .point").evaluate_all(
        """points => points.map(point => {
          const box = point.querySelector('.mark').getBoundingClientRect();
          return [Number(point.dataset.item), box.y + box.height / 2, box.x + box.width / 2]; })"""
    )
    assert len(places) == len(view["items"])
    by_height = [item for item, *_ in sorted(places, key=lambda one: -one[1])]
    totals = [view["items"][item]["total"] for item in by_height]
    assert totals == pytest.approx(sorted(totals), abs=0.05)
    across = {view["items"][item]["distance"]: x for item, _, x in places}
    assert [across[far] for far in sorted(across)] == sorted(across.values())


def test_all_numbers_are_saved(bench, view):
    drawn = bench.mount("energy-view", view)
    found = json.loads(saved(bench.page, drawn.save("JSON"))[0])
    assert found["pair"] == view["pair"]
    rows = found["rows"]
    assert [row[2] for row in rows[: len(view["items"])]] == [
        item["total"] for item in view["items"]
    ]
    assert len(rows) == len(view["items"]) + len(view["search"]["alive"])
    content, _ = saved(bench.page, drawn.save("SVG"))
    assert b".energy-view .box" in content and content.count(b"of-energy") > 1


@pytest.fixture
def given_back(models, made):
    return shown(
        made.pictures[f"{part.ID}.autoencoder"], models.default, autoencoder_open=True
    )["given_back_table"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_everything_fits_and_can_be_read(
    bench, view, matrices, given_back, theme, width
):
    bench.mount("energy-view", view, theme=theme, width=width)
    bench.mount("given-back-of", given_back, theme=theme, width=width)
    bench.mount("widths-view", matrices(12, 12, 12, 12, 12), theme=theme, width=width)
    expect_fits(bench.page, width)
    assert not unreadable(bench.page)


def test_what_came_back_is_saved_with_its_code(bench, given_back):
    drawn = bench.mount("given-back-of", given_back)
    expect(drawn.locator(".code i")).to_have_count(128)
    found = json.loads(saved(bench.page, drawn.save("JSON"))[0])
    assert found["columns"][2] == say("energy_column")
    assert len(found["rows"]) == 3 + 7 + 128


def test_matrices_are_as_large_as_their_shapes_say(bench, matrices):
    drawn = bench.mount("widths-view", matrices())
    shapes = drawn.locator(".shaped > span").all_text_contents()
    assert shapes == [
        *("4 × 6", "6 × 3", "4 × 3"),
        *("6 × 4", "4 × 3", "6 × 3"),
        *("6 × 9", "9 × 8", "6 × 8"),
        *("4 × 3", "3 × 6", "4 × 6"),
        *("4 × 6", "6 × 8", "4 × 8"),
    ]
    cells = drawn.locator(".shaped svg").evaluate_all(
        "all => all.map(one => one.querySelectorAll('rect').length)"
    )
    assert cells == [24, 18, 12, 24, 12, 18, 54, 72, 48, 12, 18, 24, 24, 48, 32]
    drawn.show(matrices(6, 4, 9, 3, 2))
    expect(drawn.locator("[data-result=Y] .shaped > span").last).to_have_text("4 × 2")
    expect(drawn.locator("[data-result=A] .shaped > span").last).to_have_text("4 × 6")
    found = json.loads(saved(bench.page, drawn.save("JSON"))[0])
    assert ["W_v", 9, 2] in [row[:3] for row in found["rows"]]
