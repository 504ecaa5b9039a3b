// Makes a picture of a figure that is written in HTML: the HTML and its style rules inside an SVG.
import {background, checkpoint, pairIn, pictureAddress} from './save.js';
import {SIZES, escapeHtml} from './shared.js';

const MARGIN = 16;  // pixels around a picture

// The page's style rules for the inside of a class, as text, and the page's variables that they use.
function layoutRules(className, style) {
  const own = new RegExp(`^(@media[^{]*{\\s*)?\\.${className}\\b`);
  const rules = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules]).map(rule => rule.cssText)
    .filter(rule => own.test(rule)).join('\n');
  const names = new Set([...rules.matchAll(/var\((--[\w-]+)/g)].map(match => match[1]));
  return {rules, variables: [...names].map(name => `${name}: ${style.getPropertyValue(name)};`).join('')};
}

// The height of an element without the page's own rules, as in a file: it is measured in a shadow root, out of sight.
function heightAlone(copy) {
  const aside = Object.assign(document.createElement('div'), {style: 'position: fixed; left: -9999px'});
  document.body.append(aside);
  aside.attachShadow({mode: 'open'}).append(copy);
  const height = Math.ceil(copy.getBoundingClientRect().height);
  aside.remove();
  return height;
}

// What a picture is of, for its lower edge: the sentence and its translation, where the figure names a pair (data-pair:
// a list of texts), and the model.
function about(element, part) {
  const {name, identity} = checkpoint(element), below = document.createElement('div');
  below.style.cssText = `margin-top: 12px; font-size: ${SIZES.small}px; line-height: 1.5; overflow-wrap: anywhere`;
  below.innerHTML = [pairIn(part).join(' → '), `${name} ${identity}`].filter(Boolean)
    .map(text => `<div>${escapeHtml(text)}</div>`).join('');
  return below;
}

// The address of a picture of `part`, drawn by the page's rules that begin with the class; kind: 'svg' or 'png'. What
// only says how the figure is used (data-hint) is left out.
export function htmlPicture(kind, element, part, className) {
  const width = Math.round(part.offsetWidth) + 2 * MARGIN, style = getComputedStyle(element);
  const {rules, variables} = layoutRules(className, style);
  const copy = Object.assign(document.createElement('div'), {className});
  copy.style.cssText = variables + `box-sizing: border-box; color: ${style.color}; font: ${style.font}; ` +
    `width: ${width}px; padding: ${MARGIN}px; background: ${background(element)}`;
  const sheet = document.createElement('style');
  sheet.textContent = '* { box-sizing: border-box }\n' + rules;
  const inner = part.cloneNode(true);
  inner.querySelectorAll('[data-hint]').forEach(hint => hint.remove());
  copy.append(sheet, inner, about(element, part));
  const height = heightAlone(copy), html = new XMLSerializer().serializeToString(copy);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    `<foreignObject width="100%" height="100%">${html}</foreignObject></svg>`;
  return pictureAddress(kind, svg, width, height);
}
