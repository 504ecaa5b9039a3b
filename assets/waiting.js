// What the page waits for, and how it says so. Until a picture is there, its frame stands in its place (`framed`,
// declared with the picture; xformer/ui/frames.py); a picture that is drawn anew is greyed meanwhile. After half a
// second the page says what is computed, after two how far it is, where that is told.
import {state, whenSettled} from './state.js';

// milliseconds after which a picture is greyed, what is computed is said, and how far it is
const GREY = 300, WORDS = 500, FAR = 2000;
const SOON = 50, AGAIN = 500;  // milliseconds between two looks: while what was asked for may be laid out yet, and then
const STILL = 12;  // frames in which nothing is waited for, until all that was asked for is taken for drawn
const LONGEST = 4000;  // milliseconds for which that is awaited
const LEAST = 40;  // pixels: the height of a frame that has room for words

const asked = new Map();  // by the number of a request: {since, ids, far}; ids: of the components it has not answered
const shown = new Set();  // the ids of the components that show something
const ready = new Set();  // the ids of the components that a script has drawn as the answer will
const marked = new Set();  // the elements that are marked as waiting
let config = {components: []};  // what Gradio's client knows of the page
let timer = 0, frame = 0;

const blockOf = id => document.getElementById(`frame-${id}`);
const idOf = block => Number(block.id.slice(6));
const nameOf = block => config.components.find(({id}) => id === idOf(block))?.props.label;

// Begins, with what Gradio's client knows of the page: while that opens, all that is not drawn yet is waited for.
export function follow(known) {
  config = known;
  whenSettled(look);
  look();
}

// Notes that something is asked. number: of the request; name: what the tests call it; outputs: the ids of the
// components that its answer may set.
export function begin(number, name, outputs = []) {
  state.waiting.requests.set(number, name);
  asked.set(number, {since: performance.now(), ids: new Set(outputs), far: ''});
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
    shown[isEmpty ? 'delete' : 'add'](id);
    ready.delete(id);
    asked.get(number)?.ids.delete(id);
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
  asked.delete(number);
  if (!asked.size) ready.clear();
  look();
}

// The elements that wait, each with the oldest request for it.
function waits() {
  const found = new Map();
  const note = (block, request) => {
    if (block && !(found.get(block)?.since <= request.since)) found.set(block, request);
  };
  for (const request of asked.values()) for (const id of request.ids)
    if (!ready.has(id)) note(blockOf(id), request);
  if (!state.settled)
    for (const block of document.querySelectorAll('.block.framed'))
      if (!shown.has(idOf(block))) note(block, {since: 0, far: ''});
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
    const how = !shown.has(idOf(block)) ? 'frame' : now - since >= GREY ? 'old' : '';
    if (how) block.dataset.waits = how;
    marked.add(block);
  }
  cancelAnimationFrame(frame);
  const long = [...found].filter(([, {since}]) => now - since >= WORDS);
  const hasRoom = ([block]) => block.offsetHeight > LEAST;
  // Which has room is asked in a frame, when all is laid out: at once, the page is laid out for each answer.
  if (long.length) frame = requestAnimationFrame(() => say(long.find(hasRoom), now));
  else say();
  document.body.classList.toggle('waits', asked.size > 0 || !state.settled);
  if (asked.size || !state.settled) timer = setTimeout(look, untilNext(found, now));
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
