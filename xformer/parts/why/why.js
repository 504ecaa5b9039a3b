// Draws why a piece stands in the translation and not its rival, from props.value (draw.py): a bar for
// each piece, what it owes to either side; the rivals of the chosen step; what each part of the decoder adds to the
// difference of both logits; what each piece does for it; and, with a twin sentence, which head decides. A click or an
// arrow key on a bar triggers 'choose' {step}, from 1; a click on a rival 'rival' {rival}; the field 'twin' {twin}.
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';
import {escapeHtml, fill, percent, tongue} from '../../../assets/shared.js';

const SECTIONS = '<section class="origins"></section><section class="instead"></section><p class="sub measured"></p>' +
  '<div class="apart"><section class="parts"></section><div><section class="heads"></section>' +
  '<section class="inputs"></section></div></div><section class="twin"><h3></h3><form data-hint>' +
  '<p class="sub"></p><label><span>' +
  '</span> <input type="text" autocomplete="off"></label> <button type="submit"></button></form>' +
  '<div class="swapped" role="status"></div></section>';
const signed = (value, digits = 2) => {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : (value < 0 ? '\u2212' : '+') + text;
};
// A number in little room; what is next to nothing is none.
const inCell = (value, reach) => {
  const text = reach < 1 ? signed(value).replace('0.', '.') : signed(value, 1);
  return /[1-9]/.test(text) ? text : '·';
};
const side = value => value > 0 ? 'for' : value < 0 ? 'against' : '';
const reachOf = values => Math.max(1e-6, ...values.map(Math.abs));
const sum = values => values.reduce((total, value) => total + value, 0);

export default function start({element, props, trigger, watch}) {
  let why = null;  // the last value
  let way = 0;  // of `why.inputs`: 0 gradient x input, 1 integrated gradients
  const inside = selector => element.querySelector(selector);
  const say = (key, values = {}) => fill(why.texts[key], values);
  const text = (key, values) => escapeHtml(say(key, values));

  function receive() {
    const focused = document.activeElement?.closest('[data-rival], button[data-step]');
    const kept = element.contains(focused) && (focused.dataset.step ? '.origins .now' : '.instead [aria-pressed=true]');
    why = props.value;
    element.dataset.empty = !why;
    if (!why || !inside('.drawing')) return;
    delete element.dataset.stale;
    if (!inside('.origins')) inside('.drawing').innerHTML = SECTIONS;  // once: the field keeps what is typed
    inside('.drawing').dataset.pair = JSON.stringify(why.pair);
    inside('.origins').innerHTML = origins();
    inside('.instead').innerHTML = rivals();
    inside('.measured').textContent = `${say('why_sides_note')} ${why.error}`;
    inside('.parts').innerHTML = parts();
    inside('.heads').innerHTML = heads();
    drawInputs();
    drawTwin();
    element.dataset.step = why.step;
    element.dataset.against = why.against;
    if (kept) inside(kept)?.focus();
  }

  // The pieces of the translation, each with its bar.
  function origins() {
    const bars = why.bars.map(([piece, share], i) => {
      const isNow = i + 1 === why.step, rounded = `${Math.round(100 * share)} %`;
      const said = text('why_bar', {step: i + 1, piece, percent: percent(share)});
      return `<button type="button" data-step="${i + 1}" class="${isNow ? 'now' : ''}" aria-pressed="${isNow}" ` +
        `tabindex="${isNow ? 0 : -1}" aria-label="${rounded} ${escapeHtml(piece)} · ${said}" title="${said}">` +
        `<small>${rounded}</small>` +
        `<i style="--share:${share}"></i><span lang="${tongue('target')}">${escapeHtml(piece)}</span></button>`;
    });
    return `<h3>${text('why_sides')} <span class="key"><i class="source"></i>${text('why_from_source')} ` +
      `<i class="given"></i>${text('why_from_given')}</span></h3><div class="bars" role="group" ` +
      `aria-label="${text('why_sides')}">${bars.join('')}</div>`;
  }

  function rivals() {
    const buttons = why.rivals.map(([piece, name, log]) =>
      `<button type="button" data-rival="${escapeHtml(piece)}" aria-pressed="${piece === why.against}">` +
      `<span lang="${tongue('target')}">${escapeHtml(name)}</span> <small>${percent(Math.exp(log))}</small></button>`);
    const [piece] = why.bars[why.step - 1];
    return `<h3>${text('why_rivals', {step: why.step, piece, percent: percent(Math.exp(why.log_prob))})}</h3>` +
      `<div class="buttons" role="group" aria-label="${text('why_rivals', {step: why.step, piece, percent: ''})}">` +
      `${buttons.join('')}</div><p class="found" role="status">${escapeHtml(why.said)}</p>`;
  }

  // The parts one after the other, each bar from where the one before ends; the last is their sum.
  function parts() {
    let at = 0;
    const ends = why.parts.map(([, value]) => [at, at += value]);
    const all = [...why.parts, [say('why_sum'), at]], spans = [...ends, [0, at]];
    const least = Math.min(...spans.flat()), width = Math.max(1e-6, Math.max(...spans.flat()) - least);
    const share = value => (value / width).toFixed(4);
    const rows = all.map(([name, value], i) => {
      const [from, to] = spans[i];
      return `<tr${i === why.parts.length ? ' class="sum"' : ''}><th scope="row">${escapeHtml(name)}</th><td>` +
        `<span class="track" style="--zero:${share(-least)}"><i class="${side(value)}" style="--from:` +
        `${share(Math.min(from, to) - least)};--share:${share(Math.abs(to - from))}"></i></span></td>` +
        `<td class="number">${signed(value)}</td></tr>`;
    });
    return `<h3>${text('why_parts')}</h3><table><tbody>${rows.join('')}</tbody></table>` +
      `<p class="sub">${text('why_parts_note')}</p>`;
  }

  const place = (layer, head) => say('finder_where', {layer: layer + 1, head: head + 1});

  // A table of numbers, a row a layer and a column a head.
  function grid(name, rows, reach) {
    const names = rows[0].map((_, head) => `<th scope="col">${escapeHtml(why.texts.head_short)}${head + 1}</th>`);
    const lines = rows.map((row, layer) => {
      const cells = row.map((value, head) => {
        const said = text('why_cell', {head: `${name} · ${place(layer, head)}`, value: signed(value, 3)});
        return `<td class="${side(value)}" style="--share:${(Math.abs(value) / reach).toFixed(3)}" title="${said}">` +
          `${inCell(value, reach)}</td>`;
      });
      return `<tr><th scope="row">${escapeHtml(why.texts.layer_short)}${layer + 1}</th>${cells.join('')}</tr>`;
    });
    return `<div class="scroll"><table class="by-head"><caption>${escapeHtml(name)}</caption><thead><tr><td></td>` +
      `${names.join('')}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`;
  }

  const grids = all => {
    const reach = reachOf(all.flatMap(([, rows]) => rows.flat()));
    return `<div class="grids">${all.map(([name, rows]) => grid(name, rows, reach)).join('')}</div>`;
  };

  const heads = () => `<h3>${text('why_heads')}</h3>${grids(why.heads)}`;

  // The pieces of both sides, coloured by what they do for the difference.
  function drawInputs() {
    const values = why.inputs.map(one => one.values[way]), reach = reachOf(values.flat());
    const lines = why.inputs.map(({name, pieces, tongue: of}, i) =>
      `<div><h4>${escapeHtml(name)}</h4><p class="words">` +
      pieces.map((piece, at) => `<span class="word ${side(values[i][at])}" style="--share:` +
        `${(Math.abs(values[i][at]) / reach).toFixed(3)}"><span lang="${tongue(of)}">${escapeHtml(piece)}</span>` +
        `<small>${signed(values[i][at])}</small></span>`).join(' ') + '</p></div>');
    const ways = [0, 1].map(i => `<button type="button" data-way="${i}" aria-pressed="${i === way}">` +
      `${text(`why_way_${i}`)}</button>`);
    const integrated = sum(why.inputs.flatMap(({values: [, whole]}) => whole));
    const missed = Math.abs(integrated - why.change) / Math.max(1e-6, Math.abs(why.change));
    const said = text(`why_way_${way}_said`, {sum: signed(sum(values.flat())), change: signed(why.change),
                                              missed: percent(missed)});
    inside('.inputs').innerHTML = `<h3>${text('why_inputs')}</h3><div class="buttons" role="group" ` +
      `aria-label="${text('why_inputs')}">${ways.join('')}</div>${lines.join('')}<p class="sub">${said}</p>`;
  }

  function drawTwin() {
    const field = inside('.twin input'), {twin} = why;
    inside('.twin h3').textContent = say('why_twin_title');
    inside('.twin form .sub').textContent = say('why_twin_text');
    inside('.twin label span').textContent = say('why_twin_field');
    inside('.twin form button').textContent = say('why_twin_run');
    Object.assign(field, {placeholder: twin.example, lang: tongue('source')});
    if (field !== document.activeElement) field.value = twin.text;
    const problem = twin.problem && `<p class="notice error" role="alert">${escapeHtml(twin.problem)}</p>`;
    const read = twin.grids && `<p class="read" lang="${tongue('source')}">${escapeHtml(twin.text)}</p>`;
    inside('.twin').toggleAttribute('data-hint', !twin.grids);  // there is nothing to save of it then
    inside('.swapped').innerHTML = problem || (twin.grids ?
      `${read}<p class="found">${escapeHtml(twin.said)}</p>${grids(twin.grids)}` : '');
  }

  // What is shown is out of date until the answer comes.
  const wait = () => { element.dataset.stale = true; };

  function choose(step) {
    if (step === why.step || !why.bars[step - 1]) return;
    for (const bar of element.querySelectorAll('.origins button')) {
      const isNow = Number(bar.dataset.step) === step;
      bar.classList.toggle('now', isNow);
      bar.setAttribute('aria-pressed', isNow);
      bar.tabIndex = isNow ? 0 : -1;
      if (isNow) bar.focus();
    }
    wait();
    trigger('choose', {step});
  }

  element.addEventListener('click', event => {
    const button = event.target.closest('.drawing button');
    if (!why || !button) return;
    const {step, rival} = button.dataset;
    if (step) choose(Number(step));
    else if (rival && rival !== why.against) {
      for (const one of element.querySelectorAll('[data-rival]')) one.setAttribute('aria-pressed', one === button);
      wait();
      trigger('rival', {rival});
    } else if (button.dataset.way) {
      way = Number(button.dataset.way);
      drawInputs();
      inside(`[data-way="${way}"]`).focus();
    }
  });
  element.addEventListener('keydown', event => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key], bar = event.target.closest('.origins button');
    if (!why || !by || !bar) return;
    event.preventDefault();
    choose(Number(bar.dataset.step) + by);
  });
  element.addEventListener('submit', event => {
    event.preventDefault();
    const twin = inside('.twin input').value.trim();
    if (twin === why.twin.text) return;
    wait();
    trigger('twin', {twin});
  });

  function table() {
    const pieces = why.bars.map(([piece, share], i) => [say('why_sides'), `${i + 1} ${piece}`, share]);
    const cells = (what, [name, rows]) => rows.flatMap((row, layer) =>
      row.map((value, head) => [what, `${name} · ${place(layer, head)}`, value]));
    const inputs = why.inputs.flatMap(({name, pieces: of, values}) => values.flatMap((row, i) =>
      row.map((value, at) => [say(`why_way_${i}`), `${name} · ${at + 1} ${of[at]}`, value])));
    return {columns: ['what', 'where', 'value'].map(one => say(`why_column_${one}`)), rows: [
      ...pieces, ...why.parts.map(([name, value]) => [say('why_parts'), name, value]),
      ...why.heads.flatMap(one => cells(say('why_heads'), one)), ...inputs,
      ...(why.twin.grids ?? []).flatMap(one => cells(`${say('why_twin_field')}: ${why.twin.text}`, one))]};
  }

  saveOnClick(element, {title: () => why.title, table,
    picture: kind => htmlPicture(kind, element, inside('.drawing'), 'why-panel')});
  watch('value', receive);
  receive();
}
