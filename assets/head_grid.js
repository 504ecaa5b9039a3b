// All heads of a stack at once: a row a layer, a column a head. Draws props.value on a canvas and says which head is
// chosen, by click or by the arrow keys, with the event 'choose' {layer, head, add}; with Shift it is added to others.
const GAP = 6, LABEL = 34, TOP = 20, LARGEST = 116, SMALLEST = 34;

let shown = null;  // the last maps that came; what comes without maps only says which of them is chosen
function current() {
  const v = props.value;
  if (v && v.data) shown = v;
  else if (v && v.key && shown) Object.assign(shown, v);
  return v && v.key ? shown : null;
}

function bytes(base64) {
  return Uint8Array.from(atob(base64), c => c.charCodeAt(0));
}

// The 256 colours of a palette, red, green, blue and opacity one after the other.
function table(stops) {
  const colours = new Uint8ClampedArray(1024);
  for (let i = 0; i < 256; i++) {
    const place = i / 255 * (stops.length - 1), at = Math.min(stops.length - 2, Math.floor(place));
    stops[at].forEach((from, part) => {
      const mixed = from + (stops[at + 1][part] - from) * (place - at);
      colours[4 * i + part] = part === 3 ? 255 * mixed : mixed;
    });
  }
  return colours;
}

function layout(v) {
  const room = element.clientWidth || 600;
  const size = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((room - LABEL) / v.heads) - GAP));
  return {size, width: LABEL + v.heads * (size + GAP), height: TOP + v.layers * (size + GAP)};
}

function draw() {
  if (current()) paint();
  element.dataset.empty = !shown;
}

// Every map, a pixel a cell, on one small canvas after the other; with its place, and whether it is chosen.
function* maps(v, size) {
  const data = bytes(v.data), colours = table(v.palette), cells = v.rows * v.columns;
  const tile = Object.assign(document.createElement('canvas'), {width: v.columns, height: v.rows});
  const t = tile.getContext('2d'), image = t.createImageData(v.columns, v.rows);
  for (let layer = 0; layer < v.layers; layer++) {
    for (let head = 0; head < v.heads; head++) {
      const from = (layer * v.heads + head) * cells, joined = v.joined.includes(`${layer + 1}.${head + 1}`);
      for (let i = 0; i < cells; i++) image.data.set(colours.subarray(4 * data[from + i], 4 * data[from + i] + 4), 4 * i);
      t.putImageData(image, 0, 0);
      yield {tile, x: LABEL + head * (size + GAP), y: TOP + layer * (size + GAP),
        chosen: v.joined.length ? joined : v.layer === layer + 1 && v.head === head + 1};
    }
  }
}

// The names of layers and heads, with their places.
function names(v, size) {
  const place = i => i * (size + GAP) + size / 2;
  return [...Array.from({length: v.layers}, (_, i) => ({text: v.layer_label + (i + 1), x: 2, y: TOP + place(i) + 4, align: 'start'})),
          ...Array.from({length: v.heads}, (_, i) => ({text: v.head_label + (i + 1), x: LABEL + place(i), y: TOP - 6, align: 'center'}))];
}

const smooth = (v, size) => v.columns > size || v.rows > size;
const frame = chosen => ({colour: getComputedStyle(element).getPropertyValue(chosen ? '--color-accent' : '--border-color-primary'), width: chosen ? 3 : 1});

function paint() {
  const v = shown, canvas = element.querySelector('canvas');
  if (!canvas || !v) return;
  const {size, width, height} = layout(v), scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  const g = canvas.getContext('2d');
  g.scale(scale, scale);
  g.font = '12px system-ui, sans-serif';
  for (const {tile, x, y, chosen} of maps(v, size)) {
    g.fillStyle = 'rgba(128, 128, 128, 0.12)';
    g.fillRect(x, y, size, size);
    g.imageSmoothingEnabled = smooth(v, size);
    g.drawImage(tile, x, y, size, size);
    ({colour: g.strokeStyle, width: g.lineWidth} = frame(chosen));
    g.strokeRect(x, y, size, size);
  }
  g.fillStyle = getComputedStyle(element).getPropertyValue('--body-text-color') || '#444';
  for (const {text, x, y, align} of names(v, size)) {
    g.textAlign = align;
    g.fillText(text, x, y);
  }
  canvas.setAttribute('aria-label', v.description);
  canvas.dataset.layer = v.layer;
  canvas.dataset.head = v.head;
  canvas.dataset.drawn = v.key;
}

// What is painted as an SVG, its title above, its rules and checkpoint below.
function picture(kind) {
  const v = shown, {size, width, height} = layout(v), {name, identity} = checkpoint(), notes = [...v.rules, `${name} ${identity}`];
  const W = Math.ceil(Math.max(width, 10 * v.title.length, ...notes.map(note => 6.6 * note.length))) + 24, H = height + 44 + 18 * notes.length;
  const box = (x, y, more) => `<rect x="${x}" y="${y}" width="${size}" height="${size}" ${more}/>`, body = [];
  for (const {tile, x, y, chosen} of maps(v, size)) {
    const {colour, width} = frame(chosen);
    body.push(box(x, y, 'fill="rgba(128,128,128,0.12)"'), `<image x="${x}" y="${y}" width="${size}" height="${size}" preserveAspectRatio="none" ` +
      `style="image-rendering: ${smooth(v, size) ? 'auto' : 'pixelated'}" href="${tile.toDataURL()}"/>`, box(x, y, `fill="none" stroke="${colour}" stroke-width="${width}"`));
  }
  for (const {text, x, y, align} of names(v, size)) body.push(`<text x="${x}" y="${y}" text-anchor="${align === 'center' ? 'middle' : align}">${escape(text)}</text>`);
  const under = notes.map((note, i) => `<text x="12" y="${H - 8 - 18 * (notes.length - 1 - i)}" fill-opacity=".75">${escape(note)}</text>`);
  return rendered(kind, `<svg xmlns="http://www.w3.org/2000/svg" width="${W}" height="${H}" fill="${getComputedStyle(element).color}" font-family="system-ui, sans-serif" font-size="12">` +
    `<rect width="${W}" height="${H}" fill="${background()}"/><text x="12" y="24" font-size="16" font-weight="600">${escape(v.title)}</text><g transform="translate(6,36)">${body.join('')}</g>${under.join('')}</svg>`, W, H);
}

function at(event) {
  const v = shown, {size} = layout(v), box = element.querySelector('canvas').getBoundingClientRect();
  const head = Math.floor((event.clientX - box.left - LABEL) / (size + GAP)) + 1;
  const layer = Math.floor((event.clientY - box.top - TOP) / (size + GAP)) + 1;
  return head >= 1 && head <= v.heads && layer >= 1 && layer <= v.layers ? {layer, head} : null;
}

function choose(where, add) {
  Object.assign(shown, where);
  if (!add) { shown.joined = []; paint(); }
  trigger('choose', {...where, add});
}

element.addEventListener('click', event => {
  if (!shown || event.target.tagName !== 'CANVAS') return;
  const where = at(event);
  if (where) choose(where, event.shiftKey);
});
element.addEventListener('mousemove', event => {
  if (!shown || event.target.tagName !== 'CANVAS') return;
  const where = at(event);
  event.target.title = where ? `${shown.layer_word} ${where.layer} · ${shown.head_word} ${where.head}` : '';
});
element.addEventListener('keydown', event => {
  const v = event.target.tagName === 'CANVAS' ? shown : null;
  if (v && event.shiftKey && event.key === 'Enter') return choose({layer: v.layer, head: v.head}, true);
  const move = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
  if (!move || !v) return;
  event.preventDefault();
  choose({layer: Math.max(1, Math.min(v.layers, v.layer + move[0])), head: Math.max(1, Math.min(v.heads, v.head + move[1]))}, false);
});
saves(() => shown.title, null, picture);
new ResizeObserver(paint).observe(element);
watch('value', draw);
draw();
