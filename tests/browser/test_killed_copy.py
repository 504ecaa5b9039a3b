"""A visitor of a page that several copies serve."""

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_spanish, idle, sentence_field, translate, watch
from tests.chromium import counting, patience
from tests.harness import PROXY, Copies


@pytest.mark.night
@pytest.mark.server
@pytest.mark.skipif(
    PROXY is None, reason="HAProxy is not installed: apt-get install haproxy"
)
def test_a_visitor_whose_copy_is_killed_goes_on_without_a_reload(
    chromium, tiny_checkpoint, learned_pairs, tmp_path
):
    with Copies(
        tmp_path / "copies", "--checkpoint", tiny_checkpoint, "--device", "cpu"
    ) as copies:
        context = counting(chromium.new_context(reduced_motion="reduce"))
        page = context.new_page()
        page.set_default_timeout(patience())
        watch(page)
        page.goto(copies.address)
        sentence_field(page).wait_for(timeout=90_000)
        translate(page, learned_pairs[0][0])
        expect_spanish(page, learned_pairs[0][1])
        idle(page)
        page.evaluate("window.before = true")
        name = copy_of(context)
        copies.kill(name)
        translate(page, learned_pairs[1][0])
        expect_spanish(page, learned_pairs[1][1])
        assert page.evaluate("window.before") is True
        assert copy_of(context) != name
        expect(sentence_field(page)).to_have_value(learned_pairs[1][0])
        context.close()


def copy_of(context):
    """The name of the copy that a visitor's browser is sent to."""
    (name,) = [
        cookie["value"] for cookie in context.cookies() if cookie["name"] == "copy"
    ]
    return name
