// Shows a whole pass in one picture, from props.value (draw.py), and plays it: whole_picture.js
// draws. Buttons, the slider and ← → choose a step, a piece of the sentence is followed, which locks it,
// and a layer opens: all of which trigger 'choose', for state.shownPass.
import {lockText, onLock, placeLock, setLock, writeLock} from '../../../assets/lock.js';
import {background, checkpoint, pictureAddress, saveOnClick} from '../../../assets/save.js';
import {escapeHtml, percent, redraw, tongue} from '../../../assets/shared.js';
import {state} from '../../../assets/state.js';
import {transport} from '../../../assets/transport.js';
import {
  decoderPart, encoderFlows, encoderPart, filePicture, layOut, movingLines, movingPart, readPass, said, tableOf,
} from './whole_picture.js';

const PAUSE = 1400, MOVE = 450, REVEAL = 900, OPEN = 260;  // milliseconds
const LEAST_ROOM = 880;  // pixels: a narrower page scrolls
const UPRIGHT = 700;  // pixels: on a page that is narrower the picture stands upright
const HEIGHT = 458;  // pixels: how high a picture is that lies, if the page does not set --pass-height
// So that the page may set it in any unit, and it is read in pixels. (Gradio drops @property.)
CSS.registerProperty?.({name: '--pass-height', syntax: '<length>', inherits: true, initialValue: `${HEIGHT}px`});
const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

export default function start({element, props, trigger, watch}) {
  let pass = null, place = null, paper = '';
  let step = 1, from = 1, amount = 1, frame = 0, room = '';
  let block = null;  // the layer that is or shall be open; null as the page begins
  let panel = null, come = '';  // what shows a layer, and which
  let isAsked = false, isOfNumbers = false;  // whether a person waits for it, and for its numbers
  const column = () => element.closest('.whole');
  function tell() {
    state.shownPass = [step, block ?? ''];
    trigger('choose');
  }

  const {inside, say, ...controls} = transport({element, props}, {
    pause: PAUSE, steps: 'steps', step: () => step, go, show, tell, halted: () => {
      cancelAnimationFrame(frame);
      amount = 1;
    }});

  function mark() {
    const {asks, seen} = placeLock(['en', 'en'], lockText()), at = seen ?? asks;
    return at === null || at >= pass.source.length ? null : at;
  }

  const shown = () => ({step, from, amount, mark: mark(), block, paper});

  function receive() {
    const before = pass?.pair.join('\n'), value = controls.take();
    pass = value && readPass(value);
    if (!pass) return;
    if (before !== pass.pair.join('\n')) step = pass.step;
    from = step = Math.min(step, pass.steps.length);
    amount = 1;
    layDown();
    if (before && before !== pass.pair.join('\n') && !isStill()) reveal();
  }

  // Shows another picture along its way: a cover moves away, for which the browser draws nothing again. The first one
  // stands there at once: to move over it would cost a sixth of all that opening the page does.
  async function reveal() {
    const cover = Object.assign(document.createElement('div'), {className: 'cover'});
    cover.style.background = paper;
    inside('.layers').append(cover);
    const away = place.isUpright ? 'translateY(100%)' : 'translateX(100%)';
    await cover.animate({transform: ['none', away]}, {duration: REVEAL, fill: 'forwards'}).finished;
    cover.remove();
  }

  // The room of the picture: as wide as its element, and as high as the page says. Upright, it may be of any height.
  function roomNow() {
    const width = element.clientWidth, told = parseFloat(getComputedStyle(element).getPropertyValue('--pass-height'));
    return width < UPRIGHT ? {room: width, isUpright: true} :
      {room: Math.max(LEAST_ROOM, width), height: told || HEIGHT, isUpright: false};
  }

  // Lays out what is the same at every step.
  function layDown() {
    const now = roomNow();
    room = JSON.stringify(now);
    place = layOut(pass, now);
    element.dataset.upright = now.isUpright;
    controls.layOut();
    if (!inside('.result')) inside('.transport').insertAdjacentHTML('beforeend', '<p class="result"></p>');
    const size = `width="${place.width}" height="${place.height}"`;
    // The flows lie in a picture of their own, so that they are not painted again with what moves over them.
    inside('.drawing').innerHTML = '<div class="scroll"><div class="layers">' +
      `<svg class="flows" aria-hidden="true" ${size}></svg><svg class="moving" aria-hidden="true" ${size}></svg>` +
      `<svg class="pass" role="group" ${size}><g class="of-encoder"></g><g class="of-decoder"></g></svg></div></div>` +
      '<p class="said" role="status"></p>' +
      `<p class="caption">${escapeHtml(say('whole_follow'))} ${escapeHtml(pass.how)} ${escapeHtml(pass.rule)}</p>`;
    showFollowed();
    show();
  }

  function showFollowed() {
    inside('.flows').innerHTML = encoderFlows(pass, place, shown());
    redraw(inside('.of-encoder'), encoderPart(pass, place, shown()));
  }

  function showMoving() {
    inside('.moving').innerHTML = movingPart(pass, place, shown());
  }

  function show() {
    const now = pass.steps[step - 1];
    paper = background(element);
    controls.draw(now.wanted);
    inside('svg.pass').setAttribute('aria-label',
                                    say('whole_picture', {pieces: pass.source.length, piece: now.wanted}));
    inside('.said').textContent = said(pass, step);
    inside('.result').innerHTML = `<b lang="${tongue('target')}">→ ${escapeHtml(now.wanted)}</b> ${percent(now.p)} ` +
      `<span lang="${tongue('target')}"><span>${escapeHtml(now.so_far)}</span></span>`;
    redraw(inside('.of-decoder'), decoderPart(pass, place, shown()));
    showMoving();
    element.dataset.step = step;
  }

  function go(to, told = true) {
    const next = Math.max(1, Math.min(pass.steps.length, to));
    if (next === step) return;
    cancelAnimationFrame(frame);
    [from, step, amount] = [step, next, isStill() ? 1 : 0];
    show();
    if (!amount) frame = requestAnimationFrame(begun => move(begun, begun));
    const box = inside('.scroll');
    if (box.scrollWidth > box.clientWidth + 2)  // on a phone, what is written comes into sight
      box.scrollTo({behavior: isStill() ? 'auto' : 'smooth',
                    left: place.isUpright ? place.targetY(step) - .8 * box.clientWidth : place.channel - 40});
    if (told) tell();
  }

  function move(begun, now) {
    const passed = Math.min(1, (now - begun) / MOVE);
    amount = 1 - (1 - passed) ** 3;
    const lines = movingLines(pass, place, shown());
    inside('.moving').querySelectorAll('path').forEach((path, i) => {
      path.setAttribute('d', lines[i].d);
      path.setAttribute('stroke-width', lines[i].width.toFixed(2));
    });
    if (passed < 1) frame = requestAnimationFrame(later => move(begun, later));
  }

  function follow(piece) {
    setLock(mark() === piece ? '' : writeLock(null, {side: 'en', position: piece}));
    tell();
  }

  // Opens a layer, at its numbers if a strip was asked for, or closes the one that is open.
  function openBlock(name, ofNumbers = false) {
    const former = name ? '' : block;
    block = name;
    isAsked = Boolean(name);
    isOfNumbers = ofNumbers;
    if (!name) showOpened();
    tell();
    if (former) inside(`[data-block="${former}"]`)?.focus({preventScroll: true});
  }

  // Whether the layer that is open stands below the picture, not on it.
  const isBelow = () => getComputedStyle(panel.closest('.block')).position === 'static';

  // Shows the layer that has come, from where it stands in the picture.
  function showOpened() {
    block ??= panel?.dataset.block ?? null;
    const isOpen = Boolean(panel) && panel.dataset.block === block;
    if (isOpen) column().dataset.open = block.split('.')[0];
    else delete column().dataset.open;
    for (const one of element.querySelectorAll('[data-block]'))
      one.setAttribute('aria-expanded', isOpen && one.dataset.block === block);
    const button = isOpen && isAsked && inside(`[data-block="${block}"]`);
    if (!button) return;
    isAsked = false;
    const at = button.getBoundingClientRect(), to = panel.getBoundingClientRect(), pane = panel.closest('.block');
    pane.style.transformOrigin = `${at.left + at.width / 2 - to.left}px ${at.top - to.top + 20}px`;
    if (!isStill())
      pane.animate({transform: ['scale(.15)', 'none'], opacity: [.2, 1]}, {duration: OPEN, easing: 'ease-out'});
    panel.focus({preventScroll: true});
    if (isOfNumbers) showNumbers();
    else if (isBelow()) panel.scrollIntoView({block: 'start'});
  }

  function showNumbers() {
    panel.querySelector('details').open = true;
    panel.querySelector('summary').scrollIntoView({block: isBelow() ? 'start' : 'nearest'});
  }

  function act({dataset: {piece, block: name, numbers}}) {
    if (piece) follow(Number(piece));
    else if (numbers !== undefined && name === panel?.dataset.block && name === block) showNumbers();
    else if (name) openBlock(name === block ? '' : name, numbers !== undefined);
  }

  element.addEventListener('click', event => {
    const target = event.target.closest('[role=button]');
    if (pass && target) act(target);
  });
  element.addEventListener('keydown', event => {
    if (!pass || event.target.type === 'range') return;
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key], target = event.target.closest('[role=button]');
    const along = target?.dataset.piece && {ArrowUp: -1, ArrowDown: 1}[event.key];
    if (by) {
      controls.halt();
      go(step + by);
      show();
    } else if (target && (event.key === 'Enter' || event.key === ' '))
      target.dispatchEvent(new MouseEvent('click', {bubbles: true}));
    else if (along) inside(`[data-piece="${Number(target.dataset.piece) + along}"]`)?.focus();
    else return;
    event.preventDefault();
  });
  column().addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !pass) return;
    if (block) openBlock('');
    else if (mark() !== null) follow(mark());
  });
  column().addEventListener('click', event => event.target.closest('[data-close]') && openBlock(''));
  new MutationObserver(() => {
    const now = column().querySelector('.whole-panel'), name = now?.dataset.block ?? '';
    if (now === panel && name === come) return;  // Gradio may change an element in place
    [panel, come] = [now, name];
    showOpened();
  }).observe(column(), {childList: true, subtree: true, attributeFilter: ['data-block']});
  onLock(() => {
    if (!pass || !place || !inside('.pass')) return;
    showFollowed();
    show();
  });
  saveOnClick(element, {title: () => pass.title, table: () => tableOf(pass, step), picture: kind => {
    const {name, identity} = checkpoint(element), ink = getComputedStyle(element).color;
    const {svg, ...size} = filePicture(pass, place, {...shown(), amount: 1}, {ink, checkpoint: `${name} ${identity}`});
    return pictureAddress(kind, svg, size.width, size.height);
  }});
  function fit() {
    if (!pass || !element.clientWidth || !inside('.drawing') || JSON.stringify(roomNow()) === room) return;
    controls.halt();
    layDown();
  }
  new ResizeObserver(fit).observe(element);
  window.addEventListener('resize', fit);
  watch('value', receive);
  receive();
}
