// The boxes of the architecture: a button with a stack is opened, by click or Enter, with 'choose' {stack, layer}.
element.addEventListener('click', event => {
  const box = event.target.closest('button[data-stack]');
  if (box) trigger('choose', {stack: box.dataset.stack, layer: Number(box.dataset.layer)});
});

const said = (box, selector) => box?.querySelector(selector)?.textContent ?? '';

function table() {  // a row a box, from the bottom of each tower up
  const rows = [...element.querySelectorAll('.tower')].flatMap(tower => [...tower.querySelectorAll('.box')].map(box =>
    [said(tower, 'h4'), said(box.closest('.layer'), 'h5'), said(box, 'b'), said(box, '.shape'), said(box, '.more'), box.title]));
  return {columns: ['tower', 'layer', 'block', 'output', 'parameters', 'weights'], rows};
}

// The boxes as they are seen, with the rules that lay them out, inside an SVG; drawn on a canvas for a PNG.
async function picture(kind) {
  const towers = element.querySelector('.towers'), style = getComputedStyle(element), width = Math.round(towers.offsetWidth);
  const rules = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules]).map(rule => rule.cssText)
    .filter(rule => /^(@media[^{]*{\s*)?\.architecture/.test(rule)).join('\n');
  const names = [...new Set([...rules.matchAll(/var\((--[\w-]+)/g)].map(match => match[1]))];
  const copy = Object.assign(document.createElement('div'), {className: 'architecture'});
  copy.style.cssText = names.map(name => `${name}: ${style.getPropertyValue(name)};`).join('') +
    `box-sizing: border-box; color: ${style.color}; font: ${style.font}; width: ${width}px; background: ${background()}`;
  copy.append(Object.assign(document.createElement('style'), {textContent: '* { box-sizing: border-box }\n' + rules}), towers.cloneNode(true));
  const aside = Object.assign(document.createElement('div'), {style: 'position: fixed; left: -9999px'});
  document.body.append(aside);
  aside.attachShadow({mode: 'open'}).append(copy);  // where the page's own rules do not reach it, as in the file
  const height = Math.ceil(copy.getBoundingClientRect().height);
  aside.remove();
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><foreignObject width="100%" height="100%">` +
    `${new XMLSerializer().serializeToString(copy)}</foreignObject></svg>`;
  return rendered(kind, svg, width, height);
}

saves(() => element.querySelector('.towers').dataset.title ?? model().textContent, table, picture);
