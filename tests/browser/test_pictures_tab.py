"""A page whose tabs stand in the opposite order: what one tab has of another works all
the same."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.acts import open_tab
from xformer.strings import ENGLISH

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def address(start, tiny_checkpoint, tiny_classifier):
    return start(tiny_checkpoint, tiny_classifier, program="turned").address


def test_tabs_in_the_opposite_order_know_the_same_words_and_heads(visit, learned_pairs):
    page = visit(
        f"/?tab=translate&model_part=architecture&lock=es1&text={quote(learned_pairs[0][0])}"
    )
    assert page.locator("[role=tab]").first.text_content().strip() == "Model"
    open_tab(page, "principles")  # laid out before the tab in which words are locked
    expect(page.get_by_label(ENGLISH.say("first_query")).first).to_have_value(
        re.compile(r"^1 · .*El$")
    )
    open_tab(page, "attention")
    expect(page.locator(".locked-word h3")).to_have_text("El")
    open_tab(page, "model")
    page.locator(
        ".architecture button[data-stack=encoder_self][data-layer='1']"
    ).first.click()
    expect(page.locator(".block.view .title").first).to_contain_text("layer 1 of 2")
    expect(
        page.get_by_role("tab", name=ENGLISH.say("tab_attention"))
    ).to_have_attribute("aria-selected", "true")
    open_tab(page, "pairs")
    expect(page.locator(".compared.main [lang=es]").first).to_be_visible()
