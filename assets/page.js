// Functions of the page's own listeners, which run in the browser and ask the server nothing. A listener names one by
// `script` in xformer/ui/components.py; it is called with the values of the listener's inputs, and returns those of the
// outputs.
import {showBarOf} from './bar.js';
import {brought} from './gradio_tabs.js';
import {lockText, setLock} from './lock.js';
import {project as projectPicture} from './projector.js';
import {state, tell} from './state.js';
import {uncover} from './waiting.js';

// Removes Gradio's <base>, which changes no link. With a <base>, Plotly names the gradient of a colour bar by the
// page's whole address, and loses it as soon as the address changes.
export function removeBase() {
  const base = document.querySelector('base');
  if (base && base.href === new URL('./', location.href).href) base.remove();
}

// The sheet that is open: that which is chosen in the open tab, or the tab's own. tabs: those in which one is chosen;
// chosen: in each.
export function sheetOf(tabs, tab, ...chosen) {
  return chosen[tabs.indexOf(tab)] ?? tab;
}

// Shows that a sheet is open: the bar is as that wants it, and the name of its tab scrolls into sight. ownFields: the
// sheets with a field of their own; tabs: that of each sheet.
export function tabOpened(ownFields, tabs, sheet) {
  const id = tabs[sheet];
  state.ownFields = ownFields;
  state.sheets[id] = sheet;
  state.choices = Object.keys(tabs).filter(one => tabs[one] !== one).map(one => `${tabs[one]}_part`);
  showBarOf(id);
  uncover(sheet);
  const tab = document.querySelector(`[role=tab][data-tab-id="${id}"]`);
  requestAnimationFrame(() => tab?.scrollIntoView({block: 'nearest', inline: 'center'}));  // when all is laid out
  document.title = `${tab?.textContent.trim()} · ${document.querySelector('h1').textContent}`;
}

// Notes whether what the page shows belongs to another sentence than the one asked for. shown: HTML.
export function noteFormer(shown) {
  document.body.dataset.former = shown.includes('class="old"');
}

// Counts one opening more for the sheet that is opened, when it is there. times: how often each sheet of `ids` was
// opened, as text.
export async function countOpening(ids, opened, ...times) {
  if (!await brought(opened)) return [];
  return ids.map((id, i) => id === opened ? String(Number(times[i]) + 1) : undefined);
}

// The same for the parts of the sheet `ofSheet`, of which one is in sight while that sheet is open.
export function countPartOpening(ids, ofSheet, sheet, part, ...times) {
  return ids.map((id, i) => sheet === ofSheet && id === part ? String(Number(times[i]) + 1) : undefined);
}

// The same for a part that is always in sight while its sheet is open.
export function countHere(ofSheet, sheet, times) {
  return sheet === ofSheet ? String(Number(times) + 1) : undefined;
}

// Shows one part of a tab in its column; ids: of all, in the order of their columns.
export function showPart(ids, part) {
  return ids.map(id => ({__type__: 'update', visible: id === part}));
}

// The same for a sheet, with the bar that it wants: that moves when what stands below it becomes another.
export function showSheet(ids, sheet) {
  const {tab} = document.querySelector('.bar').dataset;
  if (state.sheets[tab] === sheet) showBarOf(tab);
  return showPart(ids, sheet);
}

// Opens the page of another model, unless a further one was chosen meanwhile.
export function goTo(wanted, chosen) {
  const {name, query} = JSON.parse(wanted || '{}');
  if (query !== undefined && name === (chosen ?? '').trim()) location.search = query;
}

// Adds the address to what is chosen in the menu of models.
export function withAddress(chosen, name, sentence) {
  return [chosen, name, sentence, location.search];
}

// Writes what is on the page into its address, without a request or a jump. Another tab, sheet, sentence or step of a
// lesson is a step in the browser's history. While the page moves to an address, nothing is written: the page may move
// on, and the next address has to last until it is read. move: '' for a change; or the number of the move by which the
// page has come to what it shows: from now on, what changes is written, unless the page moves on. own: JSON of the
// longest value that is written, by key where it is longer, and by key the value that is left out; values: those of the
// controls, in the order of the keys.
export function write(move, own, ...values) {
  const arrives = move !== '';
  if (arrives ? Number(move) !== state.moves : !state.settled) return;
  const {longest, longer, left_out} = JSON.parse(own), query = new URLSearchParams();
  // Gradio's own keys, such as the theme, are kept.
  new URLSearchParams(location.search).forEach((value, key) => key.startsWith('__') && query.set(key, value));
  const written = value => typeof value === 'boolean' ? String(Number(value)) : String(value ?? '');
  Object.entries(left_out).forEach(([key, usual], i) => {
    const value = written(values[i]);
    if (value !== '' && value.length <= (longer[key] ?? longest) && value !== usual) query.set(key, value);
  });
  const former = new URLSearchParams(location.search);
  // A change of a tab that was left by Back since is not written.
  if (!arrives && state.returning && former.get('tab') !== query.get('tab')) return;
  state.returning = false;
  const isOther = key => former.has(key) && former.get(key) !== query.get(key);
  const isOtherSheet = key => former.has('tab') && key in left_out &&
    (former.get(key) ?? left_out[key]) !== (query.get(key) ?? left_out[key]);
  const step = !arrives && (['tab', 'text', 'lesson'].some(isOther) || state.choices.some(isOtherSheet));
  const hash = step ? '' : location.hash;  // of a part of what is shown
  history[step ? 'pushState' : 'replaceState'](null, '', `${location.pathname}?${query}${hash}`);
  state.writtenAddress = location.search;
  tell('addresschange');
  if (!arrives) return;
  state.settled = true;
  tell('settled');
}

// Tells the Hub the query of the page's address. On a Space the page stands in a frame of the Hub, and a visitor passes
// on the Hub's address: huggingface.co/docs/hub/spaces-handle-url-parameters. No other site that frames the page is
// told. The keys that the Hub adds are left out: __theme, and __sign, which lets anybody into a private Space.
export function tellHub() {
  if (parent === window) return;
  let told;
  const post = () => {
    const shown = [...new URLSearchParams(location.search)].filter(([key]) => !key.startsWith('__'));
    const queryString = new URLSearchParams(shown).toString();
    if (!state.settled || queryString === told) return;
    parent.postMessage({queryString, hash: location.hash}, 'https://huggingface.co');
    told = queryString;
  };
  window.addEventListener('addresschange', post);
  window.addEventListener('settled', post);
}

// The address that the page moves to, and the number of the move.
export function addressOf() {
  return [location.search, String(state.moves)];
}

// Asks for the grid again where something else was chosen before it came; or where it marks a head of other maps than
// those that have come, whose answer was of before a head was chosen.
export function askAgain(grid, again, ...chosen) {
  if (!grid?.about) return again;
  const [pass, ...shown] = grid.about;
  state.newestPass = Math.max(pass, state.newestPass);
  if (grid.data) state.shownMaps = grid.of;
  const isLate = pass < state.newestPass || shown.join() !== chosen.join() || grid.of !== state.shownMaps;
  return isLate ? [state.newestPass, ...chosen].join() : again;
}

// The name of a head, such as cross.1.2: one text, because stack, layer and head change one after the other.
export function headName(...where) {
  return where.join('.');
}

// The locked words, as text, to which the page's lock is set.
export function lockedWords() {
  return state.toldLock = lockText();
}

// What the picture of the whole pass shows: a step, the layer that is open, and the locked words.
export function shownPass() {
  return [...state.shownPass, lockedWords()];
}

// The frame of a film that is shown.
export function shownFrame() {
  return state.shownFrame;
}

// The two pieces between which a path is drawn.
export function chosenPath() {
  return state.chosenPath;
}

// What the map of meanings shows.
export function shownMap() {
  return state.shownMap;
}

// Waits until the points that were moved are drawn: their late answer would take back what comes now. Ten seconds at
// most, as an answer may never come.
export async function whenMoved() {
  const begun = performance.now();
  while (state.movedPoints && performance.now() < begun + 10_000)
    await new Promise(done => requestAnimationFrame(done));
  return [];
}

// Locks words of whatever pair of sentences is shown next, as an address asks. What this page has told itself may come
// back late, when other words are locked.
export function lockWords(text) {
  if (text === state.toldLock) return;
  state.toldLock = text;
  if (text === lockText()) return;
  state.lockedPair = null;
  setLock(text);
}

// Begins or ends the projector view of the picture of attention.
export function project(on) {
  projectPicture(on);
}

export function not(on) {
  return !on;
}

// The layer, the head, and that one head is shown, where a head was chosen whose map is drawn already; the answer says
// the rest.
export function chosenHead() {
  showPicture();
  const {layer, head} = state.chosenHead ?? {};
  return state.chosenHead ? [layer, head, 'head'] : [];
}

// Brings the picture of attention into sight, with its title.
export function showPicture() {
  const picture = document.querySelector('.block.view'), above = picture?.getBoundingClientRect().top;
  if (above < 0 || above > innerHeight / 2) picture.scrollIntoView({block: 'nearest'});
}

// The dimensions and pairs that a table of a width offers. What was chosen is kept where the table still has it. This
// is done in the browser: a later answer of the server could undo another choice.
export function fitWidth(width, dimensions, pair) {
  const kept = dimensions.filter(dimension => dimension < width), most = Math.floor(width / 2) - 1;
  const choices = Array.from({length: width}, (_, dimension) => [String(dimension), dimension]);
  return [{__type__: 'update', choices, value: kept.length ? kept : [0, 1]},
          {__type__: 'update', maximum: most, value: Math.min(pair, most)}];
}

// The seed of the next two draws.
export function nextDraw(seed) {
  return (Number(seed) + 2) % 999998;
}

// Puts the code of the language to write before a text, in place of another.
export function writeIn(code, text) {
  return `${code ?? ''} ${text.replace(/^\s*>>[^<>\s]+<</, '').trim()}`.trim();
}

// Translates with what is in the bar, as its button does.
export function pressTranslate() {
  document.querySelector('.bar .field button').click();
}
