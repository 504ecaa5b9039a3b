// Draws points and the curve of kernel regression through them, from props.value, which
// draw.py makes. Points are dragged, or moved by arrow keys; a moved point triggers
// 'move' {points}, as "x,y x,y".
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';
import {ARROWS, escapeHtml, fill, fixed, onOtherWidth, pointIn, redraw} from '../../../assets/shared.js';
import {state} from '../../../assets/state.js';

const HEIGHT = 320, LEFT = 34, BOTTOM = 26, EDGE = 10, STEP = 0.1;

const written = points => points.map(point => point.join(',')).join(' ');

export default function start({element, props, trigger, watch}) {
  let shown = null;  // the last value
  let points = [], dragged = null;
  let sent = [];  // the points of each move that is not answered yet, as text
  const inside = selector => element.querySelector(selector);
  const say = (key, values = {}) => fill(shown.texts[key], values);
  const width = () => Math.max(240, inside('.drawing').clientWidth);
  const place = (number, [least, most], from, to) => from + (number - least) / (most - least) * (to - from);
  const xAt = x => place(x, shown.range[0], LEFT, width() - EDGE);
  const yAt = y => place(y, shown.range[1], HEIGHT - BOTTOM, EDGE);

  function receive() {
    shown = props.value;
    if (!shown || written(shown.points) === state.movedPoints) state.movedPoints = '';
    element.dataset.empty = !shown;
    if (!shown || !inside('.drawing')) return;
    const answered = sent.indexOf(written(shown.points));
    sent = answered < 0 ? [] : sent.slice(answered + 1);
    if (dragged === null && !sent.length) points = shown.points.map(point => [...point]);
    inside('.caption').textContent = shown.title;
    if (dragged === null || !inside('svg')) layOut();
    inside('.curve').setAttribute('d', path());
    element.dataset.drawn = points.length;
  }

  const path = () => shown.places.map((x, i) =>
    `${i ? 'L' : 'M'}${xAt(x).toFixed(1)} ${yAt(shown.curve[i]).toFixed(1)}`).join('');

  function layOut() {
    const [[left, right], [low, high]] = shown.range, ticks = [];
    for (let x = left; x <= right; x++) {
      ticks.push(`<text x="${xAt(x)}" y="${HEIGHT - 8}" text-anchor="middle">${x}</text>`);
    }
    for (let y = low; y <= high; y++) {
      ticks.push(`<line x1="${LEFT}" x2="${width() - EDGE}" y1="${yAt(y)}" y2="${yAt(y)}"/>` +
        `<text x="${LEFT - 8}" y="${yAt(y) + 4}" text-anchor="end">${y}</text>`);
    }
    const circles = points.map((point, i) =>
      `<circle class="point" data-point="${i}" r="8" tabindex="0" role="button" ` +
      `cx="${xAt(point[0])}" cy="${yAt(point[1])}" aria-label="${escapeHtml(nameOf(i))}"/>`).join('');
    redraw(inside('.drawing'), `<svg width="${width()}" height="${HEIGHT}" role="group" ` +
      `aria-label="${escapeHtml(shown.label)}"><g class="axes">${ticks.join('')}</g><path class="curve"/>${circles}` +
      '</svg>' +
      `<p class="sub" data-hint>${escapeHtml(shown.label)}</p>`);
  }

  const nameOf = i => say('kernel_point', {number: i + 1, x: fixed(points[i][0], 2), y: fixed(points[i][1], 2)});

  function put(i, x, y) {
    const within = (number, [least, most]) => Math.round(100 * Math.min(most, Math.max(least, number))) / 100;
    points[i] = [within(x, shown.range[0]), within(y, shown.range[1])];
    const circle = inside(`[data-point="${i}"]`);
    circle.setAttribute('cx', xAt(points[i][0]));
    circle.setAttribute('cy', yAt(points[i][1]));
    circle.setAttribute('aria-label', nameOf(i));
    state.movedPoints = written(points);
    sent.push(state.movedPoints);
    trigger('move', {points: state.movedPoints});
  }

  element.addEventListener('pointerdown', event => {
    const circle = event.target.closest('.point');
    if (!circle) return;
    event.preventDefault();
    dragged = Number(circle.dataset.point);
    circle.focus();
    circle.setPointerCapture(event.pointerId);
  });
  element.addEventListener('pointermove', event => {
    if (dragged === null) return;
    const {x, y} = pointIn(event, inside('svg')), [[left, right], [low, high]] = shown.range;
    put(dragged, place(x, [LEFT, width() - EDGE], left, right), place(y, [HEIGHT - BOTTOM, EDGE], low, high));
  });
  for (const end of ['pointerup', 'pointercancel']) element.addEventListener(end, () => { dragged = null; });
  element.addEventListener('keydown', event => {
    const circle = event.target.closest('.point'), by = ARROWS[event.key];
    if (!circle || !by) return;
    event.preventDefault();
    const i = Number(circle.dataset.point);
    put(i, points[i][0] + STEP * by[1], points[i][1] - STEP * by[0]);
  });

  function table() {
    const columns = ['kernel_kind', 'kernel_x', 'kernel_y'].map(key => say(key));
    return {columns, rows: [...points.map(point => [say('kernel_is_point'), ...point]),
      ...shown.places.map((x, i) => [say('kernel_is_curve'), x, shown.curve[i]])]};
  }

  onOtherWidth(element, () => {
    if (!shown) return;
    layOut();
    inside('.curve').setAttribute('d', path());
  });
  saveOnClick(element, {title: () => shown.title, table,
    picture: kind => htmlPicture(kind, element, inside('.drawing'), 'kernel-curve')});
  watch('value', receive);
  receive();
}
