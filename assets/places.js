// The overview of all parts of the page, a search over it, lessons and terms in the words of both languages, and the
// part that the fragment of the address names.
import {attemptUntilDone} from './shared.js';

const WHILE = 8000;  // milliseconds for which a part is kept in sight

const holders = new Map();  // by a section's name, that of the fold, or part of the drawer, in which it stands

const folded = name => document.querySelector(`.block.at-${CSS.escape(name)}`);
const inSight = picture => picture &&
  [...document.querySelectorAll(`.block.${CSS.escape(picture)}`)].find(one => one.checkVisibility());
const inFold = name => document.querySelector(`.section.at-${CSS.escape(name)}`);
const inDrawer = name => document.querySelector(`.drawer [role=tab][data-tab-id="${CSS.escape(name)}"]`);

let release = () => {};  // lets go of the part that is kept in sight

// Keeps a part open and in sight while what stands above it is drawn and its tab laid out, until a person acts.
function hold(name, shown, picture) {
  release();
  const keep = () => {
    const part = name ? unfold(name) : null;
    if (part && part !== shown && document.activeElement === shown) part.focus({preventScroll: true});  // a fold in it
    (inSight(picture) || inFold(name) || part)?.scrollIntoView({block: 'start'});
  };
  const drawn = new ResizeObserver(keep), laidOut = new MutationObserver(keep);
  const timer = setTimeout(() => release(), WHILE), events = ['wheel', 'touchstart', 'pointerdown', 'keydown'];
  release = () => {
    drawn.disconnect();
    laidOut.disconnect();
    clearTimeout(timer);
    for (const event of events) removeEventListener(event, release);
  };
  for (const event of events) addEventListener(event, release);
  drawn.observe(document.body);  // which calls it at once too
  const place = shown.closest('[role=tabpanel]') ?? document.body;
  laidOut.observe(place, {subtree: true, childList: true, attributeFilter: ['class']});
}

const isShut = shown => shown.matches('.label-wrap:not(.open), [role=tab]:not([aria-selected=true])');

// Opens the part, or that of a section and the section, if it is on the page and in sight of its tab; what it is opened
// by, or where nothing has to be opened the section. What has been opened before, and is in `before`, stays as it is.
function unfold(name, before = new Set()) {
  const holder = holders.get(name) ?? name;
  const labels = [...new Set([holder, name])].flatMap(one => folded(one)?.querySelector('button.label-wrap') ?? []);
  const tab = inDrawer(holder), shown = labels[0] ?? tab ?? inFold(name);
  if (!shown?.checkVisibility()) return null;
  const seen = [...tab ? [tab] : [], ...labels].filter(one => one.checkVisibility());
  for (const one of seen) if (isShut(one) && !before.has(one)) one.click();
  for (const one of seen) before.add(one);
  return seen.at(-1) ?? shown;
}

// Brings a part that is open, or one of its pictures, into sight; whether it did.
function show(shown, name, picture) {
  if (!shown) return false;
  const drawer = shown.closest('.drawer');
  if (drawer && innerWidth <= 640 && drawer.dataset.open !== 'true') shown.click();
  if (picture && !inSight(picture)) return false;
  hold(name, shown, picture);
  shown.focus({preventScroll: true});
  return true;
}

let stopWaiting = () => {};

// Shows what the fragment names, a part, and after a colon a picture, as soon as its tab is laid out.
function follow() {
  const [, name, picture] = location.hash.match(/^#([\w-]*):?([\w-]*)$/) ?? [];
  stopWaiting();
  if (!name && !picture) return;
  const before = new Set();  // a person may fold what was opened while its picture does not come
  stopWaiting = attemptUntilDone(
    () => show(name ? unfold(name, before) : inSight(picture), name, picture),
    () => name && ![...before].some(isShut) && show(unfold(name), name));
}

// A text without accents and capitals, so that "atencion" finds "Atención".
const plain = text => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

export default function start({element}) {
  const dialog = element.querySelector('dialog'), field = dialog.querySelector('input');
  const list = dialog.querySelector('.list'), entries = [];
  const found = () => [...dialog.querySelectorAll('li:not([hidden]) button')];
  for (const {dataset} of dialog.querySelector('template').content.querySelectorAll('[data-holds]'))
    for (const name of dataset.holds.split(' ')) holders.set(name, dataset.place);

  // Lists all parts, and the entries of the glossary, when somebody looks for one.
  function fill() {
    list.append(dialog.querySelector('template').content);
    list.querySelector('.terms ul').append(...[...element.querySelectorAll('.term-said')].map(entry => {
      const item = document.createElement('li'), button = document.createElement('button');
      button.type = 'button';
      Object.assign(button.dataset, {
        address: entry.querySelector('[data-address]').dataset.address, place: '', words: entry.dataset.words});
      button.append(...[...entry.querySelectorAll('b, span')].flatMap(one => [one.cloneNode(true), ' ']));
      item.append(button);
      return item;
    }));
    entries.push(...[...list.querySelectorAll('li')].map(item => [item, plain([
      item.closest('section').querySelector('h3').textContent, item.textContent,
      item.querySelector('button').dataset.words].join(' '))]));
  }

  // How badly the name of what is found fits: 0 where it is what was typed, 3 where it has not all of its words.
  function misfit(item, wanted) {
    const name = plain(item.querySelector('b').textContent).trim();
    const fits = [name === wanted, name.startsWith(wanted), wanted.split(/\s+/).every(word => name.includes(word))];
    return [...fits, true].indexOf(true);
  }

  function search() {
    const wanted = plain(field.value).trim(), words = wanted.split(/\s+/);
    for (const [item, text] of entries)  // terms are listed only where one is looked for
      item.hidden = !words.every(word => text.includes(word)) || (!words[0] && item.closest('.terms'));
    for (const section of dialog.querySelectorAll('section'))
      section.hidden = !section.querySelector('li:not([hidden])');
    const left = found().map(button => button.parentElement);
    const fits = left.map(item => misfit(item, wanted)), best = wanted && left[fits.indexOf(Math.min(...fits))];
    for (const item of left) item.classList.toggle('first', item === best);
    dialog.querySelector('.none').hidden = left.length > 0;
  }

  function openOverview() {
    if (!entries.length) fill();
    field.value = '';
    search();
    dialog.showModal();
    field.focus();
  }

  // Down and Up go through what is found; Enter in the field opens what fits best, which is marked.
  function move(event) {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key], buttons = found();
    if (event.key === 'Enter' && event.target === field) {
      event.preventDefault();  // it would press what has the focus when the overview is closed
      event.stopPropagation();  // nor does it let go of the part that it opens
      (dialog.querySelector('li.first:not([hidden]) button') ?? buttons[0])?.click();
    }
    if (!step) return;
    event.preventDefault();
    (buttons[buttons.indexOf(document.activeElement) + step] ?? (step < 0 ? field : buttons[0]))?.focus();
  }

  element.querySelector('.open').addEventListener('click', openOverview);
  field.addEventListener('input', search);
  dialog.addEventListener('keydown', move);
  dialog.addEventListener('click', event => {
    if (event.target === dialog || event.target.closest('.close, [data-address], [data-lesson]')) dialog.close();
  });
  document.addEventListener('keydown', event => {
    const typing = event.target.matches('input, textarea, select, [contenteditable]');
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    event.preventDefault();
    openOverview();
  });
  window.addEventListener('settled', follow);
  window.addEventListener('placechange', follow);
}
