// The buttons, the slider and the clock by which a picture goes through its steps, and plays them.
import {fill, whenOutOfSight} from './shared.js';

const BUTTONS = '<button type="button" data-by="-1">◀</button><button type="button" class="toggle"></button>' +
  '<button type="button" data-by="1">▶</button><input type="range" min="1" max="1" value="1" step="1">' +
  '<output></output>';

// Plays the steps of a picture from its .transport, beside its .drawing. pause: milliseconds a step; steps: the name of
// them in the picture, which has its texts by key; texts: of the controls' own, those that have another key there;
// step() → the step that is shown, from 1; go(to, told) shows another, and tells the server unless `told` is false;
// show() draws it again; tell() tells the server; halted() is called when it stops. → {inside(selector) → a part of the
// element; say(key, values) → a text; take() → the picture that has come, null where there is none to draw; layOut(),
// draw(piece): the names of the controls, their state at a step; halt(): an end to playing; toggle(): what the button
// does: it plays, from the first step after the last, or stops}.
export function transport({element, props}, {pause, steps, step, go, show, tell, texts = {}, halted = () => {}}) {
  const inside = selector => element.querySelector(selector), control = name => inside(`.transport ${name}`);
  const say = (key, values = {}) => fill(picture.texts[texts[key] ?? key], values);
  const count = () => picture?.[steps].length ?? 0;
  let picture = null, timer = 0;

  function take() {
    halt();
    picture = props.value || null;  // '' where nothing was drawn yet
    element.dataset.empty = !picture;
    return inside('.drawing') && picture;
  }

  function layOut() {
    const bar = inside('.transport');
    if (!bar.firstChild) bar.innerHTML = BUTTONS;  // once: a button keeps the focus, the slider its drag
    bar.setAttribute('aria-label', say('decode_steps'));
    Object.assign(control('input'), {min: 1, max: count()});
    control('input').setAttribute('aria-label', say('play_step'));
    control('[data-by="-1"]').setAttribute('aria-label', say('play_previous'));
    control('[data-by="1"]').setAttribute('aria-label', say('play_next'));
  }

  function draw(piece) {
    const slider = control('input'), output = control('output');
    slider.value = step();
    output.textContent = say('play_of', {step: step(), steps: count()});
    slider.setAttribute('aria-valuetext', `${output.textContent}: ${piece}`);
    control('[data-by="-1"]').disabled = step() === 1;
    control('[data-by="1"]').disabled = step() === count();
    control('.toggle').textContent = say(timer ? 'play_stop' : 'play_start');
  }

  function halt() {
    clearInterval(timer);
    timer = 0;
    halted();
  }

  function toggle() {
    if (timer) halt();
    else {
      if (step() === count()) go(1);
      timer = setInterval(() => {
        if (step() === count() || !element.isConnected) halt();
        else go(step() + 1);
        show();
      }, pause);
    }
    show();
  }

  element.addEventListener('click', event => {
    const button = event.target.closest('.transport button');
    if (!count() || !button) return;
    if (button.matches('.toggle')) return toggle();
    halt();
    go(step() + Number(button.dataset.by));
    show();
  });
  element.addEventListener('input', event => {
    if (!count() || event.target.type !== 'range') return;
    halt();
    go(Number(event.target.value), false);
  });
  element.addEventListener('change', event => event.target.type === 'range' && tell());
  whenOutOfSight(element, () => {
    if (!timer) return;
    halt();
    show();
  });
  return {inside, say, take, layOut, draw, halt, toggle};
}
