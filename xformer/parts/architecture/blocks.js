// The boxes of the architecture. A click or Enter on a box that has attention maps triggers 'choose' {stack, layer}. A
// click on a box's braces shows the lines of code that compute it. Where the towers bring a teacher's words
// (data-taught, from teachers.json), the boxes are named by them and framed as that teacher groups them, and
// beside them stands a table of what things are called; without towers, the table of all teachers.
import {htmlPicture} from '../../../assets/html_picture.js';
import {modelText, saveOnClick} from '../../../assets/save.js';
import {escapeHtml, fill} from '../../../assets/shared.js';

const textIn = (whole, selector) => whole?.querySelector(selector)?.textContent ?? '';

function boxRow(tower, box) {
  return [textIn(tower, 'h3'), textIn(box.closest('.layer'), '.name'), textIn(box, 'b'), textIn(box, '.shape'),
          textIn(box, '.more'), box.title];
}

// What is said in both languages, {en, es}, in that of the page.
function read({language, ...taught}) {
  return JSON.parse(JSON.stringify(taught), (_, value) => value?.[language] ?? value);
}

// The key of a box, or of what holds one; "layers" for the layers of a tower.
function keyOf(part) {
  if (part.matches('.layer, .others')) return 'layers';
  const boxes = [part, ...part.querySelectorAll('[data-box]')].filter(one => one.dataset?.box);
  return (boxes.find(box => box.dataset.box !== 'norm') ?? boxes[0])?.dataset.box;
}

const node = (tag, className, text = '') => Object.assign(document.createElement(tag), {className, textContent: text});

// Puts a frame around neighbours, which stand from the bottom up.
function wrap(parts, {name, out, more}) {
  if (!parts.length) return;
  const frame = node('section', 'frame'), title = node('p', 'group', name);
  parts[0].before(frame);
  if (out) title.append(node('span', 'out', ` → ${out}`));
  frame.append(...(more ? [node('div', 'box none', more)] : []), ...parts, title);
}

// The sub-layers of a layer: what belongs to each, by its key. A connection comes first, then what follows it.
function sublayers(layer) {
  const found = [];
  for (const part of layer.children) {
    if (part.matches('.bypass')) found.push([keyOf(part), []]);
    if (!part.matches('h4')) found.at(-1)[1].push(part);
  }
  return found;
}

// Names the boxes of a tower as a teacher does, and frames what that teacher groups. boxes: names by the box's key.
function nameBoxes(tower, boxes, {layers, towers, more, frames: framed}) {
  const {side} = tower.dataset, heading = tower.querySelector('h3');
  heading.textContent = towers[side] ?? heading.textContent;
  for (const box of tower.querySelectorAll('[data-box]')) {
    const name = box.querySelector('b'), theirs = boxes[box.dataset.box];
    if (theirs) name.textContent = theirs;
    else if (theirs === '') name.prepend(node('span', 'unnamed', '– '));
  }
  for (const name of tower.querySelectorAll('.layer .name')) {
    name.textContent = layers[side] ? `${layers[side]} · ${name.textContent}` : `– ${name.textContent}`;
  }
  const own = framed.filter(frame => frame.side === side);
  for (const layer of tower.querySelectorAll('.layer')) {
    const found = sublayers(layer);
    for (const frame of own.filter(one => one.within)) {
      wrap(found.filter(([key]) => frame.of.includes(key)).flatMap(([, parts]) => parts), frame);
    }
  }
  const column = tower.querySelector('.boxes');
  for (const frame of own.filter(one => !one.within)) {
    wrap([...column.children].filter(part => frame.of.includes(keyOf(part))), frame);
  }
  if (more[side]) column.append(node('div', 'box none', more[side]));
}

// A table of what things are called: a row for each, and below it where a teacher's is not the thing that is here.
// names: of the columns by key; hasCode(key): whether the code of that block can be shown.
function tabulate({rows, names, texts, teacher}, hasCode) {
  const columns = Object.entries(names);
  // A long name may be broken where a word of it ends.
  const broken = text => escapeHtml(text).replace(/[a-z](?=[A-Z])|[_.](?=\w)/g, '$&<wbr>');
  const cell = (tag, text) => `<${tag}>${broken(text)}</${tag}>`;
  const braces = ({code, ours}) => hasCode(code) ? ` <button type="button" class="code" data-code="${code}" ` +
    `aria-expanded="false" aria-label="${escapeHtml(fill(texts.code, {name: ours}))}">{ }</button>` : '';
  const lines = rows.map(row => {
    const cells = columns.map(([key]) => key === 'own' ? `<td>${broken(row.ours)}${braces(row)}</td>` :
      cell('td', row[key] || '–'));
    const apart = teacher && row.apart?.[columns[0][0]];
    return `<tr><th scope="row">${escapeHtml(row.what)}</th>${cells.join('')}</tr>` +
      (apart ? `<tr class="apart"><td colspan="3">≠ ${escapeHtml(apart)}</td></tr>` : '');
  });
  const box = node('div', 'terms'), head = [texts.terms_what, ...columns.map(([, name]) => name)];
  const about = teacher ? `${teacher.of} ${texts.apart}` : fill(texts.terms_text, {count: columns.length - 1});
  Object.assign(box, {tabIndex: 0, role: 'region', ariaLabel: `${texts.terms}: ${head.slice(1).join(', ')}`});
  box.innerHTML = `<p class="sub">${escapeHtml(about)}</p><table><thead><tr>` +
    `${head.map(name => cell('th', name)).join('')}</tr></thead><tbody>${lines.join('')}</tbody></table>`;
  return box;
}

export default function start({element, trigger}) {
  const towers = () => element.querySelector('.towers');
  let opened = -1;  // the button whose code is shown, among all

  function teach() {
    const drawn = element.querySelector('.towers[data-taught]');
    if (!drawn) return;
    const taught = read(JSON.parse(drawn.dataset.taught)), [first] = Object.keys(taught.names), boxes = {};
    delete drawn.dataset.taught;
    if (!taught.teacher) drawn.dataset.title = taught.texts.terms;
    for (const row of taught.rows) for (const box of row.boxes ?? []) boxes[box] = row[first] ?? '';
    // A recurrent model is none that these teachers draw so.
    if (taught.teacher && drawn.querySelector('[data-box=encoder_self]')) {
      for (const tower of drawn.querySelectorAll('.tower')) nameBoxes(tower, boxes, taught.teacher);
    }
    drawn.append(tabulate(taught, code => element.querySelector(`.code-of [data-of="${code}"]`)));
  }

  function terms() {  // a row for each thing
    const [head, ...lines] = [...element.querySelectorAll('.terms tr')].map(row => [...row.cells].map(
      cell => cell.textContent.replace('{ }', '').trim()));
    return {columns: head, rows: lines.filter(line => line.length > 1)};
  }

  function table() {  // a row for each box, from the bottom of each tower up
    if (!element.querySelector('.tower')) return terms();
    const rows = [...element.querySelectorAll('.tower')].flatMap(tower =>
      [...tower.querySelectorAll('.box')].map(box => boxRow(tower, box)));
    return {columns: ['tower', 'layer', 'block', 'output', 'parameters', 'weights'], rows};
  }

  function picture(kind) {
    towers().classList.add('whole');
    const address = htmlPicture(kind, element, towers(), 'architecture');
    towers().classList.remove('whole');
    return address;
  }

  const codeButtons = () => [...element.querySelectorAll('button.code')];

  // Shows the code of the block that a button belongs to; closes the panel without a button, or on a second click.
  function showCode(button) {
    const panel = element.querySelector('.code-of');
    const before = element.querySelector('button.code[aria-expanded=true]');
    before?.setAttribute('aria-expanded', 'false');
    panel.hidden = !button || button === before;
    opened = panel.hidden ? -1 : codeButtons().indexOf(button);
    if (panel.hidden) {
      before?.focus();
      return;
    }
    button.setAttribute('aria-expanded', 'true');
    for (const section of panel.querySelectorAll('section'))
      section.hidden = section.dataset.of !== button.dataset.code;
    panel.scrollTop = 0;
  }

  // What is drawn again, for another sentence or one that came late, keeps the code open.
  function keepCode() {
    const button = codeButtons()[opened];
    if (!button || !element.querySelector('.code-of').hidden) return;
    showCode(button);
    if (document.activeElement === document.body) button.focus({preventScroll: true});
  }

  element.addEventListener('keydown', event => {
    if (event.key === 'Escape' && element.querySelector('.code-of')) showCode();
  });
  element.addEventListener('click', event => {
    const button = event.target.closest('button.code');
    if (button || event.target.closest('.code-of .close')) {
      showCode(button);
      return;
    }
    const box = event.target.closest('button[data-stack]');
    if (!box) return;
    trigger('choose', {stack: box.dataset.stack, layer: Number(box.dataset.layer)});
    scrollTo(0, 0);  // where the tab that it opens begins, with its picture
  });
  new MutationObserver(() => {
    teach();
    keepCode();
  }).observe(element, {childList: true, subtree: true, attributeFilter: ['hidden']});  // Gradio changes what differs
  teach();
  saveOnClick(element, {title: () => towers().dataset.title ?? modelText(element), table, picture});
}
