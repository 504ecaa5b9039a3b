// The projector view: one picture fills the window, in large type, with what to say about it below. The arrow keys (or
// a presenter's keys) go through the steps of a lesson that is open, or the slides of a lecture; else through the heads
// of a map, or the steps that the picture itself has. A slide is told by the panel of lessons itself, beside the
// picture. An element with data-project opens the view on what the step that it leads to points at. The picture of the
// Attention tab is also named by the address: page.js.
import {attemptUntilDone, overflow} from './shared.js';
import {tell} from './state.js';

const MOST = 2.5, NARROWEST = 480;  // how much a picture is enlarged, and the least width that it is laid out for
const SCROLLING = '.tables, .scroll, .plot, .maps, .rows, .drawing';
const BY = {ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1};

// The main picture of each tab, to which the skip link leads too.
export const PICTURES = '.translation, .view, .judged, .first-scores, .step-player, .whole-pass, .readings, ' +
  '.picture:not([data-empty=true]), .splits, .architecture';

const shown = selector => [...document.querySelectorAll(selector)].filter(one => one.checkVisibility());
const openTab = () => shown('.tabs > [role=tabpanel]')[0];
const ofAddress = block => block.querySelector('[data-act=projector]');  // its button, if the address names the picture

const soon = call => requestAnimationFrame(() => requestAnimationFrame(call));

let block = null;  // the picture that is projected
let home = null;  // where the panel of lessons stands while it tells no slide
let openedBy = null, hidden = [], stopWaiting = () => {}, isMoving = false, fits = 0;
const bar = document.createElement('div');  // what to say, below the picture
bar.className = 'to-say';
bar.popover = 'manual';

// The button of the lesson that leads a step on (1) or back (-1); null for none.
function stepButton(by) {
  const ways = document.querySelector('aside.lesson :is(.step, .summary) .ways');
  const button = by > 0 ? ways?.querySelector('.next') : ways?.querySelector('button:not(.again, .next)');
  return /\.\d+$/.test(button?.dataset.lesson) ? button : null;
}

// The question of the part in which the picture stands, and the note that is nearest above it; or the lesson's step.
function whatToSay() {
  const title = document.querySelector('aside.lesson .step h2');
  const text = title?.parentElement.querySelector(':scope > p');
  if (text) return [title.textContent, text.textContent];
  const above = selector => [...(openTab() ?? document).querySelectorAll(selector)].filter(one =>
    one.checkVisibility() && one.compareDocumentPosition(block) & Node.DOCUMENT_POSITION_FOLLOWING);
  const question = above('.asks').at(-1);
  const note = above('.note, .summary p, .look p').filter(one => !question ||
    question.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING).at(-1);
  return [question?.textContent ?? '', (note ?? block.querySelector('.hint'))?.textContent ?? ''];
}

// The panel of lessons, if it shows a slide, or what comes after the last.
function teller() {
  const panel = document.querySelector('aside.lesson');
  return panel && (panel.querySelector('.slide') || (bar.contains(panel) && panel.querySelector('.summary'))) ?
    panel : null;
}

// Puts the panel of lessons back beside the page.
function bringHome() {
  home?.append(...bar.querySelectorAll('aside.lesson'));
  home = null;
}

function say() {
  const panel = teller(), {leave} = document.querySelector('[data-leave]').dataset;
  const button = (name, text, label, call) => {
    const made = Object.assign(document.createElement('button'), {type: 'button', className: name, textContent: text});
    made.setAttribute('aria-label', label);
    made.addEventListener('click', call);
    return made;
  };
  for (const one of [bar, document.body]) one.classList.toggle('telling', Boolean(panel));
  bar.classList.toggle('alone', Boolean(panel?.querySelector('[data-alone]')));
  if (panel) {
    home ??= panel.parentElement;
    if (!bar.contains(panel)) bar.replaceChildren(panel, button('leave', '×', leave, leaveView));
    return place();
  }
  bringHome();
  const [first, second] = whatToSay(), text = document.createElement('p');
  text.setAttribute('aria-live', 'polite');
  text.append(Object.assign(document.createElement('b'), {textContent: first}), ' ', second);
  const hadFocus = bar.contains(document.activeElement) && document.activeElement.className;
  const [back, next] = [-1, 1].map(by => {
    const to = stepButton(by);
    return to && button(by < 0 ? 'back' : 'next', by < 0 ? '←' : '→', to.textContent, () => step(to));
  });
  bar.replaceChildren(...[back, text, next, button('leave', '×', leave, leaveView)].filter(Boolean));
  if (hadFocus) (bar.querySelector(`.${hadFocus}`) ?? bar.lastChild).focus();
  place();
}

// What is said leaves the picture this much room: it stands below, or beside.
function room() {
  const isBeside = bar.offsetWidth < innerWidth;
  return {wide: innerWidth - (isBeside ? bar.offsetWidth : 0), high: innerHeight - (isBeside ? 0 : bar.offsetHeight)};
}

function place() {
  const {wide, high} = room();
  block.style.setProperty('--said', `${innerHeight - high}px`);
  block.style.setProperty('--beside', `${innerWidth - wide}px`);
}

// Enlarges the picture as far as it fits the window: first as high as that allows, then smaller until nothing is cut,
// as some pictures draw themselves again. A map of a head (.view) draws itself as large as there is room.
function fit() {
  const turn = ++fits, content = block.querySelector('.html-container');
  if (block.matches('.view')) return;
  const {wide, high} = room();
  const set = scale => block.style.setProperty('--scale', scale);
  const isWhole = () => content.getBoundingClientRect().bottom + block.scrollTop <= high &&
    [block, ...block.querySelectorAll(SCROLLING)].every(one => overflow(one).across < 2);
  function shrink(scale) {
    if (turn !== fits || !block || scale === 1 || isWhole()) return;
    const smaller = Math.max(1, scale - .1);
    set(smaller);
    soon(() => shrink(smaller));
  }
  set(1);
  const most = Math.max(1, Math.min(MOST, wide / NARROWEST, (high - 32) / content.scrollHeight));
  set(most);
  soon(() => shrink(most));
}

// Takes all but the picture and what is said of it out of reach.
function hide() {
  for (let one = block; one !== document.body; one = one.parentElement)
    for (const other of one.parentElement.children)
      if (other !== one && other !== bar && !other.inert) {
        other.inert = true;
        hidden.push(other);
      }
}

function end() {
  for (const one of hidden) one.inert = false;
  hidden = [];
  if (block?.isConnected) {
    block.hidePopover();
    block.removeAttribute('popover');
    block.classList.remove('projected');
  }
  bringHome();
  if (bar.isConnected) bar.hidePopover();
  document.body.classList.remove('projector', 'telling');
  block = null;
}

function begin(picture) {
  const focused = document.activeElement;
  if (block) end();
  else openedBy = focused;
  block = picture;
  block.classList.add('projected');
  block.popover = 'manual';
  block.showPopover();
  document.body.append(bar);
  bar.showPopover();
  document.body.classList.add('projector');
  hide();
  say();
  fit();
  tell('projector');
  bar.querySelector('.leave').focus();
}

// Projects the block of what `wanted` finds, as soon as it is seen.
function projectWhenSeen(wanted) {
  stopWaiting();
  stopWaiting = attemptUntilDone(() => {
    const picture = wanted()?.closest('.block');
    if (!picture?.checkVisibility()) return false;
    isMoving = false;
    if (picture !== block) begin(picture);
    else say();
    return true;
  }, () => {
    if (isMoving && document.querySelector('aside.lesson .slide')) return projectWhenSeen(wanted);  // slow to come
    isMoving = false;
    if (block && !block.checkVisibility() && !teller()) release();  // the step has no picture
  });
}

// Ends the view.
function release() {
  stopWaiting();
  if (!block || isMoving) return;
  end();
  tell('projector');
  openedBy?.focus();
}

// Shows the picture of attention, as the address asks, or ends its view.
export function project(on) {
  if (on) projectWhenSeen(() => document.querySelector('.attention-picture .block.view'));
  else if (block && ofAddress(block)) release();
}

function leaveView() {
  isMoving = false;
  if (ofAddress(block) && new URLSearchParams(location.search).has('projector')) ofAddress(block).click();
  else release();
}

function start(picture) {
  if (picture && ofAddress(picture)) ofAddress(picture).click();
  else if (picture) begin(picture);
}

const mainPicture = () => [...openTab()?.querySelectorAll(PICTURES) ?? []].find(one => one.checkVisibility());

function step(button) {
  isMoving = true;
  button.click();
}

// What a step of a lesson points at, if that is on the tab, else the main picture of its tab.
function followStep() {
  if (!isMoving && !(block && teller())) return;
  const slide = document.querySelector('aside.lesson .slide[data-point]');
  const wanted = () => slide ? shown(slide.dataset.point)[0] :
    shown('[data-pointed]').find(one => openTab()?.contains(one)) ?? mainPicture();
  soon(() => projectWhenSeen(wanted));  // what is meant is marked by then
}

// Gives a key to what the picture shows: a map to the small maps beside it, of which it is one.
function pass(key) {
  const maps = block.matches('.view') && block.closest('[role=tabpanel]').querySelector('.heads canvas');
  const arrow = {PageUp: 'ArrowLeft', PageDown: 'ArrowRight'}[key] ?? key;
  (maps || block.querySelector('.transport'))?.dispatchEvent(new KeyboardEvent('keydown', {key: arrow, bubbles: true}));
}

function press(event) {
  const isTyped = event.target.closest('input, textarea, select, [contenteditable]') &&
    !(event.key in BY && event.key.startsWith('Page') && event.target.matches('[type=radio]'));
  if (event.defaultPrevented || !event.isTrusted || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!block) {
    const isFree = !isTyped && !document.querySelector('dialog[open]');
    if (event.key === 'p' && isFree) start(mainPicture()?.closest('.block'));
  } else if (event.key === 'Escape') leaveView();
  else if (!isTyped && (event.key in BY || event.key.startsWith('Arrow'))) {
    event.preventDefault();
    const button = event.key in BY && stepButton(BY[event.key]);
    if (button) step(button);
    else if (!document.querySelector('aside.lesson .step')) pass(event.key);
  }
}

// Watches the pictures and the keys of the page. Call it once.
export function watchProjector() {
  document.addEventListener('click', event => {
    if (event.target.closest('[data-act=project]')) start(event.target.closest('.block'));
    if (event.target.closest('[data-project]')) isMoving = true;
  });
  document.addEventListener('keydown', press);
  window.addEventListener('settled', followStep);
  window.addEventListener('addresschange', () => 
    block && !isMoving && !teller() && !block.checkVisibility() && release());
  window.addEventListener('resize', () => {  // also of the page, when a lesson shows another step
    if (!block) return;
    say();
    fit();
  });
}
