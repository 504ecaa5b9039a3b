// Draws the maps of one translation, all heads of a stack and the chosen one as a table, in an exported page, which
// xformer/offline_page.py makes of explain.html, shared.js and this file.
import {colour, colourTable, fill, paintMap} from './shared.js';

const BLUE = [[43, 122, 246, 0], [43, 122, 246, 1]];  // a palette, from transparent
const byId = id => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);  // {texts, source, target, predicted, start, and maps of each stack}
const say = (key, values = {}) => fill(data.texts[key], values);
const shown = piece => piece.startsWith('▁') ? piece.slice(1) || '␣' : piece.replace(/^<0x(..)>$/, 'byte $1');
const spelled = text => text.replace(/(?:<0x..>)+/g, run => new TextDecoder().decode(
  Uint8Array.from(run.match(/..(?=>)/g), byte => parseInt(byte, 16))));  // bytes are of characters without a piece
const sentence = pieces => spelled(pieces.filter(piece => !/^<(?!0x).*>$/.test(piece)).join('')).replaceAll('▁', ' ')
  .trim();
let {stack, layer, head} = data.start;  // counted from 0

function writeTexts() {
  for (const place of document.querySelectorAll('[data-text]')) place.textContent = data.texts[place.dataset.text];
  byId('source').textContent = say('html_source', {text: sentence(data.source)});
  byId('target').textContent = say('html_target', {text: sentence(data.target)});
  byId('model').textContent = data.model;
  for (const name of ['encoder_self', 'decoder_self', 'cross'].filter(one => data[one].length))
    byId('stack').add(new Option(say(name), name, false, name === stack));
}

// The button of one head, with its map, a pixel a cell.
function headButton(rows, inLayer, inHead) {
  const button = document.createElement('button'), canvas = document.createElement('canvas');
  Object.assign(canvas, {width: rows[0].length, height: rows.length});
  paintMap(canvas, rows.flat().map(p => Math.round(255 * p)), colourTable(BLUE));
  button.append(canvas);
  button.setAttribute('aria-label', say('finder_where', {layer: inLayer + 1, head: inHead + 1}));
  button.addEventListener('click', () => {
    layer = inLayer;
    head = inHead;
    markChosen();
    drawMap();
  });
  return button;
}

function drawHeads() {
  const maps = data[stack];
  byId('heads').style.gridTemplateColumns = `repeat(${maps[0].length}, auto)`;
  byId('heads').replaceChildren(...maps.flatMap((ofLayer, l) => ofLayer.map((rows, h) => headButton(rows, l, h))));
  markChosen();
}

function markChosen() {
  const chosen = layer * data[stack][0].length + head;
  [...byId('heads').children].forEach((button, i) => button.setAttribute('aria-pressed', i === chosen));
}

const headerCell = text => Object.assign(document.createElement('th'), {textContent: text});

// The chosen map as a table: a row for each query, a column for each key.
function drawMap() {
  const maps = data[stack], keys = (stack === 'decoder_self' ? data.target : data.source).map(shown);
  const isGiven = stack === 'decoder_self' || data.given.includes(`${stack}.${layer + 1}.${head + 1}`);
  const queries = stack === 'encoder_self' ? keys : data.target.map((piece, i) => isGiven ? shown(piece) :
    say('row_target', {given: shown(piece), wanted: shown(data.predicted[i])}));
  byId('title').textContent = say('picture_title', {
    stack: say(stack), layer: layer + 1, layers: maps.length, head: head + 1, heads: maps[0].length});
  const table = byId('map');
  table.replaceChildren();
  table.createTHead().insertRow().append(...['', ...keys].map(headerCell));
  const body = table.createTBody();
  maps[layer][head].forEach((probabilities, q) => {
    const row = body.insertRow();
    row.append(headerCell(queries[q]));
    probabilities.forEach((p, k) => {
      const cell = row.insertCell();
      cell.style.background = colour(BLUE, p);
      cell.title = say('looks_at', {query: queries[q], list: `${keys[k]} ${p.toFixed(3)}`});
      cell.addEventListener('mouseenter', () => { byId('value').textContent = cell.title; });
    });
  });
}

byId('stack').addEventListener('change', event => {
  stack = event.target.value;
  layer = data[stack].length - 1;
  head = 0;
  drawHeads();
  drawMap();
});
writeTexts();
drawHeads();
drawMap();
