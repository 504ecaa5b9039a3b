// Draws one attention map from props.value (xformer/figures/head_payload.py) as SVG, a heatmap or arcs, with its two
// sentences above. The pointer, arrow keys and clicks highlight a row (a query) and a column (a key) in every part.
import {background, pictureAddress, saveOnClick} from './save.js';
import {ARROWS, colour, escapeHtml, fill, floats, label, rect} from './shared.js';

const NAMESPACE = 'http://www.w3.org/2000/svg', FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const ACCENT = '#d97706';
const CELL_SIZES = [12, 16, 20, 26, 34, 44];  // pixels; the buttons − and + go from one to the next
const LEAST = 1 / 512;  // a cell of a smaller probability would look empty, and is not drawn

// A part of a picture as an SVG inside another.
const placed = ({width, height, body}, x, y) =>
  `<svg x="${x}" y="${y}" width="${width}" height="${height}">${body}</svg>`;

// A sentence whose tokens can be hovered, and clicked to lock. kind: row or column.
function sentenceLine(labels, kind, title) {
  const tokens = labels.map((text, i) => `<span class="token" data-${kind}="${i}">${escapeHtml(text)}</span>`);
  return `<p class="line ${kind}"><span class="sub">${escapeHtml(title)}</span> ${tokens.join(' ')}</p>`;
}

function zoomButton(step, sign, text) {
  const name = escapeHtml(text);
  return `<button type="button" data-zoom="${step}" title="${name}" aria-label="${name}">${sign}</button>`;
}

// The labels of the four largest probabilities, with these; of(i): the probability of label i.
function largest(labels, of) {
  const sorted = labels.map((text, i) => [of(i), text]).sort((a, b) => b[0] - a[0]);
  return sorted.slice(0, 4).filter(([p]) => p >= .001).map(([p, text]) => `${text} ${p.toFixed(3)}`).join(', ');
}

// The opacity of an arc when a row and a column, or one of them (else null), are highlighted.
function opacity(path, row, column) {
  if (row === null && column === null) return .8;
  const sameRow = Number(path.dataset.row) === row, sameColumn = Number(path.dataset.column) === column;
  const both = row !== null && column !== null;
  return (both ? sameRow && sameColumn : sameRow || sameColumn) ? 1 : .07;
}

const screenPlace = event => `${event.screenX} ${event.screenY}`;

export default function start({element, props, watch}) {
  let map = null;            // props.value: labels, texts, palette, and the probabilities as base64
  let probabilities = null;  // decoded, row after row
  let cell = 26, zoomed = false;  // the size of a cell, and whether the visitor has chosen it
  let locked = {}, hovered = {};  // {row, column}, either of which may be missing; `locked` also has its sentence

  const inside = selector => element.querySelector(selector);
  const probability = (row, column) => probabilities[row * map.keys.length + column];
  const shade = p => colour(map.palette, p);
  const fontSize = () => Math.min(13, Math.max(10, cell - 4));
  const sentences = () => map.line.join(' ') + map.keys.join(' ');
  const measuring = document.createElement('canvas').getContext('2d');

  function textWidth(labels) {  // of the longest
    measuring.font = `${fontSize()}px ${FONT}`;
    return Math.ceil(Math.max(10, ...labels.map(text => measuring.measureText(text).width)));
  }

  // Makes cells as large as fits, but never so small that labels could not be read.
  function fitCells() {
    const room = element.clientWidth - 110;
    for (cell of [26, 20]) if (textWidth(map.queries) + 14 + cell * map.keys.length <= room) return;
    cell = 16;
  }

  // The parts of a heatmap as {width, height, body: SVG}. In the page the labels stay in sight while the cells scroll.
  function heatmap() {
    const {queries, keys} = map, size = fontSize(), left = textWidth(queries) + 14, above = textWidth(keys) + 14;
    const width = keys.length * cell, height = queries.length * cell;
    const cells = [`<rect width="${width}" height="${height}" fill="${shade(0)}"/>`,
                   `<rect width="${width}" height="${height}" fill="rgba(128,128,128,0.10)"/>`];
    for (let q = 0; q < queries.length; q++) {
      for (let k = 0; k < keys.length; k++) {
        const p = probability(q, k);
        if (p >= LEAST) cells.push(rect(k * cell + .5, q * cell + .5, cell - 1, cell - 1, `fill="${shade(p)}"`));
      }
    }
    const ofColumn = (key, k) => label(key, 0, 0, `data-column="${k}" transform="translate(` +
      `${(k + .5) * cell + size * .35},${above - 6}) rotate(-90)"`);
    const ofRow = (query, q) =>
      label(query, left - 6, (q + .5) * cell + size * .35, `data-row="${q}" text-anchor="end"`);
    return {
      top: {width, height: above, body: keys.map(ofColumn).join('')},
      left: {width: left, height, body: queries.map(ofRow).join('')},
      cells: {width, height, body: cells.join('')},
    };
  }

  // The scale of colours, with numbers.
  function colourBar(height) {
    const steps = 40, each = height / steps;
    const blocks = Array.from({length: steps}, (_, i) =>
      rect(0, i * each, 14, each + .5, `fill="${shade(1 - (i + .5) / steps)}"`)).join('');
    const ticks = [0, .25, .5, .75, 1].map(p => `<text x="20" y="${(1 - p) * height + 4}">${p}</text>` +
      `<path d="M14 ${(1 - p) * height}h4" stroke="currentColor"/>`).join('');
    const outline = `<rect width="14" height="${height}" fill="none" stroke="currentColor" stroke-opacity=".4"/>`;
    const name = `<text transform="translate(66,${height / 2}) rotate(-90)" text-anchor="middle">` +
      `${escapeHtml(map.texts.probability)}</text>`;
    const body = `<g transform="translate(0,6)">${blocks}${outline}${ticks}${name}</g>`;
    return {width: 78, height: height + 12, body};
  }

  // Two columns of tokens, and lines from queries to keys, as thick as the probability. `drawn`: how many lines.
  function arcs() {
    const {queries, keys} = map, pitch = Math.max(cell, 16), size = fontSize();
    const left = textWidth(queries) + 14, middle = Math.max(120, 7 * pitch), right = textWidth(keys) + 14;
    const centre = left + middle / 2, end = left + middle, y = i => (i + .5) * pitch, lines = [];
    for (let q = 0; q < queries.length; q++) {
      for (let k = 0; k < keys.length; k++) {
        const p = probability(q, k);
        if (p <= 0 || p < map.threshold) continue;
        lines.push(`<path data-row="${q}" data-column="${k}" ` +
          `d="M${left} ${y(q)}C${centre} ${y(q)} ${centre} ${y(k)} ${end} ${y(k)}" fill="none" ` +
          `stroke="${shade(Math.max(.35, p))}" stroke-width="${(.4 + .6 * pitch * p).toFixed(2)}"/>`);
      }
    }
    const token = (text, x, i, attributes) => label(text, x, y(i) + size * .35, attributes);
    const rows = queries.map((query, q) => token(query, left - 6, q, `data-row="${q}" text-anchor="end"`));
    const columns = keys.map((key, k) => token(key, end + 6, k, `data-column="${k}"`));
    return {width: end + right, height: pitch * Math.max(queries.length, keys.length), left, end, drawn: lines.length,
      body: [...lines, ...rows, ...columns].join('')};
  }

  const svgOf = ({width, height, body}, name) =>
    `<svg xmlns="${NAMESPACE}" class="${name}" width="${width}" height="${height}" font-size="${fontSize()}" ` +
    `fill="currentColor">${body}<g class="marks"></g></svg>`;

  function scrollingHtml(content) {
    return `<div class="scroll" tabindex="0" role="application" aria-label="${escapeHtml(map.title)}">${content}</div>`;
  }

  function arcsHtml(drawing) {
    const ends = `<span>${escapeHtml(map.asks)}</span><span>${escapeHtml(map.seen)}</span>`;
    return scrollingHtml(`<p class="ends sub">${ends}</p>${svgOf(drawing, 'arcs')}`);
  }

  function heatmapHtml() {
    const {top: labels, left, cells} = heatmap(), bar = colourBar(Math.max(120, Math.min(cells.height, 320)));
    const corner = `<div class="corner sub">${escapeHtml(map.asks)} ↓</div>`;
    return `<div class="sub seen">${escapeHtml(map.seen)} →</div><div class="map">` +
      scrollingHtml(corner + svgOf(labels, 'top') + svgOf(left, 'left') + svgOf(cells, 'cells')) +
      svgOf(bar, 'bar') + '</div>';
  }

  // The map as HTML, and a hint below it.
  function mapAndHint() {
    const {texts, threshold} = map;
    if (map.view !== 'arcs') return [heatmapHtml(), texts.view_hint];
    const drawing = arcs(), all = probabilities.length;
    const count = fill(texts.arcs_drawn, {drawn: drawing.drawn, all, threshold: Math.round(100 * threshold)});
    return [arcsHtml(drawing), `${count} ${texts.view_hint}`];
  }

  function draw() {
    map = props.value;
    probabilities = map?.data ? floats(map.data) : null;
    element.dataset.empty = !probabilities;
    if (!probabilities) return;
    const beyond = locked.row >= map.queries.length || locked.column >= map.keys.length;
    if (beyond || locked.sentence !== sentences()) locked = {};
    if (!zoomed) fitCells();
    const {texts} = map, [html, hint] = mapAndHint();
    const before = inside('.scroll'), position = before && [before.scrollLeft, before.scrollTop];
    const focused = element.contains(document.activeElement) && document.activeElement.classList.contains('scroll');
    const place = inside('.drawing') ||
      element.appendChild(Object.assign(document.createElement('div'), {className: 'drawing'}));
    place.innerHTML = `<div class="head"><h4 class="title">${escapeHtml(map.title)}</h4><span class="tools">` +
      `${zoomButton(-1, '−', texts.smaller)}${zoomButton(1, '+', texts.larger)}</span></div>` +
      sentenceLine(map.line, 'row', texts.line_asks) + sentenceLine(map.keys, 'column', texts.line_seen) +
      `<p class="said" aria-live="polite"></p>${html}<p class="sub">${escapeHtml(hint)}</p>`;
    const after = inside('.scroll');
    if (focused) after.focus();
    if (position) [after.scrollLeft, after.scrollTop] = position;
    highlight();
    place.dataset.drawn = map.key;
  }

  // Highlights a row, a column, or the cell where they cross. What is hovered comes before what is locked.
  function highlight() {
    if (!probabilities) return;
    const {row = null, column = null} = {...locked, ...hovered};
    shadeTokens(row, column);
    for (const text of element.querySelectorAll('svg text[data-row], svg text[data-column]')) {
      const {row: ofRow, column: ofColumn} = text.dataset;
      const chosen = (row !== null && ofRow === String(row)) || (column !== null && ofColumn === String(column));
      text.setAttribute('font-weight', chosen ? 700 : 400);
    }
    if (inside('svg.cells .marks')) inside('svg.cells .marks').innerHTML = marks(row, column);
    for (const path of element.querySelectorAll('svg.arcs path'))
      path.setAttribute('stroke-opacity', opacity(path, row, column));
    const said = inside('.said');
    if (said) said.textContent = description(row, column) + (isLocked() ? ' ' + map.texts.view_locked : '');
  }

  const isLocked = () => locked.row !== undefined || locked.column !== undefined;

  // A row shades the keys that its query looks at, a column the queries that look at its key. In self-attention a token
  // stands in both sentences, and shades both.
  function shadeTokens(row, column) {
    const rows = map.queries.length, columns = map.keys.length;
    const fromRow = row ?? (map.same ? column : null), fromColumn = column ?? (map.same ? row : null);
    const opaque = map.palette[0][3] === 1;
    const paint = (token, p, chosen) => {
      token.style.background = p === null ? '' : shade(p);
      token.style.color = p !== null && opaque ? (p > .55 ? '#111' : '#fff') : '';
      token.classList.toggle('chosen', chosen);
    };
    element.querySelectorAll('.token[data-column]').forEach((token, k) =>
      paint(token, fromRow === null || fromRow >= rows ? null : probability(fromRow, k), k === column));
    element.querySelectorAll('.token[data-row]').forEach((token, q) =>
      paint(token, fromColumn === null || fromColumn >= columns ? null : probability(q, fromColumn), q === row));
  }

  // Frames around the row and column, and a veil over what lies outside the locked ones.
  function marks(row, column) {
    const width = map.keys.length * cell, height = map.queries.length * cell, parts = [];
    const frame = (x, y, w, h) => parts.push(rect(x, y, w, h, `fill="none" stroke="${ACCENT}" stroke-width="2"`));
    const dim = (x, y, w, h) => w > 0 && h > 0 &&
      parts.push(rect(x, y, w, h, 'style="fill:var(--body-background-fill)" fill-opacity=".6"'));
    if (locked.row !== undefined) {
      const y = locked.row * cell;
      dim(0, 0, width, y);
      dim(0, y + cell, width, height - y - cell);
    }
    if (locked.column !== undefined) {
      const x = locked.column * cell;
      dim(0, 0, x, height);
      dim(x + cell, 0, width - x - cell, height);
    }
    if (row !== null) frame(0, row * cell, width, cell);
    if (column !== null) frame(column * cell, 0, cell, height);
    return parts.join('');
  }

  // What is highlighted, in words: one probability, or the four largest.
  function description(row, column) {
    const {queries, keys, texts} = map, query = queries[row], key = keys[column];
    if (row !== null && column !== null)
      return fill(texts.looks_at, {query, list: `${key} ${probability(row, column).toFixed(3)}`});
    if (row !== null) return fill(texts.looks_at, {query, list: largest(keys, k => probability(row, k))});
    if (column !== null) return fill(texts.looked_at_by, {key, list: largest(queries, q => probability(q, column))});
    return '';
  }

  // The row and the column under the pointer, as {row, column}; null where there is nothing.
  function placeOf(event) {
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

  // Scrolls a row and a column of a long sentence into sight.
  function reveal({row, column}) {
    const pane = inside('.scroll');
    if (!inside('svg.cells')) return;
    // place: of the cell; taken: by the labels, of the room that the pane has; position: how far it is scrolled now
    const nearest = (place, taken, room, position) =>
      Math.max(place + taken + cell - room + 4, Math.min(position, place));
    if (column !== undefined)
      pane.scrollLeft = nearest(column * cell, inside('svg.left').clientWidth, pane.clientWidth, pane.scrollLeft);
    if (row !== undefined)
      pane.scrollTop = nearest(row * cell, inside('svg.top').clientHeight, pane.clientHeight, pane.scrollTop);
  }

  // Locks a place, or unlocks it where it is locked already.
  function toggleLock(place) {
    const same = locked.row === place.row && locked.column === place.column;
    locked = same ? {} : {...place, sentence: sentences()};
    highlight();
  }

  // The picture for a file: its size, and the SVG between title and notes.
  function arcsPicture() {
    const drawing = arcs();
    return {width: drawing.width, height: drawing.height + 24,
      body: `<text x="12" y="50">${escapeHtml(map.asks)}</text>` +
        `<text x="${12 + drawing.end}" y="50">${escapeHtml(map.seen)}</text>` + placed(drawing, 12, 58)};
  }

  function heatmapPicture() {
    const {top: labels, left, cells} = heatmap(), bar = colourBar(200);
    const x = 12 + left.width, y = 58 + labels.height;
    return {width: left.width + cells.width + 24 + bar.width,
      height: labels.height + Math.max(cells.height, bar.height) + 24,
      body: `<text x="${x}" y="50">${escapeHtml(map.seen)} →</text>` +
        `<text x="12" y="${y - 6}">${escapeHtml(map.asks)} ↓</text>` + placed(labels, x, 58) + placed(left, 12, y) +
        placed(cells, x, y) + placed(bar, x + cells.width + 24, y - 6)};
  }

  function picture(kind) {  // with its title above, its rules and the checkpoint below
    const inner = map.view === 'arcs' ? arcsPicture() : heatmapPicture(), notes = [...map.rules, map.checkpoint];
    const longest = Math.max(...[map.title, ...notes].map(note => note.length));
    const width = Math.max(inner.width + 24, 12 + longest * 6.6), height = inner.height + 52 + 18 * notes.length;
    const ink = getComputedStyle(element).color;
    const below = notes.map((note, i) =>
      label(note, 12, height - 8 - 18 * (notes.length - 1 - i), 'font-size="12" fill-opacity=".75"'));
    const svg = `<svg xmlns="${NAMESPACE}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
      `color="${ink}" fill="${ink}" font-family='${FONT}' font-size="${fontSize()}">` +
      `<rect width="${width}" height="${height}" fill="${background(element)}"/>` +
      label(map.title, 12, 26, 'font-size="16" font-weight="600"') + inner.body + below.join('') + '</svg>';
    return pictureAddress(kind, svg, width, height);
  }

  function table() {  // a row for each query, a column for each key
    const rows = map.queries.map((query, q) => [query, ...map.keys.map((_, k) => probability(q, k))]);
    return {columns: [map.rules.join(' · '), ...map.keys], rows};
  }

  saveOnClick(element, {title: () => map.title, table, picture});

  // Scrolling or growing may move the picture under a pointer that rests: only a pointer that moves hovers. It is
  // watched on the whole page, because it may have moved elsewhere before the picture came to lie under it.
  let pointer = '', pointerMoved = false;
  window.addEventListener('pointermove', event => {
    pointerMoved = screenPlace(event) !== pointer;
    pointer = screenPlace(event);
  }, true);
  element.addEventListener('pointermove', event => {
    if (!probabilities || event.pointerType === 'touch' || !pointerMoved) return;
    hovered = placeOf(event) || {};
    highlight();
  });
  element.addEventListener('pointerleave', event => {
    if (screenPlace(event) === pointer) return;
    hovered = {};
    highlight();
  });

  function zoom(step) {
    zoomed = true;
    cell = CELL_SIZES[Math.max(0, Math.min(CELL_SIZES.length - 1, CELL_SIZES.indexOf(cell) + step))];
    draw();
  }

  element.addEventListener('click', event => {
    if (!probabilities) return;
    const button = event.target.closest('button');
    if (button?.dataset.zoom) return zoom(Number(button.dataset.zoom));
    const place = placeOf(event);
    if (!place) return;
    toggleLock(place);
    reveal(place);
  });

  // Moves by arrow keys from the place hovered or locked; the first key shows where that is.
  function move([rows, columns]) {
    const first = hovered.row === undefined && hovered.column === undefined;
    const next = (place, step, count) => Math.max(0, Math.min(count - 1, place + (first ? 0 : step)));
    hovered = {row: next(hovered.row ?? locked.row ?? 0, rows, map.queries.length),
               column: next(hovered.column ?? locked.column ?? 0, columns, map.keys.length)};
    highlight();
    reveal(hovered);
  }

  element.addEventListener('keydown', event => {
    if (!probabilities || !event.target.closest('.scroll')) return;
    if (event.key === 'Escape') {
      hovered = {};
      locked = {};
      highlight();
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      toggleLock({...hovered});
    } else if (ARROWS[event.key]) {
      event.preventDefault();
      move(ARROWS[event.key]);
    }
  });
  watch('value', draw);
  draw();
}
