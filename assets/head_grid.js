// Draws all attention maps of a stack on one canvas, a row for each layer, a column for each head, from props.value
// (xformer/figures/grid_payload.py); on a phone all in one row, which scrolls. Each is shaded by the square root of the
// probability, and marks the locked words. A click or an arrow key chooses a head: event 'choose' {layer, head, add},
// where `add`, by Shift, adds it to the ones already chosen.
import {chooseHead} from './heads.js';
import {onLock, placeLock} from './lock.js';
import {background, checkpoint, pictureAddress, saveOnClick} from './save.js';
import {ARROWS, SIZES, bytes, colourTable, label, paintMap, pointIn, rect} from './shared.js';
import {state} from './state.js';
import {drawnHere} from './waiting.js';

const GAP = 4, LEFT = 24, TOP = 18, LARGEST = 80, SMALLEST = 26, IN_STRIP = 48;  // pixels; LEFT, TOP: room for labels
const STRIP = window.matchMedia('(max-width: 640px)'), LOCKED = 'rgba(217, 119, 6, 0.5)';

const within = (number, count) => Math.max(1, Math.min(count, number));

export default function start({element, props, trigger, watch}) {
  let grid = null;  // the last value with maps; a value without maps only says which of them is chosen

  function receive() {
    const value = props.value;
    if (value?.data) grid = value;
    else if (value?.key && grid) Object.assign(grid, value);
    if (value?.key && grid) paint();
    element.dataset.empty = !grid;
  }

  function layout() {
    const {heads, layers} = grid, each = size => size + GAP;
    if (STRIP.matches)
      return {size: IN_STRIP, width: LEFT + heads * layers * each(IN_STRIP), height: TOP + each(IN_STRIP)};
    const room = pane().clientWidth || 280;
    const size = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((room - LEFT) / heads) - GAP));
    return {size, width: LEFT + heads * each(size), height: TOP + layers * each(size)};
  }

  const pane = () => element.querySelector('.maps');

  // The column and the row in which a head stands, from 0.
  const placeOf = (layer, head) => STRIP.matches ? [(layer - 1) * grid.heads + head - 1, 0] : [head - 1, layer - 1];

  // Paints each map in turn on the same small canvas, a pixel for each cell; with its place and whether it is chosen.
  function* tiles(size) {
    const levels = bytes(grid.data), table = colourTable(grid.palette, Math.sqrt), cells = grid.rows * grid.columns;
    const tile = Object.assign(document.createElement('canvas'), {width: grid.columns, height: grid.rows});
    for (let layer = 1; layer <= grid.layers; layer++) {
      for (let head = 1; head <= grid.heads; head++) {
        const first = ((layer - 1) * grid.heads + head - 1) * cells, [column, row] = placeOf(layer, head);
        paintMap(tile, levels.subarray(first, first + cells), table);
        yield {tile, x: LEFT + column * (size + GAP), y: TOP + row * (size + GAP),
               name: `${layer}.${head}`, chosen: grid.lit.includes(`${layer}.${head}`)};
      }
    }
  }

  // The row and column of the locked words in the map of a head: boxes [x, y, width, height] in a square of this size.
  function locked(name, size) {
    const {asks, seen} = placeLock(grid.sides), row = asks === null ? -1 : asks - grid.moved.includes(name);
    const wide = size / grid.columns, high = size / grid.rows, boxes = [];
    if (row >= 0 && row < grid.rows) boxes.push([0, row * high, size, Math.max(high, 1)]);
    if (seen !== null && seen < grid.columns) boxes.push([seen * wide, 0, Math.max(wide, 1), size]);
    return boxes;
  }

  // The labels of layers and heads, with their places.
  function labels(size) {
    const centre = i => i * (size + GAP) + size / 2;
    const ofHead = (text, i) => ({text, x: LEFT + centre(i), y: TOP - 6, align: 'center'});
    if (STRIP.matches)
      return Array.from({length: grid.layers * grid.heads}, (_, i) =>
        ofHead(`${Math.floor(i / grid.heads) + 1}.${i % grid.heads + 1}`, i));
    const ofLayers = Array.from({length: grid.layers}, (_, i) =>
      ({text: grid.layer_label + (i + 1), x: 2, y: TOP + centre(i) + 4, align: 'start'}));
    return [...ofLayers, ...Array.from({length: grid.heads}, (_, i) => ofHead(grid.head_label + (i + 1), i))];
  }

  const isSmooth = size => grid.columns > size || grid.rows > size;

  function frame(chosen) {
    const variable = chosen ? '--color-accent' : '--border-color-primary';
    return {colour: getComputedStyle(element).getPropertyValue(variable), width: chosen ? 3 : 1};
  }

  function paint() {
    const canvas = element.querySelector('canvas');
    if (!canvas || !grid) return;
    const {size, width, height} = layout(), scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    context.font = `${SIZES.small}px system-ui, sans-serif`;
    const middles = [];
    for (const {tile, x, y, name, chosen} of tiles(size)) {
      middles.push([name, x + size / 2, y + size / 2]);
      context.fillStyle = 'rgba(128, 128, 128, 0.2)';
      context.fillRect(x, y, size, size);
      context.imageSmoothingEnabled = isSmooth(size);
      context.drawImage(tile, x, y, size, size);
      context.fillStyle = LOCKED;
      for (const [left, above, wide, high] of locked(name, size)) context.fillRect(x + left, y + above, wide, high);
      ({colour: context.strokeStyle, width: context.lineWidth} = frame(chosen));
      context.strokeRect(x, y, size, size);
    }
    context.fillStyle = getComputedStyle(element).getPropertyValue('--body-text-color') || '#444';
    for (const {text, x, y, align} of labels(size)) {
      context.textAlign = align;
      context.fillText(text, x, y);
    }
    canvas.setAttribute('aria-label', grid.description);
    canvas.dataset.layer = grid.layer;
    canvas.dataset.head = grid.head;
    canvas.dataset.drawn = grid.key;
    canvas.dataset.locked = JSON.stringify(locked(`${grid.layer}.${grid.head}`, size).map(box => box.map(Math.round)));
    canvas.dataset.places = JSON.stringify(middles);
    showChosen(size);
  }

  // Scrolls the strip of a phone to the map that is chosen.
  function showChosen(size) {
    if (!STRIP.matches) return;
    const x = LEFT + placeOf(grid.layer, grid.head)[0] * (size + GAP);
    const {scrollLeft, clientWidth} = pane();
    if (x < scrollLeft || x + size > scrollLeft + clientWidth) pane().scrollLeft = x - (clientWidth - size) / 2;
  }

  // One map as SVG: background, map, locked words, frame.
  function tileSvg({tile, x, y, name, chosen}, size) {
    const {colour, width} = frame(chosen), marked = locked(name, size).map(([left, above, wide, high]) =>
      rect(x + left, y + above, wide, high, `fill="${LOCKED}"`));
    return rect(x, y, size, size, 'fill="rgba(128,128,128,0.2)"') +
      `<image x="${x}" y="${y}" width="${size}" height="${size}" preserveAspectRatio="none" ` +
      `style="image-rendering: ${isSmooth(size) ? 'auto' : 'pixelated'}" href="${tile.toDataURL()}"/>` +
      marked.join('') + rect(x, y, size, size, `fill="none" stroke="${colour}" stroke-width="${width}"`);
  }

  // The grid for a file: an SVG with its title above, its rules and the checkpoint below.
  function picture(kind) {
    const {size, ...inner} = layout(), {name, identity} = checkpoint(element);
    const notes = [...grid.rules, `${name} ${identity}`];
    const longest = Math.max(10 * grid.title.length, ...notes.map(note => 6.6 * note.length));
    const width = Math.ceil(Math.max(inner.width, longest)) + 24, height = inner.height + 44 + 18 * notes.length;
    const maps = Array.from(tiles(size), tile => tileSvg(tile, size));
    const names = labels(size).map(({text, x, y, align}) =>
      label(text, x, y, `text-anchor="${align === 'center' ? 'middle' : align}"`));
    const below = notes.map((note, i) =>
      label(note, 12, height - 8 - 18 * (notes.length - 1 - i), 'fill-opacity=".75"'));
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `fill="${getComputedStyle(element).color}" font-family="system-ui, sans-serif" font-size="${SIZES.small}">` +
      `<rect width="${width}" height="${height}" fill="${background(element)}"/>` +
      label(grid.title, 12, 24, `font-size="${SIZES.reading}" font-weight="600"`) +
      `<g transform="translate(6,36)">${maps.join('')}${names.join('')}</g>${below.join('')}</svg>`;
    return pictureAddress(kind, svg, width, height);
  }

  // The layer and head under the pointer, or null.
  function headAt(event) {
    const {size} = layout(), {x, y} = pointIn(event, element.querySelector('canvas'));
    const column = Math.floor((x - LEFT) / (size + GAP)), row = Math.floor((y - TOP) / (size + GAP));
    const inStrip = {layer: Math.floor(column / grid.heads) + 1, head: column % grid.heads + 1};
    const {layer, head} = STRIP.matches ? inStrip : {layer: row + 1, head: column + 1};
    return column >= 0 && row >= 0 && head <= grid.heads && layer <= grid.layers ? {layer, head} : null;
  }

  function choose(place, add) {
    const isOfPage = Boolean(grid.of);  // and not of a part's own pass
    if (isOfPage) chooseHead(add ? null : place);
    if (add) Object.assign(grid, place);
    else if (!isOfPage) mark(place);
    trigger('choose', {...place, add});
  }

  function mark(place) {
    Object.assign(grid, place);
    grid.lit = [`${grid.layer}.${grid.head}`];
    paint();
  }

  function markChosen() {
    if (!grid?.of) return;
    mark(state.chosenHead);
    drawnHere(element);
  }

  const isOnGrid = event => grid && event.target.tagName === 'CANVAS';

  element.addEventListener('click', event => {
    const place = isOnGrid(event) && headAt(event);
    if (place) choose(place, event.shiftKey);
  });
  element.addEventListener('mousemove', event => {
    if (!isOnGrid(event)) return;
    const place = headAt(event);
    event.target.title = place ? `${grid.layer_word} ${place.layer} · ${grid.head_word} ${place.head}` : '';
  });
  element.addEventListener('keydown', event => {
    if (!isOnGrid(event)) return;
    if (event.shiftKey && event.key === 'Enter') return choose({layer: grid.layer, head: grid.head}, true);
    const step = ARROWS[event.key];
    if (!step) return;
    event.preventDefault();
    const {layer, head, layers, heads} = grid;
    choose({layer: within(layer + step[0], layers), head: within(head + step[1], heads)}, false);
  });
  saveOnClick(element, {title: () => grid.title, table: null, picture});
  new ResizeObserver(paint).observe(element);
  onLock(paint);
  window.addEventListener('headchosen', markChosen);
  watch('value', receive);
  receive();
}
