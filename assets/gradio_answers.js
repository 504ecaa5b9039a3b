// What Gradio's page asks its server, and what becomes of the answers. xformer/ui/server/gradio_private.py has Gradio's
// script call `attend` when it makes the tree of components.
//
// An answer is of the moment in which it was asked for. Where a person has changed a component since, that component
// keeps what the person chose; the rest of the answer is shown. An answer that comes while a person presses something
// is shown when it is let go, so that no click is lost.
import {answersHere, defer, noteAnswered, noteEvent} from './gradio_tabs.js';
import {begin, drawn, end, follow, progress} from './waiting.js';

const LONGEST_PRESS = 500;  // milliseconds; what is held down for longer, or dragged, is drawn over
const DRAGGED = 4;  // pixels
const VALUES = ['value', 'selected', 'open'];  // the properties that a person changes

let moment = 0;  // counts requests and changes, in their order
const changed = new Map();  // by a component's id, the moment in which a person changed it last
const gone = Symbol('nothing is left of an update');

// What is left of an output for a component that a person has changed: other properties of an update; or nothing, which
// Gradio leaves alone.
function besidesValue(output) {
  if (output?.__type__ !== 'update') return gone;
  const left = Object.entries(output).filter(([name]) => !VALUES.includes(name));
  return left.length > 1 ? Object.fromEntries(left) : gone;
}

// The outputs of an answer to what was asked in a moment, without what would undo a later change.
export function withoutUndoing(outputs, data, asked) {
  return data.map((output, i) => {
    if ((changed.get(outputs[i]) ?? 0) <= asked) return output;
    const left = besidesValue(output);
    return left === gone ? undefined : left;
  });
}

let pressed = null;  // a promise that something that is pressed was let go

function press({clientX, clientY}) {
  let letGo;
  pressed = new Promise(done => { letGo = done; });
  const ended = new AbortController();
  const finish = () => {
    ended.abort();
    pressed = null;
    letGo();
  };
  const timer = setTimeout(finish, LONGEST_PRESS), how = {capture: true, signal: ended.signal};
  ended.signal.addEventListener('abort', () => clearTimeout(timer));
  // The click comes right after.
  for (const name of ['pointerup', 'pointercancel']) window.addEventListener(name, () => setTimeout(finish), how);
  window.addEventListener('pointermove', event => {
    if (Math.hypot(event.clientX - clientX, event.clientY - clientY) > DRAGGED) finish();
  }, how);
}

window.addEventListener('pointerdown', press, true);

// What was written last into a field, until its component tells the change: gradio's Textbox tells no "input" where a
// text is pasted, deleted, or written with a phone's keyboard.
let written = null;

window.addEventListener('input', ({target}) => { written = target.value; }, true);

const begun = new Set();  // by their ids, listeners that ask when the moment is over in which something has changed

// Whether a listener need not ask for one more change: it asks at the end of the moment, for all of that moment, which
// an address makes of several controls and of the part that it opens; or, where it was asked meanwhile, in `queue`,
// after the answer in `submissions`.
async function joins(id, submissions, queue) {
  if (begun.has(id)) return true;
  begun.add(id);
  await new Promise(done => setTimeout(done));
  begun.delete(id);
  if (submissions.has(id)) queue.add(id);
  return submissions.has(id);
}

// Whether two objects have the same entries.
const isSame = (one, other) =>
  Object.keys({...one, ...other}).every(name => one[name] === other?.[name]);

// `news(statuses)`: of the statuses of components, {id: {status, …}}, those that a component was not told yet, as
// [[id, status], …].
function untold() {
  const told = new Map();
  return statuses => {
    const found = Object.entries(statuses).filter(([id, one]) => !isSame(one, told.get(id)));
    for (const [id, one] of found) told.set(id, one);
    return found;
  };
}

// Lets answers through as this page needs them. client: asks the server by `submit`; dispatch: what components tell
// their events; dependencies: the listeners [{id, targets: [[id, event], …], outputs: [id, …],
// js, backend_fn, api_name}, …]. -> what components tell their events from now on.
export function attend(client, dispatch, dependencies) {
  follow(client.config);
  defer(globalThis.gradio_config ?? {}, client.config, dependencies, dispatch);
  const listenerOf = id => dependencies.find(one => one.id === id);
  // The components that a listener of the browser sets at once, by an event.
  const setBy = (id, name) => dependencies.findLast(({targets, js, backend_fn: asks}) =>
    js && !asks && targets.some(([target, event]) => target === id && event === name))?.outputs ?? [];

  // What a person has changed, where an event tells of a person. "change" and most others tell of changes by the page
  // too, and so does "select" of one tab: that of all tabs, which names the tab, does not.
  function byPerson(id, name, data) {
    if (['input', 'expand', 'collapse'].includes(name)) return [id, ...setBy(id, name)];
    if (name === 'change' && typeof data === 'string' && data === written) {
      written = null;
      return [id];
    }
    if (name === 'choose') return setBy(id, name);
    if (name === 'select' && data?.component_id) return [id, ...setBy(data.component_id, name)];
    return [];
  }

  client.joins = joins;
  client.news = untold();
  const submit = client.submit.bind(client);

  client.submit = (id, data, event, trigger, all, headers) => {
    const listener = listenerOf(id), here = answersHere(listener, event);
    if (here) return here;
    const asked = ++moment;
    const answers = submit(id, data, event, trigger, all, {...headers, 'X-Asked': asked});  // they may change places
    if (!listener) return answers;  // of the API's page
    const {next, return: leave} = answers;
    const done = () => {
      end(asked);
      noteAnswered(id);
    };
    begin(asked, listener.api_name || String(id), listener.outputs, id);
    answers.next = async () => {
      const step = await next().catch(error => {
        done();
        throw error;
      });
      if (step.done) done();
      if (step.value?.type === 'data') {
        if (pressed) await pressed;
        step.value.data = withoutUndoing(listener.outputs, step.value.data, asked);
        drawn(asked, listener.outputs, step.value.data);
      } else progress(asked, step.value?.progress_data);
      return step;
    };
    answers.return = (...value) => {
      done();
      return leave(...value);
    };
    return answers;
  };

  return (id, name, data) => {
    moment++;
    for (const one of byPerson(id, name, data)) changed.set(one, moment);
    noteEvent(id, name, data);
    dispatch(id, name, data);
  };
}
