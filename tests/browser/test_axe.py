"""What axe-core finds on every part of every tab, in both themes: nothing that is serious or critical."""

from pathlib import Path

import axe_playwright_python
import pytest

from tests.browser.acts import each_part, expect_spanish, idle, open_menu, translate

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
# Of what is in sight below a selector: a sentence for each rule that is broken. Contrasts are measured by `contrasts`.
FINDINGS = """async selector => {
    const [seen] = [...document.querySelectorAll(selector)].filter(one => one.checkVisibility());
    const {violations} = await axe.run(seen, {
        iframes: false, resultTypes: ['violations'], rules: {'color-contrast': {enabled: false}}});
    return violations.filter(({impact}) => ['serious', 'critical'].includes(impact))
        .map(({id, help, nodes}) => `${id} (${help}): ${nodes.slice(0, 3).map(node => node.html.slice(0, 200))}`);
}"""

# Opens what a reader may open on a part.
UNFOLD = """() => [...document.querySelectorAll('.tabitem button.label-wrap:not(.open)')]
    .filter(one => one.checkVisibility() && !one.closest('.view-menu')).map(one => one.click())"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_found_on_any_part_of_any_tab(visit, learned_pairs, theme):
    page, found = visit(f"/?review=A+dull+film&__theme={theme}"), {}
    page.add_script_tag(path=AXE)
    translate(page, learned_pairs[0][0])
    expect_spanish(page, learned_pairs[0][1])
    open_menu(page)
    idle(page)
    found["the bar"] = page.evaluate(FINDINGS, ".bar")
    page.keyboard.press("Escape")
    idle(page)
    found["the tabs"] = page.evaluate(FINDINGS, ".tabs > .tab-wrapper")
    for place in each_part(page):
        if page.evaluate(UNFOLD):
            idle(page)
        found[place] = page.evaluate(FINDINGS, ".tabs > .tabitem")
    assert not {place: one for place, one in found.items() if one}


def test_what_is_serious_is_found(chromium):
    page = chromium.new_page()
    page.set_content('<p class="nameless"><input></p>')
    page.add_script_tag(path=AXE)
    found = page.evaluate(FINDINGS, ".nameless")
    page.close()
    assert len(found) == 1 and found[0].startswith("label ")
