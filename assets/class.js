// Lessons of a class, in the panel of lessons (lesson.js): the form in which a teacher writes one (html/lessons.html),
// the link or file that holds it whole (xformer/lessons/links.py), and the summary of what a reader answered, which
// answers.js reads. All of it stays in this browser.
import {copyText} from './save.js';
import {download, fill, keep, kept} from './shared.js';
import {whenSettled} from './state.js';

const DRAFT = 'class-lesson';

// What an address names a lesson by: "~" and its JSON, deflated, in base64url.
export async function packed(json) {
  const deflated = new Blob([json]).stream().pipeThrough(new CompressionStream('deflate'));
  const data = new Uint8Array(await new Response(deflated).arrayBuffer());
  const text = btoa(Array.from(data, one => String.fromCharCode(one)).join(''));
  return `~${text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

// The link to a lesson on this page, in this language, with the model that is not the page's own.
function linkTo(name) {
  const chosen = new URLSearchParams(location.search).get('model');
  const query = new URLSearchParams({lesson: name, ...(chosen && {model: chosen})});
  return `${location.origin}${location.pathname}?${query}`;
}

// The state of the page: keys and values of its address.
const pageState = () => Object.fromEntries([...new URLSearchParams(location.search)].filter(
  ([key]) => !key.startsWith('__') && !['lesson', 'model'].includes(key)));

const emptyStep = () => ({text: '', address: pageState(), question: {check: ''}});

// The lesson that a draft makes. In a draft a step holds the fields of every check that was ever chosen in it.
function lessonOf({title, language, steps}, fieldsOf) {
  const question = ({check, ask, hint1, hint2, ...fields}) => {
    const hints = [hint1, hint2].map(hint => hint?.trim()).filter(Boolean);
    return {question: {check, ...(ask?.trim() && {ask: ask.trim()}), ...(hints.length && {hints}),
      ...Object.fromEntries(fieldsOf(check).map(name => [name, fields[name]]))}};
  };
  return {title: title.trim(), language, steps: steps.map(({text, address, question: asked}) => (
    {text: text.trim(), address, ...(asked.check && question(asked))}))};
}

// What a field holds: several words, or a text.
const valueOf = ({dataset, value}) =>
  'several' in dataset ? value.split(/[\s,]+/).filter(Boolean) : value.trim();

// Starts the form, when the page shows what its address says. play(name) opens the lesson of an address.
export const compose = (panel, play) => whenSettled(() => panel.querySelector('.compose') && start(panel, play));

function start(panel, play) {
  const box = panel.querySelector('.compose'), form = box.querySelector('form'), list = form.querySelector('.steps');
  const reply = box.querySelector('.reply'), template = box.querySelector('template');
  const newDraft = () => ({title: '', language: box.dataset.language, steps: [emptyStep()]});
  let draft = kept(DRAFT) ?? newDraft();
  const last = box.querySelector(`.ready option[value="${CSS.escape(panel.dataset.last ?? '')}"]`);
  if (last) last.selected = true;  // the lesson that was read last

  const fieldsOf = check => {
    const option = list.querySelector(`option[value="${check}"]`);
    return option?.dataset.fields.split(' ').filter(Boolean) ?? [];
  };
  const saveDraft = () => keep(DRAFT, draft);

  // Shows the fields of the check that is chosen, and no others.
  function showFields(item, {check}) {
    const fields = check ? fieldsOf(check) : [];
    for (const label of item.querySelectorAll('[data-field]')) {
      label.hidden = !fields.includes(label.dataset.field);
      label.querySelector('input').required = !label.hidden;
    }
    for (const label of item.querySelectorAll('.own')) label.hidden = !check;
    item.querySelector('[name=ask]').required = check === 'open';
  }

  function showState(item, {tab, text}) {
    const name = document.querySelector(`[role=tab][data-tab-id="${CSS.escape(tab)}"]`)?.textContent.trim() ?? tab;
    item.querySelector('.state').textContent = [name, text].filter(Boolean).join(' · ');
  }

  function draw() {
    form.elements.title.value = draft.title;
    form.elements.language.value = draft.language;
    list.replaceChildren(...draft.steps.map((step, i) => {
      const item = template.content.firstElementChild.cloneNode(true), {question} = step;
      item.querySelector('legend').textContent = i + 1;
      item.querySelector('[name=text]').value = step.text;
      for (const field of item.querySelectorAll(':is([data-field], .own) input, [name=check]')) {
        const value = question[field.name] ??= valueOf(field);
        field.value = Array.isArray(value) ? value.join(', ') : value;
      }
      return item;
    }));
    [...list.children].forEach((item, i) => {
      showFields(item, draft.steps[i].question);
      showState(item, draft.steps[i].address);
    });
  }

  function takeIn({target}) {
    const item = target.closest('li'), {name, value} = target;
    if (!item) draft[name] = value;
    else {
      const step = draft.steps[[...list.children].indexOf(item)];
      if (name === 'text') step.text = value;
      else step.question[name] = valueOf(target);
      if (name === 'check') showFields(item, step.question);
    }
    saveDraft();
  }

  const say = (text, characters, limit) => { reply.textContent = fill(text, {characters, limit}); };

  async function copy(name, button) {
    const link = linkTo(name), longest = Number(box.dataset.longest), isShort = link.length <= longest;
    if (isShort) await copyText(link, button);
    say(isShort ? box.dataset.copied : box.dataset.long, link.length, longest);
  }

  // Whether all fields hold what they may; the browser says so at the first that does not.
  function isValid() {
    for (const field of form.querySelectorAll('textarea, .own input')) {
      const isLong = field.value.trim().split(/\s+/).length >= Number(box.dataset.mostWords);
      field.setCustomValidity(isLong ? fill(box.dataset.words, {limit: box.dataset.mostWords}) : '');
    }
    return form.reportValidity();
  }

  async function send(what, button) {
    const json = JSON.stringify(lessonOf(draft, fieldsOf)), name = await packed(json);
    const most = Number(box.dataset.most);
    if (name.length > most) say(box.dataset.large, name.length, most);
    else sends[what](name, json, button);
  }

  const acts = {
    add: () => draft.steps.length < Number(box.dataset.mostSteps) && draft.steps.push(emptyStep()),
    up: i => draft.steps.splice(Math.max(0, i - 1), 0, ...draft.steps.splice(i, 1)),
    down: i => draft.steps.splice(i + 1, 0, ...draft.steps.splice(i, 1)),
    remove: i => draft.steps.splice(i, 1),
    take: i => { draft.steps[i].address = pageState(); },
    new: () => { draft = newDraft(); },
  };
  const sends = {
    play: name => play(`${name}.1`),
    copy: (name, json, button) => copy(name, button),
    save: (name, json) => {
      download(URL.createObjectURL(new Blob([json], {type: 'application/json'})), 'lesson.json');
      reply.textContent = box.dataset.saved;
    },
  };
  // What a click does to the draft; then the focus is where it was, or at what was added.
  function change(what, item) {
    const i = [...list.children].indexOf(item);
    acts[what](i);
    if (!draft.steps.length) draft.steps.push(emptyStep());
    saveDraft();
    draw();
    const at = {add: draft.steps.length - 1, up: i - 1, down: i + 1, new: 0}[what] ?? i;
    const next = list.children[Math.min(Math.max(at, 0), list.children.length - 1)];
    next.querySelector(['up', 'down', 'take'].includes(what) ? `[data-do=${what}]` : 'textarea').focus();
  }

  form.addEventListener('input', takeIn);
  form.addEventListener('submit', event => {
    event.preventDefault();
    event.stopPropagation();  // it is no answer
  });
  box.addEventListener('click', event => {
    const button = event.target.closest('[data-do]'), what = button?.dataset.do;
    if (what === 'copy-ready') copy(box.querySelector('.ready').value, button);
    else if (what === 'new' && !confirm(box.dataset.newSure)) return;
    else if (what in acts) change(what, button.closest('li'));
    else if (what in sends && isValid()) send(what, button);
  });
  draw();
}

// Fills the summary of a lesson with what was answered: by step {first, answer, right, said, text}.
export function summarize(panel, answers = {}) {
  const box = panel.querySelector('.summary');
  for (const item of box.querySelectorAll('dl > div')) {
    const own = answers[item.dataset.step];
    if (!own) continue;
    const lines = [fill(box.dataset.answer, own), own.said];
    if (own.first !== undefined && own.first !== own.answer) lines.unshift(fill(box.dataset.first, own));
    if ('sentence' in item.dataset && own.text) lines.unshift(fill(box.dataset.of, own));
    item.querySelector('dd').replaceWith(...lines.map(textContent =>
      Object.assign(document.createElement('dd'), {textContent})));
  }
  const reply = box.querySelector('.reply');
  box.addEventListener('click', async event => {
    const button = event.target.closest('[data-do]');
    if (button?.dataset.do === 'print') print();
    if (button?.dataset.do !== 'copy') return;
    const lines = [...box.querySelectorAll('h2, dt, dd')].map(one =>
      (one.tagName === 'DT' ? '\n' : '') + one.textContent.trim().replace(/\s+/g, ' '));
    await copyText(lines.join('\n'), button);
    reply.textContent = reply.dataset.copied;
  });
}
