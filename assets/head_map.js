// Makes the picture of one attention map: a heatmap or arcs, as text, for the page and for files, also for the one that
// opens offline. Nothing here listens to events or keeps anything; head_view.js and explain.js do.
// map: a payload of xformer/figures/head_payload.py, read by `readMap`: labels, texts, a palette, and probabilities.
// size: {cell, room, isLarge}: the pixels of a cell, the pixels from left to right, whether it is the projector view.
// place: {row, column}, either of which may be missing.
import {SIZES, brokenLines, colour, escapeHtml, fill, floats, label, rect} from './shared.js';

export const NARROW = 480;  // pixels: a view below this width draws arcs
const NAMESPACE = 'http://www.w3.org/2000/svg', FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const ACCENT = '#d97706';
const BAR = 78;  // pixels: the width of the colour bar
const LEAST = 1 / 512;  // a cell of a smaller probability would look empty, and is not drawn
const measuring = document.createElement('canvas').getContext('2d');

// A payload with its probabilities decoded, row after row; null where it has none.
export const readMap = payload => payload?.data ? {...payload, probabilities: floats(payload.data)} : null;

export const probability = (map, row, column) => map.probabilities[row * map.keys.length + column];
// In the projector view labels are as large as its cells let them be.
const fontSize = ({cell, isLarge}) => isLarge ? Math.min(26, Math.max(SIZES.small, cell - 4)) : SIZES.small;
const isNarrow = ({room, isLarge}) => room < NARROW && !isLarge;  // the colour bar lies below the cells
export const isArcs = (map, size) => map.view === 'arcs' || (map.view === 'auto' && isNarrow(size));

function textWidth(labels, size) {  // of the longest, which may be bold
  measuring.font = `600 ${fontSize(size)}px ${FONT}`;
  return Math.ceil(Math.max(10, ...labels.map(text => measuring.measureText(text).width)));
}

// The largest cell with which the map fits a height, but none so small that labels could not be read: then it scrolls.
export function fittingCell(map, {room, isLarge}, height) {
  const {queries, keys} = map, isPhone = isNarrow({room, isLarge}), beside = isPhone ? 0 : BAR + 14;
  for (let cell = isLarge ? 140 : 34; cell >= 12; cell--) {
    const size = {cell, room, isLarge}, isTooWide = textWidth(queries, size) + 14 + cell * keys.length + beside > room;
    if (!isTooWide && textWidth(keys, size) + 34 + cell * queries.length <= height) return cell;
  }
  return isPhone ? 12 : 16;
}

// The parts of a heatmap as {width, height, body: SVG}. In the page the labels stay in sight while the cells scroll.
function heatmap(map, size) {
  const {queries, keys, palette} = map, {cell} = size, shift = fontSize(size) * .35;
  const left = textWidth(queries, size) + 14, above = textWidth(keys, size) + 14;
  const width = keys.length * cell, height = queries.length * cell;
  const ground = `<rect width="${width}" height="${height}" fill="${colour(palette, 0)}"/>` +
    `<rect width="${width}" height="${height}" fill="rgba(128,128,128,0.10)"/>`, cells = [];
  for (let q = 0; q < queries.length; q++) {
    for (let k = 0; k < keys.length; k++) {
      const p = probability(map, q, k);
      if (p < LEAST) continue;
      cells.push(rect(k * cell + .5, q * cell + .5, cell - 1, cell - 1, `fill="${colour(palette, p)}"`));
    }
  }
  const ofColumn = (key, k) => label(key, 0, 0, `data-column="${k}" transform="translate(` +
    `${(k + .5) * cell + shift},${above - 6}) rotate(-90)"`);
  const ofRow = (query, q) => label(query, left - 6, (q + .5) * cell + shift, `data-row="${q}" text-anchor="end"`);
  return {
    top: {width, height: above, body: keys.map(ofColumn).join('')},
    left: {width: left, height, body: queries.map(ofRow).join('')},
    cells: {width, height, body: `${ground}<g style="isolation: isolate"><g class="levels">${cells.join('')}</g></g>`},
  };
}

// The scale of colours, with numbers.
function colourBar({palette, texts}, height) {
  const steps = 40, each = height / steps;
  const blocks = Array.from({length: steps}, (_, i) =>
    rect(0, i * each, 14, each + .5, `fill="${colour(palette, 1 - (i + .5) / steps)}"`)).join('');
  const ticks = [0, .25, .5, .75, 1].map(p => `<text x="20" y="${(1 - p) * height + 4}">${p}</text>` +
    `<path d="M14 ${(1 - p) * height}h3" stroke="currentColor"/>`).join('');
  const outline = `<rect width="14" height="${height}" fill="none" stroke="currentColor" stroke-opacity=".4"/>`;
  const name = `<text transform="translate(66,${height / 2}) rotate(-90)" text-anchor="middle">` +
    `${escapeHtml(texts.probability)}</text>`;
  const body = `<g transform="translate(0,6)">${blocks}${outline}${ticks}${name}</g>`;
  return {width: BAR, height: height + 12, body};
}

// The same, from left to right.
function colourBarAcross({palette, texts}, across) {
  const steps = 40, each = across / steps;
  const blocks = Array.from({length: steps}, (_, i) =>
    rect(i * each, 0, each + .5, 14, `fill="${colour(palette, (i + .5) / steps)}"`)).join('');
  const ticks = [0, .5, 1].map(p => `<text x="${p * across}" y="32" text-anchor="middle">${p}</text>` +
    `<path d="M${p * across} 14v4" stroke="currentColor"/>`).join('');
  const outline = `<rect width="${across}" height="14" fill="none" stroke="currentColor" stroke-opacity=".4"/>`;
  const name = label(texts.probability, across + 14, 12, '');
  const body = `<g transform="translate(8,1)">${blocks}${outline}${ticks}${name}</g>`;
  return {width: across + 190, height: 38, body};
}

// Two columns of tokens, and lines from queries to keys, as thick as the probability. `drawn`: how many lines.
function arcs(map, size) {
  const {queries, keys} = map, {room, isLarge} = size, pitch = Math.max(size.cell, 16), shift = fontSize(size) * .35;
  const left = textWidth(queries, size) + 14, right = textWidth(keys, size) + 14;
  const middle = Math.max(48, Math.min(isLarge ? 1200 : 480, room - left - right - 4));
  const centre = left + middle / 2, end = left + middle, y = i => (i + .5) * pitch, lines = [];
  for (let q = 0; q < queries.length; q++) {
    for (let k = 0; k < keys.length; k++) {
      const p = probability(map, q, k);
      if (p <= 0 || p < map.threshold) continue;
      lines.push(`<path data-row="${q}" data-column="${k}" ` +
        `d="M${left} ${y(q)}C${centre} ${y(q)} ${centre} ${y(k)} ${end} ${y(k)}" fill="none" ` +
        `stroke="${colour(map.palette, Math.max(.35, p))}" stroke-width="${(.4 + .6 * pitch * p).toFixed(2)}"/>`);
    }
  }
  const token = (text, x, i, attributes) => label(text, x, y(i) + shift, attributes);
  const rows = queries.map((query, q) => token(query, left - 6, q, `data-row="${q}" text-anchor="end"`));
  const columns = keys.map((key, k) => token(key, end + 6, k, `data-column="${k}"`));
  return {width: end + right, height: pitch * Math.max(queries.length, keys.length), drawn: lines.length,
          body: [...lines, ...rows, ...columns].join('')};
}

// A drawing as an SVG of the page, with room for marks above it.
const svgOf = ({width, height, body}, name, fontPixels) =>
  `<svg xmlns="${NAMESPACE}" class="${name}" width="${width}" height="${height}" font-size="${fontPixels}" ` +
  `fill="currentColor">${body}<g class="marks"></g></svg>`;

const scrollingHtml = (map, content) =>
  `<div class="scroll" tabindex="0" role="application" aria-label="${escapeHtml(map.title)}">${content}</div>`;

function arcsHtml(map, drawing, size) {
  const ends = `<span>${escapeHtml(map.asks)}</span><span>${escapeHtml(map.seen)}</span>`;
  return scrollingHtml(map, `<p class="ends sub">${ends}</p>${svgOf(drawing, 'arcs', fontSize(size))}`);
}

function heatmapHtml(map, size) {
  const drawing = heatmap(map, size), isPhone = isNarrow(size), {height} = drawing.cells;
  const bar = isPhone ? colourBarAcross(map, 120) : colourBar(map, Math.max(120, Math.min(height, 320)));
  const ends = `<span>${escapeHtml(map.asks)}&nbsp;↓</span><span class="seen">${escapeHtml(map.seen)}&nbsp;→</span>`;
  const parts = ['top', 'left', 'cells'].map(name => svgOf(drawing[name], name, fontSize(size))).join('');
  const kind = isPhone ? 'map narrow' : 'map';
  return `<div class="${kind}"><div class="map-of"><p class="ends sub">${ends}</p>` +
    `${scrollingHtml(map, `<div class="corner"></div>${parts}`)}</div>${svgOf(bar, 'colours', SIZES.small)}</div>`;
}

// The map as {html}, and the {hint} below it.
export function mapHtml(map, size) {
  const {texts, threshold} = map;
  if (!isArcs(map, size)) return {html: heatmapHtml(map, size), hint: texts.view_hint};
  const drawing = arcs(map, size), all = map.probabilities.length;
  const count = fill(texts.arcs_drawn, {drawn: drawing.drawn, all, threshold: Math.round(100 * threshold)});
  return {html: arcsHtml(map, drawing, size), hint: `${count} ${texts.view_hint}`};
}

// A sentence whose tokens can be hovered, and clicked to lock. kind: row or column.
function sentenceLine(labels, kind, title) {
  const tokens = labels.map((text, i) => `<span class="token" data-${kind}="${i}">${escapeHtml(text)}</span>`);
  return `<p class="line ${kind}"><span class="sub">${escapeHtml(title)}</span> ${tokens.join(' ')}</p>`;
}

// What surrounds the map in the page: its title and both sentences above, what is said of it below.
export const frameHtml = map =>
  `<h3 class="title">${escapeHtml(map.title)}</h3>` + sentenceLine(map.line, 'row', map.texts.line_asks) +
  sentenceLine(map.keys, 'column', map.texts.line_seen) + '<div class="place"></div><p class="sub more"></p>' +
  '<div class="below"><p class="said" aria-live="polite"></p><p class="sub hint"></p></div>';

// Frames around the row and the column of a place. Nothing lies over the cells: their colours are numbers, which the
// colour bar beside them reads.
export function marks(map, cell, {row, column}) {
  const width = map.keys.length * cell, height = map.queries.length * cell, parts = [];
  const frame = (x, y, w, h) => parts.push(rect(x, y, w, h, `fill="none" stroke="${ACCENT}" stroke-width="2"`));
  if (row !== undefined) frame(0, row * cell, width, cell);
  if (column !== undefined) frame(column * cell, 0, cell, height);
  return parts.join('');
}

// Makes the labels of a place bold in a drawing, and no others; those beside the locked ones are grey.
export function markLabels(drawing, place, locked = {}) {
  const isOf = (text, axis, {[axis]: at}) => at !== undefined && text.dataset[axis] === String(at);
  for (const text of drawing.querySelectorAll('svg text[data-row], svg text[data-column]')) {
    const axis = text.dataset.row === undefined ? 'column' : 'row', isChosen = isOf(text, axis, place);
    text.setAttribute('font-weight', isChosen ? 600 : 400);
    text.classList.toggle('beside', !isChosen && locked[axis] !== undefined && !isOf(text, axis, locked));
  }
}

// The place in a map that an event of the pointer is at; null for none.
export function placeAt(event, map, cell) {
  const target = event.target.closest('[data-row], [data-column]');
  if (target) {
    const {row, column} = target.dataset;
    return {...(row && {row: Number(row)}), ...(column && {column: Number(column)})};
  }
  const cells = event.target.closest('svg.cells');
  if (!cells) return null;
  const box = cells.getBoundingClientRect();
  const row = Math.floor((event.clientY - box.top) / cell), column = Math.floor((event.clientX - box.left) / cell);
  return row >= 0 && row < map.queries.length && column >= 0 && column < map.keys.length ? {row, column} : null;
}

// Scrolls a place of a long sentence into sight.
export function reveal(element, cell, {row, column}) {
  const inside = selector => element.querySelector(selector), pane = inside('.scroll');
  if (!inside('svg.cells')) return;
  // begin: of the cell; taken: by the labels, of the room that the pane has; position: how far it is scrolled now
  const nearest = (begin, taken, room, position) =>
    Math.max(begin + taken + cell - room + 4, Math.min(position, begin));
  if (column !== undefined)
    pane.scrollLeft = nearest(column * cell, inside('svg.left').clientWidth, pane.clientWidth, pane.scrollLeft);
  if (row !== undefined)
    pane.scrollTop = nearest(row * cell, inside('svg.top').clientHeight, pane.clientHeight, pane.scrollTop);
}

// The opacity of an arc while a place is highlighted.
function opacity(path, {row, column}) {
  if (row === undefined && column === undefined) return .8;
  const isOfRow = Number(path.dataset.row) === row, isOfColumn = Number(path.dataset.column) === column;
  const isCell = row !== undefined && column !== undefined;
  return (isCell ? isOfRow && isOfColumn : isOfRow || isOfColumn) ? 1 : .07;
}

// Fades the arcs of a drawing that do not belong to a place.
export function fadeArcs(drawing, place) {
  for (const path of drawing.querySelectorAll('path[data-row]'))
    path.setAttribute('stroke-opacity', opacity(path, place));
}

// The labels of the four largest probabilities, with these; of(i): the probability of label i.
function largest(labels, of) {
  const sorted = labels.map((text, i) => [of(i), text]).sort((a, b) => b[0] - a[0]);
  return sorted.slice(0, 4).filter(([p]) => p >= .001).map(([p, text]) => `${text} ${p.toFixed(3)}`).join(', ');
}

// A place in words: one probability, or the four largest of a row or a column.
export function description(map, {row, column}) {
  const {queries, keys, texts} = map, query = queries[row], key = keys[column];
  if (row !== undefined && column !== undefined)
    return fill(texts.looks_at, {query, list: `${key} ${probability(map, row, column).toFixed(3)}`});
  if (row !== undefined) {
    const list = largest(keys, k => probability(map, row, k));
    return fill(list ? texts.looks_at : texts.looks_at_nothing, {query, list});
  }
  if (column === undefined) return '';
  const list = largest(queries, q => probability(map, q, column));
  return fill(list ? texts.looked_at_by : texts.looked_at_by_nobody, {key, list});
}

// The map as {columns, rows}: a row for each query, a column for each key.
export function tableOf(map) {
  const rows = map.queries.map((query, q) => [query, ...map.keys.map((_, k) => probability(map, q, k))]);
  return {columns: [map.rules.join(' · '), ...map.keys], rows};
}

// A part of a picture for a file, as an SVG inside another.
const placed = ({width, height, body}, x, y) =>
  `<svg x="${x}" y="${y}" width="${width}" height="${height}">${body}</svg>`;

// SVG in which the labels of the locked row and column are bold. Nothing in a file is dimmed: nobody can let go there.
function withLocked(body, locked) {
  if (locked.row === undefined && locked.column === undefined) return body;
  const drawing = new DOMParser().parseFromString(`<svg xmlns="${NAMESPACE}">${body}</svg>`, 'image/svg+xml');
  markLabels(drawing, locked);
  for (const path of drawing.querySelectorAll('path[data-row]'))
    path.setAttribute('stroke-opacity', Math.max(opacity(path, {}), opacity(path, locked)));
  return drawing.documentElement.innerHTML;
}

// The drawing in a file: its size, and the SVG below the titles of its axes; y: where it begins.
function arcsInFile(map, size, locked, y) {
  const drawing = arcs(map, size);
  const seen = `<text x="${12 + drawing.width}" y="${y}" text-anchor="end">${escapeHtml(map.seen)}</text>`;
  return {width: drawing.width, height: drawing.height + 34,
          body: label(map.asks, 12, y - 18, '') + seen + withLocked(placed(drawing, 12, y + 10), locked)};
}

function heatmapInFile(map, size, locked, y) {
  const {top: labels, left, cells} = heatmap(map, size), bar = colourBar(map, 200);
  const x = 12 + left.width, below = y + labels.height + 12;
  const framed = {...cells, body: cells.body + marks(map, size.cell, locked)};
  return {width: left.width + cells.width + 24 + bar.width,
          height: labels.height + Math.max(cells.height, bar.height) + 44,
          body: label(`${map.asks} ↓`, 12, y - 18, '') + label(`${map.seen} →`, x, y, '') +
            withLocked(placed(labels, x, y + 6) + placed(left, 12, below), locked) + placed(framed, x, below) +
            placed(bar, x + cells.width + 24, below - 6)};
}

// The picture for a file as {svg, width, height}: above the map its title, both sentences and what is locked; its rules
// and the checkpoint below. ink, paper: colours, for CSS.
export function filePicture(map, pageSize, locked, {ink, paper}) {
  const size = {...pageSize, cell: Math.max(pageSize.cell, 20)};
  const inFile = y => isArcs(map, size) ? arcsInFile(map, size, locked, y) : heatmapInFile(map, size, locked, y);
  const across = Math.max(inFile(0).width, 600), small = `${SIZES.small}px ${FONT}`;
  const title = brokenLines(map.title, across, `600 ${SIZES.reading}px ${FONT}`);
  const above = [...title.map(text => [text, `font-size="${SIZES.reading}" font-weight="600"`]),
    ...[...map.pair, description(map, locked)].filter(Boolean)
      .flatMap(text => brokenLines(text, across, small)).map(text => [text, `font-size="${SIZES.small}"`])];
  const below = [...map.rules, map.checkpoint].flatMap(text => brokenLines(text, across, small));
  const first = 26 + 20 * above.length + 24, inner = inFile(first);
  const width = Math.ceil(across + 24), height = first + inner.height + 18 * below.length + 8;
  const svg = `<svg xmlns="${NAMESPACE}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `color="${ink}" fill="${ink}" font-family='${FONT}' font-size="${fontSize(size)}">` +
    `<rect width="${width}" height="${height}" fill="${paper}"/>` +
    above.map(([text, attributes], i) => label(text, 12, 26 + 20 * i, attributes)).join('') + inner.body +
    below.map((text, i) => label(text, 12, height - 8 - 18 * (below.length - 1 - i),
                                 `font-size="${SIZES.small}" fill-opacity=".75"`)).join('') + '</svg>';
  return {svg, width, height};
}
