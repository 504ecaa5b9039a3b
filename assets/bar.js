// The bar above the tabs: the examples open under the sentence, and the menu closes, as a person expects.

// What an address says, but for the open tab.
function besidesTab(search) {
  const query = new URLSearchParams(search);
  query.delete('tab');
  return query.toString();
}

// Shows what the address says after the browser's Back or Forward.
function follow() {
  const tab = new URLSearchParams(location.search).get('tab');
  const button = document.querySelector(`[role=tab][data-tab-id="${CSS.escape(tab)}"]`);
  if (button && besidesTab(location.search) === besidesTab(window.writtenAddress)) return button.click();
  window.settled = false;  // what is set on the way is no step
  document.querySelector('.go-back').click();
}

// A click on what names an address (data-address: values by key, null for none) opens the page there.
function openAddress(event) {
  const named = event.target.closest('[data-address]');
  if (!named) return;
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(JSON.parse(named.dataset.address))) {
    if (value === null) query.delete(key);
    else query.set(key, value);
  }
  history.pushState(null, '', `${location.pathname}?${query}`);
  window.dispatchEvent(new Event('addresschange'));
  follow();
}

// A click on what stands for a button elsewhere (data-press: its selector) presses that.
function press(event) {
  const named = event.target.closest('[data-press]');
  if (named) document.querySelector(named.dataset.press)?.click();
}

// Gradio gives each radio button a name of its own; with one name, a group is one stop of the Tab key, and arrow keys
// choose in it.
function groupRadios() {
  document.querySelectorAll('.gradio-container fieldset').forEach((group, i) => {
    for (const radio of group.querySelectorAll('input[type=radio]'))
      if (radio.name !== `group-${i}`) radio.name = `group-${i}`;
  });
}

// What the skip link leads to: what is seen first in any tab.
const PICTURES = '.translation, .view, .judged, .first-scores, .step-player, .readings, ' +
  '.picture:not([data-empty=true]), .architecture';

// Moves the focus to the main picture of the open tab.
function skip(event) {
  event.preventDefault();
  const panel = [...document.querySelectorAll('[role=tabpanel]')].find(one => one.checkVisibility());
  const picture = [...panel.querySelectorAll(PICTURES)].find(one => one.checkVisibility()) ?? panel;
  const target = picture.querySelector('[tabindex="0"], button:not(:disabled)') ?? picture;
  if (target.tabIndex < 0) target.tabIndex = -1;
  picture.scrollIntoView({block: 'nearest'});
  target.focus();
}

// Fetches Plotly's script while nothing else is done, so that the first figure need not wait for it.
function fetchAhead() {
  if (navigator.connection?.saveData) return;
  const link = Object.assign(document.createElement('link'), {rel: 'prefetch', as: 'script', href: './plotly.js'});
  document.head.append(link);
}

// What a visitor has typed is there again after a reload, which Gradio makes too when its server was away, and after
// the opening of the page, which sets the field; and is asked again if it had been asked.
function keepTyped(field, button, example) {
  const typed = {};  // its text, and whether a translation of that was asked for
  const [opening] = performance.getEntriesByType('navigation');
  try {
    if (opening?.type === 'reload') Object.assign(typed, JSON.parse(sessionStorage.getItem('typed')));
  } catch { /* a browser that keeps nothing */ }
  const note = asked => Object.assign(typed, {text: field.value, asked});
  if (field.value !== example) note(false);  // somebody was quicker than this script
  field.addEventListener('input', () => note(false));
  field.addEventListener('keydown', event => event.key === 'Enter' && !event.shiftKey && note(true));
  button.addEventListener('click', () => note(true));
  window.addEventListener('settled', () => {
    const {text, asked} = typed;
    if (text === undefined || text === field.value) return;
    field.value = text;
    field.dispatchEvent(new Event('input', {bubbles: true}));
    if (asked) requestAnimationFrame(() => button.click());
  }, {once: true});
  window.addEventListener('pagehide', () => {
    if (window.settled && typed.text !== field.value) note(true);  // an example, say
    try {
      sessionStorage.setItem('typed', JSON.stringify(typed));
    } catch { /* the same */ }
  });
}

export default function start({element}) {
  const bar = element.closest('.bar');
  if (!['.ask textarea', '.ask .field button.primary', '.menu button'].every(one => bar?.querySelector(one))) {
    requestAnimationFrame(() => start({element}));  // the rest comes in a moment
    return;
  }
  window.addEventListener('popstate', follow);
  document.addEventListener('click', openAddress);
  document.addEventListener('click', press);
  document.addEventListener('focusin', groupRadios);
  new MutationObserver(groupRadios).observe(document.body, {subtree: true, attributeFilter: ['name']});
  (window.requestIdleCallback ?? setTimeout)(fetchAhead);

  const ask = bar.querySelector('.ask'), field = ask.querySelector('textarea');
  const menu = bar.querySelector('.menu'), button = menu.querySelector('button'), panel = button.nextElementSibling;
  const opened = () => panel.style.display !== 'none';
  const shut = () => opened() && button.click();
  // A long sentence is shown whole while it is typed; the examples, when they are asked for or nothing is there.
  const type = (examples = false) => {
    ask.classList.add('typing');
    ask.classList.toggle('open', examples);
  };
  const rest = () => {
    ask.classList.remove('typing', 'open');
    field.scrollLeft = 0;
  };

  field.addEventListener('pointerdown', () => type(true));
  field.addEventListener('input', () => type());
  field.addEventListener('keydown', event => {
    if (event.key === 'ArrowDown' && field.selectionEnd === field.value.length) type(true);
    if (event.key === 'Enter') rest();
  });
  ask.addEventListener('focusout', event => ask.contains(event.relatedTarget) || rest());
  ask.addEventListener('click', event => event.target.closest('button') && rest());
  // A browser that gives no focus to a button that is clicked would close the examples before the click.
  ask.addEventListener('mousedown', event => event.target.closest('.examples') && event.preventDefault());

  const {language, example} = element.querySelector('h1').dataset;
  document.documentElement.lang = language;
  keepTyped(field, ask.querySelector('.field button.primary'), example);
  bar.querySelector('.skip').addEventListener('click', skip);
  const tell = () => button.setAttribute('aria-expanded', opened());
  new MutationObserver(tell).observe(panel, {attributes: true, attributeFilter: ['style']});
  tell();
  document.addEventListener('pointerdown', event => menu.contains(event.target) || shut());
  bar.addEventListener('keydown', event => {
    if (event.key !== 'Escape') return;
    rest();
    if (opened()) {
      shut();
      button.focus();
    }
  });
}
