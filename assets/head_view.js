// Shows one attention map from props.value (xformer/figures/head_payload.py), which head_map.js draws, with its two
// sentences above. The pointer, arrow keys and clicks highlight a row (a query) and a column (a key) in every part.
// Locked words trigger 'lock', the buttons of the toolbar 'undo' {key}, 'export' {kind} and 'project'.
import {
  description, fadeArcs, filePicture, fittingCell, frameHtml, isArcs, mapHtml, markLabels, marks, NARROW, placeAt,
  probability, readMap, reveal, tableOf,
} from './head_map.js';
import {chosenMap} from './heads.js';
import {lockText, onLock, placeLock, setLock, writeLock} from './lock.js';
import {watchDrawer} from './menus.js';
import {background, pictureAddress, saveOnClick} from './save.js';
import {ARROWS, colour, escapeHtml, fill, inkOn, redraw} from './shared.js';
import {state, whenSettled} from './state.js';
import {drawnHere} from './waiting.js';

const CELL_SIZES = [12, 16, 20, 26, 34, 44, 60, 80];  // pixels; the buttons − and + go from one to the next
const MORPH = 200;  // milliseconds in which the cells of one head become those of another
const BELOW = 64;  // pixels, kept under the picture for what is said of it

watchDrawer();  // once, however many maps the page shows

const isCell = ({row, column}) => row !== undefined && column !== undefined;

// The height at which a picture still ends above the bottom of the window; far down the page, a good half of
// the window's height.
function roomBelow(place, projected) {
  if (projected) return window.innerHeight - place.getBoundingClientRect().top - projected.scrollTop -
    parseFloat(projected.style.getPropertyValue('--said')) - 24;
  const above = place.getBoundingClientRect().top + window.scrollY;
  const left = window.innerHeight - above - BELOW;
  return left > 300 ? left : .55 * window.innerHeight;
}

// The place in a map of the words that a text locks.
function placeOfWords(map, text) {
  const {asks, seen} = placeLock(map.sides, text);
  const at = (words, position) => position === null ? -1 : words.findIndex(word => word.includes(position));
  const row = at(map.row_words, asks), column = at(map.column_words, seen);
  return {...(row >= 0 && {row}), ...(column >= 0 && {column})};
}

// The text that locks the words of a place in a map.
function wordsOfPlace(map, place) {
  const word = (axis, words, side) => place[axis] === undefined ? null : {side, position: words[place[axis]][0]};
  return writeLock(word('row', map.row_words, map.sides[0]), word('column', map.column_words, map.sides[1]));
}

// What is locked after a click on a place: the place, or nothing where it was locked already. A word of one sentence
// joins one of the other.
function afterClick(locked, place) {
  if (locked.row === place.row && locked.column === place.column) return {};
  return isCell(place) || isCell(locked) ? place : {...locked, ...place};
}

// Shades the tokens of both sentences: for a row the keys that its query looks at, for a column the queries that look
// at its key. In self-attention a token stands in both sentences, and shades both.
function shadeTokens(element, map, {row, column}) {
  const fromRow = row ?? (map.same ? column : undefined), fromColumn = column ?? (map.same ? row : undefined);
  const paint = (token, p, isChosen) => {
    token.style.background = p === null ? '' : colour(map.palette, p);
    token.style.color = p === null ? '' : inkOn(map.palette, p);
    token.classList.toggle('chosen', isChosen);
  };
  element.querySelectorAll('.token[data-column]').forEach((token, k) =>
    paint(token, fromRow < map.queries.length ? probability(map, fromRow, k) : null, k === column));
  element.querySelectorAll('.token[data-row]').forEach((token, q) =>
    paint(token, fromColumn < map.keys.length ? probability(map, q, fromColumn) : null, q === row));
}

// Calls `hover` with an event when the pointer moves over an element, and with null when it leaves. Scrolling may move
// the element under a pointer that rests: only a pointer that moves hovers. It is watched on the whole page, because it
// may have moved elsewhere before the element came to lie under it.
function watchPointer(element, hover) {
  const onScreen = event => `${event.screenX} ${event.screenY}`;
  let pointer = '', hasMoved = false;
  window.addEventListener('pointermove', event => {
    hasMoved = onScreen(event) !== pointer;
    pointer = onScreen(event);
  }, true);
  element.addEventListener('pointermove', event => {
    if (event.pointerType !== 'touch' && hasMoved) hover(event);
  });
  element.addEventListener('pointerleave', event => {
    if (onScreen(event) !== pointer) hover(null);
  });
}

// A button that takes one choice of the View menu back.
function chip([key, name], texts) {
  const text = escapeHtml(fill(texts.remove_choice, {name}));
  return `<button type="button" class="chip" data-chip="${key}" title="${text}" aria-label="${text}">` +
    `${escapeHtml(name)} <span aria-hidden="true">×</span></button>`;
}

export default function start({element, props, trigger, watch}) {
  let map = null;  // what is shown, as `readMap` gives it; null for nothing
  let cell = 26, isZoomed = false;  // the size of a cell, and whether the visitor has chosen it
  let locked = {}, hovered = {};  // places
  let shape = '';  // the size of a cell and the labels of the map that is shown
  let ownLock = '';  // of a picture that names no pair of sentences, and so shares no locked words with others

  const inside = selector => element.querySelector(selector);
  const projected = () => element.closest('.projected'), isLarge = () => Boolean(projected());
  const size = () => ({cell, room: (isLarge() && inside('.place') || element).clientWidth, isLarge: isLarge()});
  const isShared = () => map.pair.length > 0;
  const lockHere = () => isShared() ? lockText() : ownLock;

  // Whether the page moves to an address of another sentence than that of this picture.
  function isLeft({pair}) {
    const text = new URLSearchParams(location.search).get('text');
    return !state.settled && text !== null && pair.length > 0 && pair[0] !== text;
  }

  function receive() {
    const received = readMap(props.value);
    if (received && isLeft(received)) return whenSettled(receive);  // it would let go of words of the next pair
    if (!received?.of || received.of !== map?.of || received.key !== map.key) return show(received);
    map = received;  // what is drawn already, with the numbers as they are, where they were rounded
    describe();
  }

  // Shows the head that was chosen, where its map is here.
  function showChosen() {
    const chosen = map?.of && chosenMap(map);
    if (!chosen) return;
    show(chosen);
    drawnHere(element);
  }

  function show(next) {
    map = next;
    element.dataset.empty = !map;
    if (!map) return;
    letGoOfOtherPair();
    locked = placeOfWords(map, lockHere());
    if (hovered.row >= map.queries.length || hovered.column >= map.keys.length) hovered = {};  // of a longer sentence
    const before = inside('svg.cells .levels'), shapeBefore = shape;
    draw();
    shape = [cell, ...map.queries, '', ...map.keys].join('\n');
    if (before && shape === shapeBefore) morph(before, inside('svg.cells .levels'));
  }

  // Lets each cell go from its colour before to its colour now. Both are added up, so that what stays, stays.
  function morph(before, now) {
    if (!now || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    before.style.mixBlendMode = 'plus-lighter';
    now.after(before);
    now.animate({opacity: [0, 1]}, MORPH);
    before.animate({opacity: [1, 0]}, MORPH).finished.then(() => before.remove());
  }

  // Lets the locked words go where another pair of sentences is shown.
  function letGoOfOtherPair() {
    if (!isShared()) return;
    const pair = map.pair.join('\n'), before = state.lockedPair;
    state.lockedPair = pair;
    if (before !== null && before !== pair && lockText()) lockWords('');
  }

  function lockWords(text) {
    if (isShared()) {
      setLock(text);
      trigger('lock');
      return;
    }
    ownLock = text;
    showLocked();
  }

  function showLocked() {
    if (!map) return;
    locked = placeOfWords(map, lockHere());
    highlight();
  }

  // Draws the map and what surrounds it; keeps the focus, and how far it is scrolled.
  function draw() {
    const before = inside('.scroll'), position = before && [before.scrollLeft, before.scrollTop];
    const hadFocus = element.contains(document.activeElement) && document.activeElement.classList.contains('scroll');
    if (inside('.chips'))
      redraw(inside('.chips'), Object.entries(map.chips).map(choice => chip(choice, map.texts)).join(''));
    const drawing = inside('.drawing');
    drawing.innerHTML = frameHtml(map);
    const isOfArcs = isArcs(map, size());
    drawing.classList.toggle('narrow-arcs', isOfArcs && element.clientWidth < NARROW);  // they show both sentences
    const height = roomBelow(inside('.place'), projected());
    if (!isZoomed) cell = fittingCell(map, size(), height);
    const {html, hint} = mapHtml(map, size());
    inside('.place').innerHTML = html;
    inside('.hint').textContent = hint;
    const pane = inside('.scroll');
    if (!isOfArcs || isLarge()) pane.style.maxHeight = `${Math.max(200, height)}px`;
    const isCut = pane.scrollHeight > pane.clientHeight + 2 || pane.scrollWidth > pane.clientWidth + 2;
    inside('.more').textContent = !isCut ? '' :
      fill(map.texts.more_rows, {rows: map.queries.length, columns: map.keys.length});
    if (hadFocus) pane.focus();
    if (position) [pane.scrollLeft, pane.scrollTop] = position;
    highlight();
    drawing.dataset.drawn = map.key;
  }

  // Highlights a row, a column, or the cell where they cross: the hovered ones, else the locked ones.
  function highlight() {
    if (!map) return;
    const place = {...locked, ...hovered};
    shadeTokens(element, map, place);
    markLabels(element, place, locked);
    if (inside('svg.cells .marks')) inside('svg.cells .marks').innerHTML = marks(map, cell, place);
    fadeArcs(element, place);
    describe();
  }

  // Says what is highlighted; what is said already is not said again.
  function describe() {
    const isLocked = locked.row !== undefined || locked.column !== undefined, said = inside('.said');
    const isSaid = ['row', 'column'].every(axis => (hovered[axis] ?? locked[axis]) === locked[axis]);
    const hint = isLocked && isSaid && !isLarge() ? ' ' + map.texts.view_locked : '';
    const text = description(map, {...locked, ...hovered}) + hint;
    if (said && said.textContent !== text) said.textContent = text;
  }

  function zoom(step) {
    isZoomed = true;
    const others = CELL_SIZES.filter(pixels => (pixels - cell) * step > 0);
    cell = (step > 0 ? others[0] : others.at(-1)) ?? cell;
    draw();
  }

  // Moves by arrow keys from the place hovered or locked; the first key shows where that is.
  function move([rows, columns]) {
    const isFirst = hovered.row === undefined && hovered.column === undefined;
    const next = (at, step, count) => Math.max(0, Math.min(count - 1, at + (isFirst ? 0 : step)));
    hovered = {row: next(hovered.row ?? locked.row ?? 0, rows, map.queries.length),
               column: next(hovered.column ?? locked.column ?? 0, columns, map.keys.length)};
    highlight();
    reveal(element, cell, hovered);
  }

  const clickOn = place => lockWords(wordsOfPlace(map, afterClick(locked, place)));

  watchPointer(element, event => {
    if (!map && event) return;
    hovered = (event && placeAt(event, map, cell)) || {};
    highlight();
  });
  element.addEventListener('click', event => {
    const button = event.target.closest('button');
    if (button?.dataset.act === 'projector') return trigger('project');  // also before the map is there
    if (!map) return;
    if (button?.dataset.zoom) return zoom(Number(button.dataset.zoom));
    if (button?.dataset.chip) return trigger('undo', {key: button.dataset.chip});
    if (button?.dataset.export) return trigger('export', {kind: button.dataset.export});
    const place = placeAt(event, map, cell);
    if (!place) return;
    clickOn(place);
    reveal(element, cell, place);
  });
  element.addEventListener('keydown', event => {
    if (!map || !event.target.closest('.scroll')) return;
    if (event.key === 'Escape') {
      hovered = {};
      highlight();
      if (lockHere() && !isLarge()) lockWords('');
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      clickOn(hovered);
    } else if (ARROWS[event.key]) {
      event.preventDefault();
      move(ARROWS[event.key]);
    }
  });
  onLock(showLocked);
  window.addEventListener('headchosen', showChosen);
  saveOnClick(element, {title: () => map.title, pair: () => map.pair, table: () => tableOf(map), picture: kind => {
    const {svg, width, height} = filePicture(
      map, size(), locked, {ink: getComputedStyle(element).color, paper: background(element)});
    return pictureAddress(kind, svg, width, height);
  }});

  // Draws again when there is more or less room: another window size, a tab that opens, the projector view.
  let drawnFor = '';
  function fitAgain() {
    const room = `${element.clientWidth} ${window.innerHeight} ${isLarge()} ${projected()?.style.cssText}`;
    if (!map || !element.clientWidth || room === drawnFor) return;
    drawnFor = room;
    draw();
  }
  new ResizeObserver(fitAgain).observe(element);
  window.addEventListener('resize', fitAgain);
  window.addEventListener('projector', fitAgain);
  watch('value', receive);
  receive();
}
