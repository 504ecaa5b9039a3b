"""What the page's script lets through of Gradio's answers, in Chromium, beside a
stand-in for Gradio's client."""

import re

import gradio as gr
import pytest

from xformer.ui import components
from xformer.ui.server import gradio_private

# A client whose answers a test gives, and listeners: of a slider that sets a radio, a
# picture and a menu; of a tab that sets a box in the browser; and of small maps, of
# which a choice draws the picture there.
BENCH = """<!DOCTYPE html><button style="width: 200px; height: 40px">Press</button>
<script type="module">
import {attend} from './gradio_answers.js';
import {redraw, renew} from './shared.js';
import {state} from './state.js';
const listeners = [
    {id: 1, api_name: 'draw', backend_fn: true, targets: [[10, 'input']], outputs: [11, 12, 13, 14]},
    {id: 2, api_name: 'tab', backend_fn: false, js: '() => 1', targets: [[20, 'select']], outputs: [14]},
    {id: 3, api_name: 'head', backend_fn: false, js: '() => 1', targets: [[30, 'choose']], outputs: [13]}];
const told = [], waiting = [], sent = [], client = {submit: (...given) => {
    const steps = [];
    sent.push(given);
    let wake = null;
    const answers = {
        next: async () => {
            while (!steps.length) await new Promise(done => { wake = done; });
            return steps.shift();
        },
        return: async () => ({done: true})};
    waiting.push(data => {
        steps.push(data === null ? {done: true} : {done: false, value: {type: 'data', data}});
        wake?.();
    });
    return answers;
}};
const tell = attend(client, (...event) => told.push(event), listeners);
Object.assign(window, {tell, told, client, waiting, sent, redraw, renew, state});
document.body.dataset.ready = true;
</script>"""


@pytest.fixture
def bench(bare):
    page = bare(BENCH)
    page.locator("body[data-ready]").wait_for()
    return page


def shown(bench, change, outputs):
    """What is let through of an answer, with which a change came while it was
    awaited."""
    return bench.evaluate(
        """async ([change, outputs]) => {
        const answers = client.submit(1, []);
        const next = answers.next();
        for (const [id, name, data] of change) tell(id, name, data ?? null);
        waiting.at(-1)(outputs);
        return (await next).value.data.map(one => one === undefined ? 'left alone' : one);
    }""",
        [change, outputs],
    )


OUTPUTS = [
    "head",
    {"__type__": "update", "value": 3, "maximum": 8},
    "picture",
    "attention",
]


def test_an_answer_is_shown_where_nothing_was_changed_meanwhile(bench):
    assert shown(bench, [], OUTPUTS) == OUTPUTS


@pytest.mark.parametrize("name", ["change", "click", "clear_status"])
def test_what_the_page_changes_itself_keeps_no_answer_away(bench, name):
    assert shown(bench, [[11, name], [12, name]], OUTPUTS) == OUTPUTS


def test_what_a_person_chose_while_an_answer_was_awaited_stays(bench):
    """And is offered what the answer offers."""
    assert shown(bench, [[11, "input"], [12, "input"]], OUTPUTS) == [
        "left alone",
        {"__type__": "update", "maximum": 8},
        "picture",
        "attention",
    ]


def test_an_update_of_nothing_else_is_left_alone(bench):
    assert (
        shown(
            bench,
            [[12, "input"]],
            [None, {"__type__": "update", "value": 3}, None, None],
        )[1]
        == "left alone"
    )


def test_what_the_browser_sets_as_a_person_acts_counts_as_chosen(bench):
    assert (
        shown(bench, [[21, "select", {"component_id": 20}]], OUTPUTS)[3] == "left alone"
    )


def test_what_the_browser_draws_as_a_person_chooses_is_not_taken_back(bench):
    assert shown(bench, [[30, "choose"]], OUTPUTS)[2] == "left alone"
    assert shown(bench, [], OUTPUTS) == OUTPUTS


def test_a_tab_that_the_page_opens_itself_keeps_no_answer_away(bench):
    assert (
        shown(
            bench,
            [[20, "select"], [21, "gradio_tab_select", {"component_id": 20}]],
            OUTPUTS,
        )
        == OUTPUTS
    )


def test_a_text_that_is_pasted_stays_too(bench):
    """Gradio's Textbox tells only "change" then, as it does when the page sets the
    text."""
    bench.evaluate("document.body.append(document.createElement('input'))")
    bench.locator("input").fill("pasted")
    assert shown(bench, [[11, "change", "head"]], OUTPUTS)[0] == "head"
    assert shown(bench, [[11, "change", "pasted"]], OUTPUTS)[0] == "left alone"
    assert shown(bench, [[11, "change", "pasted"]], OUTPUTS)[0] == "head"


def test_the_next_answer_is_shown_again(bench):
    assert shown(bench, [[11, "input"]], OUTPUTS)[0] == "left alone"
    assert shown(bench, [], OUTPUTS) == OUTPUTS


def test_each_step_of_an_answer_keeps_what_was_chosen_before_it(bench):
    assert bench.evaluate("""async () => {
        const answers = client.submit(1, []), seen = [];
        for (const value of ['first', 'second']) {
            const next = answers.next();
            waiting.at(-1)([value, null, null, null]);
            seen.push((await next).value.data[0] ?? 'left alone');
            tell(11, 'input', null);
        }
        return seen;
    }""") == ["first", "left alone"]


def test_events_are_told_as_they_come(bench):
    bench.evaluate("tell(11, 'input', {value: 1}); tell(12, 'change', null)")
    assert bench.evaluate("told") == [[11, "input", {"value": 1}], [12, "change", None]]


def test_what_is_asked_and_not_answered_is_counted_by_name(bench):
    assert bench.evaluate("""async () => {
        const names = () => [...state.waiting.requests.values()], counted = [];
        const [first, second] = [client.submit(1, []), client.submit(1, [])];
        counted.push(names());
        const next = first.next();
        waiting[0](null);
        await next;
        counted.push(names());
        await second.return();
        return [...counted, names()];
    }""") == [["draw", "draw"], ["draw"], []]


def test_each_request_tells_its_place_in_the_order_of_the_page(bench):
    first, second = bench.evaluate("""() => {
        client.submit(1, ['data'], {n: 1}, 10, null, {'x-gradio-user': 'app'});
        tell(12, 'change', null);
        client.submit(1, []);
        return sent;
    }""")
    *given, headers = first
    assert given == [1, ["data"], {"n": 1}, 10, None]
    assert (
        headers["x-gradio-user"] == "app" and headers["X-Asked"] < second[-1]["X-Asked"]
    )


ANSWER = """() => {
    const answers = client.submit(1, []);
    window.shown = false;
    answers.next().then(() => { window.shown = true; });
    waiting.at(-1)(['head', null, null, null]);
    return new Promise(done => setTimeout(() => done(window.shown), 50));
}"""


def test_an_answer_waits_while_something_is_pressed(bench):
    bench.get_by_role("button").hover()
    bench.mouse.down()
    assert not bench.evaluate(ANSWER)
    bench.mouse.up()
    bench.wait_for_function("window.shown")
    assert bench.evaluate(ANSWER)


def test_an_answer_does_not_wait_while_something_is_dragged_or_held_down(bench):
    bench.get_by_role("button").hover()
    bench.mouse.down()
    bench.mouse.move(5, 5)
    assert bench.evaluate(ANSWER)
    bench.mouse.up()
    bench.mouse.down()
    bench.evaluate(ANSWER)
    bench.wait_for_function("window.shown")


@pytest.mark.parametrize("write", ["redraw", "renew"])
def test_what_is_written_anew_keeps_the_focus_where_the_same_is_there(bench, write):
    assert bench.evaluate(
        """write => {
        const list = document.body.appendChild(document.createElement('div'));
        const words = names => names.map(name => `<button data-word="${name}">${name}</button>`).join('');
        const focused = [];
        const note = () => focused.push(document.activeElement.dataset.word ?? 'none');
        window[write](list, words(['el', 'gato', 'gato']));
        list.lastChild.focus();
        window[write](list, '<p>new</p>' + words(['el', 'gato', 'el', 'gato']));
        focused.push([...list.children].indexOf(document.activeElement));
        note();
        window[write](list, words(['el']));
        note();
        return focused;
    }""",
        write,
    ) == [4, "gato", "none"]


# Gradio's function of (the last step by request, a request, its next step), with those
# that it calls.
STEPS = re.compile(
    r"function (\w+)\(\w,\w,\w\)\{\w\[\w\]\?\w\.data\.forEach.*?(?=function \w+\(\w,\w=\{\}\))",
    re.DOTALL,
)
FIRST = [{"choices": ["one", "two"], "value": "two", "__type__": "update"}, None]
THEN = [
    [["delete", ["choices"], None], ["delete", ["value"], None]],
    [["replace", [], "said"]],
]


def steps_shown(bench, client):
    """What a page that looks late sees of two steps of an answer, by the functions of a
    client's script."""
    functions = STEPS.search(client)
    return bench.evaluate(
        """([functions, name, first, then]) => {
        const step = Function(`${functions}; return ${name}`)(), last = {}, steps = [{data: first}, {data: then}];
        for (const one of steps) step(last, 'request', one);
        return steps.map(one => one.data);
    }""",
        [functions[0], functions[1], FIRST, THEN],
    )


def test_a_step_of_an_answer_leaves_the_step_before_as_it_was(bench):
    """Which the page may not have looked at yet, where both came together. Gradio's own
    script changes it."""
    ((name, client),) = [
        one
        for one in gradio_private.quick_scripts(".").items()
        if one[0].startswith("index")
    ]
    after = [{"__type__": "update"}, "said"]
    assert steps_shown(bench, client) == [FIRST, after]
    assert steps_shown(
        bench, (gradio_private.SCRIPTS / name).read_text(encoding="utf-8")
    ) == [[after[0], None], after]


# What answers events in Gradio's script, with the names of what it uses, and its own.
ANSWERING = re.compile(
    r"var \w=/\^'[^;]*?Symbol\(`NOVALUE`\).*?(\w+)=class\{dependencies_by_fn.*?loading_stati=new (\w+);.*?"
    r"(\w+)\(\)\.then\(\(\)=>this\.update_loading.*?(?=var \w=`gradio:)",
    re.DOTALL,
)
# Sets three controls that a listener listens to, in one moment; then one of them twice,
# while that is answered. -> by what values the listener asked.
IN_ONE_MOMENT = """async ([code, name, status, tick]) => {
    const loading = 'class { current = {}; show_progress = {}; register() {} update() {} }';
    const Answering = Function(`const ${status} = ${loading}, ${tick} = async () => {}; ${code}; return ${name}`)();
    const held = {10: {}, 11: {}, 12: {}}, nothing = () => {};
    const listener = {id: 1, api_name: 'draw', backend_fn: true, connection: 'sse', trigger_mode: 'always_last',
        targets: [[10, 'change'], [11, 'change'], [12, 'change']], inputs: [10, 11, 12], outputs: [], cancels: []};
    const page = new Answering([listener], client, nothing, async id => held[id], nothing, nothing, nothing, nothing);
    const quiet = () => new Promise(done => setTimeout(done, 50));
    const change = async (id, value) => {
        held[id].value = value;
        page.dispatch({type: 'event', event_name: 'change', target_id: id, event_data: null});
        await null;  // components tell it one after the other
    };
    for (const id of [10, 11, 12]) await change(id, 'set');
    await quiet();
    for (const value of ['more', 'most']) await change(10, value);
    waiting[0](null);
    await quiet();
    return sent.map(([, data]) => data.join(' '));
}"""


def asked_in_one_moment(bench, script):
    """By what values a listener asks, with a script of Gradio that answers events."""
    found = ANSWERING.search(script)
    return bench.evaluate(IN_ONE_MOMENT, [found[0], *found.group(1, 2, 3)])


def test_a_listener_asks_once_for_all_that_changes_in_a_moment(bench):
    """As an address sets several controls, and opens the part that they stand in."""
    ((_, script),) = [
        one
        for one in gradio_private.quick_scripts(".").items()
        if one[0].startswith("Blocks")
    ]
    assert asked_in_one_moment(bench, script) == ["set set set", "most set set"]


def test_gradios_own_script_asks_for_each_change_of_a_moment(bench):
    """Which is why that waits for the end of the moment."""
    (path,) = gradio_private.SCRIPTS.glob("Blocks-*.js")
    asked = asked_in_one_moment(bench, path.read_text(encoding="utf-8"))
    assert len(asked) > 2


# Tells two components their status, then once more, with another for the first.
STATUSES = """async ([code, name, status, tick]) => {
    const Answering = Function(`const ${status} = class { current = {}; register() {} }, ${tick} = async () => {};
        ${code}; return ${name}`)();
    const nothing = () => {}, heard = [];
    const page = new Answering([], client, async id => heard.push(id), nothing, nothing, nothing, nothing, nothing);
    const {current} = page.loading_stati;
    for (const id of [10, 11]) current[id] = {status: 'pending', eta: null};
    await page.update_loading_stati_state();
    Object.assign(current, {10: {status: 'complete', eta: null}, 11: {...current[11]}});
    await page.update_loading_stati_state();
    return heard;
}"""


@pytest.mark.parametrize(
    ("find", "heard"),
    [
        (lambda name: gradio_private.quick_scripts(".")[name], [10, 11, 10]),
        # Gradio's own tells all of them each time, and once more as a page begins
        (lambda name: (gradio_private.SCRIPTS / name).read_text(), [10, 11] * 3),
    ],
    ids=["the page's", "Gradio's"],
)
def test_a_component_is_told_its_status_when_it_is_another(bench, find, heard):
    (path,) = gradio_private.SCRIPTS.glob("Blocks-*.js")
    found = ANSWERING.search(find(path.name))
    assert bench.evaluate(STATUSES, [found[0], *found.group(1, 2, 3)]) == heard


# Gradio's methods that read what a component holds, and that set anew what has come
# into sight, with the names of what they use.
READ = re.compile(
    r"async#(\w)(\(\w,\w\)\{let \w=this\.#(\w)\.get\(.*?of (\w+)\).*?;(\w+)\(\w,\w\)\})async#",
    re.DOTALL,
)
SET = re.compile(
    r"async render_previously_invisible_children(\(\w\)\{let \w=(\w)\(.*?if\((\w)\(.*?\{(\w)\(\w,"
    r"this\.#(\w).*?await (\w)\(\),await (\w)\(\).*?this\.#(\w)\(\w\)\}\})\};function",
    re.DOTALL,
)


def set_in_sight(bench, tree):
    """What a part that comes into sight closed, and is opened at once, is set to by the
    methods of a tree."""
    read, holders, names, merge = READ.search(tree).group(1, 3, 4, 5)
    find, hidden, load, config, tick, settle, setting = SET.search(tree).group(
        2, 3, 4, 5, 6, 7, 8
    )
    return bench.evaluate(
        "([code]) => Function(code)()",
        [
            f"""
        const part = {{id: 1, props: {{open: false}}}}, set = [], {names} = ['open'];
        const {find} = root => root, {hidden} = (node, _, found) => found.push(node), {load} = () => {{}};
        const {tick} = async () => {{}}, {settle} = async () => {{}};
        const {merge} = (node, values) => Object.assign(node.props, values);
        const tree = {{root: part, _{config}: {{}}, _{holders}: new Map([[1, async () => ({{open: true}})]]),
            _{setting}: node => set.push(node.props.open),
            async _{read}{READ.search(tree)[2].replace("this.#", "this._")},
            async come{SET.search(tree)[1].replace("this.#", "this._")}}};
        return tree.come(1).then(() => set);"""
        ],
    )


def test_what_comes_into_sight_keeps_what_was_done_with_it_since(bench):
    """Gradio sets it once more to what it was laid out with, and shuts a part that was
    opened."""
    (name, tree), *_ = gradio_private.quick_scripts(".").items()
    assert set_in_sight(bench, tree) == [True]
    assert set_in_sight(
        bench, (gradio_private.SCRIPTS / name).read_text(encoding="utf-8")
    ) == [False]


def test_gradios_own_search_visits_all_components_before_the_one_it_finds(bench):
    """Which is why assets/gradio_tree.js stands in its place."""
    search, _ = gradio_private.REPLACED["core"][0]
    (found,) = [
        one
        for path in gradio_private.SCRIPTS.glob("core-*.js")
        if (one := search.search(path.read_text(encoding="utf-8")))
    ]
    assert (
        bench.evaluate(
            """([search, name]) => {
        const find = Function(`${search}; return ${name}`)();
        let visits = 0;
        const node = id => ({get id() { visits++; return id; }});
        const root = {id: -1, children: Array.from({length: 200}, (_, id) => node(id))};
        for (let id = 0; id < 200; id++) find(root, id);
        return visits;
    }""",
            [found[0], found[2]],
        )
        == 200 * 201 / 2
    )


# Gradio's function of (a style, a version), which writes it for its page.
PREFIX = re.compile(
    r"function (\w+)\(\w,\w,\w\)\{if\(!\w+\)return \w;.*?return \w\+\w\}"
)


def test_a_style_is_written_as_gradios_page_writes_it(bench):
    """Rule by rule; what it has twice stands once, for both."""
    (tree,) = gradio_private.SCRIPTS.glob("core-*.js")
    function = PREFIX.search(tree.read_text(encoding="utf-8"))
    style = "".join(path.read_text(encoding="utf-8") for path in components.STYLES)
    theirs, ours = bench.evaluate(
        """([code, name, version, style, ours]) => {
        const write = Function(`const ${code.match(/if\\(!(\\w+)/)[1]} = true; ${code}; return ${name}`)();
        return [write(style, version), ours].map(text => {
            const sheet = new CSSStyleSheet();
            sheet.replaceSync(text);
            return [...sheet.cssRules].map(one => [one.selectorText ?? '', one.selectorText
                ? one.cssText.slice(one.selectorText.length) : one.cssText]);
        });
    }""",
        [
            function[0],
            function[1],
            gr.__version__.replace(".", "-"),
            style,
            gradio_private.scoped_style(style),
        ],
    )
    once = []
    for selector, body in theirs:
        before, said = once[-1] if once else ("", "")
        if selector.startswith((".gradio-container.g", ".dark .gradio-container.g")):
            once[-1] = f"{before}, {selector}", said
            assert said == body
        else:
            once.append((selector, body))
    # Chromium writes a border of a variable that is changed in part as nothing, which
    # Gradio's page then leaves out
    kept = [(one, re.sub(r" border-[\w-]+: ;", "", said)) for one, said in ours]
    assert len(ours) > 500 and kept == once
