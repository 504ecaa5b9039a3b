// The panel of lessons beside the page: draws props.value (xformer/ui/lessons.py), {at, html, ahead} or {at, address}
// or {at, reply} or {at, fact}; ahead is the next step, which is shown as soon as it is asked for. An element with
// data-lesson anywhere on the page triggers 'go' {to}; an answer triggers 'answer'; a slide of a lecture triggers
// 'fact' {at} when the page shows it, and is answered by what the model has to say of it.
// What was answered, and the step on which each lesson was left, is kept in this browser.
import {openState} from './bar.js';
import {compose, packed, summarize} from './class.js';
import {keep, kept} from './shared.js';
import {loading, state, whenSettled} from './state.js';

const KEY = 'lessons';
const isStep = at => /\.\d+$/.test(at);  // not a view, such as "lecture.kak"
const SMALL = '(max-width: 640px)';
const LARGEST = 100_000;  // bytes of a file that is read; a lesson has fewer, as xformer/lessons/links.py says

// By lesson: {at: the last step, right: the steps whose question was answered rightly, answers: by step what was
// answered last and first, for the summary}.
const progress = () => kept(KEY) ?? {};

function note(at, right, answer) {
  const [name, step] = at.split('.'), all = progress(), own = all[name] ?? {at: 1, right: []};
  own.at = Number(step);
  if (right && !own.right.includes(own.at)) own.right.push(own.at);
  if (answer) own.answers = {...own.answers, [step]: {...answer, first: own.answers?.[step]?.first ?? answer.answer}};
  keep(KEY, {...all, [name]: own});
}

// The words of the sentence on the page, or of its translation, each once.
function wordsOf(side) {
  const pieces = [...document.querySelectorAll('.translation .piece:not(.end)')];
  const text = side === 'en' ? new URLSearchParams(location.search).get('text') ?? '' :
    pieces.map(piece => (piece.previousSibling?.data ?? '') + piece.firstChild.textContent).join('');
  return [...new Set(text.match(/[\p{L}\p{N}]+(?:['’][\p{L}]+)*/gu) ?? [])];
}

// Marks what a step means, whenever that comes on the page, and brings it into sight: again whenever it grows, as a
// picture does when it is drawn, until the visitor does something on the page.
function watchPointed(panel) {
  let selector = '', isNew = false, waiting = false, shown = null;
  const grows = new ResizeObserver(() => {
    // Of what is higher than the room above the sheet of a phone the beginning is shown, where its words stand.
    const isHigh = matchMedia(SMALL).matches && shown.offsetHeight > innerHeight / 2;
    shown.scrollIntoView({block: isHigh ? 'start' : 'nearest'});
  });
  const show = one => {
    grows.disconnect();
    shown = one;
    if (one) grows.observe(one);  // which tells its height at once
  };
  const mark = () => {
    waiting = false;
    const former = document.querySelector('[data-pointed]');
    const meant = selector && [...document.querySelectorAll(selector)].find(one => one.checkVisibility());
    if (former !== meant) former?.removeAttribute('data-pointed');
    if (!meant) return;
    meant.dataset.pointed = '';
    if (isNew && state.settled && shown !== meant) show(meant);
  };
  const leave = ({target}) => {
    if (panel.contains(target)) return;
    isNew = false;
    show(null);
  };
  const how = {capture: true, passive: true};
  for (const act of ['wheel', 'touchmove', 'pointerdown', 'keydown']) window.addEventListener(act, leave, how);
  const soon = () => {
    if (!waiting && (selector || document.querySelector('[data-pointed]'))) {
      waiting = true;
      requestAnimationFrame(mark);
    }
  };
  new MutationObserver(soon).observe(document.body, {childList: true, subtree: true, attributeFilter: ['style']});
  window.addEventListener('settled', soon);
  return to => {
    isNew = true;
    show(null);
    selector = to;
    soon();
    if (!to) mark();
  };
}

export default function start({element, props, trigger, watch}) {
  const panel = element.querySelector('aside'), inside = selector => panel.querySelector(selector);
  const point = watchPointed(panel);
  for (let holder = panel.parentElement; holder; holder = holder.parentElement) holder.dataset.holdsPanel = '';
  let at = '', isAsked = false;  // whether the reader has moved, so that the focus goes along
  let wrong = 0;  // answers to the question of this step
  let moving = '';  // the step that is shown already, while the page is still at another
  let answer = null;  // what waits for the page to be there
  const ready = new Map();  // steps that are known, as HTML

  const go = to => {
    isAsked = true;
    answer = null;
    moving = ready.has(to) && to !== at ? to : '';
    if (moving) draw({at: to, html: ready.get(to)});
    trigger('go', {to});
  };

  // An answer is checked on what the page shows, so the page is to be there first.
  const ask = () => !moving && whenSettled(() => {
    if (answer !== null && !moving) trigger('answer', {answer});
    answer = null;
  });

  const askFact = () => !moving && whenSettled(() => !moving && inside('.fact') && trigger('fact', {at}));

  const pointed = () => inside('[data-point]')?.dataset.point ?? '';

  function fillWords() {
    const words = inside('.words');
    if (!words || moving) return;
    const found = wordsOf(words.dataset.side), radios = [...words.querySelectorAll('input')];
    if (found.join() === radios.map(radio => radio.value).join()) return;
    words.replaceChildren(...found.map(word => {
      const label = document.createElement('label');
      label.append(Object.assign(document.createElement('input'), {type: 'radio', name: 'answer', value: word}), word);
      return label;
    }));
  }

  function fillList() {
    const all = progress();
    for (const button of panel.querySelectorAll('[data-questions]')) {
      const own = all[button.dataset.lesson], done = button.querySelector('.done');
      if (!own) continue;
      const questions = button.dataset.questions.split(',').map(Number);
      const right = questions.filter(one => own.right.includes(one)).length;
      const text = right === questions.length ? done.dataset.all : done.dataset.some;
      done.textContent = text.replace('{right}', right).replace('{count}', questions.length);
      button.dataset.lesson += `.${right === questions.length ? 1 : own.at}`;
    }
  }

  function draw(value) {
    const isOpened = !at && value.at;
    if (value.at === at && panel.childElementCount) return;
    at = value.at;
    wrong = 0;
    panel.innerHTML = value.html;
    document.body.classList.toggle('with-lesson', Boolean(at));
    document.body.classList.toggle('with-summary', Boolean(inside('.summary')));
    window.dispatchEvent(new Event('resize'));
    if (isOpened) document.body.classList.remove('lesson-folded');
    fillWords();
    fillList();
    if (isStep(at)) {
      note(at);
      [panel.dataset.last] = at.split('.');
    }
    if (inside('.compose')) compose(panel, go);
    if (inside('.answers'))
      loading(import(new URL('./answers.js', import.meta.url)).then(({countAnswers}) => countAnswers(panel)));
    if (inside('.summary')) summarize(panel, progress()[at.split('.')[0]]?.answers);
    panel.scrollTop = 0;
    point(moving ? '' : pointed());
    if (isAsked) (inside('h2') ?? document.querySelector('.lessons-button')).focus();
    isAsked = false;
  }

  function receive() {
    const value = props.value;
    for (const known of [value, value.ahead]) if (known?.html) ready.set(known.at, known.html);
    if ('fact' in value) {
      const fact = value.at === at && inside('.fact');
      if (fact) fact.innerHTML = value.fact;
      if (fact) window.dispatchEvent(new Event('resize'));  // of the projector view
      return;
    }
    if (moving && !value.reply) {
      if (value.at !== moving) return;  // of a step that was left
      moving = '';
    }
    if (value.address) {
      if (value.at === at) point(pointed());  // the step stays as it is, with what was answered
      openState(value.address, value.place);
    } else if (value.reply) {
      const reply = inside('.reply');
      if (value.at !== at || !reply) return;
      reply.innerHTML = value.reply.html;
      reply.dataset.right = value.reply.right;
      const {answer: said, right} = value.reply, text = new URLSearchParams(location.search).get('text');
      if (said === undefined) return;
      if (right === false) wrong += 1;
      const solution = inside('.reply .solution'), words = reply.cloneNode(true);
      if (solution) solution.open = wrong > 1;
      reply.scrollIntoView({block: 'nearest'});  // on a phone the panel is a low sheet
      words.querySelector('summary')?.remove();
      note(at, right, {answer: said, said: words.textContent.trim().replace(/\s+/g, ' '), text});
    } else draw(value);
    if (answer !== null) ask();
    if (!value.reply && !value.address) askFact();
  }

  document.addEventListener('click', event => {
    const named = event.target.closest('[data-lesson]');
    if (named) go(named.dataset.lesson);
  });
  panel.addEventListener('submit', event => {
    event.preventDefault();
    inside('.reply').textContent = '…';
    // Not by name: bar.js gives the radio buttons of a group a name of its own.
    answer = inside('form :is(input:checked, input:not([type=radio]), textarea)')?.value ?? '';
    ask();
  });
  panel.addEventListener('change', async event => {
    const [file] = event.target.files ?? [];
    if (file) go(`${await packed(await file.slice(0, LARGEST).arrayBuffer())}.1`);
  });
  panel.addEventListener('input', event => {
    const output = event.target.parentElement.querySelector('output');
    if (output) output.textContent = event.target.value;
    if (!event.target.matches('.filter')) return;
    const wanted = event.target.value.trim().toLowerCase(), entries = [...panel.querySelectorAll('dl > div')];
    for (const entry of entries) entry.hidden = !entry.textContent.toLowerCase().includes(wanted);
    inside('.none').hidden = entries.some(entry => !entry.hidden);
  });
  panel.addEventListener('click', event => {
    const fold = event.target.closest('.fold');
    if (fold) fold.setAttribute('aria-expanded', !document.body.classList.toggle('lesson-folded'));
    else if (event.target.closest('[data-address]') && matchMedia(SMALL).matches) {
      document.body.classList.add('lesson-folded');  // so that what is shown can be seen
      inside('.fold').setAttribute('aria-expanded', false);
    }
  });
  for (const event of ['addresschange', 'settled']) window.addEventListener(event, fillWords);
  window.addEventListener('settled', askFact);  // of another sentence too
  panel.addEventListener('focusin', fillWords);
  panel.addEventListener('pointerenter', fillWords);
  watch('value', receive);
  receive();

  // A link that names a lesson and no state of the page: the page moves to the state of the step.
  const [opening] = performance.getEntriesByType('navigation');
  const query = new URL(opening?.name ?? location.href).searchParams;
  if (query.get('lesson')?.match(/^[a-z~]/) && !query.has('text') && !query.has('tab'))
    whenSettled(() => isStep(at) && trigger('go', {to: at}));
}
