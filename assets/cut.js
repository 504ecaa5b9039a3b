// Says of whatever scrolls sideways that there is more of it than is seen: its edge fades (data-cut), and a line below
// it says so (data-more), which is there as long as it does not all fit. style.css draws both.
import {overflow} from './shared.js';

const WIDE = '.scroll, .tables, .plot, .maps';
const SPOKEN = '.view *, .heads *';  // what says more itself, or is a strip by its looks

function measure(pane, words) {
  const {across, down} = overflow(pane);
  const cut = [across - pane.scrollLeft > 2 && 'right', down - pane.scrollTop > 2 && 'below'].filter(Boolean).join(' ');
  if ((pane.dataset.cut ?? '') !== cut) {
    if (cut) pane.dataset.cut = cut;
    else delete pane.dataset.cut;
  }
  const said = across > 2 && !pane.matches(SPOKEN);
  if (said !== 'more' in pane.dataset) {
    if (said) pane.dataset.more = words;
    else delete pane.dataset.more;
  }
}

// Watches all of the page, once. words: what the line below says.
export function watchCut(words) {
  const sizes = new ResizeObserver(changed => {
    new Set(changed.map(({target}) => target.closest(WIDE)).filter(Boolean)).forEach(pane => measure(pane, words));
  });
  let waits = false;
  function register() {
    waits = false;
    for (const pane of document.querySelectorAll(WIDE)) {
      sizes.observe(pane);
      pane.querySelectorAll(':scope > *, table').forEach(inner => sizes.observe(inner));
    }
  }
  function soon() {
    if (!waits) requestAnimationFrame(register);
    waits = true;
  }
  new MutationObserver(soon).observe(document.body, {childList: true, subtree: true});
  document.addEventListener('scroll', event => event.target.matches?.(WIDE) && measure(event.target, words),
                            {capture: true, passive: true});
  soon();
}
