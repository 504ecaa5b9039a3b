"""What Gradio's dropdown tells where somebody uses it, in Chromium, alone on a page."""

import re

import pytest

from xformer.ui.server import gradio_private

# Two choices, of which the first is chosen.
PAGE = """<!DOCTYPE html><div></div>
<script type="module">
import {n as Dropdown} from './dropdown.js';
import {MOUNT as mount} from './RUNTIME';
window.lay = async allow_custom_value => {
    const target = document.querySelector('div'), choices = [['One', 1], ['Two', 2]];
    let held = 1;
    window.told = [];
    target.replaceChildren();
    mount(Dropdown, {target, props: {
        label: 'Number', choices, allow_custom_value, on_input: () => told.push(held),
        get value() { return held; }, set value(now) { held = now; }}});
    await new Promise(done => setTimeout(done));
};
document.body.dataset.ready = true;
</script>"""
# A key is answered when the frame after it is drawn.
SETTLE = "new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
# Svelte's function that puts a component on a page.
MOUNT = re.compile(r"function (\w+)\(\w,\w\)\{return \w+\(\w,\w\)\}")
NAME, OURS = next(
    one
    for one in gradio_private.quick_scripts(".").items()
    if one[0].startswith("Index")
)
THEIRS = (gradio_private.SCRIPTS / NAME).read_text(encoding="utf-8")


@pytest.fixture
def told(chromium):
    """`told(script, *keys, custom=False)`: with what values the dropdown of a script
    tells an input where somebody clicks on it, presses keys there, and clicks on
    nothing.

    keys: those, or the name of a choice to click on. custom: whether what is typed
    counts, too.
    """
    runtime = re.search(r'from"\./(index-[\w-]+\.js)"', THEIRS)[1]
    whole = (gradio_private.SCRIPTS / runtime).read_text(encoding="utf-8")
    mount = re.search(rf"\b{MOUNT.search(whole)[1]} as (\w+)[,}}]", whole)[1]
    page = chromium.new_page()
    scripts = {}

    def answer(route):
        name = route.request.url.rpartition("/")[2]
        if not name:
            text = PAGE.replace("MOUNT", mount).replace("RUNTIME", runtime)
            return route.fulfill(body=text, content_type="text/html")
        if name in scripts:
            return route.fulfill(body=scripts[name], content_type="text/javascript")
        return route.fulfill(path=gradio_private.SCRIPTS / name)

    def use(script, *keys, custom=False):
        if scripts.get("dropdown.js") != script:
            scripts["dropdown.js"] = script
            page.route("http://scripts.test/**", answer)
            page.goto("http://scripts.test/")
            page.locator("[data-ready]").wait_for(state="attached")
        page.evaluate("custom => lay(custom)", custom)
        page.get_by_role("combobox").click()
        for key in keys:
            option = page.get_by_role("option", name=key, exact=True)
            if key in ("One", "Two"):
                option.click()
            elif key.islower():
                page.keyboard.type(key)
            else:
                page.keyboard.press(key)
            page.evaluate(SETTLE)
        page.mouse.click(600, 400)
        return page.evaluate("told")

    yield use
    page.close()


def test_a_choice_is_told_once_by_mouse_or_key(told):
    assert told(OURS, "Two") == [2]
    assert told(OURS, "One") == [1]
    assert told(OURS, "ArrowDown", "Enter") == [2]
    assert told(OURS, "Enter") == [1], "the same, chosen anew"


def test_nothing_is_told_where_nothing_is_chosen(told):
    assert told(OURS) == []
    assert told(OURS, "ArrowDown", "Tab") == []
    assert told(OURS, "x", "Tab") == []


def test_what_is_typed_is_told_once_where_any_text_is_taken(told):
    typed = ("Control+A", "three")
    assert told(OURS, *typed, custom=True) == ["three"]
    assert told(OURS, *typed, "Tab", custom=True) == ["three"]
    assert told(OURS, *typed, "Enter", custom=True) == ["three"]
    assert told(OURS, "Control+A", "two", "Enter", custom=True) == [2]


def test_gradios_own_tells_a_choice_twice_and_that_it_was_left(told):
    """Which is why those places of its script are replaced."""
    assert told(THEIRS, "Two") == [2, 2]
    assert told(THEIRS, "Tab") == [1]
