// The boxes of the architecture. A click or Enter on a box that has attention maps triggers 'choose' {stack, layer}. A
// click on a box's braces shows the lines of code that compute it.
import {htmlPicture} from './html_picture.js';
import {modelText, saveOnClick} from './save.js';

const textIn = (whole, selector) => whole?.querySelector(selector)?.textContent ?? '';

function boxRow(tower, box) {
  return [textIn(tower, 'h3'), textIn(box.closest('.layer'), '.name'), textIn(box, 'b'), textIn(box, '.shape'),
          textIn(box, '.more'), box.title];
}

export default function start({element, trigger}) {
  const towers = () => element.querySelector('.towers');

  function table() {  // a row for each box, from the bottom of each tower up
    const rows = [...element.querySelectorAll('.tower')].flatMap(tower =>
      [...tower.querySelectorAll('.box')].map(box => boxRow(tower, box)));
    return {columns: ['tower', 'layer', 'block', 'output', 'parameters', 'weights'], rows};
  }

  const picture = kind => htmlPicture(kind, element, towers(), 'architecture');

  // Shows the code of the block that a button belongs to; closes the panel without a button, or on a second click.
  function showCode(button) {
    const panel = element.querySelector('.code-of');
    const before = element.querySelector('button.code[aria-expanded=true]');
    before?.setAttribute('aria-expanded', 'false');
    panel.hidden = !button || button === before;
    if (panel.hidden) {
      before?.focus();
      return;
    }
    button.setAttribute('aria-expanded', 'true');
    for (const section of panel.querySelectorAll('section'))
      section.hidden = section.dataset.of !== button.dataset.code;
    panel.scrollTop = 0;
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
  saveOnClick(element, {title: () => towers().dataset.title ?? modelText(element), table, picture});
}
