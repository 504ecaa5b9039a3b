// Draws a Plotly figure from props.value.figure (JSON), and saves it as a picture or as its numbers.
// Plotly's script is the file in Python's package; it is fetched from this server when the first figure is drawn.
import {background, checkpoint, saveOnClick} from './save.js';
import {SIZES, brighter, brokenLines, bytes, escapeHtml, isDark, onOtherWidth, onPage} from './shared.js';

const NARROW = 480, PHONE = 640;  // pixels: the widths of a phone's figure and of its window
const LOW = .75;  // how high curves that stand one above the other are on a phone, of their height elsewhere
const LINE = 20;  // pixels: the height of a line of the legend, and of a title in a file
const LEAST = 13, BAR = 70, PADDING = 24;  // pixels: a map's column; beside a map, in its figure and in its block
const CELL = 20, GAP = 24;  // pixels: a column of each of three maps in a row, and what lies between them
const MOST = 4;  // curves that are named at their ends; more of them have a legend
const REST = 4;  // times as long as drawing took, in which whatever else a page has to do comes first
const EDGE = 16;  // pixels around a picture in a file
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const measuring = document.createElement('canvas').getContext('2d');
const ARRAYS = {f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array,
                u1: Uint8Array, u2: Uint16Array, u4: Uint32Array};

// Plotly, loaded once for all figures of the page.
let plotly = null;
const loadPlotly = () => plotly ??= window.Plotly ?? new Promise((resolve, reject) => {
  const script = document.createElement('script');
  script.src = './plotly.js';
  script.onload = () => resolve(window.Plotly);
  script.onerror = reject;
  document.head.append(script);
});

// A scale of colours of xformer/figures/heatmap.py, [[place, 'rgba(…)'], …]: on the dark page, what becomes transparent
// at one end becomes bright at the other. A template's table of scales stays as it is.
function themed(scale) {
  const isClear = ([, hue]) => hue.endsWith(', 0)');
  if (!isDark() || !Array.isArray(scale) || !scale.some(isClear)) return scale;
  return scale.flatMap(([place, hue], i) => {
    if (isClear([place, hue])) return [[place, hue]];
    const [inner] = scale[i ? i - 1 : 1], bright = `rgba(${brighter(hue.match(/\d+/g).map(Number))})`;
    return [[place, bright], [(place + inner) / 2, hue]].sort(([one], [other]) => one - other);
  });
}

const bold = html => `<b>${html}</b>`;
const plainText = html =>
  new DOMParser().parseFromString(String(html ?? '').replaceAll('<br>', ' '), 'text/html').body.textContent;

// The width of the longest of some texts, in pixels.
function textWidth(texts, size = SIZES.small) {
  measuring.font = `${size}px ${FONT}`;
  return Math.ceil(Math.max(0, ...texts.map(text => measuring.measureText(plainText(text)).width)));
}

// A map (xformer/figures/heatmap.py) in a room of this width, as the canvas of a head is drawn: its labels as near as
// they are long, and narrower cells where it is wider than the room, LEAST pixels at least, with a colour bar that has
// numbers alone.
function fittedMap({data, layout}, room) {
  const {margin, xaxis, yaxis} = layout, columns = decode(data[0].x).length;
  const left = textWidth(yaxis.ticktext, yaxis.tickfont.size) + 14;
  const over = LINE + 8 + (xaxis.tickangle ? textWidth(xaxis.ticktext, xaxis.tickfont.size) : LINE);
  const cells = layout.width - margin.l - margin.r, isWide = left + cells + margin.r > room;
  const {bar, name, wide} = besideNumbers(data[0].colorbar), right = isWide ? BAR : Math.max(margin.r, wide);
  const width = isWide ? Math.min(cells, Math.max(LEAST * columns, room - left - right)) : cells;
  const [map, ...others] = data;
  const titles = [  // where those of a head stand
    {...ofAxis(`${yaxis.title.text} ↓`), xanchor: 'left', x: 0, xshift: -left, yshift: over - LINE},
    {...ofAxis(`${xaxis.title.text} →`), xanchor: 'right', x: 1, yshift: over - LINE}];
  // Titles that would run into each other stand one above the other.
  if (textWidth([titles[0].text]) + textWidth([titles[1].text]) + 16 > left + width) {
    titles[0].yshift += LINE;
    Object.assign(titles[1], {xanchor: 'left', x: 0, xshift: -left});
  }
  const above = Math.max(over, titles[0].yshift + LINE);
  return {data: [{...map, colorbar: bar}, ...others], layout: {
    ...layout, title: null, width: left + width + right, height: layout.height - margin.t + above,
    margin: {...margin, l: left, r: right, t: above}, xaxis: {...xaxis, title: null}, yaxis: {...yaxis, title: null},
    annotations: [...layout.annotations ?? [], ...titles, ...isWide ? [] : name]}};
}

const ofAxis = text => ({text, showarrow: false, xref: 'paper', yref: 'paper', y: 1, yanchor: 'bottom', align: 'left',
                         font: {size: SIZES.small}, borderpad: 0});

// A colour bar (xformer/figures/heatmap.py) whose title stands beside its numbers, however long they are; Plotly puts
// it between them, where it finds room. → {bar: without it; name: its annotations; wide: the pixels of both}
function besideNumbers(colorbar) {
  const {title, xpad, thickness, ticklen, ticktext, len} = colorbar;
  const xshift = xpad + thickness + ticklen + 8 + textWidth(ticktext);
  const place = {x: 1, xanchor: 'left', xshift, yanchor: 'middle', yshift: -len / 2, textangle: -90};
  return {bar: {...colorbar, title: {text: ''}}, name: title?.text ? [{...ofAxis(title.text), ...place}] : [],
          wide: xshift + LINE};
}

// A plot in a room of this width: each upright axis is named above it, curves at their ends where there are a few,
// other traces in a legend right below.
function fittedPlot(figure, room, ink) {
  const {layout} = figure;
  let {data} = figure;
  const margin = {...layout.margin}, annotations = [...layout.annotations ?? []], shown = {...layout, title: null};
  const isLow = room < NARROW && layout.yaxis2 && data.every(({type}) => type === 'scatter');
  const plot = (isLow ? LOW : 1) * (layout.height - margin.t - margin.b);
  const scale = layout.coloraxis, its = [...data, scale].find(one => one?.colorbar)?.colorbar;
  if (its) {
    const {bar, name, wide} = besideNumbers(its);
    annotations.push(...name);
    margin.r = Math.max(margin.r, wide);
    data = data.map(one => one.colorbar === its ? {...one, colorbar: bar} : one);
    if (scale?.colorbar === its) shown.coloraxis = {...scale, colorbar: bar};
  }
  for (const key of Object.keys(layout).filter(name => name.startsWith('yaxis'))) {
    const {title, domain, ...axis} = layout[key], [, y] = domain ?? [0, 1];
    const place = {y, x: 0, xanchor: 'left', xshift: 6 - margin.l, yshift: 4};
    if (title?.text) annotations.push({...ofAxis(title.text), ...place});
    shown[key] = {...axis, ...(domain && {domain})};
  }
  const [under] = Object.keys(layout).filter(name => name.startsWith('xaxis') && layout[name].title?.text).slice(-1);
  if (under && !layout.width && room) {
    const lines = brokenLines(layout[under].title.text, room - margin.l - margin.r, `${SIZES.small}px ${FONT}`);
    margin.b += LINE * (lines.length - 1);
    shown[under] = {...layout[under], title: {...layout[under].title, text: lines.join('<br>')}};
  }
  const named = data.filter(trace => trace.name && trace.showlegend !== false && !trace.z);
  if (named.length > 1 ? layout.showlegend !== false : named.length && layout.showlegend) {
    const labels = room >= NARROW && endLabels(named, layout, ink), across = textWidth(named.map(one => one.name));
    if (labels && across < .36 * room) {
      margin.r = across + 16;
      annotations.push(...labels);
      Object.assign(shown, withinCurves(named, shown));
      shown.showlegend = false;
    } else {
      const free = room - margin.l - margin.r - 10, inLine = Math.max(1, Math.floor(free / (across + 50)));
      const names = named.map(one => room ? brokenLines(one.name, free - 50, `${SIZES.small}px ${FONT}`) : [one.name]);
      const long = new Map(names.flatMap((lines, i) => lines.length > 1 ? [[named[i], lines.join('<br>')]] : []));
      shown.legend = {orientation: 'h', x: 0, y: -margin.b / plot, yanchor: 'top', tracegroupgap: 0,
                      entrywidth: Math.min(across, free - 50) + 10, entrywidthmode: 'pixels'};
      margin.b += 8 + LINE * (long.size ? names.flat().length : Math.ceil(named.length / inLine));
      data = data.map(one => long.has(one) ? {...one, name: long.get(one)} : one);
    }
  }
  const width = layout.width ?? (room || undefined);
  return {data, layout: {...shown, margin, annotations, width, height: plot + margin.t + margin.b}};
}

// The level axes of curves, to their ends and no further: names beside these would make Plotly leave room for them.
function withinCurves(curves, layout) {
  const axes = {};
  for (const key of Object.keys(layout).filter(name => name.startsWith('xaxis') && !layout[name].range)) {
    const own = curves.filter(one => `xaxis${(one.xaxis ?? 'x').slice(1)}` === key);
    const xs = own.flatMap(one => decode(one.x) ?? [...decode(one.y).keys()]).filter(Number.isFinite);
    if (!xs.length) continue;
    const isLog = layout[key].type === 'log', ends = [Math.min(...xs), Math.max(...xs)];
    const [low, high] = isLog ? ends.map(Math.log10) : ends, pad = .02 * (high - low || 1);
    axes[key] = {...layout[key], range: [layout[key].rangemode === 'tozero' ? 0 : low - pad, high + pad]};
  }
  return axes;
}

// A colour that can be read as text: a good part of it is the page's ink.
function readable(hue, ink) {
  const [one, other] = [hue, ink].map(name => {
    measuring.fillStyle = name;  // which the canvas writes as #rrggbb
    return [1, 3, 5].map(at => parseInt(measuring.fillStyle.slice(at, at + 2), 16));
  });
  return `rgb(${one.map((part, i) => Math.round(.6 * part + .4 * other[i]))})`;
}

// The names of curves as annotations at their ends, none over another; null where there are many of them, or anything
// else than curves.
function endLabels(traces, layout, ink) {
  if (traces.length > MOST || traces.some(({mode}) => !mode?.includes('lines'))) return null;
  const axisOf = (trace, letter) => layout[`${letter}axis${(trace[`${letter}axis`] ?? letter).slice(1)}`];
  const placeOn = (axis, value) => axis.type === 'log' ? Math.log10(value) : value;
  const ends = traces.map(trace => {
    const ys = decode(trace.y), last = ys.findLastIndex(Number.isFinite), y = axisOf(trace, 'y');
    return {trace, x: placeOn(axisOf(trace, 'x'), decode(trace.x)?.[last] ?? last), y: placeOn(y, ys[last]),
            all: ys.filter(Number.isFinite).map(value => placeOn(y, value)), axis: y};
  }).filter(end => end.all.length);
  if (ends.some(({x}) => !Number.isFinite(x))) return null;
  const all = ends.flatMap(end => end.all), axis = ends[0]?.axis ?? {};
  const [low, high] = axis.range ?? [Math.min(...all, axis.rangemode === 'tozero' ? 0 : Infinity), Math.max(...all)];
  const {t, b} = layout.margin, [from, to] = axis.domain ?? [0, 1];
  const scale = (layout.height - t - b) * (to - from) / (high - low || 1);
  let above = Infinity;
  return ends.sort((one, other) => other.y - one.y).map(({trace, x, y}) => {
    const mark = [trace.marker?.size ?? 0].flatMap(decode).at(-1);
    const place = (y - low) * scale, free = Math.min(place, above - 16);
    above = free;
    const text = `<span style="color: ${readable(trace.line.color, ink)}">${trace.name}</span>`;
    return {text, x, y, xref: trace.xaxis ?? 'x', yref: trace.yaxis ?? 'y', xanchor: 'left', xshift: 6 + mark / 2,
            yshift: free - place, showarrow: false, font: {size: SIZES.small}, borderpad: 0};
  });
}

// An array of a figure as nested lists. Plotly's Python sends arrays as base64 with their type and shape.
function decode(values) {
  if (!values || !values.bdata) return values;
  const flat = Array.from(new ARRAYS[values.dtype](bytes(values.bdata).buffer));
  const [rows, columns] = String(values.shape ?? flat.length).split(',').map(Number);
  if (!columns) return flat;
  return Array.from({length: rows}, (_, row) => flat.slice(row * columns, (row + 1) * columns));
}

// The label of a place on an axis, or the place itself where it has no label.
function labelAt(axis, place) {
  const i = axis?.ticktext && decode(axis.tickvals)?.indexOf(place);
  return i >= 0 ? plainText(axis.ticktext[i]) : place;
}

// The rows of one trace (a curve, or a map) in a table: its name, the places on its axes, the value.
function traceRows(trace, layout) {
  const xAxis = layout['xaxis' + (trace.xaxis ?? 'x').slice(1)];
  const yAxis = layout['yaxis' + (trace.yaxis ?? 'y').slice(1)];
  const name = plainText(trace.name), xs = decode(trace.x), ys = decode(trace.y), map = decode(trace.z);
  const xAt = i => labelAt(xAxis, xs?.[i] ?? i), yAt = i => labelAt(yAxis, ys?.[i] ?? i);
  const rows = map ? map.flatMap((line, r) => line.map((value, c) => [name, xAt(c), yAt(r), value])) :
    ys.map((value, i) => [name, xAt(i), value]);
  return rows.filter(row => row.at(-1) !== null && !Number.isNaN(row.at(-1)));
}

function tableOf({data, layout}) {  // a row for each number
  const axes = Object.keys(layout).filter(key => /^[xy]axis/.test(key));
  const axisTitle = letter => plainText(
    axes.filter(key => key[0] === letter).map(key => layout[key].title?.text).find(text => text)) || letter;
  const colourBar = data.find(trace => trace.z)?.colorbar ?? layout.coloraxis?.colorbar;
  // Beside a map, the value of a curve or a bar stands in the column of values too.
  const inColumns = row => colourBar && row.length === 3 ? [...row.slice(0, 2), '', row[2]] : row;
  // A trace that only writes text on the picture has no numbers.
  const traces = data.filter(trace => trace.mode !== 'text' && trace.showscale !== false);
  return {columns: ['', axisTitle('x'), axisTitle('y'), ...(colourBar ? [plainText(colourBar.title?.text)] : [])],
    rows: traces.flatMap(trace => traceRows(trace, layout)).map(inColumns)};
}

export default function start({element, props, trigger, watch}) {
  let box = null;     // the element that Plotly draws in
  let drawnFor = 0;   // its width then
  let figure = null;  // {data, layout}
  let draws = 0;
  let restUntil = 0;  // before this time a newer figure waits for a free moment
  const inside = selector => element.querySelector(selector);
  const title = () => plainText(figure.layout.title?.text);
  const pair = () => figure.layout.meta?.pair ?? [];  // the sentence and its translation, of which it is
  const ink = () => getComputedStyle(element).color;
  const fitted = (shown, width) => shown.layout.meta?.map ? fittedMap(shown, width) : fittedPlot(shown, width, ink());

  // The width that a figure may take. Maps stand side by side unless they are too wide for that; their row knows it.
  const room = () => {
    const row = element.closest('.three-maps');
    if (!row || innerWidth <= PHONE) return box.clientWidth;
    const third = (row.clientWidth - 2 * GAP) / 3 - PADDING, columns = decode(figure.data[0].x).length;
    const isWide = columns * CELL + BAR + 80 >= third;
    row.dataset.wide = isWide;
    return isWide ? row.clientWidth - PADDING : third;
  };

  function isInWindow() {
    const {top: above, bottom} = element.getBoundingClientRect();
    return bottom > 0 && above < innerHeight;
  }

  async function draw() {
    const turn = ++draws;
    figure = props.value?.figure && JSON.parse(props.value.figure, (key, value) =>
      key === 'colorscale' ? themed(value) : key === 'color' ? onPage(value) : value);
    element.dataset.empty = !figure;
    if (!figure) return;
    inside('.caption').textContent = title();
    Object.assign(inside('.plot'), {role: 'img', ariaLabel: title()});  // an image without a name is none
    const Plotly = await loadPlotly();
    if (!isInWindow() || performance.now() < restUntil) await new Promise(later =>
      window.requestIdleCallback?.(later, {timeout: 1000}) ?? setTimeout(later));
    if (turn !== draws) return;  // a newer figure came meanwhile
    const begun = performance.now();
    if (box !== inside('.plot')) {
      box = inside('.plot');
      onOtherWidth(box, () => figure && box.clientWidth !== drawnFor && draw(), box.clientWidth);
    }
    drawnFor = box.clientWidth;
    const shown = fitted(figure, room());
    await Plotly.react(box, shown.data, shown.layout, {displayModeBar: false});
    // A click on a curve triggers 'pick' with the first of the values that its points carry.
    box.removeAllListeners?.('plotly_click');
    box.on('plotly_click', ({points: [point]}) => trigger('pick', {curve: point.data.customdata?.[0]}));
    element.dataset.drawn = turn;
    restUntil = performance.now() + REST * (performance.now() - begun);
  }

  async function picture(kind) {  // in the colours of the page, as wide as it is seen
    const {data, layout} = fitted(figure, room()), font = {...layout.font, color: ink()}, {margin} = layout;
    const width = (layout.width ?? box._fullLayout.width) + 2 * EDGE, across = width - 2 * EDGE;
    const lines = brokenLines(title(), across, `600 ${SIZES.reading}px ${FONT}`);
    const {name, identity} = checkpoint(element);
    const below = [pair().join(' → '), `${name} ${identity}`].filter(Boolean)
      .flatMap(text => brokenLines(text, across, `${SIZES.small}px ${FONT}`));
    const above = EDGE + 22 * lines.length, under = EDGE + 18 * below.length, height = layout.height + above + under;
    const inFile = {
      ...layout, width, height, font, paper_bgcolor: background(element),
      margin: {...margin, l: margin.l + EDGE, r: margin.r + EDGE, t: margin.t + above, b: margin.b + under},
      title: {text: bold(lines.map(escapeHtml).join('<br>')), font: {size: SIZES.reading},
              x: EDGE / width, xanchor: 'left', xref: 'container',
              y: 1 - EDGE / height, yanchor: 'top', yref: 'container'},
      annotations: [...layout.annotations ?? [], {
        ...ofAxis(below.map(escapeHtml).join('<br>')), x: 0, y: 0, xanchor: 'left', xshift: -margin.l, yanchor: 'top',
        yshift: -margin.b, font: {size: SIZES.small}}],
    };
    const Plotly = await loadPlotly();
    return Plotly.toImage({data, layout: inFile}, {format: kind, scale: kind === 'png' ? 2 : 1, width, height});
  }

  saveOnClick(element, {title, pair, table: () => tableOf(figure), picture});
  watch('value', draw);
  draw();
}
