"""Another word chosen at a step: both translations and the heads that changed, in the
styles of the page."""

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_fits
from xformer.parts.counterfactual import part as counterfactual
from xformer.strings import ENGLISH


@pytest.fixture
def answer(models):
    """What the part answers where the second likeliest piece is chosen first; and that
    piece."""
    found = models.default.translate("The cat sleeps.")
    choices = counterfactual.offer_pieces(
        models.default, ENGLISH, translation=found, step=0
    )["piece"]["choices"]
    label, piece = choices[0]
    return counterfactual.run(
        models.default, ENGLISH, translation=found, step=0, piece=piece
    ), label.split(" · ")[0]


@pytest.mark.parametrize("width", [1280, 375])
def test_what_changed_is_marked_in_the_translation_and_named_for_every_head(
    bench, answer, width
):
    values, piece = answer
    texts = bench.mount("another-word", values["result"], width=width)
    expect(texts.element).to_contain_text(f"With “{piece}” at step 1")
    expect(texts.locator("[lang=es].large").first).to_have_text("El gato duerme.")
    expect(texts.locator("[lang=es].large").last.locator("ins").first).to_be_visible()
    expect(texts.element).to_contain_text("The heads that changed most")
    drawing = bench.mount("difference", values["picture"])
    expect(drawing.locator(".caption")).to_contain_text(
        f"Cross-attention after “{piece}” minus after"
    )
    expect(drawing.locator("g.ytick text")).to_have_count(8)
    expect(
        drawing.locator("g.ytick text").filter(has_text="layer 2, head 4 · ")
    ).to_be_visible()
    expect_fits(bench.page, width)
