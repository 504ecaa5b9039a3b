// The boxes of the architecture. A click or Enter on a box that has attention maps triggers 'choose' {stack, layer}.
import {background, modelText, pictureAddress, saveOnClick} from './save.js';

const textIn = (whole, selector) => whole?.querySelector(selector)?.textContent ?? '';

function boxRow(tower, box) {
  return [textIn(tower, 'h4'), textIn(box.closest('.layer'), 'h5'), textIn(box, 'b'), textIn(box, '.shape'),
          textIn(box, '.more'), box.title];
}

// The rules of the page that lay the boxes out, as text, and the variables of the page that they use.
function layoutRules(style) {
  const rules = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules]).map(rule => rule.cssText)
    .filter(rule => /^(@media[^{]*{\s*)?\.architecture/.test(rule)).join('\n');
  const names = new Set([...rules.matchAll(/var\((--[\w-]+)/g)].map(match => match[1]));
  return {rules, variables: [...names].map(name => `${name}: ${style.getPropertyValue(name)};`).join('')};
}

// The height of an element where the page's own rules do not reach it, as in a file: in a shadow root, out of sight.
function heightAlone(copy) {
  const aside = Object.assign(document.createElement('div'), {style: 'position: fixed; left: -9999px'});
  document.body.append(aside);
  aside.attachShadow({mode: 'open'}).append(copy);
  const height = Math.ceil(copy.getBoundingClientRect().height);
  aside.remove();
  return height;
}

export default function start({element, trigger}) {
  const towers = () => element.querySelector('.towers');

  function table() {  // a row for each box, from the bottom of each tower up
    const rows = [...element.querySelectorAll('.tower')].flatMap(tower =>
      [...tower.querySelectorAll('.box')].map(box => boxRow(tower, box)));
    return {columns: ['tower', 'layer', 'block', 'output', 'parameters', 'weights'], rows};
  }

  // The boxes as they are seen: HTML with its rules, inside an SVG.
  async function picture(kind) {
    const width = Math.round(towers().offsetWidth), style = getComputedStyle(element);
    const {rules, variables} = layoutRules(style);
    const copy = Object.assign(document.createElement('div'), {className: 'architecture'});
    copy.style.cssText = variables + `box-sizing: border-box; color: ${style.color}; font: ${style.font}; ` +
      `width: ${width}px; background: ${background(element)}`;
    const sheet = document.createElement('style');
    sheet.textContent = '* { box-sizing: border-box }\n' + rules;
    copy.append(sheet, towers().cloneNode(true));
    const height = heightAlone(copy), html = new XMLSerializer().serializeToString(copy);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
      `<foreignObject width="100%" height="100%">${html}</foreignObject></svg>`;
    return pictureAddress(kind, svg, width, height);
  }

  element.addEventListener('click', event => {
    const box = event.target.closest('button[data-stack]');
    if (box) trigger('choose', {stack: box.dataset.stack, layer: Number(box.dataset.layer)});
  });
  saveOnClick(element, {title: () => towers().dataset.title ?? modelText(element), table, picture});
}
