// What pictures.py runs in each page: the clicks, how to tell that a picture is there, and the clock.
const first = selector => document.querySelector(selector);
const click = (target, where) => target.dispatchEvent(new MouseEvent('click', {bubbles: true, ...where}));

function option(selector, value) {
  first(selector).value = value;
  first(selector).dispatchEvent(new Event('change', {bubbles: true}));
}

// Something that is another for each picture; undefined where there is none.
const seen = {
  grid: () => first('.heads canvas')?.dataset.drawn,
  head: () => first('.view [data-drawn]')?.dataset.drawn,
  svg: () => first('#vis svg') ?? undefined,  // BertViz makes it anew for each drawing
  detail: () => first('text.detail')?.textContent ?? '',
};

// What the visitor does in turn 0, 1, ...; both change between decoder self-attention and cross-attention.
const acts = {
  stack: turn => first(`input[type=radio][value=${turn % 2 ? 'cross' : 'decoder_self'}]`).click(),
  map: (turn, layers, heads) => {
    const canvas = first('.heads canvas'), box = canvas.getBoundingClientRect();
    const wanted = `${turn % layers + 1}.${turn % heads + 1}`;
    const [, x, y] = JSON.parse(canvas.dataset.places).find(([name]) => name === wanted);
    click(canvas, {clientX: box.left + x, clientY: box.top + y});
  },
  filter: turn => option('#filter', 1 + turn % 2),
  layer: (turn, layers) => option('#layer', (turn + 1) % layers),
  thumbnail: (turn, layers, heads) =>
    click(first(`#attn_background_${turn % layers}_${turn % heads}`).parentNode.lastElementChild),
};

const stopClock = began => requestAnimationFrame(() => requestAnimationFrame(() => {
  window.took = performance.now() - began;
}));
window.loaded = see => see() === undefined ? requestAnimationFrame(() => window.loaded(see)) : stopClock(0);

// BertViz has drawn when its handler returns. Only where that is not so are mutations observed: to observe takes time
// for each element that is made.
window.measure = ([what, act, ...arguments_]) => {
  const see = seen[what];
  window.took = null;
  setTimeout(() => {
    const before = see(), began = performance.now();
    if (before === undefined) return window.took = 'blank';
    acts[act](...arguments_);
    if (see() !== before) return stopClock(began);
    const observer = new MutationObserver(() => see() !== before && (observer.disconnect(), stopClock(began)));
    observer.observe(document.body, {subtree: true, childList: true, attributeFilter: ['data-drawn']});
  });
};
