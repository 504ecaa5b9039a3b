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
        # Nothing of the page is in this browser yet, and a copy may still be at its
        # start.
        sentence_field(page).wait_for(timeout=90_000)
        translate(page, learned_pairs[0][0])
        expect_spanish(page, learned_pairs[0][1])
        idle(page)
        page.evaluate("window.before = true")
        name = copy_of(context)
        copies.kill(name)
        copies.wait_for(f"{name} ended and is started again")
        translate(page, learned_pairs[1][0])
        expect_spanish(page, learned_pairs[1][1])
        assert page.evaluate("window.before") is True
        other = copy_of(context)
        assert other != name
        expect(sentence_field(page)).to_have_value(learned_pairs[1][0])

        # The first copy takes as long to begin as the machine is busy; without it there
        # would be nobody to go on with.
        copies.wait_for(f"{name} serves again")
        # Where an answer is on its way, Gradio loads the page anew; what was asked is
        # asked again.
        with page.expect_request("**/queue/data*"):
            translate(page, learned_pairs[2][0])
        copies.kill(other)
        copies.wait_for(f"{other} ended and is started again")
        expect(sentence_field(page)).to_have_value(learned_pairs[2][0])
        expect_spanish(page, learned_pairs[2][1])
        context.close()


def copy_of(context):
    """The name of the copy that a visitor's browser is sent to."""
    (name,) = [
        cookie["value"] for cookie in context.cookies() if cookie["name"] == "copy"
    ]
    return name
