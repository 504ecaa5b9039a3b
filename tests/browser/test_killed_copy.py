"""A visitor of a page that several copies serve."""

import pytest
from playwright.sync_api import expect

from tests.browser.acts import expect_spanish, translate
from tests.harness import PROXY, Copies


@pytest.mark.server
@pytest.mark.skipif(PROXY is None, reason="HAProxy is not installed: apt-get install haproxy")
def test_a_visitor_whose_copy_is_killed_goes_on_without_a_reload(chromium, tiny_checkpoint, learned_pairs, tmp_path):
    with Copies(tmp_path / "copies", "--checkpoint", tiny_checkpoint, "--device", "cpu") as copies:
        context = chromium.new_context(reduced_motion="reduce")
        page = context.new_page()
        page.goto(copies.address)
        # Nothing of the page is in this browser yet, and a copy may still be at its start.
        page.get_by_role("textbox", name="English sentence").wait_for(timeout=90_000)
        translate(page, learned_pairs[0][0])
        expect_spanish(page, learned_pairs[0][1])
        page.evaluate("window.before = true")
        (name,) = [cookie["value"] for cookie in context.cookies() if cookie["name"] == "copy"]
        copies.kill(name)
        copies.wait_for(f"{name} ended and is started again")
        translate(page, learned_pairs[1][0])
        expect_spanish(page, learned_pairs[1][1])
        assert page.evaluate("window.before") is True
        (other,) = [cookie["value"] for cookie in context.cookies() if cookie["name"] == "copy"]
        assert other != name
        expect(page.get_by_role("textbox", name="English sentence")).to_have_value(learned_pairs[1][0])
        context.close()
