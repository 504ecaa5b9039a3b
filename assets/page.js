// Functions of the page's own listeners, which run in the browser and ask the server nothing. xformer.ui.components
// cuts each out of this file by its name; so one stands alone, and ends with a brace at the beginning of a line.

// Plotly names the gradient of a colour bar by the page's whole address where there is a <base>, and loses it as soon
// as the address changes. Gradio's <base> says what is so without it.
function removeBase() {
  const base = document.querySelector('base');
  if (base && base.href === new URL('./', location.href).href) base.remove();
}

// A tab is open: the sentence in the bar gives way to a field of its own, and the tab is in sight among the others.
function tabOpened(id, ownFields) {
  document.querySelector('.bar').dataset.ownField = ownFields.includes(id);
  const tab = document.querySelector(`[role=tab][data-tab-id="${id}"]`);
  tab?.scrollIntoView({block: 'nearest', inline: 'center'});
  document.title = `${tab?.textContent.trim()} · ${document.querySelector('h1').textContent}`;
}

// Another model is another page at the same address; one that was chosen meanwhile is loaded next.
function goTo(wanted, chosen) {
  const {name, query} = JSON.parse(wanted || '{}');
  if (query !== undefined && name === (chosen ?? '').trim()) location.search = query;
}

// Adds the address to what is chosen in the menu of models.
function withAddress(chosen, name, sentence) {
  return [chosen, name, sentence, location.search];
}

// Writes what is on the page into its address, without a request or a jump; another tab and another sentence are a step
// of their own in the browser's history, once the page has arrived. own: the longest value that is written, and
// by every key the value that is left out; values: those of the controls, in the same order.
function write(own, ...values) {
  const {longest, left_out} = JSON.parse(own), query = new URLSearchParams();
  // The theme, and whatever else is gradio's.
  new URLSearchParams(location.search).forEach((value, key) => key.startsWith('__') && query.set(key, value));
  const written = value => typeof value === 'boolean' ? String(Number(value)) : String(value ?? '');
  Object.entries(left_out).forEach(([key, usual], i) => {
    const value = written(values[i]);
    if (value !== '' && value.length <= longest && value !== usual) query.set(key, value);
  });
  const former = new URLSearchParams(location.search);
  const step = window.settled && ['tab', 'text'].some(key => former.has(key) && former.get(key) !== query.get(key));
  history[step ? 'pushState' : 'replaceState'](null, '', location.pathname + '?' + query + location.hash);
  window.writtenAddress = location.search;
  window.dispatchEvent(new Event('addresschange'));
}

// On a Space the page stands in a frame of the Hub's, whose address is what a visitor keeps and passes on: it is told
// what this one's says, as huggingface.co/docs/hub/spaces-handle-url-parameters asks. No other site that frames the
// page is told; and what the Hub adds is left out: __theme, and __sign, which lets anybody into a private Space.
function tellHub() {
  if (parent === window) return;
  let told;
  const tell = () => {
    const shown = [...new URLSearchParams(location.search)].filter(([key]) => !key.startsWith('__'));
    const queryString = new URLSearchParams(shown).toString();
    if (!window.settled || queryString === told) return;
    parent.postMessage({queryString, hash: location.hash}, 'https://huggingface.co');
    told = queryString;
  };
  window.addEventListener('addresschange', tell);
  window.addEventListener('settled', tell);
}

// The page shows what its address says: from now on, others are steps in the history.
function settle() {
  window.settled = true;
  window.dispatchEvent(new Event('settled'));
}

// The address that the browser went back to.
function addressOf() {
  return [location.search];
}

// Asks for the picture again where it answers what was asked before something else was chosen.
function askAgain(picture, again, ...chosen) {
  if (!picture?.about) return again;
  const [pass, ...shown] = picture.about;
  window.newestPass = Math.max(pass, window.newestPass ?? 0);
  const late = pass < window.newestPass || shown.join() !== chosen.join();
  return late ? [window.newestPass, ...chosen].join() : again;
}

// The name of a head, such as cross.1.2. Stack, layer and head in one: when another model has others, they change one
// after the other.
function headName(...where) {
  return where.join('.');
}

// The words that are locked, as assets/lock.js keeps them.
function lockedWords() {
  return window.lockedWords ?? '';
}

// Locks words for all that the page shows.
function lockWords(text) {
  if (text === (window.lockedWords ?? '')) return;
  window.lockedWords = text;
  window.lockedPair = undefined;  // they are of whatever pair of sentences comes to be shown
  window.dispatchEvent(new Event('lockchange'));
}

// Begins or ends the projector view: the picture of attention alone, as large as the window.
function project(on) {
  document.body.classList.toggle('projector', on);
  window.dispatchEvent(new Event('projector'));
}

function not(on) {
  return !on;
}

// Brings the picture of attention into sight, with its title.
function showPicture() {
  document.querySelector('.block.view')?.scrollIntoView({block: 'nearest'});
}

// The dimensions and pairs of a table of some width; what was chosen is kept where it is still there. In the browser,
// so that the answer cannot come after another choice and undo it.
function fitWidth(width, dimensions, pair) {
  const kept = dimensions.filter(dimension => dimension < width), most = Math.floor(width / 2) - 1;
  const choices = Array.from({length: width}, (_, dimension) => [String(dimension), dimension]);
  return [{__type__: 'update', choices, value: kept.length ? kept : [0, 1]},
          {__type__: 'update', maximum: most, value: Math.min(pair, most)}];
}

// The seed of the next two draws.
function nextDraw(seed) {
  return (Number(seed) + 2) % 999998;
}

// Translates with what is in the bar, as its button does.
function pressTranslate() {
  document.querySelector('.bar .field button').click();
}
