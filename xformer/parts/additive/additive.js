// Additive attention step by step, from props.value, which draw.py makes: of the step that is
// chosen W_q q, of each piece of the source W_k k, tanh of their sum, the score and the softmax; and what lifts one
// score above the others. A click on a piece of the translation triggers 'choose' {step}; one on a piece of the
// source shows what lifts its score.
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';
import {ARROWS, escapeHtml, fill, redraw} from '../../../assets/shared.js';

const MOST = 6;  // products that are written out

const sum = numbers => numbers.reduce((total, number) => total + number, 0);
const largest = rows => Math.max(1e-6, ...rows.map(row => row.reduce((most, one) => Math.max(most, Math.abs(one)), 0)));
const signed = number => `${number < 0 ? '−' : '+'}${Math.abs(number).toFixed(3)}`;

// Numbers as a strip of colours: blue below 0, orange above, up to the largest.
function strip(numbers, most) {
  const canvas = Object.assign(document.createElement('canvas'), {width: numbers.length, height: 1});
  const context = canvas.getContext('2d'), image = context.createImageData(numbers.length, 1);
  numbers.forEach((number, i) => image.data.set(
    [...(number < 0 ? [43, 122, 246] : [217, 119, 6]), Math.round(255 * Math.min(1, Math.abs(number) / most))], 4 * i));
  context.putImageData(image, 0, 0);
  return `<img class="numbers" src="${canvas.toDataURL()}" alt="">`;
}

export default function start({element, props, trigger, watch}) {
  let shown = null, step = 0, key = 0;
  const drawing = () => element.querySelector('.drawing');
  const say = (name, values = {}) => escapeHtml(fill(shown.texts[name], values));

  // The numbers of the chosen step and a piece of the source, dimension by dimension.
  function numbersOf(at) {
    const {q, k, w} = shown, inside = q[step].map((one, i) => Math.tanh(one + k[at][i]));
    return {inside, products: inside.map((one, i) => one * w[i])};
  }

  // A group of buttons, of which one is pressed and in the order of the Tab key.
  const button = (group, i, text, isPressed) =>
    `<button type="button" data-${group}="${i}" aria-pressed="${isPressed}" ` +
    `tabindex="${isPressed ? 0 : -1}">${escapeHtml(text)}</button>`;

  function receive() {
    const before = shown;
    shown = props.value;
    element.dataset.empty = !shown;
    if (!shown) {
      if (drawing()) drawing().innerHTML = '';
      return;
    }
    if (before?.model !== shown.model || before?.keys.join() !== shown.keys.join()) key = -1;
    step = shown.step;
    draw();
  }

  function draw() {
    const {q, k, w, scores, probabilities, given, predicted, keys} = shown, weights = probabilities[step];
    if (key < 0 || key >= keys.length) key = weights.indexOf(Math.max(...weights));
    const ofQ = largest([q[step]]), ofK = largest(k), ofW = largest([w]), title = say('title', {
      given: given[step], predicted: predicted[step], count: keys.length, size: w.length});
    const rows = keys.map((name, i) => `<tr><th scope="row">${button('key', i, name, i === key)}</th>` +
      `<td class="strip of-key">${strip(k[i], ofK)}</td><td class="strip">${strip(numbersOf(i).inside, 1)}</td>` +
      `<td class="number">${signed(scores[step][i])}</td><td class="number"><span class="share" ` +
      `style="--share:${weights[i].toFixed(4)}">${weights[i].toFixed(3)}</span></td></tr>`);
    redraw(drawing(), `<div class="additive"><p class="title"><b>${title}</b> · ${shown.model}</p>` +
      `<div class="steps" role="group" aria-label="${say('step')}">` +
      `${predicted.map((name, i) => button('step', i, name, i === step)).join('')}</div>` +
      '<div class="scroll" tabindex="0" role="region" aria-label="' + title + '"><table><thead><tr>' +
      `<th>${say('key')}</th><th class="of-key"><i>W<sub>k</sub> k</i></th>` +
      `<th>tanh( <i>W<sub>q</sub> q</i> + <i>W<sub>k</sub> k</i> )</th><th>${say('score')}</th>` +
      `<th>${say('weight')}</th></tr></thead><tbody><tr class="given"><th scope="row"><i>W<sub>q</sub> q</i></th>` +
      `<td class="strip of-key"></td><td class="strip">${strip(q[step], ofQ)}</td><td></td><td></td></tr>` +
      `<tr class="given"><th scope="row"><i>w<sub>v</sub></i></th><td class="strip of-key"></td>` +
      `<td class="strip">${strip(w, ofW)}</td><td></td><td></td></tr>${rows.join('')}</tbody></table></div>` +
      `${terms()}</div>`);
    element.dataset.drawn = step + 1;
  }

  // What the score of the chosen piece is above the mean of all pieces' scores, which is all that a softmax sees, as a
  // sum over the dimensions: those that do most, and what the others add up to.
  function terms() {
    const {q, k, w, scores, keys} = shown, {inside} = numbersOf(key), all = keys.map((_, i) => numbersOf(i).inside);
    const mean = inside.map((_, i) => sum(all.map(one => one[i])) / all.length);
    const lifts = inside.map((one, i) => w[i] * (one - mean[i])), size = scores[step].length;
    const above = scores[step][key] - sum(scores[step]) / size;
    const order = lifts.map((_, i) => i).sort((a, b) => Math.abs(lifts[b]) - Math.abs(lifts[a])).slice(0, MOST);
    const cells = numbers => numbers.map(number => `<td class="number">${signed(number)}</td>`).join('');
    const lines = order.map(i => `<tr><th scope="row">${i + 1}</th>` +
      `${cells([q[step][i], k[key][i], inside[i], mean[i], w[i], lifts[i]])}</tr>`);
    return `<p class="of-score">${say('terms', {key: keys[key], above: signed(above), count: order.length})}</p>` +
      `<div class="scroll" tabindex="0" role="region" aria-label="${say('key')}: ${escapeHtml(keys[key])}">` +
      `<table class="products"><thead><tr><th>${say('dimension')}</th><th><i>W<sub>q</sub> q</i></th>` +
      `<th><i>W<sub>k</sub> k</i></th><th>tanh</th><th>${say('mean')}</th><th><i>w<sub>v</sub></i></th>` +
      `<th>${say('product')}</th></tr></thead><tbody>${lines.join('')}<tr><th scope="row" colspan="6">${say('rest')}` +
      `</th>${cells([above - sum(order.map(i => lifts[i]))])}</tr><tr class="sum"><th scope="row" colspan="6">` +
      `${say('sum')}</th>${cells([above])}</tr></tbody></table></div>`;
  }

  function table() {  // a row a number of each score
    const rows = shown.keys.flatMap((name, at) => {
      const {inside, products} = numbersOf(at);
      return products.map((product, i) =>
        [name, i + 1, shown.q[step][i], shown.k[at][i], inside[i], shown.w[i], product]);
    });
    const columns = [shown.texts.key, shown.texts.dimension, 'W_q q', 'W_k k', 'tanh', 'w_v', shown.texts.product];
    return {columns, rows: [...rows, ...shown.keys.map((name, at) =>
      [name, shown.texts.score, '', '', '', '', shown.scores[step][at]])]};
  }

  function choose(pressed) {
    if ('step' in pressed.dataset) {
      step = Number(pressed.dataset.step);
      key = -1;
      trigger('choose', {step: step + 1});
    } else key = Number(pressed.dataset.key);
    pressed.focus();
    draw();
  }

  element.addEventListener('click', event => {
    const pressed = event.target.closest('[aria-pressed]');
    if (pressed) choose(pressed);
  });
  element.addEventListener('keydown', event => {
    const from = event.target.closest('[aria-pressed]'), move = ARROWS[event.key];
    if (!from || !move) return;
    event.preventDefault();
    const all = [...element.querySelectorAll('step' in from.dataset ? '[data-step]' : '[data-key]')];
    const to = all[all.indexOf(from) + move[0] + move[1]];
    if (to) choose(to);
  });
  saveOnClick(element, {
    title: () => element.querySelector('.title b').textContent, table,
    picture: kind => htmlPicture(kind, element, element.querySelector('.additive'), 'first-additive'),
  });
  watch('value', receive);
  receive();
}
