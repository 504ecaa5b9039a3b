"""The nearest training pairs as the page shows and saves them."""

import csv
import io
import json

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits, saved, unreadable
from xformer.parts.learned import ask as learned
from xformer.parts.learned.test_learned import answers, index
from xformer.strings import ENGLISH, SPANISH

TEXT = "The zyzzy dog eats the bread."


@pytest.fixture
def found(models, pairs, monkeypatch):
    """`found(language)`: what the part shows in the end, among 24 pairs."""
    monkeypatch.setattr(
        learned, "KEPT", {0: index([(*pair, "direct") for pair in pairs])}
    )
    return lambda language=ENGLISH: answers(models.default, TEXT, language)[-1][
        "found_scored"
    ]


def test_the_nearest_pairs_show_what_they_share_and_are_opened_by_key(bench, found):
    part = bench.mount("learned-pairs", found())
    rows = part.locator(".pairs tbody tr")
    expect(rows).to_have_count(10)
    expect(part.locator(".never")).to_have_text("zyzzynever met")
    expect(rows.first.locator("mark").first).to_be_visible()
    expect(part.locator(".scores tbody tr").first.locator("td").last).to_contain_text(
        "%"
    )
    first, second = (rows.nth(i).get_by_role("button") for i in (0, 1))
    first.focus()
    bench.page.keyboard.press("Tab")
    expect(second).to_be_focused()
    # which assets/bar.js opens by click and by key
    asked = json.loads(second.get_attribute("data-address"))
    assert asked == {
        "tab": "translate",
        "text": second.inner_text().strip(),
        "spanish": None,
        "lock": None,
    }


def test_the_pairs_are_saved_with_how_near_they_are(bench, found):
    part = bench.mount("learned-pairs", found())
    content, _ = saved(bench.page, part.save("CSV"))
    rows = list(csv.reader(io.StringIO(content.decode())))
    shown = part.locator(".pairs button").all_inner_texts()
    kept = [
        row for row in rows if row[1:2] and row[1] in {text.strip() for text in shown}
    ]
    assert [row[1] for row in kept] == [text.strip() for text in shown]
    assert kept[0][1:3] == ["The dog eats the bread.", "El perro come el pan."]
    nearness = [float(row[0]) for row in kept]
    assert nearness[0] > 0.3 and nearness == sorted(nearness, reverse=True)


def test_a_part_without_pairs_offers_nothing_to_save(bench, found):
    part = bench.mount("learned-pairs", found())
    expect(part.locator(".save-menu")).to_be_visible()
    part.show("")
    expect(part.element).to_have_attribute("data-empty", "true")
    expect(part.locator(".save-menu")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_the_pairs_can_be_read_and_fit(bench, found, theme, width):
    bench.open(width=width, theme=theme, language="es")
    part = bench.mount("learned-pairs", found(SPANISH))
    expect(part.locator(".pairs tbody tr")).to_have_count(10)
    expect_fits(bench.page, width)
    assert not unreadable(bench.page)
