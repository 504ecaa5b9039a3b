// Functions that several scripts use, and the page that is exported with its maps (explain.html).

// Sizes of text in a picture, in pixels, as assets/scale.css has them for the page.
export const SIZES = {small: 12, body: 14, reading: 16, large: 24};

// Arrow keys as steps [rows, columns].
export const ARROWS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};

// Decodes base64 to bytes (Uint8Array).
export function bytes(base64) {
  const text = atob(base64), decoded = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) decoded[i] = text.charCodeAt(i);
  return decoded;
}

// Decodes base64 to float32 numbers, little-endian (Float32Array).
export const floats = base64 => new Float32Array(bytes(base64).buffer);

export const isDark = () => document.body.classList.contains('dark');

// A colour of a figure as the page needs it: this red is too dark on the dark one.
export const onPage = hue => isDark() && hue === '#dc2626' ? '#f87171' : hue;

// Where a palette from transparent to a hue ends on the dark page: the hue stands in its middle there.
export const brighter = ([red, green, blue]) =>
  [...[red, green, blue].map(part => Math.round(part + (255 - part) * .7)), 1];

// Interpolates a palette linearly. stops: [red, green, blue, opacity], at equal distances; p: 0 to 1. On the dark page
// 0 is dark and 1 is bright.
function mix(stops, p) {
  const seen = isDark() && stops.length === 2 ? [...stops, brighter(stops[1])] : stops;
  const place = Math.min(1, Math.max(0, p)) * (seen.length - 1);
  const below = Math.min(seen.length - 2, Math.floor(place));
  return seen[below].map((part, i) => part + (seen[below + 1][i] - part) * (place - below));
}

// The colour of a palette at p, for CSS and SVG.
export function colour(stops, p) {
  const [red, green, blue, opacity] = mix(stops, p);
  return `rgba(${Math.round(red)},${Math.round(green)},${Math.round(blue)},${+opacity.toFixed(3)})`;
}

// Black or white, which of them has more contrast on a palette's colour at p, on the light or the dark page: at least
// 4.5.
export function inkOn(stops, p) {
  const page = isDark() ? [11, 15, 25] : [255, 255, 255];
  const [opacity] = mix(stops, p).slice(3);
  const linear = part => part <= 10.3 ? part / 3294.6 : ((part / 255 + .055) / 1.055) ** 2.4;
  const seen = (part, i) => linear(part * opacity + page[i] * (1 - opacity));
  const [red, green, blue] = mix(stops, p).slice(0, 3).map(seen);
  return .2126 * red + .7152 * green + .0722 * blue > .179 ? '#000' : '#fff';
}

// 256 colours of a palette, four bytes each: red, green, blue, opacity. scale: what is shaded, if not p itself.
export function colourTable(stops, scale = p => p) {
  const table = new Uint8ClampedArray(1024);
  for (let i = 0; i < 256; i++) {
    const [red, green, blue, opacity] = mix(stops, scale(i / 255));
    table.set([red, green, blue, 255 * opacity], 4 * i);
  }
  return table;
}

// Paints a map on a canvas of its size, a pixel a cell. levels: 0 to 255, row after row; table: by colourTable.
export function paintMap(canvas, levels, table) {
  const context = canvas.getContext('2d'), image = context.createImageData(canvas.width, canvas.height);
  const colours = new Uint32Array(table.buffer), cells = new Uint32Array(image.data.buffer);
  levels.forEach((level, i) => { cells[i] = colours[level]; });
  context.putImageData(image, 0, 0);
}

// What this browser keeps under a key, as JSON can hold it; null where it keeps nothing.
export function kept(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

export function keep(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch { /* a browser that keeps nothing */ }
}

// How many pixels of a box that scrolls lie beyond its size: {across, down}, 0 where it does not scroll.
export function overflow(box) {
  const {overflowX, overflowY} = getComputedStyle(box), scrolls = /auto|scroll/;
  return {across: scrolls.test(overflowX) ? box.scrollWidth - box.clientWidth : 0,
          down: scrolls.test(overflowY) ? box.scrollHeight - box.clientHeight : 0};
}

// Where the pointer is in an element, in the element's own pixels, however much it is enlarged: {x, y}.
export function pointIn(event, element) {
  const box = element.getBoundingClientRect(), enlarged = box.width / element.clientWidth || 1;
  return {x: (event.clientX - box.left) / enlarged, y: (event.clientY - box.top) / enlarged};
}

// Tells Gradio of every event of a name by one object, which holds what was told last. An event that comes while one is
// being answered (trigger_mode 'always_last') is sent by Gradio with the data of the one before it: the object is kept
// (docs/upstream/event_data.md).
export function latest(trigger) {
  const told = {};
  return (name, data = {}) => {
    const last = told[name] ??= {};
    for (const key of Object.keys(last)) delete last[key];
    trigger(name, Object.assign(last, data));
  };
}

// Calls a function when an element is out of sight: scrolled away, in a tab or part that is not open, or on a page
// behind another.
export function whenOutOfSight(element, call) {
  new IntersectionObserver(([seen]) => seen.isIntersecting || call()).observe(element);
  document.addEventListener('visibilitychange', () => document.hidden && element.isConnected && call());
}

// Calls a function whenever an element that is seen has another width than before, and when it comes into sight again,
// as it may have been drawn meanwhile, in no room. Only the width counts, as drawing changes the height. width: the one
// that it is drawn for already.
export function onOtherWidth(element, call, width = 0) {
  new ResizeObserver(() => {
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    if (width) call();
  }).observe(element);
}

const WAIT = 8000;  // milliseconds that something may take to come onto the page

// Attempts something at once, and then whenever the page changes, until it returns true. -> what ends that.
// giveUp: what is done where it never does.
export function attemptUntilDone(attempt, giveUp = () => {}) {
  if (attempt()) return () => {};
  const watcher = new MutationObserver(() => attempt() && end());
  const timer = setTimeout(() => {
    end();
    giveUp();
  }, WAIT);
  const end = () => {
    watcher.disconnect();
    clearTimeout(timer);
  };
  watcher.observe(document.body, {subtree: true, childList: true, attributeFilter: ['style', 'class']});
  return end;
}

// The code of the language that the page's model reads, side 'source', or writes, 'target'.
export const tongue = side =>
  document.querySelector(`.about [data-${side}]`)?.dataset[side] || {source: 'en', target: 'es'}[side];

// Escapes text for HTML and SVG, between tags and in attributes.
export const escapeHtml = text => String(text).replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);

// By what the part of an element that has the focus is found again when the element is written anew: its data-key, or
// all its data, and its place among those like it. null where none has the focus.
function focusIn(element) {
  const focused = document.activeElement;
  if (focused === element || !element.contains(focused)) return null;
  const data = [...focused.attributes].filter(({name}) => name.startsWith('data-'));
  const key = data.filter(({name}) => name === 'data-key');
  const selector = focused.localName + (key.length ? key : data).map(
    ({name, value}) => `[${name}="${CSS.escape(value)}"]`).join('');
  return {selector, place: [...element.querySelectorAll(selector)].indexOf(focused)};
}

// Writes HTML into an element. What has the focus in it keeps it, where the new HTML has the same at its place.
export function redraw(element, html) {
  const before = focusIn(element);
  element.innerHTML = html;
  if (before) element.querySelectorAll(before.selector)[before.place]?.focus({preventScroll: true});
}

const written = new WeakMap();  // by an element, what `renew` wrote into it

// The same, unless it was written there last: a click in it is not lost then.
export function renew(element, html) {
  if (written.get(element) === html) return;
  redraw(element, html);
  written.set(element, html);
}

// Replaces each {name} of a template with its value.
export const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, key) => values[key]);

// Writes a probability in percent, as percent in xformer/figures/labels.py does: as 100 % only where it is certain.
export function percent(p) {
  const value = 100 * p;
  const high = p >= .9999995 ? '100 %' : '> 99.9 %', low = value >= .1 ? `${value.toFixed(1)} %` : '< 0.1 %';
  return (value >= 99.95 ? high : low).replaceAll(' ', '\u00a0');  // no line ends within it
}

// Writes a number for people: with a minus sign for a hyphen, as fixed in xformer/results/messages.py does.
const withMinus = text => text.replace('-', '\u2212');
export const fixed = (value, digits) => withMinus(value.toFixed(digits));

// Writes a whole number with separators of thousands, as `Language.number` of xformer/strings.py does.
export const grouped = count =>
  count.toLocaleString('en').replaceAll(',', document.documentElement.lang === 'es' ? '\u202f' : ',');

// Writes a number with a given count of significant digits, as people do: 0.00001, 130, 1.9 · 10⁻⁷. `decimal` of
// xformer/results/messages.py does the same.
const RAISED = {'-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹'};
export function decimal(value, digits = 3) {
  const shown = Number(value.toPrecision(digits));
  if (!shown || Math.abs(shown) >= 1e-5)
    return withMinus(shown.toLocaleString('en', {maximumSignificantDigits: digits, useGrouping: false}));
  const [factor, power] = shown.toExponential().split('e');
  return `${withMinus(factor)} · 10${[...power].map(one => RAISED[one]).join('')}`;
}

// Parts of an SVG, as text. attributes: more of them, already escaped.
export const rect = (x, y, width, height, attributes) =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" ${attributes}/>`;
export const label = (text, x, y, attributes) => `<text x="${x}" y="${y}" ${attributes}>${escapeHtml(text)}</text>`;

// A text as lines that are no wider than this in a font, for an SVG.
export function brokenLines(text, width, font) {
  const context = document.createElement('canvas').getContext('2d'), broken = [''];
  context.font = font;
  for (const word of text.split(' ')) {
    const longer = `${broken.at(-1)} ${word}`.trimStart();
    if (broken.at(-1) && context.measureText(longer).width > width) broken.push(word);
    else broken[broken.length - 1] = longer;
  }
  return broken;
}

// The page's address, to be passed on. A private Space adds __sign to it, which lets anybody in: that is left out.
export function publicAddress() {
  const address = new URL(location.href);
  address.searchParams.delete('__sign');
  return address.href;
}

// Offers what is at an address (of a Blob, or data:) as a download.
export function download(href, name) {
  Object.assign(document.createElement('a'), {href, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}
