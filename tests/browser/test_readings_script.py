"""What assets/readings.js saves of a table, in Chromium: numbers as numbers, and pieces as they are written."""

import csv
import io

import pytest

from tests.browser.acts import saved
from xformer.strings import ASSETS

PIECES = [".", "...", "1.2.3", "-", "-1.50", "7", "El"]
PAGE = f"""<div class="about"><span data-name="small" data-identity="x"></span></div>
<div id="part"><button data-save="csv">Save</button><div class="table" data-title="readings"><table>
<tr><th>step</th>{"".join(f"<th>{i}</th>" for i in range(len(PIECES)))}</tr>
<tr><th>wanted</th>{"".join(f"<td>{piece}</td>" for piece in PIECES)}</tr></table></div></div>
<script type="module">
import start from '/readings.js';
start({{element: document.getElementById('part'), trigger: () => {{}}}});
document.body.dataset.ready = true;
</script>"""


@pytest.fixture
def page(chromium):
    page = chromium.new_page()

    def answer(route):
        name = route.request.url.rpartition("/")[2]
        if not name:
            return route.fulfill(body=PAGE, content_type="text/html; charset=utf-8")
        return route.fulfill(path=ASSETS / name, content_type="text/javascript; charset=utf-8")

    page.route("http://scripts.test/**", answer)
    page.goto("http://scripts.test/")
    page.locator("body[data-ready]").wait_for()
    yield page
    page.close()


def test_a_full_stop_is_saved_as_it_is_and_numbers_as_numbers(page):
    rows = [*csv.reader(io.StringIO(saved(page, page.get_by_role("button", name="Save").click)[0].decode()))]
    assert rows[1] == ["wanted", ".", "...", "1.2.3", "'-", "-1.5", "7", "El"]
