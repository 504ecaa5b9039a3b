"""Races of answers with what a person does, and with each other: asked of every
listener of the page."""

import json
import re

import pytest

from tests.browser.acts import idle, steady
from xformer.ui.page import TABS

# Lets a test reach what Gradio's script keeps to itself: its tree of components, and
# how one tells its events.
REACHED = (
    r"(\w)=attend\((\w),\1,(\w)\)",
    r"\1=attend(\2,\1,\3);window.gradioPage={tree:this,tell:\1,listeners:\3,client:\2}",
)

# All listeners: whether they ask the server, and stay on the page; what they set that a
# person can change, which of that says what is looked into, and in which tab or sheet
# that comes later it stands, null outside of all tabs.
LISTENERS = """() => {
    const types = new Map(gradioPage.client.config.components.map(one => [one.id, one]));
    const kinds = ['textbox', 'radio', 'slider', 'number', 'checkbox', 'dropdown', 'tabs', 'accordion'];
    const canChange = id => kinds.includes(types.get(id)?.type) && types.get(id).props.label !== 'tick';
    const leaves = gradioPage.listeners.filter(one => one.js?.includes('.goTo(')).map(one => one.trigger_after);
    const leads = gradioPage.listeners.filter(one => leaves.includes(one.id)).flatMap(one => one.targets[0][0]);
    const tabs = new Map();
    const walk = ({id, type, props, children = []}, tab) => {
        tabs.set(id, tab);
        const classes = props?.shared_props?.elem_classes ?? [];
        const later = classes.find(name => name.startsWith('later-'))?.slice('later-'.length);
        const within = later ?? tab ?? (type === 'tabitem' ? props.props.id : null);
        for (const child of children) walk(child, within);
    };
    walk(gradioPage.tree.root, null);
    return gradioPage.listeners.map(one => ({
        id: one.id, name: one.api_name, asks: one.backend_fn && !leaves.includes(one.id),
        after: one.trigger_after ?? null,
        target: one.targets.find(([id]) => id !== null) ?? null,
        outputs: one.outputs.filter(id => canChange(id) && !leads.includes(id)),
        inspected: one.outputs.find(id => types.get(id)?.props.elem_classes?.includes('inspected')) ?? null,
        tab: one.outputs.map(id => tabs.get(id)).find(Boolean) ?? null}));
}"""

# Changes components as a person does, and returns what they hold then, by their ids.
CHANGE = """async ids => {
    const named = new Map(gradioPage.client.config.components.map(one => [one.id, one])), chosen = {};
    for (const id of ids) {
        const {type} = named.get(id), {value, choices, multiselect, minimum, maximum, selected, open} =
            {...named.get(id).props, ...await gradioPage.tree.get_state(id)};
        const all = (choices ?? []).map(one => Array.isArray(one) ? one[1] : one);
        const others = all.filter(one => multiselect ? !value?.includes(one) : one !== value);
        const given = {
            textbox: () => ({value: `${value ?? ''} changed`}), checkbox: () => ({value: !value}),
            number: () => ({value: value > 1 ? value - 1 : (value ?? 0) + 1}),
            slider: () => ({value: value === minimum ? maximum : minimum}),
            tabs: () => ({selected}), accordion: () => ({open: !open}),
            radio: () => ({value: others[0] ?? value}),
            dropdown: () => ({value: multiselect ? others.slice(0, 1) : others[0] ?? value})}[type]();
        const event = {tabs: 'select', accordion: given.open ? 'expand' : 'collapse'}[type] ?? 'input';
        await gradioPage.tree.update_state(id, given, false);
        gradioPage.tell(id, event, type === 'tabs' ? {component_id: id} : null);
    }
}"""

HELD = """async ids => {
    const held = {};
    for (const id of ids) {
        const {value, selected, open} = await gradioPage.tree.get_state(id);
        held[id] = JSON.stringify(value ?? selected ?? open ?? null);
    }
    return held;
}"""


class Holder:
    """Holds the requests of one listener at a time."""

    def __init__(self, page):
        self.number = None
        self.held = []
        page.route(re.compile("/gradio_api/(run|queue/join)"), self.pass_on)

    def pass_on(self, route):
        asked = json.loads(route.request.post_data or "{}").get("fn_index")
        if asked == self.number:
            self.held.append(route)
        else:
            route.continue_()

    def let_go(self):
        self.number = None
        while self.held:
            self.held.pop().continue_()


def reach(page):
    """Serve Gradio's script so that a test reaches into it."""

    def changed(route):
        answer = route.fetch()
        text, count = re.subn(*REACHED, answer.text())
        assert count == 1, "Gradio's script is not as it was tried"
        route.fulfill(response=answer, body=text)

    page.route(re.compile(r"/assets/core-.*\.js"), changed)


def root(listener, every):
    """The listener after which, by others or directly, this one runs; itself where it
    listens to an event."""
    while listener["after"] is not None:
        listener = every[listener["after"]]
    return listener


# Events of which several listeners wait while they are answered: [[id, name], their
# names].
SHARED = """() => {
    const waiting = new Map();
    for (const one of gradioPage.listeners.filter(one => one.backend_fn && one.trigger_mode === 'always_last'))
        for (const target of one.targets.filter(([id]) => id !== null)) {
            const key = JSON.stringify(target);
            waiting.set(key, [...waiting.get(key) ?? [], one.api_name]);
        }
    return [...waiting].filter(([, names]) => names.length > 1).map(([key, names]) => [JSON.parse(key), names]);
}"""


def test_listeners_of_an_event_that_comes_again_do_not_call_each_other_for_ever(visit):
    page = visit("/?tab=attention", before=reach)
    asked = []
    events = page.evaluate(SHARED)
    assert len(events) > 3
    names = {one["id"]: one["name"] for one in page.evaluate(LISTENERS)}
    page.on(
        "request",
        lambda request: (
            asked.append(names.get((request.post_data_json or {}).get("fn_index")))
            if request.method == "POST"
            else None
        ),
    )
    for (component, event), listeners in events:
        asked.clear()
        page.evaluate(
            "([id, name]) => { for (const i of [1, 2]) gradioPage.tell(id, name, null); }",
            [component, event],
        )
        idle(page)
        assert all(asked.count(name) <= 2 for name in listeners), (
            f"{asked} after two of {event}"
        )


@pytest.mark.night
@pytest.mark.parametrize("tab", [module.ID for module in TABS])
def test_a_late_answer_of_any_listener_undoes_nothing(visit, tab):
    """Each answer is held back, what it sets is changed as by a person, and the answer
    is let go.

    Those that stand in no tab are asked on the first. `unheard`: listeners that did not
    ask the server. What a listener listens to is not changed: it would be asked again,
    and rightly have the last word. Nor is which translation is looked into, where those
    of a new sentence are offered: what was chosen among the old ones ends.
    """
    page = visit(f"/?tab={tab}", before=reach)
    holder = Holder(page)
    undone = {}
    reached = []
    unheard = []
    every = {one["id"]: one for one in page.evaluate(LISTENERS)}
    for listener in every.values():
        target = root(listener, every)["target"]
        here = (listener["tab"] or TABS[0].ID) == tab
        if (
            not (here and listener["asks"] and listener["outputs"])
            or target is None
            or target[1] == "load"
        ):
            continue
        name = listener["name"]
        holder.number = listener["id"]
        renewed = listener["inspected"] if name.startswith("offer") else None
        outputs = [
            one for one in listener["outputs"] if one not in (target[0], renewed)
        ]
        page.evaluate("([id, name]) => gradioPage.tell(id, name, null)", target)
        steady(page, name)
        if holder.held:
            page.evaluate(CHANGE, outputs)
            steady(page, name)
            before = page.evaluate(HELD, outputs)
            holder.let_go()
            idle(page)
            after = page.evaluate(HELD, outputs)
            reached.append(name)
            if before != after:
                undone[name] = {
                    key: (before[key], after[key])
                    for key in before
                    if before[key] != after[key]
                }
        else:
            unheard.append(name)
    print(json.dumps({"reached": reached, "unheard": unheard}))
    assert reached
    assert not undone
