// The bar above the tabs: its examples, its menu, and what Back, Forward, reloading and the skip link do on this page.
import {watchCut} from './cut.js';
import {PICTURES} from './projector.js';
import {watchReach} from './reach.js';
import {state, tell, whenSettled} from './state.js';

// An address's query without the open tab.
function besidesTab(search) {
  const query = new URLSearchParams(search);
  query.delete('tab');
  return query.toString();
}

// Shows what the address says after the browser's Back or Forward.
function showAddress() {
  const tab = new URLSearchParams(location.search).get('tab');
  const button = document.querySelector(`[role=tab][data-tab-id="${CSS.escape(tab)}"]`);
  if (state.settled && button && besidesTab(location.search) === besidesTab(state.writtenAddress)) {
    state.returning = true;
    return button.click();
  }
  state.settled = false;  // until the page shows it
  state.moves += 1;
  document.querySelector('.go-back').click();
}

// Moves the page to an address, as a step of the history. place: a part that it names; '' for none.
function goToAddress(query, place = '') {
  history.pushState(null, '', `${location.pathname}?${query}${place && '#' + place}`);
  tell('addresschange');
  showAddress();
}

// Moves the page to a state. address: values by key; what it lacks gets its default, but for
// the model and the sentence. place: a part that is brought into sight; '' for none.
export function openState(address, place = '') {
  const query = new URLSearchParams(location.search);
  for (const key of [...query.keys()]) if (!key.startsWith('__') && !['model', 'text'].includes(key)) query.delete(key);
  for (const [key, value] of Object.entries(address)) query.set(key, value);
  goToAddress(query, place);
}

// Shows the bar, and what ends the page, as the open sheet wants them: where it has its own field, the sentence
// gives way.
export function showBarOf(tab) {
  const {dataset} = document.querySelector('.bar');
  dataset.tab = tab;
  dataset.ownField = state.ownFields.includes(state.sheets[tab] ?? tab);
  dataset.hasSheets = state.choices.includes(`${tab}_part`);
}

// Notes that a person chose a tab, or a sheet of one: that is a step of the history, also right after Back. The bar is
// at once as the tab wants it; `tabOpened` in page.js is called when Gradio has laid out the tab.
function chooseTab(event) {
  const tab = event.target.closest('[role=tab]');
  if (event.isTrusted && tab) state.returning = false;
  if (tab?.matches('.bar ~ .tabs > .tab-wrapper *')) showBarOf(tab.dataset.tabId);
  const sheet = event.target.closest('.sheets label')?.querySelector('input');
  if (sheet) state.sheets[document.querySelector('.bar').dataset.tab] = sheet.value;
}

// Opens the address that a clicked element names (data-address: values by key; null takes a key out), and the part of
// the page that it names (data-place), which places.js brings into sight. A tab without a part is meant from its first.
function openAddress(event) {
  const named = event.target.closest('[data-address]');
  if (!named) return;
  const query = new URLSearchParams(location.search), address = JSON.parse(named.dataset.address);
  if (address.tab) query.delete(`${address.tab}_part`);
  for (const [key, value] of Object.entries(address)) {
    if (value === null) query.delete(key);
    else query.set(key, value);
  }
  goToAddress(query, named.dataset.place);
  tell('placechange');
}

// Presses the button that a clicked element stands for (data-press: the button's selector).
function press(event) {
  const named = event.target.closest('[data-press]');
  if (named) document.querySelector(named.dataset.press)?.click();
}

// Gives the radio buttons of a group one name, where Gradio gives each its own: then the Tab key stops once at the
// group, and arrow keys choose in it.
function groupRadios() {
  document.querySelectorAll('.gradio-container fieldset').forEach((group, i) => {
    for (const radio of group.querySelectorAll('input[type=radio]'))
      if (radio.name !== `group-${i}`) radio.name = `group-${i}`;
  });
}

// Moves the focus to the main picture of the open tab.
function skip(event) {
  event.preventDefault();
  const panel = [...document.querySelectorAll('[role=tabpanel]')].find(one => one.checkVisibility());
  const picture = [...panel.querySelectorAll(PICTURES)].find(one => one.checkVisibility()) ?? panel;
  const target = [...picture.querySelectorAll('[tabindex="0"], button:not(:disabled)')].find(
    one => one.checkVisibility() && !one.closest('.tools')) ?? picture;
  if (target.tabIndex < 0) target.tabIndex = -1;
  picture.scrollIntoView({block: 'nearest'});
  target.focus();
}

// Fetches Plotly's script, 4.7 MB, when a visitor has begun to do something: the first figure need not wait for it
// then, and who only looks at the first view does not pay for it.
function fetchAhead() {
  if (navigator.connection?.saveData) return;
  const link = Object.assign(document.createElement('link'), {rel: 'prefetch', as: 'script', href: './plotly.js'});
  document.head.append(link);
}

// Keeps what a visitor has typed, and whether a translation of it was asked for. It is restored after a reload, which
// Gradio makes too when its server was away, and after the page has opened, which sets the field.
function keepTyped(field, button, example) {
  const typed = {};  // {text, asked}
  const [opening] = performance.getEntriesByType('navigation');
  try {
    if (opening?.type === 'reload') Object.assign(typed, JSON.parse(sessionStorage.getItem('typed')));
  } catch { /* a browser that keeps nothing */ }
  const note = asked => Object.assign(typed, {text: field.value, asked});
  if (field.value !== example && !state.settled) note(false);  // typed before this script ran
  field.addEventListener('input', () => note(false));
  field.addEventListener('keydown', event => event.key === 'Enter' && !event.shiftKey && note(true));
  button.addEventListener('click', () => note(true));
  whenSettled(() => {  // it may be already
    const {text, asked} = typed;
    if (text === undefined || text === field.value) return;
    field.value = text;
    field.dispatchEvent(new Event('input', {bubbles: true}));
    if (asked) requestAnimationFrame(() => button.click());
  });
  window.addEventListener('pagehide', () => {
    if (state.settled && typed.text !== field.value) note(true);  // an example, say
    try {
      sessionStorage.setItem('typed', JSON.stringify(typed));
    } catch { /* the same */ }
  });
}

export default function start({element}) {
  const bar = element.closest('.bar');
  if (!['.ask textarea', '.ask .field button.primary', '.menu button'].every(one => bar?.querySelector(one))) {
    requestAnimationFrame(() => start({element}));  // Gradio has not made all of the bar yet
    return;
  }
  window.addEventListener('popstate', showAddress);
  document.addEventListener('click', openAddress);
  document.addEventListener('click', press);
  watchReach();
  document.addEventListener('click', chooseTab, true);
  document.addEventListener('focusin', groupRadios);
  new MutationObserver(groupRadios).observe(document.body, {subtree: true, attributeFilter: ['name']});
  whenSettled(() => {  // after the first translation
    const acts = ['pointermove', 'pointerdown', 'keydown'], begun = new AbortController();
    const begin = () => {
      begun.abort();
      (window.requestIdleCallback ?? setTimeout)(fetchAhead);
    };
    for (const act of acts) document.addEventListener(act, begin, {signal: begun.signal});
  });

  const ask = bar.querySelector('.ask'), field = ask.querySelector('textarea');
  const menu = bar.querySelector('.menu'), button = menu.querySelector('button'), panel = button.nextElementSibling;
  const opened = () => panel.style.display !== 'none';
  const closeMenu = () => opened() && button.click();
  // While a sentence is typed, all of it is shown. The examples open by a click, or by the down arrow at its end.
  const type = (examples = false) => {
    ask.classList.add('typing');
    ask.classList.toggle('open', examples || !field.value);
  };
  const closeExamples = () => {
    ask.classList.remove('typing', 'open');
    field.scrollLeft = 0;
  };

  whenSettled(() => ask.classList.contains('typing') || closeExamples());  // the field has the focus at its end
  field.addEventListener('pointerdown', () => type(true));
  field.addEventListener('input', () => type());
  field.addEventListener('keydown', event => {
    if (event.key === 'ArrowDown' && field.selectionEnd === field.value.length) type(true);
    if (event.key === 'Enter') closeExamples();
  });
  ask.addEventListener('focusout', event => ask.contains(event.relatedTarget) || closeExamples());
  ask.addEventListener('click', event => event.target.closest('button') && closeExamples());
  // Some browsers do not focus a clicked button: there the examples would close before the click.
  ask.addEventListener('mousedown', event => event.target.closest('.examples') && event.preventDefault());

  const {language, example, wide} = element.querySelector('h1').dataset;
  watchCut(wide);
  // What a part says stands above what is said of the sentence.
  const notices = document.querySelector('.notices');
  if (notices) new ResizeObserver(() => {
    document.querySelector('.tabs')?.style.setProperty('--notices', `${notices.offsetHeight}px`);
  }).observe(notices);
  document.documentElement.lang = language;
  keepTyped(field, ask.querySelector('.field button.primary'), example);
  bar.querySelector('.skip').addEventListener('click', skip);
  const sayOpened = () => button.setAttribute('aria-expanded', opened());
  new MutationObserver(sayOpened).observe(panel, {attributes: true, attributeFilter: ['style']});
  sayOpened();
  document.addEventListener('pointerdown', event => menu.contains(event.target) || closeMenu());
  bar.addEventListener('keydown', event => {
    if (event.key !== 'Escape') return;
    closeExamples();
    if (opened()) {
      closeMenu();
      button.focus();
    }
  });
}
