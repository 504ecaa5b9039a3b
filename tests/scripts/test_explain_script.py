"""The page of all heads that the Attention tab saves: offered by assets/download.js,
drawn by assets/explain.js."""

import re
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from tests.browser.acts import saved
from xformer.parts.attention import part as tab
from xformer.strings import SPANISH

say = SPANISH.say


@pytest.fixture
def file(models, traced):
    """What the handler answers to who saves the third head of the first layer of the
    encoder."""
    return tab.save(
        models.default,
        SPANISH,
        trace=traced("The cat sleeps."),
        stack="encoder_self",
        layer=1,
        head=3,
        event=SimpleNamespace(kind="html"),
    )["file"]


def test_a_file_is_offered_as_soon_as_it_comes_and_once_more_when_it_is_asked_for_again(
    bench, file
):
    part = bench.mount("download")
    for _ in range(2):
        content, name = saved(bench.page, lambda: part.show(file))
        assert name == "tiny-en-es-attention.html" and content.startswith(
            b"<!doctype html>"
        )


def test_the_page_of_all_heads_opens_offline_as_the_tab_was_seen(bench, file):
    part = bench.mount("download")
    content, _ = saved(bench.page, lambda: part.show(file))
    offline = bench.page.context.new_page()
    try:
        offline.set_content(content.decode())
        expect(offline.locator("html")).to_have_attribute("lang", "es")
        expect(offline.locator("#title")).to_have_text(
            say(
                "picture_title",
                stack=say("encoder_self"),
                layer=1,
                layers=2,
                head=3,
                heads=4,
            )
        )
        expect(offline.locator("#source")).to_have_text("En inglés: The cat sleeps.")
        expect(offline.get_by_label("capa 1, cabeza 3")).to_have_attribute(
            "aria-pressed", "true"
        )
        offline.locator("svg.cells").hover()
        expect(offline.locator("#said")).to_have_text(
            re.compile(r" mira a .+ \d\.\d{3}\.$")
        )
        offline.get_by_label("Pila").select_option(say("cross"))
        expect(offline.locator("svg.left text").first).to_have_text(
            say("row_target", given="<s>", wanted="El")
        )
    finally:
        offline.close()
