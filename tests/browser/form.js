// What of a form is in sight, each kind by one of its texts: styles of text, by size, weight, family and case; kinds of
// button that can be pressed and are not, by ground, frame, corner, padding and, where they have a ground or a frame,
// size of text; the grounds of what is chosen, and of what acts; how columns that stand beside each other share the
// width, whichever is first. A word, a cell or a box of a picture is no button. Attention, whose picture stands between
// its heads and its word, is laid out alone.
export default () => {
  const words = '.written button, .lm-piece, .bars button, button.box, .word-link td button';
  const chosen = '.selected, [aria-pressed=true], .chosen > *';
  const isSeen = one => {
    const box = one.getBoundingClientRect(), isLarge = box.width > 1 && box.height > 1;
    return isLarge && one.checkVisibility({visibilityProperty: true, opacityProperty: true}) &&
      !one.closest('.sr-only, .tab-title, .opening');
  };
  const found = {types: {}, buttons: {}, chosen: {}, acts: {}, layouts: {}};
  const note = (of, key, one) => { of[key] ??= `${one.className}: ${one.textContent.trim().slice(0, 30)}`; };

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const {currentNode: text} = texts, one = text.parentElement, range = document.createRange();
    range.selectNodeContents(text);
    if (!text.data.trim() || one.closest('script, style, option') || !isSeen(one)) continue;
    if (range.getBoundingClientRect().width < 2) continue;
    const {fontSize, fontWeight, fontFamily, textTransform} = getComputedStyle(one);
    note(found.types, [fontSize, fontWeight, fontFamily.split(',')[0], textTransform].join(' '), one);
  }
  for (const one of document.querySelectorAll('button, [role=button], summary, label:has(> input[type=radio])')) {
    if (!isSeen(one) || one instanceof SVGElement || one.matches(words) || one.disabled) continue;
    const style = getComputedStyle(one), isPlain = style.borderTopWidth === '0px';
    if (one.matches(chosen)) {
      if (!one.matches('[role=tab]')) note(found.chosen, style.backgroundColor, one);
      continue;
    }
    if (one.matches('.primary')) note(found.acts, style.backgroundColor, one);
    note(found.buttons, [style.backgroundColor, isPlain ? '' : `${style.borderTopWidth} ${style.borderTopColor}`,
      style.borderTopLeftRadius, style.padding, isPlain ? '' : style.fontSize].join(' | '), one);
  }
  for (const row of document.querySelectorAll('.tabitem .row:not(.attention)')) {
    const boxes = [...row.children].filter(one => one.matches('.column') && isSeen(one))
      .map(one => one.getBoundingClientRect());
    if (boxes.length < 2 || boxes[1].left < boxes[0].right) continue;
    const shares = boxes.map(({width}) => Math.round(100 * width / boxes.reduce((sum, one) => sum + one.width, 0)));
    note(found.layouts, new Set(shares).size === 1 ? 'alike' : shares.sort().join(' : '), row);
  }
  return found;
};
