// The buttons, the slider and the clock by which a picture goes through its steps, and plays them.
import {whenOutOfSight} from './shared.js';

const BUTTONS = '<button type="button" data-by="-1">◀</button><button type="button" class="toggle"></button>' +
  '<button type="button" data-by="1">▶</button><input type="range" min="1" max="1" value="1" step="1">' +
  '<output></output>';

// Plays the steps of a picture from its .transport. pause: milliseconds a step; count() → how many steps there are, 0
// without a picture; step() → the one that is shown, from 1; go(to, told) shows another, and tells the server unless
// `told` is false; show() draws it again; tell() tells the server; halted() is called when it stops; say(key, values)
// → a text. → {layOut(), draw(piece), halt(), toggle()}: the names of the controls, their state at a step, an end to
// playing, and what the button does: it plays, from the first step after the last, or stops.
export function transport(element, {pause, count, step, go, show, tell, say, halted = () => {}}) {
  const inside = selector => element.querySelector(`.transport ${selector}`);
  let timer = 0;

  function layOut() {
    const bar = element.querySelector('.transport');
    if (!bar.firstChild) bar.innerHTML = BUTTONS;  // once: a button keeps the focus, the slider its drag
    bar.setAttribute('aria-label', say('decode_steps'));
    Object.assign(inside('input'), {min: 1, max: count()});
    inside('input').setAttribute('aria-label', say('play_step'));
    inside('[data-by="-1"]').setAttribute('aria-label', say('play_previous'));
    inside('[data-by="1"]').setAttribute('aria-label', say('play_next'));
  }

  function draw(piece) {
    const slider = inside('input'), output = inside('output');
    slider.value = step();
    output.textContent = say('play_of', {step: step(), steps: count()});
    slider.setAttribute('aria-valuetext', `${output.textContent}: ${piece}`);
    inside('[data-by="-1"]').disabled = step() === 1;
    inside('[data-by="1"]').disabled = step() === count();
    inside('.toggle').textContent = say(timer ? 'play_stop' : 'play_start');
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
  return {layOut, draw, halt, toggle};
}
