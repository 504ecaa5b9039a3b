// Counts what stands beside the pictures of the open tab on its first screen: controls, and words. A group of radio
// buttons is one control, as is a slider with its field; a picture is what has a frame until it comes, with its tools.
export default () => {
  const panel = [...document.querySelectorAll('.tabs > .tabitem')].find(one => one.checkVisibility());
  const isSeen = one => {
    const box = one.getBoundingClientRect(), isLarge = box.width > 1 && box.height > 1;
    const isIn = box.top < innerHeight && box.bottom > 0 && box.left < innerWidth && box.right > 0;
    return one.checkVisibility({visibilityProperty: true, opacityProperty: true}) && isLarge && isIn;
  };
  const isBeside = one => !one.closest('.framed, .sr-only, .status, [data-testid=status-tracker]');
  const kinds = 'button, input:not([type=radio]), fieldset:has([type=radio]), select, textarea, a[href], summary, ' +
    '[tabindex="0"]';
  const groups = 'fieldset, [role=tablist], .block:has(> .wrap > input, input[type=range], [role=listbox])';
  const controls = new Set([...panel.querySelectorAll(kinds)]
    .filter(one => isBeside(one) && isSeen(one) && !one.matches('.term, :disabled'))
    .map(one => one.closest(groups) ?? one));
  const texts = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT), words = [];
  while (texts.nextNode()) {
    const {currentNode: text} = texts, range = document.createRange();
    range.selectNodeContents(text);
    if (isBeside(text.parentElement) && isSeen(text.parentElement) && range.getBoundingClientRect().top < innerHeight)
      words.push(...text.data.split(/\s+/).filter(Boolean));
  }
  return {controls: controls.size, words: words.length};
};
