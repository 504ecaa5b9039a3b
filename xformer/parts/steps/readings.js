// Tables about the steps of a translation, which xformer/figures makes: saves each as a picture or as its numbers. A
// click or Enter on a cell that names a step (data-step) triggers 'choose' {step}; arrow keys go from cell to cell.
import {htmlPicture} from '../../../assets/html_picture.js';
import {saveOnClick} from '../../../assets/save.js';
import {ARROWS} from '../../../assets/shared.js';

export default function start({element, trigger}) {
  const part = () => element.querySelector('.table');
  const cells = () => [...element.querySelectorAll('[data-step]')];

  // The number of a cell, or its text.
  function valueOf(cell) {
    const {value, probability} = cell.dataset, text = cell.textContent.trim();
    return value !== undefined ? Number(value) : probability !== undefined ? text :
      /^[-\u2212]?\d+(\.\d+)?$/.test(text) ? Number(text.replace('\u2212', '-')) : text;
  }

  function row(line) {
    return [...line.cells].flatMap(cell => cell.dataset.probability === undefined ? [valueOf(cell)] :
      [valueOf(cell), Number(cell.dataset.probability), Number(cell.dataset.own), Number(cell.dataset.rank)]);
  }

  function table() {
    const [head, ...lines] = [...part().querySelectorAll('tr')], {columns} = part().dataset;
    const reading = part().querySelector('[data-probability]');
    const names = [...head.cells].flatMap((cell, i) => !reading || i === 0 ? [cell.textContent.trim()] :
      [cell.textContent.trim(), ...JSON.parse(columns).map(name => `${cell.textContent.trim()}: ${name}`)]);
    return {columns: names, rows: lines.map(row)};
  }

  function focusOn(cell) {
    for (const one of cells()) one.tabIndex = one === cell ? 0 : -1;
    cell.focus();
  }

  // The cell that had the focus before the table was replaced, and how far the table was scrolled; null for none.
  let kept = null;

  function choose(cell) {
    const {step, layer} = cell.dataset, place = layer === undefined ? '' : `[data-layer="${layer}"]`;
    kept = {cell: `[data-step="${step}"]${place}`, left: element.querySelector('.scroll')?.scrollLeft ?? 0};
    trigger('choose', {step: Number(step)});
  }

  function receive() {
    element.dataset.empty = !part();
    const cell = kept && element.querySelector(kept.cell);
    if (!cell || document.activeElement !== document.body) return;
    focusOn(cell);
    element.querySelector('.scroll').scrollLeft = kept.left;
    kept = null;
  }

  element.addEventListener('click', event => {
    const cell = event.target.closest('[data-step]');
    if (!cell) return;
    focusOn(cell);
    choose(cell);
  });
  element.addEventListener('keydown', event => {
    const cell = event.target.closest('[data-step]'), move = ARROWS[event.key];
    const isEntered = cell && event.key === 'Enter' && cell.tagName !== 'BUTTON';  // a button is clicked by it
    if (isEntered) choose(cell);
    if (!cell || !move) return;
    event.preventDefault();
    const {step, layer} = cell.dataset, all = cells();
    const to = layer === undefined ? all[all.indexOf(cell) + move[1]] :
      element.querySelector(`[data-step="${Number(step) + move[0]}"][data-layer="${Number(layer) + move[1]}"]`);
    if (to) focusOn(to);
  });
  element.addEventListener('focusin', event => {
    const cell = event.target.closest('[data-layer]'), said = element.querySelector('.said');
    if (cell && said) said.textContent = cell.getAttribute('aria-label');
  });
  element.addEventListener('mouseover', event => {
    const cell = event.target.closest('[data-layer]'), said = element.querySelector('.said');
    if (cell && said) said.textContent = cell.title;
  });

  // The picture shows the whole table, also where the page scrolls it.
  function picture(kind) {
    const whole = part(), {width} = whole.style, inner = whole.querySelector('table');
    whole.style.width = `${Math.max(whole.offsetWidth, inner.offsetWidth + 8)}px`;
    const address = htmlPicture(kind, element, whole, 'readings');
    whole.style.width = width;
    return address;
  }

  new MutationObserver(receive).observe(element, {childList: true, subtree: true});
  receive();
  saveOnClick(element, {title: () => part().dataset.title, table, picture});
}
