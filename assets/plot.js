// A Plotly figure, drawn in place from props.value.figure (JSON), and saved: as a picture, or its numbers.
// Plotly itself is the file that comes with Python's; it is fetched from this server when the first figure is drawn.
const find = selector => element.querySelector(selector);
const TITLE = 36;  // pixels of the margin that a figure leaves for its title, which stands in the page instead
let box, drawn = 0, figure;

const plotly = () => window.ourPlotly ??= window.Plotly ?? new Promise((resolve, reject) => {
  const script = document.createElement('script');
  script.src = './plotly.js';
  script.onload = () => resolve(window.Plotly);
  script.onerror = reject;
  document.head.append(script);
});

// As it is drawn: the title is the page's, where it can wrap.
const untitled = layout => ({...layout, title: null, height: layout.height - TITLE, margin: {...layout.margin, t: layout.margin.t - TITLE}});

// Those that are in the window are drawn first.
function seen() {
  const {top, bottom} = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

async function draw() {
  const turn = ++drawn, wanted = props.value?.figure && JSON.parse(props.value.figure);
  element.dataset.empty = !wanted;
  figure = wanted;
  if (!wanted) return;
  find('.caption').textContent = title();
  find('.plot').setAttribute('aria-label', title());
  const Plotly = await plotly();
  if (!seen()) await new Promise(later => (window.requestIdleCallback ?? setTimeout)(later));
  if (turn !== drawn) return;  // a newer one came meanwhile
  if (box !== find('.plot')) {
    box = find('.plot');
    let width = box.clientWidth;  // only another width is another size: to resize a figure touches its box too
    new ResizeObserver(() => {
      if (!box.clientWidth || box.clientWidth === width) return;
      width = box.clientWidth;
      if (figure && !figure.layout.width) Plotly.Plots.resize(box);
    }).observe(box);
  }
  await Plotly.react(box, wanted.data, untitled(wanted.layout), {displayModeBar: false});
  element.dataset.drawn = turn;
}

// Numbers travel as bytes with their type and shape.
const TYPES = {f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array};
function numbers(values) {
  if (!values || !values.bdata) return values;
  const bytes = Uint8Array.from(atob(values.bdata), c => c.charCodeAt(0)), flat = Array.from(new TYPES[values.dtype](bytes.buffer));
  const [rows, columns] = String(values.shape ?? flat.length).split(',').map(Number);
  return columns ? Array.from({length: rows}, (_, row) => flat.slice(row * columns, (row + 1) * columns)) : flat;
}

// What stands at a place on an axis: its label where it has one.
function named(axis, place) {
  const at = axis?.ticktext && numbers(axis.tickvals)?.indexOf(place);
  return at >= 0 ? plain(axis.ticktext[at]) : place;
}

function table() {  // a row a number: the curve, part or kind it belongs to, its places on both axes, and itself
  const rows = [], layout = figure.layout;
  for (const trace of figure.data) {
    if (trace.mode === 'text' || trace.showscale === false) continue;  // what is written on a picture is not its numbers
    const x = layout['xaxis' + (trace.xaxis ?? 'x').slice(1)], y = layout['yaxis' + (trace.yaxis ?? 'y').slice(1)];
    const z = numbers(trace.z), ys = numbers(trace.y), xs = numbers(trace.x), name = plain(trace.name);
    const own = value => value !== null && !Number.isNaN(value);
    if (z) z.forEach((row, r) => row.forEach((value, c) => own(value) && rows.push([name, named(x, xs?.[c] ?? c), named(y, ys?.[r] ?? r), value])));
    else ys.forEach((value, i) => own(value) && rows.push([name, named(x, xs?.[i] ?? i), value]));
  }
  const axes = Object.keys(layout).filter(key => /^[xy]axis/.test(key)), title = letter =>
    plain(axes.filter(key => key[0] === letter).map(key => layout[key].title?.text).find(text => text)) || letter;
  const bar = figure.data.find(trace => trace.z)?.colorbar ?? layout.coloraxis?.colorbar;
  return {columns: ['', title('x'), title('y'), ...(bar ? [plain(bar.title?.text)] : [])], rows};
}

const title = () => plain(figure.layout.title?.text);

async function picture(kind) {  // in the colours of the page; as wide as it is seen
  const layout = {...figure.layout, paper_bgcolor: background(), font: {...figure.layout.font, color: getComputedStyle(element).color}};
  const size = {width: figure.layout.width ?? box._fullLayout.width, height: figure.layout.height}, Plotly = await plotly();
  return Plotly.toImage({data: figure.data, layout}, {format: kind, scale: kind === 'png' ? 2 : 1, ...size});
}

saves(title, table, picture);
watch('value', draw);
draw();
