"""What became of a translation without some heads: the tables of the part, in the
styles of the page."""

import re

import pytest
from playwright.sync_api import expect

from xformer.parts.ablation import part as ablation
from xformer.results import Head
from xformer.strings import ENGLISH

LAYER = [str(Head("cross", 2, head)) for head in range(1, 5)]


@pytest.fixture(scope="module")
def found(models, learned_pairs):
    return models.default.translate(learned_pairs[0][0])


def test_on_a_phone_what_each_word_lost_is_seen_without_scrolling(bench, models, found):
    value = ablation.run(models.default, ENGLISH, translation=found, off=LAYER)[
        "result"
    ]
    part = bench.mount("ablation", value, width=375)
    table = part.locator("table.changes")
    expect(table.locator("th")).to_have_text(
        [
            ENGLISH.say(f"ablation_{name}")
            for name in ("word", "with", "without", "change")
        ]
    )
    expect(table.locator("tbody td:first-child")).to_have_text(
        ["El", "gato", "duerme", ".", "</s>"]
    )
    expect(table.locator("tbody tr").first).to_contain_text(
        re.compile(r"−\d+\.\d\d \(.*%\)")
    )
    assert (
        table.evaluate("""table => {
        const right = element => element.getBoundingClientRect().right;
        return right(table) - right(table.closest('.tables'));
    }""")
        <= 0
    )


def test_no_name_of_a_head_wraps(bench, models, found):
    value = ablation.rank(
        models.default,
        ENGLISH,
        translation=found,
        stack="cross",
        progress=lambda _: None,
    )["result"]
    rows = bench.mount("ablation", value).locator("tbody tr")
    expect(rows).to_have_count(8)
    assert (
        max(
            rows.evaluate_all(
                "rows => rows.map(row => row.getBoundingClientRect().height)"
            )
        )
        < 50
    )
