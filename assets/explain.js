// Draws the maps of one pass in an exported page, which xformer/offline_page.py makes of explain.html and of shared.js,
// head_map.js, units.js and this script: all heads of a stack, and one of them as a heatmap or as arcs, by pieces or by
// words, with or without attention sinks; and a word that is searched for, marked in all of them.
import {
  description, fadeArcs, fittingCell, mapHtml, markLabels, marks, NARROW, placeAt, readMap, reveal,
} from './head_map.js';
import {ARROWS, colourTable, fill, paintMap} from './shared.js';
import {isSink, joinMap, keepOf, marked, sentence, shown, wordsOf} from './units.js';

const BLUE = [[43, 122, 246, 0], [43, 122, 246, 1]];  // a palette, from transparent
const TILE = 64, FOUND = 'rgba(217, 119, 6, .5)';  // pixels of a small map; what marks a word in it
const byId = id => document.getElementById(id);
// texts, source, target, predicted, start, and each stack as {shape: [layers, heads, queries, keys], data: base64}
const data = JSON.parse(byId('data').textContent);
const say = (key, values = {}) => fill(data.texts[key], values);
const pieces = {source: marked(data.source), target: marked(data.target), predicted: marked(data.predicted)};
let {stack, layer, head} = data.start;  // counted from 0
let view = innerWidth < NARROW ? 'arcs' : 'heatmap', map = null, cell = 20;
let locked = {}, hovered = {};  // places {row, column}
let numbers = null;  // of the stack that is shown, decoded

const shape = () => data[stack].shape;
const isChecked = id => byId(id).checked;
const numbered = count => Array.from({length: count}, (_, i) => `▁${i + 1}`);
const range = count => Array.from({length: count}, (_, i) => i);

// Whether the rows of a head are named by the piece to predict, as in xformer/figures/attention.py.
const isToCome = (inLayer, inHead) => stack === 'cross' && data.predicted.length > 0 &&
  !data.given.includes(`${stack}.${inLayer + 1}.${inHead + 1}`);

// What is shown of the rows and the columns of a map: their labels, which positions each joins, the pieces that name
// them, which are kept. Made anew for each choice, for rows to come and for others.
let units = {};
function unitsOf(toCome) {
  if (units[toCome]) return units[toCome];
  const [, , rowCount, columnCount] = shape();
  const named = (own, count) => own.length ? own : numbered(count);
  const asks = named(pieces[stack === 'encoder_self' ? 'source' : 'target'], rowCount);
  const rowPieces = toCome ? pieces.predicted : asks;
  const columnPieces = named(pieces[stack === 'decoder_self' ? 'target' : 'source'], columnCount);
  const groupsOf = list => isChecked('words') ? wordsOf(list) : range(list.length).map(i => [i]);
  const labelsOf = (list, groups) => groups.map(group => shown(group.map(i => list[i]).join('')));
  const keptOf = (list, groups) => {
    const isLeft = i => stack === 'decoder_self' && i === 0;  // a causal model's first piece takes what is left over
    const others = range(groups.length).filter(i => !isSink(list[groups[i][0]]) && !isLeft(i));
    return isChecked('sinks') && others.length ? others : range(groups.length);
  };
  const rows = groupsOf(rowPieces), columns = groupsOf(columnPieces), line = labelsOf(rowPieces, rows);
  const queries = !toCome ? line : line.map((wanted, i) =>
    say('row_target', {given: i ? line[i - 1] : shown(asks[0]), wanted}));
  units[toCome] = {rows, columns, rowPieces, columnPieces, queries, keys: labelsOf(columnPieces, columns),
                   keptRows: keptOf(rowPieces, rows), keptColumns: keptOf(columnPieces, columns)};
  return units[toCome];
}

// The map of a head as the choices want it, and the units that it is of.
function mapOf(inLayer, inHead) {
  const [, heads, rowCount, columnCount] = shape(), size = rowCount * columnCount;
  numbers ??= readMap(data[stack]).probabilities;
  const own = unitsOf(isToCome(inLayer, inHead)), first = (inLayer * heads + inHead) * size;
  let values = numbers.subarray(first, first + size);
  if (isChecked('words')) values = joinMap(values, columnCount, own.rows, own.columns);
  if (isChecked('sinks')) values = keepOf(values, own.columns.length, own.keptRows, own.keptColumns);
  return {values, own};
}

const plain = text => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim();

// The rows and columns whose word is the one that is searched for, or, where none is, whose word contains it.
function foundIn(own) {
  const wanted = plain(byId('search').value);
  const of = (list, groups, kept) => {
    const words = wordsOf(list).map(group => [plain(sentence(group.map(i => list[i])) || list[group[0]]), group]);
    const equal = words.filter(([word]) => word === wanted);
    const chosen = equal.length ? equal : words.filter(([word]) => word.includes(wanted));
    const at = new Set(chosen.flatMap(([, group]) => group));
    return range(kept.length).filter(i => groups[kept[i]].some(position => at.has(position)));
  };
  if (!wanted) return {rows: [], columns: []};
  return {rows: of(own.rowPieces, own.rows, own.keptRows), columns: of(own.columnPieces, own.columns, own.keptColumns)};
}

function writeTexts() {
  for (const place of document.querySelectorAll('[data-text]')) place.textContent = data.texts[place.dataset.text];
  const names = ['encoder_self', 'decoder_self', 'cross'].filter(name => data[name].data);
  for (const [side, text] of [['source', data.text || sentence(pieces.source)], ['target', sentence(pieces.target)]])
    byId(side).textContent = !text ? '' : data.model ? say(`html_${side}`, {text}) : text;
  byId('model').textContent = data.model;
  byId('stack').append(...names.map(name => new Option(say(name), name, false, name === stack)));
  byId('stack').parentElement.hidden = names.length < 2;
  byId(view).checked = true;
}

// Paints the small map of a head, a pixel a cell, with the word that is searched for. table: by colourTable.
function paintTile(button, inLayer, inHead, table) {
  const {values, own} = mapOf(inLayer, inHead), canvas = button.firstChild;
  const [width, height] = [own.keptColumns.length, own.keptRows.length];
  Object.assign(canvas, {width, height});
  const levels = new Uint8Array(values.length);
  for (let i = 0; i < levels.length; i++) levels[i] = Math.round(255 * values[i]);
  paintMap(canvas, levels, table);
  canvas.classList.toggle('dense', width > TILE || height > TILE);
  const context = canvas.getContext('2d'), {rows, columns} = foundIn(own);
  context.fillStyle = FOUND;
  for (const row of rows) context.fillRect(0, row, width, Math.max(1, 1.5 * height / TILE));
  for (const column of columns) context.fillRect(column, 0, Math.max(1, 1.5 * width / TILE), height);
  button.dataset.found = JSON.stringify([rows, columns]);
}

function headButton(inLayer, inHead) {
  const button = document.createElement('button');
  button.append(document.createElement('canvas'));
  button.setAttribute('aria-label', say('finder_where', {layer: inLayer + 1, head: inHead + 1}));
  button.title = button.getAttribute('aria-label');
  button.addEventListener('click', () => choose(inLayer, inHead));
  button.addEventListener('keydown', event => {
    const step = ARROWS[event.key], [layers, heads] = shape();
    if (!step) return;
    event.preventDefault();
    const within = (number, count) => Math.max(0, Math.min(count - 1, number));
    choose(within(inLayer + step[0], layers), within(inHead + step[1], heads));
    byId('heads').children[layer * heads + head].focus();
  });
  return button;
}

function choose(inLayer, inHead) {
  [layer, head] = [inLayer, inHead];
  markChosen();
  drawMap();
}

function drawHeads() {
  const [layers, heads] = shape();
  byId('heads').style.gridTemplateColumns = `repeat(${heads}, auto)`;
  byId('heads').replaceChildren(...range(layers * heads).map(i => headButton(Math.floor(i / heads), i % heads)));
  paintHeads();
  markChosen();
}

function paintHeads() {
  const [, heads] = shape(), table = colourTable(BLUE, Math.sqrt);
  [...byId('heads').children].forEach((button, i) => paintTile(button, Math.floor(i / heads), i % heads, table));
}

function markChosen() {
  const [, heads] = shape();
  [...byId('heads').children].forEach((button, i) => {
    button.setAttribute('aria-pressed', i === layer * heads + head);
    button.tabIndex = i === layer * heads + head ? 0 : -1;
  });
}

// Draws the chosen head. map: as head_map.js takes it.
function drawMap() {
  const {values, own} = mapOf(layer, head), [layers, heads] = shape(), pane = byId('place').querySelector('.scroll');
  const hadFocus = pane && pane === document.activeElement;
  map = {probabilities: values, queries: own.keptRows.map(i => own.queries[i]), texts: data.texts, threshold: .05, view,
         keys: own.keptColumns.map(i => own.keys[i]), asks: say('line_asks'), seen: say('line_seen'), palette: BLUE,
         title: say('picture_title', {stack: say(stack), layer: layer + 1, layers, head: head + 1, heads})};
  const room = byId('place').clientWidth, height = Math.max(260, .72 * innerHeight);
  cell = fittingCell(map, {room}, height);
  const {html, hint} = mapHtml(map, {cell, room});
  byId('title').textContent = map.title;
  byId('place').innerHTML = html;
  byId('place').querySelector('.scroll').style.maxHeight = `${height}px`;
  byId('hint').textContent = hint;
  byId('rules').textContent = ['words', 'sinks'].filter(isChecked).map(id =>
    say({words: 'rule_words', sinks: 'rule_hidden'}[id])).join(' ');
  if (hadFocus) byId('place').querySelector('.scroll').focus();
  highlight();
}

// What is found, said: where the word is, and where it looks if it stands once.
function foundText(found) {
  const word = byId('search').value.trim();
  if (!word) return '';
  if (!found.rows.length && !found.columns.length) return say('html_not_found', {word});
  const once = found.rows.length === 1 ? ` ${description(map, {row: found.rows[0]})}` : '';
  return say('html_found', {word, rows: found.rows.length, columns: found.columns.length}) + once;
}

// Highlights the row and the column that are hovered or locked, and those of the word that is searched for.
function highlight() {
  const place = {...locked, ...hovered}, box = byId('place'), found = foundIn(unitsOf(isToCome(layer, head)));
  const isOne = place.row !== undefined || place.column !== undefined;
  markLabels(box, place, locked);
  const isIn = ({dataset}) => dataset.row !== undefined && found.rows.includes(Number(dataset.row)) ||
    dataset.column !== undefined && found.columns.includes(Number(dataset.column));
  for (const text of box.querySelectorAll('svg text[data-row], svg text[data-column]'))
    text.classList.toggle('found', isIn(text));
  const cells = box.querySelector('svg.cells .marks');
  if (cells) cells.innerHTML = [place, ...found.rows.map(row => ({row})), ...found.columns.map(column => ({column}))]
    .map(one => marks(map, cell, one)).join('');
  fadeArcs(box, place);
  if (!isOne && found.rows.length + found.columns.length) for (const arc of box.querySelectorAll('path[data-row]'))
    arc.setAttribute('stroke-opacity', isIn(arc) ? 1 : .07);
  byId('said').textContent = isOne ? description(map, place) : foundText(found);
}

// Moves by arrow keys from the place hovered or locked; the first key shows where that is.
function move([down, right]) {
  const isFirst = hovered.row === undefined && hovered.column === undefined;
  const next = (at, step, count) => Math.max(0, Math.min(count - 1, at + (isFirst ? 0 : step)));
  hovered = {row: next(hovered.row ?? locked.row ?? 0, down, map.queries.length),
             column: next(hovered.column ?? locked.column ?? 0, right, map.keys.length)};
  highlight();
  reveal(byId('place'), cell, hovered);
}

function lockAt(place) {
  locked = locked.row === place.row && locked.column === place.column ? {} : place;
  highlight();
}

function listen() {
  const box = byId('place'), isDarkNow = matchMedia('(prefers-color-scheme: dark)');
  const redraw = () => {
    [locked, hovered, units] = [{}, {}, {}];
    drawMap();
    paintHeads();
  };
  const shade = () => {
    document.body.classList.toggle('dark', isDarkNow.matches);
    redraw();
  };
  byId('stack').addEventListener('change', event => {
    stack = event.target.value;
    [layer, head, numbers, units, locked, hovered] = [shape()[0] - 1, 0, null, {}, {}, {}];
    drawHeads();
    drawMap();
  });
  for (const id of ['words', 'sinks']) byId(id).addEventListener('change', redraw);
  for (const id of ['heatmap', 'arcs']) byId(id).addEventListener('change', () => {
    view = id;
    drawMap();
  });
  byId('search').addEventListener('input', () => {
    [locked, hovered] = [{}, {}];
    highlight();
    paintHeads();
    const {rows: [row], columns: [column]} = foundIn(unitsOf(isToCome(layer, head)));
    reveal(box, cell, {row, column});
  });
  box.addEventListener('pointermove', event => {
    if (event.pointerType === 'touch') return;
    hovered = placeAt(event, map, cell) ?? {};
    highlight();
  });
  box.addEventListener('pointerleave', () => {
    hovered = {};
    highlight();
  });
  box.addEventListener('click', event => {
    const place = placeAt(event, map, cell);
    if (place) lockAt(place);
  });
  box.addEventListener('keydown', event => {
    if (event.key === 'Escape') {
      [locked, hovered] = [{}, {}];
      highlight();
    } else if (ARROWS[event.key] || event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      if (ARROWS[event.key]) move(ARROWS[event.key]);
      else lockAt(hovered);
    }
  });
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth === width) return;  // a phone's bar that comes and goes
    width = innerWidth;
    drawMap();
  });
  isDarkNow.addEventListener('change', shade);
  document.body.classList.toggle('dark', isDarkNow.matches);
}

writeTexts();
listen();
drawHeads();
drawMap();
