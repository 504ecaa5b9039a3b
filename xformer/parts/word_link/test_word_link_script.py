"""The share of two words in all heads, in the styles of the page."""

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits
from xformer.parts.word_link import part as word_link
from xformer.strings import ENGLISH


@pytest.fixture
def part(bench, models, traced):
    """`part(answer, **how)` mounts what the part shows of a sentence, after `answer`
    where one is given."""
    asked = {"trace": traced("The dog eats the bread."), "lock": "en2-en1"}

    def mount(handler=None, **how):
        if handler is None:
            value = word_link.shares(models.default, ENGLISH, **asked)
        else:
            more = {"other": "cat", "translation": None}
            value = handler(models.default, ENGLISH, **asked, **more)["shares"]
        return bench.mount("word-links", value, **how)

    return mount


@pytest.mark.parametrize("width", [1280, 375])
def test_both_ways_stand_in_a_grid_of_all_heads_that_fits(bench, part, width):
    grids = part(width=width)
    expect(grids.locator("figcaption")).to_have_text(["eats → dog", "dog → eats"])
    expect(grids.locator("td button")).to_have_count(2 * 2 * 4)
    expect(grids.locator("td button").first).to_have_attribute(
        "data-address",
        '{"tab": "attention", '
        '"stack": "encoder_self", "layer": 1, "head": 1, "show": "head"}',
    )
    expect_fits(bench.page, width)


@pytest.mark.parametrize("width", [1280, 375])
def test_another_word_stands_beside_the_first_in_both_ways(bench, part, width):
    grids = part(word_link.replace, width=width)
    expect(grids.locator("figcaption")).to_have_count(6)
    expect_fits(bench.page, width)
