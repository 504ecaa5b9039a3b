// Shows a text as a language model reads it, from props.value (draw.py): every piece shaded by its
// surprise, and the likeliest pieces at one place. A click, an arrow key or the address chooses the place, which
// triggers 'choose' {place}, from 1; 0 is the place after the last piece. A change of the text triggers 'act' {what,
// place, token}: 'more' writes a piece, 'take' puts one of the likeliest in a place and drops what follows, 'back'
// takes the last piece away.
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';
import {escapeHtml, fill, fixed, grouped, percent, redraw, whenOutOfSight} from '../../../assets/shared.js';

const PAUSE = 250, MOST = 60;  // milliseconds between two pieces; pieces after which writing pauses
const START = '\u2581';  // the mark of a word's start
const TRANSPORT = '<button type="button" class="toggle"></button><button type="button" data-act="more"></button>' +
  '<button type="button" data-act="back"></button>';
const bits = logProb => Math.max(0, -logProb / Math.LN2);

export default function start({element, props, trigger, watch}) {
  let text = null;  // the last value
  let place = 1, timer = 0, playing = false, written = 0;
  const inside = selector => element.querySelector(selector);
  const say = (key, values = {}) => fill(text.texts[key], values);
  const last = () => text.pieces.length + 1;

  function receive() {
    text = props.value;
    element.dataset.empty = !text;
    if (!text || !inside('.drawing')) return halt();
    place = text.place;
    if (text.finished) halt();
    draw();
    if (playing) timer = setTimeout(more, PAUSE);
  }

  function draw() {
    const transport = inside('.transport');
    if (!transport.firstChild) transport.innerHTML = TRANSPORT;  // once: a button keeps the focus
    transport.setAttribute('aria-label', say('lm_group'));
    const pieces = text.pieces.map(([name, piece, logProb], i) => {
      const share = Math.min(1, bits(logProb) / text.most_bits).toFixed(3);
      const begins = i && piece.startsWith(START) ? ' begins' : '';
      const spelt = piece.replace(START, '') || '\u2423';
      return `<button type="button" class="lm-piece${begins}" data-place="${i + 1}" style="--share:${share}" ` +
        `lang="en" title="${escapeHtml(`${name}: ${percent(Math.exp(logProb))}`)}">${escapeHtml(spelt)}</button>`;
    }).join('');
    const next = text.finished ? '' : `<button type="button" class="lm-piece next begins" data-place="${last()}">` +
      `${escapeHtml(say('lm_next'))}</button>`;
    const scale = `<span class="scale"><b>0</b><i></i><b>${text.most_bits}</b> ${escapeHtml(say('lm_bits'))}</span>`;
    redraw(inside('.drawing'), `<p class="caption" data-hint>${escapeHtml(say('lm_caption'))}</p>` +
      `<p class="text">${pieces}${next}</p><p class="sum" role="status"></p><p class="key">${scale}</p>` +
      '<h3></h3><p class="sub"></p><ol></ol>');
    inside('.sum').textContent = text.perplexity === null ? say('lm_summary_none') :
      say('lm_summary', {perplexity: text.perplexity.toFixed(1), pieces: text.pieces.length,
                         total: fixed(text.total, 2)}) +
      (text.finished ? ` ${say('lm_ended')}` : '');
    show();
  }

  // Shows what may stand at the chosen place.
  function show() {
    if (text.finished) place = Math.min(place, text.pieces.length) || 1;
    const now = text.places[place - 1], atEnd = place === last(), chosen = text.ranks[place - 1];
    for (const button of element.querySelectorAll('.text .lm-piece')) {
      const isNow = Number(button.dataset.place) === place;
      button.classList.toggle('now', isNow);
      button.setAttribute('aria-pressed', isNow);
      button.tabIndex = isNow ? 0 : -1;
    }
    const [name, , logProb] = text.pieces[place - 1] ?? [];
    inside('h3').textContent = atEnd ? say('lm_after') : say('lm_instead', {piece: name});
    const rank = chosen || say('lm_rank_beyond', {most: now.likeliest.length});
    const unsure = now.unsure >= 10 ? Math.round(now.unsure) : now.unsure.toFixed(1);
    inside('.sub').textContent = atEnd ?
      say('lm_said_next', {unsure, choices: text.choices === 1 ? say('lm_certain') :
        say('lm_choices', {count: grouped(text.choices)})}) :
      say('lm_said', {piece: name, percent: percent(Math.exp(logProb)), bits: bits(logProb).toFixed(1), rank, unsure});
    redraw(inside('ol'), now.likeliest.map((one, i) => candidate(one, i, chosen, atEnd)).join(''));
    inside('ol').classList.toggle('drawn', atEnd);
    inside('.toggle').textContent = say(playing ? 'lm_pause' : 'lm_play');
    inside('[data-act="more"]').textContent = say('lm_more');
    inside('[data-act="back"]').textContent = say('lm_back');
    inside('.toggle').disabled = inside('[data-act="more"]').disabled = text.finished;
    inside('[data-act="back"]').disabled = !text.pieces.length;
    element.dataset.place = place;
    element.dataset.pieces = text.pieces.length;
  }

  function candidate([piece, log, token], i, chosen, atEnd) {
    const p = Math.exp(log), chance = text.chances[i];
    const said = chance ? say('lm_drawn', {percent: percent(chance)}) : say('lm_drawn_never');
    const drawn = atEnd ? `<span class="number chance">${escapeHtml(said)}</span>` :
      `<span class="number log">${fixed(log, 2)}</span>`;
    return `<li class="${i + 1 === chosen ? 'chosen' : ''}"><button type="button" data-token="${token}" ` +
      `aria-label="${escapeHtml(say('lm_take', {piece}))}" lang="en">${escapeHtml(piece)}</button>` +
      `<span class="track"><i style="--share:${p.toFixed(4)}"></i></span>` +
      `<span class="number">${percent(p)}</span>${drawn}</li>`;
  }

  function halt() {
    clearTimeout(timer);
    playing = false;
    written = 0;
  }

  function act(what, where = {}) {
    trigger('act', {what, ...where});
  }

  function more() {
    if (!element.isConnected || ++written > MOST) {
      halt();
      return show();
    }
    act('more');
  }

  function look(to) {
    place = Math.max(1, Math.min(text.finished ? text.pieces.length : last(), to));
    show();
    trigger('choose', {place: place === last() ? 0 : place});
  }

  element.addEventListener('click', event => {
    const button = event.target.closest('button');
    if (!text || !button || button.dataset.save) return;
    if (button.matches('.toggle')) {
      if (playing) halt();
      else {
        playing = true;
        more();
      }
      return show();
    }
    halt();
    if (button.dataset.act) act(button.dataset.act);
    else if (button.dataset.token) act('take', {place, token: Number(button.dataset.token)});
    else if (button.dataset.place) look(Number(button.dataset.place));
  });
  element.addEventListener('keydown', event => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!text || !by || !event.target.closest('.text')) return;
    event.preventDefault();
    halt();
    look(place + by);
    inside('.text .now').focus();
  });

  function table() {
    const columns = ['lm_place', 'lm_piece', 'lm_rank', 'lm_candidate', 'lm_probability', 'lm_log_prob']
      .map(key => say(key));
    const rows = text.places.flatMap(({likeliest}, i) => {
      const [name = '', , own] = text.pieces[i] ?? [];
      const listed = likeliest.map(([piece, log], rank) => [i + 1, name, rank + 1, piece, Math.exp(log), log]);
      return name && !text.ranks[i] ? [...listed, [i + 1, name, '', name, Math.exp(own), own]] : listed;
    });
    return {columns, rows};
  }

  whenOutOfSight(element, () => {
    if (!playing) return;
    halt();
    show();
  });
  saveOnClick(element, {title: () => text.title, table,
                        picture: kind => htmlPicture(kind, element, inside('.drawing'), 'writer-view')});
  watch('value', receive);
  receive();
}
