// Draws the path between two pieces through four kinds of layers, and tabulates what is left of derivatives on it, from
// props.value (draw.py). A click or Enter on a piece chooses it in place of the piece that was chosen
// first of the two, and triggers 'choose', for state.chosenPath; arrow keys go from piece to piece.
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';
import {ARROWS, escapeHtml, decimal, fill, label, onOtherWidth, rect, renew, tongue} from '../../../assets/shared.js';
import {state} from '../../../assets/state.js';

const LEAST = 26, MOST = 120, EDGE = 6;  // pixels: the width of a column, and what is left and right of all
const HIGH = 92, STEP = 25, ABOVE = 19;  // pixels: of a stack of layers at most, of a layer, and above all
const LETTERS = 12, LETTER = 7.4;  // of a piece; pixels of one
// The longest path, table 1's order of it, and that of the operations one after the other, in a layer.
const FORMULAS = {
  recurrence: ['n', 'O(n)', 'O(n)'], convolution: ['⌈(n − 1) / (k − 1)⌉', 'O(n / k)', 'O(1)'],
  dilated: ['⌈log_k n⌉', 'O(log_k n)', 'O(1)'], self_attention: ['', 'O(1)', 'O(1)'],
};
const FRAME = '<p class="caption"></p><p class="sub"></p><div class="sides"><div class="scroll">' +
  '<div class="its-words"></div><div class="kinds"></div></div><div class="measured"></div></div>' +
  // What a file names as its model; of this class it is this picture's alone, see save.js.
  '<span class="towers" hidden data-identity=""></span>';
const cut = text => text.length > LETTERS ? text.slice(0, LETTERS - 1) + '…' : text;
const typeset = formula => escapeHtml(formula).replace('_k', '<sub>k</sub>');

export default function start({element, props, trigger, watch}) {
  let shown = null;  // the last value
  let chosen = [0, 1];  // the pieces that are marked; shown.chosen are those of the drawing, until an answer comes
  let asked = null;  // of what the reader has chosen them
  let column = LEAST, width = 0;
  const inside = selector => element.querySelector(selector);
  const words = () => {
    const [first, last] = shown.chosen.toSorted((one, other) => one - other);
    return {first: shown.pieces[first], last: shown.pieces[last], distance: last - first, n: shown.pieces.length};
  };
  const say = (key, values = {}) => fill(shown.texts[`path_${key}`], {...words(), k: shown.kernel, ...values});

  const situation = value => JSON.stringify([state.moves, value.pieces]);

  function receive() {
    const value = props.value, same = value && asked === situation(value);
    // The two ends of a choice are set one after the other, with an answer to each; only that of both is drawn.
    if (same && String(value.chosen) !== String(chosen)) return;
    if (!same) asked = null;
    shown = value;
    element.dataset.empty = !shown;
    if (!shown || !inside('.drawing')) return;
    chosen = shown.chosen;
    draw();
  }

  // The sentence that the pieces spell.
  const sentence = () => shown.pieces.reduce((text, piece) =>
    /^[…\p{P}]/u.test(piece) ? text + piece.replace(/^…/, '') : `${text} ${piece}`);

  const xOf = place => EDGE + (place + .5) * column;
  // How long the path is at most, and how many operations wait for each other.
  const longest = one => one.name === 'recurrence' ? shown.pieces.length : one.feeds.length;

  // Draws what has changed. The words stay the same elements while numbers come in, or a click on one would be lost.
  function draw() {
    const count = shown.pieces.length, focused = element.querySelector('.word:focus')?.dataset.piece;
    if (!inside('.scroll')) inside('.drawing').innerHTML = FRAME;
    inside('.caption').textContent = say('title');
    renew(inside('.sub'), `<span data-hint>${escapeHtml(say('choose'))}</span> ${escapeHtml(say('reads'))}`);
    renew(inside('.measured'), measured());
    inside('.towers').dataset.name = shown.models.map(one => one.name).join(', ');
    const room = inside('.scroll').clientWidth;
    column = Math.max(LEAST, Math.min(MOST, (room - 2 * EDGE) / count));
    width = Math.floor(2 * EDGE + count * column);
    renew(inside('.its-words'), wordRow());
    renew(inside('.kinds'), shown.networks.map(layers).join(''));
    mark(focused ?? chosen[1]);
    if (focused) inside(`.word[data-piece="${focused}"]`)?.focus({preventScroll: true});
    inside('.scroll').style.setProperty('--room', `${room}px`);
    inside('.drawing').dataset.pair = JSON.stringify([sentence()]);
    element.dataset.drawn = shown.chosen.join(' ');
  }

  const svg = (height, content, attributes) =>
    `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ${attributes}>${content}</svg>`;
  const band = (place, height) => rect(xOf(place) - column / 2, 0, column, height, 'class="band"');
  const bands = height => shown.chosen.map(place => band(place, height)).join('');

  function wordRow() {
    const texts = shown.pieces.map(cut), most = LETTER * Math.max(...texts.map(text => text.length));
    const upright = most + 6 > column, height = upright ? Math.max(32, Math.round(most) + 14) : 32;
    const row = texts.map((text, i) => {
      const turned = upright ? ` transform="rotate(-90 ${xOf(i) + 4} ${height - 8})"` : '';
      return `<g class="word" data-piece="${i}" role="button" aria-label="${escapeHtml(shown.pieces[i])}">` +
        rect(xOf(i) - column / 2 + 1, 1, column - 2, height - 2, 'rx="4"') +
        label(text, xOf(i) + (upright ? 4 : 0), upright ? height - 8 : 21,
              `lang="${tongue('source')}" text-anchor="${upright ? 'start' : 'middle'}"${turned}`) + '</g>';
    }).join('');
    return svg(height, row, `role="group" aria-label="${escapeHtml(say('choose'))}"`);
  }

  // The layers of one kind: all nodes and what each reads, in grey, and the path over them.
  function layers(one) {
    const count = shown.pieces.length, across = one.name === 'recurrence', high = one.feeds.length;
    const step = Math.max(3.5, Math.min(STEP, HIGH / high)), bottom = ABOVE + high * step;
    const yOf = layer => bottom - layer * step, height = bottom + 22, radius = Math.min(3.5, step / 2.4);
    const lines = [], nodes = [];
    for (let place = 0; place < count; place++) {
      for (let layer = 0; layer <= high; layer++) {
        nodes.push(`M${xOf(place).toFixed(1)} ${yOf(layer).toFixed(1)}h0`);  // a point, as wide as its line
        for (const far of layer ? one.feeds[layer - 1] : []) {
          if (place - far >= 0 && place - far < count) lines.push([layer - 1, place - far, layer, place]);
        }
      }
      if (across && place) lines.push([1, place - 1, 1, place]);
    }
    const edges = lines.map(([below, from, above, to]) =>
      `M${xOf(from).toFixed(1)} ${yOf(below).toFixed(1)}L${xOf(to).toFixed(1)} ${yOf(above).toFixed(1)}`).join('');
    const way = one.route.map(([layer, place], i) =>
      `${i ? 'L' : 'M'}${xOf(place).toFixed(1)} ${yOf(layer).toFixed(1)}`).join('');
    const stops = one.route.map(([layer, place], i) =>
      `<circle cx="${xOf(place)}" cy="${yOf(layer)}" ` +
      `r="${i && i < one.route.length - 1 ? radius + .8 : radius + 2}"/>`);
    const numbers = step < 13 ? [] : one.route.slice(1).map(([layer, place], i) =>
      label(i + 1, xOf(place) + (across ? 0 : 9), yOf(layer) + (across ? -7 : -4), `text-anchor="middle"`));
    const {first, last} = words(), [from, to] = shown.chosen.toSorted((a, b) => a - b);
    const anchor = place => place < 2 ? 'start' : place > count - 3 ? 'end' : 'middle';
    const names = [[from, first], [to, last]].filter((_, i) => i || to - from > 2).map(([place, text]) => label(
      cut(text), xOf(place) + {start: -column / 2, end: column / 2, middle: 0}[anchor(place)], bottom + 18,
      `class="name" text-anchor="${anchor(place)}"`));
    const title = titleOf(one);
    return `<div class="of"><h3>${escapeHtml(title)}</h3>${facts(one).map(([key, number, formula, order]) =>
      `<span>${escapeHtml(say(key))} <b>${number}</b>` +
      `${order && ` <i>${formula && `= ${typeset(formula)}, `}${typeset(order)}</i>`}` +
      '</span>').join(' ')}</div>` +
      svg(height, `${bands(height)}<path class="reads" style="stroke-opacity: ${lines.length > 300 ? .12 : .35}" ` +
        `d="${edges}"/><path class="nodes" d="${nodes.join('')}" ` +
        `style="stroke-width: ${(2 * radius).toFixed(1)}"/><path class="way" d="${way}"/>${stops.join('')}` +
        numbers.join('') + names.join(''), `role="img" aria-label="${escapeHtml(title)}: ${one.route.length - 1}"`);
  }

  const isStack = one => ['convolution', 'dilated'].includes(one.name);
  const titleOf = one => one.title + (isStack(one) ? `, k = ${shown.kernel}` : '');

  // What stands above the layers of a kind: [key of its name, number, formula, order in table 1].
  const facts = one => {
    const [most, order, ofLayer] = FORMULAS[one.name];
    return [['steps', one.route.length - 1, '', ''], ['most', longest(one), most, order],
            ['sequential', longest(one), '', isStack(one) ? say('each', {order: ofLayer}) : ofLayer]];
  };

  // What is left of a derivative in a model: the state of the later word by the input of the earlier one, the other way
  // round, on average at their distance, and how many times that of neighbours is as large.
  function left({norms, means}) {
    const [first, last] = shown.chosen.toSorted((one, other) => one - other);
    const values = norms.length === shown.pieces.length ? [norms[last][first], norms[first][last]] : [NaN, NaN];
    return [...values, means[last - first] ?? NaN, means[1] / (means[last - first] ?? NaN)];
  }

  const columns = () => ['model', 'there', 'back', 'mean', 'times'].map(key => say(key));

  function measured() {
    if (!shown.models.length) return '';
    const names = columns(), estimated = shown.models.filter(one => one.directions);
    const rows = shown.models.map(one => `<tr><th scope="row">${escapeHtml(one.name)}</th>` + (one.said ?
      `<td colspan="4" class="said">${escapeHtml(one.said)}</td>` : left(one).map((value, i) =>
        `<td data-name="${escapeHtml(names[i + 1])}">` +
        `${Number.isNaN(value) ? '–' : decimal(value, 2)}${i > 2 ? '\u00a0×' : ''}</td>`)
        .join('')) + '</tr>').join('');
    const how = estimated.length ? say('estimated', {directions: Math.min(...estimated.map(one => one.directions))}) :
      shown.models.some(one => one.norms) ? say('exact') : say('waits');
    return `<h3>${escapeHtml(say('left'))}</h3>` +
      `<p class="text">${escapeHtml(say('text'))} ${escapeHtml(how)}</p>` +
      `<table><thead><tr>${names.map(name => `<th scope="col">${escapeHtml(name)}</th>`).join('')}</tr></thead>` +
      `<tbody>${rows}</tbody></table>`;
  }

  // Marks the words that are chosen, and which of all the Tab key reaches.
  function mark(reached) {
    for (const word of element.querySelectorAll('.word')) {
      word.setAttribute('aria-pressed', chosen.includes(Number(word.dataset.piece)));
      word.setAttribute('tabindex', word.dataset.piece === String(reached) ? 0 : -1);
    }
  }

  function choose(piece) {
    if (chosen.includes(piece)) return;
    chosen = [chosen[1], piece];
    asked = situation(shown);
    mark(piece);
    state.chosenPath = chosen.map(place => place + 1);
    trigger('choose');
  }

  function goTo(word) {
    if (!word) return;
    mark(word.dataset.piece);
    word.focus();
  }

  element.addEventListener('click', event => {
    const word = event.target.closest('.word');
    if (!shown || !word) return;
    goTo(word);
    choose(Number(word.dataset.piece));
  });
  element.addEventListener('keydown', event => {
    const word = event.target.closest('.word'), step = ARROWS[event.key]?.[1];
    if (!shown || !word || !(step || ['Enter', ' '].includes(event.key))) return;
    event.preventDefault();
    if (step) goTo(inside(`.word[data-piece="${Number(word.dataset.piece) + step}"]`));
    else choose(Number(word.dataset.piece));
  });

  function table() {
    const networks = shown.networks.flatMap(one => facts(one).map(([key, number, formula, order]) =>
      [titleOf(one), say(key), number, formula ? `${formula}, ${order}` : order]));
    const names = columns().slice(1);
    const models = shown.models.filter(one => one.norms).flatMap(one => left(one).map((value, i) =>
      [one.name, names[i], Number.isNaN(value) ? '' : value, '']));
    const heads = ['kind', 'what', 'number', 'formula'].map(key => say(`column_${key}`));
    return {columns: heads, rows: [...networks, ...models]};
  }

  // The picture shows all columns, also where the page scrolls them.
  function picture(kind) {
    const whole = inside('.drawing'), before = whole.style.width;
    whole.style.width = `${Math.max(whole.offsetWidth, width + 8)}px`;
    const address = htmlPicture(kind, element, whole, 'path-between');
    whole.style.width = before;
    return address;
  }

  onOtherWidth(element, () => shown && inside('.drawing') && draw());
  saveOnClick(element, {title: () => say('title'), table, picture});
  watch('value', receive);
  receive();
}
