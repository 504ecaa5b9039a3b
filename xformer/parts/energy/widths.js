// Draws attention between vectors of several widths, from props.value (widths.py): each product as its matrices,
// cell by cell, with their shapes.
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';
import {escapeHtml, fill, onOtherWidth, redraw} from '../../../assets/shared.js';

const PRODUCTS = [['queries', 'X_q', '·', 'W_q', '=', 'Q'], ['keys', 'X_k', '·', 'W_k', '=', 'K'],
                  ['values', 'X_v', '·', 'W_v', '=', 'V'], ['weights', 'Q', '·', 'Kᵀ', '→', 'A'],
                  ['answer', 'A', '·', 'V', '=', 'Y']];

export default function start({element, props, watch}) {
  let shown = null;  // the last value
  const inside = selector => element.querySelector(selector);
  const say = (key, values = {}) => fill(shown.texts[key], values);

  function receive() {
    shown = props.value;
    element.dataset.empty = !shown;
    if (shown && inside('.drawing')) draw();
  }

  const turned = rows => rows[0].map((_, column) => rows.map(row => row[column]));
  const rowsOf = name => name === 'Kᵀ' ? turned(shown.matrices.K) : shown.matrices[name];

  // A matrix: orange above 0, blue below, the stronger the farther from it.
  function matrix(name, cell) {
    const rows = rowsOf(name), most = Math.max(...rows.flat().map(Math.abs), 1e-9);
    const [height, width] = [rows.length, rows[0].length];
    const cells = rows.flatMap((row, y) => row.map((value, x) =>
      `<rect x="${x * cell}" y="${y * cell}" width="${cell - 1}" height="${cell - 1}" ` +
      `fill="${value < 0 ? '#2b7af6' : '#d97706'}" fill-opacity="${(.08 + .92 * Math.abs(value) / most).toFixed(3)}">` +
      `<title>${escapeHtml(say('widths_value', {name, row: y + 1, column: x + 1, value}))}</title></rect>`));
    return `<span class="shaped"><b>${escapeHtml(name)}</b><svg width="${width * cell}" height="${height * cell}" ` +
      `role="img" aria-label="${escapeHtml(say('widths_matrix', {name, rows: height, columns: width}))}">` +
      `${cells.join('')}</svg><span>${height} × ${width}</span></span>`;
  }

  function draw() {
    const cell = inside('.drawing').clientWidth < 600 ? 8 : 13;
    const lines = PRODUCTS.map(([about, ...parts]) =>
      `<div class="of-product" data-result="${parts.at(-1)}">` +
      `<span class="about">${escapeHtml(say(`widths_${about}`))}</span>` +
      parts.map((part, i) => i % 2 ? `<span class="sign">${part}</span>` : matrix(part, cell)).join('') + '</div>');
    redraw(inside('.drawing'), `<p class="caption">${escapeHtml(shown.title)}</p>${lines.join('')}` +
      `<p class="told" role="status">${escapeHtml(shown.told)}</p>`);
  }

  function table() {
    const columns = ['widths_label', 'widths_row', 'widths_column', 'widths_number'].map(key => say(key));
    const rows = Object.entries(shown.matrices).flatMap(([name, cells]) => cells.flatMap((row, y) =>
      row.map((value, x) => [name, y + 1, x + 1, value])));
    return {columns, rows};
  }

  onOtherWidth(element, () => shown && draw());
  saveOnClick(element, {title: () => shown.title, table,
    picture: kind => htmlPicture(kind, element, inside('.drawing'), 'widths-view')});
  watch('value', receive);
  receive();
}
