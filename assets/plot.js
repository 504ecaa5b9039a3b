// Draws a Plotly figure from props.value.figure (JSON), and saves it as a picture or as its numbers.
// Plotly's script is the file in Python's package; it is fetched from this server when the first figure is drawn.
import {background, saveOnClick} from './save.js';
import {bytes} from './shared.js';

const NARROW = 480, PHONE = 640;  // pixels: the widths of a phone's figure and of its window
const LINE = 20;  // pixels: the height of a line of a narrow figure's legend
const LEAST = 13, BAR = 56, PADDING = 24;  // pixels: a map's column; beside a map, in its figure and in its block
const TITLE = 36;  // pixels of the top margin that a figure leaves for its title; here the page shows the title
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

const plainText = html =>
  new DOMParser().parseFromString(String(html ?? '').replaceAll('<br>', ' '), 'text/html').body.textContent;

// A map of a width of its own, with narrower cells where it is wider than its box, LEAST pixels at least, and then with
// a colour bar that has numbers alone.
function narrowed({data, layout}, width) {
  const [map] = data, columns = data.length === 1 && map.z && decode(map.x)?.length;
  if (!columns || !layout.width || layout.width <= width) return {data, layout};
  const margin = {...layout.margin, r: Math.min(BAR, layout.margin.r)}, around = margin.l + margin.r;
  const most = layout.width - layout.margin.l - layout.margin.r;
  const cells = Math.min(most, Math.max(LEAST * columns, width - around));
  return {data: [{...map, colorbar: {...map.colorbar, title: {text: ''}}}],
          layout: {...layout, margin, width: around + cells}};
}

// A layout without its title, which the page shows, where it can wrap. In a narrow figure, the legend below it has a
// line for each name, and room for these lines.
function fitted({data, layout}, width) {
  const names = data.filter(trace => trace.name && trace.showlegend !== false && !trace.z);
  const isBelow = layout.legend?.yanchor === 'bottom' && names.length > 1;
  const isNarrow = isBelow && width < NARROW;
  const more = isNarrow ? Math.max(0, 56 + LINE * names.length - layout.margin.b) : 0;
  const margin = {...layout.margin, t: layout.margin.t - TITLE, b: layout.margin.b + more};
  const legend = isNarrow ? {...layout.legend, font: {size: 11}} : layout.legend;
  return {...layout, title: null, height: layout.height - TITLE + more, margin, legend};
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
  let figure = null;  // {data, layout}
  let draws = 0;
  const inside = selector => element.querySelector(selector);
  const title = () => plainText(figure.layout.title?.text);

  // The width that a figure may take. Maps side by side are as wide as they are drawn; their row says what there is.
  const room = () => {
    const row = element.closest('.three-maps');
    return row && innerWidth > PHONE ? row.clientWidth - PADDING : box.clientWidth;
  };

  function isInWindow() {
    const {top: above, bottom} = element.getBoundingClientRect();
    return bottom > 0 && above < innerHeight;
  }

  async function draw() {
    const turn = ++draws;
    figure = props.value?.figure && JSON.parse(props.value.figure);
    element.dataset.empty = !figure;
    if (!figure) return;
    inside('.caption').textContent = title();
    inside('.plot').setAttribute('aria-label', title());
    const Plotly = await loadPlotly();
    if (!isInWindow()) await new Promise(later => (window.requestIdleCallback ?? setTimeout)(later));
    if (turn !== draws) return;  // a newer figure came meanwhile
    if (box !== inside('.plot')) {
      box = inside('.plot');
      followWidth(Plotly);
    }
    const shown = narrowed(figure, room());
    await Plotly.react(box, shown.data, fitted(shown, room()), {displayModeBar: false});
    // A click on a curve triggers 'pick' with the first of the values that its points carry.
    box.removeAllListeners?.('plotly_click');
    box.on('plotly_click', ({points: [point]}) => trigger('pick', {curve: point.data.customdata?.[0]}));
    element.dataset.drawn = turn;
  }

  // Resizes the figure with its box. Only another width counts: resizing touches the box too.
  function followWidth(Plotly) {
    let width = box.clientWidth;
    new ResizeObserver(() => {
      if (!box.clientWidth || box.clientWidth === width) return;
      width = box.clientWidth;
      if (figure && !figure.layout.width) Plotly.Plots.resize(box);
      else if (figure) draw();
    }).observe(box);
  }

  async function picture(kind) {  // in the colours of the page, as wide as it is seen
    const {data, layout} = figure, font = {...layout.font, color: getComputedStyle(element).color};
    const size = {width: layout.width ?? box._fullLayout.width, height: layout.height};
    const Plotly = await loadPlotly();
    return Plotly.toImage({data, layout: {...layout, paper_bgcolor: background(element), font}},
      {format: kind, scale: kind === 'png' ? 2 : 1, ...size});
  }

  saveOnClick(element, {title, table: () => tableOf(figure), picture});
  watch('value', draw);
  draw();
}
