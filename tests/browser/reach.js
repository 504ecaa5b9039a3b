// Looks for what a screen reader or the keyboard misses in what the page shows now: headings that skip a level, names
// that do not hold what is written, boxes that no key scrolls, headers without a text, landmarks of one name, and too
// many Tab stops. -> a sentence each.
export default function () {
  const seen = {visibilityProperty: true, opacityProperty: true};
  const all = selector => [...document.querySelectorAll(selector)].filter(one => one.checkVisibility(seen));
  const where = one => `${one.tagName.toLowerCase()} in .${one.closest('[class]')?.getAttribute('class')}`;
  const found = [];

  let before = 0;
  for (const heading of all('h1, h2, h3, h4, h5, h6')) {
    const level = Number(heading.tagName[1]), text = heading.textContent.trim();
    if (level > before + 1) found.push(`h${before} is followed by h${level}: ${text}`);
    if (!text) found.push(`a heading without a text: ${where(heading)}`);
    before = level;
  }

  const plain = text => text.replace(/[^\p{L}\p{N}]+/gu, ' ').trim().toLowerCase();
  const written = one => {
    const texts = [...one.querySelectorAll('text')].filter(text => !text.closest('[aria-hidden=true]'));
    return texts.length ? texts.map(text => text.textContent).join(' ') : one.querySelector('svg') ? '' : one.innerText;
  };
  const NAMED = ':is(button, a[href], summary, td, [role=button], [role=link], [role=tab], [role=radio])[aria-label]';
  for (const one of all(NAMED)) {
    if (one.closest('.upload-container')) continue;  // Gradio's own
    const name = one.getAttribute('aria-label'), text = written(one) ?? '';
    if (!plain(name).includes(plain(text))) found.push(`the name “${name}” does not hold “${text}”: ${where(one)}`);
  }

  const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex]';
  const reached = one => one.matches(FOCUSABLE) && one.tabIndex >= 0 && !one.disabled;
  for (const one of all('body *')) {
    const {overflowX, overflowY} = getComputedStyle(one), scrolls = /auto|scroll/;
    const isCut = (scrolls.test(overflowX) && one.scrollWidth > one.clientWidth + 2) ||
      (scrolls.test(overflowY) && one.scrollHeight > one.clientHeight + 2);
    if (!isCut || one.tagName === 'TEXTAREA' || one.clientWidth < 3) continue;
    const isNamed = !one.matches('[role=region]') || one.getAttribute('aria-label');
    if (!isNamed) found.push(`a region without a name: ${where(one)}`);
    if (![one, ...one.querySelectorAll('*')].some(reached)) found.push(`no key scrolls ${where(one)}`);
  }

  for (const cell of all('th')) if (!cell.textContent.trim()) found.push(`a header without a text: ${where(cell)}`);

  const names = new Set();
  for (const one of all('nav, main, header, aside, footer, section[aria-label], [role=region], [role=navigation]')) {
    const name = `${one.getAttribute('role') ?? one.tagName} ${one.getAttribute('aria-label') ?? ''}`;
    if (names.has(name)) found.push(`two landmarks are ${name}`);
    names.add(name);
  }

  for (const group of all('.translation, .written')) {
    const stops = [...group.querySelectorAll('*')].filter(reached).length;
    if (stops > 1) found.push(`${stops} Tab stops in ${where(group)}`);
  }
  return found;
}
