// Measures the contrast of every visible text of the page against what lies behind it (WCAG 2.2, 1.4.3).
// -> [{text, ratio, place}], the least first. Of a gradient, the stop that is worst for the text counts.
export default function () {
  const context = Object.assign(document.createElement('canvas'), {width: 1, height: 1})
    .getContext('2d', {willReadFrequently: true});
  const known = new Map();
  const rgba = colour => {  // [red, green, blue, opacity] of any colour of CSS
    if (!known.has(colour)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      const [red, green, blue, opacity] = context.getImageData(0, 0, 1, 1).data;
      known.set(colour, [red, green, blue, opacity / 255]);
    }
    return known.get(colour);
  };
  const over = (above, below) => above.slice(0, 3).map((part, i) => part * above[3] + below[i] * (1 - above[3]));
  const luminance = colour => {
    const [red, green, blue] = colour.map(part => {
      const share = part / 255;
      return share <= .04045 ? share / 12.92 : ((share + .055) / 1.055) ** 2.4;
    });
    return .2126 * red + .7152 * green + .0722 * blue;
  };
  const ratio = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + .05) / (dark + .05);
  };
  const COLOUR = /(?:rgba?|color|oklab|oklch|hsla?|lab|lch)\([^()]*\)/g;
  // What may lie behind an element, one colour or several where there is a gradient.
  const behind = element => {
    if (!element) return [rgba(getComputedStyle(document.documentElement).backgroundColor)[3] ?
      rgba(getComputedStyle(document.documentElement).backgroundColor).slice(0, 3) : [255, 255, 255]];
    const style = getComputedStyle(element), own = rgba(style.backgroundColor);
    // A line in the padding lies below the text, not behind it.
    const high = style.backgroundSize.match(/ ([\d.]+)px$/)?.[1];
    const isLine = high && high <= parseFloat(style.paddingBottom);
    const stops = isLine ? [] : style.backgroundImage.match(COLOUR)?.map(rgba) ?? [];
    const below = own[3] === 1 ? [own.slice(0, 3)] : behind(element.parentElement).map(colour => over(own, colour));
    return [...below, ...stops.flatMap(one => below.map(colour => over(one, colour)))];
  };
  const opacityOf = element => {
    let opacity = 1;
    for (let e = element; e; e = e.parentElement) opacity *= Number(getComputedStyle(e).opacity);
    return opacity;
  };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    if (element.closest('script, style, noscript, title, .sr-only, [disabled], [aria-disabled=true]')) continue;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const box = range.getBoundingClientRect();
    if (box.width < 2 || box.height < 2 || parseFloat(getComputedStyle(element).fontSize) < 1) continue;
    const style = getComputedStyle(element), ink = rgba(element.closest('svg') ? style.fill : style.color);
    const opacity = ink[3] * opacityOf(element);
    const drawn = [...ink.slice(0, 3), opacity];
    const worst = Math.min(...behind(element).map(colour => ratio(over(drawn, colour), colour)));
    const place = element.closest('[class]');
    found.push({text: text.slice(0, 60), ratio: Math.round(100 * worst) / 100,
                place: `${element.localName} in .${String(place?.getAttribute('class')).split(' ').join('.')}`});
  }
  return found.sort((a, b) => a.ratio - b.ratio);
}
