// Draws translations as an energy-based model sees them, from props.value (landscape.py): the figure of its boxes with
// the numbers of the translation that is chosen, the landscape of all, and what the search has found after each step.
// A click or Enter on a translation triggers 'choose' {item}; arrow keys go to the next in the landscape.
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';
import {
  brokenLines, decimal, escapeHtml, fill, label, onOtherWidth, rect, redraw, tongue,
} from '../../../assets/shared.js';

const NARROW = 700, HIGH = 60, LINE = 15, GAP = 28, CHART = 200, LEFT = 44, BOTTOM = 36, TOP = 12, EDGE = 14;
// Where the boxes stand, as [column, row], and by which sides the arrows join them.
const WIDE = {
  size: [5, 3],
  x: [0, 0], encoder: [1, 0], delay: [1, 2], predictor: [2, 1], z: [3, 0], decoder: [3, 1], y: [3, 2], energy: [4, 1],
  least: [4, 0],
  arrows: ['x right encoder left', 'encoder right predictor top', 'delay top predictor left',
           'predictor right decoder left', 'z bottom decoder top', 'decoder bottom y top', 'y left delay right',
           'y right energy bottom', 'decoder right energy left', 'energy top least bottom', 'least left z right'],
};
const TALL = {
  size: [2, 6],
  x: [0, 0], encoder: [0, 1], delay: [1, 2], predictor: [0, 2], z: [1, 3], decoder: [0, 3], y: [1, 4], energy: [0, 4],
  least: [0, 5],
  arrows: ['x bottom encoder top', 'encoder bottom predictor top', 'delay left predictor right',
           'predictor bottom decoder top', 'z left decoder right', 'decoder bottom energy top', 'y left energy right',
           'energy bottom least top'],
};

export default function start({element, props, trigger, watch}) {
  let shown = null;  // the last value
  let chosen = 0;
  const inside = selector => element.querySelector(selector);
  const say = (key, values = {}) => fill(shown.texts[key], values);
  const nats = value => value.toFixed(2);
  const nameOf = item => item.kind === 'beam' ? say('energy_z', {z: item.z}) : say(`energy_${item.kind}`);
  const told = item => say('energy_hover', {name: nameOf(item), text: item.text, total: nats(item.total),
                                            mean: nats(item.mean), distance: item.distance});

  function receive() {
    shown = props.value;
    element.dataset.empty = !shown;
    if (!shown || !inside('.drawing')) return;
    chosen = shown.chosen;
    draw();
  }

  // A point on a side of a box.
  function at({x, y, width, height}, side) {
    if (side === 'left') return [x, y + height / 2];
    if (side === 'right') return [x + width, y + height / 2];
    return [x + width / 2, side === 'top' ? y : y + height];
  }

  // A line with one corner at most; it ends in an arrow.
  function arrow(boxes, text) {
    const [from, out, to, into] = text.split(' '), [x, y] = at(boxes[from], out), [toX, toY] = at(boxes[to], into);
    const flat = side => side === 'left' || side === 'right';
    const corner = flat(out) === flat(into) ? '' : flat(out) ? `H${toX}` : `V${toY}`;
    return `<path class="arrow${from === 'least' ? ' back' : ''}" d="M${x} ${y}${corner}L${toX} ${toY}" ` +
      'marker-end="url(#energy-tip)"/>';
  }

  function figure(width) {
    const plan = width < NARROW ? TALL : WIDE, [columns, rows] = plan.size, gap = plan === WIDE ? GAP : GAP - 10;
    const wide = (width - 2 - gap * (columns - 1)) / columns, boxes = {}, parts = [];
    const lines = {...shown.boxes, ...shown.items[chosen].boxes};
    for (const [name, [title, ...said]] of Object.entries(lines)) {
      const [column, row] = plan[name];
      const box = {x: 1 + column * (wide + gap), y: 1 + row * (HIGH + gap), width: wide, height: HIGH};
      const broken = said.flatMap(one => brokenLines(one, wide - 12, '12px sans-serif'));
      boxes[name] = box;
      parts.push(`<g class="box of-${name}">${rect(box.x, box.y, wide, HIGH, 'rx="6"')}` +
        label(title, box.x + wide / 2, box.y + 18, 'class="name"') +
        broken.map((one, i) => label(one, box.x + wide / 2, box.y + 18 + LINE * (i + 1), '')).join('') + '</g>');
    }
    const height = rows * HIGH + (rows - 1) * gap + 2;
    return `<svg class="figure" width="${width}" height="${height}" role="img" ` +
      `aria-label="${escapeHtml(say('energy_figure'))}"><defs><marker id="energy-tip" viewBox="0 0 8 8" refX="7" ` +
      'refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>' +
      plan.arrows.map(one => arrow(boxes, one)).join('') + parts.join('') + '</svg>';
  }

  // The axes of a chart: a frame, ticks of both sides, and their names.
  function axes(width, [xs, xAt, xName], [ys, yAt, yName]) {
    return `<g class="axes">${ys.map(y =>
      `<line x1="${LEFT}" x2="${width - EDGE}" y1="${yAt(y)}" y2="${yAt(y)}"/>` +
      label(decimal(y), LEFT - 6, yAt(y) + 4, 'text-anchor="end"')).join('')}${xs.map(x =>
      label(x, xAt(x), CHART - BOTTOM + 16, 'text-anchor="middle"')).join('')}` +
      label(xName, (LEFT + width) / 2, CHART - 4, 'text-anchor="middle"') +
      `<text transform="translate(11 ${(CHART - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">` +
      `${escapeHtml(yName)}</text></g>`;
  }

  // Whole numbers from 0 or 1 to the most, so far apart that their texts do not touch.
  function whole(first, most, width) {
    const step = Math.max(1, Math.ceil((most - first + 1) * 30 / width));
    return Array.from({length: Math.floor((most - first) / step) + 1}, (_, i) => first + i * step);
  }

  const svg = (kind, width, name, inner) => `<svg class="${kind}" width="${width}" height="${CHART}" role="group" ` +
    `aria-label="${escapeHtml(name)}">${inner}</svg>`;

  // Energy against the pieces in which a translation differs from the best of all.
  function landscape(width) {
    const far = Math.max(1, ...shown.items.map(item => item.distance));
    const energies = shown.items.map(item => Math.max(item.total, .001));
    const low = Math.log(Math.min(...energies) / 1.3), high = Math.log(Math.max(...energies) * 1.3);
    const xAt = x => LEFT + 12 + x / far * (width - LEFT - EDGE - 24);
    const yAt = y => TOP + (high - Math.log(Math.max(y, .001))) / (high - low) * (CHART - BOTTOM - TOP);
    const ticks = [-3, -2, -1, 0, 1, 2, 3].flatMap(power => [1, 2, 5].map(one => one * 10 ** power))
      .filter(one => Math.log(one) >= low && Math.log(one) <= high);
    const order = shown.items.map((item, i) => [item, i]).toSorted(([a], [b]) => rank(a) - rank(b));
    const points = order.map(([item, i]) => {
      const x = xAt(item.distance), y = yAt(item.total), isLeast = i === shown.least;
      const mark = item.kind === 'yours' ? `<path class="mark" d="M${x} ${y - 10}l10 10l-10 10l-10 -10z"/>` :
        `<circle class="mark" cx="${x}" cy="${y}" r="${item.kind === 'beam' ? 9 : 5}"/>`;
      const number = item.kind === 'beam' ? label(item.z, x, y + 4, 'text-anchor="middle"') : '';
      return `<g class="point ${item.kind}${isLeast ? ' least' : ''}" data-item="${i}" role="button" ` +
        `tabindex="${i === chosen ? 0 : -1}" aria-pressed="${i === chosen}" aria-label="${escapeHtml(told(item))}">` +
        `<title>${escapeHtml(told(item))}</title>${mark}${number}</g>`;
    });
    return svg('landscape', width, say('energy_landscape'), axes(width,
      [whole(0, far, width - LEFT), xAt, say('energy_axis_distance')], [ticks, yAt, say('energy_axis_log')]) +
      points.join(''));
  }

  // What is drawn above what: the visitor's own last.
  const rank = item => ['spoiled', 'beam', 'yours'].indexOf(item.kind) * 100 - (item.z || 0);

  // The lowest energy of what goes on and of what has ended, after each step of the search.
  function search(width) {
    const {alive, ended} = shown.search, steps = alive.length, yours = shown.items.find(item => item.kind === 'yours');
    const found = [...alive, ...ended].filter(one => one !== null), most = Math.max(...found, yours?.total ?? 0) * 1.08;
    const xAt = x => LEFT + 12 + (x - 1) / Math.max(1, steps - 1) * (width - LEFT - EDGE - 24);
    const yAt = y => TOP + (1 - y / most) * (CHART - BOTTOM - TOP);
    const step = 10 ** Math.floor(Math.log10(most)), every = [5, 2, 1, .5, .2].find(one => most / (one * step) >= 3);
    const ticks = Array.from({length: Math.floor(most / (every * step)) + 1}, (_, i) => +(i * every * step).toFixed(6));
    const place = (one, i) => one === null ? null : `${xAt(i + 1).toFixed(1)} ${yAt(one).toFixed(1)}`;
    const path = values => values.map(place).filter(Boolean).join('L');
    const stairs = ended.map((one, i) => one === null ? '' : i && ended[i - 1] !== null ?
      `H${xAt(i + 1).toFixed(1)}V${yAt(one).toFixed(1)}` : `M${xAt(i + 1).toFixed(1)} ${yAt(one).toFixed(1)}`).join('');
    const dots = ended.map((one, i) => one === null ? '' :
      `<circle class="ended" cx="${xAt(i + 1)}" cy="${yAt(one)}" r="3"/>`).join('');
    const line = yours ? `<path class="yours" d="M${LEFT} ${yAt(yours.total)}H${width - EDGE}"/>` : '';
    return svg('search', width, say('energy_search'), axes(width,
      [whole(1, steps, width - LEFT), xAt, say('energy_axis_step')], [ticks, yAt, say('energy_axis')]) +
      `${line}<path class="alive" d="M${path(alive)}"/><path class="ended" d="${stairs}"/>${dots}`);
  }

  // A key of a chart.
  const keys = names => `<p class="keys">${names.map(name =>
    `<span class="key ${name}"><i></i>${escapeHtml(say(`energy_key_${name}`))}</span>`).join('')}</p>`;

  // The energy of a translation as the sum of those of its pieces, each the darker the more it costs.
  function sum(item) {
    const most = Math.max(...item.parts, 1e-9);
    return `<p class="sum">${item.pieces.map((piece, i) =>
      `<span style="--share:${(item.parts[i] / most).toFixed(3)}">` +
      `<b lang="${tongue('target')}">${escapeHtml(piece)}</b>` +
      `<small>${nats(item.parts[i])}</small></span>`).join('')}</p>`;
  }

  function listedAs(item, i) {
    return `<li><button type="button" class="cells" data-item="${i}" aria-pressed="${i === chosen}">` +
      `<span class="which">${escapeHtml(nameOf(item))}</span><span class="number">${nats(item.total)}</span>` +
      `<span class="number">${nats(item.mean)}</span><span class="said" lang="${tongue('target')}">` +
      `${escapeHtml(item.text) || '–'}</span></button></li>`;
  }

  function draw() {
    const width = Math.max(260, inside('.drawing').clientWidth), apart = width >= NARROW;
    const half = apart ? Math.floor((width - 24) / 2) : width, item = shown.items[chosen];
    const has = kind => shown.items.some(one => one.kind === kind);
    const listed = shown.items.map((one, i) => [one, i]).filter(([one, i]) => one.kind !== 'spoiled' || i === chosen);
    const head = ['energy_which', 'energy_nats', 'energy_a_piece', 'energy_column']
      .map((key, i) => `<span${i === 1 || i === 2 ? ' class="number"' : ''}>${escapeHtml(say(key))}</span>`).join('');
    redraw(inside('.drawing'), `<p class="caption">${escapeHtml(shown.title)}</p>${figure(width)}` +
      `<h3>${escapeHtml(say('energy_sum', {name: nameOf(item), total: nats(item.total)}))}</h3>${sum(item)}` +
      `<div class="charts"><div><h3>${escapeHtml(say('energy_landscape'))}</h3>` +
      `${keys(['least', 'beam', ...['yours', 'spoiled'].filter(has)])}${landscape(half)}</div>` +
      `<div><h3>${escapeHtml(say('energy_search'))}</h3>${keys(['alive', 'ended', ...['yours'].filter(has)])}` +
      `${search(half)}</div></div><div class="items choices"><p class="cells head">${head}</p>` +
      `<ol>${listed.map(one => listedAs(...one)).join('')}</ol></div><p class="told" role="status">` +
      `${escapeHtml(shown.told)}</p>`);
    inside('.drawing').dataset.pair = JSON.stringify(shown.pair);
    element.dataset.chosen = chosen;
  }

  function choose(item) {
    if (item === chosen || !shown.items[item]) return;
    chosen = item;
    draw();
    trigger('choose', {item});
  }

  element.addEventListener('click', event => {
    const one = event.target.closest('[data-item]');
    if (shown && one) choose(Number(one.dataset.item));
  });
  element.addEventListener('keydown', event => {
    const point = shown && event.target.closest('.point');
    if (!point) return;
    const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key] ?? 0;
    if (!by && event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    const last = shown.items.length - 1, item = Math.min(last, Math.max(0, Number(point.dataset.item) + by));
    choose(item);
    inside(`.point[data-item="${item}"]`).focus({preventScroll: true});
  });

  function table() {
    const columns = ['energy_which', 'energy_column', 'energy_nats', 'energy_a_piece', 'energy_axis_distance',
                     'energy_each'].map(key => say(key));
    const rows = shown.items.map(item => [nameOf(item), item.text, item.total, item.mean, item.distance,
      item.pieces.map((piece, i) => `${piece} ${item.parts[i]}`).join(' · ')]);
    const after = shown.search.alive.map((alive, i) => [say('energy_after', {step: i + 1}),
      say('energy_key_ended'), shown.search.ended[i] ?? '', '', '', `${say('energy_key_alive')}: ${alive ?? '–'}`]);
    return {columns, rows: [...rows, ...after]};
  }

  onOtherWidth(element, () => shown && draw());
  saveOnClick(element, {title: () => shown.title, table,
    picture: kind => htmlPicture(kind, element, inside('.drawing'), 'energy-view')});
  watch('value', receive);
  receive();
}
