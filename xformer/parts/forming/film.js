// Plays a film of a training from props.value (draw.py): what a small model makes of the page's pair at each moment,
// its best head's map, and the loss. All frames come at once; a frame that is shown triggers 'choose', for
// state.shownFrame, which the address keeps. It plays once when it comes into sight, but where motion is unwelcome.
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';
import {bytes, colourTable, escapeHtml, grouped, label, paintMap, percent} from '../../../assets/shared.js';
import {state} from '../../../assets/state.js';
import {transport} from '../../../assets/transport.js';

const PAUSE = 1200;  // milliseconds a frame
const BLUE = [[43, 122, 246, 0], [43, 122, 246, 1]];
const LETTER = 7.2, LONGEST = 12;  // pixels of a letter, and the most letters of a piece
const CELL = {least: 11, most: 30}, HIGH = 400;  // pixels: of a cell, and of all rows where they can be that low
const PLOT = {left: 28, right: 14, above: 10, below: 34, high: 150};  // pixels, around and of the curves
const OWN = {play_of: 'film_of', play_step: 'film_which', decode_steps: 'film_frames'};
const FRAME = '<p class="caption"></p><div class="sides"><div class="now"><p class="when"></p>' +
  '<p class="text" lang="es"></p><p class="wanted"></p><div class="curves"></div></div>' +
  '<div class="scroll"><svg class="map" role="img"></svg></div></div><p class="sub"></p>';
const cut = text => text.length > LONGEST ? text.slice(0, LONGEST - 1) + '…' : text;

export default function start({element, props, trigger, watch}) {
  let film = null, at = 1, room = 0, cell = CELL.most;
  const canvas = document.createElement('canvas');
  const shown = () => film.frames[at - 1];
  const named = ({step, done}) =>
    say('film_when', {step: grouped(step), percent: done ? percent(done) : '0 %'});
  function tell() {
    state.shownFrame = at;
    trigger('choose');
  }
  const {inside, say, ...controls} = transport({element, props}, {
    pause: PAUSE, steps: 'frames', step: () => at, go, show, tell, texts: OWN});

  function receive() {
    film = controls.take();
    if (!film) return;
    const last = film.frames.length, isWhole = film.moment >= last;
    at = isWhole ? last : Math.max(1, film.moment);
    layDown();
    openRecorded();
    if (isWhole && !matchMedia('(prefers-reduced-motion: reduce)').matches) playInSight();
  }

  // Plays from the first frame as soon as the film is in sight; the frame before is not what it opens with.
  function playInSight() {
    const own = film;
    go(1, false);
    new IntersectionObserver(([seen], watcher) => {
      if (film === own && at === 1 && !(seen.isIntersecting && !document.hidden)) return;
      watcher.disconnect();
      if (film === own && at === 1) controls.toggle();
    }).observe(element);
  }

  // An address that chooses among the recorded moments opens these.
  function openRecorded() {
    const isAsked = [...new URLSearchParams(location.search).keys()].some(key => key.startsWith('form_'));
    const fold = isAsked && document.querySelector('.block.at-moments button.label-wrap:not(.open)');
    if (fold) fold.click();
  }

  function layDown() {
    controls.layOut();
    if (!inside('.sides')) inside('.drawing').innerHTML = FRAME;
    inside('.drawing').dataset.pair = JSON.stringify(film.pair);
    inside('.caption').textContent = film.title;
    inside('.sub').textContent = film.honest;
    inside('.wanted').innerHTML = `${escapeHtml(say('film_wanted'))} ` +
      `<span lang="es">${escapeHtml(film.pair[1])}</span>`;
    room = inside('.scroll').clientWidth;
    const left = labelWidth(film.queries), above = labelWidth(film.keys);
    cell = Math.max(CELL.least, Math.min(CELL.most, (room - left - 4) / film.keys.length, HIGH / film.queries.length));
    const width = left + cell * film.keys.length + 2, height = above + cell * film.queries.length + 2;
    const names = [
      ...film.keys.map((text, i) => label(cut(text), 0, 0, 'lang="en" transform="translate(' +
        `${(left + (i + .5) * cell + 4).toFixed(1)} ${above - 5}) rotate(-90)"`)),
      ...film.queries.map((text, i) => label(cut(text), left - 5, (above + (i + .5) * cell + 4).toFixed(1),
        'lang="es" text-anchor="end"'))];
    const map = inside('.map');
    for (const [name, value] of Object.entries({width, height, viewBox: `0 0 ${width} ${height}`}))
      map.setAttribute(name, value);
    map.innerHTML = `${names.join('')}<image x="${left}" y="${above}" width="${cell * film.keys.length}" ` +
      `height="${cell * film.queries.length}" preserveAspectRatio="none"/><rect x="${left - .5}" y="${above - .5}" ` +
      `width="${cell * film.keys.length + 1}" height="${cell * film.queries.length + 1}" class="edge"/>`;
    inside('.curves').innerHTML = curves();
    show();
  }

  const labelWidth = texts => Math.round(10 + LETTER * Math.max(...texts.map(text => cut(text).length)));

  // Where a step of the training stands among the frames, each of which is about twice as far as the one before.
  function placeOf(step) {
    const steps = film.frames.map(one => one.step), last = steps.length - 1;
    const i = Math.max(0, steps.findLastIndex(one => one <= step));
    if (i === last) return last;
    const [from, to] = [steps[i], steps[i + 1]];
    return i + (from ? Math.log(step / from) / Math.log(to / from) : step / to);
  }

  // The curve of all pairs, that of this pair, and the mark that moves over both.
  function curves() {
    const {left, right, above, below, high} = PLOT, wide = Math.max(240, inside('.now').clientWidth);
    const count = film.frames.length, most = Math.ceil(Math.max(...film.frames.map(one => one.loss),
                                                                ...film.course.map(([, loss]) => loss)));
    const x = place => left + place / (count - 1) * (wide - left - right), y = loss => above + high * (1 - loss / most);
    const path = points => points.map(([place, loss], i) =>
      `${i ? 'L' : 'M'}${x(place).toFixed(1)} ${y(loss).toFixed(1)}`).join('');
    const ticks = Array.from({length: Math.floor(most / 2) + 1}, (_, i) => 2 * i).map(loss =>
      `<path class="grid" d="M${left} ${y(loss)}H${wide - right}"/>` +
      label(loss, left - 6, y(loss) + 4, 'text-anchor="end"'));
    const steps = film.frames.map((one, i) => i % 3 && i < count - 1 || i === count - 2 ? '' :
      label(grouped(one.step), x(i), above + high + 16,
            `text-anchor="${i ? i === count - 1 ? 'end' : 'middle' : 'start'}"`));
    const own = film.frames.map(({loss}, i) => [i, loss]);
    const legend = ['own', 'all'].map(name => `<span class="of-${name}">${escapeHtml(say(`film_${name}`))}</span>`);
    return `<h3>${escapeHtml(say('film_loss'))} ${legend.join(' ')}</h3>` +
      `<svg class="plot" width="${wide}" height="${above + high + below}" ` +
      `role="img" aria-label="${escapeHtml(say('film_loss_label', {
        first: own[0][1].toFixed(2), last: own.at(-1)[1].toFixed(2)}))}">` +
      `${ticks.join('')}${steps.join('')}` +
      `${label(say('film_steps'), wide - right, above + high + 31, 'text-anchor="end"')}` +
      `<path class="all" d="${path(film.course.map(([step, loss]) => [placeOf(step), loss]))}"/>` +
      `<path class="own" d="${path(own)}"/>` +
      `<path class="mark" data-x="${film.frames.map((_, i) => x(i).toFixed(1)).join(' ')}" d=""/>` +
      own.map(([place, loss]) => `<circle cx="${x(place).toFixed(1)}" cy="${y(loss).toFixed(1)}" r="3"/>`).join('') +
      '</svg>';
  }

  function show() {
    const now = shown();
    controls.draw(named(now));
    inside('.when').textContent = `${named(now)} ${say('film_numbers', {
      loss: now.loss.toFixed(2), error: now.error.toFixed(2)})}`;
    inside('.text').textContent = now.text || say('film_nothing');
    Object.assign(canvas, {width: film.keys.length, height: film.queries.length});
    paintMap(canvas, bytes(now.map), colourTable(BLUE, Math.sqrt));
    inside('.map image').setAttribute('href', canvas.toDataURL());
    inside('.map').setAttribute('aria-label', `${film.title}: ${named(now)}`);
    const mark = inside('.mark'), x = mark.dataset.x.split(' ')[at - 1];
    mark.setAttribute('d', `M${x} ${PLOT.above}V${PLOT.above + PLOT.high}`);
    inside('.curves').querySelectorAll('circle').forEach((one, i) => {
      one.classList.toggle('is-now', i === at - 1);
      one.setAttribute('r', i === at - 1 ? 5.5 : 3);
    });
    element.dataset.frame = at;
  }

  function go(to, told = true) {
    at = Math.max(1, Math.min(film.frames.length, to));
    show();
    if (told) tell();
  }

  element.addEventListener('keydown', event => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!film || !by || event.target.type === 'range') return;
    controls.halt();
    go(at + by);
    event.preventDefault();
  });
  const columns = ['film_column_step', 'film_column_loss', 'film_column_error', 'film_column_text'];
  saveOnClick(element, {
    title: () => film.title,
    table: () => ({columns: columns.map(key => say(key)),
                   rows: film.frames.map(one => [one.step, one.loss, one.error, one.text])}),
    picture: kind => htmlPicture(kind, element, inside('.drawing'), 'forming-film')});
  new ResizeObserver(() => {
    if (film && element.clientWidth && inside('.scroll') && inside('.scroll').clientWidth !== room) layDown();
  }).observe(element);
  watch('value', receive);
  receive();
}
