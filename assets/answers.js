// What a class answered: the summaries that students copied (class.js), pasted one below the other, by question.
// It comes when it is asked for; all of it stays in this browser.
import {copyText} from './save.js';
import {fill, keep, kept} from './shared.js';

const PASTED = 'class-answers';
const QUESTION = /^\d+\. /, QUOTED = /^[>\s]+/;

// Reads summaries as they are copied, one below the other. marks: what their lines begin with. → {summaries: by each
// its title and its questions, each {ask, first, last}, bad: the lines that belong to no question}.
export function readSummaries(text, marks) {
  const summaries = [], bad = [];
  const after = (kind, line) => {
    const mark = marks[kind].find(one => line.startsWith(one.trim()));
    return mark === undefined ? null : line.slice(mark.trim().length).trim();
  };
  let questions = null, question = null;
  for (const line of text.split('\n').map(one => one.replace(QUOTED, '').trim()).filter(Boolean)) {
    const first = after('first', line), last = after('answer', line);
    const mark = marks.summary.find(one => line.endsWith(` ${one}`));
    if (mark) {
      questions = [];
      question = null;
      summaries.push({title: line.slice(0, -mark.length).trim(), questions});
    } else if (questions && QUESTION.test(line)) questions.push(question = {ask: line, first: null, last: null});
    else if (!question) bad.push(line);
    else if (first !== null) question.first = first;
    else if (last !== null) {
      question.last = last;
      question.first ??= last;
    }  // any other line says what the model did
  }
  return {summaries, bad};
}

// Counts them: by lesson {title, count, questions: by question {ask, answers: by answer [first tries, last tries]}}.
function counted(summaries, missing) {
  const lessons = new Map();
  for (const {title, questions} of summaries) {
    const lesson = lessons.get(title) ?? {title, count: 0, questions: new Map()};
    lessons.set(title, lesson);
    lesson.count++;
    for (const {ask, first, last} of questions) {
      const answers = lesson.questions.get(ask) ?? new Map();
      lesson.questions.set(ask, answers);
      [first, last].forEach((answer, i) => {
        const key = answer ?? missing, tries = answers.get(key) ?? [0, 0];
        tries[i]++;
        answers.set(key, tries);
      });
    }
  }
  return [...lessons.values()];
}

const made = (tag, text) => Object.assign(document.createElement(tag), {textContent: text});

// The table of the answers to a question, the most frequent first.
function answerTable(columns, answers) {
  const table = document.createElement('table'), rows = [...answers].sort(([, one], [, other]) =>
    other[1] - one[1] || other[0] - one[0]);
  const row = (tag, cells) => {
    const line = document.createElement('tr');
    line.append(...cells.map((cell, i) => {
      const one = made(i ? tag : 'th', cell);
      if (one.tagName === 'TH') one.scope = tag === 'th' ? 'col' : 'row';
      return one;
    }));
    return line;
  };
  table.append(row('th', columns), ...rows.map(([answer, tries]) => row('td', [answer, ...tries])));
  return table;
}

// Lets a teacher paste summaries, and shows what was answered. Nothing that was pasted is lost: this browser keeps it.
export function countAnswers(panel) {
  const box = panel.querySelector('.answers'), field = box.querySelector('textarea'), {dataset} = box;
  const shown = box.querySelector('.counted'), reply = box.querySelector('.reply'), marks = JSON.parse(dataset.marks);
  const columns = JSON.parse(dataset.columns);
  field.value = kept(PASTED) ?? '';
  field.addEventListener('input', () => keep(PASTED, field.value));

  function read() {
    const {summaries, bad} = readSummaries(field.value, marks), said = [];
    said.push(summaries.length ? fill(dataset.read, {count: summaries.length}) : dataset.none);
    if (summaries.length && bad.length)
      said.push(fill(dataset.bad, {lines: bad.map(line => `“${line.slice(0, 60)}”`).join(' ')}));
    reply.textContent = said.join(' ');
    return counted(summaries, dataset.missing);
  }

  function show() {
    shown.replaceChildren(...read().flatMap(({title, count, questions}) => [
      made('h3', `${title} (${count})`),
      ...[...questions].flatMap(([ask, answers]) => [made('p', ask), answerTable(columns.slice(2), answers)])]));
  }

  // A cell of a spreadsheet: one line, and no formula.
  const cell = text => String(text).replace(/\s+/g, ' ').replace(/^(?=[=+\-@])/, "'");

  const acts = {
    show,
    copy: async button => {
      const rows = read().flatMap(({title, questions}) => [...questions].flatMap(([ask, answers]) =>
        [...answers].map(([answer, tries]) => [title, ask, answer, ...tries])));
      if (!rows.length) return;
      await copyText([columns, ...rows].map(row => row.map(cell).join('\t')).join('\n'), button);
      reply.textContent = dataset.copied;
    },
    clear: () => {
      if (!field.value || !confirm(dataset.sure)) return;
      field.value = '';
      keep(PASTED, '');
      shown.replaceChildren();
      reply.textContent = '';
      field.focus();
    },
  };
  box.addEventListener('click', event => {
    const button = event.target.closest('[data-do]');
    if (button) acts[button.dataset.do](button);
  });
  if (field.value) show();
}
