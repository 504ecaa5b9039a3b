"""What the walks through the page look for is found where it is."""

import pytest

from tests.browser import test_walk
from tests.browser.acts import measured_contrasts


def test_a_text_that_is_too_pale(bare):
    page = bare(
        '<p style="color: #94a3b8; background: #fff">pale</p><p style="color: #000">dark</p>'
    )
    pale, dark = measured_contrasts(page)
    assert (pale["text"], dark["text"]) == ("pale", "dark")
    assert pale["ratio"] == pytest.approx(2.56, abs=0.01) and dark["ratio"] == 21


def test_a_line_below_a_text_is_not_behind_it(bare):
    line = "linear-gradient(#000, #000) bottom / 100% 4px no-repeat"
    page = bare(
        f'<p style="color: #000; padding-bottom: 6px; background: {line}">above</p>'
        f'<p style="color: #000; background: {line}">on it</p>'
    )
    assert [(one["text"], one["ratio"]) for one in measured_contrasts(page)] == [
        ("on it", 1),
        ("above", 21),
    ]


def test_a_field_without_a_name(bare):
    page = bare('<p class="nameless"><input></p>')
    page.add_script_tag(path=test_walk.AXE)
    (found,) = page.evaluate(test_walk.FINDINGS, ".nameless")
    assert found.startswith("label ")


def test_what_shines_through_a_panel(bare):
    page = bare("""<div id="panel" style="position: absolute; width: 200px; height: 100px">panel</div>
        <div style="position: absolute; top: 20px; width: 50px; height: 50px" class="above">over it</div>""")
    assert page.locator("#panel").evaluate(test_walk.COVERED) == ["above: over it"]


def test_headings_that_skip_a_level(bare):
    page = bare("<h1>Page</h1><h3>Part</h3>")
    assert "h1 is followed by h3: Part" in page.evaluate(f"({test_walk.REACH})()")
