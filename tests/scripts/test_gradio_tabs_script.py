"""How a tab comes when it is opened, in Chromium, beside a stand-in for Gradio's
page."""

import json

import pytest

# A page with a frame (the components 1 and 2) and a tab (10, a slider; 11, folded; 12
# and 13) that has not come; and what Gradio does with a listener: it asks for its
# answers and takes up what they render.
CONFIG = {
    "tabs": {"two": "./two.json"},
    "absent": {
        "two": [
            [10, "slider", 4, None],
            [11, "accordion", None, False],
            [12, "html", None, None],
            [13, "state", None, None],
        ]
    },
    "unseen": [[20, "textbox", "first", None]],
}
LISTENERS = [
    {
        "id": 1,
        "api_name": "frame",
        "backend_fn": True,
        "targets": [[1, "change"]],
        "inputs": [10],
        "outputs": [2, 12],
    },
    {
        "id": 2,
        "api_name": "late",
        "backend_fn": True,
        "targets": [[1, "change"]],
        "inputs": [1],
        "outputs": [12, 13],
    },
    {
        "id": 3,
        "api_name": "later",
        "backend_fn": True,
        "targets": [[None, "then"]],
        "inputs": [],
        "outputs": [13],
        "trigger_after": 2,
    },
    {
        "id": 4,
        "api_name": "both",
        "backend_fn": True,
        "targets": [[1, "input"], [10, "change"]],
        "inputs": [],
        "outputs": [2],
    },
]
REST = {
    "layout": {
        "id": 9,
        "children": [{"id": 10}, {"id": 11, "children": [{"id": 12}, {"id": 13}]}],
    },
    "components": [
        {"id": 9, "type": "tabitem", "props": {}},
        {"id": 10, "type": "slider", "props": {"value": 4, "maximum": 9}},
        {"id": 11, "type": "accordion", "props": {"open": False}},
        {"id": 12, "type": "html", "props": {"value": "as laid out"}},
        {"id": 13, "type": "state", "props": {}},
    ],
    "dependencies": [
        {**LISTENERS[3], "targets": [[10, "change"]]},
        {
            "id": 5,
            "api_name": "own",
            "backend_fn": True,
            "targets": [[10, "change"]],
            "inputs": [10],
            "outputs": [12],
        },
    ],
}
BENCH = """<!DOCTYPE html><button role="tab" data-tab-id="two">Two</button>
<script type="module">
import {absent, eventsOf, lookUp} from './gradio_tree.js';
import {bring, brought} from './gradio_tabs.js';
import {attend} from './gradio_answers.js';
import {state} from './state.js';
const listeners = LISTENERS, fetched = [], asked = [], rendered = [], told = [];
let reply = REST;
globalThis.gradio_config = CONFIG;
globalThis.fetch = async address => {
    fetched.push(String(address).split('/').pop());
    return reply ? {ok: true, json: async () => structuredClone(reply)} : {ok: false, status: 404, url: address};
};
const client = {config: {components: [], dependencies: [...listeners]}, submit: id => {
    asked.push(id);
    return {next: async () => ({done: true}), return: async () => ({done: true})};
}};
// What Gradio's page does with an event.
const tell = attend(client, async (id, name, data) => {
    told.push([id, name, data]);
    for (const one of listeners.filter(({targets}) => targets.some(([to, of]) => to === id && of === name))) {
        const answers = client.submit(one.id, [], data);
        for (let step; !(step = await answers.next()).done;) {
            if (step.value.type !== 'render') continue;
            rendered.push(step.value.data);
            await answers.return();
            break;
        }
    }
}, listeners);
Object.assign(window, {absent, asked, bring, brought, client, eventsOf, fetched, listeners, lookUp, rendered, state,
                       tell, told, fail: () => { reply = null; }, mend: () => { reply = REST; }});
document.body.dataset.ready = true;
</script>"""


@pytest.fixture
def bench(bare):
    html = BENCH.replace("= CONFIG", f"= {json.dumps(CONFIG)}").replace(
        "= LISTENERS", f"= {json.dumps(LISTENERS)}"
    )
    page = bare(html.replace("= REST", f"= {json.dumps(REST)}"))
    page.locator("body[data-ready]").wait_for()
    return page


def test_what_stands_for_a_component_tells_its_value_until_the_tab_comes(bench):
    found = bench.evaluate(
        "[10, 11, 12].map(id => lookUp({id: 0, children: []}, id).props.props)"
        ".map(({value, open}) => [value ?? null, open ?? null])"
    )
    assert found == [[4, None], [None, False], [None, None]]
    assert bench.evaluate(
        "bring('two').then(() => [absent.size, lookUp({id: 0, children: []}, 10)])"
    ) == [1, None]


def test_what_is_never_seen_keeps_its_value_and_its_listeners_are_asked(bench):
    """No tab brings it, so nothing waits for one."""
    found = bench.evaluate("""async () => {
        listeners.push({id: 6, backend_fn: true, targets: [[20, 'change']], inputs: [20], outputs: [20]});
        const {props} = lookUp(null, 20).props, before = props.value;
        props.value = 'second';
        tell(20, 'change', null);
        return [before, lookUp(null, 20).props.props.value, asked, told];
    }""")
    assert found == ["first", "second", [6], [[20, "change", None]]]


def test_a_tab_comes_once_with_what_was_set_in_it_before(bench):
    bench.evaluate("""() => {
        lookUp(null, 10).props.props.value = 7;
        lookUp(null, 11).props.props.open = true;
        lookUp(null, 12).props.shared_props.visible = false;
        lookUp(null, 12).props.shared_props.loading_status = {status: 'pending'};
        return Promise.all([bring('two'), bring('two')]);
    }""")
    (rendered,) = bench.evaluate("rendered")
    assert {one["id"]: one["props"] for one in rendered["components"]} == {
        9: {},
        10: {"value": 7, "maximum": 9},
        11: {"open": True},
        12: {"value": "as laid out", "visible": False},
        13: {},
    }
    assert (
        rendered["layout"] == REST["layout"]
        and rendered["dependencies"] == REST["dependencies"]
    )
    assert bench.evaluate("fetched") == ["two.json"]
    assert bench.evaluate("bring('two').then(() => fetched.length)") == 1


def test_gradios_client_and_tree_know_what_has_come(bench):
    known = """() => [client.config.dependencies.map(({id}) => id), client.config.components.map(({id}) => id),
                      eventsOf(10, listeners)]"""
    assert bench.evaluate(known) == [[1, 2, 3, 4], [], ["change"]]
    bench.evaluate("bring('two')")
    assert bench.evaluate(known) == [
        [1, 2, 3, 4, 5],
        [9, 10, 11, 12, 13],
        ["change", "change"],
    ]


def test_what_only_sets_something_in_a_tab_is_asked_for_when_the_tab_has_come(bench):
    """And what comes after it in a chain then follows it of itself."""
    bench.evaluate("tell(1, 'change', null)")
    assert bench.evaluate("asked") == [1]
    bench.evaluate("() => { for (const id of [2, 3]) client.submit(id, [], null); }")
    bench.evaluate("bring('two')")
    bench.wait_for_function("asked.length > 1")
    assert bench.evaluate("asked") == [1, 2]


def test_an_event_of_a_component_that_was_not_there_is_told_again(bench):
    bench.evaluate("tell(10, 'change', null)")
    assert bench.evaluate("asked") == [4]
    bench.evaluate("bring('two')")
    bench.wait_for_function("asked.length > 2")
    assert bench.evaluate("asked") == [4, 4, 5]


def test_a_tab_that_is_pointed_at_is_fetched_before_it_is_opened(bench):
    bench.get_by_role("tab").hover()
    assert bench.evaluate("fetched") == ["two.json"] and not bench.evaluate("rendered")
    bench.evaluate("bring('two')")
    assert bench.evaluate("[fetched.length, rendered.length]") == [1, 1]


def test_the_page_waits_while_a_tab_comes_and_a_tab_that_did_not_come_is_asked_for_again(
    bench,
):
    bench.evaluate("fail()")
    waits = bench.evaluate("""async () => {
        const coming = bring('two'), waits = state.waiting.requests.size;
        const failed = await coming.then(() => '', error => error.message);
        return [waits, failed, state.waiting.requests.size, rendered.length];
    }""")
    assert waits == [1, f"404 {bench.evaluate('location.origin')}/two.json", 0, 0]
    bench.evaluate("mend()")
    assert bench.evaluate("bring('two').then(() => rendered.length)") == 1


def test_a_tab_that_has_come_or_is_none_is_not_brought(bench):
    assert bench.evaluate("Promise.all([bring('one'), bring(undefined)])") == [
        None,
        None,
    ]
    assert bench.evaluate("fetched") == []


def test_a_tab_comes_when_the_page_is_set_to_its_address_covered_until_it_is_laid_out(
    bare,
):
    arrival = {**LISTENERS[0], "id": 6, "targets": [[0, "load"]], "outputs": [2]}
    html = BENCH.replace("= CONFIG", f"= {json.dumps(CONFIG)}").replace(
        "= LISTENERS", f"= {json.dumps([*LISTENERS, arrival])}"
    )
    panel = '<div role="tabpanel"><p id="laying-two">Frames</p></div>'
    page = bare(panel + html.replace("= REST", f"= {json.dumps(REST)}"))
    page.locator("body[data-ready]").wait_for()
    page.evaluate("() => { bring('two'); }")
    page.wait_for_function("fetched.length")
    assert page.evaluate("rendered") == []
    covered = page.evaluate("""async () => {
        tell(0, 'load', null);
        await bring('two');
        return document.querySelector('[data-comes=two] > .coming').textContent;
    }""")
    assert covered == "Frames"
    page.wait_for_function("!document.querySelector('.coming, [data-comes]')")


def test_a_tab_stays_covered_until_the_sheet_that_comes_in_it_is_laid_out(bare):
    sheet = {"two": "./two.json", "inner": "./inner.json"}
    config = {**CONFIG, "tabs": sheet, "within": {"inner": "two"}}
    config["absent"] = {**CONFIG["absent"], "inner": []}
    panel = '<div role="tabpanel"><p id="laying-two">Frames</p></div>'
    html = BENCH.replace("= CONFIG", f"= {json.dumps(config)}").replace(
        "= LISTENERS", f"= {json.dumps(LISTENERS)}"
    )
    page = bare(panel + html.replace("= REST", f"= {json.dumps(REST)}"))
    page.locator("body[data-ready]").wait_for()
    assert page.evaluate("""async () => {
        const frames = async (left = 30) => {
            for (; left; left--) await new Promise(requestAnimationFrame);
        };
        const isCovered = () => document.querySelector('[data-comes=two]') !== null;
        const found = [], fetchNow = window.fetch;
        let answer;
        window.fetch = address => String(address).endsWith('inner.json')
          ? new Promise(done => { answer = () => done(fetchNow('./two.json')); }) : fetchNow(address);
        const inner = bring('inner');
        await bring('two');
        await frames();
        found.push(isCovered());
        answer();
        await inner;
        await frames();
        return [...found, isCovered()];
    }""") == [True, False]


LOST = """<div role="tabpanel"><div class="laying"><div role="alert" hidden><button>Again</button></div>
</div></div>"""


@pytest.fixture
def lost(bench):
    """An open tab that cannot be fetched; `window.there` is what `brought` answers."""
    bench.evaluate(
        """html => {
        document.body.insertAdjacentHTML('beforeend', html);
        fail();
        window.there = undefined;  // which a look at it may come before
        brought('two').then(is => { window.there = is; });
    }""",
        LOST,
    )
    bench.get_by_role("alert").wait_for()
    return bench


def test_a_tab_that_cannot_be_fetched_says_so_and_is_tried_again(lost):
    lost.evaluate("mend()")
    lost.get_by_role("button").click()
    lost.wait_for_function("there === true")
    assert (
        lost.get_by_role("alert").count() == 0 and len(lost.evaluate("rendered")) == 1
    )


def test_nothing_waits_for_a_tab_that_is_left_before_it_can_be_fetched(lost):
    lost.evaluate("document.querySelector('[role=tabpanel]').style.display = 'none'")
    lost.wait_for_function("there === false")
    assert lost.evaluate("state.waiting.requests.size") == 0
