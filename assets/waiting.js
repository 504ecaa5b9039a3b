// What the page waits for, and how it says so. Until a picture is there, its frame stands in its place (`framed`,
// declared with the picture; xformer/ui/frames.py); a picture that is drawn anew is greyed meanwhile, from the first of
// the requests that lead to it. After half a second the page says what is computed, after two how far it is, where that
// is told.
import {state, whenSettled} from './state.js';

// milliseconds after which a picture is greyed, what is computed is said, and how far it is
const GREY = 300, WORDS = 500, FAR = 2000;
// milliseconds between two looks: while what was asked for may be laid out yet, and then
const SOON = 50, AGAIN = 1000;
const STILL = 12;  // frames in which nothing is waited for, until all that was asked for is taken for drawn
const LONGEST = 4000;  // milliseconds for which that is awaited
const LEAST = 40;  // pixels: the height of a frame that has room for words
const NEXT = 3;  // frames in which the next request begins, where one leads to another

// By the number of a request: {since, ids, later, far}; ids: of the components it has not answered; later: of those
// that requests after it will draw.
const asked = new Map();
const led = new Map();  // by the id of a component that a request has led to, since when; until the next request begins
const shown = new Map();  // by the id of a component that was answered, whether it shows something
const ready = new Set();  // the ids of the components that a script has drawn as the answer will
const marked = new Set();  // the elements that are marked as waiting
let config = {components: [], dependencies: []};  // what Gradio's client knows of the page; a tab that comes adds to it
let timer = 0, frame = 0, patience = 0;

const blockOf = id => document.getElementById(`frame-${id}`);
const idOf = block => Number(block.id.slice(6));
const nameOf = block => known().components.get(idOf(block))?.props.label;
const isShown = id => shown.get(id) ?? Boolean(known().components.get(id)?.props.value);

// Begins, with what Gradio's client knows of the page: while that opens, all that is not drawn yet is waited for; and
// then what is brought into sight and is drawn without being asked for.
export function follow(page) {
  config = {components: [], dependencies: [], ...page};
  whenSettled(look);
  look();
  new MutationObserver(changes => {
    if (state.settled && changes.some(({addedNodes}) => [...addedNodes].some(holdsFrame))) look();
  }).observe(document.body, {childList: true, subtree: true});
}

const holdsFrame = node => node.nodeType === 1 && (node.matches('.framed') || node.querySelector('.framed') !== null);

let read = null;  // of the page, as `known` gives it

// What the page knows: its components by their ids; next: by the id of a listener those that begin when it is answered;
// bySelf: the ids of what is drawn without being asked for; byFold: of what is drawn when a fold opens; followers: for
// `leadsTo`.
function known() {
  const {components, dependencies} = config, size = components.length + dependencies.length;
  if (read?.size === size) return read;
  read = {size, components: new Map(components.map(one => [one.id, one])), next: new Map(), bySelf: new Set(),
    byFold: new Set(), followers: new Map()};
  // What nobody sees, such as a state: when a request sets it, others begin by themselves. It is not laid out either.
  const isHidden = id => {
    const {type, props} = read.components.get(id) ?? {};
    return !props || type === 'state' || props.visible === false;
  };
  const begunBy = new Map();  // by the id of such a component, the listeners of its change
  const add = (map, key, one) => map.set(key, [...map.get(key) ?? [], one]);
  for (const one of dependencies) {
    const unseen = one.targets.filter(([id, event]) => event === 'change' && isHidden(id));
    for (const [id] of unseen) add(begunBy, id, one);
    if (unseen.length && one.backend_fn) for (const id of one.outputs) read.bySelf.add(id);
  }
  for (const {id, outputs} of dependencies)
    for (const output of outputs) for (const one of begunBy.get(output) ?? []) add(read.next, id, one);
  for (const one of dependencies) if (one.trigger_after !== null) add(read.next, one.trigger_after, one);
  for (const {id, targets} of dependencies)
    if (targets.some(([, event]) => event === 'expand')) for (const one of leadsTo(id)) read.byFold.add(one);
  return read;
}

// The ids of the components that are drawn after a listener was answered, by all those to which that leads.
export function leadsTo(listener) {
  const {next, followers} = known();
  if (!followers.has(listener)) {
    const reached = new Set(next.get(listener));
    for (const {id} of reached) for (const one of next.get(id) ?? []) reached.add(one);
    const asking = [...reached].filter(one => one.backend_fn);
    followers.set(listener, new Set(asking.flatMap(one => one.outputs)));
  }
  return followers.get(listener);
}

// Whether a component was not drawn yet, and is drawn without being asked for: when its part is opened or, inside a
// fold, when that is.
function isToCome(id) {
  if (shown.has(id) || isShown(id)) return false;
  const {bySelf, byFold} = known(), isFolded = blockOf(id)?.parentElement.closest('.block');
  return (isFolded ? byFold : bySelf).has(id);
}

// Notes that something is asked. number: of the request; name: what the tests call it; outputs: the ids of the
// components that its answer may set; listener: its id, where it is one of Gradio's.
export function begin(number, name, outputs = [], listener = null) {
  state.waiting.requests.set(number, name);
  const later = new Set(listener === null ? [] : leadsTo(listener)), ids = new Set(outputs);
  const before = [...ids, ...later].map(id => led.get(id) ?? Infinity);
  for (const id of [...ids, ...later]) led.delete(id);
  asked.set(number, {since: Math.min(performance.now(), ...before), ids, later, far: ''});
  look();
}

// Notes what an answer has drawn; a component that it leaves alone may be drawn by the next step. A line of text may
// have nothing to say.
export function drawn(number, outputs, data) {
  outputs.forEach((id, i) => {
    const output = data[i], isUpdate = output?.__type__ === 'update';
    if (output === undefined || isUpdate && !('value' in output)) return;
    const value = isUpdate ? output.value : output;
    const isEmpty = value === null || value === '' && !blockOf(id)?.matches('.frame-text');
    shown.set(id, !isEmpty);
    ready.delete(id);
    asked.get(number)?.ids.delete(id);
    asked.get(number)?.later.delete(id);
  });
  look();
}

// Notes that a script has drawn in a component what was asked for, before the answer.
export function drawnHere(element) {
  const block = element.closest('.block.framed');
  if (block) ready.add(idOf(block));
}

// Notes how far the answer to a request is. steps: [{index, length}, …] as Gradio tells it, the innermost last.
export function progress(number, steps) {
  const step = steps?.at(-1), request = asked.get(number);
  if (!request || !step?.length) return;
  const {far} = document.querySelector('h1').dataset;
  request.far = far.replace('{done}', step.index ?? 0).replace('{of}', step.length);
}

// Notes that a request is answered, or was broken off.
export function end(number) {
  state.waiting.requests.delete(number);
  const {since, ids, later} = asked.get(number) ?? {};
  asked.delete(number);
  for (const id of ids ?? []) if (isToCome(id) && blockOf(id)?.checkVisibility()) shown.set(id, false);
  for (const id of later ?? []) if (isShown(id) && !ready.has(id) && blockOf(id)) led.set(id, since);
  if (led.size) whenNext(() => {
    for (const id of later ?? []) led.delete(id);
    look();
  });
  if (!asked.size) ready.clear();
  look();
}

// Calls a function when the next request would have begun.
function whenNext(call, left = NEXT) {
  if (left) requestAnimationFrame(() => whenNext(call, left - 1));
  else call();
}

// The elements that wait, each with the oldest request for it.
function waits() {
  const found = new Map();
  const note = (block, request) => {
    if (block && !(found.get(block)?.since <= request.since)) found.set(block, request);
  };
  for (const request of asked.values()) {
    for (const id of request.ids) if (!ready.has(id)) note(blockOf(id), request);
    for (const id of request.later) if (!ready.has(id) && (isShown(id) || isToCome(id))) note(blockOf(id), request);
  }
  for (const [id, since] of led) note(blockOf(id), {since, far: ''});
  for (const block of document.getElementsByClassName('framed')) {
    const id = idOf(block);
    if (state.settled ? isToCome(id) : !isShown(id)) note(block, {since: state.settled ? Infinity : 0, far: ''});
  }
  return found;
}

// The milliseconds to the next moment at which something is to be marked or said.
function untilNext(found, now) {
  const moments = [...found.values()].flatMap(({since}) => [since + GREY, since + WORDS, since + FAR]);
  const isYoung = [...asked.values()].some(({since}) => now - since < WORDS);
  return Math.min(isYoung ? SOON : AGAIN, ...moments.map(moment => moment - now).filter(left => left > 0));
}

// Marks what waits, and says it; again while anything does.
function look() {
  clearTimeout(timer);
  const now = performance.now(), found = waits();
  for (const block of marked) if (!found.has(block)) unmark(block);
  for (const [block, {since}] of found) {
    const how = !isShown(idOf(block)) ? 'frame' : now - since >= GREY ? 'old' : '';
    if (how) block.dataset.waits = how;
    marked.add(block);
  }
  cancelAnimationFrame(frame);
  const long = [...found].filter(([, {since}]) => now - since >= WORDS);
  const hasRoom = ([block]) => block.offsetHeight > LEAST;
  // Which has room is asked in a frame, when all is laid out: at once, the page is laid out for each answer.
  if (long.length) frame = requestAnimationFrame(() => say(long.find(hasRoom), now));
  else say();
  clearTimeout(patience);
  const isLeft = ([block, {since}]) => since === Infinity && block.checkVisibility();
  if (state.settled && !asked.size && [...found].some(isLeft)) patience = setTimeout(giveUp, WORDS);
  document.body.classList.toggle('waits', asked.size > 0 || !state.settled);
  if (asked.size || !state.settled) timer = setTimeout(look, untilNext(found, now));
}

// Takes away the frames of what is in sight, as nobody has asked for it.
function giveUp() {
  for (const block of marked) if (isToCome(idOf(block)) && block.checkVisibility()) shown.set(idOf(block), false);
  look();
}

function unmark(block) {
  delete block.dataset.waits;
  marked.delete(block);
}

let said = null;  // the element in which it is said

// Says what is computed, in the first place that has room: to be seen there, and for a screen reader.
function say([block, {since, far} = {}] = [], now = 0) {
  if (said && said !== block) delete said.dataset.said;
  said = block ?? null;
  const {computing} = document.querySelector('h1')?.dataset ?? {};
  if (!computing) return;
  const words = block ? computing.replace('{name}', nameOf(block)) : '';
  if (block) block.dataset.said = far && now - since >= FAR ? `${words} ${far}` : words;
  const line = document.querySelector('.bar .waits');
  if (line && line.textContent !== words) line.textContent = words;
}

// Lets the page take the place of what opening.js showed: when the sheet that is open is that of the address, or all is
// done; where the address names a part, which is opened then and brought into sight, when that is drawn.
export function uncover(sheet) {
  const opening = document.querySelector('.opening');
  if (!opening) return;
  if (location.hash.length > 1) whenSettled(() => whenStill(() => opening.remove()));
  else if (opening.dataset.sheet === sheet) opening.remove();
  else whenSettled(() => opening.remove());
}

// Calls a function when nothing has been waited for for some frames, or it has taken too long.
function whenStill(call, left = STILL, until = performance.now() + LONGEST) {
  const {requests, scripts} = state.waiting, isStill = !requests.size && !scripts;
  if (!left || performance.now() > until) return call();
  requestAnimationFrame(() => whenStill(call, isStill ? left - 1 : STILL, until));
}
