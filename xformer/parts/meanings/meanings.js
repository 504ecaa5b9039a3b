// Draws a map of words by their states, from props.value (draw.py): a dot a word, those of the
// visitor's sentences with their names, and the nearest to the chosen one, which are listed. A click, the words of the
// visitor's sentences, the search and the list choose a word, buttons the layer and how many sentences: all of which
// trigger 'choose', for state.shownMap. A value without sentences only says which word is chosen.
import {background, checkpoint, pictureAddress, saveOnClick} from '../../../assets/save.js';
import {
  SIZES, bytes, decimal, escapeHtml, fill, fixed, grouped, isDark, label, onOtherWidth, pointIn, rect, redraw, tongue,
} from '../../../assets/shared.js';
import {state} from '../../../assets/state.js';

const OWN = '#d97706', NEAR = '#2b7af6', HIT = '#0d9488', GRASP = 14, EDGE = 26, MOST_ZOOM = 40, FONT = SIZES.small;
const BEFORE = 24;  // letters before a marked word

// The words and the signs of a sentence, as the payload packs them.
const unitsOf = text => [...text.matchAll(/([\t\n])([^\t\n]*)/g)].map(([, kind, unit]) => ({
  isWord: kind === '\t', text: unit.replace(/^▁/, ''), space: unit.startsWith('▁') ? ' ' : ''}));
const sentenceOf = units => units.map(({space, text}) => space + text).join('').trim();

export default function start({element, props, trigger, watch}) {
  let map = null, words = [], sentences = [], levels = null, reach = [1, 1];
  let hits = [], query = '', hovered = null, view = {zoom: 1, x: .5, y: .5}, dragged = null;
  let wanted = null;  // what was chosen here last, until it is answered
  const inside = selector => element.querySelector(selector);
  const say = (key, values = {}) => fill(map.texts[`mean_${key}`], values);
  const stackOf = at => at.split('.')[0], layerOf = at => Number(at.split('.')[1]);
  const title = () =>
    say('title', {count: grouped(words.length), stack: map.stack, layer: layerOf(map.drawn)});
  const held = () => ({both: map.both, first: map.shares[0], second: map.shares[1]});
  const rule = () =>
    [say('held', held()), say('axes'), ...(stackOf(map.at) === 'decoder' ? [say('given')] : [])].join(' ');
  const language = () => tongue(stackOf(map.at) === 'encoder' ? 'source' : 'target');
  const textOf = i => sentenceOf(sentences[words[i].sentence]);

  function receive() {
    const value = props.value, isNew = Boolean(value?.sentences);
    if (wanted?.moves !== state.moves || !value?.near) wanted = null;
    if (wanted && isLate(value)) return;
    const word = wanted?.word ?? -1;
    const isSame = isNew && value.own === map?.own && value.sentences[0] === map.sentences[0];
    if (isNew) readMap(value);
    else if (value?.near && map) Object.assign(map, value);
    else map = null;
    if (isSame && word >= 0 && word !== map.word) Object.assign(map, {word, near: []});
    else wanted = null;
    element.dataset.empty = !map;
    element.dataset.refused = Boolean(value) && !map;
    if (!map || !inside('.drawing')) return;
    if (isNew) layOut();
    state.shownMap = [map.at, map.word + 1, map.count];
    show();
  }

  // Whether an answer is to an earlier choice than the last.
  const isLate = value => value.sentences ? value.at !== wanted.at || value.count !== wanted.count :
    wanted.word >= 0 && value.word !== wanted.word;

  function readMap(value) {
    const isOther = value.at !== map?.at || value.count !== map?.count;
    map = {...value, drawn: value.at};  // what is chosen, and the states that are drawn until that is answered
    sentences = map.sentences.map(unitsOf);
    words = sentences.flatMap((units, sentence) => units.flatMap((unit, place) =>
      unit.isWord ? [{sentence, place, text: unit.text, small: unit.text.toLowerCase()}] : []));
    levels = new Uint16Array(bytes(map.plane).buffer);
    reach = [0, 1].map(axis => levels.reduce((most, level, i) => i % 2 === axis ? Math.max(most, level) : most, 1));
    if (isOther) view = {zoom: 1, x: .5, y: .5};
    findWords(query);
  }

  function choose(change) {
    const isOther = change.at && stackOf(change.at) !== stackOf(map.at);  // whose words are others
    Object.assign(map, isOther ? {...change, word: -1} : change);
    if (change.word !== undefined || isOther) map.near = [];
    wanted = {at: map.at, count: map.count, word: map.word, moves: state.moves};
    state.shownMap = [map.at, map.word + 1, map.count];
    show();
    trigger('choose');
  }

  // What stays while other words are chosen.
  function layOut() {
    const pressed = (name, value, text) =>
      `<button type="button" data-key="${name}.${value}" data-${name}="${value}">${text}</button>`;
    const group = (name, buttons) => `<div class="group" role="group" aria-label="${escapeHtml(name)}">` +
      `<span>${escapeHtml(name)}</span>${buttons.join('')}</div>`;
    const ofStack = stack => group(say(stack), map.states.filter(at => stackOf(at) === stack).map(at =>
      pressed('at', at, layerOf(at))));
    const own = [...new Set(words.slice(0, map.own).map(word => word.sentence))].map(sentence =>
      `<li>${sentences[sentence].map((unit, place) => {
        const i = words.findIndex(word => word.sentence === sentence && word.place === place);
        return unit.space + (unit.isWord ? `<button type="button" data-key="word.${i}" data-word="${i}">` +
          `${escapeHtml(unit.text)}</button>` : escapeHtml(unit.text));
      }).join('')}</li>`).join('');
    const key = (kind, text) => `<span class="key"><i class="${kind}"></i>${escapeHtml(say(text))}</span>`;
    const zoom = [['in', '+'], ['out', '−'], ['all', '⤢']].map(([kind, sign]) => {
      const name = escapeHtml(say(kind));
      return `<button type="button" data-zoom="${kind}" aria-label="${sign} ${name}" title="${name}">${sign}</button>`;
    });
    const [bare, placed, largest] = map.order.map(value => decimal(value));
    redraw(inside('.drawing'), `<div class="choices">${ofStack('encoder')}${ofStack('decoder')}` +
      group(say('count'), map.counts.map(count => pressed('count', count, grouped(count)))) + '</div>' +
      `<ol class="own" aria-label="${escapeHtml(say('own'))}" lang="${language()}">${own}</ol>` +
      '<div class="both"><div class="plane"><p class="caption"></p>' +
      '<canvas data-key="plane" tabindex="0" role="img"></canvas>' +
      `<div class="zoom">${zoom.join('')}</div><p class="tip" hidden></p></div>` +
      `<div class="side"><input type="search" role="searchbox" autocomplete="off" ` +
      `aria-label="${escapeHtml(say('find'))}" placeholder="${escapeHtml(say('find'))}" value="${escapeHtml(query)}">` +
      '<p class="hits" role="status"></p>' +
      `<h3></h3><ol class="near" lang="${language()}"></ol><div class="alike" role="status"></div></div></div>` +
      `<p class="keys">${key('own', 'own')}${key('near', 'near')}${key('hit', 'hits')}${key('', 'others')}</p>` +
      `<p class="note">${escapeHtml(rule())}</p>` +
      `<section class="order"><h3>${escapeHtml(say('order'))}</h3>` +
      `<p class="note">${escapeHtml(say('order_text'))}</p>` +
      `<p class="pair"><span><b>${bare}</b> ${escapeHtml(say('bare'))}</span>` +
      `<span><b>${placed}</b> ${escapeHtml(say('placed'))}</span></p>` +
      `<p role="status">${escapeHtml(say('order_said', {bare, placed, largest}))}</p></section>`);
  }

  // What follows the word that is chosen.
  function show() {
    const word = words[map.word], focused = document.activeElement?.closest?.('.near') ? document.activeElement : null;
    for (const one of element.querySelectorAll('[data-at], [data-count]'))
      one.setAttribute('aria-pressed', one.dataset.at === map.at || one.dataset.count === String(map.count));
    const own = [...element.querySelectorAll('.own [data-word]')];
    const reached = own.find(one => Number(one.dataset.word) === map.word) ?? own[0];
    for (const one of own) {
      one.setAttribute('aria-pressed', Number(one.dataset.word) === map.word);
      one.tabIndex = one === reached ? 0 : -1;
    }
    inside('.caption').textContent = title();
    inside('.side h3').textContent = word ? say('nearest', {word: word.text}) : '';
    const list = inside('.near');
    list.innerHTML = map.near.map(([i, cosine]) => `<li><button type="button" data-word="${i}">` +
      `<span>${within(words[i])}</span> <b>${fixed(cosine, 2)}</b></button></li>`).join('');
    if (focused && !focused.isConnected) list.querySelector('button')?.focus({preventScroll: true});
    inside('.alike').innerHTML = alike();
    showHits();
    paint();
    element.dataset.drawn = `${map.drawn} ${map.count} ${map.word} ${map.near.length}`;
  }

  // A word marked in its sentence, of which the beginning is left out where the word would not be seen.
  function within({sentence, place, text}) {
    const units = sentences[sentence], before = sentenceOf(units.slice(0, place)), after = units.slice(place + 1);
    const seen = before.length > BEFORE ? `…${before.slice(before.indexOf(' ', before.length - BEFORE))}` : before;
    return `${escapeHtml(seen)}${seen && units[place].space}<mark>${escapeHtml(text)}</mark>` +
      escapeHtml(after.map(unit => unit.space + unit.text).join(''));
  }

  // How alike the chosen word is, layer by layer, to itself in another of the visitor's sentences.
  function alike() {
    if (map.word >= map.own) return `<p>${escapeHtml(say('stands', {sentence: textOf(map.word)}))}</p>`;
    if (map.word < 0) return '';
    const {small, sentence, text} = words[map.word];
    return words.slice(0, map.own).map((word, i) => [word, i]).filter(([word]) =>
      word.small === small && word.sentence !== sentence).slice(0, 2).map(([, i]) =>
      `<p>${escapeHtml(say('alike', {word: text, sentence: textOf(i)}))}</p><table><tr>` +
      map.alike.map((_, layer) => `<th scope="col">${layer}</th>`).join('') + '</tr><tr>' +
      map.alike.map((cosines, layer) => `<td${layer === layerOf(map.drawn) ? ' class="now"' : ''}>` +
        `${fixed(cosines[map.word][i], 2)}</td>`).join('') + '</tr></table>').join('');
  }

  function findWords(text) {
    query = text;
    const sought = text.trim().toLowerCase(), every = words.map((_, i) => i);
    hits = sought ? every.filter(i => words[i].small === sought) : [];
    if (sought && !hits.length) hits = every.filter(i => words[i].small.startsWith(sought));
  }

  function showHits() {
    inside('.hits').textContent = query.trim() ? say('found', {count: hits.length}) : '';
  }

  // Pixels of a canvas of this size for a step of the plane, and where a word stands there.
  const scaleOf = (width, height) =>
    view.zoom * Math.min((width - 2 * EDGE) / reach[0], (height - 2 * EDGE) / reach[1]);
  function placing(width, height) {
    const scale = scaleOf(width, height);
    return i => [width / 2 + (levels[2 * i] - view.x * reach[0]) * scale,
                 height / 2 - (levels[2 * i + 1] - view.y * reach[1]) * scale];
  }

  // The words that are more than a dot, the later above the earlier: {i, kind, name}.
  function special() {
    const ranks = new Map(map.near.map(([i], rank) => [i, rank + 1]));
    const own = words.slice(0, map.own).map((word, i) => ({i, kind: 'own', name: word.text}));
    return [...hits.map(i => ({i, kind: 'hit', name: ''})), ...own.filter(({i}) => i !== map.word),
            ...[...ranks].map(([i, rank]) => ({i, kind: 'near', name: String(rank)})),
            ...(words[map.word] ? [{i: map.word, kind: 'chosen', name: words[map.word].text}] : [])];
  }

  // Of these the names for which there is room, the last first: {name, x, y, kind}.
  function names(shown, at, measure, width, height) {
    const taken = [], placed = [];
    for (const {i, kind, name} of [...shown].reverse()) {
      const [x, y] = at(i), wide = measure(name), left = x + 8 + wide > width ? x - 8 - wide : x + 8;
      const box = [left, y - FONT / 2, left + wide, y + FONT / 2];
      const isFree = name && x > 0 && x < width && y > 0 && y < height && !taken.some(other =>
        box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
      if (!isFree) continue;
      taken.push(box);
      placed.push({name, kind, x: left, y: y + FONT / 3});
    }
    return placed;
  }

  const inks = () => ({own: isDark() ? '#f59e0b' : '#b45309', chosen: isDark() ? '#f59e0b' : '#b45309',
                       near: isDark() ? '#7fb0ff' : '#1d4ed8', hit: HIT});
  const fills = {own: OWN, chosen: OWN, near: NEAR, hit: HIT};

  function paint() {
    const canvas = inside('canvas'), width = inside('.plane').clientWidth;
    if (!canvas || !map || !width) return;
    const height = Math.round(Math.max(300, Math.min(430, width * .62))), scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext('2d'), at = placing(width, height), shown = special();
    context.scale(scale, scale);
    context.fillStyle = isDark() ? 'rgba(203, 213, 225, .4)' : 'rgba(71, 85, 105, .35)';
    const dot = words.length > 4000 ? 2 : 3;
    for (let i = map.own; i < words.length; i++) {
      const [x, y] = at(i);
      if (x > 0 && y > 0 && x < width && y < height) context.fillRect(x - dot / 2, y - dot / 2, dot, dot);
    }
    for (const {i, kind} of shown) {
      const [x, y] = at(i);
      context.beginPath();
      if (kind === 'hit') context.rect(x - 4, y - 4, 8, 8);
      else context.arc(x, y, {own: 4, near: 4.5, chosen: 6}[kind], 0, 7);
      [context.fillStyle, context.strokeStyle, context.lineWidth] = [fills[kind], fills[kind], 2];
      if (kind === 'own' || kind === 'chosen') context.fill();
      else context.stroke();
      if (kind === 'chosen') {
        context.strokeStyle = getComputedStyle(element).color;
        context.stroke();
      }
    }
    const ink = inks();
    context.lineWidth = 3;
    context.strokeStyle = background(element);
    for (const {name, kind, x, y} of names(shown, at, text => measured(context, text), width, height)) {
      context.font = `${kind === 'chosen' ? 600 : 400} ${FONT}px system-ui, sans-serif`;
      context.strokeText(name, x, y);
      context.fillStyle = ink[kind];
      context.fillText(name, x, y);
    }
    canvas.setAttribute('aria-label', say('canvas', {count: words.length}));
  }

  function measured(context, text) {
    context.font = `600 ${FONT}px system-ui, sans-serif`;
    return context.measureText(text).width;
  }

  // The word under the pointer, or null; of several in reach one that is more than a dot.
  function wordAt(event) {
    const canvas = inside('canvas'), at = placing(canvas.clientWidth, canvas.clientHeight);
    const point = pointIn(event, canvas);
    const distance = i => Math.hypot(at(i)[0] - point.x, at(i)[1] - point.y);
    const nearest = (some, grasp) => {
      let best = null, least = grasp;
      for (const i of some) if (distance(i) < least) [best, least] = [i, distance(i)];
      return best;
    };
    return nearest(special().map(({i}) => i), GRASP / 2) ?? nearest(words.keys(), GRASP);
  }

  function hover(event) {
    const tip = inside('.tip'), i = event && dragged === null ? wordAt(event) : null;
    if (i === hovered) return;
    hovered = i;
    tip.hidden = i === null;
    inside('canvas').style.cursor = i === null ? '' : 'pointer';
    if (i === null) return;
    tip.innerHTML = `<b>${escapeHtml(words[i].text)}</b> ${escapeHtml(textOf(i))}`;
  }

  function zoomTo(kind) {
    if (kind === 'all') view = {zoom: 1, x: .5, y: .5};
    else {
      const zoom = Math.max(1, Math.min(MOST_ZOOM, view.zoom * (kind === 'in' ? 1.6 : 1 / 1.6)));
      if (view.zoom === 1 && kind === 'in' && words[map.word])  // into what surrounds the chosen word
        view = {zoom, x: levels[2 * map.word] / reach[0], y: levels[2 * map.word + 1] / reach[1]};
      else view.zoom = zoom;
      if (view.zoom === 1) view = {zoom: 1, x: .5, y: .5};
    }
    paint();
  }

  element.addEventListener('click', event => {
    const button = event.target.closest('button');
    if (!map || !button) return;
    const {word, at, count, zoom} = button.dataset;
    if (word !== undefined) choose({word: Number(word)});
    else if (at && at !== map.at) choose({at});
    else if (count && Number(count) !== map.count) choose({count: Number(count)});
    else if (zoom) zoomTo(zoom);
  });
  element.addEventListener('pointerdown', event => {
    if (event.target.tagName === 'CANVAS')
      dragged = {x: event.clientX, y: event.clientY, moved: false, view: {...view}};
  });
  element.addEventListener('pointermove', event => {
    if (event.target.tagName !== 'CANVAS' || !map) return hover(null);
    if (!dragged) return hover(event);
    const x = event.clientX - dragged.x, y = event.clientY - dragged.y;
    if (Math.hypot(x, y) > 4) dragged.moved = true;
    if (!dragged.moved || view.zoom === 1) return;
    const scale = scaleOf(event.target.clientWidth, event.target.clientHeight);
    view.x = dragged.view.x - x / scale / reach[0];
    view.y = dragged.view.y + y / scale / reach[1];
    paint();
  });
  element.addEventListener('pointerup', event => {
    const ended = dragged;
    dragged = null;
    if (!ended || ended.moved || event.target.tagName !== 'CANVAS' || !map) return;
    const i = wordAt(event);
    if (i !== null) choose({word: i});
  });
  element.addEventListener('pointerleave', () => {
    dragged = null;
    if (map) hover(null);
  });
  element.addEventListener('wheel', event => {
    if (event.target.tagName !== 'CANVAS' || !event.ctrlKey) return;
    event.preventDefault();
    zoomTo(event.deltaY < 0 ? 'in' : 'out');
  }, {passive: false});
  element.addEventListener('keydown', event => {
    if (!map) return;
    const isCanvas = event.target.tagName === 'CANVAS', by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    const zoom = isCanvas && {'+': 'in', '-': 'out', 0: 'all'}[event.key];
    if (event.target.type === 'search' && event.key === 'Enter' && hits.length)
      choose({word: hits[(hits.indexOf(map.word) + 1) % hits.length]});
    else if (zoom) zoomTo(zoom);
    else if (by && map.own && (isCanvas || event.target.closest('.own'))) {
      choose({word: ((map.word < map.own ? map.word : -1) + by + map.own) % map.own});
      if (!isCanvas) inside(`.own [data-word="${map.word}"]`).focus();
    } else return;
    event.preventDefault();
  });
  element.addEventListener('input', event => {
    if (event.target.type !== 'search') return;
    findWords(event.target.value);
    showHits();
    paint();
  });

  function table() {
    const place = (i, axis) => Number((map.least[axis] + levels[2 * i + axis] * map.step).toPrecision(5));
    const cosines = new Map(map.near);
    return {columns: ['word', 'sentence', 'own', 'cosine'].map(key => say(`column_${key}`)).toSpliced(3, 0, 'x', 'y'),
            rows: words.map((word, i) => [word.text, textOf(i), i < map.own ? 1 : 0, place(i, 0), place(i, 1),
                                          cosines.get(i) ?? ''])};
  }

  function picture(kind) {
    const {clientWidth: width, clientHeight: high} = inside('canvas'), at = placing(width, high), shown = special();
    const {name, identity} = checkpoint(element), ink = inks(), {color} = getComputedStyle(element);
    const context = document.createElement('canvas').getContext('2d');
    const point = i => at(i).map(part => part.toFixed(1)).join(' ');
    const dots = words.map((_, i) => i < map.own ? '' : `M${point(i)}h0`).join('');
    const marks = shown.map(({i, kind: of}) => {
      const [x, y] = at(i).map(part => part.toFixed(1)), isFull = of === 'own' || of === 'chosen';
      const style = `fill="${isFull ? fills[of] : 'none'}" stroke="${fills[of]}" stroke-width="2"`;
      return of === 'hit' ? rect(x - 4, y - 4, 8, 8, style) :
        `<circle cx="${x}" cy="${y}" r="${{own: 4, near: 4.5, chosen: 6}[of]}" ${style}/>`;
    });
    const texts = names(shown, at, text => measured(context, text), width, high).map(({name: text, kind: of, x, y}) =>
      label(text, x.toFixed(1), y.toFixed(1), `fill="${ink[of]}" font-weight="${of === 'chosen' ? 600 : 400}"`));
    const notes = [say('held', held()), `${name} ${identity}`];
    const wide = Math.max(width, ...notes.map(note => 6.4 * note.length)) + 24, height = high + 90;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${height}" font-size="${FONT}" ` +
      `fill="${color}" font-family="system-ui, sans-serif">` +
      rect(0, 0, wide, height, `fill="${background(element)}"`) +
      label(title(), 12, 24, `font-size="${SIZES.reading}" font-weight="600"`) +
      `<svg x="12" y="36" width="${width}" height="${high}"><path d="${dots}" stroke="${color}" stroke-opacity=".4" ` +
      `stroke-width="2.5" stroke-linecap="round"/>${marks.join('')}${texts.join('')}</svg>` +
      notes.map((note, i) => label(note, 12, high + 58 + 18 * i, 'fill-opacity=".75"')).join('') + '</svg>';
    return pictureAddress(kind, svg, wide, height);
  }

  onOtherWidth(element, () => map && paint());
  saveOnClick(element, {title, table, picture, pair: () =>
    [...new Set(words.slice(0, map.own).map((_, i) => textOf(i)))]});
  watch('value', receive);
  receive();
}
