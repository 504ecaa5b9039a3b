// Plays a translation step by step, from props.value (step_player.py): the pieces that the decoder was
// given, its mask, which grows by a row, the ten likeliest pieces, and the piece that was written. Buttons, the slider,
// the pieces of the sentence and arrow keys choose a step, which triggers 'choose' {step}, from 1.
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';
import {SIZES, escapeHtml, fixed, label, onOtherWidth, percent, rect, redraw, tongue} from '../../../assets/shared.js';
import {transport} from '../../../assets/transport.js';

const PAUSE = 1100, LARGEST = 18, SMALLEST = 3, LETTER = 7;  // milliseconds; pixels of a cell and of a letter
const cut = text => text.length > 12 ? text.slice(0, 11) + '…' : text;

export default function start({element, props, trigger, watch}) {
  let play = null;  // the last value
  let step = 1;
  const tell = () => trigger('choose', {step});
  const {inside, say, ...controls} = transport({element, props}, {
    pause: PAUSE, steps: 'steps', step: () => step, go, show, tell});

  function receive() {
    play = controls.take();
    if (!play) return;
    step = play.step;
    layOut();
    show();
  }

  // Lays out what is the same at every step.
  function layOut() {
    const pieces = play.steps.map((one, i) =>
      `<button type="button" data-step="${i + 1}" lang="${tongue('target')}">${escapeHtml(one.wanted)}</button>`)
      .join('');
    const source = play.source.map(escapeHtml).join(' ');
    controls.layOut();
    redraw(inside('.drawing'),
      `<p class="source" lang="${tongue('source')}">${source}</p><p class="written">${pieces}</p>` +
      `<p class="caption" data-hint>${escapeHtml(say('play_sentence'))}</p>` +
      '<div class="panes"><section class="masked"><h3></h3><div class="scroll"></div><p class="sub"></p></section>' +
      '<section class="likeliest"><h3></h3><ol></ol></section></div><p class="said" role="status"></p>');
    inside('.drawing').dataset.pair = JSON.stringify(play.pair);
    inside('.masked h3').textContent = say('play_mask');
    inside('.likeliest h3').textContent = say('play_choices');
  }

  function show() {
    const now = play.steps[step - 1];
    controls.draw(now.wanted);
    for (const button of element.querySelectorAll('.written button')) {
      const at = Number(button.dataset.step);
      button.className = at < step ? 'past' : at === step ? 'now' : 'future';
      button.setAttribute('aria-pressed', at === step);
      button.tabIndex = at === step ? 0 : -1;
    }
    inside('.masked .scroll').innerHTML = mask();
    inside('.masked .sub').textContent = say(play.masked ? 'play_mask_text' : 'play_no_mask', {step});
    redraw(inside('.likeliest ol'), bars(now));
    inside('.said').textContent = said(now);
    element.dataset.step = step;
  }

  // The mask of the decoder: a row for each piece that it was given, which may look at itself and at those before it.
  function mask() {
    if (!play.masked) return '';
    const names = play.steps.map(one => one.given), count = names.length;
    const room = inside('.masked').clientWidth - 8;
    const left = 10 + LETTER * Math.max(...names.map(name => cut(name).length));
    const size = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((room - left) / count), Math.floor(270 / count)));
    const named = size > SIZES.small, inner = size > 5 ? size - 1 : size, parts = [];
    names.forEach((name, row) => {
      const y = 2 + row * size, isNow = row === step - 1;
      if (named || isNow) {
        const weight = isNow ? 'font-weight="600"' : row >= step ? 'class="later"' : '';
        const middle = Math.max(10, y + size / 2 + 4);
        parts.push(label(cut(name), left - 6, middle, `text-anchor="end" lang="${tongue('target')}" ${weight}`));
      }
      for (let column = 0; column < count; column++) {
        const kind = row >= step ? 'later' : column > row ? 'hidden' : isNow ? 'new' : 'open';
        parts.push(rect(left + column * size, y, inner, inner, `class="${kind}"`));
      }
    });
    const width = left + count * size + 4, height = Math.max(14, count * size + 6);
    return `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" ` +
      `aria-label="${escapeHtml(say('play_mask_row', {step, count}))}">${parts.join('')}</svg>`;
  }

  function bars(now) {
    const row = (rank, name, log, chosen) => {
      const p = Math.exp(log);
      return `<li class="${chosen ? 'chosen' : ''}"><span class="rank">${rank}</span>` +
        `<span class="name" lang="${tongue('target')}">${escapeHtml(name)}</span>` +
        `<span class="track"><i style="--share:${p.toFixed(4)}"></i></span>` +
        `<span class="number">${percent(p)}</span><span class="number log">${fixed(log, 2)}</span></li>`;
    };
    const listed = now.likeliest.map(([name, log], i) => row(i + 1, name, log, i + 1 === now.rank));
    if (!now.rank) listed.push(row('…', now.wanted, now.log_prob, true));
    const rest = '<li class="rest"><span class="rank"></span>' +
      `<span class="name">${escapeHtml(say('play_rest'))}</span>` +
      `<span class="track"><i style="--share:${now.rest.toFixed(4)}"></i></span>` +
      `<span class="number">${percent(now.rest)}</span><span class="number log"></span></li>`;
    return listed.join('') + rest;
  }

  function said(now) {
    const key = now.rank === 1 ? 'play_said_first' : now.rank ? 'play_said_rank' : 'play_said_beyond';
    const [[best, log]] = now.likeliest;
    const rank = say(key, {rank: now.rank, best, percent: percent(Math.exp(log)), because: play.because});
    return `${say('play_said', {piece: now.wanted, percent: percent(Math.exp(now.log_prob)),
                                log_prob: fixed(now.log_prob, 2), total: fixed(now.total, 2)})} ${rank}`;
  }

  function go(to, told = true) {
    const next = Math.max(1, Math.min(play.steps.length, to));
    if (next === step) return;
    step = next;
    show();
    if (told) tell();
  }

  element.addEventListener('click', event => {
    const piece = event.target.closest('.written button');
    if (!play || !piece) return;
    controls.halt();
    go(Number(piece.dataset.step));
    show();
  });
  element.addEventListener('keydown', event => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!play || !by || event.target.type === 'range') return;
    event.preventDefault();
    const isPiece = event.target.closest('.written');
    controls.halt();
    go(step + by);
    if (isPiece) inside('.written .now').focus();
  });

  function table() {
    const columns = ['play_step', 'play_given', 'play_rank', 'play_piece', 'play_probability', 'play_log_prob',
                     'play_chosen'].map(key => say(key));
    const rows = play.steps.flatMap((one, i) => {
      const listed = one.likeliest.map(([name, log], at) =>
        [i + 1, one.given, at + 1, name, Math.exp(log), log, Number(at + 1 === one.rank)]);
      const beyond = [i + 1, one.given, '', one.wanted, Math.exp(one.log_prob), one.log_prob, 1];
      return one.rank ? listed : [...listed, beyond];
    });
    return {columns, rows};
  }

  onOtherWidth(element, () => {
    if (play && inside('.masked')) inside('.masked .scroll').innerHTML = mask();
  });
  saveOnClick(element, {title: () => play.title, table,
                        picture: kind => htmlPicture(kind, element, inside('.drawing'), 'step-player')});
  watch('value', receive);
  receive();
}
