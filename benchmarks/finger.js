// What finger.py runs in each page, before its own scripts: how much is pushed aside, when the frame of what comes
// stands there, what the visitor does, and the clock.
const first = selector => document.querySelector(selector);

window.shifts = [];  // [how much, whether soon after an act, what moved]
const nameOf = node => (node?.id || node?.className || node?.parentElement?.className || '').toString();
const moved = ({node, previousRect: {y: before}, currentRect: {y: now}}) =>
  `${nameOf(node)} ${Math.round(before)} → ${Math.round(now)}`;
new PerformanceObserver(list => list.getEntries().forEach(({value, hadRecentInput, startTime, sources}) =>
  window.shifts.push([value, hadRecentInput, `${Math.round(startTime)}: ${sources.map(moved).join(', ')}`])
)).observe({type: 'layout-shift', buffered: true});

const isSeen = element => {
  const {y, bottom, width} = element.getBoundingClientRect();
  return element.checkVisibility({visibilityProperty: true}) && width > 0 && bottom > 0 && y < innerHeight;
};

// When a frame is seen, in milliseconds after the first paint.
const FRAMES = '.opening .frames > *, .laying .frames > *, .framed[data-waits=frame]';
const looking = setInterval(() => {  // which `idle` of the tests does not wait for
  const paint = performance.getEntriesByType('paint')[0];
  if (!paint || ![...document.querySelectorAll(FRAMES)].some(isSeen)) return;
  window.framed = performance.now() - paint.startTime;
  clearInterval(looking);
}, 10);

// The sliders that are seen, by their names: without what is said of them.
const nameOfSlider = one => one.closest('.transport') ? one.ariaLabel :
  one.closest('.block').querySelector('label, span').innerText.trim().split('\n')[0];
const slidersSeen = () => [...document.querySelectorAll(':is([role=tabpanel], body:not(:has([role=tabpanel]))) ' +
  'input[type=range]')].filter(one => one.checkVisibility({visibilityProperty: true}));
const fieldOf = () => first('.bar textarea') ?? first('textarea, input[type=text]');
window.sliders = () => slidersSeen().map(nameOfSlider);

const write = (field, value) => {
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, value);
  field.dispatchEvent(new Event('input', {bubbles: true}));
};

// What the visitor does; turn: 0, 1, ...
const acts = {
  slider: (turn, number) => {
    const one = slidersSeen()[number], [least, most, step] = ['min', 'max', 'step'].map(name => Number(one[name]));
    const steps = Math.max(1, Math.min(9, Math.floor((most - least) / (step || 1))));
    one.dispatchEvent(new Event('pointerdown', {bubbles: true}));  // from then on nothing is kept in sight
    write(one, least + (step || 1) * (1 + turn % steps));
    one.dispatchEvent(new Event('pointerup', {bubbles: true}));
  },
  head: turn => {
    const canvas = first('.heads canvas'), box = canvas.getBoundingClientRect();
    const places = JSON.parse(canvas.dataset.places), [, x, y] = places[(7 * turn + 3) % places.length];
    canvas.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: box.left + x, clientY: box.top + y}));
  },
  enter: () => fieldOf().dispatchEvent(
    new KeyboardEvent('keypress', {key: 'Enter', bubbles: true, cancelable: true})),
};

window.type = text => write(fieldOf(), text);
window.toSight = number => slidersSeen()[number].scrollIntoView({block: 'start'});

// Does something and notes when a picture that is seen was drawn last: the second animation frame after that. what: of
// `acts`; selector: of the pictures.
window.act = ([what, selector, ...given]) => {
  window.took = null;
  window.watching?.disconnect();
  const began = performance.now();
  window.watching = new MutationObserver(changes => {
    if (!changes.some(({target}) => {
      const block = (target.closest ? target : target.parentElement)?.closest(selector);
      return block && isSeen(block);
    })) return;
    requestAnimationFrame(() => requestAnimationFrame(() => { window.took = performance.now() - began; }));
  });
  window.watching.observe(document.body,
    {subtree: true, childList: true, characterData: true, attributeFilter: ['data-drawn']});
  acts[what](...given);
};
