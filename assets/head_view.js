// One attention picture and the two sentences beside it. Draws props.value as SVG, so that what is seen is what is
// saved. Hovering, the arrow keys and clicks light a row (who asks) and a column (what is looked at) in every part.
const NS = 'http://www.w3.org/2000/svg', SIZES = [12, 16, 20, 26, 34, 44];
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif', ACCENT = '#d97706';
let value = null, data = null, cell = 26, zoomed = false, locked = {}, now = {};

const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const at = (row, column) => data[row * value.keys.length + column];
const font = () => Math.min(13, Math.max(10, cell - 4));
const find = selector => element.querySelector(selector);
const width = labels => {
  const g = (width.canvas ||= document.createElement('canvas')).getContext('2d');
  g.font = `${font()}px ${FONT}`;
  return Math.ceil(Math.max(10, ...labels.map(label => g.measureText(label).width)));
};

function colour(p) {  // straight lines between the palette's stops
  const stops = value.palette, place = Math.min(1, Math.max(0, p)) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(place));
  const [r, g, b, a] = stops[i].map((from, part) => from + (stops[i + 1][part] - from) * (place - i));
  return `rgba(${Math.round(r)},${Math.round(g)},${Math.round(b)},${+a.toFixed(3)})`;
}

// Until somebody zooms, cells are as large as fits, but never so small that labels could not be read.
function fit() {
  const room = element.clientWidth - 110;
  for (cell of [26, 20]) if (width(value.queries) + 14 + cell * value.keys.length <= room) return;
  cell = 16;
}

// The parts of a heatmap, each a fragment of SVG with its size; on the page the labels stay in sight while it scrolls.
function parts() {
  const rows = value.queries.length, columns = value.keys.length, size = font();
  const left = width(value.queries) + 14, top = width(value.keys) + 14;
  const label = (text, x, y, more) => `<text x="${x}" y="${y}" ${more}>${escape(text)}</text>`;
  const cells = [`<rect width="${columns * cell}" height="${rows * cell}" fill="${colour(0)}"/>`,
                 `<rect width="${columns * cell}" height="${rows * cell}" fill="rgba(128,128,128,0.10)"/>`];
  for (let q = 0; q < rows; q++)
    for (let k = 0; k < columns; k++)
      if (at(q, k) >= 1 / 512)
        cells.push(`<rect x="${k * cell + .5}" y="${q * cell + .5}" width="${cell - 1}" height="${cell - 1}" fill="${colour(at(q, k))}"/>`);
  return {
    top: {width: columns * cell, height: top, body: value.keys.map((key, k) => label(key, 0, 0,
      `data-column="${k}" transform="translate(${(k + .5) * cell + size * .35},${top - 6}) rotate(-90)"`)).join('')},
    left: {width: left, height: rows * cell, body: value.queries.map((query, q) => label(query, left - 6,
      (q + .5) * cell + size * .35, `data-row="${q}" text-anchor="end"`)).join('')},
    cells: {width: columns * cell, height: rows * cell, body: cells.join('')},
  };
}

function bar(height) {  // the colour bar, with numbers
  const steps = 40, each = height / steps;
  const blocks = Array.from({length: steps}, (_, i) =>
    `<rect x="0" y="${i * each}" width="14" height="${each + .5}" fill="${colour(1 - (i + .5) / steps)}"/>`).join('');
  const ticks = [0, .25, .5, .75, 1].map(p =>
    `<text x="20" y="${(1 - p) * height + 4}">${p}</text><path d="M14 ${(1 - p) * height}h4" stroke="currentColor"/>`).join('');
  return {width: 78, height: height + 12, body: `<g transform="translate(0,6)">${blocks}<rect width="14" height="${height}" fill="none" stroke="currentColor" stroke-opacity=".4"/>${ticks}` +
    `<text transform="translate(66,${height / 2}) rotate(-90)" text-anchor="middle">${escape(value.texts.probability)}</text></g>`};
}

function arcs() {  // two columns of tokens and a line from who asks to what is looked at, as thick as the probability
  const rows = value.queries.length, columns = value.keys.length, pitch = Math.max(cell, 16), size = font();
  const left = width(value.queries) + 14, right = width(value.keys) + 14, middle = Math.max(120, 7 * pitch);
  const y = i => (i + .5) * pitch, lines = [];
  let drawn = 0;
  for (let q = 0; q < rows; q++)
    for (let k = 0; k < columns; k++) {
      const p = at(q, k);
      if (p <= 0 || p < value.threshold) continue;
      drawn += 1;
      lines.push(`<path data-row="${q}" data-column="${k}" d="M${left} ${y(q)}C${left + middle / 2} ${y(q)} ${left + middle / 2} ${y(k)} ${left + middle} ${y(k)}" fill="none" stroke="${colour(Math.max(.35, p))}" stroke-width="${(.4 + .6 * pitch * p).toFixed(2)}"/>`);
    }
  const label = (text, x, i, more) => `<text x="${x}" y="${y(i) + size * .35}" ${more}>${escape(text)}</text>`;
  return {width: left + middle + right, height: pitch * Math.max(rows, columns), drawn, left, middle, pitch,
    body: lines.join('') + value.queries.map((query, q) => label(query, left - 6, q, `data-row="${q}" text-anchor="end"`)).join('') +
      value.keys.map((key, k) => label(key, left + middle + 6, k, `data-column="${k}"`)).join('')};
}

const svg = (part, name) => `<svg xmlns="${NS}" class="${name}" width="${part.width}" height="${part.height}" font-size="${font()}" fill="currentColor">${part.body}<g class="marks"></g></svg>`;

function line(labels, kind, title) {  // a sentence whose tokens can be hovered, and clicked to lock
  return `<p class="line ${kind}"><span class="sub">${escape(title)}</span> ` +
    labels.map((label, i) => `<span class="token" data-${kind}="${i}">${escape(label)}</span>`).join(' ') + '</p>';
}

function draw() {
  value = props.value;
  element.dataset.empty = !value?.data;
  if (!value || !value.data) return;
  const t = value.texts, scroll = find('.scroll'), place = scroll ? [scroll.scrollLeft, scroll.scrollTop] : null;
  if (data && (locked.row >= value.queries.length || locked.column >= value.keys.length || locked.sentence !== value.line.join(' ') + value.keys.join(' '))) locked = {};
  const bytes = Uint8Array.from(atob(value.data), c => c.charCodeAt(0));
  data = new Float32Array(bytes.buffer);
  if (!zoomed) fit();
  let picture, hint = t.view_hint;
  if (value.view === 'arcs') {
    const a = arcs();
    hint = fill(t.arcs_drawn, {drawn: a.drawn, all: data.length, threshold: Math.round(100 * value.threshold)}) + ' ' + hint;
    picture = `<div class="scroll" tabindex="0" role="application" aria-label="${escape(value.title)}"><p class="ends sub"><span>${escape(value.asks)}</span><span>${escape(value.seen)}</span></p>${svg(a, 'arcs')}</div>`;
  } else {
    const p = parts();
    picture = `<div class="sub seen">${escape(value.seen)} →</div><div class="map"><div class="scroll" tabindex="0" role="application" aria-label="${escape(value.title)}">` +
      `<div class="corner sub">${escape(value.asks)} ↓</div>${svg(p.top, 'top')}${svg(p.left, 'left')}${svg(p.cells, 'cells')}</div>${svg(bar(Math.max(120, Math.min(p.cells.height, 320))), 'bar')}</div>`;
  }
  const focused = element.contains(document.activeElement) && document.activeElement.classList.contains('scroll');
  const root = find('.drawing') || element.appendChild(Object.assign(document.createElement('div'), {className: 'drawing'}));
  root.innerHTML = `<div class="head"><h4 class="title">${escape(value.title)}</h4><span class="tools">` +
    `<button type="button" data-zoom="-1" title="${escape(t.smaller)}" aria-label="${escape(t.smaller)}">−</button><button type="button" data-zoom="1" title="${escape(t.larger)}" aria-label="${escape(t.larger)}">+</button></span></div>` +
    line(value.line, 'row', t.line_asks) + line(value.keys, 'column', t.line_seen) +
    `<p class="said" aria-live="polite"></p>${picture}<p class="sub">${escape(hint)}</p>`;
  if (focused) find('.scroll').focus();
  if (place) [find('.scroll').scrollLeft, find('.scroll').scrollTop] = place;
  light();
  root.dataset.drawn = value.key;
}

// What is lit: a row, a column, or the cell where they cross; what is hovered comes before what is locked.
function light() {
  if (!data) return;
  const on = {...locked, ...now}, rows = value.queries.length, columns = value.keys.length;
  const row = on.row ?? null, column = on.column ?? null, whole = row !== null && column !== null;
  const paint = (token, p, chosen) => {
    token.style.background = p === null ? '' : colour(p);
    token.style.color = p !== null && value.palette[0][3] === 1 ? (p > .55 ? '#111' : '#fff') : '';
    token.classList.toggle('chosen', chosen);
  };
  // A row shades what it looks at; a column shades who looks at it; in self-attention one word has both.
  const shadeRow = row ?? (value.same && column !== null && !whole ? column : null);
  const shadeColumn = column ?? (value.same && row !== null && !whole ? row : null);
  element.querySelectorAll('.token[data-column]').forEach((token, k) => paint(token, shadeRow === null || shadeRow >= rows ? null : at(shadeRow, k), k === column));
  element.querySelectorAll('.token[data-row]').forEach((token, q) => paint(token, shadeColumn === null || shadeColumn >= columns ? null : at(q, shadeColumn), q === row));
  for (const text of element.querySelectorAll('svg text[data-row], svg text[data-column]')) {
    const chosen = (row !== null && text.dataset.row === String(row)) || (column !== null && text.dataset.column === String(column));
    text.setAttribute('font-weight', chosen ? 700 : 400);
  }
  const marks = find('svg.cells .marks');
  if (marks) {
    const frame = (x, y, w, h) => `<rect x="${x}" y="${y}" width="${w}" height="${h}" fill="none" stroke="${ACCENT}" stroke-width="2"/>`;
    const dim = (x, y, w, h) => w > 0 && h > 0 ? `<rect x="${x}" y="${y}" width="${w}" height="${h}" style="fill:var(--body-background-fill)" fill-opacity=".6"/>` : '';
    let body = '';
    if (locked.row !== undefined) body += dim(0, 0, columns * cell, locked.row * cell) + dim(0, (locked.row + 1) * cell, columns * cell, (rows - locked.row - 1) * cell);
    if (locked.column !== undefined) body += dim(0, 0, locked.column * cell, rows * cell) + dim((locked.column + 1) * cell, 0, (columns - locked.column - 1) * cell, rows * cell);
    if (row !== null) body += frame(0, row * cell, columns * cell, cell);
    if (column !== null) body += frame(column * cell, 0, cell, rows * cell);
    marks.innerHTML = body;
  }
  const lit = row !== null || column !== null;
  for (const path of element.querySelectorAll('svg.arcs path')) {
    const r = Number(path.dataset.row), k = Number(path.dataset.column);
    const hit = whole ? r === row && k === column : r === row || k === column;
    path.setAttribute('stroke-opacity', !lit ? .8 : hit ? 1 : .07);
  }
  const said = find('.said');
  if (said) said.textContent = sentence(row, column) + (locked.row !== undefined || locked.column !== undefined ? ' ' + value.texts.view_locked : '');
}

function sentence(row, column) {
  if (row !== null && column !== null)
    return fill(value.texts.looks_at, {query: value.queries[row], list: `${value.keys[column]} ${at(row, column).toFixed(3)}`});
  const most = (labels, p) => labels.map((label, i) => [p(i), label]).sort((a, b) => b[0] - a[0]).slice(0, 4)
    .filter(([p]) => p >= .001).map(([p, label]) => `${label} ${p.toFixed(3)}`).join(', ');
  if (row !== null) return fill(value.texts.looks_at, {query: value.queries[row], list: most(value.keys, k => at(row, k))});
  if (column !== null) return fill(value.texts.looked_at_by, {key: value.keys[column], list: most(value.queries, q => at(q, column))});
  return '';
}

function where(event) {  // the row and column under the pointer
  const target = event.target.closest('[data-row], [data-column]');
  if (target) return {...(target.dataset.row && {row: Number(target.dataset.row)}), ...(target.dataset.column && {column: Number(target.dataset.column)})};
  const cells = event.target.closest('svg.cells');
  if (!cells) return null;
  const box = cells.getBoundingClientRect();
  const row = Math.floor((event.clientY - box.top) / cell), column = Math.floor((event.clientX - box.left) / cell);
  return row >= 0 && row < value.queries.length && column >= 0 && column < value.keys.length ? {row, column} : null;
}

function reveal({row, column}) {  // scroll a row and a column of a long sentence into sight
  const scroll = find('.scroll'), cells = find('svg.cells');
  if (!cells) return;
  const left = find('svg.left').clientWidth, top = find('svg.top').clientHeight, x = column * cell, y = row * cell;
  if (column !== undefined) scroll.scrollLeft = Math.max(x + left + cell - scroll.clientWidth + 4, Math.min(scroll.scrollLeft, x));
  if (row !== undefined) scroll.scrollTop = Math.max(y + top + cell - scroll.clientHeight + 4, Math.min(scroll.scrollTop, y));
}

function lock(place) {
  const same = locked.row === place.row && locked.column === place.column;
  locked = same ? {} : {...place, sentence: value.line.join(' ') + value.keys.join(' ')};
  light();
}

function whole() {  // everything that is seen as one picture
  const p = value.view === 'arcs' ? arcs() : null, m = p ? null : parts(), b = bar(200);
  const inner = p ? {width: p.width, height: p.height + 24} : {width: m.left.width + m.cells.width + 24 + b.width, height: m.top.height + Math.max(m.cells.height, b.height) + 24};
  const notes = [...value.rules, value.checkpoint], W = Math.max(inner.width + 24, 12 + Math.max(...[value.title, ...notes].map(n => n.length)) * 6.6);
  const H = inner.height + 52 + 18 * notes.length, put = (part, x, y) => `<svg x="${x}" y="${y}" width="${part.width}" height="${part.height}">${part.body}</svg>`;
  const ink = getComputedStyle(element).color;
  const body = p ? `<text x="12" y="50">${escape(value.asks)}</text><text x="${12 + p.left + p.middle}" y="50">${escape(value.seen)}</text>${put(p, 12, 58)}` :
    `<text x="${12 + m.left.width}" y="50">${escape(value.seen)} →</text><text x="12" y="${58 + m.top.height - 6}">${escape(value.asks)} ↓</text>` +
    put(m.top, 12 + m.left.width, 58) + put(m.left, 12, 58 + m.top.height) + put(m.cells, 12 + m.left.width, 58 + m.top.height) + put(b, 12 + m.left.width + m.cells.width + 24, 52 + m.top.height);
  const under = notes.map((note, i) => `<text x="12" y="${H - 8 - 18 * (notes.length - 1 - i)}" font-size="12" fill-opacity=".75">${escape(note)}</text>`).join('');
  return {W, H, text: `<svg xmlns="${NS}" width="${W}" height="${H}" viewBox="0 0 ${W} ${H}" color="${ink}" fill="${ink}" font-family='${FONT}' font-size="${font()}"><rect width="${W}" height="${H}" fill="${background()}"/><text x="12" y="26" font-size="16" font-weight="600">${escape(value.title)}</text>${body}${under}</svg>`};
}

function table() {  // a row for who asks, a column for what is looked at
  const rows = value.queries.map((query, q) => [query, ...value.keys.map((_, k) => at(q, k))]);
  return {columns: [value.rules.join(' · '), ...value.keys], rows};
}

saves(() => value.title, table, kind => {
  const {W, H, text} = whole();
  return rendered(kind, text, W, H);
});

// What scrolls or grows moves the page under a pointer that rests: that points at nothing new. Where the pointer is, is
// watched on the whole page, for it may have been moved elsewhere before the picture came to lie under it.
let pointer = '', moved = false;
const spot = event => `${event.screenX} ${event.screenY}`;
window.addEventListener('pointermove', event => { moved = spot(event) !== pointer; pointer = spot(event); }, true);
element.addEventListener('pointermove', event => {
  if (!data || event.pointerType === 'touch' || !moved) return;
  now = where(event) || {};
  light();
});
element.addEventListener('pointerleave', event => { if (spot(event) !== pointer) { now = {}; light(); } });
element.addEventListener('click', event => {
  if (!data) return;
  const button = event.target.closest('button');
  if (button && button.dataset.zoom) {
    zoomed = true;
    cell = SIZES[Math.max(0, Math.min(SIZES.length - 1, SIZES.indexOf(cell) + Number(button.dataset.zoom)))];
    return draw();
  }
  const place = where(event);
  if (!place) return;
  lock(place);
  reveal(place);
});
element.addEventListener('keydown', event => {
  if (!data || !event.target.closest('.scroll')) return;
  const move = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
  if (event.key === 'Escape') { now = {}; locked = {}; return light(); }
  if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); return lock({...now}); }
  if (!move) return;
  event.preventDefault();
  const from = {row: now.row ?? locked.row ?? 0, column: now.column ?? locked.column ?? 0}, first = now.row === undefined && now.column === undefined;
  const step = (place, by, count) => Math.max(0, Math.min(count - 1, place + (first ? 0 : by)));
  now = {row: step(from.row, move[0], value.queries.length), column: step(from.column, move[1], value.keys.length)};
  light();
  reveal(now);
});
watch('value', draw);
draw();
