"""What it learned from, in the Training tab: nearest pairs, one that is opened by key, what is saved, a phone."""

import csv
import io

from playwright.sync_api import expect

from tests.browser.acts import contrasts, expect_fits, idle, saved, translate

ADDRESS = "/?tab=training&part=learned&text=The+zyzzy+dog+eats+the+bread."


def test_the_nearest_pairs_are_shown_opened_by_key_and_saved(visit):
    page = visit(ADDRESS)
    part, rows = page.locator(".block.learned-pairs"), page.locator(".learned .pairs tbody tr")
    expect(rows).to_have_count(10)
    expect(part.locator(".never")).to_have_text("zyzzynever met")
    expect(rows.first.locator("mark").first).to_be_visible()
    expect(part.locator(".scores tbody tr").first.locator("td").last).to_contain_text("%")
    assert page.evaluate("document.body.scrollHeight") <= 1400
    assert not [one for one in contrasts(page) if one["ratio"] < 4.5]
    nearest = rows.first.get_by_role("button").text_content()
    content, _ = saved(page, part.get_by_role("button", name="Save as CSV").click)
    table = [row for row in csv.reader(io.StringIO(content.decode())) if nearest in row]
    assert float(table[0][0]) > 0.3
    translate(page, "Good night.")
    expect(part.locator(".verdict")).to_contain_text("This sentence is in the training data, word for word.")
    rows.nth(1).get_by_role("button").press("Enter")
    idle(page)
    assert "text=" in page.url and "tab=training" not in page.url


def test_on_a_phone_nothing_is_wider_or_taller_than_it_may_be(visit):
    page = visit(ADDRESS.replace("/?", "/es?"), width=375)
    expect(page.locator(".learned .pairs tbody tr")).to_have_count(10)
    expect(page.locator(".learned .scores tbody tr").first.locator("td").last).to_contain_text("%")
    expect_fits(page, 375)
    assert page.evaluate("document.body.scrollHeight") <= 2400
