"""The script of the bar, assets/bar.js, in a bar that holds what it needs."""

import pytest
from playwright.sync_api import expect

from xformer.ui.components import VERSION

# Begins the script as late as Gradio may, when the page shows what its address says. ->
# what is kept of the last page.
LATE = f"""async () => {{
    const bar = document.querySelector('.bar');
    const field = '<div class="field"><textarea>Of the address.</textarea><button class="primary"></button></div>';
    bar.innerHTML = `<div><h1 data-language="en" data-example="An example."></h1><button class="skip"></button></div>
        <div class="ask">${{field}}</div>
        <div class="menu"><button></button><div></div></div>`;
    bar.querySelector('.primary').addEventListener('click', event => event.target.classList.add('pressed'));
    (await import('./scripts/{VERSION}/assets/bar.js')).default({{element: bar.firstChild}});
}}"""


def test_what_was_asked_comes_back_by_a_reload_though_the_page_is_ready_before_the_script(
    bench,
):
    bench.open()
    bench.page.evaluate(LATE)
    field = bench.page.locator("textarea")
    button = bench.page.locator(".primary")
    expect(button).not_to_have_class("primary pressed")
    field.fill("Typed.")
    button.click()
    bench.page.reload()
    bench.page.evaluate(LATE)
    expect(field).to_have_value("Typed.")
    expect(button).to_have_class("primary pressed")


def test_a_sentence_longer_than_its_field_shows_its_beginning(bench):
    """Gradio gives the field the focus, at its end."""
    bench.open()
    scrolled = """const text = bar.querySelector('textarea');
        text.style = 'width: 5rem; white-space: nowrap; overflow: hidden';
        text.value = 'A sentence that is longer than its field. '.repeat(9);
        text.scrollLeft = 99;
        if (text.scrollLeft !== 99) throw Error('not scrolled');
        (await"""
    bench.page.evaluate(LATE.replace("(await", scrolled))
    bench.page.wait_for_function("document.querySelector('textarea').scrollLeft === 0")


def test_plotly_is_fetched_when_a_visitor_begins_to_act(bench):
    """Not before: who looks at the first view alone does not need it."""
    bench.open()
    bench.page.evaluate(LATE)
    fetched = bench.page.locator("link[rel=prefetch][href$='plotly.js']")
    bench.page.evaluate("new Promise(done => requestIdleCallback(done))")
    expect(fetched).to_have_count(0)
    bench.page.keyboard.press("Shift")
    expect(fetched).to_have_count(1)
    bench.page.keyboard.press("Shift")
    bench.page.evaluate("new Promise(done => requestIdleCallback(done))")
    expect(fetched).to_have_count(1)


# Opens a sheet that the address names, with a part of it or without, while an answer is
# awaited; whether the page is covered then, and when that has come.
COVERED = f"""async hash => {{
    const load = name => import(`./scripts/{VERSION}/assets/${{name}}.js`);
    const [{{tabOpened}}, {{state}}] = await Promise.all([load('page'), load('state')]);
    const covers = () => document.querySelector('.opening') !== null;
    document.querySelector('.bar').insertAdjacentHTML('beforeend', '<h1></h1>');
    document.body.insertAdjacentHTML('afterbegin', '<div class="opening" data-sheet="model"></div>');
    history.replaceState(null, '', `?tab=model${{hash}}`);
    state.settled = true;
    state.waiting.requests.set(7, 'picture');
    tabOpened([], {{model: 'model'}}, 'model');
    for (let frame = 0; frame < 30; frame++) await new Promise(requestAnimationFrame);
    const before = covers();
    state.waiting.requests.delete(7);
    for (let frame = 0; frame < 30; frame++) await new Promise(requestAnimationFrame);
    return [before, covers()];
}}"""


@pytest.mark.parametrize(("hash", "covered"), [("", False), ("#part", True)])
def test_a_page_is_covered_until_the_part_that_its_address_names_is_drawn(
    bench, hash, covered
):
    """What stands around the part is moved as it opens, and the page scrolls to it."""
    bench.open()
    assert bench.page.evaluate(COVERED, hash) == [covered, False]


# Writes the address after a sheet was chosen, and opens one that names a tab alone. Steps
# are counted as they are asked for: of a long history, Chromium keeps fifty.
SHEETS = f"""async () => {{
    const load = name => import(`./scripts/{VERSION}/assets/${{name}}.js`);
    const [{{write, tabOpened, sheetOf}}, {{state}}] = await Promise.all([load('page'), load('state')]);
    const bar = document.querySelector('.bar');
    bar.insertAdjacentHTML('beforeend', '<h1></h1><button class="go-back"></button>');
    const tabs = {{translate: 'translate', pairs: 'translate', model: 'model'}};
    const own = JSON.stringify({{longest: 99, longer: {{}}, left_out: {{tab: '', translate_part: 'translate'}}}});
    const choose = (...values) => {{
        let steps = 0;
        const push = History.prototype.pushState;
        history.pushState = (...step) => {{
            steps += 1;
            push.apply(history, step);
        }};
        write('', own, ...values);
        delete history.pushState;
        return [location.search, steps];
    }};
    history.replaceState(null, '', '?tab=translate');
    state.settled = true;
    tabOpened(['pairs'], tabs, 'pairs');
    return [sheetOf(['translate'], 'translate', 'pairs'), sheetOf(['translate'], 'model', 'pairs'),
            bar.dataset.ownField, choose('translate', 'pairs'), choose('translate', 'pairs'),
            choose('translate', 'translate')];
}}"""


def test_another_sheet_of_a_tab_is_a_step_of_the_history_and_has_its_own_field(bench):
    bench.open()
    assert bench.page.evaluate(SHEETS) == [
        "pairs",
        "model",
        "true",
        ["?tab=translate&translate_part=pairs", 1],
        ["?tab=translate&translate_part=pairs", 0],
        ["?tab=translate", 1],
    ]
