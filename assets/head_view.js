// Draws one attention map from props.value (xformer/figures/head_payload.py) as SVG, a heatmap or arcs, with its two
// sentences above. The pointer, arrow keys and clicks highlight a row (a query) and a column (a key) in every part.
import {lockText, onLock, placeLock, setLock, writeLock} from './lock.js';
import {closeOnLeaving, openDrawer} from './menus.js';
import {background, brokenLines, pictureAddress, saveOnClick} from './save.js';
import {ARROWS, colour, escapeHtml, fill, floats, inkOn, label, rect} from './shared.js';

const NAMESPACE = 'http://www.w3.org/2000/svg', FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const ACCENT = '#d97706';
const CELL_SIZES = [12, 16, 20, 26, 34, 44, 60, 80];  // pixels; the buttons − and + go from one to the next
const BAR = 78, NARROW = 480;  // pixels: the width of the colour bar; a view below this draws arcs
const BELOW = 64;  // pixels, kept under the picture for what is said of it
const LEAST = 1 / 512;  // a cell of a smaller probability would look empty, and is not drawn

// A part of a picture as an SVG inside another.
const placed = ({width, height, body}, x, y) =>
  `<svg x="${x}" y="${y}" width="${width}" height="${height}">${body}</svg>`;

// A sentence whose tokens can be hovered, and clicked to lock. kind: row or column.
function sentenceLine(labels, kind, title) {
  const tokens = labels.map((text, i) => `<span class="token" data-${kind}="${i}">${escapeHtml(text)}</span>`);
  return `<p class="line ${kind}"><span class="sub">${escapeHtml(title)}</span> ${tokens.join(' ')}</p>`;
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

export default function start({element, props, trigger, watch}) {
  let map = null;            // props.value: labels, texts, palette, and the probabilities as base64
  let probabilities = null;  // decoded, row after row
  let cell = 26, zoomed = false;  // the size of a cell, and whether the visitor has chosen it
  let locked = {}, hovered = {};  // {row, column}, either of which may be missing

  let ownLock = '';  // of a picture that names no pair of sentences, and so shares no locked words with others
  const isShared = () => map.pair.length > 0;
  const lockHere = () => isShared() ? lockText() : ownLock;

  const inside = selector => element.querySelector(selector);
  const probability = (row, column) => probabilities[row * map.keys.length + column];
  const shade = p => colour(map.palette, p);
  const isLarge = () => document.body.classList.contains('projector');
  const fontSize = () => Math.min(isLarge() ? 26 : 13, Math.max(10, cell - 4));
  const isNarrow = () => element.clientWidth < NARROW && !isLarge();  // the colour bar lies below the cells
  const isArcs = () => map.view === 'arcs' || (map.view === 'auto' && isNarrow());
  const measuring = document.createElement('canvas').getContext('2d');

  function textWidth(labels) {  // of the longest, which may be bold
    measuring.font = `700 ${fontSize()}px ${FONT}`;
    return Math.ceil(Math.max(10, ...labels.map(text => measuring.measureText(text).width)));
  }

  // Where the locked words stand in this picture.
  function findLocked() {
    const {asks, seen} = placeLock(map.sides, lockHere());
    const at = (words, position) => position === null ? -1 : words.findIndex(word => word.includes(position));
    const row = at(map.row_words, asks), column = at(map.column_words, seen);
    locked = {...(row >= 0 && {row}), ...(column >= 0 && {column})};
  }

  // The height that a picture may take, so that it ends with the window; a picture far down gets most of a window.
  function roomBelow(place) {
    const above = place.getBoundingClientRect().top + (isLarge() ? element.scrollTop : window.scrollY);
    const left = window.innerHeight - above - BELOW;
    return left > 300 ? left : window.innerHeight - 160;
  }

  // Makes cells as large as fits the window, but never so small that labels could not be read: then it scrolls.
  function fitCells(height) {
    const {queries, keys} = map, beside = isNarrow() ? 0 : BAR + 14;
    for (cell = isLarge() ? 80 : 34; cell >= 12; cell--) {
      const wide = textWidth(queries) + 14 + cell * keys.length + beside <= element.clientWidth;
      if (wide && textWidth(keys) + 34 + cell * queries.length <= height) return;
    }
    cell = isNarrow() ? 12 : 16;
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

  // The same, from left to right.
  function colourBarAcross(across) {
    const steps = 40, each = across / steps;
    const blocks = Array.from({length: steps}, (_, i) =>
      rect(i * each, 0, each + .5, 14, `fill="${shade((i + .5) / steps)}"`)).join('');
    const ticks = [0, .5, 1].map(p => `<text x="${p * across}" y="32" text-anchor="middle">${p}</text>` +
      `<path d="M${p * across} 14v4" stroke="currentColor"/>`).join('');
    const outline = `<rect width="${across}" height="14" fill="none" stroke="currentColor" stroke-opacity=".4"/>`;
    const name = label(map.texts.probability, across + 14, 12, '');
    const body = `<g transform="translate(8,1)">${blocks}${outline}${ticks}${name}</g>`;
    return {width: across + 160, height: 38, body};
  }

  // Two columns of tokens, and lines from queries to keys, as thick as the probability. `drawn`: how many lines.
  function arcs() {
    const {queries, keys} = map, pitch = Math.max(cell, 16), size = fontSize();
    const left = textWidth(queries) + 14, right = textWidth(keys) + 14;
    const middle = Math.max(110, Math.min(isLarge() ? 1200 : 480, element.clientWidth - left - right - 4));
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

  const svgOf = ({width, height, body}, name, size = fontSize()) =>
    `<svg xmlns="${NAMESPACE}" class="${name}" width="${width}" height="${height}" font-size="${size}" ` +
    `fill="currentColor">${body}<g class="marks"></g></svg>`;

  function scrollingHtml(content) {
    return `<div class="scroll" tabindex="0" role="application" aria-label="${escapeHtml(map.title)}">${content}</div>`;
  }

  function arcsHtml(drawing) {
    const ends = `<span>${escapeHtml(map.asks)}</span><span>${escapeHtml(map.seen)}</span>`;
    return scrollingHtml(`<p class="ends sub">${ends}</p>${svgOf(drawing, 'arcs')}`);
  }

  function heatmapHtml() {
    const {top: labels, left, cells} = heatmap(), narrow = isNarrow();
    const bar = narrow ? colourBarAcross(120) : colourBar(Math.max(120, Math.min(cells.height, 320)));
    const ends = `<span>${escapeHtml(map.asks)} ↓</span><span class="seen">${escapeHtml(map.seen)} →</span>`;
    const parts = '<div class="corner"></div>' + svgOf(labels, 'top') + svgOf(left, 'left') + svgOf(cells, 'cells');
    const kind = narrow ? 'map narrow' : 'map';
    return `<div class="${kind}"><div class="map-of"><p class="ends sub">${ends}</p>` +
      `${scrollingHtml(parts)}</div>${svgOf(bar, 'colours', 13)}</div>`;
  }

  // The map as HTML, and a hint below it.
  function mapAndHint() {
    const {texts, threshold} = map;
    if (!isArcs()) return [heatmapHtml(), texts.view_hint];
    const drawing = arcs(), all = probabilities.length;
    const count = fill(texts.arcs_drawn, {drawn: drawing.drawn, all, threshold: Math.round(100 * threshold)});
    return [arcsHtml(drawing), `${count} ${texts.view_hint}`];
  }

  // Another pair of sentences has other words: nothing of it is locked yet.
  function letGoOfOtherPair() {
    if (!isShared()) return;
    const pair = map.pair.join('\n'), before = window.lockedPair;
    window.lockedPair = pair;
    if (before !== undefined && before !== pair && lockText()) lockWords('');
  }

  function chip([key, name]) {
    const text = escapeHtml(fill(map.texts.remove_choice, {name}));
    return `<button type="button" class="chip" data-chip="${key}" title="${text}" aria-label="${text}">` +
      `${escapeHtml(name)} <span aria-hidden="true">×</span></button>`;
  }

  function draw() {
    map = props.value;
    probabilities = map?.data ? floats(map.data) : null;
    element.dataset.empty = !probabilities;
    if (!probabilities) return;
    letGoOfOtherPair();
    findLocked();
    drawMap();
  }

  function drawMap() {
    const {texts} = map;
    const before = inside('.scroll'), position = before && [before.scrollLeft, before.scrollTop];
    const focused = element.contains(document.activeElement) && document.activeElement.classList.contains('scroll');
    if (inside('.chips')) inside('.chips').innerHTML = Object.entries(map.chips).map(chip).join('');
    const place = inside('.drawing');
    place.innerHTML = `<h4 class="title">${escapeHtml(map.title)}</h4>` +
      sentenceLine(map.line, 'row', texts.line_asks) + sentenceLine(map.keys, 'column', texts.line_seen) +
      '<div class="place"></div><p class="sub more"></p>' +
      '<div class="below"><p class="said" aria-live="polite"></p><p class="sub hint"></p></div>';
    place.classList.toggle('narrow-arcs', isArcs() && element.clientWidth < NARROW);  // they show both sentences
    const height = roomBelow(inside('.place'));
    if (!zoomed) fitCells(height);
    const [html, hint] = mapAndHint();
    inside('.place').innerHTML = html;
    inside('.hint').textContent = hint;
    const after = inside('.scroll');
    if (!isArcs() || isLarge()) after.style.maxHeight = `${Math.max(200, height)}px`;
    const hidden = after.scrollHeight > after.clientHeight + 2 || after.scrollWidth > after.clientWidth + 2;
    inside('.more').textContent = !hidden ? '' :
      fill(texts.more_rows, {rows: map.queries.length, columns: map.keys.length});
    after.classList.toggle('long', hidden);
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
    markLabels(element, row, column);
    if (inside('svg.cells .marks')) inside('svg.cells .marks').innerHTML = marks(row, column);
    fadeArcs(element, row, column);
    const said = inside('.said');
    const hint = isLocked() && !isLarge() ? ' ' + map.texts.view_locked : '';
    if (said) said.textContent = description(row, column) + hint;
  }

  function markLabels(drawing, row, column) {
    for (const text of drawing.querySelectorAll('svg text[data-row], svg text[data-column]')) {
      const {row: ofRow, column: ofColumn} = text.dataset;
      const chosen = (row !== null && ofRow === String(row)) || (column !== null && ofColumn === String(column));
      text.setAttribute('font-weight', chosen ? 700 : 400);
    }
  }

  function fadeArcs(drawing, row, column) {
    for (const path of drawing.querySelectorAll('path[data-row]'))
      path.setAttribute('stroke-opacity', opacity(path, row, column));
  }

  const isLocked = () => locked.row !== undefined || locked.column !== undefined;

  // A row shades the keys that its query looks at, a column the queries that look at its key. In self-attention a token
  // stands in both sentences, and shades both.
  function shadeTokens(row, column) {
    const rows = map.queries.length, columns = map.keys.length;
    const fromRow = row ?? (map.same ? column : null), fromColumn = column ?? (map.same ? row : null);
    const paint = (token, p, chosen) => {
      token.style.background = p === null ? '' : shade(p);
      token.style.color = p === null ? '' : inkOn(map.palette, p);
      token.classList.toggle('chosen', chosen);
    };
    element.querySelectorAll('.token[data-column]').forEach((token, k) =>
      paint(token, fromRow === null || fromRow >= rows ? null : probability(fromRow, k), k === column));
    element.querySelectorAll('.token[data-row]').forEach((token, q) =>
      paint(token, fromColumn === null || fromColumn >= columns ? null : probability(q, fromColumn), q === row));
  }

  // Frames around the row and column, and a veil over what lies outside the locked ones.
  function marks(row, column, veil = 'var(--body-background-fill)') {
    const width = map.keys.length * cell, height = map.queries.length * cell, parts = [];
    const frame = (x, y, w, h) => parts.push(rect(x, y, w, h, `fill="none" stroke="${ACCENT}" stroke-width="2"`));
    const dim = (x, y, w, h) => w > 0 && h > 0 &&
      parts.push(rect(x, y, w, h, `style="fill:${veil}" fill-opacity=".6"`));
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
    if (row !== null) {
      const list = largest(keys, k => probability(row, k));
      return fill(list ? texts.looks_at : texts.looks_at_nothing, {query, list});
    }
    if (column === null) return '';
    const list = largest(queries, q => probability(q, column));
    return fill(list ? texts.looked_at_by : texts.looked_at_by_nobody, {key, list});
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

  function lockWords(text) {
    if (isShared()) {
      setLock(text);
      trigger('lock');
      return;
    }
    ownLock = text;
    findLocked();
    highlight();
  }

  // Locks a place, or unlocks it where it is locked already. A word of one sentence joins one of the other.
  function toggleLock(place) {
    const both = here => here.row !== undefined && here.column !== undefined;
    const same = locked.row === place.row && locked.column === place.column;
    const joined = both(place) || both(locked) ? place : {...locked, ...place};
    const keep = axis => place[axis] !== undefined && locked[axis] === place[axis] && !both(place) && !both(locked);
    const next = same ? {} : keep('row') ? {column: locked.column} : keep('column') ? {row: locked.row} : joined;
    const word = (axis, words, side) => next[axis] === undefined ? null : {side, position: words[next[axis]][0]};
    lockWords(writeLock(word('row', map.row_words, map.sides[0]), word('column', map.column_words, map.sides[1])));
  }

  // The picture for a file: its size, and the SVG below the titles of its axes; y: where it begins.
  function arcsPicture(y) {
    const drawing = arcs();
    const seen = `<text x="${12 + drawing.width}" y="${y}" text-anchor="end">${escapeHtml(map.seen)}</text>`;
    return {width: drawing.width, height: drawing.height + 34,
      body: label(map.asks, 12, y - 18, '') + seen + lockedIn(placed(drawing, 12, y + 10), 'arcs')};
  }

  function heatmapPicture(y) {
    const {top: labels, left, cells} = heatmap(), bar = colourBar(200);
    const x = 12 + left.width, below = y + labels.height + 12;
    const framed = {...cells, body: cells.body + lockedFrames()};
    return {width: left.width + cells.width + 24 + bar.width,
      height: labels.height + Math.max(cells.height, bar.height) + 44,
      body: label(`${map.asks} ↓`, 12, y - 18, '') + label(`${map.seen} →`, x, y, '') +
        lockedIn(placed(labels, x, y + 6) + placed(left, 12, below), 'labels') + placed(framed, x, below) +
        placed(bar, x + cells.width + 24, below - 6)};
  }

  const lockedFrames = () => marks(locked.row ?? null, locked.column ?? null, background(element));

  // A drawing in which the locked row and column are marked, as they are on the page.
  function lockedIn(body, kind) {
    const {row = null, column = null} = locked;
    if (row === null && column === null) return body;
    const drawing = new DOMParser().parseFromString(`<svg xmlns="${NAMESPACE}">${body}</svg>`, 'image/svg+xml');
    markLabels(drawing, row, column);
    if (kind === 'arcs') fadeArcs(drawing, row, column);
    return drawing.documentElement.innerHTML;
  }

  // With both sentences, what is locked, its title above; its rules and the checkpoint below.
  function picture(kind) {
    const before = cell;
    cell = Math.max(cell, 20);
    const size = fontSize(), least = isArcs() ? arcs().width : heatmap().cells.width + heatmap().left.width + 24 + BAR;
    const across = Math.max(least, 600), said = description(locked.row ?? null, locked.column ?? null);
    const small = `12px ${FONT}`;
    const title = brokenLines(map.title, across, `600 16px ${FONT}`);
    const above = [...title.map(text => [text, 'font-size="16" font-weight="600"']),
      ...[...map.pair, said].filter(Boolean).flatMap(text => brokenLines(text, across, `13px ${FONT}`))
        .map(text => [text, 'font-size="13"'])];
    const below = [...map.rules, map.checkpoint].flatMap(text => brokenLines(text, across, small));
    const first = 26 + 20 * above.length + 24;
    const inner = isArcs() ? arcsPicture(first) : heatmapPicture(first);
    const width = Math.ceil(Math.max(inner.width, across) + 24), height = first + inner.height + 18 * below.length + 8;
    const ink = getComputedStyle(element).color;
    const svg = `<svg xmlns="${NAMESPACE}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
      `color="${ink}" fill="${ink}" font-family='${FONT}' font-size="${size}">` +
      `<rect width="${width}" height="${height}" fill="${background(element)}"/>` +
      above.map(([text, attributes], i) => label(text, 12, 26 + 20 * i, attributes)).join('') + inner.body +
      below.map((text, i) => label(text, 12, height - 8 - 18 * (below.length - 1 - i),
                                   'font-size="12" fill-opacity=".75"')).join('') + '</svg>';
    cell = before;
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
    const others = CELL_SIZES.filter(size => (size - cell) * step > 0);
    cell = (step > 0 ? others[0] : others.at(-1)) ?? cell;
    drawMap();
  }

  // The address says all that is on the page. Without leave to use the clipboard, the link is shown to be copied.
  async function copyLink(button) {
    try {
      await navigator.clipboard.writeText(location.href);
    } catch {
      const field = Object.assign(document.createElement('textarea'), {value: location.href});
      element.append(field);
      field.select();
      document.execCommand('copy');
      field.remove();
    }
    inside('.copied').textContent = map.texts.copied;
    button.addEventListener('blur', () => { inside('.copied').textContent = ''; }, {once: true});
  }

  element.addEventListener('click', event => {
    if (!probabilities) return;
    const button = event.target.closest('button');
    if (button?.dataset.zoom) return zoom(Number(button.dataset.zoom));
    if (button?.dataset.chip) return trigger('undo', {key: button.dataset.chip});
    if (button?.dataset.export) return trigger('export', {kind: button.dataset.export});
    if (button?.dataset.act === 'copy') return copyLink(button);
    if (button?.dataset.act === 'projector') return trigger('project');
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
      highlight();
      if (lockHere() && !isLarge()) lockWords('');
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      toggleLock({...hovered});
    } else if (ARROWS[event.key]) {
      event.preventDefault();
      move(ARROWS[event.key]);
    }
  });

  document.addEventListener('keydown', event => {
    if (event.key === 'Escape' && isLarge()) trigger('project');
  });
  onLock(() => {
    if (!map?.data) return;
    findLocked();
    highlight();
  });
  closeOnLeaving(element.closest('.attention-picture') ?? element);
  openDrawer();

  // Draws again where there is more or less room: the window, a tab that was closed, the projector view.
  let drawnFor = '';
  function fitAgain() {
    const room = `${element.clientWidth} ${window.innerHeight} ${isLarge()}`;
    if (!probabilities || !element.clientWidth || room === drawnFor) return;
    drawnFor = room;
    drawMap();
  }
  new ResizeObserver(fitAgain).observe(element);
  window.addEventListener('resize', fitAgain);
  window.addEventListener('projector', fitAgain);
  watch('value', draw);
  draw();
}
