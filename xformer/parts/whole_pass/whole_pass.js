// Shows a whole pass in one picture, from props.value (draw.py), and plays it: whole_picture.js
// draws. Buttons, the slider and ← → choose a step, a piece of the sentence is followed, which locks it,
// and a layer opens: all of which trigger 'choose', for state.shownPass.
import {lockText, onLock, placeLock, setLock, writeLock} from '../../../assets/lock.js';
import {background, checkpoint, pictureAddress, saveOnClick} from '../../../assets/save.js';
import {escapeHtml, fill, redraw} from '../../../assets/shared.js';
import {state} from '../../../assets/state.js';
import {transport} from '../../../assets/transport.js';
import {
  decoderPart, encoderFlows, encoderPart, filePicture, layOut, movingLines, movingPart, readPass, said, tableOf,
} from './whole_picture.js';

const PAUSE = 1400, MOVE = 450, REVEAL = 900, OPEN = 260;  // milliseconds
const LEAST_ROOM = 1010;  // pixels: a narrower page scrolls
const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

export default function start({element, props, trigger, watch}) {
  let pass = null, place = null, paper = '';
  let step = 1, from = 1, amount = 1, frame = 0, width = 0;
  let block = null;  // the layer that is or shall be open; null as the page begins
  let panel = null, come = '';  // what shows a layer, and which
  let isAsked = false;  // whether a person waits for it
  const inside = selector => element.querySelector(selector);
  const column = () => element.closest('.whole');
  const say = (key, values = {}) => fill(pass.texts[key], values);
  function tell() {
    state.shownPass = [step, block ?? ''];
    trigger('choose');
  }

  const controls = transport(element, {
    pause: PAUSE, count: () => pass?.steps.length ?? 0, step: () => step, go, show, tell, say, halted: () => {
      cancelAnimationFrame(frame);
      amount = 1;
    }});

  function mark() {
    const {asks, seen} = placeLock(['en', 'en'], lockText()), at = seen ?? asks;
    return at === null || at >= pass.source.length ? null : at;
  }

  const shown = () => ({step, from, amount, mark: mark(), block, paper});

  function receive() {
    controls.halt();
    const before = pass?.pair.join('\n');
    pass = props.value ? readPass(props.value) : null;
    element.dataset.empty = !pass;
    if (!pass || !inside('.drawing')) return;
    if (before !== pass.pair.join('\n')) step = pass.step;
    from = step = Math.min(step, pass.steps.length);
    amount = 1;
    layDown();
    if (before !== pass.pair.join('\n') && !isStill()) reveal();
  }

  // Shows the picture from left to right: a cover moves away, for which the browser draws nothing again.
  async function reveal() {
    const cover = Object.assign(document.createElement('div'), {className: 'cover'});
    cover.style.background = paper;
    inside('.layers').append(cover);
    await cover.animate({transform: ['none', 'translateX(100%)']}, {duration: REVEAL, fill: 'forwards'}).finished;
    cover.remove();
  }

  // Lays out what is the same at every step.
  function layDown() {
    width = element.clientWidth;
    place = layOut(pass, Math.max(LEAST_ROOM, width));
    controls.layOut();
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
      box.scrollTo({left: place.channel - 40, behavior: isStill() ? 'auto' : 'smooth'});
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

  // Opens a layer, or closes the one that is open.
  function openBlock(name) {
    const former = name ? '' : block;
    block = name;
    isAsked = Boolean(name);
    if (!name) showOpened();
    tell();
    if (former) inside(`[data-block="${former}"]`)?.focus({preventScroll: true});
  }

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
    if (getComputedStyle(pane).position === 'static') panel.scrollIntoView({block: 'nearest'});
  }

  function act(target) {
    if (target.dataset.piece) follow(Number(target.dataset.piece));
    else openBlock(target.dataset.block === block ? '' : target.dataset.block);
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
    } else if (target && (event.key === 'Enter' || event.key === ' ')) act(target);
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
    const {svg, ...size} = filePicture(pass, Math.max(LEAST_ROOM, element.clientWidth), {...shown(), amount: 1},
                                             {ink, checkpoint: `${name} ${identity}`});
    return pictureAddress(kind, svg, size.width, size.height);
  }});
  new ResizeObserver(() => {
    const now = element.clientWidth;
    if (!pass || !now || now === width || !inside('.drawing')) return;
    controls.halt();
    layDown();
  }).observe(element);
  watch('value', receive);
  receive();
}
