// The boxes of the architecture. A click or Enter on a box that has attention maps triggers 'choose' {stack, layer}.
import {htmlPicture} from './html_picture.js';
import {modelText, saveOnClick} from './save.js';

const textIn = (whole, selector) => whole?.querySelector(selector)?.textContent ?? '';

function boxRow(tower, box) {
  return [textIn(tower, 'h4'), textIn(box.closest('.layer'), '.name'), textIn(box, 'b'), textIn(box, '.shape'),
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

  element.addEventListener('click', event => {
    const box = event.target.closest('button[data-stack]');
    if (!box) return;
    trigger('choose', {stack: box.dataset.stack, layer: Number(box.dataset.layer)});
    scrollTo(0, 0);  // where the tab that it opens begins, with its picture
  });
  saveOnClick(element, {title: () => towers().dataset.title ?? modelText(element), table, picture});
}
