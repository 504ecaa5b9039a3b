// Fetches what a tab, or a further sheet of one, holds when it is opened: both are called tabs here. The page comes
// with its frame and the first sheet of its first tab (xformer/ui/server/delivery.py); until another comes, `absent` of
// gradio_tree.js has what stands for its components: listeners of the page read values there, and set them, and the tab
// comes with what was set. What is never seen has that alone.
import {absent} from './gradio_tree.js';
import {attemptUntilDone} from './shared.js';
import {begin, end} from './waiting.js';

const STEADY = 4;  // frames; components are laid out one after the other, some of them a few frames later
const BRING = -1;  // the id of a listener of the browser that has Gradio's page take up a tab
const ofMissed = id => -2 - id;  // the component by which a listener that was missed is run

let deferred = {};  // by the id of a tab that has not been asked for: where it is fetched
let outer = {};  // by the id of a sheet, the tab that it stands in, where that comes later too
const coming = new Map();  // by its id, a promise that a tab is there
const fetched = new Map();  // by its id, a promise of what a tab holds
const laying = new Set();  // those that come, until they are laid out
const waiting = new Map();  // by its id, what is done when Gradio's page has taken a tab up
const told = new Map();  // by its id, the events [id, name, data] of a tab's components that came too early
const missed = new Map();  // by its id, the listeners of the page that only set something in a tab
const tabOf = new Map();  // by the id of a component that has not come, the id of its tab
let listeners = [];  // all that Gradio's page knows
let known = {};  // what Gradio's client knows of the page: {components, dependencies}
let tell = () => {};  // tells Gradio's page an event
let arrival = null;  // the id of the listener that sets the page to its address
let arrived = () => {};
let whenArrived = Promise.resolve();

// Begins, with the configuration of the page, that of Gradio's client, and the page's listeners; those that this script
// needs are added to them. dispatch: tells Gradio's page an event.
export function defer({tabs = {}, absent: held = {}, within = {}, unseen = []}, config, dependencies, dispatch) {
  deferred = {...tabs};
  outer = within;
  known = config;
  listeners = dependencies;
  tell = dispatch;
  for (const [tab, standIns] of Object.entries(held)) {
    told.set(tab, []);
    missed.set(tab, new Set());
    for (const standIn of standIns) {
      tabOf.set(standIn[0], tab);
      stand(standIn);
    }
  }
  unseen.forEach(stand);
  arrival = dependencies.find(one => one.backend_fn && one.targets.some(([, event]) => event === 'load'))?.id ?? null;
  if (arrival !== null) whenArrived = new Promise(done => { arrived = done; });
  dependencies.forEach(noteMissed);
  if (!Object.keys(tabs).length) return;
  dependencies.push({
    id: BRING, targets: [[BRING, 'bring']], inputs: [], outputs: [], backend_fn: true, js: null, api_name: null,
    api_visibility: 'private', connection: 'sse', show_progress: 'hidden', cancels: [], trigger_mode: 'multiple',
  });
  // Who points at a tab, or comes with its address, will open it.
  for (const [key, value] of new URLSearchParams(location.search)) if (/^tab$|_part$/.test(key)) fetchTab(value);
  for (const event of ['pointerover', 'focusin']) {
    document.addEventListener(event, ({target}) => {
      fetchTab(target.closest?.('[role=tab]')?.dataset.tabId);
      fetchTab(target.closest?.('.sheets label')?.querySelector('input').value);
    });
  }
}

// Has something stand for a component.
function stand([id, type, value, isOpen]) {
  // What is set becomes its own. `component`: Gradio's page does not look for one.
  const props = {props: Object.create({value, open: isOpen}), shared_props: {}};
  absent.set(id, {id, type, children: [], component: true, props});
}

// Lets a listener that only sets something in a tab that is not there be run when it is.
function noteMissed(one) {
  if (one.backend_fn && tabOfAll(one.outputs)) one.targets.push([ofMissed(one.id), 'missed']);
}

function fetchTab(tab) {
  if (!Object.hasOwn(deferred, tab) || fetched.has(tab)) return;
  const holds = fetch(new URL(deferred[tab], document.baseURI)).then(async reply => {
    if (!reply.ok) throw new Error(`${reply.status} ${reply.url}`);
    const held = await reply.json();
    await Promise.all((held.files ?? []).map(fetchFile));
    return held;
  });
  holds.catch(() => fetched.delete(tab));  // it is tried again when it is asked for again
  fetched.set(tab, holds);
}

// Fetches a file of Gradio's, so that what a tab holds is laid out at once, and nothing moves when the rest comes.
function fetchFile(name) {
  const address = new URL(`assets/${name}`, document.baseURI).href;
  if (name.endsWith('.js')) return import(address).catch(() => {});
  const link = Object.assign(document.createElement('link'), {rel: 'stylesheet', href: address});
  return new Promise(done => {
    link.onload = link.onerror = done;
    document.head.append(link);
  });
}

// Notes that a listener was answered: the one that sets the page to its address has set what stands for components.
export const noteAnswered = id => id === arrival && arrived();

// Calls a function when no more is laid out: when some frames in a row have as many elements.
function whenSteady(call, before = -1, left = STEADY) {
  requestAnimationFrame(() => {
    const now = document.getElementsByTagName('*').length;
    if (now === before && !left) call();
    else whenSteady(call, now, now === before ? left - 1 : STEADY);
  });
}

// Brings a tab, if it is not there yet; -> a promise that it is.
export function bring(tab) {
  if (tab in deferred && !coming.has(tab)) {
    const request = `tab ${tab}`;
    begin(request, request);
    const there = new Promise((resolve, reject) => waiting.set(tab, {resolve, reject}));
    coming.set(tab, there);
    laying.add(tab);
    const settle = () => {
      laying.delete(tab);
      uncover(tab);
      end(request);
    };
    there.then(() => whenSteady(settle), () => {
      coming.delete(tab);
      settle();
    });
    fetchTab(tab);
    // A sheet is taken up after the tab that it stands in.
    Promise.resolve(bring(outer[tab])).then(() => tell(BRING, 'bring', tab), waiting.get(tab).reject);
  }
  return coming.get(tab);
}

// Brings a tab that is open, as often as a visitor tries; -> whether it is there: false where another is opened
// instead.
export async function brought(tab) {
  for (;;) {
    try {
      await bring(tab);
      return true;
    } catch {
      if (!await triesAgain()) return false;
    }
  }
}

// Says in the open tab that it could not be fetched; -> a promise that its button is pressed, or false if it is left.
const triesAgain = () => new Promise(done => {
  const isSeen = one => one.closest('.sheet, [role=tabpanel]').checkVisibility();
  attemptUntilDone(() => {
    const said = [...document.querySelectorAll('.laying [role=alert]')].find(isSeen);
    if (!said) return false;
    const [button] = said.getElementsByTagName('button'), left = new ResizeObserver(() => isSeen(said) || leave(false));
    const leave = tries => {
      left.disconnect();
      said.hidden = true;
      done(tries);
    };
    said.hidden = false;
    button.onclick = () => leave(true);
    left.observe(said);
    return true;
  }, () => done(false));
});

// Which tab all components have that have not come; undefined where some are there, or there are none.
function tabOfAll(ids) {
  const tabs = new Set(ids.map(id => absent.has(id) ? tabOf.get(id) : undefined));
  return tabs.size === 1 ? [...tabs][0] : undefined;
}

// Notes an event of a component that has not come yet.
export function noteEvent(id, name, data) {
  if (absent.has(id)) told.get(tabOf.get(id))?.push([id, name, data]);
}

const nothing = async () => ({done: true, value: undefined});

// The answers to a listener that need not be asked for at the server, as Gradio's client gives them; undefined for
// others. data: of the event.
export function answersHere({id, outputs} = {}, data) {
  const tab = id === BRING ? data : tabOfAll(outputs ?? []);
  if (id === BRING) return taken(tab);
  if (!tab) return undefined;
  missed.get(tab).add(id);
  return answers(nothing, nothing);
}

const answers = (next, leave) => ({
  next, return: leave, throw: leave, cancel: nothing, close_stream() {}, [Symbol.asyncIterator]() { return this; },
});

// What Gradio's page gets for a tab: an answer by which it takes the tab up. When it leaves the answers, it has.
function taken(tab) {
  const next = async () => {
    try {
      const [held] = await Promise.all([fetched.get(tab), whenArrived]);
      const data = {render_id: `tab ${tab}`, ...prepared(held)};
      cover(tab);
      return {done: false, value: {type: 'render', data}};
    } catch (error) {
      waiting.get(tab).reject(error);
      return nothing();
    }
  };
  const leave = async () => {
    delete deferred[tab];
    waiting.get(tab).resolve();
    makeUp(tab);
    return nothing();
  };
  return answers(next, leave);
}

// Keeps the frames of a tab in sight while what it holds is laid out.
function cover(tab) {
  const stands = document.getElementById(`laying-${tab}`), panel = stands?.closest('.sheet, [role=tabpanel]');
  if (!panel) return;
  const copy = Object.assign(stands.cloneNode(true), {id: ''});
  copy.classList.add('coming');
  panel.append(copy);
  panel.dataset.comes = tab;
}

// Shows a tab that is laid out; one in which a sheet comes is shown with that.
function uncover(tab) {
  if (laying.has(tab) || [...laying].some(one => outer[one] === tab)) return;
  if (tab in outer) uncover(outer[tab]);
  const panel = document.querySelector(`[data-comes="${tab}"]`);
  panel?.querySelector(':scope > .coming')?.remove();
  panel?.removeAttribute('data-comes');
}

// What a tab holds, with what was set since in the components that stood for its own.
function prepared({components, layout, dependencies}) {
  for (const {id, props} of components) {
    const {props: own, shared_props: shared} = absent.get(id)?.props ?? {};
    const {loading_status: _, ...set} = {...own, ...shared};
    Object.assign(props, set);
    absent.delete(id);
  }
  const add = (more, list) => list.push(...more.filter(one => !list.some(({id}) => id === one.id)));
  dependencies.filter(one => !listeners.some(({id}) => id === one.id)).forEach(noteMissed);
  add(dependencies, listeners);
  add(dependencies, known.dependencies);
  add(components, known.components);
  return {components, layout, dependencies};
}

// Does what would have been done, had a tab been there: the listeners that were missed, unless one before them in a
// chain was, and those of its own components' events.
function makeUp(tab) {
  const ids = missed.get(tab), after = new Map(listeners.map(one => [one.id, one.trigger_after]));
  for (const id of ids) if (!ids.has(after.get(id))) tell(ofMissed(id), 'missed', null);
  for (const event of told.get(tab)) tell(...event);
}
